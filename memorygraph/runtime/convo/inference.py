"""The inference of a step: what it sends to the model, and how its reply becomes the output.

A node without a message of the user and with exactly one function calls that function itself. There is one call of
the model for a step; what a called function gives is the output, and the model is not asked about it again. Source:
seeds/convo-node-graphs.txt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from memorygraph.compiler.convo import GraphNode, functions_of, tag_of
from memorygraph.errors import MemoryGraphError, ModelError, ScriptError
from memorygraph.json_text import parse_json
from memorygraph.languages.convo import syntax
from memorygraph.limits import Cancelled
from memorygraph.llm.structured import ReplyError, without_thoughts
from memorygraph.runtime.convo.evaluator import Evaluator
from memorygraph.runtime.convo.prompt_heads import PromptHead
from memorygraph.runtime.convo.prompts import JSON_MODE, ask_for_json, read_typed_reply, reply_schema
from memorygraph.runtime.convo.scene import DEPTH
from memorygraph.runtime.convo.steps import ConvoStep, FunctionFailure, GraphFailure, ToolUse
from memorygraph.runtime.convo.transcript import SPEAKERS, TranscriptEntry, record_result, wire_messages
from memorygraph.runtime.convo.types import MISMATCH, to_number
from memorygraph.runtime.convo.values import UNDEFINED, ConvoType, copy_deeply, excerpt, name_kind, to_plain
from memorygraph.runtime.values import ValueProblem

if TYPE_CHECKING:
    from memorygraph.runtime.convo.branch import Branch

INCLUDED_TAG = "includeInNodes"
FULL_DEPTH = "full"
CALL_TAG = re.compile(r"@call(?!\w)")


@dataclass(frozen=True)
class Inference:
    """The inference of one step of a branch."""

    branch: Branch
    node: GraphNode
    step: ConvoStep

    def run(self) -> None:
        """Give the step its output."""
        step = self.step
        asked = any(entry.role == "user" for entry in step.messages)
        functions = () if asked else self.own_functions()
        if len(functions) == 1:
            first = functions[0].parameters[:1]
            self.call(functions[0], lambda: {parameter.name: step.input for parameter in first})
            return
        context = self.context()
        messages = wire_messages(context)
        speaks = asked or step.system or any(message["role"] == "user" for message in messages)
        if messages and speaks:  # a message that is blank is not sent
            self.infer(context, messages)
        else:  # there is nothing to ask: the output is what the node itself says, or its input
            said = [entry.content for entry in step.messages if entry.role == "assistant" and entry.spoken]
            step.output = said[-1] if said else step.input

    def own_functions(self) -> Sequence[syntax.FunctionMessage]:
        """The functions of the node that the model is offered, or all of them; a single one the node calls itself."""
        enabled = [function for function in self.node.functions if self.branch.scene.is_enabled(function)]
        return [function for function in enabled if function.modifier != "local"] or enabled

    def context(self) -> list[TranscriptEntry]:
        """The messages that the step sends, and those before them that its depth includes."""
        branch, step = self.branch, self.step
        variables = branch.scene.environment.variables
        depth = read_depth(tag_of(self.node.message, "contextDepth") or variables.get(DEPTH))
        return step_context(branch.around, branch.groups, step.system, step.messages, depth)

    def infer(self, context: list[TranscriptEntry], messages: list[dict[str, Any]]) -> None:
        """Ask the model; its reply, or the function that it calls, gives the output."""
        scene, step = self.branch.scene, self.step
        functions = (*functions_of(scene.graph.outside), *self.node.functions)
        tools = {f.name: f for f in functions if f.modifier != "local" and scene.is_enabled(f)}
        reply_type = scene.reply_type(self.node, step.messages)
        options: dict[str, Any] = {}
        if tools:
            options["tools"] = [tool_schema(function, scene.evaluator) for function in tools.values()]
        last = next((entry for entry in reversed(context) if entry.role == "user"), None)
        options |= model_options(last, scene.environment.variables)
        choice = tool_choice(next((entry for entry in reversed(context) if entry.spoken), None), list(tools))
        if choice is not None:
            options["tool_choice"] = choice
        if reply_type is not None:
            messages = ask_for_json(messages, reply_type.schema)
            options["response_format"] = JSON_MODE
        wanted = None if reply_type is None else reply_schema(reply_type.schema)
        completion = self.branch.engine.ask(step, "inference", "inference", messages, options, wanted)
        if completion.tool_calls:
            call = completion.tool_calls[0]
            if call.name not in tools:
                raise GraphFailure(f"the model called `{call.name}`, which is not offered here", "unknown-tool")
            function = tools[call.name]
            cut = completion.was_cut
            self.call(function, lambda: read_arguments(call.arguments, function, scene.evaluator, cut=cut), call.id)
            return
        if completion.refusal:
            raise ModelError(f"the model refuses: {completion.refusal}")
        said = without_thoughts(completion.content or "")
        step.output = said.strip() if reply_type is None else read_typed_reply(completion, reply_type)
        step.messages = [*step.messages, TranscriptEntry("assistant", said)]
        name = next(
            (tag.partition(" ")[2].strip() for tag in (last.tags if last else ()) if tag.startswith("@assign ")), ""
        )
        if name:
            scene.environment.variables[name] = copy_deeply(step.output)

    def call(self, function: syntax.FunctionMessage, read: Callable[[], dict[str, Any]], id_: str = "") -> None:
        """Call a function; a call that a resumed run knows to be complete is not made again."""
        use = self.step.tool
        if use is None:
            try:
                arguments = read()
                use = ToolUse(function.name, arguments, *self.branch.scene.call(function, arguments))
            except Cancelled:
                raise
            except ScriptError as error:
                raise FunctionFailure(error.problems) from error
            except MemoryGraphError as error:
                said = f"the function `{function.name}` failed"
                # Wrong arguments are the model's, and a failure of its endpoint is that of a prompt in the code.
                if isinstance(error, ModelError) and not isinstance(error, ReplyError):
                    raise ModelError(f"{said}: {error}", f"{said}: {error.brief}") from error
                raise GraphFailure(f"{said}: {error}", "tool") from error
            note = partial(self.note, use)
            self.branch.engine.tell("tool_called", self.step, use.name, use.arguments, use.result, before=note)
        self.step.output = record_result(use.result)
        self.step.messages = [
            *self.step.messages,
            TranscriptEntry("call", name=use.name, arguments=to_plain(use.arguments), id=id_),
            TranscriptEntry("result", value=to_plain(self.step.output), variables=use.changed),
        ]

    def note(self, use: ToolUse) -> None:
        """Note a call of a function in the step."""
        self.step.tool = use
        self.branch.scene.keep(self.step)


@dataclass
class CodePrompts:
    """Lets a model answer the prompts in the code of one step; each is a recorded call of the step."""

    inference: Inference
    said: list[dict[str, Any]] = field(default_factory=list)  # the prompts so far, and their answers
    counts: Counter[str] = field(default_factory=Counter)

    def __call__(self, head: PromptHead, messages: Sequence[tuple[str, str]], type_: ConvoType | None) -> Any:
        """Ask the model; an answer without a type is its text."""
        step = self.inference.step
        before = wire_messages(self.inference.context()) if head.extends else []
        before += self.said if head.continues else []
        before = before[: max(0, len(before) - head.dropped)]
        before = before if head.last is None else before[max(0, len(before) - head.last) :]
        asked = [{"role": role if role in SPEAKERS else "user", "content": text} for role, text in messages]
        sent, options = [*before, *asked], {}
        if type_ is not None:
            sent, options = ask_for_json(sent, type_.schema), {"response_format": JSON_MODE}
        # A resumed step finds its answers again: the keys say in which part of the step a prompt was asked.
        part = "after" if step.answered else "prompt" if step.begun else "before"
        key = f"{part} {self.counts[part]}"
        self.counts[part] += 1
        schema = None if type_ is None else reply_schema(type_.schema)
        completion = self.inference.branch.engine.ask(step, key, "prompt", sent, options, schema)
        said = without_thoughts(completion.content or "")
        self.said += [*asked, {"role": "assistant", "content": said}]
        return said.strip() if type_ is None else read_typed_reply(completion, type_)


def read_depth(written: object) -> int | None:
    """Read a context depth, a number of groups of messages; None for `full`, all of them.

    >>> read_depth("3"), read_depth("full"), read_depth(0), read_depth(None)
    (3, None, 1, 1)
    """
    text = "1" if written is None or written is UNDEFINED else str(written).strip()
    if text == FULL_DEPTH:
        return None
    try:
        return max(1, int(float(text)))
    except (ValueError, OverflowError):
        raise GraphFailure(f"a context depth is a number or `full`, and not {text!r}", "context-depth") from None


def step_context(
    around: Iterable[TranscriptEntry],
    earlier: Sequence[Sequence[TranscriptEntry]],
    system: Iterable[TranscriptEntry],
    current: Iterable[TranscriptEntry],
    depth: int | None,
) -> list[TranscriptEntry]:
    """Select the messages that a step sends; of those around the graph, and beyond the depth, only the tagged ones."""
    near = len(earlier) if depth is None else min(depth - 1, len(earlier))
    first = len(earlier) - near
    context = [entry for entry in around if entry.has_tag(INCLUDED_TAG)]
    context += system
    for index, group in enumerate(earlier):
        context += [entry for entry in group if index >= first or entry.has_tag(INCLUDED_TAG)]
    return [*context, *current]


# The parameters of a model that a tag of the last message, or a variable with `__` before its name, sets.
MODEL_PARAMETERS = {
    "temperature": "temperature",
    "topP": "top_p",
    "maxTokens": "max_tokens",
    "seed": "seed",
    "frequencyPenalty": "frequency_penalty",
    "presencePenalty": "presence_penalty",
    "reasoningEffort": "reasoning_effort",
    "responseVerbosity": "verbosity",
    "serviceTier": "service_tier",
    "logprobs": "logprobs",
    "topLogprobs": "top_logprobs",
}


def model_options(last: TranscriptEntry | None, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Read which model a step asks, and with which parameters: from the last message's tags, or from variables.

    >>> model_options(TranscriptEntry("user", "Hi", ("@responseModel m",)), {"__temperature": 0.5})
    {'model': 'm', 'extra': {'temperature': 0.5}}
    """
    tags = {name: text.strip() for name, _, text in (tag[1:].partition(" ") for tag in (last.tags if last else ()))}
    model = tags.get("responseModel") or tags.get("model") or variables.get("__model")
    extra = {}
    for name, sent in MODEL_PARAMETERS.items():
        value = tags.get(name, variables.get(f"__{name}"))
        if isinstance(value, str) and (number := to_number(value)) is not MISMATCH:
            value = number
        elif value in ("true", "false"):
            value = value == "true"
        if value is not None and value is not UNDEFINED and not isinstance(value, (list, dict, ConvoType)):
            extra[sent] = value
    chosen = {"model": model} if isinstance(model, str) and model else {}
    return {**chosen, **({"extra": extra} if extra else {})}


