"""Values as JavaScript writes them: what it wrote, and Python's own JSON where both agree."""

from __future__ import annotations

import json
import math
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorygraph.context import rendering
from memorygraph.context.origins import StoredObject, StoredText
from memorygraph.context.rendering import compact, fields_of, indented, quoted, render
from memorygraph.errors import MemoryGraphError
from tests.context.values import leaves, texts, values

# What JSON.stringify gives.
LEAVES = [
    (None, "null"),
    (True, "true"),
    (False, "false"),
    (0, "0"),
    (-0.0, "0"),
    (1.0, "1"),
    (-1.5, "-1.5"),
    (0.1, "0.1"),
    (100.0, "100"),
    (123456789012345680.0, "123456789012345680"),
    (1e20, "100000000000000000000"),
    (-1e20, "-100000000000000000000"),
    (1e21, "1e+21"),
    (1.5e300, "1.5e+300"),
    (5e-324, "5e-324"),
    (0.000001, "0.000001"),
    (1.5e-6, "0.0000015"),
    (-1.5e-6, "-0.0000015"),
    (1e-7, "1e-7"),
    (1.25e-7, "1.25e-7"),
    (0.0001, "0.0001"),
    (0.00001, "0.00001"),
    (1.7976931348623157e308, "1.7976931348623157e+308"),
    (float("nan"), "null"),
    (float("inf"), "null"),
    (float("-inf"), "null"),
    ("", '""'),
    ('"\\/', '"\\"\\\\/"'),
    ("\b\f\n\r\t\x00\x1f", '"\\b\\f\\n\\r\\t\\u0000\\u001f"'),
    ("\x7f\x80é漢😀", '"\x7f\x80é漢😀"'),
    ("\ud83d", '"\\ud83d"'),
    ("a\udc00b", '"a\\udc00b"'),
    # The deviations: whole numbers keep their digits, and no line break is left.
    (2**63 - 1, "9223372036854775807"),
    (10**21, "1000000000000000000000"),
    ("\x85\u2028\u2029", '"\\u0085\\u2028\\u2029"'),
]

OBJECTS: list[tuple[dict[str, Any], str]] = [
    ({}, "{}"),
    ({"b": 1, "2": 2, "1": 3}, '{"1":3,"2":2,"b":1}'),
    ({"b": 1, "01": 2, "-1": 3, "1.5": 4, "0": 5}, '{"0":5,"b":1,"01":2,"-1":3,"1.5":4}'),
    ({"b": 0, "4294967295": 1, "4294967294": 2, "10": 3, "9": 4}, '{"9":4,"10":3,"4294967294":2,"b":0,"4294967295":1}'),
    ({"a": {"z": 1, "7": [{}, [], [[]]]}}, '{"a":{"7":[{},[],[[]]],"z":1}}'),
    ({"\u0661": 1, "²": 2, "1": 3}, '{"1":3,"\u0661":1,"²":2}'),
    ({'"\n': 1}, '{"\\"\\n":1}'),
]


@pytest.mark.parametrize(("value", "text"), LEAVES, ids=repr)
def test_a_value_without_parts(value: Any, text: str) -> None:
    assert compact(value) == indented(value) == text
    assert compact([value]) == f"[{text}]"


@pytest.mark.parametrize(("value", "text"), OBJECTS, ids=repr)
def test_an_object_has_the_order_of_javascript(value: dict[str, Any], text: str) -> None:
    assert compact(value) == text


def test_a_text_is_rendered_as_it_is() -> None:
    assert render("a\n\u2028[0] x:") == "a\n\u2028[0] x:"
    assert type(render(StoredText("a", ["n"]))) is str


def test_indentation_is_two() -> None:
    value = {"b": [1.0, {"x": []}], "1": {}, "c": {"d": None}}
    assert render(value) == (
        '{\n  "1": {},\n  "b": [\n    1,\n    {\n      "x": []\n    }\n  ],\n  "c": {\n    "d": null\n  }\n}'
    )
    assert indented([1, {"a": 2}], 1) == '[\n    1,\n    {\n      "a": 2\n    }\n  ]'


