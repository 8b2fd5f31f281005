"""How much of the evidence recall finds, on conversations in the LoCoMo format.

Each conversation is stored in a namespace of its own, and each question asked there; what counts is the share of the
turns that answer it among the first 5, 10 and 20. What a question's answer and evidence are is looked at after all
questions were ranked, and never before.

The format: one JSON file a conversation, with lists `session_1`, `session_2` … of turns `{speaker, dia_id, text}`,
`session_1_date_time` (`1:56 pm on 8 May, 2023`), `session_1_observation` (for each speaker a list of `[fact, dia_id]`),
and `qa`, a list of `{question, evidence, category}`. The lists may also stand under `conversation` and `observation`,
as in the data set itself.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from memorygraph.errors import MemoryGraphError
from memorygraph.graph.connection import Connection
from memorygraph.graph.namespace import Namespace
from memorygraph.graph.namespaces import drop_namespace
from memorygraph.memory.indexing import date_messages
from memorygraph.memory.recall import recall
from memorygraph.memory.vectors import Embedder, embed_missing
from memorygraph.messages.findable import MONTHS
from memorygraph.messages.graph import MessageGraph
from memorygraph.messages.store import Store, drop_conversations

DEPTHS = (5, 10, 20)
CONVERSATION = "conversation"

_TURN_ID = re.compile(r"\bD\d+:\d+\b")
_TIME = re.compile(r"(\d{1,2}):(\d\d) ([ap])m on (\d{1,2}) ([A-Z][a-z]+), (\d{4})")


class Turn(NamedTuple):
    """One turn of a conversation."""

    id: str
    speaker: str
    text: str
    at: datetime


class Fact(NamedTuple):
    """A statement about a speaker, and the turns that it was learnt from."""

    text: str
    turns: tuple[str, ...]


class Evidence(NamedTuple):
    """What answers a question, and of which kind it is."""

    turns: frozenset[str]
    category: str


@dataclass(frozen=True)
class Recall:
    """The shares of the evidence among the first 5, 10 and 20, in percent, on average over the questions."""

    questions: int
    recall_at_5: float
    recall_at_10: float
    recall_at_20: float

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {
            "questions": self.questions,
            "recall_at_5": round(self.recall_at_5, 1),
            "recall_at_10": round(self.recall_at_10, 1),
            "recall_at_20": round(self.recall_at_20, 1),
        }


@dataclass(frozen=True)
class Evaluation:
    """The figures of all questions, and of those of each category."""

    total: Recall
    categories: Mapping[str, Recall]
    facts: bool
    embedder: str | None

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {
            **self.total.as_dict(),
            "categories": {name: figures.as_dict() for name, figures in self.categories.items()},
            "facts": self.facts,
            "embedder": self.embedder,
        }


def evaluate(
    connection: Connection,
    folder: Path,
    *,
    facts: bool,
    embedder: Embedder | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Measure recall on a folder of conversations, with or without the facts that they bring along.

    `progress` is called with the number of questions done, and of all. What is stored for it is deleted again.

    Raises:
        MemoryGraphError: the folder has no conversations, or a file is none.
        ModelError: the embedder failed.
    """
    files = sorted(folder.glob("*.json"))
    total = sum(len(questions_of(document)) for document in _documents(files))
    if not total:
        raise MemoryGraphError(f"no conversation with questions in `{folder}`: it needs *.json in the LoCoMo format")
    done = 0
    results: list[tuple[Evidence, Sequence[str]]] = []
    with ExitStack() as stored:
        # All are stored before the first is asked: how rare a word is depends on all that the index holds.
        places = [
            stored.enter_context(_stored(connection, document, facts, embedder)) for document in _documents(files)
        ]
        for document, place in zip(_documents(files), places, strict=True):
            rankings = []
            for ranking in _ranked(document, place, embedder):
                rankings.append(ranking)
                done += 1
                if progress is not None:
                    progress(done, total)
            # Only now is it read what the answers are.
            results += zip(evidence_of(document), rankings, strict=True)
    return _figures(results, facts=facts, embedder=embedder)


def turns_of(document: Mapping[str, Any]) -> list[Turn]:
    """The turns of a conversation, in their order."""
    sessions = document.get("conversation", document)
    turns: list[Turn] = []
    for number in _sessions(sessions, ""):
        at = _time(sessions.get(f"session_{number}_date_time", ""))
        turns += [
            Turn(str(turn["dia_id"]), str(turn["speaker"]), str(turn["text"]), at)
            for turn in sessions[f"session_{number}"]
        ]
    return turns


def facts_of(document: Mapping[str, Any]) -> list[Fact]:
    """What the conversation brings along of statements about its speakers."""
    observations = document.get("observation", document)
    return [
        Fact(str(text), tuple(_TURN_ID.findall(str(turns))))
        for number in _sessions(observations, "_observation")
        for stated in observations[f"session_{number}_observation"].values()
        for text, turns in stated
    ]


