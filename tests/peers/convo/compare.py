"""The comparison: each part reads or runs the same in both implementations, and lists what differs."""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from memorygraph.errors import MemoryGraphError
from memorygraph.languages import parse
from memorygraph.languages.convo import syntax
from memorygraph.languages.convo.reading import BUILT_IN
from memorygraph.runtime.convo.controller import execute_convo_graph
from memorygraph.runtime.convo.evaluator import Evaluator
from memorygraph.runtime.convo.scope import Environment
from memorygraph.runtime.convo.values import UNDEFINED, ConvoType, render_value
from memorygraph.scripted.replies import Failure, Request
from tests.peers.convo.corpus import ConvoText, find_texts
from tests.peers.convo.generate import GeneratedGraph, canonical, make_arguments, make_calls, make_graph
from tests.peers.convo.original import Original
from tests.runtime.convo.model import scripted

GRAPHS = 300
MAX_PROMPTS = 12
SEED = 20261124


@dataclass
class Part:
    """A part of the comparison: how many were compared, how many are the same, and what differs."""

    name: str
    total: int = 0
    same: int = 0
    differences: list[str] = field(default_factory=list)

    def add(self, what: str, ours: str, theirs: str) -> None:
        """Count one."""
        self.total += 1
        if ours == theirs:
            self.same += 1
        else:
            self.differences.append(f"{what}\n    ours:     {ours}\n    original: {theirs}")


def compare_reading(original: Original, texts: list[ConvoText]) -> list[Part]:
    """Which texts each of them reads; what ours reads and refuses by a rule of its own is a part of its own."""
    both, only_original, only_ours = (
        Part("texts that both read"),
        Part("texts that only the original reads"),
        Part("texts that only memorygraph reads"),
    )
    for each in texts:
        theirs = original.ask("read", text=each.text).get("error")
        problems = parse(each.text, "convo").problems
        for part in (both, only_original, only_ours):
            part.total += 1
        if theirs is None and not problems:
            both.same += 1
        elif theirs is None:
            only_original.same += 1
            first = problems[0]
            only_original.differences.append(f"{each.place}: {first.line}:{first.column} {first.code}: {first.message}")
        elif not problems:
            only_ours.same += 1
            only_ours.differences.append(f"{each.place}: {' '.join(theirs.split())[:120]}")
    return [both, only_original, only_ours]


def compare_graphs(original: Original) -> Part:
    """Whether generated graphs take the same path, ask the same, and give the same."""
    part = Part("generated graphs")
    for seed in range(SEED, SEED + GRAPHS):
        graph = make_graph(seed)
        part.add(f"graph {seed}\n{graph.text}", run_ours(graph), run_theirs(original, graph))
    return part


class GraphModel:
    """Answers a graph in order, notes what it was asked, and fails where the graph goes on for too long."""

    def __init__(self, replies: tuple[str, ...]) -> None:
        self.replies = replies
        self.prompts: list[str] = []

    def __call__(self, request: Request) -> str | Failure:
        """Answer a request."""
        if len(self.prompts) >= MAX_PROMPTS:
            return Failure(400, "this graph does not end")
        self.prompts.append(request.prompt.strip())
        return self.replies[len(self.prompts) - 1]

    def outcome(self, path: list[str], output: Any, *, failed: bool) -> str:
        """What the graph did: of one that does not end, only what it asked."""
        if len(self.prompts) >= MAX_PROMPTS:
            return canonical(["does not end", self.prompts])
        return canonical(["fails" if failed else "ends", path, output, self.prompts])


def run_ours(graph: GeneratedGraph) -> str:
    """What a graph does here."""
    model = GraphModel(graph.replies)
    with scripted(model):
        result = execute_convo_graph(graph.text)
    path = [step.node for step in result.steps]
    return model.outcome(path, plain(result.value), failed=not result.success)


def run_theirs(original: Original, graph: GeneratedGraph) -> str:
    """What a graph does in the original."""
    model = GraphModel(graph.replies)
    with scripted(model) as server:
        done = original.ask("run", text=graph.text, url=server.base_url.removesuffix("/v1"))
    return model.outcome(done.get("path", []), done.get("output"), failed="error" in done)


