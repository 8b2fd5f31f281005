"""What the versions of the MCP SDK do differently: this module alone knows it.

The server runs on the SDK 1.30 and later, 2.x included, because frameworks need either: langchain-mcp-adapters needs a
version before 2. Earlier ones bound neither the sessions of a server nor the bodies of its requests. Values are made by
the names that they have on the wire, which are the same in all versions.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar, cast

import anyio
import mcp
from mcp import types
from mcp.server.lowlevel.server import Server
from mcp.shared.message import SessionMessage
from pydantic import BaseModel, ValidationError

Handler = Callable[[Any, Any], Awaitable[Any]]
Value = TypeVar("Value", bound=BaseModel)

MAX_LISTENERS = 1000  # of a namespace
IS_VERSION_1 = not hasattr(mcp, "Client")

# The requests that version 1 knows, by the names that version 2 has for their handlers.
_REQUESTS_OF_VERSION_1 = {
    "list_tools": "ListToolsRequest",
    "call_tool": "CallToolRequest",
    "list_resources": "ListResourcesRequest",
    "list_resource_templates": "ListResourceTemplatesRequest",
    "read_resource": "ReadResourceRequest",
    "subscribe_resource": "SubscribeRequest",
    "unsubscribe_resource": "UnsubscribeRequest",
    "list_prompts": "ListPromptsRequest",
    "get_prompt": "GetPromptRequest",
    "completion": "CompleteRequest",
}


def make(kind: type[Value], **fields: Any) -> Value:
    """Make a value of the protocol of its fields, by their names on the wire.

    >>> make(types.CallToolResult, content=[], isError=True).model_dump(by_alias=True)["isError"]
    True
    """
    return kind.model_validate(fields)


def has_failed(result: types.CallToolResult) -> bool:
    """Whether an answer of a tool says that it failed."""
    failed: bool = getattr(result, "isError" if IS_VERSION_1 else "is_error")
    return failed


def request_error(code: int, message: str, data: Any = None) -> Exception:
    """The exception that answers a request with an error of the protocol."""
    if IS_VERSION_1:
        error: Exception = import_module("mcp").McpError(types.ErrorData(code=code, message=message, data=data))
        return error
    return mcp.MCPError(code, message, data)


def validate_message(document: Any) -> SessionMessage | Exception:
    """Read a message of the protocol from a JSON document, or return what is wrong with it, as the SDK does."""
    try:
        if IS_VERSION_1:
            kind: Any = getattr(types, "JSONRPCMessage")  # noqa: B009
            return SessionMessage(kind.model_validate(document))
        adapter: Any = import_module("mcp_types").jsonrpc_message_adapter
        return SessionMessage(adapter.validate_python(document, by_name=False))
    except ValidationError as error:
        return error


def answer_no_json(message: str) -> SessionMessage:
    """The answer to what is no JSON, which has no id that could be named; version 1 leaves that out."""
    error = types.ErrorData(code=types.PARSE_ERROR, message=message)
    answer: Any = types.JSONRPCError.model_construct(jsonrpc="2.0", id=None, error=error)
    return SessionMessage(getattr(types, "JSONRPCMessage").model_construct(root=answer) if IS_VERSION_1 else answer)  # noqa: B009


def name_client(ctx: Any) -> str:
    """What the client says that it is: its name and version."""
    params = ctx.session.client_params
    if params is None:
        return ""
    client = params.clientInfo if IS_VERSION_1 else params.client_info
    return f"{client.name} {client.version}"


def wants_progress(ctx: Any) -> bool:
    """Whether the client has asked to be told of the progress of its request."""
    if IS_VERSION_1:
        return ctx.meta is not None and ctx.meta.progressToken is not None
    return "progress_token" in (ctx.meta or {})


async def report_progress(ctx: Any, progress: float, message: str) -> None:
    """Tell the client of the progress of its request, if it has asked for that."""
    if not IS_VERSION_1:
        await ctx.session.report_progress(progress, message=message)
    elif wants_progress(ctx):
        await ctx.session.send_progress_notification(
            ctx.meta.progressToken, progress, message=message, related_request_id=str(ctx.request_id)
        )


class Listeners:
    """Clients that listen for changes by a request that stays open, which version 1 does not have."""

    def __init__(self) -> None:
        # Each listener has a bus of its own, so that it is told of its own resources alone.
        self._uris: dict[str, dict[Any, list[str]]] = defaultdict(dict)

    async def listen(self, namespace: str, ctx: Any, params: Any, choose: Callable[[list[str]], list[str]]) -> Any:
        """Tell the client of each change of a namespace, as long as its request is open.

        `choose` says of which of the resources that the client names.
        """
        from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

        listeners, bus = self._uris[namespace], InMemorySubscriptionBus()
        if len(listeners) >= MAX_LISTENERS:
            raise request_error(types.INTERNAL_ERROR, f"{MAX_LISTENERS} clients listen to this memory: try again later")
        uris = choose(params.notifications.resource_subscriptions or [])
        chosen = params.notifications.model_copy(update={"resource_subscriptions": uris})
        listeners[bus] = uris
        try:
            return await ListenHandler(bus)(ctx, params.model_copy(update={"notifications": chosen}))
        finally:
            del listeners[bus]

    async def changed(self, namespace: str) -> None:
        """Tell those that listen to a namespace that their resources may have changed."""
        listeners = self._uris.get(namespace)
        if not listeners:
            return
        from mcp.server.subscriptions import ResourceUpdated

        for bus, uris in list(listeners.items()):
            for uri in uris:
                await bus.publish(ResourceUpdated(uri=uri))


def new_server(
    name: str, handlers: Mapping[str, Handler], find_schema: Callable[[str], Mapping[str, Any] | None], **about: str
) -> Server[Any]:
    """Make a server of what handles each request, which is called with its context and parameters.

    `find_schema` gives the schema of a tool's arguments. `about` says what the server is: `version`, `title`,
    `description` and `instructions`, as far as the SDK knows them.
    """
    base: Any = Server
    if not IS_VERSION_1:
        made: Any = base(name, **about, **{f"on_{request}": handle for request, handle in handlers.items()})
        # Without it, version 2.3 lists all tools at each call of one over HTTP: half of what the call costs it.
        if hasattr(made, "get_tool_input_schema"):
            made.get_tool_input_schema = find_schema
        return cast("Server[Any]", made)
    server: Any = _class_of_version_1(base)(name, version=about["version"], instructions=about["instructions"])
    for request, kind in _REQUESTS_OF_VERSION_1.items():
        server.request_handlers[getattr(types, kind)] = _adapted(server, handlers[request])
    return cast("Server[Any]", server)


def _adapted(server: Any, handler: Handler) -> Callable[[Any], Awaitable[Any]]:
    """A handler as version 1 calls it."""

    async def handle(request: Any) -> Any:
        answer = await handler(server.request_context, request.params)
        # Version 1 has answered a request that was cancelled, and ends where there is a second answer.
        if anyio.current_effective_deadline() == -math.inf:
            raise anyio.get_cancelled_exc_class()
        return getattr(types, "ServerResult")(answer)  # noqa: B009

    return handle


def _class_of_version_1(base: Any) -> Any:
    class ServerOfVersion1(base):  # type: ignore[misc]
        """Says that resources can be subscribed to, which version 1 denies, and outlives cancelled requests."""

        def get_capabilities(self, *args: Any, **options: Any) -> Any:
            capabilities = super().get_capabilities(*args, **options)
            capabilities.resources.subscribe = True
            return capabilities

        async def _handle_request(self, message: Any, *args: Any, **options: Any) -> None:
            try:
                await super()._handle_request(message, *args, **options)
            except anyio.get_cancelled_exc_class():
                # It was cancelled while its answer was being sent; the server would end with it.
                if not message.cancelled:
                    raise

    return ServerOfVersion1
