"""Stored programs: AgentScript programs and node graphs that are kept in the graph, and run by their name."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from memorygraph.errors import NotFoundError, Problem, ScriptError
from memorygraph.graph.loads import Loader, LoadReport, Provenance
from memorygraph.graph.namespace import Namespace
from memorygraph.languages import agentscript, convo, parse
from memorygraph.query import Query
from memorygraph.runtime.convo.store import graph_identity, graph_query

Program = agentscript.Program | convo.Program


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


def load_program(
    namespace: Namespace,
    program: Program,
    *,
    dry_run: bool = False,
    provenance: Provenance | None = None,
) -> LoadReport:
    """Store a program under the name of its file. Of a node graph the nodes and the routes are stored and counted, too.

    Raises:
        ScriptError: the program is wrong, or needs other files; nothing was stored.
    """
    language = "convo" if isinstance(program, convo.Program) else "agentscript"
    return Loader(namespace, language).write(
        program_queries(program, namespace),
        file=program.source.file,
        statements=len(program.statements),
        dry_run=dry_run,
        provenance=provenance,
    )


def program_queries(program: Program, namespace: Namespace) -> list[Query]:
    """The queries that store a program.

    Raises:
        ScriptError: the program is wrong, or needs other files.
    """
    source = program.source
    id_ = graph_identity(source)
    name = Path(source.file).stem if source.file else id_[:8]
    named = {"name": name, "file": source.file}
    if isinstance(program, convo.Program):
        offered = namespace.query("programs/offer-graph", id=id_, properties={**named, "language": "convo"})
        return [graph_query(program, namespace), offered]
    if problems := [*program.problems, *_needs(program)]:
        raise ScriptError(problems)
    properties = {**named, "language": "agentscript", "source": source.text}
    return [namespace.query("programs/store-program", id=id_, properties=properties)]


def list_programs(namespace: Namespace) -> list[ProgramInfo]:
    """The stored programs of a namespace, by name; of each name the one that was loaded last."""
    return [ProgramInfo(**row) for row in namespace.read("programs/programs")]


def find_program(namespace: Namespace, name: str) -> Program:
    """The program that was last loaded under a name.

    Raises:
        NotFoundError: there is none.
    """
    rows = namespace.read("programs/program", name=name)
    if not rows:
        raise _not_found(namespace, name)
    program = parse(rows[0]["source"], rows[0]["language"], file=name)
    assert isinstance(program, (agentscript.Program, convo.Program))  # noqa: S101 - no others are stored
    return program


def forget_program(namespace: Namespace, name: str) -> None:
    """Let a program be run by its name no longer; the records of its runs stay.

    Raises:
        NotFoundError: there is none.
    """
    query = namespace.query("programs/forget-program", name=name)
    [row] = namespace.write(lambda transaction: transaction.run(query))
    if not row["forgotten"]:
        raise _not_found(namespace, name)


def _not_found(namespace: Namespace, name: str) -> NotFoundError:
    known = ", ".join(f"`{each.name}`" for each in list_programs(namespace)) or "none"
    return NotFoundError(f"no program `{name}` is stored in namespace `{namespace}`; there are: {known}")


def _needs(program: agentscript.Program) -> list[Problem]:
    """What a program would look for in its folder, which a stored one has not."""
    return [
        program.source.problem(
            f"a stored program stands alone, and `{each.uri}` is a file beside it; `memorygraph run FILE` finds it",
            "needs-files",
            each.span,
        )
        for each in program.statements
        if isinstance(each, agentscript.Import) and each.kind in {"file", "agent"}
    ]
