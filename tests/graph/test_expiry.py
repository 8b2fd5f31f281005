"""Expiry: from its time on nothing finds what has expired, whoever reads or writes; the rest stays as it is."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from memorygraph import MemoryGraph, Provenance
from memorygraph.client import clear_files
from memorygraph.errors import ConflictError, MemoryGraphError, NotFoundError
from memorygraph.graph import bundle_imports, expiry, forgetting
from memorygraph.graph.expiry import Expiry, ExpiryGate, set_expiry
from memorygraph.graph.namespace import NamespaceTransaction, Rows, drop_namespace
from memorygraph.memory.items import ItemKey, Items, ItemWrites
from memorygraph.memory.values import Entity
from memorygraph.query import Query
from tests.examples import mostly_slow
from tests.graph.test_forgetting import ALL_OF_IT, contents_with

SOON = timedelta(seconds=2)

CANARIES = {
    "name": "canaryname",
    "data": "canarydata",
    "before": "canarybefore",
    "observed": "canaryobserved",
    "verb": "canaryverb",
    "talk": "canarytalk",
    "said": "canarysaid",
    "edited": "canaryedited",
    "learnt": "canarylearnt",
    "deleted": "canarydeleted",
}
"""A word for each thing that is said in something that expires."""


def plant(graph: MemoryGraph) -> None:
    """Store the words, and something that stays beside each."""
    graph.load('Node(node_id="kept", name="kept", data=""); Node(node_id="near", name="near", data="it stays");')
    graph.load('Edge(edge_id="stays", from_node="kept", to_node="near", verb="knows", weight=0.1);')
    graph.load(f'Node(node_id="n", name="{CANARIES["before"]}", data="");')
    graph.load(f'Node(node_id="n", name="{CANARIES["name"]}", data="{CANARIES["data"]}");')
    graph.load(f'Edge(edge_id="e", from_node="n", to_node="kept", verb="{CANARIES["verb"]}", weight=0.5);')
    graph.entities.create([Entity(name="Ada", entity_type="person", observations=[CANARIES["observed"]])])
    history = graph.messages(CANARIES["talk"])
    history.append({"role": "user", "content": "hello"})
    history.append({"role": "user", "content": CANARIES["edited"]})
    history[1]["content"] = CANARIES["said"]
    graph.messages("other").append({"role": "user", "content": "hello"})
    asked = Provenance("chat", "m", CANARIES["talk"], None)
    graph.load(f'Node(node_id="learnt", name="{CANARIES["learnt"]}", data="");', provenance=asked)
    graph.load(f'Node(node_id="gone", name="{CANARIES["deleted"]}", data="");')


HOUR = timedelta(hours=1)

MAKE_DUE = """
CALL () {
  MATCH (due:Node {namespace: $namespace}) WHERE due.expires_at IS NOT NULL RETURN due
  UNION ALL
  MATCH (due:Former {namespace: $namespace}) WHERE due.expires_at IS NOT NULL RETURN due
  UNION ALL
  MATCH (due:Conversation {namespace: $namespace}) WHERE due.expires_at IS NOT NULL RETURN due
}
SET due.expires_at = datetime.realtime() - duration({seconds: 1})
"""


def let_expire(graph: MemoryGraph) -> None:
    """Have the time pass at which things expire; a process that has not looked since then is the next to read."""
    pass_time(graph)
    graph.connection.before_use = ExpiryGate(clear_files)


def pass_time(graph: MemoryGraph) -> None:
    """Have the time pass at which things expire."""
    query = Query(MAKE_DUE, {"namespace": graph.namespace})
    graph.connection.write(lambda transaction: transaction.run(query))


def expire_all(graph: MemoryGraph) -> None:
    """Have all of what is planted expire."""
    for node in ("n", "Ada", "gone"):
        graph.expire(node, after=HOUR)
    graph.expire_conversation(CANARIES["talk"], after=HOUR)
    graph.delete("gone")
    let_expire(graph)


def export_of(form: str) -> Callable[[MemoryGraph], object]:
    """What exports a namespace in one format, with what it says that it left out."""

    def export(graph: MemoryGraph) -> object:
        file = StringIO()
        return [graph.export_to(file, form).as_dict(), file.getvalue()]

    return export


def snapshots_of(graph: MemoryGraph) -> object:
    """The graph as it was at each revision."""
    return [graph.at(each.revision).export() for each in graph.revisions(100)]


READS: dict[str, Callable[[MemoryGraph], object]] = {
    "search": lambda graph: [graph.search(word) for word in (*CANARIES.values(), "stays")],
    "recall": lambda graph: [graph.recall(word).hits for word in (*CANARIES.values(), "stays")],
    "neighbours": lambda graph: graph.neighbours("kept", depth=2),
    "entities": lambda graph: graph.entities.read_graph(),
    "entities by words": lambda graph: [graph.entities.search(word).entities for word in CANARIES.values()],
    "duplicates": lambda graph: graph.duplicates(),
    "conversations": lambda graph: [each.as_dict() for each in graph.conversations()],
    "messages": lambda graph: [list(graph.messages(name)) for name in (CANARIES["talk"], "other")],
    "revisions": lambda graph: [each.as_dict() for each in graph.revisions()],
    "earlier revisions": snapshots_of,
    "Cypher": lambda graph: graph.query(ALL_OF_IT),
    "streamed Cypher": lambda graph: list(graph.stream(ALL_OF_IT)),
    **{form: export_of(form) for form in ("contextscript", "jsonl", "graphml", "bundle", "server-memory")},
}
"""Each of the ways in which a namespace is read."""


@pytest.mark.parametrize("name", mostly_slow(READS, ordinary=3))
def test_the_first_read_after_its_time_finds_nothing_of_what_has_expired(graph: MemoryGraph, name: str) -> None:
    plant(graph)
    known = str(READS[name](graph))
    expire_all(graph)
    found = str(READS[name](graph))
    assert [word for word in CANARIES.values() if word in found] == []
    assert ("stays" in found) == ("stays" in known)
    assert graph.broken_invariants() == []


@pytest.mark.slow
def test_each_read_but_those_of_counts_has_something_to_find(graph: MemoryGraph) -> None:
    plant(graph)
    found = {name: [word for word in CANARIES.values() if word in str(read(graph))] for name, read in READS.items()}
    assert [name for name, words in found.items() if not words and name != "duplicates"] == []
    assert {word for words in found.values() for word in words} == {*CANARIES.values()}


def test_nothing_that_is_stored_has_a_word_of_it_after_the_purge(graph: MemoryGraph) -> None:
    plant(graph)
    expire_all(graph)
    planned = graph.purge_expired(dry_run=True)
    done = graph.purge_expired()
    stored = str(graph.connection.read(Query(ALL_OF_IT, {"namespace": graph.namespace})))
    assert [word for word in CANARIES.values() if word in stored] == []
    assert (planned.went, planned.stayed) == (done.went, done.stayed)
    assert (done.went["nodes"], done.went["conversations"]) == (4, 1)
    assert done.stayed == {"messages that another conversation has": 1}
    assert [message["content"] for message in graph.messages("other")] == ["hello"]
    assert graph.node("near").data == "it stays"


def test_a_purge_reports_once_what_reads_have_removed_before_it(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="a", name="A", data=""); Node(node_id="b", name="B", data="");')
    for node in ("a", "b"):
        graph.expire(node, after=timedelta(0))
    assert graph.search("A") == []
    assert graph.purge_expired(dry_run=True).went == {"nodes": 2}
    assert graph.purge_expired().went == {"nodes": 2}
    assert graph.purge_expired().went == {}


def test_a_dry_run_removes_nothing(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="a", name="A", data="");')
    graph.expire("a", after=HOUR)
    let_expire(graph)
    stored = Query(ALL_OF_IT, {"namespace": graph.namespace})
    before = graph.connection.read(stored)
    assert graph.purge_expired(dry_run=True).went == {"nodes": 1}
    assert graph.connection.read(stored) == before


def test_the_record_of_what_has_expired_says_how_much_and_not_what(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="secretive", name="secretive", data="");')
    graph.expire("secretive", after=timedelta(0))
    [record, *_] = graph.revisions()
    assert (record.language, record.went) == ("expire", ("1 nodes",))
    assert "secretive" not in str([each.as_dict() for each in graph.revisions()])


def test_who_is_added_again_after_expiring_is_new(graph: MemoryGraph) -> None:
    graph.entities.create([Entity(name="Ada", entity_type="person", observations=["swims"])])
    graph.expire("Ada", after=HOUR)
    let_expire(graph)
    graph.entities.create([Entity(name="Ada", entity_type="person", observations=["flies"])])
    [ada] = graph.entities.open(["Ada"]).entities
    assert ada.observations == ["flies"]
    assert [change.action for change in graph.history("Ada")] == ["created"]
    assert graph.expiry("Ada").expires_at is None


def test_who_is_created_again_before_a_deleted_one_expires_keeps_its_own_history(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="o", name="O", data=""); Node(node_id="n", name="N", data="first");')
    graph.load('Edge(edge_id="e", from_node="n", to_node="o", verb="first", weight=1);')
    graph.expire("n", after=HOUR)
    graph.delete("n")
    graph.load('Node(node_id="n", name="N", data="second");')
    graph.load('Edge(edge_id="f", from_node="n", to_node="o", verb="second", weight=1);')
    changed = graph.load('Node(node_id="n", data="third"); Edge(edge_id="f", verb="third");').revision
    let_expire(graph)
    assert [change.after for change in graph.history("n")] == [
        {"name": "N", "data": "second"},
        {"name": "N", "data": "third"},
    ]
    assert contents_with(graph, "first") == []
    assert changed is not None
    graph.undo(changed)
    assert (graph.node("n").data, graph.edge("f").verb) == ("second", "second")
    assert graph.broken_invariants() == []


def test_what_is_changed_before_its_time_keeps_it(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="a", name="A", data="");')
    at = graph.expire("a", after=HOUR).expires_at
    changed = graph.load('Node(node_id="a", data="more");').revision
    assert graph.expiry("a").expires_at == at
    graph.undo(changed)
    assert graph.expiry("a").expires_at == at
    deleted = graph.delete("a").revision
    graph.undo(deleted)
    assert graph.expiry("a").expires_at == at
    graph.load('Node(node_id="a", data="again");')
    graph.expire("a")
    let_expire(graph)
    assert graph.node("a").data == "again"
    assert len(graph.history("a")) == 6


def test_who_appends_to_a_conversation_that_has_expired_begins_another(graph: MemoryGraph) -> None:
    history = graph.messages("talk")
    history.append({"role": "user", "content": "before"})
    graph.expire_conversation("talk", after=HOUR)
    let_expire(graph)
    with pytest.raises(ConflictError):
        history.append({"role": "user", "content": "after"})
    graph.messages("talk").append({"role": "user", "content": "new"})
    assert [message["content"] for message in graph.messages("talk")] == ["new"]
    assert graph.conversation_expiry("talk").expires_at is None
    assert graph.broken_invariants() == []


def test_what_has_expired_comes_back_by_no_undo_and_at_no_earlier_revision(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="a", name="A", data="");')
    graph.delete("a")
    graph.load('Node(node_id="a", name="A", data="");')
    graph.expire("a", after=timedelta(0))
    for revision in (1, 2, 3):
        with pytest.raises(ConflictError, match="forgotten"):
            graph.undo(revision)
        assert list(graph.at(revision).nodes()) == []
    with pytest.raises(ConflictError, match="what has expired is gone"):
        graph.undo(4)
    for read in (graph.node, graph.expire, graph.history):
        with pytest.raises(NotFoundError):
            read("a")


def test_a_time_that_another_process_sets_is_honoured_at_it(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="a", name="A", data="");')
    [here, there] = [ExpiryGate(clear_files) for _ in range(2)]
    graph.connection.before_use = there
    graph.node("a")
    graph.connection.before_use = here
    at = graph.expire("a", after=SOON).expires_at
    assert at is not None
    graph.connection.before_use = there
    early = []
    while datetime.now(UTC) < at:
        try:
            graph.node("a")
        except NotFoundError:
            early.append(datetime.now(UTC))
    with pytest.raises(NotFoundError):
        graph.node("a")
    assert [time for time in early if time < at - timedelta(milliseconds=50)] == []


@pytest.mark.parametrize("away", [timedelta(days=-9), timedelta(0), timedelta(milliseconds=900)])
def test_a_time_less_than_a_second_away_is_now(graph: MemoryGraph, away: timedelta) -> None:
    graph.load('Node(node_id="a", name="A", data="");')
    other = ExpiryGate(clear_files)
    other(graph.scope)
    graph.expire("a", after=away)
    graph.connection.before_use = other
    with pytest.raises(NotFoundError):
        graph.node("a")


def test_a_unit_of_work_that_reads_beside_its_transaction_waits_for_no_lock_of_its_own(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="a", name="A", data="");')
    graph.expire("a", after=HOUR)

    def work(transaction: NamespaceTransaction) -> list[dict[str, Any]]:
        transaction.run("namespaces/begin-drop")  # a write lock on the namespace
        let_expire(graph)
        return graph.scope.read("read/node", id="a")

    assert len(graph.scope.write(work)) == 1
    assert graph.search("A") == []


def test_what_was_interrupted_is_finished_by_the_next_read(graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "NODES_PER_LIST", 2)
    monkeypatch.setattr(forgetting, "ELEMENTS_PER_TRANSACTION", 1)
    graph.load("".join(f'Node(node_id="n{i}", name="N", data="word");' for i in range(5)))
    for i in range(5):
        graph.expire(f"n{i}", after=HOUR)
    let_expire(graph)
    piece, left = forgetting.forget_next, 2

    def killed(*arguments: Any) -> bool:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        return piece(*arguments)

    monkeypatch.setattr(forgetting, "forget_next", killed)
    with pytest.raises(KeyboardInterrupt):
        graph.search("word")
    monkeypatch.setattr(forgetting, "forget_next", piece)
    assert graph.purge_expired(dry_run=True).went == {"nodes": 2}  # those on the list
    assert graph.search("word") == []
    assert graph.purge_expired().went == {"nodes": 5}
    assert graph.broken_invariants() == []


def test_processes_that_read_at_the_same_time_leave_one_record(graph: MemoryGraph) -> None:
    graph.load("".join(f'Node(node_id="n{i}", name="N", data="word");' for i in range(50)))
    for i in range(50):
        graph.expire(f"n{i}", after=HOUR)
    let_expire(graph)
    gates = [ExpiryGate(clear_files) for _ in range(4)]
    with ThreadPoolExecutor(len(gates)) as threads:
        list(threads.map(lambda gate: gate(graph.scope), gates))
    assert [each.language for each in graph.revisions()] == ["expire", "contextscript"]
    assert graph.purge_expired().went == {"nodes": 50}


def test_a_read_that_removes_what_expired_finds_nothing_where_the_namespace_is_dropped_meanwhile(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop_before_the_next_piece(graph, monkeypatch)
    graph.load('Node(node_id="a", name="A", data="word");')
    graph.expire("a", after=HOUR)
    let_expire(graph)
    assert graph.search("word") == []


def test_who_forgets_in_a_namespace_that_is_dropped_meanwhile_is_told_so(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop_before_the_next_piece(graph, monkeypatch)
    graph.load('Node(node_id="a", name="A", data="");')
    with pytest.raises(NotFoundError, match="was dropped"):
        graph.forget("a")


@pytest.mark.parametrize("ttl", [None, 60.0])
def test_an_item_that_is_stored_anew_while_its_former_value_is_removed_stays(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, ttl: float | None
) -> None:
    key, other = ItemKey("state.", "heartbeat"), ItemKey("state.", "other")
    graph.items.write(put_items({key: "old", other: "old"}, ttl=60.0))
    let_expire(graph)
    piece, late = forgetting.forget_next, Items(replace(graph.scope, ungated=True))

    def after_a_put(*list_: Any) -> bool:
        if other in late.get([other]):  # once; it was let through before the item was due, and has waited for the lock
            late.write(put_items({key: "new"}, ttl=ttl))
        return piece(*list_)

    monkeypatch.setattr(forgetting, "forget_next", after_a_put)
    assert {address: item.value["is"] for address, item in graph.items.get([key, other]).items()} == {key: "new"}
    assert [broken.name for broken in graph.broken_invariants()] == []


def test_a_conversation_that_is_renewed_after_it_was_found_to_be_due_stays(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.messages("talk").append({"role": "user", "content": "hello"})
    graph.expire_conversation("talk", after=HOUR)
    let_expire(graph)
    run, late = NamespaceTransaction.run, replace(graph.scope, ungated=True)

    def run_before_a_renewal(transaction: NamespaceTransaction, query: str | Query, /, **parameters: Any) -> Rows:
        rows = run(transaction, query, **parameters)
        if query == "expiry/due-conversations":
            assert set_expiry(late, "conversation", "talk", None, None).expires_at is None
        return rows

    monkeypatch.setattr(NamespaceTransaction, "run", run_before_a_renewal)
    assert [message["content"] for message in graph.messages("talk")] == ["hello"]
    assert graph.purge_expired().went == {}


def test_who_renews_a_node_while_it_is_removed_is_told_that_it_has_expired(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.load('Node(node_id="n", name="N", data=""); Node(node_id="near", name="near", data="");')
    graph.load('Edge(edge_id="e", from_node="n", to_node="near", verb="knows", weight=0.5);')
    graph.expire("n", after=HOUR)
    let_expire(graph)
    piece, late = forgetting.forget_next, replace(graph.scope, ungated=True)

    def after_a_renewal(*list_: Any) -> bool:
        with pytest.raises(NotFoundError, match="expired"):
            set_expiry(late, "node", "n", None, None)
        return piece(*list_)

    monkeypatch.setattr(forgetting, "forget_next", after_a_renewal)
    assert graph.search("N") == []
    assert graph.broken_invariants() == []


def put_items(values: dict[ItemKey, str], ttl: float | None) -> ItemWrites:
    """Writes of these values."""
    writes = ItemWrites()
    for key, value in values.items():
        writes.put(key, {"is": value}, None, ttl=ttl)
    return writes


def drop_before_the_next_piece(graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have another client drop the namespace between two transactions of what forgets in it."""
    piece = forgetting.forget_next

    def after_a_drop(*list_: Any) -> bool:
        drop_namespace(replace(graph.scope, ungated=True))
        return piece(*list_)

    monkeypatch.setattr(forgetting, "forget_next", after_a_drop)


