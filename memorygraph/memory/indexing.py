"""Makes messages findable that were stored before they were written so, and those that were said at another time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memorygraph.graph.namespace import Namespace
from memorygraph.messages.findable import conversation_token, said
from memorygraph.messages.message import Message

ROWS = 1000
TIPS = 100


def index_messages(namespace: Namespace) -> int:
    """Make findable what is not yet, and return how many messages that were.

    Messages are written findable; this is for those that an earlier release stored. It goes through the oldest
    first, so that it can be broken off anywhere and run again; where nothing is to be done it looks at the last
    message of each version alone.
    """
    done = 0
    query = namespace.query("recall/unindexed-messages", limit=TIPS)
    while found := namespace.read(query):
        for row in found:
            done += _index(namespace, row["conversation"], row["ids"], {})
    return done


def date_messages(namespace: Namespace, conversation: str, times: Mapping[str, datetime]) -> None:
    """Say when messages of a conversation were said, by their ids, where that is not when they were stored."""
    _index(namespace, conversation, list(times), times)


def _index(namespace: Namespace, conversation: str, ids: Sequence[str], times: Mapping[str, datetime]) -> int:
    done = 0
    for start in range(0, len(ids), ROWS):
        found = namespace.read("recall/bodies", ids=list(ids[start : start + ROWS]))
        query = namespace.query(
            "recall/index-messages",
            namespace_token=namespace.token,
            conversation=conversation,
            conversation_token=conversation_token(namespace.name, conversation),
            dated=bool(times),
            rows=[_row(row, times.get(row["id"]) or row["at"].to_native()) for row in found],
        )
        [written] = namespace.write(lambda transaction, query=query: transaction.run(query))  # type: ignore[misc]
        done += written["indexed"]
    return done


def _row(row: Mapping[str, Any], at: datetime) -> dict[str, Any]:
    return {"id": row["id"], "said": said(Message(row["body"]), at), "at": at}
