"""What the names of a program mean, as far as that can be said before it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from memorygraph.languages.agentscript import syntax
from memorygraph.languages.engine.grammar import read_grammar

Binding: TypeAlias = syntax.Import | syntax.Agent | syntax.Function
Assigned: TypeAlias = list[syntax.Expression | None]  # all that a variable is set to; None where that is not known

MAX_VALUES = 100  # values looked at for one prompt; further ones are found when the program runs

GRAMMAR = read_grammar(Path(__file__).with_name("grammar.tx"))
CONFIGS = ("model", "role", "description")
# The words that the grammar spells out; a setting has a name like any other.
KEYWORDS = frozenset(token.name for token in GRAMMAR.tokens_in("Program") if token.name.islower()) - {*CONFIGS}

# What must never come into a prompt.
CAPABILITIES = {
    "tool": "a tool",
    "llm": "a model",
    "agent": "an agent",
    "function": "a function",
    "memory": "a memory",
}
KINDS = {**CAPABILITIES, "file": "a file"}


class Scope:
    """The names and the configuration of one block, and what is around it."""

    def __init__(self, bindings: dict[str, Binding], configs: Iterable[str] = (), parent: Scope | None = None) -> None:
        self.bindings = bindings
        self.configs = set(configs)
        self.parent = parent
        self.variables: dict[str, Assigned] = {}
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

    def variable(self, name: str) -> Assigned | None:
        """What is assigned to the nearest variable of this name."""
        return next((scope.variables[name] for scope in self._chain() if name in scope.variables), None)

    def assign(self, name: str, value: syntax.Expression | None) -> None:
        """Note an assignment: to the nearest variable of this name, or to a new one here."""
        variable = self.variable(name)
        if variable is None:
            variable = self.variables[name] = []
        variable.append(value)

    def configured(self) -> set[str]:
        """Which of model, role and description are set here."""
        return {config for scope in self._chain() for config in scope.configs}

    def ended(self, name: str) -> bool:
        """Whether a block has taken a variable of this name with it."""
        waiting = [scope for around in self._chain() for scope in around.inner]
        while waiting:
            scope = waiting.pop()
            if name in scope.variables:
                return True
            waiting += scope.inner
        return False

    def names(self) -> list[str]:
        """All names that mean something here."""
        return [*(name for scope in self._chain() for name in scope.variables), *self.bindings]


Found: TypeAlias = str | None  # a capability, as messages begin: `Search` is a tool
Known: TypeAlias = dict[tuple[int, bool], Found]  # by variable, and by whether its whole value counts


def capability(expression: syntax.Expression, scope: Scope, known: Known | None = None) -> Found:
    """The capability that an expression is, or holds; a variable is one if all that is assigned to it is.

    What is found about variables is kept in `known`, once no more is assigned to them.
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
                root: syntax.Expression = expression
                while isinstance(root, syntax.Member | syntax.Index):
                    root = root.value
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
            kind = self._scope.bindings[name].kind if name in self._scope.bindings else ""
            return f"`{name}` is {CAPABILITIES[kind]}" if kind in CAPABILITIES else None
        key = id(variable), whole
        if key not in self._known:
            self._known[key] = None
            found = [self.found(value, whole=whole) for value in variable]
            self._known[key] = found[0] if found and all(found) else None
        return self._known[key]
