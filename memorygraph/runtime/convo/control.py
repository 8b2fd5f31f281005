"""Control: the forms that decide which of their arguments, and which of the statements behind them, are executed.

`if(c)`, `elif(c)`, `while(c)` and `foreach(x=in(list))` stand before a sibling statement, that they execute or not; an
`if` with all that belongs to it counts as one statement, with one value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from memorygraph.languages.convo.syntax import Argument, Call, Reference, Statement
from memorygraph.runtime.convo.builtins.arithmetic import ARITHMETIC, add
from memorygraph.runtime.convo.values import UNDEFINED, kind_of, strict_equal, truthy
from memorygraph.runtime.values import ValueProblem

if TYPE_CHECKING:
    from memorygraph.runtime.convo.evaluator import Evaluator, Items
    from memorygraph.runtime.convo.scope import Scope

MAX_ROUNDS = 100_000


class Returned(Exception):  # noqa: N818 - no error: it ends a body with a value
    """A body ends with this value."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Broken(Exception):  # noqa: N818 - no error: it ends a loop
    """A loop ends."""


# Blocks: they take the statements behind them too.


def called(item: Statement | Argument) -> str | None:
    """The name that a statement calls."""
    value = item.value
    return value.name[0] if isinstance(value, Call) and len(value.name) == 1 else None


def block_of(item: Statement | Argument) -> str | None:
    """The name of the block that a statement begins, if it does."""
    name = called(item)
    return name if name in BLOCKS else None


def _arguments(item: Statement | Argument) -> Sequence[Argument]:
    return item.value.arguments if isinstance(item.value, Call) else ()


def end_of(items: Items, index: int) -> int:
    """Where the statement behind this one stands, with all that belongs to this one left out."""
    name = block_of(items[index]) if index < len(items) else None
    index += 1
    if name is None:
        return index
    index = _end_of_branch(items, index)
    while name == "if" and index < len(items) and called(items[index]) in {"elif", "else"}:
        index = _end_of_branch(items, index + 1) if called(items[index]) == "elif" else index + 1
    return index


def _end_of_branch(items: Items, index: int) -> int:
    """The end of what a condition decides on: the next statement, and each `then` behind it."""
    if index < len(items) and called(items[index]) not in {"elif", "else"}:
        index = end_of(items, index)
    while index < len(items) and called(items[index]) == "then":
        index += 1
    return index


def _if(evaluator: Evaluator, items: Items, index: int, scope: Scope) -> tuple[Any, int]:
    """`if(c) statement`, and then `elif(c) statement` and `else(…)`: the value of what was executed.

    Without a statement behind it, it gives whether the condition holds.
    """
    _allow_statements("if", scope)
    end = end_of(items, index)
    alone = end == index + 1
    while index < end:
        if called(items[index]) == "else":
            return evaluator.last(_arguments(items[index]), scope), end
        holds = _holds(evaluator, _arguments(items[index]), scope)
        behind = _end_of_branch(items, index + 1)
        if holds:
            return True if alone else _branch(evaluator, items, index + 1, behind, scope), end
        index = behind
    return False if alone else UNDEFINED, end


def _branch(evaluator: Evaluator, items: Items, index: int, end: int, scope: Scope) -> Any:
    """Execute what a condition decides on; its last value."""
    value = UNDEFINED
    while index < end:
        if called(items[index]) == "then":
            value, index = evaluator.last(_arguments(items[index]), scope), index + 1
        else:
            value, index = evaluator.step(items, index, scope)
    return value


def _holds(evaluator: Evaluator, arguments: Sequence[Argument], scope: Scope) -> bool:
    """Whether all conditions hold, and there is one; those behind one that does not are not evaluated."""
    return truthy(_and(evaluator, arguments, scope))


