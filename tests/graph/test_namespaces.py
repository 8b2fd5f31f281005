"""Namespaces as a whole: what is counted of them, and how all of one goes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from memorygraph import MemoryGraph, NotFoundError
from memorygraph.errors import TooLargeError
from memorygraph.graph import forgetting
from memorygraph.graph import namespace as namespaces
from memorygraph.graph.connection import Abandon
from memorygraph.graph.invariants import Examination
from memorygraph.graph.namespace import (
    UNCOMPACTED,
    Namespace,
    NamespaceInfo,
    NamespaceTransaction,
    begin_drop,
    drop_namespace,
    drop_other_parts,
)
from memorygraph.memory.values import Entity
from memorygraph.messages.recorder import Recorder
from memorygraph.query import Query
from memorygraph.runtime.convo.journal import Journal
from memorygraph.runtime.programs import forget_program
from tests.cli.test_commands import document, memorygraph
from tests.conftest import EXAMPLES
from tests.messages.test_recorder import call_of

AGENT = 'import llm M from "openai://m"\nmain agent A { model M main func(input) { return 1 } }'
CONVO = "> user\nHi\n> node a\n  > f(x: string) -> (add(x '!'))\n> goto a"
LEFT = "MATCH (n) WHERE n.namespace = $namespace OR n:Namespace AND n.name = $namespace RETURN labels(n) AS labels"


def fill(graph: MemoryGraph) -> None:
    """Store something of every part."""
    graph.load('Node(node_id="a", name="A", data="");Node(node_id="b", name="B", data="");')
    graph.load('Edge(edge_id="e", from_node="a", to_node="b", verb="knows", weight=1);')
    graph.load('Node(node_id="b", name="Bee", data=""); del(id="e");')
    graph.load_file(EXAMPLES / "lab.pete")
    graph.load(CONVO, language="convo", file="hi.convo")
    graph.load(AGENT, language="agentscript", file="one.as")
    graph.run(CONVO, language="convo")
    graph.run(AGENT)
    graph.entities.create([Entity(name="Ada", entity_type="person", observations=["wrote programs"])])
    graph.messages("talk").extend([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}])


def info_of(graph: MemoryGraph) -> NamespaceInfo:
    """The namespace as it is listed."""
    return next(info for info in graph.namespaces() if info.name == graph.namespace)


def test_namespaces_list_counts_conversations_too(graph: MemoryGraph) -> None:
    graph.messages("talk").extend([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}])
    graph.messages("more").append({"role": "user", "content": "Hi there"})
    held = info_of(graph)
    assert (held.nodes, held.edges, held.conversations, held.messages) == (0, 0, 2, 3)


def test_an_error_names_a_command_with_the_namespace_that_it_is_to_work_on(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail: tuple[Callable[[], object], ...] = (lambda: graph.undo(7), lambda: graph.forget_conversation("nobody"))
    for option in (f" -n {graph.namespace}", ""):
        for each, command in zip(fail, ("revisions", "messages list"), strict=True):
            with pytest.raises(NotFoundError, match=f"`memorygraph{option} {command}`"):
                each()
        monkeypatch.setenv("MEMORYGRAPH_NAMESPACE", graph.namespace)
    assert Namespace(graph.connection, "two words").option == " -n 'two words'"


def test_a_record_without_a_name_hinders_no_list_and_no_import(
    graph: MemoryGraph, twin: MemoryGraph, tmp_path: Path
) -> None:
    graph.load('Node(node_id="a", name="A", data="");')
    graph.export_bundle(tmp_path / "bundle")
    graph.query("CREATE (:Namespace {made_by: $namespace}), (:Namespace {made_by: $namespace, name: 7})", write=True)
    try:
        assert all(type(info.name) is str for info in graph.namespaces())
        twin.import_bundle(tmp_path / "bundle")
        assert all(type(scope.name) is str for scope in Examination(graph.scope, everywhere=True).scopes)
    finally:
        graph.query("MATCH (record:Namespace {made_by: $namespace}) DELETE record", write=True)


def test_a_drop_leaves_nothing_of_any_part(graph: MemoryGraph) -> None:
    fill(graph)
    held = graph.drop_namespace(graph.namespace, dry_run=True)
    assert held == info_of(graph)
    assert min(held.nodes, held.edges, held.conversations, held.messages, held.programs, held.runs, held.former) > 0
    assert graph.drop_namespace(graph.namespace) == held
    assert graph.query(LEFT) == []
    with pytest.raises(NotFoundError, match="namespaces list"):
        graph.drop_namespace(graph.namespace)


def test_a_drop_leaves_nothing_in_files_of_this_machine(
    graph: MemoryGraph, twin: MemoryGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(tmp_path))
    kept = []
    for each in (graph, twin):
        journal = Journal(each.run(CONVO, language="convo").run)
        journal.append("{}")
        spool = Recorder(each.scope, "talk").spool
        record = call_of(each.namespace)
        spool.refuse(spool.add(record.as_dict()), "no message")
        kept.append([journal.path, spool.add(record.as_dict()), *spool.refused_folder.iterdir()])
    elsewhere = Recorder(graph.scope, "talk").spool.add(replace(call_of(graph.namespace), database="another").as_dict())
    graph.drop_namespace(graph.namespace, dry_run=True)
    assert all(path.exists() for path in kept[0])
    graph.drop_namespace(graph.namespace)
    assert [path.exists() for path in kept[0]] == [False, False, False]
    assert [path.exists() for path in (*kept[1], elsewhere)] == [True, True, True, True]


def test_a_drop_leaves_nothing_of_what_others_say_and_run_meanwhile(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drop_before_others(transaction: NamespaceTransaction, limit: int = 5000) -> int:
        deleted = drop_other_parts(transaction, limit)
        if not deleted:
            monkeypatch.undo()
            graph.messages("late").append({"role": "user", "content": "said while the nodes are deleted"})
            graph.run(CONVO, language="convo")
            graph.query("CREATE (:Thread {namespace: $namespace, id: 'late'})", write=True)
        return deleted

    monkeypatch.setattr(namespaces, "drop_other_parts", drop_before_others)
    graph.load('Node(node_id="a", name="A", data="");')
    graph.drop_namespace(graph.namespace)
    assert graph.query(LEFT) == []


def test_no_transaction_of_a_drop_deletes_more_than_fits_one(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(graph)
    deleted: list[int] = []

    def write(part: Callable[[NamespaceTransaction], int]) -> int:
        deleted.append(graph.scope.write(part))
        return deleted[-1]

    for limit in ("NODES_PER_TRANSACTION", "OTHERS_PER_TRANSACTION"):
        monkeypatch.setattr(namespaces, limit, 2)
    monkeypatch.setattr(namespaces, "JOINED_PER_NODE", 1)
    drop_namespace(cast("Namespace", SimpleNamespace(write=write)))
    assert max(deleted) == 2
    assert graph.query(LEFT) == []


@pytest.mark.usefixtures("environment")
def test_a_drop_that_was_interrupted_is_listed_and_finished_by_dropping_again(graph: MemoryGraph) -> None:
    fill(graph)
    begin_drop(graph.scope)
    graph.scope.repeat("messages/drop-conversations", limit=100)
    half = info_of(graph)
    assert (half.dropping, half.conversations, half.nodes > 0) == (True, 0, True)
    assert f"namespaces drop {graph.namespace} --yes` finishes it" in memorygraph("namespaces", "list").stderr
    assert graph.drop_namespace(graph.namespace) == half
    assert graph.query(LEFT) == []


def test_a_drop_takes_fewer_at_a_time_where_those_of_one_transaction_are_too_large(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[int] = []

    def drop_a_few(transaction: NamespaceTransaction, limit: int = 1) -> int:
        limits.append(limit)
        if limit > 20:
            raise TooLargeError("this is too large for one transaction")
        return drop_other_parts(transaction, limit)

    monkeypatch.setattr(namespaces, "drop_other_parts", drop_a_few)
    graph.messages("talk").extend({"role": "user", "content": f"a long text {i}"} for i in range(5))
    graph.drop_namespace(graph.namespace)
    assert limits[:5] == [5000, 1250, 312, 78, 19]
    assert graph.query(LEFT) == []


@pytest.mark.parametrize("query", ["namespaces/drop-namespace-elements", "history/forget"])
def test_large_elements_go_fewer_at_a_time(graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    limits: list[int] = []
    run = NamespaceTransaction.run

    def run_few(transaction: NamespaceTransaction, asked: str, /, **parameters: Any) -> Any:
        if asked == query:
            limits.append(parameters["limit"])
            if limits[-1] > 200:
                raise TooLargeError("this is too large for one transaction")
        return run(transaction, asked, **parameters)

    fill(graph)
    monkeypatch.setattr(NamespaceTransaction, "run", run_few)
    if query == "history/forget":
        assert graph.purge() > 0
        assert limits == [10000, 2500, 625, 156, 156]
        limits.clear()
    graph.drop_namespace(graph.namespace)
    assert limits[:4] == [10000, 2500, 625, 156]
    assert graph.query(LEFT) == []


def marks_after(graph: MemoryGraph, drop: Callable[[Namespace], None]) -> int:
    """How many nodes of no namespace say, after a drop that is taken back, that something was forgotten."""

    def work(transaction: NamespaceTransaction) -> None:
        transaction.run(Query("MATCH (migration:Migration) REMOVE migration.files"))
        drop(cast("Namespace", SimpleNamespace(write=lambda part: part(transaction))))
        [row] = transaction.run(Query("MATCH (m:Migration {files: $mark}) RETURN count(*) AS n", {"mark": UNCOMPACTED}))
        raise Abandon(row["n"])

    return cast("int", graph.scope.write(work))


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_drop_keeps_the_mark_that_something_was_forgotten_for_the_next_backup(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, *, interrupted: bool
) -> None:
    graph.load('Node(node_id="a", name="A", data="");Node(node_id="b", name="B", data="");')
    # A list of what is still to be forgotten goes before the records do, so the first step of a drop looks for it.
    drop = begin_drop if interrupted else drop_namespace
    assert marks_after(graph, drop) == 0
    if interrupted:
        monkeypatch.setattr(forgetting, "finish", lambda *_: sys.exit())
    with suppress(SystemExit):
        graph.forget("a")
    assert marks_after(graph, drop) > 0


@pytest.mark.parametrize("runs", [False, True])
def test_a_program_that_is_forgotten_leaves_the_mark_for_the_next_backup_where_no_run_keeps_it(
    graph: MemoryGraph, *, runs: bool
) -> None:
    graph.load(CONVO, "convo", file="steps.convo")
    if runs:
        graph.run(graph.program("steps"))
    assert (marks_after(graph, lambda namespace: forget_program(namespace, "steps")) > 0) != runs


def test_drop_says_before_and_after_what_goes(environment: str) -> None:
    load = ("load", "-")
    document(*load, stdin='Node(node_id="a", name="A", data="");Node(node_id="b", name="B", data="");')
    finished = memorygraph("namespaces", "drop", environment, stdin="n\n")
    assert finished.returncode == 1
    assert finished.stderr.startswith(f"namespace {environment} holds 2 nodes, 0 edges, 0 conversations, 0 messages, ")
    dry: dict[str, Any] = document("namespaces", "drop", environment, "--dry-run")
    assert (dry["nodes"], dry["runs"], dry["dropping"]) == (2, 0, False)
    finished = memorygraph("namespaces", "drop", environment, "--yes")
    assert finished.stderr.splitlines()[1].startswith(f"dropped {environment}: 2 nodes, 0 edges, 0 conversations, ")
    document(*load, stdin='Node(node_id="a", name="A", data="");')
    finished = memorygraph("namespaces", "drop", environment, "--yes", "--json")
    assert "holds 1 node, 0 edges" in finished.stderr
    assert json.loads(finished.stdout)["nodes"] == 1
