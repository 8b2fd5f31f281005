"""Scopes: where names are looked up, and where context sources are declared.

A function call begins with a fresh scope that knows nothing of its caller; each block has one inside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from memorygraph.languages.agentscript.syntax import Function, Use
from memorygraph.runtime.agentscript.values import AgentValue
from memorygraph.runtime.imports import Capability


@dataclass(frozen=True)
class DeclaredSource:
    """A context source and the scope of its declaration, in which it is evaluated when a prompt is built."""

    use: Use
    scope: BlockScope


@dataclass
class Activation:
    """One call of a function: whose it is, how deep, and which context its caller could see.

    `reached` holds the identities of the declarations that the call has come to.
    """

    agent: AgentValue
    function: Function
    bindings: Mapping[str, Capability | Any]
    depth: int
    caller: tuple[DeclaredSource, ...] = ()
    reached: set[int] = field(default_factory=set)


class BlockScope:
    """The variables, context sources and configuration of one block."""

    def __init__(self, call: Activation, parent: BlockScope | None = None) -> None:
        self.call = call
        self.parent = parent
        self.variables: dict[str, Any] = {}
        self.configs: dict[str, Any] = {}
        self.declared: list[DeclaredSource] = []

    def inner(self) -> BlockScope:
        """The scope of a block inside this one."""
        return BlockScope(self.call, self)

    def seen_by(self, call: Activation) -> BlockScope:
        """This scope for another call: the same variables, settings and context sources."""
        scope = BlockScope(call, self.parent)
        scope.variables, scope.configs, scope.declared = self.variables, self.configs, self.declared
        return scope

    def chain(self) -> Iterator[BlockScope]:
        """This scope and those around it, up to that of the function."""
        scope: BlockScope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def look_up(self, name: str) -> Any:
        """Return the value of a name: the nearest variable, or else what was imported or defined."""
        for scope in self.chain():
            if name in scope.variables:
                return scope.variables[name]
        return self.call.bindings[name]

    def assign(self, name: str, value: Any) -> None:
        """Set the nearest variable of that name, or a new one here."""
        scope = next((scope for scope in self.chain() if name in scope.variables), self)
        scope.variables[name] = value

    def config(self, name: str) -> Any:
        """The nearest setting of `model`, `role` or `description`; None without one."""
        return next((scope.configs[name] for scope in self.chain() if name in scope.configs), None)

    def declare(self, use: Use) -> None:
        """Declare a context source for the prompts of this block."""
        self.declared.append(DeclaredSource(use, self))
        self.call.reached.add(id(use))

    def visible(self) -> tuple[DeclaredSource, ...]:
        """The context sources that a prompt here may include, from the outermost scope inwards."""
        return tuple(declared for scope in reversed([*self.chain()]) for declared in scope.declared)
