"""Forgetting: what goes for good, with its history and with all that was learnt from it alone.

A `Forgetting` in the graph lists what is to go. What goes with that is added to the list, and then the list is deleted,
in transactions of bounded size. So a process that is killed leaves a list, and forgetting the same again goes on with
it. What is left at the end is a load that says how much was forgotten, and neither what nor whose.

A delete can be undone, and what it deleted lives on in the history. What was forgotten cannot come back.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from memorygraph.errors import ConflictError, NotFoundError, TooLargeError
from memorygraph.graph.aliases import find_named
from memorygraph.graph.connection import Abandon
from memorygraph.graph.namespace import UNCOMPACTED, Namespace, NamespaceTransaction, work_through
from memorygraph.graph.search import SHARED_TOKEN, conversation_token, conversation_tokens, transcript_tokens
from memorygraph.graph.writes import NOTHING
from memorygraph.json_text import parse_stored_json
from memorygraph.sentences import Sentence, list_counts

LANGUAGE = "forget"
EXPIRY_LANGUAGE = "expire"
ELEMENTS_PER_TRANSACTION = 1000
EDGES_PER_TRANSACTION = 5000
MESSAGES_PER_TRANSACTION = 500
PARTS_PER_TRANSACTION = 50_000  # that are put on the list: each takes 2,500 bytes, and a look for more begins anew
CONVERSATIONS_PER_LIST = 100
NODES_PER_LIST = 10_000
NO_LIMIT = 1 << 53
WHOLE = 1 << 10
"""What is forgotten in one transaction, of which it is a part where that was too large."""

FRAMED_KEY = "framed"
"""Under this the metadata of an adapter says which conversation it is of."""

ForgettingKind = Literal["conversation", "node", "edge", "run", "program", "expired"]

_TOO_LARGE_TO_TRY = (
    "a dry run does everything in one transaction, and this is too large for one; nothing was forgotten. Without a dry "
    "run it is forgotten in parts, which have room: `--yes` does not ask"
)

_COUNTED_AS = {
    "Former": "former states",
    "Alias": "aliases",
    "Node": "nodes",
    "Run": "runs",
    "Generation": "generations",
    "ContextItem": "context items",
    "Step": "steps",
    "GraphNode": "parts of programs",
    "Program": "programs",
    "Graph": "programs",
}


@dataclass(frozen=True)
class Forgotten(Sentence):
    """What was forgotten, or, in a dry run, would be: how much of each kind `went`, and how much `stayed`, and why.

    `revision` is that of the load which is left as a record of it.
    """

    kind: ForgettingKind
    went: dict[str, int]
    stayed: dict[str, int]
    revision: int
    dry_run: bool = False

    def __str__(self) -> str:
        went = f"{'would be forgotten' if self.dry_run else 'forgotten'}: {list_counts(self.went)}"
        return f"{went}\nstays: {list_counts(self.stayed)}" if self.stayed else went

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return asdict(self)


@dataclass
class ForgettingState:
    """A list in its transaction: what is known of it, and what has gone and stayed so far."""

    transaction: NamespaceTransaction
    id: str
    properties: dict[str, Any]
    went: Counter[str] = field(default_factory=Counter)
    stayed: Counter[str] = field(default_factory=Counter)
    share: int = 1

    def limit(self, most: int) -> int:
        """How many elements a transaction takes, of which it may take so many: fewer where those were too large."""
        return max(1, most // self.share)

    def run(self, query: str, **parameters: Any) -> dict[str, Any]:
        """Run a query about the list, and return its row."""
        rows = self.transaction.run(f"forget/{query}", forgetting=self.id, **parameters)
        return rows[0] if rows else {}

    def save(self) -> None:
        """Keep what has gone and stayed with the list."""
        for name, counts in (("went", self.went), ("stayed", self.stayed)):
            total = Counter(read_counts(self.properties.get(name))) + counts  # without those that are 0
            self.properties[name] = [f"{count} {kind}" for kind, count in sorted(total.items())]
        kept = {name: self.properties[name] for name in ("went", "stayed")}
        self.run("set-counts", properties=kept)
        self.went.clear()
        self.stayed.clear()


class ElementState(NamedTuple):
    """A state of a node or an edge, between the revisions that began and ended it; a present one has no end.

    `undoes` is the revision that was undone by the one that began it, if that was an undo. A `whole` node was deleted
    then: what has its id after it is another one.
    """

    of: str
    id: str
    since: int
    until: int | None
    whole: bool
    undoes: int | None


def read_counts(texts: Iterable[str] | None) -> dict[str, int]:
    """Read counts as they are stored.

    >>> read_counts(["3 messages", "1 former states"])
    {'messages': 3, 'former states': 1}
    """
    parts = (text.partition(" ") for text in texts or ())
    return {kind: int(count) for count, _, kind in parts}


def find_target(namespace: Namespace, text: str, given: str) -> tuple[ForgettingKind, str]:
    """Find what is to be forgotten, its kind and its id; an id comes before a name, and that before an alias.

    Errors name it as it was `given`, which may be an address.

    Raises:
        NotFoundError: nothing has or had this id, and no node has this name.
        ConflictError: several things have it.
    """
    kind = find_kind(namespace, text)
    if kind is not None:
        return kind, text
    if named := find_named(namespace.read, [text]):
        return "node", named[text].id
    for row in namespace.read("forget/begun-by-name", name=text):  # an interrupted list, whose node may be gone already
        return "node", str(row["id"])
    raise NotFoundError(
        f"nothing in namespace `{namespace}` has the id or the name `{given}`; `search` finds ids by text, "
        "and `messages forget` forgets a conversation by its name"
    )


def find_kind(namespace: Namespace, identifier: str) -> ForgettingKind | None:
    """Find out what an id is of: a run, a program, a node or an edge, or of these what it was before it was deleted.

    Raises:
        ConflictError: it is the id of several.
    """
    rows = namespace.read("forget/known", id=identifier)
    if not rows:
        return None
    present = sorted(row["kind"] for row in rows if row["present"])
    if len(present) > 1:
        raise ConflictError(
            f"`{identifier}` is the id of several things ({', '.join(present)}), and nothing says which of them is "
            "meant; `memorygraph doctor --graph` says how a node or an edge gets another id"
        )
    kind: ForgettingKind = present[0] if present else max(row["kind"] for row in rows)  # a node before an edge
    return kind


def forget_for_good(
    namespace: Namespace,
    kind: ForgettingKind,
    target: str,
    *,
    named: str | None = None,
    dry_run: bool = False,
    clear: Callable[[Sequence[str], Sequence[str]], int] = lambda _conversations, _runs: 0,
) -> Forgotten:
    """Forget a conversation by its name, some of what has expired, or anything else by its id.

    `named` is the name by which a node was asked for: where this is interrupted, it goes on by that, too. `clear`
    deletes what files of this machine hold of conversations and of runs, and returns how many that were. A dry run does
    everything in one transaction, and rolls back.

    Raises:
        NotFoundError: the namespace was dropped meanwhile.
    """
    forgetting = f"{kind} {target}"
    load = uuid.uuid4().hex

    def begin(transaction: NamespaceTransaction) -> str | Forgotten:
        return begin_list(transaction, kind, target, load, named=named, dry_run=dry_run)

    if dry_run:

        def try_all(transaction: NamespaceTransaction) -> Forgotten:
            recorded = str(begin(transaction))  # of a list that an interrupted process has left, it is an earlier load
            while (state := lock_list(transaction, forgetting, recorded)) and forget_piece(state):
                state.save()
            assert state is not None  # noqa: S101 - only `finish` deletes the list
            count_kept(state)
            raise Abandon(report(kind, state.properties, 0, dry_run=True))

        try:
            return namespace.write(try_all)
        except TooLargeError as error:
            raise TooLargeError(f"{_TOO_LARGE_TO_TRY} ({error})") from error
    recorded = namespace.write(begin)
    if isinstance(recorded, Forgotten):
        return recorded

    def step(part: int) -> int:
        return namespace.write(lambda transaction: forget_next(transaction, forgetting, recorded, WHOLE // part))

    work_through(step, WHOLE)
    return finish(namespace, forgetting, recorded, kind, clear)


def begin_list(
    transaction: NamespaceTransaction,
    kind: ForgettingKind,
    target: str,
    load: str,
    *,
    named: str | None = None,
    dry_run: bool,
) -> str | Forgotten:
    """Begin a list, or go on with one that is there, and return the id of the load that is to be left of it."""
    forgetting = f"{kind} {target}"
    [row] = transaction.run("forget/begin", forgetting=forgetting, kind=kind, target=target, named=named, load=load)
    state = ForgettingState(transaction, forgetting, row["forgetting"])
    if kind == "conversation":
        names = state.properties["conversations"]
        if not take_conversation(state, target) and target not in names:  # only loads tell of it
            state.run("set-counts", properties={"conversations": [*names, target], "learnt": False})
            take_calls(state, target)
    elif kind == "edge":
        forget_edge(state, target)
    elif kind != "expired":
        state.run("list-target", kind=kind, id=target)
    elif state.properties["load"] == load:  # an interrupted list knows only which loads came before it
        limits = (NO_LIMIT, NO_LIMIT) if dry_run else (CONVERSATIONS_PER_LIST, NODES_PER_LIST)
        if not take_expired(state, *limits):  # another process was faster
            raise Abandon(Forgotten(kind, {}, {}, 0, dry_run))
    state.save()
    return str(state.properties["load"])


def forget_next(transaction: NamespaceTransaction, forgetting: str, load: str, share: int = 1) -> bool:
    """Forget one piece; False when nothing is left of the list. `share` divides how much a piece is at most."""
    state = lock_list(transaction, forgetting, load)
    if state is None:
        return False
    state.share = share
    if not forget_piece(state):
        return False
    state.save()
    return True


def lock_list(transaction: NamespaceTransaction, forgetting: str, load: str) -> ForgettingState | None:
    """Read the list of this load under the lock of its namespace; None where another process has finished it.

    The next one of its id may have begun since, as that of what has expired by then.
    """
    rows = transaction.run("forget/lock", forgetting=forgetting, load=load)
    return ForgettingState(transaction, forgetting, rows[0]["forgetting"]) if rows else None


def forget_piece(state: ForgettingState) -> bool:
    """Do the first of what is left to be done, as much as fits one transaction; False where nothing is left."""
    if state.properties["kind"] == "expired":
        state.transaction.run("expiry/keep-renewed", forgetting=state.id)
    return any(step(state) for step in (spread, forget_learnt, forget_messages, sweep, rename_kept))


def take_conversation(state: ForgettingState, name: str) -> bool:
    """Put a conversation on the list, and say whether there was one; from now on it is not there any more."""
    taken = state.run("take-conversation", name=name).get("conversations", 0)
    if taken:
        namespace = state.transaction.namespace
        tokens = conversation_token(namespace.name, name), SHARED_TOKEN
        searches = [f'+namespace_token:"{namespace.token}" +namespace_token:"{token}"' for token in tokens]
        state.run("list-edited", name=name, searches=searches)
        state.went["conversations"] += taken
        take_calls(state, name)
    return bool(taken)


def take_calls(state: ForgettingState, name: str) -> None:
    """Put the prompts and replies of a chat on the list."""
    for row in state.transaction.run("forget/calls-of", name=name):
        take_conversation(state, row["name"])


def take_expired(state: ForgettingState, conversations: int, nodes: int) -> int:
    """Put what has expired on the list, at most as many conversations and nodes, and return how many there are."""
    taken = 0
    for row in state.transaction.run("expiry/due-conversations", limit=conversations):
        if state.transaction.run("expiry/lock-due", name=row["name"]):  # not renewed meanwhile
            taken += take_conversation(state, row["name"])
    [row] = state.transaction.run("expiry/list-due", forgetting=state.id, limit=nodes)
    return taken + int(row["due"])


def forget_edge(state: ForgettingState, identifier: str) -> None:
    """Delete an edge; its former states come on the list."""
    rows = state.transaction.run("forget/delete-edge", id=identifier)
    state.went["edges"] += rows[0]["edges"]
    state.transaction.run("forget/mark-loads", revisions=rows[0]["revisions"])
    state.run("list-target", kind="edge", id=identifier)
    state.run("list-unobserved", ids=rows[0]["ends"])


def spread(state: ForgettingState) -> bool:
    """Put on the list what goes with what is on it."""
    row = state.run("spread", limit=state.limit(EDGES_PER_TRANSACTION), most=state.limit(PARTS_PER_TRANSACTION))
    for name in sorted(set(row.get("conversations", []))):
        take_conversation(state, name)
    return bool(row.get("looked_at"))


def forget_learnt(state: ForgettingState) -> bool:
    """Forget what the loads say that were asked for in the conversations on the list."""
    names = state.properties["conversations"]
    of = {"names": names, "until": state.properties["learnt_until"]}
    if not names or not (revisions := state.transaction.run("forget/revisions-of", **of)[0]["revisions"]):
        return False
    if not state.properties.get("learnt"):
        # Once: what is on the list then goes on being spread before anything else is done.
        join_brought_back(state, revisions)
        take_back_brought_back(state, revisions)
        state.stayed["nodes that something else says too"] += state.run("list-learnt", revisions=revisions)["others"]
        state.run("set-counts", properties={"learnt": True})
        return True
    page = {"revisions": revisions, "limit": state.limit(EDGES_PER_TRANSACTION)}
    row = state.transaction.run("forget/delete-learnt-edges", **page)[0]
    if row["edges"]:
        state.went["edges"] += row["edges"]
        state.run("list-unobserved", ids=row["ends"])
        return True
    if take_back(state, revisions):
        return True
    cleared = state.transaction.run("forget/clear-loads", **of, limit=state.limit(EDGES_PER_TRANSACTION))[0]["cleared"]
    state.went["records of loads"] += cleared
    return bool(cleared)


def take_back(state: ForgettingState, revisions: Sequence[int]) -> bool:
    """Take back some of what these revisions changed; False where nothing of it is left."""
    for query in ("take-back-formers", "take-back-nodes", "take-back-edges"):
        row = state.transaction.run(f"forget/{query}", revisions=revisions, limit=state.limit(EDGES_PER_TRANSACTION))[0]
        if row["changed"]:
            state.went["changes taken back"] += row["changed"]
            state.transaction.run("forget/mark-loads", revisions=row.get("revisions", []))
            state.run("list-unobserved", ids=row.get("ends", []))
            return True
    return False


def take_back_brought_back(state: ForgettingState, revisions: Sequence[int]) -> None:
    """Have what was said in these revisions, and undos of later changes have brought back, become what it was before.

    Where it was nothing, it is theirs again, without what was changed and undone; what has been changed since, goes.
    """
    said, transaction = {*revisions}, state.transaction
    rows = transaction.run("forget/brought-back", revisions=revisions)
    states = [ElementState(**row) for row in rows if isinstance(row["since"], int)]
    folded, parted = list[dict[str, Any]](), list[dict[str, Any]]()
    for each, origin in trace_brought_back(states, said):
        if origin.since not in said:
            parted.append(each._asdict() | {"before": origin.until})
            continue
        transaction.run("forget/mark-loads", revisions=[each.since, *([each.until] if each.until else [])])
        if each.until is None:
            folded.append(each._asdict() | {"since": origin.since})
        else:
            parted.append(each._asdict() | {"before": None})
    if folded:
        [row] = transaction.run("forget/fold-brought-back", rows=folded)
        transaction.run("forget/mark-loads", revisions=revisions_of(row))
    if parted:
        transaction.run("forget/part-brought-back", rows=parted)
        while take_back(state, [-row["since"] for row in parted]):
            pass
        transaction.run("forget/clear-parted", rows=parted)


def trace_brought_back(
    states: Iterable[ElementState], said: Collection[int]
) -> Iterator[tuple[ElementState, ElementState]]:
    """Yield the states that undos have brought back of what was said in some revisions, with what is to become of each.

    That is the last state before it that others said; or the first that was said in these revisions, where they said
    nothing before it.
    """
    origins: dict[tuple[str, str, int | None], ElementState] = {}
    for state in sorted(states, key=attrgetter("since")):
        is_said = state.since in said
        before = state.since if is_said else state.undoes
        origin = origins.get((state.of, state.id, before), state)
        if not is_said and origin.since not in said and origin.until == before:
            origin = state  # an undo that brought back what others said
        if state.until is not None and not state.whole:
            origins[state.of, state.id, state.until] = origin
        if not is_said and origin is not state:
            yield state, origin


def join_brought_back(state: ForgettingState, revisions: list[int]) -> None:
    """Have what undos have brought back of these revisions be theirs again; what was, can have been deleted again."""
    while (row := state.transaction.run("forget/join-brought-back", revisions=revisions)[0])["joined"]:
        state.transaction.run("forget/mark-loads", revisions=revisions_of(row))


def forget_messages(state: ForgettingState) -> bool:
    """Forget messages that nothing else needs, from the last of a conversation backwards."""
    if versions := state.run("list-messages", limit=state.limit(ELEMENTS_PER_TRANSACTION))["versions"]:
        state.went["versions"] += versions
        return True
    locked = state.run("lock-messages").get("ids")  # at most one more
    if not locked:
        return False
    needed = state.transaction.run("forget/needed-messages", ids=locked)[0]["place"]
    # The last that was locked is only looked at, where there may be others before it: it goes on the list instead.
    going = locked[:needed][: state.limit(MESSAGES_PER_TRANSACTION)]
    if not going:
        state.run("keep-message", id=locked[0])
        return True
    before = next(iter(locked[len(going) :]), None)
    forget_parts(state, going)
    state.went["messages"] += state.run("delete-messages", ids=going, before=before)["deleted"]
    return True


def forget_parts(state: ForgettingState, messages: Sequence[str]) -> None:
    """Forget what hangs on messages, and what was learnt from them alone."""
    row = state.run("delete-parts", ids=messages)
    state.went["parts of messages"] += row["parts"]
    state.stayed["facts that something else says too"] += row["others"]


def count_kept(state: ForgettingState) -> None:
    """Count the messages that stay, because another conversation has them, and save what is counted."""
    state.stayed["messages that another conversation has"] += state.run("kept-messages")["messages"]
    state.save()


def sweep(state: ForgettingState) -> bool:
    """Delete what is on the list, and what hangs on it."""
    for query in ("delete-facts", "delete-edges"):
        row = state.run(query, limit=state.limit(EDGES_PER_TRANSACTION))
        if row["edges"]:
            state.went["edges"] += row["edges"]
            state.went["former states"] += row.get("formers", 0)
            state.transaction.run("forget/mark-loads", revisions=revisions_of(row))
            state.run("list-unobserved", ids=row.get("ends", []))  # what others have joined to a node on the list since
            return True
    if entries := state.run("delete-entries", limit=state.limit(EDGES_PER_TRANSACTION))["entries"]:
        state.went["statements of thoughts"] += entries
        return True
    row = state.run("delete-listed", limit=state.limit(ELEMENTS_PER_TRANSACTION))
    if not row.get("labels"):
        return False
    for labels in row["labels"]:
        state.went[next((name for label, name in _COUNTED_AS.items() if label in labels), "other parts")] += 1
    state.stayed["entities that it was merged into"] += len(set(row["others"]))
    state.transaction.run("forget/mark-loads", revisions=revisions_of(row))
    if row["files"]:
        state.transaction.run("forget/clear-files", files=row["files"])
    return True


def revisions_of(row: dict[str, Any]) -> list[int]:
    """The revisions in a row, each once; raw Cypher can have stored what is none."""
    return sorted({revision for revision in row["revisions"] if isinstance(revision, int)})


def rename_kept(state: ForgettingState) -> bool:
    """Have messages that stay say that they are of the other conversations alone."""
    names, transaction = state.properties["conversations"], state.transaction
    locked = state.run("lock-named", names=names, limit=state.limit(ELEMENTS_PER_TRANSACTION))["ids"]
    if not locked:
        return False
    kept = transaction.run("forget/named-messages", names=names, ids=locked)
    forget_metadata(state, [row["id"] for row in kept])
    if of_threads := [row["id"] for row in kept if not row["others"]]:
        forget_parts(state, of_threads)
    if hidden := [row["id"] for row in kept if not any(row["others"])]:
        transaction.run("forget/hide-messages", ids=hidden)
    name, token = transaction.namespace.name, transaction.namespace.token
    rows = [
        {
            "id": row["id"],
            "conversations": row["others"],
            "namespace_token": " ".join([token, *conversation_tokens(name, row["others"])]),
        }
        for row in kept
        if any(row["others"])
    ]
    transaction.run("forget/rename-messages", rows=rows)
    return True


def forget_metadata(state: ForgettingState, messages: Sequence[str]) -> None:
    """Forget what adapters have kept beside messages for the conversations on the list."""
    names = state.properties["conversations"]
    said = [f'"{FRAMED_KEY}":{json.dumps(name, ensure_ascii=False)}' for name in names]
    found = state.transaction.run("forget/named-metadata", ids=messages, names=said)
    # Such a text may also stand somewhere inside, as in what a user wrote.
    ids = [row["id"] for row in found if parse_stored_json(row["body"])["metadata"].get(FRAMED_KEY) in names]
    if ids:
        state.went["parts of messages"] += state.run("delete-metadata", ids=ids)["parts"]


def finish(
    namespace: Namespace,
    forgetting: str,
    load: str,
    kind: ForgettingKind,
    clear: Callable[[Sequence[str], Sequence[str]], int],
) -> Forgotten:
    """Leave a record without content in place of the list."""
    files = 0

    def work(transaction: NamespaceTransaction) -> Forgotten:
        nonlocal files
        state = lock_list(transaction, forgetting, load)
        if state is None:  # the acknowledgement was lost, or another process was faster
            rows = transaction.run("forget/record", load=load)
            if not rows:
                raise NotFoundError(
                    f"namespace `{namespace}` was dropped meanwhile, with what was to be forgotten in it"
                )
            return report(kind, rows[0]["load"], rows[0]["load"]["revision"])
        files += clear(state.properties["conversations"], state.properties["runs"])
        state.went["files of this machine"] += files
        count_kept(state)
        went = read_counts(state.properties["went"])
        counts = {"nodes_deleted": went.get("nodes", 0), "edges_deleted": went.get("edges", 0)}
        kept = {name: state.properties[name] for name in ("went", "stayed")}
        if transcripts := transcript_tokens(state.properties["conversations"]):
            kept["transcripts"] = transcripts
        language = EXPIRY_LANGUAGE if kind == "expired" else LANGUAGE
        record = {**NOTHING, **counts, **kept, "language": language, "statements": 0, "by": "", "files": UNCOMPACTED}
        revision = state.run("finish", load=load, record=record)["revision"]
        return report(kind, state.properties, revision)

    return namespace.write(work)


def find_transcript_forgotten(namespace: Namespace, conversation: str, since: datetime | None) -> datetime | None:
    """Return when a conversation that hooks keep was last forgotten, or has expired; None if not since a time.

    While it is being forgotten, that is now, by the clock of the database.
    """
    [row] = namespace.read(
        "forget/transcript-forgotten",
        name=conversation,
        transcripts=transcript_tokens([conversation]),
        since=since or datetime.min.replace(tzinfo=UTC),
    )
    return None if row["at"] is None else row["at"].to_native()


def report(kind: ForgettingKind, properties: dict[str, Any], revision: int, *, dry_run: bool = False) -> Forgotten:
    """Make the report of a list, or of the record that is left of it."""
    went, stayed = (read_counts(properties[name]) for name in ("went", "stayed"))
    return Forgotten(kind, went, stayed, revision, dry_run)
