"""The seam to textX: a grammar file becomes rules that are plain data.

textX does not read scripts: it would recurse as deep as they nest, and it is slow. The expressions mean the same as
there: the first alternative that fits is taken, and a repetition takes all it can.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import arpeggio
from textx import metamodel_from_file
from textx.const import RULE_COMMON

from memorygraph.languages.engine.patterns import compile_pattern
from memorygraph.languages.engine.syntax import FrozenDataclass


class Token(FrozenDataclass):
    """A text that matches a pattern; `name` is how messages call it."""

    pattern: str
    name: str


class Absent(FrozenDataclass):
    """Nothing is read, and this token must not be next."""

    token: Token


class RuleReference(FrozenDataclass):
    """What another rule reads."""

    rule: str


class Sequence(FrozenDataclass):
    """One after the other."""

    parts: tuple[Expression, ...]


class Choice(FrozenDataclass):
    """The first one that fits."""

    options: tuple[Expression, ...]


class Repetition(FrozenDataclass):
    """As many as there are, with a separator between them; `least` and `most` (None: any number) bound it."""

    item: Expression
    least: int
    most: int | None = None
    separator: Token | None = None


class Assigned(FrozenDataclass):
    """What `value` reads becomes an attribute of the rule's node, or one more of its items."""

    attribute: str
    many: bool
    value: Token | RuleReference


Expression: TypeAlias = Token | Absent | RuleReference | Sequence | Choice | Repetition | Assigned


class GrammarRule(FrozenDataclass):
    """A rule; one with a `node` makes a node of its own, the others hand on that of the rule they refer to."""

    name: str
    node: bool
    body: Expression


@dataclass(frozen=True)
class Grammar:
    """A language as its grammar file defines it: rules, tokens, and what may stand between tokens.

    `tokens` are the patterns of all rules that are one regular expression, whether a rule refers to them or not.
    """

    path: Path
    rules: Mapping[str, GrammarRule]
    tokens: Mapping[str, str]
    blank_characters: str
    comment: str | None

    @cached_property
    def layout(self) -> str:
        """The pattern of the blanks and comments that may stand between tokens."""
        blanks = f"[{self.blank_characters}]*+"
        return f"{blanks}(?:{self.comment}{blanks})*+" if self.comment else blanks

    def token(self, rule: str) -> re.Pattern[str]:
        """The regular expression of a rule that is one."""
        return compile_pattern(self.tokens[rule], re.MULTILINE)

    def words(self, rule: str) -> list[str]:
        """The words that a rule lists which is a regular expression: its first group of nothing else.

        >>> from memorygraph.languages.pete.items import GRAMMAR
        >>> GRAMMAR.words("Constant")
        ['true', 'false', 'null']
        """
        words: str = re.findall(r"\(\?:([a-z'|]++)\)", self.tokens[rule])[0]
        return words.split("|")

    def tokens_in(self, rule: str) -> list[Token]:
        """The tokens that a rule reads, and the rules it refers to, in the order of the grammar.

        >>> from memorygraph.languages.contextscript import GRAMMAR
        >>> [token.name for token in GRAMMAR.tokens_in("Argument")]
        ['Name', '=', 'Quoted', 'Bare']
        """
        found: dict[Token, None] = {}
        rules = {rule}
        waiting = [self.rules[rule].body]
        while waiting:
            match waiting.pop(0):
                case Token() as token:
                    found[token] = None
                case RuleReference(name) if name not in rules:
                    rules.add(name)
                    waiting.insert(0, self.rules[name].body)
                case Assigned(_, _, part) | Absent(part):
                    waiting.insert(0, part)
                case Sequence(parts) | Choice(parts):
                    waiting[:0] = parts
                case Repetition(item, _, _, separator):
                    waiting[:0] = [item, separator] if separator else [item]
        return list(found)


