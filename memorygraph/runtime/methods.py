"""How a program's call reaches a Python method: its name, its number of arguments, and what they must be."""

from __future__ import annotations

import inspect
from typing import Any

from memorygraph.errors import MemoryGraphError


def call_method(owner: object, methods: tuple[str, ...], method: str, arguments: list[Any]) -> Any:
    """Call the Python method of that name with the arguments, if they fit it.

    >>> class Bell:
    ...     def ring(self, times=1): return "ding" * times
    >>> call_method(Bell(), ("ring",), "ring", [2])
    'dingding'

    Raises:
        MemoryGraphError: it has no such method, or the method takes other arguments.
    """
    if method not in methods:
        raise MemoryGraphError(f"it has no such method; it has {', '.join(methods)}")
    function = getattr(owner, method)
    signature = inspect.signature(function)
    try:
        signature.bind(*arguments)
    except TypeError:
        optional = {name: parameter.default is not parameter.empty for name, parameter in signature.parameters.items()}
        wanted = ", ".join(f"{name}?" if optional[name] else name for name in optional)
        given = f"{len(arguments)} argument{'' if len(arguments) == 1 else 's'}"
        raise MemoryGraphError(f"it takes ({wanted}), and was given {given}") from None
    return function(*arguments)


def text_of(value: Any, what: str) -> str:
    """A value that must be a text.

    Raises:
        MemoryGraphError: it is none.
    """
    if not isinstance(value, str):
        raise MemoryGraphError(f"{what} is a text, and this is {kind(value)}")
    return value


def object_of(value: Any, what: str) -> dict[str, Any]:
    """A value that must be an object.

    Raises:
        MemoryGraphError: it is none.
    """
    if not isinstance(value, dict):
        raise MemoryGraphError(f"{what} is an object, and this is {kind(value)}")
    return value


def kind(value: Any) -> str:
    """What a JSON value is called in messages."""
    names = {bool: "a boolean", str: "a text", list: "a list", dict: "an object", type(None): "none"}
    return next((name for known, name in names.items() if isinstance(value, known)), "a number")
