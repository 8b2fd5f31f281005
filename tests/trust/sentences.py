"""Random sentences of a language: written from textX's own parser model of the grammar file, rule by rule.

Half of the tokens are words of real programs (the cases and the examples), so that what is written means something;
the others are any texts that fit the token's pattern.
"""

from __future__ import annotations

import re
import re._constants as op  # type: ignore[import-not-found]
import re._parser as patterns  # type: ignore[import-not-found]
from pathlib import Path
from random import Random
from typing import Any

from arpeggio import EndOfFile, Match, Not, OneOrMore, Optional, OrderedChoice, RegExMatch, ZeroOrMore
from textx import metamodel_from_file

import memorygraph.languages
from memorygraph.languages import LANGUAGES

TESTS = Path(__file__).parent.parent
SOURCES = {"source", "program", "log", "load", "given"}  # the sections of a case that hold programs
MAX_CHARACTERS = 2000  # characters of a program that is changed: short ones are tried more often
ENDLESS = 10**6

ODD: list[str] = [
    *"\x00\x01\x08\x1a\x1b\x7f\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029\r\t\n",  # controls, and what breaks lines
    *"\xa0\u1680\u2003\u200b\u200d\u202e\u2060\u3000\ufeff\ufffe\uffff",  # blanks, and what is not seen
    *"\ud800\udbff\udc80\udfff",  # halves of characters
    *"\u0663\uff11\xb2\u2167\u0967",  # digits that are not 0 to 9
    *"\u212a\u017f\u0130\u0131\xdf\ufb01\u0301",  # letters that another case makes others
    *"\u201c\u201d\u2018\u2019\uff02\u02ba\uff1b\uff08\uff09\u2010",  # what looks like syntax
    *"\U0001f600\U0010ffff\u65e5",
]


class Sentences:
    """The sentences of one language.

    >>> Sentences("contextscript").sentence(Random(4))  # doctest: +SKIP
    'Edge ( from_node = "b" ) ;'
    """

    def __init__(self, language: str) -> None:
        path = Path(memorygraph.languages.__file__).parent / language / "grammar.tx"
        # Without its memory, textX takes twice the time, and more and more room, for each bracket that is not closed.
        self.metamodel = metamodel_from_file(str(path), auto_init_attributes=False, autokwd=True, memoization=True)
        self.programs = _programs(language)
        self._root = self.metamodel["Program"]._tx_peg_rule
        self._comment = self.metamodel._parser_blueprint.comments_model
        self._heights = _heights(self._root)
        self._words: dict[int, list[str]] = {}

    def sentence(self, draw: Random) -> str:
        """A program of about so many tokens as people try out."""
        tokens: list[str] = []
        self._write(self._root, draw, tokens, most=draw.choice([5, 15, 40]))
        return "".join(f"{token}{self._gap(draw)}" for token in tokens)

    def warm(self) -> None:
        """Do all that is done once, so that no input counts for it."""
        draw = Random(0)
        for _ in range(50):
            self.sentence(draw)

    def program(self, draw: Random) -> str:
        """A program that somebody wrote."""
        return draw.choice(self.programs)

    def _gap(self, draw: Random) -> str:
        if self._comment and draw.random() < 0.02:
            return f" {self._token(self._comment.nodes[0] if self._comment.nodes else self._comment, draw)}\n"
        return draw.choice(["", " ", " ", " ", "\n", "\n", "\r\n", "\t"])

    def _write(self, expression: Any, draw: Random, tokens: list[str], most: int) -> None:
        if isinstance(expression, Match):
            tokens.append(self._token(expression, draw))
            return
        full = len(tokens) >= most
        parts = list(expression.nodes)
        if isinstance(expression, Not):
            parts = []
        elif isinstance(expression, OrderedChoice):
            parts = [min(parts, key=self._height) if full else draw.choice(parts)]
        elif isinstance(expression, Optional):
            parts = parts if not full and draw.random() < 0.5 else []
        elif isinstance(expression, ZeroOrMore | OneOrMore):
            least = int(isinstance(expression, OneOrMore))
            count = least if full else max(least, not tokens) + draw.choice([0, 0, 1, 1, 2, 4])
            separator = getattr(expression, "sep", None)
            parts = [part for _ in range(count) for part in ([separator, *parts] if separator else parts)]
            parts = parts[1:] if separator else parts
        for part in parts:
            self._write(part, draw, tokens, most)

    def _height(self, expression: Any) -> int:
        return self._heights[id(expression)]

    def _token(self, match: Match, draw: Random) -> str:
        if isinstance(match, EndOfFile):
            return ""
        if not isinstance(match, RegExMatch):
            return str(match.to_match)
        if id(match) not in self._words:
            found = {one[0] for program in self.programs for one in match.regex.finditer(program)}
            self._words[id(match)] = sorted(word for word in found if len(word) < 200)
        words = self._words[id(match)]
        if words and draw.random() < 0.85:
            return draw.choice(words)
        return _any_match(patterns.parse(match.to_match_regex, re.MULTILINE), draw)


