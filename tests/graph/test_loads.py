"""What a load promises: all or nothing, one owner for each id, unknown outcomes resolved, nothing applied twice."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memorygraph import ConnectionError, LoadReport, MemoryGraph, MemoryGraphError, NotFoundError, ScriptError
from memorygraph.compiler import Compiled, Stored, compile_program, contextscript, symbols
from memorygraph.errors import MAX_PROBLEMS, Problem, TooLargeError
from memorygraph.graph import loads, sizes
from memorygraph.graph.connection import Connection
from memorygraph.graph.writes import COUNTS
from memorygraph.languages import parse
from memorygraph.languages.contextscript.syntax import GraphStatement
from memorygraph.languages.engine.findings import suggestion
from memorygraph.query import Query
from tests.writers import lose_replies, together

NODES = "".join(f'Node(node_id="n{i}", name="N{i}", data="number {i}");\n' for i in range(20))


def test_a_bad_last_statement_leaves_the_graph_as_it_was(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="before", name="B", data="");')
    before = graph.export()
    with pytest.raises(ScriptError) as error:
        graph.load(NODES + 'Edge(edge_id="e", from_node="n1", to_node="nowhere", verb="v", weight=1.0);')
    assert [(p.line, p.column, p.code) for p in error.value.problems] == [(21, 43, "unknown-node")]
    assert graph.export() == before
    [namespace] = [n for n in graph.namespaces() if n.name == graph.namespace]
    assert namespace.revision == 1


@pytest.mark.parametrize("script", [Path("world.ctx"), b"", None])
def test_a_script_that_is_no_text_is_a_type_error_that_names_what_takes_a_path(graph: MemoryGraph, script: Any) -> None:
    for use in (graph.load, graph.check, graph.run, graph.convo, graph.compile):
        with pytest.raises(TypeError, match=rf"this is a {type(script).__name__}: `load_file`, `run_file`"):
            use(script)


def test_loading_again_changes_nothing(graph: MemoryGraph) -> None:
    program = NODES + 'Edge(edge_id="e", from_node="n1", to_node="n2", verb="v", weight=0.5);'
    first = graph.load(program)
    exported = graph.export()
    second = graph.load(program)
    assert (first.nodes_created, first.edges_created) == (20, 1)
    assert [getattr(second, name) for name in ("nodes_created", "nodes_updated", "edges_created", "edges_updated")] == [
        0
    ] * 4
    assert (first.revision, second.revision) == (1, 2)
    assert graph.export() == exported


EDGE = 'Edge(edge_id="e", from_node="n1", to_node="n2", verb="v", weight=0.5);'


@pytest.mark.parametrize(
    ("program", "changed"),
    [
        ("", {}),
        ('Node(node_id="new", name="N", data="");', {"nodes_created": 1}),
        ('Node(node_id="n1", name="other");', {"nodes_updated": 1}),
        ('Node(node_id="n1", name="N1");', {}),
        ('Edge(edge_id="new", from_node="n1", to_node="n2", verb="v", weight=1.0);', {"edges_created": 1}),
        ('Edge(edge_id="e", verb="w");', {"edges_updated": 1}),
        ('Edge(edge_id="e", to_node="n3");', {"edges_updated": 1}),
        ('del(id="e");', {"edges_deleted": 1}),
        ('del(id="n1");', {"nodes_deleted": 1, "edges_deleted": 1}),
        (
            'Node(node_id="a", name="A", data=""); del(id="n3"); Node(node_id="b", name="B", data="");'
            'Node(node_id="n2", data="other"); del(id="n4");',
            {"nodes_created": 2, "nodes_updated": 1, "nodes_deleted": 2},
        ),
    ],
)
def test_the_record_of_a_load_has_its_id_and_the_counts_of_its_report(
    graph: MemoryGraph, program: str, changed: dict[str, int]
) -> None:
    graph.load(NODES + EDGE)
    assert {name: count for name, count in graph.load(program, dry_run=True).as_dict().items() if name in changed} == (
        changed
    )
    report = graph.load(program)
    [row] = graph.query("MATCH (l:Load {namespace: $namespace, id: $id}) RETURN l AS record", {"id": report.load_id})
    assert {name: row["record"][name] for name in COUNTS} == {**dict.fromkeys(COUNTS, 0), **changed}
    assert {name: getattr(report, name) for name in COUNTS} == {**dict.fromkeys(COUNTS, 0), **changed}
    assert (row["record"]["revision"], report.revision) == (2, 2)


def test_progress_is_told_every_row_of_a_load_once(graph: MemoryGraph) -> None:
    told: list[int] = []
    graph.load(NODES + EDGE + 'del(id="e");', progress=told.append)
    assert told == [20, 1, 1]


def test_a_dry_run_reports_exactly_and_stores_nothing(graph: MemoryGraph) -> None:
    report = graph.load(NODES, dry_run=True)
    assert report.nodes_created == 20
    assert (report.dry_run, report.revision, report.load_id) == (True, 0, "")  # another write gets the number
    assert graph.export() == ""
    assert graph.namespace not in [n.name for n in graph.namespaces()]


def test_namespaces_are_walls(graph: MemoryGraph, connection: Connection) -> None:
    other = MemoryGraph(connection, graph.namespace + "-other")
    graph.load('Node(node_id="a", name="here", data="only here"); Node(node_id="b", name="", data="");')
    other.load('Node(node_id="a", name="there", data="only there");')
    assert (graph.node("a").name, other.node("a").name) == ("here", "there")
    assert [hit.node.name for hit in graph.search("only")] == ["here"]
    with pytest.raises(ScriptError):
        other.load('Edge(edge_id="e", from_node="b", to_node="b", verb="v", weight=0);')
    graph.delete("a")
    assert other.node("a").name == "there"


def test_of_two_clients_that_declare_an_id_as_different_kinds_exactly_one_succeeds(
    graph: MemoryGraph,
) -> None:
    graph.load('Node(node_id="a", name="A", data="");')
    for round_ in range(10):
        node = f'Node(node_id="x{round_}", name="X", data="");'
        edge = f'Edge(edge_id="x{round_}", from_node="a", to_node="a", verb="v", weight=0.5);'
        outcomes = together(partial(graph.load, node), partial(graph.load, edge))
        errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        assert len(errors) == 1, outcomes
        assert isinstance(errors[0], ScriptError)
        assert [problem.code for problem in errors[0].problems] == ["kind-conflict"]


def test_writers_with_opposed_orders_neither_deadlock_nor_lose_anything(graph: MemoryGraph) -> None:
    ids = [f"n{i}" for i in range(50)]

    def program(order: list[str], writer: int) -> str:
        return "".join(f'Node(node_id="{i}", name="{i}", data="writer {writer}");' for i in order)

    def write(writer: int) -> list[LoadReport]:
        return [graph.load(program(ids[:: 1 if writer % 2 else -1], writer)) for _ in range(3)]

    outcomes = together(*(partial(write, writer) for writer in range(8)))
    assert [outcome for outcome in outcomes if isinstance(outcome, Exception)] == []
    revisions = sorted(report.revision for reports in outcomes for report in reports)
    assert revisions == list(range(1, 25))
    assert graph.query("MATCH (n:Node {namespace: $namespace}) RETURN count(n) AS n") == [{"n": 50}]


@pytest.fixture
def one_lost_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver's next transaction commits, and then says that it does not know."""
    lose_replies(monkeypatch)


