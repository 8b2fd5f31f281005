"""What a tool of the server is: a function, whose parameters are the tool's arguments, and the type of its answer.

The schemas that clients see come from both, and arguments are checked before the function is called. A tool that fails
answers with the message of our error; any other exception is a defect of memorygraph, and the answer says no more.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_origin, get_type_hints

from mcp.types import CallToolResult, TextContent, ToolAnnotations
from mcp.types import Tool as Described
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator
from pydantic_core import PydanticCustomError

from memorygraph.context.tokens import count_tokens
from memorygraph.errors import MemoryGraphError, ModelError
from memorygraph.graph.bad_elements import hear_bad_elements
from memorygraph.graph.loads import Provenance
from memorygraph.json_text import MAX_JSON_DEPTH, nests_deeper, parse_json
from memorygraph.languages.engine.findings import shorten, suggestion
from memorygraph.mcp_server.schemas import schema_of_answer, schema_of_arguments
from memorygraph.mcp_server.sdk import make
from memorygraph.mcp_server.wording import DRY_RUN, say_in_words_of_tools
from memorygraph.memory.pages import MIN_TOKENS, as_json, shorten_part
from memorygraph.memory.values import explain_validation_error

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph

# What clients take of one answer by default, as far as they say.
DEFAULT_TOKENS = 25_000
MAX_TOKENS = 10_000_000
MIN_TEXT_TOKENS = 24  # of a text in an item that is shortened: a time is no longer
FOUND_BY = frozenset({"id", "name", "from_node", "to_node"})  # in an item, what no answer shortens

# What a client says that it is; the record of each of its writes says so too.
CALLER: ContextVar[str] = ContextVar("caller", default="")

# What tells the client how far its call is: how much more is done, and a word for it.
PROGRESS: ContextVar[Callable[[int, str], None] | None] = ContextVar("progress", default=None)

logger = logging.getLogger(__name__)
Item = TypeVar("Item")


def read_json_or_text(given: Any) -> Any:
    """Read a text as the JSON that it is, or else as it stands; any other value is one already.

    >>> read_json_or_text('{"a": 2}'), read_json_or_text("two words"), read_json_or_text([3])
    ({'a': 2}, 'two words', [3])
    """
    if not isinstance(given, str):
        return given
    try:
        return parse_json(given, strict=True)
    except ValueError:
        return given


class ToolArguments(BaseModel):
    """The arguments of a tool; those that it does not know are passed over, and so is a null.

    Models that call a tool by its strict schema send all of its arguments, and null for those that they leave out. Some
    write a list as the JSON text of it.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def read_as_meant(cls, given: Any) -> Any:
        """Take a null as an argument that is not given, and the JSON text of a list as the list."""
        if not isinstance(given, dict):
            return given
        fields = [(name, each) for name, each in cls.model_fields.items() if get_origin(each.annotation) is list]
        lists = {name for key, each in fields for name in (key, each.alias)}
        return {
            name: read_json_or_text(value) if name in lists else value
            for name, value in given.items()
            if value is not None
        }


class KnownArguments(ToolArguments):
    """The arguments of a tool of our own: one that it does not know is refused.

    It may ask for what keeps a change from being made, as `dryRun` for `dry_run` does, or be a filter that is misspelt.
    """

    @model_validator(mode="before")
    @classmethod
    def refuse_unknown(cls, given: Any) -> Any:
        """Refuse an argument that the tool does not know, and say which it has."""
        known = list(cls.model_fields)
        given_names = [name for name, value in given.items() if value is not None] if isinstance(given, dict) else []
        missing = [name for name, each in cls.model_fields.items() if each.is_required() and name not in given_names]
        for name in given_names:
            if name not in known:
                meant = suggestion(name, known) or f"; there are {', '.join(known)}"
                if len(missing) == 1:  # which is meant, rather than one that is spelt like it
                    meant = f"; did you mean `{missing[0]}`, which is required and missing?"
                elif missing:
                    meant += f"; {', '.join(f'`{each}`' for each in missing)} are required and missing"
                said = f"no argument is called `{shorten(name)}`{meant}"
                raise PydanticCustomError("unknown_argument", "{said}", {"said": said})
        return given


GROUPS = {
    "memory": "entities with observations and relations, as of server-memory, and recall",
    "neo4j-memory": "the two more tools of mcp-neo4j-memory",
    "graph": "nodes and edges: ContextScript, neighbours, show",
    "history": "what happened, and undo",
    "upkeep": "duplicates, merges, and what is to be forgotten",
    "conversations": "conversations and thoughts that are kept",
    "programs": "programs that are run",
}
"""The groups of tools with what they are for. Each tool costs a model tokens, so that a server offers some of them."""

