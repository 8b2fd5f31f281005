"""`mcp://COMMAND ARGUMENTS` and `mcp://http://HOST:PORT/PATH`: the tools of an MCP server.

A command starts a server that speaks over its standard input and output; an address is one of streamable HTTP. The SDK
is asynchronous: its session lives in an event loop in a thread of its own, from the first call to `close`.
"""

from __future__ import annotations

import atexit
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, asynccontextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memorygraph.errors import MemoryGraphError
from memorygraph.limits import Cancelled, LimitExceeded, wait_for
from memorygraph.llm.addresses import PinnedAddresses
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.tools.descendants import ending_descendants
from memorygraph.runtime.tools.http import require_base
from memorygraph.runtime.tools.shell import child_environment, command_words
from memorygraph.runtime.tools.tool import ImportedTool, ToolFailure, ToolMethod, ToolResult

if TYPE_CHECKING:
    from mcp import types
    from mcp.types import CallToolResult

Answer = TypeVar("Answer")

SECONDS = 60.0
_CLOSING_SECONDS = 15.0
MAX_SHOWN_CHARS = 500
_MAX_TOOLS = 1000


class McpTool(ImportedTool):
    """`T.method({argument: value})` calls the server's tool of that name.

    It gives the tool's structured content, or else its texts, joined by line breaks. A call has 60 seconds, and so has
    the start of the server. A server that was started here ends with `close`, or with this process.
    """

    def __init__(self, name: str, uri: str, folder: Path, permissions: Permissions) -> None:
        super().__init__(name, uri, folder, permissions)
        remote = self.rest.startswith(("http://", "https://"))
        self.address = require_base(self.rest) if remote else None
        self._words = [] if remote else command_words(self.rest)
        if not remote and not self._words:
            raise MemoryGraphError("write `mcp://COMMAND ARGUMENTS` or `mcp://http://HOST:PORT/PATH`")
        self._session: McpSession | None = None

    def perform(self, method: str, arguments: list[Any]) -> ToolResult:
        """Call the server's tool; the server is started or reached first, if it is not yet."""
        if len(arguments) > 1 or (arguments and not isinstance(arguments[0], dict)):
            raise MemoryGraphError("it takes one object, which names the arguments: `{ text: … }`")
        return read_answer(self.open_session().call(method, arguments[0] if arguments else {}))

    def methods(self) -> Mapping[str, ToolMethod]:
        """The server's tools; the server is started or reached first, if it is not yet."""
        self.require_permission()
        try:
            tools = self.open_session().tools()
        except (MemoryGraphError, OSError) as error:
            raise ToolFailure(f"Tool {self.name} ({self.uri}) failed: {error}") from error
        return {tool.name: ToolMethod(tool.description or "", on_wire(tool)["inputSchema"]) for tool in tools}

    def open_session(self) -> McpSession:
        """The session of this tool, opened at its first use."""
        if self._session is not None:
            return self._session
        if self.address is not None:
            self._session = McpSession(connect_http(self.rest, self.permissions.addresses))
        else:
            self._session = McpSession(connect_pipes(self._words, self.folder))
        return self._session

    def close(self) -> None:
        """End the session, and the server if it was started here."""
        session, self._session = self._session, None
        if session is not None:
            session.close()


