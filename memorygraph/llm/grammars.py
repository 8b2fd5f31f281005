"""Endpoints that hold a model to a grammar: how each of them takes one in the body of a request.

llama.cpp's server takes GBNF as `grammar`, vLLM as `guided_grammar`; both say in their list of models who they are.
"""

from __future__ import annotations

from memorygraph.errors import ModelError
from memorygraph.llm.model import OpenAIModel

FIELDS = {"llama": "grammar", "vllm": "guided_grammar"}
_OWNERS = {"llamacpp": "llama", "vllm": "vllm"}


def grammar_field(model: OpenAIModel, endpoint: str = "auto") -> str | None:
    """The field in which a model's endpoint takes a grammar; None where it takes none.

    `endpoint` is `llama`, `vllm`, `none`, or `auto`: then the endpoint is asked.

    >>> grammar_field(OpenAIModel("any", "http://localhost:1/v1"), "llama")
    'grammar'

    Raises:
        ModelError: there is no such kind of endpoint.
    """
    if endpoint == "none":
        return None
    if endpoint != "auto":
        if endpoint not in FIELDS:
            raise ModelError(f"there is no kind of endpoint `{endpoint}`; there are auto, none, {', '.join(FIELDS)}")
        return FIELDS[endpoint]
    return FIELDS.get(_OWNERS.get(model.owner(), ""))
