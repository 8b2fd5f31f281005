"""Control: the forms that decide which of their arguments, and which of the statements after them, are executed.

`if(c)`, `elif(c)`, `while(c)` and `foreach(x=in(list))` stand before a sibling statement, which they execute or not; an
`if` with all that belongs to it counts as one statement, with one value. Source: specs/convo.md, section 1.4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from memorygraph.languages.convo import syntax
from memorygraph.runtime.convo.builtins.arithmetic import add, subtract
from memorygraph.runtime.convo.types import MISMATCH, to_number
from memorygraph.runtime.convo.values import UNDEFINED, name_kind, strict_equal, truthy
from memorygraph.runtime.values import ValueProblem

if TYPE_CHECKING:
    from memorygraph.runtime.convo.evaluator import Evaluator, Items
    from memorygraph.runtime.convo.scope import ConvoScope

MAX_ROUNDS = 100_000


class ReturnSignal(Exception):  # noqa: N818 - no error: it ends a body with a value
    """Ends a body with a value."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class BreakSignal(Exception):  # noqa: N818 - no error: it ends a loop
    """Ends a loop."""


def called_name(item: syntax.Statement) -> str | None:
    """The name that a statement calls, if it is a call without a path."""
    value = item.value
    return value.name[0] if isinstance(value, syntax.Call) and len(value.name) == 1 else None


@dataclass
class StatementBlock:
    """Sibling statements, with the evaluator and the scope in which they are executed."""

    evaluator: Evaluator
    items: Items
    scope: ConvoScope
    emitted: list[Any] | None = None  # takes each value that a block of an insertion gives

    def __len__(self) -> int:
        return len(self.items)

    def name_at(self, index: int) -> str | None:
        """The name that a statement calls; None after the last."""
        return called_name(self.items[index]) if index < len(self.items) else None

    def arguments_at(self, index: int) -> StatementBlock:
        """The arguments of the call at an index."""
        value = self.items[index].value
        return StatementBlock(self.evaluator, value.arguments if isinstance(value, syntax.Call) else (), self.scope)

    def execute(self, index: int) -> tuple[Any, int]:
        """Execute the statement at an index; give its value, and the index of the next."""
        return self.evaluator.step(self.items, index, self.scope)

    def execute_all(self) -> Any:
        """Execute all statements; give the last value."""
        return self.evaluator.last(self.items, self.scope)

    def end_of(self, index: int) -> int:
        """The index after a statement and all that belongs to it."""
        name = self.name_at(index)
        index += 1
        if name not in BLOCKS:
            return index
        index = self.end_of_branch(index)
        while name == "if" and self.name_at(index) in {"elif", "else"}:
            index = self.end_of_branch(index + 1) if self.name_at(index) == "elif" else index + 1
        return index

    def end_of_branch(self, index: int) -> int:
        """The index after what a condition decides on: the next statement, and each `then` after it."""
        if index < len(self.items) and self.name_at(index) not in {"elif", "else"}:
            index = self.end_of(index)
        while self.name_at(index) == "then":
            index += 1
        return index

    def execute_branch(self, index: int, end: int) -> Any:
        """Execute what a condition decides on; give its last value."""
        value = UNDEFINED
        while index < end:
            if self.name_at(index) == "then":
                value, index = self.arguments_at(index).execute_all(), index + 1
                self.emit(value)
            elif self.name_at(index) in BLOCKS:
                value, index = self.evaluator.step(self.items, index, self.scope, self.emitted)
            else:
                value, index = self.execute(index)
                self.emit(value)
        return value

    def emit(self, value: Any) -> None:
        """Give a value to the insertion that the block stands in."""
        if self.emitted is not None:
            self.emitted.append(value)

    def body_of_loop(self, name: str, index: int) -> int:
        """The index after a loop at an index and the statement that it repeats."""
        self.require_statements(name)
        end = self.end_of(index)
        if end == index + 1:
            raise ValueProblem(f"after `{name}(…)`, the statement that it repeats is missing", "no-body")
        return end

    def require_statements(self, name: str) -> None:
        """Refuse a statement in a `define`, which only holds expressions."""
        if self.scope.defining:
            raise ValueProblem(f"`{name}` cannot stand in a `define`; write it in a `do`", "not-in-define")