def test_a_bundle_carries_the_times(graph: MemoryGraph, twin: MemoryGraph, tmp_path: Path) -> None:
    plant(graph)
    at = graph.expire("n", after=HOUR).expires_at
    said = graph.expire_conversation(CANARIES["talk"], after=HOUR).expires_at
    graph.export_bundle(tmp_path / "whole.bundle")
    twin.import_bundle(tmp_path / "whole.bundle")
    assert twin.expiry("n").expires_at == at
    assert twin.conversation_expiry(CANARIES["talk"]).expires_at == said


def test_what_has_expired_since_an_export_goes_when_its_bundle_is_imported(
    graph: MemoryGraph, twin: MemoryGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle_imports, "LINES_PER_BATCH", 10)
    monkeypatch.setattr(expiry, "LOOK_SECONDS", 0)  # as where an import takes seconds
    plant(graph)
    graph.expire("n", after=HOUR)
    pass_time(graph)
    monkeypatch.setattr(graph.connection, "before_use", None)
    graph.export_bundle(tmp_path / "whole.bundle")
    monkeypatch.setattr(twin.connection, "before_use", ExpiryGate(clear_files))
    twin.import_bundle(tmp_path / "whole.bundle")
    assert twin.revisions(1)[0].language == "expire"
    assert twin.node("kept").name == "kept"
    assert contents_with(twin, CANARIES["data"]) == []
    assert twin.broken_invariants() == []


