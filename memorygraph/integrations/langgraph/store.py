"""A store for LangGraph in the graph: items that recall finds, with a history, and a time after which they are gone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import Any, Literal

from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)
from langgraph.store.base.embed import get_text_at_path

from memorygraph.client import MemoryGraph
from memorygraph.memory.items import ItemKey, ItemWrites, StoredItem, shelf_of, text_of_value

FIRST_HITS = 50
"""How many items a search asks for, at least, where the values of some do not fit its filter."""
MAX_HITS = 50_000


class MemoryGraphStore(BaseStore):
    """Keeps the items of LangGraph in a namespace of a graph. Safe to share between threads of Python.

    Each item is a node, `(:Node:Item)`: `mg.recall` finds it, `mg.history` tells what it was, `mg.undo` takes a write
    back, and a bundle has it. The writes of one `batch` are one transaction and one revision, after its reads.

    A search without a `query` has items in the order of their namespaces and keys. One with a `query` has those that
    fit it, best first, with a score: by their words, and with MEMORYGRAPH_EMBEDDING_MODEL by their meaning.
    What counts is each text and number of the value and the key; with `index=["title"]` of `put` only what these paths
    lead to; with `index=False` the item is found without a query only.

    The `ttl` of an item is in minutes; reads renew it, unless `refresh_ttl` is false. An item that has expired is gone
    for every read, whatever `omit_expired` says, and no sweep is needed: `mg.purge_expired()` tells what has gone.

    Example::

        store = MemoryGraphStore(mg, ttl={"default_ttl": 60 * 24 * 30})
        store.put(("users", "42"), "pet", {"text": "has a cat called Ada"})
        store.search(("users",), query="which cat?")[0].value
    """

    supports_ttl = True

    def __init__(self, graph: MemoryGraph, *, ttl: TTLConfig | None = None) -> None:
        """Take the client of the namespace, and how long items live that do not say so themselves."""
        self.graph = graph
        self.items = graph.items
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations: the reads see what was before the writes, and of writes to one key the last counts.

        Raises:
            InvalidNamespaceError: a part of a namespace is empty, no text, or has a period.
            TypeError: a value is not JSON, or an operation is none of a store.
            ConnectionError: the server cannot be reached, or failed.
        """
        all_ops = list(ops)
        writes = ItemWrites()
        for op in all_ops:
            if isinstance(op, PutOp):
                _add_write(writes, op)
            elif not isinstance(op, (GetOp, SearchOp, ListNamespacesOp)):
                raise TypeError(f"no operation of a store: {type(op).__name__}")
        gets = {_address_of(op) for op in all_ops if isinstance(op, GetOp)}
        stored = self.items.get(gets)
        read: list[StoredItem] = []
        results = [self._read(op, stored, read) for op in all_ops]
        self.items.renew(read)
        if writes:
            self.items.write(writes)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch` for asyncio: it runs in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Op, stored: Mapping[ItemKey, StoredItem], read: list[StoredItem]) -> Result:
        """Run an operation that reads, and note the items whose time it renews."""
        if isinstance(op, GetOp):
            item = stored.get(_address_of(op))
            if item is None:
                return None
            read.extend([item] if op.refresh_ttl else [])
            return Item(**_fields_of(item))
        if isinstance(op, SearchOp):
            found = list(self._search(op))
            read.extend(item for item, _ in found if op.refresh_ttl)
            return [SearchItem(**_fields_of(item), score=score) for item, score in found]
        return self._list(op) if isinstance(op, ListNamespacesOp) else None

    def _search(self, op: SearchOp) -> Iterator[tuple[StoredItem, float | None]]:
        prefix, first, limit = _shelf_of(op.namespace_prefix), max(op.offset, 0), max(op.limit, 0)
        if op.query:
            return iter(self._find(op, op.query, prefix, first + limit)[first:])
        if not op.filter:
            return ((item, None) for item in self.items.list_under(prefix, skip=first, limit=limit))
        fitting = (item for item in self.items.list_under(prefix) if _fits(item.value, op.filter))
        return ((item, None) for item in islice(fitting, first, first + limit))

    def _find(self, op: SearchOp, query: str, prefix: str, count: int) -> Sequence[tuple[StoredItem, float]]:
        """Ask for more and more items, until there are as many whose values fit, or no more."""
        asked = count
        while True:
            found = self.items.find(query, prefix, limit=asked)
            fitting = [(item, score) for item, score in found if _fits(item.value, op.filter or {})]
            if len(fitting) >= count or len(found) < asked or asked >= MAX_HITS:
                return fitting[:count]
            asked = min(max(FIRST_HITS, asked * 4), MAX_HITS)

    def _list(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        begins = [condition.path for condition in conditions if condition.match_type == "prefix"]
        for condition in conditions:
            _shelf_of(condition.path)
        literal = tuple(takewhile(lambda part: part != "*", begins[0])) if begins else ()
        shelves = map(_namespace_of, self.items.list_shelves(_shelf_of(literal)))
        found = {
            namespace[: op.max_depth]
            for namespace in shelves
            if all(_matches(condition, namespace) for condition in conditions)
        }
        first = max(op.offset, 0)
        return sorted(found)[first : first + max(op.limit, 0)]


def _shelf_of(namespace: Sequence[str]) -> str:
    for part in namespace:
        if not isinstance(part, str) or not part or "." in part or "\0" in part:
            raise InvalidNamespaceError(
                f"a part of a namespace is a text of at least one character, without periods: {part!r} in {namespace}"
            )
    return shelf_of(namespace)


def _namespace_of(shelf: str) -> tuple[str, ...]:
    return tuple(shelf.split(".")[:-1])


def _address_of(op: GetOp | PutOp) -> ItemKey:
    return ItemKey(_shelf_of(op.namespace), op.key)


def _add_write(writes: ItemWrites, op: PutOp) -> None:
    if op.value is None:
        writes.delete(_address_of(op))
    else:
        writes.put(_address_of(op), op.value, _text_of(op.value, op.index), op.ttl)


def _text_of(value: Mapping[str, Any], index: Literal[False] | list[str] | None) -> str | None:
    """Return what recall looks at, or None where the item is not to be found by it."""
    if index is False:
        return None
    if index is None:
        return text_of_value(value)
    return "\n".join(text for path in index for text in get_text_at_path(value, path))


def _fields_of(item: StoredItem) -> dict[str, Any]:
    return {
        "namespace": _namespace_of(item.address.shelf),
        "key": item.address.key,
        "value": item.value,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in {"*", has} for wanted, has in zip(path, part, strict=True))


def _fits(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a value fits a filter, as LangGraph describes it."""
    return all(_fits_one(value.get(name), condition) for name, condition in wanted.items())


def _fits_one(has: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_compare(has, operator, than) for operator, than in wanted.items())
        return isinstance(has, dict) and _fits(has, wanted)
    if isinstance(wanted, (list, tuple)):
        return (
            isinstance(has, list)
            and len(has) == len(wanted)
            and all(_fits_one(each, than) for each, than in zip(has, wanted, strict=True))
        )
    return bool(has == wanted)


def _compare(has: Any, operator: str, than: Any) -> bool:
    match operator:
        case "$eq":
            return bool(has == than)
        case "$ne":
            return bool(has != than)
        case "$gt" | "$gte" | "$lt" | "$lte":
            try:
                left, right = float(has), float(than)
            except (TypeError, ValueError):  # what is no number is neither more nor less
                return False
            return {"$gt": left > right, "$gte": left >= right, "$lt": left < right, "$lte": left <= right}[operator]
        case _:
            raise ValueError(f"no operator of a filter: `{operator}`; there are $eq, $ne, $gt, $gte, $lt and $lte")
