"""Arithmetic on numbers whose size stays within what a float can hold."""

from __future__ import annotations

import math
import operator
import secrets
from collections.abc import Callable
from typing import Any

from memorygraph.runtime.convo.builtins.builtin import Table, registrar
from memorygraph.runtime.convo.values import UNDEFINED, is_number, joined, kind_of, render_value, shown
from memorygraph.runtime.values import ValueProblem

ARITHMETIC: Table = {}
_builtin = registrar(ARITHMETIC)

_MAX_BITS = 1024


def _fold(name: str, act: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The function that acts on its arguments from the left; undefined ones are left out."""

    def folded(*values: Any) -> Any:
        present = [value for value in values if value is not UNDEFINED]
        if len(present) < 2:
            return present[0] if present else UNDEFINED
        result = _number(name, present[0])
        for value in present[1:]:
            result = _act(name, act, result, _number(name, value))
        return result

    return folded


def _act(name: str, act: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    try:
        result = act(left, right)
    except ZeroDivisionError:
        raise ValueProblem(f"`{name}` cannot divide by 0", "division-by-zero") from None
    except OverflowError:
        result = math.inf
    if isinstance(result, complex):
        return math.nan
    too_large = result.bit_length() > _MAX_BITS if isinstance(result, int) else math.isinf(result)
    if too_large:
        raise _too_large(name)
    return result


def _too_large(name: str) -> ValueProblem:
    return ValueProblem(f"`{name}` gives a number that is too large", "value-too-large")


def _number(name: str, value: Any) -> Any:
    if not is_number(value):
        raise ValueProblem(f"`{name}` takes numbers, and this is {kind_of(value)}: {shown(value)}", "not-a-number")
    return value


def _div(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int) and left % right == 0:
        return left // right
    return left / right


def _mod(left: Any, right: Any) -> Any:
    """The rest of a division; its sign is that of the left number."""
    if isinstance(left, int) and isinstance(right, int):
        rest = abs(left) % abs(right)
        return -rest if left < 0 else rest
    if right == 0:
        raise ZeroDivisionError
    return math.nan if math.isinf(left) else math.fmod(left, right)


def _pow(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int) and abs(left) > 1:
        # The result has about this many bits, and must not be made if they are too many.
        if left.bit_length() * right > 2 * _MAX_BITS:
            raise _too_large("pow")
        if right < -_MAX_BITS:
            return 0
    return left**right


for _name, _function in (("sub", operator.sub), ("mul", operator.mul), ("div", _div), ("mod", _mod), ("pow", _pow)):
    _builtin(_name)(_fold(_name, _function))

_sum = _fold("add", operator.add)


@_builtin("add")
def add(*values: Any) -> Any:
    """The sum of numbers; where a text is among the values, all of them as one text.

    >>> add(1, UNDEFINED, 2.5), add("a", 1.0, None)
    (3.5, 'a1null')
    """
    if any(isinstance(value, str) for value in values):
        return joined(render_value(value) for value in values if value is not UNDEFINED)
    return _sum(*values)


@_builtin("rand", 0, 1, pure=False)
def _rand(most: Any = UNDEFINED) -> Any:
    """A whole number from 0 to the most, both included; without it a number from 0 to 1."""
    chance = secrets.SystemRandom()
    if most is UNDEFINED:
        return chance.random()
    most = _number("rand", most)
    if not (math.isfinite(most) and most >= 0):
        raise ValueProblem(f"`rand` takes a number from 0 on, and not {shown(most)}", "not-a-number")
    return chance.randint(0, int(most))
