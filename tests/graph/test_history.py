"""History: every revision can be read, every load undone or refused with reasons, and what is purged is gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorygraph import Change, ConflictError, MemoryGraph, MemoryGraphError, Node, NotFoundError, Provenance
from memorygraph.graph import history
from memorygraph.graph.connection import Connection
from memorygraph.languages.contextscript import GraphStatement, print_contextscript
from memorygraph.memory.entities import Entities
from memorygraph.memory.items import ItemKey, ItemWrites
from memorygraph.memory.values import Entity, ObservationDeletion, Observations, Relation
from memorygraph.query import Query
from tests.examples import FEWEST_GRAPHS, every_nth, examples
from tests.graph.test_model import TEXTS, Model, expected, statements
from tests.shared_neo4j import new_namespace
from tests.stored import everything

OF_NEW = ("nodes_created", "edges_created")
AB = 'Node(node_id="a", name="A", data="1"); Node(node_id="b", name="B", data="2");'
EDGE = 'Edge(edge_id="e{}", from_node="n{}", to_node="n{}", verb="v", weight=0.5);'
E = 'Edge(edge_id="e", from_node="a", to_node="b", verb="v", weight=0.5);'


def _formers(graph: MemoryGraph) -> int:
    [row] = graph.query("MATCH (f:Former {namespace: $namespace}) RETURN count(f) AS formers")
    return int(row["formers"])


def _actions(changes: list[Change]) -> list[tuple[int, str]]:
    return [(change.revision, change.action) for change in changes]


# Who changed what


def test_an_element_shows_who_changed_it_when_and_from_what(graph: MemoryGraph) -> None:
    graph.load(AB + E, file="world.ctx")
    asked = Provenance("Ada", "a-model", "chat-1", "m1")
    report = graph.load('Node(node_id="a", name="Anna");', provenance=asked)
    graph.delete("a")
    created, changed, deleted = graph.history("a")
    assert (created.action, created.before, created.after) == ("created", None, {"name": "A", "data": "1"})
    assert (created.revision, created.file, created.language, created.by) == (1, "world.ctx", "contextscript", "")
    assert (changed.action, changed.before, changed.after) == (
        "changed",
        {"name": "A", "data": "1"},
        {"name": "Anna", "data": "1"},
    )
    assert (changed.load, changed.by, changed.model) == (report.load_id, "Ada", "a-model")
    assert (changed.conversation, changed.message) == ("chat-1", "m1")
    assert (deleted.revision, deleted.action, deleted.before, deleted.after) == (3, "deleted", changed.after, None)
    assert created.at is not None
    assert changed.at is not None
    assert created.at <= changed.at <= datetime.now(UTC)


def test_an_edge_shows_its_former_ends_and_that_it_went_with_its_node(graph: MemoryGraph) -> None:
    graph.load(AB + E)
    graph.load('Edge(edge_id="e", from_node="b", weight=1);')
    graph.delete("b")
    changes = graph.history("e")
    assert _actions(changes) == [(1, "created"), (2, "changed"), (3, "deleted")]
    assert changes[1].before == {"from_node": "a", "to_node": "b", "verb": "v", "weight": 0.5}
    assert changes[1].after == changes[2].before == {"from_node": "b", "to_node": "b", "verb": "v", "weight": 1.0}


def test_an_id_that_was_a_node_and_then_an_edge_has_one_history(graph: MemoryGraph) -> None:
    graph.load(AB)
    graph.load('del(id="b"); Edge(edge_id="b", from_node="a", to_node="a", verb="v", weight=0);')
    created, changed = graph.history("b")
    assert (created.kind, changed.kind, changed.action) == ("node", "edge", "changed")


@pytest.mark.parametrize("revision", ["1", 1.0, None])
def test_a_revision_that_is_no_whole_number_is_a_type_error(graph: MemoryGraph, revision: Any) -> None:
    graph.load('Node(node_id="a", name="A", data="");')
    with pytest.raises(TypeError, match=f"'{type(revision).__name__}' object"):
        graph.undo(revision)
    assert graph.node("a")


def test_what_never_was_has_no_history(graph: MemoryGraph) -> None:
    with pytest.raises(NotFoundError, match="`x`"):
        graph.history("x")


def test_loading_again_leaves_nothing_in_the_history(graph: MemoryGraph) -> None:
    for _ in range(3):
        graph.load(AB + E)
    assert _formers(graph) == 0
    assert _actions(graph.history("e")) == [(1, "created")]


def test_what_comes_and_goes_within_one_load_leaves_nothing_either(graph: MemoryGraph) -> None:
    graph.load(AB + E + 'Node(node_id="a", name="A2"); del(id="a"); ' + AB + 'del(id="b");')
    assert _formers(graph) == 0
    with pytest.raises(NotFoundError):
        graph.history("e")


def test_what_was_stored_before_there_was_a_history_is_known_since_revision_0(graph: MemoryGraph) -> None:
    graph.load("")
    graph.query("CREATE (:Node {namespace: $namespace, id: 'old', name: 'Old', data: ''})", write=True)
    graph.load('Node(node_id="old", name="New");')
    assert _actions(graph.history("old")) == [(0, "known"), (2, "changed")]
    assert graph.at(1).node("old").name == "Old"
    graph.undo(2)
    assert graph.node("old").name == "Old"


def test_what_others_write_again_and_again_can_be_deleted_each_time(graph: MemoryGraph) -> None:
    graph.load("")
    for name in ("first", "second"):
        graph.query(
            "CREATE (:Node {namespace: $namespace, id: 'x', name: $name, data: ''})", {"name": name}, write=True
        )
        graph.delete("x")
    assert [change.revision for change in graph.history("x") if change.action == "deleted"] == [2, 3]
    assert len(list(graph.at(1).nodes())) == 1
    graph.undo(3)
    assert graph.node("x").name == "second"


def test_revisions_are_listed_newest_first_with_what_they_did(graph: MemoryGraph) -> None:
    graph.load(AB + E, file="world.ctx", provenance=Provenance(by="Ada"))
    graph.delete("e")
    undone = graph.undo(2)
    revisions = graph.revisions()
    assert [(r.revision, r.language, r.undoes) for r in revisions] == [
        (3, "undo", 2),
        (2, "contextscript", None),
        (1, "contextscript", None),
    ]
    assert (revisions[2].file, revisions[2].by, revisions[2].statements) == ("world.ctx", "Ada", 3)
    assert revisions[2].counts["nodes_created"] == 2
    assert revisions[0].load == undone.load_id
    assert [r.revision for r in graph.revisions(limit=1)] == [3]


def test_a_load_is_joined_to_the_message_that_asked_for_it(graph: MemoryGraph) -> None:
    messages = graph.messages("chat")
    messages.append({"role": "user", "content": "remember that"})
    [row] = graph.query("MATCH (m:Message {namespace: $namespace}) RETURN m.id AS id")
    graph.load(AB, provenance=Provenance(conversation="chat", message=row["id"]))
    asked = "MATCH (l:Load {namespace: $namespace})-[:ASKED_IN]->(m:Message) RETURN l.revision AS revision, m.id AS id"
    assert graph.query(asked) == [{"revision": 1, "id": row["id"]}]


def test_every_batch_of_a_load_is_a_revision_with_its_provenance(graph: MemoryGraph, tmp_path: Path) -> None:
    path = tmp_path / "w.ctx"
    path.write_text("".join(f'Node(node_id="n{i}", name="{i}", data="");\n' for i in range(5)))
    graph.load_file(path, batch=2, provenance=Provenance(by="Ada"))
    assert [(r.revision, r.by) for r in graph.revisions()] == [(3, "Ada"), (2, "Ada"), (1, "Ada")]
    assert [len(list(graph.at(r).nodes())) for r in range(4)] == [0, 2, 4, 5]
    graph.undo(2)
    assert [node.id for node in graph.at(4).nodes()] == ["n0", "n1", "n4"]


# The graph as it was


def test_the_graph_is_read_as_of_a_revision_or_a_time(graph: MemoryGraph) -> None:
    graph.load(AB + E)
    first = graph.export()
    time.sleep(0.05)
    between = datetime.now(UTC)
    time.sleep(0.05)
    graph.load('Node(node_id="a", data="changed"); del(id="e");')
    for then in (graph.at(1), graph.at(time=between), graph.at(time=between.astimezone().replace(tzinfo=None))):
        assert then.revision == 1
        assert then.export() == first
        assert (then.node("a").data, then.edge("e").weight) == ("1", 0.5)
    assert graph.at(0).export() == graph.at(time=datetime(2020, 1, 1, tzinfo=UTC)).export() == ""
    assert graph.at(2).export() == graph.export()


@pytest.mark.parametrize("time", [datetime.min, datetime.max.replace(tzinfo=timezone(-timedelta(hours=12)))])
def test_a_time_that_utc_does_not_have_is_refused(graph: MemoryGraph, time: datetime) -> None:
    with pytest.raises(MemoryGraphError, match="a year from 1 to 9999 of UTC"):
        graph.at(time=time)


def test_what_was_not_there_is_not_found(graph: MemoryGraph) -> None:
    graph.load(AB + E)
    then = graph.at(0)
    with pytest.raises(NotFoundError, match="revision 0"):
        then.node("a")
    with pytest.raises(NotFoundError, match="id of an edge"):
        graph.at(1).node("e")
    with pytest.raises(NotFoundError, match="id of a node"):
        graph.at(1).edge("a")
    with pytest.raises(NotFoundError, match="0 to 1"):
        graph.at(2)
    for nothing in ({}, {"revision": 1, "time": datetime.now(UTC)}):
        with pytest.raises(MemoryGraphError, match="revision or as of a time"):
            graph.at(**nothing)  # type: ignore[arg-type]


def test_the_past_is_read_whole_while_it_is_being_made(graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "PAGE", 7)
    graph.load("".join(f'Node(node_id="n{i:02}", name="old", data="");' for i in range(60)))
    stop = threading.Event()

    def change() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            graph.load("".join(f'Node(node_id="n{i:02}", name="new {number}");' for i in range(number % 3, 60, 3)))
            graph.load(f'del(id="n{number % 60:02}"); Node(node_id="n{number % 60:02}", name="again", data="");')

    def newest() -> int:
        return graph.revisions(1)[0].revision

    reads, writer = 0, threading.Thread(target=change)
    writer.start()
    try:
        while writer.is_alive() and (reads < 10 or newest() < 6):
            reads += 1
            nodes = list(graph.at(1).nodes())
            assert [(node.id, node.name) for node in nodes] == [(f"n{i:02}", "old") for i in range(60)]
    finally:
        stop.set()
        writer.join()
    assert newest() >= 6


def test_what_is_read_while_a_load_commits_is_what_it_was_before(graph: MemoryGraph) -> None:
    graph.load(AB)
    graph.load('Node(node_id="a", name="new"); Node(node_id="b", name="new");')
    # A reader can meet a node whose load is half applied: its values are new, and its revision is not yet.
    graph.query("MATCH (node:Node {namespace: $namespace, id: 'a'}) SET node.since = 1", write=True)
    assert list(graph.at(1).nodes()) == [Node("a", "A", "1"), Node("b", "B", "2")]
    assert graph.at(1).node("a") == Node("a", "A", "1")


# Undo


def test_undo_takes_back_what_was_created_changed_and_deleted(graph: MemoryGraph) -> None:
    graph.load(AB + E)
    before = graph.export()
    graph.load(
        'Node(node_id="c", name="C", data=""); Edge(edge_id="f", from_node="c", to_node="b", verb="v", weight=0); '
        'Node(node_id="b", name="B2"); del(id="a");'
    )
    report = graph.undo(2)
    assert graph.export() == before
    counts = {name: n for name, n in report.as_dict().items() if name.startswith(("nodes", "edges"))}
    assert counts == {
        "nodes_created": 1,
        "nodes_updated": 1,
        "nodes_deleted": 1,
        "edges_created": 1,
        "edges_updated": 0,
        "edges_deleted": 1,
    }
    assert (report.revision, report.language) == (3, "undo")


def test_revisions_are_undone_one_after_the_other_and_the_undos_too(graph: MemoryGraph) -> None:
    programs = [
        AB + E,
        'Node(node_id="a", name="A2");',
        'Edge(edge_id="e", to_node="a");',
        'del(id="a");',
        'del(id="b");',
    ]
    states = [""]
    for program in programs:
        graph.load(program)
        states.append(graph.export())
    for revision in (5, 4, 3, 2, 1):
        graph.undo(revision)
        assert graph.export() == states[revision - 1]
    for undone, state in zip((10, 9, 8, 7, 6), states[1:], strict=True):
        graph.undo(undone)
        assert graph.export() == state


def test_a_moved_edge_comes_back_before_the_node_that_it_was_moved_to_goes(graph: MemoryGraph) -> None:
    graph.load(AB + E)
    before = graph.export()
    graph.load('Node(node_id="c", name="C", data=""); Edge(edge_id="e", to_node="c");')
    graph.undo(2)
    assert graph.export() == before


def test_an_id_becomes_the_kind_again_that_it_was(graph: MemoryGraph) -> None:
    graph.load(AB + E)
    before = graph.export()
    graph.load('del(id="e"); Node(node_id="e", name="E", data=""); del(id="a"); '
               'Edge(edge_id="a", from_node="b", to_node="e", verb="v", weight=1);')  # fmt: skip
    graph.undo(2)
    assert graph.export() == before


@pytest.mark.parametrize(
    ("undone", "later", "reason"),
    [
        ('Node(node_id="a", name="A2");', 'Node(node_id="a", name="A3");', "node `a` was changed by revision 3"),
        ('Node(node_id="a", name="A2");', 'del(id="a");', "node `a` was deleted by revision 3"),
        ('del(id="e");', E, "edge `e` was created again by revision 3"),
        ('del(id="e");', 'del(id="b");', "edge `e` needs node `b`, deleted by revision 3"),
        ('Edge(edge_id="e", to_node="a");', 'del(id="b");', "edge `e` needs node `b`, deleted by revision 3"),
        (
            'Node(node_id="c", name="C", data="");',
            'Edge(edge_id="f", from_node="c", to_node="b", verb="v", weight=0);',
            "edge `f` of revision 3 needs node `c`",
        ),
        ('del(id="e");', 'Node(node_id="e", name="E", data="");', "`e` is the id of a node since revision 3"),
        (
            'del(id="a");',
            'Edge(edge_id="a", from_node="b", to_node="b", verb="v", weight=0);',
            "`a` is the id of an edge since revision 3",
        ),
    ],
)
def test_undo_is_refused_where_a_later_revision_stands_on_it(
    graph: MemoryGraph, undone: str, later: str, reason: str
) -> None:
    graph.load(AB + E)
    graph.load(undone)
    graph.load(later)
    before = graph.export()
    with pytest.raises(ConflictError, match=reason):
        graph.undo(2)
    assert graph.export() == before
    assert graph.revisions(limit=1)[0].revision == 3


def test_a_refused_undo_names_what_took_an_id_before_the_nodes_that_are_gone(graph: MemoryGraph) -> None:
    graph.load(AB + E + 'Node(node_id="c", name="C", data="");')
    graph.load('del(id="e"); del(id="c");')
    graph.load('Edge(edge_id="c", from_node="a", to_node="a", verb="v", weight=0); del(id="b");')
    with pytest.raises(ConflictError, match="`c` is the id of an edge since revision 3; edge `e` needs node `b`"):
        graph.undo(2)


def test_there_is_nothing_to_undo_of_a_revision_that_does_not_exist(graph: MemoryGraph) -> None:
    graph.load(AB)
    with pytest.raises(NotFoundError, match="no revision 2"):
        graph.undo(2)


def test_a_dry_undo_reports_exactly_and_changes_nothing(graph: MemoryGraph) -> None:
    graph.load(AB + E)
    before = graph.export()
    report = graph.undo(1, dry_run=True)
    assert (report.nodes_deleted, report.edges_deleted) == (2, 1)
    assert (report.dry_run, report.revision, report.load_id) == (True, 0, "")
    assert graph.export() == before
    assert len(graph.revisions()) == 1


def _most_rows(graph: MemoryGraph, queries: list[Query]) -> int:
    """The most rows that a step of these queries takes, of which the last are not kept."""

    def steps(plan: dict[str, Any]) -> Iterator[int]:
        yield plan["args"]["Rows"]
        for child in plan.get("children", ()):
            yield from steps(child)

    with graph.connection._driver.session() as session, session.begin_transaction() as transaction:
        profiles = [
            transaction.run("PROFILE\n" + query.text, {**query.parameters}).consume().profile for query in queries
        ]
    return max(rows for profile in profiles if profile for rows in steps(profile))


def test_an_undo_walks_through_no_more_than_what_its_revision_may_have_created(
    graph: MemoryGraph, ran: list[Query]
) -> None:
    nodes, edges = 100, 400
    graph.load("".join(f'Node(node_id="n{i}", name="N", data="");' for i in range(nodes)))
    joined = ((i, i % nodes, i * 7 % nodes) for i in range(edges))
    graph.load("".join(EDGE.format(*each) for each in joined))
    programs = {
        'Node(node_id="n1", name="M"); Edge(edge_id="e2", weight=1); Edge(edge_id="e3", from_node="n2");': 0,
        'del(id="n5");': 0,
        'Node(node_id="n0", name="N", data=""); Node(node_id="new", name="N", data="");': nodes,
        'Edge(edge_id="own", from_node="n0", to_node="n0", verb="v", weight=0);': edges - 10,
    }
    revisions = {graph.load(program).revision: walked for program, walked in programs.items()}
    graph.load("".join(f'Node(node_id="n{i}", data="later");' for i in range(50, nodes)))
    for revision, walked in revisions.items():
        ran.clear()
        graph.undo(revision, dry_run=True)
        assert walked <= _most_rows(graph, ran) < walked + 20


def test_undo_and_a_load_at_the_same_time_take_turns(graph: MemoryGraph) -> None:
    """Whichever comes first: the other is refused, or there is nothing left of what was undone."""
    graph.load(AB)
    edge = 'Edge(edge_id="f", from_node="c", to_node="a", verb="v", weight=0);'
    for _ in range(8):
        revision = graph.load('Node(node_id="c", name="C", data="");').revision
        outcomes: list[Any] = []

        def attempt(work: Callable[[], Any], outcomes: list[Any] = outcomes) -> None:
            try:
                outcomes.append(work())
            except MemoryGraphError as error:
                outcomes.append(error)

        works: list[Callable[[], Any]] = [lambda r=revision: graph.undo(r), lambda: graph.load(edge)]  # type: ignore[misc]
        threads = [threading.Thread(target=attempt, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(isinstance(outcome, Exception) for outcome in outcomes) == 1, outcomes
        kept = {"Node" in line and '"c"' in line for line in graph.export().splitlines()}
        assert (True in kept) == ('edge_id="f"' in graph.export())
        if True in kept:
            graph.delete("c")


def test_namespaces_are_walls_of_the_past_too(graph: MemoryGraph, connection: Connection) -> None:
    other = MemoryGraph(connection, graph.namespace + "-other")
    for each in (graph, other):
        each.load(AB + E)
        each.load('Node(node_id="a", name="A2"); del(id="e");')
    kept = other.export()
    graph.undo(2)
    graph.purge()
    assert other.export() == kept
    assert _formers(other) == 2
    assert _actions(other.history("e")) == [(1, "created"), (2, "deleted")]


# Purge


def test_purge_forgets_what_was_before_a_revision_and_no_more(graph: MemoryGraph) -> None:
    graph.load(AB + E)
    for number in (2, 3, 4):
        graph.load(f'Node(node_id="a", name="A{number}");')
    graph.delete("e")
    states = [graph.at(revision).export() for revision in range(6)]
    assert graph.purge(before=3) == 2
    assert [graph.at(revision).export() for revision in (3, 4, 5)] == states[3:]
    for revision in (0, 2):
        with pytest.raises(NotFoundError, match="3 to 5"):
            graph.at(revision)
    with pytest.raises(NotFoundError, match="purged"):
        graph.undo(3)
    assert _actions(graph.history("a")) == [(3, "known"), (4, "changed")]
    graph.undo(4)
    assert graph.node("a").name == "A3"


def test_purge_forgets_all_that_is_no_longer_so_and_the_present_stays(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorygraph.graph.history.FORMERS_PER_TRANSACTION", 2)
    graph.load(AB + E)
    graph.load('Node(node_id="b", name="B2"); del(id="a");')
    before = graph.export()
    then = graph.at(1)
    assert graph.purge() == 3
    assert _formers(graph) == 0
    assert graph.export() == graph.at(2).export() == before
    assert graph.purge() == 0
    with pytest.raises(NotFoundError, match="purged"):
        list(then.nodes())
    with pytest.raises(NotFoundError):
        graph.history("a")
    assert [r.revision for r in graph.revisions()] == [2, 1]


def test_purge_refuses_what_is_no_revision(graph: MemoryGraph) -> None:
    with pytest.raises(MemoryGraphError, match="negative"):
        graph.purge(before=-1)


def test_a_dropped_namespace_leaves_no_past(graph: MemoryGraph) -> None:
    graph.load(AB + E)
    graph.delete("a")
    graph.drop_namespace(graph.namespace)
    assert _formers(graph) == 0


# Whatever is loaded and undone


class Timeline:
    """Every revision of a graph in memory, and what an undo makes of the last one."""

    def __init__(self) -> None:
        self.states = [Model()]

    def load(self, program: list[GraphStatement]) -> bool:
        """Whether a program is accepted."""
        after = self.states[-1].run(program)
        if after is not None:
            self.states.append(after)
        return after is not None

    def undo(self, revision: int) -> bool:
        """Whether a revision can be undone."""
        before, left, now = self.states[revision - 1], self.states[revision], self.states[-1]
        after = Model(dict(now.nodes), dict(now.edges))
        for was, is_, there, then in (
            (before.nodes, left.nodes, now.nodes, after.nodes),
            (before.edges, left.edges, now.edges, after.edges),
        ):
            for identifier in {*was, *is_}:
                if was.get(identifier) == is_.get(identifier):
                    continue
                if there.get(identifier) != is_.get(identifier):
                    return False
                then.pop(identifier, None)
                if identifier in was:
                    then[identifier] = was[identifier]
        ends = {end for edge in after.edges.values() for end in (edge["from_node"], edge["to_node"])}
        if not ends <= after.nodes.keys() or after.nodes.keys() & after.edges.keys():
            return False
        self.states.append(after)
        return True

    def changes(self, identifier: str) -> list[tuple[int, Any, Any]]:
        """What the revisions did to an id."""
        values = [{**state.nodes, **state.edges}.get(identifier) for state in self.states]
        return [(r, was, is_) for r, (was, is_) in enumerate(pairwise(values), 1) if was != is_]


def _history(graph: MemoryGraph, identifier: str) -> list[tuple[int, Any, Any]]:
    try:
        changes = graph.history(identifier)
    except NotFoundError:
        return []
    return [(c.revision, c.before, c.after) for c in changes if c.before != c.after]


def _check_changed_by(graph: MemoryGraph) -> None:
    """What a revision changed is found without a walk as with one, where its record says that it created nothing."""
    for revision in graph.revisions():
        if revision.forgotten or revision.language == "pete":
            continue
        ways = ({name: revision.counts[name] != 0 for name in OF_NEW}, dict.fromkeys(OF_NEW, True))
        short, walk = (graph.scope.read("history/changed-by", revision=revision.revision, **way) for way in ways)
        assert sorted(map(repr, short)) == sorted(map(repr, walk)), revision


def _accepted(work: Callable[[], Any]) -> bool:
    try:
        work()
    except MemoryGraphError:
        return False
    return True


@pytest.mark.slow
@settings(
    max_examples=examples(60, FEWEST_GRAPHS),
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(st.one_of(st.lists(statements(TEXTS), max_size=8), st.integers(0, 30)), min_size=2, max_size=8),
    st.integers(0, 8),
)
def test_every_revision_is_that_of_a_model_which_keeps_them_all(
    connection: Connection, steps: list[list[GraphStatement] | int], purged: int
) -> None:
    graph = MemoryGraph(connection, new_namespace())
    model = Timeline()
    for step in steps:
        last = len(model.states) - 1
        if isinstance(step, list):
            text = print_contextscript(step)
            assert _accepted(lambda text=text: graph.load(text)) == model.load(step)  # type: ignore[misc]
        elif last:
            revision = last - step % last
            assert _accepted(lambda r=revision: graph.undo(r)) == model.undo(revision)  # type: ignore[misc]
        assert graph.export() == expected(model.states[-1])
    _check_changed_by(graph)
    last = len(model.states) - 1
    assert [graph.at(r).export() for r in range(last + 1)] == [expected(state) for state in model.states]
    assert {i: _history(graph, i) for i in "abcde"} == {i: model.changes(i) for i in "abcde"}
    first = min(purged, last)
    graph.purge(before=first)
    assert [graph.at(r).export() for r in range(first, last + 1)] == list(map(expected, model.states[first:]))


def test_every_kind_of_write_counts_what_it_creates(graph: MemoryGraph, tmp_path: Path) -> None:
    _remember(graph)
    place = graph.scope
    entities, items = Entities(place), graph.items
    entities.create([Entity(name="Bob", entity_type="", observations=[])])
    entities.relate([Relation(source="Ada", target="Bob", relation_type="knows")])
    entities.observe([Observations(entity_name="Bob", contents=["is tall"])])
    graph.load('Node(node_id="Bob", data="is old");')
    entities.delete_observations([ObservationDeletion(entity_name="Bob", observations=["is old", "is tall"])])
    entities.delete_relations([Relation(source="Ada", target="Bob", relation_type="knows")])
    keys = [ItemKey("shelf.", key) for key in "abc"]
    for put, gone in ((keys[:2], []), (keys, []), (keys[:1], keys[1:]), ([], keys)):
        writes = ItemWrites()
        for key in put:
            writes.put(key, {"text": "tea"}, "tea")
        for key in gone:
            writes.delete(key)
        items.write(writes)
    merged = graph.merge("Bob", into="Ada").report.revision
    graph.undo(graph.undo(merged).revision)
    path = tmp_path / "w.ctx"
    for name in ("N", "M"):
        path.write_text("".join(f'Node(node_id="n{i}", name="{name}", data="");\n' for i in range(5)))
        graph.load_file(path, batch=2)
    graph.load('Node(node_id="n1", name="L"); del(id="n2");', provenance=Provenance(conversation="chat"))
    graph.load('Node(node_id="n1", name="K"); Edge(edge_id="e", from_node="n1", to_node="n3", verb="v", weight=1);')
    graph.load('Node(node_id="n1", name="L"); del(id="e");')
    graph.forget_conversation("chat")
    graph.delete("n3")
    languages = {revision.language for revision in graph.revisions()}
    assert languages >= {"contextscript", "memory", "items", "merge", "undo", "forget"}
    _check_changed_by(graph)


# What one load changes and deletes


THOUGHT = "context main(&anna, &carl) { &bread = /* bread */ &carl says that &anna likes &bread. &anna eats &bread. }"
CHANGED = 'Node(node_id="{id}", data="x");'
DELETED = 'del(id="{id}");'
CREATED = 'Node(node_id="{id}", name="N", data="");'
NODE_PROGRAMS = {
    "changed, deleted": CHANGED + DELETED,
    "deleted, created": DELETED + CREATED,
    "deleted, created as it was": DELETED + 'Node(node_id="{id}", name="{name}", data="{data}");',
    "deleted, created, deleted": DELETED + CREATED + DELETED,
    "changed, deleted, created, changed": CHANGED + DELETED + CREATED + CHANGED,
    "deleted, created, joined": DELETED
    + CREATED
    + 'Edge(edge_id="own", from_node="{id}", to_node="{id}", verb="v", weight=0.5);',
}
NODES = {
    "an entity with an alias": "n.name = 'Ada'",
    "an observation": "n.data = 'likes tea'",
    "a concept": "n.name = 'bread'",
    "a statement": "n:Statement",
    "a thought": "n:Context",
}


def _remember(graph: MemoryGraph) -> None:
    graph.entities.create([Entity(name="Ada", entity_type="person", observations=["likes tea"])])
    graph.entities.create([Entity(name="Countess", entity_type="person", observations=["is kind"])])
    graph.merge("Countess", into="Ada")
    graph.load(THOUGHT, "pete")


def _check_undo(graph: MemoryGraph, program: str) -> None:
    """Undo a load, undo the undo, and so on."""

    def stored() -> list[Any]:
        return everything(graph, without=["memory"])  # an address that a load gave stays

    before = stored()
    loaded = graph.load(program).revision
    after = stored()
    revision = loaded
    for state in (before, after, before, after):
        revision = graph.undo(revision).revision
        assert stored() == state
    graph.undo(loaded)
    assert stored() == before
    assert graph.broken_invariants() == []


@pytest.mark.parametrize(("which", "program"), every_nth(product(NODES, NODE_PROGRAMS), 10))
def test_a_node_that_a_load_deletes_and_changes_comes_back_with_all_that_hung_on_it(
    graph: MemoryGraph, which: str, program: str
) -> None:
    _remember(graph)
    [node] = graph.query(
        f"MATCH (n:Node {{namespace: $namespace}}) WHERE {NODES[which]} "
        "RETURN n.id AS id, n.name AS name, n.data AS data"
    )
    text = NODE_PROGRAMS[program].format(**node)
    if which == "a thought" and not program.endswith("deleted"):
        loaded = graph.load(text)
        with pytest.raises(ConflictError, match="another node since"):
            graph.undo(loaded.revision)
    else:
        _check_undo(graph, text)


EDGE_CREATED = 'Edge(edge_id="{id}", from_node="{source}", to_node="{target}", verb="w", weight=0.5);'
EDGE_PROGRAMS = {
    "changed, deleted": 'Edge(edge_id="{id}", weight=0.5);' + DELETED,
    "moved, deleted": 'Edge(edge_id="{id}", from_node="{target}");' + DELETED,
    "deleted, created": DELETED + EDGE_CREATED,
    "deleted, created as it was": DELETED
    + 'Edge(edge_id="{id}", from_node="{source}", to_node="{target}", verb="{verb}", weight={weight});',
    "deleted, created, deleted": DELETED + EDGE_CREATED + DELETED,
    "changed with its node, deleted with that": 'Edge(edge_id="{id}", weight=0.5); Node(node_id="{source}", data="x");'
    'del(id="{source}");',
}


@pytest.mark.parametrize(("verb", "program"), every_nth(product(["observed", "eats"], EDGE_PROGRAMS), 5))
def test_an_edge_that_a_load_deletes_and_changes_comes_back_as_it_was(
    graph: MemoryGraph, verb: str, program: str
) -> None:
    _remember(graph)
    edge = graph.query(
        "MATCH (a)-[e:EDGE {namespace: $namespace, verb: $verb}]->(b) "
        "RETURN e.id AS id, e.verb AS verb, e.weight AS weight, a.id AS source, b.id AS target",
        {"verb": verb},
    )[0]
    _check_undo(graph, EDGE_PROGRAMS[program].format(**edge))


def test_edges_between_nodes_that_come_back_in_place_of_others_stay(graph: MemoryGraph) -> None:
    _remember(graph)
    graph.load(AB)
    ids = ["Ada", "a", "b"]
    before = everything(graph)
    loaded = graph.load("".join(DELETED.format(id=i) + CREATED.format(id=i) for i in ids))
    between = {f"{source}-{target}" for source in ids for target in ids}
    edges = [
        f'Edge(edge_id="{source}-{target}", from_node="{source}", to_node="{target}", verb="v", weight=1.0);'
        for source in ids
        for target in ids
    ]
    later = graph.load("".join(edges))
    undone = graph.undo(loaded.revision)
    assert {edge.id for edge in graph.at(undone.revision).edges() if edge.verb == "v"} == between
    redone = graph.undo(undone.revision)
    assert {edge.id for edge in graph.at(redone.revision).edges() if edge.verb == "v"} == between
    graph.undo(redone.revision)
    assert graph.broken_invariants() == []
    graph.undo(later.revision)
    assert everything(graph) == before


def test_a_node_does_not_come_back_in_place_of_one_that_a_later_thought_or_merge_speaks_of(graph: MemoryGraph) -> None:
    _remember(graph)
    [anna] = graph.query("MATCH (n:Node {namespace: $namespace, name: 'anna'}) RETURN n.id AS id")
    thought = graph.load(DELETED.format(**anna) + CREATED.format(**anna))
    graph.load(f"context other(&carl) {{ memory:{anna['id'].removeprefix('memory-')} eats &carl. }}", "pete")
    with pytest.raises(ConflictError, match=rf"edge `fact-.*needs node `{anna['id']}`"):
        graph.undo(thought.revision)
    merged = graph.load(DELETED.format(id="Ada") + CREATED.format(id="Ada") + 'Node(node_id="m", name="M", data="");')
    graph.merge("m", into="Ada")
    with pytest.raises(ConflictError, match=r"alias `M` of revision .* needs node `Ada`"):
        graph.undo(merged.revision)


# What other languages have stored

LOG = """
context thinking(&a) {
  &a is that &a likes "music".
  context inner(&a) { &a is that &a likes "tea". tl;dr /* tea */ }
"""


def test_a_deleted_thought_comes_back_with_every_statement(graph: MemoryGraph) -> None:
    graph.load(LOG, "pete")
    text = str(graph.pete("thinking").render())
    [log] = graph.thoughts()
    export = graph.export()
    deleted = graph.delete(f"memory-{log.address}")
    assert graph.thoughts() == []
    undone = graph.undo(deleted.revision)
    assert graph.export() == export
    assert str(graph.pete("thinking").render()) == text
    again = graph.undo(undone.revision)
    assert graph.thoughts() == []
    graph.undo(again.revision)
    assert str(graph.pete("thinking").render()) == text


def test_a_deleted_thought_does_not_come_back_beside_another_of_its_name(graph: MemoryGraph) -> None:
    graph.load(LOG, "pete")
    [log] = graph.thoughts()
    deleted = graph.delete(f"memory-{log.address}")
    graph.load(LOG, "pete")
    with pytest.raises(ConflictError, match="stands in the way"):
        graph.undo(deleted.revision)


def test_a_part_of_a_thought_does_not_come_back_without_the_rest(graph: MemoryGraph) -> None:
    graph.load(LOG, "pete")
    [log] = graph.thoughts()
    inner = graph.delete(f"memory-{log.address + 1}")
    graph.delete(f"memory-{log.address}")
    with pytest.raises(ConflictError, match="stands in the way"):
        graph.undo(inner.revision)


def test_purged_thoughts_leave_nothing(graph: MemoryGraph) -> None:
    graph.load(LOG, "pete")
    for log in graph.thoughts():
        graph.delete(f"memory-{log.address}")
    graph.purge()
    left = "MATCH (n:FormerEntry {namespace: $namespace}) RETURN count(n) AS left"
    assert graph.query(left) == [{"left": 0}]


def test_what_a_thought_says_is_in_the_history_but_it_only_grows(graph: MemoryGraph) -> None:
    graph.load(LOG, "pete")
    facts = list(graph.at(1).edges())
    assert facts
    assert graph.at(0).export() == ""
    assert graph.history(facts[0].id)[0].language == "pete"
    with pytest.raises(ConflictError, match="only grows"):
        graph.undo(1)


@pytest.mark.parametrize(
    ("language", "program"),
    [("agentscript", "main agent { main func(input) { return 1 } }"), ("convo", "> node a\n> user\nHi\n> goto a\n")],
    ids=["agentscript", "convo"],
)
def test_the_undo_of_the_load_of_a_program_is_refused_with_what_takes_it_away(
    graph: MemoryGraph, language: str, program: str
) -> None:
    graph.load(program, language, file="steps.as")
    for dry_run in (True, False):
        with pytest.raises(ConflictError, match=r"can't be undone: `memorygraph -n [^ ]+ programs forget` takes"):
            graph.undo(1, dry_run=dry_run)
    assert ([each.name for each in graph.programs()], [each.revision for each in graph.revisions()]) == (["steps"], [1])


def test_a_context_keeps_its_log_when_what_contextscript_says_of_it_is_undone(graph: MemoryGraph) -> None:
    graph.load(LOG, "pete")
    [log] = graph.thoughts()
    changed = graph.load(f'Node(node_id="memory-{log.address}", data="mine");')
    graph.load(LOG + '  &a is that &a likes "coffee".\n', "pete")
    text = str(graph.pete("thinking").render())
    graph.undo(changed.revision)
    assert graph.node(f"memory-{log.address}").data == ""
    assert str(graph.pete("thinking").render()) == text


def test_what_clients_remember_and_forget_has_a_history_and_is_undone(graph: MemoryGraph) -> None:
    place = graph.scope
    ada = Entity(name="Ada", entity_type="person", observations=["wrote programs", "liked maths"])
    Entities(place).create([ada, Entity(name="Bob", entity_type="person", observations=[])])
    Entities(place).relate([Relation(source="Ada", target="Bob", relation_type="knows")])
    states = [graph.at(revision).export() for revision in range(3)]
    Entities(place).delete_observations([ObservationDeletion(entity_name="Ada", observations=["liked maths"])])
    Entities(place, Provenance(by="a client")).delete(["Ada"])
    assert [(c.revision, c.action, c.by) for c in graph.history("Ada")] == [
        (1, "created", ""),
        (4, "deleted", "a client"),
    ]
    assert graph.history("Ada")[0].after == {"name": "Ada", "data": "", "kind": "person"}
    for revision in (4, 3):
        graph.undo(revision)
    assert graph.export() == states[2]
    for revision in (2, 1):
        graph.undo(revision)
        assert graph.export() == states[revision - 1]
