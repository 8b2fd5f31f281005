"""Texts of nodes and messages as the numbered items of a prompt, as many as a budget has room for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

from memorygraph.budget import Budget
from memorygraph.context.origins import StoredText
from memorygraph.context.prompt import ContextItem, ContextSource, build_items
from memorygraph.context.tokens import count_tokens


class PromptText(NamedTuple):
    """A text for a prompt, with its label and the id of its node or message."""

    id: str
    label: str
    text: str

    def source(self, budget: Budget | None = None) -> ContextSource:
        """The text as a source of a context."""
        return ContextSource(self.label, StoredText(self.text, [self.id]), budget)


def fit_texts(texts: Iterable[PromptText], budget: Budget | None) -> tuple[ContextItem, ...]:
    """The items of a context within a budget, labels included: the first ones whole, and only the last clipped."""
    items: list[ContextItem] = []
    left = 0 if budget is None else budget.limit
    for text in texts:
        [item] = number_items([text.source()], len(items))
        if budget is not None:
            left -= count_units(("\n" if items else "") + render_items([item]), budget)
            if left < 0:
                room = left + count_units(item.text, budget)
                if room > 0:
                    clipped = text.source(Budget(Decimal(room), "t" if budget.in_tokens else ""))
                    items += number_items([clipped], len(items))
                break
        items.append(item)
    # Tokens are counted part by part, and the whole can be one more than its parts.
    while budget is not None and items and count_units(render_items(items), budget) > budget.limit:
        items.pop()
    return tuple(items)


def render_items(items: Iterable[ContextItem]) -> str:
    """The items under their labels, as a prompt shows them."""
    return "\n".join(f"[{item.index}] {item.source}:\n{item.text}" for item in items)


def number_items(sources: Iterable[ContextSource], start: int) -> tuple[ContextItem, ...]:
    """Items of a prompt, numbered from `start`."""
    return tuple(replace(item, index=start + item.index) for item in build_items(sources))


def count_units(text: str, budget: Budget) -> int:
    """The length of a text in the unit of a budget: tokens or characters."""
    return count_tokens(text) if budget.in_tokens else len(text)
