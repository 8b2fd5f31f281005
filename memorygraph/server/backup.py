"""Backup and restore of the embedded server's graph: all namespaces, with messages, history and schema.

Both work on a stopped server, because Neo4j Community dumps no running one; it is started again whatever happens. Only
the copy is at risk: an archive takes its name when it is complete, and a restored graph replaces the former one when
Neo4j has started with it. The password and users made inside Neo4j belong to the home, and are in no archive.
"""

from __future__ import annotations

import hashlib
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from memorygraph.errors import ConnectionError
from memorygraph.home import expand_user
from memorygraph.server.admin_tool import DATABASE, AdminTool, NotClosedError, Steps
from memorygraph.server.archive import (
    BackupError,
    Manifest,
    new_file,
    open_archive,
    refuse_existing,
    refuse_unwritable,
    write_archive,
)
from memorygraph.server.artifacts import DownloadProgress, read_lock
from memorygraph.server.compacting import copy_graph, needs_compacting
from memorygraph.server.embedded import EmbeddedServer, StoppedServer
from memorygraph.server.launch import Launch
from memorygraph.server.process import free_ports
from memorygraph.server.server_home import ServerHome, Workspace, work_to_the_end
from memorygraph.server.settings import Endpoints


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
    """For callers without a progress display."""

    def begin(self, title: str) -> None: ...

    def reach(self, share: float) -> None: ...


def holds_graph(server: EmbeddedServer) -> bool:
    """Tell whether there is a graph, even an empty one, in the home of a server."""
    with ServerHome(server.home).accessed():
        former = Workspace(server.home).former_data
        return any((data / "databases" / DATABASE).exists() for data in (server.home / "data", former))


def backup(
    server: EmbeddedServer, path: str | Path, *, overwrite: bool = False, steps: Steps | None = None
) -> BackupReport:
    """Write the graph of a server into one file; the server is stopped meanwhile."""
    began, path, steps = time.monotonic(), expand_user(path).absolute(), steps or _NoSteps()
    refuse_existing(path, overwrite=overwrite)
    if not holds_graph(server):
        raise BackupError(f"there is no graph in {server.home}: nothing to back up")
    refuse_unwritable(path)
    manifest = None
    try:
        steps.begin("stopping Neo4j, if it runs")
        with server.kept_stopped() as stopped:
            manifest = write_backup(server, stopped, path, steps, overwrite=overwrite)
            if stopped.ran:
                steps.begin("starting Neo4j again")
    except ConnectionError as error:
        if manifest is None:
            raise
        raise ConnectionError(f"the backup {path} is complete, but Neo4j is not back: {error}") from error
    return describe_backup(server, path, manifest, began)


def restore(
    server: EmbeddedServer,
    path: str | Path,
    *,
    overwrite: bool = False,
    steps: Steps | None = None,
    download: DownloadProgress | None = None,
) -> BackupReport:
    """Load the graph of a backup into the home of a server, and start the server with it.

    The former graph, which only `overwrite` allows to replace, is kept until Neo4j runs with the new one: a
    restore that fails or is killed leaves it. `download` is told of the download of Neo4j, if it is needed.
    """
    began, path, steps = time.monotonic(), expand_user(path).absolute(), steps or _NoSteps()
    with open_archive(path) as (manifest, archive):
        refuse_to_replace(server, overwrite=overwrite)
        steps.begin("reading the backup")
        archive.verify(manifest, steps.reach)
        steps.begin("stopping Neo4j, if it runs")
        with server.kept_stopped(download) as stopped:
            refuse_to_replace(server, overwrite=overwrite)
            workspace = Workspace(server.home)
            with workspace.used():
                tool = AdminTool(stopped.java, stopped.class_path, server.home, workspace.folder)
                data = f"{workspace.folder.name}/{workspace.new_data.name}"
                steps.begin("loading the graph")
                with archive.dump() as dump:
                    tool.load(dump, data, steps)
                steps.begin("checking the graph")
                tool.check(data, steps)
                steps.begin("starting Neo4j")
                _start_with_new_data(stopped, workspace)
    return describe_backup(server, path, manifest, began)


