"""`env://PREFIX`: environment variables whose names begin with a prefix, or any by its name with `env://`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from memorygraph.errors import MemoryGraphError
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.tools.tool import ImportedTool, ToolResult
from memorygraph.runtime.values import require_text

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class EnvTool(ImportedTool):
    """`get(name)` gives a variable's text, or none; `list()` the names that begin with the prefix, if there is one."""

    METHODS = ("get", "list")

    def __init__(self, name: str, uri: str, folder: Path, permissions: Permissions) -> None:
        super().__init__(name, uri, folder, permissions)
        if self.rest and not _NAME.fullmatch(self.rest):
            raise MemoryGraphError("write `env://`, or `env://PREFIX` with letters, digits and `_`")

    def get(self, name: Any) -> ToolResult:
        """The text of a variable, or None."""
        name = require_text(name, "the name of a variable")
        if not _NAME.fullmatch(name):
            raise MemoryGraphError(f"{name!r} is no name of a variable")
        if not name.startswith(self.rest):
            raise MemoryGraphError(f"`{name}` does not begin with `{self.rest}`, and only such variables are given")
        return ToolResult(os.environ.get(name))

    def list(self) -> ToolResult:
        """The names of the variables that begin with the prefix."""
        if not self.rest:
            raise MemoryGraphError("only a tool with a prefix, such as `env://APP_`, lists variables")
        return ToolResult(sorted(name for name in os.environ if name.startswith(self.rest)))
