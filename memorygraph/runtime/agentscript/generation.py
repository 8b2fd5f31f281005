"""`generate`: the declared context becomes a prompt, and the model's answer a checked object."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from memorygraph.budget import Budget
from memorygraph.context.origins import GeneratedText, copy_value
from memorygraph.context.prompt import ContextSource, Prompt, Unused, build_items, system_layer
from memorygraph.context.rendering import render
from memorygraph.errors import ModelError
from memorygraph.languages.agentscript import syntax
from memorygraph.languages.agentscript.printing import print_expression
from memorygraph.languages.engine.syntax import SyntaxNode, parts_in
from memorygraph.limits import call_apart, spend_on_keeping, unlimited
from memorygraph.llm import structured
from memorygraph.llm.completion import Completion, WireMessage
from memorygraph.llm.mock import mock_completion
from memorygraph.llm.structured import ReplyError, ShapeField, ShapeMismatch, schema_of
from memorygraph.runtime.agentscript.scope import BlockScope, DeclaredSource
from memorygraph.runtime.agentscript.values import ModelValue, describe_value, has_summary, require_data
from memorygraph.runtime.models import RunModels
from memorygraph.runtime.permissions import Permissions, with_service
from memorygraph.runtime.runs import Trace
from memorygraph.runtime.values import ValueProblem
from memorygraph.sentences import count_of

SUMMARY_VIEW = "JSON-safe copy of the list; no model summarized it"
"""What the trace says of an item that shows the `.summary` of a list."""

STOPPED = "the user has stopped it"
"""What a record says of a generation, or a run, that Ctrl-C has ended."""

Evaluate = Callable[[syntax.Expression, BlockScope], Any]


class Models:
    """The models of a run, each opened at its first call, and closed with the run.

    `chosen` replaces the model that a program names, by a name for OPENAI_BASE_URL or by an address. With `mock` none
    is called: every answer is the smallest object of the wanted shape.
    """

    def __init__(self, permissions: Permissions, chosen: str | None = None, *, mock: bool = False) -> None:
        self._models = RunModels(permissions, chosen and with_service(chosen))
        self._mock = mock

    def complete(
        self, model: ModelValue, messages: Sequence[WireMessage], fields: Sequence[ShapeField], max_tokens: int | None
    ) -> Completion:
        """Ask a model for an object with these fields."""
        schema = schema_of(fields)
        wanted = structured.schema_format(schema)
        if self._mock:
            return mock_completion(schema, {"response_format": wanted})
        asked = self._models.find(self._models.chosen or model.uri)
        return call_apart(lambda: asked.complete(messages, response_format=wanted, max_tokens=max_tokens))

    def close(self) -> None:
        """Close the connections."""
        self._models.close()


@dataclass(frozen=True)
class Attempt:
    """One call of the model: what was sent, what came back, and what was wrong with it."""

    messages: Sequence[dict[str, Any]]
    completion: Completion
    at: str
    error: str | None = None


@dataclass
class GenerationRecord:
    """All that is known of one `generate`."""

    agent: str
    function: str
    model: ModelValue
    instruction: Any
    prompt: Prompt
    place: str
    unused: tuple[Unused, ...]
    budget: Budget | None
    debug: bool
    at: str
    id: str = field(default_factory=lambda: uuid4().hex)
    attempts: list[Attempt] = field(default_factory=list)
    identity: dict[str, Any] = field(default_factory=dict)
    tried: int = 0
    result: Any = None
    error: str | None = None
    seconds: float = 0.0

    @property
    def errors(self) -> list[str]:
        """What was wrong with the answers that did not fit."""
        return [attempt.error for attempt in self.attempts if attempt.error]

    def as_event(self) -> dict[str, Any]:
        """The record as the trace shows it."""
        final = self.attempts[-1].messages[-1]["content"] if self.attempts else self.prompt.user
        return {
            "instruction": self.instruction,
            "attempts": self.tried,
            "budget": self.budget.as_dict() if self.budget else None,
            "debug": self.debug,
            "ok": self.error is None,
            "error": self.error,
            "errors": self.errors,
            "context": {
                "agentName": self.agent,
                "functionName": self.function,
                "model": {"name": self.model.name, "uri": self.model.shown_uri},
                "identity": self.identity,
                "system": self.prompt.system,
                "items": [{**item.as_dict(), "value": copy_value(item.value)} for item in self.prompt.items],
                "unused": [unused.as_dict() for unused in self.unused],
                "returnSchema": self.prompt.schema,
                "finalUserMessage": final,
            },
            "result": self.result,
        }

    def as_step(self) -> dict[str, Any]:
        """The record as a step of the run's result: what was asked, with which sources, and what came back."""
        return {
            "agent": self.agent,
            "function": self.function,
            "instruction": self.instruction,
            "sources": [item.source for item in self.prompt.items],
            "attempts": self.tried,
            "ok": self.error is None,
            "result": self.result,
        }


