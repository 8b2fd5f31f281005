"""No input makes reading slow, large or recursive."""

from __future__ import annotations

import io
import tracemalloc
from functools import partial

import pytest

from memorygraph.languages import parse_batches
from tests.languages.hostile_texts import codes, read_in_time

pytestmark = pytest.mark.slow

MILLION = 10**6
read = partial(read_in_time, language="contextscript")
NODE = 'Node(node_id="a", name="A", data="'


@pytest.mark.parametrize("filling", ["x", '\\"', "(", "\n", "é", "# ", "Node("])
def test_a_text_of_ten_million_characters(filling: str) -> None:
    program = read(NODE + filling * (10 * MILLION // len(filling)) + '");del(id=b);')
    assert (len(program.statements), codes(program)) == (2, [])


def test_a_hundred_thousand_parentheses_in_a_text() -> None:
    program = read(NODE + "(" * 100_000 + ")" * 50_000 + '");')
    assert (len(program.statements), codes(program)) == (1, [])


@pytest.mark.parametrize(
    "garbage",
    ["(", '"', ";", "\\", "#\n", '" ', "Node(", 'Node(a="', "Node\n", ")", ";\n", '"#', '\\"', "a=", '"";', "\n;("],
)
def test_garbage_of_ten_million_characters(garbage: str) -> None:
    program = read(garbage * (10 * MILLION // len(garbage)), seconds=60.0)
    assert program.statements == ()
    assert 0 < len(program.problems) <= 101 or garbage == "#\n"


@pytest.mark.parametrize("garbage", ["(", '"'])
def test_garbage_of_a_hundred_million_characters(garbage: str) -> None:
    assert codes(read(garbage * (100 * MILLION))) == ["syntax"]


def test_an_unclosed_text_of_a_hundred_million_characters() -> None:
    assert codes(read(NODE + "x" * (100 * MILLION), seconds=15.0)) == ["too-large"]


def test_a_million_blanks_and_comments_between_all_tokens() -> None:
    gap = " " * MILLION + "# comment\n" * 100_000
    text = gap + gap.join(["Node", "(", "node_id", "=", '"a"', ")", ";"]) + gap
    assert len(read(text).statements) == 1
    program = read(text.replace("node_id", "node-id"))
    assert codes(program) == ["unknown-argument"]
    assert codes(read(text.replace(")", "]"))) == ["syntax"]


def test_a_comment_of_ten_million_characters() -> None:
    assert len(read("#" * (10 * MILLION) + "\ndel(id=a);").statements) == 1


def test_a_statement_may_have_sixteen_mebibytes() -> None:
    assert codes(read(NODE + "x" * (16 * 2**20) + '");')) == ["too-large"]
    assert codes(read(NODE + "x" * (16 * 2**20 - 100) + '");')) == []


def test_a_statement_with_too_many_arguments() -> None:
    assert codes(read('Node(node_id="a"' + ', name="A"' * MILLION + ");")) == ["too-large"]
    program = read('Node(node_id="a"' + ', nome="A"' * 3000 + ");")
    assert set(codes(program)) == {"unknown-argument", "too-many-problems"}


def test_a_long_number_is_no_problem() -> None:
    program = read(f'Edge(edge_id="e", weight=0.{"1" * 30_000});')
    assert codes(program) == []
    assert codes(read(f'Edge(edge_id="e", weight={"9" * 30_000});')) == ["weight-range"]


class Endless(io.StringIO):
    """A stream of many statements that nobody ever held as a whole."""

    def __init__(self, piece: str, times: int) -> None:
        super().__init__()
        self._piece = piece
        self._left = times

    def read(self, size: int | None = -1, /) -> str:
        if not self._left:
            return ""
        self._left -= 1
        return self._piece


@pytest.mark.parametrize(
    ("piece", "statements"),
    [
        ('Node(node_id="a", name="A", data="some text");\n' * 1000, 60_000),
        ('Node(node_id="a", name="A", data="some text");' * 1000, 60_000),
        (NODE + "x" * 100_000 + '");', 60),
        ("# nothing but comments\n" * 10_000, 0),
        (" " * 100_000, 0),
        ("#" * 100_000, 0),
    ],
)
def test_batches_hold_little_of_a_long_stream(piece: str, statements: int) -> None:
    stream = Endless(piece, 60)
    tracemalloc.start()
    seen = sum(len(program.statements) for program in parse_batches(stream, size=1000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seen == statements
    assert peak < 24e6
