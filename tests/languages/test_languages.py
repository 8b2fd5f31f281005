"""The table of languages, and statements as values."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import ValidationError

from memorygraph.client import MemoryGraph
from memorygraph.errors import MemoryGraphError, NotFoundError
from memorygraph.languages import language_of, parse, parse_batches
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


@pytest.mark.parametrize(
    ("language", "text", "shown"),
    [
        (
            "agentscript",
            'main agent A {\n  main func() {\n    return "a" + 1\n  }\n}',
            "a.x:3:16: expected a statement or `}` but found `+`; "
            "there is no arithmetic; a tool or a model calculates\n"
            '        return "a" + 1\n'
            "                   ^",
        ),
        (
            "convo",
            "@exit = eq(output +)\n> node a",
            "a.x:1:19: expected an argument or `)` but found `+`; there are no operators; write add(a b)\n"
            "    @exit = eq(output +)\n"
            "                      ^",
        ),
        (
            "pete",
            "context main(&a) {\n  &a eats &a\n}",
            "a.x:2:12: expected `.`, `?` or `if` but found `}`; a fact ends with a full stop, a question with `?`\n"
            "      &a eats &a\n"
            "               ^",
        ),
    ],
)
def test_a_problem_shows_its_place_and_the_client_finds_the_same(language: str, text: str, shown: str) -> None:
    program = parse(text, language, file="a.x")
    assert str(program.problems[0]) == shown
    assert MemoryGraph.check(text, language, file="a.x") == MemoryGraph.check(program) == list(program.problems)
    with pytest.raises(MemoryGraphError, match="not in batches"):
        parse_batches(io.StringIO(text), language, size=1)


@pytest.mark.parametrize(
    ("language", "text", "line"),
    [
        ("contextscript", "Node(node_id=a);\n" * 1000, 101),
        ("agentscript", "main agent A { main func() {\n" + "x\n" * 1000 + "} }", 102),
        ("convo", "> do\nx = )\n" * 1000, 202),
        ("pete", "context a() {\n" + "&x likes\n" * 1000, 203),
    ],
)
def test_a_hundred_problems_are_enough(language: str, text: str, line: int) -> None:
    problems = parse(text, language).problems
    assert len(problems) == 101
    assert (problems[-1].code, problems[-1].line) == ("too-many-problems", line)


def test_a_hundred_warnings_are_enough_and_share_the_text_of_their_line() -> None:
    warnings = MemoryGraph.find_warnings('Node(node_id="a", name="A", data="");' + "del(id=a);" * 1000)
    assert [warning.code for warning in warnings] == ["already-deleted"] * 100 + ["too-many-problems"]
    assert len({id(warning.source_line) for warning in warnings}) == 1


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
