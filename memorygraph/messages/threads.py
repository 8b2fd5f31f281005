"""The threads of agents in Neo4j: each state of a thread, the values that it holds, and what is pending after it.

A thread is a tree of states, as a conversation is one of messages. Values are stored once: the id of a value is the
hash of what it is, so that states and forks share those that they have in common. A list grows by elements: each is a
value that extends the one before, and a state refers to the last. An element that is a message is one of the message
graph too.

What values and states are is the caller's: here they are bytes of a type.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

from memorygraph.errors import MemoryGraphError
from memorygraph.graph.connection import Abandon
from memorygraph.graph.message_labels import labels_of_message
from memorygraph.graph.namespace import Namespace, NamespaceTransaction, end_of_prefix, pages_of, work_through
from memorygraph.limits import require_one
from memorygraph.messages.history import seal
from memorygraph.messages.message import ROOT, Message, message_id
from memorygraph.messages.neo4j_storage import MAX_ROWS_PER_QUERY

MAX_STATES_PER_QUERY = 1000
MAX_VALUES_PER_QUERY = MAX_ROWS_PER_QUERY
MAX_DELETED_PER_TRANSACTION = 5000
MAX_THREADS = (1 << 31) - 1  # all of them


@dataclass(frozen=True, slots=True)
class StateKey:
    """The address of a state: its thread, the graph inside a graph that it is of ("" for the outermost), and its id."""

    thread: str
    graph: str
    checkpoint: str

    @property
    def id(self) -> str:
        """The id in the graph: those of a thread, and of a graph in it, begin alike, and are in their order."""
        return f"{state_prefix(self.thread, self.graph)}{self.checkpoint}"


def state_prefix(thread: str | None = None, graph: str | None = None) -> str:
    """Return how the ids of states begin: those of a thread, or of one graph in it, or all of them.

    >>> state_prefix("a/b", "child")
    'a%2Fb/child/'
    """
    parts = [] if thread is None else [thread] if graph is None else [thread, graph]
    return "".join(part.replace("%", "%25").replace("/", "%2F") + "/" for part in parts)


class ThreadInfo(NamedTuple):
    """A thread: its id, and the number of its states."""

    id: str
    states: int


class ListPart(NamedTuple):
    """A list up to one of its elements: the ids of the value, and of the message that it says last."""

    id: str
    message: str | None


class ListElement(NamedTuple):
    """An element of a list: its exact form, and the message that it is, where it is one."""

    type: str
    data: bytes
    message: Mapping[str, Any] | None = None


@dataclass
class NewValues:
    """Values to store with a state, in the order in which they extend each other."""

    thread: str
    values: list[dict[str, Any]] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)

    def add(self, type_: str, data: bytes) -> str:
        """Add a value, and return its id."""
        id_ = value_id(self.thread, "", type_, data)
        self.values.append({"id": id_, "after": "", "type": type_, "data": data, "length": None, "message": None})
        return id_

    def extend(self, length: int, last: ListPart | None, elements: Iterable[ListElement]) -> list[ListPart]:
        """Add the elements that follow a list of this length, which ends with `last`, and return their parts."""
        parts = []
        after, before = last or ListPart("", ROOT)
        for element in elements:
            id_ = value_id(self.thread, after or "list", element.type, element.data)
            # What follows something that is no message has no place in the message graph.
            before = self._say(element.message, before) if element.message and before is not None else None
            parts.append(ListPart(id_, before))
            row = {"id": id_, "after": after, "type": element.type, "data": element.data, "message": before}
            self.values.append({**row, "length": length + len(parts)})
            after = id_
        return parts

    def _say(self, fields: Mapping[str, Any], parent: str) -> str | None:
        try:
            message = Message.of(fields)
        except (TypeError, ValueError):  # a framework's message may hold what no message of the graph does
            return None
        id_ = message_id(message, parent)
        row = {"id": id_, "parent": parent, "body": message.body, "role": message.role, "content": message.text}
        labels = labels_of_message(message.role, sampled=False)
        self.messages.append({**row, "labels": labels, "seal": seal(id_, sampled=False)})
        return id_


def value_id(thread: str, after: str, type_: str, data: bytes) -> str:
    """Return the id of a value: the hash of what it is, where it stands, and of its thread."""
    parts = (thread.encode(), after.encode(), type_.encode(), data)
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(b"%d\n" % len(part))
        digest.update(part)
    return digest.hexdigest()


@dataclass(frozen=True)
class ThreadWrite:
    """What a task wrote after a state. One that can be `replaced` gives way to a later one at its place."""

    task: str
    path: str
    place: int
    channel: str
    type: str
    data: bytes
    replaced: bool = False


@dataclass(frozen=True)
class ThreadState:
    """A state as it is stored: its body, and which value each channel holds."""

    key: StateKey
    parent: str
    type: str
    body: bytes
    values: Mapping[str, StoredValue]
    writes: Sequence[ThreadWrite]


class StoredValue(NamedTuple):
    """A value of a channel: its type and bytes, or of a list its length."""

    id: str
    length: int | None
    type: str
    data: bytes | None


class StoredPart(NamedTuple):
    """An element of a stored list, with the list up to it."""

    id: str
    length: int
    type: str
    data: bytes
    message: str | None


class Threads:
    """The threads of a namespace: `mg.threads`; safe to share between threads of Python.

    A write is one transaction, a deletion as many as it takes; an interrupted one goes on when it is called again.

    >>> mg.threads.list_threads()  # doctest: +SKIP
    [ThreadInfo(id='support-42', states=12)]
    """

    def __init__(self, namespace: Namespace) -> None:
        self.namespace = namespace

    def list_threads(self, limit: int = MAX_THREADS, *, after: str = "") -> list[ThreadInfo]:
        """The threads by id: all, or so many that come `after` one."""
        require_one(limit, "thread")
        return [ThreadInfo(**row) for row in self.namespace.read("threads/threads", limit=limit, after=after)]

    def put(
        self,
        key: StateKey,
        properties: Mapping[str, Any],
        *,
        parent: str | None,
        values: NewValues,
        holds: Mapping[str, str],
    ) -> bool:
        """Store a state with its values, in one transaction; False if a value that it refers to is not there.

        `holds` has the id of the value of each channel, `properties` the type and the bytes of the state.
        """
        kept = {**properties, "thread": key.thread, "checkpoint": key.checkpoint, "parent": parent}
        large = len(values.values) > MAX_VALUES_PER_QUERY
        query = self.namespace.query(
            "threads/put",
            thread=key.thread,
            id=key.id,
            properties={**kept, "graph": key.graph or None},
            parent=StateKey(key.thread, key.graph, parent).id if parent else "",
            messages=[] if large else values.messages,
            values=[] if large else values.values,
            holds=[{"channel": channel, "value": value} for channel, value in holds.items()],
        )

        def work(transaction: NamespaceTransaction) -> bool:
            for page in pages_of(values.messages, MAX_VALUES_PER_QUERY) if large else ():
                transaction.run("threads/put-values", messages=page, values=[])
            for page in pages_of(values.values, MAX_VALUES_PER_QUERY) if large else ():
                [stored] = transaction.run("threads/put-values", messages=[], values=page)
                if stored["missing"]:
                    raise Abandon(False)
            [row] = transaction.run(query)
            if row["held"] < len(holds) or row["missing"]:
                raise Abandon(False)
            return True

        return self.namespace.write(work)

    def put_writes(self, key: StateKey, writes: Sequence[ThreadWrite]) -> None:
        """Keep what a task wrote after a state, in one transaction; what is there already stays."""
        rows = [_write_row(key, write) for write in writes]
        self.namespace.write_query("threads/put-writes", thread=key.thread, id=key.id, rows=rows)

    def state(self, thread: str, graph: str = "", checkpoint: str | None = None) -> ThreadState | None:
        """The state with an id, or the last one of a thread; None if there is none."""
        if checkpoint is None:
            return next(self.states(thread, graph, limit=1), None)
        rows = self._read_states(id_ := StateKey(thread, graph, checkpoint).id, f"{id_}\0", 1)
        return rows[0] if rows else None

    def states(
        self,
        thread: str | None = None,
        graph: str | None = None,
        *,
        before: str | None = None,
        limit: int = MAX_STATES_PER_QUERY,
    ) -> Iterator[ThreadState]:
        """Yield the states of a thread, of one graph of it, or of all threads, the newest first.

        `before` is the id of a state of the graph, which comes no more; they are read `limit` at a time.
        """
        prefix = state_prefix(thread, graph)
        end = end_of_prefix(prefix) if before is None else prefix + before
        while page := self._read_states(prefix, end, limit):
            yield from page
            end = page[-1].key.id

    def _read_states(self, begin: str, end: str, limit: int) -> list[ThreadState]:
        rows = self.namespace.read("threads/states", begin=begin, end=end, limit=limit)
        return [
            ThreadState(
                StateKey(row["thread"], row["graph"], row["checkpoint"]),
                row["parent"],
                row["type"],
                row["body"],
                {channel: StoredValue(*value) for channel, *value in row["held"]},
                sorted(
                    (ThreadWrite(task, path or "", *rest) for path, task, *rest in row["pending"]),
                    key=lambda write: (write.path, write.task, write.place),
                ),
            )
            for row in rows
        ]

    def read_lists(self, tips: Mapping[str, int]) -> dict[str, list[StoredPart]]:
        """Read lists by the ids of their last values, given with their lengths: each from its first element on.

        Raises:
            MemoryGraphError: a list is not whole any more.
        """
        found: dict[str, list[StoredPart]] = {}
        known: dict[str, list[StoredPart]] = {}  # the longest list that was read, by each value in it
        # The longest first: what it has read are most of the others, so that all are read by one query mostly.
        for tip, length in sorted(tips.items(), key=lambda item: -item[1]):
            if tip not in known:
                rows = self.namespace.read("threads/lists", ids=[tip])
                parts = [StoredPart(*part) for row in rows for part in row["parts"]][::-1]
                if len(parts) != length:
                    raise MemoryGraphError(f"the list {tip} has {length} elements, and {len(parts)} of them are there")
                known |= {part.id: parts for part in parts if part.id not in known}
            found[tip] = known[tip][:length]
        return found

    def delete(self, thread: str) -> None:
        """Delete a thread with all its states, and of its messages those that nothing else has."""
        self._delete(row["id"] for row in self._keys(thread))

    def delete_runs(self, runs: Sequence[str]) -> None:
        """Delete the states that these runs made."""
        self._delete(row["id"] for row in self.namespace.read("threads/states-of-runs", ids=list(runs)))

    def delete_states(self, keys: Iterable[StateKey]) -> None:
        """Delete states."""
        self._delete(key.id for key in keys)

    def keys(self, thread: str) -> list[tuple[StateKey, str | None]]:
        """The states of a thread, the oldest of each graph first, each with the id of its parent, or ''.

        Instead of that, one whose deletion was begun has None.
        """
        rows = [row for row in self._keys(thread) if row["stored"]]
        return [
            (
                StateKey(thread, row["graph"], row["id"][len(state_prefix(thread, row["graph"])) :]),
                row["parent"] if row["shown"] else None,
            )
            for row in rows
        ]

    def copy(self, source: str, target: str) -> None:
        """Copy all states of a thread to another, which shares their values, in one transaction."""
        if source == target:
            return
        prefix, new_prefix = state_prefix(source), state_prefix(target)
        rows = []
        for row in self._keys(source):
            new_id = new_prefix + row["id"][len(prefix) :]
            writes = [{"id": id_, "new_id": _write_id(new_id, task, place)} for id_, task, place in row["writes"]]
            rows.append({"id": row["id"], "new_id": new_id, "writes": writes})
        given = {"target": target, "prefix": prefix, "new_prefix": new_prefix}

        def work(transaction: NamespaceTransaction) -> None:
            for page in pages_of(rows, MAX_STATES_PER_QUERY):
                transaction.run("threads/copy", rows=page, **given)

        if rows:
            self.namespace.write(work)

    def _keys(self, thread: str) -> list[dict[str, Any]]:
        prefix = state_prefix(thread)
        return self.namespace.read("threads/keys", begin=prefix, end=end_of_prefix(prefix))

    def _delete(self, ids: Iterable[str]) -> None:
        for page in pages_of(list(ids), MAX_STATES_PER_QUERY):
            self._delete_page(page)

    def _delete_page(self, ids: Sequence[str]) -> None:
        """Delete states with what only they held, in as many transactions as that takes; done again, it goes on."""
        work_through(
            lambda limit: self.namespace.write(lambda transaction: _delete_states(transaction, ids, limit)),
            MAX_DELETED_PER_TRANSACTION,
        )


def _write_row(key: StateKey, write: ThreadWrite) -> dict[str, Any]:
    properties = asdict(write)
    replaced = properties.pop("replaced")
    properties["path"] = write.path or None
    return {"id": _write_id(key.id, write.task, write.place), "replaced": replaced, "properties": properties}


def _write_id(state: str, task: str, place: int) -> str:
    return value_id(state, task, "", str(place).encode())


def _delete_states(transaction: NamespaceTransaction, ids: Sequence[str], limit: int) -> int:
    """Delete so many of the values that only these states hold, and at last the states; 0 once all are gone."""
    [row] = transaction.run("threads/hide-states", ids=ids, limit=limit)
    room = limit - row["hidden"]
    left = True
    locked: set[str] = set()
    while room and left:
        free = transaction.run("threads/free-values", ids=ids, limit=room)
        # A state that is stored just now may hold some of them by the time at which they are locked.
        if unlocked := [row["id"] for row in free if row["id"] not in locked]:
            transaction.run("threads/lock-values", ids=unlocked)
            locked.update(unlocked)
        else:
            left = _delete_values(transaction, free)
            room -= len(free)
    if room:
        [row] = transaction.run("threads/delete-states", ids=ids, limit=room)
        room -= row["deleted"]
    return 0 if room else limit


def _delete_values(transaction: NamespaceTransaction, free: Sequence[Mapping[str, Any]]) -> bool:
    """Delete values with the messages that only they said, and return whether anything is left of their lists."""
    going = {row["id"] for row in free}
    left = [
        {"state": row["state"], "value": row["before"]} for row in free if row["before"] and row["before"] not in going
    ]
    if going:
        transaction.run("threads/delete-values", ids=list(going), left=left)
        _delete_said(transaction, {said for row in free if (said := row["message"])})
    return bool(left)


def _delete_said(transaction: NamespaceTransaction, said: Collection[str]) -> None:
    """Delete messages that nothing says any more, unless something else has them or one that follows."""
    found = {row["id"]: row for row in transaction.run("threads/said-messages", ids=list(said))} if said else {}
    kept: set[str] = set()
    for id_, row in found.items():
        if row["needed"] or any(following not in found for following in row["following"]):
            place = id_
            while place in found and place not in kept:
                kept.add(place)
                place = found[place]["parent"]
    if going := [id_ for id_ in found if id_ not in kept]:
        transaction.run("threads/delete-messages", ids=going)
