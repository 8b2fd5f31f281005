r"""The tokens of a Cypher text, read as Neo4j reads them: Cypher 5 and Cypher 25 in one.

Neo4j replaces `\uXXXX` before anything else, so that it may stand for a letter of a keyword or for a quote. Strings of
Cypher 25 that begin with `s` hold expressions in braces: what stands there is code. All else in quotes, in backticks
and in comments is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from memorygraph.errors import QueryError

_ESCAPE = re.compile(r"\\(?:\\|u([0-9A-Fa-f]{4})?)")
# The names of groups are those of kinds; a GAP and the beginning of an INTERPOLATED string are no tokens.
_TOKEN = re.compile(
    r"""
      (?P<GAP> \s+ | //[^\r\n]* | /\*.*?\*/ )
    | (?P<INTERPOLATED> [sS]['"] )
    | (?P<STRING> '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
    | (?P<QUOTED> `(?:[^`]|``)*` )
    | (?P<WORD> \w+ )
    | (?P<UNCLOSED> ['"`] | /\* )
    | (?P<SYMBOL> \.\. | \|\| | . )
    """,
    re.DOTALL | re.VERBOSE,
)
# What an interpolated string says up to its next expression, or up to its end.
_SAID = {
    quote: re.compile(rf"(?:[^{{{quote}\\]|\\.)*(?:(?P<SYMBOL>\{{)|(?P<STRING>{quote})|(?P<UNCLOSED>\\?\Z))", re.DOTALL)
    for quote in "'\""
}


class CypherTokenKind(Enum):
    """What a token is."""

    WORD = auto()  # a keyword, a name or a number
    QUOTED = auto()  # a name in backticks
    STRING = auto()
    SYMBOL = auto()
    UNCLOSED = auto()  # the beginning of a string, a name or a comment that has no end


class CypherToken(NamedTuple):
    """A token as it is written."""

    kind: CypherTokenKind
    text: str

    @property
    def keyword(self) -> str:
        """The keyword that this may be, in capitals; empty for anything but a word."""
        return self.text.upper() if self.kind is CypherTokenKind.WORD else ""

    @property
    def symbol(self) -> str:
        """The symbol; empty for anything else."""
        return self.text if self.kind is CypherTokenKind.SYMBOL else ""

    @property
    def name(self) -> str | None:
        """The name, or the part of one, that this may be."""
        if self.kind is CypherTokenKind.QUOTED:
            return self.text[1:-1].replace("``", "`")
        return self.text if self.kind is CypherTokenKind.WORD else None


def read_cypher_tokens(cypher: str) -> Iterator[CypherToken]:
    r"""Yield the tokens of a text, without spaces and comments.

    Of an interpolated string these are its expressions, each in braces. What is unclosed is the last token, with which
    Neo4j refuses the text.

    Raises:
        QueryError: a `\u` is not followed by four hexadecimal digits, some of which Neo4j takes for a letter.

    >>> [token.text for token in read_cypher_tokens("RETURN n.`a b` /* why */ AS x")]
    ['RETURN', 'n', '.', '`a b`', 'AS', 'x']
    """
    text = _ESCAPE.sub(_decode, cypher)
    position = 0
    inside: list[str] = []  # the braces, and the quotes of interpolated strings, that are open here
    while position < len(text):
        said = _SAID.get(inside[-1]) if inside else None
        found = (said or _TOKEN).match(text, position)
        if found is None or found.lastgroup is None:
            raise AssertionError("every character is a symbol at least")
        position = found.end()
        content = found[found.lastgroup]
        match found.lastgroup:
            case "GAP":
                continue
            case "INTERPOLATED":
                inside.append(content[-1])
                continue
            case "SYMBOL" if content == "{":
                inside.append(content)
            case "SYMBOL" if content == "}":
                del inside[-1:]
            case "STRING" if said:
                del inside[-1:]
        yield CypherToken(CypherTokenKind[found.lastgroup], content)
        if found.lastgroup == "UNCLOSED":
            return
    if not _SAID.keys().isdisjoint(inside):
        yield CypherToken(CypherTokenKind.UNCLOSED, "")


def _decode(escape: re.Match[str]) -> str:
    if escape[0] == r"\u":
        line = escape.string.count("\n", 0, escape.start()) + 1
        column = escape.start() - escape.string.rfind("\n", 0, escape.start())
        raise QueryError(
            f"refused: line {line}, column {column}: `\\u` is not followed by four hexadecimal digits; "
            "a backslash itself is written `\\\\`"
        )
    return chr(int(escape[1], 16)) if escape[1] else escape[0]
