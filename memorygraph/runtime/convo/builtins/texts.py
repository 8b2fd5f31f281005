"""Texts: patterns, and JSON."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

from memorygraph.runtime.convo.builtins.builtin import Table, registrar
from memorygraph.runtime.convo.values import is_number, render_value, to_json
from memorygraph.runtime.values import ValueProblem

TEXTS: Table = {}
_builtin = registrar(TEXTS)

MAX_PATTERN = 1000
MAX_SEARCHED = 100_000
SECONDS = 2.0
"""That a search for a pattern may take."""

_MAX_SEARCHED_HERE = 2000
_COSTLY = re.compile(r"[*+?{|]")
_NAMED_GROUP = re.compile(r"\\.|\(\?<(?![=!])", re.DOTALL)  # or what is escaped, and so is no group
_SEARCH = """
import json, re, sys
text, pattern = json.load(sys.stdin)
print("yes" if re.search(pattern, text) else "no")
"""


@_builtin("toJson", 1, 1)
def _to_json(value: Any) -> str:
    return to_json(value)


@_builtin("starMatch", 2, 2)
def star_match(text: Any, pattern: Any) -> bool:
    """Whether the whole text is the pattern, in which `*` stands for any text.

    >>> star_match("photo.jpeg", "p*.*g"), star_match("a", "b*")
    (True, False)
    """
    if not isinstance(text, str) or not isinstance(pattern, str):
        return False
    first, *others = pattern.split("*")
    if not others:
        return text == pattern
    *middle, last = others
    if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
        return False
    position, end = len(first), len(text) - len(last)
    for part in middle:
        position = text.find(part, position, end) + len(part)
        if position < len(part):
            return False
    return True


@_builtin("regexMatch", 2, 2)
def regex_match(text: Any, pattern: Any) -> bool:
    r"""Whether a pattern is found in a text or a number.

    Patterns are those of Python, which also takes JavaScript's `(?<name>…)`. A pattern has at most 1,000 characters, a
    text 100,000. One that could take long is searched for in a process of its own, which ends after 2 seconds.

    >>> regex_match("order 42", r"\d"), regex_match("a", "^b")
    (True, False)

    Raises:
        ValueProblem: it is no pattern, one of both is too long, or the search takes too long.
    """
    if not isinstance(pattern, str) or not (isinstance(text, str) or is_number(text)):
        return False
    text = render_value(text)
    if len(pattern) > MAX_PATTERN or len(text) > MAX_SEARCHED:
        raise ValueProblem(
            f"`regexMatch` takes a pattern of at most {MAX_PATTERN:,} characters "
            f"and a text of at most {MAX_SEARCHED:,}",
            "value-too-large",
        )
    pattern = _NAMED_GROUP.sub(lambda found: "(?P<" if found[0] == "(?<" else found[0], pattern)
    return (_search_here if _is_quick(pattern, text) else _search_elsewhere)(pattern, text)


def _is_quick(pattern: str, text: str) -> bool:
    """Whether a search cannot take long: with one choice, it tries each place of the text with each other one."""
    plain = "(" not in pattern and re.search(r"\[[^\]]*([\[&~|]|--)", pattern) is None
    return plain and len(text) <= _MAX_SEARCHED_HERE and len(_COSTLY.findall(pattern)) <= 1


def _search_here(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except (re.error, OverflowError) as error:
        raise ValueProblem(f"this is no pattern: {error}", "invalid-pattern") from None


def _search_elsewhere(pattern: str, text: str) -> bool:
    """Search in a process that can be ended; only so a pattern cannot keep a run from going on."""
    command = [sys.executable, "-I", "-S", "-W", "ignore", "-c", _SEARCH]
    try:
        done = subprocess.run(  # noqa: S603 - the command is ours; the pattern and the text go in as data
            command, input=json.dumps([text, pattern]), capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise ValueProblem(f"the search for a pattern took more than {SECONDS:g} seconds", "endless-pattern") from None
    if done.returncode:
        reason = done.stderr.strip().rpartition("\n")[2].partition(": ")[2]
        raise ValueProblem(f"this is no pattern: {reason}", "invalid-pattern")
    return done.stdout.strip() == "yes"
