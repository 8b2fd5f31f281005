"""Units: a program file with everything that it imports, read and checked before anything runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

from memorygraph.errors import MemoryGraphError, ScriptError, Source
from memorygraph.graph.loads import Provenance
from memorygraph.json_text import parse_json
from memorygraph.languages import parse
from memorygraph.languages.agentscript.checks import ENTRY_CODES
from memorygraph.languages.agentscript.syntax import Agent, AgentScriptProgram, Import
from memorygraph.runtime.agentscript.values import AgentValue, ModelValue
from memorygraph.runtime.imports import Capability
from memorygraph.runtime.memories import GraphClient, open_memory
from memorygraph.runtime.paths import inside, require_plain
from memorygraph.runtime.permissions import OWN_MEMORY, Permissions, Refused
from memorygraph.runtime.tools import ImportedTool, open_tool
from memorygraph.scripts import read_script

MAX_FILE_BYTES = 10_000_000  # of a file that a program may import


@dataclass(eq=False)
class Unit:
    """One program file: its source, its imports by name, and its agents by name."""

    source: Source
    folder: Path
    imports: dict[str, Capability | Any] = field(default_factory=dict)
    agents: dict[str, AgentValue] = field(default_factory=dict)


@dataclass(eq=False)
class UnitLoader:
    """Reads program files with what they import. `root` is the folder that they may not leave.

    Without a graph they are only checked: what a run may be allowed, or finds in the graph, is no problem there.
    """

    root: Path
    permissions: Permissions
    graph: GraphClient | None
    provenance: Provenance | None = None  # of what the memories write
    tools: list[ImportedTool] = field(default_factory=list)
    units: dict[Path, Unit | ScriptError] = field(default_factory=dict)  # each file is read once, by whomever imported

    def load(
        self, program: AgentScriptProgram, folder: Path, files: tuple[Path, ...] = (), *, entry: bool = True
    ) -> Unit:
        """Load a program; `files` are its own and those of its importers, `entry` says that it is to be run."""
        problems = [problem for problem in program.problems if entry or problem.code not in ENTRY_CODES]
        if problems:
            raise ScriptError(problems)
        unit = Unit(program.source, folder)
        self.bind(unit, program.statements, files)
        return unit

    def bind(self, unit: Unit, statements: Iterable[Any], files: tuple[Path, ...] = ()) -> None:
        """Add imports and agents to a unit."""
        problems = []
        for statement in statements:
            if isinstance(statement, Agent):
                unit.agents[statement.name] = AgentValue(statement.name, statement, unit)
                continue
            imported = cast("Import", statement)
            try:
                unit.imports[imported.name] = self.open_import(imported, unit.folder, files)
            except ScriptError as error:
                problems += [problem for problem in error.problems if problem not in problems]
            except (MemoryGraphError, OSError) as error:
                if self.graph is None and isinstance(error, Refused):
                    continue
                problems.append(unit.source.problem(str(error), "import-failed", imported.span))
        if problems:
            raise ScriptError(problems)

    def close(self) -> None:
        """Close the tools that were opened."""
        for tool in self.tools:
            tool.close()

    def open_import(self, imported: Import, folder: Path, files: tuple[Path, ...]) -> Capability | Any:
        """Make the value that an import binds; tools, models and memories are opened at their first use."""
        name, uri = imported.name, imported.uri
        match imported.kind:
            case "tool":
                self.tools.append(open_tool(name, uri, folder, self.permissions))
                return self.tools[-1]
            case "llm":
                self.permissions.require_listed(uri)
                return ModelValue(name, uri)
            case "memory" if self.graph is None and uri.startswith(OWN_MEMORY):
                return None
            case "memory":
                return open_memory(name, uri, folder, self.graph, self.permissions, self.provenance)
        anywhere = "file" in self.permissions.tools
        path = inside(self.root, str(folder / unquote(uri.removeprefix("file://"))), anywhere=anywhere)
        require_plain(path)
        return read_data(path) if imported.kind == "file" else self.load_agent(name, path, files)

    def load_agent(self, name: str, path: Path, files: tuple[Path, ...]) -> AgentValue:
        """Load an agent of another program file."""
        if path in files:
            circle = " → ".join(file.name for file in (*files[files.index(path) :], path))
            raise MemoryGraphError(f"the imports go in a circle: {circle}")
        if path not in self.units:
            try:
                program = parse(read_script(path), "agentscript", file=str(path))
                self.units[path] = self.load(program, path.parent, (*files, path), entry=False)
            except ScriptError as error:
                self.units[path] = error
        unit = self.units[path]
        if isinstance(unit, ScriptError):
            raise unit
        if name not in unit.agents:
            known = ", ".join(f"`{name}`" for name in unit.agents) or "none"
            raise MemoryGraphError(f"{path.name} has no agent `{name}`; its agents: {known}")
        return unit.agents[name]


def check_imports(program: AgentScriptProgram, folder: Path, _: Path | None = None) -> AgentScriptProgram:
    """Find imports that cannot be opened, as far as that is known without a run, and return the program."""
    folder, file = folder.resolve(), program.source.file
    UnitLoader(folder, Permissions(), None).load(program, folder, (Path(file).resolve(),) if file else ())
    return program


def read_data(path: Path) -> Any:
    """Read an imported file: its text, or for .json its value."""
    if path.is_file() and path.stat().st_size > MAX_FILE_BYTES:
        raise MemoryGraphError(f"{path.name} has more than {MAX_FILE_BYTES // 1_000_000} MB, which no prompt holds")
    text = read_script(path)
    if path.suffix.lower() != ".json":
        return text
    try:
        return parse_json(text)
    except ValueError as error:
        raise MemoryGraphError(f"{path.name} is not JSON: {error}") from error
