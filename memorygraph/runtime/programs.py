"""Stored programs: AgentScript programs and node graphs that are kept in the graph, and run by their name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from memorygraph.errors import NotFoundError, ScriptError
from memorygraph.graph.elements import as_text
from memorygraph.graph.loads import Loader, LoadReport, Provenance, WriteResult
from memorygraph.graph.namespace import UNCOMPACTED, Namespace, NamespaceTransaction
from memorygraph.graph.writes import run_counted
from memorygraph.languages import LANGUAGES, Script, agentscript, convo, parse
from memorygraph.query import Query

StoredProgram: TypeAlias = agentscript.AgentScriptProgram | convo.ConvoProgram


@dataclass(frozen=True)
class ProgramInfo:
    """A stored program: the name it is run by, its language, the hash of its source, and where it came from when."""

    name: str
    language: str
    id: str
    file: str | None
    loaded_at: str

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return asdict(self)


@dataclass(frozen=True)
class ProgramStore:
    """The programs of one namespace. Each is stored under the name of its file."""

    namespace: Namespace

    def queries(self, program: Any) -> list[Query]:
        """The queries that store a program; ScriptError says if it is wrong, or needs other files."""
        problems = LANGUAGES[program.language].check(program)
        if problems:
            raise ScriptError(problems)
        return LANGUAGES[program.language].compile_program(program, self.namespace.name)

    def load(
        self,
        program: Script,
        *,
        dry_run: bool = False,
        progress: Callable[[int], None] | None = None,  # noqa: ARG002 - a program is written at once
        provenance: Provenance | None = None,
    ) -> LoadReport:
        """Store a program. Of a node graph, the nodes and the routes are stored and counted, too."""
        queries = self.queries(program)
        warnings = tuple(LANGUAGES[program.language].find_warnings(program))

        def write(transaction: NamespaceTransaction, _stored: object) -> WriteResult:
            return WriteResult(run_counted(transaction, queries), warnings)

        file, statements = program.source.file, len(program.statements)
        loader = Loader(self.namespace, program.language)
        return loader.store(write, file=file, statements=statements, dry_run=dry_run, provenance=provenance)


def list_stored_programs(namespace: Namespace) -> list[ProgramInfo]:
    """The stored programs of a namespace, by name; of each name the one that was loaded last."""
    return [ProgramInfo(**row) for row in namespace.read("programs/programs")]


def find_program(namespace: Namespace, name: str) -> StoredProgram:
    """The program that was last loaded under a name."""
    rows = namespace.read("programs/program", name=name)
    if not rows:
        raise _not_found(namespace, name)
    language: Any = rows[0]["language"]
    program: StoredProgram = parse(as_text(rows[0]["source"]), language, file=name)
    return program


def forget_program(namespace: Namespace, name: str) -> None:
    """Let a program be run by its name no longer; the records of its runs stay."""
    forgotten = 0

    def forget(transaction: NamespaceTransaction) -> None:
        nonlocal forgotten
        [row] = transaction.run("programs/forget-program", name=name, mark=UNCOMPACTED)
        forgotten += row["forgotten"]  # also by an attempt whose acknowledgement was lost

    namespace.write(forget)
    if not forgotten:
        raise _not_found(namespace, name)


def _not_found(namespace: Namespace, name: str) -> NotFoundError:
    known = ", ".join(f"`{each.name}`" for each in list_stored_programs(namespace)) or "none"
    return NotFoundError(f"no program `{name}` is stored in namespace `{namespace}`; there are: {known}")
