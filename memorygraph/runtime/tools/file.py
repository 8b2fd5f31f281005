"""`file://DIR`: the files of one folder, relative to the script's or absolute. Nothing outside of it is reached.

`..`, absolute paths, links that lead out, devices and pipes are refused; no link is followed after this check.
"""

from __future__ import annotations

import os
import stat
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from memorygraph.context.rendering import render
from memorygraph.drafts import clear_drafts, lock_draft
from memorygraph.errors import MemoryGraphError
from memorygraph.json_text import parse_json
from memorygraph.runtime.paths import inside, open_plain, require_plain, within
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.tools.tool import MAX_BYTES, ImportedTool, ToolResult
from memorygraph.runtime.values import require_text

MAX_ENTRIES = 10_000
DRAFT = ".memorygraph-{}.part"


class FileTool(ImportedTool):
    """`read(path)` and `read_json(path)`, `write(path, value)` and `append(path, text)`, `list(path?)`, `exists(path)`.

    Files are UTF-8 and at most 10 MB. `write` makes the folders on the way and replaces the file at once or not at
    all; a value that is not a text is written as JSON. `list` gives sorted names, those of folders with `/` at the end.
    """

    METHODS = ("read", "read_json", "write", "append", "list", "exists")

    def __init__(self, name: str, uri: str, folder: Path, permissions: Permissions) -> None:
        super().__init__(name, uri, folder, permissions)
        self._root = inside(folder, unquote(self.rest), anywhere=True)
        self._cleared: set[Path] = set()

    def read(self, path: Any) -> ToolResult:
        """The text of a file."""
        target = within(self._root, require_text(path, "a path"))
        try:
            with os.fdopen(open_plain(target, os.O_RDONLY), "rb") as stream:
                require_size(path, os.fstat(stream.fileno()).st_size)
                content = stream.read(MAX_BYTES + 1)
        except FileNotFoundError:
            raise MemoryGraphError(f"there is no file `{path}`") from None
        require_size(path, len(content))
        try:
            return ToolResult(content.decode("utf-8"), {"bytes": len(content)})
        except UnicodeDecodeError as error:
            raise MemoryGraphError(f"`{path}` is no UTF-8 text: byte {error.start} is not") from None

    def read_json(self, path: Any) -> ToolResult:
        """The JSON value in a file."""
        result = self.read(path)
        try:
            return ToolResult(parse_json(result.value, strict=True), result.effects)
        except ValueError as error:
            raise MemoryGraphError(f"`{path}` is no JSON: {error}") from None

    def write(self, path: Any, value: Any) -> ToolResult:
        """Make or replace a file; a value that is not a text is written as JSON."""
        target = self.find_target(path)
        text = value if isinstance(value, str) else render(value) + "\n"
        content = encode_text(text)
        require_size(path, len(content))
        target.parent.mkdir(parents=True, exist_ok=True)
        self._clear(target.parent)
        draft = target.with_name(DRAFT.format(uuid.uuid4().hex))
        try:
            with os.fdopen(open_plain(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as stream:
                lock_draft(stream.fileno())
                stream.write(content)
            if target.exists():
                draft.chmod(stat.S_IMODE(target.stat().st_mode))
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
        return ToolResult(None, {"bytes": len(content)})

    def append(self, path: Any, text: Any) -> ToolResult:
        """Add to the end of a file, which is made if it does not exist."""
        target, content = self.find_target(path), encode_text(require_text(text, "what is appended"))
        target.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(open_plain(target, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab") as stream:
            require_size(path, os.fstat(stream.fileno()).st_size + len(content))
            stream.write(content)
        return ToolResult(None, {"bytes": len(content)})

    def list(self, path: Any = ".") -> ToolResult:
        """The names in a folder, sorted; those of folders end with `/`."""
        folder = within(self._root, require_text(path, "a path"))
        names: list[str] = []
        with os.scandir(folder) as entries:
            for entry in entries:
                if len(names) == MAX_ENTRIES:
                    raise MemoryGraphError(f"`{path}` holds more than {MAX_ENTRIES:,} names")
                names.append(f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name)
        return ToolResult(sorted(names))

    def exists(self, path: Any) -> ToolResult:
        """Whether there is a file or a folder."""
        return ToolResult(within(self._root, require_text(path, "a path")).exists())

    def _clear(self, folder: Path) -> None:
        """Remove what killed runs have left in a folder, once: listing it for every file would take long."""
        if folder not in self._cleared:
            self._cleared.add(folder)
            clear_drafts(folder.glob(DRAFT.format("*")))

    def find_target(self, path: Any) -> Path:
        """Find where a file is to be written; it is not the folder itself, and not a device or a pipe."""
        target = within(self._root, require_text(path, "a path"))
        if target == self._root:
            raise MemoryGraphError(f"`{path}` is the tool's folder, and not a file in it")
        require_plain(target)
        return target


def encode_text(text: str) -> bytes:
    """Encode a text as UTF-8, if it has no half characters."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise MemoryGraphError("the text holds half a character, which no file can") from None


def require_size(path: str, size: int) -> None:
    """Refuse a file that would be larger than what may go through a tool at once."""
    if size > MAX_BYTES:
        raise MemoryGraphError(f"`{path}` would be {size:,} bytes, and {MAX_BYTES:,} are the most for a tool")
