"""Items: JSON values by namespaces and keys, as the stores of agent frameworks have them, each a node of the graph.

So recall finds them, changes of them have a history and can be undone, and they expire as nodes do. What namespaces and
keys may be is the caller's: here a namespace is a shelf, a text with a dot behind each of its parts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memorygraph.compiler import Stored
from memorygraph.errors import ConflictError, MemoryGraphError
from memorygraph.graph.expiry import LEAD_MILLISECONDS, MAX_MILLISECONDS, MAX_YEARS, ExpiryGate
from memorygraph.graph.loads import Loader, LoadReport, WriteResult
from memorygraph.graph.namespace import Namespace, NamespaceTransaction, end_of_prefix, pages_of
from memorygraph.graph.search import NODE_FIELDS
from memorygraph.graph.sizes import refuse_texts
from memorygraph.graph.writes import run_counted
from memorygraph.json_text import (
    HALF_CHARACTER,
    MAX_JSON_DEPTH,
    UnreadableRecord,
    check_keys,
    nests_deeper,
    parse_stored_json,
)
from memorygraph.memory.recall import DEPTH, RANK_CONSTANT, read_rows
from memorygraph.memory.vectors import Embedder, configured_embedder, embed_missing, vector_parameters
from memorygraph.memory.words import words_of, words_query
from memorygraph.memory.writes import hashed_id
from memorygraph.query import Query
from memorygraph.word_parts import parts_of_properties

KIND = "StoreItem"
"""The `kind` of an item, by which a recall can be limited to items."""
LANGUAGE = "items"
MAX_ADDRESS = 2000
"""Bytes of a shelf, and of a key: the index takes no more."""
PAGE = 1000
MINUTE = 60_000  # milliseconds


def shelf_of(parts: Iterable[str]) -> str:
    """The shelf of these parts, of which none has a dot.

    >>> shelf_of(["users", "ada"])
    'users.ada.'
    """
    return "".join(f"{part}." for part in parts)


def text_of_value(value: Mapping[str, Any]) -> str:
    """What recall looks at of a value, where nobody says what: every text, number and truth in it with its field.

    >>> text_of_value({"likes": ["tea", "soup"], "age": 36}).splitlines()
    ['likes: tea', 'likes: soup', 'age: 36']

    Raises:
        ValueError: the value nests too deep.
    """
    refuse_deep(value)
    return "\n".join(f"{name}: {text}" for name, inner in value.items() for text in _leaves(inner))


def refuse_deep(value: Mapping[str, Any]) -> None:
    """Refuse a value that no JSON text holds: one that nests too deep, or holds itself.

    Raises:
        ValueError: it does.
    """
    if nests_deeper(value):
        raise ValueError(f"the value of an item nests at most {MAX_JSON_DEPTH} levels deep, and this nests deeper")


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _leaves(inner)
    elif value is not None:
        yield str(value)


@dataclass(frozen=True)
class ItemKey:
    """The address of an item."""

    shelf: str
    key: str

    @property
    def id(self) -> str:
        """The id of its node."""
        return hashed_id("item", self.shelf, self.key)

    def check(self) -> None:
        """Refuse an address that is too long.

        Raises:
            MemoryGraphError: it is.
        """
        for what, text in (("namespace", self.shelf), ("key", self.key)):
            if (size := len(text.encode())) > MAX_ADDRESS:
                raise MemoryGraphError(f"the {what} of an item has at most {MAX_ADDRESS} bytes, and this has {size}")


@dataclass(frozen=True)
class StoredItem:
    """An item as it is stored. `ttl` is in minutes, None for an item that never expires."""

    id: str
    address: ItemKey
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    ttl: float | None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> StoredItem:
        """Take an item from the row of a query.

        Raises:
            UnreadableRecord: it was altered, and is none any more.
        """
        item = row["item"]
        address = ItemKey(item["shelf"], item["key"])
        try:
            times = {name: item[name].to_native() for name in ("created_at", "updated_at")}
            value = parse_stored_json(item["value"])
        except (AttributeError, UnreadableRecord) as error:
            told = f"the item {address.key!r} in {address.shelf!r} was altered in the database, and cannot be read"
            raise UnreadableRecord(f"{told}; delete its node `{item['id']}`, or store it again") from error
        return cls(item["id"], address, value, ttl=item["ttl"], **times)


@dataclass
class ItemWrites:
    """Writes of one transaction: of several to one address only the last counts."""

    puts: dict[ItemKey, dict[str, Any]] = field(default_factory=dict)
    deletions: set[ItemKey] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.puts or self.deletions)

    def texts(self, name: str) -> list[str]:
        """What is stored of each value: as `value` itself, and as `data` the text by which it is found."""
        return [row["set"][name] for row in self.puts.values()]

    def put(
        self,
        address: ItemKey,
        value: Mapping[str, Any],
        text: str | None,
        ttl: float | None = None,
        times: tuple[datetime | None, datetime | None] = (None, None),
    ) -> None:
        """Store a value for so many minutes, and find it by this text: None for an item that no recall finds.

        `times` are when it was created and updated where it comes from elsewhere; else it is now.

        Raises:
            TypeError: the value is not JSON, or a key in it is not a text.
            ValueError: the value has a number that JSON has not, or nests too deep.
            MemoryGraphError: the address is too long, or the time, or a text has half a character.
        """
        refuse_deep(value)
        check_keys(value, "an item")
        body = json.dumps(dict(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        if any(map(HALF_CHARACTER.search, (address.shelf, address.key, body, text or ""))):
            raise MemoryGraphError("a text with half a character cannot be stored: an emoji, say, that was cut in two")
        address.check()
        if ttl is not None and not abs(ttl) * MINUTE <= MAX_MILLISECONDS:
            raise MemoryGraphError(f"an item expires within {MAX_YEARS} years or never, and this is {ttl} minutes")
        told = {"name": "" if text is None else address.key, "data": text or ""}
        parts = dict.fromkeys(("name_parts", "data_parts")) | parts_of_properties(told)
        kept = {"shelf": address.shelf, "key": address.key, "value": body, "ttl": None if ttl is None else float(ttl)}
        self.deletions.discard(address)
        created_at, updated_at = times
        row = {"id": address.id, "created_at": created_at, "updated_at": updated_at}
        self.puts[address] = {**row, "set": {**kept, **told, **parts}}

    def delete(self, address: ItemKey) -> None:
        """Delete an item; one that is not there is none to delete."""
        self.puts.pop(address, None)
        self.deletions.add(address)


@dataclass(frozen=True)
class Items:
    """The items of a namespace of the graph, found by their meaning where there is an embedder."""

    namespace: Namespace
    embedder: Callable[[], Embedder | None] = configured_embedder

    def get(self, addresses: Iterable[ItemKey]) -> dict[ItemKey, StoredItem]:
        """Fetch items; those that are not there are left out."""
        ids = [address.id for address in addresses]
        rows = self.namespace.read("items/get", ids=ids) if ids else ()
        return {item.address: item for item in map(StoredItem.of, rows)}

    def list_under(self, prefix: str, *, skip: int = 0, limit: int | None = None) -> Iterator[StoredItem]:
        """Yield the items of a shelf and of those inside it, in the order of their shelves and keys."""
        for name, number in (("skip", skip), ("limit", limit or 0)):
            if number < 0:
                raise MemoryGraphError(f"`{name}` is not negative, and this is {number}")
        shelf, end, key = prefix, end_of_prefix(prefix), None
        while limit is None or limit > 0:
            size = PAGE if limit is None else min(PAGE, limit)
            rows = self.namespace.read("items/under", shelf=shelf, end=end, key=key, skip=skip, limit=size)
            page = [StoredItem.of(row) for row in rows]
            yield from page
            if len(page) < size:
                return
            skip, (shelf, key) = 0, (page[-1].address.shelf, page[-1].address.key)
            limit = None if limit is None else limit - size

    def find(self, text: str, prefix: str = "", *, limit: int) -> list[tuple[StoredItem, float]]:
        """Find the items of a shelf and of those inside it that a text brings to mind, best first, with their scores.

        Two lists are fused as those of a recall are, one by words and one by vectors; a score comes of the places.

        Raises:
            ModelError: the embedding model failed.
        """
        words, embedder = words_of(text), self.embedder()
        if not words or limit < 1:
            return []
        if embedder is not None:
            embed_missing(self.namespace, embedder)
        tokens = [self.namespace.token]
        query = self.namespace.query(
            "items/find",
            terms=words_query(words, (), tokens, NODE_FIELDS),
            all_terms=words_query(words, (), tokens, NODE_FIELDS, of_all=True),
            kind=KIND,
            shelf=prefix,
            end=end_of_prefix(prefix),
            depth=max(DEPTH, limit),
            constant=RANK_CONSTANT,
            limit=limit,
            **vector_parameters(embedder, text),
        )
        return [(StoredItem.of(row), row["score"]) for row in read_rows(self.namespace, query)]

    def list_shelves(self, prefix: str = "") -> list[str]:
        """List the shelves that begin so and have items."""
        return [row["shelf"] for row in self.namespace.read("items/shelves", prefix=prefix)]

    def renew(self, items: Iterable[StoredItem]) -> None:
        """Have items that were read live as long again as when they were stored."""
        ttls = {item.id: item.ttl for item in items if item.ttl is not None}
        if ttls:
            self.namespace.write_query("items/renew", ids=sorted(ttls), lead=LEAD_MILLISECONDS)
            self._remove_due(ttls.values())

    def write(self, writes: ItemWrites, *, file: str | None = None) -> LoadReport | None:
        """Store and delete items in one transaction, which is one revision; None where nothing is done.

        Raises:
            ConflictError: an edge has the id of an item.
            TooLargeError: the values are too long for one transaction.
            ConnectionError: the server cannot be reached, or failed.
        """
        refuse_texts(self.namespace, writes.texts("data"), writes.texts("value"))
        gone = [address.id for address in writes.deletions]
        ids = [row["id"] for row in writes.puts.values()] + gone

        def work(transaction: NamespaceTransaction, stored: Stored) -> WriteResult:
            if taken := stored.edges.keys() & set(ids):
                raise ConflictError(f"`{min(taken)}` is the id of an item, and an edge has it: delete the edge")
            return WriteResult(run_counted(transaction, self._queries(writes, sorted(stored.nodes & set(gone)))))

        if writes.puts or self.namespace.read("items/get", ids=gone):  # nothing to delete is no revision
            report = Loader(self.namespace, LANGUAGE).store(work, ids, file=file, statements=len(ids))
            self._remove_due(row["set"]["ttl"] for row in writes.puts.values())
            return report
        return None

    def _remove_due(self, ttls: Iterable[float | None]) -> None:
        """Remove what is due at once, without waiting for the next look at it."""
        gate = self.namespace.connection.before_use
        if isinstance(gate, ExpiryGate) and any(ttl is not None and ttl * MINUTE < LEAD_MILLISECONDS for ttl in ttls):
            gate.look(self.namespace)

    def _queries(self, writes: ItemWrites, gone: Sequence[str]) -> Iterator[Query]:
        if gone:
            yield self.namespace.query("contextscript/delete-nodes", ids=gone)
        given = {"kind": KIND, "lead": LEAD_MILLISECONDS, "namespace_token": self.namespace.token}
        for page in pages_of(list(writes.puts.values()), PAGE):
            yield self.namespace.query("items/put", rows=page, **given)
