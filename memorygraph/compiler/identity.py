"""What a stored program is known by: the hash of its source, and the name of its file."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from memorygraph.errors import Source
from memorygraph.scripts import storable_path


def program_id(source: Source) -> str:
    """The id of a program: the hash of its source."""
    return hashlib.sha256(source.text.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def offered_program(source: Source, /, **more: Any) -> dict[str, Any]:
    """The parameters that store a program under its name: its ids, the second for a second name, and its properties."""
    properties, id_ = program_properties(source, **more), program_id(source)
    named_id = hashlib.sha256(f"{id_} {properties['name']}".encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return {"id": id_, "named_id": named_id, "properties": properties}


def program_properties(source: Source, /, **more: Any) -> dict[str, Any]:
    """What is stored of every program: its name, which is that of its file, and its file."""
    file = source.file and storable_path(source.file)
    return {"name": Path(file).stem if file else program_id(source)[:8], "file": file, **more}