def read_grammar(path: Path, *roots: str) -> Grammar:
    """The grammar of a file: the rules that are reached from `Program`, or from one of the other `roots`."""
    metamodel = metamodel_from_file(str(path), auto_init_attributes=False, autokwd=True)
    parser = metamodel._parser_blueprint  # noqa: SLF001 - textX has no public way to its parser model
    defined = {cls.__name__: cls._tx_peg_rule for cls in metamodel.namespaces[path.stem].values()}
    rules: dict[str, GrammarRule] = {}
    waiting = [defined[root] for root in ("Program", *roots)]
    while waiting:
        rule = waiting.pop()
        if rule.rule_name not in rules:
            is_node = rule._tx_class._tx_type == RULE_COMMON  # noqa: SLF001 - textX's documented names
            rules[rule.rule_name] = GrammarRule(rule.rule_name, is_node, lower_body(rule, waiting))
    tokens = {name: pattern_of(rule) for name, rule in defined.items() if isinstance(rule, arpeggio.Match)}
    return Grammar(path, rules, tokens, re.escape(parser.ws), tokens.get("Comment"))


def lower(expression: arpeggio.ParsingExpression, waiting: list[arpeggio.ParsingExpression]) -> Expression:
    """A parsing expression without textX in it; the rules that it refers to are added to those `waiting`."""
    if isinstance(expression, arpeggio.Match):
        # A keyword is a pattern with a fixed text; any other pattern has the name of its rule.
        fixed = isinstance(expression, arpeggio.StrMatch) or expression.to_match != expression.to_match_regex
        return Token(pattern_of(expression), str(expression.to_match if fixed else expression.rule_name))
    if expression.root and not expression.rule_name.startswith("__asgn"):
        waiting.append(expression)
        return RuleReference(expression.rule_name)
    return lower_body(expression, waiting)


def lower_body(expression: arpeggio.ParsingExpression, waiting: list[arpeggio.ParsingExpression]) -> Expression:
    """What an expression consists of; textX marks the assignment of an attribute at the expression around its value."""
    attribute = getattr(expression, "_attr_name", None)
    if attribute is None:
        parts = [lower(node, waiting) for node in expression.nodes]
    else:
        many = expression.rule_name in {"__asgn_zeroormore", "__asgn_oneormore"}
        parts = [lower_assignment(attribute, expression.nodes[0], waiting, many=many)]
    match expression:
        case arpeggio.Not() if isinstance(parts[0], Token):
            return Absent(parts[0])
        case arpeggio.OrderedChoice():
            return Choice(tuple(parts))
        case arpeggio.Sequence():
            return Sequence(tuple(parts))
        case arpeggio.Optional():
            return Repetition(parts[0], 0, most=1)
        case arpeggio.OneOrMore() | arpeggio.ZeroOrMore():
            separator = lower(expression.sep, waiting) if expression.sep else None
            if separator is None or isinstance(separator, Token):
                return Repetition(parts[0], int(isinstance(expression, arpeggio.OneOrMore)), separator=separator)
    raise NotImplementedError(f"the engine cannot read {expression.name}")


def lower_assignment(
    attribute: str, value: arpeggio.ParsingExpression, waiting: list[arpeggio.ParsingExpression], *, many: bool
) -> Expression:
    """The value of an attribute: a token, one of several, or what a rule reads."""
    if isinstance(value, arpeggio.OrderedChoice) and all(isinstance(node, arpeggio.Match) for node in value.nodes):
        options = [lower_assignment(attribute, node, waiting, many=many) for node in value.nodes]
        return Choice(tuple(options))
    lowered = lower(value, waiting)
    return Assigned(attribute, many, lowered) if isinstance(lowered, Token | RuleReference) else lowered


def pattern_of(match: arpeggio.Match) -> str:
    """The pattern of a token; one that would mean something else inside a larger pattern is refused."""
    if isinstance(match, arpeggio.StrMatch):
        return re.escape(str(match.to_match))
    if (
        not isinstance(match, arpeggio.RegExMatch)
        or match.regex.groups
        or match.regex.flags != re.MULTILINE | re.UNICODE
    ):
        raise NotImplementedError(f"no pattern for {match.name}")
    return str(match.to_match_regex)
