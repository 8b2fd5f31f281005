"""The processes that tools start."""

import time

import psutil


def has_ended(process: int) -> bool:
    """Whether a process ends within ten seconds. One that has ended is a zombie until its parent asks for it."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if psutil.Process(process).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False
