"""What depends on more than the arguments: variables by name, the time, new ids, and what is printed."""

from __future__ import annotations

import re
import sys
import time
import uuid
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memorygraph.runtime.convo.builtins.builtin import Table, registrar
from memorygraph.runtime.convo.values import UNDEFINED, is_number, kind_of, render_value
from memorygraph.runtime.values import ValueProblem, require_text

if TYPE_CHECKING:
    from memorygraph.runtime.convo.scope import Scope

AMBIENT: Table = {}
_builtin = registrar(AMBIENT)


@_builtin("getVar", 1, 2, pure=False, scoped=True)
def _get_var(scope: Scope, name: Any, default: Any = UNDEFINED) -> Any:
    """The variable of a name, which can be a path."""
    found = scope.look_up(require_text(name, "the name of a variable").split("."))
    return default if found is UNDEFINED else found


@_builtin("setVar", 2, pure=False, scoped=True)
def _set_var(scope: Scope, *path_and_value: Any) -> Any:
    """Set a variable of the conversation, also in a body: `setVar("user" "name" "Ada")`."""
    *names, value = path_and_value
    scope.assign_shared(".".join(require_text(name, "the name of a variable") for name in names).split("."), value)
    return value


@_builtin("print", pure=False)
def _print(*values: Any) -> Any:
    """Show values on the standard error; control characters in them are left out. The last one is the value."""
    text = " ".join(map(render_value, values))
    sys.stderr.write("".join(c for c in text if c.isprintable() or c in "\n\t") + "\n")
    return values[-1] if values else UNDEFINED


@_builtin("now", 0, 0, pure=False)
def _now() -> int:
    """The milliseconds since 1970."""
    return time.time_ns() // 1_000_000


@_builtin("uuid", 0, 0, pure=False)
def _uuid() -> str:
    return str(uuid.uuid4())


_FIELDS: dict[str, Callable[[datetime], str]] = {
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
_FIELD = re.compile("|".join(["'([^']*)'", *sorted(_FIELDS, key=len, reverse=True)]))


@_builtin("dateTime", 0, 2, pure=False)
def date_time(layout: Any = UNDEFINED, at: Any = UNDEFINED) -> str:
    """A time, or the present one, in a layout such as `yyyy-MM-dd HH:mm:ss`; without a layout as in ISO 8601.

    A time is in milliseconds since 1970, or a text as in ISO 8601. Text of a layout stands in single quotes.

    >>> date_time("dd.MM.yy 'at' H:mm", "2024-03-01T09:05:00")
    '01.03.24 at 9:05'

    Raises:
        ValueProblem: it is no time.
    """
    moment = _moment(at)
    if layout is UNDEFINED:
        return moment.isoformat(timespec="seconds")
    layout = require_text(layout, "the layout of a time")
    return _FIELD.sub(lambda found: found[1] or "'" if found[0][0] == "'" else _FIELDS[found[0]](moment), layout)


def _moment(at: Any) -> datetime:
    try:
        if at is UNDEFINED:
            return datetime.now().astimezone()
        if is_number(at):
            return datetime.fromtimestamp(at / 1000).astimezone()
        if isinstance(at, str):
            return datetime.fromisoformat(at).astimezone()
    except (ValueError, OverflowError, OSError):
        pass
    raise ValueProblem(f"a time is in milliseconds or as in ISO 8601, and this is {kind_of(at)}", "no-time")
