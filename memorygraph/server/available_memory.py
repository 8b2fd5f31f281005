"""How much memory this machine has to spare, or this container, where that has a limit of its own."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

CGROUPS = Path("/sys/fs/cgroup")
"""Where Linux says what a container may have."""

# The limit of memory, what is used of it, and what of that are files that give way, in version 2 and 1 of cgroups.
MEMORY_FILES = (
    ("memory.max", "memory.current", "memory.stat", "inactive_file"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"),
)


@dataclass(frozen=True, slots=True)
class AvailableMemory:
    """The bytes that are available, of how many, and whether the limit is that of a container."""

    available: int
    total: int
    in_container: bool

    @property
    def place(self) -> str:
        """Where the limit is, to be said after the figures; empty for the machine itself."""
        return " in this container" if self.in_container else ""


def find_available_memory() -> AvailableMemory:
    """Find the memory that is available here: the machine may have more than its container."""
    machine = psutil.virtual_memory()
    limited = find_container_memory(CGROUPS)
    if limited and limited[1] < machine.total:
        return AvailableMemory(min(machine.available, limited[0]), limited[1], in_container=True)
    return AvailableMemory(machine.available, machine.total, in_container=False)


def find_container_memory(folder: Path) -> tuple[int, int] | None:
    """Find the bytes that are available to this container, and how many it may have; None without a limit."""
    for limit_file, used_file, stat_file, inactive in MEMORY_FILES:
        with suppress(OSError, ValueError):  # there is no such file, or it says `max`
            limit, used = (int((folder / name).read_text("ascii")) for name in (limit_file, used_file))
            figures = dict(line.split(" ") for line in (folder / stat_file).read_text("ascii").splitlines())
            return max(0, limit - used + int(figures.get(inactive, 0))), limit
    return None
