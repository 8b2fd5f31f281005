"""The transcript of an agent as messages: what the user and the model said, and the tools that it used.

A transcript is a file of JSON lines. Each that has a `uuid` names the line before it by `parentUuid`, so that a turn
that was taken back is a branch; the conversation is the path to the last line, and a damaged line hides none before
it. A line holds one part of an answer: the lines with the same `message.id` are one message. What the user types while
the agent works is an attachment, and a command with its arguments is written with tags: the user said both. What the
agent itself puts between (thoughts, reminders, notifications, summaries of what stands above, errors of the API) was
not said by anybody, and is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memorygraph.errors import MemoryGraphError, NotFoundError
from memorygraph.home import expand_user
from memorygraph.json_text import join_halves_within, parse_json
from memorygraph.masking import mask_secrets, mask_values
from memorygraph.messages.pending import TranscriptRef

MAX_TRANSCRIPT_BYTES = 256 << 20
MAX_RESULT_CHARACTERS = 4_000  # of what a tool answered: the rest is in a file or can be had again
CUT = "\n[... {} characters more]"

_OWN_END = "</system-reminder>"
_OWN = re.compile(rf"<system-reminder>.*?{_OWN_END}", re.DOTALL)
_COMMAND = re.compile(r"\s*<command-(?:name|message|args)>")
_COMMAND_NAME = re.compile(r"<command-name>\s*/?([^<\s]+)\s*</command-name>")
_COMMAND_ARGUMENTS = "<command-args>", "</command-args>"
_OF_AGENT = re.compile(
    r"\s*(?:<(?:local-command-\w+|bash-(?:input|stdout|stderr)|task-notification)>"
    r"|\[Request interrupted by user(?: for tool use)?\]\s*$)"
)
_HALF_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F]")  # of a text that was cut within one, or of a whole one
_LEFT_OUT = ("isMeta", "isCompactSummary", "isApiErrorMessage", "isVisibleInTranscriptOnly")


class TranscriptTooLongError(MemoryGraphError):
    """A transcript is longer than can be kept, and will be no shorter."""


@dataclass(frozen=True)
class SaidMessage:
    """A message of a transcript, and when it was said, where the transcript tells."""

    message: Mapping[str, Any]
    at: datetime | None = None

    def __str__(self) -> str:
        shown = {key: value for key, value in self.message.items() if key != "role"}
        if shown.keys() == {"content"}:
            return f"{self.message['role']}: {shown['content']}"
        return f"{self.message['role']}: {json.dumps(shown, ensure_ascii=False)}"


def read_transcript(ref: TranscriptRef) -> list[SaidMessage]:
    """Read the messages of a transcript, with every secret masked.

    Raises:
        NotFoundError: there is no such file.
        MemoryGraphError: it cannot be read, or is too long.
    """
    path = expand_user(ref.path)
    try:
        if path.stat().st_size > MAX_TRANSCRIPT_BYTES:
            raise TranscriptTooLongError(f"the transcript {path} is longer than {MAX_TRANSCRIPT_BYTES >> 20} MiB")
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        raise NotFoundError(f"there is no transcript {path}") from None
    except OSError as error:
        raise MemoryGraphError(f"the transcript {path} cannot be read: {error}") from None
    return list(said_in(path_of_lines(parse_entries(lines), of_subagent=ref.of_subagent)))


def parse_entries(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the objects of JSON lines; what is none, such as a last line that is still being written, is left out.

    Half of a character, where a text was cut within one, is replaced: no database can hold it.
    """
    for line in lines:
        try:
            entry = parse_json(line)
            if _HALF_CHARACTER.search(line):
                entry = join_halves_within(entry)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry


def path_of_lines(entries: Iterable[dict[str, Any]], *, of_subagent: bool) -> list[dict[str, Any]]:
    """Return the lines from the first to the last, without the branches that were left.

    Of the transcript of a session, the lines of its subagents are left out, which older agents wrote into it.
    """
    known: dict[str, dict[str, Any]] = {}
    before: dict[int, dict[str, Any] | None] = {}
    last: dict[str, Any] | None = None
    said: list[dict[str, Any]] = []
    for entry in map(unfold_queued, entries):
        if entry.get("isSidechain") and not of_subagent:
            continue
        before[id(entry)] = last
        if isinstance(uuid := entry.get("uuid"), str):
            known[uuid] = last = entry
        if entry.get("type") in {"user", "assistant"} and isinstance(entry.get("message"), dict):
            said.append(entry)
    on_path, ids = set[int](), set[str]()
    found = said[-1] if said and "uuid" in said[-1] else None
    if found is None:
        return said
    while found is not None:
        on_path.add(id(found))
        ids |= part_ids(found)
        known.pop(str(found.get("uuid")), None)  # a line is never its own ancestor
        # The line after a summary begins a new tree, and names the line before by another key.
        parent = found.get("parentUuid") or found.get("logicalParentUuid")
        # Where the line of the parent is damaged or missing, the one before it in the file is the nearest that is left.
        found = known.get(str(parent), before[id(found)]) if parent else None
    # Of several tools that are used at once, only the last result has the next line after it.
    return [entry for entry in said if id(entry) in on_path or part_ids(entry) & ids]


def unfold_queued(entry: dict[str, Any]) -> dict[str, Any]:
    """Return what the user typed while the agent worked, which is an attachment, as the line that it is otherwise.

    Older agents name no origin of it. Notifications and messages of other agents wait in the same queue.
    """
    queued = entry.get("attachment")
    if entry.get("type") != "attachment" or not isinstance(queued, dict) or queued.get("type") != "queued_command":
        return entry
    if queued.get("commandMode") != "prompt" or queued.get("isMeta") or not is_of_human(queued):
        return entry
    return {**entry, "type": "user", "message": {"role": "user", "content": queued.get("prompt")}}


