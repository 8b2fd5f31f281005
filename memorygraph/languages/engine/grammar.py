"""The seam to textX: a grammar file becomes what the rest of memorygraph reads scripts with.

textX itself answers for a statement (`Grammar.read`), in the neutral form of `RawStatement`, or with the place
where it stopped and what it expected there. For speed, the same grammar is also written out as one regular
expression (`Grammar.statement_pattern`), by walking the parser model that textX made of the grammar file; a
parsing expression grammar never goes back into what it has matched, and nor do possessive quantifiers.

A language whose programs nest has no such expression. The parser model of its grammar file becomes the rules that
`machine.Machine` reads with (`nested_grammar`), since textX itself reads by recursion, which input can exhaust.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from arpeggio import (
    EndOfFile,
    Match,
    Not,
    OneOrMore,
    Optional,
    OrderedChoice,
    ParsingExpression,
    RegExMatch,
    Sequence,
    StrMatch,
    ZeroOrMore,
)
from textx import metamodel_from_file
from textx.const import RULE_COMMON
from textx.exceptions import TextXSyntaxError

from memorygraph.errors import Span
from memorygraph.languages.engine import machine


class RawStatement(NamedTuple):
    """A statement as the grammar sees it: its rule, and the names and tokens of its arguments.

    `place` gives the span of a name or a token by a running number that starts at `first`: of the argument
    with the index i it is `first + 2 * i` for the name, and one more for the token.
    """

    rule: str
    span: Span
    names: tuple[str, ...]
    tokens: tuple[str, ...]
    place: Callable[[int], tuple[int, int]]
    first: int

    def name_span(self, index: int) -> Span:
        """Where the name of an argument stands."""
        return Span(*self.place(self.first + 2 * index))

    def token_span(self, index: int) -> Span:
        """Where the value of an argument stands."""
        return Span(*self.place(self.first + 2 * index + 1))


class Stopped(NamedTuple):
    """textX could not go on: the offset, and the tokens (or names of token rules) that would have fitted."""

    offset: int
    expected: tuple[str, ...]


class StatementPattern(NamedTuple):
    """The statements of a grammar as one regular expression.

    Group 1 is empty and marks where the statement starts, after the layout. `rules` tells from the number of
    the last group that took part which rule matched, and the number of its first group.
    """

    regex: re.Pattern[str]
    rules: Mapping[int, tuple[str, int]]


class Grammar:
    """A language as its grammar file defines it.

    >>> from memorygraph.languages.contextscript import GRAMMAR
    >>> GRAMMAR.keywords["Deletion"]
    'del'
    >>> GRAMMAR.read('del(id="a"')
    Stopped(offset=10, expected=(',', ')'))
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._metamodel = metamodel_from_file(str(path), auto_init_attributes=False, autokwd=True)
        parser = self._metamodel._parser_blueprint  # noqa: SLF001 - textX has no public way to its parser model
        self._rules: dict[str, Sequence] = {
            rule.rule_name: rule
            for rule in self._metamodel["Statement"]._tx_peg_rule.nodes  # noqa: SLF001
        }
        self.blank_characters = re.escape(parser.ws)
        self.blanks = f"[{self.blank_characters}]"
        self.comment = _leaf(parser.comments_model)
        self.layout = f"{self.blanks}*+(?:{self.comment}{self.blanks}*+)*+"
        self.keywords = {name: str(rule.nodes[0].to_match) for name, rule in self._rules.items()}
        self.terminators = "".join({str(rule.nodes[-1].to_match) for rule in self._rules.values()})
        self.literals = {
            leaf.to_match for rule in self._rules.values() for leaf in _leaves(rule) if isinstance(leaf, StrMatch)
        }

    def token(self, rule: str) -> re.Pattern[str]:
        """The regular expression of a rule that is one."""
        return re.compile(_leaf(self._metamodel[rule]._tx_peg_rule), re.MULTILINE)  # noqa: SLF001

    def opening(self) -> str:
        """A pattern of how a statement begins: a keyword, in any case, and the token after it."""
        starts = (f"{_leaf(rule.nodes[0])}{self.layout}{_leaf(rule.nodes[1])}" for rule in self._rules.values())
        return f"(?i:{'|'.join(starts)})"

    def likely_opening(self) -> str:
        """The same, with any word for the keyword: only where a statement may well begin."""
        seconds = {_leaf(rule.nodes[1]) for rule in self._rules.values()}
        return f"{self.token('Name').pattern}{self.layout}(?:{'|'.join(seconds)})"

    def statement_pattern(self, arguments: Mapping[str, int]) -> StatementPattern:
        """Derive the pattern of a statement that has at most so many arguments, said for each rule.

        A statement with more of them is not matched. (It has some twice, or too many: an error for textX.)
        """
        rules: dict[int, tuple[str, int]] = {}
        alternatives = []
        first = 2
        for name, rule in self._rules.items():
            alternatives.append(self._pattern(rule, arguments[name]))
            rules.update((first + 2 * i + 1, (name, first)) for i in range(arguments[name]))
            first += 2 * arguments[name]
        pattern = f"{self.layout}()(?>{'|'.join(alternatives)})"
        return StatementPattern(re.compile(pattern, re.MULTILINE), rules)

    def _pattern(self, expression: ParsingExpression, unrolled: int) -> str:
        """A parsing expression as a pattern; repetitions are written out, to give each round its groups."""
        match expression:
            case Match():
                return f"{self.layout}(?>{_leaf(expression)})"
            case OrderedChoice():
                return f"(?>{'|'.join(self._pattern(node, unrolled) for node in expression.nodes)})"
            case Sequence() if expression.rule_name == "__asgn_plain":
                return self._captured(expression.nodes[0])
            case Sequence():
                return "".join(self._pattern(node, unrolled) for node in expression.nodes)
            case Optional():
                return f"(?>{self._pattern(expression.nodes[0], unrolled)})?+"
            case OneOrMore() | ZeroOrMore():
                return self._repetition(expression, unrolled)
        raise NotImplementedError(f"no pattern for {type(expression).__name__}")

    def _repetition(self, expression: OneOrMore | ZeroOrMore, unrolled: int) -> str:
        item = self._pattern(expression.nodes[0], unrolled)
        separator = self._pattern(expression.sep, unrolled) if expression.sep else ""
        following = ""
        for _ in range(unrolled - 1):
            following = f"(?>{separator}{item}{following})?+"
        some = item + following
        return some if isinstance(expression, OneOrMore) else f"(?>{some})?+"

    def _captured(self, expression: ParsingExpression) -> str:
        """A token as a group, without the layout before it."""
        tokens = [expression] if isinstance(expression, Match) else expression.nodes
        if not isinstance(expression, Match | OrderedChoice) or not all(isinstance(t, Match) for t in tokens):
            raise NotImplementedError(f"no pattern for an argument that is no token: {expression.name}")
        return f"{self.layout}({'|'.join(f'(?>{_leaf(token)})' for token in tokens)})"

    def read(self, text: str) -> RawStatement | Stopped:
        """Let textX read a text that holds one statement; the spans are offsets in this text."""
        try:
            statement = self._metamodel.model_from_str(text).statements[0]
        except TextXSyntaxError as error:
            expected = dict.fromkeys(map(_described, error.expected_rules))
            return Stopped(error.__cause__.position, tuple(name for name in expected if name))
        arguments: list[Any] = statement.arguments
        spans: list[tuple[int, int]] = []
        for argument in arguments:
            start, end = argument._tx_position, argument._tx_position_end  # noqa: SLF001 - textX's documented names
            spans += [(start, start + len(argument.name)), (end - len(argument.value), end)]
        return RawStatement(
            type(statement).__name__,
            Span(statement._tx_position, statement._tx_position_end),  # noqa: SLF001
            tuple(argument.name for argument in arguments),
            tuple(argument.value for argument in arguments),
            spans.__getitem__,
            0,
        )


