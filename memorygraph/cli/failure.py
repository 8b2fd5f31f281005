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
        say(say_what_stays(error))
    if as_json:
        print_json({"errors": error_records(error)})


def say_what_stays(error: ScriptError) -> str:
    """Say what of a script was done before its error."""
    if isinstance(error, ProgramError):
        return "the run stopped there; what it had done by then stays"
    count = len(error.problems)
    stays = "nothing was changed"
    if error.stored_statements:
        stays = (
            f"the batches up to statement {error.stored_statements} are stored, and nothing after them; "
            "mend the rest and run the same command to go on from there"
        )
    return f"{count} error{'s' if count != 1 else ''}; {stays}"


def error_records(error: MemoryGraphError) -> list[dict[str, Any]]:
    """An error as the list that `--json` prints under `errors`."""
    if isinstance(error, ScriptError):
        return [problem.as_dict() for problem in error.problems]
    code = type(error).__name__.removesuffix("Error").lower()
    return [{"file": None, "line": None, "column": None, "message": str(error), "code": code}]
