"""The original implementation, bundled from a checkout of it, in a process of Node that answers one request a line."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

FOLDER_VARIABLE = "CONVO_LANG_DIR"
ENTRY = Path("packages", "convo-lang", "src", "index.ts")
DRIVER = Path(__file__).with_name("original.mjs")
# What the sources of the original import, in the versions that its package.json asks for at 0.9.7.
PACKAGES = ("@iyio/common", "@iyio/json5", "@iyio/vfs", "date-fns@4", "rxjs@7", "zod@3", "esbuild@0.28")
BANNER = "import{createRequire}from'node:module';const require=createRequire(import.meta.url);"


def find_missing() -> str:
    """What the comparison needs and this machine lacks; empty where nothing is missing."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return f"{FOLDER_VARIABLE} names no folder with a checkout of convo-lang/convo-lang"
    if find_entry(Path(folder)) is None:
        return f"no folder in {FOLDER_VARIABLE} ({folder}) holds {ENTRY}"
    return next((f"there is no `{name}` on the PATH" for name in ("node", "npm") if not shutil.which(name)), "")


def find_entry(folder: Path) -> Path | None:
    """The entry of the newest original in a folder, or in a folder right below it."""
    entries = [entry for entry in (folder / ENTRY, *sorted(folder.glob(f"*/{ENTRY}"))) if entry.is_file()]
    return max(entries, key=read_version, default=None)


def read_version(entry: Path) -> tuple[int, ...]:
    """The version of the package that an entry belongs to."""
    package = json.loads(entry.parents[1].joinpath("package.json").read_text("utf-8"))
    return tuple(map(int, re.findall(r"\d+", package["version"])))


def bundle(folder: Path, into: Path) -> Path:
    """Bundle the original with its packages into one file."""
    entry = find_entry(folder)
    assert entry is not None
    (into / "package.json").write_text("{}")
    install = ["npm", "install", "--no-audit", "--no-fund", "--legacy-peer-deps", "--ignore-scripts", *PACKAGES]
    subprocess.run(install, cwd=into, check=True, capture_output=True)
    made = into / "bundle.mjs"
    build = [
        str(into / "node_modules" / ".bin" / "esbuild"),
        *(str(DRIVER), "--bundle", "--platform=node", "--format=esm", "--log-level=error", f"--outfile={made}"),
        *(f"--alias:convo-lang-original={entry.absolute()}", f"--banner:js={BANNER}"),
        '--tsconfig-raw={"compilerOptions":{"experimentalDecorators":true}}',
    ]
    modules = {**os.environ, "NODE_PATH": str(into / "node_modules")}
    subprocess.run(build, check=True, capture_output=True, env=modules)
    return made


class Original(AbstractContextManager["Original"]):
    """The bundled original, while it runs."""

    def __init__(self, bundled: Path) -> None:
        self._bundled = bundled
        self._process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["node", str(self._bundled)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Let the original do something; `error` in the answer says what failed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **request}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:  # a graph that goes on without an end takes all the memory that Node has
            self.stop()
            self._process = self._start()
            return {"error": "the original came to no end"}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def __exit__(self, *_error: object) -> None:
        self.stop()
