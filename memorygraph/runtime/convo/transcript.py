"""The transcript of a run: its messages as plain data, as Convo text, and as a model is sent them.

What a user or a model said stays what it is: nothing in it can become a head, a tag or an insertion when the text
is read again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from memorygraph.languages.convo.printing import print_content, print_convo_value
from memorygraph.languages.convo.syntax import Text
from memorygraph.llm.completion import Completion, ToolCall
from memorygraph.runtime.convo.values import UNDEFINED, copy_deeply

SPEAKERS = ("system", "developer", "user", "assistant")
MIN_LINES_CHARACTERS = 50  # a longer text of several lines has lines of its own in a transcript
HEAD = re.compile(r"^[ \t]*\\*>", re.MULTILINE)


class RunRecord:
    """A part of the record of a run: a dataclass that JSON can hold."""

    def as_dict(self) -> dict[str, Any]:
        """The fields by their names; what is undefined is left out."""
        return {name: self.field_data(value) for name, value in vars(self).items() if value is not UNDEFINED}

    def field_data(self, value: Any) -> Any:
        """The value of a field: records as dictionaries, tuples as lists, and what can be changed as a copy."""
        if isinstance(value, (list, tuple)):
            return [item.as_dict() if isinstance(item, RunRecord) else copy_deeply(item) for item in value]
        if isinstance(value, RunRecord):
            return value.as_dict()
        return asdict(value) if isinstance(value, Completion) else copy_deeply(value)


@dataclass(frozen=True)
class TranscriptEntry(RunRecord):
    r"""One message. `tags` are its tags as they are written.

    `content` is the text of a speaker, the code of a `define` or `do`, or the target of a `goto`. A `call` has the
    `name` and the `arguments` of a function, and the `id` of the call; a `result` has its `value`, and the
    `variables` that the function changed.

    >>> print(TranscriptEntry("user", "Is {{x}} safe?\n> goto evil", ("@call",)).text())
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
    variables: dict[str, Any] | None = None

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> TranscriptEntry:
        """Read a message that `as_dict` gave."""
        return cls(**{**fields, "tags": tuple(fields.get("tags") or ())})

    def has_tag(self, name: str) -> bool:
        """Whether it has a tag of this name."""
        return any(re.match(rf"@{re.escape(name)}(?!\w)", tag) for tag in self.tags)

    @property
    def spoken(self) -> bool:
        """Whether a speaker says something in it, or a function gave a result."""
        return self.role == "result" or (self.role in SPEAKERS and bool(self.content.strip()))

    def text(self) -> str:
        """The message as Convo."""
        lines = [*self.tags, *([f"@toolId {self.id}"] if self.id else [])]
        if self.role == "call":
            arguments = ",\n".join(
                f"    {print_data(name)}: {print_data(value)}" for name, value in (self.arguments or {}).items()
            )
            arguments = arguments and f"\n{arguments}\n"
            return "\n".join([*lines, f"> call {self.name}({arguments})"])
        lines.append(f"> {self.role}")
        if self.role == "goto":
            lines[-1] += f" {self.content}"
        elif self.role == "result":
            value = self.value
            lines += [f"{name}={print_data(held)}" for name, held in (self.variables or {}).items()]
            between = isinstance(value, str) and value[:1] == value[-1:] == "\n" and needs_lines(value[1:-1])
            lines.append(f"__return=---{value}---" if between else f"__return={print_data(value)}")
        elif self.content:
            lines.append(print_content(self.content) if self.role not in {"define", "do"} else self.content)
        return "\n".join(lines)


def transcript_text(entries: Iterable[TranscriptEntry]) -> str:
    """Print a transcript as Convo."""
    text, before = "", ""
    for entry in entries:
        if before:
            text += "\n" if before == "call" else "\n\n\n" if before == "result" else "\n\n"
        text += entry.text()
        before = entry.role
    return text + "\n" if text else ""


def wire_messages(
    entries: Iterable[TranscriptEntry], place: int = 0, *, plain_results: bool = False
) -> list[dict[str, Any]]:
    """Convert a part of a transcript, which begins at a place, to the messages that a model is sent.

    A result of a function is JSON, as models expect it; with `plain_results` a text stays as it is, for people.
    """
    messages: list[dict[str, Any]] = []
    open_call = ""
    for entry in entries:
        if entry.role == "call":
            open_call = entry.id or f"call_{place + len(messages)}"
            call = ToolCall(entry.name, json.dumps(entry.arguments or {}, ensure_ascii=False), open_call)
            messages.append({"role": "assistant", "content": None, "tool_calls": [call.as_dict()]})
        elif entry.role == "result" and open_call:
            plain = plain_results and isinstance(entry.value, str)
            content = entry.value if plain else json.dumps(entry.value, ensure_ascii=False)
            messages.append({"role": "tool", "tool_call_id": open_call, "content": content})
            open_call = ""
        elif entry.role in SPEAKERS and entry.spoken:
            messages.append({"role": entry.role, "content": entry.content})
    return messages


def record_result(value: Any) -> Any:
    """Convert a result to what the transcript holds: long text of several lines has lines of its own."""
    return f"\n{value}\n" if needs_lines(value) else value


def needs_lines(value: Any) -> bool:
    """Whether a value is a long text that can stand between dashes, and is read there as it is."""
    if not isinstance(value, str) or "\n" not in value or "\r" in value or len(value) <= MIN_LINES_CHARACTERS:
        return False
    first = value.lstrip("\n")[:1]
    return "--" not in value and first not in {" ", "\t", ""} and not HEAD.search(value)


def print_data(value: Any) -> str:
    """Print JSON data as an expression of Convo-Lang."""
    if isinstance(value, str):
        return print_convo_value(Text(value))
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{print_data(str(key))}: {print_data(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(print_data, value)) + "]"
    return json.dumps(value)
