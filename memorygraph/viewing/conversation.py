"""The page of a conversation: versions side by side, training, tool calls, and subagents inside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from memorygraph.json_text import UnreadableRecord, parse_stored_json
from memorygraph.messages.graph import MessageGraph
from memorygraph.messages.history import Attachment, MessageEntry
from memorygraph.messages.message import MESSAGE_KEYS, Message
from memorygraph.viewing.pages import NestedRows, PageRow, flatten_rows, pretty_json, render_page
from memorygraph.viewing.versions import MessageEdit, VersionColumn, Words, arrange_columns, mark_words

MAX_PART_CHARACTERS = 20_000  # of a part that is no text, such as an image
TRAINED, OFF_POLICY, LEFT_OUT = "trained on", "off-policy", "left out of training"


@dataclass(frozen=True)
class PageMessage:
    """A message as the page has it: `words` are its text with what was edited marked.

    `parts` are types and texts, `calls` the names of tools and their arguments.
    """

    anchor: str
    index: int
    role: str
    speaker: str
    words: Words
    parts: tuple[tuple[str, str], ...]
    calls: tuple[tuple[str, str], ...]
    answers: str | None
    others: Mapping[str, Any]
    training: str
    edit: MessageEdit | None
    metadata: Mapping[str, Any]


class ConversationPage:
    """Collects what the page of a conversation shows."""

    def __init__(self, history: MessageGraph) -> None:
        self._history = history
        self._anchors = count(1)
        self._attachments: dict[str, list[Attachment]] = {}
        self._subagents: dict[str, str] = {}
        self.trained = frozenset[str]().union(*(sample.trained for sample in history.training_data().samples))
        self.versions = history.versions()
        self._tools: dict[str, str] = {}
        paths: dict[int, Sequence[MessageEntry]] = {}
        known: dict[str, MessageEntry] = {}  # versions share most of their messages
        for version in self.versions:
            checked_out = history.conversation_at(version.tip)
            paths[version.number] = [known.setdefault(entry.id, entry) for entry in checked_out.entries()]
            # A result may stand in another column than its call.
            self._tools.update(named for entry in paths[version.number] for named in name_calls(entry.message))
            self._keep(checked_out.attachments())
        self.columns = arrange_columns(paths, self.versions)
        self.common = min([column.at for column in self.columns[1:]], default=len(self.columns[0].entries))

    def render(self) -> str:
        """The page."""
        first = self.columns[0]
        shared = tuple(flatten_rows(self.rows(first.entries[: self.common], 0)))
        parted = self.columns if len(self.columns) > 1 else []  # the versions that stand side by side
        columns = [(column, tuple(flatten_rows(self.column_rows(column)))) for column in parted]
        return render_page(
            "conversation.html",
            name=self._history.name,
            messages=sum(len(column.entries) for column in self.columns),
            trained=len(self.trained),
            versions=self.versions,
            current=self._history.version.number,
            common=self.common,
            shared=shared,
            columns=columns,
        )

    def column_rows(self, column: VersionColumn) -> NestedRows:
        """The messages of a version that stand in its own column."""
        at = max(column.at, self.common)
        return self.rows(column.entries[at - column.at :], at, column)

    def rows(self, entries: Sequence[MessageEntry], at: int, column: VersionColumn | None = None) -> NestedRows:
        """Messages with the conversations of subagents inside them."""
        tools = dict(self._tools)
        for index, entry in enumerate(entries, at):
            if column and index in column.removed:
                yield PageRow("removed", [*map(self._show_removed, column.removed[index])])
            tools.update(name_calls(entry.message))
            attachments = self._attachments.get(entry.id, [])
            edit = column.edits.get(index) if column else None
            yield PageRow("message", self._show(index, entry, attachments, edit, tools))
            # What was last attached counts, as for `MessageGraph.subgraph`.
            if inner := next((each.subgraph for each in reversed(attachments) if each.subgraph), None):
                yield self.subagent_rows(inner)
            yield PageRow("message_end")
        if column and (end := at + len(entries)) in column.removed:
            yield PageRow("removed", [*map(self._show_removed, column.removed[end])])

    def subagent_rows(self, tip: str) -> NestedRows:
        """The conversation of a subagent, or where the page shows it already."""
        if tip in self._subagents:
            yield PageRow("again", self._subagents[tip])
            return
        inner = self._history.conversation_at(tip)
        self._keep(inner.attachments())
        anchor = self._subagents[tip] = f"s{next(self._anchors)}"
        yield PageRow("subagent", (anchor, len(inner)))
        yield self.rows(inner.entries(), 0)
        yield PageRow("subagent_end")

    def _show(
        self,
        index: int,
        entry: MessageEntry,
        attachments: Sequence[Attachment],
        edit: MessageEdit | None,
        tools: Mapping[str, str],
    ) -> PageMessage:
        message = entry.message
        edited = edit is not None and edit.kind == "edited" and edit.before is not None
        words = mark_words(edit.before.text, message.text) if edited else (("same", message.text),)  # type: ignore[union-attr]
        answers = None if message.role != "tool" else tools.get(message.tool_call_id or "", message.tool_call_id or "")
        return PageMessage(
            anchor=f"m{next(self._anchors)}",
            index=index,
            role=message.role,
            speaker=message.name or "",
            words=tuple((kind, text) for kind, text in words if text),
            parts=tuple(other_parts(message)),
            calls=tuple(read_calls(message)),
            answers=answers,
            others={key: value for key, value in message.as_dict().items() if key not in MESSAGE_KEYS},
            training=self._training(entry),
            edit=edit,
            metadata=attachments[-1].metadata if attachments else {},
        )

    def _training(self, entry: MessageEntry) -> str:
        if not entry.message.is_assistant:
            return ""
        return TRAINED if entry.id in self.trained else OFF_POLICY if entry.off_policy else LEFT_OUT

    def _show_removed(self, message: Message) -> tuple[str, str]:
        return message.role, message.text or pretty_json(message.as_dict())

    def _keep(self, attachments: Iterable[Attachment]) -> None:
        for attachment in attachments:
            kept = self._attachments.setdefault(attachment.message_id, [])
            if attachment not in kept:
                kept.append(attachment)


def read_calls(message: Message) -> Iterator[tuple[str, str]]:
    """The tools that a message calls, and their arguments, indented if they are JSON."""
    for call in message.tool_calls:
        function = call.get("function") or call.get("custom")
        called = function if isinstance(function, Mapping) else call
        given = called.get("arguments", called.get("input", ""))
        yield str(called.get("name") or call.get("type") or "a tool"), show_arguments(given)


def show_arguments(given: Any) -> str:
    """The arguments of a call as text."""
    if not isinstance(given, str):
        return pretty_json(given)
    try:
        return pretty_json(parse_stored_json(given))
    except UnreadableRecord:
        return given


def name_calls(message: Message) -> Iterator[tuple[str, str]]:
    """The ids of the tool calls of a message, with the names of the tools."""
    for call, (tool, _) in zip(message.tool_calls, read_calls(message), strict=True):
        yield str(call.get("id")), tool


def other_parts(message: Message) -> Iterator[tuple[str, str]]:
    """The parts of the content that are no texts: their types, and their JSON, which is cut where it is very long."""
    content = message.content
    for part in content if isinstance(content, list) else ():
        if "text" not in part:
            text = pretty_json(part)
            if (more := len(text) - MAX_PART_CHARACTERS) > 0:
                text = f"{text[:MAX_PART_CHARACTERS]}… {more} more characters"
            yield str(part.get("type") or "part"), text


def render_conversation(history: MessageGraph) -> str:
    """Render a conversation with all of its versions as one HTML page."""
    return ConversationPage(history).render()
