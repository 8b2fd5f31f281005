"""Examination of the endpoint for models and of the embedding model, without a request that costs money."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec

from memorygraph.errors import ModelError
from memorygraph.llm.addresses import show_endpoint
from memorygraph.llm.model import OPENAI_HOST, OpenAIModel
from memorygraph.llm.uris import find_model
from memorygraph.memory.local import LocalEmbedder
from memorygraph.memory.vectors import configured_embedder
from memorygraph.messages.passages import TOKENS_OF_MODEL
from memorygraph.server.findings import Diagnosis, run_checks

ANSWER_S = 8.0
NEEDED_BY = "`remember`, `chat`, `run` and `pete` need one, and nothing else does"


def examine_models() -> list[Diagnosis]:
    """Examine the endpoint for models and the embedding model that the environment names."""
    return run_checks({"model endpoint": examine_endpoint, "embedding model": examine_embedding})


def examine_endpoint() -> Sequence[Diagnosis]:
    """Examine the endpoint for models."""
    name, chosen = "model endpoint", os.environ.get("MEMORYGRAPH_MODEL")
    configured = os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_KEY")
    if not configured and "://" not in (chosen or ""):
        step = "set OPENAI_BASE_URL or OPENAI_API_KEY, and MEMORYGRAPH_MODEL, when you want one"
        return [Diagnosis(name, ok=True, detail=f"none is configured: {NEEDED_BY}", next_step=step)]
    with find_model(chosen) as model:
        return [examine_choice(name, model, model.name if chosen else None, "MEMORYGRAPH_MODEL")]


def examine_embedding() -> Sequence[Diagnosis]:
    """Examine the embedding model."""
    name, variable = "embedding model", "MEMORYGRAPH_EMBEDDING_MODEL"
    embedder = configured_embedder()
    if embedder is None:
        step = f"set {variable}, to have `recall` find by meaning too"
        return [Diagnosis.passed(name, "none is configured: `recall` finds by words", step)]
    if isinstance(embedder, LocalEmbedder):
        missing = [package for package in embedder.packages if find_spec(package) is None]
        if missing:
            extra = "onnx" if "onnxruntime" in missing else "local"
            step = f"run `pip install 'memorygraph[{extra}]'`"
            return [Diagnosis.failed(name, f"it needs {' and '.join(missing)}", step)]
        detail = f"{embedder.name}, on this machine, {embedder.dimensions} numbers"
        longest = embedder.settings.max_tokens
        if longest is not None and longest < TOKENS_OF_MODEL:
            detail += f"; it reads {longest} tokens of a text, and a passage of a message can have {TOKENS_OF_MODEL}"
            step = "take a model that reads 256, or `recall` finds the rest by words alone"
            return [Diagnosis.warned(name, detail, step)]
        return [Diagnosis.passed(name, detail)]
    with OpenAIModel() as model:
        return [examine_choice(name, model, model.embedding_name, variable)]


def examine_choice(name: str, model: OpenAIModel, chosen: str | None, variable: str) -> Diagnosis:
    """Ask an endpoint for its models, and compare the chosen one with the list, which need not name all."""
    place = show_endpoint(model.base_url or f"https://{OPENAI_HOST}")
    try:
        names = model.offered(ANSWER_S)
    except ModelError as error:
        # The endpoint's own text may repeat what it was sent.
        return Diagnosis(name, ok=False, detail=f"{place}: {error.brief}")
    listed = "does not list its models" if names is None else f"lists {len(names)} models"
    detail, step = f"{place} answers, and {listed}; {chosen or 'none'} is chosen", None
    if chosen is None:
        step = "name one of them with MEMORYGRAPH_MODEL, or with --model"
    elif names is not None and chosen not in names:
        detail, step = f"{detail}, and not among them", f"check {variable}, if asking it fails"
    return Diagnosis(name, ok=True, detail=detail, next_step=step)
