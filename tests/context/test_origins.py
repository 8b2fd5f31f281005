"""Values remember the nodes that they come from, through copies, clipping and rendering."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given

from memorygraph.context.origins import StoredObject, StoredText, copy_value, origins_of, stored
from memorygraph.context.rendering import compact
from memorygraph.errors import MemoryGraphError
from tests.context.values import values

RECORD = {"name": "Ada", "tags": ["x", ["y"]], "born": {"year": 1815, "in": "London"}, "living": False}


def test_every_text_of_a_record_knows_its_nodes() -> None:
    value = stored(RECORD, ["n1", "n2"])
    assert value == RECORD
    parts = [value, value["name"], value["tags"][1][0], value["born"], value["born"]["in"]]
    assert [part.origins for part in parts] == [("n1", "n2")] * 5
    assert (type(value["tags"]), type(value["born"]["year"]), value["living"]) == (list, int, False)


def test_origins_come_in_the_order_of_the_value_and_once() -> None:
    ada, bob = stored({"name": "Ada"}, ["n3"]), stored({"name": "Bob"}, ["n1", "n3"])
    assert origins_of([ada, {"x": [bob, StoredText("z", ["n2"])]}, ada]) == ("n3", "n1", "n2")
    assert origins_of({"only": ada["name"]}) == ("n3",)
    assert origins_of(["plain", 1, None, {}]) == ()


def test_what_is_empty_has_no_origins() -> None:
    assert origins_of([StoredText("", ["n1"]), StoredObject({}, ["n2"])]) == ()


def test_a_value_that_holds_itself_has_origins() -> None:
    value: list[Any] = [StoredText("a", ["n1"])]
    value.append(value)
    assert origins_of(value) == ("n1",)


def test_copies_keep_the_origins() -> None:
    original = stored(RECORD, ["n1"])
    for copied in (copy_value(original), copy.deepcopy(original), pickle.loads(pickle.dumps(original))):
        assert copied == original
        assert compact(copied) == compact(original)
        assert copied.origins == copied["tags"][1][0].origins == copied["born"].origins == ("n1",)
        assert copied["tags"] is not original["tags"]


@given(values)
def test_a_copy_is_the_same_and_shares_nothing(value: Any) -> None:
    text = compact(value)
    copied = copy_value(value)
    assert compact(copied) == text
    _change(copied)
    assert compact(value) == text


def _change(value: Any) -> None:
    if isinstance(value, (dict, list)):
        for inner in list(value.values()) if isinstance(value, dict) else list(value):
            _change(inner)
        value.clear()


def test_a_copy_is_json() -> None:
    assert copy_value([(1, 2), float("nan"), float("inf")]) == [[1, 2], None, None]


def test_a_copy_can_be_deep() -> None:
    value: Any = []
    for _ in range(50_000):
        value = [value]
    assert len(compact(copy_value(value))) == 100_002


@pytest.mark.parametrize("value", [[object()], {"a": {1: 2}}])
def test_what_has_no_copy_is_refused(value: Any) -> None:
    with pytest.raises(MemoryGraphError):
        copy_value(value)
    cycle: list[Any] = [value]
    cycle[0] = cycle
    with pytest.raises(MemoryGraphError, match="holds itself"):
        copy_value(cycle)
