"""Bad elements: nodes, edges and messages with values that none has, by raw Cypher. Reads go on, and name them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from memorygraph.errors import printable
from memorygraph.json_text import UnreadableRecord, parse_stored_json

MAX_NAMED = 20
MAX_VALUE_CHARACTERS = 80  # the id of a message has 64

_TEXTS = {"id", "name", "data", "kind", "verb"}

_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


class BadElementWarning(UserWarning):
    """A node, an edge or a message that was read has a value that none has; `doctor --graph` says how it is mended."""


class CheckElement(Protocol):
    """Names an element where one of its values is bad, and tells whether none is: `check("edge", "e", weight=7.5)`."""

    def __call__(self, what: str, identifier: Any, /, **values: Any) -> bool: ...  # noqa: D102


@contextmanager
def hear_bad_elements(tell: Callable[[str], None]) -> Iterator[None]:
    """Have bad elements told, in this thread or task, and not warned about."""
    token = _LISTENER.set(tell)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def naming_bad_elements() -> Iterator[CheckElement]:
    """Name the first `MAX_NAMED` bad elements of one read, each once, and at its end say that there were more."""
    named = set[str]()
    more = False

    def check(what: str, identifier: Any, /, **values: Any) -> bool:
        nonlocal more
        wrong = find_wrong({"id": identifier, **values})
        if wrong:
            shown = ", ".join(f"{name} = {show_stored_value(value)}" for name, value in wrong.items())
            message = f"{what} {show_stored_value(identifier)} is not as it should be: {shown}"
            if message not in named and not (more := len(named) >= MAX_NAMED):
                named.add(message)
                _tell(message)
        return not wrong

    yield check
    if more:
        _tell("more nodes, edges or messages are not as they should be")


def find_wrong(values: Mapping[str, Any]) -> dict[str, Any]:
    """Find the values that no node, edge or message has.

    >>> find_wrong({"id": "e", "verb": "likes", "weight": 7.5}), find_wrong({"id": "a", "name": ""})
    ({'weight': 7.5}, {})
    """
    return {name: value for name, value in values.items() if not _is_right(name, value)}


def _is_right(name: str, value: Any) -> bool:
    if name == "body":
        return _is_message(value)
    if name in _TEXTS:
        return isinstance(value, str) and (value != "" or name != "id")
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0.0 <= value <= 1.0


def _is_message(body: Any) -> bool:
    try:
        said = parse_stored_json(body) if isinstance(body, str) else None
    except UnreadableRecord:
        return False
    if not isinstance(said, dict) or not isinstance(said.get("role"), str):
        return False
    content = said.get("content") or ""
    return isinstance(content, str) or (isinstance(content, list) and all(isinstance(part, dict) for part in content))


def show_stored_value(value: Any) -> str:
    """A stored value as a message shows it."""
    text = "missing" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    return printable(text if len(text) <= MAX_VALUE_CHARACTERS else text[: MAX_VALUE_CHARACTERS - 1] + "…")


def _tell(message: str) -> None:
    message += "; `memorygraph doctor --graph` says how it is mended"
    listener = _LISTENER.get()
    if listener is None:
        warnings.warn(message, BadElementWarning, stacklevel=2)
    else:
        listener(message)
