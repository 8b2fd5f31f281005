"""The stored runs of a namespace, of whatever language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memorygraph.errors import NotFoundError
from memorygraph.graph.elements import as_text
from memorygraph.graph.namespace import Namespace
from memorygraph.json_text import UnreadableRecord, parse_stored_json
from memorygraph.languages import LANGUAGES
from memorygraph.runtime.runs import LAST, RunInfo, StoredRun


def list_runs(namespace: Namespace, limit: int) -> list[RunInfo]:
    """The latest runs of a namespace, the newest first."""
    return [RunInfo(**describe_run(row)) for row in namespace.read("runs/runs", limit=limit)]


def find_stored_run(namespace: Namespace, id_: str) -> StoredRun:
    """Find a run by its id, or the `last` one, with all that is known of it.

    Raises:
        NotFoundError: there is no run of this id.
    """
    if id_ == LAST:
        id_ = next((run.id for run in list_runs(namespace, 1)), id_)
    rows = namespace.read("runs/run", id=id_)
    if not rows:
        runs = f"`memorygraph{namespace.option} runs list` shows them"
        raise NotFoundError(f"no run `{id_}` in namespace `{namespace}`; {runs}")
    [row] = rows
    run = row["run"]
    details = LANGUAGES[row["language"]].read_run(namespace, id_)
    return StoredRun(
        **describe_run(row),
        input=read_value(run.get("input"), run.get("input_json")),
        value=read_value(run.get("value"), run.get("value_json")),
        error=run.get("error"),
        model=run.get("model"),
        summary=run.get("summary"),
        steps=details.steps,
        trace=details.trace,
        transcript=details.transcript,
    )


def describe_run(row: dict[str, Any]) -> dict[str, Any]:
    """What every run is described by."""
    run = row["run"]
    names = (Path(run.get("file") or "").stem, (run.get("program_hash") or "")[:8], run.get("agent"))
    return {
        "id": run["id"],
        "language": row["language"],
        "program": next(filter(None, names), ""),
        "status": as_text(run.get("status")),
        "at": as_text(row["at"]),
        "ended_at": row["ended_at"],
        "conversation": row["conversation"],
    }


def read_value(stored: Any, is_json: bool | None) -> Any:  # noqa: FBT001 - it is a stored property
    """A value as the run had it. Earlier releases did not say whether a text is JSON: objects and lists were."""
    if not isinstance(stored, str) or is_json is False or (is_json is None and stored[:1] not in {"{", "["}):
        return stored
    try:
        return parse_stored_json(stored)
    except UnreadableRecord:
        return stored
