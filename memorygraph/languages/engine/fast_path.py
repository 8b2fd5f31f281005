"""The fast path: the statements of a grammar as one regular expression, derived from its rules.

Only a language whose statements do not nest has one. A parsing expression grammar never goes back into what it has
matched, and nor do possessive quantifiers and atomic groups: so the expression reads what the machine reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from memorygraph.errors import Span
from memorygraph.languages.engine.grammar import (
    Assigned,
    Choice,
    Expression,
    Grammar,
    Repetition,
    RuleReference,
    Sequence,
    Token,
)
from memorygraph.languages.engine.patterns import compile_pattern


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


class StatementPattern(NamedTuple):
    """The statements of a grammar as one regular expression.

    Group 1 is empty and marks where the statement starts, after the layout. `rules` tells from the number of
    the last group that took part which rule matched, and the number of its first group.
    """

    regex: re.Pattern[str]
    rules: Mapping[int, tuple[str, int]]


def derive_pattern(grammar: Grammar, arguments: Mapping[str, int]) -> StatementPattern:
    """The pattern of a statement; one with more than `arguments` by rule is not matched, and left to the machine."""
    rules: dict[int, tuple[str, int]] = {}
    alternatives = []
    first = 2
    for name, most in arguments.items():
        alternatives.append(derive_expression(grammar, grammar.rules[name].body, most))
        rules.update((first + 2 * index + 1, (name, first)) for index in range(most))
        first += 2 * most
    return StatementPattern(compile_pattern(f"{grammar.layout}()(?>{'|'.join(alternatives)})", re.MULTILINE), rules)


def derive_expression(grammar: Grammar, expression: Expression, most: int) -> str:
    """The pattern of an expression; repetitions are written out, so that each round has its groups."""
    match expression:
        case Token(pattern):
            return f"{grammar.layout}(?>{pattern})"
        case Assigned(_, False, Token(pattern)):
            return f"{grammar.layout}((?>{pattern}))"
        case Assigned(_, _, RuleReference(rule)) | RuleReference(rule):
            return derive_expression(grammar, grammar.rules[rule].body, most)
        case Choice(options) if all(isinstance(option, Assigned) for option in options):
            # Alternatives of one attribute share its group.
            tokens = [f"(?>{option.value.pattern})" for option in options]  # type: ignore[union-attr]
            return f"{grammar.layout}({'|'.join(tokens)})"
        case Sequence(parts):
            return "".join(derive_expression(grammar, part, most) for part in parts)
        case Repetition(item, least, None, separator):
            repeated = derive_expression(grammar, item, most)
            between = derive_expression(grammar, separator, most) if separator else ""
            following = ""
            for _ in range(most - 1):
                following = f"(?>{between}{repeated}{following})?+"
            return repeated + following if least else f"(?>{repeated}{following})?+"
    raise NotImplementedError(f"no pattern for {expression}")
