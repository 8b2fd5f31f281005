"""AgentScript text to syntax: the values of each rule of the grammar, and how reading goes on after an error."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from memorygraph.errors import MAX_PROBLEMS, Source, Span
from memorygraph.languages.agentscript import syntax
from memorygraph.languages.agentscript.checks import check_program
from memorygraph.languages.agentscript.errors import explain
from memorygraph.languages.engine.findings import Finding, find_surrogates, locate_problems
from memorygraph.languages.engine.machine import Build, Fields, Machine, Read, Stopped

MACHINE = Machine.from_file(Path(__file__).with_name("grammar.tx"))

MAX_CHARACTERS = 2**18  # characters of a program, some 7,000 lines
MAIN_AGENT, MAIN_FUNCTION = "__main_agent", "__main"

_Suffix: TypeAlias = tuple[Callable[[syntax.Expression, Span], syntax.Expression], int]

_ESCAPE = re.compile(r"\\([\s\S])")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_DIGITS = re.compile(r"[0-9]+(?:\.[0-9]*)?")
_SAFE = 2**53  # up to here every whole number is a double, too
_NEXT = re.compile(r"^[ \t]*+(?:(?P<member>(?:main\s++)?+func)|import|(?:main\s++)?+agent)(?=[ \t({])", re.MULTILINE)
_MEMBER = re.compile(r"(?:main\s++)?+func(?![A-Za-z0-9_-])")


def read_program(text: str, file: str | None = None, *, strict: bool = False) -> syntax.Program:  # noqa: ARG001 - one dialect
    """A program, and everything that can be found wrong with it before it runs."""
    source = Source(text.removeprefix("\ufeff"), file)
    statements, findings = _read(source)
    return syntax.Program(source, statements, locate_problems(findings, source))


def _read(source: Source) -> tuple[tuple[syntax.Import | syntax.Agent, ...], list[Finding]]:
    """The imports and agents of a program, unless its syntax is wrong, and what is wrong."""
    text = source.text
    if len(text) > MAX_CHARACTERS:
        message = (
            f"this program is too large; one has at most {MAX_CHARACTERS:,} characters. Import large texts: import file"
        )
        return (), [Finding(message, "program-too-large", Span(0, 1))]
    halves = find_surrogates(text)
    result = MACHINE.read(text, "Program", BUILDS, whole=True)
    if isinstance(result, Read):
        return result.value, halves or check_program(result.value, source)
    return (), halves or _syntax_errors(source, result)


def _syntax_errors(source: Source, first: Stopped) -> list[Finding]:
    """What is wrong: after an error, reading goes on where an import, an agent or a function begins a line."""
    text = source.text
    findings: list[Finding] = []
    position, inside = 0, False
    result: Read | Stopped = first
    while True:
        if isinstance(result, Stopped):
            found = explain(source, result, position)
            # What begins a line may be the rest of something that was read further the first time.
            if not findings or found.span.start > findings[-1].span.start:
                findings.append(found)
            line = text.rfind("\n", 0, result.offset) + 1
            following = _NEXT.search(text, max(line, position + 1))
            if following is None or len(findings) > MAX_PROBLEMS:
                return findings
            position, inside = MACHINE.layout_end(text, following.start()), following["member"] is not None
        else:
            position = result.end
        while text.startswith("}", position):
            position, inside = MACHINE.layout_end(text, position + 1), False
        if position == len(text):
            return findings
        # Braces may be missing, or too many, so that a function may well be next where no agent seems to be open.
        inside = inside or _MEMBER.match(text, position) is not None
        rule = "TopLevel" if not inside else "Function" if _MEMBER.match(text, position) else "Config"
        result = MACHINE.read(text, rule, BUILDS, position)


def _unquoted(token: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), token[1:-1])


def _value(numeral: str) -> int | float:
    """The number before the suffix."""
    found = _DIGITS.match(numeral)
    value = float(found[0] if found else 0)
    return int(value) if value < _SAFE and value.is_integer() else value


def _count(digits: str) -> int:
    return int(digits) if len(digits) < 19 else 10**18


def _agent(fields: Fields, span: Span) -> syntax.Agent:
    return syntax.Agent(
        fields.get("name", MAIN_AGENT),
        "main" in fields,
        tuple(fields.get("configs", ())),
        tuple(fields.get("functions", ())),
        span=span,
    )


def _function(fields: Fields, span: Span) -> syntax.Function:
    parameters = tuple(fields.get("parameters", ()))
    return syntax.Function(fields.get("name", MAIN_FUNCTION), "main" in fields, parameters, fields["body"], span=span)


def _comparison(fields: Fields, _: Span) -> syntax.Expression:
    left: syntax.Expression = fields["left"]
    others: list[tuple[str, syntax.Expression]] = fields.get("others", [])
    for operator, right in others:
        left = syntax.Comparison(operator, left, right, span=Span(left.span.start, right.span.end))
    return left


def _joined(cls: type[syntax.Or | syntax.And]) -> Build:
    def build(fields: Fields, span: Span) -> syntax.Expression:
        operands = fields["operands"]
        return operands[0] if len(operands) == 1 else cls(tuple(operands), span=span)

    return build


def _postfix(fields: Fields, span: Span) -> syntax.Expression:
    value: syntax.Expression = fields["value"]
    suffixes: list[_Suffix] = fields.get("suffixes", [])
    for applied, end in suffixes:
        value = applied(value, Span(span.start, end))
    return value


def _member(fields: Fields, span: Span) -> _Suffix:
    return lambda value, whole: syntax.Member(value, fields["name"], span=whole), span.end


def _call(fields: Fields, span: Span) -> _Suffix:
    return lambda value, whole: syntax.Call(value, tuple(fields.get("arguments", ())), span=whole), span.end


def _index(fields: Fields, span: Span) -> _Suffix:
    return lambda value, whole: syntax.Index(value, fields["index"], span=whole), span.end


def _entry(fields: Fields, span: Span) -> syntax.Entry:
    key = fields["key"]
    return syntax.Entry(_unquoted(key) if key[0] in "\"'" else key, fields["value"], span=span)


def _same(cls: type[Any], *names: str) -> Build:
    """A class whose attributes are those of its rule, in this order."""

    def build(fields: Fields, span: Span) -> Any:
        return cls(*[fields.get(name) for name in names], span=span)

    return build


def _items(cls: type[Any], name: str) -> Build:
    """A class that holds all items of one attribute."""

    def build(fields: Fields, span: Span) -> Any:
        return cls(tuple(fields.get(name, ())), span=span)

    return build


BUILDS: Mapping[str, Build] = {
    "Program": lambda fields, _: tuple(fields.get("statements", ())),
    "Import": lambda fields, span: syntax.Import(fields["kind"], fields["name"], _unquoted(fields["uri"]), span=span),
    "Agent": _agent,
    "Config": _same(syntax.Config, "name", "value"),
    "Function": _function,
    "Parameter": _same(syntax.Parameter, "name", "shape"),
    "Block": _items(syntax.Block, "statements"),
    "Use": _same(syntax.Use, "value", "budget"),
    "Return": _same(syntax.Return, "value"),
    "Repeat": lambda fields, span: syntax.Repeat(_count(fields["count"]), fields["body"], span=span),
    "For": _same(syntax.For, "item", "items", "limit", "body"),
    "Loop": _same(syntax.Loop, "condition", "limit", "body"),
    "If": _same(syntax.If, "condition", "then", "otherwise"),
    "Assignment": _same(syntax.Assignment, "target", "value"),
    "Evaluation": _same(syntax.Evaluation, "value"),
    "Limit": _same(syntax.Limit, "text"),
    "Or": _joined(syntax.Or),
    "And": _joined(syntax.And),
    "Comparison": _comparison,
    "Compared": lambda fields, _: (fields["operator"], fields["right"]),
    "Not": _same(syntax.Not, "operand"),
    "Postfix": _postfix,
    "Member": _member,
    "Call": _call,
    "Index": _index,
    "Generate": lambda fields, span: syntax.Generate(tuple(fields.get("options", ())), fields["shape"], span=span),
    "Text": lambda fields, span: syntax.Text(_unquoted(fields["value"]), span=span),
    "Number": lambda fields, span: syntax.Number(fields["text"], _value(fields["text"]), span=span),
    "Boolean": lambda fields, span: syntax.Boolean(fields["value"] == "true", span=span),
    "Nothing": lambda _, span: syntax.Nothing(span=span),
    "Name": _same(syntax.Name, "name"),
    "Object": _items(syntax.Object, "entries"),
    "Entry": _entry,
    "List": _items(syntax.List, "items"),
    "Shape": _items(syntax.Shape, "fields"),
    "Field": _same(syntax.Field, "name", "type", "item"),
}
