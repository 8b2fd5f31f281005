"""Convo-Lang in an editor."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set

from memorygraph.errors import Span
from memorygraph.languages.convo import syntax
from memorygraph.languages.convo.checks import MOVING_TARGETS
from memorygraph.languages.convo.highlighting import CONSTANTS
from memorygraph.languages.convo.printing import print_message
from memorygraph.languages.convo.reading import BUILT_IN, read_convo
from memorygraph.languages.convo.text import first_line
from memorygraph.languages.convo.unsupported import DESCRIBING_TAGS, GRAPH_ROLES, GRAPH_TAGS, ROLES, is_file_import
from memorygraph.languages.engine.editing import (
    IMPORT,
    MAX_LOOK_BACK,
    EditorCompletion,
    Occurrence,
    completions,
    find_word,
    names_in,
)
from memorygraph.languages.engine.patterns import compile_pattern
from memorygraph.languages.engine.syntax import SyntaxNode, walk

ROUTES = frozenset({"to", "from"})  # roles and tags that name nodes
CALL_CHOICES = frozenset({"auto", "none", "required"})  # values of `@call` that are no functions

_HEAD = re.compile(r"^[ \t]*>[ \t]*(\w+!?)[ \t]*(\(?)", re.MULTILINE)
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_NODE_ID = re.compile(r"[\w-]+")
_LINE_ABOVE = compile_pattern(r"[ \t]*+(?:(?:#|//)[^\n]*+)?+\r?\n\Z")
_NOTE = re.compile(r"^[ \t]*#", re.MULTILINE)


def find_occurrences(program: syntax.ConvoProgram) -> Iterator[Occurrence]:
    """The nodes, functions and variables of a conversation, and where it refers to them.

    The scope of what only the body of a function knows is the end of the function, which is never 0.
    """
    text = program.source.text
    nodes = {message.head for message in program.statements if message.role == "node"}
    shared = {name for message in program.statements for name, is_shared in find_set(message) if is_shared}
    for message in program.statements:
        yield from name_message(message, nodes, text)
        for tag in message.tags:
            if tag.name in ROUTES and tag.target:
                words = [tag.target, *(tag.text or "").split()]
                yield from name_targets(words, nodes, text, Span(tag.span.start + 1 + len(tag.name), tag.span.end))
            elif tag.name == "call" and tag.text and tag.text not in CALL_CHOICES and _IDENTIFIER.fullmatch(tag.text):
                start = tag.span.start + len("@call")
                yield Occurrence(tag.text, "function", find_word(text, tag.text, Span(start, tag.span.end)))
            elif is_file_import(tag):
                path = (tag.text or "").split()[0]
                yield Occurrence(path, IMPORT, find_word(text, path, tag.span), fixed=True)
        local = local_names(message, shared)
        for part in walk(message):
            for one in name_part(part, text):
                # The tags of a function stand before it: what they name is the conversation's.
                inside = one.space == "variable" and one.name in local and one.span.start > message.span.start
                yield one._replace(scope=message.span.end) if inside else one


def find_set(message: syntax.Message) -> Iterator[tuple[str, bool]]:
    """The variables that a message sets, and whether each is one of the conversation."""
    outside = not isinstance(message, syntax.FunctionMessage)
    for part in walk(message):
        if isinstance(part, syntax.Statement) and part.path:
            yield part.path[0], outside or any(tag.name == "shared" for tag in part.tags)


def local_names(message: syntax.Message, shared: Set[str]) -> Set[str]:
    """The variables that only the body of a function knows: its parameters, and what it sets that is not shared."""
    if not isinstance(message, syntax.FunctionMessage):
        return frozenset()
    return {name for name, _ in find_set(message)} - shared | {one.name for one in message.parameters}


def name_message(message: syntax.Message, nodes: Set[str], text: str) -> Iterator[Occurrence]:
    """The node or the function that a message declares, or the nodes that its head names."""
    line = first_line(text, message.span)
    if isinstance(message, syntax.FunctionMessage):
        if message.modifier != "call":
            place = find_word(text, message.name, line)
            yield Occurrence(message.name, "function", place, kind="function", whole=message.span)
        return
    role = syntax.message_role(message)
    head = Span(find_word(text, role, line).end, line.end)
    if message.role == "node" and message.head:
        yield Occurrence(message.head, "node", find_word(text, message.head, head), kind="node", whole=message.span)
    elif message.role == "goto" and message.head:
        yield from name_targets([message.head], nodes, text, head)
    elif message.role == "goto" and "main" in nodes:  # it leads there without a word of it
        yield Occurrence("main", "node", find_word(text, role, line), fixed=True)
    elif role in ROUTES and message.head:
        moving = message.head.split()[0] in MOVING_TARGETS
        yield from name_targets(message.head.split() if moving else [message.head], nodes, text, head)


def name_targets(words: Sequence[str], nodes: Set[str], text: str, span: Span) -> Iterator[Occurrence]:
    """The node that a route leads to, the first of some words; after `auto`, the nodes among which it chooses."""
    target, *candidates = words
    if target not in MOVING_TARGETS:
        # Where no node has that id, `main` leads out of the graph.
        outside = target == "main" and target not in nodes
        yield Occurrence(target, "node", find_word(text, target, span), fixed=outside)
        return
    names = " ".join(candidates).replace(",", " ").split()
    if target != "auto" or not nodes >= {*names}:
        return  # the words are a condition
    start = find_word(text, target, span).end
    for name in names:
        place = find_word(text, name, Span(start, span.end))
        start = place.end
        yield Occurrence(name, "node", place)


def name_part(part: SyntaxNode, text: str) -> Iterator[Occurrence]:
    """The variable or the function that a piece of code names."""
    start = part.span.start
    match part:
        case syntax.Parameter(name=name):
            yield Occurrence(name, "variable", find_word(text, name, part.span), kind="parameter", fixed=True)
        case syntax.Statement(path=path) if path:
            place = find_word(text, path[0], Span(start, part.value.span.start))
            yield Occurrence(path[0], "variable", place, kind="variable", fixed=True)
        case syntax.Reference(path=path) if path:
            yield Occurrence(path[0], "variable", Span(start, start + len(path[0])), fixed=True)
        case syntax.Call(name=names):
            name = ".".join(names)
            place = Span(start, start + len(name))
            if name in BUILT_IN:
                yield Occurrence(name, "builtin", place, fixed=True)
            else:
                yield Occurrence(name, "function", place, fixed=len(names) > 1)


def accepts_name(name: str, occurrence: Occurrence) -> bool:
    """Whether a name may stand in the place of another one: a node's or a function's."""
    if occurrence.space == "node":
        return _NODE_ID.fullmatch(name) is not None and name not in MOVING_TARGETS | {"main"}
    return _IDENTIFIER.fullmatch(name) is not None and name not in BUILT_IN | CALL_CHOICES


def complete(text: str, offset: int, occurrences: Sequence[Occurrence]) -> Iterator[EditorCompletion]:
    """What may be written at an offset: a role, a tag, a node, or in code a function, a variable or a constant."""
    before = text[max(0, offset - MAX_LOOK_BACK) : offset]
    line = before.rpartition("\n")[2]
    if re.fullmatch(r"[ \t]*>[ \t]*\w*", line):
        yield from completions("role", sorted(GRAPH_ROLES - ROLES))
    elif re.fullmatch(rf"[ \t]*(?:>[ \t]*(?:goto|{'|'.join(ROUTES)})|@(?:{'|'.join(ROUTES)}))[ \t]+[\w-]*", line):
        yield from completions("node", names_in("node", occurrences))
    elif re.fullmatch(r"[ \t]*@\w*", line):
        yield from completions("tag", sorted(GRAPH_TAGS | DESCRIBING_TAGS))
    elif is_code(before, line):
        yield from completions("variable", names_in("variable", occurrences))
        yield from completions("function", names_in("function", occurrences))
        yield from completions("builtin", sorted(BUILT_IN))
        yield from completions("constant", CONSTANTS)


def is_code(before: str, line: str) -> bool:
    """Whether code is written at the end of a text: in an insertion, a tag with `=`, a function, or a code message."""
    if line.rfind("{{") > line.rfind("}}") or re.match(r"[ \t]*@\w+[^=\n]*=", line):
        return True
    heads = list(_HEAD.finditer(before))
    return bool(heads) and (bool(heads[-1][2]) or heads[-1][1] in syntax.CODE_ROLES or heads[-1][1].endswith("!"))


def format_text(program: syntax.ConvoProgram) -> str | None:
    """The text with each message as the printer writes it; nothing for a conversation with problems.

    What is between messages stays. So does a message with a comment in it or after it, which the printer does not know
    of, and the whole text, should it be read as anything else after that.
    """
    text = program.source.text
    if program.problems or not any(_HEAD.finditer(text)):
        return None
    written, position = [], 0
    for message in program.statements:
        start = find_start(message, text, position)
        if start < position:
            return None
        written += [text[position:start], print_in_place(message, text, start)]
        position = message.span.end
    formatted = "".join([*written, text[position:]])
    return formatted if read_convo(formatted).statements == program.statements else None


def find_start(message: syntax.Message, text: str, position: int) -> int:
    """Where the first line of a message begins: of its tags, and of the `#` lines that describe a function."""
    head = text.rfind("\n", 0, min([message.span.start, *(tag.span.start for tag in message.tags)])) + 1
    if not isinstance(message, syntax.FunctionMessage) or message.description is None:
        return head
    start = head
    while start > position:
        line = text.rfind("\n", 0, start - 1) + 1
        if line < position or not _LINE_ABOVE.match(text, line, start):
            break
        start = line
    note = _NOTE.search(text, start, head)
    return note.start() if note else head


def print_in_place(message: syntax.Message, text: str, start: int) -> str:
    """A message as it is printed, or as it stands where the printer cannot write it or all that is beside it."""
    own, rest = text[start : message.span.end], text[message.span.end :].partition("\n")[0]
    if rest.strip(" \t\r"):
        return own
    try:
        printed = print_message(message).rstrip("\n")
    except ValueError:  # a head or a tag that only its own line breaks can write
        return own
    return own if loses_comment(own, printed) else printed


def loses_comment(own: str, printed: str) -> bool:
    """Whether comments, or descriptions of what has none, are missing in what was printed."""
    return any(own.count(sign) > printed.count(sign) for sign in ("//", "#"))
