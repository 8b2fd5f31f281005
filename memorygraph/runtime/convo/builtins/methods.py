"""The methods of texts: `name.startsWith("a")`. The variable before the dot is the first value of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memorygraph.runtime.convo.builtins.registry import Builtin
from memorygraph.runtime.convo.values import excerpt, name_kind
from memorygraph.runtime.values import ValueProblem


def require_text_of_method(value: Any) -> str:
    """Return the text that a method is given."""
    if not isinstance(value, str):
        raise ValueProblem(
            f"a method of a text takes texts, and this is {name_kind(value)}: {excerpt(value)}", "invalid-arguments"
        )
    return value


def split(text: str, separator: Any) -> list[str]:
    """The parts of a text between separators; without a separator, its characters."""
    return text.split(require_text_of_method(separator)) if separator != "" else list(text)


METHODS = {
    method.name: method
    for method in (
        Builtin("endsWith", lambda text, end: text.endswith(require_text_of_method(end)), 2, 2),
        Builtin("includes", lambda text, part: require_text_of_method(part) in text, 2, 2),
        Builtin("indexOf", lambda text, part: text.find(require_text_of_method(part)), 2, 2),
        Builtin("split", split, 2, 2),
        Builtin("startsWith", lambda text, start: text.startswith(require_text_of_method(start)), 2, 2),
        Builtin("toLowerCase", str.lower, 1, 1),
        Builtin("toUpperCase", str.upper, 1, 1),
        Builtin("trim", str.strip, 1, 1),
    )
}


def is_method(name: Sequence[str]) -> bool:
    """Whether the parts of a name are those of a variable and, behind them, of a method of texts."""
    return len(name) > 1 and name[-1] in METHODS