def write_backup(
    server: EmbeddedServer, stopped: StoppedServer, path: Path, steps: Steps, *, overwrite: bool
) -> Manifest:
    """Check the graph, and write its archive."""
    created_at = datetime.now(UTC).isoformat(timespec="seconds")
    # It stands for the home, whose lock lets one backup be made at a time.
    mark = hashlib.sha256(bytes(server.home)).hexdigest()[:8]
    workspace = Workspace(server.home)
    with workspace.used():
        try:
            tool = check_graph(server, stopped, workspace, steps)
        except NotClosedError:
            steps.begin("starting Neo4j once, because it was not stopped cleanly")
            stopped.start()
            stopped.stop()
            workspace.begin()
            tool = check_graph(server, stopped, workspace, steps)
        if needs_compacting(server.home / "data"):
            tool = compact_graph(server, stopped, workspace, steps)
        steps.begin("writing the backup")
        with new_file(path, mark, overwrite=overwrite) as file:
            return write_archive(file, lambda target: tool.dump(target, steps), created_at)


class CopyingServer(EmbeddedServer):
    """A server that runs while a graph is copied, and has no clients."""

    def _prepare(self, progress: DownloadProgress | None) -> Launch:
        return replace(super()._prepare(progress), has_clients=False)


def compact_graph(server: EmbeddedServer, stopped: StoppedServer, workspace: Workspace, steps: Steps) -> AdminTool:
    """Copy a graph of which something was forgotten into a new store, and return the tool for that.

    The servers of both are homes of their own, so that nobody else can write what would be half in the copy.
    """
    steps.begin("copying the graph, because something was forgotten: the files still hold it")
    workspace.make_source_home(server.password())
    source, copy = (CopyingServer(home, server.artifacts) for home in (workspace.source_home, workspace.copy_home))
    with ExitStack() as running:
        for each in (source, copy):
            # At the usual ports a client that was told these would find a server that refuses it, or that it writes to.
            ServerHome(each.home).configure(Endpoints(*free_ports(), read_lock().version))
            running.callback(each.down)
            each.up()
        copy_graph(source, copy)
    tool = AdminTool(stopped.java, stopped.class_path, copy.home, workspace.folder)
    steps.begin("checking the copy")
    tool.check("data", steps)
    return tool


def check_graph(server: EmbeddedServer, stopped: StoppedServer, workspace: Workspace, steps: Steps) -> AdminTool:
    """Check that the graph is consistent, and return the tool that did."""
    tool = AdminTool(stopped.java, stopped.class_path, server.home, workspace.folder)
    steps.begin("checking the graph")
    tool.check("data", steps)
    return tool


def _start_with_new_data(stopped: StoppedServer, workspace: Workspace) -> None:
    try:
        workspace.swap()
        stopped.start()
    except BaseException as error:
        # A start that was interrupted after it succeeded has cleared the workspace.
        if workspace.folder.exists():
            try:
                stopped.stop_wholly()
            finally:
                work_to_the_end(workspace.swap_back)
            if isinstance(error, ConnectionError):
                said = "the restore was taken back, and the home holds what it held before"
                raise ConnectionError(f"{said}: {error}") from error
        raise


def refuse_to_replace(server: EmbeddedServer, *, overwrite: bool) -> None:
    """Raise a BackupError where a restore would replace a link to a graph, or a graph and is not allowed to."""
    with ServerHome(server.home).accessed():
        places = (server.home / "data", Workspace(server.home).former_data)
        link = next((data for data in places if data.is_symlink()), None)
    if link:  # the new graph would take the place of the link, on the disk of the home
        raise BackupError(
            f"{link} is a link to {link.readlink()}, and a restore would put a folder in its place: restore into "
            "an empty home with MEMORYGRAPH_HOME, then move its data to where the link leads. Nothing was changed."
        )
    if holds_graph(server) and not overwrite:
        raise BackupError(
            f"{server.home} holds a graph already: replace it with --force, or name an empty folder with "
            "MEMORYGRAPH_HOME. Nothing was changed."
        )


def describe_backup(server: EmbeddedServer, path: Path, manifest: Manifest, began: float) -> BackupReport:
    """Describe a backup that began at this moment and is now complete or restored."""
    return BackupReport(
        file=str(path),
        home=str(server.home),
        neo4j=manifest.neo4j,
        memorygraph=manifest.memorygraph,
        created_at=manifest.created_at,
        bytes=path.stat().st_size,
        sha256=manifest.dump_sha256,
        elapsed_s=round(time.monotonic() - began, 3),
    )
