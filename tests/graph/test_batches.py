"""`load --batch`: whole batches or nothing of them, on from where a load stopped, and one result in the end."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest

from memorygraph import MemoryGraph, ScriptError
from memorygraph.errors import MAX_PROBLEMS, Problem
from memorygraph.graph.batches import add_reports, load_batches
from memorygraph.graph.exports import IMPORT_PREFIX
from memorygraph.graph.loads import Loader, LoadReport
from memorygraph.languages import parse
from memorygraph.languages.contextscript import ContextScriptProgram
from tests.shared_neo4j import new_namespace


def _program(count: int) -> str:
    nodes = [f'Node(node_id="n{i}", name="N{i}", data="number {i}");' for i in range(count)]
    edges = [
        f'Edge(edge_id="e{i}", from_node="n{i}", to_node="n{i // 2}", verb="v", weight=0.5);' for i in range(count)
    ]
    return "\n".join(line for pair in zip(nodes, edges, strict=True) for line in pair) + "\n"


def _file(folder: Path, text: str) -> Path:
    path = folder / "large.ctx"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("size", [1, 7, 50, 1000])
def test_batches_of_any_size_give_the_same_graph_as_one_transaction(
    graph: MemoryGraph, tmp_path: Path, size: int
) -> None:
    text = _program(25)
    report = graph.load_file(_file(tmp_path, text), batch=size)
    assert (report.statements, report.nodes_created, report.edges_created) == (50, 25, 25)
    assert report.revision == -(-50 // size)
    exported = graph.export()
    graph.drop_namespace(graph.namespace)
    graph.load(text)
    assert graph.export() == exported


STORED = """
Node(node_id="a", name="A", data="");
Node(node_id="b", name="B", data="");
Edge(edge_id="e", from_node="a", to_node="b", verb="v", weight=0.5);
"""


def _outcome(graph: MemoryGraph, path: Path, batch: int | None) -> str | list[str]:
    """What is stored after a load on top of `STORED`, or else what was wrong, with its places."""
    graph.load(STORED)
    try:
        graph.load_file(path, batch=batch)
        return graph.export()
    except ScriptError as error:
        return [str(problem) for problem in error.problems]
    finally:
        graph.drop_namespace(graph.namespace)


@pytest.mark.parametrize(
    "last",
    [
        'Node(node_id="a", name="AA", data="changed");',
        'Edge(edge_id="e", from_node="b", to_node="a", verb="w", weight=1.0);',
        'Node(node_id="e", name="E", data="");',
        'Edge(edge_id="b", from_node="a", to_node="n1", verb="v", weight=0.5);',
        'Edge(edge_id="new", from_node="e", to_node="n1", verb="v", weight=0.5);',
        'Edge(edge_id="new", from_node="n1", to_node="ghost", verb="v", weight=0.5);',
        'Edge(edge_id="new", from_node="n1", to_node="later", verb="v", weight=0.5);\n'
        'Node(node_id="later", name="", data="");',
        'Edge(edge_id="new", from_node="n1", to_node="e1", verb="v", weight=0.5);',
        'Edge(edge_id="new", from_node="a", to_node="n1", verb="v", weight=0.5);\ndel(id="n0");',
    ],
)
def test_a_batch_that_is_not_new_does_what_it_does_in_one_transaction(
    graph: MemoryGraph, tmp_path: Path, last: str
) -> None:
    path = _file(tmp_path, _program(3) + last)
    assert _outcome(graph, path, 100) == _outcome(graph, path, None)


def test_an_edge_that_needs_a_node_with_the_id_of_an_edge_is_refused(graph: MemoryGraph, tmp_path: Path) -> None:
    graph.load(STORED)
    graph.query("MATCH ()-[edge:EDGE {namespace: $namespace}]->() SET edge.id = 'a'", write=True)
    edge = 'Edge(edge_id="new", from_node="a", to_node="n1", verb="v", weight=0.5);'
    with pytest.raises(ScriptError) as error:
        graph.load_file(_file(tmp_path, _program(3) + edge), batch=100)
    assert [(problem.line, problem.code) for problem in error.value.problems] == [(7, "ambiguous-id")]


def test_only_a_batch_and_the_one_after_it_are_in_memory(graph: MemoryGraph) -> None:
    held: WeakSet[ContextScriptProgram] = WeakSet()

    def programs() -> Iterator[ContextScriptProgram]:
        for number in range(10):
            program = parse(f'Node(node_id="n{number}", name="N", data="");')
            held.add(program)
            yield program
            del program

    counts: list[int] = []
    report = load_batches(Loader(graph.scope), programs, progress=lambda _: counts.append(len(held)))
    assert (report.nodes_created, len(counts)) == (10, 10)
    assert max(counts) <= 2  # one is stored, and a thread reads one


def test_a_load_goes_on_behind_the_last_stored_batch_with_the_rest_mended(graph: MemoryGraph, tmp_path: Path) -> None:
    text = _program(20)
    broken = text + 'Edge(edge_id="bad", from_node="ghost", to_node="n1", verb="v", weight=0.5);\n'
    with pytest.raises(ScriptError) as error:
        graph.load_file(_file(tmp_path, broken), batch=10)
    assert error.value.stored_statements == 40
    assert [problem.line for problem in error.value.problems] == [41]
    report = graph.load_file(_file(tmp_path, broken.replace("ghost", "n0")), batch=16)
    assert (report.resumed_after, report.statements, report.edges_created) == (40, 1, 1)
    assert graph.query("MATCH (c:Checkpoint {namespace: $namespace}) RETURN count(c) AS n") == [{"n": 0}]


def test_a_list_of_problems_that_is_cut_says_that_there_are_more(graph: MemoryGraph, tmp_path: Path) -> None:
    wrong = 'Edge(edge_id="e", from_node="no id!", to_node="n", verb="v", weight=0.5);\n' * (MAX_PROBLEMS + 20)
    with pytest.raises(ScriptError) as error:
        graph.load_file(_file(tmp_path, wrong), batch=8)
    assert [problem.code for problem in error.value.problems] == ["unknown-node"] * MAX_PROBLEMS + ["too-many-problems"]


@pytest.mark.skipif(sys.platform == "win32", reason="its pipes have no path")
def test_a_pipe_is_loaded_in_batches_and_a_bundle_imported_from_one(graph: MemoryGraph) -> None:
    with piped(_program(3)) as path:
        assert graph.load_file(path, "contextscript", batch=2).nodes_created == 3
    bundle = io.StringIO()
    graph.export_to(bundle, "bundle")
    copy = MemoryGraph(graph.connection, new_namespace())
    with piped(bundle.getvalue()) as path:
        copy.import_bundle(path)
    assert copy.export() == graph.export()


@contextmanager
def piped(text: str) -> Iterator[str]:
    """The path of a pipe with a short text in it, as a shell gives one for `<(cat FILE)`."""
    read, write = os.pipe()
    with os.fdopen(write, "w", encoding="utf-8") as file:
        file.write(text)
    yield f"/dev/fd/{read}"
    os.close(read)


def test_a_complete_load_starts_anew_the_next_time(graph: MemoryGraph, tmp_path: Path) -> None:
    path = _file(tmp_path, _program(5))
    graph.load_file(path, batch=4)
    graph.delete("n3")
    report = graph.load_file(path, batch=4)
    assert (report.resumed_after, report.statements, report.nodes_created) == (0, 10, 1)


def test_a_complete_load_forgets_where_runs_with_batches_of_another_size_stopped(
    graph: MemoryGraph, tmp_path: Path
) -> None:
    path = _file(tmp_path, _program(6))
    with pytest.raises(KeyboardInterrupt):
        graph.load_file(path, batch=4, progress=_stop)
    with pytest.raises(KeyboardInterrupt):
        graph.load_file(path, batch=3, restart=True, progress=_stop)
    assert graph.query("MATCH (c:Checkpoint {namespace: $namespace}) RETURN c.statements AS n") == [{"n": 3}]
    with pytest.raises(KeyboardInterrupt):
        graph.load_file(path, batch=4, progress=_stop)
    graph.load_file(path, batch=5, restart=True)
    graph.delete("n0")
    report = graph.load_file(path, batch=5)
    assert (report.resumed_after, report.nodes_created, graph.node("n0").name) == (0, 1, "N0")


@pytest.mark.parametrize("is_stopped", [False, True])
def test_an_edited_file_ends_where_a_load_of_it_before_the_edit_stopped(
    graph: MemoryGraph, tmp_path: Path, *, is_stopped: bool
) -> None:
    """What the first load has stored is written over by the second: the file as it was before begins anew."""
    text = _program(6)
    stopping: dict[str, Any] = {"progress": _stop}
    with pytest.raises(KeyboardInterrupt):
        graph.load_file(_file(tmp_path, text), batch=4, **stopping)
    edited = _file(tmp_path, text.replace("N0", "Edited"))
    with pytest.raises(KeyboardInterrupt) if is_stopped else nullcontext():
        graph.load_file(edited, batch=4, **(stopping if is_stopped else {}))
    assert graph.node("n0").name == "Edited"
    assert graph.load_file(_file(tmp_path, text), batch=4).resumed_after == 0
    assert graph.node("n0").name == "N0"
    assert graph.scope.read("load/checkpoints") == []


def test_after_an_undo_a_load_that_was_interrupted_begins_anew(graph: MemoryGraph, tmp_path: Path) -> None:
    path = _file(tmp_path, _program(6))
    with pytest.raises(KeyboardInterrupt):
        graph.load_file(path, batch=4, progress=_stop)
    assert graph.undo(1, dry_run=True).nodes_deleted == 2
    assert [row["statements"] for row in graph.scope.read("load/checkpoints")] == [4]
    graph.undo(1)
    report = graph.load_file(path, batch=4)
    assert (report.resumed_after, report.nodes_created, len(list(graph.at(report.revision).nodes()))) == (0, 6, 6)


def test_an_undo_leaves_where_an_import_stopped(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="a", name="A", data="");')
    program: dict[str, Any] = {"program": f"{IMPORT_PREFIX}x", "formers": [], "file": None, "statements": 3}
    graph.scope.write(lambda transaction: transaction.run("load/save-checkpoint", **program))
    graph.undo(1)
    assert [row["statements"] for row in graph.scope.read("load/checkpoints")] == [3]


def _stop(_: int) -> None:
    """Stop a load when its first batch is stored."""
    raise KeyboardInterrupt


def test_restart_begins_at_the_first_statement(graph: MemoryGraph, tmp_path: Path) -> None:
    broken = _file(tmp_path, _program(5) + 'Node(node_id="x", data="no name");')
    for restart, resumed in ((False, 0), (False, 10), (True, 0)):
        with pytest.raises(ScriptError) as error:
            graph.load_file(broken, batch=5, restart=restart)
        assert error.value.stored_statements == 10, resumed


def test_what_is_wrong_anywhere_is_said_before_anything_is_stored(graph: MemoryGraph, tmp_path: Path) -> None:
    with pytest.raises(ScriptError) as error:
        graph.load_file(_file(tmp_path, _program(20) + "Node(;"), batch=5)
    assert [(problem.line, problem.code) for problem in error.value.problems] == [(41, "syntax")]
    assert error.value.stored_statements == 0
    assert graph.export() == ""


def test_of_more_warnings_than_are_shown_the_report_of_all_batches_says_that_there_are_more() -> None:
    batch = LoadReport(
        None, "contextscript", 1, warnings=(Problem("nothing has this id", "unknown-id", None, 1, 1),) * 40
    )
    report = batch
    for _ in range(4):
        report = add_reports(report, batch)
    assert [warning.code for warning in report.warnings] == ["unknown-id"] * MAX_PROBLEMS + ["too-many-problems"]
