"""What raw Cypher breaks is found, named and mended, and no read falls over it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from io import StringIO
from typing import Any

import pytest
from click.testing import CliRunner
from mcp_types import TextContent

from memorygraph import MemoryGraph
from memorygraph.cli import cli
from memorygraph.errors import ConflictError, ScriptError
from memorygraph.graph import invariants
from memorygraph.graph.bad_elements import MAX_NAMED, BadElementWarning, hear_bad_elements
from memorygraph.graph.connection import Connection, Transaction
from memorygraph.graph.invariants import MAX_EXAMPLES, Examination, list_invariants
from memorygraph.library import CYPHER
from memorygraph.mcp_server.tools import TOOLS
from memorygraph.memory.values import Entity
from memorygraph.query import Query
from tests.conftest import empty_namespace
from tests.examples import mostly_slow
from tests.graph.test_namespaces import fill

MAX_LEFT_BY_TESTS = 1_000_000
TWO_NODES = 'Node(node_id="a", name="A", data="tea"); Node(node_id="b", name="B", data="tea");'
TOKEN = "MATCH (n:Node {namespace: $namespace, id: 'a'}) CREATE (:Node {namespace: $namespace, namespace_token: "


def edge(properties: str, namespace: str = "namespace: $namespace, ") -> str:
    """Cypher that joins the two nodes."""
    ends = "MATCH (a:Node {namespace: $namespace, id: 'a'}), (b:Node {namespace: $namespace, id: 'b'})"
    return f"{ends} CREATE (a)-[:EDGE {{{namespace}{properties}}}]->(b)"


def create(label: str, properties: str) -> str:
    """Cypher that creates a node of the namespace."""
    return f"CREATE (:{label} {{namespace: $namespace, {properties}}})"


SPOILED: dict[str, tuple[str, str, str | None]] = {
    "an edge with the id of a node": (edge("id: 'a', verb: 'v', weight: 1.0"), "shared-id", "a"),
    "a weight of 7.5": (edge("id: 'e', verb: 'v', weight: 7.5"), "edge-weight", "e"),
    "a weight below 0": (edge("id: 'e', verb: 'v', weight: -0.5"), "edge-weight", "e"),
    "a weight that is no number": (edge("id: 'e', verb: 'v', weight: 'much'"), "edge-weight", "e"),
    "a weight that is NaN": (edge("id: 'e', verb: 'v', weight: 0.0 / 0.0"), "edge-weight", "e"),
    "no weight": (edge("id: 'e', verb: 'v'"), "edge-weight", "e"),
    "no verb": (edge("id: 'e', weight: 1.0"), "edge-verb", "e"),
    "a verb that is a number": (edge("id: 'e', verb: 5, weight: 1.0"), "edge-verb", "e"),
    "an edge without an id": (edge("verb: 'v', weight: 1.0"), "edge-key", None),
    "an edge without a namespace": (edge("id: 'e', verb: 'v', weight: 1.0", ""), "edge-ends", "e"),
    "an edge out of its namespace": (
        "MATCH (a:Node {namespace: $namespace, id: 'a'}) CREATE (c:Node {namespace: $namespace + '-other', id: 'c', "
        "name: 'C', data: ''}) CREATE (a)-[:EDGE {namespace: $namespace, id: 'e', verb: 'v', weight: 1.0}]->(c)",
        "edge-ends",
        "e",
    ),
    "an edge to what is no node": (
        "MATCH (a:Node {namespace: $namespace, id: 'a'}) CREATE (a)-[:EDGE {namespace: $namespace, id: 'e', "
        "verb: 'v', weight: 1.0}]->(:Thing {namespace: $namespace, id: 'c'})",
        "edge-ends",
        "e",
    ),
    "no name": (TOKEN + "n.namespace_token, id: 'c', data: 'tea'})", "node-values", "c"),
    "a name that is a number": (TOKEN + "n.namespace_token, id: 'c', name: 7, data: 'tea'})", "node-values", "c"),
    "data that is a list": (TOKEN + "n.namespace_token, id: 'c', name: 'C', data: ['tea']})", "node-values", "c"),
    "a node without an id": (TOKEN + "n.namespace_token, name: 'C', data: 'tea'})", "node-key", None),
    "an id that is a number": (TOKEN + "n.namespace_token, id: 7, name: 'C', data: 'tea'})", "node-key", None),
    "a node that no search finds": (TOKEN + "'', id: 'c', name: 'C', data: 'tea'})", "node-search", "c"),
    "an element of the future": ("MATCH (n:Node {namespace: $namespace, id: 'a'}) SET n.since = 99", "future", "a"),
    "a former state of nothing": (create("Former", "id: 'gone', of: 'edge', since: 0, until: 1"), "history", "gone"),
    "an alias of nothing": (create("Alias", "id: 'b', name: 'B'"), "aliases", "b"),
    "a forgetting that is not done": (
        create("Forgetting", "id: 'node a', kind: 'node', target: 'a'"),
        "forgetting",
        "a",
    ),
    "a state of no thread": (create("State", "id: 't//1'"), "threads", "t//1"),
    "a value that nothing holds": (create("ChannelValue", "id: 'v'"), "threads", "v"),
    "a list that is not whole": (
        "CREATE (:Thread {namespace: $namespace, id: 't'})-[:STATE]->(:State {namespace: $namespace, id: 't//1'})"
        "-[:HOLDS {channel: 'c'}]->(:ChannelValue {namespace: $namespace, id: 'v', length: 3})",
        "threads",
        "v",
    ),
    "what is pending after no state": (create("PendingWrite", "id: 'w'"), "threads", "w"),
    "a statement of no context": (create("Entry", "id: '1/1'"), "entries", "1/1"),
    "a run without a status": (create("Run", "id: 'r', language: 'convo'"), "records", "r"),
    "a load at no time": (create("Load", "id: 'l', revision: 99, at: 'soon'"), "records", "l"),
    "a program without a source": (create("Program", "id: 'p', name: 'p', language: 'convo'"), "records", "p"),
    "a message after two": (
        "CREATE (m:Message {namespace: $namespace, id: 'm', body: $body}) CREATE (:Message {namespace: $namespace, "
        "id: 'k', body: $body})-[:NEXT]->(m)<-[:NEXT]-(:Message {namespace: $namespace, id: 'l', body: $body})",
        "messages",
        "m",
    ),
    "a message without a body": (create("Message", "id: 'm'"), "messages", "m"),
    "a message without a role": (create("Message", "id: 'm', body: '{}'"), "messages", "m"),
    "a passage of no message": (create("Passage", "id: 'm-1', span: [0, 9], said: 'text'"), "passages", "m-1"),
    "a message that lacks a passage": (create("Message", "id: 'm', body: $body, passages: 2"), "passages", "m"),
    "a version of no conversation": (create("Version", "id: 'v', length: 1"), "versions", "v"),
    "a conversation without a version": (create("Conversation", "name: 'talk'"), "conversations", "talk"),
    "an observation of nothing": (
        TOKEN + "n.namespace_token, id: 'o', name: '', data: 'likes tea'}) WITH 1 AS one "
        "MATCH (o {namespace: $namespace, id: 'o'}) SET o:Observation",
        "leftovers",
        "o",
    ),
}
"""What raw Cypher does, the invariant that it breaks, and the id of what breaks it."""

spoiled = pytest.mark.parametrize("way", mostly_slow(SPOILED, ordinary=12))


def spoil(graph: MemoryGraph, way: str) -> tuple[str, str | None]:
    cypher, code, identifier = SPOILED[way]
    graph.load(TWO_NODES)
    graph.query(cypher, {"body": '{"role":"user"}'}, write=True)
    return code, identifier


def codes(graph: MemoryGraph) -> dict[str, list[Any]]:
    return {broken.name: [each.id for each in broken.examples] for broken in graph.broken_invariants()}


@spoiled
def test_what_raw_cypher_breaks_is_found_with_its_id_and_how_to_mend_it(graph: MemoryGraph, way: str) -> None:
    code, identifier = spoil(graph, way)
    [broken] = [each for each in graph.broken_invariants() if each.name == code]
    assert broken.count == 1
    assert broken.mend
    [example] = broken.examples
    assert example.namespace in (graph.namespace, None)
    assert identifier in (example.id, None)
    assert example.element is not None


def test_nothing_that_memorygraph_stores_breaks_an_invariant(graph: MemoryGraph) -> None:
    graph.load(TWO_NODES + 'Edge(edge_id="e", from_node="a", to_node="b", verb="likes", weight=1.0);')
    graph.load('Edge(edge_id="e", weight=0.5); Node(node_id="a", name="AA");')
    graph.entities.create([Entity(name="Ada", entity_type="person", observations=["likes tea", "is kind"])])
    graph.load(
        "context main(&anna, &carl) {\n  &bread = /* bread */\n  &carl says that &anna likes &bread.\n}\n", "pete"
    )
    history = graph.messages("talk")
    history.append({"role": "user", "content": "Hi"})
    history.append({"role": "assistant", "content": "Hello"})
    history[0]["content"] = "Hey"
    graph.load('del(id="a"); del(id="Ada");')
    graph.undo(graph.revisions(1)[0].revision)
    graph.load('del(id="a");')
    assert codes(graph) == {}


def test_what_every_part_stores_breaks_no_invariant(graph: MemoryGraph) -> None:
    fill(graph)
    graph.delete("memory-1")
    assert codes(graph) == {}


def test_every_invariant_has_a_case_that_breaks_it() -> None:
    assert {code for _, code, _ in SPOILED.values()} | {"unknown-namespace"} == {
        each.name for each in list_invariants()
    }


def test_nodes_of_a_namespace_without_a_record_are_found(graph: MemoryGraph) -> None:
    graph.query("CREATE (:Node {namespace: $namespace, id: 'a', name: '', data: ''})", write=True)
    assert codes(graph)["unknown-namespace"] == ["a"]
    graph.load("")
    assert "unknown-namespace" not in codes(graph)


FALLEN_BEHIND = {
    "unknown-namespace": "MATCH (n:Namespace {name: $namespace}) DELETE n",
    "future": "MATCH (n:Namespace {name: $namespace}) SET n.revision = 1",
}


@pytest.mark.parametrize("code", FALLEN_BEHIND)
def test_a_namespace_that_is_behind_its_loads_is_mended_as_the_doctor_says(graph: MemoryGraph, code: str) -> None:
    graph.load(TWO_NODES)
    graph.load('Node(node_id="c", name="C", data="");')
    graph.load('del(id="c");')
    graph.query(FALLEN_BEHIND[code], write=True)
    [broken] = [each for each in graph.broken_invariants() if each.name == code]
    advice, _, mending = broken.mend.partition(": ")
    assert advice == "run in Neo4j Browser, with its namespace as $namespace"
    graph.query(mending, write=True)
    assert codes(graph) == {}
    assert graph.load('Node(node_id="c", name="C", data="");').revision == 4


@pytest.mark.slow
def test_what_has_no_namespace_is_found_in_the_whole_database(graph: MemoryGraph) -> None:
    graph.query("CREATE (:Node {id: $namespace, name: '', data: ''})", write=True)
    try:
        # All of them are named: other tests leave nodes without a key, too.
        [invariant] = [each for each in list_invariants() if each.name == "node-key"]
        _, found = Examination(graph.scope, everywhere=True).find_violations(invariant, MAX_LEFT_BY_TESTS)
        assert any(violation.id == graph.namespace for violation in found)
    finally:
        graph.query("MATCH (n:Node) WHERE n.id = $namespace AND n.namespace IS NULL DELETE n", write=True)


def test_many_violations_are_all_counted_and_a_few_are_named(graph: MemoryGraph) -> None:
    graph.query("UNWIND range(1, 2500) AS i CREATE (:Node {namespace: $namespace, id: 'n' + i, data: ''})", write=True)
    [broken] = [each for each in graph.broken_invariants() if each.name == "node-values"]
    assert (broken.count, len(broken.examples)) == (2500, MAX_EXAMPLES)


def test_the_first_violations_by_id_are_named_and_the_database_sends_no_others(graph: MemoryGraph) -> None:
    graph.query("UNWIND range(10, 99) AS i CREATE (:Node {namespace: $namespace, id: 'n' + i, data: ''})", write=True)
    [invariant] = [each for each in list_invariants() if each.name == "node-values"]
    count, first = Examination(graph.scope).find_violations(invariant, 3)
    assert (count, [each.id for each in first]) == (90, ["n10", "n11", "n12"])


def test_every_node_is_indexed_page_by_page_whatever_its_id(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invariants, "NODES_PER_TRANSACTION", 4)
    graph.load("")
    graph.query(
        "UNWIND range(1, 10) AS i CREATE (:Node {namespace: $namespace, id: 'n' + i, name: 'tea', data: ''})",
        write=True,
    )
    graph.query("UNWIND [1, 2.5, null] AS id CREATE (:Node {namespace: $namespace, id: id, name: 'tea'})", write=True)
    assert "node-search" in codes(graph)
    assert graph.mend().indexed == 13
    assert "node-search" not in codes(graph)
    with hear_bad_elements(lambda _: None):
        assert len(graph.search("tea", limit=20)) == 13


def test_nodes_that_no_index_lists_are_looked_for_once_for_all_namespaces(
    graph: MemoryGraph, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = [graph, empty_namespace(connection), empty_namespace(connection)]
    for each in graphs:
        each.load("")
        each.query("CREATE (:Node {namespace: $namespace, id: 7, name: 'tea', data: ''})", write=True)
    ran, run = list[str](), Transaction.run

    def note(transaction: Transaction, query: Query) -> list[dict[str, Any]]:
        ran.append(query.text)
        return run(transaction, query)

    monkeypatch.setattr(Transaction, "run", note)
    examination = Examination(graph.scope, everywhere=True)
    vars(examination)["scopes"] = [each.scope for each in graphs[:2]]
    assert examination.mend().indexed == 2
    assert ran.count(CYPHER["invariants/index-strangers"].text) == 2  # the second finds that there are no more
    assert ["node-search" in codes(each) for each in graphs] == [False, False, True]


@pytest.mark.usefixtures("environment")
def test_the_command_names_what_is_broken_mends_what_it_can_and_tells_by_its_exit_code(graph: MemoryGraph) -> None:
    spoil(graph, "an observation of nothing")
    graph.query("MATCH (n:Node {namespace: $namespace, id: 'b'}) SET n.namespace_token = null", write=True)
    of = ["--namespace", graph.namespace, "doctor", "--graph"]
    done = CliRunner().invoke(cli, of)
    assert done.exit_code == 1
    assert f'node "o" of namespace "{graph.namespace}": what = "an observation of nothing"' in done.stdout
    assert "-> run it with --fix" in done.stdout
    assert graph.search("B") == []
    mended = CliRunner().invoke(cli, [*of, "--fix", "--json"])
    assert mended.exit_code == 0, mended.output
    document = json.loads(mended.stdout)
    assert (document["ok"], document["findings"], document["mended"]["indexed"]) == (True, [], 1)
    [report] = document["mended"]["removed"]
    assert [hit.id for hit in graph.search("B")] == ["b"]
    graph.undo(report["revision"])
    assert codes(graph) == {"leftovers": ["o"]}
    assert CliRunner().invoke(cli, ["doctor", "--fix"]).exit_code == 2


BOTH = "an edge with the id of a node"


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(
    "statement",
    [
        'del(id="a");',
        'Node(node_id="a", name="AA");',
        'Edge(edge_id="a", weight=0.5);',
        'Edge(edge_id="new", from_node="a", to_node="b", verb="v", weight=1.0);',
        'Edge(edge_id="new", from_node="b", to_node="a", verb="v", weight=1.0); del(id="a");',
    ],
)
def test_a_statement_about_an_id_of_two_things_is_refused_and_both_are_named(
    graph: MemoryGraph, statement: str
) -> None:
    spoil(graph, BOTH)
    before = graph.query("MATCH (n {namespace: $namespace}) OPTIONAL MATCH (n)-[e]->() RETURN n, e ORDER BY n.id")
    with pytest.raises(ScriptError, match=r"the node `a` and the edge from `a` to `b`") as caught:
        graph.load(statement)
    assert {problem.code for problem in caught.value.problems} == {"ambiguous-id"}
    after = graph.query("MATCH (n {namespace: $namespace}) OPTIONAL MATCH (n)-[e]->() RETURN n, e ORDER BY n.id")
    assert after == before


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("command", ["delete", "show"])
def test_a_command_on_an_id_of_two_things_names_both_and_changes_nothing(graph: MemoryGraph, command: str) -> None:
    spoil(graph, BOTH)
    done = CliRunner().invoke(cli, ["--namespace", graph.namespace, command, "a"])
    assert done.exit_code == 1
    assert 'the node "A" and the edge `a` v `b`' in done.output
    assert (graph.node("a").name, graph.edge("a").verb) == ("A", "v")
    assert graph.revisions(1)[0].revision == 1


@pytest.mark.parametrize("delete", [lambda mg: mg.entities.delete(["A"]), lambda mg: mg.merge("A", into="B")])
def test_an_entity_whose_id_an_edge_at_it_has_is_refused_and_both_are_named(
    graph: MemoryGraph, delete: Callable[[MemoryGraph], object]
) -> None:
    spoil(graph, BOTH)
    with pytest.raises(ConflictError, match=r'the node "A" and the edge `a` v `b`'):
        delete(graph)
    assert (graph.node("a").name, graph.revisions(1)[0].revision) == ("A", 1)


def test_an_id_of_two_things_is_mended_as_the_doctor_says(graph: MemoryGraph) -> None:
    spoil(graph, BOTH)
    [broken] = graph.broken_invariants()
    mending = broken.mend.partition(": ")[2]
    values = {"element": broken.examples[0].element, "namespace": graph.namespace, "id": "other"}
    graph.query(mending, values, write=True)
    assert codes(graph) == {}
    graph.delete("a")
    assert graph.query("MATCH (n:Node {namespace: $namespace}) RETURN n.id AS id") == [{"id": "b"}]


READS: dict[str, list[str]] = {
    "show": ["show", "a"],
    "show the bad one": ["show", "{id}"],
    "search": ["search", "A tea C likes"],
    "recall": ["recall", "A tea C likes"],
    "neighbours": ["neighbours", "a", "--depth", "3"],
    "history": ["history", "{id}"],
    "namespaces": ["namespaces", "list"],
    "revisions": ["revisions"],
    "runs": ["runs", "list"],
    "programs": ["programs", "list"],
    "jsonl": ["export", "--format", "jsonl"],
    "graphml": ["export", "--format", "graphml"],
    "server-memory": ["export", "--format", "server-memory"],
}


OTHER_PARTS = {
    "threads",
    "entries",
    "records",
    "messages",
    "passages",
    "versions",
    "conversations",
    "edge-ends",
    "history",
}
"""What is neither a node nor an edge of the namespace, so that its id shows nothing."""


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("way", mostly_slow(SPOILED, ordinary=2))
def test_no_read_falls_over_one_bad_element(graph: MemoryGraph, way: str) -> None:
    code, identifier = spoil(graph, way)
    fell = {}
    for read, arguments in READS.items():
        if "{id}" in arguments and (identifier is None or way == BOTH or code in OTHER_PARTS):
            continue
        if way == BOTH and read == "show":
            continue
        line = [part.format(id=identifier) for part in arguments]
        done = CliRunner().invoke(cli, ["--namespace", graph.namespace, *line])
        if done.exit_code:
            fell[read] = done.output[-300:], repr(done.exception)
    assert fell == {}
    with hear_bad_elements(lambda _: None):
        found = [*graph.entities.search("tea").entities, *graph.entities.read_graph().entities]
    assert {entity.name for entity in found} >= {"A", "B"}


@pytest.mark.usefixtures("environment")
def test_a_record_that_is_none_is_shown_as_far_as_it_is_one(graph: MemoryGraph) -> None:
    fill(graph)
    run = graph.runs()[0].id
    graph.query(
        "MATCH (n {namespace: $namespace}) WHERE n:Load OR n:Run OR n:Program OR n:Entry OR n.id = 'a' "
        "SET n.at = 'soon', n.status = null, n.source = 5, n.text = 7, n.since = CASE WHEN n:Node THEN 'x' END",
        write=True,
    )
    assert "records" in codes(graph)
    reads = ["runs list", f"runs show {run}", "pete show lab", "revisions", "history a", "programs show one"]
    for line in reads:
        done = CliRunner().invoke(cli, ["--namespace", graph.namespace, *line.split()])
        assert done.exit_code == 0, (line, done.output, repr(done.exception))
    graph.query("CREATE (:Former {namespace: $namespace, id: 'a', of: 'node', since: 'x', until: 2})", write=True)
    assert graph.forget("a").went["nodes"] == 1


NAMED = {
    "a weight of 7.5": 'edge "e" is not as it should be: weight = 7.5',
    "no verb": 'edge "e" is not as it should be: verb = missing',
    "no name": 'node "c" is not as it should be: name = missing',
    "data that is a list": 'node "c" is not as it should be: data = ["tea"]',
}
"""What raw Cypher does, and what a read says of it."""
SEES_EDGES = {"neighbours", "recall", "jsonl", "graphml"}


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("way", NAMED)
def test_a_read_that_meets_a_bad_element_names_it_on_stderr_and_in_its_json(graph: MemoryGraph, way: str) -> None:
    _, identifier = spoil(graph, way)
    graph.query(
        "MATCH (a:Node {namespace: $namespace, id: 'a'}), (c:Node {namespace: $namespace, id: 'c'}) "
        "CREATE (a)-[:EDGE {namespace: $namespace, id: 'to-c', verb: 'v', weight: 1.0}]->(c)",
        write=True,
    )
    for read, arguments in READS.items():
        sees = read == "show the bad one" or read in SEES_EDGES or (identifier == "c" and read == "search")
        line = ["--namespace", graph.namespace, *(part.format(id=identifier) for part in arguments)]
        if sees:
            done = CliRunner().invoke(cli, line)
            assert done.stderr.count(f"warning: {NAMED[way]}; `memorygraph doctor --graph`") == 1, (read, done.stderr)
            assert "not as it should be" not in done.stdout
        if read in ("show the bad one", "recall"):
            document = json.loads(CliRunner().invoke(cli, [*line, "--json"]).stdout)
            [warning] = document["warnings"]
            assert (warning["code"], warning["message"].partition(";")[0]) == ("bad-element", NAMED[way])


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("body", ["nonsense", '{"content":"tea"}', 7, None])
def test_a_message_that_is_none_hides_no_other_and_is_named(graph: MemoryGraph, body: Any) -> None:
    said = graph.messages("talk")
    said.extend([{"role": "user", "content": "I like tea"}, {"role": "assistant", "content": "Tea is good"}])
    bad = said.entry(0).id
    graph.query(
        "MATCH (m:Message {namespace: $namespace, id: $id}) SET m.body = $body", {"id": bad, "body": body}, write=True
    )
    done = CliRunner().invoke(cli, ["--namespace", graph.namespace, "recall", "tea"])
    assert done.exit_code == 0, done.output
    assert "Tea is good" in done.stdout
    assert f'message "{bad}" is not as it should be: body = ' in done.stderr
    assert codes(graph) == {"messages": [bad]}
    for read in ("show", "export"):
        refused = CliRunner().invoke(cli, ["--namespace", graph.namespace, "messages", read, "talk"])
        verify = f"`memorygraph -n {graph.namespace} messages verify` names it"
        assert (refused.exit_code, f"was altered in the database: {verify}" in refused.stderr) == (1, True)
    verified = CliRunner().invoke(cli, ["--namespace", graph.namespace, "messages", "verify", "talk"])
    assert f"({bad}): its body is not a message any more" in verified.output


def test_messages_and_conversations_that_are_none_keep_no_other_from_being_indexed(graph: MemoryGraph) -> None:
    graph.messages("numbered").append({"role": "user", "content": "Tea is fine"})
    graph.messages("talk").extend([{"role": "user", "content": "I like tea"}, {"role": "assistant", "content": "Tea?"}])
    graph.query(
        "MATCH (m:Message {namespace: $namespace}) SET m.passages = null, m.created_at = null, m.said_at = null "
        "WITH DISTINCT 1 AS one MATCH (c:Conversation {namespace: $namespace, name: 'numbered'}) SET c.name = 7 "
        "WITH c MATCH (bad:Message {namespace: $namespace, role: 'assistant'}) SET bad.body = '{}'",
        write=True,
    )
    assert graph.index_messages() == 2
    with hear_bad_elements(lambda _: None):
        assert "I like tea" in [hit.text for hit in graph.recall("tea").hits]


@pytest.mark.parametrize("way", NAMED)
def test_a_read_in_python_warns_of_a_bad_element(graph: MemoryGraph, way: str) -> None:
    _, identifier = spoil(graph, way)
    with pytest.warns(BadElementWarning, match=re.escape(NAMED[way])):
        graph.element(str(identifier))


SPOILED_PAST = """
MATCH (a:Node {namespace: $namespace, id: 'a'})
SET a.name = 5
CREATE (a)-[:EDGE {namespace: $namespace, id: 'w', verb: 7, weight: 7.5, since: 1}]->(a)
CREATE (:Former {namespace: $namespace, of: 'node', id: 'f', name: [1], data: '', since: 1, until: 2}),
       (:Former {namespace: $namespace, of: 'edge', id: 'g', verb: 'v', weight: 'x', since: 1, until: 2})
