"""Backup and restore of the embedded server's graph: all namespaces, with messages, history and schema.

Both work on a stopped server, because Neo4j Community writes no dump of a running one; nobody can start it meanwhile,
and it is started again whatever happens. What is put at risk is always the copy: an archive takes its name when it is
complete and the graph was found consistent, and a restored graph takes the place of the former one when it was, and
lets go of that when Neo4j has come up with it. The password belongs to the home and not to the graph: it is in no
archive. Neither are users that somebody made inside Neo4j.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memorygraph.errors import ConnectionError
from memorygraph.server.admin_tool import DATABASE, AdminTool, NotClosedError, Steps
from memorygraph.server.archive import BackupError, new_file, open_archive, refuse_existing, write_archive
from memorygraph.server.workspace import StoppedServer, Workspace

if TYPE_CHECKING:
    from memorygraph.server.archive import Archive, Manifest
    from memorygraph.server.artifacts import DownloadProgress
    from memorygraph.server.embedded import EmbeddedServer


@dataclass(frozen=True)
class BackupReport:
    """What was backed up or restored."""

    file: str
    home: str
    neo4j: str
    memorygraph: str
    created_at: str
    bytes: int
    sha256: str
    elapsed_s: float


class _NoSteps:
    """For those who do not want to know how far it is."""

    def begin(self, title: str) -> None:
        """A step begins."""

    def reach(self, share: float) -> None:
        """So much of it is done."""


def holds_graph(server: EmbeddedServer) -> bool:
    """Say whether there is a graph in the home of a server, be it an empty one."""
    former = Workspace(server.home).former_data
    return any((data / "databases" / DATABASE).exists() for data in (server.home / "data", former))


def backup(
    server: EmbeddedServer, path: str | Path, *, overwrite: bool = False, steps: Steps | None = None
) -> BackupReport:
    """Write the graph of a server into one file; the server is stopped meanwhile.

    Raises:
        BackupError: there is no graph, or the file is there already or cannot be written.
        ConnectionError: Neo4j found the graph damaged, or cannot be stopped or started again.
    """
    began, path, steps = time.monotonic(), Path(path).expanduser().absolute(), steps or _NoSteps()
    refuse_existing(path, overwrite=overwrite)
    if not holds_graph(server):
        raise BackupError(f"there is no graph in {server.home}: nothing to back up")
    manifest = None
    try:
        steps.begin("stopping Neo4j, if it runs")
        with server.kept_stopped() as stopped:
            manifest = _write(server, stopped, path, steps, overwrite=overwrite)
            if stopped.ran:
                steps.begin("starting Neo4j again")
    except ConnectionError as error:
        if manifest is None:
            raise
        raise ConnectionError(f"the backup {path} is complete, but Neo4j is not back: {error}") from error
    return _report(server, path, manifest, began)


def restore(
    server: EmbeddedServer,
    path: str | Path,
    *,
    overwrite: bool = False,
    steps: Steps | None = None,
    download: DownloadProgress | None = None,
) -> BackupReport:
    """Have the graph of a backup in the home of a server, and the server running with it.

    The former graph, which only `overwrite` allows to replace, is kept until the new one has come up; a restore that
    fails or is killed leaves it. `download` is told of the download of Neo4j, where it is not there yet.

    Raises:
        NotFoundError: there is no such file.
        BackupError: it is no backup, is damaged or of another version, or the home holds a graph.
        ConnectionError: Neo4j cannot load it, or be started with it.
    """
    began, path, steps = time.monotonic(), Path(path).expanduser().absolute(), steps or _NoSteps()
    with open_archive(path) as (manifest, archive):
        _refuse_to_replace(server, overwrite=overwrite)
        steps.begin("reading the backup")
        archive.verify(manifest, steps.reach)
        steps.begin("stopping Neo4j, if it runs")
        with server.kept_stopped(download) as stopped:
            _refuse_to_replace(server, overwrite=overwrite)
            workspace = Workspace(server.home)
            with workspace.used():
                _load(_tool(server, stopped, workspace), archive, workspace, steps)
                steps.begin("starting Neo4j")
                _start_with_new_data(stopped, workspace)
    return _report(server, path, manifest, began)


def _write(server: EmbeddedServer, stopped: StoppedServer, path: Path, steps: Steps, *, overwrite: bool) -> Manifest:
    created_at = datetime.now(UTC).isoformat(timespec="seconds")
    # It stands for the home, whose lock lets one backup be made at a time.
    mark = hashlib.sha256(bytes(server.home)).hexdigest()[:8]
    workspace = Workspace(server.home)
    with workspace.used():
        tool = _tool_for_closed_graph(server, stopped, workspace, steps)
        steps.begin("writing the backup")
        with new_file(path, mark, overwrite=overwrite) as file:
            return write_archive(file, lambda target: tool.dump(target, steps), created_at)


def _tool_for_closed_graph(
    server: EmbeddedServer, stopped: StoppedServer, workspace: Workspace, steps: Steps
) -> AdminTool:
    """The tool, after it has found the graph consistent."""
    tool = _tool(server, stopped, workspace)
    try:
        steps.begin("checking the graph")
        tool.check("data", steps)
    except NotClosedError:
        steps.begin("starting Neo4j once, because it was not stopped cleanly")
        stopped.start()
        stopped.stop()
        workspace.begin()
        tool = _tool(server, stopped, workspace)
        steps.begin("checking the graph")
        tool.check("data", steps)
    return tool


def _load(tool: AdminTool, archive: Archive, workspace: Workspace, steps: Steps) -> None:
    data = f"{workspace.folder.name}/{workspace.new_data.name}"
    steps.begin("loading the graph")
    with archive.dump() as dump:
        tool.load(dump, data, steps)
    steps.begin("checking the graph")
    tool.check(data, steps)


def _start_with_new_data(stopped: StoppedServer, workspace: Workspace) -> None:
    workspace.swap()
    try:
        stopped.start()
    except BaseException:
        # A start that was interrupted after all was well has cleared the workspace.
        if workspace.folder.exists():
            stopped.stop()
            workspace.swap_back()
        raise


def _refuse_to_replace(server: EmbeddedServer, *, overwrite: bool) -> None:
    if holds_graph(server) and not overwrite:
        raise BackupError(
            f"{server.home} holds a graph already: replace it with --force, or name an empty folder with "
            "MEMORYGRAPH_HOME. Nothing was changed."
        )


def _tool(server: EmbeddedServer, stopped: StoppedServer, workspace: Workspace) -> AdminTool:
    return AdminTool(stopped.java, stopped.class_path, server.home, workspace.folder)


def _report(server: EmbeddedServer, path: Path, manifest: Manifest, began: float) -> BackupReport:
    return BackupReport(
        str(path),
        str(server.home),
        manifest.neo4j,
        manifest.memorygraph,
        manifest.created_at,
        path.stat().st_size,
        manifest.dump_sha256,
        round(time.monotonic() - began, 3),
    )
