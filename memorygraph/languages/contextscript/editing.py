"""ContextScript in an editor."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memorygraph.errors import MAX_PROBLEMS, Span
from memorygraph.languages.contextscript.printing import print_statement
from memorygraph.languages.contextscript.syntax import (
    KEYWORDS,
    STATEMENTS,
    ContextScriptProgram,
    is_identifier,
)
from memorygraph.languages.engine.editing import (
    MAX_LOOK_BACK,
    EditorCompletion,
    Occurrence,
    completions,
    last_line,
    names_in,
)
from memorygraph.languages.engine.fast_path import RawStatement
from memorygraph.languages.engine.patterns import compile_pattern

KINDS = {"node_id": "node", "edge_id": "edge"}  # of the arguments that declare an id
ENDS = frozenset({"from_node", "to_node"})
REFERENCES = ENDS | {"id"}

_ARGUMENTS = {KEYWORDS[statement.__name__]: statement.arguments() for statement in STATEMENTS}
_OPENING = compile_pattern(rf"^[ \t]*({'|'.join(KEYWORDS.values())})[ \t\r\n]*\(", re.MULTILINE)
_TOKEN = re.compile(
    r'#[^\r\n]*|(?P<quoted>"(?:[^"\\]|\\.)*")|(?P<open>"(?:[^"\\]|\\.)*\Z)|(?P<name>[A-Za-z][A-Za-z0-9_]*)[ \t\r\n]*='
    r"|(?P<end>;)|(?P<other>[A-Za-z][A-Za-z0-9_]*|[^\s#\"])",
    re.DOTALL,
)


def find_occurrences(program: ContextScriptProgram) -> Iterator[Occurrence]:
    """The ids and the verbs of a script, also of statements with problems, as far as these are told."""
    unreadable = 0
    for raw in program.read_raw(program.source.text) if program.read_raw else ():
        if not isinstance(raw, RawStatement):
            unreadable += 1
            if unreadable > MAX_PROBLEMS:
                return
            continue
        for index, (name, token) in enumerate(zip(raw.names, raw.tokens, strict=True)):
            start, end = raw.token_span(index)
            quotes = token.startswith('"')
            span = Span(start + quotes, end - quotes)
            text = token[1:-1] if quotes else token
            if name in KINDS:
                yield Occurrence(text, "id", span, kind=KINDS[name], whole=raw.span)
            elif name in REFERENCES:
                yield Occurrence(text, "id", span)
            elif name == "verb":
                yield Occurrence(text, "verb", span, fixed=True)


def accepts_name(name: str, occurrence: Occurrence) -> bool:  # noqa: ARG001 - all names here are ids
    """Whether a name may stand in the place of another one."""
    return is_identifier(name)


class Cursor(NamedTuple):
    """Where the cursor stands: in which statement, which arguments that has, and the one whose value is next."""

    keyword: str
    given: tuple[str, ...] = ()
    argument: str = ""
    quoted: bool = False


def find_cursor(before: str) -> Cursor | None:
    """The statement around the end of a text; None between statements."""
    openings = list(_OPENING.finditer(before))
    if not openings:
        return None
    given: list[str] = []
    argument, quoted = "", False
    for token in _TOKEN.finditer(before, openings[-1].end()):
        if token["end"]:
            return None
        if token["name"]:
            given.append(token["name"])
            argument = token["name"]
        elif token["open"]:
            quoted = True
        elif token["quoted"] or token["other"] == ",":
            argument = ""
    return Cursor(openings[-1][1], tuple(given), argument, quoted)


def complete(text: str, offset: int, occurrences: Sequence[Occurrence]) -> Iterator[EditorCompletion]:
    """What may be written at an offset: a statement, an argument that is not there yet, an id, or a verb."""
    before = text[max(0, offset - MAX_LOOK_BACK) : offset]
    if "#" in last_line(before).partition('"')[0]:
        return
    cursor = find_cursor(before)
    if cursor is None:
        yield from completions("keyword", KEYWORDS.values())
    elif cursor.argument in {*KINDS, *REFERENCES, "verb"}:
        space = "verb" if cursor.argument == "verb" else "id"
        if cursor.argument in ENDS:
            edges = {one.name for one in occurrences if one.kind == "edge"}
            occurrences = [one for one in occurrences if one.name not in edges]
        quote = "" if cursor.quoted else '"'
        yield from completions(space, (f"{quote}{name}{quote}" for name in names_in(space, occurrences)))
    elif not cursor.argument and not cursor.quoted:
        yield from completions("argument", (one for one in _ARGUMENTS[cursor.keyword] if one not in cursor.given))


def format_text(program: ContextScriptProgram) -> str | None:
    """The text with each statement in its canonical form, on a line of its own; comments stay where they are.

    Nothing for a script with problems. A statement with a comment in it is left as it is, and so is one with a CR in a
    text, which stands there alone or before a line break: editors end lines as the file does, and would change it.
    """
    if program.problems:
        return None
    text, written, position = program.source.text, [], 0
    for statement in program.statements:
        start, end = statement.span
        between = text[position:start]
        if position and not re.search(r"[\r\n]", between):
            between = between.strip(" \t") + "\n"
        own = text[start:end]
        kept = any(token[0].startswith("#") or "\r" in (token["quoted"] or "") for token in _TOKEN.finditer(own))
        written += [between, own if kept else print_statement(statement)]
        position = end
    return "".join([*written, text[position:]])
