"""What a Convo-Lang expression can name: variables of the conversation and of a function's body, and functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from memorygraph.languages.convo.syntax import FunctionMessage
from memorygraph.runtime.convo.types import BASIC
from memorygraph.runtime.convo.values import UNDEFINED, at_path, bounded, copied, set_member
from memorygraph.runtime.values import ValueProblem

MAX_WORK = 1_000_000
"""Calls of functions and rounds of loops that one evaluation may take; large values count more than once."""

MAX_CALL = 500

Hook: TypeAlias = Callable[[list[Any]], Any]
"""A function that the engine supplies: it takes the arguments of the call as a list."""


@dataclass
class Environment:
    """The variables and the functions of a conversation.

    `variables` are shared by everything in it: `input`, `graphInput`, `output`, `__nodeStack` and
    `__nodeContextDepth` are variables that the engine sets. `functions` are those of the conversation that can be
    called, by their names. `hooks` are functions of the engine, such as `getNodeInfo`; one with the name of a
    built-in function stands in its place.

    >>> environment = Environment({"user": {"name": "Ada"}})
    >>> Scope(environment).look_up(("user", "name"))
    'Ada'
    """

    variables: dict[str, Any] = field(default_factory=dict)
    functions: dict[str, FunctionMessage] = field(default_factory=dict)
    hooks: Mapping[str, Hook] = field(default_factory=dict)

    def copy(self) -> Environment:
        """An environment that shares no variable with this one, nor anything in them, as a fork of it needs."""
        return Environment(copied(self.variables), dict(self.functions), self.hooks)


class Work:
    """How much an evaluation has done, so that it ends."""

    def __init__(self) -> None:
        self.done = 0

    def spend(self, amount: int = 1) -> None:
        """Count some work.

        Raises:
            ValueProblem: it is too much.
        """
        self.done += amount
        if self.done > MAX_WORK:
            raise ValueProblem(
                f"this does more than {MAX_WORK:,} calls and rounds of loops, or makes as much text", "too-much-work"
            )

    def spend_on(self, value: Any) -> Any:
        """Count what it takes to make a value, and give it, if it is not too large."""
        self.spend_reading((value,))
        return bounded(value)

    def spend_reading(self, values: Iterable[Any]) -> None:
        """Count what it takes to go through values, as a search in a long list does."""
        for value in values:
            if isinstance(value, str):
                self.spend(len(value) // 200)
            elif isinstance(value, (list, dict)):
                self.spend(len(value) // 100)


@dataclass
class Scope:
    """Where an expression stands: in a body, with variables of its own, or in none (`variables` is None).

    `defining` says that only what a `define` may call can be called. `depth` counts the calls around it.
    """

    environment: Environment
    variables: dict[str, Any] | None = None
    defining: bool = False
    depth: int = 0
    work: Work = field(default_factory=Work)

    def body(self, variables: dict[str, Any]) -> Scope:
        """The scope of the body of a function that is called here.

        Raises:
            ValueProblem: the calls nest too deep.
        """
        if self.depth >= MAX_CALL:
            raise ValueProblem(f"functions call each other more than {MAX_CALL} levels deep", "call-too-deep")
        return Scope(self.environment, variables, self.defining, self.depth + 1, self.work)

    def outside(self) -> Scope:
        """The scope of a type in the head of a function: it sees no variables of a body, and calls no functions."""
        return Scope(self.environment, None, True, self.depth, self.work)

    def look_up(self, path: Sequence[str]) -> Any:
        """What a path leads to: from a variable of the body, of the conversation, or a type; otherwise undefined."""
        name = path[0]
        for variables in (self.variables, self.environment.variables, BASIC):
            if variables is not None and name in variables:
                return at_path(variables[name], path[1:])
        return UNDEFINED

    def assign(self, path: Sequence[str], value: Any) -> None:
        """`path = value`: a variable here, or what is in one; maps on the way are made.

        Raises:
            ValueProblem: the path leads through something that is no map.
        """
        own = self.environment.variables if self.variables is None else self.variables
        if len(path) == 1:
            own[path[0]] = value
            return
        holder = self.look_up(path[:1])
        if holder is UNDEFINED or holder is None:
            own[path[0]] = holder = {}
        for name in path[1:-1]:
            inner = at_path(holder, [name])
            if inner is UNDEFINED or inner is None:
                set_member(holder, name, inner := {})
            holder = inner
        set_member(holder, path[-1], value)

    def assign_shared(self, path: Sequence[str], value: Any) -> None:
        """`path = value` for a variable of the conversation, also in a body."""
        Scope(self.environment).assign(path, value)
