"""What can go wrong with the machine under a server and its clients: a disk that fills, and a clock that is set."""

from __future__ import annotations

import os
import shlex
import shutil
import struct
import subprocess
from pathlib import Path

MEBIBYTE = 2**20


class SmallDisk:
    """A file system in memory, which can be full and have room again; only root may mount it."""

    BYTES = 1200 * MEBIBYTE  # at most: it takes as much memory as there is in its files

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def mount(self) -> bool:
        """Mount it, and return whether that was possible."""
        command = ["mount", "-t", "tmpfs", "-o", f"size={self.BYTES}", "tmpfs", str(self.folder)]
        return bool(shutil.which("mount")) and not subprocess.run(command, capture_output=True, check=False).returncode

    def unmount(self) -> None:
        subprocess.run(["umount", "-l", str(self.folder)], check=False)

    def fill(self, free: int) -> None:
        """Leave only so many bytes of room, in whole pages."""
        # It is refused if more has been written meanwhile.
        while not self._resize(shutil.disk_usage(self.folder).used + free):
            pass

    def make_room(self) -> None:
        assert self._resize(self.BYTES)

    def _resize(self, size: int) -> bool:
        command = ["mount", "-o", f"remount,size={size}", str(self.folder)]
        return not subprocess.run(command, capture_output=True, check=False).returncode


class WrongClock:
    """The clock of the processes that are started in its environment, or with its Java."""

    def __init__(self, folder: Path, name: str) -> None:
        self._library = folder / "clock.so"
        self._file = folder / f"{name}.clock"
        self.set(0)

    @property
    def can_be_made(self) -> bool:
        return bool(shutil.which("cc")) and os.uname().sysname == "Linux"

    def environment(self) -> dict[str, str]:
        """What a process needs in its environment to have this clock; nothing where none can be made."""
        if not self.can_be_made:
            return {}
        if not self._library.exists():
            source = Path(__file__).with_name("clock.c")
            subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", self._library, source], check=True)
        return {"LD_PRELOAD": str(self._library), "WRONG_CLOCK": str(self._file)}

    def java_home(self, java: Path) -> Path:
        """The folder of a Java that has this clock: a server is given little of the environment of its starter."""
        home = self._file.with_suffix(".java")
        program = home / "bin" / "java"
        if not program.exists():
            program.parent.mkdir(parents=True)
            shutil.copy(java.parents[1] / "release", home)
            command = ["env", *(f"{name}={value}" for name, value in self.environment().items()), str(java)]
            program.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
            program.chmod(0o700)
        return home

    def set(self, seconds: int) -> None:
        """Let it be wrong by so many seconds from now on."""
        if self._file.exists():
            with self._file.open("r+b") as file:  # the same file, which processes have mapped
                file.write(struct.pack("=q", seconds))
        else:
            self._file.write_bytes(struct.pack("=q", seconds))
