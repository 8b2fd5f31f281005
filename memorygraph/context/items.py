"""The items of a prompt's context: the value of each source, and how much of it was taken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from memorygraph.budget import Budget
from memorygraph.context.clipping import Strategy, clip
from memorygraph.context.labels import one_line
from memorygraph.context.origins import origins_of


@dataclass(frozen=True)
class ContextSource:
    """A value for a prompt, with its label and its budget."""

    label: str
    value: Any
    budget: Budget | None = None


@dataclass(frozen=True)
class ContextItem:
    """One item of a context, after clipping. `origins` are the nodes of the graph that its value is from."""

    index: int
    source: str
    value: Any
    text: str
    budget: Budget | None
    clipped: bool
    original_size: int
    clipped_size: int
    strategy: Strategy
    origins: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the item as a trace shows it."""
        return {
            "index": self.index,
            "source": self.source,
            "value": self.value,
            "text": self.text,
            "budget": None if self.budget is None else self.budget.as_dict(),
            "clipped": self.clipped,
            "originalSize": self.original_size,
            "clippedSize": self.clipped_size,
            "strategy": self.strategy,
            "origins": list(self.origins),
        }


@dataclass(frozen=True)
class Unused:
    """A declared source that is not in the prompt, and the reason."""

    label: str
    budget: Budget | None
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """Return the source as a trace shows it."""
        return {
            "source": self.label,
            "budget": None if self.budget is None else self.budget.as_dict(),
            "reason": self.reason,
        }


def build_items(sources: Iterable[ContextSource]) -> tuple[ContextItem, ...]:
    """Build the items of a context, each within its budget, numbered from 0.

    >>> item = build_items([ContextSource("question", "What is it?", Budget.parse("4"))])[0]
    >>> item.text, item.original_size, item.strategy
    ('What', 11, 'chars')

    Raises:
        MemoryGraphError: a value cannot be rendered.
    """
    items = []
    for index, source in enumerate(sources):
        clipped = clip(source.value, source.budget)
        items.append(
            ContextItem(
                index=index,
                source=one_line(source.label),
                value=clipped.value,
                text=clipped.text,
                budget=source.budget,
                clipped=clipped.clipped,
                original_size=clipped.original_size,
                clipped_size=clipped.clipped_size,
                strategy=clipped.strategy,
                origins=origins_of(clipped.value),
            )
        )
    return tuple(items)
