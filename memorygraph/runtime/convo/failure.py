"""Why a run of a graph failed."""

from __future__ import annotations

from memorygraph.errors import MemoryGraphError, ScriptError


class GraphFailure(MemoryGraphError):  # noqa: N818 - it says what failed
    """A graph cannot go on. `code` says why, and stays the same where the words change.

    `missing-target`: a route leads to a node that does not exist. `no-goto`: no `goto` says where to begin.
    `max-steps`: the graph took all the steps that it may. `unknown-tool`, `tool`: the model called a function that it
    was not offered, or the function failed. `json-output`: the reply does not have the wanted type. `routing`: the
    model chose a node that is not a candidate. `listener`: a listener raised. `stopped`: the caller stopped the run.
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class FunctionFailure(ScriptError):  # noqa: N818 - it says what failed
    """A function that a step called cannot be executed; the problems say where."""

    code = "tool"


def code_of(error: Exception) -> str:
    """The code of any error: its own, or `model`, `script` or `error` by its kind."""
    known = getattr(error, "code", None)
    if isinstance(known, str):
        return known
    return {"ModelError": "model", "ScriptError": "script"}.get(type(error).__name__, "error")