# Blocks also take the statements after them, and give the index of the next statement.


def execute_if(block: StatementBlock, index: int) -> tuple[Any, int]:
    """Execute `if` with its `elif` and `else`; give the value of the branch, or, alone, whether its condition holds."""
    block.require_statements("if")
    end = block.end_of(index)
    alone = end == index + 1
    while index < end:
        if block.name_at(index) == "else":
            value = block.arguments_at(index).execute_all()
            block.emit(value)
            return value, end
        holds = all_truthy(block.arguments_at(index))
        end_of_branch = block.end_of_branch(index + 1)
        if holds:
            return True if alone else block.execute_branch(index + 1, end_of_branch), end
        index = end_of_branch
    return False if alone else UNDEFINED, end


def execute_while(block: StatementBlock, index: int) -> tuple[Any, int]:
    """Execute `while(c) statement`; give the value of the last round."""
    end, value, rounds = block.body_of_loop("while", index), UNDEFINED, 0
    while all_truthy(block.arguments_at(index)):
        rounds += 1
        if rounds > MAX_ROUNDS:
            raise ValueProblem(f"`while` does not end: it has gone more than {MAX_ROUNDS:,} rounds", "endless-loop")
        block.scope.work.spend()
        try:
            value = block.execute_branch(index + 1, end)
        except BreakSignal:
            break
    return value, end


def execute_foreach(block: StatementBlock, index: int) -> tuple[Any, int]:
    """Execute `foreach(name=in(list)) statement`; the items of a map are maps with `key` and `value`."""
    end, value = block.body_of_loop("foreach", index), UNDEFINED
    head = block.arguments_at(index)
    if len(head) != 1 or not head.items[0].path or head.name_at(0) != "in" or len(head.arguments_at(0)) != 1:
        raise ValueProblem("`foreach` is written as `foreach(item=in(list))`", "invalid-foreach")
    holder, _ = head.arguments_at(0).execute(0)
    for item in list_items(holder):
        block.scope.work.spend()
        block.scope.assign(head.items[0].path, item)
        try:
            value = block.execute_branch(index + 1, end)
        except BreakSignal:
            break
    return value, end


def list_items(value: Any) -> list[Any]:
    """List what `foreach` goes through."""
    if isinstance(value, dict):
        return [{"key": key, "value": inner} for key, inner in value.items()]
    if value is UNDEFINED or value is None:
        return []
    if not isinstance(value, list):
        raise ValueProblem(f"`foreach` goes through a list or a map, and this is {name_kind(value)}", "not-a-list")
    return [*value]


BLOCKS: dict[str, Callable[[StatementBlock, int], tuple[Any, int]]] = {
    "if": execute_if,
    "while": execute_while,
    "foreach": execute_foreach,
}


# Forms take their arguments unevaluated.


def first_where(arguments: StatementBlock, holds: Callable[[Any], bool]) -> tuple[Any, bool]:
    """The first value for which something holds, or else the last one, and whether it holds."""
    index, value = 0, UNDEFINED
    while index < len(arguments):
        value, index = arguments.execute(index)
        if holds(value):
            return value, True
    return value, False


def all_truthy(arguments: StatementBlock) -> bool:
    """Whether there are values, and all count as true."""
    return bool(arguments) and not first_where(arguments, lambda value: not truthy(value))[1]


def first_truthy(arguments: StatementBlock) -> Any:
    """The first value that counts as true, or else the last one."""
    return first_where(arguments, truthy)[0]


def execute_body(arguments: StatementBlock) -> Any:
    """Execute `fn(…)`: a body of its own for `return`, with the variables of the scope around it."""
    if not arguments.items:
        return UNDEFINED
    return arguments.evaluator.body(arguments.items, arguments.scope, arguments.items[0].span)


