"""The page of a stored run: its steps, and the prompts with their sources and budgets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from memorygraph.runtime.runs import Event, StoredRun
from memorygraph.sentences import count_of
from memorygraph.viewing.pages import NestedRows, PageRow, flatten_rows, render_page

FACTS = ("language", "program", "status", "model", "at", "ended_at", "conversation")


@dataclass(frozen=True)
class ShownStep:
    """A step as the page has it: `context` is the prompt of a generation, `values` have a title each."""

    number: int
    kind: str
    title: str
    values: tuple[tuple[str, Any], ...]
    notes: tuple[str, ...] = ()
    context: dict[str, Any] | None = None
    failed: bool = False


def render_run(run: StoredRun) -> str:
    """Render a stored run as one HTML page."""
    facts = [(name.replace("_", " "), value) for name in FACTS if (value := getattr(run, name))]
    rows = tuple(flatten_rows(list_steps(run.trace, count(1))))
    return render_page("run.html", name=f"run {run.id}", run=run, facts=facts, rows=rows)


def list_steps(trace: list[Event], numbers: Iterator[int]) -> NestedRows:
    """The steps of a trace; those of a called agent stand inside its own."""
    for event in trace:
        yield PageRow("step", show_step(next(numbers), event))
        if event["kind"] == "agent" and (inner := event["data"].get("trace")):
            yield PageRow("inside", event["data"]["agent"])
            yield list_steps(inner, numbers)
            yield PageRow("inside_end")
        yield PageRow("step_end")


def show_step(number: int, event: Event) -> ShownStep:
    """An event of a trace, of whatever language."""
    kind, data = event["kind"], event["data"]
    match kind:
        case "generate":
            return show_generation(number, data)
        case "step":
            return show_visit(number, data)
        case "agent":
            values = (("arguments", data.get("args")), ("result", data.get("result")))
            return ShownStep(number, kind, f"{data['agent']}.{data['function']}", values)
        case "tool" | "memory":
            called = f"{data.get('tool') or data.get('memory')}.{data.get('method') or data.get('operation')}"
            result = ("result", data.get("result")) if data["ok"] else ("error", data["error"])
            return ShownStep(number, kind, called, (("arguments", data["args"]), result), failed=not data["ok"])
    return ShownStep(number, kind, "", tuple(data.items()))


def show_generation(number: int, data: dict[str, Any]) -> ShownStep:
    """A call of a model by an agent, with its prompt."""
    context = {"items": [], "unused": [], "returnSchema": None, **data["context"]}
    failed = bool(data.get("error"))
    model = context.get("model") or {}
    notes = [f"model {model['name']} {model.get('uri') or ''}"] if model.get("name") else []
    if data.get("attempts"):
        notes.append(count_of(data["attempts"], "attempt"))
    if budget := data.get("budget"):
        notes.append(f"the answer's budget: {budget['amount']}{budget['unit'] or ''}")
    errors = [("what did not fit before", data["errors"])] if data.get("errors") else []
    answer = ("error", data["error"]) if failed else ("answer", data.get("result"))
    title = ".".join(filter(None, (context.get("agentName"), context.get("functionName"))))
    return ShownStep(number, "generate", title, (*errors, answer), tuple(notes), context, failed)


def show_visit(number: int, data: dict[str, Any]) -> ShownStep:
    """A visit of a node of a graph, with what models were sent and said."""
    values: list[tuple[str, Any]] = [("input", data["input"])] if "input" in data else []
    values += [(f"said: {said['role']}", said.get("content") or said) for said in data.get("messages") or ()]
    for call in data.get("calls") or ():
        values += [
            (f"prompt ({call['purpose']})", call["messages"]),
            (f"answer ({call['purpose']})", call["completion"]),
        ]
    values += [
        (name, data[name]) for name in ("tool", "output", "variables", "error") if data.get(name) not in (None, {})
    ]
    route = data.get("route")
    went = [f"goes to {route['target'] or 'the exit'}, by {route['why']}"] if route else []
    branch = [f"branch {data['branch']}"] if data.get("branch") else []
    notes = (*branch, *went, *data.get("warnings", ()))
    return ShownStep(number, "step", data["node"], tuple(values), notes, failed=bool(data.get("error")))
