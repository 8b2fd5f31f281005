"""What a killed process has left of a file is removed, and what another process is still writing is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memorygraph.drafts import clear_drafts, lock_draft
from memorygraph.home import write_private
from memorygraph.messages.spool import Spool
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.tools.file import DRAFT, FileTool
from memorygraph.server.archive import new_file

WRITER = """
import sys, time
from memorygraph.drafts import lock_draft
with open(sys.argv[1], "xb") as file:
    lock_draft(file.fileno())
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    time.sleep(600)
"""

KILLED = """
import os, sys
from pathlib import Path
from memorygraph.home import write_private
os.fsync = lambda descriptor: os._exit(9)
write_private(Path(sys.argv[1]), "half")
"""


def leave(path: Path, content: bytes = b"half") -> Path:
    """Leave a file as a process does that was killed a while ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (0, 0))
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="there a file that is open cannot be removed")
def test_a_draft_goes_when_its_process_is_gone(tmp_path: Path) -> None:
    draft = tmp_path / ".a.part"
    with subprocess.Popen([sys.executable, "-c", WRITER, str(draft)], stdout=subprocess.PIPE, text=True) as writer:
        try:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "writing\n"
            os.utime(draft, (0, 0))  # it waits for its disk
            clear_drafts([draft])
            assert draft.exists()
        finally:
            writer.kill()
    clear_drafts([draft, tmp_path / "gone.part"])
    assert not draft.exists()


def test_a_draft_that_was_written_lately_stays(tmp_path: Path) -> None:
    """It may be closed, and take its name just now."""
    draft = tmp_path / ".a.part"
    draft.write_bytes(b"whole")
    clear_drafts([draft])
    assert draft.exists()


def test_what_is_no_file_is_no_draft(tmp_path: Path) -> None:
    kept = leave(tmp_path / "kept")
    link = tmp_path / ".a.part"
    link.symlink_to(kept)
    os.utime(link, (0, 0), follow_symlinks=False)
    os.mkfifo(tmp_path / ".b.part")
    os.utime(tmp_path / ".b.part", (0, 0))
    clear_drafts(tmp_path.glob(".*.part"))
    assert len(list(tmp_path.iterdir())) == 3


def test_a_backup_of_any_name_clears_what_killed_ones_of_its_home_have_left(tmp_path: Path) -> None:
    leave(tmp_path / ".monday.mark.part")
    foreign = leave(tmp_path / ".monday.other.part")
    with new_file(tmp_path / "tuesday", "mark", overwrite=False) as file:
        file.write(b"whole")
    assert set(tmp_path.iterdir()) == {tmp_path / "tuesday", foreign}


def test_a_backup_leaves_the_draft_that_a_server_of_another_machine_writes(tmp_path: Path) -> None:
    """In containers all homes have one path."""
    with leave(tmp_path / ".monday.mark.part").open("r+b") as other:
        lock_draft(other.fileno())
        with new_file(tmp_path / "tuesday", "mark", overwrite=False) as file:
            file.write(b"whole")
        assert (tmp_path / ".monday.mark.part").exists()


def test_a_tool_that_writes_clears_what_killed_runs_have_left(tmp_path: Path) -> None:
    leave(tmp_path / "a" / DRAFT.format("0" * 32))
    own = leave(tmp_path / "a" / ".movie.part")
    FileTool("files", "file://.", tmp_path, Permissions()).write("a/b.txt", "text")
    assert set((tmp_path / "a").iterdir()) == {tmp_path / "a" / "b.txt", own}


def test_a_recorder_clears_what_killed_ones_have_left(tmp_path: Path) -> None:
    spool = Spool("talk", tmp_path)
    leave(spool.folder / "00000000000000000001-a.part")
    added = spool.add({"id": "call"})
    assert list(spool.folder.iterdir()) == [added]


def test_a_private_file_of_any_name_clears_what_killed_processes_have_left(tmp_path: Path) -> None:
    assert subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "password")], check=False).returncode == 9
    [left] = tmp_path.iterdir()
    os.utime(left, (0, 0))
    write_private(tmp_path / "page", "whole")
    assert list(tmp_path.iterdir()) == [tmp_path / "page"]
