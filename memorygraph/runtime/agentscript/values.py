"""The values of AgentScript: JSON values, and capabilities, which never become data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memorygraph.context.origins import copy_value
from memorygraph.context.rendering import compact
from memorygraph.json_text import parse_json
from memorygraph.languages.agentscript.syntax import Agent, Function
from memorygraph.runtime.imports import Capability, redact_uri
from memorygraph.runtime.values import ValueProblem, describe_type, is_whole

if TYPE_CHECKING:
    from memorygraph.runtime.agentscript.units import Unit


@dataclass(frozen=True, eq=False)
class ModelValue(Capability):
    """An imported language model."""

    name: str
    uri: str
    kind = "llm"

    @property
    def shown_uri(self) -> str:
        """Its URI as records and traces have it: without what may be a password."""
        return redact_uri(self.uri)


@dataclass(frozen=True, eq=False)
class AgentValue(Capability):
    """An agent, of this file or an imported one."""

    name: str
    agent: Agent
    unit: Unit
    kind = "agent"


@dataclass(frozen=True, eq=False)
class FunctionValue(Capability):
    """A function of the agent that runs."""

    name: str
    function: Function
    agent: AgentValue
    kind = "function"


@dataclass(frozen=True, eq=False)
class MethodValue(Capability):
    """A method that was named and not called."""

    name: str
    kind = "method"


class SummaryList(list[Any]):
    """What `.summary` of a list is: a copy of it that JSON can say. No model has summarized anything.

    It stays one where it is assigned or handed on, so that a trace can tell it from the list itself.
    """


def describe_value(value: Any) -> str:
    """A value as messages name it: a capability by its name, data by its type."""
    return f"the {value.kind} `{value.name}`" if isinstance(value, Capability) else describe_type(value)


def is_true(value: Any) -> bool:
    """Whether a value counts as true: none, false, 0, "" and [] do not; every object does.

    >>> is_true([]), is_true({}), is_true("0")
    (False, True, True)
    """
    return True if isinstance(value, (Mapping, Capability)) else bool(value)


def are_equal(left: Any, right: Any) -> bool:
    """Whether two values have the same compact JSON text; so the order of keys matters.

    >>> are_equal(1, 1.0), are_equal(1, "1"), are_equal({"a": 1, "b": 2}, {"b": 2, "a": 1})
    (True, False, False)
    """
    if find_capability(left) or find_capability(right):
        return left is right
    return compact(left) == compact(right)


def find_capability(value: Any) -> Capability | None:
    """The first capability in a value, at any depth."""
    return next((part for part in walk_parts(value) if isinstance(part, Capability)), None)


def has_summary(value: Any) -> bool:
    """Whether a value is the `.summary` of a list, or holds one at any depth."""
    return any(isinstance(part, SummaryList) for part in walk_parts(value))


def walk_parts(value: Any) -> Iterator[Any]:
    """Yield a value and all its parts, each list and object once."""
    waiting, seen = [value], set()
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, (list, dict)) and id(part) not in seen:
            seen.add(id(part))
            waiting.extend(part.values() if isinstance(part, dict) else part)


def require_data(value: Any, use: str) -> Any:
    """Return the value itself, if no capability is in it."""
    capability = find_capability(value)
    if capability is not None:
        message = f"{describe_value(capability)} is a capability and not data; it cannot {use}"
        raise ValueProblem(message, "capability-leak")
    return value


def get_member(value: Any, name: str) -> Any:
    """Evaluate `value.name`."""
    if isinstance(value, dict):
        if name not in value:
            known = ", ".join(f"`{key}`" for key in list(value)[:20]) or "no fields"
            raise ValueProblem(f"the object has no field `{name}`; it has {known}", "missing-field")
        return value[name]
    if isinstance(value, list):
        if name == "length":
            return len(value)
        if name == "summary":
            return SummaryList(copy_value(require_data(value, "be summarized")))
        if name == "add":
            return MethodValue("add")
        raise ValueProblem(f"a list has `length`, `summary` and `add`, and no `{name}`", "missing-field")
    raise ValueProblem(f"{describe_value(value)} has no field `{name}`{explain_broken_json(value)}", "missing-field")


def explain_broken_json(value: Any) -> str:
    """The end of a message about a text without fields: that it begins as JSON does, and is none; else empty."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return ""
    try:
        parse_json(value)
    except ValueError:
        return "; it begins as JSON, and was taken as a text because it is not valid JSON"
    return ""


def get_item(value: Any, index: Any) -> Any:
    """Evaluate `value[index]`: an item of a list by its number from 0, or a field of an object by its name."""
    if isinstance(value, dict) and isinstance(index, str):
        return get_member(value, index)
    if not isinstance(value, list):
        raise ValueProblem(f"{describe_value(value)} has no items", "invalid-index")
    if not is_whole(index) or not 0 <= index < len(value):
        shown = index if isinstance(index, (int, float)) else describe_value(index)
        raise ValueProblem(f"there is no item {shown} in a list of {len(value)}; the first is 0", "invalid-index")
    return value[int(index)]