@dataclass
class Generation:
    """Calls models for a run. `listener` is given the record of every `generate`, failed ones too."""

    models: Models
    trace: Trace
    limit: int
    listener: Callable[[GenerationRecord], None]
    count: int = 0

    def generate(self, expression: syntax.Generate, scope: BlockScope, evaluate: Evaluate) -> Any:
        """Have a model make an object of the visible context.

        Raises:
            ModelError: the endpoint failed, or no attempt gave an object of the wanted shape.
        """
        self.count += 1
        if self.count > self.limit:
            how = "allow more with --max-steps (in Python: max_steps)"
            message = f"the run has made its {self.limit} generations; {how}"
            raise ValueProblem(message, "too-many")
        fields = [ShapeField(f.name, f.type, f.item) for f in expression.shape.fields]
        options = {entry.key: entry.value for entry in expression.options}
        record = build_generation(expression, options, scope, evaluate, schema_of(fields))
        started = time.perf_counter()
        try:
            record.result = self.request_object(record, fields, literal_option(options, "attempts", 1))
        except BaseException as error:
            record.error = STOPPED if isinstance(error, KeyboardInterrupt) else str(error)
            raise
        finally:
            record.seconds = time.perf_counter() - started
            with unlimited():  # what was paid for is kept, also where the trace has no room for it
                self.listener(record)
            self.trace.add("generate", record.as_event())
        return copy_value(record.result, text=GeneratedText)

    def request_object(self, record: GenerationRecord, fields: list[ShapeField], attempts: int) -> dict[str, Any]:
        """Ask the model until its answer has the wanted shape, telling it each time what did not fit."""
        instruction = record.instruction
        for attempt in range(1, attempts + 1):
            messages = replace(record.prompt, instruction=render(instruction)).messages()
            spend_on_keeping(messages)
            at = datetime.now(UTC).isoformat()
            record.tried = attempt
            max_tokens = record.budget.limit if record.budget else None
            completion = self.models.complete(record.model, messages, fields, max_tokens)
            if completion.refusal:  # asking again would not mend it
                refusal = f"the model refuses: {completion.refusal}"
                record.attempts.append(Attempt(messages, completion, at, refusal))
                raise ModelError(refusal)
            try:
                result = structured.read_reply(completion.content or "", fields)
            except ReplyError as error:
                wrong = explain_cut(record.budget) if completion.was_cut else str(error)
                record.attempts.append(Attempt(messages, completion, at, wrong))
                if attempt == attempts:
                    advice = "; give `generate` a larger `limit`, or ask for less" if completion.was_cut else ""
                    tries = count_of(attempts, "attempt")
                    raise ModelError(f"no answer fits after {tries}: {wrong}{advice}") from error
                advice = "; write less" if completion.was_cut else ""
                said = error.value if isinstance(error, ShapeMismatch) and not completion.was_cut else None
                instruction = structured.repair_input(record.instruction, f"{wrong} at {record.place}{advice}", said)
            else:
                record.attempts.append(Attempt(messages, completion, at))
                return result
        raise AssertionError("unreachable")


