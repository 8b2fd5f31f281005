"""Print the table of the comparison with the original of Convo-Lang, and every difference: `-o FILE` writes it, too."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.peers.convo.compare import compare_all, table
from tests.peers.convo.original import FOLDER_VARIABLE, bundle, find_missing

if missing := find_missing():
    sys.exit(f"not compared: {missing}")
folder = Path(os.environ[FOLDER_VARIABLE])
with TemporaryDirectory() as made:
    parts = compare_all(bundle(folder, Path(made)), folder)
lines = [table(parts)]
for part in parts:
    lines += [f"\n## {part.name}: {len(part.differences)} listed", *part.differences]
print("\n".join(lines))
if sys.argv[1:2] == ["-o"]:
    Path(sys.argv[2]).write_text("\n".join(lines) + "\n", "utf-8")
