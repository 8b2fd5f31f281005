"""What must hold for every script: round trips, one meaning on both ways, only located problems, batches."""

from __future__ import annotations

import io
import random
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorygraph.languages import parse, parse_batches
from memorygraph.languages.contextscript import (
    ContextScriptProgram,
    Deletion,
    EdgeDeclaration,
    GraphStatement,
    NodeDeclaration,
    print_contextscript,
    print_value,
    reading,
)
from memorygraph.languages.contextscript.reading import Parser
from memorygraph.languages.contextscript.syntax import KEYWORDS
from memorygraph.languages.engine.fast_path import RawStatement
from tests.examples import examples
from tests.languages.hostile_texts import are_located, mutated
from tests.textx_itself import machine_stops_at, textx_stops_at

BOTH = pytest.mark.parametrize("strict", [False, True], ids=["default", "strict"])

ids = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,12}", fullmatch=True)
verbs = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,12}", fullmatch=True)
weights = st.floats(0, 1)
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
strict_text = st.text("abcXYZ019-_,.' ", max_size=20)


def statements(text: st.SearchStrategy[str]) -> st.SearchStrategy[list[GraphStatement]]:
    """Programs as statements."""
    node = st.builds(NodeDeclaration, node_id=ids, name=st.none() | text, data=st.none() | text)
    edge = st.builds(
        EdgeDeclaration,
        edge_id=ids,
        from_node=st.none() | ids,
        to_node=st.none() | ids,
        verb=st.none() | verbs,
        weight=st.none() | weights,
    )
    return st.lists(node | edge | st.builds(Deletion, id=ids), max_size=8)


@cache
def parser(*, strict: bool, fast: bool) -> Parser:
    return Parser(strict=strict, fast=fast)


def both_ways(text: str, *, strict: bool) -> ContextScriptProgram:
    """Parse with and without the fast path, and hold the two equal."""
    fast = parser(strict=strict, fast=True).parse(text)
    slow = parser(strict=strict, fast=False).parse(text)
    assert fast.statements == slow.statements
    assert [s.span for s in fast.statements] == [s.span for s in slow.statements]
    assert fast.problems == slow.problems
    assert fast.unread == slow.unread
    return fast


@given(statements(any_text))
def test_what_is_printed_is_read_again(program: list[GraphStatement]) -> None:
    parsed = parse(print_contextscript(program))
    assert parsed.problems == ()
    assert list(parsed.statements) == program


@given(statements(strict_text))
def test_what_is_printed_is_read_again_strictly(program: list[GraphStatement]) -> None:
    parsed = parse(print_contextscript(program), strict=True)
    assert parsed.problems == ()
    assert list(parsed.statements) == program


@given(statements(any_text))
def test_strict_allows_nothing_that_the_default_does_not(program: list[GraphStatement]) -> None:
    text = print_contextscript(program)
    strict = parse(text, strict=True)
    allowed = [statement for statement in parse(text).statements if statement in strict.statements]
    assert list(strict.statements) == allowed


def laid_out(program: list[GraphStatement], draw: random.Random) -> str:
    """The text of a program with arguments, blanks and comments anywhere."""
    gaps = ["", "", " ", "\n", "\t", "\r\n", "# a comment\n", '# x = "y", );\n', " #\n # Node(\n"]

    def gap() -> str:
        return "".join(draw.choice(gaps) for _ in range(draw.randint(0, 2)))

    parts = []
    for statement in program:
        names = list(statement.given())
        draw.shuffle(names)
        keyword = KEYWORDS[type(statement).__name__]
        body = f"{gap()},{gap()}".join(
            f"{name}{gap()}={gap()}{print_value(getattr(statement, name))}" for name in names
        )
        parts.append(f"{gap()}{keyword}{gap()}({gap()}{body}{gap()}){gap()};{gap()}")
    return "".join(parts)


@BOTH
@given(program=statements(strict_text), draw=st.randoms(use_true_random=False))
def test_layout_and_order_do_not_matter(strict: bool, program: list[GraphStatement], draw: random.Random) -> None:
    parsed = both_ways(laid_out(program, draw), strict=strict)
    assert parsed.problems == ()
    assert list(parsed.statements) == program