"""


@pytest.mark.parametrize("form", ["contextscript", "jsonl", "graphml"])
def test_a_read_of_an_earlier_revision_names_bad_elements_and_goes_on(graph: MemoryGraph, form: str) -> None:
    graph.load(TWO_NODES)
    graph.query(SPOILED_PAST, write=True)
    graph.load('Node(node_id="c", name="C", data="");')
    snapshot = graph.at(1)
    bad = {"a": 'node "a" is not as it should be: name = 5', "w": "verb = 7, weight = 7.5"}
    bad |= {"f": 'node "f" is not as it should be: name = [1]', "g": 'edge "g" is not as it should be: weight = "x"'}
    heard: list[str] = []
    with hear_bad_elements(heard.append):
        assert [node.id for node in snapshot.nodes()] == ["a", "b", "f"]
        assert [edge.id for edge in snapshot.edges()] == ["g", "w"]
    assert len(heard) == 4
    for identifier, named in bad.items():
        assert any(named in each for each in heard)
        with pytest.warns(BadElementWarning, match=re.escape(named)):
            snapshot.element(identifier)
    told: list[str] = []
    file = StringIO()
    with hear_bad_elements(told.append):
        left_out = snapshot.export_to(file, form).as_dict()
    assert '"b"' in file.getvalue()
    named_or_left_out = " ".join(told) + str(left_out)
    assert all(f'"{identifier}"' in named_or_left_out or f"'{identifier}" in named_or_left_out for identifier in bad)


NO_TEXT_AS_ID = """
MATCH (a:Node {namespace: $namespace, id: 'a'})
CREATE (a)-[:EDGE {namespace: $namespace, id: 5, verb: 'v', weight: 1.0}]->(:Node {namespace: $namespace, id: 7}),
       (a)<-[:EDGE {namespace: $namespace, verb: 'v', weight: 1.0}]-(none:Node {namespace: $namespace, name: 'C'}),
       (a)-[:EDGE {namespace: $namespace, verb: 'w', weight: 1.0}]->(none),
       (a)-[:EDGE {namespace: $namespace, verb: 'v', weight: 1.0}]->(:Node {namespace: $namespace, name: 'D'}),
       (none)-[:EDGE {namespace: $namespace, id: 'on', verb: 'v'}]->(:Node {namespace: $namespace, id: 'e'})
