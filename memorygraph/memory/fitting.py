"""Fits what was recalled into a budget: the best first, each whole under its label, and only the last one clipped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

from memorygraph.budget import Budget
from memorygraph.context.items import ContextItem, ContextSource, build_items
from memorygraph.context.origins import StoredText
from memorygraph.context.tokens import count_tokens


class Found(NamedTuple):
    """What shall come into a prompt: the id of its node or message, its label, and what it says."""

    id: str
    label: str
    text: str


def fit(found: Iterable[Found], budget: Budget | None) -> tuple[ContextItem, ...]:
    """The items of a context: all of what is shown, labels too, is within the budget.

    >>> items = fit([Found("a", "node a", "one two"), Found("b", "node b", "three")], Budget.parse("35"))
    >>> print(shown(items))
    [0] node a:
    one two
    [1] node b:
    thr
    """
    items: list[ContextItem] = []
    left = None if budget is None else budget.limit
    for one in found:
        item = _item(one, len(items), None)
        if budget is not None and left is not None:
            left -= _size(_after(items, item), budget)
            if left < 0:
                items += _clipped(one, len(items), left + _size(item.text, budget), budget)
                break
        items.append(item)
    # Tokens are counted part by part, and the whole can be one more than its parts.
    while budget is not None and items and _size(shown(items), budget) > budget.limit:
        items.pop()
    return tuple(items)


def shown(items: Iterable[ContextItem]) -> str:
    """The items under their labels, as a prompt shows them."""
    return "\n".join(map(_shown, items))


def _shown(item: ContextItem) -> str:
    return f"[{item.index}] {item.source}:\n{item.text}"


def _after(items: list[ContextItem], item: ContextItem) -> str:
    return ("\n" if items else "") + _shown(item)


def _item(one: Found, index: int, budget: Budget | None) -> ContextItem:
    [item] = build_items([ContextSource(one.label, StoredText(one.text, [one.id]), budget)])
    return replace(item, index=index)


def _clipped(one: Found, index: int, room: int, budget: Budget) -> list[ContextItem]:
    """The item in the room that is left for its text, where there is any."""
    return [_item(one, index, Budget(Decimal(room), "t" if budget.in_tokens else ""))] if room > 0 else []


def _size(text: str, budget: Budget) -> int:
    return count_tokens(text) if budget.in_tokens else len(text)
