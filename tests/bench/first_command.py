"""From nothing to a graph: how long the README's first command takes, in a fresh clone and an empty home.

What it does takes its turns: an environment of Python and the package in it, the load, which downloads Neo4j and starts
it, and the question. With `--busy` it is done once more while two programs compute without end on each core. What pip
and Neo4j's files take on the way is the network's, and is in the figures.

    python -m tests.bench.first_command [--rounds N] [--busy N]
"""

from __future__ import annotations

import argparse
import contextlib
import re
import subprocess
import tempfile
import time
from pathlib import Path

from tests.bench.fresh_homes import busy_machine, environment_of

REPOSITORY = Path(__file__).parents[2]
FIRST_BLOCK = re.compile(r"```bash\n(.*?)```", re.DOTALL)


def first_command(readme: str) -> list[str]:
    """The steps of the first command that a README has.

    >>> first_command('''```bash
    ... make && \\
    ...   run it
    ... ```''')
    ['make', 'run it']
    """
    found = FIRST_BLOCK.search(readme)
    assert found
    return [" ".join(step.replace("\\\n", " ").split()) for step in found[1].split("&&")]


def measure(kind: str) -> None:
    """Take the steps of the command in a clone of their own, and print how long each and all of them took."""
    with tempfile.TemporaryDirectory() as folder:
        clone, home = Path(folder, "clone"), Path(folder, "home")
        home.mkdir()
        subprocess.run(["git", "clone", "--quiet", str(REPOSITORY), str(clone)], check=True)
        environment = environment_of(home / "memorygraph") | {"HOME": str(home)}
        taken = []
        try:
            with busy_machine() if kind == "busy" else contextlib.nullcontext():
                for step in first_command((clone / "README.md").read_text("utf-8")):
                    began = time.perf_counter()
                    subprocess.run(["bash", "-c", step], cwd=clone, env=environment, check=True, capture_output=True)
                    taken.append((step, time.perf_counter() - began))
        finally:
            down = [str(clone / ".venv" / "bin" / "memorygraph"), "down"]
            subprocess.run(down, cwd=clone, env=environment, check=False, capture_output=True)
    print(f"{kind:5} {sum(seconds for _, seconds in taken):5.1f} s", flush=True)
    for step, seconds in taken:
        print(f"      {seconds:5.1f} s  {step}", flush=True)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--busy", type=int, default=1)
    options = parser.parse_args()
    for kind in [*["quiet"] * options.rounds, *["busy"] * options.busy]:
        measure(kind)


if __name__ == "__main__":
    main()