def _programs(language: str) -> list[str]:
    """What the cases and the examples hold in a language: the sections that are programs."""
    extension = LANGUAGES[language].extension
    programs = [path.read_text("utf-8") for path in sorted((TESTS.parent / "examples").glob(f"*{extension}"))]
    for file in sorted((TESTS / "cases" / language).rglob("*.*")):
        for part in re.split(r"^(?==== |--)", file.read_text("utf-8"), flags=re.MULTILINE):
            head, _, text = part.partition("\n")
            if head.removeprefix("-- ") in SOURCES:
                programs.append(text.strip("\n"))
    found = sorted({program for program in programs if 0 < len(program) < MAX_CHARACTERS})
    assert len(found) > 10, language
    return found


def _heights(root: Any) -> dict[int, int]:
    """For each expression of a grammar, how deep the shortest sentence of it nests."""
    expressions, waiting = {}, [root]
    while waiting:
        one = waiting.pop()
        if id(one) not in expressions:
            expressions[id(one)] = one
            waiting += one.nodes
    heights = dict.fromkeys(expressions, ENDLESS)
    before: dict[int, int] = {}
    while heights != before:
        before = dict(heights)
        for key, one in expressions.items():
            inner = [heights[id(node)] for node in one.nodes]
            if isinstance(one, Match | Not | Optional | ZeroOrMore):
                heights[key] = 1
            else:
                heights[key] = 1 + (min(inner) if isinstance(one, OrderedChoice) else max(inner))
    return heights


def _any_match(pattern: Any, draw: Random) -> str:
    """A text that a parsed pattern may well match: what it looks at around itself is not asked for."""
    text = ""
    for kind, value in pattern:
        if kind is op.LITERAL:
            text += chr(value)
        elif kind in {op.NOT_LITERAL, op.ANY}:
            text += draw.choice(["a", " ", draw.choice(ODD)])
        elif kind is op.IN:
            text += _one_of(value, draw)
        elif kind in {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}:
            least, most, inner = value
            count = min(int(most), least + draw.choice([0, 0, 1, 1, 2, 3, 8]))
            text += "".join(_any_match(inner, draw) for _ in range(count))
        elif kind is op.SUBPATTERN:
            text += _any_match(value[-1], draw)
        elif kind is op.ATOMIC_GROUP:
            text += _any_match(value, draw)
        elif kind is op.BRANCH:
            text += _any_match(draw.choice(value[1]), draw)
    return text


def _one_of(items: list[tuple[Any, Any]], draw: Random) -> str:
    """A character of a class; of one that says what it is not, mostly one that it is."""
    if items[0][0] is op.NEGATE:
        return str(draw.choice([*"ab 1é", draw.choice(ODD)]))
    kind, value = draw.choice(items)
    if kind is op.RANGE:
        return chr(draw.randint(*value))
    if kind is op.CATEGORY:
        return draw.choice("a1 ")
    return chr(int(value))
