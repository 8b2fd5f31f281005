"""ContextScript to Cypher beyond its cases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorygraph.compiler import Stored, compile_new, compile_program, find_problems
from memorygraph.languages import parse
from memorygraph.languages.contextscript import (
    ContextScriptProgram,
    Deletion,
    EdgeDeclaration,
    GraphStatement,
    NodeDeclaration,
    print_contextscript,
)
from memorygraph.library import CYPHER

FEW_IDS = st.sampled_from("abcdefgh")
TEXTS = st.sampled_from(["", "x", "คน"])
NODES = st.builds(NodeDeclaration, node_id=FEW_IDS, name=TEXTS, data=TEXTS)
EDGES = st.builds(
    EdgeDeclaration,
    edge_id=FEW_IDS,
    from_node=FEW_IDS,
    to_node=FEW_IDS | st.just("no id"),
    verb=st.just("v"),
    weight=st.just(0.5),
)
LESS = st.sampled_from(
    [NodeDeclaration(node_id="a"), EdgeDeclaration(edge_id="a", verb="v"), Deletion(id="b"), Deletion(id="h")]
)
PROGRAMS = st.lists(NODES | EDGES | LESS, max_size=6) | st.lists(
    NODES | EDGES, max_size=6, unique_by=lambda each: next(iter(each.given().values()))
)


def program_of(statements: list[GraphStatement]) -> ContextScriptProgram:
    return parse(print_contextscript(statements))


def test_nothing_of_a_program_is_in_the_text_of_its_cypher() -> None:
    text = 'Node(node_id="canary-id", name="canary-name", data="canary-data"); del(id="canary-id");'
    queries = compile_program(parse(text), Stored()).queries
    assert {query.text for query in queries} <= {block.text for block in CYPHER.values()}
    assert not any("canary" in query.text for query in queries)


def test_new_and_changed_texts_are_sent_in_parts_that_fit_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorygraph.compiler.contextscript.CHARACTERS_PER_BATCH", 10)
    program = program_of([NodeDeclaration(node_id=id_, name="12", data="345") for id_ in "abcdef"])
    queries = compile_program(program, Stored(frozenset("abc")), namespace="n").queries
    sent = [[row["id"] for row in query.parameters["rows"]] for query in queries]
    assert sent == [["d", "e"], ["f"], ["a", "b"], ["c"]]


@given(PROGRAMS)
def test_a_program_of_new_ids_compiles_to_the_same_without_a_look_at_the_graph(
    statements: list[GraphStatement],
) -> None:
    program = program_of(statements)
    new = compile_new(program, namespace="n", token="t")
    if new is not None:
        looked_up = compile_program(program, Stored(frozenset(new.needed)), namespace="n", token="t")
        assert (new.queries, looked_up.problems, looked_up.warnings) == (looked_up.queries, (), ())
        assert len({*new.nodes, *new.edges, *new.needed}) == len(statements) + len(new.needed)


def test_declarations_of_new_ids_are_compiled_without_a_look_at_the_graph() -> None:
    text = 'Node(node_id="a", name="A", data=""); Edge(edge_id="e", from_node="a", to_node="b", verb="v", weight=0.5);'
    new = compile_new(parse(text), namespace="n", token="t")
    assert new is not None
    assert (new.nodes, new.edges, new.needed, len(new.queries)) == (["a"], ["e"], ["b"], 2)


@given(PROGRAMS)
def test_what_is_wrong_without_a_database_is_found_on_the_short_way_too(statements: list[GraphStatement]) -> None:
    program = program_of(statements)
    assert tuple(find_problems(program)) == compile_program(program, None).problems
