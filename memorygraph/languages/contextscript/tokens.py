"""The tokens of a dialect: the text of a value becomes the value, or an error at the wrong character."""

from __future__ import annotations

import re

from memorygraph.errors import Span
from memorygraph.languages.contextscript.syntax import GRAMMAR
from memorygraph.languages.engine.findings import Finding, name_character, shorten

ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "t": "\t"}
ESCAPE = re.compile(r"\\([\s\S])")


class TokenError(Exception):
    """A token does not fit; `offset` and `length` say which of its characters."""

    def __init__(self, message: str, code: str, offset: int = 0, length: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.offset = offset
        self.length = length

    def finding(self, name: str, token: Span) -> Finding:
        """The error at its place: in the token of the argument `name`."""
        start = token.start + self.offset
        end = token.end if self.length is None else start + self.length
        message = f"`{name}` {self.message}" if self.code == "wrong-type" else self.message
        return Finding(message, self.code, Span(start, end))


class Tokens:
    r"""How one dialect reads its tokens.

    >>> Tokens(strict=False).text(r'"two\nlines"')
    'two\nlines'
    >>> Tokens(strict=True).number(".5")
    Traceback (most recent call last):
    memorygraph.languages.contextscript.tokens.TokenError: --strict wants digits on both sides of the point: write `0.5`
    """

    def __init__(self, *, strict: bool) -> None:
        self._is_text = GRAMMAR.token("String").fullmatch
        self._is_number = GRAMMAR.token("Float").fullmatch
        self._admits_text = GRAMMAR.token("StrictString" if strict else "String").fullmatch
        self._admits_number = GRAMMAR.token("StrictFloat" if strict else "Float").fullmatch
        self._strict = strict

    def text(self, token: str) -> str:
        """The text between double quotes, its escapes resolved."""
        if token[0] != '"':
            raise TokenError(f'takes text in double quotes: write "{shorten(token)}"', "wrong-type")
        if (self._strict or "\\" in token) and not self._admits_text(token):
            raise self.refuse(token)
        if "\\" not in token:
            return token[1:-1]
        return ESCAPE.sub(lambda escape: ESCAPES[escape[1]], token[1:-1])

    def number(self, token: str) -> float:
        """A number, without quotes."""
        if self._admits_number(token):
            return float(token)
        bare = token.strip('"')
        if self._is_number(token):
            sign, digits = ("-", token[1:]) if token.startswith("-") else ("", token)
            whole, _, fraction = digits.partition(".")
            full = f"{sign}{whole or '0'}.{fraction or '0'}"
            raise TokenError(f"--strict wants digits on both sides of the point: write `{full}`", "strict")
        if token[0] == '"' and self._is_number(bare):
            message = f'takes a number without quotes: write {shorten(bare)} instead of "{shorten(bare)}"'
            raise TokenError(message, "wrong-type")
        raise TokenError(f"takes a number such as 0.5, and `{shorten(token)}` is not a number", "wrong-type")

    def word(self, token: str) -> str:
        """A word, in double quotes or without."""
        return self.text(token) if token[0] == '"' else token

    def refuse(self, token: str) -> TokenError:
        """The error for the first character, or escape, of a text that the dialect does not have."""
        if not self._strict:
            for escape in ESCAPE.finditer(token):
                if not self._is_text(f'"{escape[0]}"'):
                    hint = r"the escapes are \", \\, \n and \t; write \\ for a backslash"
                    message = f"the escape `\\` before {name_character(escape[1])} is not known; {hint}"
                    return TokenError(message, "unknown-escape", escape.start(), 2)
        wrong = {char for char in set(token[1:-1]) if not self._admits_text(f'"{char}"')}
        offset = next(index for index, char in enumerate(token) if index and char in wrong)
        message = f"--strict does not allow {name_character(token[offset])} in a string"
        return TokenError(message, "strict", offset, 1)
