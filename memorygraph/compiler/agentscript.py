"""AgentScript: a program to the query that stores it under the name of its file."""

from __future__ import annotations

from memorygraph.compiler.identity import offered_program
from memorygraph.errors import ScriptError
from memorygraph.languages.agentscript.syntax import AgentScriptProgram, Import
from memorygraph.library import CYPHER
from memorygraph.query import Query


def compile_agentscript(program: AgentScriptProgram, namespace: str) -> list[Query]:
    """The query that stores a program; one that needs files beside it is refused."""
    source = program.source
    needed = [
        source.problem(
            f"a stored program stands alone, and `{each.uri}` is a file beside it; `memorygraph run FILE` finds it",
            "needs-files",
            each.span,
        )
        for each in program.statements
        if isinstance(each, Import) and each.kind in {"file", "agent"}
    ]
    if problems := [*program.problems, *needed]:
        raise ScriptError(problems)
    offered = offered_program(source, language=program.language, source=source.text)
    return [CYPHER["programs/store-program"](namespace=namespace, **offered)]
