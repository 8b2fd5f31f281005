"""The budget of a page: counted late, it takes what it would take if each part was counted at once."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memorygraph.memory.reading import _Budget, _cost

_VALUES = st.one_of(st.text(max_size=40), st.sampled_from(["tea", "word " * 9, "ä€😀" * 4, "{}[]()\n\t\\"]))


@settings(deadline=None)
@given(st.lists(_VALUES, max_size=30), st.integers(0, 300))
def test_a_budget_takes_as_much_as_if_each_part_was_counted_at_once(values: list[str], tokens: int) -> None:
    budget = _Budget(tokens)
    left = tokens
    for value in values:
        cost = _cost(value, 4)
        assert budget.takes(value, 4) == (cost <= left)
        left -= cost if cost <= left else 0
    assert budget.left == left


def test_a_budget_of_none_takes_everything() -> None:
    assert _Budget(None).takes("a" * 10_000, 4)