@pytest.mark.usefixtures("one_lost_reply")
def test_a_load_whose_acknowledgement_is_lost_is_applied_once(graph: MemoryGraph) -> None:
    report = graph.load('Node(node_id="once", name="Once", data="");')
    assert (report.revision, report.nodes_created) == (1, 1)
    assert graph.query("MATCH (l:Load {namespace: $namespace}) RETURN count(l) AS loads") == [{"loads": 1}]


def test_a_program_is_forgotten_also_where_the_acknowledgement_of_that_is_lost(
    graph: MemoryGraph, request: pytest.FixtureRequest
) -> None:
    graph.load("> node a\n> user\nHi\n> nodeEnd\n> user\nx\n> goto a", "convo", file="hi.convo")
    request.getfixturevalue("one_lost_reply")
    graph.forget_program("hi")
    assert graph.programs() == []
    with pytest.raises(NotFoundError, match="no program `hi` is stored"):
        graph.forget_program("hi")


@pytest.mark.usefixtures("one_lost_reply")
def test_a_users_own_write_is_never_run_twice(graph: MemoryGraph) -> None:
    with pytest.raises(ConnectionError, match="not known"):
        graph.query("CREATE (:Node {namespace: $namespace, id: randomUUID()})", write=True)
    assert graph.query("MATCH (n:Node {namespace: $namespace}) RETURN count(n) AS n") == [{"n": 1}]
    graph.query("MATCH (n:Node {namespace: $namespace}) DELETE n", write=True)


