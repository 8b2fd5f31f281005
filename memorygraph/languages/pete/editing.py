"""PETE in an editor."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memorygraph.errors import Span
from memorygraph.languages.engine.editing import (
    MAX_LOOK_BACK,
    EditorCompletion,
    Occurrence,
    completions,
    find_word,
    last_line,
    names_in,
)
from memorygraph.languages.pete import syntax
from memorygraph.languages.pete.items import GRAMMAR, WORDS
from memorygraph.languages.pete.printing import print_pete

_IDENTIFIER = GRAMMAR.token("Identifier")
_UNWRITABLE = re.compile(r"[ \t]*(?://|!!)[^\n]*\Z")


def find_occurrences(program: syntax.PeteProgram) -> Iterator[Occurrence]:
    """The handles, contexts, predicates, faculties and addresses of a log.

    A handle, the variable of its name and the context of its name are one name: what is asked for by `_meat` is bound
    to `&meat`, and what `context cool` did is `&cool`. A variable of a rule is known in the rule alone.
    """
    search = HandleSearch(program)
    for item in program.items:
        for part in syntax.walk_pete(item):
            yield from search.name_part(part, item)


class HandleSearch:
    """Looks for the names of a log, item by item."""

    def __init__(self, program: syntax.PeteProgram) -> None:
        self.text = program.source.text
        self.outermost = next((item for item in program.items if isinstance(item, syntax.Opening)), None)
        commands = [item for item in program.items if isinstance(item, syntax.Command)]
        self.faculties = {command.faculty for command in commands}
        self.declared: set[tuple[str, int]] = set()

    def name_part(self, part: syntax.PeteSyntax, item: syntax.Item) -> Iterator[Occurrence]:
        """The names that a part of an item is, without those of its own parts."""
        match part:
            case syntax.Ref(name=name):
                # The outermost context has nobody who passes it anything: its handles mean what they are called.
                passed = item is self.outermost
                made = isinstance(item, syntax.Instantiation) and part is item.ref
                kind = "handle" if passed or made else ""
                yield self.name_handle(name, part, kind, whole=item.span if made else None, fixed=passed)
            case syntax.Variable(name=name):
                rule = item.span.start if isinstance(item, syntax.Rule) else 0
                yield self.name_handle(name, part, "variable", scope=rule)
            case syntax.Opening(name=name) | syntax.Abbreviation(name=name):
                self.declared.add((name, 0))
                place = find_word(self.text, name, Span(part.span.start + len("context"), part.span.end))
                yield Occurrence(name, "handle", place, kind="context", whole=part.span)
            case syntax.Memory():
                yield Occurrence(self.text[slice(*part.span)], "address", part.span, fixed=True)
            case syntax.Predication(predicate=predicate):
                between = Span(part.subject.span.end, part.object.span.start)
                yield Occurrence(predicate, "predicate", find_word(self.text, predicate, between), fixed=True)
            case syntax.Command(procedure=procedure, faculty=faculty):
                yield Occurrence(procedure, "procedure", find_word(self.text, procedure, part.span), fixed=True)
                if faculty:
                    yield Occurrence(faculty, "faculty", find_word(self.text, faculty, part.span), fixed=True)

    def name_handle(
        self,
        name: str,
        part: syntax.PeteSyntax,
        kind: str,
        *,
        scope: int = 0,
        whole: Span | None = None,
        fixed: bool = False,
    ) -> Occurrence:
        """A handle or a variable, which is declared where it is new; that of a faculty has the faculty's name."""
        new = bool(kind) and (name, scope) not in self.declared
        if new:
            self.declared.add((name, scope))
        place = Span(part.span.end - len(name), part.span.end)
        fixed = fixed or name == syntax.SELF or (name in self.faculties and not scope)
        return Occurrence(name, "handle", place, scope, kind if new else "", whole if new else None, fixed)


def accepts_name(name: str, occurrence: Occurrence) -> bool:
    """Whether a name may stand in the place of another one."""
    return _IDENTIFIER.fullmatch(name) is not None and (occurrence.space != "handle" or name != syntax.SELF)


def complete(text: str, offset: int, occurrences: Sequence[Occurrence]) -> Iterator[EditorCompletion]:
    """What may be written at an offset: after `&` or `_` a handle, after `@` a faculty, and else a word."""
    line = last_line(text[max(0, offset - MAX_LOOK_BACK) : offset])
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