def explain_cut(budget: Budget | None) -> str:
    """Say that an answer was cut, and at which limit; without one in the program it is that of the endpoint."""
    limit = f"its limit of {count_of(budget.limit, 'token')}" if budget else "the endpoint's limit"
    return f"the model's answer was cut at {limit}"


def build_generation(
    expression: syntax.Generate,
    options: dict[str, syntax.Expression],
    scope: BlockScope,
    evaluate: Evaluate,
    schema: dict[str, Any],
) -> GenerationRecord:
    """Build the prompt of a `generate`: every visible source is evaluated once, where it was declared."""
    model = scope.config("model")
    if not isinstance(model, ModelValue):
        raise ValueProblem(f"`model` must be an imported llm, and is {describe_value(model)}", "invalid-model")
    identity = {name: require_data(scope.config(name), f"be the {name}") for name in ("role", "description")}
    instruction = require_data(evaluate(options["input"], scope), "be an instruction") if "input" in options else ""
    visible = scope.visible()
    items = build_items(resolve_source(declared, evaluate) for declared in visible)
    limit = options.get("limit")
    agent = scope.call.agent
    return GenerationRecord(
        agent=agent.name,
        function=scope.call.function.name,
        model=model,
        instruction=copy_value(instruction),
        prompt=Prompt(
            system_layer(agent.name, render(identity["role"]), render(identity["description"])),
            items,
            render(instruction),
            schema,
        ),
        place="{}:{}".format(*agent.unit.source.position(expression.span.start)),
        unused=tuple(find_unused(expression, scope, visible)),
        budget=Budget.parse(limit.text) if isinstance(limit, syntax.NumberLiteral) else None,
        debug=literal_option(options, "debug", default=False),
        at=datetime.now(UTC).isoformat(),
        identity=identity,
    )


def resolve_source(declared: DeclaredSource, evaluate: Evaluate) -> ContextSource:
    """Evaluate a declared source in its scope, and note where a list stands for its summary."""
    value = require_data(evaluate(declared.use.value, declared.scope), "come into a prompt")
    view = SUMMARY_VIEW if has_summary(value) else None
    return ContextSource(print_expression(declared.use.value), value, budget_of(declared.use), view)


def literal_option(options: dict[str, syntax.Expression], name: str, default: Any) -> Any:
    """The value of an option that is written as a number or a boolean."""
    option = options.get(name)
    return option.value if isinstance(option, (syntax.NumberLiteral, syntax.Boolean)) else default


def find_unused(generate: syntax.Generate, scope: BlockScope, visible: Sequence[DeclaredSource]) -> Iterator[Unused]:
    """Find the sources that a prompt leaves out, and why: those of this function, then those of its caller."""
    included = {id(declared.use) for declared in visible}
    for use in find_uses(scope.call.function.body):
        if id(use) in included:
            continue
        if id(use) in scope.call.reached:
            reason = "it was declared in a block that has ended"
        elif use.span.start > generate.span.start:
            reason = "it is declared after this generate"
        else:
            reason = "the run did not come to its declaration"
        yield Unused(print_expression(use.value), budget_of(use), reason)
    for declared in scope.call.caller:
        reason = "the context of a caller does not reach what it calls"
        yield Unused(print_expression(declared.use.value), budget_of(declared.use), reason)


def budget_of(use: syntax.Use) -> Budget | None:
    """The budget of a declared source, if it has one."""
    return Budget.parse(use.budget.text) if use.budget else None


def find_uses(node: SyntaxNode) -> Iterator[syntax.Use]:
    """Find the declarations in a block and the blocks inside it, in the order of the text."""
    for part in parts_in(node):
        if isinstance(part, syntax.Use):
            yield part
        elif not isinstance(part, syntax.Expression):
            yield from find_uses(part)
