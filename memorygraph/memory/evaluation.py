"""The evidence recall of `recall`, on conversations whose questions name the turns that answer them.

Each conversation is stored in a namespace of its own, and each question is asked there. Its figures are the shares of
the turns that answer it among the first hits, how often all of them are there, and the time that a recall takes.
"""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

from memorygraph.errors import MemoryGraphError
from memorygraph.graph.connection import Connection
from memorygraph.graph.namespace import Namespace, drop_namespace
from memorygraph.memory.datasets import ConversationTurn, Dataset, Evidence
from memorygraph.memory.recall import recall_hits
from memorygraph.memory.vectors import Embedder, embed_missing
from memorygraph.messages.indexing import date_messages
from memorygraph.messages.stored_conversations import open_conversation
from memorygraph.word_parts import parts_of_properties

DEPTHS = (5, 10, 20)
CONVERSATION = "conversation"


class RankedTurns(NamedTuple):
    """The turns of each hit for a question, best first, and the seconds that it took."""

    turns: Sequence[frozenset[str]]
    seconds: float


JudgedRanking = tuple[Evidence, RankedTurns]


@dataclass(frozen=True)
class RecallFigures:
    """Means over some questions, in percent, by the number of hits that count.

    `recall` is the share of the evidence, `complete` how often all of it is there.
    """

    questions: int
    recall: Mapping[int, float]
    complete: Mapping[int, float]

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        shares = {f"recall_at_{depth}": round(share, 1) for depth, share in self.recall.items()}
        return {
            "questions": self.questions,
            **shares,
            **{f"complete_at_{depth}": round(share, 1) for depth, share in self.complete.items()},
        }


@dataclass(frozen=True)
class Evaluation:
    """The figures of all questions, and of each category, and the milliseconds of a recall."""

    total: RecallFigures
    categories: Mapping[str, RecallFigures]
    facts: bool
    embedder: str | None
    messages: int
    p50_ms: float
    p95_ms: float

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {
            **self.total.as_dict(),
            "categories": {name: figures.as_dict() for name, figures in self.categories.items()},
            "facts": self.facts,
            "embedder": self.embedder,
            "messages": self.messages,
            "p50_ms": round(self.p50_ms, 1),
            "p95_ms": round(self.p95_ms, 1),
        }


