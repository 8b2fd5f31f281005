"""How a command that failed says so: on stderr for people, and with --json as one document too.

The group imports this only when something has failed, so that `--help` stays quick.
"""

from __future__ import annotations

from typing import Any

from memorygraph.cli.output import print_json, say
from memorygraph.errors import MemoryGraphError, ProgramError, ScriptError


def print_error(error: MemoryGraphError, *, as_json: bool) -> None:
    """An error on stderr, and for --json as one document on stdout too."""
    say(str(error) if isinstance(error, ScriptError) else f"memorygraph: {error}")
    if isinstance(error, ScriptError):
        say(_outcome(error))
    if as_json:
        print_json({"errors": error_records(error)})


def _outcome(error: ScriptError) -> str:
    """What an error in a script has left behind."""
    if isinstance(error, ProgramError):
        return "the run stopped there; what it had done by then stays"
    count = len(error.problems)
    kept = error.stored_statements
    return f"{count} error{'s' if count != 1 else ''}; " + (_kept(kept) if kept else "nothing was changed")


def _kept(statements: int) -> str:
    return (
        f"the batches up to statement {statements} are stored, and nothing after them; "
        "mend the rest and run the same command to go on from there"
    )


def error_records(error: MemoryGraphError) -> list[dict[str, Any]]:
    """An error as the list that `--json` prints under `errors`."""
    if isinstance(error, ScriptError):
        return [problem.as_dict() for problem in error.problems]
    code = type(error).__name__.removesuffix("Error").lower()
    return [{"file": None, "line": None, "column": None, "message": str(error), "code": code}]
