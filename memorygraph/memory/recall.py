"""Recall: what a text brings to mind, in one query to the database.

Messages and nodes are found by their words and, where there is an embedder, by their meaning; the lists are fused, and
what is found points on to what stands beside it (memorygraph.memory.fusion). The namespace is a wall inside each
index, so that what others have stored neither is found nor takes the place of what is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Literal

from memorygraph.budget import Budget
from memorygraph.context.items import ContextItem
from memorygraph.graph.namespace import Namespace
from memorygraph.memory.fitting import Found, fit, shown
from memorygraph.memory.fusion import heaviest_verb, source_of, weights
from memorygraph.memory.vectors import Embedder
from memorygraph.memory.words import message_query, node_query, words_of
from memorygraph.messages.message import Message
from memorygraph.query import Query

Kind = Literal["node", "message"]
LABELS = {"node": "Node", "message": "Message"}
LIMIT = 20
_HALF_PAIR = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class RecallHit:
    """Something that was recalled, how it was found, and how well it fits; a higher score is better.

    `source` is `fulltext`, `vector` or both with a plus where its own words or meaning fit; `edge` where it is one
    edge away from what does, or is the message that a node was learnt from; and `neighbour` where it is a message
    near one that does. Over an edge there is its `verb`, that of the heaviest if there are several. A node has a
    `name`; a message has a `role`, the `speaker` where one is named, the `conversation` and when it was said.
    """

    id: str
    kind: Kind
    score: float
    source: str
    text: str
    name: str | None = None
    role: str | None = None
    conversation: str | None = None
    at: str | None = None
    verb: str | None = None

    @property
    def label(self) -> str:
        """What says in a prompt where this comes from."""
        if self.kind == "node":
            return f"node {self.id}"
        said = f"{self.name or self.role}" + (f" on {self.at[:10]}" if self.at else "")
        return f"message of {said}" + (f" in {self.conversation}" if self.conversation else "")

    @property
    def content(self) -> str:
        """What it says in a prompt."""
        return "\n".join(filter(None, [self.name, self.text])) if self.kind == "node" else self.text

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {key: value for key, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Recalled:
    """What a text brought to mind, best first; as a text it is what a prompt gets, within its budget."""

    hits: tuple[RecallHit, ...]
    budget: Budget | None = None

    @cached_property
    def context(self) -> tuple[ContextItem, ...]:
        """The hits as items of a prompt, each with its label, as many as fit the budget; the last may be clipped."""
        return fit((Found(hit.id, hit.label, hit.content) for hit in self.hits), self.budget)

    def __str__(self) -> str:
        return shown(self.context)

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {
            "hits": [hit.as_dict() for hit in self.hits],
            "context": [item.as_dict() for item in self.context],
            "text": str(self),
        }


def recall(
    namespace: Namespace,
    text: str,
    *,
    limit: int = LIMIT,
    budget: Budget | None = None,
    embedder: Embedder | None = None,
    at: datetime | None = None,
    kinds: Sequence[Kind] = ("node", "message"),
    conversation: str | None = None,
    steps: bool = True,
) -> Recalled:
    """What a text brings to mind in a namespace; any text can be asked.

    `at` is when it is asked, for what it says of time (`last week`). `conversation` leaves only its messages, and any
    node. Without `steps` there is only what fits by itself.

    Raises:
        ModelError: the embedder failed.
        ConnectionError: the server cannot be reached.
    """
    query = recall_query(
        namespace,
        text,
        limit=limit,
        embedder=embedder,
        at=at,
        kinds=kinds,
        conversation=conversation,
        steps=steps,
    )
    rows = [] if query is None else namespace.read(query)
    return Recalled(tuple(_hit(row) for row in rows), budget)


def recall_query(
    namespace: Namespace,
    text: str,
    *,
    limit: int = LIMIT,
    embedder: Embedder | None = None,
    at: datetime | None = None,
    kinds: Sequence[Kind] = ("node", "message"),
    conversation: str | None = None,
    steps: bool = True,
) -> Query | None:
    """The query of a recall, or None where a text says nothing that could be found."""
    words = words_of(text)
    if not words or limit < 1 or not kinds:
        return None
    vectors = [] if embedder is None else embedder.embed([_HALF_PAIR.sub("\ufffd", text)])
    return namespace.query(
        "recall/recall",
        message_terms=message_query(text, namespace.name, conversation, at),
        node_terms=node_query(text, namespace.name),
        vectors=vectors,
        model=None if embedder is None else embedder.name,
        kinds=[LABELS[kind] for kind in kinds],
        conversation=conversation,
        limit=limit,
        **weights(limit, steps=steps),
    )


def _hit(row: dict[str, Any]) -> RecallHit:
    source = source_of(row["ways"], row["edges"])
    verb = heaviest_verb(row["edges"]) if source == "edge" else None
    place = {"id": row["id"], "score": row["score"], "source": source, "verb": verb}
    if not row["is_message"]:
        return RecallHit(kind="node", text=row["data"] or "", name=row["name"], **place)
    message = Message(row["body"])
    return RecallHit(
        kind="message",
        text=message.text,
        name=message.name,
        role=message.role,
        conversation=row["conversation"],
        at=row["at"],
        **place,
    )