def nested_grammar(path: Path, *roots: str) -> machine.Machine:
    """What reads the programs of a grammar file with its rule `Program`, or with one of the other `roots`."""
    metamodel = metamodel_from_file(str(path), auto_init_attributes=False, autokwd=True)
    parser = metamodel._parser_blueprint  # noqa: SLF001 - textX has no public way to its parser model
    rules: dict[str, machine.Rule] = {}
    waiting = [metamodel[root]._tx_peg_rule for root in ("Program", *roots)]  # noqa: SLF001
    while waiting:
        rule = waiting.pop()
        if rule.rule_name not in rules:
            kind = rule._tx_class._tx_type  # noqa: SLF001 - textX's documented names
            rules[rule.rule_name] = machine.Rule(rule.rule_name, kind == RULE_COMMON, _body(rule, waiting))
    blanks = f"[{re.escape(parser.ws)}]*+"
    comments = f"(?:{_leaf(parser.comments_model)}{blanks})*+" if parser.comments_model else ""
    return machine.Machine(rules, blanks + comments)


def _neutral(expression: ParsingExpression, waiting: list[ParsingExpression]) -> machine.Expression:
    """A parsing expression without textX in it; the rules that it refers to are added to those `waiting`."""
    if isinstance(expression, Match):
        return machine.Token(_leaf(expression), _described(expression))
    if expression.root and not expression.rule_name.startswith("__asgn"):
        waiting.append(expression)
        return machine.Reference(expression.rule_name)
    return _body(expression, waiting)