def _while(evaluator: Evaluator, items: Items, index: int, scope: Scope) -> tuple[Any, int]:
    """`while(c) statement`."""
    _allow_statements("while", scope)
    end, value, rounds = end_of(items, index), UNDEFINED, 0
    _require_body("while", index, end)
    while _holds(evaluator, _arguments(items[index]), scope):
        rounds += 1
        if rounds > MAX_ROUNDS:
            raise ValueProblem(f"`while` does not end: it has gone more than {MAX_ROUNDS:,} rounds", "endless-loop")
        scope.work.spend()
        try:
            value = _branch(evaluator, items, index + 1, end, scope)
        except Broken:
            break
    return value, end


def _foreach(evaluator: Evaluator, items: Items, index: int, scope: Scope) -> tuple[Any, int]:
    """`foreach(name=in(list)) statement`; the items of a map are maps with `key` and `value`."""
    _allow_statements("foreach", scope)
    end, value = end_of(items, index), UNDEFINED
    _require_body("foreach", index, end)
    head = _arguments(items[index])
    if len(head) != 1 or not head[0].path or called(head[0]) != "in" or len(_arguments(head[0])) != 1:
        raise ValueProblem("`foreach` is written as `foreach(item=in(list))`", "invalid-foreach")
    for item in _items(evaluator.all(_arguments(head[0]), scope)[0]):
        scope.work.spend()
        scope.assign(head[0].path, item)
        try:
            value = _branch(evaluator, items, index + 1, end, scope)
        except Broken:
            break
    return value, end