@asynccontextmanager
async def connect_http(url: str, addresses: PinnedAddresses) -> AsyncIterator[Any]:
    """Connect to a server that speaks streamable HTTP."""
    from mcp.client.streamable_http import streamable_http_client

    async with (
        make_http_client(url, addresses) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams


def make_http_client(url: str, addresses: PinnedAddresses) -> Any:
    """Make a client of the HTTP library that the SDK uses: httpx before its version 2, and then httpx2."""
    import mcp

    from memorygraph.runtime.tools.pinned import make_transport

    library = import_module("httpx2" if hasattr(mcp, "Client") else "httpx")
    return library.AsyncClient(timeout=SECONDS, trust_env=False, transport=make_transport(url, addresses, library))


@asynccontextmanager
async def open_client(transport: Any) -> AsyncIterator[Any]:
    """Open a client of the SDK: of its version 1, or of later ones."""
    import mcp

    if hasattr(mcp, "Client"):
        async with mcp.Client(transport) as client:
            yield client
        return
    async with transport as streams, mcp.ClientSession(*streams[:2]) as session:
        await session.initialize()
        yield session


@asynccontextmanager
async def connect_pipes(words: list[str], folder: Path) -> AsyncIterator[Any]:
    """Start a server that speaks over its standard input and output."""
    from mcp import StdioServerParameters, stdio_client

    command, *arguments = words
    with (
        tempfile.TemporaryFile("w+", errors="replace") as log,
        ending_descendants(child_environment()) as environment,
    ):
        server = StdioServerParameters(command=command, args=arguments, env=environment, cwd=folder)
        try:
            async with stdio_client(server, errlog=log) as streams:
                yield streams
        except FileNotFoundError:
            raise MemoryGraphError(f"there is no command `{command}`") from None
        except Exception as error:
            log.seek(0)
            said = log.read().strip()[-MAX_SHOWN_CHARS:]
            raise MemoryGraphError(f"{root_cause(error)}; the server says: {said or 'nothing'}") from error


class McpSession:
    """A client of a server, in an event loop of its own thread."""

    def __init__(self, transport: Any) -> None:
        import anyio
        from anyio.from_thread import start_blocking_portal

        self._stack = ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal())
        self._ready: Future[Any] = Future()
        self._ended: Future[None] = Future()  # that of a task which is cancelled is done before the task is
        self._client: Any = None
        self._stop = self._portal.call(anyio.Event)
        self._task = self._portal.start_task_soon(self.serve, transport)
        atexit.register(self.close)
        try:
            self._client = wait_for(self._ready, SECONDS)
        except TimeoutError:
            self.close()
            raise MemoryGraphError(f"the server was not ready within {SECONDS:g} seconds") from None
        except BaseException:
            self.close()
            raise

    async def serve(self, transport: Any) -> None:
        """Keep the client open until the session ends."""
        try:
            async with open_client(transport) as client:
                self._ready.set_result(client)
                await self._stop.wait()
        except Exception as error:  # noqa: BLE001 - the SDK names no root of its errors
            if not self._ready.done():
                self._ready.set_exception(MemoryGraphError(root_cause(error)))
        finally:
            self._ended.set_result(None)

    def call(self, method: str, arguments: dict[str, Any]) -> CallToolResult:
        """Call one of the server's tools."""
        try:
            answer: CallToolResult = self.ask(lambda: self._client.call_tool(method, arguments))
        except TimeoutError:
            raise MemoryGraphError(f"it took longer than {SECONDS:g} seconds") from None
        except (Cancelled, LimitExceeded):
            raise
        except Exception as error:  # the SDK names no root of its errors
            raise MemoryGraphError(root_cause(error)) from error
        return answer

    def tools(self) -> list[types.Tool]:
        """List the tools that the server has."""
        try:
            return self.ask(self.list_pages)
        except (Cancelled, LimitExceeded):
            raise
        except Exception as error:  # the SDK names no root of its errors
            raise MemoryGraphError(root_cause(error)) from error

    async def list_pages(self) -> list[types.Tool]:
        """List the tools, page by page."""
        page = await self._client.list_tools()
        found = page.tools
        while (cursor := on_wire(page).get("nextCursor")) and len(found) < _MAX_TOOLS:
            page = await self._client.list_tools(cursor=cursor)
            found = [*found, *page.tools]
        return list(found)

    def ask(self, question: Callable[[], Awaitable[Answer]]) -> Answer:
        """Wait for what the server answers, within the time limit."""
        import anyio

        async def wait() -> Answer:
            with anyio.fail_after(SECONDS):
                return await question()

        return wait_for(self._portal.start_task_soon(wait))

    def close(self) -> None:
        """End the session, the server that it started, and the thread."""
        atexit.unregister(self.close)
        with suppress(RuntimeError):  # the loop has ended already
            self._portal.call(self._stop.set)
            if self._client is None:  # it would not see the event before its server is ready, which may never be
                self._task.cancel()
            with suppress(TimeoutError):
                self._ended.result(_CLOSING_SECONDS)
            self._portal.call(self._portal.stop, True)
        self._stack.close()


def read_answer(answer: CallToolResult) -> ToolResult:
    """Read the structured content of an answer, or else its texts."""
    texts = "\n".join(part.text for part in answer.content if part.type == "text")
    fields = on_wire(answer)
    if fields["isError"]:
        raise MemoryGraphError(texts or "the server's tool failed and does not say why")
    value = texts if fields["structuredContent"] is None else fields["structuredContent"]
    return ToolResult(value, {"parts": len(answer.content)})


def on_wire(value: Any) -> dict[str, Any]:
    """The fields of a value of the protocol by their names on the wire, which all versions of the SDK share."""
    fields: dict[str, Any] = value.model_dump(by_alias=True)
    return fields


def root_cause(error: BaseException) -> str:
    """Describe what went wrong first: errors of an event loop come in groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
