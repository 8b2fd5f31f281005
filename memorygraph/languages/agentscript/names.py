"""What the names of a program mean, as far as that can be said before it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from typing import TypeAlias

from memorygraph.errors import Span
from memorygraph.languages.agentscript import syntax

Binding: TypeAlias = syntax.Import | syntax.Agent | syntax.Function

MAX_VALUES = 100  # values looked at for one prompt; further ones are found when the program runs
MAX_NAMES = 1000  # among which the one that was meant is looked for

# What must never come into a prompt.
CAPABILITIES = {
    "tool": "a tool",
    "llm": "a model",
    "agent": "an agent",
    "function": "a function",
    "memory": "a memory",
}
KINDS = {**CAPABILITIES, "file": "a file"}


def kind_of(binding: Binding) -> str:
    """What a name is bound to: the kind of an import, `agent` or `function`."""
    if isinstance(binding, syntax.Import):
        return binding.kind
    return "agent" if isinstance(binding, syntax.Agent) else "function"


@dataclass
class LocalVariable:
    """A variable or a parameter; `values` are what is assigned to it, None where that is not known."""

    span: Span
    values: list[syntax.Expression | None] = field(default_factory=list)


class Scope:
    """The names and the configuration of one block, and what is around it."""

    def __init__(self, bindings: dict[str, Binding], configs: Iterable[str] = (), parent: Scope | None = None) -> None:
        self.bindings = bindings
        self.configs = set(configs)
        self.parent = parent
        self.variables: dict[str, LocalVariable] = {}
        self.inner: list[Scope] = []

    def block(self) -> Scope:
        """The scope of a block inside this one."""
        inner = Scope(self.bindings, parent=self)
        self.inner.append(inner)
        return inner

    def _chain(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def variable(self, name: str) -> LocalVariable | None:
        """The nearest variable of this name."""
        return next((scope.variables[name] for scope in self._chain() if name in scope.variables), None)

    def assign(self, name: str, span: Span, value: syntax.Expression | None) -> None:
        """Note an assignment: to the nearest variable of this name, or to a new one here."""
        variable = self.variable(name)
        if variable is None:
            variable = self.variables[name] = LocalVariable(span)
        variable.values.append(value)

    def configured(self) -> set[str]:
        """Which of model, role and description are set here."""
        return {config for scope in self._chain() for config in scope.configs}

    def ended(self, name: str) -> LocalVariable | None:
        """A variable of this name that a block has taken with it."""
        waiting = [scope for around in self._chain() for scope in around.inner]
        while waiting:
            scope = waiting.pop()
            if name in scope.variables:
                return scope.variables[name]
            waiting += scope.inner
        return None

    def names(self) -> list[str]:
        """All names that mean something here."""
        return [*(name for scope in self._chain() for name in scope.variables), *self.bindings]


Found: TypeAlias = tuple[str, str] | None  # the kind and the name of a capability


Known: TypeAlias = dict[tuple[int, bool], Found]  # by variable, and by whether its whole value counts


def capability(expression: syntax.Expression, scope: Scope, known: Known | None = None) -> Found:
    """The capability that an expression is, or holds.

    A variable is one if all that is assigned to it is. What is found about variables is kept in `known`, once no
    more is assigned to them.
    """
    return _Search(scope, {} if known is None else known).found(expression, whole=True)


class _Search:
    """Looks for a capability in an expression, and in what its variables stand for."""

    def __init__(self, scope: Scope, known: Known) -> None:
        self._scope = scope
        self._known = known  # also what is being looked at, so that nothing is twice
        self._left = MAX_VALUES

    def found(self, expression: syntax.Expression | None, *, whole: bool) -> Found:
        """The capability of an expression; of a nested part, report only the capability itself, not its contents."""
        self._left -= 1
        if self._left < 0:
            return None
        match expression:
            case syntax.Name() | syntax.Member() | syntax.Index():
                root = _root(expression)
                return (
                    self._named(root.name, whole=whole and root is expression)
                    if isinstance(root, syntax.Name)
                    else None
                )
            case syntax.List() if whole:
                return self._first(expression.items)
            case syntax.Object() if whole:
                return self._first(entry.value for entry in expression.entries)
        return None

    def _first(self, items: Iterable[syntax.Expression]) -> Found:
        return next(filter(None, (self.found(item, whole=True) for item in items)), None)

    def _named(self, name: str, *, whole: bool) -> Found:
        variable = self._scope.variable(name)
        if variable is None:
            kind = kind_of(self._scope.bindings[name]) if name in self._scope.bindings else ""
            return (kind, name) if kind in CAPABILITIES else None
        key = id(variable), whole
        if key not in self._known:
            self._known[key] = None
            found = [self.found(value, whole=whole) for value in variable.values]
            self._known[key] = found[0] if found and all(found) else None
        return self._known[key]


def generated(expression: syntax.Expression) -> syntax.Generate | None:
    """The first call of a model in an expression."""
    waiting: list[object] = [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, syntax.Generate):
            return node
        if isinstance(node, tuple):
            waiting += reversed(node)
        elif hasattr(node, "__dataclass_fields__"):
            waiting += reversed([value for name, value in vars(node).items() if name != "span"])
    return None


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of a message that says which name was probably meant; empty where none is near."""
    near = _near(name, list(islice(known, MAX_NAMES)))
    return f"; did you mean `{near}`?" if near else ""


def _near(name: str, known: list[str]) -> str | None:
    by_lower = {one.lower(): one for one in reversed(known)}
    near = get_close_matches(name[:64].lower(), list(by_lower), n=1, cutoff=0.65)
    return by_lower[near[0]] if near else None


def _root(expression: syntax.Expression) -> syntax.Expression:
    """What a member or an item is taken of."""
    while isinstance(expression, syntax.Member | syntax.Index):
        expression = expression.value
    return expression
