"""The tools that a program can import, one module for each kind.

| URI | what it reaches | methods |
|---|---|---|
| `file://DIR` | a folder | `read write append list exists read_json` |
| `env://PREFIX` | environment variables | `get list` |
| `http://HOST:PORT/BASE`, `https://…` | a web service | `get post put patch delete request` |
| `sh://`, `sh://COMMAND ARGUMENTS` | commands | `run` |
| `mcp://COMMAND ARGUMENTS`, `mcp://http://HOST:PORT/PATH` | an MCP server | its tools |
"""

from __future__ import annotations

from pathlib import Path

from memorygraph.errors import MemoryGraphError
from memorygraph.runtime.imports import redact_uri
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.tools.env import EnvTool
from memorygraph.runtime.tools.file import FileTool
from memorygraph.runtime.tools.http import HttpTool
from memorygraph.runtime.tools.mcp import McpTool
from memorygraph.runtime.tools.shell import ShellTool
from memorygraph.runtime.tools.tool import ImportedTool, ToolFailure, ToolMethod

__all__ = ["ImportedTool", "ToolFailure", "ToolMethod", "open_tool"]

_KINDS: dict[str, type[ImportedTool]] = {
    "file": FileTool,
    "env": EnvTool,
    "http": HttpTool,
    "https": HttpTool,
    "sh": ShellTool,
    "mcp": McpTool,
}


def open_tool(name: str, uri: str, folder: Path, permissions: Permissions) -> ImportedTool:
    """Make the tool that a URI names; `folder` is that of the script. Nothing happens before its first call."""
    scheme, separator, _ = uri.partition("://")
    if not separator or scheme not in _KINDS:
        raise MemoryGraphError(
            f"the tool `{name}` cannot be at `{redact_uri(uri)}`; a tool's address begins with "
            f"{', '.join(f'{scheme}://' for scheme in _KINDS)}"
        )
    try:
        return _KINDS[scheme](name, uri, folder, permissions)
    except MemoryGraphError as error:
        raise MemoryGraphError(f"the tool `{name}` cannot be at `{redact_uri(uri)}`: {error}") from None
