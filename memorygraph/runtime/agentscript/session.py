"""A session: statements of AgentScript one after the other, in one scope that stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memorygraph.context.origins import copy_value
from memorygraph.errors import MemoryGraphError, Source
from memorygraph.languages.agentscript import syntax
from memorygraph.languages.agentscript.names import Binding, Scope
from memorygraph.languages.agentscript.reading import read_entry
from memorygraph.limits import budget_of_run
from memorygraph.runtime.agentscript.generation import STOPPED, Generation, Models
from memorygraph.runtime.agentscript.interpreter import Interpreter, locate_error
from memorygraph.runtime.agentscript.scope import Activation, BlockScope
from memorygraph.runtime.agentscript.store import AgentRunStore
from memorygraph.runtime.agentscript.units import Unit, UnitLoader
from memorygraph.runtime.agentscript.values import AgentValue, require_data
from memorygraph.runtime.imports import Capability
from memorygraph.runtime.memories import GraphClient
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.runs import Listener, Trace

NAME = "session"
MAX_GENERATIONS = 10_000


@dataclass
class Session:
    """Executes what is typed, as the statements of one function that never ends; the session is kept as one run."""

    graph: GraphClient
    permissions: Permissions = field(default_factory=Permissions)
    model: str | None = None
    mock: bool = False
    folder: Path = field(default_factory=Path)
    listener: Listener | None = None

    def __post_init__(self) -> None:
        self.trace = Trace(self.listener)
        self._models = Models(self.permissions, self.model, mock=self.mock)
        self._loader = UnitLoader(self.folder.resolve(), self.permissions, self.graph)
        self._store = AgentRunStore(self.graph.scope)
        self._store.begin({"language": "agentscript", "agent": NAME, "function": NAME})
        self._generation = Generation(self._models, self.trace, MAX_GENERATIONS, self._store.add)
        self._unit = Unit(Source(""), self.folder.resolve())
        agent = AgentValue(NAME, syntax.Agent(NAME, main=True, configs=(), functions=()), self._unit)
        self._declared: dict[str, Binding] = {}
        self._bindings: dict[str, Any] = {}
        function = syntax.Function(NAME, main=True, parameters=(), body=syntax.Block(()))
        self.scope = BlockScope(Activation(agent, function, self._bindings, 1))
        self.execute('role "A helpful assistant" description "Answers in a session"')

    @property
    def run(self) -> str:
        """The id under which the session is kept."""
        return self._store.id

    def execute(self, text: str) -> list[Any]:
        """Execute what was typed, and return the values of the expressions that stand alone in it.

        Raises:
            ScriptError: something in it is wrong. Nothing is done where that is found before it runs; else what stands
                before it is, but for the context sources that it declares: typed again, they would be there twice.
            ModelError: a model endpoint failed.
        """
        source = Source(text, "<session>")
        budget = budget_of_run()  # of each entry
        interpreter = Interpreter(self._generation, budget, self._store.read)
        scope = self.scope_of(source)
        values = []
        try:
            with budget.active(), self.undeclaring_failed(scope):
                declared, statements = read_entry(source, self.known_names())
                self.declare(declared, source)
                for statement in statements:
                    if isinstance(statement, syntax.ExpressionStatement):
                        value = interpreter.evaluate(statement.value, scope)
                    elif (returned := interpreter.execute(statement, scope)) is not None:
                        value = returned.value
                    else:
                        continue
                    values.append(locate_shown(value, statement, scope))
        except KeyboardInterrupt:
            budget.cancel(STOPPED)  # deep calls go on in threads of their own
            raise
        return values

    @contextmanager
    def undeclaring_failed(self, scope: BlockScope) -> Iterator[None]:
        """Take back the context sources that an entry has declared, if it fails."""
        before = len(scope.declared)
        try:
            yield
        except BaseException:
            scope.call.reached.difference_update(id(source.use) for source in scope.declared[before:])
            del scope.declared[before:]
            raise

    def scope_of(self, source: Source) -> BlockScope:
        """The scope for an entry; what it declares is evaluated later, and errors in it are shown where it stands."""
        call = self.scope.call
        agent = AgentValue(NAME, call.agent.agent, replace(self._unit, source=source))
        return self.scope.seen_by(replace(call, agent=agent))

    def known_names(self) -> Scope:
        """What an entry is checked with: what was declared before it, and what the variables are now."""
        scope = Scope(dict(self._declared), self.scope.configs)
        scope.variables = {name: [stand_in(value)] for name, value in self.scope.variables.items()}
        return scope

    def declare(self, pieces: Sequence[syntax.Import | syntax.Agent], source: Source) -> None:
        """Add imports and agents, in a unit of their own that knows its source, and all that was typed before.

        They replace what has their names.
        """
        unit = Unit(source, self._unit.folder, dict(self._unit.imports), dict(self._unit.agents))
        for piece in pieces:
            unit.imports.pop(piece.name, None)
            unit.agents.pop(piece.name, None)
        self._loader.units.clear()  # a file may have been edited since
        self._loader.bind(unit, pieces)
        for piece in pieces:
            self.scope.variables.pop(piece.name, None)
        self._unit.imports, self._unit.agents = unit.imports, unit.agents
        self._declared.update({piece.name: piece for piece in pieces})
        self._bindings.update({**unit.imports, **unit.agents})

    def close(self) -> None:
        """End the session: its connections, its tools, and its record."""
        self._store.end({"status": "done", "trace": self.trace.events})
        self._models.close()
        self._loader.close()


def locate_shown(value: Any, statement: syntax.Statement, scope: BlockScope) -> Any:
    """The value of a statement as it is shown; an error says where that stands."""
    try:
        return show_data(value)
    except MemoryGraphError as error:
        raise locate_error(error, statement, scope) from error


def show_data(value: Any) -> Any:
    """A value as it is shown: a copy of data, or a capability that stands alone.

    Raises:
        MemoryGraphError: it holds itself, or a capability.
    """
    return value if isinstance(value, Capability) else copy_value(require_data(value, "be shown"))


def stand_in(value: Any) -> syntax.Expression:
    """The expression that stands for the value of a variable in checks, which see from it what kind that is."""
    if isinstance(value, Capability):
        return syntax.Name(value.name)
    if isinstance(value, list):
        return syntax.List(())
    return syntax.Object(()) if isinstance(value, dict) else syntax.Nothing()
