"""AgentScript text to syntax: the values of each rule of the grammar, and how reading goes on after an error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from memorygraph.errors import MAX_PROBLEMS, ScriptError, Source, Span
from memorygraph.languages.agentscript import syntax
from memorygraph.languages.agentscript.checks import check_agentscript, check_entry
from memorygraph.languages.agentscript.errors import explain
from memorygraph.languages.agentscript.names import GRAMMAR, Scope
from memorygraph.languages.engine.findings import Finding, find_surrogates, locate_problems
from memorygraph.languages.engine.machine import (
    Build,
    Fields,
    Machine,
    Read,
    Stopped,
    build_from_fields,
    build_tuple_of,
)
from memorygraph.languages.engine.patterns import compile_pattern

MACHINE = Machine(GRAMMAR.rules, GRAMMAR.layout)

MAX_CHARACTERS = 2**18  # characters of a program, some 7,000 lines
MAIN_AGENT, MAIN_FUNCTION = "__main_agent", "__main"

_ESCAPE = re.compile(r"\\([\s\S])")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_DIGITS = re.compile(r"[0-9]+(?:\.[0-9]*)?")
_SAFE = 2**53  # up to here every whole number is a double, too
_NEXT = compile_pattern(
    r"^[ \t]*+(?:(?P<member>(?:main\s++)?+func)|import|(?:main\s++)?+agent)(?=[ \t({])", re.MULTILINE
)
_DECLARING = ("import", "agent", "main")
_MEMBER = compile_pattern(r"(?:main\s++)?+func(?![A-Za-z0-9_-])")


def read_agentscript(text: str, file: str | None = None, *, strict: bool = False) -> syntax.AgentScriptProgram:  # noqa: ARG001 - one dialect
    """A program, and everything that can be found wrong with it before it runs."""
    source = Source(text.removeprefix("\ufeff"), file)
    statements: tuple[syntax.Import | syntax.Agent, ...] = ()
    findings = find_too_large(source.text)
    if not findings:
        findings = find_surrogates(source.text)
        result = MACHINE.read(source.text, "Program", BUILDS, whole=True)
        if isinstance(result, Read):
            statements = result.value
            findings = findings or check_agentscript(statements, source)
        else:
            findings = findings or find_syntax_errors(source, result)
    return syntax.AgentScriptProgram(source, statements, locate_problems(findings, source))


def find_too_large(text: str) -> list[Finding]:
    """Whether a text is longer than what is read."""
    if len(text) <= MAX_CHARACTERS:
        return []
    message = f"this program is too large; one has at most {MAX_CHARACTERS:,} characters"
    return [Finding(f"{message}. Import large texts: import file", "program-too-large", Span(0, 1))]


def find_syntax_errors(source: Source, first: Stopped) -> list[Finding]:
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


def unquote(token: str) -> str:
    """Resolve the escapes of a text in quotes."""
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), token[1:-1])


def parse_numeral(numeral: str) -> int | float:
    """The number before the suffix."""
    found = _DIGITS.match(numeral)
    value = float(found[0] if found else 0)
    return int(value) if value < _SAFE and value.is_integer() else value


def parse_count(digits: str) -> int:
    """The number of rounds; one that no program reaches where it has too many digits."""
    digits = digits.lstrip("0") or "0"
    return int(digits) if len(digits) < 19 else 10**18


def build_agent(fields: Fields, span: Span) -> syntax.Agent:
    """Build a `Agent` from its fields."""
    return syntax.Agent(
        fields.get("name", MAIN_AGENT),
        "main" in fields,
        tuple(fields.get("configs", ())),
        tuple(fields.get("functions", ())),
        span=span,
    )


def build_function(fields: Fields, span: Span) -> syntax.Function:
    """Build a `Function` from its fields."""
    parameters = tuple(fields.get("parameters", ()))
    return syntax.Function(fields.get("name", MAIN_FUNCTION), "main" in fields, parameters, fields["body"], span=span)


def build_comparison(fields: Fields, _: Span) -> syntax.Expression:
    """Build comparisons, grouped from the left."""
    left: syntax.Expression = fields["left"]
    others: list[tuple[str, syntax.Expression]] = fields.get("others", [])
    for operator, right in others:
        left = syntax.Comparison(operator, left, right, span=Span(left.span.start, right.span.end))
    return left


def build_joined(cls: type[syntax.Or | syntax.And], fields: Fields, span: Span) -> syntax.Expression:
    """Build operands: one alone is itself."""
    operands = fields["operands"]
    return operands[0] if len(operands) == 1 else cls(tuple(operands), span=span)


def build_postfix(fields: Fields, span: Span) -> syntax.Expression:
    """Build a value with its suffixes, from the left."""
    value: syntax.Expression = fields["value"]
    for cls, part, end in fields.get("suffixes", ()):
        value = cls(value, part, span=Span(span.start, end))
    return value


def build_entry(fields: Fields, span: Span) -> syntax.Entry:
    """Build a `Entry` from its fields."""
    key = fields["key"]
    return syntax.Entry(unquote(key) if key[0] in "\"'" else key, fields["value"], span=span)


BUILDS: Mapping[str, Build] = {
    "Program": lambda fields, _: tuple(fields.get("statements", ())),
    "Import": lambda fields, span: syntax.Import(fields["kind"], fields["name"], unquote(fields["uri"]), span=span),
    "Agent": build_agent,
    "Config": build_from_fields(syntax.Config, "name", "value"),
    "Function": build_function,
    "Parameter": build_from_fields(syntax.FunctionParameter, "name", "shape"),
    "Block": build_tuple_of(syntax.Block, "statements"),
    "Use": build_from_fields(syntax.Use, "value", "budget"),
    "Return": build_from_fields(syntax.Return, "value"),
    "Repeat": lambda fields, span: syntax.Repeat(parse_count(fields["count"]), fields["body"], span=span),
    "For": build_from_fields(syntax.For, "item", "items", "limit", "body"),
    "Loop": build_from_fields(syntax.Loop, "condition", "limit", "body"),
    "If": build_from_fields(syntax.If, "condition", "then", "otherwise"),
    "Assignment": build_from_fields(syntax.Assignment, "target", "value"),
    "Evaluation": build_from_fields(syntax.ExpressionStatement, "value"),
    "Limit": build_from_fields(syntax.Limit, "text"),
    "Or": partial(build_joined, syntax.Or),
    "And": partial(build_joined, syntax.And),
    "Comparison": build_comparison,
    "Compared": lambda fields, _: (fields["operator"], fields["right"]),
    "Not": build_from_fields(syntax.Not, "operand"),
    "Postfix": build_postfix,
    "Member": lambda fields, span: (syntax.Member, fields["name"], span.end),
    "Call": lambda fields, span: (syntax.FunctionCall, tuple(fields.get("arguments", ())), span.end),
    "Index": lambda fields, span: (syntax.Index, fields["index"], span.end),
    "Generate": lambda fields, span: syntax.Generate(tuple(fields.get("options", ())), fields["shape"], span=span),
    "Text": lambda fields, span: syntax.TextLiteral(unquote(fields["value"]), span=span),
    "Number": lambda fields, span: syntax.NumberLiteral(fields["text"], parse_numeral(fields["text"]), span=span),
    "Boolean": lambda fields, span: syntax.Boolean(fields["value"] == "true", span=span),
    "Nothing": lambda _, span: syntax.Nothing(span=span),
    "Name": build_from_fields(syntax.Name, "name"),
    "Object": build_tuple_of(syntax.Object, "entries"),
    "Entry": build_entry,
    "List": build_tuple_of(syntax.List, "items"),
    "Shape": build_tuple_of(syntax.Shape, "fields"),
    "Field": build_from_fields(syntax.Field, "name", "type", "item"),
}


def read_entry(source: Source, scope: Scope) -> tuple[list[syntax.Import | syntax.Agent], list[syntax.Statement]]:
    """The imports and agents of an entry of a session, or else its statements; `scope` is what the session has.

    >>> declared, statements = read_entry(Source("x = 1 x"), Scope({}))
    >>> declared, [type(statement).__name__ for statement in statements]
    ([], ['Assignment', 'ExpressionStatement'])

    Raises:
        ScriptError: something is wrong that can be found before it runs.
    """
    position = MACHINE.layout_end(source.text, 0)
    words = source.text[position:].split(maxsplit=2)
    declares = len(words) > 1 and words[0] in _DECLARING and words[1][0] not in "=.(["
    rule = "TopLevel" if declares else "Statement"
    pieces: list[Any] = []
    findings = find_too_large(source.text) or find_surrogates(source.text)
    while position < len(source.text) and not findings:
        result = MACHINE.read(source.text, rule, BUILDS, position)
        if isinstance(result, Stopped):
            if pieces:  # the one before may be the beginning of a longer one, as the target of an assignment is
                before = pieces[-1].span.start
                longer = MACHINE.read(source.text, rule, BUILDS, before, whole=True)
                if isinstance(longer, Stopped) and longer.offset > result.offset:
                    result, position = longer, before
            findings = [explain(source, result, position)]
        else:
            pieces.append(result.value)
            position = result.end
    declared, statements = (pieces, []) if declares else ([], pieces)
    findings = findings or check_entry(declared, statements, source, scope)
    if findings:
        raise ScriptError([*locate_problems(findings, source)])
    return declared, statements