def compare_calls(original: Original) -> Part:
    """Whether generated calls of the built-in functions give the same."""
    part = Part("generated calls of built-in functions")
    for text in make_calls(SEED, set(BUILT_IN)):
        part.add(text, call_ours(text), outcome(original.ask("call", text=text)))
    return part


def outcome(answer: dict[str, Any]) -> str:
    """What the original gave; all its errors are one."""
    return "error" if "error" in answer else canonical(answer["value"])


def call_ours(text: str) -> str:
    """The value of an expression here."""
    program = parse(f"> do\n{text}", "convo")
    try:
        message = program.conversation.messages[0]
        assert isinstance(message, syntax.CodeMessage)
        return canonical(plain(Evaluator(Environment(), program.source).statements(message.statements)))
    except (MemoryGraphError, IndexError):
        return "error"


def plain(value: Any) -> Any:
    """A value as the driver of the original writes it."""
    if value is UNDEFINED:
        return {"$": "undefined"}
    if isinstance(value, ConvoType):
        return {"$": "type"}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if item is not UNDEFINED}
    return {"$": render_value(value)} if isinstance(value, float) and not math.isfinite(value) else value


def compare_functions(original: Original, texts: list[ConvoText]) -> Part:
    """Whether the functions with a body in real texts give the same for generated arguments."""
    part = Part("real texts with function bodies")
    for each in texts:
        calls, ours = list(call_functions(each)), []
        for _, _, given in calls:
            ours.append(given)
        if not calls:
            continue
        named = [(name, arguments) for name, arguments, _ in calls]
        answer = original.ask("functions", text=each.text, calls=named, limit=2000)
        if "error" in answer:
            continue  # the original does not read it, or it needs what is not there
        theirs = [outcome(one) for one in answer["values"]]
        part.add(f"{each.place} {named}", canonical(ours), canonical(theirs))
    return part


def call_functions(text: ConvoText) -> Iterator[tuple[str, Any, str]]:
    """The functions with a body in a text: their names, arguments, and what they give here."""
    program = parse(text.text, "convo")
    functions = [m for m in program.conversation.messages if isinstance(m, syntax.FunctionMessage)]
    bodies = [f for f in functions if f.body is not None and f.modifier not in {"call", "invoke"} and runs_alone(f)]
    if program.problems or not bodies:
        return
    evaluator = Evaluator(Environment(), program.source)
    with contextlib.redirect_stderr(io.StringIO()):
        evaluator.declare(functions)
        with contextlib.suppress(MemoryGraphError):
            for message in program.conversation.messages:
                if isinstance(message, syntax.CodeMessage) and message.role in {"define", "do", "result"}:
                    evaluator.statements(message.statements)
        draw = Random(text.text)
        for function in bodies:
            try:
                arguments = make_arguments(draw, evaluator.signature(function).schema)
            except MemoryGraphError:
                continue
            try:
                given = canonical(plain(evaluator.call_function(function, arguments)))
            except MemoryGraphError:
                given = "error"
            yield function.name, arguments, given


def runs_alone(function: syntax.FunctionMessage) -> bool:
    """Whether a function asks no model and no host, does not wait, and gives the same each time."""
    waiting: list[Any] = [function.body]
    while waiting:
        one = waiting.pop()
        if isinstance(one, tuple):
            waiting += one
        elif isinstance(one, syntax.ConvoSyntax):
            if isinstance(one, syntax.InlinePrompt) and not one.static:
                return False
            if isinstance(one, syntax.Call) and one.name[0].startswith(("http", "sleep", "readDoc", "fs", "rand")):
                return False
            waiting += vars(one).values()
    return True


def compare_all(bundled: Path, folder: Path) -> list[Part]:
    """All parts of the comparison."""
    texts = find_texts(folder)
    with Original(bundled) as original:
        return [
            *compare_reading(original, texts),
            compare_graphs(original),
            compare_calls(original),
            compare_functions(original, texts),
        ]


def table(parts: list[Part]) -> str:
    """The figures as a table of Markdown."""
    rows = [f"| {part.name} | {part.same:,} of {part.total:,} |" for part in parts]
    return "\n".join(["| compared | |", "|---|---|", *rows])
