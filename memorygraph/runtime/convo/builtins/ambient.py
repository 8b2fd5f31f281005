"""Functions of more than their arguments: variables by name, the time, new ids, and printing."""

from __future__ import annotations

import re
import sys
import time
import uuid
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memorygraph.runtime.convo.builtins.registry import builtin
from memorygraph.runtime.convo.values import UNDEFINED, is_number, name_kind, render_value
from memorygraph.runtime.values import ValueProblem, require_text

if TYPE_CHECKING:
    from memorygraph.runtime.convo.scope import ConvoScope


@builtin("getVar", pure=False)
def get_variable(scope: ConvoScope, name: Any, default: Any = UNDEFINED) -> Any:
    """Read the variable of a name, which can be a path."""
    found = scope.look_up(require_text(name, "the name of a variable").split("."))
    return default if found is UNDEFINED else found


@builtin("setVar", pure=False)
def set_variable(scope: ConvoScope, name: Any, second: Any, *more: Any) -> Any:
    """Set a variable of the conversation, also from within a body: `setVar("user" "name" "Ada")`."""
    *names, value = (name, second, *more)
    scope.assign_shared(".".join(require_text(part, "the name of a variable") for part in names).split("."), value)
    return value


@builtin("print", pure=False)
def print_values(*values: Any) -> Any:
    """Print values on the standard error, without their control characters; give the last one."""
    text = " ".join(map(render_value, values))
    sys.stderr.write("".join(c for c in text if c.isprintable() or c in "\n\t") + "\n")
    return values[-1] if values else UNDEFINED


@builtin("now", pure=False)
def read_clock() -> int:
    """Read the time, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


@builtin("uuid", pure=False)
def make_uuid() -> str:
    """Make a random UUID."""
    return str(uuid.uuid4())


DATE_FIELDS: dict[str, Callable[[datetime], str]] = {
    "yyyy": lambda at: f"{at.year:04}",
    "yy": lambda at: f"{at.year % 100:02}",
    "MMMM": lambda at: f"{at:%B}",
    "MMM": lambda at: f"{at:%b}",
    "MM": lambda at: f"{at.month:02}",
    "M": lambda at: f"{at.month}",
    "dd": lambda at: f"{at.day:02}",
    "d": lambda at: f"{at.day}",
    "EEEE": lambda at: f"{at:%A}",
    "EEE": lambda at: f"{at:%a}",
    "HH": lambda at: f"{at.hour:02}",
    "H": lambda at: f"{at.hour}",
    "hh": lambda at: f"{at:%I}",
    "h": lambda at: f"{at.hour % 12 or 12}",
    "mm": lambda at: f"{at.minute:02}",
    "m": lambda at: f"{at.minute}",
    "ss": lambda at: f"{at.second:02}",
    "s": lambda at: f"{at.second}",
    "SSS": lambda at: f"{at.microsecond // 1000:03}",
    "a": lambda at: f"{at:%p}",
    "xxx": lambda at: f"{at:%z}"[:3] + ":" + f"{at:%z}"[3:5],
}
DATE_FIELD = re.compile("|".join(["'([^']*)'", *sorted(DATE_FIELDS, key=len, reverse=True)]))


@builtin("dateTime", pure=False)
def format_date_time(layout: Any = UNDEFINED, at: Any = UNDEFINED) -> str:
    """Format a time, or the present one, in a layout such as `yyyy-MM-dd HH:mm:ss`; else as in ISO 8601.

    A time is in milliseconds since 1970, or a text as in ISO 8601. Text of a layout stands in single quotes.
    """
    moment = read_time(at)
    if layout is UNDEFINED:
        return moment.isoformat(timespec="seconds")
    layout = require_text(layout, "the layout of a time")
    return DATE_FIELD.sub(
        lambda found: found[1] or "'" if found[0][0] == "'" else DATE_FIELDS[found[0]](moment), layout
    )


def read_time(at: Any) -> datetime:
    """Read a time in milliseconds or as in ISO 8601; undefined is the present."""
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
