"""AgentScript: programs that declare exactly which context a model call may see.

Each class here is a rule of grammar.tx. The values are frozen, know their place (`span`), and are equal when
they say the same, wherever they stand. They are apart from what reads them, so that using one costs no grammar.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from memorygraph.errors import Problem, Source, Span


@dataclass(frozen=True)
class Syntax:
    """A piece of a program and its place in the source."""

    span: Span = field(default=Span(0, 0), compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Import(Syntax):
    """`import tool Search from "https://…"`; `kind` is tool, llm, file, agent or memory."""

    kind: str
    name: str
    uri: str


@dataclass(frozen=True)
class Agent(Syntax):
    """An agent: its configuration and its functions. An unnamed main agent is called `__main_agent`."""

    name: str
    main: bool
    configs: tuple[Config, ...]
    functions: tuple[Function, ...]


@dataclass(frozen=True)
class Config(Syntax):
    """`model Qwen`, `role "…"` or `description "…"`, in an agent or in a block."""

    name: str
    value: Expression


@dataclass(frozen=True)
class Function(Syntax):
    """A function of an agent. An unnamed main function is called `__main`."""

    name: str
    main: bool
    parameters: tuple[Parameter, ...]
    body: Block


@dataclass(frozen=True)
class Parameter(Syntax):
    """A parameter; only the `input` of a main function may have a shape."""

    name: str
    shape: Shape | None = None


@dataclass(frozen=True)
class Block(Syntax):
    """Statements in braces: a scope of their own."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class Use(Syntax):
    """`use value < budget`: declares a source of context."""

    value: Expression
    budget: Limit | None = None


@dataclass(frozen=True)
class Return(Syntax):
    """Leaves the function with a value."""

    value: Expression


@dataclass(frozen=True)
class Repeat(Syntax):
    """`repeat * 3 { … }`."""

    count: int
    body: Block


@dataclass(frozen=True)
class For(Syntax):
    """`for item in items < 10 { … }`."""

    item: str
    items: Expression
    limit: Limit
    body: Block


@dataclass(frozen=True)
class Loop(Syntax):
    """`loop until condition < 5 { … }`."""

    condition: Expression
    limit: Limit
    body: Block


@dataclass(frozen=True)
class If(Syntax):
    """`if condition { … } else { … }`."""

    condition: Expression
    then: Block
    otherwise: Block | None = None


@dataclass(frozen=True)
class Assignment(Syntax):
    """`name = value` or `object.member = value`."""

    target: Expression
    value: Expression


@dataclass(frozen=True)
class Evaluation(Syntax):
    """An expression that stands as a statement."""

    value: Expression


@dataclass(frozen=True)
class Or(Syntax):
    """`a or b or …`, with at least two operands."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class And(Syntax):
    """`a and b and …`, with at least two operands."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Comparison(Syntax):
    """`left == right` or `left != right`; several are grouped from the left."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Not(Syntax):
    """`not operand`."""

    operand: Expression


@dataclass(frozen=True)
class Member(Syntax):
    """`value.name`."""

    value: Expression
    name: str


@dataclass(frozen=True)
class Call(Syntax):
    """`function(arguments)`."""

    function: Expression
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Index(Syntax):
    """`value[index]`."""

    value: Expression
    index: Expression


@dataclass(frozen=True)
class Generate(Syntax):
    """`generate({ input: … }) { return { … } }`: the one place where a model is called."""

    options: tuple[Entry, ...]
    shape: Shape


@dataclass(frozen=True)
class Text(Syntax):
    """A text, its escapes resolved."""

    value: str


@dataclass(frozen=True)
class Number(Syntax):
    """A number as it is written, with its suffix, which only a budget heeds."""

    text: str
    value: int | float


@dataclass(frozen=True)
class Boolean(Syntax):
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True)
class Nothing(Syntax):
    """`none`."""


@dataclass(frozen=True)
class Name(Syntax):
    """A name that is looked up."""

    name: str


@dataclass(frozen=True)
class Object(Syntax):
    """`{ key: value … }`."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Entry(Syntax):
    """`key: value` in an object or among the options of `generate`."""

    key: str
    value: Expression


@dataclass(frozen=True)
class List(Syntax):
    """`[a, b …]`."""

    items: tuple[Expression, ...]


@dataclass(frozen=True)
class Limit(Syntax):
    """The limit after `<`: the number as it is written, with its unit (`2k`)."""

    text: str


@dataclass(frozen=True)
class Shape(Syntax):
    """The fields that a generated object must have."""

    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Field(Syntax):
    """`name type`; `item` is the type inside `list[…]`."""

    name: str
    type: str
    item: str | None = None


Statement: TypeAlias = Config | Use | Return | Repeat | For | Loop | If | Assignment | Evaluation
Expression: TypeAlias = (
    Or
    | And
    | Comparison
    | Not
    | Member
    | Call
    | Index
    | Generate
    | Text
    | Number
    | Boolean
    | Nothing
    | Name
    | Object
    | List
)


@dataclass(frozen=True)
class Program:
    """A program: its source, its imports and agents in order, and what is wrong with it.

    One whose syntax is wrong has no statements; one with other problems has all of them, and cannot be run.

    >>> from memorygraph.languages import parse
    >>> program = parse('main agent { main func() { return "hello" } }', "agentscript")
    >>> program.statements[0].name, program.problems
    ('__main_agent', ())
    """

    language: ClassVar[str] = "agentscript"

    source: Source
    statements: tuple[Import | Agent, ...]
    problems: tuple[Problem, ...] = ()
