"""Examines the endpoint for models and the embedding model, without a request that costs anything."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from urllib.parse import urlsplit

from memorygraph.errors import ModelError
from memorygraph.llm.model import OPENAI_HOST, OpenAIModel
from memorygraph.llm.uris import open_model
from memorygraph.memory.local import LocalEmbedder
from memorygraph.memory.vectors import configured_embedder
from memorygraph.server.findings import Diagnosis, run_checks

ANSWER_S = 8.0
NEEDED_BY = "`remember`, `chat`, `run` and `pete` need one, and nothing else does"


def examine_models() -> list[Diagnosis]:
    """Examine what models are asked through, as the environment has it."""
    return run_checks({"model endpoint": _endpoint, "embedding model": _embedding})


def _endpoint() -> Sequence[Diagnosis]:
    name, chosen = "model endpoint", os.environ.get("MEMORYGRAPH_MODEL")
    configured = os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_KEY")
    if not configured and "://" not in (chosen or ""):
        step = "set OPENAI_BASE_URL or OPENAI_API_KEY, and MEMORYGRAPH_MODEL, when you want one"
        return [Diagnosis(name, ok=True, detail=f"none is configured: {NEEDED_BY}", next_step=step)]
    with open_model(chosen) as model:
        place = _place(model)
        try:
            names = model.offered(ANSWER_S)
        except ModelError as error:
            return [_failed(name, place, error)]
        if not chosen:
            step = "name one of them with MEMORYGRAPH_MODEL, or with --model"
            return [Diagnosis(name, ok=True, detail=f"{_told(place, names)}; none is chosen", next_step=step)]
        return [_chosen(name, place, names, model.name, "MEMORYGRAPH_MODEL")]


def _embedding() -> Sequence[Diagnosis]:
    name, variable = "embedding model", "MEMORYGRAPH_EMBEDDING_MODEL"
    embedder = configured_embedder()
    if embedder is None:
        step = f"set {variable}, to have `recall` find by meaning too"
        return [Diagnosis(name, ok=True, detail="none is configured: `recall` finds by words", next_step=step)]
    if isinstance(embedder, LocalEmbedder):
        missing = [package for package in ("numpy", "tokenizers") if find_spec(package) is None]
        if missing:
            step = "run `pip install 'memorygraph[local]'`"
            return [Diagnosis(name, ok=False, detail=f"it needs {' and '.join(missing)}", next_step=step)]
        return [Diagnosis(name, ok=True, detail=f"{embedder.name}, on this machine, {embedder.dimensions} numbers")]
    with OpenAIModel() as model:
        try:
            return [_chosen(name, _place(model), model.offered(ANSWER_S), model.embedding_name, variable)]
        except ModelError as error:
            return [_failed(name, _place(model), error)]


def _failed(name: str, place: str, error: ModelError) -> Diagnosis:
    """A finding with what the error means, without what the endpoint has said: it may repeat what it was sent."""
    return Diagnosis(name, ok=False, detail=f"{place}: {str(error).partition(' (')[0]}")


def _chosen(name: str, place: str, names: list[str] | None, chosen: str, variable: str) -> Diagnosis:
    """Judge a choice by the list of an endpoint. That it is not listed need not mean that it is not there."""
    detail = f"{_told(place, names)}; {chosen} is chosen"
    if names is None or chosen in names:
        return Diagnosis(name, ok=True, detail=detail)
    return Diagnosis(
        name, ok=True, detail=f"{detail}, and not among them", next_step=f"check {variable}, if asking it fails"
    )


def _told(place: str, names: list[str] | None) -> str:
    if names is None:
        return f"{place} answers, and does not list its models"
    return f"{place} answers, and lists {len(names)} models"


def _place(model: OpenAIModel) -> str:
    """Where an endpoint is, without what else its URL may hold."""
    parts = urlsplit(model.base_url or f"https://{OPENAI_HOST}")
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"
