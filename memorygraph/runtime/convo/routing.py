"""The choice of a route: the first in the order of the source whose condition holds wins.

Conditions in code are computed in order, up to the first that holds; the conditions in words before it are judged by a
model, all at once. Routes after an unconditional route are never looked at, except where a node forks. Source:
seeds/convo-node-graphs.txt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass
from functools import partial
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any, TypeAlias

from memorygraph.compiler.convo import AUTO, NEXT, GraphNode, Route, tag_of
from memorygraph.languages.convo.syntax import Template
from memorygraph.limits import begin_apart
from memorygraph.runtime.convo.prompts import (
    JSON_MODE,
    JUDGEMENT,
    choice_prompt,
    judge_prompt,
    object_with,
    read_object,
)
from memorygraph.runtime.convo.steps import JUDGEMENT_KEY, ConvoStep, GraphFailure, read_judgement
from memorygraph.runtime.convo.values import render_value, truthy

if TYPE_CHECKING:
    from memorygraph.runtime.convo.branch import Branch

MAX_CALLS_AT_ONCE = 32

Way: TypeAlias = tuple[Route, str | None]  # a route that holds, and where it leads: None for out of the graph


@dataclass(frozen=True)
class Crossing:
    """A step of a branch that has its output, and has to choose the routes to go on by."""

    branch: Branch
    node: GraphNode
    step: ConvoStep

    def ways(self) -> list[Way]:
        """Choose the way to go on: none or one; where the node forks all that hold, in order."""
        fork = tag_of(self.node.message, "fork") is not None
        routes = self.node.routes
        sure = None if fork else self.find_sure(routes)
        considered = routes if sure is None else routes[: sure + 1]
        held = self.judge(considered, fork=fork)
        ways = []
        for index, route in enumerate(considered):
            holds = held[index] if index in held else index == sure or (fork and self.holds(route))
            way = self.follow(route, index) if holds else None
            if way is not None:
                ways.append(way)
                if not fork:
                    break
        return ways

    def find_sure(self, routes: Sequence[Route]) -> int | None:
        """Find the first route that holds without a model's judgement: no later one can win."""
        for index, route in enumerate(routes):
            if not isinstance(route.condition, Template) and self.holds(route):
                if route.target == AUTO and not self.branch.scene.graph.targets(self.node, route):
                    continue
                return index
        return None

    def holds(self, route: Route) -> bool:
        """Whether the condition of a route holds that no model has to judge."""
        if not self.branch.scene.is_enabled(route):
            return False
        if isinstance(route.condition, tuple):
            return bool(route.condition) and truthy(self.branch.scene.evaluator.statements(route.condition))
        return route.condition is None

    def judge(self, routes: Sequence[Route], *, fork: bool) -> dict[int, bool]:
        """Ask models about all conditions in words at once; give their judgements by the index of the route."""
        output = render_value(self.step.output)
        prompts = {
            index: judge_prompt(self.branch.scene.evaluator.template(route.condition), output)
            for index, route in enumerate(routes)
            if isinstance(route.condition, Template) and self.branch.scene.is_enabled(route)
        }
        if not prompts:
            return {}

        turns = BoundedSemaphore(MAX_CALLS_AT_ONCE)

        def ask(index: int) -> bool:
            key = f"{JUDGEMENT_KEY}{index}"
            with turns:
                return read_judgement(self.ask(key, prompts[index], routes[index].model, JUDGEMENT)) is True

        answers = {index: begin_apart(partial(ask, index)) for index in prompts}
        wait(answers.values())
        held = dict.fromkeys(prompts, False)
        for index, answer in answers.items():
            held[index] = answer.result()
            if held[index] and not fork:  # the later ones do not matter any more, not even whether one failed
                break
        return held

    def ask(self, key: str, prompt: str, model: str | None, schema: Mapping[str, Any]) -> str:
        """Ask a model with one message for JSON of a schema; several threads call this at once."""
        options = {"response_format": JSON_MODE, **({"model": model} if model else {})}
        messages = [{"role": "user", "content": prompt}]
        return self.branch.engine.ask(self.step, key, "routing", messages, options, schema).content or ""

    def follow(self, route: Route, index: int) -> Way | None:
        """Find where a route leads: for `auto` a model chooses, unless there is only one candidate."""
        if route.target == NEXT:
            return (route, self.branch.scene.graph.following(self.node.id))
        if route.target != AUTO:
            return (route, route.target)
        candidates = self.branch.scene.graph.targets(self.node, route)
        if len(candidates) < 2:
            return (route, candidates[0]) if candidates else None
        nodes = {id_: self.branch.scene.describe(id_) for id_ in candidates}
        prompt = choice_prompt(nodes, render_value(self.step.input), render_value(self.step.output))
        choice = object_with("nodeId", {"enum": candidates})
        chosen = read_object(self.ask(f"auto {index}", prompt, route.model, choice)).get("nodeId")
        if chosen not in candidates:
            shown = json.dumps(chosen, ensure_ascii=False)
            raise GraphFailure(
                f"the model was to choose one of the nodes {', '.join(candidates)}, and chose {shown}", "routing"
            )
        return (route, chosen)