DROP_IN_GROUPS = {"memory", "neo4j-memory"}
"""Those of other servers: their clients send what those servers pass over."""

AnswerTokens = Annotated[int, Field(ge=MIN_TOKENS, le=MAX_TOKENS, description="The most tokens of an answer")]


@dataclass(frozen=True)
class ToolAnswer:
    """What a tool answers: a text for the model, and the same as values for programs.

    A `note` is another text beside the first, for what the form of an answer has no place for.
    """

    text: str
    values: dict[str, Any] | None = None
    note: str = ""

    @classmethod
    def of(cls, values: dict[str, Any]) -> ToolAnswer:
        """An answer whose text is its values as JSON."""
        return cls(as_json(values), values)

    @classmethod
    def of_report(cls, values: dict[str, Any]) -> ToolAnswer:
        """An answer of what changes the memory: where it was a dry run, another text says that nothing is changed."""
        return cls(as_json(values), values, DRY_RUN if values["dry_run"] else "")

    @classmethod
    def of_done(cls, message: str, note: str = "") -> ToolAnswer:
        """An answer that says only that something was done."""
        return cls(message, {"success": True, "message": " ".join(filter(None, [message, note]))}, note)


@dataclass(frozen=True)
class Tool:
    """A tool: what clients see of it, and `run`, which is called with the graph, if it needs it, and the arguments."""

    name: str
    group: str
    title: str
    description: str
    arguments: type[ToolArguments]
    run: Callable[..., ToolAnswer]
    result: type[Any] | None = None
    writes: bool = False
    destructive: bool = False
    idempotent: bool = True
    open_world: bool = False
    runs: bool = False  # a program, or what else computes for seconds, in one of the few places for those
    needs_graph: bool = True  # otherwise it is called without one, also where no database can be reached

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The schema of the arguments."""
        return schema_of_arguments(self.arguments)

    @cached_property
    def described(self) -> Described:
        """The tool as a client lists it."""
        return make(
            Described,
            name=self.name,
            title=self.title,
            description=self.description,
            inputSchema=self.schema,
            outputSchema=schema_of_answer(self.result) if self.result else None,
            annotations=make(
                ToolAnnotations,
                readOnlyHint=not self.writes,
                destructiveHint=self.destructive,
                idempotentHint=self.idempotent,
                openWorldHint=self.open_world,
            ),
        )

    def call(self, graph: MemoryGraph | None, arguments: dict[str, Any]) -> CallToolResult:
        """Run the tool; whatever goes wrong is an answer too."""
        if nests_deeper(arguments):
            return failure(f"the arguments nest more than {MAX_JSON_DEPTH} levels deep; send them flatter")
        named: list[str] = []
        try:
            given = self.arguments.model_validate(arguments)
            values = {name: getattr(given, name) for name in self.arguments.model_fields}
            with hear_bad_elements(named.append):
                answer = self.run(graph, **values) if self.needs_graph else self.run(**values)
        except ValidationError as error:
            return failure(f"the arguments do not fit: {explain_validation_error(error)}")
        except MemoryGraphError as error:
            return failure(explain_to_client(error))
        except Exception as error:
            logger.exception("the tool %s failed", self.name)
            return failure(f"an error of memorygraph itself, which its log explains: {type(error).__name__}")
        return make(
            CallToolResult,
            content=[
                TextContent(type="text", text=sendable(text))
                for text in (answer.text, *filter(None, [answer.note]), *map(say_in_words_of_tools, named))
            ],
            structuredContent=answer.values if answer.values is None else sendable_values(answer.values),
        )


TOOLS: dict[str, Tool] = {}
"""The tools by name, in the order in which clients list them; `@tool` adds each."""


def tool(
    group: str, title: str, result: type[Any] | None = None, *, base: type[ToolArguments] | None = None, **hints: bool
) -> Callable[[Callable[..., ToolAnswer]], Tool]:
    """Make a tool of a function, in a group: its name is that of the tool, and its docstring is what clients read.

    Its parameters after the graph are the tool's arguments, besides those of `base`. `hints` are the fields `writes`,
    `destructive`, `idempotent`, `open_world`, `runs` and `needs_graph` of a tool. One of our own refuses
    arguments that it does not know; in a group of another server it says so by its `base`.
    """
    parent: type[ToolArguments] = base or (ToolArguments if group in DROP_IN_GROUPS else KnownArguments)

    def register(run: Callable[..., ToolAnswer]) -> Tool:
        name = run.__name__
        description = " ".join((run.__doc__ or "").split())
        kinds = get_type_hints(run, localns={"MemoryGraph": object}, include_extras=True)
        fields: dict[str, Any] = {
            each.name: (kinds[each.name], ... if each.default is each.empty else each.default)
            for each in inspect.signature(run).parameters.values()
            if each.kind is each.KEYWORD_ONLY
        }
        arguments = create_model(name, __base__=parent, **fields)
        TOOLS[name] = Tool(name, group, title, description, arguments, run, result, **hints)
        return TOOLS[name]

    return register


def provenance() -> Provenance:
    """Who asks for what a tool writes."""
    return Provenance(by=CALLER.get())


def advance(number: int, word: str) -> None:
    """Tell the client that so much more of what a word names is done."""
    if tell := PROGRESS.get():
        tell(number, word)


def explain_to_client(error: MemoryGraphError) -> str:
    """Say what went wrong, without what a model's endpoint said of it: that is for the server's log."""
    said = str(error)
    if isinstance(error, ModelError):
        if error.brief != said:
            logger.warning("%s", error)
        said = error.brief
    kept = f"\nWhat the program had done by then stays; its record is run {error.run}." if error.run else ""
    return say_in_words_of_tools(said) + kept


def failure(message: str) -> CallToolResult:
    """An answer that says what went wrong."""
    return make(CallToolResult, content=[TextContent(type="text", text=sendable(message))], isError=True)


def sendable(text: str) -> str:
    r"""A text without halves of characters, which no transport can send.

    >>> sendable("a\ud800")
    'a?'
    """
    return text.encode("utf-8", "replace").decode()


def sendable_values(value: Any) -> Any:
    """A value as JSON whose texts can all be sent: what JSON does not know is its text, NaN and infinity are null."""
    if isinstance(value, str):
        return sendable(value)
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {sendable(str(key)): sendable_values(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [sendable_values(inner) for inner in value]
    return value if value is None or isinstance(value, int) else str(value)


def keep_fitting(
    name: str,
    items: Sequence[Item],
    max_tokens: int,
    show: Callable[[Item], Any] = lambda item: item.as_dict(),  # type: ignore[attr-defined]
    shorten: Callable[[Any, int], Any] | None = None,
) -> dict[str, Any]:
    """Show as many of the first items as fit under a name, and say how many are left out.

    The first is always shown; where it is too long, it is shortened, and its `tokens` that are left out are counted.
    `shorten` does so for a limit as `shorten_values` does, which is called otherwise.
    """
    kept: list[Any] = []
    cut = 0
    tokens_left = max_tokens - MIN_TOKENS // 2
    for item in items:
        shown = show(item)
        tokens = count_tokens(as_json([shown]))
        if tokens > tokens_left:
            if not kept:
                kept.append(shorten_item(shown, tokens_left, shorten or shorten_values))
                cut = tokens - count_tokens(as_json(kept))
            break
        tokens_left -= tokens
        kept.append(shown)
    counts = {name: len(items) - len(kept), "tokens": cut}
    left_out = {key: count for key, count in counts.items() if count > 0}
    return {name: kept, **({"leftOut": left_out} if left_out else {})}


def shorten_item(item: Any, max_tokens: int, shorten_to: Callable[[Any, int], Any]) -> Any:
    """Cut the texts and lists in an item until it fits, as far as that goes: what it is found by stays whole."""
    limit = max_tokens
    shorter = item
    while limit > 1 and count_tokens(as_json([shorter])) > max_tokens:
        limit //= 2
        shorter = shorten_to(item, limit)
    return shorter


def shorten_values(value: Any, limit: int) -> Any:
    """A JSON value whose texts have about so many tokens, and whose lists an eighth as many values: one at least.

    >>> shorten_values({"name": "one two three", "edges": [1, 2, 3]}, 16)
    {'name': 'one two three', 'edges': [1, 2]}
    """
    if isinstance(value, str):
        return shorten_part(value, max(limit, MIN_TEXT_TOKENS))
    if isinstance(value, dict):
        return {key: inner if key in FOUND_BY else shorten_values(inner, limit) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [shorten_values(inner, limit) for inner in value[: max(limit // 8, 1)]]
    return value