def _body(expression: ParsingExpression, waiting: list[ParsingExpression]) -> machine.Expression:
    parts = [_neutral(node, waiting) for node in expression.nodes]
    attribute = getattr(expression, "_attr_name", None)
    if attribute is not None and isinstance(parts[0], machine.Token | machine.Reference):
        many = expression.rule_name in {"__asgn_zeroormore", "__asgn_oneormore"}
        parts = [machine.Assigned(attribute, many, parts[0])]
    match expression:
        case Not() if isinstance(parts[0], machine.Token):
            return machine.Absent(parts[0])
        case OrderedChoice():
            return machine.Choice(tuple(parts))
        case Sequence():
            return machine.Sequence(tuple(parts))
        case Optional():
            return machine.Repetition(parts[0], 0, most=1)
        case OneOrMore() | ZeroOrMore():
            separator = _neutral(expression.sep, waiting) if expression.sep else None
            if separator is None or isinstance(separator, machine.Token):
                return machine.Repetition(parts[0], int(isinstance(expression, OneOrMore)), separator=separator)
    raise NotImplementedError(f"the machine cannot read {expression.name}")


def _leaves(expression: ParsingExpression) -> list[Match]:
    if isinstance(expression, Match):
        return [expression]
    children = [*expression.nodes, *filter(None, [getattr(expression, "sep", None)])]
    return [leaf for child in children for leaf in _leaves(child)]


def _leaf(match: Match) -> str:
    """The pattern of a token; one that would mean something else inside a larger pattern is refused."""
    if isinstance(match, StrMatch):
        return re.escape(str(match.to_match))
    if not isinstance(match, RegExMatch) or match.regex.groups or match.regex.flags != re.MULTILINE | re.UNICODE:
        raise NotImplementedError(f"no pattern for {match.name}")
    return str(match.to_match_regex)


def _described(rule: ParsingExpression) -> str:
    """How an expected token is called: its text, or the name of its rule; nothing for what is no token."""
    if isinstance(rule, EndOfFile) or not isinstance(rule, Match) or rule.rule_name == "Comment":
        return ""
    fixed = isinstance(rule, StrMatch) or rule.to_match != rule.to_match_regex
    return str(rule.to_match if fixed else rule.rule_name)