"""


@pytest.mark.usefixtures("environment")
def test_neighbours_whose_ids_are_no_text_or_missing_are_each_there_once_with_all_their_edges(
    graph: MemoryGraph,
) -> None:
    graph.load(TWO_NODES + 'Edge(edge_id="e", from_node="a", to_node="b", verb="v", weight=1.0);')
    graph.query(NO_TEXT_AS_ID, write=True)
    with hear_bad_elements(lambda _: None):
        found = graph.neighbours("a", depth=3)
    shown: list[tuple[Any, ...]] = [(near.distance, near.id, len(near.edges)) for near in found]
    assert sorted(shown[:2]) == [(1, None, 1), (1, None, 2)]
    assert shown[2:] == [(1, 7, 1), (1, "b", 1), (2, "e", 1)]
    done = CliRunner().invoke(cli, ["--namespace", graph.namespace, "neighbours", "a"])
    assert (done.exit_code, "warning: node 7 is not as it should be: id = 7" in done.stderr) == (0, True)
    assert len(done.stdout.splitlines()) == 2 + 5


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(("form", "kind"), [("contextscript", "node"), ("jsonl", "node"), ("server-memory", "entity")])
def test_an_export_names_each_element_without_a_name_by_its_id_and_is_strict_about_it(
    graph: MemoryGraph, form: str, kind: str
) -> None:
    graph.query("UNWIND ['n', 'm'] AS id CREATE (:Node {namespace: $namespace, id: id, data: 'd'})", write=True)
    command = ["--namespace", graph.namespace, "export", "--format", form]
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 0
    for identifier in ("n", "m"):
        assert f'warning: {kind} "{identifier}" is not as it should be: name = missing;' in done.stderr
    assert CliRunner().invoke(cli, [*command, "--strict"]).exit_code == 1


def test_many_bad_elements_are_named_in_part(graph: MemoryGraph) -> None:
    graph.load("")
    graph.query("UNWIND range(10, 59) AS i CREATE (:Node {namespace: $namespace, id: 'n' + i, data: ''})", write=True)
    heard: list[str] = []
    with hear_bad_elements(heard.append):
        graph.export_to(StringIO(), "jsonl")
    assert len(heard) == MAX_NAMED + 1
    assert heard[0].startswith('node "n10" is not as it should be: name = missing')
    assert heard[-1].startswith("more nodes, edges or messages are not as they should be")


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("search_nodes", {"query": "tea"}, 'entity "c" is not as it should be: name = 7'),
        ("read_graph", {}, 'entity "c" is not as it should be: name = 7'),
        ("recall", {"query": "tea"}, 'node "c" is not as it should be: name = 7'),
        ("neighbours", {"id": "a"}, 'node "c" is not as it should be: name = 7'),
    ],
)
def test_a_tool_that_meets_a_bad_element_names_it_after_its_answer(
    graph: MemoryGraph, tool: str, arguments: dict[str, Any], said: str
) -> None:
    spoil(graph, "a name that is a number")
    graph.query(
        "MATCH (a:Node {namespace: $namespace, id: 'a'}), (c:Node {namespace: $namespace, id: 'c'}) "
        "CREATE (a)-[:EDGE {namespace: $namespace, id: 'to-c', verb: 'v', weight: 1.0}]->(c)",
        write=True,
    )
    answer = TOOLS[tool].call(graph, arguments)
    assert not answer.is_error
    assert [part.text for part in answer.content[1:] if isinstance(part, TextContent)] == [
        f"{said}; on the machine of this server `memorygraph doctor --graph` says how it is mended"
    ]


@spoiled
def test_an_export_loads_back_without_what_no_script_can_declare(
    graph: MemoryGraph, twin: MemoryGraph, way: str
) -> None:
    code, identifier = spoil(graph, way)
    file = StringIO()
    with pytest.warns(BadElementWarning, match="name = missing") if way == "no name" else nullcontext():
        left_out = graph.export_to(file)
    twin.load(file.getvalue())
    assert {node.id for node in (twin.node("a"), twin.node("b"))} == {"a", "b"}
    if code in {"shared-id", "edge-weight", "edge-verb", "node-values"} and way != "no name":
        assert [identifier] == [example.partition(" ")[0] for each in left_out.examples.values() for example in each]
