"""The table of the built-in functions that take values: by name, each with the number of its arguments.

To add a function, write it in the module of its subject, as `@builtin("name")`, and add the name to the language.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from memorygraph.runtime.values import ValueProblem
from memorygraph.sentences import count_of

if TYPE_CHECKING:
    from memorygraph.runtime.convo.scope import ConvoScope

Implementation = TypeVar("Implementation", bound=Callable[..., Any])


@dataclass(frozen=True)
class Builtin:
    """A built-in function: its name in Convo-Lang, and its implementation in Python."""

    name: str
    run: Callable[..., Any]
    min_arguments: int = 0
    max_arguments: int | None = None  # None for any number
    pure: bool = True  # may be called in a `define`
    scoped: bool = False  # takes the scope of the call before the arguments
    measured: bool = True  # the size of what it takes and gives counts as work

    def call(self, scope: ConvoScope, values: list[Any]) -> Any:
        """Call the function."""
        given = len(values)
        if given < self.min_arguments or (self.max_arguments is not None and given > self.max_arguments):
            raise ValueProblem(f"`{self.name}` takes {self.arity}, and was given {given}", "invalid-argument-count")
        if self.measured:
            scope.work.spend_reading(values)
        result = self.run(scope, *values) if self.scoped else self.run(*values)
        return scope.work.spend_on(result) if self.measured else result

    @property
    def arity(self) -> str:
        """The number of arguments in words."""
        least, most = self.min_arguments, self.max_arguments
        counted = least if most is None else most
        words = count_of(counted, "argument") if counted else "no arguments"
        if most is None:
            return f"at least {words}"
        return words if least == most else f"{least} to {words}"


FUNCTIONS: dict[str, Builtin] = {}  # by the name in Convo-Lang


def builtin(name: str, *, pure: bool = True, measured: bool = True) -> Callable[[Implementation], Implementation]:
    """Add a Python function to the table by its parameters; a first one that is called `scope` takes the scope.

    >>> @builtin("double")
    ... def double(value): return value * 2
    >>> FUNCTIONS.pop("double").arity
    '1 argument'
    """

    def enter(implementation: Implementation) -> Implementation:
        parameters = list(inspect.signature(implementation).parameters.values())
        scoped = bool(parameters) and parameters[0].name == "scope"
        values = parameters[1:] if scoped else parameters
        positional = [parameter for parameter in values if parameter.kind is not parameter.VAR_POSITIONAL]
        required = sum(parameter.default is parameter.empty for parameter in positional)
        most = len(positional) if len(positional) == len(values) else None
        FUNCTIONS[name] = Builtin(name, implementation, required, most, pure, scoped, measured)
        return implementation

    return enter
