"""AgentScript in an editor."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memorygraph.errors import Span
from memorygraph.languages.agentscript import syntax
from memorygraph.languages.agentscript.body import OPTIONS, TYPES
from memorygraph.languages.agentscript.highlighting import CONSTANTS, IMPORTED
from memorygraph.languages.agentscript.names import CONFIGS, GRAMMAR, KEYWORDS
from memorygraph.languages.engine.editing import (
    IMPORT,
    EditorCompletion,
    Occurrence,
    completions,
    find_word,
    names_in,
)
from memorygraph.languages.engine.syntax import SyntaxNode, walk

_IDENTIFIER = GRAMMAR.token("Identifier")
_QUOTED = re.compile(r"//[^\r\n]*|\"(?:[^\"\\]|\\.)*(?:\"|\Z)|'(?:[^'\\]|\\.)*(?:'|\Z)", re.DOTALL)
_INDENT = "  "
MAX_WORDS = 1000  # characters before the cursor in which the words are looked for that say what fits there


def find_occurrences(program: syntax.AgentScriptProgram) -> Iterator[Occurrence]:
    """The names of a program; a variable is one in all of its function, whatever blocks it stands in.

    One that is called as a function, an agent or an import is fixed, and they are: `summary = summary(input)` has both.
    """
    found: dict[Span, Occurrence] = {}
    for occurrence in NameSearch(program).find():  # what declares a name comes before what refers to it
        found.setdefault(occurrence.span, occurrence)
    variables = {one.name for one in found.values() if one.kind == "variable"}
    shared = variables & {one.name for one in found.values() if one.declares and one.whole}
    return (one._replace(fixed=True) if one.name in shared else one for one in found.values())


class NameSearch:
    """Looks for the names of a program; a scope is the place where its agent or its function begins."""

    def __init__(self, program: syntax.AgentScriptProgram) -> None:
        self.text = program.source.text
        self.statements = program.statements
        agents = [one for one in program.statements if isinstance(one, syntax.Agent)]
        self.agents = {agent.name: agent for agent in reversed(agents)}

    def find(self) -> Iterator[Occurrence]:
        """All names, in the order of the text, but for those of a declaration, which stand after it."""
        for statement in self.statements:
            if isinstance(statement, syntax.Import):
                yield self.declare(statement, statement.kind, Span(statement.span.start + 6, statement.span.end))
                if statement.kind == "agent":
                    yield Occurrence(
                        statement.uri, IMPORT, find_word(self.text, statement.uri, statement.span), fixed=True
                    )
                continue
            if not statement.name.startswith("__"):
                yield self.declare(statement, "agent", statement.span)
            for config in statement.configs:
                yield from self.find_in(config, statement, frozenset(), 0)
            for function in statement.functions:
                if not function.name.startswith("__"):
                    yield self.declare(function, "function", function.span, statement.span.start)
                yield from self.find_in_function(function, statement)

    def declare(
        self, node: syntax.Import | syntax.Agent | syntax.Function, kind: str, span: Span, scope: int = 0
    ) -> Occurrence:
        """The name in a declaration: after its keywords."""
        keyword = find_word(self.text, "func" if kind == "function" else kind, span)
        place = find_word(self.text, node.name, Span(keyword.end, span.end))
        return Occurrence(node.name, "name", place, scope, kind, node.span)

    def find_in_function(self, function: syntax.Function, agent: syntax.Agent) -> Iterator[Occurrence]:
        """The names in a function: its parameters and variables, and what it refers to."""
        scope = function.span.start
        local: set[str] = set()
        for parameter in function.parameters:
            start = parameter.span.start
            local.add(parameter.name)
            # The caller of a main function names its parameters in the input of a run.
            yield Occurrence(
                parameter.name,
                "name",
                Span(start, start + len(parameter.name)),
                scope,
                "parameter",
                fixed=function.main,
            )
        for part in walk(function.body):
            place = name_that_is_set(part)
            if place is not None and place[0] not in local:
                local.add(place[0])
                name, span = place
                span = find_word(self.text, name, span)
                yield Occurrence(name, "name", span, scope, "variable")
        yield from self.find_in(function.body, agent, frozenset(local), scope)

    def find_in(self, node: SyntaxNode, agent: syntax.Agent, local: frozenset[str], scope: int) -> Iterator[Occurrence]:
        """The names that a piece of syntax refers to."""
        functions = {function.name for function in agent.functions}
        for part in walk(node):
            if isinstance(part, syntax.For):
                yield Occurrence(part.item, "name", find_word(self.text, part.item, for_item_span(part)), scope)
            elif isinstance(part, syntax.Name):
                here = scope if part.name in local else agent.span.start if part.name in functions else 0
                yield Occurrence(part.name, "name", part.span, here)
            elif isinstance(part, syntax.Member) and isinstance(part.value, syntax.Name):
                other = None if part.value.name in local else self.agents.get(part.value.name)
                if other is not None and any(function.name == part.name for function in other.functions):
                    place = Span(part.span.end - len(part.name), part.span.end)
                    yield Occurrence(part.name, "name", place, other.span.start)


def for_item_span(node: syntax.For) -> Span:
    """Where the name of the item stands: after the keyword, and before the items."""
    return Span(node.span.start + len("for"), node.items.span.start)


def name_that_is_set(part: SyntaxNode) -> tuple[str, Span] | None:
    """The variable that a statement sets, and where."""
    if isinstance(part, syntax.Assignment) and isinstance(part.target, syntax.Name):
        return part.target.name, part.target.span
    return (part.item, for_item_span(part)) if isinstance(part, syntax.For) else None


def accepts_name(name: str, occurrence: Occurrence) -> bool:  # noqa: ARG001 - all names are of one kind
    """Whether a name may stand in the place of another one."""
    reserved = {*KEYWORDS, *CONFIGS, *CONSTANTS, "generate"}
    return _IDENTIFIER.fullmatch(name) is not None and name not in reserved


def complete(text: str, offset: int, occurrences: Sequence[Occurrence]) -> Iterator[EditorCompletion]:
    """What may be written at an offset, outside of texts and comments: words, names, types and options."""
    if any(found.end() >= offset for found in _QUOTED.finditer(text, 0, offset) if not closed(found[0])):
        return
    line = text[max(0, offset - MAX_WORDS) : offset].rpartition("\n")[2]
    if re.search(r"\bimport[ \t]+[\w-]*\Z", line):
        yield from completions("keyword", sorted(IMPORTED))
    elif member := re.search(r"([A-Za-z_][\w-]*)\.[\w-]*\Z", line):
        wholes = [one.whole for one in occurrences if one.kind == "agent" and one.name == member[1] and one.whole]
        inside = (one for one in occurrences if one.kind == "function" and one.scope in {w.start for w in wholes})
        yield from completions("function", (one.name for one in inside))
    else:
        yield from completions("name", names_in("name", occurrences))
        yield from completions("keyword", sorted({*KEYWORDS, *CONFIGS, *CONSTANTS}))
        yield from completions("builtin", ["generate"])
        yield from completions("type", TYPES)
        yield from completions("argument", OPTIONS)


def closed(piece: str) -> bool:
    """Whether a text in quotes has its end; a comment has none before that of its line."""
    return not piece.startswith("//") and len(piece) > 1 and piece[-1] == piece[0]


def format_text(program: syntax.AgentScriptProgram) -> str | None:
    """The text with each line as far in as the brackets around it; nothing for a program with problems.

    All else stays as it is: a program is laid out by its author, and there is no other form of it.
    """
    if program.problems:
        return None
    return indent_lines(program.source.text)


def indent_lines(text: str) -> str:
    """A text with its lines indented; those that begin within a text in quotes stay as they are."""
    masked = _QUOTED.sub(lambda found: re.sub(r"[^\n]", "x", found[0]), text)
    inside = {span.start() + end.start() for span in _QUOTED.finditer(text) for end in re.finditer("\n", span[0])}
    opened: list[int] = []  # of each open bracket, the number of its line
    written = []
    start = 0
    for number, line in enumerate(text.split("\n")):
        end = start + len(line)
        code = masked[start:end]
        first = len(code) - len(code.lstrip(" \t)]}"))
        track_brackets(code[:first], number, opened)
        indented = line if start - 1 in inside else _INDENT * len(set(opened)) + line.lstrip(" \t")
        track_brackets(code[first:], number, opened)
        written.append(indented if end in inside else indented.rstrip(" \t\r"))
        start = end + 1
    return "\n".join(written)


def track_brackets(code: str, number: int, opened: list[int]) -> None:
    """Note the brackets that a piece of a line opens, and forget those that it closes."""
    for character in code:
        if character in "([{":
            opened.append(number)
        elif character in ")]}" and opened:
            opened.pop()
