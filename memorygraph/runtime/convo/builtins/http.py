"""`httpGet(url)`, `httpPost(url body)` and so on: requests to the hosts that the user has allowed.

The requests are those of the http tool of AgentScript, on the host and port of the URL: an answer has 30 seconds and 10
MB, and only redirects of a GET are followed, as far as they stay on that host and port.
"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from memorygraph.context.rendering import compact
from memorygraph.errors import MemoryGraphError
from memorygraph.runtime.convo.builtins.registry import builtin
from memorygraph.runtime.convo.values import UNDEFINED, excerpt, to_plain
from memorygraph.runtime.tools import ToolFailure
from memorygraph.runtime.tools.http import HttpTool
from memorygraph.runtime.values import ValueProblem, require_text

if TYPE_CHECKING:
    from memorygraph.runtime.convo.scope import ConvoScope

MAX_SHOWN_BODY_CHARACTERS = 300


def request(method: str, name: str, scope: ConvoScope, *values: Any) -> Any:
    """Make a request; give the JSON value or the text of the answer, or null where it is empty.

    The second value is the body: as JSON, or as it is where it is a text; for a GET it is the query.
    """
    if not 1 <= len(values) <= 2:
        raise ValueProblem(f"`{name}` takes a URL and a body, and was given {len(values)}", "invalid-argument-count")
    base, path = split_url(require_text(values[0], f"the URL of `{name}`"))
    sent = None if len(values) == 1 or values[1] is UNDEFINED else to_plain(values[1])
    options = {"method": method, "path": path, ("query" if method == "GET" else "body"): sent}
    with closing(HttpTool(name, base, Path(), scope.environment.permissions)) as tool:
        answer = tool.call("request", [options]).value
    if answer["status"] >= 400:
        body = answer["body"] if isinstance(answer["body"], str) else compact(answer["body"])
        shown = body[:MAX_SHOWN_BODY_CHARACTERS]
        raise ToolFailure(f"`{name}` failed: {base} answered {answer['status']}: {shown}")
    return answer["body"]


for method in ("Get", "Post", "Put", "Patch", "Delete"):
    builtin(f"http{method}", pure=False, measured=False)(partial(request, method.upper(), f"http{method}"))


def split_url(url: str) -> tuple[str, str]:
    """Split a URL after its host.

    >>> split_url("https://example.org/a?b#c")
    ('https://example.org', '/a?b')
    """
    if not url.isprintable() or url != url.strip():
        # `urlsplit` leaves such characters out, and so would check another URL than the one that is used.
        raise ValueProblem(f"invalid URL: {excerpt(url)} holds line breaks, or blanks around it", "invalid-url")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise MemoryGraphError(f"invalid URL: {error}") from None
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise ValueProblem("a URL begins with `http://` or `https://` and a host", "invalid-url")
    base = f"{parts.scheme}://{parts.netloc}"
    rest = url[url.index("://") + 3 + len(parts.netloc) :].partition("#")[0]
    return base, rest
