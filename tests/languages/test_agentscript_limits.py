"""No AgentScript program makes reading recursive or slow, and a long one is read."""

from __future__ import annotations

from functools import partial

import pytest

from tests.languages.hostile_texts import codes, read_in_time

pytestmark = pytest.mark.slow

N = 50_000
read = partial(read_in_time, language="agentscript")


def body(text: str) -> str:
    return f'import tool T from "env://"\nmain agent A {{ main func(input) {{\n{text}\n}} }}'


@pytest.mark.parametrize(
    "text",
    [
        *["x = " + "[" * N + "]" * N, "x = " + "[" * N, "x = " + "{a:" * N, "x = " + "not " * N + "a"],
        *["x = input" + ".a" * N, "x = input" + "()" * N, "x = input" + "[0]" * N, "x = input" + " == 1" * 10_000],
        *[
            "if input { " * 20_000,
            "if input { } else { " * 10_000,
            "x = " + "f(" * N,
            "x = " + "[" * 50 + "not " * 60 + "1" + "]" * 50,
        ],
    ],
    ids=lambda text: text[:12],
)
def test_what_nests_too_deep_is_said(text: str) -> None:
    assert codes(read(body(text))) == ["nesting-too-deep"]


@pytest.mark.parametrize("opening", ["[", "[1 ", "f(", "f(1 ", "{ a: ", "{ a: 1 b: ", "input[", "[ not ", "[ 1 + "])
def test_brackets_that_are_never_closed_are_read_in_time(opening: str) -> None:
    assert codes(read(body("x = " + opening * 40))) == ["syntax"]


@pytest.mark.parametrize(
    "garbage", ["x", "[", '"', "'", "import ", "import\n", "func(\n", "agent a {\n", "}", "\x00", "\ud800", "//", "é"]
)
def test_garbage(garbage: str) -> None:
    program = read(garbage * (200_000 // len(garbage)))
    assert program.statements == ()
    assert 0 < len(program.problems) <= 101


def test_a_program_that_is_too_large_is_not_read() -> None:
    assert codes(read("x" * 10**7)) == ["program-too-large"]


@pytest.mark.parametrize(
    "text",
    [
        *["x = [" + "1, " * 20_000 + "]", "x = {" + "a: 1 " * 20_000 + "}", "x = input" + " or input" * 20_000],
        *["x = [" + "input " * 10_000 + "]\n" + "use x\n" * 10_000, "repeat * " + "9" * N + " { }"],
        'x = "' + "\x00\n\\a" * 20_000 + '"',
    ],
    ids=lambda text: text[:12],
)
def test_what_is_long_and_flat_is_read(text: str) -> None:
    assert read(body(text)).problems == ()


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"y{i} = [y{i + 1}, y{i + 1}]\n" for i in range(5000)),
        "x\n" * 20_000,
        "if x { y = 1 } y\n" * 5000,
        "f() " * 20_000,
        "x = generate({ input: z }) { return { a b } }\n" * 3000,
    ],
    ids=lambda text: text[:12],
)
def test_many_problems_are_found_in_time(text: str) -> None:
    assert len(read(body(text)).problems) == 101


def test_variables_that_hold_each_other_are_no_circle() -> None:
    assert read(body("x = 1\ny = x\n" + "x = [y, x, T]\ny = [x, y, T]\n" * 50 + "use [x, y]")).problems == ()


def test_a_program_of_a_thousand_lines_is_read() -> None:
    lines = "".join(f"  x{i} = [{i}, {{ a: input.b[{i}] }}]\n  use x{i}.length < {i + 1}k\n" for i in range(500))
    program = read(body(lines))
    assert program.problems == ()
    assert len(program.statements[1].functions[0].body.statements) == 1000
