"""Convo-Lang: conversations as programs, and node graphs of prompts with routes between them.

The classes are what the rules of grammar.tx read. The values are frozen, know their place (`span`), and are equal
when they say the same, wherever they stand. Source: seeds/convo-node-graphs.txt and specs/convo.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from memorygraph.errors import Problem, Source
from memorygraph.languages.engine.syntax import SyntaxNode


class ConvoSyntax(SyntaxNode):
    """A piece of a conversation and its place in the source."""


class ParsedConversation(ConvoSyntax):
    """All messages of a file, in their order. Nodes are messages too: what belongs to one follows it."""

    messages: tuple[Message, ...]


class Tag(ConvoSyntax):
    """`@name value` or `@name = expression`, before the message it belongs to.

    A tag without `=` has its text as it stands, or None; for a route with a condition in code, `target` is what
    stands before the `=`. `@to a Some text` has the target `a` and the text `Some text`.
    """

    name: str
    text: str | None = None
    target: str | None = None
    expression: Value | None = None


class TextMessage(ConvoSyntax):
    """A message in text, with its insertions: `user`, `assistant`, `system`, `node`, `goto`, `to`, `exit`, and others.

    `head` is the rest of the line after the role: the id of a node, the target of a route.
    """

    role: str
    head: str
    content: Template
    tags: tuple[Tag, ...] = ()


class CodeMessage(ConvoSyntax):
    """A message in statements: `define`, `do`, `result`, …, and every role with `!` after it (`to!`, `exit!`)."""

    role: str
    head: str
    statements: tuple[Statement, ...]
    tags: tuple[Tag, ...] = ()


class FunctionMessage(ConvoSyntax):
    """`> local name(parameters) Type -> Type (body)`. Without a body (None) it gives back its arguments.

    For the modifier `call` the parameters are arguments (`arguments`), as a recorded call has them.
    """

    role: ClassVar[str] = ""  # a function has no role, and no head
    head: ClassVar[str] = ""
    modifier: str | None
    name: str
    parameters: tuple[Parameter, ...] = ()
    arguments: tuple[Argument, ...] = ()
    parameter_type: str | None = None
    return_type: str | None = None
    body: tuple[Statement, ...] | None = None
    description: str | None = None
    tags: tuple[Tag, ...] = ()


class Parameter(ConvoSyntax):
    """`name?: type`, described by the `#` lines before it."""

    name: str
    optional: bool = False
    type: Value | None = None
    description: str | None = None


class Template(ConvoSyntax):
    """A text with insertions, in order; texts have their escapes resolved."""

    parts: tuple[str | Insertion, ...] = ()


class Insertion(ConvoSyntax):
    """`{{ statements }}` in a text; the last value is inserted."""

    statements: tuple[Statement, ...]


class Statement(ConvoSyntax):
    """`value`, or `path = value`; `path` is the dotted name that is assigned. A label names it, a tag is above it."""

    value: Value
    path: tuple[str, ...] = ()
    description: str | None = None
    label: str | None = None
    optional: bool = False
    tags: tuple[Tag, ...] = ()


class Text(ConvoSyntax):
    """A text without insertions: in double quotes, or between lines of dashes."""

    value: str


class Number(ConvoSyntax):
    """A number."""

    value: int | float


class Constant(ConvoSyntax):
    """`true`, `false`, `null` or `undefined`."""

    name: str


class Reference(ConvoSyntax):
    """`a.b.c`: a variable and what is in it. A path through nothing is undefined, and no error."""

    path: tuple[str, ...]


class Call(ConvoSyntax):
    """`name(arguments)`, or `name(arguments).path`, a part of what the call gives; the name may be dotted."""

    name: tuple[str, ...]
    arguments: tuple[Argument, ...] = ()
    path: tuple[str, ...] = ()


class Argument(Statement):
    """`label: value`, `label?: value`, a value alone, or an assignment, in a call, a body or a list."""


class Map(ConvoSyntax):
    """`{ key: value … }`."""

    entries: tuple[Argument, ...]


class Array(ConvoSyntax):
    """`[ value … ]`."""

    items: tuple[Argument, ...]


class Pipe(ConvoSyntax):
    """`target << source`: what the last value gives is piped into the one before it, and so on to the first."""

    values: tuple[Value, ...]


class InlinePrompt(ConvoSyntax):
    """`??? (head) content ???`, which a model answers; `=== content ===` is static: its content is its value.

    `head` holds the modifiers in parentheses after the opening. The content may hold messages with heads.
    """

    head: str
    content: Template
    static: bool = False


Message: TypeAlias = TextMessage | CodeMessage | FunctionMessage
Value: TypeAlias = Text | Template | Number | Constant | Reference | Call | Map | Array | Pipe | InlinePrompt

# The roles whose messages are statements, besides every role with `!` after it.
CODE_ROLES = frozenset({"do", "define", "result", "thinkingResult", "debug", "end", "target", "make", "stage", "app"})
TITLED_ROLES = frozenset({"target", "make", "stage", "app"})  # their heads may say something beside the role
ROUTE_ROLES = frozenset({"to", "from", "exit"})  # roles, and tags, that declare a route of a node
MAX_NODE_ID = 512  # characters: ids are indexed, and an index holds no long ones
NODE_ENDS = frozenset({"node", "nodeEnd", "goto", "exitGraph"})  # roles that end the node before them
MODIFIERS = frozenset({"local", "extern", "call", "invoke", "agent"})  # may stand before the name of a function
# The tags whose value may be an expression.
EXPRESSION_TAGS = ("condition", "disabled", "taskName", "taskDescription", "json", "to", "from", "exit", "on")


def message_role(message: Message) -> str:
    """The role of a message without the `!` of code; a function has none."""
    return message.role.removesuffix("!")


@dataclass(frozen=True)
class ConvoProgram:
    r"""A file: its source, the conversation that it holds, and what is wrong with it.

    One whose syntax is wrong has no messages; one with other problems has all of them, and cannot be run.

    >>> from memorygraph.languages import parse
    >>> program = parse("> user\nHello {{name}}", "convo")
    >>> program.conversation.messages[0].content.parts[0], program.problems
    ('Hello ', ())
    """

    language: ClassVar[str] = "convo"

    source: Source
    conversation: ParsedConversation
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()  # what has no effect here, and keeps a program from nothing

    @property
    def statements(self) -> tuple[Message, ...]:
        """The messages, by the name that they have in every language."""
        return self.conversation.messages
