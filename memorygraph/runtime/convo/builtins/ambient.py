"""Functions of more than their arguments: variables by name, the time, new ids, printing, and requests."""

from __future__ import annotations

import re
import sys
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from memorygraph.context.rendering import compact
from memorygraph.errors import MemoryGraphError
from memorygraph.limits import POLL_S, require_running
from memorygraph.runtime.convo.builtins.registry import builtin
from memorygraph.runtime.convo.values import UNDEFINED, excerpt, is_number, name_kind, render_value, to_plain
from memorygraph.runtime.tools import ToolFailure
from memorygraph.runtime.tools.http import HttpTool, is_redirect
from memorygraph.runtime.values import ValueProblem, require_text

if TYPE_CHECKING:
    from memorygraph.runtime.convo.scope import ConvoScope

MAX_SLEEP_MS = 60_000
MAX_SHOWN_BODY_CHARACTERS = 300


@builtin("getVar", pure=False)
def get_variable(scope: ConvoScope, name: Any, default: Any = UNDEFINED) -> Any:
    """Read the variable of a name, which can be a path."""
    found = scope.look_up(require_text(name, "the name of a variable").split("."))
    return default if found is UNDEFINED else found


@builtin("setVar", pure=False)
def set_variable(scope: ConvoScope, name: Any, second: Any, *more: Any) -> Any:
    """Set a variable of the conversation, also from within a body: `setVar("user" "name" "Ada")`."""
    *names, value = (name, second, *more)
    path = ".".join(require_text(part, "the name of a variable") for part in names).split(".")
    replace(scope, variables=None).assign(path, value)
    return value


@builtin("print", pure=False)
def print_on_stderr(*values: Any) -> Any:
    """Print values on the standard error, without their control characters."""
    text = " ".join(map(render_value, values))
    sys.stderr.write("".join(c for c in text if c.isprintable() or c in "\n\t") + "\n")
    return UNDEFINED


@builtin("tmpl")
def read_markdown_variable(scope: ConvoScope, name: Any, layout: Any = "plain") -> str:  # noqa: ARG001 - one layout
    """Read a part of a message by its name in the map `__md`; empty without one."""
    found = scope.look_up(["__md", render_value(name)])
    return "" if found is UNDEFINED else render_value(found)


