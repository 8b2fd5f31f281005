"""The full-text index of messages: its text for a message, and the indexing of messages that lack it.

Messages are stored with that text. `index_messages` is for those of an earlier release, and `date_messages` for those
that were said at another time than they were stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime

from memorygraph.graph.namespace import Namespace
from memorygraph.graph.search import conversation_token
from memorygraph.messages.message import Message
from memorygraph.word_parts import parts_of_properties

MAX_ROWS_PER_QUERY = 1000
MAX_TIPS_PER_QUERY = 100

# English, as the index is, whatever the locale: not those of `calendar`.
_MONTHS = "January February March April May June July August September October November December"
MONTHS = tuple(_MONTHS.split())


def day_text(at: date) -> str:
    """A day as indexed texts have it."""
    return f"{at.day} {MONTHS[at.month - 1]} {at.year}"


def indexed_text(message: Message, at: date) -> str:
    """The text by which a message is found: speaker, day and content."""
    # On LoCoMo, the speaker and the day gain eight points of evidence over the content alone.
    return f"{message.name or message.role} ({day_text(at)}): {message.text}"


def index_messages(namespace: Namespace) -> int:
    """Index the messages that an earlier release stored without it, and return how many those were."""
    # The oldest come first, so that it can be stopped and run again; what is indexed costs a look at the tips.
    done = 0
    while found := namespace.read("recall/unindexed-messages", limit=MAX_TIPS_PER_QUERY):
        done += sum(write_index(namespace, row["conversation"], row["ids"], {}) for row in found)
    return done


def date_messages(namespace: Namespace, conversation: str, times: Mapping[str, datetime]) -> None:
    """Set when messages of a conversation were said, by their ids; otherwise that is when they were stored."""
    write_index(namespace, conversation, list(times), times)


def write_index(namespace: Namespace, conversation: str, ids: Sequence[str], times: Mapping[str, datetime]) -> int:
    """Write the indexed texts of messages, and return how many are new."""
    done = 0
    for start in range(0, len(ids), MAX_ROWS_PER_QUERY):
        rows = []
        for stored in namespace.read("recall/bodies", ids=list(ids[start : start + MAX_ROWS_PER_QUERY])):
            at = times.get(stored["id"]) or stored["at"].to_native()
            said = {"said": indexed_text(Message(stored["body"]), at)}
            rows.append({"id": stored["id"], "at": at, **said, **parts_of_properties(said)})
        query = namespace.query(
            "recall/index-messages",
            namespace_token=namespace.token,
            conversation=conversation,
            conversation_token=conversation_token(namespace.name, conversation),
            dated=bool(times),
            rows=rows,
        )
        [written] = namespace.write(lambda transaction, query=query: transaction.run(query))  # type: ignore[misc]
        done += written["indexed"]
    return done
