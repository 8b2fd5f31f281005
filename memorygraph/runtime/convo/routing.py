"""Which route wins: the first in the order of the source whose condition holds.

Conditions in code are computed in order, up to the first that holds; those in words that stand before it are judged
by a model, all at once. What stands behind an unconditional route is never looked at, but where a node forks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from memorygraph.runtime.convo.failure import GraphFailure
from memorygraph.runtime.convo.graph import AUTO, NEXT, Always, Asked, Computed, Graph, Route
from memorygraph.runtime.convo.json_output import read_object, response_format

_MAX_AT_ONCE = 32

JUDGEMENT = {
    "type": "object",
    "properties": {"isTrue": {"type": "boolean", "description": "Whether the condition is true"}},
    "required": ["isTrue"],
}
CHOICE = {
    "type": "object",
    "properties": {"nodeId": {"type": "string", "description": "The id of the node to go to"}},
    "required": ["nodeId"],
}


class Judge(Protocol):
    """What a choice of routes needs of a run."""

    def compute(self, condition: Computed) -> bool:
        """Whether a condition in code holds."""

    def words(self, condition: Asked) -> str:
        """A condition in words, with its insertions."""

    def ask(self, key: str, prompt: str, model: str | None) -> str:
        """What a model replies to one message; called from several threads at once."""


@dataclass(frozen=True)
class Way:
    """A route that holds, and where it leads: to a node, or out of the graph (None)."""

    route: Route
    target: str | None


@dataclass(frozen=True)
class Crossing:
    """Where a run stands when it has to choose: the node it is at, its input and output as texts, and the nodes."""

    graph: Graph
    node: str
    input: str
    output: str
    describe: Callable[[str], str]

    def ways(self, judge: Judge, *, fork: bool = False) -> list[Way]:
        """The way to go, or none; all that hold, in order, where the node forks.

        Raises:
            GraphFailure: a model was to choose a node, and named none.
        """
        routes = self.graph.nodes[self.node].routes
        last = None if fork else self._first_sure(routes, judge)
        considered = routes if last is None else routes[: last + 1]
        held = self._judged(considered, judge, fork=fork)
        found = []
        for index, route in enumerate(considered):
            if not (index == last or self._holds(route, index, held, judge, fork=fork)):
                continue
            way = self._way(route, index, judge)
            if way is not None:
                found.append(way)
                if not fork:
                    break
        return found

    def _first_sure(self, routes: Sequence[Route], judge: Judge) -> int | None:
        """The first route that holds without a model's judgement: none behind it can win."""
        for index, route in enumerate(routes):
            match route.condition:
                case Always() if not self._leads_nowhere(route):
                    return index
                case Computed() if judge.compute(route.condition) and not self._leads_nowhere(route):
                    return index
                case _:
                    continue
        return None

    @staticmethod
    def _holds(route: Route, index: int, held: dict[int, bool], judge: Judge, *, fork: bool) -> bool:
        """Whether a route holds that is not known to be the first sure one."""
        if isinstance(route.condition, Asked):
            return held[index]
        if not fork:
            return False
        return isinstance(route.condition, Always) or judge.compute(route.condition)

    def _judged(self, routes: Sequence[Route], judge: Judge, *, fork: bool) -> dict[int, bool]:
        """What models judge of the conditions in words, by the index of the route; all are asked at once."""
        prompts = {
            i: judge_prompt(judge.words(route.condition), self.output)
            for i, route in enumerate(routes)
            if isinstance(route.condition, Asked)
        }
        if not prompts:
            return {}

        def ask(index: int) -> bool:
            reply = judge.ask(f"route {index}", prompts[index], routes[index].model)
            return read_object(reply).get("isTrue") is True

        with ThreadPoolExecutor(min(len(prompts), _MAX_AT_ONCE), "memorygraph-route") as pool:
            answers = {index: pool.submit(ask, index) for index in prompts}
        held = {}
        for index, answer in answers.items():
            held[index] = answer.result()
            if held[index] and not fork:  # what is behind it does not matter any more, not even that it failed
                return dict.fromkeys(prompts, False) | held
        return held

    def _way(self, route: Route, index: int, judge: Judge) -> Way | None:
        if route.target == NEXT:
            return Way(route, self.graph.following(self.node))
        if route.target == AUTO:
            return self._chosen(route, index, judge)
        return Way(route, route.target)

    def _candidates(self, route: Route) -> list[str]:
        return list(route.candidates or (id_ for id_ in self.graph.nodes if id_ != self.node))

    def _leads_nowhere(self, route: Route) -> bool:
        return route.target == AUTO and not self._candidates(route)

    def _chosen(self, route: Route, index: int, judge: Judge) -> Way | None:
        """The node that a model chooses; the only one there is needs no choice."""
        candidates = self._candidates(route)
        if len(candidates) < 2:
            return Way(route, candidates[0]) if candidates else None
        nodes = {id_: self.describe(id_) for id_ in candidates}
        prompt = choice_prompt(nodes, self.input, self.output)
        chosen = read_object(judge.ask(f"auto {index}", prompt, route.model)).get("nodeId")
        if chosen not in candidates:
            shown = json.dumps(chosen, ensure_ascii=False)
            raise GraphFailure(
                f"the model was to choose one of the nodes {', '.join(candidates)}, and chose {shown}", "routing"
            )
        return Way(route, chosen)


def judge_prompt(condition: str, output: str) -> str:
    """What a model is asked about a condition."""
    return f"{condition.strip()}\n\n<OUTPUT_RESULT>\n{output}\n</OUTPUT_RESULT>\n\n{response_format(JUDGEMENT)}"


def choice_prompt(nodes: dict[str, str], given: str, output: str) -> str:
    """What a model is asked that chooses the next node.

    >>> print(choice_prompt({"b": "Bakes", "c": ""}, "dough", "bread").split("</NODES>")[0])
    Choose the node that should process the output next, based on the descriptions of the nodes.
    <BLANKLINE>
    <NODE_INPUT>
    dough
    </NODE_INPUT>
    <BLANKLINE>
    <OUTPUT_RESULT>
    bread
    </OUTPUT_RESULT>
    <BLANKLINE>
    <NODES>
    {"id": "b", "description": "Bakes"}
    {"id": "c", "description": ""}
    <BLANKLINE>
    """
    lines = (json.dumps({"id": id_, "description": text}, ensure_ascii=False) for id_, text in nodes.items())
    listed = "\n".join(lines)
    return (
        "Choose the node that should process the output next, based on the descriptions of the nodes.\n\n"
        f"<NODE_INPUT>\n{given}\n</NODE_INPUT>\n\n<OUTPUT_RESULT>\n{output}\n</OUTPUT_RESULT>\n\n"
        f"<NODES>\n{listed}\n</NODES>\n\n{response_format(CHOICE)}"
    )
