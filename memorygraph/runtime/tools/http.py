"""`http://HOST:PORT/BASE` and `https://…`: a web service, on that host and port and below that path.

A call runs in an event loop of its own thread: so its time limit holds, and the caller's thread may have a loop.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from memorygraph.context.rendering import compact
from memorygraph.errors import MemoryGraphError
from memorygraph.json_text import join_halves, parse_json
from memorygraph.limits import wait_for
from memorygraph.llm.addresses import MAX_UNQUOTINGS, climbs, unquote_fully
from memorygraph.llm.model import HEADER_NAME
from memorygraph.runtime.permissions import Address, Permissions, address_of
from memorygraph.runtime.tools.tool import MAX_BYTES, ImportedTool, ToolResult
from memorygraph.runtime.values import describe_type, require_object, require_text, write_number

if TYPE_CHECKING:
    import httpx2
    from anyio.from_thread import BlockingPortal

SECONDS = 30.0
MAX_REDIRECTS = 5
MAX_SHOWN_CHARS = 300

_REQUEST_KEYS = ("method", "path", "query", "headers", "body")
_VERBS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
# These say where a request goes and where it ends, which is not for a program to say.
_OUR_HEADERS = re.compile(
    r"host|content-length|transfer-encoding|connection|upgrade|te|trailer|expect|keep-alive|proxy-.*", re.IGNORECASE
)

# What Python decodes by these names is no body: it fails whatever is asked of it, or takes hours for 10 MB.
_NO_CHARSETS = frozenset({"idna", "punycode", "undefined"})


class HttpTool(ImportedTool):
    """`get(path?, query?)`, `post(path, body?)`, `put`, `patch` and `delete(path)` give the body of the answer.

    The body is the JSON value if the server says that it is JSON, none if it is empty, and else the text. A body that
    is sent is JSON, or a text as it is. A status of 400 or more is a failure. `request({method, path, query, headers,
    body})` gives `{status, headers, body}`, whatever the status. An answer has 30 seconds and 10 MB. Redirects of a
    GET are followed as far as they stay on the same host and port and below the same path, those of other methods are
    not: `request` gives them, and for the rest they are a failure. The name of the host leads where it led at the run's
    first call, and not to this machine unless it is a name of it; where the environment names a proxy for it, the proxy
    says where it leads.
    """

    METHODS = ("get", "post", "put", "patch", "delete", "request")

    def __init__(self, name: str, uri: str, folder: Path, permissions: Permissions) -> None:
        super().__init__(name, uri, folder, permissions)
        self.address = require_base(uri)
        self._base = uri.rstrip("/")
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None

    def get(self, path: Any = "", query: Any = None) -> ToolResult:
        """Get what is at a path."""
        return self.exchange_body("GET", path, query=query)

    def post(self, path: Any, body: Any = None) -> ToolResult:
        """Send a value to a path."""
        return self.exchange_body("POST", path, body=body)

    def put(self, path: Any, body: Any = None) -> ToolResult:
        """Put a value at a path."""
        return self.exchange_body("PUT", path, body=body)

    def patch(self, path: Any, body: Any = None) -> ToolResult:
        """Change what is at a path."""
        return self.exchange_body("PATCH", path, body=body)

    def delete(self, path: Any) -> ToolResult:
        """Delete what is at a path."""
        return self.exchange_body("DELETE", path)

    def request(self, options: Any) -> ToolResult:
        """Make any request, and get the whole answer."""
        options = require_object(options, "a request")
        unknown = sorted(options.keys() - set(_REQUEST_KEYS))
        if unknown:
            raise MemoryGraphError(f"a request has no `{unknown[0]}`; it has {', '.join(_REQUEST_KEYS)}")
        verb = require_text(options.get("method", "GET"), "a method").upper()
        if verb not in _VERBS:
            raise MemoryGraphError(f"there is no method {verb!r}; there are {', '.join(_VERBS)}")
        given = {key: options.get(key) for key in ("query", "headers", "body")}
        return self.exchange(verb, options.get("path", ""), **given)

    def close(self) -> None:
        """End the thread and its connections."""
        self._portal = None
        self._stack.close()

    def exchange_body(self, verb: str, path: Any, *, query: Any = None, body: Any = None) -> ToolResult:
        """Send a request, and give the body of the answer; a redirect and a status of 400 or more are failures."""
        result = self.exchange(verb, path, query=query, body=body)
        answer = result.value
        if is_redirect(verb, answer):
            raise MemoryGraphError(f"the answer to a {verb} is a redirect, which is not followed")
        if answer["status"] >= 400:
            shown = answer["body"] if isinstance(answer["body"], str) else compact(answer["body"])
            raise MemoryGraphError(f"the status is {answer['status']}: {shown[:MAX_SHOWN_CHARS]}")
        return ToolResult(answer["body"], result.effects)

    def exchange(self, verb: str, path: Any, *, query: Any = None, headers: Any = None, body: Any = None) -> ToolResult:
        """Send a request, and give the whole answer."""
        import httpx2

        given = require_object({} if query is None else query, "a query")
        added = {join_halves(key): encode_query_value(key, value) for key, value in given.items() if value is not None}
        sent, content = encode_message(headers, body)
        url = self._base + below(require_text(path, "a path"))
        try:
            target = httpx2.URL(url)
            target = target.copy_merge_params(added) if added else target
            self.require_below(target)
            if self._portal is None:
                from anyio.from_thread import start_blocking_portal

                self._portal = self._stack.enter_context(start_blocking_portal())
            sending = self._portal.start_task_soon(self.send, verb, target, sent, content)
            status, received, payload = wait_for(sending)
        except TimeoutError:
            raise MemoryGraphError(f"no whole answer came within {SECONDS:g} seconds") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise MemoryGraphError(str(error) or type(error).__name__) from None
        answer = {"status": status, "headers": dict(received), "body": decode_body(received, payload)}
        return ToolResult(answer, {"method": verb, "status": status, "bytes": len(payload)})

    async def send(
        self, verb: str, url: httpx2.URL, headers: Mapping[str, str], content: bytes | None
    ) -> tuple[int, httpx2.Headers, bytes]:
        """Send a request, and follow its redirects, within the time limit."""
        import anyio
        import httpx2

        from memorygraph.runtime.tools.pinned import make_transport

        with anyio.fail_after(SECONDS):
            transport = make_transport(self._base, self.permissions.addresses)
            async with httpx2.AsyncClient(timeout=SECONDS, trust_env=False, transport=transport) as client:
                request = client.build_request(verb, url, headers=dict(headers), content=content)
                for _ in range(MAX_REDIRECTS + 1):
                    response = await client.send(request, stream=True)
                    try:
                        if response.next_request is None or request.method not in {"GET", "HEAD"}:
                            return response.status_code, response.headers, await read_payload(response)
                        request = self.check_redirect(response.next_request)
                    finally:
                        await response.aclose()
        raise MemoryGraphError(f"it was redirected more than {MAX_REDIRECTS} times")

    def check_redirect(self, redirected: httpx2.Request) -> httpx2.Request:
        """Return the request of a redirect, if it may be followed."""
        try:
            self.require_below(redirected.url)
        except MemoryGraphError:
            place = redirected.url.copy_with(userinfo=b"", query=None, fragment=None)
            raise MemoryGraphError(f"it redirects to {place}, outside of {self.uri}, and is not followed") from None
        return redirected

    def require_below(self, url: httpx2.URL) -> None:
        """Refuse a URL, as it will be sent, that leads elsewhere than below the tool's address."""
        base = urlsplit(self._base)
        path, root = url.path, unquote(base.path).rstrip("/")
        here = url.scheme == base.scheme and address_of(str(url)) == self.address and not url.userinfo
        if not here or climbs(path) or not (path == root or path.startswith(f"{root}/")):
            raise MemoryGraphError(f"{url.copy_with(query=None)} is not below {self.uri}")


