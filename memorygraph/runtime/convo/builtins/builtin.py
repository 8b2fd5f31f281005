"""What a built-in function is: a small Python function, under its name in Convo-Lang, with its number of arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from memorygraph.runtime.values import ValueProblem

if TYPE_CHECKING:
    from memorygraph.runtime.convo.scope import Scope

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Builtin:
    """A function that takes values. `most` is None where it takes any number.

    `pure` says that a `define` may call it; `scoped` that its first argument in Python is the scope of the call.
    """

    name: str
    run: Callable[..., Any]
    least: int = 0
    most: int | None = None
    pure: bool = True
    scoped: bool = False

    def call(self, scope: Scope, values: list[Any]) -> Any:
        """The value for some arguments.

        Raises:
            ValueProblem: they are too many or too few, or nothing can be done with them.
        """
        given = len(values)
        if given < self.least or (self.most is not None and given > self.most):
            raise ValueProblem(f"`{self.name}` takes {self._arity()}, and was given {given}", "invalid-argument-count")
        return self.run(scope, *values) if self.scoped else self.run(*values)

    def _arity(self) -> str:
        if self.most is None:
            return f"at least {_arguments(self.least)}"
        return _arguments(self.most) if self.least == self.most else f"{self.least} to {_arguments(self.most)}"


def _arguments(number: int) -> str:
    return f"{number or 'no'} argument{'s' * (number != 1)}"


Table = dict[str, Builtin]


def registrar(table: Table) -> Callable[..., Callable[[Function], Function]]:
    """What enters functions into a table.

    >>> table: Table = {}
    >>> @registrar(table)("double", 1, 1)
    ... def double(value): return value * 2
    >>> table["double"].call(None, [4])
    8
    """

    def builtin(
        name: str, least: int = 0, most: int | None = None, *, pure: bool = True, scoped: bool = False
    ) -> Callable[[Function], Function]:
        def enter(function: Function) -> Function:
            table[name] = Builtin(name, function, least, most, pure, scoped)
            return function

        return enter

    return builtin