builtin("now", pure=False)(lambda: time.time_ns() // 1_000_000)  # milliseconds since 1970
builtin("uuid", pure=False)(lambda: str(uuid.uuid4()))
builtin("shortUuid", pure=False)(lambda: urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("="))
builtin("today", pure=False)(lambda: f"{datetime.now().astimezone():%Y-%m-%d}")


@builtin("sleep", pure=False)
def sleep(delay: Any = UNDEFINED) -> int:
    """Wait for some milliseconds, and give how many it were."""
    wanted = delay if is_number(delay) else 0
    if wanted > MAX_SLEEP_MS:
        raise ValueProblem(f"`sleep` waits for at most {MAX_SLEEP_MS:,} milliseconds", "value-too-large")
    started = time.monotonic()
    while (left := started + wanted / 1000 - time.monotonic()) > 0:
        require_running()
        time.sleep(min(left, POLL_S))
    return round((time.monotonic() - started) * 1000)


DATE_FIELDS: dict[str, Callable[[datetime], str]] = {
    "yyyy": lambda at: f"{at.year:04}",
    "yy": lambda at: f"{at.year % 100:02}",
    "MMMM": lambda at: f"{at:%B}",
    "MMM": lambda at: f"{at:%b}",
    "MM": lambda at: f"{at.month:02}",
    "M": lambda at: f"{at.month}",
    "dd": lambda at: f"{at.day:02}",
    "do": lambda at: ordinal(at.day),
    "d": lambda at: f"{at.day}",
    "MMMMM": lambda at: f"{at:%B}"[0],
    "Mo": lambda at: ordinal(at.month),
    "EEEEE": lambda at: f"{at:%A}"[0],
    "EEEE": lambda at: f"{at:%A}",
    "EEE": lambda at: f"{at:%a}",
    "EE": lambda at: f"{at:%a}",
    "E": lambda at: f"{at:%a}",
    "y": lambda at: f"{at.year}",
    "HH": lambda at: f"{at.hour:02}",
    "H": lambda at: f"{at.hour}",
    "hh": lambda at: f"{at:%I}",
    "h": lambda at: f"{at.hour % 12 or 12}",
    "mm": lambda at: f"{at.minute:02}",
    "m": lambda at: f"{at.minute}",
    "ss": lambda at: f"{at.second:02}",
    "s": lambda at: f"{at.second}",
    "SSS": lambda at: f"{at.microsecond // 1000:03}",
    "aaa": lambda at: f"{at:%p}".lower(),
    "a": lambda at: f"{at:%p}",
    "PPPP": lambda at: f"{at:%A}, {at:%B} {ordinal(at.day)}, {at.year}",
    "PPP": lambda at: f"{at:%B} {ordinal(at.day)}, {at.year}",
    "PP": lambda at: f"{at:%b} {at.day}, {at.year}",
    "P": lambda at: f"{at:%m/%d/}{at.year:04}",
    "pp": lambda at: f"{at.hour % 12 or 12}:{at:%M}:{at:%S} {at:%p}",
    "p": lambda at: f"{at.hour % 12 or 12}:{at:%M} {at:%p}",
    "T": lambda at: f"{int(at.timestamp() * 1000)}",
    "t": lambda at: f"{int(at.timestamp())}",
    "xx": lambda at: f"{at:%z}"[:5],
    "XXX": lambda at: "Z" if f"{at:%z}"[1:5] == "0000" else f"{at:%z}"[:3] + ":" + f"{at:%z}"[3:5],
    "xxx": lambda at: f"{at:%z}"[:3] + ":" + f"{at:%z}"[3:5],
}
# A run of one letter is a field as a whole; an `o` after it asks for an ordinal number.
# `''` is an apostrophe, also in a text in apostrophes, which goes to the end where nothing closes it.
DATE_FIELD = re.compile(r"''|'((?:''|[^'])+)'?|([A-Za-z])\2*o?")


def ordinal(number: int) -> str:
    """Write an ordinal number.

    >>> [ordinal(number) for number in (1, 2, 3, 4, 11, 12, 13, 21)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st']
    """
    teens = number % 100 in {11, 12, 13}
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


@builtin("dateTime", pure=False)
def format_date_time(layout: Any = UNDEFINED, at: Any = UNDEFINED) -> str:
    """Format a time, or the present one, in a layout such as `MMMM do, yyyy 'at' HH:mm`.

    Without a layout, or with letters in it that are no field, the time is as in ISO 8601.
    """
    moment = read_time(at)
    if layout is UNDEFINED:
        return moment.isoformat(timespec="seconds")
    layout = require_text(layout, "the layout of a time")
    if not all(found[0][0] == "'" or found[0] in DATE_FIELDS for found in DATE_FIELD.finditer(layout)):
        return moment.isoformat(timespec="seconds")

    def write_field(found: re.Match[str]) -> str:
        if found[0].startswith("'"):
            return (found[1] or "''").replace("''", "'")
        return DATE_FIELDS[found[0]](moment)

    return DATE_FIELD.sub(write_field, layout)


def read_time(at: Any) -> datetime:
    """Read a time in milliseconds since 1970, or as in ISO 8601; undefined is the present."""
    try:
        if at is UNDEFINED:
            return datetime.now().astimezone()
        if is_number(at):
            return datetime.fromtimestamp(at / 1000).astimezone()
        if isinstance(at, str):
            return datetime.fromisoformat(at).astimezone()
    except (ValueError, OverflowError, OSError):
        pass
    raise ValueProblem(f"a time is in milliseconds or as in ISO 8601, and this is {name_kind(at)}", "no-time")


# Requests to the hosts that the user has allowed: those that the http tool of AgentScript makes


def request(method: str, name: str, scope: ConvoScope, *values: Any) -> Any:
    """Make a request to a URL with a body or a query; give the JSON value or the text of the answer, or null."""
    if not 1 <= len(values) <= 2:
        raise ValueProblem(f"`{name}` takes a URL and a body, and was given {len(values)}", "invalid-argument-count")
    base, path = split_url(require_text(values[0], f"the URL of `{name}`"))
    sent = None if len(values) == 1 or values[1] is UNDEFINED else to_plain(values[1])
    options = {"method": method, "path": path, ("query" if method == "GET" else "body"): sent}
    with closing(HttpTool(name, base, Path(), scope.environment.permissions)) as tool:
        answer = tool.call("request", [options]).value
    if is_redirect(method, answer):
        raise ToolFailure(f"`{name}` failed: the answer to a {method} is a redirect, which is not followed")
    if answer["status"] >= 400:
        body = answer["body"] if isinstance(answer["body"], str) else compact(answer["body"])
        shown = body[:MAX_SHOWN_BODY_CHARACTERS]
        raise ToolFailure(f"`{name}` failed: {base} answered {answer['status']}: {shown}")
    return answer["body"]


for method in ("Get", "Post", "Put", "Patch", "Delete"):
    builtin(f"http{method}", pure=False, measured=False)(partial(request, method.upper(), f"http{method}"))


@builtin("httpGetString", pure=False, measured=False)
def request_text(scope: ConvoScope, *values: Any) -> str:
    """Request a URL; give the text of the answer, of JSON without its blanks."""
    body = request("GET", "httpGetString", scope, *values)
    return "" if body is None else body if isinstance(body, str) else compact(body)


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
    rest = url[url.index("://") + 3 + len(parts.netloc) :].partition("#")[0]
    return f"{parts.scheme}://{parts.netloc}", rest
