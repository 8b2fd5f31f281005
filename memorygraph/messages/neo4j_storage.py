"""A conversation kept in Neo4j.

A change is one transaction. It takes the write lock of its conversation, and does nothing if its version has moved
meanwhile. The message of a plain append, or else the version, keeps the random number of the change: so a change whose
acknowledgement was lost is found when it runs again. Appending one message is one query, whatever the length of the
conversation; recording a call is three.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from difflib import SequenceMatcher
from typing import Any

from memorygraph.errors import ConflictError, MemoryGraphError, NotFoundError
from memorygraph.graph.answers import answer_properties, conversation_properties
from memorygraph.graph.connection import Abandon
from memorygraph.graph.elements import as_text
from memorygraph.graph.message_labels import labels_of_message
from memorygraph.graph.namespace import Namespace, NamespaceTransaction, Rows, pages_of
from memorygraph.graph.search import token_parameters
from memorygraph.graph.sizes import NEW_EDGE_BYTES, NEW_NODE_BYTES, refuse_texts
from memorygraph.json_text import UnreadableRecord
from memorygraph.languages.contextscript import MAX_NAME
from memorygraph.messages.history import Attachment, MessageEntry, Version, VersionChange, seal
from memorygraph.messages.indexing import index_row
from memorygraph.messages.message import ROOT, Message, chain
from memorygraph.messages.storage import StoredMessage, conflict_error

# A longer change has several queries, in one transaction.
MAX_ROWS_PER_QUERY = 5000
# More messages do not fit into one transaction. They are then stored ahead of the change, where no version leads to
# them; the change itself stays one transaction.
MAX_ROWS_PER_CHANGE = 20_000
MAX_VERSIONS_COMPARED = 8  # with a list that says again what was said on another path
MAX_CONVERSATIONS = (1 << 31) - 1  # all of them
NOT_INDEXED: dict[str, Any] = {"said": None, "said_parts": None, "passages": None, "speaker": None, "terms": []}


@dataclass(frozen=True)
class ConversationInfo:
    """A conversation: the version that was last written, and its number of messages."""

    name: str
    versions: int
    version: int
    messages: int

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return asdict(self)


def list_stored_conversations(
    namespace: Namespace, limit: int = MAX_CONVERSATIONS, *, after: str = "", containing: str = ""
) -> list[ConversationInfo]:
    """The conversations of a namespace by name: so many after a name, with a text in theirs."""
    rows = namespace.read("messages/conversations", limit=limit, after=after, containing=containing)
    return [ConversationInfo(**row) for row in rows]


def count_stored_conversations(namespace: Namespace, *, after: str = "", containing: str = "") -> int:
    """The number of the conversations after a name that have a text in theirs."""
    [row] = namespace.read("messages/count-conversations", after=after, containing=containing)
    return int(row["conversations"])


def check_conversation_name(name: str) -> None:
    """Refuse a name that no conversation can have.

    Raises:
        MemoryGraphError: it is longer than that of a node.
    """
    if len(name) > MAX_NAME:
        raise MemoryGraphError(
            f"the name of a conversation has at most {MAX_NAME:,} characters, and this has {len(name):,}: {name[:40]}…"
        )


class Neo4jStorage:
    """One conversation of a namespace in Neo4j; recall finds its messages, unless it is not `recalled`."""

    def __init__(self, namespace: Namespace, name: str, *, recalled: bool = True) -> None:
        self.namespace = namespace
        self.name = name
        self.recalled = recalled
        self._tokens = token_parameters(namespace.name, name)
        self._index_terms = {
            "conversations": [name] if recalled else None,
            "home": name if recalled else None,
        }

    def head(self) -> Version | None:
        """The version that was last written, or None while nothing was stored."""
        return next(iter(self._read_versions("messages/head")), None)

    def versions(self) -> list[Version]:
        """Every version by its number."""
        return self._read_versions("messages/versions")

    def path(self, tip: str) -> list[MessageEntry]:
        """The messages from the first to the one with this id, in one query; none that was altered."""
        if tip == ROOT:
            return []
        rows = self.namespace.read("messages/path", id=tip)
        if not rows:
            raise NotFoundError(f"no message `{tip}` in namespace `{self.namespace}`")
        messages = [Message(as_text(body)) for body in reversed(rows[0]["bodies"])]
        ids = chain(messages)  # computed again: the id of the tip covers all messages before it
        if ids[-1] != tip:
            raise MemoryGraphError(f"a message before `{tip}` was altered in the database: {self._advice}")
        return list(map(MessageEntry, ids, messages, reversed(rows[0]["sampled"])))

    def apply(self, change: VersionChange) -> tuple[Version, frozenset[str]]:
        """Change a version, in one transaction."""
        rows = self._rows(change.parent, change.entries, self._said_before(change))
        # The last page goes with the query that moves the version, so that a small change is one query.
        last = max(0, len(rows) - MAX_ROWS_PER_QUERY)
        ahead, known = self._store_ahead(rows)
        framed = change.frames(self.name)

        def work(transaction: NamespaceTransaction) -> tuple[Version, frozenset[str]]:
            # A version without messages may not be stored yet: the first message creates the conversation.
            if change.base.length == 0:
                self._create(transaction, change.base.id)
            if change.at is not None:
                replaced = {"version": change.base.id, "new_version": change.version, "at": change.at}
                self._run_fitting(transaction, change, "messages/replace-version", **replaced)
            marked = self._mark_sampled(transaction, change.entries[:ahead])
            sampled = {*known, *marked, *self._write(transaction, rows[ahead:last])}
            moved = self._append(transaction, change, rows) or self._move(transaction, change, rows[last:])
            self._attach(transaction, change.attachments, again=True)
            if framed and (change.at is not None or not change.base.framed):
                transaction.run("messages/frame-version", version=change.version)
            return change.result(moved["number"], framed=framed), frozenset(sampled.union(moved["sampled"]))

        result = self.namespace.write(work)
        if isinstance(result, ConflictError):
            raise result
        return result

    def branch(self, base: Version, tip: str, length: int) -> Version:
        """A new version that ends with a message of the version `base`."""
        version = Version()
        query = self.namespace.query(
            "messages/branch-version", name=self.name, version=version.id, tip=tip, length=length
        )

        def work(transaction: NamespaceTransaction) -> Version:
            if base.length == 0:
                self._create(transaction, base.id)
            transaction.run(query)
            if base.framed:
                transaction.run("messages/frame-version", version=version.id)
            rows = transaction.run("messages/version", id=version.id)
            if not rows or rows[0]["tip"] != tip:  # the conversation, or the message, was forgotten meanwhile
                raise Abandon(conflict_error(self.name, base, replaced=False))
            return Version(**rows[0])

        result = self.namespace.write(work)
        if isinstance(result, ConflictError):
            raise result
        return result

    def add_path(
        self, entries: Sequence[MessageEntry], attachments: Sequence[Attachment] = (), *, response: str | None = None
    ) -> Version:
        """Put a whole conversation on the version that it fits; run again, it changes nothing."""
        check_conversation_name(self.name)
        tip = entries[-1].id
        ids = [entry.id for entry in reversed(entries)]
        place = self.namespace.query(
            "messages/find-place", name=self.name, recalled=self.recalled, ids=ids, tip=tip, new_version=Version().id
        )

        def work(transaction: NamespaceTransaction) -> Version | list[dict[str, Any]]:
            [found] = transaction.run(place)
            stored, holds = found.pop("stored"), found.pop("holds")
            version = Version(**found)
            # What is stored before a message of this conversation is of it, too.
            known = len(ids) - ids.index(stored) if stored else 0
            parent, new = entries[known - 1].id if known else ROOT, entries[known:]
            # On a new path, what a model has answered was said on an earlier one; a single question was said nowhere.
            again = version.number > 1 and version.tip != stored and any(each.message.is_assistant for each in new[:-1])
            rows = self._rows(parent, new, self._said_elsewhere(transaction, parent, new) if again else [])
            if len(rows) > MAX_ROWS_PER_CHANGE:
                raise Abandon(rows)
            self._refuse_too_large(rows)
            self._mark_sampled(transaction, entries[:known])
            last = len(rows) if holds else max(0, len(rows) - MAX_ROWS_PER_QUERY)
            self._write(transaction, rows[:last])
            if not holds:
                change = VersionChange(version, tip, (), len(ids))
                version = change.result(self._move(transaction, change, rows[last:])["number"])
            self._attach(transaction, attachments, response=response)
            return version

        while not isinstance(result := self.namespace.write(work), Version):
            self._store_ahead(result)
        return result

    def attach(self, attachments: Sequence[Attachment]) -> None:
        """Keep attachments of stored messages, as the last ones."""
        self.namespace.write(lambda transaction: self._attach(transaction, attachments, again=True))

    def attachments(self, ids: Collection[str]) -> list[Attachment]:
        """The attachments of these messages, in their order, then in the order in which they were stored."""
        rows = self.namespace.read("messages/attachments", ids=list(ids))
        try:
            kept = [Attachment.read(row["message"], row["body"], row["at"]) for row in rows]
        except UnreadableRecord as error:
            raise UnreadableRecord(f"{error}: {self._advice}") from None
        order = {id_: place for place, id_ in enumerate(ids)}
        return sorted(kept, key=lambda attachment: order[attachment.message_id])

    def times(self, ids: Collection[str]) -> dict[str, str]:
        """When these messages were stored; of some of earlier versions this is not known."""
        return {row["id"]: row["at"] for row in self.namespace.read("messages/times", ids=list(ids))}

    def audit(self, version: Version) -> list[StoredMessage]:
        """The messages of a version as they are stored, from its tip back to the first."""
        return [
            StoredMessage(id_, body, {"role": role, "content": content}, [(i, b) for i, b in kept], sampled, sealed)
            for row in self.namespace.read("messages/audit", id=version.tip)
            for id_, body, role, content, sampled, sealed, kept in row["messages"]
        ]

    def _read_versions(self, query: str) -> list[Version]:
        versions = [Version(**row) for row in self.namespace.read(query, name=self.name)]
        if all(version.tip != ROOT or version.length == 0 for version in versions):
            return versions
        # A tip that is moved while it is read may be seen at neither place.
        return [Version(**row) for row in self.namespace.read(query, name=self.name)]

    @property
    def _advice(self) -> str:
        return f"`memorygraph{self.namespace.option} messages verify` names it"

    def _refuse_too_large(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Refuse messages that one transaction surely has no room for; each passage is a node with an edge."""
        passages = sum(len(row["passages"] or ()) for row in rows)
        # What is indexed is as long as the content. So many passages pass the limit before their index ends the server.
        texts = [text for row in rows for text in (row["body"], row["content"], row["content"])]
        refuse_texts(self.namespace, (), texts, other_bytes=passages * (NEW_NODE_BYTES + NEW_EDGE_BYTES))

    def _create(self, transaction: NamespaceTransaction, version: str) -> None:
        check_conversation_name(self.name)
        transaction.run("messages/create-conversation", name=self.name, recalled=self.recalled, version=version)

    def _append(
        self, transaction: NamespaceTransaction, change: VersionChange, rows: list[dict[str, Any]]
    ) -> dict[str, Any] | None:
        """Append one message, or return None if the change does more or the version has moved meanwhile."""
        if not change.appends_one:
            return None
        found = transaction.run(
            "messages/append-message",
            name=self.name,
            operation=change.operation,
            version=change.version,
            length=change.length,
            **self._index_terms,
            **rows[0],
        )
        return next(iter(found), None)

    def _move(
        self, transaction: NamespaceTransaction, change: VersionChange, rows: list[dict[str, Any]]
    ) -> dict[str, Any]:
        return self._run_fitting(
            transaction,
            change,
            "messages/change-version",
            operation=change.operation,
            version=change.version,
            new_tip=change.new_tip,
            length=change.length,
            **self._index_terms,
            **self._tokens,
            rows=rows,
        )

    def _run_fitting(
        self, transaction: NamespaceTransaction, change: VersionChange, query: str, **parameters: Any
    ) -> dict[str, Any]:
        """Run a query that changes a version; if that has moved meanwhile, abandon the transaction."""
        found = transaction.run(query, name=self.name, tip=change.base.tip, **parameters)
        row = next(iter(found), {"fits": False, "replaced": False})
        if not row["fits"]:
            raise Abandon(conflict_error(self.name, change.base, replaced=row["replaced"]))
        return row

    def _write(self, transaction: NamespaceTransaction, rows: list[dict[str, Any]]) -> list[str]:
        """Write messages, and return the ids of those that count as sampled."""
        sampled: list[str] = []
        for page in pages_of(rows, MAX_ROWS_PER_QUERY):
            [row] = transaction.run("messages/write-messages", **self._index_terms, **self._tokens, rows=page)
            sampled += row["sampled"]
        return sampled

    def _mark_sampled(self, transaction: NamespaceTransaction, entries: Sequence[MessageEntry]) -> list[str]:
        """Have those of some stored messages that were sampled count so, and return their ids."""
        marked = [{"id": entry.id, "seal": seal(entry.id, sampled=True)} for entry in entries if entry.sampled]
        for page in pages_of(marked, MAX_ROWS_PER_QUERY):
            transaction.run("messages/mark-sampled", rows=page)
        return [row["id"] for row in marked]

    def _store_ahead(self, rows: list[dict[str, Any]]) -> tuple[int, list[str]]:
        """Store most of the messages of a change that is too long for a transaction, and nothing of another.

        Returns how many were stored, and the ids of those that are sampled already; the change marks the others.
        """
        last = max(0, len(rows) - MAX_ROWS_PER_QUERY) if len(rows) > MAX_ROWS_PER_CHANGE else 0
        for part in (*pages_of(rows[:last], MAX_ROWS_PER_QUERY), rows[last:]):
            self._refuse_too_large(part)
        unsampled = [
            {
                **row,
                "sampled": False,
                "labels": labels_of_message(row["role"], sampled=False),
                "seal": seal(row["id"], sampled=False),
            }
            for row in rows[:last]
        ]
        known: list[str] = []
        for page in pages_of(unsampled, MAX_ROWS_PER_QUERY):
            known += self.namespace.write(lambda transaction, page=page: self._write(transaction, page))  # type: ignore[misc]
        return last, known

    def _attach(
        self,
        transaction: NamespaceTransaction,
        attachments: Sequence[Attachment],
        *,
        again: bool = False,
        response: str | None = None,
    ) -> None:
        rows = []
        for place, attachment in enumerate(attachments):
            self._write(transaction, self._rows(ROOT, attachment.inner, []))
            rows.append(
                {
                    "id": attachment.id,
                    "message": attachment.message_id,
                    "body": attachment.body,
                    **conversation_properties(attachment.metadata),
                    "properties": answer_properties(attachment.metadata),
                    "subgraph": attachment.subgraph,
                    "response": response,
                    "place": place,
                }
            )
        if rows:
            transaction.run("messages/attach", again=again, rows=rows)

    def _said_before(self, change: VersionChange) -> Rows:
        """What an edit may store anew, and when it was said: what stood behind its place."""
        if not change.entries or change.base.tip in {change.parent, ROOT}:
            return []
        return self.namespace.read("messages/said-behind", tip=change.base.tip, parent=change.parent)

    def _said_elsewhere(self, transaction: NamespaceTransaction, parent: str, entries: Sequence[MessageEntry]) -> Rows:
        """What another version holds of messages, and when it was said: the newest with half of them, or else most."""
        matcher, most = SequenceMatcher(b=[entry.message.body for entry in entries]), list[dict[str, Any]]()
        for row in transaction.run("messages/newest-tips", name=self.name, limit=MAX_VERSIONS_COMPARED):
            behind = transaction.run("messages/said-behind", tip=row["tip"], parent=parent)[::-1]
            matcher.set_seq1([as_text(each["body"]) for each in behind])
            common = [each for a, _, size in matcher.get_matching_blocks() for each in behind[a : a + size]]
            most = max(most, common, key=len)
            if 2 * len(most) >= len(entries):
                break
        return most[::-1]

    def _rows(self, parent: str, entries: Sequence[MessageEntry], said: Rows) -> list[dict[str, Any]]:
        """The rows of messages that follow `parent`, said now, but for what was `said` before, the last of it first."""
        now, times = datetime.now(UTC), defaultdict[str, list[datetime]](list)
        for row in said:
            times[as_text(row["body"])].append(row["at"].to_native())
        tokens = [self.namespace.token, self._tokens["conversation_token"]]
        rows = []
        for entry in entries:
            before = times.get(entry.message.body)
            at = before.pop() if before else now
            index = index_row(entry.id, entry.message, at) if self.recalled else {**NOT_INDEXED, "at": at}
            rows.append(
                {
                    "id": entry.id,
                    "parent": parent,
                    "body": entry.message.body,
                    "role": entry.message.role,
                    "labels": labels_of_message(entry.message.role, sampled=entry.sampled),
                    "content": entry.message.text,
                    "namespace_token": " ".join([*tokens, *index.pop("terms")]),
                    **index,
                    "sampled": entry.sampled,
                    "seal": seal(entry.id, sampled=entry.sampled),
                }
            )
            parent = entry.id
        return rows
