"""One item of a log at a time: the values of each rule of the grammar."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memorygraph.errors import Span
from memorygraph.languages.engine.grammar import read_grammar
from memorygraph.languages.engine.machine import Build, Fields, Machine, Read, Stopped
from memorygraph.languages.pete import syntax

GRAMMAR = read_grammar(Path(__file__).with_name("grammar.tx"), "Item")
MACHINE = Machine(GRAMMAR.rules, GRAMMAR.layout)
RESERVED = frozenset(GRAMMAR.tokens["Reserved"].split("|"))
"""The words that are no names."""

BLANKS = " \t\r\n"
_ANSWERED = frozenset({syntax.Command, syntax.Question})
MAX_NESTING = 100  # levels of brackets in a value, and of `that` in a predication

_JSON_PIECE = re.compile(r'("(?:[^"\\]++|\\.)*+")|[ \t\r\n]++|([,:])')
_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"|([\[{])|([\]}])')


def read_item(text: str, builds: Mapping[str, Build], position: int, rule: str = "Item") -> Read | Stopped:
    """The item at a position, or where it could not be read; what nests too deep is not read."""
    result = MACHINE.read(text, rule, builds, position)
    if isinstance(result, Read) and type(result.value) in _ANSWERED:
        result = _broken_end(text, builds, result) or result
    if isinstance(result, Read):
        start, end = result.value.span
        place = _too_deep(result.value, text) if end - start > 2 * MAX_NESTING else None
        if place is not None:
            return Stopped(place, (), Span(place, place + 1), deep=True)
    return result


def builds_for(text: str) -> Mapping[str, Build]:
    """What makes the values of the rules, for one text."""

    def value(_: Fields, span: Span) -> syntax.Value:
        return syntax.Value(canonical(text[span.start : span.end]), span=span)

    return {**_BUILDS, "Value": value, "Structure": value}


def canonical(json: str) -> str:
    """A JSON text with `, ` and `: ` between its tokens, and no other blanks.

    >>> canonical('{ "a,b" :[1 ,2.50]}')
    '{"a,b": [1, 2.50]}'
    """
    if json[0] not in "{[":
        return json
    return _JSON_PIECE.sub(lambda found: found[1] or (f"{found[2]} " if found[2] else ""), json)


def _broken_end(text: str, builds: Mapping[str, Build], read: Read) -> Stopped | None:
    """Where the arguments or the feedback stop that a command or a question can be read without, but does not mean."""
    item: syntax.Command | syntax.Question = read.value
    if item.feedback is not None:
        return None
    bare = isinstance(item, syntax.Command) and item.arguments is None and text[read.end : read.end + 1] in {"{", "["}
    if not bare and not text.startswith(">>", read.end):
        return None
    end = MACHINE.read(text, "Structure" if bare else "Feedback", builds, read.end)
    return end if isinstance(end, Stopped) else None


def _too_deep(item: syntax.Syntax, text: str) -> int | None:
    """Where an item nests deeper than we go."""
    start, end = item.span
    if text.count("[", start, end) + text.count("{", start, end) > MAX_NESTING:
        waiting = [item]
        while waiting:
            one = waiting.pop()
            place = _deep_bracket(text, one.span) if isinstance(one, syntax.Value) else None
            if place is not None:
                return place
            waiting += _parts(one)
    return _deep_abstraction(item) if text.count("that", start, end) > MAX_NESTING else None


def _deep_bracket(text: str, span: Span) -> int | None:
    depth = 0
    for found in _BRACKET.finditer(text, *span):
        depth += (found[1] is not None) - (found[2] is not None)
        if depth > MAX_NESTING:
            return found.start()
    return None


def _deep_abstraction(item: syntax.Syntax) -> int | None:
    waiting = [(item, 0)]
    while waiting:
        one, depth = waiting.pop()
        depth += isinstance(one, syntax.Abstraction)
        if depth > MAX_NESTING:
            return one.span.start
        waiting += [(part, depth) for part in _parts(one)]
    return None


def _parts(node: syntax.Syntax) -> list[syntax.Syntax]:
    """What a piece of syntax consists of."""
    parts: list[syntax.Syntax] = []
    for value in vars(node).values():
        parts += [one for one in (value if type(value) is tuple else (value,)) if isinstance(one, syntax.Syntax)]
    return parts


def _refs(fields: Fields) -> tuple[syntax.Ref, ...]:
    return tuple(fields.get("refs", ()))


def _abbreviation(fields: Fields, span: Span) -> syntax.Abbreviation:
    return syntax.Abbreviation(fields["name"], _refs(fields), fields["memory"], fields.get("tldr"), span=span)


def _joined(fields: Fields, first: str) -> tuple[tuple[syntax.Predication, ...], tuple[str, ...]]:
    """Predications, and the conjunctions between them."""
    others: list[tuple[str, syntax.Predication]] = fields.get("others", [])
    return (fields[first], *(other for _, other in others)), tuple(word for word, _ in others)


def _sentence(fields: Fields, span: Span) -> syntax.Fact | syntax.Question | syntax.Rule:
    predication: syntax.Predication = fields["predication"]
    kind, *details = fields["continuation"]
    if kind is syntax.Fact:
        return syntax.Fact(predication, span=span)
    if kind is syntax.Question:
        return syntax.Question(predication, *details, span=span)
    return syntax.Rule(predication, *details, span=span)


def _memory(fields: Fields, span: Span) -> syntax.Memory:
    digits = fields["address"].removeprefix("memory:")
    return syntax.Memory(int(digits[:MAX_ADDRESS]) if len(digits) <= MAX_ADDRESS else 10**MAX_ADDRESS, span=span)


def _predication(fields: Fields, span: Span) -> syntax.Predication:
    return syntax.Predication(
        fields["subject"], fields["predicate"], fields["object"], fields.get("negator"), span=span
    )


def _command(fields: Fields, span: Span) -> syntax.Command:
    faculty = fields.get("faculty")
    return syntax.Command(
        fields["procedure"],
        faculty and faculty[1:],
        fields.get("arguments"),
        fields.get("feedback"),
        span=span,
    )


def _same(cls: type[Any], *names: str) -> Build:
    """A class whose attributes are those of its rule, in this order."""

    def build(fields: Fields, span: Span) -> Any:
        return cls(*[fields.get(name) for name in names], span=span)

    return build


MAX_ADDRESS = 18  # digits; a longer number is no address of ours

_BUILDS: Mapping[str, Build] = {
    "Opening": lambda fields, span: syntax.Opening(fields["name"], _refs(fields), span=span),
    "Closing": lambda _, span: syntax.Closing(span=span),
    "Abbreviation": _abbreviation,
    "LineComment": lambda fields, span: syntax.Comment(fields["text"][2:].rstrip("\r"), span=span),
    "SensorReport": lambda fields, span: syntax.SensorReport(fields["text"][2:].rstrip("\r"), span=span),
    "Tldr": _same(syntax.Tldr, "text"),
    "Annotation": lambda fields, span: syntax.Annotation(fields["text"][2:-1].strip(BLANKS), span=span),
    "Instantiation": _same(syntax.Instantiation, "ref", "value"),
    "Sentence": _sentence,
    "Said": lambda *_: (syntax.Fact,),
    "Asked": lambda fields, _: (syntax.Question, fields.get("feedback")),
    "Inferred": lambda fields, _: (syntax.Rule, *_joined(fields, "body")),
    "Predication": _predication,
    "AndPredication": lambda fields, _: (fields["conjunction"], fields["predication"]),
    "Abstraction": lambda fields, span: syntax.Abstraction(*_joined(fields, "predication"), span=span),
    "Command": _command,
    "Feedback": _same(syntax.Feedback, "data"),
    "Ref": lambda fields, span: syntax.Ref(fields["name"][1:], span=span),
    "Variable": lambda fields, span: syntax.Variable(fields["name"][1:], span=span),
    "Memory": _memory,
    "Nlp": lambda fields, span: syntax.Nlp(fields["text"][2:-2], span=span),
}
