"""A conversation kept in Neo4j.

A change is one transaction. It says which version and which tip it was made on, takes the write lock of its
conversation, and does nothing if that version has moved meanwhile. It also carries a random number, which the
new message of a plain append remembers for good, and of any other change its version, the last 32 of them: so a
change whose acknowledgement was lost is found when it runs again, and is never applied twice. `Connection.write`
runs it again.

Appending one message is one query, whatever the length of the conversation; recording a call is three.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any

from memorygraph.errors import ConflictError, MemoryGraphError, NotFoundError
from memorygraph.graph.connection import Abandon
from memorygraph.graph.namespace import Namespace, NamespaceTransaction
from memorygraph.messages.findable import conversation_token, said
from memorygraph.messages.history import Attachment, MessageEntry, Version, VersionChange, seal
from memorygraph.messages.message import ROOT, Message, chain
from memorygraph.messages.storage import StoredMessage, conflict_error
from memorygraph.query import Query

ROWS = 5000
"""At most so many messages are written by one query; a longer change has several, in one transaction."""

MAX_SENT_CHARACTERS = 20_000
"""A change of more messages would not fit into one transaction. The messages are then stored ahead of it, where
no version leads to them and nobody sees them; the change itself stays one transaction."""


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


def list_conversations(namespace: Namespace) -> list[ConversationInfo]:
    """Every conversation of a namespace, by name."""
    return [ConversationInfo(**row) for row in namespace.read("messages/conversations")]


def drop_conversations(namespace: Namespace) -> None:
    """Delete every conversation of a namespace with all its versions and messages, in several transactions."""
    page = namespace.query("messages/drop-conversations", limit=ROWS)
    while namespace.write(lambda transaction: int(transaction.run(page)[0]["deleted"])):
        pass


class Store:
    """One conversation of a namespace in Neo4j; recall finds what was said in it, unless it is not `recalled`."""

    def __init__(self, namespace: Namespace, name: str, *, recalled: bool = True) -> None:
        self.namespace = namespace
        self.name = name
        self.recalled = recalled
        self._found_by = {
            "conversations": [name] if recalled else None,
            "namespace_token": f"{namespace.token} {conversation_token(namespace.name, name)}",
        }

    def head(self) -> Version | None:
        """The version that was last written, or None while nothing was stored."""
        rows = self.namespace.read("messages/head", name=self.name)
        return Version(**rows[0]) if rows else None

    def versions(self) -> list[Version]:
        """Every version by its number."""
        return [Version(**row) for row in self.namespace.read("messages/versions", name=self.name)]

    def path(self, tip: str) -> list[MessageEntry]:
        """The messages from the first to this one, in one query.

        Their identities are computed anew from what was read, so that nothing altered is taken for what was said.

        Raises:
            NotFoundError: there is no such message.
            MemoryGraphError: a message was altered in the database.
        """
        if tip == ROOT:
            return []
        rows = self.namespace.read("messages/path", id=tip)
        if not rows:
            raise NotFoundError(f"no message `{tip}` in namespace `{self.namespace}`")
        messages = [Message(body) for body in reversed(rows[0]["bodies"])]
        ids = chain(messages)
        if ids[-1] != tip:
            raise MemoryGraphError(
                f"a message before `{tip}` was altered in the database: `memorygraph messages verify` names it"
            )
        return list(map(MessageEntry, ids, messages, reversed(rows[0]["sampled"])))

    def apply(self, change: VersionChange) -> tuple[Version, frozenset[str]]:
        """Change a version, in one transaction.

        Raises:
            ConflictError: the version was changed or replaced meanwhile; nothing was changed.
        """
        rows = self._rows(change.parent, change.entries)
        last = max(0, len(rows) - ROWS)
        ahead = rows[:last] if len(rows) > MAX_SENT_CHARACTERS else []
        known = self._store_ahead(ahead)

        def work(transaction: NamespaceTransaction) -> tuple[Version, frozenset[str]]:
            if change.base.length == 0:
                self._create(transaction, change.base.id)
            if change.at is not None:
                self._fitting(transaction, change, self._replacement(change))
            sampled = [*known, *self._mark(transaction, ahead), *self._write(transaction, rows[len(ahead) : last])]
            moved = self._appended(transaction, change, rows) or self._moved(transaction, change, rows[last:])
            self._attach(transaction, change.attachments)
            return change.result(moved["number"]), frozenset([*sampled, *moved["sampled"]])

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
            return self._stored(transaction, version.id)

        return self.namespace.write(work)

    def add_path(
        self, entries: Sequence[MessageEntry], attachments: Sequence[Attachment] = (), *, response: str | None = None
    ) -> Version:
        """Put a whole conversation on the version that it fits; run again, it changes nothing.

        What is kept beside it can also be found by the id that an endpoint gave to its `response`.
        """
        tip = entries[-1].id
        ids = [entry.id for entry in reversed(entries)]
        place = self.namespace.query(
            "messages/find-place", name=self.name, recalled=self.recalled, ids=ids, tip=tip, new_version=Version().id
        )

        def work(transaction: NamespaceTransaction) -> Version:
            [found] = transaction.run(place)
            stored, holds = found.pop("stored"), found.pop("holds")
            version = Version(**found)
            rows = self._new_rows(entries, len(ids) - ids.index(stored) if stored else 0)
            last = len(rows) if holds else max(0, len(rows) - ROWS)
            self._write(transaction, rows[:last])
            if not holds:
                change = VersionChange(version, tip, (), len(ids))
                version = change.result(self._moved(transaction, change, rows[last:])["number"])
            self._attach(transaction, attachments, response)
            return version

        return self.namespace.write(work)

    def attach(self, attachments: Sequence[Attachment]) -> None:
        """Keep these beside their stored messages."""
        self.namespace.write(lambda transaction: self._attach(transaction, attachments))

    def attachments(self, ids: Collection[str]) -> list[Attachment]:
        """What is kept beside these messages, in their order, then in the order in which it was stored."""
        rows = self.namespace.read("messages/attachments", ids=list(ids))
        kept = [Attachment(row["message"], at=row["at"], **json.loads(row["body"])) for row in rows]
        order = {id_: place for place, id_ in enumerate(ids)}
        return sorted(kept, key=lambda attachment: order[attachment.message_id])

    def audit(self, version: Version) -> list[StoredMessage]:
        """The messages of a version as they are stored, from its tip back to the first."""
        rows = self.namespace.read("messages/audit", id=version.tip)
        return [
            StoredMessage(id_, body, {"role": role, "content": content}, [(i, b) for i, b in kept], sampled, sealed)
            for row in rows
            for id_, body, role, content, sampled, sealed, kept in row["messages"]
        ]

    def _create(self, transaction: NamespaceTransaction, version: str) -> None:
        transaction.run("messages/create-conversation", name=self.name, recalled=self.recalled, version=version)

    def _stored(self, transaction: NamespaceTransaction, version: str) -> Version:
        [row] = transaction.run("messages/version", id=version)
        return Version(**row)

    def _replacement(self, change: VersionChange) -> Query:
        base = change.base
        return self.namespace.query(
            "messages/replace-version",
            name=self.name,
            version=base.id,
            tip=base.tip,
            new_version=change.version,
            at=change.at,
        )

    def _appended(
        self, transaction: NamespaceTransaction, change: VersionChange, rows: list[dict[str, Any]]
    ) -> dict[str, Any] | None:
        """What became of one new message behind the last, or None where there is more to do, or to be asked."""
        if not change.appends_one:
            return None
        query = self.namespace.query(
            "messages/append-message",
            name=self.name,
            operation=change.operation,
            version=change.version,
            length=change.length,
            **self._found_by,
            **rows[0],
        )
        return next(iter(transaction.run(query)), None)

    def _moved(
        self, transaction: NamespaceTransaction, change: VersionChange, rows: list[dict[str, Any]]
    ) -> dict[str, Any]:
        query = self.namespace.query(
            "messages/change-version",
            name=self.name,
            operation=change.operation,
            version=change.version,
            tip=change.base.tip,
            new_tip=change.new_tip,
            length=change.length,
            **self._found_by,
            rows=rows,
        )
        return self._fitting(transaction, change, query)

    def _fitting(self, transaction: NamespaceTransaction, change: VersionChange, query: Query) -> dict[str, Any]:
        """The row of a query that changes a version, or out of the transaction if that has moved meanwhile."""
        row = next(iter(transaction.run(query)), {"fits": False, "replaced": False})
        if not row["fits"]:
            raise Abandon(conflict_error(self.name, change.base, replaced=row["replaced"]))
        return row

    def _write(self, transaction: NamespaceTransaction, rows: list[dict[str, Any]]) -> list[str]:
        pages = [rows[start : start + ROWS] for start in range(0, len(rows), ROWS)]
        written = [transaction.run("messages/write-messages", **self._found_by, rows=page) for page in pages]
        return [id_ for [row] in written for id_ in row["sampled"]]

    def _store_ahead(self, rows: list[dict[str, Any]]) -> list[str]:
        """Store messages before the change that places them; that they are answers is said by the change."""
        known: list[str] = []
        for start in range(0, len(rows), ROWS):
            page = [{**row, **_sampled(row["id"], sampled=False)} for row in rows[start : start + ROWS]]
            query = self.namespace.query("messages/write-messages", **self._found_by, rows=page)
            [written] = self.namespace.write(lambda transaction, query=query: transaction.run(query))  # type: ignore[misc]
            known += written["sampled"]
        return known

    def _mark(self, transaction: NamespaceTransaction, rows: list[dict[str, Any]]) -> list[str]:
        marked = [{"id": row["id"], "seal": row["seal"]} for row in rows if row["sampled"]]
        for start in range(0, len(marked), ROWS):
            transaction.run("messages/mark-sampled", rows=marked[start : start + ROWS])
        return [row["id"] for row in marked]

    def _attach(
        self, transaction: NamespaceTransaction, attachments: Sequence[Attachment], response: str | None = None
    ) -> None:
        for attachment in attachments:
            self._write(transaction, self._rows(ROOT, attachment.inner))
        if attachments:
            transaction.run("messages/attach", rows=[_attachment_row(a, response) for a in attachments])

    def _rows(self, parent: str, entries: Sequence[MessageEntry]) -> list[dict[str, Any]]:
        parents = [parent, *(entry.id for entry in entries)]
        today = datetime.now(UTC).date()
        return [self._row(before, entry, today) for before, entry in zip(parents, entries, strict=False)]

    def _new_rows(self, entries: Sequence[MessageEntry], known: int) -> list[dict[str, Any]]:
        """The rows of a conversation of which so many messages are stored: of these, only what may be news."""
        rows = self._rows(ROOT, entries)
        return [row for i, row in enumerate(rows) if i >= known or row["sampled"]]

    def _row(self, parent: str, entry: MessageEntry, today: date) -> dict[str, Any]:
        message = entry.message
        return {
            "id": entry.id,
            "parent": parent,
            "body": message.body,
            "role": message.role,
            "content": message.text,
            "said": said(message, today) if self.recalled else None,
            **_sampled(entry.id, sampled=entry.sampled),
        }


def _sampled(id_: str, *, sampled: bool) -> dict[str, Any]:
    return {"sampled": sampled, "seal": seal(id_, sampled=sampled)}


def _attachment_row(attachment: Attachment, response: str | None) -> dict[str, Any]:
    return {
        "id": attachment.id,
        "message": attachment.message_id,
        "body": attachment.body,
        "model": attachment.metadata.get("model"),
        "length": attachment.metadata.get("length"),
        "subgraph": attachment.subgraph,
        "response": response,
    }
