"""Clips a value to a budget: a text by its characters, a list by whole items, an object by whole fields.

Only the value itself is clipped, nothing inside it, and numbers, booleans and None never are. A list or an object
whose first part is too long becomes empty. Source: specs/agentscript.md, section 6; characters are code points.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, Literal, Self

from memorygraph.budget import Budget
from memorygraph.context.labels import protect
from memorygraph.context.origins import StoredObject, StoredText
from memorygraph.context.rendering import fields_of, indented, quoted
from memorygraph.context.tokens import count_tokens, cut_tokens

Strategy = Literal["none", "chars", "items", "fields", "fold"]


@dataclass(frozen=True)
class Clipped:
    """A value after clipping, its text in the prompt, and its sizes in the unit of the budget."""

    value: Any
    text: str
    clipped: bool
    original_size: int
    clipped_size: int
    strategy: Strategy = "none"  # the unit by which it was clipped, unless all of it fits


def clip(value: Any, budget: Budget | None = None) -> Clipped:
    """Clip a value to the longest beginning that fits a budget.

    The size of a text is that in the prompt, where it is protected from being read as a label.

    >>> clip(["alpha", "beta", "gamma"], Budget.parse("25")).value
    ['alpha', 'beta']
    >>> clip("one two three", Budget.parse("2t"))
    Clipped(value='one two', text='one two', clipped=True, original_size=3, clipped_size=2, strategy='chars')
    """
    measure = count_tokens if budget is not None and budget.in_tokens else len
    parts = Parts.of(value)
    text = protect(value) if isinstance(value, str) else parts.text(len(parts.texts)) if parts else indented(value)
    size = measure(text)
    whole = Clipped(value, text, clipped=False, original_size=size, clipped_size=size)
    if budget is None or size <= budget.limit:
        return whole
    strategy: Strategy = "chars"
    if isinstance(value, str):
        kept = fit_tokens(value, text, budget.limit) if budget.in_tokens else fit_characters(value, budget.limit)
        shorter: Any = StoredText(value[:kept], value.origins) if isinstance(value, StoredText) else value[:kept]
        text = protect(value[:kept])
    elif parts and parts.texts:
        kept = parts.fit(budget)
        shorter, text, strategy = parts.first(kept), parts.text(kept), parts.strategy
    else:
        return whole
    return Clipped(shorter, text, clipped=True, original_size=size, clipped_size=measure(text), strategy=strategy)


def fit_characters(value: str, limit: int) -> int:
    """Return how many characters of a text fit, with the backslashes that protect it."""
    kept = min(limit, len(value))
    excess = len(protect(value[:kept])) - limit
    if excess <= 0:
        return kept
    # Each character fewer makes the protected text shorter, by one or more.
    lengths = range(max(0, kept - excess), kept)
    return lengths.start + bisect_right(lengths, limit, key=lambda length: len(protect(value[:length]))) - 1


def fit_tokens(value: str, protected: str, limit: int) -> int:
    """Return how many characters of a text fit, when the budget counts tokens."""
    for tokens in range(limit, 0, -1):
        kept = fit_characters(value, len(cut_tokens(protected, tokens)))
        if count_tokens(protect(value[:kept])) <= limit:
            return kept
    return 0


@dataclass(frozen=True)
class Parts:
    """The rendered items or fields of a value, and the function that returns the value of its first `count` parts."""

    brackets: str
    texts: list[str]
    first: Callable[[int], Any]
    strategy: Strategy

    @classmethod
    def of(cls, value: Any) -> Self | None:
        """The parts of a list or an object; None for a value without parts."""
        if isinstance(value, Mapping):
            fields = fields_of(value)
            empty = partial(StoredObject, origins=value.origins) if isinstance(value, StoredObject) else dict
            texts = [f"{quoted(key)}: {indented(inner, 1)}" for key, inner in fields]
            return cls("{}", texts, lambda count: empty(fields[:count]), "fields")
        if isinstance(value, (list, tuple)):
            return cls("[]", [indented(inner, 1) for inner in value], lambda count: list(value[:count]), "items")
        return None

    def text(self, count: int) -> str:
        """Render the first `count` parts."""
        inner = ",\n".join([f"  {text}" for text in self.texts[:count]])
        return f"{self.brackets[0]}\n{inner}\n{self.brackets[1]}" if count else self.brackets

    def fit(self, budget: Budget) -> int:
        """Return how many parts fit; not all of them do."""
        if budget.in_tokens:
            # More parts are never fewer tokens.
            counts = range(1, len(self.texts))
            return bisect_right(counts, budget.limit, key=lambda count: count_tokens(self.text(count)))
        # Each part takes four characters more than its text, and the brackets take two.
        return bisect_right(list(accumulate(len(text) + 4 for text in self.texts)), budget.limit - 2)
