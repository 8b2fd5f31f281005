"""What a model's answer cost, as properties of the Metadata beside it that Cypher can ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memorygraph.graph.namespace import Namespace
from memorygraph.json_text import parse_stored_json

PAGE = 200  # bodies in memory at once: each may hold a whole response


def answer_properties(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The properties of an answer with this metadata; the chat and the Responses format name its tokens differently.

    >>> answer_properties({"temperature": 0.5, "usage": {"prompt_tokens": 9, "completion_tokens": 2}})
    {'temperature': 0.5, 'input_tokens': 9, 'output_tokens': 2}
    """
    usage = _mapping(metadata.get("usage"))
    details = _mapping(usage.get("prompt_tokens_details", usage.get("input_tokens_details")))
    found = {
        "call": _text(metadata.get("call")),  # several answers of one call share its tokens
        "temperature": _number(metadata.get("temperature")),
        "finish_reason": _text(metadata.get("finish_reason")),
        "finished": metadata.get("finished") if isinstance(metadata.get("finished"), bool) else None,
        "input_tokens": _number(usage.get("prompt_tokens", usage.get("input_tokens"))),
        "output_tokens": _number(usage.get("completion_tokens", usage.get("output_tokens"))),
        "cached_tokens": _number(details.get("cached_tokens")),
        "latency_s": _number(metadata.get("latency_s")),
    }
    return {key: value for key, value in found.items() if value is not None}


def conversation_properties(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The model and the length in metadata; a user may keep other values under these keys, which stay in the metadata.

    >>> conversation_properties({"model": {"name": "small"}, "length": 3})
    {'model': None, 'length': 3}
    """
    length = metadata.get("length")
    return {"model": _text(metadata.get("model")), "length": _number(length) if isinstance(length, int) else None}


def migrate_answers(namespace: Namespace) -> None:
    """Add the properties to every Metadata of a namespace, a page at a time; a second time changes nothing."""
    after = ""
    while page := namespace.read("messages/metadata-page", after=after, limit=PAGE):
        after = page[-1]["id"]
        rows = [
            {"id": row["id"], "properties": answer_properties(parse_stored_json(row["body"])["metadata"])}
            for row in page
        ]
        namespace.write_query("messages/set-metadata", rows=rows)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> int | float | None:
    # Neo4j has integers of 64 bits.
    return value if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63 else None
