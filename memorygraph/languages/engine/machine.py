"""The machine that reads every language: it matches the rules of a grammar without recursion.

It keeps its own stack, so that no depth of nesting exhausts Python's, and builds a tree from the bottom up.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, NamedTuple, TypeAlias

from memorygraph.errors import Span
from memorygraph.languages.engine import grammar
from memorygraph.languages.engine.patterns import compile_pattern

MAX_PENDING = 4000  # entries of the machine's stack; an expression in brackets takes some fifteen


class Read(NamedTuple):
    """What a rule read: the value that was built, and where reading would go on, after the layout."""

    value: Any
    end: int


class Stopped(NamedTuple):
    """Where the machine could not go on: the names of the tokens that would have fitted, and the token before.

    `deep` says that it stopped because of the nesting, whatever stands there.
    """

    offset: int
    expected: tuple[str, ...]
    before: Span
    deep: bool = False


Fields: TypeAlias = dict[str, Any]
Build: TypeAlias = Callable[[Fields, Span], Any]


# The instructions of the machine, with their operands. Plain numbers and tuples: one loop over them is the fastest that
# Python can do, and it decides how long a large program takes to read.
TOKEN = 0  # read a token (pattern, attribute or None, whether that has many, name)
CALL = 1  # read a rule (its first instruction, its name)
TRY = 2  # try what follows (fallback, lookahead, expected tokens)
RETURN = 3
DONE = 4  # the attempt succeeded (next instruction)
OPEN = 5  # begin a node (rule)
CLOSE = 6  # end a node (rule)
ASSIGN = 7  # give the last node to the open one (attribute, whether that has many)
ABSENT = 8  # fail if a token is next (pattern)
END = 9

Code: TypeAlias = list[tuple[Any, ...]]


def compile_rules(rules: Mapping[str, grammar.GrammarRule]) -> tuple[Code, dict[str, int]]:
    """The instructions for the rules of a grammar, and where those of each rule begin."""
    code: Code = [(END,)]
    starts: dict[str, int] = {}
    for name, rule in rules.items():
        starts[name] = len(code)
        body = compile_expression(rule.body, len(code) + rule.node)
        code += [(OPEN, name), *body, (CLOSE, name)] if rule.node else body
        code.append((RETURN,))
    code = [(CALL, starts[step[1]], step[1]) if step[0] == CALL else step for step in code]
    for at, step in enumerate(code):
        if step[0] == TRY:
            # Most attempts fail at once. One look at the first tokens is cheaper than to enter each of their rules.
            tokens = sorted(first_tokens(code, at + 1))
            pattern = "|".join(f"(?:{code[token][1].__self__.pattern})" for token in tokens)
            code[at] = (TRY, step[1], matcher(pattern), frozenset(tokens))
    return code, starts


def matcher(pattern: str) -> Callable[..., re.Match[str] | None]:
    """What matches a token at a place."""
    return compile_pattern(pattern, re.MULTILINE).match


def first_tokens(code: Code, at: int) -> set[int]:
    """The places of the instructions for those tokens that can be read first from an instruction on."""
    step = code[at]
    if step[0] == TOKEN:
        return {at}
    if step[0] == CALL:
        return first_tokens(code, step[1])
    if step[0] == TRY:
        return first_tokens(code, at + 1) | first_tokens(code, step[1])
    if step[0] in {OPEN, ABSENT}:
        return first_tokens(code, at + 1)
    raise NotImplementedError("no attempt may succeed without reading anything")


def compile_expression(expression: grammar.Expression, at: int) -> Code:  # noqa: PLR0911 - one for each kind
    """The instructions for an expression, from place `at` on; rules are still called by name."""
    match expression:
        case grammar.Token():
            return [(TOKEN, matcher(expression.pattern), None, False, expression.name)]
        case grammar.Absent():
            return [(ABSENT, matcher(expression.token.pattern))]
        case grammar.RuleReference():
            return [(CALL, expression.rule)]
        case grammar.Assigned(attribute, many, grammar.Token(pattern, name)):
            return [(TOKEN, matcher(pattern), attribute, many, name)]
        case grammar.Assigned(attribute, many, grammar.RuleReference(rule)):
            return [(CALL, rule), (ASSIGN, attribute, many)]
        case grammar.Sequence():
            code: Code = []
            for part in expression.parts:
                code += compile_expression(part, at + len(code))
            return code
        case grammar.Choice():
            return compile_choice(expression.options, at)
        case grammar.Repetition():
            return compile_repetition(expression, at)
    raise NotImplementedError(f"no instructions for {expression}")


def compile_choice(options: tuple[grammar.Expression, ...], at: int) -> Code:
    """Try one option after the other; the last one is no attempt, since nothing is left after it."""
    if len(options) == 1:
        return compile_expression(options[0], at)
    first = compile_expression(options[0], at + 1)
    rest_at = at + len(first) + 2
    rest = compile_choice(options[1:], rest_at)
    return [(TRY, rest_at), *first, (DONE, rest_at + len(rest)), *rest]


def compile_repetition(repetition: grammar.Repetition, at: int) -> Code:
    """Try the item, or the separator and the item, until the attempt fails."""
    item, separator = repetition.item, repetition.separator
    if repetition.most == 1:
        code = compile_expression(item, at + 1)
        after = at + len(code) + 2
        return [(TRY, after), *code, (DONE, after)]
    if separator and not repetition.least:
        return compile_repetition(grammar.Repetition(grammar.Repetition(item, 1, separator=separator), 0, most=1), at)
    first = compile_expression(item, at) if repetition.least else []
    head = at + len(first) + 1
    more = compile_expression(grammar.Sequence((separator, item)) if separator else item, head)
    return [*first, (TRY, head + len(more) + 1), *more, (DONE, head - 1)]


class Machine:
    """Reads texts with the rules of one grammar; `layout` is the pattern of what may stand between tokens.

    >>> from memorygraph.languages.engine.grammar import Assigned, Repetition, GrammarRule, Token
    >>> word = Assigned("words", many=True, value=Token("[a-z]+", "Word"))
    >>> machine = Machine({"Words": GrammarRule("Words", node=True, body=Repetition(word, 1))}, " *")
    >>> machine.read("ab cd ", "Words", {"Words": lambda fields, span: fields["words"]})
    Read(value=['ab', 'cd'], end=6)
    """

    def __init__(self, rules: Mapping[str, grammar.GrammarRule], layout: str) -> None:
        self.rules = frozenset(rules)
        self._code, self._starts = compile_rules(rules)
        self.layout = compile_pattern(layout)

    def layout_end(self, text: str, position: int) -> int:
        """Where the blanks and comments at a position end."""
        found = self.layout.match(text, position)
        return found.end() if found else position

    def read(
        self,
        text: str,
        rule: str,
        builds: Mapping[str, Build],
        position: int = 0,
        *,
        limit: int = sys.maxsize,
        whole: bool = False,
        layout: bool = True,
    ) -> Read | Stopped:
        """Read what a rule says at a position, and build its value.

        Nothing at or after the `limit` is looked at. With `whole`, the rule must reach the end of the text. Without
        `layout`, the blanks and comments at the position belong to what is read.
        """
        run = MachineRun(self._code, text, self.layout, limit)
        start = self.layout_end(text, position) if layout else position
        end = run.run(self._starts[rule], start)
        if end is None or (whole and end < len(text)):
            names = dict.fromkeys(str(self._code[at][4]) for at in sorted(run.misses))
            before = run.ends.get(run.furthest, (start, start))
            return Stopped(run.furthest, tuple(names), Span(*before), run.deep)
        return Read(build_tree(text, run.captures, builds), end)


class MachineRun:
    """One run of the machine over a text.

    Positions are those after layout; `ends` maps each to the span of the token before it. `furthest` is the last
    position that was reached, and `misses` are the instructions that did not fit there.
    """

    def __init__(self, code: Code, text: str, layout: re.Pattern[str], limit: int) -> None:
        self._code = code
        self._text = text
        self._limit = limit
        self._layout: Callable[[str, int, int], Any] = layout.match
        self.captures: list[tuple[Any, ...]] = []
        self.ends: dict[int, tuple[int, int]] = {}
        self.furthest = 0
        self.misses: set[int] = set()
        self.deep = False

    def run(self, at: int, position: int) -> int | None:  # noqa: C901, PLR0912, PLR0915 - one loop is fastest
        """Run from an instruction on; the position after what was read, or None where it does not fit."""
        code, text, limit = self._code, self._text, self._limit
        captures, ends, layout = self.captures, self.ends, self._layout
        # A call is (return address, ~position, rule); an attempt is (fallback, position, number of captures). What
        # failed at a position fails there again: without `failed`, every unclosed bracket would double the time.
        stack: list[tuple[int, int, int]] = [(0, ~position, at)]
        failed: set[tuple[int, int]] = set()
        self.furthest = position
        while True:
            step = code[at]
            op = step[0]
            at += 1
            if op is TOKEN:
                found = step[1](text, position, limit)
                if found is not None:
                    end = found.end()
                    if step[2] is not None:
                        captures.append((op, step[2], step[3], position, end))
                    start, position = position, layout(text, end, limit).end()
                    ends[position] = (start, end)
                    continue
                self.miss(position, {at - 1})
            elif op is TRY:
                if step[2](text, position, limit) is None:
                    self.miss(position, step[3])
                    at = step[1]
                else:
                    stack.append((step[1], position, len(captures)))
                continue
            elif op is CALL:
                if (step[1], position) not in failed:
                    stack.append((at, ~position, step[1]))
                    at = step[1]
                    if len(stack) > MAX_PENDING:
                        self.furthest, self.deep = position, True
                        return None
                    continue
            elif op is RETURN:
                at = stack.pop()[0]
                continue
            elif op is DONE:
                stack.pop()
                at = step[1]
                continue
            elif op is OPEN:
                captures.append((op, step[1], position))
                continue
            elif op is CLOSE:
                captures.append((op, step[1], ends.get(position, (position, position))[1]))
                continue
            elif op is ASSIGN:
                captures.append(step)
                continue
            elif op is END:
                return position
            elif step[1](text, position, limit) is None:
                continue
            # Back to the last attempt; the calls since then have failed with it.
            while stack and stack[-1][1] < 0:
                _, called_at, called = stack.pop()
                failed.add((called, ~called_at))
            if not stack:
                return None
            at, position, count = stack.pop()
            del captures[count:]

    def miss(self, position: int, tokens: Set[int]) -> None:
        """Note tokens that were expected; only those at the furthest position explain an error."""
        if position > self.furthest:
            self.furthest = position
            self.misses = set(tokens)
        elif position == self.furthest:
            self.misses |= tokens


def build_tree(text: str, captures: Iterable[tuple[Any, ...]], builds: Mapping[str, Build]) -> Any:
    """Build the value of what was captured, from the innermost nodes outwards."""
    last: Any = None
    open_nodes: list[tuple[int, Fields]] = []
    for op, name, *details in captures:
        if op is OPEN:
            open_nodes.append((details[0], {}))
        elif op is CLOSE:
            start, fields = open_nodes.pop()
            last = builds[name](fields, Span(start, max(start, details[0])))
        else:
            value = last if op is ASSIGN else text[details[1] : details[2]]
            fields = open_nodes[-1][1]
            if details[0]:
                fields.setdefault(name, []).append(value)
            else:
                fields[name] = value
    return last


def build_from_fields(cls: type[Any], *names: str) -> Build:
    """A build of a class whose attributes are those of its rule, in this order."""

    def build(fields: Fields, span: Span) -> Any:
        return cls(*[fields.get(name) for name in names], span=span)

    return build


def build_tuple_of(cls: type[Any], name: str) -> Build:
    """A build of a class that holds all items of one attribute."""

    def build(fields: Fields, span: Span) -> Any:
        return cls(tuple(fields.get(name, ())), span=span)

    return build
