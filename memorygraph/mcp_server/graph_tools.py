"""The tools that only this server has: scripts, recall, history, conversations, thoughts, and programs."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from memorygraph.errors import MemoryGraphError, NotFoundError
from memorygraph.languages import Script, agentscript, parse
from memorygraph.mcp_server.tools import Answer, Arguments, Budgeted, Tool, provenance, with_left_out

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph

MAX_PROGRAM = 1 << 20
MAX_STEPS = 50
_OWN_MEMORY = "neo4j://"


class ScriptArguments(Arguments):
    """What takes a ContextScript program."""

    program: str = Field(max_length=MAX_PROGRAM, description="A ContextScript program")
    strict: bool = Field(default=False, description="Hold it to the letter of the language's grammar")


class LoadArguments(ScriptArguments):
    """What load_contextscript takes."""

    dry_run: bool = Field(default=False, description="Do all of it, and take it back: what would happen?")


class RecallArguments(Budgeted):
    """What recall takes."""

    query: str = Field(description="What to remember: a question, or words")
    max_tokens: int = Field(default=2000, ge=200, le=1_000_000, description="At most so many tokens of memories")


class IdArguments(Arguments):
    """What takes an id."""

    id: str = Field(description="The id of a node or an edge")


class NeighboursArguments(Budgeted):
    """What neighbours takes."""

    id: str = Field(description="The id of a node")
    depth: int = Field(default=1, ge=1, le=20, description="At most so many edges away")


class HistoryArguments(Budgeted):
    """What history takes."""

    id: str = Field(description="The id of a node or an edge, which may be deleted")


class RevisionsArguments(Budgeted):
    """What revisions takes."""

    limit: int = Field(default=20, ge=1, le=1000, description="Only so many of the last")


class UndoArguments(Arguments):
    """What undo takes."""

    revision: int = Field(ge=1, le=1 << 53, description="The number of the revision, as revisions shows it")
    dry_run: bool = Field(default=False, description="Do all of it, and take it back: what would happen?")


class ConversationArguments(Budgeted):
    """What takes a conversation."""

    name: str = Field(min_length=1, description="The name of the conversation")


class ShowConversationArguments(ConversationArguments):
    """What show_conversation takes."""

    version: int | None = Field(default=None, description="Another version than the one that was last written")
    last: int | None = Field(default=None, ge=1, description="Only so many of the last messages")


class ThoughtArguments(Budgeted):
    """What takes a context of PETE."""

    name: str = Field(description="The name of the outermost context, or the address of any context: `memory:5`")


class RunArguments(Arguments):
    """What run_program takes."""

    name: str | None = Field(default=None, description="A stored program, as list_programs names it")
    program: str | None = Field(default=None, max_length=MAX_PROGRAM, description="Or the source of one")
    language: Literal["agentscript", "convo"] = Field(default="agentscript", description="The language of the source")
    input: Any = Field(default=None, description="What the program is given: any JSON value")
    max_steps: int = Field(default=MAX_STEPS, ge=1, le=MAX_STEPS)


def _load(graph: MemoryGraph, given: LoadArguments) -> Answer:
    report = graph.load(given.program, strict=given.strict, dry_run=given.dry_run, provenance=provenance())
    return Answer.of(report.as_dict())


def _check(graph: MemoryGraph, given: ScriptArguments) -> Answer:
    problems = graph.check(given.program, strict=given.strict)
    return Answer.of({"errors": [problem.as_dict() for problem in problems]})


def _recall(graph: MemoryGraph, given: RecallArguments) -> Answer:
    found = graph.recall(given.query, budget=f"{given.max_tokens}t")
    shown = found.hits[: len(found.context)]
    hits = [{key: value for key, value in hit.as_dict().items() if key != "text"} for hit in shown]
    return Answer(str(found), {"hits": hits, "text": str(found), "leftOut": len(found.hits) - len(shown)})


def _neighbours(graph: MemoryGraph, given: NeighboursArguments) -> Answer:
    found = graph.neighbours(given.id, given.depth)
    return Answer.of(with_left_out("neighbours", found, given.max_tokens, lambda each: each.as_dict()))


def _show(graph: MemoryGraph, given: IdArguments) -> Answer:
    element = graph.element(given.id)
    return Answer.of({"kind": type(element).__name__.lower(), **element.as_dict()})


def _history(graph: MemoryGraph, given: HistoryArguments) -> Answer:
    return Answer.of(with_left_out("changes", graph.history(given.id), given.max_tokens, lambda each: each.as_dict()))


def _revisions(graph: MemoryGraph, given: RevisionsArguments) -> Answer:
    found = graph.revisions(given.limit)
    return Answer.of(with_left_out("revisions", found, given.max_tokens, lambda each: each.as_dict()))


def _undo(graph: MemoryGraph, given: UndoArguments) -> Answer:
    return Answer.of(graph.undo(given.revision, dry_run=given.dry_run, provenance=provenance()).as_dict())


def _list_conversations(graph: MemoryGraph, given: Budgeted) -> Answer:
    return Answer.of(
        with_left_out("conversations", graph.conversations(), given.max_tokens, lambda each: each.as_dict())
    )


def show_conversation(graph: MemoryGraph, given: ShowConversationArguments) -> Answer:
    """The messages of a conversation; where not all fit, the last ones."""
    history = _conversation(graph, given.name)
    entries = (history if given.version is None else history.checkout(given.version)).entries()
    numbered = list(enumerate(entries))[-(given.last or len(entries)) :]
    shown = with_left_out(
        "messages",
        numbered[::-1],  # the last messages are the ones that are kept when not all fit
        given.max_tokens,
        lambda each: {"index": each[0], "id": each[1].id, **each[1].message.as_dict()},
    )
    return Answer.of({**shown, "messages": shown["messages"][::-1]})


def _conversation_versions(graph: MemoryGraph, given: ConversationArguments) -> Answer:
    versions = _conversation(graph, given.name).versions()
    return Answer.of(with_left_out("versions", versions, given.max_tokens, lambda each: each.as_dict()))


def _conversation(graph: MemoryGraph, name: str) -> Any:
    if all(found.name != name for found in graph.conversations()):
        raise NotFoundError(f"no conversation `{name}`; list_conversations shows them all")
    return graph.messages(name)


def _list_thoughts(graph: MemoryGraph, given: Budgeted) -> Answer:
    return Answer.of(with_left_out("thoughts", graph.thoughts(), given.max_tokens, lambda each: each._asdict()))


def _show_thought(graph: MemoryGraph, given: ThoughtArguments) -> Answer:
    return Answer(str(graph.pete(given.name).render(budget=f"{given.max_tokens}t")))


def _run(graph: MemoryGraph, given: RunArguments) -> Answer:
    program = _program(graph, given)
    _require_walls(program)
    with tempfile.TemporaryDirectory() as folder:
        result = graph.run(program, given.input, folder=folder, max_steps=given.max_steps)
    steps = {"steps": len(result.steps), "conversation": result.conversation, "run": result.run}
    return Answer.of({"value": result.value, **steps})


def _program(graph: MemoryGraph, given: RunArguments) -> Script:
    if (given.name is None) == (given.program is None):
        raise MemoryGraphError("give either the `name` of a stored program, or a `program`")
    return parse(given.program, given.language) if given.program is not None else graph.program(str(given.name))


def _list_programs(graph: MemoryGraph, given: Budgeted) -> Answer:
    return Answer.of(with_left_out("programs", graph.programs(), given.max_tokens, lambda each: each.as_dict()))


def _require_walls(program: Script) -> None:
    """A program that a client runs reaches no other namespace, no file, and no host that it names itself."""
    for each in program.statements:
        if not isinstance(each, agentscript.Import):
            continue
        if each.kind == "memory" and each.uri != _OWN_MEMORY:
            raise MemoryGraphError(f"here the memory `{each.name}` can only be at `{_OWN_MEMORY}`, your own namespace")
        if each.kind == "llm" and each.uri.startswith("ollama:"):
            raise MemoryGraphError(f"here the model `{each.name}` cannot be at a host that the program names")


TOOLS = (
    Tool(
        "load_contextscript",
        "Load ContextScript",
        "Store nodes and edges with a ContextScript program, all of it or nothing: "
        'Node(node_id="ada", name="Ada", data="…"); Edge(edge_id="e1", from_node="ada", to_node="bob", verb="knows", '
        "weight=0.8); del(id=e1); A wrong program stores nothing, and the answer says where it is wrong.",
        LoadArguments,
        _load,
        writes=True,
        destructive=True,
    ),
    Tool(
        "check_contextscript",
        "Check ContextScript",
        "Find what is wrong in a ContextScript program, without storing it: line, column and message of each error.",
        ScriptArguments,
        _check,
    ),
    Tool(
        "recall",
        "Recall",
        "What is remembered about a question, best first, within a budget of tokens; each memory with its source.",
        RecallArguments,
        _recall,
    ),
    Tool(
        "neighbours",
        "Neighbours",
        "The nodes near a node, in or out, nearest first, with the edges that lead there.",
        NeighboursArguments,
        _neighbours,
    ),
    Tool("show", "Show", "One node or edge by its id, with all it holds.", IdArguments, _show),
    Tool(
        "history",
        "History",
        "All that happened to a node or an edge: what it was before and after, by whose write, and when.",
        HistoryArguments,
        _history,
    ),
    Tool(
        "revisions",
        "Revisions",
        "The last writes of this memory, the newest first, each with its number and who asked for it.",
        RevisionsArguments,
        _revisions,
    ),
    Tool(
        "undo",
        "Undo",
        "Take back what a revision did, by a new one, which can be undone too.",
        UndoArguments,
        _undo,
        writes=True,
        destructive=True,
        idempotent=False,
    ),
    Tool(
        "list_conversations",
        "List Conversations",
        "The conversations that are kept, with their versions and lengths.",
        Budgeted,
        _list_conversations,
    ),
    Tool(
        "show_conversation",
        "Show Conversation",
        "The messages of a conversation; where not all fit, the last ones.",
        ShowConversationArguments,
        show_conversation,
    ),
    Tool(
        "conversation_versions",
        "Conversation Versions",
        "The versions of a conversation: where an edit replaced one by another.",
        ConversationArguments,
        _conversation_versions,
    ),
    Tool(
        "list_thoughts",
        "List Thoughts",
        "The thoughts of PETE that are kept: the outermost context of each.",
        Budgeted,
        _list_thoughts,
    ),
    Tool(
        "show_thought",
        "Show Thought",
        "A thought of PETE, or one of its contexts, folded to fit.",
        ThoughtArguments,
        _show_thought,
    ),
    Tool(
        "list_programs",
        "List Programs",
        "The stored programs, which run_program runs by their name.",
        Budgeted,
        _list_programs,
    ),
    Tool(
        "run_program",
        "Run Program",
        "Run a stored program by its name, or the source of an AgentScript program or a Convo node graph, and keep "
        "its record. It may ask models and this memory, and nothing else: no tools, no files, no other hosts.",
        RunArguments,
        _run,
        writes=True,
        destructive=False,
        idempotent=False,
        open_world=True,
    ),
)
