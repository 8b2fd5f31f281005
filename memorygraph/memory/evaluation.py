"""The evidence recall of `recall`, on conversations in the LoCoMo format.

Each conversation is stored in a namespace of its own, and each question is asked there. Its figures are the shares of
the turns that answer it among the first 5, 10 and 20.

The format: one JSON file a conversation, with lists `session_1`, `session_2` … of turns `{speaker, dia_id, text}`,
`session_1_date_time` (`1:56 pm on 8 May, 2023`), `session_1_observation` (for each speaker a list of `[fact, dia_id]`),
and `qa`, a list of `{question, evidence, category}`. The lists may also stand under `conversation` and `observation`,
as in the data set itself.
"""

from __future__ import annotations

import re
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from memorygraph.errors import MemoryGraphError
from memorygraph.graph.connection import Connection
from memorygraph.graph.namespace import Namespace, drop_namespace
from memorygraph.json_text import parse_json
from memorygraph.memory.recall import recall_hits
from memorygraph.memory.vectors import Embedder, embed_missing
from memorygraph.messages.graph import MessageGraph
from memorygraph.messages.indexing import MONTHS, date_messages
from memorygraph.messages.neo4j_storage import Neo4jStorage, drop_conversations

DEPTHS = (5, 10, 20)
CONVERSATION = "conversation"

_TURN_ID = re.compile(r"\bD\d+:\d+\b")
_TIME = re.compile(r"(\d{1,2}):(\d\d) ([ap])m on (\d{1,2}) ([A-Z][a-z]+), (\d{4})")


class ConversationTurn(NamedTuple):
    """One turn of a conversation."""

    id: str
    speaker: str
    text: str
    at: datetime


class Evidence(NamedTuple):
    """The turns that answer a question, and its category."""

    turns: frozenset[str]
    category: str


JudgedRanking = tuple[Evidence, Sequence[str]]


