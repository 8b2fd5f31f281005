"""Remember: a model writes down what a text says, as a ContextScript program that is checked before it is loaded.

A wrong program goes back to the model with its located errors, and nothing of it is stored. It may only change what
the model was shown, as it was then, and only delete what was recalled. Both are checked in the transaction of the
load: of two models that change the same thing, the second is shown the change of the first. What it is shown is
ContextScript, where a stored text is quoted, so that a statement inside it is only text.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

from memorygraph.budget import Budget
from memorygraph.context.prompt import ContextItem, ContextSource, Prompt
from memorygraph.errors import MemoryGraphError, ModelError, Problem, ScriptError
from memorygraph.graph.elements import Edge, Node
from memorygraph.graph.loads import Loader, LoadReport, Provenance
from memorygraph.graph.namespace import Namespace, NamespaceTransaction, RunQuery
from memorygraph.languages import parse
from memorygraph.languages.contextscript import (
    ContextScriptProgram,
    Deletion,
    EdgeDeclaration,
    GraphStatement,
    NodeDeclaration,
    print_statement,
)
from memorygraph.llm.completion import Completion, WireMessage, answers_of, call_of
from memorygraph.llm.model import OpenAIModel
from memorygraph.llm.uris import open_model
from memorygraph.memory.prompts import (
    LANGUAGE,
    REMEMBER,
    WRITE_AGAIN,
    WRITE_TEXT,
    ParsedAnswer,
    explain_unfinished,
    read_program_answer,
)
from memorygraph.memory.recall import Passage, RecallHit, fit_passages, number_items, recall_hits
from memorygraph.memory.vectors import Embedder
from memorygraph.messages.calls import without_secrets
from memorygraph.messages.recorder import Recorder

AnswerReader: TypeAlias = Callable[[str], ParsedAnswer]
Element: TypeAlias = Node | Edge

CONVERSATION = "remember"
BUDGET = "2k"
ATTEMPTS = 3
FILE = "<program>"
CORRECTION_BUDGET = Budget.parse("20k")  # for what is stored under the ids of a program that is sent back
MAX_PROBLEMS_TOLD = 20
MAX_EDGES_PER_NODE = 8

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
class WrittenProgram:
    """The last program of a model, its answer, and the report of loading the program."""

    answer: str
    program: str
    report: LoadReport | None  # None if no program was right
    attempts: int
    reply: ModelReply
    problems: tuple[Problem, ...] = ()  # of the last program, if it was wrong
    former: tuple[Problem, ...] = ()  # of the programs that were sent back
    error: ModelError | None = None  # why the model could not be asked again, if that failed


class NotWrittenError(ScriptError):
    """A model has not written a good program; nothing was stored. `problems` are those of its last `program`."""

    def __init__(self, written: WrittenProgram) -> None:
        super().__init__(list(written.problems))
        self.program = written.program
        self.attempts = written.attempts


@dataclass(frozen=True)
class Remembered:
    """What was remembered: the program, the report of loading it, and what the model was shown before.

    Without anything to remember nothing was loaded, and the report has no `load_id`. `problems` are those of the
    programs that were sent back, in `attempts` attempts altogether.
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
    limit = Budget.parse(budget) if isinstance(budget, str) else budget
    with open_model(model) as asked:
        writer = ProgramWriter(Loader(namespace), asked, CONVERSATION, "remember", attempts)
        shown = show_memory(namespace, text, limit, embedder=embedder, accept=lambda hit: hit.kind == "node")
        messages = build_prompt(REMEMBER, WRITE_TEXT, shown, "text to remember", text).messages()
        written = writer.write(messages, shown, read_program_answer, read_program_answer)
        name = written.reply.completion.model or asked.name
    if written.error is not None:
        raise written.error
    if written.report is None:
        raise NotWrittenError(written)
    program, report, attempts = written.program, written.report, written.attempts
    message = written.reply.message
    return Remembered(program, report, attempts, written.former, shown.hits, name, CONVERSATION, message)


