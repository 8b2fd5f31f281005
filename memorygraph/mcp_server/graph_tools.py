"""The tools that only this server has: scripts, recall, history, conversations, thoughts, and programs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from memorygraph.errors import MemoryGraphError
from memorygraph.graph.forgetting import Forgotten
from memorygraph.graph.loads import LoadReport
from memorygraph.languages import parse
from memorygraph.llm.uris import ModelUri
from memorygraph.mcp_server.answers import (
    ChangesAnswer,
    ConversationAnswer,
    ConversationsAnswer,
    DuplicatesAnswer,
    ElementAnswer,
    ErrorsAnswer,
    MergeAnswer,
    NeighboursAnswer,
    ProgramsAnswer,
    RecallAnswer,
    RevisionsAnswer,
    RunAnswer,
    ThoughtsAnswer,
    VersionsAnswer,
)
from memorygraph.mcp_server.tools import (
    DEFAULT_TOKENS,
    AnswerTokens,
    KnownArguments,
    Tool,
    ToolAnswer,
    advance,
    keep_fitting,
    provenance,
    read_json_or_text,
    shorten_values,
    tool,
)
from memorygraph.mcp_server.wording import say_in_words_of_tools
from memorygraph.memory.pages import MIN_ROW_TOKENS
from memorygraph.messages.stored_conversations import find_stored_conversation
from memorygraph.sentences import ask_meant

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph
    from memorygraph.runtime.runs import Event

MAX_PROGRAM = 1 << 20
MAX_STEPS = 50


ContextScriptText = Annotated[
    str, Field(max_length=MAX_PROGRAM, description=f"A ContextScript program, at most {MAX_PROGRAM:,} characters")
]
Strict = Annotated[bool, Field(description="Hold it to the letter of the language's grammar")]
DryRun = Annotated[bool, Field(description="Do all of it, and take it back: what would happen?")]
RecallTokens = Annotated[int, Field(ge=200, le=1_000_000, description="The most tokens of memories")]
ProgramInput = Annotated[
    Any,
    BeforeValidator(read_json_or_text),
    # Strict schemas have no place for any value. One that is sent as such is taken, too.
    WithJsonSchema({"type": "string"}),
    Field(description="What the program is given, as JSON: an object, a list, …; other text is given as it is"),
]
ConversationName = Annotated[str, Field(min_length=1, description="The name of the conversation")]


@tool("graph", "Load ContextScript", LoadReport, writes=True, destructive=True)
def load_contextscript(
    graph: MemoryGraph, *, program: ContextScriptText, strict: Strict = False, dry_run: DryRun = False
) -> ToolAnswer:
    """Store nodes and edges with a ContextScript program, all of it or nothing.

    For example: Node(node_id="ada", name="Ada", data="…"); Edge(edge_id="e1", from_node="ada", to_node="bob",
    verb="knows", weight=0.8); del(id=e1); A wrong program stores nothing, and the answer says where it is wrong.
    """
    progress = partial(advance, word="rows written")
    report = graph.load(program, strict=strict, dry_run=dry_run, provenance=provenance(), progress=progress)
    return ToolAnswer.of_report(report.as_dict())


@tool("graph", "Check ContextScript", ErrorsAnswer, needs_graph=False)
def check_contextscript(*, program: ContextScriptText, strict: Strict = False) -> ToolAnswer:
    """Find what is wrong in a ContextScript program, without storing it: line, column and message of each error.

    The memory is not asked: an id that the program does not declare may be stored, and is no error here. What
    load_contextscript with dry_run says is exact.
    """
    from memorygraph.client import MemoryGraph

    problems = MemoryGraph.check(program, strict=strict)
    told = [{**problem.as_dict(), "message": say_in_words_of_tools(problem.message)} for problem in problems]
    return ToolAnswer.of({"errors": told})


@tool("memory", "Recall", RecallAnswer, base=KnownArguments)
def recall(
    graph: MemoryGraph,
    *,
    max_tokens: RecallTokens = 2000,
    query: Annotated[str, Field(description="What to remember: a question, or words")],
    since: Annotated[str | None, Field(description="Only messages from this day or time on, as 2024-05-01")] = None,
    until: Annotated[str | None, Field(description="Only messages until this time, or the end of this day")] = None,
    role: Annotated[str | None, Field(description="Only messages of this role, as user")] = None,
    speaker: Annotated[str | None, Field(description="Only messages of this speaker")] = None,
    conversation: Annotated[str | None, Field(description="Only messages of this conversation")] = None,
    kind: Annotated[str | None, Field(description="Only nodes of this kind (entity type)")] = None,
    verb: Annotated[str | None, Field(description="Only nodes with a relation of this verb")] = None,
) -> ToolAnswer:
    """What is remembered about a question, best first, within a budget of tokens; each memory with its source."""
    found = graph.recall(
        query,
        budget=f"{max_tokens}t",
        since=since,
        until=until,
        role=role,
        speaker=speaker,
        conversation=conversation,
        kind=kind,
        verb=verb,
    )
    hits = [{key: value for key, value in hit.as_dict().items() if key != "text"} for hit in found.shown]
    left_out = len(found.hits) - len(found.shown)
    note = f"{left_out} more did not fit: `max_tokens` can be greater." if left_out else ""
    values = {"hits": hits, "text": str(found), "leftOut": left_out}
    if not found.hits:
        return ToolAnswer(f"Nothing is remembered about it{ask_meant(graph.suggest(query)) or '.'}", values)
    if not found.shown:
        return ToolAnswer(note, values)
    return ToolAnswer(str(found), values, note)


@tool("graph", "Neighbours", NeighboursAnswer)
def neighbours(
    graph: MemoryGraph,
    *,
    max_tokens: AnswerTokens = DEFAULT_TOKENS,
    id: Annotated[str, Field(description="The id of a node")],  # noqa: A002 - the name clients use
    depth: Annotated[int, Field(ge=1, le=20, description="The most edges away")] = 1,
) -> ToolAnswer:
    """The nodes near a node, in or out, nearest first, with the edges that lead there."""
    return ToolAnswer.of(keep_fitting("neighbours", graph.neighbours(id, depth), max_tokens))


@tool("graph", "Show", ElementAnswer)
def show(
    graph: MemoryGraph,
    *,
    max_tokens: AnswerTokens = DEFAULT_TOKENS,
    id: Annotated[str, Field(description="The id of a node or an edge")],  # noqa: A002 - the name clients use
) -> ToolAnswer:
    """One node or edge by its id, with all it holds."""
    element = graph.element(id)
    shown = keep_fitting("elements", [{"kind": type(element).__name__.lower(), **element.as_dict()}], max_tokens, dict)
    [values] = shown.pop("elements")
    return ToolAnswer.of({**values, **shown})


@tool("history", "History", ChangesAnswer)
def history(
    graph: MemoryGraph,
    *,
    max_tokens: AnswerTokens = DEFAULT_TOKENS,
    id: Annotated[str, Field(description="The id of a node or an edge, which may be deleted")],  # noqa: A002
) -> ToolAnswer:
    """All that happened to a node or an edge: what it was before and after, by whose write, and when."""
    return ToolAnswer.of(keep_fitting("changes", graph.history(id), max_tokens))


@tool("history", "Revisions", RevisionsAnswer)
def revisions(
    graph: MemoryGraph,
    *,
    max_tokens: AnswerTokens = DEFAULT_TOKENS,
    limit: Annotated[int, Field(ge=1, le=1000, description="Only this many of the last")] = 20,
) -> ToolAnswer:
    """The last writes of this memory, the newest first, each with its number and who asked for it."""
    return ToolAnswer.of(keep_fitting("revisions", graph.revisions(limit), max_tokens))


@tool("history", "Undo", LoadReport, writes=True, destructive=True, idempotent=False)
def undo(
    graph: MemoryGraph,
    *,
    revision: Annotated[int, Field(ge=1, le=1 << 53, description="The number of the revision, as revisions shows it")],
    dry_run: DryRun = False,
) -> ToolAnswer:
    """Take back what a revision did, by a new one, which can be undone too."""
    return ToolAnswer.of_report(graph.undo(revision, dry_run=dry_run, provenance=provenance()).as_dict())


@tool("upkeep", "Find Duplicates", DuplicatesAnswer, runs=True)
def find_duplicates(
    graph: MemoryGraph,
    *,
    max_tokens: AnswerTokens = DEFAULT_TOKENS,
    limit: Annotated[int, Field(ge=1, le=1000, description="The most that are found")] = 50,
) -> ToolAnswer:
    """Entities that are likely one, the likeliest first, each with its name and id: merge_entities joins two.

    Nothing is changed. The first of each has the most edges.
    """
    found = graph.duplicates(limit)
    return ToolAnswer.of(keep_fitting("duplicates", found, max_tokens, shorten=shorten_duplicates))


def shorten_duplicates(shown: dict[str, Any], limit: int) -> dict[str, Any]:
    """Entities that are likely one, shortened; those that are left out count as `others`."""
    shorter: dict[str, Any] = shorten_values(shown, limit)
    return {**shorter, "others": shown["others"] + len(shown["entities"]) - len(shorter["entities"])}


@tool("upkeep", "Merge Entities", MergeAnswer, writes=True, destructive=True, idempotent=False)
def merge_entities(
    graph: MemoryGraph,
    *,
    entity: Annotated[str, Field(min_length=1, description="The entity that goes: its name or its id")],
    into: Annotated[str, Field(min_length=1, description="The entity that gets all it has: its name or its id")],
    dry_run: DryRun = False,
) -> ToolAnswer:
    """Join two entities that are one: the second gets what is known of the first, and its name as an alias.

    The answer names the revision, which undo takes back.
    """
    return ToolAnswer.of_report(graph.merge(entity, into, dry_run=dry_run, provenance=provenance()).as_dict())


@tool("upkeep", "Forget", Forgotten, writes=True, destructive=True)
def forget(
    graph: MemoryGraph,
    *,
    id: Annotated[str | None, Field(description="Of a node, an edge, a run, a program; or an entity's name")] = None,  # noqa: A002
    conversation: Annotated[str | None, Field(description="Or the name of a conversation")] = None,
    dry_run: Annotated[bool, Field(description="Only say what would go and what would stay")] = True,
) -> ToolAnswer:
    """Forget something for good, with its history and what was learnt from it alone. It cannot be undone.

    Show the user what a dry run says, and forget only what they then ask for.
    """
    if (id is None) == (conversation is None):
        raise MemoryGraphError("give either an `id` or the name of a `conversation`")
    if conversation is not None:
        return ToolAnswer.of_report(graph.forget_conversation(conversation, dry_run=dry_run).as_dict())
    return ToolAnswer.of_report(graph.forget(str(id), dry_run=dry_run).as_dict())


@tool("conversations", "List Conversations", ConversationsAnswer)
def list_conversations(
    graph: MemoryGraph,
    *,
    max_tokens: AnswerTokens = DEFAULT_TOKENS,
    after: Annotated[str, Field(description="The last name of the page before")] = "",
    containing: Annotated[str, Field(description="Only those with this text in their name")] = "",
) -> ToolAnswer:
    """The conversations that are kept, by name, with their versions and lengths."""
    found = graph.conversations(max_tokens // MIN_ROW_TOKENS + 1, after=after, containing=containing)
    shown = keep_fitting("conversations", found, max_tokens)
    if "leftOut" in shown or len(found) > max_tokens // MIN_ROW_TOKENS:
        last = shown["conversations"][-1]["name"] if shown["conversations"] else after
        left = graph.count_conversations(after=last, containing=containing)
        shown |= {"leftOut": {"conversations": left, "after": last}} if left else {}
    return ToolAnswer.of(shown)


@tool("conversations", "Show Conversation", ConversationAnswer)
def show_conversation(
    graph: MemoryGraph,
    *,
    max_tokens: AnswerTokens = DEFAULT_TOKENS,
    name: ConversationName,
    version: Annotated[int | None, Field(description="Another version than the one that was last written")] = None,
    last: Annotated[int | None, Field(ge=1, description="Only this many of the last messages")] = None,
    before: Annotated[
        int | None, Field(ge=0, description="Only messages before this index, as `leftOut` names it")
    ] = None,
) -> ToolAnswer:
    """The messages of a conversation; where not all fit, the last ones."""
    history = find_stored_conversation(graph.scope, name)
    entries = (history if version is None else history.checkout(version)).entries()
    numbered = list(enumerate(entries))[:before][-(last or len(entries)) :]
    shown = keep_fitting(
        "messages",
        numbered[::-1],  # the last messages are the ones that are kept when not all fit
        max_tokens,
        lambda each: show_message(*each),
    )
    messages = shown["messages"][::-1]
    if "messages" in shown.get("leftOut", {}):
        shown["leftOut"]["before"] = messages[0]["index"]
    return ToolAnswer.of({**shown, "messages": messages})


def show_message(index: int, entry: Any) -> dict[str, Any]:
    """A message with its place and its id, before which keys of these names that it came with give way."""
    place = {"index": index, "id": entry.id}
    return {**place, **entry.message.as_dict(), **place}


@tool("conversations", "Conversation Versions", VersionsAnswer)
def conversation_versions(
    graph: MemoryGraph, *, max_tokens: AnswerTokens = DEFAULT_TOKENS, name: ConversationName
) -> ToolAnswer:
    """The versions of a conversation: where an edit replaced one by another."""
    return ToolAnswer.of(keep_fitting("versions", find_stored_conversation(graph.scope, name).versions(), max_tokens))


@tool("conversations", "List Thoughts", ThoughtsAnswer)
def list_thoughts(graph: MemoryGraph, *, max_tokens: AnswerTokens = DEFAULT_TOKENS) -> ToolAnswer:
    """The thoughts of PETE that are kept: the outermost context of each."""
    return ToolAnswer.of(keep_fitting("thoughts", graph.thoughts(), max_tokens, lambda thought: thought._asdict()))


@tool("conversations", "Show Thought")
def show_thought(
    graph: MemoryGraph,
    *,
    max_tokens: AnswerTokens = DEFAULT_TOKENS,
    name: Annotated[
        str, Field(description="The name of the outermost context, or the address of any context: `memory:5`")
    ],
) -> ToolAnswer:
    """A thought of PETE, or one of its contexts, folded to fit."""
    return ToolAnswer(str(graph.pete(name).render(budget=f"{max_tokens}t")))


@tool("programs", "Run Program", RunAnswer, writes=True, destructive=True, idempotent=False, open_world=True, runs=True)
def run_program(
    graph: MemoryGraph,
    models: Sequence[str] | None = None,
    *,
    name: Annotated[str | None, Field(description="A stored program, as list_programs names it")] = None,
    program: Annotated[
        str | None,
        Field(max_length=MAX_PROGRAM, description=f"Or the source of one, at most {MAX_PROGRAM:,} characters"),
    ] = None,
    language: Annotated[
        Literal["agentscript", "convo"] | None, Field(description="The language of the source (agentscript by default)")
    ] = None,
    input: ProgramInput = None,  # noqa: A002 - the name clients use
    max_steps: Annotated[int, Field(ge=1, le=MAX_STEPS)] = MAX_STEPS,
) -> ToolAnswer:
    """Run a stored program by its name, or the source of one, in AgentScript or as a Convo node graph.

    Its record is kept. It may ask the models of this server and this memory, and nothing else: no tools, no files, no
    other hosts. It ends with the request: cancel that, and the program ends.
    """
    if (name is None) == (program is None):
        raise MemoryGraphError("give either the `name` of a stored program, or a `program`")
    script = parse(program, language or "agentscript") if program is not None else graph.program(str(name))
    if language not in (None, script.language):
        raise MemoryGraphError(
            f"the stored program `{name}` is one in {script.language}: leave `language` out, which goes with `program`"
        )
    allowed = server_models() if models is None else models

    def hear(event: Event, _depth: int) -> None:
        advance(1, event["kind"])

    try:
        empty = tempfile.TemporaryDirectory()
    except OSError as error:
        raise MemoryGraphError(
            "no folder can be made for the program: TMPDIR on the machine of this server has to name one that can be "
            "written to, and has room"
        ) from error
    with empty as folder:
        result = graph.run(
            script,
            input,
            folder=folder,
            max_steps=max_steps,
            allow_models=allowed,
            own_memory=True,
            listener=hear,
            provenance=provenance(),
        )
    steps = {"steps": len(result.steps), "conversation": result.conversation, "run": result.run}
    return ToolAnswer.of({"value": result.value, **steps})


@tool("programs", "List Programs", ProgramsAnswer)
def list_programs(graph: MemoryGraph, *, max_tokens: AnswerTokens = DEFAULT_TOKENS) -> ToolAnswer:
    """The stored programs, which run_program runs by their name."""
    return ToolAnswer.of(keep_fitting("programs", graph.programs(), max_tokens))


def server_models(given: Iterable[str] = ()) -> tuple[str, ...]:
    """The models that clients may ask: those that the server is given, or else that of MEMORYGRAPH_MODEL.

    Clients are told them, so that what is no address of a model, and may hold a password, is refused.
    """
    models = tuple(given) or tuple(filter(None, [os.environ.get("MEMORYGRAPH_MODEL")]))
    for model in models:
        if "://" in model:
            ModelUri.parse(model)
    return models


def with_models(run: Tool, models: Sequence[str]) -> Tool:
    """Make the tool that runs programs ask these models only, and tell clients so."""
    told = f"Its models: {', '.join(models)}." if models else "This server has no models."
    return replace(run, run=partial(run.run, models=models), description=f"{run.description} {told}")
