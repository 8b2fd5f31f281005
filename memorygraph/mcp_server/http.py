"""The server over HTTP: which clients may call it, from where, and in which namespace.

Each bearer token is bound to one namespace. Without tokens only this machine can be served. The Host and the Origin
of each request are checked in any case, so that no web page can reach the server through a browser; the SDK would do
so for a loopback address only. A token is compared by its hash, and goes nowhere else.
"""

from __future__ import annotations

import logging
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from memorygraph.bearer_tokens import hash_token
from memorygraph.ending import begin_end
from memorygraph.errors import MemoryGraphError
from memorygraph.hosts import host_in_url, is_local_only
from memorygraph.mcp_server.server import BackgroundGraph, build_server, log_to_stderr
from memorygraph.mcp_server.tools import TOOLS, Tool

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from memorygraph.client import MemoryGraph

PATH = "/mcp"
MAX_BODY_BYTES = 4 << 20
MAX_SESSIONS = 1000  # of a server without tokens
MAX_SESSIONS_OF_ONE_TOKEN = 200
MAX_REQUESTS_OF_ONE_TOKEN = 250  # that are open at a time
SESSION_IDLE_S = 30 * 60.0  # that a session may go without an open request; then its client has to open another one
GRACEFUL_S = 2  # for requests in work when the server is told to end
CLIENT_GONE = "a client has closed its session or its connection before it was answered"
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


class TokenVerifier:
    """The namespace of each token, kept by the hash of the token: a token itself is held nowhere."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        self._namespaces = {hash_token(token): namespace for token, namespace in tokens.items()}

    async def verify_token(self, token: str) -> AccessToken | None:
        """Who a token stands for: its namespace, and by its hash which token it is."""
        namespace = self._namespaces.get(hash_token(token))
        return AccessToken(token=token_id(token), client_id=namespace, scopes=[]) if namespace is not None else None


def token_id(token: str) -> str:
    """The name under which the calls and sessions of a token are counted; the token cannot be found from it."""
    return hash_token(token).hex()


class _SessionsOfEach:
    """Leads each request to the sessions of its token, so that no token uses up those of another one.

    So are the requests of a token that are open at a time: on one machine, all clients share the connections of an
    address. Without tokens that is the only limit.
    """

    def __init__(self, managers: Mapping[str, StreamableHTTPSessionManager], max_requests: int) -> None:
        self._managers = managers
        self._max_requests = max_requests
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        user = scope.get("user")
        client = user.access_token.token if isinstance(user, AuthenticatedUser) else ""
        if client and self._open[client] >= self._max_requests:
            said = f"{self._max_requests} of your requests are open; try again when one has ended\n"
            await PlainTextResponse(said, 429, {"Retry-After": "5"})(scope, receive, send)
            return
        self._open[client] += 1
        try:
            await self._managers[client].handle_request(scope, receive, send)
        finally:
            self._open[client] -= 1


def served_by(
    managers: Iterable[StreamableHTTPSessionManager],
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """The lifespan of an application: that of all its managers of sessions."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for manager in managers:
                await stack.enter_async_context(manager.run())
            yield

    return lifespan


class _HostGuard:
    """Refuses a request for another host, or from the page of another one, before anything else looks at it.

    Hosts are compared in lower case, which is what all that comes after it sees, too.
    """

    def __init__(self, app: ASGIApp, settings: TransportSecuritySettings) -> None:
        self._app = app
        self._check = TransportSecurityMiddleware(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = scope["headers"]
            headers = [(name, value.lower() if name in {b"host", b"origin"} else value) for name, value in given]
            scope = {**scope, "headers": headers}
            refusal = await self._check.validate_request(Request(scope))
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


def allowed_from(host: str, port: int, hosts: Iterable[str] = ()) -> TransportSecuritySettings:
    """The Host and Origin headers that are let in, in lower case: of this machine, the address itself, and `hosts`."""
    is_any = host.strip("[]") in {"0.0.0.0", "::"}  # noqa: S104 - it is compared with, not bound
    allowed: list[str] = []
    for given in (*LOOPBACK_NAMES, socket.gethostname() if is_any else host, *hosts):
        name = host_in_url(given).lower()
        has_port = name.rpartition(":")[2].isdigit() and not name.endswith("]")
        allowed += [name] if has_port else [name, f"{name}:{port}"]
    origins = [f"{scheme}://{each}" for each in allowed for scheme in ("http", "https")]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=allowed, allowed_origins=origins
    )


