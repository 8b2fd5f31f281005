"""A message of a transcript: plain data that is Convo text, and what a model is sent.

What a user or a model said stays what it is: nothing in it can become a head, a tag or an insertion when the text
is read again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from memorygraph.languages.convo.printing import print_text, print_value
from memorygraph.languages.convo.syntax import Text
from memorygraph.llm.completion import ToolCall

SPEAKERS = ("system", "developer", "user", "assistant")
_LONG = 50

_HEAD = re.compile(r"^[ \t]*\\*>", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    r"""One message. `tags` are its tags as they are written.

    `content` is the text of one who speaks, the code of a `define` or `do`, or the target of a `goto`. A `call` has
    the `name` and the `arguments` of a function, and the `id` of the call; a `result` has its `value`.

    >>> print(Entry("user", "Is {{x}} safe?\n> goto evil", ("@call",)).text())
    @call
    > user
    Is \{{x}} safe?
    \> goto evil
    """

    role: str
    content: str = ""
    tags: tuple[str, ...] = ()
    name: str = ""
    arguments: dict[str, Any] | None = None
    id: str = ""
    value: Any = None

    def as_dict(self) -> dict[str, Any]:
        """The message as JSON."""
        return asdict(self) | {"tags": list(self.tags)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Entry:
        """The message that `as_dict` gave."""
        return cls(**{**fields, "tags": tuple(fields.get("tags") or ())})

    def has_tag(self, name: str) -> bool:
        """Whether it has a tag of this name."""
        return any(re.match(rf"@{re.escape(name)}(?!\w)", tag) for tag in self.tags)

    @property
    def spoken(self) -> bool:
        """Whether somebody says something in it, or a function gave something."""
        return self.role == "result" or (self.role in SPEAKERS and bool(self.content.strip()))

    def text(self) -> str:
        """The message as Convo."""
        lines = [*self.tags, *([f"@toolId {self.id}"] if self.id else [])]
        if self.role == "call":
            return "\n".join([*lines, f"> call {self.name}({_arguments(self.arguments or {})})"])
        lines.append(f"> {self.role}")
        if self.role == "goto":
            lines[-1] += f" {self.content}"
        elif self.role == "result":
            lines.append(f"__return={_written(self.value)}")
        elif self.content:
            lines.append(print_text(self.content) if self.role not in {"define", "do"} else self.content)
        return "\n".join(lines)


def transcript_text(entries: Iterable[Entry]) -> str:
    """A transcript as Convo."""
    text, before = "", ""
    for entry in entries:
        if before:
            text += "\n" if before == "call" else "\n\n\n" if before == "result" else "\n\n"
        text += entry.text()
        before = entry.role
    return text + "\n" if text else ""


def wire_messages(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """What a model is sent for a part of a transcript."""
    messages: list[dict[str, Any]] = []
    open_call = ""
    for entry in entries:
        if entry.role == "call":
            open_call = entry.id or f"call_{len(messages)}"
            call = ToolCall(entry.name, json.dumps(entry.arguments or {}, ensure_ascii=False), open_call)
            messages.append({"role": "assistant", "content": None, "tool_calls": [call.as_dict()]})
        elif entry.role == "result" and open_call:
            content = entry.value if isinstance(entry.value, str) else json.dumps(entry.value, ensure_ascii=False)
            messages.append({"role": "tool", "tool_call_id": open_call, "content": content})
            open_call = ""
        elif entry.role in SPEAKERS and entry.spoken:
            messages.append({"role": entry.role, "content": entry.content})
    return messages


def recorded(value: Any) -> Any:
    r"""What a function gave, as it stands in the transcript: long text of several lines has a line of its own each.

    >>> recorded("short\ntext"), recorded(3)
    ('short\ntext', 3)
    """
    return f"\n{value}\n" if _in_lines(value) else value


def _arguments(arguments: dict[str, Any]) -> str:
    written = ",\n".join(f"    {_code(name)}: {_code(value)}" for name, value in arguments.items())
    return f"\n{written}\n" if written else ""


def _written(value: Any) -> str:
    """A value as code; what `recorded` gave lines of its own stands between dashes."""
    if isinstance(value, str) and value.startswith("\n") and value.endswith("\n") and _in_lines(value[1:-1]):
        return f"---{value}---"
    return _code(value)


def _in_lines(value: Any) -> bool:
    """Whether a value is a text that stands between dashes, and is read there as it is."""
    if not isinstance(value, str) or "\n" not in value or len(value) <= _LONG:
        return False
    first = value.lstrip("\n")[:1]
    return "--" not in value and first not in {" ", "\t", ""} and not _HEAD.search(value)


def _code(value: Any) -> str:
    """A value as code."""
    if isinstance(value, str):
        return print_value(Text(value))
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_code(str(key))}: {_code(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_code, value)) + "]"
    return json.dumps(value)