def execute_return(arguments: StatementBlock) -> Any:
    """Execute `return(…)`: end the body with the last value."""
    raise ReturnSignal(arguments.execute_all())


def execute_break(arguments: StatementBlock) -> Any:
    """Execute `break(…)`: end the loop, if there are conditions only where one of them holds."""
    if not arguments.items or truthy(first_truthy(arguments)):
        raise BreakSignal
    return UNDEFINED


CASES = ("case", "test", "default")


def execute_switch(arguments: StatementBlock) -> Any:
    """Execute `switch(value case(1 2) … test(condition) … default() …)`, or `switch(condition then else)`.

    After a case and its statement, another value can stand, to which the cases after it compare.
    """
    if not arguments.items:
        return UNDEFINED
    subject, index = arguments.execute(0)
    if not any(called_name(item) in CASES for item in arguments.items):
        index = index if truthy(subject) else arguments.end_of(index)
        return arguments.execute(index)[0] if index < len(arguments) else UNDEFINED
    while index < len(arguments):
        name, inside = arguments.name_at(index), arguments.arguments_at(index)
        if name not in CASES and any(arguments.name_at(later) in CASES for later in range(index + 1, len(arguments))):
            subject, index = arguments.execute(index)  # the cases after it are about another value
            continue
        if name not in CASES:
            raise ValueProblem("in `switch`, one statement follows each `case`, `test` or `default`", "no-case")
        if name == "default" and inside.items:
            return inside.execute_all()
        holds = truthy if name == "test" else partial(strict_equal, subject)
        if name == "default" or first_where(inside, holds)[1]:
            return arguments.execute(index + 1)[0] if index + 1 < len(arguments) else UNDEFINED
        index = arguments.end_of(index + 1)
    return UNDEFINED


def change_variable(arguments: StatementBlock, name: str) -> Any:
    """Execute `inc(name)` or `dec(name 2)`: add to a variable, or subtract from it, 1 or the value given."""
    if not 1 <= len(arguments) <= 2 or not isinstance(variable := arguments.items[0].value, syntax.Reference):
        raise ValueProblem(f"`{name}` takes a variable, and by how much", "invalid-arguments")
    by = arguments.execute(1)[0] if len(arguments) == 2 else 1
    before = arguments.scope.look_up(variable.path)
    if not isinstance(by, str):  # a text that is no number is added to, as `add` does
        number = 0 if before is UNDEFINED else to_number(before)
        before = before if number is MISMATCH else number
    value = add(before, by) if name == "inc" else subtract(before, by)
    arguments.scope.assign(variable.path, arguments.scope.work.spend_on(value))
    return value


def set_defaults(arguments: StatementBlock) -> dict[str, Any]:
    """Execute `setDefault(name: value …)`: set each variable of the conversation that has no value yet."""
    entries = arguments.evaluator.entries(arguments.items, arguments.scope)
    given = {entry.key: entry.value for entry in entries}
    held = arguments.scope.environment.variables
    for name, value in given.items():
        if held.get(name, UNDEFINED) is UNDEFINED:
            held[name] = value
    return given


FORMS: dict[str, Callable[[StatementBlock], Any]] = {
    "and": all_truthy,
    "or": first_truthy,
    "inc": lambda arguments: change_variable(arguments, "inc"),
    "dec": lambda arguments: change_variable(arguments, "dec"),
    "do": StatementBlock.execute_all,
    "setDefault": set_defaults,
    "fn": execute_body,
    "return": execute_return,
    "break": execute_break,
    "switch": execute_switch,
}
PURE_FORMS = frozenset({"and", "or", "inc", "dec", "setDefault"})  # a `define` may hold them

# Names that only mean something beside or inside another form, and the error where they stand elsewhere.
MISPLACED = {
    "then": "`then` follows `if(…)` or `elif(…)`",
    "elif": "`elif` follows `if(…)` and its statement",
    "else": "`else` follows `if(…)` and its statement",
    "in": "`in` stands in `foreach(item=in(list))`",
    **{name: f"`{name}` stands in `switch(…)`" for name in CASES},
}
