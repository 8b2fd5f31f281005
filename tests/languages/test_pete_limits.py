"""No log makes reading recursive or slow, and a long one is read."""

from __future__ import annotations

import time
from functools import partial

import pytest

from memorygraph.languages.pete.continuation import ContinuationReader
from memorygraph.languages.pete.printing import print_pete
from memorygraph.languages.pete.reading import MAX_CHARACTERS
from tests.languages.hostile_texts import codes, read_in_time
from tests.languages.pete_logs import open_contexts

pytestmark = pytest.mark.slow

N = 100_000
read = partial(read_in_time, language="pete")


def body(text: str) -> str:
    return f"context main(&a, &b) {{\n{text}"


def test_contexts_nest_as_deep_as_one_likes() -> None:
    log = "context a() {" * N
    assert len(open_contexts(read(log))) == N
    closed = read(log + "}" * N)
    assert (closed.problems, open_contexts(closed)) == ((), [])
    assert len(read(log + "}" * (N + 1)).problems) == 1


def test_what_is_nested_deep_is_printed() -> None:
    program = read("context a() {" * 1000 + "}" * 1000)
    assert read(print_pete(program)).items == program.items


def test_every_deep_context_is_checked() -> None:
    problems = read("context a() { &x eats 3. " * 20_000).problems
    assert len(problems) == 101


@pytest.mark.parametrize(
    "text",
    [
        *["set " + "[" * N + "]" * N, "set " + "[" * N, 'set {"a":' + '{"a":' * N, "&a knows " + "that &a knows " * N],
        *["that " * N, "&a knows " + "that &a knows " * 200 + "&b.", "set {" + '"a": [[{' * 101],
    ],
    ids=lambda text: text[:12],
)
def test_what_nests_too_deep_is_said(text: str) -> None:
    assert codes(read(body(text))) in (["nesting-too-deep"], ["syntax"])


@pytest.mark.parametrize("depth", [99, 100, 101])
@pytest.mark.parametrize(("opening", "middle", "closing"), [("[", "", "]"), ("that &a knows ", "&b", "")])
def test_the_limit_of_nesting_is_exact(opening: str, middle: str, closing: str, depth: int) -> None:
    program = read(body(f"&a knows {opening * depth}{middle}{closing * depth}."))
    assert codes(program) == ["nesting-too-deep"] * (depth > 100)


@pytest.mark.parametrize(
    "garbage", ["(", "[", '"', "'", "/*", "&", "&a ", "}", "\x00", "\ud800", "é", "& \n", "set {\n", "@[", "context\n"]
)
def test_garbage(garbage: str) -> None:
    program = read(body(garbage * (10**7 // len(garbage))))
    assert 0 < len(program.problems) <= 101


def test_a_log_that_is_too_large_is_not_read() -> None:
    assert codes(read("x" * (MAX_CHARACTERS + 1))) == ["program-too-large"]


@pytest.mark.parametrize(
    "text",
    [
        *["set [" + "1, " * N + "1]", "a b " * N, "a" * 10**7, "&a eats 3.\n" * N, "&a has " + "1" * 300 + "."],
        *["// " + "}" * 10**7, "tl;dr /*" + "*" * 10**7 + "/", 'set ["' + "\\n" * 10**6 + '"]', "\n" * 10**7],
        "&a eats &b if " + "&a eats &b and " * N + "&b eats &a.",
        "&a knows that " + "&a eats &b and " * N + "&b eats &a.",
        "context n(" + "&a, " * N + "&b) {",
        "_x eats &a.\n&x eats &a.\n" * 20_000,
    ],
    ids=lambda text: text[:12],
)
def test_what_is_long_and_flat_is_read(text: str) -> None:
    assert read(body(text)).problems == ()


@pytest.mark.parametrize(
    "text",
    [
        "&a eats\n",
        "set {a: 1}\n",
        "&x eats &a.\n context n() {\n",
        "context n(\n",
        "_x a &a if &a a 1.\n",
    ],
)
def test_many_problems_are_found_in_time(text: str) -> None:
    assert len(read(body(text * 20_000)).problems) >= 100


def continued(text: str, size: int) -> ContinuationReader:
    """Feed a text in pieces of a size, within a time that only what is not linear would take."""
    reader = ContinuationReader(depth=1)
    start = time.process_time()
    for at in range(0, len(text), size):
        reader.feed(text[at : at + size])
    reader.finish()
    assert time.process_time() - start < 30
    return reader


@pytest.mark.parametrize(
    "text",
    [
        *["tl;dr /*" + "*a" * N + "*/", '@f, set {"a": "' + "\\n" * N + '"}', "set [" + '{"b": "c"}, ' * 20_000 + "1]"],
        *["a" * N, "a " * 30_000, "\n" * N, "// " + "a" * N, "&a eats 3.5.\n" * 10_000, "context n() {" * 20_000],
        *["&a eats &b if " + "&a eats 1.5 and " * 10_000 + "&b eats &a.", "&a has " + "1.5.5 is &b.5 is 3." * 2_000],
        *["&a = context n(" + "&a, " * 20_000 + "&b) = memory:" + "1" * 20_000],
    ],
    ids=lambda text: text[:12],
)
def test_a_continuation_is_read_in_time_character_by_character(text: str) -> None:
    continued(text, 1)


@pytest.mark.parametrize("text", ["/* " * N, "set {" + '"a": {' * N, '"' * N, "&a (" * N, "[" * N, "that " * N])
def test_a_continuation_that_cannot_be_read_is_said_in_time(text: str) -> None:
    for size in (1, 1000):
        assert continued(text, size).problem is not None