def test_the_database_refuses_what_goes_around_memorygraph(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="a", name="A", data="");')
    with pytest.raises(MemoryGraphError):
        graph.query("CREATE (:Node {namespace: $namespace, id: 'a'})", write=True)


def test_show_cypher_is_what_a_load_runs(graph: MemoryGraph) -> None:
    program = NODES + 'Edge(edge_id="e", from_node="n1", to_node="n2", verb="v", weight=0.5); del(id="n3");'
    queries = graph.compile(program)
    report = graph.load(program)
    exported = graph.export()
    graph.drop_namespace(graph.namespace)
    graph.load("")
    for query in queries:
        graph.connection.write(lambda transaction, query=query: transaction.run(query))  # type: ignore[misc]
    assert report.nodes_deleted == 1
    assert graph.export() == exported


def test_names_and_data_of_any_kind_stay_data(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="canary", name="canary", data="sings");')
    hostile = [
        "x]->() DETACH DELETE n",
        "') RETURN 1 //",
        '{"$ne": 1}',
        "`; MATCH (n) DETACH DELETE n",
        "\\u0027 OR 1=1",
        "$namespace",
        "\u202e\u0000\x07 \U0001f600",
        "{{x}}",
    ]
    from memorygraph.languages.contextscript import NodeDeclaration, print_contextscript

    graph.load(print_contextscript(NodeDeclaration(node_id=f"h{i}", name=t, data=t) for i, t in enumerate(hostile)))
    assert [graph.node(f"h{i}").data for i in range(len(hostile))] == hostile
    assert graph.node("canary").data == "sings"


@pytest.mark.slow
def test_a_transaction_too_large_for_the_server_says_to_use_batches(connection: Connection) -> None:
    with pytest.raises(MemoryGraphError, match="--batch"):
        connection.write(lambda tx: tx.run(Query("UNWIND range(1, 4000000) AS i CREATE (:TooLarge {i: toString(i)})")))
    assert connection.read(Query("MATCH (n) WHERE 'TooLarge' IN labels(n) RETURN count(n) AS n")) == [{"n": 0}]


@pytest.mark.parametrize("scheme", ["neo4j", "bolt"])
def test_both_schemes_reach_the_server_and_reads_see_the_writes_before_them(
    server: tuple[str, tuple[str, str] | None], graph: MemoryGraph, scheme: str
) -> None:
    uri, auth = server
    with Connection(f"{scheme}://{uri.partition('://')[2]}", auth) as connection:
        routed = MemoryGraph(connection, graph.namespace)
        for i in range(5):
            routed.load(f'Node(node_id="n{i}", name="N", data="");')
            assert routed.node(f"n{i}").name == "N"


def test_an_encrypted_address_of_a_server_whose_certificate_is_not_trusted_is_a_clear_error(
    server: tuple[str, tuple[str, str] | None],
) -> None:
    uri, auth = server
    if uri.startswith("bolt+"):
        pytest.skip("this server's certificate is trusted, or need not be")
    with pytest.raises(ConnectionError, match=r"did not prove that it is the server|cannot be reached"):
        Connection(f"bolt+s://{uri.partition('://')[2]}", auth)


def test_a_wrong_password_is_a_clear_error(server: tuple[str, tuple[str, str] | None]) -> None:
    uri, auth = server
    if auth is None:
        pytest.skip("this server asks for no password")
    with pytest.raises(ConnectionError, match="NEO4J_PASSWORD"):
        Connection(uri, (auth[0], "wrong"))