def tool_choice(last: TranscriptEntry | None, tools: Sequence[str]) -> str | dict[str, object] | None:
    """Read the choice of a function that the tag `@call` of the last message asks for.

    >>> tool_choice(TranscriptEntry("user", "Hi", ("@call",)), ["f"])
    'required'
    >>> tool_choice(TranscriptEntry("user", "Hi", ("@call f",)), ["f"])
    {'type': 'function', 'function': {'name': 'f'}}
    """
    if last is None or not last.has_tag("call") or not tools:
        return None
    tag = next(tag for tag in reversed(last.tags) if CALL_TAG.match(tag))
    wanted = tag.removeprefix("@call").strip()
    if wanted in {"", "required"}:
        return "required"
    if wanted in {"auto", "none"}:
        return wanted
    if wanted not in tools:
        raise GraphFailure(f"`{tag}` asks for a function that is not offered here", "unknown-tool")
    return {"type": "function", "function": {"name": wanted}}


# Functions as tools of the model


def tool_schema(function: syntax.FunctionMessage, evaluator: Evaluator) -> dict[str, Any]:
    """Describe a function as OpenAI's API describes `tools`; comments in its head are descriptions."""
    described = {"description": function.description} if function.description else {}
    parameters = evaluator.signature(function).schema
    return {"type": "function", "function": {"name": function.name, **described, "parameters": parameters}}


def read_arguments(
    given: str, function: syntax.FunctionMessage, evaluator: Evaluator, *, cut: bool = False
) -> dict[str, Any]:
    """Read the arguments that a model gives to a function, as its parameters' types; others are left out.

    Where the model's reply was cut, an error says so.
    """
    signature = evaluator.signature(function)
    try:
        value = parse_json(given, strict=True) if given.strip() else {}
    except ValueError as error:
        why = "were cut at the model's limit of tokens, and " if cut else ""
        raise ReplyError(f"the arguments for `{function.name}` {why}are not JSON: {error}: {excerpt(given)}") from error
    if not isinstance(value, dict):
        raise ReplyError(f"the arguments for `{function.name}` must be a JSON object, and are {name_kind(value)}")
    try:
        arguments: dict[str, Any] = signature.coerce(value, f"`{function.name}`")
    except ValueProblem as error:
        raise ReplyError(f"the model's arguments do not fit: {error}") from error
    return arguments
