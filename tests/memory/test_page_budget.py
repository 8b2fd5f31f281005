"""The budget of a page: counted late, it takes what it would take if each part was counted at once."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memorygraph.memory.pages import PageBudget, as_json, as_part, count_part, max_part_bytes, search_terms

_TEXTS = st.one_of(st.text(max_size=40), st.sampled_from(["tea", "word " * 9, "ä€😀\x85" * 4, "{}[]()\n\t\\"]))
_RELATIONS = st.fixed_dictionaries({"from": _TEXTS, "to": _TEXTS, "relationType": _TEXTS})
_ENTITIES = st.fixed_dictionaries({"name": _TEXTS, "entityType": _TEXTS, "observations": st.lists(_TEXTS, max_size=5)})
_VALUES = st.one_of(_TEXTS, _RELATIONS, _ENTITIES)


@given(_VALUES, st.sampled_from([4, 8]))
def test_a_part_of_a_page_has_no_more_bytes_than_it_is_taken_for(value: Any, indent: int) -> None:
    assert len(as_part(value, indent).encode("utf-8", "replace")) + 2 <= max_part_bytes(value, indent)


@settings(deadline=None)
@given(st.lists(_VALUES, max_size=30), st.integers(0, 1000))
def test_a_budget_takes_as_much_as_if_each_part_was_counted_at_once(values: list[Any], tokens: int) -> None:
    budget = PageBudget(tokens)
    left = tokens
    for value in values:
        cost = count_part(value, 4)
        assert budget.take(value, 4) == (cost <= left)
        left -= cost if cost <= left else 0
    assert budget.left == left


def test_a_budget_of_none_takes_everything() -> None:
    assert PageBudget(None).take("a" * 10_000, 4)


def test_no_text_breaks_a_line_of_json() -> None:
    assert as_json({"a": "1\n2\u2028"}) == '{\n  "a": "1\\n2\\u2028"\n}'


def test_a_word_may_begin_or_end_outside_of_a_text() -> None:
    assert search_terms("mine tea le") == ["*mine", '"tea"', "le*"]
