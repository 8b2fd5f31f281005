"""Raw statements to typed ones: the arguments that a class takes, their tokens, and pydantic's validation.

A statement that is right takes the short way (`Builder.statement`). One that is not goes through
`Builder.problems`, which asks the same three for everything that is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from itertools import islice
from typing import Any, NamedTuple, get_args

from pydantic import ValidationError

from memorygraph.errors import MAX_PROBLEMS, Span
from memorygraph.languages.contextscript.syntax import KEYWORDS, MAX_ID, MAX_NAME, STATEMENTS, Bare, Spelling, Statement
from memorygraph.languages.contextscript.tokens import TokenError, Tokens
from memorygraph.languages.engine.fast_path import RawStatement
from memorygraph.languages.engine.findings import Finding, explain_surrogate, name_character, shorten

_SURROGATE = re.compile("[\ud800-\udfff]")


class _Field(NamedTuple):
    """What a field's annotation says about its tokens."""

    read: Callable[[str], Any]
    spelling: Spelling | None


class Builder:
    """Makes the statements of one dialect."""

    def __init__(self, *, strict: bool) -> None:
        tokens = Tokens(strict=strict)
        self._classes = {cls.__name__: cls for cls in STATEMENTS}
        self._fields = {cls.__name__: _fields(cls, tokens) for cls in STATEMENTS}
        self._readers: dict[tuple[str, tuple[str, ...]], list[Callable[[str], Any]]] = {}

    def statement(self, raw: RawStatement) -> Statement | None:
        """The typed statement, or None if anything is wrong with it."""
        rule, span, names, tokens, _, _ = raw
        readers = self._readers.get((rule, names)) or self._readers_of(rule, names)
        if readers is None:
            return None
        try:
            values = {name: read(token) for name, read, token in zip(names, readers, tokens, strict=True)}
            values["span"] = span
            return self._classes[rule].model_validate(values)
        except (TokenError, ValidationError):
            return None

    def _readers_of(self, rule: str, names: tuple[str, ...]) -> list[Callable[[str], Any]] | None:
        """How to read the tokens of these arguments; None for a list of them that is wrong in itself."""
        fields = self._fields[rule]
        if len(set(names)) < len(names) or not fields.keys() >= set(names):
            return None
        readers = self._readers[rule, names] = [fields[name].read for name in names]
        return readers

    def problems(self, raw: RawStatement) -> list[Finding]:
        """Everything that is wrong with a statement, in the order of its text."""
        values: dict[str, Any] = {}
        findings = list(islice(self._read(raw, values), MAX_PROBLEMS + 1))
        try:
            self._classes[raw.rule].model_validate(values)
        except ValidationError as error:
            for detail in error.errors(include_url=False, include_context=True):
                findings += self._explained(raw, str(detail["loc"][0]), detail["type"])
        return sorted(findings, key=lambda finding: finding.span)

    def _read(self, raw: RawStatement, values: dict[str, Any]) -> Iterator[Finding]:
        """Read the tokens into values, and yield what is wrong with names and tokens."""
        for index, (name, token) in enumerate(zip(raw.names, raw.tokens, strict=True)):
            field = self._fields[raw.rule].get(name)
            if field is None:
                yield Finding(self._unknown(raw.rule, name), "unknown-argument", raw.name_span(index))
            elif name in raw.names[:index]:
                first = raw.name_span(raw.names.index(name))
                yield Finding(f"`{name}` is given twice", "duplicate-argument", raw.name_span(index), first)
            else:
                try:
                    values[name] = field.read(token)
                except TokenError as error:
                    yield _finding(error, name, raw.token_span(index))

    def _unknown(self, rule: str, name: str) -> str:
        meant = self._meant(rule, name)
        hint = f"; did you mean `{meant}`?" if meant else ""
        listed = ", ".join(f"`{argument}`" for argument in self._fields[rule])
        return f"`{KEYWORDS[rule]}` has no argument `{shorten(name)}`{hint} (its arguments: {listed})"

    def _meant(self, rule: str, name: str) -> str | None:
        """The argument that an unknown name probably stands for."""
        allowed = list(self._fields[rule])
        near = get_close_matches(name[:64].lower(), allowed, n=1) or (allowed if len(allowed) == 1 else [])
        return near[0] if near else None

    def _explained(self, raw: RawStatement, name: str, kind: str) -> Iterator[Finding]:
        """A finding of pydantic in the words of the language."""
        if kind == "missing":
            # An argument that is there, but was misnamed or has a wrong token, has its own finding.
            if name in raw.names or name in {self._meant(raw.rule, given) for given in raw.names}:
                return
            keyword = KEYWORDS[raw.rule]
            span = Span(raw.span.start, raw.span.start + len(keyword))
            yield Finding(f"`{keyword}` needs the argument `{name}`", "missing-argument", span)
            return
        index = raw.names.index(name)
        span = raw.token_span(index)
        error = _reason(raw.tokens[index], kind, self._fields[raw.rule][name].spelling)
        if error is not None:
            yield _finding(error, name, span)


def _finding(error: TokenError, name: str, token: Span) -> Finding:
    start = token.start + error.offset
    end = token.end if error.length is None else start + error.length
    message = f"`{name}` {error.message}" if error.code == "wrong-type" else error.message
    return Finding(message, error.code, Span(start, end))


def _reason(token: str, kind: str, spelling: Spelling | None) -> TokenError | None:
    """What pydantic found, and at which character of the token."""
    surrogate = _SURROGATE.search(token)
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
    return _misspelt(token, kind, spelling)


def _misspelt(token: str, kind: str, spelling: Spelling) -> TokenError:
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


def _fields(cls: type[Statement], tokens: Tokens) -> dict[str, _Field]:
    fields = {}
    for name in cls.arguments():
        info = cls.model_fields[name]
        parts = [*_parts(info.annotation), *info.metadata]
        read = tokens.number if float in parts else tokens.word if Bare in parts else tokens.text
        spelling = next((part for part in parts if isinstance(part, Spelling)), None)
        fields[name] = _Field(read, spelling)
    return fields


def _parts(annotation: Any) -> Iterator[Any]:
    """The types and the metadata in an annotation, however deep."""
    yield annotation
    for part in get_args(annotation):
        yield from _parts(part)
