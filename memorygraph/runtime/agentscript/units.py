"""Units: a program file with everything that it imports, ready to run.

All of it is read and checked before anything runs. Tools, models and memories are only bound here: they are opened
when they are first used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from memorygraph.errors import MemoryGraphError, ScriptError, Source
from memorygraph.languages import parse
from memorygraph.languages.agentscript.checks import ENTRY_CODES
from memorygraph.languages.agentscript.syntax import Agent, Import, Program
from memorygraph.runtime.memories import Graph, open_memory
from memorygraph.runtime.paths import inside
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.tools import Tool, open_tool
from memorygraph.runtime.values import AgentValue, Capability, MemoryValue, ModelValue, ToolValue
from memorygraph.scripts import read_script

MAX_FILE = 10_000_000
"""Bytes of a file that a program may import."""


@dataclass(eq=False)
class Unit:
    """One program file: its source, its imports by name, and its agents by name."""

    source: Source
    folder: Path
    imports: dict[str, Capability | Any] = field(default_factory=dict)
    agents: dict[str, AgentValue] = field(default_factory=dict)

    def bindings(self, agent: AgentValue, functions: dict[str, Any]) -> dict[str, Any]:
        """What the functions of an agent can name besides their variables."""
        return {**self.imports, **self.agents, **functions, agent.name: agent}

    @property
    def main(self) -> AgentValue:
        """The agent that runs when none is named: the main one, or the only one."""
        agents = list(self.agents.values())
        return next((value for value in agents if value.agent.main), agents[0])


@dataclass(eq=False)
class Loader:
    """Reads program files with what they import. `root` is the folder that they may not leave."""

    root: Path
    permissions: Permissions
    graph: Graph | None
    tools: list[Tool] = field(default_factory=list)

    def load(self, program: Program, folder: Path, files: tuple[Path, ...] = (), *, entry: bool = True) -> Unit:
        """The unit of a program; `files` are its own and those that import it, `entry` says that it is to be run.

        Raises:
            ScriptError: it is wrong, or an import of it is.
        """
        problems = [problem for problem in program.problems if entry or problem.code not in ENTRY_CODES]
        if problems:
            raise ScriptError(problems)
        unit = Unit(program.source, folder)
        self.bind(unit, program.statements, files)
        return unit

    def bind(self, unit: Unit, statements: Iterable[Any], files: tuple[Path, ...] = ()) -> None:
        """Add imports and agents to a unit.

        Raises:
            ScriptError: an import is wrong.
        """
        problems = []
        for statement in statements:
            if isinstance(statement, Agent):
                unit.agents[statement.name] = AgentValue(statement.name, statement, unit)
                continue
            imported = cast("Import", statement)
            try:
                unit.imports[imported.name] = self._imported(imported, unit.folder, files)
            except ScriptError as error:
                problems += error.problems
            except (MemoryGraphError, OSError) as error:
                problems.append(unit.source.problem(str(error), "import-failed", imported.span))
        if problems:
            raise ScriptError(problems)

    def close(self) -> None:
        """Close the tools that were opened."""
        for tool in self.tools:
            tool.close()

    def _imported(self, imported: Import, folder: Path, files: tuple[Path, ...]) -> Capability | Any:
        match imported.kind:
            case "tool":
                tool = open_tool(imported.name, imported.uri, folder, self.permissions)
                self.tools.append(tool)
                return ToolValue(imported.name, tool)
            case "llm":
                return ModelValue(imported.name, imported.uri)
            case "memory":
                memory = open_memory(imported.name, imported.uri, folder, self.graph, self.permissions)
                return MemoryValue(imported.name, memory)
            case "file":
                return self._file(self._path(imported, folder))
            case _:
                return self._agent(imported, self._path(imported, folder), files)

    def _path(self, imported: Import, folder: Path) -> Path:
        path = folder / imported.uri.removeprefix("file://")
        return inside(self.root, str(path), anywhere="file" in self.permissions.tools)

    @staticmethod
    def _file(path: Path) -> Any:
        """The text of a file, or for .json its value."""
        if path.is_file() and path.stat().st_size > MAX_FILE:
            raise MemoryGraphError(f"{path.name} has more than {MAX_FILE // 1_000_000} MB, which no prompt holds")
        text = read_script(path)
        if path.suffix.lower() != ".json":
            return text
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise MemoryGraphError(f"{path.name} is not JSON: {error}") from error

    def _agent(self, imported: Import, path: Path, files: tuple[Path, ...]) -> AgentValue:
        if path in files:
            circle = " → ".join(file.name for file in (*files[files.index(path) :], path))
            raise MemoryGraphError(f"the imports go in a circle: {circle}")
        program = parse(read_script(path), "agentscript", file=str(path))
        unit = self.load(program, path.parent, (*files, path), entry=False)
        if imported.name not in unit.agents:
            known = ", ".join(f"`{name}`" for name in unit.agents) or "none"
            raise MemoryGraphError(f"{path.name} has no agent `{imported.name}`; its agents: {known}")
        return unit.agents[imported.name]
