"""A message as an immutable value, and the hash that is its id.

The identity of a message is its canonical JSON together with the identity of the message before it. So two
conversations that begin alike share their common messages, and no text can pretend to be a second message:
the parts are hashed apart, and never joined.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from typing import Any

from memorygraph.json_text import MAX_JSON_DEPTH, check_json_depth, check_keys, parse_json, parse_stored_json

ROOT = ""  # the parent id of a first message
ATTACHED_KEYS = ("metadata", "subgraph")  # kept beside a message, and no part of its identity
# A domain keeps the hash of a message apart from all other hashes; changing it would change every stored id.
_DOMAIN = b"memorygraph message 1"
_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_BLANK = re.compile(r"[ \t\n\r]")
_TEXT_OR_BLANKS = re.compile(r'("(?:[^"\\]|\\.)*")|[ \t\n\r]+')
MESSAGE_KEYS = ("role", "content", "name", "tool_calls", "tool_call_id")


class Message:
    """One message: a role, a content as text or as a list of parts, and whatever keys it came with.

    A key whose value is None is left out, because clients and servers disagree on writing it, and so is white space
    in the arguments of tool calls (messages that earlier versions stored keep theirs, and their ids). Two messages are
    equal if their canonical JSON is.

    >>> message = Message.of({"role": "user", "content": "Hi", "name": None})
    >>> message.body
    '{"content":"Hi","role":"user"}'
    >>> message.role, message.content
    ('user', 'Hi')
    """

    def __init__(self, body: str) -> None:
        self.body = body

    @classmethod
    def of(cls, value: Any) -> Message:
        """The message in a dict, or in an object that turns into one, such as a message of `openai`.

        The keys `metadata` and `subgraph` are no part of a message (`MessageGraph` keeps them beside it).

        Raises:
            TypeError: the value is not a mapping, or a part of it has the wrong type.
            ValueError: the role is missing, or a value cannot be written as JSON or UTF-8.
        """
        if isinstance(value, Message):
            return value
        fields = {key: item for key, item in as_mapping(value).items() if item is not None and key not in ATTACHED_KEYS}
        role, content = fields.get("role"), fields.get("content")
        if not isinstance(role, str) or not role:
            raise ValueError(f"a message has a role, a text such as 'user', and this has {role!r}")
        if content is not None and not isinstance(content, str):
            check_mappings("content", content, "a text or a list of parts, each a dict")
        if "tool_calls" in fields:
            check_mappings("tool_calls", fields["tool_calls"], "a list of calls, each a dict")
            fields["tool_calls"] = list(map(strip_arguments, fields["tool_calls"]))
        for key in ("name", "tool_call_id"):
            if not isinstance(fields.get(key, ""), str):
                raise TypeError(f"the {key} of a message is a text, and this is {fields[key]!r}")
        return cls(canonical_json(fields))

    @cached_property
    def _fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = parse_stored_json(self.body)
        return fields

    @property
    def role(self) -> str:
        """Who speaks: `system`, `developer`, `user`, `assistant`, `tool`."""
        return str(self._fields["role"])

    @property
    def content(self) -> str | list[Any] | None:
        """The text, or a copy of the list of parts, or None."""
        return self.as_dict().get("content")

    @property
    def text(self) -> str:
        """The content as text: the texts of its parts, one below the other.

        >>> parts = [{"type": "text", "text": "a"}, {"type": "text", "text": None}, {"type": "image_url"}]
        >>> Message.of({"role": "user", "content": parts}).text
        'a'
        """
        content = self._fields.get("content")
        if isinstance(content, str):
            return content
        return "\n".join(str(part["text"]) for part in content or () if part.get("text") is not None)

    @property
    def name(self) -> str | None:
        """The name of the speaker, where there is one."""
        return self._fields.get("name")

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """A copy of the tool calls that the message asks for."""
        return self.as_dict().get("tool_calls") or []

    @property
    def tool_call_id(self) -> str | None:
        """The id of the call that a `tool` message answers."""
        return self._fields.get("tool_call_id")

    @property
    def is_assistant(self) -> bool:
        """Whether its role is that of a model."""
        return self.role == "assistant"

    def as_dict(self) -> dict[str, Any]:
        """A new dict of the message, which the caller may change; the known keys come first."""
        fields: dict[str, Any] = parse_stored_json(self.body)
        return {key: fields[key] for key in MESSAGE_KEYS if key in fields} | fields

    def __eq__(self, other: object) -> bool:
        return self.body == other.body if isinstance(other, Message) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.body)

    def __repr__(self) -> str:
        return f"Message.of({self.as_dict()!r})"


def message_id(message: Message, parent: str = ROOT) -> str:
    """The id of a message that follows the message `parent`."""
    return digest(_DOMAIN, parent, message.body)


def chain(messages: Iterable[Message], parent: str = ROOT) -> list[str]:
    """The ids of messages that follow one another, the first of them `parent`."""
    ids = []
    for message in messages:
        parent = message_id(message, parent)
        ids.append(parent)
    return ids


def digest(domain: bytes, owner: str, body: str) -> str:
    """The SHA-256 of a text that belongs to an id; line breaks keep the three parts apart."""
    return sha256(b"%b\n%b\n%b" % (domain, owner.encode(), body.encode())).hexdigest()


def canonical_json(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no blanks, and nothing that JSON or UTF-8 would change."""
    try:
        check_keys(value, "a message")
        text = _ENCODER.encode(value)
        # JSON writes half of a surrogate pair, and UTF-8 does not.
        text.encode()
        check_json_depth(text)
    except UnicodeEncodeError as error:
        raise ValueError(f"a message holds half of a surrogate pair, which UTF-8 cannot write: {error}") from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"a message is nested more than {MAX_JSON_DEPTH} levels deep") from error
    return text


def strip_arguments(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool call whose arguments have no white space between their tokens: programs write the same ones differently.

    Arguments that are not JSON stay as they are, and so do the order of the keys and every text.
    """
    function = call.get("function")
    arguments = function.get("arguments") if isinstance(function, Mapping) else None
    if not isinstance(arguments, str) or not _BLANK.search(arguments):
        return call
    try:
        parse_json(arguments)
    except (ValueError, RecursionError):
        return call
    stripped = _TEXT_OR_BLANKS.sub(lambda match: match[1] or "", arguments)
    return {**call, "function": {**as_mapping(function), "arguments": stripped}}


def as_mapping(value: Any) -> Mapping[str, Any]:
    """A message as a mapping: itself, or the result of its `model_dump` or `as_dict`."""
    if isinstance(value, Message):
        return value.as_dict()
    dump = getattr(value, "model_dump", None)
    mapping = dump(mode="json") if callable(dump) else value
    if not isinstance(mapping, Mapping):
        raise TypeError(f"a message is a dict with a role and a content, and this is a {type(value).__name__}")
    return mapping


def check_mappings(key: str, value: Any, expected: str) -> None:
    """Refuse a key of a message that is not a list of mappings."""
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(v, Mapping) for v in value):
        raise TypeError(f"the {key} of a message is {expected}, and this is {value!r}")
