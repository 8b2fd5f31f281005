"""What programs give to Python code: JSON values that are checked and named in messages."""

from __future__ import annotations

from typing import Any

from memorygraph.errors import MemoryGraphError


class ValueProblem(MemoryGraphError):  # noqa: N818 - the place in the program makes it an error
    """What cannot be done with a value; the interpreter adds the place."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


def describe_type(value: Any) -> str:
    """The type of a JSON value, as messages name it."""
    names = {bool: "a boolean", str: "a text", list: "a list", dict: "an object", type(None): "none"}
    return next((name for known, name in names.items() if isinstance(value, known)), "a number")


def is_whole(value: Any) -> bool:
    """Whether a value is a number without a fraction; true, false and infinity are not.

    >>> is_whole(2.0), is_whole(True), is_whole(float("inf"))
    (True, False, False)
    """
    return value.is_integer() if isinstance(value, float) else isinstance(value, int) and not isinstance(value, bool)


def write_number(value: float, what: str) -> str:
    """Write a number; one without a fraction is whole. `what` is the value as a message names it.

    >>> write_number(2.0, "it"), write_number(0.5, "it")
    ('2', '0.5')
    """
    try:
        return str(int(value)) if is_whole(value) else str(value)
    except ValueError:
        raise MemoryGraphError(f"{what} is a number with more digits than can be written") from None


def require_text(value: Any, what: str) -> str:
    """Return a value that must be a text."""
    if not isinstance(value, str):
        raise MemoryGraphError(f"{what} is a text, and this is {describe_type(value)}")
    return value


def require_object(value: Any, what: str) -> dict[str, Any]:
    """Return a value that must be an object."""
    if not isinstance(value, dict):
        raise MemoryGraphError(f"{what} is an object, and this is {describe_type(value)}")
    return value
