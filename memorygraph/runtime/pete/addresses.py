"""Addresses: any node of a namespace can be named `memory:N`, whoever declared it.

What PETE makes has an address from the beginning. Any other node gets one when it is first asked for or shown, so that
loading a graph costs nothing for it: a property of each node and its place in an index cost the server a tenth more of
a bare creation. `show` and `MemoryGraph.address` therefore write where a node has none; no other read does. It is no
revision, and no history tells of it. An address is given out under the write lock of the namespace, and never again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from memorygraph.compiler.pete.state import id_of
from memorygraph.graph.namespace import Namespace, NamespaceTransaction, RunQuery
from memorygraph.languages.pete.items import MAX_ADDRESS

_ADDRESS = re.compile(rf"memory:([0-9]{{1,{MAX_ADDRESS}}})")


class AddressedNode(NamedTuple):
    """The node at an address."""

    address: int
    id: str
    name: str
    data: str
    is_context: bool


def parse_address(text: str) -> int | None:
    """Parse `memory:N`; None if it is another text.

    >>> parse_address("memory:42"), parse_address("ada")
    (42, None)
    """
    found = _ADDRESS.fullmatch(text)
    return int(found[1]) if found else None


def find_addressed(run: RunQuery, addresses: Sequence[int]) -> list[AddressedNode]:
    """Find the nodes at those of these addresses that have one."""
    possible = [address for address in addresses if 0 <= address < 10**MAX_ADDRESS]
    rows = run("pete/find-addresses", addresses=possible) if possible else []
    nodes: dict[int, AddressedNode] = {}
    for row in rows:
        nodes.setdefault(
            row["address"],
            AddressedNode(row["address"], row["id"], row["name"] or "", row["data"] or "", row["context"]),
        )
    return list(nodes.values())


def assign_address(namespace: Namespace, identifier: str) -> int | None:
    """Find the address of a node, which gets one if it has none yet; None if there is no such node."""
    rows = namespace.read("pete/addresses-of", ids=[identifier])
    if not rows or rows[0]["address"] is not None:
        return rows[0]["address"] if rows else None

    def assign(transaction: NamespaceTransaction) -> int | None:
        transaction.run("pete/lock-addresses")
        book = AddressBook(transaction)
        found = book.assign([identifier], book.reserve)
        if not found:  # it was deleted meanwhile
            return None
        transaction.run("pete/give-out-addresses", last=book.last_reserved)
        return int(found[0]["address"])

    return namespace.write(assign)


class AddressBook:
    """Gives out addresses within one transaction, which holds the write lock of the namespace.

    Who uses it stores the highest address that was given out, at the end.
    """

    def __init__(self, transaction: NamespaceTransaction) -> None:
        self._run = transaction.run

    @cached_property
    def last_reserved(self) -> int:
        """The highest address that was given out or reserved."""
        rows = self._run("pete/last-address")
        return int(rows[0]["last"]) if rows else 0

    def reserve(self, count: int) -> list[int]:
        """Find addresses that nothing has, not even a node that another language gave such an id."""
        free: list[int] = []
        while len(free) < count:
            batch = range(self.last_reserved + 1, self.last_reserved + 1 + count - len(free))
            rows = self._run("pete/taken-ids", ids=[id_of(number) for number in batch])
            taken = {row["id"] for row in rows}
            free += [number for number in batch if id_of(number) not in taken]
            self.last_reserved = batch[-1]
        return free

    def assign(self, ids: Sequence[str], take: Callable[[int], Sequence[int]]) -> list[dict[str, Any]]:
        """Give each of these nodes an address unless it has one, and return their ids, names and addresses.

        `take` returns a number of addresses that were reserved.
        """
        found = self._run("pete/addresses-of", ids=list(ids)) if ids else []
        missing = [row for row in found if row["address"] is None]
        for row, address in zip(missing, take(len(missing)), strict=True):
            row["address"] = address
        if missing:
            self._run("pete/assign-addresses", rows=[{"id": row["id"], "address": row["address"]} for row in missing])
        return found
