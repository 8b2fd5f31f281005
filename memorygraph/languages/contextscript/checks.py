"""Raw statements to typed ones: the tokens of a dialect, the arguments that a class takes, and pydantic's validation.

A correct statement takes the short way (`Builder.build`). A wrong one goes through `Builder.find_problems`, which asks
the same three for everything that is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any, NamedTuple, get_args

from pydantic import TypeAdapter, ValidationError

from memorygraph.errors import MAX_PROBLEMS, Span
from memorygraph.json_text import HALF_CHARACTER
from memorygraph.languages.contextscript.syntax import (
    GRAMMAR,
    KEYWORDS,
    MAX_ID,
    MAX_NAME,
    STATEMENTS,
    Bare,
    GraphStatement,
    Spelling,
)
from memorygraph.languages.engine.fast_path import RawStatement
from memorygraph.languages.engine.findings import Finding, explain_surrogate, name_character, shorten

MAX_NAME_COMPARED = 64  # characters of an unknown name that are compared with the known ones
_NO_VALUES = frozenset(("None", "none", "null", "NULL", "nil", "undefined"))  # in other languages
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
    memorygraph.languages.contextscript.checks.TokenError: --strict wants digits on both sides of the point: write `0.5`
    """

    def __init__(self, *, strict: bool) -> None:
        self._is_text = GRAMMAR.token("String").fullmatch
        self._is_number = GRAMMAR.token("Float").fullmatch
        self._admits_text = GRAMMAR.token("StrictString" if strict else "String").fullmatch
        self._admits_number = GRAMMAR.token("StrictFloat" if strict else "Float").fullmatch
        self._strict = strict

    def text(self, token: str) -> str:
        """The text between double quotes, its escapes resolved."""
        if token in _NO_VALUES:
            raise TokenError('takes text in double quotes: for no text leave it out, or write ""', "wrong-type")
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


class ArgumentField(NamedTuple):
    """What a field's annotation says about its tokens."""

    read: Callable[[str], Any]
    spelling: Spelling | None


class Builder:
    """Makes the statements of one dialect."""

    def __init__(self, *, strict: bool) -> None:
        tokens = Tokens(strict=strict)
        # What `model_validate` calls, which takes half as long again.
        self._validate = {cls.__name__: TypeAdapter(cls).validator.validate_python for cls in STATEMENTS}
        self._fields = {cls.__name__: read_fields(cls, tokens) for cls in STATEMENTS}
        # Scripts repeat a few lists of arguments; how to read the tokens of each is looked up once.
        self._readers: dict[tuple[str, tuple[str, ...]], list[Callable[[str], Any]]] = {}

    def build(self, raw: RawStatement) -> GraphStatement | None:
        """The typed statement, or None if anything is wrong with it."""
        rule, span, names, tokens, _, _ = raw
        readers = self._readers.get((rule, names))
        if readers is None:
            fields = self._fields[rule]
            if len(set(names)) < len(names) or not fields.keys() >= set(names):
                return None
            readers = self._readers[rule, names] = [fields[name].read for name in names]
        try:
            values = {name: read(token) for name, read, token in zip(names, readers, tokens, strict=True)}
            values["span"] = span
            statement: GraphStatement = self._validate[rule](values)
        except (TokenError, ValidationError):
            return None
        return statement

    def find_problems(self, raw: RawStatement) -> list[Finding]:
        """Everything that is wrong with a statement, in the order of its text."""
        fields = self._fields[raw.rule]
        values: dict[str, Any] = {}
        findings = list(islice(read_values(raw, fields, values), MAX_PROBLEMS + 1))
        try:
            self._validate[raw.rule](values)
        except ValidationError as error:
            for detail in error.errors(include_url=False, include_context=True):
                findings += explain_invalid_argument(raw, fields, str(detail["loc"][0]), detail["type"])
        return sorted(findings, key=lambda finding: finding.span)


Fields = Mapping[str, ArgumentField]


def read_fields(cls: type[GraphStatement], tokens: Tokens) -> dict[str, ArgumentField]:
    """How the arguments of a class are read, by name."""
    fields = {}
    for name in cls.arguments():
        info = cls.model_fields[name]
        parts = [*annotation_parts(info.annotation), *info.metadata]
        read = tokens.number if float in parts else tokens.word if Bare in parts else tokens.text
        spelling = next((part for part in parts if isinstance(part, Spelling)), None)
        fields[name] = ArgumentField(read, spelling)
    return fields