def test_nothing_is_compiled_or_suggested_under_the_lock_of_the_namespace(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time another writer takes the lock in between; and what is not shown is not suggested."""
    graph.load(NODES)
    lock = Query("MATCH (space:Namespace {name: $name}) SET space.name = space.name", {"name": graph.namespace})
    compiled: list[Compiled] = []
    suggested: list[str] = []

    def take_the_lock() -> None:
        graph.connection.write(lambda transaction: transaction.run(lock), seconds=20)

    def compile_late(*arguments: Any, **options: Any) -> Compiled:
        take_the_lock()
        compiled.append(compile_program(*arguments, **options))
        return compiled[-1]

    def suggest_late(name: str, known: Any) -> str:
        if not suggested:
            take_the_lock()
        suggested.append(name)
        return suggestion(name, known)

    monkeypatch.setattr(loads, "compile_program", compile_late)
    monkeypatch.setattr(symbols, "suggestion", suggest_late)
    edge = 'Edge(edge_id="e{0}", from_node="n1", to_node="n1x{0}", verb="v", weight=1.0);\n'
    with pytest.raises(ScriptError) as refused:
        graph.load("".join(map(edge.format, range(3 * MAX_PROBLEMS))))
    assert len(suggested) == MAX_PROBLEMS
    assert [each.code for each in refused.value.problems] == ["unknown-node"] * MAX_PROBLEMS + ["too-many-problems"]
    assert refused.value.problems[0].message == "`n1x0` is no known node; did you mean `n1`?"
    assert len(compiled) == 2
    graph.load("".join(f'Node(node_id="m{i}", name="M", data="");' for i in range(3 * MAX_PROBLEMS)))
    assert len(compiled) == 3


def test_a_long_program_is_compiled_against_what_is_stored_when_it_has_the_lock(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = MemoryGraph(graph.connection, graph.namespace)

    def compile_late(*arguments: Any, **options: Any) -> Compiled:
        monkeypatch.undo()
        compiled = compile_program(*arguments, **options)
        other.load('Node(node_id="m7", name="Other", data="came first");')
        return compiled

    monkeypatch.setattr(loads, "compile_program", compile_late)
    report = graph.load("".join(f'Node(node_id="m{i}", name="M", data="");' for i in range(200)))
    assert (report.nodes_created, report.nodes_updated, report.revision) == (199, 1, 2)


ALONG = (
    NODES,
    NODES + EDGE,
    EDGE + NODES,  # the end of an edge is declared after it
    NODES + 'Edge(edge_id="e", from_node="n1", to_node="nowhere", verb="v", weight=1.0);',
    NODES + 'Node(node_id="new", name="N");',
    'Node(node_id="n3", name="other"); Edge(edge_id="f", from_node="n3", to_node="here", verb="v", weight=1.0);',
    NODES + 'Node(node_id="n1", name="twice");',
    NODES + EDGE + 'del(id="n1");',
    NODES + 'Edge(edge_id="moved", to_node="here");',  # it leaves an observation, which goes with that
)


@pytest.mark.parametrize("program", ALONG)
@pytest.mark.parametrize(
    "stored",
    [
        "",
        'Node(node_id="here", name="H", data="");Node(node_id="n3", name="3", data="");'
        'Node(node_id="said", name="", data="likes tea");'
        'Edge(edge_id="moved", from_node="n3", to_node="said", verb="observed", weight=1.0);',
    ],
)
def test_a_program_that_is_compiled_along_with_its_writing_stores_the_same_or_has_the_same_problems(
    graph: MemoryGraph, twin: MemoryGraph, monkeypatch: pytest.MonkeyPatch, stored: str, program: str
) -> None:
    def load(where: MemoryGraph) -> tuple[str, list[Problem]]:
        where.load(stored)
        try:
            where.load(program)
        except ScriptError as error:
            return where.export(), list(error.problems)
        return where.export(), []

    expected = load(graph)
    monkeypatch.setattr(loads, "MAX_STATEMENTS_UNDER_LOCK", 0)
    monkeypatch.setattr(loads, "MIN_LARGE_STATEMENTS", 1)
    monkeypatch.setattr(contextscript, "ROWS_PER_BATCH", 3)
    assert load(twin) == expected


@pytest.mark.parametrize(
    ("program", "bytes_taken"),
    [
        (NODES, 0),  # they are as they are stored
        (NODES.replace("number", "no."), 20 * sizes.CHANGED_NODE_BYTES),
        (NODES.replace("n1", "m1"), 11 * sizes.NEW_NODE_BYTES),
        ('Edge(edge_id="e", weight=1.0);', sizes.CHANGED_EDGE_BYTES),
        ('Edge(edge_id="e", weight=0.5);', 0),
        ('Edge(edge_id="e", to_node="n3");', sizes.MOVED_EDGE_BYTES),
        # The edge goes once, however often it is named.
        ('del(id="n1"); del(id="n2");', 2 * sizes.DELETED_NODE_BYTES + sizes.DELETED_EDGE_BYTES),
        ('del(id="e"); del(id="n2");', sizes.DELETED_NODE_BYTES + sizes.DELETED_EDGE_BYTES),
    ],
)
def test_what_surely_takes_more_than_a_transaction_has_is_refused_before_anything_is_written(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, program: str, bytes_taken: int
) -> None:
    graph.load(NODES + EDGE)
    before = graph.export()
    monkeypatch.setattr(loads, "MAX_STATEMENTS_UNDER_LOCK", 0)
    monkeypatch.setattr(loads, "MIN_LARGE_STATEMENTS", 1)
    if bytes_taken:
        monkeypatch.setattr(loads, "read_memory_limit", lambda _connection: bytes_taken - 1)
        written: list[int] = []
        with pytest.raises(TooLargeError, match=r"nothing was changed by it: `(load|delete n[12]) --batch \d+`"):
            graph.load(program, progress=written.append)
        assert (written, graph.export()) == ([], before)
    monkeypatch.setattr(loads, "read_memory_limit", lambda _connection: bytes_taken)
    graph.load(program)


def test_few_statements_that_delete_nodes_with_many_edges_are_refused_before_anything_is_written(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges = (f'Edge(edge_id="e{i}", from_node="n{i}", to_node="n{1 - i % 2}", verb="v", weight=1);' for i in range(20))
    graph.load(NODES + "".join(edges))
    before = graph.export()
    monkeypatch.setattr(loads, "MIN_LARGE_PARTS", 10)
    monkeypatch.setattr(loads, "read_memory_limit", lambda _connection: 9 * sizes.DELETED_EDGE_BYTES)
    too_large = r"with `n1` \(N1\) go 11 edges, .* nothing was changed by it: `delete n1 --batch 2` deletes it in parts"
    for program in ('del(id="n1");', 'del(id="n5"); del(id="n1");'):
        with pytest.raises(TooLargeError, match=too_large):
            graph.load(program)
    with pytest.raises(TooLargeError, match=too_large):
        graph.delete("n1")
    monkeypatch.setattr(loads, "read_memory_limit", lambda _connection: 15 * sizes.DELETED_EDGE_BYTES)
    with pytest.raises(
        TooLargeError, match=r"these 2 statements .* nothing was changed by it: `load --batch 1` stores them"
    ):
        graph.load('del(id="n0"); del(id="n1");')
    assert graph.export() == before
    assert graph.delete("n1", batch=5).edges_deleted == 11


def test_the_texts_of_few_statements_count_in_what_a_transaction_has_room_for(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "".join(f'Node(node_id="n{i}", name="N", data="{"word " * 100}");\n' for i in range(10))
    each = sizes.size_of_texts(["word " * 100])
    former = int(10 * (501 - 2 * sizes.MAX_SHORT_CHARACTERS) * sizes.FORMER_CHARACTER_BYTES)
    new, changed = 10 * (sizes.NEW_NODE_BYTES + each), 10 * (sizes.CHANGED_NODE_BYTES + each) + former
    monkeypatch.setattr(sizes, "MIN_LARGE_CHARACTERS", 4000)
    written: list[int] = []
    for program, size in ((long, new), (long, 0), (long.replace("word", "else"), changed)):
        before = graph.export()
        monkeypatch.setattr(loads, "read_memory_limit", lambda _connection, size=size: size - 1)
        if size:
            with pytest.raises(TooLargeError, match=r"these 10 statements .* `load --batch 5` stores them in parts"):
                graph.load(program, progress=written.append)
            assert (written, graph.export()) == ([], before)
        monkeypatch.setattr(loads, "read_memory_limit", lambda _connection, size=size: size)
        graph.load(program)
        written.clear()


def test_a_batch_has_room_for_the_longest_texts(graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["long " * 2000] * 3 + ["short"] * 97
    script = "".join(f'Node(node_id="n{i}", name="N", data="{text}");\n' for i, text in enumerate(texts))
    monkeypatch.setattr(sizes, "MIN_LARGE_CHARACTERS", 4000)
    monkeypatch.setattr(loads, "read_memory_limit", lambda _connection: 100_000)
    with pytest.raises(TooLargeError, match=r"`load --batch 1` stores them in parts"):
        graph.load(script)


def test_a_kind_of_statement_without_a_size_of_its_own_counts_as_the_smallest() -> None:
    class Rename(GraphStatement):
        """A kind that a later version might have."""

    known = parse('Node(node_id="a"); Edge(edge_id="e"); del(id="no-such"); del(id="n1");')
    counted = [
        sizes.find_changes(replace(known, statements=(statement,)), Stored(frozenset({"n1"}))).certain
        for statement in (*known.statements, Rename())
    ]
    smallest = min(filter(None, counted))
    assert counted[2] == 0
    assert counted[-1] == smallest == sizes.NEW_NODE_BYTES


def test_the_memory_of_a_transaction_is_read_from_the_server(graph: MemoryGraph) -> None:
    limit = sizes.read_memory_limit(graph.scope.connection)
    assert limit is None or limit > 1 << 20
