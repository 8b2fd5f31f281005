"""The tools that only this server has: scripts, recall, history, conversations, thoughts, and programs."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from memorygraph.errors import MemoryGraphError, NotFoundError
from memorygraph.languages import Script, agentscript, parse
from memorygraph.mcp_server.tools import BudgetedArguments, ToolAnswer, ToolArguments, keep_fitting, provenance, tool

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph

MAX_PROGRAM = 1 << 20
MAX_STEPS = 50
_OWN_MEMORY = "neo4j://"


class ScriptArguments(ToolArguments):
    """What takes a ContextScript program."""

    program: str = Field(max_length=MAX_PROGRAM, description="A ContextScript program")
    strict: bool = Field(default=False, description="Hold it to the letter of the language's grammar")


class LoadArguments(ScriptArguments):
    """What load_contextscript takes."""

    dry_run: bool = Field(default=False, description="Do all of it, and take it back: what would happen?")


class RecallArguments(BudgetedArguments):
    """What recall takes."""

    query: str = Field(description="What to remember: a question, or words")
    max_tokens: int = Field(default=2000, ge=200, le=1_000_000, description="At most so many tokens of memories")


class IdArguments(ToolArguments):
    """What takes an id."""

    id: str = Field(description="The id of a node or an edge")


class NeighboursArguments(BudgetedArguments):
    """What neighbours takes."""

    id: str = Field(description="The id of a node")
    depth: int = Field(default=1, ge=1, le=20, description="At most so many edges away")


class HistoryArguments(BudgetedArguments):
    """What history takes."""

    id: str = Field(description="The id of a node or an edge, which may be deleted")


class RevisionsArguments(BudgetedArguments):
    """What revisions takes."""

    limit: int = Field(default=20, ge=1, le=1000, description="Only so many of the last")


class UndoArguments(ToolArguments):
    """What undo takes."""

    revision: int = Field(ge=1, le=1 << 53, description="The number of the revision, as revisions shows it")
    dry_run: bool = Field(default=False, description="Do all of it, and take it back: what would happen?")


class ConversationArguments(BudgetedArguments):
    """What takes a conversation."""

    name: str = Field(min_length=1, description="The name of the conversation")


class ShowConversationArguments(ConversationArguments):
    """What show_conversation takes."""

    version: int | None = Field(default=None, description="Another version than the one that was last written")
    last: int | None = Field(default=None, ge=1, description="Only so many of the last messages")


class ThoughtArguments(BudgetedArguments):
    """What takes a context of PETE."""

    name: str = Field(description="The name of the outermost context, or the address of any context: `memory:5`")


class RunArguments(ToolArguments):
    """What run_program takes."""

    name: str | None = Field(default=None, description="A stored program, as list_programs names it")
    program: str | None = Field(default=None, max_length=MAX_PROGRAM, description="Or the source of one")
    language: Literal["agentscript", "convo"] = Field(default="agentscript", description="The language of the source")
    input: Any = Field(default=None, description="What the program is given: any JSON value")
    max_steps: int = Field(default=MAX_STEPS, ge=1, le=MAX_STEPS)


@tool("Load ContextScript", LoadArguments, writes=True, destructive=True)
def load_contextscript(graph: MemoryGraph, given: LoadArguments) -> ToolAnswer:
    """Store nodes and edges with a ContextScript program, all of it or nothing.

    For example: Node(node_id="ada", name="Ada", data="…"); Edge(edge_id="e1", from_node="ada", to_node="bob",
    verb="knows", weight=0.8); del(id=e1); A wrong program stores nothing, and the answer says where it is wrong.
    """
    report = graph.load(given.program, strict=given.strict, dry_run=given.dry_run, provenance=provenance())
    return ToolAnswer.of(report.as_dict())


@tool("Check ContextScript", ScriptArguments)
def check_contextscript(graph: MemoryGraph, given: ScriptArguments) -> ToolAnswer:
    """Find what is wrong in a ContextScript program, without storing it: line, column and message of each error."""
    problems = graph.check(given.program, strict=given.strict)
    return ToolAnswer.of({"errors": [problem.as_dict() for problem in problems]})


@tool("Recall", RecallArguments)
def recall(graph: MemoryGraph, given: RecallArguments) -> ToolAnswer:
    """What is remembered about a question, best first, within a budget of tokens; each memory with its source."""
    found = graph.recall(given.query, budget=f"{given.max_tokens}t")
    shown = found.hits[: len(found.context)]
    hits = [{key: value for key, value in hit.as_dict().items() if key != "text"} for hit in shown]
    return ToolAnswer(str(found), {"hits": hits, "text": str(found), "leftOut": len(found.hits) - len(shown)})


@tool("Neighbours", NeighboursArguments)
def neighbours(graph: MemoryGraph, given: NeighboursArguments) -> ToolAnswer:
    """The nodes near a node, in or out, nearest first, with the edges that lead there."""
    found = graph.neighbours(given.id, given.depth)
    return given.answer("neighbours", found)


@tool("Show", IdArguments)
def show(graph: MemoryGraph, given: IdArguments) -> ToolAnswer:
    """One node or edge by its id, with all it holds."""
    element = graph.element(given.id)
    return ToolAnswer.of({"kind": type(element).__name__.lower(), **element.as_dict()})


@tool("History", HistoryArguments)
def history(graph: MemoryGraph, given: HistoryArguments) -> ToolAnswer:
    """All that happened to a node or an edge: what it was before and after, by whose write, and when."""
    return given.answer("changes", graph.history(given.id))


@tool("Revisions", RevisionsArguments)
def revisions(graph: MemoryGraph, given: RevisionsArguments) -> ToolAnswer:
    """The last writes of this memory, the newest first, each with its number and who asked for it."""
    found = graph.revisions(given.limit)
    return given.answer("revisions", found)


@tool("Undo", UndoArguments, writes=True, destructive=True, idempotent=False)
def undo(graph: MemoryGraph, given: UndoArguments) -> ToolAnswer:
    """Take back what a revision did, by a new one, which can be undone too."""
    return ToolAnswer.of(graph.undo(given.revision, dry_run=given.dry_run, provenance=provenance()).as_dict())


@tool("List Conversations", BudgetedArguments)
def list_conversations(graph: MemoryGraph, given: BudgetedArguments) -> ToolAnswer:
    """The conversations that are kept, with their versions and lengths."""
    return given.answer("conversations", graph.conversations())


@tool("Show Conversation", ShowConversationArguments)
def show_conversation(graph: MemoryGraph, given: ShowConversationArguments) -> ToolAnswer:
    """The messages of a conversation; where not all fit, the last ones."""
    history = find_conversation(graph, given.name)
    entries = (history if given.version is None else history.checkout(given.version)).entries()
    numbered = list(enumerate(entries))[-(given.last or len(entries)) :]
    shown = keep_fitting(
        "messages",
        numbered[::-1],  # the last messages are the ones that are kept when not all fit
        given.max_tokens,
        lambda each: {"index": each[0], "id": each[1].id, **each[1].message.as_dict()},
    )
    return ToolAnswer.of({**shown, "messages": shown["messages"][::-1]})


@tool("Conversation Versions", ConversationArguments)
def conversation_versions(graph: MemoryGraph, given: ConversationArguments) -> ToolAnswer:
    """The versions of a conversation: where an edit replaced one by another."""
    versions = find_conversation(graph, given.name).versions()
    return given.answer("versions", versions)


def find_conversation(graph: MemoryGraph, name: str) -> Any:
    """The messages of a stored conversation.

    Raises:
        NotFoundError: there is no such conversation; a client that asks for one does not create it.
    """
    if all(found.name != name for found in graph.conversations()):
        raise NotFoundError(f"no conversation `{name}`; list_conversations shows them all")
    return graph.messages(name)


@tool("List Thoughts", BudgetedArguments)
def list_thoughts(graph: MemoryGraph, given: BudgetedArguments) -> ToolAnswer:
    """The thoughts of PETE that are kept: the outermost context of each."""
    return given.answer("thoughts", graph.thoughts(), show=lambda thought: thought._asdict())


@tool("Show Thought", ThoughtArguments)
def show_thought(graph: MemoryGraph, given: ThoughtArguments) -> ToolAnswer:
    """A thought of PETE, or one of its contexts, folded to fit."""
    return ToolAnswer(str(graph.pete(given.name).render(budget=f"{given.max_tokens}t")))


@tool("Run Program", RunArguments, writes=True, destructive=False, idempotent=False, open_world=True)
def run_program(graph: MemoryGraph, given: RunArguments) -> ToolAnswer:
    """Run a stored program by its name, or the source of one, in AgentScript or as a Convo node graph.

    Its record is kept. It may ask models and this memory, and nothing else: no tools, no files, no other hosts.
    """
    if (given.name is None) == (given.program is None):
        raise MemoryGraphError("give either the `name` of a stored program, or a `program`")
    program = parse(given.program, given.language) if given.program is not None else graph.program(str(given.name))
    refuse_other_places(program)
    with tempfile.TemporaryDirectory() as folder:
        result = graph.run(program, given.input, folder=folder, max_steps=given.max_steps)
    steps = {"steps": len(result.steps), "conversation": result.conversation, "run": result.run}
    return ToolAnswer.of({"value": result.value, **steps})


@tool("List Programs", BudgetedArguments)
def list_programs(graph: MemoryGraph, given: BudgetedArguments) -> ToolAnswer:
    """The stored programs, which run_program runs by their name."""
    return given.answer("programs", graph.programs())


def refuse_other_places(program: Script) -> None:
    """Refuse a program of a client that names another namespace, a file as a memory, or the host of a model.

    Raises:
        MemoryGraphError: the program imports such a memory or model.
    """
    for each in program.statements:
        if not isinstance(each, agentscript.Import):
            continue
        if each.kind == "memory" and each.uri != _OWN_MEMORY:
            raise MemoryGraphError(f"here the memory `{each.name}` can only be at `{_OWN_MEMORY}`, your own namespace")
        if each.kind == "llm" and each.uri.startswith("ollama:"):
            raise MemoryGraphError(f"here the model `{each.name}` cannot be at a host that the program names")
