"""The table of languages, and statements as values."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import ValidationError

from memorygraph.errors import NotFoundError
from memorygraph.languages import language_of, parse
from memorygraph.languages.contextscript import (
    Deletion,
    EdgeDeclaration,
    NodeDeclaration,
    print_contextscript,
    print_statement,
)


def test_a_language_is_found_by_name_or_extension() -> None:
    assert language_of("a/b.CTX").name == "contextscript"
    assert language_of("b.txt", "contextscript").extension == ".ctx"
    assert language_of(None).name == "contextscript"
    with pytest.raises(NotFoundError, match=r"`\.txt`; known: contextscript \(\.ctx\)"):
        language_of("b.txt")
    with pytest.raises(NotFoundError, match="`cobol`; known: contextscript"):
        parse("", "cobol")


def test_statements_are_equal_wherever_they_stand() -> None:
    first, second = parse('Node(node_id="a", name="A"); Node(name="A", node_id="a");').statements
    assert first == second
    assert hash(first) == hash(second)
    assert first.span != second.span
    assert first != NodeDeclaration(node_id="a")
    assert Deletion(id="a") != NodeDeclaration(node_id="a")


def test_statements_are_validated_wherever_they_come_from() -> None:
    assert str(EdgeDeclaration(edge_id="e", weight=-0.0).weight) == "0.0"
    for wrong in ({"edge_id": "a b"}, {"edge_id": "e\n"}, {"edge_id": "e", "weight": float("nan")}, {}):
        with pytest.raises(ValidationError):
            EdgeDeclaration.model_validate(wrong)
    with pytest.raises(ValidationError):
        NodeDeclaration(node_id="a", name="\ud800")
    with pytest.raises(ValidationError):
        NodeDeclaration(node_id="a").name = "B"  # type: ignore[misc]


def test_printing_is_plain() -> None:
    assert print_statement(EdgeDeclaration(edge_id="e", weight=1e-7)) == 'Edge(edge_id="e", weight=0.0000001);'
    assert print_statement(EdgeDeclaration(edge_id="e", weight=1)) == 'Edge(edge_id="e", weight=1.0);'
    assert print_contextscript([Deletion(id="a")]) == 'del(id="a");\n'


def test_ids_of_what_was_not_read_are_known() -> None:
    program = parse('Node(node_id="a", name=A B);\nEdge(edge_id="e", from_node="b", weight=2);\ndel(id="c");')
    assert program.unread >= {"a", "b", "e"}
    assert "c" not in program.unread


def test_threads_may_share_a_parser() -> None:
    texts = [f'Node(node_id="n{i}", name=);del(id="d{i}");' * 5 for i in range(40)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: parse(text).problems, texts * 3)) == [parse(t).problems for t in texts] * 3


def test_a_place_of_an_argument_that_was_not_given_is_the_statement() -> None:
    program = parse(' Node(node_id="a");')
    assert program.argument_span(program.statements[0], "name") == (1, 19)