@dataclass
class StoredConversation:
    """A conversation in a namespace of its own, and the turns of each message: those that say the same at its time."""

    namespace: Namespace
    document: Any
    turns: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class RecallEvaluator:
    """Measures recall on conversations of one format, with or without the `facts` that come with them."""

    connection: Connection
    dataset: Dataset
    depths: Sequence[int] = DEPTHS
    facts: bool = False
    embedder: Embedder | None = None

    def run(self, folder: Path, progress: Callable[[int, int], None] | None = None) -> Evaluation:
        """Store the conversations of a folder, ask all of their questions, and delete them again.

        `progress` is called with the number of questions done, and of all.
        """
        total = sum(len(self.dataset.questions(document)) for document in self.dataset.documents(folder))
        if not total:
            needed = f"{self.dataset.layout} in the {self.dataset.title} format"
            raise MemoryGraphError(f"no conversation with questions in `{folder}`: it needs {needed}")
        with ExitStack() as stored:
            # All are stored before the first question: how rare a word is depends on the whole index.
            conversations = [stored.enter_context(self.store(each)) for each in self.dataset.documents(folder)]
            judged: list[JudgedRanking] = []
            for conversation in conversations:
                rankings: list[RankedTurns] = []
                for ranking in self.rank_turns(conversation):
                    rankings.append(ranking)
                    if progress is not None:
                        progress(len(judged) + len(rankings), total)
                # No earlier: nothing of an answer may have an influence on a ranking.
                judged += zip(self.dataset.evidence(conversation.document), rankings, strict=True)
        return self.sum_up(judged, sum(len(conversation.turns) for conversation in conversations))

    @contextmanager
    def store(self, document: Any) -> Iterator[StoredConversation]:
        """Store a conversation in a namespace of its own, and delete it at the end."""
        namespace = Namespace(self.connection, f"evaluate-{uuid.uuid4().hex}")
        turns = self.dataset.turns(document)
        try:
            history = open_conversation(namespace, CONVERSATION)
            names = ({} if turn.speaker == turn.role else {"name": turn.speaker} for turn in turns)
            history.extend(
                {"role": turn.role, **name, "content": turn.text} for turn, name in zip(turns, names, strict=True)
            )
            ids = [entry.id for entry in history.entries()]
            times = {id_: turn.at for id_, turn in zip(ids, turns, strict=True) if turn.at is not None}
            date_messages(namespace, CONVERSATION, times)
            if self.facts:
                messages = {turn.id: id_ for turn, id_ in zip(turns, ids, strict=True)}
                self.store_facts(namespace, document, messages)
            if self.embedder is not None:
                embed_missing(namespace, self.embedder)
            same = defaultdict[ConversationTurn, set[str]](set)  # of which recall finds one
            for turn in turns:
                same[turn._replace(id="")].add(turn.id)
            turn_ids = {id_: frozenset(same[turn._replace(id="")]) for turn, id_ in zip(turns, ids, strict=True)}
            yield StoredConversation(namespace, document, turn_ids)
        finally:
            drop_namespace(namespace)

    def store_facts(self, namespace: Namespace, document: Any, messages: Mapping[str, str]) -> None:
        """Store the facts that come with a conversation, each joined to the messages that it was learnt from."""
        rows = [
            {
                "id": f"fact-{i}",
                "data": text,
                "messages": [messages[id_] for id_ in learnt_from if id_ in messages],
                **parts_of_properties({"data": text}),
            }
            for i, (text, learnt_from) in enumerate(self.dataset.facts(document))
        ]
        namespace.write_query("recall/learn", namespace_token=namespace.token, rows=rows)

    def rank_turns(self, conversation: StoredConversation) -> Iterator[RankedTurns]:
        """The turns that recall finds for each question, best first."""
        at = self.dataset.turns(conversation.document)[-1].at
        for question in self.dataset.questions(conversation.document):
            start = time.perf_counter()
            found = recall_hits(
                conversation.namespace,
                question,
                limit=max(self.depths),
                embedder=self.embedder,
                at=at,
                kinds=("message",),
            )
            seconds = time.perf_counter() - start
            yield RankedTurns([conversation.turns[hit.id] for hit in found.hits], seconds)

    def sum_up(self, judged: Sequence[JudgedRanking], messages: int) -> Evaluation:
        """Sum up the rankings of all questions that have evidence; the data sets have some without."""
        milliseconds = [1000 * ranking.seconds for _, ranking in judged]
        judged = [(evidence, ranking) for evidence, ranking in judged if evidence.turns]
        categories: defaultdict[str, list[JudgedRanking]] = defaultdict(list)
        for each in judged:
            categories[each[0].category].append(each)
        return Evaluation(
            mean_figures(judged, self.depths),
            {name: mean_figures(categories[name], self.depths) for name in sorted(categories)},
            self.facts,
            None if self.embedder is None else self.embedder.name,
            messages,
            median(milliseconds),
            quantiles(milliseconds, n=20, method="inclusive")[-1] if len(milliseconds) > 1 else milliseconds[0],
        )


def mean_figures(judged: Sequence[JudgedRanking], depths: Sequence[int]) -> RecallFigures:
    """The figures of some questions, from their evidence and rankings."""
    recall, complete = dict.fromkeys(depths, 0.0), dict.fromkeys(depths, 0.0)
    for evidence, ranking in judged:
        for depth in depths:
            found = evidence.turns.intersection(chain.from_iterable(ranking.turns[:depth]))
            share = len(found) / len(evidence.turns)
            recall[depth] += 100 * share / len(judged)
            complete[depth] += 100 * (share == 1) / len(judged)
    return RecallFigures(len(judged), recall, complete)
