"""Counts and reports as people read them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


class Sentence(ABC):
    """A report that is a sentence where it is printed, and where a cell of a notebook ends with it.

    `repr` gives all of its fields.
    """

    @abstractmethod
    def __str__(self) -> str: ...

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # noqa: ARG002
        # Not `_repr_pretty_`: before that IPython takes the `__repr__` that a dataclass has of itself.
        return {"text/plain": str(self)}


def count_of(count: int, noun: str) -> str:
    """A number of things.

    >>> count_of(1, "node"), count_of(2000, "node")
    ('1 node', '2000 nodes')
    """
    return f"{count} {noun}{'s' * (count != 1)}"


def list_some(names: Sequence[str], most: int) -> str:
    """The first of some names, and how many there are beside them.

    >>> list_some(["Ada", "Bob", "Carol"], 3), list_some(["Ada", "Bob", "Carol"], 1)
    ('Ada, Bob, Carol', 'Ada and 2 more')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def ask_meant(names: Iterable[str]) -> str:
    """The end of a sentence that says that nothing was found: what may have been meant.

    >>> ask_meant(["Neil Armstrong"]), ask_meant([])
    ('; did you mean Neil Armstrong?', '')
    """
    meant = " or ".join(dict.fromkeys(names))
    return f"; did you mean {meant}?" if meant else ""


def counted(counts: Mapping[str, Any]) -> str:
    """The counts of a load that are not zero.

    >>> counted({f"{kind}_{how}": 0 for kind in ("nodes", "edges") for how in ("created", "updated", "deleted")})
    'nothing changed'
    """
    named = [
        f"{count_of(count, kind)} {how}"
        for how in ("created", "updated", "deleted")
        for kind in ("node", "edge")
        if (count := counts[f"{kind}s_{how}"])
    ]
    return ", ".join(named) or "nothing changed"


def list_counts(counts: Mapping[str, int]) -> str:
    """How much of each kind.

    >>> list_counts({"messages": 2, "versions": 1})
    '2 messages, 1 versions'
    """
    return ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "nothing"