@dataclass(frozen=True)
class RecallFigures:
    """The share of the evidence among the first 5, 10 and 20 hits, in percent, as a mean over the questions."""

    questions: int
    recall_at_5: float
    recall_at_10: float
    recall_at_20: float

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {name: round(value, 1) for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Evaluation:
    """The figures of all questions, and of each category."""

    total: RecallFigures
    categories: Mapping[str, RecallFigures]
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


def evaluate_recall(
    connection: Connection,
    folder: Path,
    *,
    facts: bool,
    embedder: Embedder | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Measure recall on a folder of conversations, with or without the facts that come with them.

    `progress` is called with the number of questions done, and of all. All that is stored for it is deleted again.
    """
    files = sorted(folder.glob("*.json"))
    total = sum(len(questions_of(document)) for document in read_documents(files))
    if not total:
        raise MemoryGraphError(f"no conversation with questions in `{folder}`: it needs *.json in the LoCoMo format")
    judged: list[JudgedRanking] = []
    with ExitStack() as stored:
        # All are stored before the first question: how rare a word is depends on the whole index.
        conversations = [
            stored.enter_context(store_conversation(connection, document, facts, embedder))
            for document in read_documents(files)
        ]
        for document, (namespace, turns) in zip(read_documents(files), conversations, strict=True):
            rankings = []
            for done, ranking in enumerate(rank_turns(document, namespace, turns, embedder), start=len(judged) + 1):
                rankings.append(ranking)
                if progress is not None:
                    progress(done, total)
            # No earlier: nothing of an answer may have an influence on a ranking.
            judged += zip(evidence_of(document), rankings, strict=True)
    # The data set has questions whose evidence is missing: they count for nothing.
    judged = [(evidence, ranking) for evidence, ranking in judged if evidence.turns]
    categories: defaultdict[str, list[JudgedRanking]] = defaultdict(list)
    for each in judged:
        categories[each[0].category].append(each)
    figures = {name: mean_figures(categories[name]) for name in sorted(categories)}
    return Evaluation(mean_figures(judged), figures, facts, None if embedder is None else embedder.name)


def turns_of(document: Mapping[str, Any]) -> list[ConversationTurn]:
    """The turns of a conversation, in their order."""
    sessions = document.get("conversation", document)
    turns: list[ConversationTurn] = []
    for number in session_numbers(sessions, ""):
        at = parse_session_time(sessions.get(f"session_{number}_date_time", ""))
        turns += [
            ConversationTurn(str(turn["dia_id"]), str(turn["speaker"]), str(turn["text"]), at)
            for turn in sessions[f"session_{number}"]
        ]
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
    """The questions, and nothing of their answers."""
    return [str(item["question"]) for item in document["qa"]]


def evidence_of(document: Mapping[str, Any]) -> list[Evidence]:
    """The evidence of each question, without turns that the conversation lacks."""
    known = {turn.id for turn in turns_of(document)}
    return [
        Evidence(frozenset(_TURN_ID.findall(str(item.get("evidence")))) & known, str(item["category"]))
        for item in document["qa"]
    ]


def read_documents(files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Read conversations one by one, and check their format."""
    for file in files:
        try:
            document = parse_json(file.read_text("utf-8"))
            turns_of(document), facts_of(document), evidence_of(document)
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            raise MemoryGraphError(f"`{file}` is not a conversation in the LoCoMo format: {error!r}") from error
        yield document


def session_numbers(holder: Mapping[str, Any], suffix: str) -> list[int]:
    """The numbers in the keys `session_N` with a suffix."""
    found = (re.fullmatch(rf"session_(\d+){suffix}", key) for key in holder)
    return sorted(int(match[1]) for match in found if match)


def parse_session_time(text: str) -> datetime:
    """The time of a session, as the data set writes it; English, whatever the locale."""
    match = _TIME.fullmatch(text)
    if match is None or match[5] not in MONTHS:
        raise ValueError(f"{text!r} is not a time like '1:56 pm on 8 May, 2023'")
    hour = int(match[1]) % 12 + (12 if match[3] == "p" else 0)
    return datetime(int(match[6]), MONTHS.index(match[5]) + 1, int(match[4]), hour, int(match[2]), tzinfo=UTC)


@contextmanager
def store_conversation(
    connection: Connection,
    document: Mapping[str, Any],
    facts: bool,  # noqa: FBT001 - as it was asked for
    embedder: Embedder | None,
) -> Iterator[tuple[Namespace, dict[str, str]]]:
    """Store a conversation in a namespace of its own, with the turn of each message, and delete it at the end."""
    namespace = Namespace(connection, f"evaluate-{uuid.uuid4().hex}")
    turns = turns_of(document)
    try:
        history = MessageGraph(storage=Neo4jStorage(namespace, CONVERSATION))
        history.extend({"role": "user", "name": turn.speaker, "content": turn.text} for turn in turns)
        ids = [entry.id for entry in history.entries()]
        date_messages(namespace, CONVERSATION, dict(zip(ids, (turn.at for turn in turns), strict=True)))
        messages = {turn.id: id_ for turn, id_ in zip(turns, ids, strict=True)}
        rows = [
            {"id": f"fact-{i}", "data": text, "messages": [messages[id_] for id_ in learnt_from if id_ in messages]}
            for i, (text, learnt_from) in enumerate(facts_of(document) if facts else [])
        ]
        namespace.write(lambda transaction: transaction.run("recall/learn", namespace_token=namespace.token, rows=rows))
        if embedder is not None:
            embed_missing(namespace, embedder)
        yield namespace, dict(zip(ids, (turn.id for turn in turns), strict=True))
    finally:
        drop_conversations(namespace)
        drop_namespace(namespace)


def rank_turns(
    document: Mapping[str, Any], namespace: Namespace, turns: Mapping[str, str], embedder: Embedder | None
) -> Iterator[list[str]]:
    """The turns that recall finds for each question, best first."""
    at = turns_of(document)[-1].at
    for question in questions_of(document):
        found = recall_hits(namespace, question, limit=max(DEPTHS), embedder=embedder, at=at, kinds=("message",))
        yield [turns[hit.id] for hit in found.hits]


def mean_figures(judged: Sequence[JudgedRanking]) -> RecallFigures:
    """The figures of some questions, from their evidence and rankings."""
    shares = [
        sum(len(evidence.turns.intersection(ranking[:depth])) / len(evidence.turns) for evidence, ranking in judged)
        for depth in DEPTHS
    ]
    return RecallFigures(len(judged), *(100 * share / max(1, len(judged)) for share in shares))
