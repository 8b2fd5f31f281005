"""How an error in a script is shown, and that errors can be copied and sent to another process."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from memorygraph.cli.output import FilesError, UnfinishedError
from memorygraph.errors import (
    MAX_SHOWN_LINE,
    ConnectionError,
    CopyableError,
    MemoryGraphError,
    ModelError,
    Problem,
    ProgramError,
    ScriptError,
)
from memorygraph.limits import LimitExceeded
from memorygraph.llm.structured import ShapeMismatch
from memorygraph.memory.remember import NotWrittenError, ProgramLoad
from memorygraph.runtime.agentscript.interpreter import LocatedModelError
from memorygraph.runtime.convo.steps import GraphFailure
from memorygraph.runtime.runs import RunInterrupted
from memorygraph.runtime.values import ValueProblem

PROBLEM = Problem("wrong", "syntax", "a.ctx", 1, 3, 1, "a = b")


def shown(line: str, marked: str) -> str:
    """What the carets for a part of a line are shown as."""
    problem = Problem("wrong", "syntax", None, 1, line.index(marked) + 1, len(marked), line)
    return str(problem).split("\n")[-1][len("    ") :]


@pytest.mark.parametrize(
    ("line", "marked", "carets"),
    [
        ("a = bc", "bc", "    ^^"),
        ("\ta = b", "b", "     ^"),
        ("日本 = b", "b", "       ^"),
        ("ａ = b", "b", "     ^"),  # noqa: RUF001 - a letter of two columns
        ("a = 日本 b", "日本", "    ^^^^"),
        ("😀 = b", "b", "     ^"),
        ("e\u0301 = b", "b", "    ^"),
        ("❤\ufe0f = b", "b", "    ^"),
        ("\u1100\u1161\u11a8\u1102\u1161 = b", "b", "       ^"),  # 각나, as macOS names files
        ("a = e\u0301e\u0301", "e\u0301e\u0301", "    ^^"),
        ("a = \u0301", "\u0301", "    ^"),
        ("日" * MAX_SHOWN_LINE + "b", "b", "  " * (MAX_SHOWN_LINE // 2) + "^"),
    ],
)
def test_carets_stand_below_what_they_mark_however_wide_that_is(line: str, marked: str, carets: str) -> None:
    assert shown(line, marked) == carets


def test_a_caret_stands_after_a_line_whose_end_is_wrong() -> None:
    assert str(Problem("wrong", "syntax", None, 1, 3, 1, "日本")).split("\n")[-1] == "        ^"


# How an error is made that takes something else than its message, by the class whose `__init__` says so.
MADE: dict[type[BaseException], Callable[[Any], BaseException]] = {
    BaseException: lambda kind: kind("wrong"),
    ConnectionError: lambda kind: kind("gone", outcome_unknown=True, load_id="l1"),
    FilesError: lambda kind: kind([MemoryGraphError("one"), ScriptError([PROBLEM])]),
    GraphFailure: lambda kind: kind("it went on", "max-steps"),
    LimitExceeded: lambda kind: kind("too long", "run-limit"),
    LocatedModelError: lambda kind: kind(PROBLEM, "no"),
    ModelError: lambda kind: kind("it said: no", "no", 429),
    NotWrittenError: lambda kind: kind(SimpleNamespace(load=ProgramLoad("a = b", problems=(PROBLEM,)), attempts=3)),
    ProgramError: lambda kind: kind([PROBLEM], "r1"),
    RunInterrupted: lambda kind: kind("r1", 3, resumable=True),
    ScriptError: lambda kind: kind([PROBLEM, PROBLEM]),
    ShapeMismatch: lambda kind: kind({"a": [1]}, "no list"),
    UnfinishedError: lambda kind: kind(ScriptError([PROBLEM]), "the first file is stored", [], 3),
    ValueProblem: lambda kind: kind("no number", "wrong-type"),
}


def with_subclasses(kind: type[BaseException]) -> Iterator[type[BaseException]]:
    yield kind
    for below in kind.__subclasses__():
        yield from with_subclasses(below)


@pytest.mark.parametrize("make_copy", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
@pytest.mark.parametrize("kind", list(with_subclasses(CopyableError)), ids=lambda kind: kind.__name__)
def test_an_error_that_is_copied_or_pickled_says_and_holds_the_same(
    kind: type[BaseException], make_copy: Callable[[BaseException], BaseException]
) -> None:
    error = MADE[next(each for each in kind.__mro__ if each in MADE)](kind)
    error.add_note("a note")
    copied = make_copy(error)
    assert (type(copied), str(copied), copied.args) == (type(error), str(error), error.args)
    assert shown_attributes(copied) == shown_attributes(error)


def shown_attributes(error: BaseException) -> dict[str, str]:
    return {name: repr(value) for name, value in vars(error).items()}
