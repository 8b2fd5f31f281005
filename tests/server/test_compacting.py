"""The copy of a graph of which something was forgotten: each of its elements stands in it once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from memorygraph.errors import ConnectionError
from memorygraph.graph.connection import Connection
from memorygraph.query import Query
from memorygraph.server import compacting
from tests.shared_neo4j import new_namespace
from tests.writers import lose_replies


class Read:
    """A connection to a graph of these rows."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self._rows = rows

    def stream(self, *_: object, **__: object) -> Iterator[dict[str, Any]]:
        yield from self._rows


@pytest.mark.parametrize("what", ["nodes", "relationships"])
def test_what_is_copied_stands_once_in_the_copy_where_a_commit_had_no_answer(
    connection: Connection, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    namespace = new_namespace()
    values: dict[str, Any] = {"properties": [["namespace", namespace]], "times": []}
    nodes: Any = Read({"element": "a", "labels": [], **values})
    loops: Any = Read({"source": "a", "target": "a", "type": "NEXT", **values})
    ends = compacting.copy_nodes(nodes, connection) if what == "relationships" else {}
    copy: dict[str, Callable[[], object]] = {
        "nodes": partial(compacting.copy_nodes, nodes, connection),
        "relationships": partial(compacting.copy_relationships, loops, connection, ends),
    }
    lose_replies(monkeypatch)
    with pytest.raises(ConnectionError) as caught:
        copy[what]()
    monkeypatch.undo()
    assert caught.value.outcome_unknown
    text = "MATCH (n {namespace: $namespace}) RETURN count { (n)-[:NEXT]->() } AS loops"
    copied = connection.read(Query(text, {"namespace": namespace}))
    assert copied == [{"loops": int(what == "relationships")}]