def questions_of(document: Mapping[str, Any]) -> list[str]:
    """The questions, and nothing of their answers."""
    return [str(item["question"]) for item in document["qa"]]


def evidence_of(document: Mapping[str, Any]) -> list[Evidence]:
    """The evidence of each question; turns that are not there are no evidence."""
    known = {turn.id for turn in turns_of(document)}
    return [
        Evidence(frozenset(_TURN_ID.findall(str(item.get("evidence")))) & known, str(item["category"]))
        for item in document["qa"]
    ]


def _documents(files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    for file in files:
        try:
            document = json.loads(file.read_text("utf-8"))
            turns_of(document), facts_of(document), evidence_of(document)
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            raise MemoryGraphError(f"`{file}` is no conversation in the LoCoMo format: {error!r}") from error
        yield document


def _sessions(holder: Mapping[str, Any], suffix: str) -> list[int]:
    found = (re.fullmatch(rf"session_(\d+){suffix}", key) for key in holder)
    return sorted(int(match[1]) for match in found if match)


def _time(text: str) -> datetime:
    """The time of a session, as the data set writes it; English, whatever the locale."""
    match = _TIME.fullmatch(text)
    if match is None or match[5] not in MONTHS:
        raise ValueError(f"{text!r} is no time like '1:56 pm on 8 May, 2023'")
    hour = int(match[1]) % 12 + (12 if match[3] == "p" else 0)
    return datetime(int(match[6]), MONTHS.index(match[5]) + 1, int(match[4]), hour, int(match[2]), tzinfo=UTC)


class Place(NamedTuple):
    """Where a conversation is stored, and which turn each of its messages is."""

    namespace: Namespace
    turns: Mapping[str, str]


@contextmanager
def _stored(
    connection: Connection,
    document: Mapping[str, Any],
    facts: bool,  # noqa: FBT001 - as it was asked for
    embedder: Embedder | None,
) -> Iterator[Place]:
    """Store a conversation in a namespace of its own, until it was asked."""
    namespace = Namespace(connection, f"evaluate-{uuid.uuid4().hex}")
    turns = turns_of(document)
    try:
        ids = _store(namespace, turns, facts_of(document) if facts else [])
        if embedder is not None:
            embed_missing(namespace, embedder)
        yield Place(namespace, dict(zip(ids, (turn.id for turn in turns), strict=True)))
    finally:
        drop_conversations(namespace)
        drop_namespace(namespace)


def _ranked(document: Mapping[str, Any], place: Place, embedder: Embedder | None) -> Iterator[list[str]]:
    """For each question the turns that recall finds, the best first."""
    ended = turns_of(document)[-1].at
    for question in questions_of(document):
        found = recall(
            place.namespace,
            question,
            limit=max(DEPTHS),
            embedder=embedder,
            at=ended,
            kinds=("message",),
        )
        yield [place.turns[hit.id] for hit in found.hits]


def _store(namespace: Namespace, turns: Sequence[Turn], facts: Sequence[Fact]) -> list[str]:
    """Store a conversation with the facts, and return the ids of its messages."""
    history = MessageGraph(storage=Store(namespace, CONVERSATION))
    history.extend({"role": "user", "name": turn.speaker, "content": turn.text} for turn in turns)
    ids = [entry.id for entry in history.entries()]
    date_messages(namespace, CONVERSATION, dict(zip(ids, (turn.at for turn in turns), strict=True)))
    places = {turn.id: id_ for turn, id_ in zip(turns, ids, strict=True)}
    rows = [
        {"id": f"fact-{number}", "data": fact.text, "messages": [places[turn] for turn in fact.turns if turn in places]}
        for number, fact in enumerate(facts)
    ]
    namespace.write(lambda transaction: transaction.run("recall/learn", namespace_token=namespace.token, rows=rows))
    return ids


def _figures(
    results: Sequence[tuple[Evidence, Sequence[str]]], *, facts: bool, embedder: Embedder | None
) -> Evaluation:
    judged = [(evidence, ranking) for evidence, ranking in results if evidence.turns]
    categories = sorted({evidence.category for evidence, _ in judged})
    return Evaluation(
        _average(judged),
        {name: _average([one for one in judged if one[0].category == name]) for name in categories},
        facts,
        None if embedder is None else embedder.name,
    )


def _average(judged: Sequence[tuple[Evidence, Sequence[str]]]) -> Recall:
    shares = [
        sum(len(evidence.turns.intersection(ranking[:depth])) / len(evidence.turns) for evidence, ranking in judged)
        for depth in DEPTHS
    ]
    return Recall(len(judged), *(100 * share / max(1, len(judged)) for share in shares))
