"""Clipping: the vectors of the specification, and what holds for every value and budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorygraph.budget import Budget
from memorygraph.context.clipping import clip
from memorygraph.context.labels import protect
from memorygraph.context.origins import StoredObject, StoredText
from memorygraph.context.rendering import fields_of, render
from memorygraph.context.tokens import count_tokens
from memorygraph.errors import MemoryGraphError
from tests.context.values import texts, values

LONG = "x" * 50

# specs/agentscript.md, section 6: value, budget, text, sizes before and after, strategy.
VECTORS: list[tuple[Any, str, str, int, int, str]] = [
    ("abcdefghijklmnopqrstuvwxyz", "5", "abcde", 26, 5, "chars"),
    ("abcde", "5", "abcde", 5, 5, "none"),
    ("abcde", "1.9", "a", 5, 1, "chars"),
    ("x" * 1100, "1.0015k", "x" * 1001, 1100, 1001, "chars"),
    (["alpha", "beta", "gamma"], "25", '[\n  "alpha",\n  "beta"\n]', 34, 23, "items"),
    ({"first": "alpha", "second": "beta"}, "25", '{\n  "first": "alpha"\n}', 42, 22, "fields"),
    ([LONG, "a"], "25", "[]", 65, 2, "items"),
    ({"big": LONG, "s": 1}, "30", "{}", 75, 2, "fields"),
    ({"b": 1, "2": 2, "1": 3}, "14", '{\n  "1": 3\n}', 32, 12, "fields"),
    (123456789, "3", "123456789", 9, 9, "none"),
    # The declared deviation: code points, and never half of one.
    ("a😀b", "2", "a😀", 3, 2, "chars"),
    # Its consequences.
    (True, "1", "true", 4, 4, "none"),
    (None, "1", "null", 4, 4, "none"),
    (-1.5, "1", "-1.5", 4, 4, "none"),
    ([1], "1", "[]", 7, 2, "items"),
    ([], "1", "[]", 2, 2, "none"),
    ({}, "1", "{}", 2, 2, "none"),
    ("", "1", "", 0, 0, "none"),
    ([[LONG]], "40", "[]", 68, 2, "items"),
    (["alpha", "beta"], "23", '[\n  "alpha",\n  "beta"\n]', 23, 23, "none"),
    (["alpha", "beta"], "22", '[\n  "alpha"\n]', 23, 13, "items"),
    (["alpha", "beta"], "12", "[]", 23, 2, "items"),
    (["a", LONG, "b"], "12", '[\n  "a"\n]', 72, 9, "items"),
    # What protects a text counts too.
    ("[0] a:", "7", "\\[0] a:", 7, 7, "none"),
    ("[0] a:", "6", "[0] a", 7, 5, "chars"),
    ("[0] a:bc", "7", "\\[0] a:", 9, 7, "chars"),
    ("[0] a:\n[1] b:", "9", "\\[0] a:\n[", 15, 9, "chars"),
    ("Context:\nx", "8", "Context", 11, 7, "chars"),
    # Tokens.
    ("one two three", "2t", "one two", 3, 2, "chars"),
    ("one two three", "3t", "one two three", 3, 3, "none"),
    ("one two three", "2kt", "one two three", 3, 3, "none"),
    (["one", "two", "three"], "10t", '[\n  "one",\n  "two"\n]', 14, 10, "items"),
    ([LONG], "1t", "[]", 12, 1, "items"),
    (123456789, "1t", "123456789", 3, 3, "none"),
]


@pytest.mark.parametrize(("value", "budget", "text", "original", "size", "strategy"), VECTORS)
def test_the_specified_vectors(value: Any, budget: str, text: str, original: int, size: int, strategy: str) -> None:
    clipped = clip(value, Budget.parse(budget))
    assert (clipped.text, clipped.original_size, clipped.clipped_size) == (text, original, size)
    assert (clipped.strategy, clipped.clipped) == (strategy, strategy != "none")
    assert protect(render(clipped.value)) == text
    if not clipped.clipped:
        assert clipped.value is value


def test_without_a_budget_all_of_it_comes_in() -> None:
    clipped = clip(["a"] * 1000)
    assert (clipped.value, clipped.clipped, clipped.original_size) == (["a"] * 1000, False, 7002)


def test_the_items_that_are_kept_are_the_same_ones() -> None:
    items = [{"n": 1}, {"n": 2}]
    kept = clip(items, Budget.parse("25")).value
    assert kept == [{"n": 1}]
    assert kept[0] is items[0]
    assert clip({"a": items, "b": LONG}, Budget.parse("90")).value["a"] is items


def test_what_is_kept_of_a_stored_value_remembers_its_nodes() -> None:
    text = clip(StoredText("abcdef", ["n1"]), Budget.parse("3")).value
    assert (text, type(text), text.origins) == ("abc", StoredText, ("n1",))
    fields = clip(StoredObject({"a": 1, "b": LONG}, ["n2"]), Budget.parse("20")).value
    assert (fields, type(fields), fields.origins) == ({"a": 1}, StoredObject, ("n2",))


budgets = st.integers(1, 60)


def _make(limit: int, unit: str) -> Budget:
    return Budget.parse(f"{limit}{unit}")


@given(values, budgets, st.sampled_from(["", "t"]))
def test_what_is_clipped_fits(value: Any, limit: int, unit: str) -> None:
    measure: Callable[[str], int] = count_tokens if unit else len
    clipped = clip(value, _make(limit, unit))
    assert clipped.text == protect(render(clipped.value))
    assert clipped.original_size == measure(protect(render(value)))
    assert clipped.clipped_size == measure(clipped.text)
    never_clipped = not isinstance(value, (str, list, dict))
    assert clipped.clipped_size <= limit or never_clipped or clipped.value in ([], {})
    assert clipped.clipped == (clipped.original_size > limit and not never_clipped and value not in ([], {}))


@given(values, budgets, st.sampled_from(["", "t"]))
def test_what_is_clipped_twice_is_clipped_once(value: Any, limit: int, unit: str) -> None:
    once = clip(value, _make(limit, unit))
    twice = clip(once.value, _make(limit, unit))
    assert (twice.text, twice.clipped_size) == (once.text, once.clipped_size)
    assert not twice.clipped


@given(values, budgets)
def test_what_is_clipped_is_the_longest_beginning(value: Any, limit: int) -> None:
    kept = clip(value, _make(limit, "")).value
    if isinstance(value, str):
        longest = max(n for n in range(len(value) + 1) if len(protect(value[:n])) <= limit)
        assert kept == value[:longest]
    elif isinstance(value, list):
        fitting = [n for n in range(len(value) + 1) if n == 0 or len(render(value[:n])) <= limit]
        assert render(kept) == render(value[: max(fitting)])
    elif isinstance(value, dict):
        fields = fields_of(value)
        fitting = [n for n in range(len(fields) + 1) if n == 0 or len(render(dict(fields[:n]))) <= limit]
        assert render(kept) == render(dict(fields[: max(fitting)]))


@given(texts, budgets)
def test_a_text_in_tokens_is_cut_to_a_beginning(value: str, limit: int) -> None:
    kept = clip(value, _make(limit, "t")).value
    assert value.startswith(kept)
    assert kept or not value or limit < 12


@given(st.lists(st.text("ab \n[", max_size=8), max_size=12), budgets)
def test_a_list_in_tokens_keeps_as_many_items_as_fit(value: list[str], limit: int) -> None:
    kept = clip(value, _make(limit, "t")).value
    fitting = [n for n in range(len(value) + 1) if n == 0 or count_tokens(render(value[:n])) <= limit]
    assert kept == value[: max(fitting)]


@pytest.mark.parametrize("value", [object(), [object()], {"a": {1: 2}}])
def test_what_cannot_be_rendered_is_refused(value: Any) -> None:
    with pytest.raises(MemoryGraphError):
        clip(value, Budget.parse("5"))


def test_a_value_that_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(MemoryGraphError, match="holds itself"):
        clip(value)
