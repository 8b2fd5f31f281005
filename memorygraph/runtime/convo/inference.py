"""What a step asks a model, and what becomes of the answer: its output.

A node without a message of the user and with exactly one function calls that function itself. There is one call of
the model for a step; what a called function gives is the output, and nothing is asked about it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memorygraph.errors import MemoryGraphError, ModelError, ScriptError
from memorygraph.languages.convo.syntax import FunctionMessage
from memorygraph.llm.completion import Completion
from memorygraph.runtime.convo.context import step_context, tool_choice
from memorygraph.runtime.convo.entry import Entry, recorded, wire_messages
from memorygraph.runtime.convo.failure import FunctionFailure, GraphFailure
from memorygraph.runtime.convo.graph import Node, functions_of
from memorygraph.runtime.convo.json_output import JSON_MODE, asked_for_json, read_output
from memorygraph.runtime.convo.scene import Scene, Shape
from memorygraph.runtime.convo.steps import Step, ToolUse
from memorygraph.runtime.convo.values import to_plain

if TYPE_CHECKING:
    from memorygraph.runtime.convo.engine import Engine


@dataclass(frozen=True)
class Inference:
    """The inference of one step."""

    engine: Engine
    scene: Scene
    node: Node
    step: Step

    def run(self, around: Sequence[Entry], groups: Sequence[Sequence[Entry]], depth: int | None) -> None:
        """Give the step its output.

        Raises:
            MemoryGraphError: the model, or a function that it called, failed, or its reply has the wrong type.
        """
        asked = any(entry.role == "user" for entry in self.step.messages)
        function = None if asked else _only_one(self.node.functions)
        if function is not None:
            self._call(function, lambda: self._first(function))
            return
        context = step_context(around, groups, self.step.system, self.step.messages, depth)
        messages = wire_messages(context)
        if not asked and not self.step.system and all(message["role"] != "user" for message in messages):
            self._pass_on()
            return
        self._infer(context, messages)

    def _pass_on(self) -> None:
        """Nothing is asked: the output is what the node itself says, or its input."""
        said = [entry.content for entry in self.step.messages if entry.role == "assistant" and entry.spoken]
        self.step.output = said[-1] if said else self.step.input

    def _infer(self, context: list[Entry], messages: list[dict[str, Any]]) -> None:
        tools = {f.name: f for f in (*functions_of(self.engine.graph.outside), *self.node.functions) if _offered(f)}
        shape = self.scene.shape(self.node, self.step.messages)
        options: dict[str, Any] = {}
        if tools:
            options["tools"] = [self.scene.tool(function) for function in tools.values()]
        choice = tool_choice(next((entry for entry in reversed(context) if entry.spoken), None), list(tools))
        if choice is not None:
            options["tool_choice"] = choice
        if shape is not None:
            messages = asked_for_json(messages, shape.schema)
            options["response_format"] = JSON_MODE
        completion = self.engine.ask(self.step, "inference", "inference", messages, options)
        if completion.tool_calls:
            call = completion.tool_calls[0]
            if call.name not in tools:
                raise GraphFailure(f"the model called `{call.name}`, which is not offered here", "unknown-tool")
            self._call(function := tools[call.name], lambda: self.scene.arguments(function, call.arguments), call.id)
        else:
            self._read(completion, shape)

    def _read(self, completion: Completion, shape: Shape | None) -> None:
        if completion.refusal:
            raise ModelError(f"the model refuses: {completion.refusal}")
        said = completion.content or ""
        self.step.output = said if shape is None else read_output(said, shape.schema, shape.coerce)
        self.step.messages = [*self.step.messages, Entry("assistant", said)]

    def _call(self, function: FunctionMessage, read: Callable[[], dict[str, Any]], id_: str = "") -> None:
        """Call a function; a call that is known to be complete is not made again."""
        if self.step.tool is None:
            try:
                arguments = read()
                result = self.scene.call(function, arguments)
            except ScriptError as error:
                raise FunctionFailure(error.problems) from error
            except MemoryGraphError as error:
                raise GraphFailure(f"the function `{function.name}` failed: {error}", "tool") from error
            used = ToolUse(function.name, arguments, result)
            self.engine.tell(
                "tool_called", self.step, used.name, used.arguments, used.result, before=lambda: self._note(used)
            )
        use = self.step.tool
        assert use is not None  # noqa: S101 - it is noted above
        self.step.output = recorded(use.result)
        self.step.messages = [
            *self.step.messages,
            Entry("call", name=use.name, arguments=to_plain(use.arguments), id=id_),
            Entry("result", value=to_plain(self.step.output)),
        ]

    def _note(self, use: ToolUse) -> None:
        self.step.tool = use
        self.step.variables = self.scene.variables()

    def _first(self, function: FunctionMessage) -> dict[str, Any]:
        """The arguments of a function that is called without a model: its first parameter is the input."""
        return {function.parameters[0].name: self.step.input} if function.parameters else {}


def _offered(function: FunctionMessage) -> bool:
    return function.modifier != "local"


def _only_one(functions: Sequence[FunctionMessage]) -> FunctionMessage | None:
    """The function that a node calls itself: the only one that it has, or the only one that is not local."""
    known = [function for function in functions if _offered(function)] or list(functions)
    return known[0] if len(known) == 1 else None
