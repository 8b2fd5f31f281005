"""Arithmetic on numbers, of which one that is too large for a float is infinite, and comparisons.

Fewer than two values never compare. Texts have the order of their characters; beside a number, a text is the number
that it holds, as what a model or a user says is a text.
"""

from __future__ import annotations

import math
import operator
import secrets
import sys
from collections.abc import Callable
from typing import Any

from memorygraph.runtime.convo.builtins.registry import builtin
from memorygraph.runtime.convo.types import MISMATCH, to_number, type_of
from memorygraph.runtime.convo.values import (
    UNDEFINED,
    deep_equal,
    excerpt,
    is_number,
    join_texts,
    name_kind,
    render_value,
    strict_equal,
    truthy,
)
from memorygraph.runtime.values import ValueProblem

MAX_BITS = 1024  # of a whole number: a float can hold none that has more


def require_number(name: str, value: Any) -> Any:
    """Return the number that a function is given, also as a text."""
    if isinstance(value, str) and (found := to_number(value)) is not MISMATCH:
        return found
    if not is_number(value):
        raise ValueProblem(f"`{name}` takes numbers, and this is {name_kind(value)}: {excerpt(value)}", "not-a-number")
    return value


def apply(name: str, operation: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Apply an operation to two numbers."""
    try:
        result = operation(left, right)
    except ZeroDivisionError:
        raise ValueProblem(f"`{name}` cannot divide by 0", "division-by-zero") from None
    except OverflowError:  # of a power
        result = math.inf if left > 0 or right % 2 == 0 else -math.inf if right % 2 == 1 else math.nan
    if isinstance(result, complex):
        return math.nan
    if isinstance(result, int) and abs(result) > sys.float_info.max:
        return math.inf if result > 0 else -math.inf
    return result


def fold_left(name: str, operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Apply an operation to any number of numbers, from the left; undefined ones are left out."""

    def fold_numbers(*values: Any) -> Any:
        present = [value for value in values if value is not UNDEFINED]
        if len(present) < 2:
            return present[0] if present else UNDEFINED
        result = require_number(name, present[0])
        for value in present[1:]:
            result = apply(name, operation, result, require_number(name, value))
        return result

    return fold_numbers


def divide(left: Any, right: Any) -> Any:
    """Divide; the quotient of whole numbers without a remainder is a whole number."""
    if isinstance(left, int) and isinstance(right, int) and left % right == 0:
        return left // right
    return left / right


def remainder(left: Any, right: Any) -> Any:
    """The remainder of a division; its sign is that of the left number."""
    if isinstance(left, int) and isinstance(right, int):
        rest = abs(left) % abs(right)
        return -rest if left < 0 else rest
    if right == 0:
        raise ZeroDivisionError
    return math.nan if math.isinf(left) else math.fmod(left, right)


def power(left: Any, right: Any) -> Any:
    """Raise a number to a power; the result is not computed where it is far too large."""
    if isinstance(left, int) and isinstance(right, int) and abs(left) > 1:
        if left.bit_length() * right > 2 * MAX_BITS:  # about the number of bits of the result
            raise OverflowError
        if right < -MAX_BITS:
            return 0
    return left**right


add_numbers = fold_left("add", operator.add)
subtract = builtin("sub")(fold_left("sub", operator.sub))
builtin("mul")(fold_left("mul", operator.mul))
builtin("div")(fold_left("div", divide))
builtin("mod")(fold_left("mod", remainder))
builtin("pow")(fold_left("pow", power))


@builtin("add")
def add(*values: Any) -> Any:
    """Add numbers from the left, up to the first text; from there on, join the values as one text."""
    present = [value for value in values if value is not UNDEFINED]
    first = next((index for index, value in enumerate(present) if isinstance(value, str)), len(present))
    if first == len(present):
        return add_numbers(*present)
    before = [] if first == 0 else [present[0] if first == 1 else add_numbers(*present[:first])]
    return join_texts(map(render_value, [*before, *present[first:]]))


@builtin("rand", pure=False)
def random_number(maximum: Any = UNDEFINED) -> Any:
    """A random whole number from 0 to the maximum, both included; without a maximum, a number from 0 to 1."""
    chance = secrets.SystemRandom()
    if maximum is UNDEFINED:
        return chance.random()
    maximum = require_number("rand", maximum)
    if not (math.isfinite(maximum) and maximum >= 0):
        raise ValueProblem(f"`rand` takes a number from 0 on, and not {excerpt(maximum)}", "not-a-number")
    return chance.randint(0, int(maximum))


def milliseconds(name: str, factor: int) -> Callable[[Any], Any]:
    """Make a function of a number of seconds, minutes or more that gives milliseconds; without a number, 0."""

    def multiply(number: Any = 0) -> Any:
        return apply(name, operator.mul, require_number(name, number), factor)

    return multiply


for unit, factor in {"secondMs": 1000, "minuteMs": 60_000, "hourMs": 3_600_000, "dayMs": 86_400_000}.items():
    builtin(unit)(milliseconds(unit, factor))


# Comparisons


def none_truthy(*values: Any) -> bool:
    """Whether no value counts as true."""
    return not any(map(truthy, values))


def compare_all(compare: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    """Make a comparison of two values one of any number: each must compare to the next."""
    return lambda *values: len(values) > 1 and all(map(compare, values, values[1:]))


def in_order(compare: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    """Make a comparison by order, of numbers or of texts, one of any number of values."""

    def ordered(left: Any, right: Any) -> bool:
        if isinstance(left, str) and is_number(right):
            left = to_number(left)
        elif is_number(left) and isinstance(right, str):
            right = to_number(right)
        comparable = (is_number(left) and is_number(right)) or (isinstance(left, str) and isinstance(right, str))
        return comparable and compare(left, right)

    return compare_all(ordered)


all_equal = builtin("eq")(compare_all(strict_equal))
builtin("neq")(lambda *values: len(values) > 1 and not all_equal(*values))
builtin("gt")(in_order(operator.gt))
builtin("gte")(in_order(operator.ge))
builtin("lt")(in_order(operator.lt))
builtin("lte")(in_order(operator.le))
builtin("not")(none_truthy)
builtin("no")(none_truthy)
builtin("isUndefined")(lambda *values: all(value is UNDEFINED for value in values))
builtin("deepCompare")(deep_equal)


@builtin("is")
def all_of_type(first: Any, second: Any, *more: Any) -> bool:
    """Whether all values are of the type that is the last argument, without a conversion."""
    *values, type_ = (first, second, *more)
    return all(map(type_of(type_).accepts, values))
