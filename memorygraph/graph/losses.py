"""What an export could not say: counted, and the first of each kind named."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MAX_EXAMPLES = 20


@dataclass
class Losses:
    r"""What an export left out, by what is lost; it takes the same memory however much that is.

    >>> left_out = Losses()
    >>> left_out.add("the type of entities", "ada")
    >>> left_out.add("conversations", count=2)
    >>> print(*left_out.lines(), sep="\n")
    the type of entities: 1 (`ada`)
    conversations: 2
    """

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.counts)

    def clear(self) -> None:
        """Forget everything: the export begins again."""
        self.counts.clear()
        self.examples.clear()

    def add(self, what: str, example: str | None = None, *, count: int = 1) -> None:
        """Count something that is lost; the first `MAX_EXAMPLES` are kept."""
        if count:
            self.counts[what] = self.counts.get(what, 0) + count
            examples = self.examples.setdefault(what, [])
            if example is not None and len(examples) < MAX_EXAMPLES:
                examples.append(example)

    def add_counted(self, what: str, count: int, examples: list[str]) -> None:
        """Add something that was counted before, with the first of it."""
        self.add(what, count=count)
        if count:
            self.examples[what] = examples

    def lines(self) -> list[str]:
        """A line for each kind of loss: how many, and the first of them."""
        lines = []
        for what, count in self.counts.items():
            examples = self.examples[what]
            more = ", …" if examples and len(examples) < count else ""
            lines.append(
                f"{what}: {count}" + (f" ({', '.join(f'`{each}`' for each in examples)}{more})" if examples else "")
            )
        return lines

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {what: {"count": count, "examples": self.examples[what]} for what, count in self.counts.items()}
