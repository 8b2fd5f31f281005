"""One item of a log at a time: the values of each rule of the grammar."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from json import JSONDecodeError
from pathlib import Path
from typing import Any

from memorygraph.errors import Span
from memorygraph.json_text import check_json_depth
from memorygraph.languages.engine.grammar import read_grammar
from memorygraph.languages.engine.machine import Build, Fields, Machine, Read, Stopped, build_from_fields
from memorygraph.languages.engine.patterns import compile_pattern
from memorygraph.languages.engine.syntax import walk, walk_levels
from memorygraph.languages.pete import syntax

GRAMMAR = read_grammar(Path(__file__).with_name("grammar.tx"), "Item")
MACHINE = Machine(GRAMMAR.rules, GRAMMAR.layout)
# The words that each of these rules of the grammar lists; those of a name are no names.
WORDS: Mapping[str, list[str]] = {
    rule: GRAMMAR.words(rule) for rule in ("Identifier", "Negator", "Conjunction", "Constant")
}
RESERVED = frozenset(WORDS["Identifier"])
NAME_PATTERN = "[A-Za-z][A-Za-z0-9_]*"  # of an identifier that is not reserved

MAX_ADDRESS = 18  # digits; a longer number is no address of ours
MAX_NESTING = 100  # levels of brackets in a value, and of `that` in a predication

_ANSWERED = (syntax.Command, syntax.Question)
_JSON_PIECE = compile_pattern(r'("(?:[^"\\]++|\\.)*+")|[ \t\r\n]++|([,:])')


def builds_for(text: str) -> Mapping[str, Build]:
    """How the items of a text are built."""

    def build_value(_: Fields, span: Span) -> syntax.Value:
        return syntax.Value(canonical(text[span.start : span.end]), span=span)

    return {**_BUILDS, "Value": build_value, "Structure": build_value}


def read_item(
    text: str, position: int = 0, rule: str = "Item", builds: Mapping[str, Build] | None = None
) -> Read | Stopped:
    """The item at a position, or where it could not be read; what nests too deep is not read."""
    builds = builds or builds_for(text)
    result = MACHINE.read(text, rule, builds, position)
    if isinstance(result, Read) and isinstance(result.value, _ANSWERED):
        result = find_broken_end(text, builds, result) or result
    if isinstance(result, Read):
        start, end = result.value.span
        place = find_too_deep(result.value, text) if end - start > 2 * MAX_NESTING else None
        if place is not None:
            return Stopped(place, (), Span(place, place + 1), deep=True)
    return result


def canonical(json: str) -> str:
    """A JSON text with `, ` and `: ` between its tokens, and no other blanks.

    >>> canonical('{ "a,b" :[1 ,2.50]}')
    '{"a,b": [1, 2.50]}'
    """
    if json[0] not in "{[":
        return json
    return _JSON_PIECE.sub(lambda found: found[1] or (f"{found[2]} " if found[2] else ""), json)


def find_broken_end(text: str, builds: Mapping[str, Build], read: Read) -> Stopped | None:
    """Where the arguments or the feedback stop that a command or a question can be read without, but does not mean."""
    item: syntax.Command | syntax.Question = read.value
    if item.feedback is not None:
        return None
    bare = isinstance(item, syntax.Command) and item.arguments is None and text[read.end : read.end + 1] in {"{", "["}
    if not bare and not text.startswith(">>", read.end):
        return None
    end = MACHINE.read(text, "Structure" if bare else "Feedback", builds, read.end)
    return end if isinstance(end, Stopped) else None


def find_too_deep(item: syntax.PeteSyntax, text: str) -> int | None:
    """Where an item nests deeper than we go."""
    start, end = item.span
    if text.count("[", start, end) + text.count("{", start, end) > MAX_NESTING:
        for part in reversed([*walk(item)]):
            place = find_deep_bracket(text, part.span) if isinstance(part, syntax.Value) else None
            if place is not None:
                return place
    if text.count("that", start, end) <= MAX_NESTING:
        return None
    levels = walk_levels([item], syntax.Abstraction)
    return next((part.span.start for part, depth in levels if depth > MAX_NESTING), None)


def find_deep_bracket(text: str, span: Span) -> int | None:
    """Where the brackets of a value nest too deep."""
    try:
        check_json_depth(text[slice(*span)], MAX_NESTING)
    except JSONDecodeError as error:
        return span.start + error.pos
    return None


def separate_conjunctions(fields: Fields, first: str) -> tuple[tuple[syntax.Predication, ...], tuple[str, ...]]:
    """Separate the predications of a list from the conjunctions between them."""
    others: list[tuple[str, syntax.Predication]] = fields.get("others", [])
    return (fields[first], *(other for _, other in others)), tuple(word for word, _ in others)


def build_context(cls: Callable[..., syntax.Opening | syntax.Abbreviation], *names: str) -> Build:
    """A build of what begins with the name of a context and its handles."""
    return lambda fields, span: cls(fields["name"], tuple(fields.get("refs", ())), *map(fields.get, names), span=span)


def build_sentence(fields: Fields, span: Span) -> Any:
    """Build the fact, the question or the rule that a sentence is."""
    kind, *details = fields["continuation"]
    return kind(fields["predication"], *details, span=span)


def build_memory(fields: Fields, span: Span) -> syntax.Memory:
    """Build an address; one with too many digits becomes the first that is too large."""
    digits = fields["address"].removeprefix("memory:")
    return syntax.Memory(int(digits) if len(digits) <= MAX_ADDRESS else 10**MAX_ADDRESS, span=span)


def build_command(fields: Fields, span: Span) -> syntax.Command:
    """Build a command, whose faculty is named without its sign."""
    faculty = fields.get("faculty", "")[1:] or None
    return syntax.Command(fields["procedure"], faculty, fields.get("arguments"), fields.get("feedback"), span=span)


_BUILDS: Mapping[str, Build] = {
    "Opening": build_context(syntax.Opening),
    "Closing": build_from_fields(syntax.Closing),
    "Abbreviation": build_context(syntax.Abbreviation, "memory", "tldr"),
    "LineComment": lambda fields, span: syntax.Comment(fields["text"][2:], span=span),
    "SensorReport": lambda fields, span: syntax.SensorReport(fields["text"][2:], span=span),
    "Tldr": build_from_fields(syntax.Tldr, "text"),
    "Annotation": lambda fields, span: syntax.Annotation(fields["text"][2:-1].strip(syntax.BLANKS), span=span),
    "Instantiation": build_from_fields(syntax.Instantiation, "ref", "value"),
    "Sentence": build_sentence,
    "Said": lambda *_: (syntax.Fact,),
    "Asked": lambda fields, _: (syntax.Question, fields.get("feedback")),
    "Inferred": lambda fields, _: (syntax.Rule, *separate_conjunctions(fields, "body")),
    "Predication": build_from_fields(syntax.Predication, "subject", "predicate", "object", "negator"),
    "AndPredication": lambda fields, _: (fields["conjunction"], fields["predication"]),
    "Abstraction": lambda fields, span: syntax.Abstraction(*separate_conjunctions(fields, "predication"), span=span),
    "Command": build_command,
    "Feedback": build_from_fields(syntax.Feedback, "data"),
    "Ref": lambda fields, span: syntax.Ref(fields["name"][1:], span=span),
    "Variable": lambda fields, span: syntax.Variable(fields["name"][1:], span=span),
    "Memory": build_memory,
    "Nlp": lambda fields, span: syntax.Nlp(fields["text"][2:-2], span=span),
}