def is_of_human(entry: Mapping[str, Any]) -> bool:
    """Tell whether a person typed something: it says so, or nothing of where it comes from."""
    origin = entry.get("origin")
    return not isinstance(origin, dict) or origin.get("kind") in {None, "human"}


def part_ids(entry: Mapping[str, Any]) -> set[str]:
    """Return the ids by which a line belongs to others: of its answer of the model, and of the tools it is about."""
    message = entry.get("message")
    if not isinstance(message, dict):
        return set()
    parts = [part for part in message.get("content") or () if isinstance(part, dict)]
    found = {part.get("tool_use_id") for part in parts} | {part.get("id") for part in parts} | {message.get("id")}
    return {each for each in found if isinstance(each, str)}


def said_in(entries: Sequence[Mapping[str, Any]]) -> Iterator[SaidMessage]:
    """Yield the messages in the lines of a path."""
    answers: dict[Any, list[Any]] = {}
    kept = [entry for entry in entries if not any(entry.get(name) for name in _LEFT_OUT)]
    for entry in kept:
        if entry["type"] == "assistant":
            content = entry["message"].get("content")
            parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
            answers.setdefault(answer_id(entry), []).extend(parts)
    for entry in kept:
        if entry["type"] == "user":
            yield from user_messages(entry["message"].get("content"), time_of(entry))
        elif parts := answers.pop(answer_id(entry), []):
            yield from assistant_message(parts, time_of(entry))


def answer_id(entry: Mapping[str, Any]) -> Any:
    """Return what the lines of one answer have in common."""
    return entry["message"].get("id") or entry.get("uuid") or id(entry)


def assistant_message(parts: Iterable[Any], at: datetime | None) -> Iterator[SaidMessage]:
    """Yield the message of a model, if its parts say something or call a tool."""
    texts: list[str] = []
    calls: list[dict[str, Any]] = []
    for part in parts:
        if not isinstance(part, dict):
            continue
        if part.get("type") == "text" and isinstance(part.get("text"), str):
            texts.append(mask_secrets(part["text"]).strip())
        elif part.get("type") == "tool_use":
            arguments = json.dumps(mask_values(part.get("input")), ensure_ascii=False)
            function = {"name": str(part.get("name")), "arguments": cut(arguments)}
            calls.append({"id": str(part.get("id")), "type": "function", "function": function})
    text = "\n\n".join(filter(None, texts))
    said = {**({"content": text} if text else {}), **({"tool_calls": calls} if calls else {})}
    if said:
        yield SaidMessage({"role": "assistant", **said}, at)


def user_messages(content: Any, at: datetime | None) -> Iterator[SaidMessage]:
    """Yield what the user said, and what tools answered, which stands in the user's lines too."""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts: list[str] = []
    for part in parts:
        if not isinstance(part, dict):
            continue
        if part.get("type") == "tool_result":
            answer = {"role": "tool", "tool_call_id": str(part.get("tool_use_id"))}
            yield SaidMessage({**answer, "content": mask_result(text_of(part.get("content")))}, at)
        elif isinstance(part.get("text"), str):
            texts.append(mask_secrets(typed_text(part["text"])).strip())
        elif part.get("type") in {"image", "document"}:
            texts.append(f"[{part['type']}]")
    if text := "\n\n".join(filter(None, texts)):
        yield SaidMessage({"role": "user", "content": text}, at)


def typed_text(text: str) -> str:
    r"""Return what the user typed of a text in the user's lines; empty where the agent wrote it.

    >>> typed_text("<command-name>/review</command-name>\n<command-args>the mailer</command-args>")
    '/review the mailer'
    """
    if _OF_AGENT.match(text):
        return ""
    if not _COMMAND.match(text):
        return without_own(text)
    begin, end = _COMMAND_ARGUMENTS
    name, arguments = _COMMAND_NAME.search(text), text.partition(begin)[2].rpartition(end)[0].strip()
    return f"/{name[1]} {arguments}" if name and arguments else ""


def without_own(text: str) -> str:
    """Return what a user said, without the reminders that the agent has put in.

    >>> without_own("Hi<system-reminder>Today is Monday.</system-reminder>, Ada")
    'Hi, Ada'
    """
    # Each that begins after the last end would look for its end in all that follows.
    before, end, after = text.rpartition(_OWN_END)
    return _OWN.sub("", before + end) + after


def text_of(content: Any) -> str:
    """Return the text of a tool's answer, which is a text or a list of parts."""
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        return "\n".join(f"[{part.get('type')}]" if part.get("text") is None else str(part["text"]) for part in parts)
    if content is None:
        return ""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def mask_result(text: str) -> str:
    """Return what is kept of a tool's answer, with its secrets masked.

    Of a long one only the beginning is looked at, and more of it where so much was masked that what is kept may end
    near a secret that is cut in two.
    """
    begin = text[: 4 * MAX_RESULT_CHARACTERS]
    masked = mask_secrets(begin)
    if len(masked) < len(begin) / 2:
        return cut(mask_secrets(text))
    return cut(masked, len(text) - len(begin))


def cut(text: str, more: int = 0) -> str:
    """Return a text that is not too long, and says what was cut off, with the characters that follow it.

    >>> cut("x" * 4_010)[-24:]
    '[... 10 characters more]'
    """
    kept = text[:MAX_RESULT_CHARACTERS]
    more += len(text) - len(kept)
    return kept + CUT.format(more) if more else kept


def time_of(entry: Mapping[str, Any]) -> datetime | None:
    """Return when a line was written."""
    try:
        at = datetime.fromisoformat(str(entry.get("timestamp")))
    except ValueError:
        return None
    return at if at.tzinfo else None
