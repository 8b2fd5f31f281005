"""Chat: a conversation with a model that has a memory, and writes into it.

The conversation keeps what the user and the model said to each other, with the program behind the model's words where
it wrote one. What the model was really asked, with what was recalled and with the programs that were sent back, is in
a conversation of its own, `NAME-calls`, where its answers are on-policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from memorygraph.budget import Budget
from memorygraph.compiler import mentioned
from memorygraph.context.labels import protect
from memorygraph.context.layers import Prompt
from memorygraph.context.tokens import count_tokens
from memorygraph.errors import ConflictError, MemoryGraphError, Problem
from memorygraph.graph.loads import Loader, LoadReport
from memorygraph.graph.namespace import Namespace
from memorygraph.languages import parse
from memorygraph.llm.model import Model
from memorygraph.llm.uris import opened
from memorygraph.memory.answers import blocks_of, read_answer, read_correction, without_programs
from memorygraph.memory.known import Known, items_of, known_about
from memorygraph.memory.recall import RecallHit
from memorygraph.memory.remember import BUDGET, CONVERSATION, check_text, sources_of
from memorygraph.memory.rules import ANSWER_MESSAGE, CHAT, LANGUAGE
from memorygraph.memory.vectors import Embedder
from memorygraph.memory.writing import ATTEMPTS, Outcome, ProgramWriter
from memorygraph.messages.graph import MessageGraph
from memorygraph.messages.history import MessageEntry
from memorygraph.messages.store import Store

HISTORY = "12k"
CALLS = "-calls"
MAX_TRIES = 20  # of writing a turn into a conversation that others write into too
LATELY = 6  # messages whose programs' nodes and edges are shown, too


@dataclass(frozen=True)
class Turn:
    """What the model answered, and what it has remembered.

    `report` is None where nothing was loaded: there was nothing to remember, or `failure` says why. `problems` are
    those of the last program, where it was wrong.
    """

    answer: str
    program: str
    report: LoadReport | None
    problems: tuple[Problem, ...]
    recalled: tuple[RecallHit, ...]
    attempts: int = 1
    failure: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {
            "answer": self.answer,
            "program": self.program,
            "report": self.report.as_dict() if self.report else None,
            "attempts": self.attempts,
            "failure": self.failure,
            "errors": [problem.as_dict() for problem in self.problems],
            "recalled": [hit.as_dict() for hit in self.recalled],
        }


class Chat:
    """A conversation with a model that has a memory. Safe to share between threads.

    Example::

        chat = mg.chat("ada")
        turn = chat.say("I have moved to Turin.")
        print(turn.answer, turn.program, turn.report)
    """

    def __init__(
        self,
        namespace: Namespace,
        conversation: str = "chat",
        model: str | None = None,
        *,
        attempts: int = ATTEMPTS,
        budget: str | Budget = BUDGET,
        history: str | Budget = HISTORY,
        embedder: Embedder | None = None,
    ) -> None:
        if not conversation:
            raise MemoryGraphError("a conversation has a name, and this is empty")
        self.conversation = conversation
        self._loader = Loader(namespace)
        self._model = model
        self._attempts = attempts
        self._budget = Budget.parse(budget) if isinstance(budget, str) else budget
        self._history = Budget.parse(history) if isinstance(history, str) else history
        self._embedder = embedder
        self._lock = Lock()

    @property
    def calls(self) -> str:
        """The conversation that keeps what the model was asked."""
        return self.conversation + CALLS

    @property
    def messages(self) -> MessageGraph:
        """What was said, as it is stored now."""
        return MessageGraph(storage=Store(self._loader.namespace, self.conversation))

    def say(self, text: str) -> Turn:
        """Say something to the model; what it remembers of it is loaded in one transaction.

        Raises:
            ModelError: no model is configured, or its endpoint failed; nothing was stored.
            ConnectionError: the database cannot be reached.
        """
        check_text(text)
        with self._lock, opened(self._model) as model:
            before = recent(self.messages.entries(), self._history)
            known = self._known(text, before)
            messages = _messages(before, known, text)
            outcome = self._writer(model).write(messages, known, read_answer, read_correction)
            turn = _turn(outcome, known)
            self._keep(text, turn, outcome, model.name)
        return turn

    def _writer(self, model: Model) -> ProgramWriter:
        return ProgramWriter(self._loader, model, self.calls, "chat", self._attempts)

    def _known(self, text: str, before: Sequence[MessageEntry]) -> Known:
        """What is known about the text, and what was written of late, which a next message often means."""
        seen = {entry.id for entry in before}

        def fits(hit: RecallHit) -> bool:
            return hit.kind == "node" or not (
                hit.id in seen or hit.role == "system" or _is_of_calls(hit.conversation or "")
            )

        return known_about(
            self._loader.namespace,
            text,
            self._budget,
            embedder=self._embedder,
            also=_written_in(before[-LATELY:]),
            fits=fits,
        )

    def _keep(self, text: str, turn: Turn, outcome: Outcome, model: str) -> None:
        """Put both messages behind the conversation, which others may have continued meanwhile."""
        metadata = {
            "model": outcome.said.completion.model or model,
            "at": outcome.said.at,
            "call": outcome.said.message,
            "revision": turn.report.revision if turn.report else None,
            "load": turn.report.load_id if turn.report else None,
            "problems": [problem.as_dict() for problem in turn.problems],
        }
        said = {"role": "assistant", "content": _shown(turn), "metadata": metadata}
        history = self.messages
        for tries_left in reversed(range(MAX_TRIES)):
            try:
                history.extend([{"role": "user", "content": text}, said], sampled=False)
            except ConflictError:
                if not tries_left:
                    raise
            else:
                return


def recent(entries: Sequence[MessageEntry], limit: Budget) -> list[MessageEntry]:
    """The latest messages of a conversation that fit a budget, from one of the user's on.

    Where they would not fit any more, the older half of the room is given up at once, so that the beginning of what
    the model sees changes seldom, and what an endpoint keeps of it stays of use.
    """
    told = [entry for entry in entries if entry.message.role in {"user", "assistant"} and entry.message.text.strip()]
    start = size = 0
    sizes = [count_tokens(e.message.text) if limit.in_tokens else len(e.message.text) for e in told]
    for end, added in enumerate(sizes):
        size += added
        if size > limit.limit:
            while start <= end and size > limit.limit / 2:
                size -= sizes[start]
                start += 1
    while start < len(told) and told[start].message.role != "user":
        start += 1
    return told[start:]


def _messages(before: Sequence[MessageEntry], known: Known, text: str) -> list[dict[str, Any]]:
    """What the model is asked: the rules, what was said, what is known, and the message."""
    items = (*known.items, *items_of(sources_of("message of the user", text), len(known.items)))
    system, user = Prompt(CHAT, items, ANSWER_MESSAGE.format(index=items[-1].index)).messages()
    said = [{"role": entry.message.role, "content": protect(entry.message.text)} for entry in before]
    return [system, *said, user]


def _turn(outcome: Outcome, known: Known) -> Turn:
    loaded = outcome.report if outcome.report and outcome.report.load_id else None
    problems, failure = outcome.problems, ""
    if outcome.former and not problems and loaded is None:
        problems, failure = outcome.former, "its program was wrong, and the model has given it up"
    if outcome.problems:
        tries = f"{outcome.attempts} attempt{'s' if outcome.attempts != 1 else ''}"
        failure = f"the model wrote no program that can be loaded, in {tries}"
        if outcome.error is not None:
            failure += f", and could not be asked again: {outcome.error}"
    return Turn(outcome.answer, outcome.program, loaded, problems, known.hits, outcome.attempts, failure)


def _shown(turn: Turn) -> str:
    """The model's words, as the next turn shows them to it."""
    answer = without_programs(turn.answer)
    if turn.report is None:
        return answer or "(nothing)"
    return f"{answer}\n\n```{LANGUAGE}\n{turn.program.strip()}\n```".strip()


def _written_in(entries: Sequence[MessageEntry]) -> list[str]:
    """The ids in the programs of these messages, the latest first."""
    found: dict[str, None] = {}
    for entry in reversed(entries):
        if entry.message.is_assistant:
            for block in blocks_of(entry.message.text):
                if block.language == LANGUAGE:
                    found.update(dict.fromkeys(mentioned(parse(block.text, LANGUAGE))))
    return list(found)


def _is_of_calls(conversation: str) -> bool:
    return conversation.endswith(CALLS) or conversation == CONVERSATION
