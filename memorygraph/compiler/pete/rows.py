"""What a log writes to the store, table by table, as batches of parameterized Cypher."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from memorygraph.library import CYPHER
from memorygraph.query import Query

ROWS_PER_BATCH = 10_000
MAX_NAME = 200


def hash_of(*parts: Any) -> str:
    """The hash that names a fact, a value or a rule: equal parts have equal names."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "replace")).hexdigest()[:24]


def clipped(name: str) -> str:
    """A text as the name of a node, which is shown in lists."""
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…"


@dataclass
class PeteRows:
    """What is to be written, table by table."""

    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    opened: dict[str, dict[str, Any]] = field(default_factory=dict)
    changed: dict[str, dict[str, Any]] = field(default_factory=dict)
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    entries: list[dict[str, Any]] = field(default_factory=list)
    bindings: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def queries(self, namespace: str, token: str, log: int | None) -> Iterator[Query]:
        """The queries that write it; each reports what it changed."""
        tables: tuple[tuple[str, Iterable[dict[str, Any]], dict[str, Any]], ...] = (
            ("add-nodes", self.nodes.values(), {"namespace_token": token}),
            ("open-new-contexts", self.opened.values(), {"namespace_token": token, "log": log}),
            ("change-contexts", self.changed.values(), {}),
            ("add-facts", self.facts.values(), {}),
            ("add-entries", self.entries, {"log": log}),
            ("bind", self.bindings.values(), {}),
        )
        for name, table, more in tables:
            listed = list(table)
            for start in range(0, len(listed), ROWS_PER_BATCH):
                part = listed[start : start + ROWS_PER_BATCH]
                yield CYPHER[f"pete/{name}"](namespace=namespace, rows=part, **more)

    def add_node(self, identifier: str, labels: Sequence[str] = (), **properties: Any) -> None:
        """A node that is made unless it is there."""
        shown = {"data": "", **properties, "name": clipped(properties["name"])}
        self.nodes.setdefault(identifier, {"id": identifier, "labels": list(labels), "properties": shown})

    def add_edge(self, verb: str, from_node: str, to_node: str, identifier: str, **properties: Any) -> str:
        """An edge that is made unless it is there; its id."""
        shown = {"verb": verb, "weight": 1.0, **properties}
        row = {"id": identifier, "from_node": from_node, "to_node": to_node, "properties": shown}
        self.facts.setdefault(identifier, row)
        return identifier

    def bind(self, owner: str, ref: str, nodes: Sequence[str], *, passed: bool = False) -> None:
        """A handle of a context means the first of these nodes; the others are answers, too."""
        self.bindings[owner, ref] = {"owner": owner, "ref": ref, "nodes": list(nodes), "passed": passed}
