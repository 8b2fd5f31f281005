"""The values of AgentScript: JSON values, and capabilities, which never become data.

Source: specs/agentscript.md, section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memorygraph.context.origins import copy_value
from memorygraph.context.rendering import compact
from memorygraph.errors import MemoryGraphError

if TYPE_CHECKING:
    from memorygraph.languages.agentscript.syntax import Agent, Function
    from memorygraph.runtime.agentscript.units import Unit
    from memorygraph.runtime.memories import Memory
    from memorygraph.runtime.tools import Tool


class Capability:
    """What a program can use but not say: it never reaches a prompt, a tool, a memory, or the result."""

    kind: str
    name: str


@dataclass(frozen=True, eq=False)
class ToolValue(Capability):
    """An imported tool."""

    name: str
    tool: Tool
    kind = "tool"


@dataclass(frozen=True, eq=False)
class ModelValue(Capability):
    """An imported language model."""

    name: str
    uri: str
    kind = "llm"


@dataclass(frozen=True, eq=False)
class MemoryValue(Capability):
    """An imported memory."""

    name: str
    memory: Memory
    kind = "memory"


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


class ValueProblem(MemoryGraphError):  # noqa: N818 - the place in the program makes it an error
    """What cannot be done with a value; the interpreter adds the place."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


def kind_of(value: Any) -> str:
    """What a value is called in messages.

    >>> kind_of([1]), kind_of(None), kind_of(True)
    ('a list', 'none', 'a boolean')
    """
    if isinstance(value, Capability):
        return f"the {value.kind} `{value.name}`"
    if value is None:
        return "none"
    names = {bool: "a boolean", str: "a text", list: "a list", dict: "an object"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "a number")


def truth(value: Any) -> bool:
    """Whether a value counts as true: none, false, 0, "" and [] do not; every object does.

    >>> truth([]), truth({}), truth("0")
    (False, True, True)
    """
    return True if isinstance(value, (Mapping, Capability)) else bool(value)


def equal(left: Any, right: Any) -> bool:
    """Whether two values have the same compact JSON text; so the order of keys matters.

    >>> equal(1, 1.0), equal(1, "1"), equal({"a": 1, "b": 2}, {"b": 2, "a": 1})
    (True, False, False)
    """
    if find_capability(left) or find_capability(right):
        return left is right
    return compact(left) == compact(right)


def find_capability(value: Any) -> Capability | None:
    """The first capability in a value, at any depth."""
    waiting, seen = [value], set()
    while waiting:
        found = waiting.pop()
        if isinstance(found, Capability):
            return found
        if isinstance(found, (list, dict)) and id(found) not in seen:
            seen.add(id(found))
            waiting.extend(found.values() if isinstance(found, dict) else found)
    return None


def data_only(value: Any, use: str) -> Any:
    """The value itself, if no capability is in it.

    Raises:
        ValueProblem: one is.
    """
    capability = find_capability(value)
    if capability is not None:
        raise ValueProblem(
            f"the {capability.kind} `{capability.name}` is a capability and not data; it cannot {use}",
            "capability-leak",
        )
    return value


def member(value: Any, name: str) -> Any:
    """`value.name`.

    Raises:
        ValueProblem: it has no such member.
    """
    if isinstance(value, dict):
        if name not in value:
            known = ", ".join(f"`{key}`" for key in list(value)[:20]) or "no fields"
            raise ValueProblem(f"the object has no field `{name}`; it has {known}", "missing-field")
        return value[name]
    if isinstance(value, list):
        if name == "length":
            return len(value)
        if name == "summary":
            return copy_value(data_only(value, "be summarized"))
        if name == "add":
            return MethodValue("add")
        raise ValueProblem(f"a list has `length`, `summary` and `add`, and no `{name}`", "missing-field")
    raise ValueProblem(f"{kind_of(value)} has no field `{name}`", "missing-field")


def item_at(value: Any, index: Any) -> Any:
    """`value[index]`: an item of a list by its number from 0, or a field of an object by its name.

    Raises:
        ValueProblem: there is none.
    """
    if isinstance(value, dict) and isinstance(index, str):
        return member(value, index)
    if not isinstance(value, list):
        raise ValueProblem(f"{kind_of(value)} has no items", "invalid-index")
    whole = isinstance(index, (int, float)) and not isinstance(index, bool) and index == int(index)
    if not whole or not 0 <= index < len(value):
        shown = index if isinstance(index, (int, float)) else kind_of(index)
        raise ValueProblem(f"there is no item {shown} in a list of {len(value)}; the first is 0", "invalid-index")
    return value[int(index)]


def add_to_list(value: Any, arguments: list[Any]) -> Any:
    """`value.add(item)`: the list itself, longer by one.

    Raises:
        ValueProblem: it is no list, or not exactly one item.
    """
    if not isinstance(value, list):
        raise ValueProblem(f"{kind_of(value)} has no method `add`", "not-callable")
    if len(arguments) != 1:
        raise ValueProblem(f"`add` takes one item, and not {len(arguments)}", "invalid-argument-count")
    value.append(arguments[0])
    return value


def assign_member(value: Any, name: str, new: Any) -> None:
    """`value.name = new`.

    Raises:
        ValueProblem: it is no object.
    """
    if not isinstance(value, dict):
        raise ValueProblem(f"{kind_of(value)} has no fields that could be set", "invalid-assignment-target")
    value[name] = new
