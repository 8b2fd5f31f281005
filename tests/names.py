"""The names that the package stores: labels, types and properties.

Neo4j warns about names that its database has never seen, and a warning fails a test. So all of them are made before the
first test, from `names.json`. `server/test_names.py` holds that these are what is stored, by storing one of each thing,
which takes too long to be done in each run. `python -m tests.names` writes them anew.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from memorygraph import EmbeddedServer, MemoryGraph, Provenance
from memorygraph.graph.connection import Connection
from memorygraph.graph.forgetting import FRAMED_KEY
from memorygraph.graph.search import TRANSCRIPT_PREFIX
from memorygraph.library import CYPHER
from memorygraph.memory.items import ItemKey, ItemWrites
from memorygraph.messages.threads import ListElement, NewValues, StateKey, ThreadWrite
from memorygraph.query import Query
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.memory.names import FOREIGN, store_names

_PROGRAM = """
import llm M from "openai://m"
import memory Known from "neo4j://"
main agent A {
  model M role "r" description "d"
  main func(input) {
    use Known.query()
    return generate({ input: "Go" }) { return { ok boolean } }
  }
}
"""

_TWO_STEPS = (
    "@to b = eq(1 1)\n> node a\n > do\n  add(1 1)\n> node b\n > do\n  add(1 2)\n> nodeEnd\n> user\nHi\n> goto a\n"
)

_CONVO = "> node first\n > do\n  add(1 1)\n> nodeEnd\n> user\nHi\n> goto first\n"

_TALK = "> node first\n> user\nSay hi.\n> nodeEnd\n> goto first\n"

_METADATA = {
    "model": "m",
    "call": "c",
    "temperature": 1.0,
    "finish_reason": "stop",
    "finished": True,
    "usage": {"prompt_tokens": 2, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 0}},
    "latency_s": 0.1,
}

_LOG = """
context names(&a) {
  @[time: 12:30]
  !! thermometer {"temperature": 30}
  @fan, set {"speed": 2} >> {"ok": true}
  context inner(&a) { &a is that &a likes 3 and &a likes 4. tl;dr /* done */ }
  _x is _y if _x likes _y.
  _x is _y?
  &b = memory:1
  context gone() = memory:3
"""

_GRAPH = 'Node(node_id="a", name="", data=""); Edge(edge_id="e", from_node="a", to_node="a", verb="v", weight=0);'


_THOUGHT = """
&a = /* a */ &b = memory:1
@[time: 12:30]
&a likes "b". &a doesn't like that &a likes &b and &b likes &a.
_x likes &a if _x likes &b.
context inner(&a) { tl;dr /* done */ }
context gone() = memory:1
_x likes &a?"""


NAMES = Path(__file__).with_suffix(".json")

_CREATING = {
    "labels": "UNWIND $names AS name CALL db.createLabel(name) FINISH",
    "relationship types": "UNWIND $names AS name CALL db.createRelationshipType(name) FINISH",
    "properties": "UNWIND $names AS name CALL db.createProperty(name) FINISH",
}

_STORED = {
    "labels": "CALL db.labels() YIELD label AS name RETURN name ORDER BY name",
    "relationship types": "CALL db.relationshipTypes() YIELD relationshipType AS name RETURN name ORDER BY name",
    "properties": "CALL db.propertyKeys() YIELD propertyKey AS name RETURN name ORDER BY name",
}


def create_names(connection: Connection) -> None:
    """Have Neo4j know every name that the package stores."""
    queries = [Query(_CREATING[kind], {"names": names}) for kind, names in json.loads(NAMES.read_text("utf-8")).items()]
    connection.write(lambda transaction: [transaction.run(query) for query in queries])


def stored_names(home: Path) -> dict[str, list[str]]:
    """Store one of each thing that is stored or read in a database of its own, and list the names that it has then."""
    server = EmbeddedServer(home, EmbeddedServer().artifacts)
    try:
        with MemoryGraph.connect(server=server) as graph:
            return store_and_list(graph.connection)
    finally:
        server.down()


def store_and_list(connection: Connection) -> dict[str, list[str]]:
    """Store one of each thing in a database that has only the schema, and list the names that it has then."""
    graph = MemoryGraph(connection, "names")
    store_every_name(connection)
    graph.query(FOREIGN, write=True)
    found = {kind: [row["name"] for row in graph.query(query)] for kind, query in _STORED.items()}
    graph.query("MATCH (foreign:Memory) DELETE foreign", write=True)  # it belongs to no namespace
    return found


def store_every_name(connection: Connection) -> None:
    """Store one of each thing, in namespaces whose names begin with `names`."""
    _store_programs(MemoryGraph(connection, "names"))
    _store_log(MemoryGraph(connection, "names-of-pete"))
    _store_thought(MemoryGraph(connection, "names-of-thought"))
    _store_history(MemoryGraph(connection, "names-of-history"))
    _drop(MemoryGraph(connection, "names-of-what-is-gone"))
    _forget(MemoryGraph(connection, "names-of-forgetting"))
    store_names(MemoryGraph(connection, "names-of-memory"))
    _store_threads(MemoryGraph(connection, "names-of-threads"))
    _store_item(MemoryGraph(connection, "names-of-items"))


def _store_item(graph: MemoryGraph) -> None:
    for text in ("u", "v"):
        writes = ItemWrites()
        writes.put(ItemKey("names.", "one"), {"text": text}, text, ttl=1e6)
        graph.items.write(writes)


def _store_threads(graph: MemoryGraph) -> None:
    """Store a thread as its storage does, which knows nothing of any framework."""
    key, values = StateKey("names", "inner", "1"), NewValues("names")
    list_parts = values.extend(
        0, None, [ListElement("t", b"d", {"role": "user", "content": "u"}), ListElement("t", b"e")]
    )
    holds = {"messages": list_parts[-1].id, "other": values.add("t", b"d")}
    properties = {"source": "loop", "step": 1, "run": "r", "type": "t", "body": b"b"}
    graph.threads.put(key, properties, parent=None, values=values, holds=holds)
    graph.threads.put(replace(key, checkpoint="2"), properties, parent="1", values=values, holds=holds)
    graph.threads.put_writes(key, [ThreadWrite("task", "path", 0, "messages", "t", b"d")])


def _forget(graph: MemoryGraph) -> None:
    graph.load(_GRAPH)
    graph.expire("a", after=timedelta(0))
    graph.purge_expired()
    graph.load(_GRAPH)
    first = graph.messages("names")
    first.append({"role": "user", "content": "u"})
    first.append({"role": "user", "content": "v"})
    graph.messages("others").append({"role": "user", "content": "u"})
    graph.forget_conversation("names")
    transcript = graph.messages(f"{TRANSCRIPT_PREFIX}names")
    transcript.append({"role": "user", "content": "u"})
    graph.forget_conversation(transcript.name)
    graph.load('Node(node_id="a", name="b");')
    listed = {"namespace": graph.namespace, "forgetting": "node a"}
    kept = {**listed, "kind": "node", "target": "a", "named": "b", "load": "l"}
    queries = [
        CYPHER["forget/begin"](**kept),
        CYPHER["forget/list-target"](**listed, kind="node", id="a"),
        CYPHER["forget/spread"](**listed, limit=1, most=1),
        CYPHER["forget/set-counts"](**listed, properties={"went": [], "stayed": [], "learnt": True}),
        CYPHER["forget/mark-loads"](namespace=graph.namespace, revisions=[1]),
    ]
    graph.connection.write(lambda transaction: [transaction.run(query) for query in queries])


def _drop(graph: MemoryGraph) -> None:
    graph.load(_GRAPH)
    graph.drop_namespace(graph.namespace)


def _store_programs(graph: MemoryGraph) -> None:
    graph.load(_GRAPH)
    checkpoint = {"namespace": graph.namespace, "program": "p", "formers": [], "file": "f", "statements": 0}
    graph.connection.write(lambda transaction: transaction.run(CYPHER["load/save-checkpoint"](**checkpoint)))
    history = graph.messages("names")
    history.append({"role": "user", "content": "u"})
    history.append({"role": "assistant", "content": "a"}, metadata=_METADATA, subgraph=[history[0]])
    history[0]["content"] = "v"
    graph.messages("framed").append({"role": "user", "content": "u"}, metadata={FRAMED_KEY: "framed"})
    graph.run(_PROGRAM, mock=True)
    graph.run(_CONVO, language="convo")
    graph.run(_TWO_STEPS, language="convo")
    graph.run(_TALK, language="convo", mock=True)
    graph.load("main agent { main func() { return 1 } }", "agentscript", file="one.as")
    graph.load(_CONVO, "convo", file="two.convo")


def _store_log(graph: MemoryGraph) -> None:
    if graph.thoughts():
        return
    graph.load(_LOG, "pete")
    graph.messages("names").append({"role": "assistant", "content": "a"})
    [ends] = graph.query(
        "MATCH (context:Context {namespace: $namespace}), (message:Message {namespace: $namespace}) "
        "RETURN context.id AS id, collect(message.id) AS messages LIMIT 1"
    )
    joined = CYPHER["pete/join-message"](namespace=graph.namespace, **ends)
    graph.connection.write(lambda transaction: transaction.run(joined))


def _store_thought(graph: MemoryGraph) -> None:
    if graph.thoughts():
        return
    with ScriptedModel([_THOUGHT, "look\n", "}"]) as model, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", model.base_url)
        patch.setenv("NO_PROXY", "127.0.0.1")
        thought = graph.pete("names", "any")
        thought.sense("thermometer", 30)
        thought.run(3)


def _store_history(graph: MemoryGraph) -> None:
    if graph.revisions():
        return
    graph.messages("names").append({"role": "user", "content": "u"})
    [message] = graph.query("MATCH (message:Message {namespace: $namespace}) RETURN message.id AS id")
    graph.load(_GRAPH, provenance=Provenance("b", "m", "c", message["id"]))
    graph.load('Node(node_id="a", name="b"); Edge(edge_id="e", weight=1);')
    graph.undo(2)
    graph.purge(before=1)
    graph.load(_LOG, "pete")
    for thought in graph.thoughts():
        graph.delete(f"memory-{thought.address}")


def main() -> None:
    """Write the names that are stored."""
    with tempfile.TemporaryDirectory() as home:
        NAMES.write_text(json.dumps(stored_names(Path(home)), indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