def annotation_parts(annotation: Any) -> Iterator[Any]:
    """The types and the metadata in an annotation, however deep."""
    yield annotation
    for part in get_args(annotation):
        yield from annotation_parts(part)


def read_values(raw: RawStatement, fields: Fields, values: dict[str, Any]) -> Iterator[Finding]:
    """Read the tokens into values, and yield what is wrong with names and tokens."""
    for index, (name, token) in enumerate(zip(raw.names, raw.tokens, strict=True)):
        field = fields.get(name)
        if field is None:
            meant = guess_argument(fields, name)
            hint = f"; did you mean `{meant}`?" if meant else ""
            listed = ", ".join(f"`{argument}`" for argument in fields)
            message = f"`{KEYWORDS[raw.rule]}` has no argument `{shorten(name)}`{hint} (its arguments: {listed})"
            yield Finding(message, "unknown-argument", raw.name_span(index))
        elif name in raw.names[:index]:
            first = raw.name_span(raw.names.index(name))
            yield Finding(f"`{name}` is given twice", "duplicate-argument", raw.name_span(index), first)
        else:
            try:
                values[name] = field.read(token)
            except TokenError as error:
                yield error.finding(name, raw.token_span(index))


def guess_argument(fields: Fields, name: str) -> str | None:
    """The argument that an unknown name probably stands for; a single one is always meant."""
    near = get_close_matches(name[:MAX_NAME_COMPARED].lower(), list(fields), n=1)
    return next(iter(near or (fields if len(fields) == 1 else ())), None)


def explain_invalid_argument(raw: RawStatement, fields: Fields, name: str, kind: str) -> Iterator[Finding]:
    """A finding of pydantic about an argument, in the words of the language."""
    if kind == "missing":
        # An argument that is there, but was misnamed or has a wrong token, has its own finding.
        if name in raw.names or name in {guess_argument(fields, given) for given in raw.names}:
            return
        keyword = KEYWORDS[raw.rule]
        span = Span(raw.span.start, raw.span.start + len(keyword))
        yield Finding(f"`{keyword}` needs the argument `{name}`", "missing-argument", span)
        return
    index = raw.names.index(name)
    yield explain_value(raw.tokens[index], kind, fields[name].spelling).finding(name, raw.token_span(index))


def explain_value(token: str, kind: str, spelling: Spelling | None) -> TokenError:
    """What pydantic found wrong with a token, and at which of its characters."""
    surrogate = HALF_CHARACTER.search(token)
    if kind == "string_unicode" and surrogate:
        return TokenError(explain_surrogate(surrogate[0]), "encoding", surrogate.start(), 1)
    if kind in {"less_than_equal", "greater_than_equal"}:
        side = "above 1.0" if kind == "less_than_equal" else "below 0.0"
        message = f"weight {shorten(token)} is {side}; a weight lies between 0.0 and 1.0"
        return TokenError(message, "weight-range")
    if kind == "string_too_long" and spelling is None:
        size = f"{len(token) - 2:,} characters"
        message = f"a name of {size} is too long; {MAX_NAME:,} are the most: put the rest into `data`"
        return TokenError(message, "invalid-name")
    if spelling is None:
        return TokenError(f"{shorten(token)} does not fit: {kind}", "wrong-type")
    return explain_spelling(token, kind, spelling)


def explain_spelling(token: str, kind: str, spelling: Spelling) -> TokenError:
    """Why a token is not spelt as its pattern demands, at the first wrong character."""
    quote = int(token[0] == '"')
    written = token[quote : len(token) - quote]
    if not written:
        return TokenError(f"{spelling.noun} may not be empty; {spelling.rule}", spelling.code)
    if kind == "string_too_long":
        message = f"{spelling.noun} of {len(written)} characters is too long; {MAX_ID} is the most"
        return TokenError(message, spelling.code)
    fitting = spelling.pattern.match(written)
    offset = fitting.end() if fitting else 0
    verb = "contain" if fitting else "begin with"
    message = f"{spelling.noun} may not {verb} {name_character(written[offset])}; {spelling.rule}"
    return TokenError(message, spelling.code, offset + quote, 1)
