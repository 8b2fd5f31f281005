"""Comparisons. Fewer than two values never compare; and only numbers, or only texts, have an order."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from memorygraph.runtime.convo.builtins.registry import builtin
from memorygraph.runtime.convo.types import type_of
from memorygraph.runtime.convo.values import UNDEFINED, deep_equal, is_number, strict_equal, truthy


@builtin("eq")
def all_equal(*values: Any) -> bool:
    """Whether two values or more are all the same."""
    return len(values) > 1 and all(map(strict_equal, values, values[1:]))


@builtin("neq")
def not_all_equal(*values: Any) -> bool:
    """Whether two values or more are not all the same."""
    return len(values) > 1 and not all_equal(*values)


def chain_comparison(compare: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    """Make a comparison of two values one of any number: each must compare to the next."""

    def ordered(left: Any, right: Any) -> bool:
        comparable = (is_number(left) and is_number(right)) or (isinstance(left, str) and isinstance(right, str))
        return comparable and compare(left, right)

    def compare_all(*values: Any) -> bool:
        return len(values) > 1 and all(map(ordered, values, values[1:]))

    return compare_all


builtin("gt")(chain_comparison(operator.gt))
builtin("gte")(chain_comparison(operator.ge))
builtin("lt")(chain_comparison(operator.lt))
builtin("lte")(chain_comparison(operator.le))


@builtin("not")
def none_truthy(*values: Any) -> bool:
    """Whether no value counts as true."""
    return not any(map(truthy, values))


@builtin("isUndefined")
def all_undefined(*values: Any) -> bool:
    """Whether all values are undefined."""
    return all(value is UNDEFINED for value in values)


@builtin("is")
def all_of_type(first: Any, second: Any, *more: Any) -> bool:
    """Whether all values are of the type that is the last argument, without a conversion."""
    *values, type_ = (first, second, *more)
    accepts = type_of(type_).accepts
    return all(accepts(value) for value in values)


builtin("deepCompare")(deep_equal)
