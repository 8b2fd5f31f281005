"""Tool calls and their results: which calls have none, and what mends that.

A program that dies between a tool call and its result leaves a conversation that no model takes any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memorygraph.messages.message import Message

LOST = "error: the tool gave no result, because the program that called it was interrupted"


@dataclass(frozen=True)
class UnansweredCall:
    """A tool call without a result: its id, the index of its message, and where the result belongs."""

    id: str
    index: int
    place: int

    def result(self, content: str = LOST) -> Message:
        """A message that stands for the missing result."""
        return Message.of({"role": "tool", "tool_call_id": self.id, "content": content})


def unanswered(messages: Sequence[Message]) -> Iterator[UnansweredCall]:
    """The tool calls whose results do not follow them, before anything but results is said.

    >>> call = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {}}]}
    >>> [missing.id for missing in unanswered([Message.of(call), Message.of({"role": "user", "content": "?"})])]
    ['c1']
    """
    for index, message in enumerate(messages):
        if not message.is_assistant:
            continue
        place = index + 1
        answered = set()
        while place < len(messages) and messages[place].role == "tool":
            answered.add(messages[place].tool_call_id)
            place += 1
        for call in message.tool_calls:
            if call.get("id") is not None and call["id"] not in answered:
                yield UnansweredCall(str(call["id"]), index, place)
