"""Comparisons. Fewer than two values never compare; and only numbers, or only texts, stand in an order."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from memorygraph.runtime.convo.builtins.builtin import Table, registrar
from memorygraph.runtime.convo.types import accepts, type_of
from memorygraph.runtime.convo.values import UNDEFINED, deep_equal, is_number, strict_equal, truthy

LOGIC: Table = {}
_builtin = registrar(LOGIC)


@_builtin("eq")
def _eq(*values: Any) -> bool:
    return len(values) > 1 and all(map(strict_equal, values, values[1:]))


@_builtin("neq")
def _neq(*values: Any) -> bool:
    """Whether two values or more are not all the same."""
    return len(values) > 1 and not _eq(*values)


def _in_order(compare: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    def ordered(left: Any, right: Any) -> bool:
        comparable = (is_number(left) and is_number(right)) or (isinstance(left, str) and isinstance(right, str))
        return comparable and compare(left, right)

    def compared(*values: Any) -> bool:
        return len(values) > 1 and all(map(ordered, values, values[1:]))

    return compared


for _name, _compare in (("gt", operator.gt), ("gte", operator.ge), ("lt", operator.lt), ("lte", operator.le)):
    _builtin(_name)(_in_order(_compare))


@_builtin("not")
def _not(*values: Any) -> bool:
    return not any(map(truthy, values))


@_builtin("isUndefined")
def _is_undefined(*values: Any) -> bool:
    return all(value is UNDEFINED for value in values)


@_builtin("is", 2)
def _is(*values: Any) -> bool:
    """Whether all values are of the type that is the last argument, as they are."""
    type_ = type_of(values[-1])
    return all(accepts(type_, value) for value in values[:-1])


@_builtin("deepCompare", 2, 2)
def _deep_compare(left: Any, right: Any) -> bool:
    return deep_equal(left, right)
