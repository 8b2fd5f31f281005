"""Commands of a log that nobody has answered, and what is written behind them.

A command is stored before it is called, so that a crash meanwhile loses nothing: the next step finds it unanswered and
calls it. So a command can be called twice, but is answered once, and always directly behind it, also where others
have added to the log meanwhile.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from memorygraph.graph.loads import Loaded, Loader, Written
from memorygraph.graph.namespace import NamespaceTransaction
from memorygraph.languages.pete.reading import Reader
from memorygraph.languages.pete.syntax import Command, Feedback, Piece, Value
from memorygraph.runtime.pete.faculties import Faculties
from memorygraph.runtime.pete.store import LANGUAGE, LogStore


@dataclass(frozen=True)
class Pending:
    """A command without feedback: the id of its entry, and its text with the blanks before it."""

    id: str
    text: str

    @property
    def command(self) -> Command:
        """The command itself."""
        command = command_in(self.text)
        assert command is not None  # noqa: S101 - what is stored as a command can be read as one
        return command


@dataclass(frozen=True)
class Answered:
    """What a faculty answered; `text` is what the log gained, which is nothing if somebody else was quicker."""

    feedback: Any
    text: str


def command_in(text: str) -> Command | None:
    """The command that a text is.

    >>> command_in(" @fan, stop")
    Command(procedure='stop', faculty='fan', arguments=None, feedback=None)
    """
    reader = Reader(1)
    pieces = [*reader.feed(text), *reader.finish()]
    item = pieces[0].item if pieces else None
    return item if isinstance(item, Command) else None


def pending_in(store: LogStore, log: int) -> list[Pending]:
    """The commands of a log that can be answered, in their order."""
    rows = store.namespace.read("pete_feedback/pending", log=log)
    return [Pending(row["id"], row["text"]) for row in rows]


def answer(store: LogStore, pending: Pending, faculties: Faculties) -> Answered:
    """Call a command, and write what it gives behind it."""
    feedback = faculties.answer(pending.command)
    piece = feedback_piece(feedback)
    query = store.namespace.query(
        "pete_feedback/answer", id=pending.id, text=piece.text, value=json.dumps(feedback, ensure_ascii=False)
    )

    def write(transaction: NamespaceTransaction, _stored: object) -> Written:
        return Written({"nodes_updated": len(transaction.run(query))})

    report = Loader(store.namespace, LANGUAGE).store(Loaded(None, 1, write))
    return Answered(feedback, piece.text if report.nodes_updated else "")


def feedback_piece(data: Any) -> Piece:
    """What the system writes behind a command or a question.

    >>> feedback_piece({"ok": True}).text
    ' >> {"ok": true}'
    """
    text = json.dumps(data, ensure_ascii=False)
    return Piece(Feedback(Value(text)), f" >> {text}")
