"""What an injection would damage: a graph, a file and an address that nobody has any reason to touch."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from memorygraph import MemoryGraph
from memorygraph.query import Query

CORPUS = Path(__file__).with_name("injections.txt")

_LOG = 'context canary(&a) { &seed = /* what it eats */ &a eats &seed. tl;dr /* it sings */ @sun, rise {"at": 6} }'
_PROGRAM = """
Node(node_id="keep", name="Keep", data="sings");
Node(node_id="other", name="Other", data="listens");
Edge(edge_id="edge", from_node="keep", to_node="other", verb="hears", weight=0.5);
"""
_FOREIGN = """
CREATE (a:Canary {is: $id, mark: "test-canary"})-[r:CANARY {is: $id}]->(b:Canary {is: $id, mark: "test-canary"})
RETURN count(*) AS made
"""
# The record of a namespace has its name as `name`, what a test puts outside of namespaces a `mark` or the `group_id` of
# Graphiti, everything else a `namespace`. Other tests write to the database meanwhile, each under a name that begins in
# one of these ways.
_ALL = """
MATCH (n) WITH n, coalesce(
  n.namespace, properties(n).mark, properties(n).group_id, CASE WHEN n:Namespace THEN n.name END, ""
) AS namespace
WHERE namespace = $namespace OR n.is = $id
  OR ($whole AND none(start IN ["test-", "names", "evaluate-"] WHERE namespace STARTS WITH start))
"""
_KNOWN = "MATCH (n) WHERE elementId(n) IN $ids "
_NODES = "RETURN elementId(n) AS id, labels(n) AS labels, properties(n) AS properties"
_RELATIONSHIPS = """
MATCH (n)-[r]-(m)
RETURN DISTINCT elementId(r) AS id, elementId(startNode(r)) AS from, elementId(endNode(r)) AS to,
  type(r) AS type, properties(r) AS properties
"""
_SCHEMA = (
    "SHOW INDEXES YIELD name, type, labelsOrTypes, properties WHERE NOT name STARTS WITH 'Test'",
    "SHOW CONSTRAINTS YIELD name, type, labelsOrTypes, properties",
)


@dataclass
class Canary:
    """The graph of a namespace of its own and some of no namespace, a file, and a server that counts its visitors.

    With `whole`, all of the database but the namespaces of tests belongs to the graph. In the end all of it is looked
    at, which takes long; in between, what was there at the start.
    """

    graph: MemoryGraph
    secret: Path
    whole: bool
    url: str = ""
    visits: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.id = uuid.uuid4().hex
        self.words = f"the secret is {self.id}"
        self.parameters: dict[str, Any] = {}
        self.secret.write_text(self.words, "utf-8")

    def settle(self) -> None:
        """Write the graph: nodes, edges, what they were before, a conversation, a thought, and what is not ours."""
        self.graph.load(_PROGRAM)
        self.graph.load('Node(node_id="keep", data="sings well");')
        self.graph.load(_LOG, "pete")
        conversation = self.graph.messages("canary")
        conversation.extend([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Tweet"}])
        conversation[0]["content"] = "Hello"
        self.graph.query(_FOREIGN, {"id": self.id}, write=True)
        self.parameters = {"namespace": self.graph.namespace, "id": self.id, "whole": self.whole}
        first, second = ({row["id"] for row in self._rows(_ALL + _NODES)} for _ in range(2))
        self.parameters["ids"] = list(first & second)
        self.before = {_KNOWN: self.contents(_KNOWN), _ALL: self.lasting_contents()}

    def leave(self) -> None:
        """Take the graph away again, to which nothing has come."""
        assert self.lasting_contents() ^ self.before[_ALL] == set()
        self.graph.query("MATCH (n:Canary {is: $id}) DETACH DELETE n", {"id": self.id}, write=True)

    def lasting_contents(self) -> set[str]:
        """What two looks have in common: a node that another test deletes meanwhile is seen without its namespace."""
        return self.contents(_ALL) & self.contents(_ALL)

    def contents(self, match: str) -> set[str]:
        """What is to stay as it is: nodes that match, their relationships, the schema, and the file."""
        found = {f"{self.secret.read_text('utf-8')} {self.secret.stat().st_mtime_ns}"}
        for cypher in (match + _NODES, match + _RELATIONSHIPS, *_SCHEMA):
            rows = self._rows(cypher)
            assert len(rows) >= 2
            found |= {json.dumps(row, sort_keys=True, default=str) for row in rows}
        return found

    def _rows(self, cypher: str) -> list[dict[str, Any]]:
        return self.graph.connection.read(Query(cypher, self.parameters))

    def is_well(self) -> None:
        """Nothing was touched."""
        assert self.visits == []
        assert self.contents(_KNOWN) ^ self.before[_KNOWN] == set()

    def says(self, output: Any) -> None:
        """What was given out does not hold what the file or the canary's graph says."""
        assert self.id not in str(output)

    def injections(self) -> list[str]:
        """The corpus, aimed at this canary."""
        lines = [line for line in CORPUS.read_text("utf-8").split("\n") if line and not line.startswith("#")]
        aims = {"CANARY": self.graph.namespace, "SECRET": str(self.secret), "URL": self.url}
        return [_aimed(json.loads(line), aims) for line in lines]


def _aimed(text: str, aims: dict[str, str]) -> str:
    for name, value in aims.items():
        text = text.replace(name, value)
    return text


@contextmanager
def listening(canary: Canary) -> Iterator[None]:
    """Serve the canary's address, on this machine alone."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            canary.visits.append(self.path)
            self.send_error(404)

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - http.server calls it so
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        canary.url = f"http://127.0.0.1:{server.server_port}/canary"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