def test_nothing_expires_in_a_bundle_until_its_import_is_done(
    graph: MemoryGraph, twin: MemoryGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle_imports, "LINES_PER_BATCH", 10)
    plant(graph)
    graph.expire("n", after=HOUR)
    pass_time(graph)
    monkeypatch.setattr(graph.connection, "before_use", None)
    graph.export_bundle(tmp_path / "whole.bundle")
    monkeypatch.setattr(bundle_imports, "verify_import", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        twin.import_bundle(tmp_path / "whole.bundle")
    monkeypatch.undo()
    monkeypatch.setattr(expiry, "LOOK_SECONDS", 0)
    monkeypatch.setattr(twin.connection, "before_use", ExpiryGate(clear_files))
    assert twin.node("n").id == "n", "another client looks at what is there already"
    twin.import_bundle(tmp_path / "whole.bundle")
    with pytest.raises(NotFoundError):
        twin.node("n")
    assert twin.revisions(1)[0].language == "expire"


def test_a_script_says_that_it_has_no_times(graph: MemoryGraph) -> None:
    plant(graph)
    graph.expire("n", after=HOUR)
    assert "times at which nodes expire: 1 (`n`)" in graph.export_to(StringIO()).lines()


def test_a_time_is_of_a_node_or_a_conversation_that_is_there_and_one(graph: MemoryGraph) -> None:
    with pytest.raises(NotFoundError):
        graph.expire("none", after=HOUR)
    with pytest.raises(NotFoundError):
        graph.expire_conversation("none", after=HOUR)
    graph.load('Node(node_id="a", name="A", data="");')
    with pytest.raises(MemoryGraphError, match="both"):
        graph.expire("a", at=datetime.now(UTC), after=HOUR)
    with pytest.raises(MemoryGraphError, match="1000 years"):
        graph.expire("a", after=timedelta(days=999_999_999))
    with pytest.raises(MemoryGraphError, match="1 to 9999 of UTC"):
        graph.expire("a", at=datetime.max.replace(tzinfo=timezone(-HOUR)))
    at = datetime(2999, 12, 31, 23, 59, tzinfo=UTC)
    assert graph.expire("a", at=at) == graph.expiry("a") == Expiry("a", at)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owner of this kind there")
def test_what_expires_goes_also_for_a_client_whose_home_is_another_users(
    graph: MemoryGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.load('Node(node_id="due", name="due", data="");')
    graph.expire("due", after=HOUR)
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    let_expire(graph)
    with pytest.raises(NotFoundError):
        graph.node("due")
    assert graph.load('Node(node_id="due", name="anew", data="");').nodes_created == 1