def _as_read(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _as_read(inner) for key, inner in fields_of(value)}
    if isinstance(value, list):
        return [_as_read(inner) for inner in value]
    return _rounded(value) if isinstance(value, int) and not isinstance(value, bool) else value


@given(values)
def test_what_is_rendered_is_json_of_the_value(value: Any) -> None:
    seen = _as_read(value)
    for text in (indented(value), compact(value)):
        read = json.loads(text, parse_int=_rounded)
        assert read == seen
        assert _key_lists(read) == _key_lists(seen)


def _rounded(number: int | float | str) -> int | float:
    """A number as a float, where a float is written with all its digits."""
    whole = int(number)
    return float(number) if -(10**21) < whole < 10**21 else whole


def _key_lists(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [list(value), *(_key_lists(inner) for inner in value.values())]
    return [_key_lists(inner) for inner in value] if isinstance(value, list) else []


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(blacklist_categories=["Cs", "Zl", "Zp", "Cc"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc", max_size=3), inner),
)


@given(plain)
def test_where_python_and_javascript_agree_it_is_the_same(value: Any) -> None:
    assert indented(value) == json.dumps(value, indent=2, ensure_ascii=False)
    assert compact(value) == json.dumps(value, separators=(",", ":"), ensure_ascii=False)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_keeps_its_value(number: float) -> None:
    text = compact(number)
    assert float(text) == number
    digits = text.partition("e")[0].lstrip("-").replace(".", "")
    assert ("e" in text) == (number != 0 and not 1e-6 <= abs(number) < 1e21)
    assert len(digits.strip("0")) <= 17


@given(texts)
def test_a_quoted_text_is_one_line_that_can_be_sent(text: str) -> None:
    shown = quoted(text)
    assert json.loads(shown) == text or "\ud800" in text
    assert shown.splitlines() == [shown]
    shown.encode()


@given(values)
def test_every_line_break_of_a_rendered_value_is_its_own(value: Any) -> None:
    lines = indented(value).splitlines()
    assert lines == indented(value).split("\n")
    assert all(line == line.lstrip() or line.startswith("  ") for line in lines)


@given(leaves)
def test_what_was_stored_is_rendered_as_what_was_not(value: Any) -> None:
    kept = StoredText(value, ["n1"]) if isinstance(value, str) else value
    assert indented(StoredObject({"a": [kept]}, ["n1"])) == indented({"a": (value,)})
    assert compact(kept) == compact(value)


def test_depth_does_not_matter() -> None:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    assert len(compact(value)) == 200_002
    deep = [[[1]]]
    assert indented(deep) == "[\n  [\n    [\n      1\n    ]\n  ]\n]"


def test_a_value_that_holds_itself_is_refused() -> None:
    value: list[Any] = [1]
    value.append({"again": value})
    with pytest.raises(MemoryGraphError, match="holds itself"):
        render(value)


def test_the_same_value_twice_does_not_hold_itself() -> None:
    inner = [1]
    assert compact([inner, inner]) == "[[1],[1]]"


def test_a_value_that_would_fill_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "MAX_PIECES", 10_000)
    value: Any = [1]
    for _ in range(50):
        value = [value, value]
    with pytest.raises(MemoryGraphError, match="too large"):
        compact(value)


@pytest.mark.parametrize("value", [{1, 2}, b"x", date(2026, 1, 1), object(), {"a": [1j]}, {1: 2}, {None: 1}])
def test_what_is_no_json_is_refused(value: Any) -> None:
    for write in (compact, render):
        with pytest.raises(MemoryGraphError):
            write(value)


def test_a_number_that_python_cannot_show_is_refused() -> None:
    with pytest.raises(MemoryGraphError, match="too long"):
        compact([10**5000])
