"""`httpGet(url)`, `httpPost(url body)` and so on: requests to the hosts that the user has allowed.

The requests are those of the http tool of AgentScript, on the host and port of the URL: an answer has 30 seconds and 10
MB, and only redirects of a GET are followed, as far as they stay on that host and port.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from memorygraph.context.rendering import compact
from memorygraph.errors import MemoryGraphError
from memorygraph.runtime.convo.values import UNDEFINED, plain, shown
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.tools import ToolFailure
from memorygraph.runtime.tools.http import HttpTool
from memorygraph.runtime.values import ValueProblem, require_text

HTTP = {
    "httpGet": "GET",
    "httpPost": "POST",
    "httpPut": "PUT",
    "httpPatch": "PATCH",
    "httpDelete": "DELETE",
}
"""The functions, and the methods of HTTP that they use."""

_SHOWN_OF_A_BODY = 300


class Http:
    """Makes the requests of a conversation, as far as its user has allowed them."""

    def __init__(self, permissions: Permissions) -> None:
        self._permissions = permissions

    def call(self, name: str, values: Sequence[Any]) -> Any:
        """The JSON value or the text of the answer; null where it is empty.

        The second value is the body, as JSON, or as it is where it is a text; for a GET it is the query.

        Raises:
            Refused: nobody has allowed this host; nothing was sent.
            ToolFailure: there was no answer, or its status is 400 or more.
            ValueProblem: the arguments are no URL and no body.
        """
        if not 1 <= len(values) <= 2:
            raise ValueProblem(
                f"`{name}` takes a URL and a body, and was given {len(values)}", "invalid-argument-count"
            )
        base, path = _split(require_text(values[0], f"the URL of `{name}`"))
        sent = None if len(values) == 1 or values[1] is UNDEFINED else plain(values[1])
        options = {"method": HTTP[name], "path": path, ("query" if name == "httpGet" else "body"): sent}
        with closing(HttpTool(name, base, Path(), self._permissions)) as tool:
            answer = tool.call("request", [options]).value
        if answer["status"] >= 400:
            body = answer["body"] if isinstance(answer["body"], str) else compact(answer["body"])
            raise ToolFailure(f"`{name}` failed: {base} answered {answer['status']}: {body[:_SHOWN_OF_A_BODY]}")
        return answer["body"]


def _split(url: str) -> tuple[str, str]:
    """The host of a URL with its scheme, and what stands behind them."""
    if not url.isprintable() or url != url.strip():
        # `urlsplit` leaves such signs out, and what it finds is not what stands there.
        raise ValueProblem(f"this is no URL: {shown(url)} holds line breaks, or blanks around it", "invalid-url")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise MemoryGraphError(f"this is no URL: {error}") from None
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise ValueProblem("a URL begins with `http://` or `https://` and a host", "invalid-url")
    base = f"{parts.scheme}://{parts.netloc}"
    rest = url[url.index("://") + 3 + len(parts.netloc) :].partition("#")[0]
    return base, rest
