"""What a node graph uses, and where: the functions that it calls, the types that it names, its variables.

Only what a run can execute counts: a message of a role that is not run uses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from memorygraph.compiler.convo import GraphNode, NodeGraph, is_disabled
from memorygraph.errors import Span
from memorygraph.languages.convo import syntax
from memorygraph.languages.convo.syntax import message_role
from memorygraph.languages.engine.syntax import SyntaxNode, parts_in
from memorygraph.runtime.convo.builtins import is_method
from memorygraph.runtime.convo.prompt_heads import PromptHead
from memorygraph.runtime.convo.scene import CHANGES
from memorygraph.runtime.convo.transcript import SPEAKERS

SPEAKING, CALLED, ROUTING = range(3)  # the stages of a visit, in order
CONDITIONS = frozenset({"condition", "disabled"})  # tags that may leave a message out
TYPE_NAME = re.compile(r"\w+")


@dataclass(frozen=True)
class VariableUse:
    """A variable that is read or set: in a node, or outside of all (None), and at which stage of a visit."""

    name: str
    span: Span
    node: str | None
    stage: int = SPEAKING

    @property
    def speaks(self) -> bool:
        """Whether this happens before the node has an output."""
        return self.stage == SPEAKING

    def follows(self, other: VariableUse) -> bool:
        """Whether this happens after another use in the same visit."""
        return self.node == other.node and (self.stage, self.span.start) > (other.stage, other.span.start)


@dataclass
class Uses:
    """The uses of one graph."""

    calls: list[tuple[str, Span]] = field(default_factory=list)
    types: list[tuple[str, Span]] = field(default_factory=list)
    reads: list[VariableUse] = field(default_factory=list)
    writes: list[VariableUse] = field(default_factory=list)
    values: dict[str, syntax.Value] = field(default_factory=dict)  # of variables that are set once
    sets_any: bool = False  # a variable is set whose name only a run knows

    def declared_type(self, name: str) -> syntax.Value | None:
        """The value that declares a type, where only one does."""
        return self.values.get(name) if sum(write.name == name for write in self.writes) == 1 else None


def uses_of(graph: NodeGraph, text: str) -> Uses:
    """Find everything that a graph uses, whose source is a text."""
    uses = Uses()
    UseReader(uses, text).messages(graph.outside)
    for node in graph.nodes.values():
        reader = UseReader(uses, text, node.id)
        # A description is rendered at any time.
        replace(reader, node=None, stage=CALLED).part(node.message.content)
        reader.messages(node.children)
        reader.routes(node)
    return uses


@dataclass(frozen=True)
class UseReader:
    """Reads the uses of one place: a node, or what stands in none; `local` are the names of a body."""

    uses: Uses
    text: str
    node: str | None = None
    stage: int = SPEAKING
    local: frozenset[str] = frozenset()

    def messages(self, messages: Iterable[syntax.Message]) -> None:
        """Read the messages of a node, or those outside of all."""
        for message in messages:
            if is_disabled(message):
                continue
            self.tags(message)
            match message:
                case syntax.FunctionMessage(modifier="call"):
                    self.all(message.arguments)
                case syntax.FunctionMessage():
                    self.function(message)
                case syntax.CodeMessage(role="define" | "do" | "result"):
                    self.all(message.statements)
                case syntax.TextMessage() if message.role in SPEAKERS or message.role in CHANGES:
                    self.part(message.content)

    def tags(self, message: syntax.Message) -> None:
        """Read the tags that are computed: the conditions of a message, and the type of its reply."""
        for tag in message.tags:
            if tag.name in CONDITIONS and tag.expression is not None:
                self.part(tag.expression)
            elif tag.name == "assignTo" and tag.text:
                self.write(tag.text, tag.span, None)
            elif tag.name == "assign" and tag.text:  # known when the model has answered
                replace(self, stage=CALLED).write(tag.text, tag.span, None)
            elif tag.name != "json" or self.node is None or message_role(message) != "user":
                continue
            elif tag.expression is not None:
                self.type(tag.expression)
            elif tag.text:
                name = TYPE_NAME.findall(tag.text)[-1:]
                self.uses.types += [(found, place_of(found, tag.span, tag.text)) for found in name]

    def routes(self, node: GraphNode) -> None:
        """Read the conditions of a node's routes."""
        reader = replace(self, stage=ROUTING)
        for route in node.routes:
            reader.all(tag.expression for tag in route.tags if tag.name in CONDITIONS and tag.expression is not None)
            if isinstance(route.condition, syntax.Template):
                reader.part(route.condition)
            elif route.condition is not None:
                reader.all(route.condition)

    def function(self, function: syntax.FunctionMessage) -> None:
        """Read a function: the types of its head, and its body, which can be called from anywhere."""
        for parameter in function.parameters:
            if parameter.type is not None:
                self.type(parameter.type)
        self.uses.types += head_types(function, self.text)
        body = function.body or ()
        names = {parameter.name for parameter in function.parameters}
        # With a type for all parameters, their names are not known here.
        if function.parameter_type is not None:
            names |= variables_read_in(body)
        replace(self, node=None, stage=CALLED, local=frozenset(names)).all(body)

    def all(self, parts: Iterable[SyntaxNode]) -> None:
        """Read statements, arguments or values, in order."""
        for part in parts:
            self.part(part)

    def part(self, part: SyntaxNode) -> None:
        """Read a statement, an argument, an expression, or what stands in one."""
        match part:
            case syntax.Reference():
                self.read(part)
            case syntax.Call():
                self.call(part)
            case syntax.InlinePrompt():
                self.part(part.content)
                assigned = PromptHead.read(part.head).assigned
                if assigned:
                    self.write(assigned, part.span, None)
            case _:
                if isinstance(part, syntax.Statement) and part.path:
                    self.write(part.path[0], part.span, part.value if len(part.path) == 1 else None)
                self.all(parts_in(part))

    def type(self, value: syntax.Value) -> None:
        """Read an expression that is a type: a name in it is that of a type."""
        match value:
            case syntax.Reference():
                if value.path[0] not in self.local:  # which may hold a type: it is a value
                    self.uses.types.append((value.path[0], name_span(value.path[0], value.span)))
            case syntax.Call(name=("array" | "map" | "struct",)):
                for argument in value.arguments:
                    self.type(argument.value)
            case syntax.Map():
                for entry in value.entries:
                    self.type(entry.value)
            case syntax.Array():
                for item in value.items:
                    self.type(item.value)
            case _:
                self.part(value)

    def call(self, call: syntax.Call) -> None:
        """Read a call; the first argument of some built-in functions is a variable or a type that they name."""
        name, arguments = ".".join(call.name), call.arguments
        self.uses.calls.append((name, name_span(name, call.span)))
        if is_method(call.name):  # of the text in a variable, which is read
            self.read(syntax.Reference(call.name[:-1], span=call.span))
        first = arguments[0].value if arguments else None
        if name == "isUndefined":  # it may well be asked of what nothing sets
            arguments = tuple(argument for argument in arguments if not isinstance(argument.value, syntax.Reference))
        elif name == "new" and isinstance(first, syntax.Reference):
            self.type(first)
            arguments = arguments[1:]
        elif name == "is" and isinstance(arguments[-1].value if arguments else None, syntax.Reference):
            self.type(arguments[-1].value)
            arguments = arguments[:-1]
        else:
            arguments = self.assignment(name, arguments)
        self.all(arguments)

    def assignment(self, name: str, arguments: tuple[syntax.Argument, ...]) -> tuple[syntax.Argument, ...]:
        """Note which variables a call sets, if it sets any; give the arguments that it reads."""
        first = arguments[0].value if arguments else None
        if name == "setDefault":
            for argument in arguments:
                if argument.label is not None:
                    self.write(argument.label, argument.span, argument.value)
        elif first is None or name not in {"inc", "dec", "setVar", "setObjDefaults"}:
            pass
        elif (said := plain_text(first)) is not None:
            self.write(said.partition(".")[0], first.span, None)
        elif name in {"inc", "dec"} and isinstance(first, syntax.Reference):
            self.write(first.path[0], first.span, None)
            return arguments[1:]
        elif name != "setObjDefaults":  # which may as well change a map that has no name
            self.uses.sets_any = True
        return arguments

    def read(self, reference: syntax.Reference) -> None:
        """Note that a variable is read."""
        name = reference.path[0]
        if name not in self.local:
            span = name_span(name, reference.span)
            self.uses.reads.append(VariableUse(name, span, self.node, self.stage))

    def write(self, name: str, span: Span, value: syntax.Value | None) -> None:
        """Note that a variable is set."""
        self.uses.writes.append(VariableUse(name, span, self.node, self.stage))
        if value is not None:
            self.uses.values.setdefault(name, value)


