"""Remember: a model writes down what a text says, as a ContextScript program that is checked before it is loaded.

A wrong program goes back to the model with its located errors, and nothing of it is stored. It may only change and
delete what was recalled, as the model was shown it. This is checked in the transaction of the load: of two models that
change the same thing, the second is shown the change of the first. What is shown is ContextScript, where a stored text
is quoted, so that a statement inside it is only text. A change that a model insists on, and may not make, is proposed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

from memorygraph.budget import Budget
from memorygraph.context.prompt import ContextItem, ContextSource, Prompt
from memorygraph.errors import MemoryGraphError, ModelError, Problem, ScriptError
from memorygraph.graph.loads import Loader, LoadReport, Provenance
from memorygraph.graph.namespace import Namespace, NamespaceTransaction
from memorygraph.languages import parse
from memorygraph.languages.contextscript import print_contextscript
from memorygraph.llm.completion import Completion, WireMessage, answers_of, call_of
from memorygraph.llm.model import OpenAIModel
from memorygraph.llm.structured import without_thoughts
from memorygraph.llm.uris import find_model
from memorygraph.memory.prompt_texts import number_items
from memorygraph.memory.prompts import (
    LANGUAGE,
    REMEMBER,
    WRITE_AGAIN,
    WRITE_TEXT,
    ParsedAnswer,
    explain_unfinished,
    read_program_answer,
)
from memorygraph.memory.recall import RecallHit
from memorygraph.memory.shown import REFUSED, ShownMemory, Wish, find_alike_nodes, read_stored, show_memory
from memorygraph.memory.vectors import Embedder
from memorygraph.messages.calls import without_secrets
from memorygraph.messages.recorder import Recorder

AnswerReader: TypeAlias = Callable[[str], ParsedAnswer]

CONVERSATION = "remember"
BUDGET = "2k"
ATTEMPTS = 3
FILE = "<program>"
MAX_PROBLEMS_TOLD = 20

_SECRETS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "NEO4J_PASSWORD")
MIN_SECRET_CHARACTERS = 12  # a shorter one may be a word of the text


@dataclass(frozen=True)
class ModelReply:
    """One reply of a model: the completion, the id of the message that keeps it, and when the model was asked."""

    completion: Completion
    message: str | None
    at: str

    @property
    def text(self) -> str:
        """The text of the reply."""
        return self.completion.content or ""


@dataclass(frozen=True)
class ProgramLoad:
    """What came of loading a program: the report, and what was not loaded but is proposed, or the problems.

    `program` is what was loaded, and `wrote` are the ids in it that are new or were recalled. `refused` are the
    problems that say what the model may not do.
    """

    program: str
    report: LoadReport | None = None  # None if the program is wrong
    proposed: str = ""
    wrote: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    refused: Mapping[Wish, Problem] = field(default_factory=dict)


@dataclass(frozen=True)
class WrittenProgram:
    """The last program of a model, its answer, and what came of loading the program."""

    answer: str
    load: ProgramLoad
    attempts: int
    reply: ModelReply
    former: tuple[Problem, ...] = ()  # of the programs that were sent back
    error: ModelError | None = None  # why the model could not be asked again, if that failed


class NotWrittenError(ScriptError):
    """A model has not written a good program; nothing was stored. `problems` are those of its last `program`."""

    def __init__(self, written: WrittenProgram) -> None:
        super().__init__(list(written.load.problems))
        self.program = written.load.program
        self.attempts = written.attempts


@dataclass(frozen=True)
class Remembered:
    """What was remembered: the program, the report of loading it, and what the model was shown before.

    Without anything to remember nothing was loaded, and the report has no `load_id`. `problems` are those of the
    programs that were sent back, in `attempts` attempts altogether. `proposed` is a program of the changes that the
    model wanted and may not make, because they are of what was not recalled: nothing of it is done, until you load it.
    """

    program: str
    report: LoadReport
    attempts: int
    problems: tuple[Problem, ...]
    recalled: tuple[RecallHit, ...]
    model: str
    conversation: str
    message: str | None
    proposed: str = ""

    @property
    def stored(self) -> bool:
        """Whether there was something to remember."""
        return bool(self.report.load_id)

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {
            "program": self.program,
            **self.report.as_dict(),
            "proposed": self.proposed,
            "attempts": self.attempts,
            "problems": [problem.as_dict() for problem in self.problems],
            "recalled": [hit.as_dict() for hit in self.recalled],
            "model": self.model,
            "conversation": self.conversation,
            "message": self.message,
            "errors": [],
        }


def remember_text(
    namespace: Namespace,
    text: str,
    model: str | None = None,
    *,
    attempts: int = ATTEMPTS,
    budget: str | Budget = BUDGET,
    embedder: Embedder | None = None,
) -> Remembered:
    """Let a model write down what a text says, and load its program in one transaction."""
    check_text(text)
    text = without_own_secrets(text)
    limit = Budget.of(budget)
    with find_model(model) as asked:
        writer = ProgramWriter(Loader(namespace), asked, CONVERSATION, "remember", attempts)
        shown = show_memory(namespace, text, limit, embedder=embedder, accept=lambda hit: hit.kind == "node")
        messages = build_prompt(REMEMBER, WRITE_TEXT, shown, "text to remember", text).messages()
        written = writer.write(messages, shown, read_program_answer, read_program_answer)
        name = written.reply.completion.model or asked.name
    if written.error is not None:
        raise written.error
    load, report, message = written.load, written.load.report, written.reply.message
    if report is None:
        raise NotWrittenError(written)
    told = (written.attempts, written.former, shown.hits, name, CONVERSATION, message)
    return Remembered(load.program, report, *told, load.proposed)


def check_text(text: str) -> None:
    """Refuse a text that no model can be told: one that is empty, or is not valid Unicode."""
    if not text.strip():
        raise MemoryGraphError("there is nothing in this text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise MemoryGraphError(f"the text is not UTF-8 at its character {error.start + 1}") from None


def without_own_secrets(value: Any) -> Any:
    """A copy without the keys and passwords of the environment: no model is told them, also where a user pasted one."""
    secrets = [each for name in _SECRETS if len(each := os.environ.get(name, "")) >= MIN_SECRET_CHARACTERS]
    return without_secrets(value, secrets)


def build_prompt(rules: str, task: str, shown: ShownMemory, label: str, text: str) -> Prompt:
    """The prompt with the rules, what is shown of the memory, the day, and the text that the task is about."""
    sources = [ContextSource("today", f"{datetime.now().astimezone():%Y-%m-%d}"), ContextSource(label, text)]
    items = (*shown.items, *number_items(sources, len(shown.items)))
    return Prompt(rules, items, task.format(index=items[-1].index))


@dataclass(frozen=True)
class ProgramWriter:
    """Asks a model for programs, and loads them. `conversation` keeps the prompts and the replies."""

    loader: Loader
    model: OpenAIModel
    conversation: str
    by: str
    attempts: int

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise MemoryGraphError(f"a model has at least one attempt, and not {self.attempts}")

    def write(
        self, messages: Sequence[WireMessage], shown: ShownMemory, read: AnswerReader, read_again: AnswerReader
    ) -> WrittenProgram:
        """Let the model answer, and load its program; `read_again` reads the answers that correct the first."""
        dialogue = list(messages)
        written = self.attempt(dialogue, shown, read, None)
        # Shown what its program collided with, the model can take it into account.
        while written.load.problems and written.error is None and written.attempts < self.attempts:
            program = parse(written.load.program, LANGUAGE)
            shown = shown.correct(program, written.load.refused, self.loader.namespace.read)
            # Endpoints refuse an assistant's message without a text.
            text = written.reply.text if written.reply.text.strip() else "(nothing)"
            correction = ask_for_correction(written.load.problems, shown.items)
            dialogue += [{"role": "assistant", "content": text}, correction]
            written = self.attempt(dialogue, shown, read_again, written)
        return written

    def attempt(
        self, dialogue: Sequence[WireMessage], shown: ShownMemory, read: AnswerReader, before: WrittenProgram | None
    ) -> WrittenProgram:
        """Ask the model once, and load its program."""
        try:
            reply = self.ask(dialogue)
        except ModelError as error:
            if before is None:
                raise
            return replace(before, error=error)
        attempts = before.attempts + 1 if before else 1
        answer = read(without_thoughts(reply.text))
        problems = explain_unfinished(reply.completion) or answer.problems
        load = ProgramLoad(answer.program, problems=problems)
        if not problems:
            load = self.load(answer.program, reply, shown)
        if attempts >= self.attempts and load.refused and len(load.refused) == len(load.problems):
            # There is no attempt left to leave it out.
            load = self.load(answer.program, reply, shown.refuse(load.refused))
        return WrittenProgram(
            answer=before.answer if before and before.answer else answer.text,
            load=load,
            attempts=attempts,
            reply=reply,
            former=(*before.former, *before.load.problems) if before else (),
        )

    def ask(self, messages: Sequence[WireMessage]) -> ModelReply:
        """Ask the model, and keep the call in the message graph."""
        at = datetime.now(UTC).isoformat()
        asked = without_own_secrets([dict(message) for message in messages])
        completion = self.model.complete(asked)
        call = call_of(self.loader.namespace.name, self.conversation, asked, completion, at)
        Recorder(self.loader.namespace, self.conversation).record(call)
        return ModelReply(completion, next(iter(answers_of(call)), None), at)

    def load(self, text: str, reply: ModelReply, shown: ShownMemory) -> ProgramLoad:
        """Load a program without what is only proposed. One without statements is not loaded."""
        split = shown.split(parse(text, LANGUAGE, file=FILE))
        program, proposed = split.loaded, print_contextscript(split.proposed)
        if split.proposed:
            text = print_contextscript(program.statements)
        if not program.statements and not program.problems:
            return ProgramLoad(text, LoadReport(FILE, LANGUAGE, 0, namespace=self.loader.namespace.name), proposed)
        model = reply.completion.model or self.model.name
        provenance = Provenance(by=self.by, model=model, conversation=self.conversation, message=reply.message)
        refused: dict[Wish, Problem] = {}
        wrote: tuple[str, ...] = ()

        def check(transaction: NamespaceTransaction) -> list[Problem]:
            nonlocal wrote
            stored = read_stored(transaction.run, program, shown.recalled)
            stored = replace(stored, alike=find_alike_nodes(transaction, program, stored.elements))
            problems, wrote = shown.find_problems(program, stored), shown.own_ids(program, stored)
            refused.clear()  # of a transaction that was tried before
            refused.update((wish, problem) for wish, problem in problems.items() if problem.code in REFUSED)
            return list(problems.values())

        try:
            report = self.loader.load(program, provenance=provenance, check=check)
        except ScriptError as error:
            return ProgramLoad(program.source.text, problems=tuple(error.problems), refused=refused)
        return ProgramLoad(text, report, proposed, wrote)


def ask_for_correction(problems: Sequence[Problem], shown: Sequence[ContextItem]) -> WireMessage:
    """The message that tells a model what is wrong with its program."""
    told = [str(problem) for problem in problems[:MAX_PROBLEMS_TOLD]]
    if len(problems) > MAX_PROBLEMS_TOLD:
        told.append(f"and {len(problems) - MAX_PROBLEMS_TOLD} more")
    wrong = number_items([ContextSource("what is wrong with your program", "\n".join(told))], len(shown))
    return {"role": "user", "content": Prompt("", (*shown, *wrong), WRITE_AGAIN).user}
