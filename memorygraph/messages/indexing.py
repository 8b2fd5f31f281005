"""The full-text index of messages: the texts for a message, and the indexing of messages that lack them.

Messages are stored with their texts; a long one has a text for each of its passages, and none for the whole.
`index_messages` is for messages of an earlier release, and `date_messages` for those that were said at another time
than they were stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from memorygraph.graph.bad_elements import find_wrong
from memorygraph.graph.namespace import Namespace, pages_of
from memorygraph.graph.search import digits_of, token_parameters
from memorygraph.messages.message import Message
from memorygraph.messages.passages import Passage, find_passages
from memorygraph.word_parts import stored_parts

MAX_ROWS_PER_QUERY = 1000
MAX_TIPS_PER_QUERY = 100
NO_MESSAGE = Message('{"role":"none"}')
"""In place of a stored message that is none: it says nothing, and so is not found."""

# English, as the index is, whatever the locale: not those of `calendar`.
_MONTHS = "January February March April May June July August September October November December"
MONTHS = tuple(_MONTHS.split())

Progress = Callable[[int, int], None]


def day_text(at: date) -> str:
    """A day as indexed texts have it."""
    return f"{at.day} {MONTHS[at.month - 1]} {at.year}"


def said_prefix(message: Message, at: date) -> str:
    """What stands before the content in the text by which a message, or a passage of it, is found: speaker and day."""
    # On LoCoMo, the speaker and the day gain eight points of evidence over the content alone.
    return f"{message.name or message.role} ({day_text(at)}): "


def role_token(role: str) -> str:
    """The word that stands for a role in the full-text index."""
    return f"r{digits_of(role.encode('utf-8', 'surrogatepass'), b'role')}"


def speaker_token(speaker: str) -> str:
    """The word that stands for a speaker in the full-text index, in whatever case the name is written."""
    return f"s{digits_of(speaker_of(speaker).encode('utf-8', 'surrogatepass'), b'speaker')}"


def speaker_of(name: str) -> str:
    """The name of a speaker as it is compared."""
    return name.casefold()


def day_token(at: datetime) -> str:
    """The word that stands for a day in the full-text index; later days are greater."""
    return f"d{at:%Y%m%d}" if at.year > 999 else f"d{at.year:04}{at:%m%d}"  # `%Y` is not padded everywhere


def time_token(at: datetime) -> str:
    """The word that stands for a time in the full-text index; later times are greater."""
    return f"t{day_token(at)[1:]}{at:%H%M%S%f}"


def in_utc(at: datetime) -> datetime:
    """Return a time in UTC; one without a zone is of UTC."""
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def index_row(id_: str, message: Message, at: datetime) -> dict[str, Any]:
    """What the index needs of a message that was said at a time: its text or passages, and what limits a recall."""
    text = message.text
    speaker = str(message.name or message.role)
    utc = in_utc(at)
    terms = [role_token(message.role), speaker_token(speaker), day_token(utc), time_token(utc)]
    prefix = said_prefix(message, utc)
    passages = [
        passage_row(f"{id_}-{place}", passage, prefix + text[passage.start : passage.end].strip())
        for place, passage in enumerate(find_passages(text), start=1)
    ]
    said = {"said": None, "said_parts": None} if passages else said_properties(prefix + text)
    return {"at": utc, **said, "passages": passages, "speaker": speaker_of(speaker), "terms": terms}


def passage_row(id_: str, passage: Passage, said: str) -> list[Any]:
    """A passage as the queries take it: a list, which the driver sends faster than a dict."""
    return [id_, *passage, said, stored_parts(said)]


def said_properties(said: str) -> dict[str, str | None]:
    """The text by which a message is found, and the parts of its words."""
    return {"said": said, "said_parts": stored_parts(said)}


def index_messages(namespace: Namespace, progress: Progress | None = None) -> int:
    """Index the messages that an earlier release stored without it, and return how many those were.

    `progress` is called with the number of messages done, and of all.
    """
    # The oldest come first, so that it can be stopped and run again; what is indexed costs a look at the tips.
    total = 0 if progress is None else namespace.read("recall/count-unindexed")[0]["count"]
    done = 0
    while found := namespace.read("recall/unindexed-messages", limit=MAX_TIPS_PER_QUERY):
        for row in found:
            for page in pages_of(row["ids"], MAX_ROWS_PER_QUERY):
                done += write_index(namespace, row["conversation"], page, {})
                if progress is not None:
                    progress(done, max(done, total))
    return done


def date_messages(namespace: Namespace, conversation: str, times: Mapping[str, datetime]) -> None:
    """Set when messages of a conversation were said, by their ids; otherwise that is when they were stored."""
    for page in pages_of(list(times), MAX_ROWS_PER_QUERY):
        write_index(namespace, conversation, page, times)


def find_earlier(namespace: Namespace, times: Mapping[str, datetime]) -> dict[str, datetime]:
    """Return those of these times that are earlier than the stored times of their messages."""
    rows = [{"id": id_, "at": in_utc(at)} for id_, at in times.items()]
    found = (
        row["id"]
        for page in pages_of(rows, MAX_ROWS_PER_QUERY)
        for row in namespace.read("recall/said-later", rows=page)
    )
    return {id_: times[id_] for id_ in found}


def write_index(namespace: Namespace, conversation: str, ids: Sequence[str], times: Mapping[str, datetime]) -> int:
    """Write the indexed texts of some messages, and return how many those are."""
    rows = []
    for stored in namespace.read("recall/bodies", ids=list(ids)):
        at = times.get(stored["id"]) or stored["at"].to_native()
        message = NO_MESSAGE if find_wrong({"body": stored["body"]}) else Message(stored["body"])
        rows.append({"id": stored["id"], **index_row(stored["id"], message, at)})
    [written] = namespace.write_query(
        "recall/index-messages",
        namespace_token=namespace.token,
        conversation=conversation,
        **token_parameters(namespace.name, conversation),
        dated=bool(times),
        rows=rows,
    )
    return int(written["indexed"])
