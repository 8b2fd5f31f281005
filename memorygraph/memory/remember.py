"""Remember: a model writes down what a text says, as a ContextScript program that is checked before it is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memorygraph.budget import Budget
from memorygraph.context.items import ContextItem, Source
from memorygraph.context.layers import Prompt
from memorygraph.errors import MemoryGraphError, Problem, ScriptError
from memorygraph.graph.loads import Loader, LoadReport
from memorygraph.graph.namespace import Namespace
from memorygraph.llm.uris import opened
from memorygraph.memory.answers import read_program
from memorygraph.memory.known import Known, items_of, known_about
from memorygraph.memory.recall import RecallHit
from memorygraph.memory.rules import REMEMBER, WRITE_TEXT
from memorygraph.memory.vectors import Embedder
from memorygraph.memory.writing import ATTEMPTS, Outcome, ProgramWriter

CONVERSATION = "remember"
BUDGET = "2k"


class NotWrittenError(ScriptError):
    """A model has not written a good program; nothing was stored. `problems` are those of its last `program`."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(list(outcome.problems))
        self.program = outcome.program
        self.attempts = outcome.attempts


@dataclass(frozen=True)
class Remembered:
    """What was remembered: the program, what loading it has changed, and what the model knew before.

    Where there was nothing to remember, nothing was loaded, and the report has no `load_id`. `problems` are those of
    the programs that were sent back before, in so many `attempts` altogether.
    """

    program: str
    report: LoadReport
    attempts: int
    problems: tuple[Problem, ...]
    recalled: tuple[RecallHit, ...]
    model: str
    conversation: str
    message: str | None

    @property
    def stored(self) -> bool:
        """Whether there was something to remember."""
        return bool(self.report.load_id)

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {
            "program": self.program,
            **self.report.as_dict(),
            "attempts": self.attempts,
            "problems": [problem.as_dict() for problem in self.problems],
            "recalled": [hit.as_dict() for hit in self.recalled],
            "model": self.model,
            "conversation": self.conversation,
            "message": self.message,
            "errors": [],
        }


def remember(
    namespace: Namespace,
    text: str,
    model: str | None = None,
    *,
    attempts: int = ATTEMPTS,
    budget: str | Budget = BUDGET,
    embedder: Embedder | None = None,
) -> Remembered:
    """Let a model write down what a text says, and load its program in one transaction.

    What the memory holds about it already is shown to the model within the budget. A program that is wrong goes
    back, with its errors, and the model has so many attempts.

    Raises:
        NotWrittenError: no program was right; nothing was stored.
        ModelError: no model is configured, or its endpoint failed; nothing was stored.
        ConnectionError: the database cannot be reached.
    """
    check_text(text)
    limit = Budget.parse(budget) if isinstance(budget, str) else budget
    with opened(model) as asked:
        writer = ProgramWriter(Loader(namespace), asked, CONVERSATION, "remember", attempts)
        known = known_about(namespace, text, limit, embedder=embedder, fits=_is_node)
        outcome = writer.write(_prompt(known, text).messages(), known, read_program, read_program)
        name = asked.name
    if outcome.error is not None:
        raise outcome.error
    if outcome.report is None:
        raise NotWrittenError(outcome)
    return Remembered(
        program=outcome.program,
        report=outcome.report,
        attempts=outcome.attempts,
        problems=outcome.former,
        recalled=known.hits,
        model=outcome.said.completion.model or name,
        conversation=CONVERSATION,
        message=outcome.said.message,
    )


def check_text(text: str) -> None:
    """Refuse what no model can be told.

    Raises:
        MemoryGraphError: the text is empty, or is no Unicode text.
    """
    if not text.strip():
        raise MemoryGraphError("there is nothing in this text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise MemoryGraphError(f"the text is not UTF-8 at its character {error.start + 1}") from None


def sources_of(label: str, text: str) -> list[Source]:
    """What a prompt holds beside what is recalled: the day, and the text."""
    return [Source("today", f"{datetime.now().astimezone():%Y-%m-%d}"), Source(label, text)]


def _prompt(known: Known, text: str) -> Prompt:
    items: tuple[ContextItem, ...] = (*known.items, *items_of(sources_of("text to remember", text), len(known.items)))
    return Prompt(REMEMBER, items, WRITE_TEXT.format(index=items[-1].index))


def _is_node(hit: RecallHit) -> bool:
    return hit.kind == "node"
