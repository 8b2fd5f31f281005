"""A real MCP server for the tests: over standard input and output, or over HTTP with `http`, which prints its port."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("test")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(name="say-hello", structured_output=False)
def hello(name: str = "you") -> str:
    """Greet."""
    return f"Hello, {name}!"


@server.tool(structured_output=False)
def two_parts() -> list[str]:
    """Two texts."""
    return ["one", '{"two": 2}']


@server.tool()
def person(name: str) -> dict[str, Any]:
    """An object."""
    return {"name": name, "tags": ["a", {"b": None}]}


@server.tool()
def fail() -> str:
    """Fail."""
    raise ToolError("the reason")


@server.tool(structured_output=False)
def about() -> str:
    """What the server knows of its process."""
    return json.dumps(
        {"pid": os.getpid(), "cwd": str(Path.cwd()), "environment": dict(os.environ), "argv": sys.argv[1:]}
    )


@server.tool()
def wait(seconds: float) -> str:
    """Answer late."""
    time.sleep(seconds)
    return "late"


@server.tool()
def die() -> str:
    """End the server in the middle of a call."""
    os._exit(3)


if __name__ == "__main__":
    if "http" in sys.argv:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            print(listener.getsockname()[1], flush=True)
            # Nobody reads what it would say of each request.
            uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error")).run([listener])
    elif "broken" in sys.argv:
        print("no such option: broken", file=sys.stderr)
        sys.exit(2)
    elif "silent" in sys.argv:
        time.sleep(300)
    else:
        server.run("stdio")