def variables_read_in(body: Iterable[syntax.Statement]) -> set[str]:
    """The names of all variables that a body reads."""
    uses = Uses()
    UseReader(uses, "").all(body)
    return {read.name for read in uses.reads}


def head_types(function: syntax.FunctionMessage, text: str) -> Iterator[tuple[str, Span]]:
    """The types that stand in a function's head after its parameters, with their places."""
    start = max([function.span.start, *(parameter.span.end for parameter in function.parameters)])
    end = function.body[0].span.start if function.body else function.span.end
    for name, before in ((function.parameter_type, r"\)\s*"), (function.return_type, r"->\s*")):
        if name is not None:
            found = re.compile(rf"{before}({re.escape(name)})\b").search(text, start, end)
            yield name, Span(*found.span(1)) if found else function.span


def name_span(name: str, span: Span) -> Span:
    """The place of a name that an expression begins with."""
    return Span(span.start, min(span.end, span.start + len(name)))


def place_of(name: str, span: Span, text: str) -> Span:
    """The place of a name in the text of a tag, which ends where the tag does."""
    start = span.end - len(text) + text.rindex(name)
    return Span(start, start + len(name))


def plain_text(value: syntax.Value) -> str | None:
    """The text of a literal; None for everything else."""
    if isinstance(value, syntax.Text):
        return value.value
    if isinstance(value, syntax.Template) and all(isinstance(part, str) for part in value.parts):
        return "".join(map(str, value.parts))
    return None
