"""`generate`: the declared context becomes a prompt, and the model's answer a checked object.

Source: seeds/agentscript.txt (context construction model) and specs/agentscript.md, sections 4, 5 and 7.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from memorygraph.budget import Budget
from memorygraph.context.items import Source, Unused, build_items
from memorygraph.context.layers import Prompt, system_layer
from memorygraph.context.origins import copy_value
from memorygraph.context.rendering import render
from memorygraph.errors import MemoryGraphError, ModelError
from memorygraph.languages.agentscript import syntax
from memorygraph.languages.agentscript.printing import print_expression
from memorygraph.llm.completion import Completion
from memorygraph.llm.structured import (
    ReplyError,
    ShapeField,
    ShapeMismatch,
    read_reply,
    repair_input,
    schema_of,
)
from memorygraph.runtime.agentscript.scope import Scope
from memorygraph.runtime.agentscript.unused import unused_sources
from memorygraph.runtime.models import Models
from memorygraph.runtime.trace import Trace
from memorygraph.runtime.values import ModelValue, ValueProblem, data_only, kind_of

Evaluate = Callable[[syntax.Expression, Scope], Any]
Generator = Callable[[syntax.Generate, Scope, Evaluate], Any]


@dataclass(frozen=True)
class Attempt:
    """One call of the model: what was sent, what came back, and what was wrong with it."""

    messages: Sequence[dict[str, Any]]
    completion: Completion
    at: str
    error: str | None = None


@dataclass
class Record:
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

    def event(self) -> dict[str, Any]:
        """The record as the trace shows it."""
        final = self.attempts[-1].messages[-1]["content"] if self.attempts else self.prompt.user
        return {
            "instruction": self.instruction,
            "attempts": self.tried,
            "budget": self.budget.as_dict() if self.budget else None,
            "debug": self.debug,
            "ok": self.error is None,
            "error": self.error,
            "errors": [attempt.error for attempt in self.attempts if attempt.error],
            "context": {
                "agentName": self.agent,
                "functionName": self.function,
                "model": {"name": self.model.name, "uri": self.model.uri},
                "identity": self.identity,
                "system": self.prompt.system,
                "items": [{**item.as_dict(), "value": copy_value(item.value)} for item in self.prompt.items],
                "unused": [unused.as_dict() for unused in self.unused],
                "returnSchema": self.prompt.schema,
                "finalUserMessage": final,
            },
            "result": self.result,
        }


@dataclass
class Generation:
    """What calls models for a run. `listener` is given the record of every `generate`, failed ones too."""

    models: Models
    trace: Trace
    most: int
    listener: Callable[[Record], None]
    count: int = 0

    def __call__(self, expression: syntax.Generate, scope: Scope, evaluate: Evaluate) -> Any:
        """The object that a model makes of the visible context.

        Raises:
            ModelError: the endpoint failed, or no attempt gave an object of the wanted shape.
        """
        self.count += 1
        if self.count > self.most:
            raise ValueProblem(f"the run has made its {self.most} generations; allow more with --max-steps", "too-many")
        fields = [ShapeField(f.name, f.type, f.item) for f in expression.shape.fields]
        options = {entry.key: entry.value for entry in expression.options}
        record = _prepared(expression, options, scope, evaluate, schema_of(fields))
        started = time.perf_counter()
        try:
            record.result = self._attempted(record, fields, _literal(options.get("attempts"), 1))
        except MemoryGraphError as error:
            record.error = str(error)
            raise
        finally:
            record.seconds = time.perf_counter() - started
            self.trace.add("generate", record.event())
            self.listener(record)
        return copy_value(record.result)

    def _attempted(self, record: Record, fields: list[ShapeField], most: int) -> Any:
        instruction = record.instruction
        for attempt in range(1, most + 1):
            messages, at = replace(record.prompt, instruction=render(instruction)).messages(), _now()
            limit = record.budget.limit if record.budget else None
            record.tried = attempt
            completion = self.models.complete(record.model, messages, fields, limit)
            try:
                result = _read(completion, fields)
            except ReplyError as error:
                record.attempts.append(Attempt(messages, completion, at, str(error)))
                if attempt == most:
                    raise ModelError(f"no answer fits after {_times(most)}: {error}") from error
                said = error.value if isinstance(error, ShapeMismatch) else None
                instruction = repair_input(record.instruction, f"{error} at {record.place}", said)
            else:
                record.attempts.append(Attempt(messages, completion, at))
                return result
        raise AssertionError("unreachable")


def _prepared(
    expression: syntax.Generate,
    options: dict[str, syntax.Expression],
    scope: Scope,
    evaluate: Evaluate,
    schema: dict[str, Any],
) -> Record:
    """The prompt of a `generate`: every visible source evaluated once, where it was declared."""
    model = scope.config("model")
    if not isinstance(model, ModelValue):
        raise ValueProblem(f"`model` must be an imported llm, and is {kind_of(model)}", "invalid-model")
    identity = {name: data_only(scope.config(name), f"be the {name}") for name in ("role", "description")}
    instruction = data_only(evaluate(options["input"], scope), "be an instruction") if "input" in options else ""
    visible = scope.visible()
    items = build_items(
        Source(
            print_expression(declared.use.value),
            data_only(evaluate(declared.use.value, declared.scope), "come into a prompt"),
            Budget.parse(declared.use.budget.text) if declared.use.budget else None,
        )
        for declared in visible
    )
    limit = options.get("limit")
    agent = scope.frame.agent.name
    return Record(
        agent=agent,
        function=scope.frame.function.name,
        model=model,
        instruction=copy_value(instruction),
        prompt=Prompt(
            system_layer(agent, render(identity["role"]), render(identity["description"])),
            items,
            render(instruction),
            schema,
        ),
        place="{}:{}".format(*scope.frame.agent.unit.source.position(expression.span.start)),
        unused=tuple(unused_sources(expression, scope, visible)),
        budget=Budget.parse(limit.text) if isinstance(limit, syntax.Number) else None,
        debug=_literal(options.get("debug"), default=False),
        at=_now(),
        identity=identity,
    )


def _read(completion: Completion, fields: list[ShapeField]) -> dict[str, Any]:
    """The object in an answer; a refusal is no answer that asking again would mend."""
    if completion.refusal:
        raise ModelError(f"the model refuses: {completion.refusal}")
    return read_reply(completion.content or "", fields)


def _literal(expression: syntax.Expression | None, default: Any) -> Any:
    return expression.value if isinstance(expression, (syntax.Number, syntax.Boolean)) else default


def _times(count: int) -> str:
    return f"{count} attempt{'s' * (count != 1)}"


def _now() -> str:
    return datetime.now(UTC).isoformat()
