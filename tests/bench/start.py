"""How long the embedded server takes to start, with and without its start cache, and how long the program takes.

Starts are measured in pairs, in turn, in a home of their own with the program files of the developer's home. The
seconds of the processor stand beside those of the clock, because other work on the machine moves them less. The
cache is made first where there is none, as the background would make it.

    python tests/bench/start.py [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from memorygraph.server import aot_training
from memorygraph.server import process as server_process
from memorygraph.server.aot_cache import SWITCH, AotCache, aot_folder
from memorygraph.server.embedded import EmbeddedServer
from memorygraph.server.installation import install
from memorygraph.server.java import java_executable

PROGRAM = [sys.executable, "-c", "from memorygraph.cli import main; main()"]


def start(home: Path, artifacts: Path, *, cached: bool) -> tuple[float, float]:
    """The seconds of a start, by the clock and of the JVM's processor; the server is stopped again."""
    os.environ[SWITCH] = "on" if cached else "off"
    server = EmbeddedServer(home, artifacts)
    began = time.perf_counter()
    server.up()
    took = time.perf_counter() - began
    process = server_process.find_server(server.home)
    assert process
    used = process.cpu_times()
    server.down()
    return took, used.user + used.system


def command(*arguments: str) -> float:
    """The seconds of a program that runs to its end."""
    began = time.perf_counter()
    subprocess.run(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def have_cache(artifacts: Path) -> None:
    """Make the cache where there is none."""
    java, class_path = java_executable(), install(artifacts)
    if AotCache.of(java, artifacts, class_path).find() is None:
        began = time.perf_counter()
        aot_training.make_where_missing(java, artifacts, 0, aot_folder(artifacts))
        print(f"the cache was made in {time.perf_counter() - began:.0f} s, with low priority")


def starts(artifacts: Path, rounds: int) -> None:
    """First and later starts, with and without the cache, in turn."""
    taken: dict[tuple[str, bool], list[tuple[float, float]]] = {}
    for _ in range(rounds):
        for cached in (False, True):
            with tempfile.TemporaryDirectory() as home:
                for which in ("first", "later"):
                    taken.setdefault((which, cached), []).append(start(Path(home), artifacts, cached=cached))
    for which in ("first", "later"):
        medians = {
            cached: [statistics.median(column) for column in zip(*taken[which, cached], strict=True)]
            for cached in (False, True)
        }
        ratios = [slow[1] / quick[1] for slow, quick in zip(taken[which, False], taken[which, True], strict=True)]
        for cached in (False, True):
            clock, processor = medians[cached]
            print(
                f"{which} start, {'with' if cached else 'no  '} cache: {clock:5.1f} s, {processor:4.1f} s of processor"
            )
        print(f"  without / with, by the processor: {statistics.median(ratios):.1f}")


def commands(artifacts: Path, rounds: int) -> None:
    """The commands that a user waits for, beside a bare Python."""
    bare = [command(sys.executable, "-c", "pass") for _ in range(rounds)]
    helped = [command(*PROGRAM, "--help") for _ in range(rounds)]
    with tempfile.TemporaryDirectory() as home:
        server = EmbeddedServer(Path(home), artifacts)
        server.up()
        os.environ["MEMORYGRAPH_HOME"] = home
        again = [command(*PROGRAM, "up") for _ in range(rounds)]
        server.down()
    python = statistics.median(bare)
    for name, seconds in (("memorygraph --help", helped), ("memorygraph up, running already", again)):
        print(f"{name}: {statistics.median(seconds):.2f} s, {statistics.median(seconds) / python:.1f} bare Pythons")
    print(f"a bare Python: {python * 1000:.0f} ms")


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=3)
    rounds = arguments.parse_args().rounds
    artifacts = EmbeddedServer().artifacts
    have_cache(artifacts)
    starts(artifacts, rounds)
    commands(artifacts, max(5, rounds))


if __name__ == "__main__":
    main()
