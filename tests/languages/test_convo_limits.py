"""No conversation makes reading recursive or slow, and a long one is read."""

from __future__ import annotations

from functools import partial

import pytest

from memorygraph.languages import parse
from memorygraph.languages.convo.syntax import MAX_NODE_ID
from tests.languages.hostile_texts import codes, read_in_time

pytestmark = pytest.mark.slow

N = 50_000
LONG = 2**17
read = partial(read_in_time, language="convo", seconds=15)


@pytest.mark.parametrize(
    "text",
    [
        *["> do\n" + "[" * 100_000, "> do\n" + "[" * N + "]" * N, "> do\n" + "{a:" * N, "> do\n" + "f(" * N],
        *["> user\n" + "{{'" * N, "{{'" * N, "> do\n'" + "{{'" * N, "@to a = " + "f(" * N + "\n> node a"],
        *["> f(a: " + "f(" * N, "> call f(" + "[" * N, "> do\n" + "[" * 101 + "]" * 101],
    ],
    ids=lambda text: text[:14],
)
def test_what_nests_too_deep_is_said(text: str) -> None:
    assert codes(read(text)) == ["nesting-too-deep"]


@pytest.mark.parametrize("start", ["> do\n", "@json = ", "> user\n{{", "> f(a: ", "> call f("])
@pytest.mark.parametrize("opening", ["f(", "f(1 ", "# a\n f(", "[", "[1 ", "{ a: ", "{ a: 1 b: ", 'f("a" b = '])
def test_brackets_that_are_never_closed_are_read_in_time(start: str, opening: str) -> None:
    assert codes(read(start + opening * 40 + "\n> user")) == ["syntax"]


@pytest.mark.parametrize("start", ["", "> user\n", "> do\n", "@to a = ", "> f("])
@pytest.mark.parametrize(
    "garbage",
    [
        *["x", "(", ")", "'", '"', "{", "}", "{{", "}}", "{{x}}", "[", "> ", ">\n", "> user\n", "> do\nx = (\n", "---"],
        *[
            "#\n",
            "# {{x}}\n",
            "#{{\n",
            "@a\n",
            "@to a = (\n",
            "//\n",
            "\n",
            " \n",
            "\\",
            "\\{{",
            "-",
            ".",
            "1",
            "a.",
            "=",
        ],
        *["\x00", "é", "f('", "'{{", 'x"\n', "> f(\n", "> a b", ":", "a:", "---\n", "\r", "\t"],
        *["??? ", "??? {{1}} ", "=== ", "<<1 "],
    ],
)
def test_garbage_is_read_in_time(start: str, garbage: str) -> None:
    text = start + garbage * (LONG // len(garbage))
    program = read(text)
    assert len(program.problems) <= 101


def test_a_half_character_is_said() -> None:
    assert codes(read("> user\n\ud800")) == ["encoding"]


def test_a_file_that_is_too_large_is_not_read() -> None:
    assert codes(read("x" * 10**7)) == ["program-too-large"]


@pytest.mark.parametrize(
    "text",
    [
        *["> do\n" + "x = 1\n" * 20_000, "> user\n" + "a {{b}}\n" * 20_000, "> user\n" + "# h\n" * N + "end"],
        *[
            "> user\n" + "# {{x}}\n" * 20_000 + "end",
            "> user\nhello\n\n" * 10_000,
            "> do\nx = '" + "a {{b}} " * 10_000 + "'",
        ],
        *[
            "> do\nx = [" + "1, " * 20_000 + "]",
            "> do\nx = f(" + "# a\n" * 20_000 + ")",
            "> f(" + "# a\n" * 20_000 + ")",
        ],
        *[
            "@a b\n" * 20_000 + "> user",
            "> user\na\n" + "@a b\n" * 900 + "> user",
            "> do\nx = ---\n" + "- --\n" * N + "---",
        ],
    ],
    ids=lambda text: text[:16],
)
def test_what_is_long_and_flat_is_read(text: str) -> None:
    assert read(text).problems == ()


@pytest.mark.parametrize(
    "route", ["@from auto\n> node n{0}\n", "> node n{0}\n> to auto\n", "@to auto it fits\n> node n{0}\n"]
)
def test_routes_to_all_nodes_are_refused_where_they_are_too_many(route: str) -> None:
    refused = parse("".join(map(route.format, range(320))) + "> goto n0\n", "convo").problems
    assert [problem.code for problem in refused] == ["program-too-large"]
    assert not parse("".join(map(route.format, range(310))) + "> goto n0\n", "convo").problems
    few = "@to auto n0 n1\n> node n{0}\n"  # which may choose from two each
    assert not parse("".join(map(few.format, range(400))) + "> goto n0\n", "convo").problems


def test_the_id_of_a_node_has_a_length() -> None:
    assert not parse(f"> node {'a' * MAX_NODE_ID}\n", "convo").problems
    [problem] = parse(f"> node {'a' * MAX_NODE_ID}b\n", "convo").problems
    assert (problem.code, problem.column) == ("invalid-head", 8)
