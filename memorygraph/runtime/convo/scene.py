"""What a run of a graph needs of the language: values of expressions, texts of messages, tools and types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from memorygraph.errors import ScriptError
from memorygraph.languages.convo.syntax import (
    CodeMessage,
    FunctionMessage,
    Message,
    Program,
    Statement,
    Tag,
    Template,
    TextMessage,
)
from memorygraph.runtime.convo.entry import SPEAKERS, Entry
from memorygraph.runtime.convo.evaluator import Evaluator
from memorygraph.runtime.convo.graph import Graph, Node, functions_of
from memorygraph.runtime.convo.scope import Environment
from memorygraph.runtime.convo.tools import read_arguments, tool_schema
from memorygraph.runtime.convo.values import UNDEFINED, ConvoType, copy_deeply, render_value, to_plain, truthy
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.values import ValueProblem

INPUT, GRAPH_INPUT, OUTPUT = "input", "graphInput", "output"
STACK, DEPTH = "__nodeStack", "__nodeContextDepth"

_OURS = frozenset({INPUT, GRAPH_INPUT, OUTPUT, STACK})


@dataclass(frozen=True)
class Visit:
    """One visit of a node: its id, and the input that it was given."""

    node: str
    input: Any

    def info(self) -> dict[str, Any]:
        """The visit as programs see it."""
        return {"nodeId": self.node, "input": copy_deeply(self.input)}


@dataclass(frozen=True)
class Shape:
    """The type of the reply that a step wants."""

    type: ConvoType

    @property
    def schema(self) -> dict[str, Any]:
        """Its JSON Schema."""
        return self.type.schema

    def coerce(self, value: Any) -> Any:
        """A value as one of this type.

        Raises:
            MemoryGraphError: it is none.
        """
        return self.type.coerce(value, "the reply")


class Scene:
    """The variables and functions of one branch, and what its expressions give.

    Expressions get copies of inputs and outputs, so that no program can change the record of its run.
    """

    def __init__(self, program: Program, graph: Graph, permissions: Permissions) -> None:
        self._program, self._graph, self._permissions = program, graph, permissions
        self._stack: list[Visit] = []
        self._infos: list[dict[str, Any]] = []
        self._use(Environment(permissions=permissions))
        self._evaluator.declare(
            [*functions_of(graph.outside), *(f for node in graph.nodes.values() for f in node.functions)]
        )

    def copy(self) -> Scene:
        """A scene that shares no variable with this one."""
        other = Scene(self._program, self._graph, self._permissions)
        other._stack = list(self._stack)
        other._infos = [visit.info() for visit in self._stack]
        other._use(self._environment.copy())
        return other

    def _use(self, environment: Environment) -> None:
        hooks = {"getNodeInfo": self._node_info, "getNodeInput": self._node_input}
        self._environment = replace(environment, hooks=hooks)
        self._evaluator = Evaluator(self._environment, self._program.source)

    # Visits

    def enter(self, visit: Visit) -> None:
        """Begin a visit: its input is that of the expressions from here on, and nothing is the output yet."""
        self.visited(visit)
        self._environment.variables[INPUT] = copy_deeply(visit.input)
        self._environment.variables.pop(OUTPUT, None)

    def visited(self, visit: Visit) -> None:
        """Note a visit in the stack of nodes."""
        self._stack.append(visit)
        variables = self._environment.variables
        self._infos.append(visit.info())
        variables[STACK] = self._infos
        variables[GRAPH_INPUT] = copy_deeply(self._stack[0].input)

    @contextmanager
    def output(self, value: Any) -> Iterator[None]:
        """Let the expressions of the block see the output of the step."""
        self._environment.variables[OUTPUT] = copy_deeply(value)
        try:
            yield
        finally:
            self._environment.variables.pop(OUTPUT, None)

    def default_depth(self) -> Any:
        """The context depth of nodes that say none themselves."""
        value = self._environment.variables.get(DEPTH, UNDEFINED)
        return 1 if value is UNDEFINED or value is None else value

    def variables(self) -> dict[str, Any]:
        """A copy of the program's variables, those that JSON can hold."""
        return {
            name: copy_deeply(value)
            for name, value in self._environment.variables.items()
            if name not in _OURS and _is_data(value)
        }

    def restore(self, variables: dict[str, Any]) -> None:
        """Give the program's variables the values that they had."""
        self._environment.variables.update(copy_deeply(variables))

    # Expressions

    def run(self, statements: Sequence[Statement], *, defining: bool = False) -> Any:
        """The last value of statements."""
        return self._evaluator.statements(statements, defining=defining)

    def holds(self, statements: Sequence[Statement]) -> bool:
        """Whether the last value of statements counts as true."""
        return bool(statements) and truthy(self.run(statements))

    def text(self, template: Template) -> str:
        """A text with its insertions made."""
        return self._evaluator.template(template)

    def written(self, value: Any) -> str:
        """A value as it stands in a text."""
        return render_value(value)

    def describe(self, node: str) -> str:
        """The description of a node."""
        return self.text(self._graph.nodes[node].message.content) if node in self._graph.nodes else ""

    # Messages

    def enabled(self, message: Message) -> bool:
        """Whether a message takes part: its tags `@condition` and `@disabled` say so."""
        for tag in message.tags:
            if tag.name == "condition" and tag.expression is not None and not truthy(self._value(tag.expression)):
                return False
            if tag.name == "disabled" and (tag.expression is None or truthy(self._value(tag.expression))):
                return False
        return True

    def entry(self, message: TextMessage) -> Entry:
        """A message of one who speaks, with its insertions made."""
        return Entry(message.role, self.text(message.content), self._tags(message))

    def recorded_call(self, message: FunctionMessage) -> Entry:
        """A call as a transcript holds it."""
        arguments = {argument.label or "": to_plain(self._value(argument.value)) for argument in message.arguments}
        id_ = next((tag.text for tag in message.tags if tag.name == "toolId"), None)
        tags = tuple(tag for tag in self._tags(message) if not tag.startswith("@toolId"))
        return Entry("call", tags=tags, name=message.name, arguments=arguments, id=id_ or "")

    def recorded_result(self, message: CodeMessage) -> Entry:
        """A function's result as a transcript holds it."""
        values = [s.value for s in message.statements if s.path in {("__return",), ()}]
        return Entry("result", tags=self._tags(message), value=self._value(values[-1]) if values else None)

    def children(self, node: Node) -> tuple[list[Entry], list[Entry]]:
        """What a visit of a node adds to the conversation, and what of the system it sends beside that.

        Code is executed where it stands.
        """
        messages: list[Entry] = []
        system: list[Entry] = []
        for child in node.children:
            if isinstance(child, FunctionMessage) or not self.enabled(child):
                continue
            if isinstance(child, CodeMessage):
                if child.role in {"define", "do"}:
                    self.run(child.statements, defining=child.role == "define")
                    messages.append(Entry(child.role, self._code(child), self._tags(child)))
            elif child.role in SPEAKERS:
                (system if child.role == "system" else messages).append(self.entry(child))
        return messages, system

    def _tags(self, message: Message) -> tuple[str, ...]:
        """The tags of a message, as they are written."""
        return tuple(self._source(tag.span) for tag in message.tags)

    def _code(self, message: CodeMessage) -> str:
        if not message.statements:
            return ""
        return self._source((message.statements[0].span[0], message.statements[-1].span[1]))

    def _source(self, span: tuple[int, int]) -> str:
        return self._program.source.text[span[0] : span[1]].strip()

    # Tools and types

    def tool(self, function: FunctionMessage) -> dict[str, Any]:
        """A function as a model is offered it."""
        return tool_schema(function, self._evaluator)

    def arguments(self, function: FunctionMessage, said: str) -> dict[str, Any]:
        """The arguments that a model gives to a function, of the types that it takes.

        Raises:
            MemoryGraphError: they do not fit.
        """
        return read_arguments(said, function, self._evaluator)

    def call(self, function: FunctionMessage, arguments: dict[str, Any]) -> Any:
        """What a function gives, as data of its own.

        Raises:
            MemoryGraphError: something in it cannot be done.
        """
        value = self._evaluator.call_function(function, arguments)
        return value if value is UNDEFINED else to_plain(value)

    def shape(self, node: Node, messages: Sequence[Entry]) -> Shape | None:
        """The type that the last message of the user in a node wants for the reply; None where it wants a text."""
        asked = [child for child in node.children if isinstance(child, TextMessage) and child.role == "user"]
        last = next((entry for entry in reversed(messages) if entry.role == "user"), None)
        child = next((c for c in reversed(asked) if last is not None and self._tags(c) == last.tags), None)
        tag = next((tag for tag in reversed(child.tags) if tag.name == "json"), None) if child else None
        return Shape(self._type(tag)) if tag else None

    def _type(self, tag: Tag) -> ConvoType:
        """The type that a tag `@json` names or computes; without either, any."""
        try:
            return self._evaluator.type(tag.expression or tag.text or "any")
        except ValueProblem as error:
            raise ScriptError([self._program.source.problem(str(error), error.code, tag.span)]) from error

    def _value(self, value: Any) -> Any:
        return self._evaluator.value(value)

    # The functions of the language that know the graph

    def _visit(self, given: Sequence[Any]) -> Visit | None:
        """The visit that is meant: the current one, one by its index, or the latest of a node."""
        which = given[0] if given else -1
        if isinstance(which, str):
            return next((visit for visit in reversed(self._stack) if visit.node == which), None)
        if isinstance(which, bool) or not isinstance(which, (int, float)) or which != int(which):
            return None
        index = int(which)
        return self._stack[index] if -len(self._stack) <= index < len(self._stack) else None

    def _node_info(self, given: Sequence[Any]) -> Any:
        visit = self._visit(given)
        return UNDEFINED if visit is None else visit.info()

    def _node_input(self, given: Sequence[Any]) -> Any:
        visit = self._visit(given)
        return UNDEFINED if visit is None else copy_deeply(visit.input)


def _is_data(value: Any) -> bool:
    """Whether JSON can hold a value, and give it back as it is."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, (dict, list)):
            waiting += found.values() if isinstance(found, dict) else found
        elif found is not None and not isinstance(found, (str, int, float, bool)):
            return False
    return True
