"""What is found wrong while a text is read, before its place in the file is worked out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import NamedTuple

from memorygraph.errors import MAX_PROBLEMS, Problem, Source, Span, cut_problems
from memorygraph.json_text import HALF_CHARACTER

MAX_MESSAGE = 500
MAX_NAMES = 1000  # among which the one that was meant is looked for


def shorten(text: str, width: int = 40) -> str:
    """A piece of a script as a message shows it: short, and on one line."""
    short = text if len(text) <= width else text[: width - 1] + "…"
    return "".join(c if c.isprintable() else "·" for c in short)


def name_character(char: str) -> str:
    """How a message names a character."""
    named = {
        " ": "a space",
        "\n": "a line break",
        "\r": "a carriage return",
        "\t": "a tab",
        "`": "a backtick",
    }
    if char in named:
        return named[char]
    if char.isprintable():
        return f"`{char}`" if char.isascii() else f"`{char}` (U+{ord(char):04X})"
    kind = "the control character " if ord(char) < 32 or 127 <= ord(char) < 160 else "the character "
    return f"{kind}U+{ord(char):04X}"


def explain_surrogate(char: str) -> str:
    r"""Why a surrogate cannot be stored; Python reads a byte that is no UTF-8 as one of U+DC80 to U+DCFF.

    >>> explain_surrogate(b"\xff".decode("utf-8", "surrogateescape"))
    'the byte 0xFF is not UTF-8; save the script as UTF-8'
    """
    if "\udc80" <= char <= "\udcff":
        return f"the byte 0x{ord(char) - 0xDC00:02X} is not UTF-8; save the script as UTF-8"
    return f"{name_character(char)} is half a character, and cannot be stored"


class Finding(NamedTuple):
    """A problem that does not know its source yet; `first` is an earlier place that belongs to it."""

    message: str
    code: str
    span: Span
    first: Span | None = None


def locate_problem(finding: Finding, source: Source) -> Problem:
    """A finding at its place in a source."""
    message = finding.message
    if finding.first is not None:
        message += "; the first is at {}:{}".format(*source.position(finding.first.start))
    return source.problem(shorten(message, MAX_MESSAGE), finding.code, finding.span)


def locate_problems(
    findings: Sequence[Finding], source: Source, most: int = MAX_PROBLEMS, rest: str = "these are the first ones"
) -> tuple[Problem, ...]:
    """Findings at their places, as many as anybody reads; `rest` says what is with the others."""
    return tuple(cut_problems([locate_problem(finding, source) for finding in findings[: most + 1]], most, rest))


def find_surrogates(text: str) -> list[Finding]:
    """The halves of surrogate pairs in a text, which no encoding can write."""
    found = islice(HALF_CHARACTER.finditer(text), MAX_PROBLEMS + 1)
    return [Finding(explain_surrogate(half[0]), "encoding", Span(*half.span())) for half in found]


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of a message that says which name was probably meant; empty where none is near."""
    by_lower = {one.lower(): one for one in reversed([*islice(known, MAX_NAMES)])}
    near = get_close_matches(name[:64].lower(), list(by_lower), n=1, cutoff=0.65)
    return f"; did you mean `{by_lower[near[0]]}`?" if near else ""
