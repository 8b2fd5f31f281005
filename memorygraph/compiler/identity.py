"""What a stored program is known by: the hash of its source, and the name of its file."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from memorygraph.errors import Source


def program_id(source: Source) -> str:
    """The id of a program: the hash of its source."""
    return hashlib.sha256(source.text.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def program_properties(source: Source, /, **more: Any) -> dict[str, Any]:
    """What is stored of every program: its name, which is that of its file, and its file."""
    name = Path(source.file).stem if source.file else program_id(source)[:8]
    return {"name": name, "file": source.file, **more}