fragments = st.sampled_from(
    [
        *'();,="#\\\n\r\t\x00\ufeff\ud800\u2018\u201dé🙂-.0',
        *["Node", "Edge", "del", "node", "1.0", ".5", "-1", "nan"],
        *["node_id", "name", "data", "edge_id", "weight", "id", '"a"', '"b c"', '""', "\\n", '\\"', "  ", "# c\n"],
        *['Node(node_id="a");', 'Edge(edge_id="e", weight=0.5);\n', "del(id=a);", "\nNode(", ");\n", 'name="x'],
    ]
)
garbage = st.lists(fragments | st.text(max_size=3), max_size=30).map("".join)


PIECES = ["", *'"();,=\n#\\\x00x ']


@BOTH
@given(text=garbage)
def test_garbage_has_located_problems_on_both_ways(strict: bool, text: str) -> None:
    are_located(both_ways(text, strict=strict).problems, text)


@BOTH
@given(program=statements(any_text), draw=st.randoms(use_true_random=False))
def test_mutations_have_located_problems_on_both_ways(
    strict: bool, program: list[GraphStatement], draw: random.Random
) -> None:
    text = mutated(laid_out(program, draw), draw, PIECES)
    are_located(both_ways(text, strict=strict).problems, text)


@given(text=garbage)
def test_textx_stops_at_the_same_place(text: str) -> None:
    assert_machine_and_textx_agree(text)


@given(program=statements(any_text), draw=st.randoms(use_true_random=False))
def test_textx_stops_at_the_same_place_of_mutations(program: list[GraphStatement], draw: random.Random) -> None:
    assert_machine_and_textx_agree(laid_out(program, draw))
    assert_machine_and_textx_agree(mutated(laid_out(program, draw), draw, PIECES))


def assert_machine_and_textx_agree(text: str) -> None:
    assert machine_stops_at("contextscript", text) == textx_stops_at("contextscript", text)


class Dripping(io.StringIO):
    """A stream that gives as many characters as it likes."""

    def __init__(self, text: str, draw: random.Random) -> None:
        super().__init__(text, newline="")
        self._draw = draw

    def read(self, size: int | None = -1, /) -> str:
        return super().read(self._draw.randint(1, max(1, min(size or 1, 60))))


@settings(max_examples=examples(200))
@given(text=garbage, size=st.integers(1, 4), draw=st.randoms(use_true_random=False))
def test_batches_are_the_whole(text: str, size: int, draw: random.Random) -> None:
    assert_batches_are_the_whole(text, size, draw)


@given(program=statements(any_text), size=st.integers(1, 4), draw=st.randoms(use_true_random=False))
def test_batches_of_programs_are_the_whole(program: list[GraphStatement], size: int, draw: random.Random) -> None:
    text = laid_out(program, draw)
    assert_batches_are_the_whole(text, size, draw)
    assert_batches_are_the_whole(mutated(text, draw, PIECES), size, draw)


def assert_batches_are_the_whole(text: str, size: int, draw: random.Random) -> None:
    whole = parse(text)
    parts = list(parse_batches(Dripping(text, draw), size=size))
    assert [s for part in parts for s in part.statements] == list(whole.statements)
    assert [p for part in parts for p in part.problems] == list(whole.problems)
    assert parts[-1].unread == whole.unread
    for part in parts:
        assert len(part.statements) <= size
        for statement in part.statements:
            again = parse(part.source.text[slice(*statement.span)])
            assert again.statements == (statement,)
            line = part.source.position(statement.span.start)[0]
            assert 1 <= line <= text.count("\n") + 1


@given(statements(any_text), st.randoms(use_true_random=False))
def test_arguments_are_found_again(program: list[GraphStatement], draw: random.Random) -> None:
    parsed = parse(laid_out(program, draw))
    for statement in parsed.statements:
        for name in statement.given():
            start, end = parsed.argument_span(statement, name)
            assert name in parsed.source.text[statement.span.start : start]
            assert parsed.source.text[start:end] == print_value(getattr(statement, name))


def test_the_switch_for_the_fast_path_does_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []

    def read(text: str, start: int) -> RawStatement | reading.Unreadable:
        reads.append(text)
        return read_statement(text, start)

    read_statement = reading.read_statement
    monkeypatch.setattr(reading, "read_statement", read)
    Parser(fast=False).parse("del(id=a);")
    parse("del(id=b);")
    assert reads == ["del(id=a);"]
