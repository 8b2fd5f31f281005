"""How values are shown, compared, reached and copied."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorygraph.runtime.convo.types import BASIC, ArrayOf, Enum
from memorygraph.runtime.convo.values import (
    MAX_TEXT_CHARACTERS,
    UNDEFINED,
    copy_deeply,
    deep_equal,
    excerpt,
    join_texts,
    name_kind,
    read_at_path,
    render_json,
    render_value,
    require_bounded,
    set_member,
    strict_equal,
    to_plain,
    truthy,
)
from memorygraph.runtime.values import ValueProblem

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
NAN = float("nan")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (UNDEFINED, "undefined"),
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (1.50, "1.5"),
        (2.0, "2"),
        (-0.0, "0"),
        (1e21, "1e+21"),
        (NAN, "NaN"),
        (float("-inf"), "-Infinity"),
        (10**30, "1" + "0" * 30),
        ("a\nb", "a\nb"),
        ("", ""),
        ([], ""),
        (["a", 1, None, True, UNDEFINED], "- a\n- 1\n- null\n- true\n- undefined"),
        ({}, "{}"),
        ({"a": {"b": [1]}}, '{\n    "a": {\n        "b": [\n            1\n        ]\n    }\n}'),
        ([{"a": "  x"}], '[\n    {\n        "a": "  x"\n    }\n]'),
        ({"a": UNDEFINED, "b": [UNDEFINED]}, '{\n    "b": [\n        null\n    ]\n}'),
        ([1, [2]], "[\n    1,\n    [\n        2\n    ]\n]"),
        (BASIC["string"], '{"type":"string"}'),
        (Enum(("a", "b")), '{"type":"string","enum":["a","b"]}'),
        ({"t": ArrayOf(BASIC["int"])}["t"], '{"type":"array","items":{"type":"integer"}}'),
        ([BASIC["string"], 1], '[\n    {\n        "type": "string"\n    },\n    1\n]'),
    ],
)
def test_rendering(value: Any, text: str) -> None:
    assert render_value(value) == text


@given(JSON)
def test_every_json_value_can_be_shown(value: Any) -> None:
    assert isinstance(render_value(value), str)
    assert isinstance(excerpt(value), str)


@given(JSON.filter(lambda value: "Infinity" not in str(value)))
def test_json_says_the_value(value: Any) -> None:
    expected = json.dumps(value).replace("-Infinity", "null").replace("Infinity", "null")
    assert json.loads(render_json(value), parse_int=float) == json.loads(expected, parse_int=float)


def test_a_value_that_holds_itself_is_an_error() -> None:
    circle: dict[str, Any] = {}
    circle["a"] = [circle]
    with pytest.raises(ValueProblem, match="or holds itself"):
        render_value(circle)
    assert excerpt(circle) == "a map"
    assert deep_equal(circle, circle)
    twin: dict[str, Any] = {}
    twin["a"] = [twin]
    assert deep_equal(circle, twin)
    assert copy_deeply(circle)["a"][0]["a"][0]["a"] is not circle["a"]


def test_a_value_that_doubles_is_an_error() -> None:
    value: list[Any] = ["x"]
    for _ in range(100):
        value = [value, value]
    with pytest.raises(ValueProblem, match="too large"):
        render_value(value)
    assert copy_deeply(value) is not value


@pytest.mark.parametrize("depth", [1000, 2000])
def test_deep_values(depth: int) -> None:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    assert render_value(value).startswith("[\n    [")
    assert deep_equal(value, copy_deeply(value))
    assert read_at_path(value, ["0"] * depth) == 1


@pytest.mark.parametrize("value", [UNDEFINED, None, False, 0, 0.0, -0.0, "", NAN], ids=str)
def test_what_counts_as_false(value: Any) -> None:
    assert not truthy(value)


@pytest.mark.parametrize("value", [True, 1, -1, "0", "false", [], {}, [0], BASIC["string"]], ids=str)
def test_what_counts_as_true(value: Any) -> None:
    assert truthy(value)


SHARED: list[Any] = []


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ("1", 1, False),
        ("a", "a", True),
        (None, UNDEFINED, False),
        (None, None, True),
        (UNDEFINED, UNDEFINED, True),
        (None, False, False),
        ("", False, False),
        ([], [], False),
        ({}, {}, False),
        (SHARED, SHARED, True),
        (NAN, NAN, False),
    ],
)
def test_strict_equality(left: Any, right: Any, same: bool) -> None:
    assert strict_equal(left, right) is same
    assert strict_equal(right, left) is same


@given(JSON)
def test_a_copy_says_the_same(value: Any) -> None:
    assert deep_equal(value, copy_deeply(value))


@pytest.mark.parametrize(
    ("value", "path", "found"),
    [
        ({"a": {"b": 1}}, "a.b", 1),
        ({"a": [1, 2]}, "a.1", 2),
        ({"a": [1, 2]}, "a.length", 2),
        ({"length": 5}, "length", 5),
        ("four", "length", 4),
        ([1], "1", UNDEFINED),
        ([1], "-1", UNDEFINED),
        ([1], "00", UNDEFINED),
        ([1], "²", UNDEFINED),
        ({}, "a.b.c", UNDEFINED),
        (None, "a", UNDEFINED),
        (UNDEFINED, "a", UNDEFINED),
        (5, "real", UNDEFINED),
        ("x", "0", UNDEFINED),
        ({}, "__class__", UNDEFINED),
        ({}, "keys", UNDEFINED),
        ([], "append", UNDEFINED),
        ("", "__class__.__mro__", UNDEFINED),
        (BASIC["string"], "schema", UNDEFINED),
        (UNDEFINED, "_one", UNDEFINED),
    ],
)
def test_paths_read_data_only(value: Any, path: str, found: Any) -> None:
    assert read_at_path(value, path.split(".")) is found or read_at_path(value, path.split(".")) == found


def test_setting_members() -> None:
    value: Any = {"items": [1, 2]}
    set_member(value, "a", 1)
    set_member(value["items"], "0", "x")
    assert value == {"items": ["x", 2], "a": 1}
    for holder, name in ((value["items"], "2"), (value["items"], "length"), ("text", "a"), (None, "a"), (1, "real")):
        with pytest.raises(ValueProblem, match="that could be set"):
            set_member(holder, name, 0)


def test_there_is_one_undefined() -> None:
    assert copy.deepcopy(UNDEFINED) is UNDEFINED
    assert copy.copy(UNDEFINED) is UNDEFINED
    assert pickle.loads(pickle.dumps(UNDEFINED)) is UNDEFINED
    assert repr(UNDEFINED) == "undefined"
    assert not UNDEFINED


def test_plain_leaves_its_value_as_it_is() -> None:
    value = {"a": [UNDEFINED, BASIC["string"]], "b": UNDEFINED}
    assert to_plain(value) == {"a": [None, {"type": "string"}]}
    assert value == {"a": [UNDEFINED, BASIC["string"]], "b": UNDEFINED}


def test_sizes_are_bounded() -> None:
    half = "x" * (MAX_TEXT_CHARACTERS // 2)
    assert len(join_texts([half, half])) == MAX_TEXT_CHARACTERS
    for pieces, between in (([half, half, "x"], ""), ([half, half], "x")):
        with pytest.raises(ValueProblem, match="more than 10,000,000 characters"):
            join_texts(pieces, between)
    for value in ("x" * (MAX_TEXT_CHARACTERS + 1), [0] * 100_001, dict.fromkeys(map(str, range(100_001)))):
        with pytest.raises(ValueProblem, match="has more than"):
            require_bounded(value)


def test_what_messages_call_a_value() -> None:
    values: list[Any] = [UNDEFINED, None, {}, [], 1, True, "", BASIC["string"]]
    kinds = ["undefined", "null", "a map", "a list", "a number", "a boolean", "a text", "a type"]
    assert list(map(name_kind, values)) == kinds
    assert excerpt({"a": "x" * 100}) == '{"a":"' + "x" * 54 + "…"
