"""Aliases: what merged entities were called, and what hangs on the nodes that they were merged into.

`cypher/queries/merges.cypher` says how they are stored. An alias counts only where no node has that id or name itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from memorygraph.errors import ConflictError
from memorygraph.graph.elements import Node
from memorygraph.graph.namespace import Namespace, NamespaceTransaction, RunQuery

_BY_NAME = 2  # the rank of what has a text as its name
MAX_NAMED_IDS = 10
MERGED_KEY = "merged"
"""Under this the record of a load has the ids of what it merged."""


class NamedEntity(NamedTuple):
    """The node that a text names: by its id, by its name, or as an alias."""

    text: str
    id: str
    name: str
    data: str
    kind: str | None
    other_than_entity: str | None  # what it is, if it is no entity

    @property
    def label(self) -> str:
        """What the entity is called: its name, or its id where it has none."""
        return self.name or self.id


def find_named(run: RunQuery, names: Iterable[str]) -> dict[str, NamedEntity]:
    """Find the node that each text names; ids come before names, and names before aliases.

    Raises:
        ConflictError: several nodes have the name, and none has it as an id.
    """
    found: dict[str, tuple[int, NamedEntity]] = {}
    shared: dict[str, list[str]] = {}
    wanted = list(dict.fromkeys(filter(None, names)))
    for row in run("merges/find-named", names=wanted) if wanted else ():
        text, rank = row["text"], row["rank"]
        if text not in found:
            entity = NamedEntity(text, row["id"], row["name"], row["data"], row["kind"], row["other_than_entity"])
            found[text] = rank, entity
        if rank == found[text][0] == _BY_NAME:
            shared.setdefault(text, []).append(row["id"])
    for text, ids in shared.items():
        if len(ids) > 1:
            listed = ", ".join(f"`{identifier}`" for identifier in ids[:MAX_NAMED_IDS])
            raise ConflictError(f"{len(ids)} nodes are called {text}: {listed}; give the id of the one")
    return {text: entity for text, (_, entity) in found.items()}


def find_merged(namespace: Namespace, identifier: str) -> Node | None:
    """Find the node that the one with this id was merged into."""
    for row in namespace.read("merges/find-merged", id=identifier):
        return Node(**row)
    return None


class MergeLinks(NamedTuple):
    """The nodes that a revision merged, each with the one that it was merged into; the entity comes first.

    The others are observations of it that the other entity has too.
    """

    pairs: Sequence[tuple[str, str]]

    @classmethod
    def parse(cls, ids: Sequence[str] | None) -> MergeLinks | None:
        """Read the pairs that the record of a load has in one list; None if it has none."""
        return cls(list(zip(ids[::2], ids[1::2], strict=True))) if ids else None

    @property
    def ids(self) -> list[str]:
        """The pairs in one list, as the record of a load has them."""
        return [identifier for pair in self.pairs for identifier in pair]

    @property
    def into(self) -> str:
        """The entity that the other was merged into."""
        return self.pairs[0][1]

    def link(self, transaction: NamespaceTransaction) -> Mapping[str, int]:
        """Let what hung on the merged nodes hang on the others; returns how many messages, mentions and aliases."""
        pairs = [list(pair) for pair in self.pairs]
        [linked] = transaction.run("merges/link", namespace_token=transaction.namespace.token, pairs=pairs)
        return linked

    def unlink(self, transaction: NamespaceTransaction, revision: int) -> None:
        """Take back what `link` did in a revision."""
        transaction.run("merges/unlink", revision=revision, into=self.into)
