"""What the database knows about the ids that a program mentions: the compiler's view of the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Stored:
    """The stored elements among the ids of one program, read under the namespace's lock.

    `names` maps names in lower case to a node that carries them, as its id and its name as it is stored. It is
    only asked for when an id is unknown, to suggest the right one.

    >>> Stored(nodes=frozenset({"ada"})).nodes
    frozenset({'ada'})
    """

    nodes: frozenset[str] = frozenset()
    edges: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)