def _items(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [{"key": key, "value": inner} for key, inner in value.items()]
    if value is UNDEFINED or value is None:
        return []
    if not isinstance(value, list):
        raise ValueProblem(f"`foreach` goes through a list or a map, and this is {kind_of(value)}", "not-a-list")
    return [*value]


def _require_body(name: str, index: int, end: int) -> None:
    if end == index + 1:
        raise ValueProblem(f"behind `{name}(…)` stands the statement that it repeats", "no-body")


def _allow_statements(name: str, scope: Scope) -> None:
    if scope.defining:
        raise ValueProblem(f"`{name}` cannot stand in a `define`; write it in a `do`", "not-in-define")


Block: TypeAlias = Callable[["Evaluator", "Items", int, "Scope"], tuple[Any, int]]
BLOCKS: dict[str, Block] = {"if": _if, "while": _while, "foreach": _foreach}


# Forms: they take their arguments as they stand.


def _and(evaluator: Evaluator, arguments: Sequence[Argument], scope: Scope) -> bool:
    """Whether all values count as true, and there is one; those behind one that does not are not evaluated."""
    index, value = 0, False
    while index < len(arguments):
        value, index = evaluator.step(arguments, index, scope)
        if not truthy(value):
            return False
    return truthy(value)


def _or(evaluator: Evaluator, arguments: Sequence[Argument], scope: Scope) -> Any:
    """The first value that counts as true, or else the last one."""
    index, value = 0, UNDEFINED
    while index < len(arguments):
        value, index = evaluator.step(arguments, index, scope)
        if truthy(value):
            return value
    return value


def _do(evaluator: Evaluator, arguments: Sequence[Argument], scope: Scope) -> Any:
    return evaluator.last(arguments, scope)


def _fn(evaluator: Evaluator, arguments: Sequence[Argument], scope: Scope) -> Any:
    """A body of its own for `return`, with the variables of what is around it."""
    return evaluator.body(arguments, scope, arguments[0].span) if arguments else UNDEFINED


def _return(evaluator: Evaluator, arguments: Sequence[Argument], scope: Scope) -> Any:
    raise Returned(evaluator.last(arguments, scope))


def _break(evaluator: Evaluator, arguments: Sequence[Argument], scope: Scope) -> Any:
    """Without conditions always; with some, if one of them holds."""
    if not arguments or truthy(_or(evaluator, arguments, scope)):
        raise Broken
    return UNDEFINED


def _switch(evaluator: Evaluator, arguments: Sequence[Argument], scope: Scope) -> Any:
    """`switch(value case(1 2) … test(condition) … default() …)`, or `switch(condition then else)`."""
    if not arguments:
        return UNDEFINED
    subject, index = evaluator.step(arguments, 0, scope)
    if not any(called(item) in _CASES for item in arguments):
        index = index if truthy(subject) else end_of(arguments, index)
        return evaluator.step(arguments, index, scope)[0] if index < len(arguments) else UNDEFINED
    while index < len(arguments):
        name = called(arguments[index])
        if name not in _CASES:
            raise ValueProblem("in `switch`, one statement stands behind each `case`, `test` or `default`", "no-case")
        if _CASES[name](evaluator, subject, _arguments(arguments[index]), scope):
            return _chosen(evaluator, arguments, index, scope)
        index = end_of(arguments, index + 1)
    return UNDEFINED


def _chosen(evaluator: Evaluator, arguments: Sequence[Argument], index: int, scope: Scope) -> Any:
    """The value of the statement behind a case; `default(…)` can have it inside."""
    inside = _arguments(arguments[index])
    if called(arguments[index]) == "default" and inside:
        return evaluator.last(inside, scope)
    return evaluator.step(arguments, index + 1, scope)[0] if index + 1 < len(arguments) else UNDEFINED


def _case(evaluator: Evaluator, subject: Any, arguments: Sequence[Argument], scope: Scope) -> bool:
    index = 0
    while index < len(arguments):
        value, index = evaluator.step(arguments, index, scope)
        if strict_equal(subject, value):
            return True
    return False


def _test(evaluator: Evaluator, _subject: Any, arguments: Sequence[Argument], scope: Scope) -> bool:
    return truthy(_or(evaluator, arguments, scope))


_CASES: dict[str | None, Callable[[Evaluator, Any, Sequence[Argument], Scope], bool]] = {
    "case": _case,
    "test": _test,
    "default": lambda *_: True,
}


def _increase(sign: int) -> Callable[[Evaluator, Sequence[Argument], Scope], Any]:
    """`inc(name)` or `inc(name 2)`: the variable, more or less by one or as much as is said."""

    def increase(evaluator: Evaluator, arguments: Sequence[Argument], scope: Scope) -> Any:
        name = "inc" if sign > 0 else "dec"
        if not 1 <= len(arguments) <= 2 or not isinstance(arguments[0].value, Reference):
            raise ValueProblem(f"`{name}` takes a variable, and by how much", "invalid-arguments")
        path = arguments[0].value.path
        by = evaluator.all(arguments[1:], scope)[0] if len(arguments) == 2 else 1
        before = scope.look_up(path)
        before = 0 if before is UNDEFINED and not isinstance(by, str) else before
        value = add(before, by) if sign > 0 else ARITHMETIC["sub"].run(before, by)
        scope.assign(path, scope.work.spend_on(value))
        return value

    return increase


def _misplaced(message: str) -> Callable[[Evaluator, Sequence[Argument], Scope], Any]:
    def complain(_evaluator: Evaluator, _arguments: Sequence[Argument], _scope: Scope) -> Any:
        raise ValueProblem(message, "MISPLACED")

    return complain


@dataclass(frozen=True)
class Form:
    """A form; `pure` says that a `define` may hold it."""

    run: Callable[[Evaluator, Sequence[Argument], Scope], Any]
    pure: bool = True


FORMS: dict[str, Form] = {
    "and": Form(_and),
    "or": Form(_or),
    "inc": Form(_increase(1)),
    "dec": Form(_increase(-1)),
    "do": Form(_do, pure=False),
    "fn": Form(_fn, pure=False),
    "return": Form(_return, pure=False),
    "break": Form(_break, pure=False),
    "switch": Form(_switch, pure=False),
    "then": Form(_misplaced("`then` stands behind `if(…)` or `elif(…)`")),
    "elif": Form(_misplaced("`elif` stands behind `if(…)` and its statement")),
    "else": Form(_misplaced("`else` stands behind `if(…)` and its statement")),
    "in": Form(_misplaced("`in` stands in `foreach(item=in(list))`")),
    **{str(name): Form(_misplaced(f"`{name}` stands in `switch(…)`")) for name in _CASES},
}
NAMES = frozenset({*FORMS, *BLOCKS})