def is_redirect(verb: str, answer: Mapping[str, Any]) -> bool:
    """Whether an answer leads elsewhere, and was not followed: those of a GET were."""
    return verb != "GET" and 300 <= answer["status"] < 400 and "location" in answer["headers"]


def require_base(url: str) -> Address:
    """Check an address that an http tool starts from, and give its host and port."""
    if not url.isprintable() or "\\" in url or " " in url:
        raise MemoryGraphError("an address holds no spaces, line breaks or backslashes")
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise MemoryGraphError("a user name or password does not belong into a program; send a header with `request`")
    if "?" in url or "#" in url:
        raise MemoryGraphError("an address ends before `?` and `#`; give the query with each call")
    if climbs(parts.path):
        raise MemoryGraphError(
            "an address holds no `.` or `..` as part of its path, nor is it percent-encoded more than "
            f"{MAX_UNQUOTINGS} times"
        )
    return address_of(url)


def below(path: str) -> str:
    """Make the part of a URL that follows the base: a slash and the path, which cannot lead anywhere else.

    >>> below("items/7?full=1"), below("")
    ('/items/7?full=1', '')
    """
    if not path.isprintable() or "\\" in path or "#" in path:
        raise MemoryGraphError(f"{path!r} is no path: it holds line breaks, backslashes or `#`")
    written = path.partition("?")[0]
    route = unquote_fully(written)
    if "//" in route or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", route):
        raise MemoryGraphError(f"`{path}` is no path below the tool's address; write one such as `items/7`")
    if climbs(written):
        raise MemoryGraphError(
            f"the path `{path}` could lead out of the tool's address: it holds `.` or `..`, or is percent-encoded more "
            f"than {MAX_UNQUOTINGS} times"
        )
    return path if not path or path.startswith(("/", "?")) else f"/{path}"


