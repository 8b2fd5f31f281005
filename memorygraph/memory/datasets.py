"""Conversations with questions that name their evidence, as data sets publish them.

- **LoCoMo** (`snap-research/locomo`): one JSON file a conversation, with lists `session_1`, `session_2` … of turns
  `{speaker, dia_id, text}`, `session_1_date_time` (`1:56 pm on 8 May, 2023`), `session_1_observation` (for each speaker
  a list of `[fact, dia_id]`), and `qa`, a list of `{question, evidence, category}`. The lists may also stand under
  `conversation` and `observation`. A turn may have a `role`; the speakers `user` and `assistant` have those roles.
- **BEAM** (`mohammadtavakoli78/BEAM`): one numbered folder a chat, with `chat_trunecated.json` (so spelt) or else
  `chat.json`, a list of `{turns: [[{role, id, content, time_anchor}]]}`, and in the folder `probing_questions`
  `probing_questions.json`, for each kind of question a list of `{question, source_chat_ids}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from memorygraph.errors import MemoryGraphError
from memorygraph.json_text import parse_json
from memorygraph.messages.indexing import MONTHS

DatasetName = Literal["locomo", "beam"]
ROLES = ("user", "assistant")

_TURN_ID = re.compile(r"\bD\d+:\d+\b")
_TIME = re.compile(r"(\d{1,2}):(\d\d) ([ap])m on (\d{1,2}) ([A-Z][a-z]+), (\d{4})")
_DAY = re.compile(r"([A-Z][a-z]+)-(\d{1,2})-(\d{4})")
_MARK = re.compile(r"\s*->->[^\n]*\Z")  # how BEAM numbers what a user says


class ConversationTurn(NamedTuple):
    """One turn of a conversation; `at` is None where the data set does not say when it was."""

    id: str
    role: str
    speaker: str
    text: str
    at: datetime | None


class Evidence(NamedTuple):
    """The turns that answer a question, and its category."""

    turns: frozenset[str]
    category: str


@dataclass(frozen=True)
class Dataset:
    """How the conversations of a data set are found and read; a document is one conversation with its questions."""

    title: str
    layout: str  # what a folder needs
    find: Callable[[Path], list[Path]]
    read: Callable[[Path], list[Any]]  # a file may hold several
    turns: Callable[[Any], list[ConversationTurn]]
    facts: Callable[[Any], list[tuple[str, tuple[str, ...]]]]
    questions: Callable[[Any], list[str]]  # and nothing of their answers
    evidence: Callable[[Any], list[Evidence]]

    def documents(self, folder: Path) -> Iterator[Any]:
        """Read the conversations of a folder one by one, and check their format."""
        if not folder.is_dir():
            raise MemoryGraphError(f"there is no folder `{folder}`: name the one that holds {self.layout}")
        for path in self.find(folder):
            try:
                documents = self.read(path)
                turns = [self.turns(document) for document in documents]
                for document in documents:
                    self.facts(document), self.questions(document), self.evidence(document)
            except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
                reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
                raise MemoryGraphError(
                    f"`{path}` is not a conversation in the {self.title} format: {reason}"
                ) from error
            if not all(turns):
                raise MemoryGraphError(f"`{path}` is not a conversation in the {self.title} format: it has no turns")
            yield from documents


def read_conversations(path: Path) -> list[Any]:
    """The conversations of a file of LoCoMo: one, or a list of all ten, as it is published now."""
    document = parse_json(path.read_text("utf-8"))
    return document if isinstance(document, list) else [document]


def turns_of(document: Mapping[str, Any]) -> list[ConversationTurn]:
    """The turns of a conversation of LoCoMo, in their order."""
    sessions = document.get("conversation", document)
    turns: list[ConversationTurn] = []
    for number in session_numbers(sessions, ""):
        at = parse_session_time(sessions.get(f"session_{number}_date_time", ""))
        for turn in sessions[f"session_{number}"]:
            speaker = str(turn["speaker"])
            role = str(turn.get("role", speaker if speaker in ROLES else "user"))
            turns.append(ConversationTurn(str(turn["dia_id"]), role, speaker, str(turn["text"]), at))
    return turns


def facts_of(document: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    """The statements about its speakers that come with a conversation, and the turns that each was learnt from."""
    observations = document.get("observation", document)
    return [
        (str(text), tuple(_TURN_ID.findall(str(turns))))
        for number in session_numbers(observations, "_observation")
        for stated in observations[f"session_{number}_observation"].values()
        for text, turns in stated
    ]


def questions_of(document: Mapping[str, Any]) -> list[str]:
    """The questions of a conversation of LoCoMo."""
    return [str(item["question"]) for item in document["qa"]]


def evidence_of(document: Mapping[str, Any]) -> list[Evidence]:
    """The evidence of each question, without turns that the conversation lacks."""
    known = {turn.id for turn in turns_of(document)}
    return [
        Evidence(frozenset(_TURN_ID.findall(str(item.get("evidence")))) & known, str(item["category"]))
        for item in document["qa"]
    ]


def session_numbers(holder: Mapping[str, Any], suffix: str) -> list[int]:
    """The numbers in the keys `session_N` with a suffix."""
    found = (re.fullmatch(rf"session_(\d+){suffix}", key) for key in holder)
    return sorted(int(match[1]) for match in found if match)


def parse_session_time(text: str) -> datetime:
    """The time of a session, as LoCoMo writes it; English, whatever the locale."""
    match = _TIME.fullmatch(text)
    if match is None or match[5] not in MONTHS:
        raise ValueError(f"{text!r} is not a time like '1:56 pm on 8 May, 2023'")
    hour = int(match[1]) % 12 + (12 if match[3] == "p" else 0)
    return datetime(int(match[6]), MONTHS.index(match[5]) + 1, int(match[4]), hour, int(match[2]), tzinfo=UTC)


def find_chats(folder: Path) -> list[Path]:
    """The numbered folders of BEAM's chats, in the order of their numbers."""
    return sorted((path for path in folder.glob("*") if path.name.isdecimal()), key=lambda path: int(path.name))


