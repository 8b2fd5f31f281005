"""A report is a sentence where a notebook shows it, and all of its fields in `repr`."""

from __future__ import annotations

from IPython.core.formatters import DisplayFormatter

from memorygraph import MemoryGraph
from memorygraph.memory.values import Entity
from memorygraph.sentences import Sentence


def shown(report: Sentence) -> str:
    """What a notebook shows of it."""
    assert repr(report).startswith(f"{type(report).__name__}(")
    formats, _ = DisplayFormatter().format(report)  # type: ignore[no-untyped-call]
    assert formats == {"text/plain": str(report)}
    return str(report)


def test_a_report_of_a_load_is_a_sentence(graph: MemoryGraph) -> None:
    report = graph.load('Node(node_id="a", name="A", data=""); Node(node_id="b", name="B", data="");', file="two.ctx")
    assert shown(report) == f"two.ctx: 2 nodes created; revision 1 of namespace {graph.namespace}"
    tried = graph.load('Node(node_id="c", name="C", data="");', dry_run=True)
    assert shown(tried) == f"script: 1 node created; a dry run in namespace {graph.namespace}"
    again = graph.load('Node(node_id="a", name="A", data="");')
    assert shown(again) == f"script: nothing changed; revision {again.revision} of namespace {graph.namespace}"


def test_what_is_forgotten_or_merged_is_said_in_a_sentence(graph: MemoryGraph) -> None:
    graph.entities.create([Entity(name=name, entity_type="person", observations=[]) for name in ("Ada", "Countess")])
    tried = graph.merge("Countess", into="Ada", dry_run=True)
    assert shown(tried) == f"Countess would be Ada: a dry run in namespace {graph.namespace}"
    merged = graph.merge("Countess", into="Ada")
    revision = merged.report.revision
    assert shown(merged) == f"Countess is Ada now: revision {revision} of namespace {graph.namespace}"
    assert shown(graph.forget("Ada", dry_run=True)).startswith("would be forgotten: ")
    assert shown(graph.forget("Ada")).startswith("forgotten: ")


def test_the_result_of_a_run_is_its_value_and_where_it_is_kept(graph: MemoryGraph) -> None:
    result = graph.run(
        "> node a\n    > sum(x: any) -> ( add(1 2) )\n> nodeEnd\n\n> user\nx\n\n> goto a", language="convo"
    )
    assert shown(result) == f"3\n1 step; run {result.run}, conversation {result.conversation}"
