"""What a Convo-Lang expression can name: variables of the conversation and of a function's body, and functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from memorygraph.languages.convo import syntax
from memorygraph.limits import RunBudget, active_budget
from memorygraph.runtime.convo.prompt_heads import PromptHead
from memorygraph.runtime.convo.types import BASIC
from memorygraph.runtime.convo.values import (
    UNDEFINED,
    ConvoType,
    copy_deeply,
    read_at_path,
    require_bounded,
    set_member,
)
from memorygraph.runtime.depth import CallStack
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.values import ValueProblem

# Calls of functions and rounds of loops of one evaluation; large values count more than once.
MAX_WORK = 1_000_000
MAX_CALL_DEPTH = 500
BYTES_PER_ITEM = 8  # of a list or a map that may share its items with another one

# A function that the engine supplies: it takes the arguments of the call as a list.
Hook: TypeAlias = Callable[[list[Any]], Any]


class PromptAsker(Protocol):
    """Lets a model answer a prompt that stands in code."""

    def __call__(self, head: PromptHead, messages: Sequence[tuple[str, str]], type_: ConvoType | None) -> Any:
        """The answer to messages, each a role and a text; of a type, where the prompt asks for one."""


@dataclass
class Environment:
    """The variables and the functions of a conversation, by their names, and what its requests may reach."""

    variables: dict[str, Any] = field(default_factory=dict)  # the engine sets `input`, `output` and so on
    functions: Mapping[str, syntax.FunctionMessage] = field(default_factory=dict)  # what code calls here
    # What the bodies of functions call, where they stand in a node or outside of all: by the `id` of the function.
    callable_in: Mapping[int, Mapping[str, syntax.FunctionMessage]] = field(default_factory=dict)
    hooks: Mapping[str, Hook] = field(default_factory=dict)  # replace the built-in functions of their names
    permissions: Permissions = field(default_factory=Permissions.of)
    ask: PromptAsker | None = None  # answers the prompts in code, if a model can be asked
    protected: Set[str] = frozenset()  # variables that no body changes: those that the engine sets

    def copy(self) -> Environment:
        """Copy the environment for a fork: no variable, nor anything in one, is shared."""
        return replace(self, variables=copy_deeply(self.variables))


@dataclass
class WorkBudget:
    """Counts what an evaluation does, so that every evaluation ends."""

    done: int = 0
    budget: RunBudget = field(default_factory=active_budget)  # of the run that the evaluation is a part of

    def spend(self, amount: int = 1) -> None:
        """Count some work."""
        if not amount:  # a small value
            return
        self.done += amount
        self.budget.spend(amount)
        if self.done > MAX_WORK:
            raise ValueProblem(
                f"this does more than {MAX_WORK:,} calls and rounds of loops, or makes as much text", "too-much-work"
            )

    def spend_on(self, value: Any) -> Any:
        """Count the work of making a value, and return it."""
        self.spend_reading((value,))
        if isinstance(value, (str, list, dict)):
            self.budget.spend(0, len(value) * (1 if isinstance(value, str) else BYTES_PER_ITEM))
        return require_bounded(value)

    def spend_reading(self, values: Iterable[Any]) -> None:
        """Count the work of reading values, as a search in a long list does."""
        for value in values:
            if isinstance(value, str):
                self.spend(len(value) // 200)
            elif isinstance(value, (list, dict)):
                self.spend(len(value) // 100)


@dataclass
class ConvoScope:
    """The scope of an expression: the body of a function, or the conversation (`variables` is None)."""

    environment: Environment
    variables: dict[str, Any] | None = None
    defining: bool = False  # allows only what a `define` may call
    depth: int = 0  # counts the calls around the expression
    work: WorkBudget = field(default_factory=WorkBudget)
    calls: CallStack = field(default_factory=CallStack)
    function: syntax.FunctionMessage | None = None  # whose body it is

    @property
    def functions(self) -> Mapping[str, syntax.FunctionMessage]:
        """The functions that the expression can call, by their names."""
        here = self.environment.functions
        return here if self.function is None else self.environment.callable_in.get(id(self.function), here)

    def enter_body(self, function: syntax.FunctionMessage, variables: dict[str, Any]) -> ConvoScope:
        """The scope of the body of a function that is called here."""
        if self.depth >= MAX_CALL_DEPTH:
            raise ValueProblem(f"functions call each other more than {MAX_CALL_DEPTH} levels deep", "call-too-deep")
        work, calls = self.work, self.calls
        return ConvoScope(self.environment, variables, self.defining, self.depth + 1, work, calls, function)

    def require_pure(self, name: str) -> None:
        """Refuse a call that a `define` may not make."""
        if self.defining:
            raise ValueProblem(f"`{name}` cannot be called in a `define`; call it in a `do`", "not-in-define")

    def look_up(self, path: Sequence[str]) -> Any:
        """Read what a path leads to, from a variable of the body, of the conversation, or a type."""
        name = path[0]
        for variables in (self.variables, self.environment.variables, BASIC):
            if variables is not None and name in variables:
                return read_at_path(variables[name], path[1:])
        return UNDEFINED

    def variables_for(self, name: str, *, shared: bool) -> dict[str, Any]:
        """The variables that an assignment changes: those of the body, unless the name is a shared one's."""
        outside = self.environment.variables
        if self.variables is None or shared:
            return outside
        known = outside.get(name, UNDEFINED) is not UNDEFINED and name not in self.environment.protected
        return outside if known and name not in self.variables else self.variables

    def assign(self, path: Sequence[str], value: Any, *, shared: bool = False) -> None:
        """Assign a variable of this scope, or a member of one; missing maps on the way are created.

        In a body, the variable of the conversation of this name is assigned, if there is one, or if it is `shared`.
        """
        own = self.variables_for(path[0], shared=shared)
        if len(path) == 1:
            own[path[0]] = value
            return
        holder = self.look_up(path[:1])
        if holder is UNDEFINED or holder is None:
            own[path[0]] = holder = {}
        for name in path[1:-1]:
            inner = read_at_path(holder, [name])
            if inner is UNDEFINED or inner is None:
                set_member(holder, name, inner := {})
            holder = inner
        set_member(holder, path[-1], value)