def check_text(text: str) -> None:
    """Refuse a text that no model can be told: one that is empty, or is not valid Unicode."""
    if not text.strip():
        raise MemoryGraphError("there is nothing in this text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise MemoryGraphError(f"the text is not UTF-8 at its character {error.start + 1}") from None


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
        while written.problems and written.error is None and written.attempts < self.attempts:
            stored = shown.read_unseen(self.loader.namespace, parse(written.program, LANGUAGE))
            passages = [Passage(id_, f"stored as {id_}", print_element(each)) for id_, each in stored.items()]
            items = fit_passages(passages, CORRECTION_BUDGET)
            whole = {item.origins[0] for item in items if not item.clipped}
            seen = {id_: element for id_, element in stored.items() if id_ in whole}
            shown = replace(shown, elements={**shown.elements, **seen})
            # Endpoints refuse an assistant's message without a text.
            text = written.reply.text if written.reply.text.strip() else "(nothing)"
            dialogue += [{"role": "assistant", "content": text}, ask_for_correction(written.problems, items)]
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
        answer = read(reply.text)
        problems = explain_unfinished(reply.completion) or answer.problems
        report, problems = (None, problems) if problems else self.load(answer.program, reply, shown)
        return WrittenProgram(
            answer=before.answer if before and before.answer else answer.text,
            program=answer.program,
            report=report,
            attempts=before.attempts + 1 if before else 1,
            reply=reply,
            problems=problems,
            former=(*before.former, *before.problems) if before else (),
        )

    def ask(self, messages: Sequence[WireMessage]) -> ModelReply:
        """Ask the model, and keep the call in the message graph."""
        at = datetime.now(UTC).isoformat()
        # Keys and passwords of memorygraph itself are told to no model, even if a user has pasted one into a text.
        secrets = [value for name in _SECRETS if len(value := os.environ.get(name, "")) >= MIN_SECRET_CHARACTERS]
        asked = without_secrets([dict(message) for message in messages], secrets)
        completion = self.model.complete(asked)
        call = call_of(self.loader.namespace.name, self.conversation, asked, completion, at)
        Recorder(self.loader.namespace, self.conversation).record(call)
        return ModelReply(completion, next(iter(answers_of(call)), None), at)

    def load(self, text: str, reply: ModelReply, shown: ShownMemory) -> tuple[LoadReport | None, tuple[Problem, ...]]:
        """Load a program, and return the report or the problems. One without statements is not loaded."""
        program = parse(text, LANGUAGE, file=FILE)
        if not program.statements and not program.problems:
            return LoadReport(FILE, LANGUAGE, 0, namespace=self.loader.namespace.name), ()
        model = reply.completion.model or self.model.name
        provenance = Provenance(by=self.by, model=model, conversation=self.conversation, message=reply.message)

        def check(transaction: NamespaceTransaction) -> list[Problem]:
            return shown.check(program, read_elements(transaction.run, [id_ for id_, _, _ in touched_ids(program)]))

        try:
            return self.loader.load(program, provenance=provenance, check=check), ()
        except ScriptError as error:
            return None, tuple(error.problems)


def ask_for_correction(problems: Sequence[Problem], shown: Sequence[ContextItem]) -> WireMessage:
    """The message that tells a model what is wrong with its program."""
    told = [str(problem) for problem in problems[:MAX_PROBLEMS_TOLD]]
    if len(problems) > MAX_PROBLEMS_TOLD:
        told.append(f"and {len(problems) - MAX_PROBLEMS_TOLD} more")
    wrong = number_items([ContextSource("what is wrong with your program", "\n".join(told))], len(shown))
    return {"role": "user", "content": Prompt("", (*shown, *wrong), WRITE_AGAIN).user}


@dataclass(frozen=True)
class ShownMemory:
    """The recalled part of the memory, as a model is shown it."""

    hits: tuple[RecallHit, ...] = ()
    items: tuple[ContextItem, ...] = ()
    elements: Mapping[str, Element] = field(default_factory=dict)  # that it has seen whole, as they were then
    deletable: frozenset[str] = frozenset()  # recalled, and not only shown because a program had an id of theirs

    def read_unseen(self, namespace: Namespace, program: ContextScriptProgram) -> dict[str, Element]:
        """What is stored under the ids that a program declares, if the model has not seen it as it is now."""
        # Not ids that the program only deletes: showing them would make them deletable without a recall.
        ids = {
            id_
            for id_, _, statement in touched_ids(program)
            if not isinstance(statement, Deletion) or id_ in self.deletable
        }
        stored = read_elements(namespace.read, ids) if ids else {}
        return {id_: element for id_, element in stored.items() if self.elements.get(id_) != element}

    def check(self, program: ContextScriptProgram, stored: Mapping[str, Element]) -> list[Problem]:
        """The changes and deletions in a program of elements that the model has not seen as they are `stored`."""
        problems: dict[str, Problem] = {}
        for id_, argument, statement in touched_ids(program):
            element = stored.get(id_)
            if element is None or id_ in problems:
                continue
            if isinstance(statement, Deletion) and id_ not in self.deletable:
                text = f"`{id_}` was not recalled for this, and only what was recalled can be deleted; leave it out"
                code = "not-shown"
            elif self.elements.get(id_) != element:
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


def show_memory(
    namespace: Namespace,
    text: str,
    budget: Budget,
    *,
    embedder: Embedder | None = None,
    also: Sequence[str] = (),
    accept: Callable[[RecallHit], bool] = lambda _: True,
) -> ShownMemory:
    """Recall by a text within a budget, and then show the nodes and edges with the ids `also`."""
    hits = tuple(filter(accept, recall_hits(namespace, text, embedder=embedder).hits))
    nodes = [hit.id for hit in hits if hit.kind == "node"]
    elements = read_elements(namespace.read, {*nodes, *also})
    edges = read_edges(namespace, nodes)
    passages: list[tuple[Passage, list[Element]]] = []
    for hit in hits:
        held = [elements[hit.id], *edges[hit.id]] if hit.kind == "node" and hit.id in elements else []
        content = "\n".join(map(print_element, held)) if hit.kind == "node" else hit.content
        passages.append((Passage(hit.id, hit.label, content), held))
    for element in [elements[id_] for id_ in also if id_ in elements and id_ not in nodes]:
        kind = "node" if isinstance(element, Node) else "edge"
        passages.append((Passage(element.id, f"{kind} {element.id}", print_element(element)), [element]))
    items = fit_passages((passage for passage, _ in passages if passage.text), budget)
    whole = {item.origins[0] for item in items if item.origins and not item.clipped}
    shown = {element.id: element for passage, held in passages if passage.id in whole for element in held}
    recalled = {origin for item in items for origin in item.origins} & elements.keys()
    return ShownMemory(hits, items, shown, frozenset({*recalled, *shown}))


def read_elements(run: RunQuery, ids: Collection[str]) -> dict[str, Element]:
    """The nodes and edges with these ids."""
    elements: dict[str, Element] = {}
    for row in run("remember/elements", ids=sorted(ids)):
        if row["kind"] == "node":
            elements[row["id"]] = Node(row["id"], row["name"], row["data"])
        else:
            elements[row["id"]] = Edge(row["id"], row["from_node"], row["to_node"], row["verb"], row["weight"])
    return elements


def read_edges(namespace: Namespace, nodes: Sequence[str]) -> dict[str, list[Edge]]:
    """The edges at these nodes, each under the first of the nodes that it touches."""
    found: dict[str, list[Edge]] = {node: [] for node in nodes}
    rows = namespace.read("remember/edges-at", ids=list(nodes), fan=MAX_EDGES_PER_NODE) if nodes else ()
    for row in rows:
        edge = Edge(**row)
        # An edge between two recalled nodes is shown once, beside the better hit.
        first = next(node for node in nodes if node in {edge.from_node, edge.to_node})
        found[first].append(edge)
    return found


def print_element(element: Element) -> str:
    """A node or an edge as ContextScript declares it."""
    if isinstance(element, Node):  # not validated: a model reads it, and no parser
        name, data = element.name or "", element.data or ""
        return print_statement(NodeDeclaration.model_construct(node_id=element.id, name=name, data=data))
    fields = {name: getattr(element, name) for name in ("from_node", "to_node", "verb", "weight")}
    return print_statement(EdgeDeclaration.model_construct(edge_id=element.id, **fields))


def touched_ids(program: ContextScriptProgram) -> Iterator[tuple[str, str, GraphStatement]]:
    """The ids that a program declares or deletes, each with its argument and its statement."""
    for statement in program.statements:
        match statement:
            case NodeDeclaration():
                yield statement.node_id, "node_id", statement
            case EdgeDeclaration():
                yield statement.edge_id, "edge_id", statement
            case Deletion():
                yield statement.id, "id", statement
