"""What is found wrong while a text is read, before its place in the file is worked out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from memorygraph.errors import MAX_PROBLEMS, Problem, Source, Span
from memorygraph.languages.tokens import clipped, half_character

MAX_MESSAGE = 500
_HALF = re.compile("[\ud800-\udfff]")


class Finding(NamedTuple):
    """A problem that does not know its source yet; `first` is an earlier place that belongs to it."""

    message: str
    code: str
    span: Span
    first: Span | None = None


def problem_of(finding: Finding, source: Source) -> Problem:
    """A finding at its place in a source."""
    message = finding.message
    if finding.first is not None:
        message += "; the first is at {}:{}".format(*source.position(finding.first.start))
    return source.problem(clipped(message, MAX_MESSAGE), finding.code, finding.span)


def problems_of(findings: Sequence[Finding], source: Source) -> tuple[Problem, ...]:
    """Findings at their places, as many as anybody reads."""
    problems = [problem_of(finding, source) for finding in findings[:MAX_PROBLEMS]]
    if len(findings) > MAX_PROBLEMS:
        message = f"there are more than {MAX_PROBLEMS} problems; these are the first ones"
        problems.append(source.problem(message, "too-many-problems", findings[MAX_PROBLEMS].span))
    return tuple(problems)


def half_characters(text: str) -> list[Finding]:
    """The halves of surrogate pairs in a text, which no encoding can write."""
    found = islice(_HALF.finditer(text), MAX_PROBLEMS + 1)
    return [Finding(half_character(half[0]), "encoding", Span(*half.span())) for half in found]