def encode_query_value(key: str, value: Any) -> Any:
    """Write a value of a query, or each of a list, as a text; numbers without a fraction are whole."""
    if isinstance(value, list):
        return [encode_query_value(key, item) for item in value]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return join_halves(value)
    if isinstance(value, (int, float)):
        return write_number(value, f"`{key}` in a query")
    raise MemoryGraphError(
        f"`{key}` in a query is a text, a number, a boolean or a list, and this is {describe_type(value)}"
    )


def encode_message(headers: Any, body: Any) -> tuple[dict[str, str], bytes | None]:
    """Build the headers and the content of a request."""
    sent = {"Accept": "application/json, text/*;q=0.9, */*;q=0.8", "Accept-Encoding": "identity"}
    content = None
    if body is not None:
        is_text = isinstance(body, str)
        sent["Content-Type"] = "text/plain; charset=utf-8" if is_text else "application/json"
        text = body if is_text else compact(body)
        content = text.encode("utf-8", "replace")
        if len(content) > MAX_BYTES:
            raise MemoryGraphError(f"the body has {len(content):,} bytes, and {MAX_BYTES:,} are the most")
    for name, value in require_object(headers or {}, "headers").items():
        text = require_text(value, f"the header `{name}`")
        if not HEADER_NAME.fullmatch(name) or not (text.isprintable() and text.isascii()):
            raise MemoryGraphError(f"{name!r} is no header: it holds line breaks or signs that no header holds")
        if _OUR_HEADERS.fullmatch(name):
            raise MemoryGraphError(f"the header `{name}` is not for a program to set")
        sent = {known: kept for known, kept in sent.items() if known.lower() != name.lower()} | {name: text}
    return sent, content


async def read_payload(response: httpx2.Response) -> bytes:
    """Read the body of an answer, up to the limit."""
    payload = bytearray()
    async for chunk in response.aiter_bytes(65536):
        payload += chunk
        if len(payload) > MAX_BYTES:
            raise MemoryGraphError(f"the answer has more than {MAX_BYTES:,} bytes")
    return bytes(payload)


def decode_body(headers: Mapping[str, str], payload: bytes) -> Any:
    """Decode a body: the value if it is JSON, None if it is empty, else its text."""
    content_type = headers.get("content-type", "").lower()
    if not payload:
        return None
    if "json" in content_type.partition(";")[0]:
        with suppress(ValueError):  # what is not what it says is still a text
            return parse_json(payload, strict=True)
    charset = re.search(r"charset=\"?([\w.:-]+)", content_type)
    with suppress(LookupError):
        if charset and codecs.lookup(charset[1]).name not in _NO_CHARSETS:
            return payload.decode(charset[1], "replace")
    return payload.decode("utf-8", "replace")
