"""Lets a model write a program until it is right, and loads it.

A program that is wrong goes back to the model with its located errors, and nothing of it is stored. It is held against
what the model was shown: what it changes must be as it was then, and what it deletes must have been recalled. That is
looked at in the transaction of the load, so that of two models that change the same thing the second is shown what the
first has made of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

from memorygraph.budget import Budget
from memorygraph.context.items import ContextItem, Source
from memorygraph.context.layers import Prompt
from memorygraph.errors import MemoryGraphError, ModelError, Problem, ScriptError
from memorygraph.graph.elements import Node
from memorygraph.graph.loads import Loader, LoadReport, Provenance
from memorygraph.graph.namespace import NamespaceTransaction
from memorygraph.languages import Program, parse
from memorygraph.languages.contextscript import Deletion, EdgeDeclaration, NodeDeclaration, Statement
from memorygraph.llm.completion import Completion, Message
from memorygraph.llm.model import Model
from memorygraph.llm.recording import answers_of, call_of
from memorygraph.memory.answers import Answer, unfinished
from memorygraph.memory.fitting import Found, fit
from memorygraph.memory.known import Element, Known, elements_of, elements_query, items_of, statement_of
from memorygraph.memory.rules import LANGUAGE, WRITE_AGAIN
from memorygraph.messages.calls import without_secrets
from memorygraph.messages.recorder import Recorder

Reader: TypeAlias = Callable[[str], Answer]

ATTEMPTS = 3
FILE = "<program>"
ROOM = Budget.parse("20k")  # for what is stored under the ids of a program that is sent back
MAX_TOLD = 20  # problems of a program that its model is told at once

_SECRETS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "NEO4J_PASSWORD")
_MIN_SECRET = 12  # what is shorter may be a word that is meant


@dataclass(frozen=True)
class Said:
    """One answer of a model: what it is, the message that keeps it, and when it was asked for."""

    completion: Completion
    message: str | None
    at: str

    @property
    def text(self) -> str:
        """What the model said."""
        return self.completion.content or ""


@dataclass(frozen=True)
class Outcome:
    """What came of letting a model write: its answer, the last program, and what loading it has changed.

    `report` is None where no program was right; `problems` are then those of the last one, and `error` is why the
    model could not be asked again, if so. `former` are the problems of the programs that were sent back.
    """

    answer: str
    program: str
    report: LoadReport | None
    attempts: int
    said: Said
    problems: tuple[Problem, ...] = ()
    former: tuple[Problem, ...] = ()
    error: ModelError | None = None


@dataclass(frozen=True)
class ProgramWriter:
    """Asks a model for programs, and loads them. `conversation` keeps what the model was asked and what it said."""

    loader: Loader
    model: Model
    conversation: str
    by: str
    attempts: int

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise MemoryGraphError(f"a model has at least one attempt, and not {self.attempts}")

    def write(self, messages: Sequence[Message], known: Known, read: Reader, read_again: Reader) -> Outcome:
        """Let the model answer, and load its program in one transaction.

        `read` finds the program in the first answer, and `read_again` in those that correct it.

        Raises:
            ModelError: the endpoint failed before there was an answer; nothing was stored.
            ConnectionError: the database cannot be reached.
        """
        dialogue = list(messages)
        outcome = self._attempt(dialogue, known, read, None)
        while outcome.problems and outcome.error is None and outcome.attempts < self.attempts:
            stored = self._met(outcome.program, known)
            shown = fit([Found(id_, f"stored as {id_}", statement_of(each)) for id_, each in stored.items()], ROOM)
            whole = {item.origins[0] for item in shown if not item.clipped}
            known = known.seen({id_: each for id_, each in stored.items() if id_ in whole})
            dialogue += [_said(outcome.said.text), _sent_back(outcome.problems, shown)]
            outcome = self._attempt(dialogue, known, read_again, outcome)
        return outcome

    def _attempt(self, dialogue: Sequence[Message], known: Known, read: Reader, before: Outcome | None) -> Outcome:
        try:
            said = self._ask(dialogue)
        except ModelError as error:
            if before is None:
                raise
            return replace(before, error=error)
        answer = read(said.text)
        problems = unfinished(said.completion) or answer.problems
        report, problems = (None, problems) if problems else self._load(answer.program, said, known)
        return Outcome(
            answer=before.answer if before and before.answer else answer.text,
            program=answer.program,
            report=report,
            attempts=before.attempts + 1 if before else 1,
            said=said,
            problems=problems,
            former=(*before.former, *before.problems) if before else (),
        )

    def _ask(self, messages: Sequence[Message]) -> Said:
        """Ask the model, and keep the call in the message graph."""
        at = datetime.now(UTC).isoformat()
        asked = without_secrets([dict(message) for message in messages], _secrets())
        completion = self.model.complete(asked)
        call = call_of(self.loader.namespace.name, self.conversation, asked, completion, at)
        Recorder(self.loader.namespace, self.conversation).record(call)
        return Said(completion, next(iter(answers_of(call)), None), at)

    def _load(self, text: str, said: Said, known: Known) -> tuple[LoadReport | None, tuple[Problem, ...]]:
        """The report of loading a program, or what is wrong with it. A program without statements is not loaded."""
        program = parse(text, LANGUAGE, file=FILE)
        if not program.statements and not program.problems:
            return LoadReport(FILE, LANGUAGE, 0, namespace=self.loader.namespace.name), ()
        model = said.completion.model or self.model.name
        provenance = Provenance(by=self.by, model=model, conversation=self.conversation, message=said.message)

        def check(transaction: NamespaceTransaction) -> list[Problem]:
            query = elements_query(self.loader.namespace, [id_ for id_, _, _ in _touched(program)])
            return unseen(program, known, elements_of(transaction.run(query)))

        try:
            return self.loader.load(program, provenance=provenance, check=check), ()
        except ScriptError as error:
            return None, tuple(error.problems)

    def _met(self, text: str, known: Known) -> dict[str, Element]:
        """What is stored under the ids that a program declares, where the model has not seen it as it is now.

        What a program only deletes is not shown for that: so nothing can be deleted that was not recalled.
        """
        program = parse(text, LANGUAGE)
        ids = {id_ for id_, _, statement in _touched(program) if _may_be_shown(statement, known)}
        if not ids:
            return {}
        stored = elements_of(self.loader.namespace.read(elements_query(self.loader.namespace, ids)))
        return {id_: element for id_, element in stored.items() if known.shown.get(id_) != element}


def _sent_back(problems: Sequence[Problem], shown: Sequence[ContextItem]) -> Message:
    """The message that tells a model what is wrong with its program."""
    told = [str(problem) for problem in problems[:MAX_TOLD]]
    if len(problems) > MAX_TOLD:
        told.append(f"and {len(problems) - MAX_TOLD} more")
    wrong = items_of([Source("what is wrong with your program", "\n".join(told))], len(shown))
    return {"role": "user", "content": Prompt("", (*shown, *wrong), WRITE_AGAIN).user}


def unseen(program: Program, known: Known, stored: Mapping[str, Element]) -> list[Problem]:
    """What a program changes or deletes that its model has not seen, or not as it is now stored."""
    problems: dict[str, Problem] = {}
    for id_, argument, statement in _touched(program):
        element = stored.get(id_)
        if element is None or id_ in problems:
            continue
        if isinstance(statement, Deletion) and id_ not in known.deletable:
            text = f"`{id_}` was not recalled for this, and only what was recalled can be deleted; leave it out"
            code = "not-shown"
        elif known.shown.get(id_) != element:
            kind = "a node" if isinstance(element, Node) else "an edge"
            text = (
                f"`{id_}` is already the id of {kind} that you have not seen as it is now; keep what it says if "
                "you mean the same, and otherwise choose another id"
            )
            code = "not-seen"
        else:
            continue
        problems[id_] = program.source.problem(text, code, program.argument_span(statement, argument))
    return list(problems.values())


def _touched(program: Program) -> Iterator[tuple[str, str, Statement]]:
    """The ids that a program declares or deletes, with the argument and the statement that does."""
    for statement in program.statements:
        match statement:
            case NodeDeclaration():
                yield statement.node_id, "node_id", statement
            case EdgeDeclaration():
                yield statement.edge_id, "edge_id", statement
            case Deletion():
                yield statement.id, "id", statement


def _may_be_shown(statement: Statement, known: Known) -> bool:
    return not isinstance(statement, Deletion) or statement.id in known.deletable


def _said(text: str) -> dict[str, Any]:
    # Endpoints refuse an assistant's message without a text.
    return {"role": "assistant", "content": text if text.strip() else "(nothing)"}


def _secrets() -> list[str]:
    """What no model is told, whoever pasted it into a text: the keys and the password that memorygraph itself has."""
    return [value for name in _SECRETS if len(value := os.environ.get(name, "")) >= _MIN_SECRET]