def build_app(
    graph: MemoryGraph | BackgroundGraph,
    host: str = "127.0.0.1",
    port: int = 8000,
    tokens: Mapping[str, str] | None = None,
    *,
    allowed_hosts: Iterable[str] = (),
    tools: Mapping[str, Tool] = TOOLS,
    max_requests: int = MAX_REQUESTS_OF_ONE_TOKEN,
) -> Starlette:
    """The ASGI application that serves a graph under `/mcp`.

    `tokens` gives the namespace of each bearer token; without them every process on this machine works in the graph's
    own. `allowed_hosts` are further names under which the server is reached, each with its port or for `port`. Of one
    token `max_requests` may be open at a time.

    Raises:
        MemoryGraphError: others than this machine could reach it, and there are no tokens.
    """
    if not tokens and not is_local_only(host):
        raise MemoryGraphError(
            f"at {host} others can reach the server: give it tokens (--token NAMESPACE=TOKEN or --tokens FILE), or "
            "serve at 127.0.0.1"
        )
    sizes = {token_id(token): MAX_SESSIONS_OF_ONE_TOKEN for token in tokens} if tokens else {"": MAX_SESSIONS}
    server = build_server(graph, set(tokens.values()) if tokens else None, tools)
    managers = {
        client: StreamableHTTPSessionManager(
            server,
            security_settings=allowed_from(host, port, allowed_hosts),
            max_request_body_size=MAX_BODY_BYTES,
            max_sessions=size,
            session_idle_timeout=SESSION_IDLE_S,
        )
        for client, size in sizes.items()
    }
    served: Any = _SessionsOfEach(managers, max_requests)
    middleware = [Middleware(_HostGuard, settings=allowed_from(host, port, allowed_hosts))]
    if tokens:
        served = RequireAuthMiddleware(served, required_scopes=[])
        backend = BearerAuthBackend(TokenVerifier(tokens))
        middleware += [Middleware(AuthenticationMiddleware, backend=backend), Middleware(AuthContextMiddleware)]
    return Starlette(
        routes=[Route(PATH, endpoint=served)], middleware=middleware, lifespan=served_by(managers.values())
    )


def say_client_gone(record: logging.LogRecord) -> bool:
    """A filter of the log: of a client that is gone, the SDK and uvicorn log tracebacks; one line says as much."""
    error = record.exc_info[1] if record.exc_info else None
    is_late = isinstance(error, RuntimeError) and str(error).startswith("Unexpected ASGI message")
    if is_late or isinstance(error, anyio.ClosedResourceError):
        record.msg, record.args, record.exc_info = CLIENT_GONE, (), None
    return True


def listen(host: str, port: int) -> socket.socket:
    """Listen at an address.

    Raises:
        MemoryGraphError: the address cannot be bound.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        host.encode("idna")  # `create_server` would raise a TypeError, and leave its socket open
        listener = socket.create_server((host.strip("[]"), port), family=family)
    except (OSError, OverflowError, UnicodeError) as error:
        raise MemoryGraphError(f"cannot serve at {host} port {port}: {error}") from None
    # An answer is written in two pieces, and the second one waits 40 ms for the client's acknowledgement of the first
    # unless this is set. Connections inherit it; asyncio sets it only where the listener is its own.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def serve_http(
    graph: MemoryGraph | BackgroundGraph,
    host: str,
    port: int,
    tokens: Mapping[str, str],
    *,
    allowed_hosts: Iterable[str],
    tools: Mapping[str, Tool],
) -> None:
    """Serve any number of clients over HTTP, until the process is told to end. The options are those of `build_app`."""
    import uvicorn

    from memorygraph.mcp_server.connections import BACKLOG, ConnectionLimits, bounded_connections

    log_to_stderr()
    for handler in logging.getLogger().handlers:
        handler.addFilter(say_client_gone)
    with listen(host, port) as listener:
        port = listener.getsockname()[1]
        limits = ConnectionLimits.of_process()
        app = build_app(
            graph, host, port, tokens, allowed_hosts=allowed_hosts, tools=tools, max_requests=limits.of_one_token
        )
        if isinstance(graph, BackgroundGraph):
            graph.begin()  # while Neo4j starts, clients are told so
        sys.stderr.write(f"serving at http://{host_in_url(host)}:{port}{PATH}\n")
        sys.stderr.flush()
        config = uvicorn.Config(
            app,
            http=bounded_connections(limits),
            ws="none",
            backlog=BACKLOG,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACEFUL_S,
        )

        class Server(uvicorn.Server):
            def handle_exit(self, sig: int, frame: FrameType | None) -> None:
                begin_end(sig)
                super().handle_exit(sig, frame)

        with suppress(KeyboardInterrupt):  # it is how a person ends it
            Server(config).run(sockets=[listener])
