"""Budgets: how much of a value may come into a prompt, and how much a model may write."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from memorygraph.errors import MemoryGraphError

_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)([A-Za-z]*)")
SUFFIXES = {"": 1, "k": 1000, "t": 1, "kt": 1000}
"""What may follow the digits of a budget, and by how much each multiplies them."""
COUNT_LIMIT = 10**15  # a budget is below it; a double holds every whole number up to it
UNITS = "characters: 800 or 2k; tokens: 500t or 2kt"


@dataclass(frozen=True)
class Budget:
    """A budget as it is written: characters (`800`, `2k`) or tokens (`500t`, `2kt`).

    >>> Budget.parse("1.5k").limit, Budget.parse("2kt").limit, Budget.parse("2kt").in_tokens
    (1500, 2000, True)

    Source: specs/agentscript.md, section 6; other suffixes, and budgets below one, are refused (section 8).
    """

    amount: Decimal
    unit: str = ""

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read a budget that leaves room for something."""
        match = _AMOUNT.fullmatch(text.strip())
        if match is None:
            raise MemoryGraphError(f"`{text}` is no budget; {UNITS}")
        if match[2] not in SUFFIXES:
            raise MemoryGraphError(f"a budget has no unit `{match[2]}`; {UNITS}")
        budget = cls(Decimal(match[1]), match[2])
        if budget.limit >= COUNT_LIMIT:
            raise MemoryGraphError(f"this budget is too large; it is below {COUNT_LIMIT:,}")
        if budget.limit < 1:
            raise MemoryGraphError(f"the budget `{text}` leaves room for nothing; it is at least 1")
        return budget

    @classmethod
    def of(cls, given: str | Budget) -> Budget:
        """Take a budget as it is, or read it as it is written.

        Raises:
            TypeError: it is neither.
            MemoryGraphError: it is written wrongly.
        """
        if isinstance(given, cls):
            return given
        if not isinstance(given, str):
            raise TypeError(f"a budget is a text such as '2k', and this is {given!r}; {UNITS}")
        return cls.parse(given)

    @property
    def limit(self) -> int:
        """How many characters or tokens it allows."""
        return int(self.amount * SUFFIXES[self.unit])

    @property
    def in_tokens(self) -> bool:
        """Whether it counts tokens, and not characters."""
        return self.unit.endswith("t")

    def as_dict(self) -> dict[str, int | float | str | None]:
        """The budget as a trace shows it: its amount, and its unit or None."""
        whole = self.amount == self.amount.to_integral_value()
        return {"amount": int(self.amount) if whole else float(self.amount), "unit": self.unit or None}

    def __str__(self) -> str:
        return f"{self.amount}{self.unit}"
