"""Texts: patterns, and JSON."""

from __future__ import annotations

import math
import re
import time
import warnings
from typing import Any

import regex

from memorygraph.limits import active_budget
from memorygraph.runtime.convo.builtins.registry import builtin
from memorygraph.runtime.convo.values import is_number, render_json, render_value
from memorygraph.runtime.values import ValueProblem

MAX_PATTERN_CHARACTERS = 1000
MAX_SEARCHED_CHARACTERS = 100_000
MAX_SEARCH_S = 2.0
# Copies of a part that nested counts such as `(a{9}){9}` may ask for: `regex` unrolls them when it compiles.
MAX_UNROLLED = 200_000

NAMED_GROUP = re.compile(r"\\.|\(\?<(?![=!])", re.DOTALL)  # or an escaped character, which begins no group
LITERAL_BRACE = re.compile(r"\\N\{[^}]*\}|\\.|\{(?!(?:[0-9]+,?[0-9]*|,[0-9]*)\})", re.DOTALL)
COUNT = re.compile(r"\{([0-9]+)")
# In a verbose pattern, blanks and comments can stand between a group and its count.
COUNT_OF_A_GROUP = re.compile(r"\)(?:\s|#.*\n|\(\?#[^)]*\))*\{([0-9]+)")

builtin("toJson")(render_json)


@builtin("starMatch")
def star_match(text: Any, pattern: Any) -> bool:
    """Whether the whole text is the pattern, in which `*` stands for any text."""
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


@builtin("regexMatch")
def regex_match(text: Any, pattern: Any) -> bool:
    """Whether a pattern of Python, or with JavaScript's `(?<name>…)`, is found in a text or a number."""
    if not isinstance(pattern, str) or not (isinstance(text, str) or is_number(text)):
        return False
    text = render_value(text)
    if len(pattern) > MAX_PATTERN_CHARACTERS or len(text) > MAX_SEARCHED_CHARACTERS:
        raise ValueProblem(
            f"`regexMatch` takes a pattern of at most {MAX_PATTERN_CHARACTERS:,} characters "
            f"and a text of at most {MAX_SEARCHED_CHARACTERS:,}",
            "value-too-large",
        )
    budget, started = active_budget(), time.monotonic()
    left = budget.limits.max_search_seconds - budget.search_seconds
    if left <= 0:
        seconds = f"{budget.limits.max_search_seconds:g} seconds"
        raise ValueProblem(f"the searches for patterns have taken the {seconds} of the run", "endless-pattern")
    try:
        return compile_search(pattern).search(text, timeout=min(MAX_SEARCH_S, left)) is not None
    except TimeoutError:
        seconds = f"{min(MAX_SEARCH_S, left):g} seconds"
        raise ValueProblem(f"the search for a pattern took more than {seconds}", "endless-pattern") from None
    finally:
        budget.search_seconds += time.monotonic() - started


def compile_search(pattern: str) -> Any:
    """Compile a pattern of Python's `re` for the package `regex`, whose searches take a time limit."""
    pattern = NAMED_GROUP.sub(lambda found: "(?P<" if found[0] == "(?<" else found[0], pattern)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of sets that a later Python may read in another way
            re.compile(pattern)  # `regex` accepts more, and would give it a meaning of its own
        copies = math.prod(int(count) or 1 for count in COUNT_OF_A_GROUP.findall(pattern))
        if copies * max((int(count) for count in COUNT.findall(pattern)), default=1) > MAX_UNROLLED:
            raise ValueProblem(
                f"a pattern repeats its groups at most {MAX_UNROLLED:,} times, all counts multiplied", "value-too-large"
            )
        # `a{e}` is a text for `re`, and a fuzzy match for `regex`.
        exact = LITERAL_BRACE.sub(lambda found: r"\{" if found[0] == "{" else found[0], pattern)
        return regex.compile(exact, regex.V0, cache_pattern=False)
    except (re.error, regex.error, OverflowError, RecursionError) as error:
        raise ValueProblem(f"invalid pattern: {error}", "invalid-pattern") from None
