"""PETE in an editor."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

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
from memorygraph.languages.engine.syntax import SyntaxNode, walk
from memorygraph.languages.pete import syntax
from memorygraph.languages.pete.items import GRAMMAR, WORDS
from memorygraph.languages.pete.printing import print_pete

_IDENTIFIER = GRAMMAR.token("Identifier")
_UNWRITABLE = re.compile(r"[ \t]*(?://|!!)[^\n]*\Z")


def find_occurrences(program: syntax.PeteProgram) -> Iterator[Occurrence]:
    """The handles, contexts, predicates, faculties and addresses of a log.

    A handle, the variable of its name and the context of its name are one name: what is asked for by `_meat` is bound
    to `&meat`, and what `context cool` did is `&cool`. A variable of a rule is known in the rule alone, and a handle in
    the context that makes it and in those that are passed it.
    """
    search = HandleSearch(program)
    for item in program.items:
        for part in walk(item):
            yield from search.name_part(part, item)
        search.follow(item)


class HandleFrame(NamedTuple):
    """An open context: the scope of what it makes, and the scopes of what it was passed."""

    scope: int
    passed: dict[str, int]


class HandleSearch:
    """Looks for the names of a log, item by item. A scope is the place where a context or a rule begins."""

    def __init__(self, program: syntax.PeteProgram) -> None:
        self.text = program.source.text
        self.outermost = next((item for item in program.items if isinstance(item, syntax.Opening)), None)
        commands = [item for item in program.items if isinstance(item, syntax.Command)]
        self.faculties = {command.faculty for command in commands}
        self.declared: set[tuple[str, int]] = set()
        self.frames = [HandleFrame(0, {})]  # around the open contexts is what all of the log knows

    def follow(self, item: syntax.Item) -> None:
        """Take what an item makes as its context's own, and enter or leave the context that it opens or closes."""
        frame = self.frames[-1]
        if isinstance(item, syntax.Opening):
            known = {item.name: frame.scope, **{ref.name: self.scope_of(ref.name) for ref in item.refs}}
            self.frames.append(HandleFrame(0 if item is self.outermost else item.span.start, known))
        elif isinstance(item, syntax.Closing) and len(self.frames) > 1:
            self.frames.pop()
        # Until the end of the item, these names mean what was passed.
        for name in [item.name] if isinstance(item, syntax.Opening) else syntax.bound_handles(item):
            frame.passed.pop(name, None)

    def scope_of(self, name: str, *, made: bool = False) -> int:
        """The scope of a handle: of the innermost context, above all where it is `made` here, or of what passed it."""
        if name == syntax.SELF or name in self.faculties:
            return 0
        scope, passed = self.frames[-1]
        return scope if made else passed.get(name, scope)

    def name_part(self, part: SyntaxNode, item: syntax.Item) -> Iterator[Occurrence]:
        """The names that a part of an item is, without those of its own parts."""
        match part:
            case syntax.Ref(name=name):
                # The outermost context has nobody who passes it anything: its handles mean what they are called.
                passed = item is self.outermost
                made = isinstance(item, syntax.Instantiation) and part is item.ref
                kind = "handle" if passed or made else ""
                scope = self.scope_of(name, made=made)
                yield self.name_handle(part, scope, kind, item.span if made else None, fixed=passed)
            case syntax.Variable(name=name):
                scope = item.span.start if isinstance(item, syntax.Rule) else self.scope_of(name, made=True)
                yield self.name_handle(part, scope, "variable", None)
            case syntax.Opening(name=name) | syntax.Abbreviation(name=name):
                scope = self.scope_of(name, made=True)
                self.declared.add((name, scope))
                place = find_word(self.text, name, Span(part.span.start + len("context"), part.span.end))
                yield Occurrence(name, "handle", place, scope, kind="context", whole=part.span)
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
        self, part: syntax.Ref | syntax.Variable, scope: int, kind: str, whole: Span | None, *, fixed: bool = False
    ) -> Occurrence:
        """A handle or a variable, which is declared where it is new; that of a faculty has the faculty's name."""
        name = part.name
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
