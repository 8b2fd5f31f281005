"""PETE in an editor."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memorygraph.errors import Span
from memorygraph.languages.engine.editing import (
    MAX_LOOK_BACK,
    Completion,
    Occurrence,
    completions,
    find_word,
    names_in,
)
from memorygraph.languages.pete import syntax
from memorygraph.languages.pete.items import GRAMMAR, WORDS
from memorygraph.languages.pete.printing import print_pete

_IDENTIFIER = GRAMMAR.token("Identifier")
_UNWRITABLE = re.compile(r"[ \t]*(?://|!!)[^\n]*\Z")


def find_occurrences(program: syntax.PeteProgram) -> Iterator[Occurrence]:
    """The handles, contexts, predicates, faculties and addresses of a log.

    A handle and the variable of its name are one name: what is asked for by `_meat` is bound to `&meat`.
    """
    text = program.source.text
    declared: set[str] = set()
    for item in program.items:
        yield from name_head(item, text)
        for part in syntax.walk(item):
            match part:
                case syntax.Ref(name=name):
                    place = Span(part.span.end - len(name), part.span.end)
                    new = isinstance(item, syntax.Instantiation) and part is item.ref and name not in declared
                    declared |= {name} if new else set()
                    yield Occurrence(
                        name,
                        "handle",
                        place,
                        kind="handle" if new else "",
                        whole=item.span if new else None,
                        fixed=name == syntax.SELF,
                    )
                case syntax.Variable(name=name):
                    place = Span(part.span.end - len(name), part.span.end)
                    yield Occurrence(name, "handle", place, fixed=name == syntax.SELF)
                case syntax.Memory():
                    yield Occurrence(text[slice(*part.span)], "address", part.span, fixed=True)
                case syntax.Predication(predicate=predicate):
                    between = Span(part.subject.span.end, part.object.span.start)
                    yield Occurrence(predicate, "predicate", find_word(text, predicate, between), fixed=True)


def name_head(item: syntax.Item, text: str) -> Iterator[Occurrence]:
    """The context that an item opens or abbreviates, or the procedure that it calls."""
    match item:
        case syntax.Opening(name=name) | syntax.Abbreviation(name=name):
            place = find_word(text, name, Span(item.span.start + len("context"), item.span.end))
            yield Occurrence(name, "context", place, item.span.start, "context", item.span)
        case syntax.Command(procedure=procedure):
            place = find_word(text, procedure, item.span)
            yield Occurrence(procedure, "procedure", place, fixed=True)
            if item.faculty:
                place = find_word(text, item.faculty, item.span)
                yield Occurrence(item.faculty, "faculty", place, fixed=True)


def accepts_name(name: str, occurrence: Occurrence) -> bool:
    """Whether a name may stand in the place of another one."""
    return _IDENTIFIER.fullmatch(name) is not None and (occurrence.space != "handle" or name != syntax.SELF)


def complete(text: str, offset: int, occurrences: Sequence[Occurrence]) -> Iterator[Completion]:
    """What may be written at an offset: after `&` or `_` a handle, after `@` a faculty, and else a word."""
    line = text[max(0, offset - MAX_LOOK_BACK) : offset].rpartition("\n")[2]
    if _UNWRITABLE.fullmatch(line):
        return
    if re.search(r"(?:&|(?<![A-Za-z0-9])_)[A-Za-z0-9_]*\Z", line):
        yield from completions("handle", names_in("handle", occurrences))
    elif re.search(r"@[A-Za-z0-9_]*\Z", line):
        yield from completions("faculty", names_in("faculty", occurrences))
    else:
        yield from completions("verb", names_in("predicate", occurrences))
        yield from completions("procedure", names_in("procedure", occurrences))
        words = {"context", "tl;dr", "that", "if", *WORDS["Negator"], *WORDS["Conjunction"], *WORDS["Constant"]}
        yield from completions("keyword", sorted(words))


def format_text(program: syntax.PeteProgram) -> str | None:
    """The log as the printer writes it, one statement a line; nothing for one with problems."""
    return None if program.problems else print_pete(program)
