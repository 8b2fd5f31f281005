"""AgentScript: programs that declare exactly which context a model call may see.

The classes are what the rules of grammar.tx read, apart from what reads them, so that using one costs no grammar.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from memorygraph.errors import Problem, Source
from memorygraph.languages.engine.syntax import SyntaxNode


class AgentScriptSyntax(SyntaxNode):
    """A piece of a program and its place in the source."""


class Import(AgentScriptSyntax):
    """`import tool Search from "https://…"`; `kind` is tool, llm, file, agent or memory."""

    kind: str
    name: str
    uri: str


class Agent(AgentScriptSyntax):
    """An agent: its configuration and its functions. An unnamed main agent is called `__main_agent`."""

    kind: ClassVar[str] = "agent"

    name: str
    main: bool
    configs: tuple[Config, ...]
    functions: tuple[Function, ...]


class Config(AgentScriptSyntax):
    """`model Qwen`, `role "…"` or `description "…"`, in an agent or in a block."""

    name: str
    value: Expression


class Function(AgentScriptSyntax):
    """A function of an agent. An unnamed main function is called `__main`."""

    kind: ClassVar[str] = "function"

    name: str
    main: bool
    parameters: tuple[FunctionParameter, ...]
    body: Block


class FunctionParameter(AgentScriptSyntax):
    """A parameter; only the `input` of a main function may have a shape."""

    name: str
    shape: Shape | None = None


class Block(AgentScriptSyntax):
    """Statements in braces: a scope of their own."""

    statements: tuple[Statement, ...]


class Use(AgentScriptSyntax):
    """`use value < budget`: declares a source of context."""

    value: Expression
    budget: Limit | None = None


class Return(AgentScriptSyntax):
    """Leaves the function with a value."""

    value: Expression


class Repeat(AgentScriptSyntax):
    """`repeat * 3 { … }`."""

    count: int
    body: Block


class For(AgentScriptSyntax):
    """`for item in items < 10 { … }`."""

    item: str
    items: Expression
    limit: Limit
    body: Block


class Loop(AgentScriptSyntax):
    """`loop until condition < 5 { … }`."""

    condition: Expression
    limit: Limit
    body: Block


class If(AgentScriptSyntax):
    """`if condition { … } else { … }`."""

    condition: Expression
    then: Block
    otherwise: Block | None = None


class Assignment(AgentScriptSyntax):
    """`name = value` or `object.member = value`."""

    target: Expression
    value: Expression


class ExpressionStatement(AgentScriptSyntax):
    """An expression that stands as a statement."""

    value: Expression


class Or(AgentScriptSyntax):
    """`a or b or …`, with at least two operands."""

    operands: tuple[Expression, ...]


class And(AgentScriptSyntax):
    """`a and b and …`, with at least two operands."""

    operands: tuple[Expression, ...]


class Comparison(AgentScriptSyntax):
    """`left == right` or `left != right`; several are grouped from the left."""

    operator: str
    left: Expression
    right: Expression


class Not(AgentScriptSyntax):
    """`not operand`."""

    operand: Expression


class Member(AgentScriptSyntax):
    """`value.name`."""

    value: Expression
    name: str


class FunctionCall(AgentScriptSyntax):
    """`function(arguments)`."""

    function: Expression
    arguments: tuple[Expression, ...]


class Index(AgentScriptSyntax):
    """`value[index]`."""

    value: Expression
    index: Expression


class Generate(AgentScriptSyntax):
    """`generate({ input: … }) { return { … } }`: the one place where a model is called."""

    options: tuple[Entry, ...]
    shape: Shape


class TextLiteral(AgentScriptSyntax):
    """A text, its escapes resolved."""

    value: str


class NumberLiteral(AgentScriptSyntax):
    """A number as it is written, with its suffix, which only a budget heeds."""

    text: str
    value: int | float


class Boolean(AgentScriptSyntax):
    """`true` or `false`."""

    value: bool


class Nothing(AgentScriptSyntax):
    """`none`."""


class Name(AgentScriptSyntax):
    """A name that is looked up."""

    name: str


class Object(AgentScriptSyntax):
    """`{ key: value … }`."""

    entries: tuple[Entry, ...]


class Entry(AgentScriptSyntax):
    """`key: value` in an object or among the options of `generate`."""

    key: str
    value: Expression


class List(AgentScriptSyntax):
    """`[a, b …]`."""

    items: tuple[Expression, ...]


class Limit(AgentScriptSyntax):
    """The limit after `<`: the number as it is written, with its unit (`2k`)."""

    text: str


class Shape(AgentScriptSyntax):
    """The fields that a generated object must have."""

    fields: tuple[Field, ...]


class Field(AgentScriptSyntax):
    """`name type`; `item` is the type inside `list[…]`."""

    name: str
    type: str
    item: str | None = None


Statement: TypeAlias = Config | Use | Return | Repeat | For | Loop | If | Assignment | ExpressionStatement
Leaf: TypeAlias = TextLiteral | NumberLiteral | Boolean | Nothing | Name
Expression: TypeAlias = Or | And | Comparison | Not | Member | FunctionCall | Index | Generate | Object | List | Leaf


@dataclass(frozen=True)
class AgentScriptProgram:
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