def read_chat(folder: Path) -> list[Any]:
    """The chat of a folder of BEAM with its questions; its ids refer to the truncated chat, where there is one."""
    truncated = folder / "chat_trunecated.json"
    chat = truncated if truncated.exists() else folder / "chat.json"
    questions = folder / "probing_questions" / "probing_questions.json"
    return [{"chat": parse_json(chat.read_text("utf-8")), "questions": parse_json(questions.read_text("utf-8"))}]


def turns_of_chat(document: Mapping[str, Any]) -> list[ConversationTurn]:
    """The messages of a chat of BEAM, in their order, each with the latest day that was named before it."""
    turns: list[ConversationTurn] = []
    at: datetime | None = None
    for message in (message for batch in document["chat"] for group in batch["turns"] for message in group):
        at = parse_day(message["time_anchor"]) if message.get("time_anchor") else at
        role = str(message["role"])
        turns.append(ConversationTurn(str(message["id"]), role, role, _MARK.sub("", message["content"]), at))
    return turns


def questions_of_chat(document: Mapping[str, Any]) -> list[str]:
    """The questions of a chat of BEAM, kind by kind."""
    return [str(item["question"]) for items in document["questions"].values() for item in items]


def evidence_of_chat(document: Mapping[str, Any]) -> list[Evidence]:
    """The evidence of each question: all messages that it names, under whatever headings."""
    known = {turn.id for turn in turns_of_chat(document)}
    return [
        Evidence(frozenset(named_ids(item.get("source_chat_ids", []))) & known, kind)
        for kind, items in document["questions"].items()
        for item in items
    ]


def named_ids(value: Any) -> Iterator[str]:
    """The ids in a number, a list, or a map of lists."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from named_ids(each)
    else:
        yield str(value)


def parse_day(text: str) -> datetime:
    """A day as BEAM writes it."""
    match = _DAY.fullmatch(text)
    if match is None or match[1] not in MONTHS:
        raise ValueError(f"{text!r} is not a day like 'March-15-2024'")
    return datetime(int(match[3]), MONTHS.index(match[1]) + 1, int(match[2]), tzinfo=UTC)


LOCOMO = Dataset(
    "LoCoMo",
    "*.json",
    lambda folder: sorted(folder.glob("*.json")),
    read_conversations,
    turns_of,
    facts_of,
    questions_of,
    evidence_of,
)
BEAM = Dataset(
    "BEAM",
    "numbered folders with chat.json",
    find_chats,
    read_chat,
    turns_of_chat,
    lambda _document: [],
    questions_of_chat,
    evidence_of_chat,
)
DATASETS: dict[DatasetName, Dataset] = {"locomo": LOCOMO, "beam": BEAM}
"""The formats of `evaluate`, by their names."""
