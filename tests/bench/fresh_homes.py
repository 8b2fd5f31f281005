"""How long the second start takes in fresh homes: quiet ones, ones with a busy machine, ones stopped at once.

Each home is empty but for the program files of the developer's home, and has its start cache made as a user's would be.
Its first minute is one of three:

- `quiet`: `up`, `load`, then nothing until the cache is there;
- `busy`: the same while two programs compute without end on each core;
- `at once`: `up`, `load`, and `down` right after.

Then come `down` and the second `up`, and with `--answers` the first `load` and the first `recall` after it, each a
process of its own; `--pause S` is how long a user thinks before that `load`. The load of the machine stands beside
each time: other work on it makes them longer.

    python -m tests.bench.fresh_homes [--quiet N] [--busy N] [--at-once N] [--answers] [--pause S]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from memorygraph.server.aot_cache import SWITCH
from memorygraph.server.embedded import EmbeddedServer

EXAMPLE = Path(__file__).parents[2] / "examples" / "apollo11.ctx"
GOAL_S = 4.0
PATIENCE_S = 1800


def environment_of(home: Path) -> dict[str, str]:
    """The environment of a command in a home: that of this process, without its server and the switch of the cache."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NEO4J_") and name != SWITCH}
    return {**kept, "MEMORYGRAPH_HOME": str(home)}


def memorygraph(home: Path, *arguments: str) -> float:
    """The seconds of a command in a home."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "memorygraph", *arguments],
        env=environment_of(home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - began


@contextlib.contextmanager
def fresh_home(artifacts: Path) -> Iterator[Path]:
    """An empty home with Neo4j's files; they are links, so that ten of them have room."""
    with tempfile.TemporaryDirectory(dir=artifacts.parent) as folder:
        home = Path(folder).resolve()
        own = home / artifacts.name
        own.mkdir()
        for file in artifacts.glob("*.jar"):
            (own / file.name).hardlink_to(file)
        try:
            yield home
        finally:
            EmbeddedServer(home).down()


@contextlib.contextmanager
def busy_machine() -> Iterator[None]:
    """Two programs for each core that compute until this one ends, however it does."""
    endless = [sys.executable, "-c", "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"]
    busy = [subprocess.Popen(endless, start_new_session=True) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def await_cache(home: Path) -> None:
    """Wait until the background has made the cache, however long that takes."""
    cache = EmbeddedServer(home).start_cache()
    assert cache
    until = time.monotonic() + PATIENCE_S
    while not cache.exists() and time.monotonic() < until:
        time.sleep(1)


def live_first_minute(home: Path, kind: str) -> tuple[float, float]:
    """The seconds of the first start, and of the `down` that ends the first minute."""
    with busy_machine() if kind == "busy" else contextlib.nullcontext():
        first = memorygraph(home, "up")
        memorygraph(home, "load", str(EXAMPLE))
        if kind != "at once":
            await_cache(home)
        return first, memorygraph(home, "down")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for kind, count in (("quiet", 3), ("busy", 4), ("at-once", 3)):
        parser.add_argument(f"--{kind}", type=int, default=count)
    parser.add_argument("--answers", action="store_true")
    parser.add_argument("--pause", type=float, default=0.0)
    given = parser.parse_args()
    kinds = ["quiet"] * given.quiet + ["busy"] * given.busy + ["at once"] * given.at_once
    artifacts = EmbeddedServer().artifacts
    quick = 0
    for number, kind in enumerate(kinds, start=1):
        with fresh_home(artifacts) as home:
            first, down = live_first_minute(home, kind)
            load = os.getloadavg()[0]
            second = memorygraph(home, "up")
            quick += second <= GOAL_S
            exists, where = EmbeddedServer(home).describe_start_cache()
            said = f"{number:2} {kind:7} first up {first:5.1f} s, down {down:5.1f} s, second up {second:5.1f} s"
            if given.answers:
                time.sleep(given.pause)
                said += f", load {memorygraph(home, 'load', str(EXAMPLE)):4.1f} s"
                said += f", recall {memorygraph(home, 'recall', 'Who led the flight software?'):4.1f} s"
            print(f"{said}; load of the machine {load:.1f}; cache {'there' if exists else where}", flush=True)
    print(f"{quick} of {len(kinds)} second starts within {GOAL_S:.0f} s")


if __name__ == "__main__":
    main()
