"""What programs give to Python code: JSON values that are checked and named in messages, and calls of methods."""

from __future__ import annotations

import inspect
from typing import Any

from memorygraph.errors import MemoryGraphError


class ValueProblem(MemoryGraphError):  # noqa: N818 - the place in the program makes it an error
    """What cannot be done with a value; the interpreter adds the place."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


def describe_type(value: Any) -> str:
    """The type of a JSON value, as messages name it.

    >>> describe_type([1]), describe_type(None), describe_type(True)
    ('a list', 'none', 'a boolean')
    """
    names = {bool: "a boolean", str: "a text", list: "a list", dict: "an object", type(None): "none"}
    return next((name for known, name in names.items() if isinstance(value, known)), "a number")


def require_text(value: Any, what: str) -> str:
    """Return a value that must be a text.

    Raises:
        MemoryGraphError: it is not a text.
    """
    if not isinstance(value, str):
        raise MemoryGraphError(f"{what} is a text, and this is {describe_type(value)}")
    return value


def require_object(value: Any, what: str) -> dict[str, Any]:
    """Return a value that must be an object.

    Raises:
        MemoryGraphError: it is not an object.
    """
    if not isinstance(value, dict):
        raise MemoryGraphError(f"{what} is an object, and this is {describe_type(value)}")
    return value


def call_method(owner: object, methods: tuple[str, ...], method: str, arguments: list[Any]) -> Any:
    """Call a Python method by its name, if it is one of `methods` and takes these arguments.

    >>> class Bell:
    ...     def ring(self, times=1): return "ding" * times
    >>> call_method(Bell(), ("ring",), "ring", [2])
    'dingding'

    Raises:
        MemoryGraphError: there is no such method, or it takes other arguments.
    """
    if method not in methods:
        raise MemoryGraphError(f"it has no such method; it has {', '.join(methods)}")
    function = getattr(owner, method)
    signature = inspect.signature(function)
    try:
        signature.bind(*arguments)
    except TypeError:
        wanted = ", ".join(
            name if parameter.default is parameter.empty else f"{name}?"
            for name, parameter in signature.parameters.items()
        )
        given = f"{len(arguments)} argument{'' if len(arguments) == 1 else 's'}"
        raise MemoryGraphError(f"it takes ({wanted}), and was given {given}") from None
    return function(*arguments)
