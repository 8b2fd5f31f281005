"""The strict build of the site, by mkdocs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def build(folder: Path = ROOT / "build" / "site") -> str:
    """Build the site into a folder.

    Returns:
        What mkdocs says of it where it is wrong, such as that a link is broken; nothing where all is well.
    """
    # `--quiet` would make it blind to its own warnings.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "true"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return built.stdout + built.stderr if built.returncode else ""
