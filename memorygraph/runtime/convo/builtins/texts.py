"""Texts: patterns, JSON and its schemas, Markdown, tables, and parts of addresses."""

from __future__ import annotations

import json
import math
import re
import time
import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, count, repeat
from typing import Any
from urllib.parse import quote

import regex

from memorygraph.context.rendering import compact
from memorygraph.json_text import HALF_CHARACTER
from memorygraph.limits import active_budget
from memorygraph.runtime.convo.builtins.registry import builtin
from memorygraph.runtime.convo.types import BASIC, MISMATCH, ArrayOf, Struct, to_integer, type_of
from memorygraph.runtime.convo.types import Enum as TypeEnum
from memorygraph.runtime.convo.values import (
    UNDEFINED,
    ConvoType,
    is_number,
    join_texts,
    name_kind,
    render_json,
    render_value,
    to_plain,
    truthy,
)
from memorygraph.runtime.values import ValueProblem

MAX_LEVELS = 50  # of nested lists in Markdown
MAX_COLUMN_LEVELS = 2  # of maps in maps that become columns of a table
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
builtin("md")(lambda *values: join_texts(map(render_value, values)))


# What these functions of JavaScript leave as it is, beside letters and digits.
URI_MARKS = "-_.!~*'()"


def encode_for_uri(name: str, safe: str, value: Any = "") -> str:
    """Encode a text for an address, as the function of this name does, which leaves the `safe` characters."""
    text = render_value(value)
    if HALF_CHARACTER.search(text):
        raise ValueProblem(f"`{name}` takes a text of whole characters, and this holds half of one", "encoding")
    return quote(text, safe=safe)


builtin("encodeURIComponent")(partial(encode_for_uri, "encodeURIComponent", URI_MARKS))
builtin("encodeURI")(partial(encode_for_uri, "encodeURI", f";,/?:@&=+$#{URI_MARKS}"))


@builtin("toJsonScheme")
def write_schema(value: Any) -> str:
    """Write the JSON Schema of a type on one line."""
    return json.dumps(short_schema(type_of(value)), ensure_ascii=False, separators=(",", ":"))


def short_schema(type_: ConvoType) -> dict[str, Any]:
    """The JSON Schema of a type, in the words that the original has for it."""
    if isinstance(type_, Struct):
        required = [field.name for field in type_.fields if not field.optional]
        properties = {field.name: short_schema(field.type) for field in type_.fields}
        return {"type": "object", **({"required": required} if required else {}), "properties": properties}
    if isinstance(type_, ArrayOf):
        return {"type": "array", "items": short_schema(type_.item)}
    if isinstance(type_, TypeEnum) and not all(isinstance(value, str) for value in type_.values):
        return {"enum": list(type_.values)}
    return {"type": "number"} if type_ == BASIC["time"] else type_.schema


@builtin("toMarkdown")
def write_markdown(depth: Any, *values: Any) -> str:
    """Write values as nested lists of Markdown, to a depth of levels."""
    levels = to_integer(depth)
    if levels is MISMATCH:
        raise ValueProblem(f"`toMarkdown` takes its depth first, and this is {name_kind(depth)}", "not-a-number")
    return join_texts(chain.from_iterable(markdown_pieces(one, "", "", min(levels, MAX_LEVELS)) for one in values))


def markdown_pieces(value: Any, indentation: str, mark: str, levels: int) -> Iterator[str]:
    """Yield the pieces of a value as Markdown, after the mark of its item."""
    yield indentation + mark
    if mark:
        indentation += "  "
    if levels <= 0:
        return
    if isinstance(value, ConvoType):
        value = value.schema
    if not isinstance(value, (dict, list)):
        yield render_value(value).replace("\n", f"\n{indentation}")
        return
    numbered = isinstance(value, list) and all(item is None or isinstance(item, (dict, list)) for item in value)
    marks: Iterable[str] = (f"- {key}: " for key in value) if isinstance(value, dict) else repeat("- ")
    if numbered:
        marks = (f"{number}. " for number in count(1))
    if mark:
        yield "\n"
    between = ""
    for item, item_mark in zip(value.values() if isinstance(value, dict) else value, marks, strict=False):
        yield between
        yield from markdown_pieces(item, indentation, item_mark, levels - 1)
        between = "\n"


@builtin("toCsv")
def write_csv(rows: Any) -> list[str]:
    """Write maps as the lines of a table, below a line of their keys; a path to a value in a map has `_` between."""
    if not isinstance(rows, list):
        raise ValueProblem(f"`toCsv` takes a list of maps, and this is {name_kind(rows)}", "not-a-list")
    flat = [dict(leaves(row, "", MAX_COLUMN_LEVELS)) for row in rows if truthy(row)]
    head = [*dict.fromkeys(chain.from_iterable(flat))]
    lines = [",".join(csv_value(row.get(name, UNDEFINED)) for name in head) for row in flat]
    return [",".join(csv_value(name.replace(".", "_")) for name in head), *lines]


def leaves(value: Any, path: str, levels: int) -> Iterator[tuple[str, Any]]:
    """Yield the values in a map, each with its path; what is deeper than the levels stays a value."""
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if levels and isinstance(inner, (dict, list)):
                yield from leaves(inner, f"{path}{key}.", levels - 1)
            else:
                yield f"{path}{key}", inner


def csv_value(value: Any) -> str:
    """A value in a line of a table: in quotes where it holds a comma, a quote or a backslash."""
    if value is UNDEFINED:
        return ""
    text = compact(to_plain(value)) if isinstance(value, (dict, list)) else render_value(value)
    text = text.replace("\n", "\\n").replace("\r", "\\r").replace('"', '""')
    return f'"{text}"' if any(mark in text for mark in ",'\\\"") else text


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
