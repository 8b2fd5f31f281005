"""Convo text to syntax: the values of each rule of the grammar, and how reading goes on after an error."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from memorygraph.errors import MAX_PROBLEMS, Source, Span
from memorygraph.languages.convo import syntax
from memorygraph.languages.convo.checks import check_conversation, misplaced
from memorygraph.languages.convo.errors import ConvoExplainer
from memorygraph.languages.convo.text import (
    BLANKS,
    content_parts,
    heredoc_text,
    prompt_parts,
    quoted_parts,
    split_prompt,
    unquoted,
)
from memorygraph.languages.convo.unsupported import find_unsupported
from memorygraph.languages.engine.findings import Finding, find_surrogates, locate_problems
from memorygraph.languages.engine.grammar import read_grammar
from memorygraph.languages.engine.machine import Build, Fields, Machine, Read, Stopped, build_tuple_of
from memorygraph.languages.engine.patterns import compile_pattern

GRAMMAR = read_grammar(Path(__file__).with_name("grammar.tx"), "Plain")
MACHINE = Machine(GRAMMAR.rules, GRAMMAR.layout)
BUILT_IN = frozenset(GRAMMAR.tokens["BuiltIn"].split("|"))  # a file may not define these functions anew

MAX_CHARACTERS = 2**22  # characters of a conversation, some 100,000 lines

_HEAD = re.compile(r"^[ \t]*+>", re.MULTILINE)
_CR_HEAD = compile_pattern(r"(?:\A|\r)[ \t]*+>")
_TAG_LINE = compile_pattern(r"[ \t]*+(?:(?:@\w|#|//)[^\n]*+)?+\r?\n?\Z")
_BOUNDARY = re.compile(r">|@\w|#")
_ROUTE = re.compile(r"([\w-]+)[ \t]*(.*)", re.DOTALL)
_START = re.compile(r">[ \t]*+(\w++!?)([^\n]*+)")
_TAG = re.compile(r"@(\w++)(.*)", re.DOTALL)
_SAFE = 2**53  # up to here every whole number is a double, too
_MAX_NUMBER = 308


def read_convo(text: str, file: str | None = None, *, strict: bool = False) -> syntax.ConvoProgram:  # noqa: ARG001 - one dialect
    """A conversation, and everything that can be found wrong with it before it runs."""
    text = text.removeprefix("\ufeff")
    if "\n" not in text and _CR_HEAD.search(text):
        text = text.replace("\r", "\n")  # no line of this file ends otherwise
    source = Source(text, file)
    messages, findings = read_source(source)
    conversation = syntax.ParsedConversation(messages, span=Span(0, len(source.text)))
    unsupported = locate_problems(find_unsupported(messages, source.text), source)
    return syntax.ConvoProgram(source, conversation, locate_problems(findings, source), unsupported)


def read_source(source: Source) -> tuple[tuple[syntax.Message, ...], list[Finding]]:
    """The messages of a file, unless its syntax is wrong, and what is wrong."""
    text = source.text
    if len(text) > MAX_CHARACTERS:
        message = f"this file is too large; a conversation has at most {MAX_CHARACTERS:,} characters"
        return (), [Finding(message, "program-too-large", Span(0, 1))]
    halves = find_surrogates(text)
    if halves:
        return (), halves
    builds = _Builder(text).builds
    plain = _HEAD.search(text) is None
    result = MACHINE.read(text, "Plain" if plain else "Program", builds, whole=True, layout=not plain)
    if isinstance(result, Stopped):
        return (), find_message_errors(source, result, builds, plain=plain)
    messages: tuple[syntax.Message, ...] = result.value
    wrong = list(misplaced(messages, text))
    return (() if wrong else messages), wrong or check_conversation(messages, source, BUILT_IN)


def find_message_errors(source: Source, first: Stopped, builds: Mapping[str, Build], *, plain: bool) -> list[Finding]:
    """What is wrong: after an error, reading goes on with the next message."""
    text = source.text
    findings: list[Finding] = []
    position: int | None = 0
    result: Read | Stopped = first
    while position is not None and isinstance(result, Stopped):
        start = 0 if plain else find_message_start(text, position, result.offset, builds)
        findings.append(ConvoExplainer(plain=plain).explain(source, result, start))
        position = find_next_message(text, max(find_next_line(text, result, findings[-1].span), start + 1))
        if plain or position is None or len(findings) > MAX_PROBLEMS:
            break
        result = MACHINE.read(text, "Program", builds, position, whole=True)
    return findings


def find_message_start(text: str, position: int, stop: int, builds: Mapping[str, Build]) -> int:
    """Where the message begins that reading stopped in."""
    while True:
        result = MACHINE.read(text, "Message", builds, position)
        if isinstance(result, Stopped) or result.end > stop or not _BOUNDARY.match(text, result.end):
            return position
        position = result.end


def find_next_line(text: str, stop: Stopped, span: Span) -> int:
    """Where reading may go on after an error: mostly on the line after it."""
    if text.startswith(">", stop.offset) and span.start == stop.offset:
        return text.rfind("\n", 0, stop.offset) + 1  # a head, which cuts off what stands before it
    line_end = text.find("\n", span.end)
    return line_end + 1 if line_end >= 0 else len(text)


def find_next_message(text: str, position: int) -> int | None:
    """Where the next message begins, with its tags."""
    head = _HEAD.search(text, position)
    if head is None:
        return None
    start = head.start()
    while start > position:
        line = text.rfind("\n", 0, start - 1) + 1
        if line < position or not _TAG_LINE.match(text, line, start):
            break
        start = line
    return start


def parse_number(text: str) -> int | float:
    """The number in a text; NaN where it is not a number."""
    if text.removeprefix("-").isdecimal() and len(text) <= _MAX_NUMBER:
        return int(text)
    try:
        value = float(text.replace("_", "x"))
    except ValueError:
        return math.nan
    return int(value) if abs(value) < _SAFE and value.is_integer() else value


def _described(fields: Fields) -> str | None:
    """What the `#` lines before something say of it."""
    notes: list[str] = fields.get("notes", [])
    return "\n".join(note[1:].strip(BLANKS) for note in notes) if notes else None


def _piped(fields: Fields) -> syntax.Value:
    """The value of a statement, with what is piped into it."""
    value: syntax.Value = fields["value"]
    if "pipes" not in fields:
        return value
    values = (value, *fields["pipes"])
    return syntax.Pipe(values, span=Span(value.span.start, values[-1].span.end))


def _path(name: str | None) -> tuple[str, ...]:
    return tuple(name.split(".")) if name else ()


def _label(token: str | None) -> str | None:
    return unquoted(token) if token and token[0] in "\"'" else token


def constant_text(insertion: syntax.Insertion) -> str | None:
    """The text that an insertion is, whatever the variables hold."""
    statement = insertion.statements[0] if len(insertion.statements) == 1 else None
    if statement is None or statement.path or statement.description is not None:
        return None
    value = statement.value
    if isinstance(value, syntax.Text):
        return value.value
    if isinstance(value, syntax.Template) and all(isinstance(part, str) for part in value.parts):
        return "".join(part for part in value.parts if isinstance(part, str))
    return None


def merge_texts(parts: Iterable[str | syntax.Insertion]) -> tuple[str | syntax.Insertion, ...]:
    """The parts of a text; an insertion that is a text alone is part of the text around it."""
    merged: list[str | syntax.Insertion] = []
    for part in parts:
        known = part if isinstance(part, str) else constant_text(part)
        if known is None:
            merged.append(part)
        elif merged and isinstance(merged[-1], str):
            merged[-1] += known
        elif known:
            merged.append(known)
    return tuple(merged)


def weave(
    first: str, fields: Fields, resolve: Callable[[Sequence[str]], list[str]]
) -> tuple[str | syntax.Insertion, ...]:
    """Join the texts of a rule, as `resolve` reads them, and the insertions between them."""
    between: list[tuple[syntax.Insertion, str]] = fields.get("parts", [])
    texts = resolve([first, *(text.removeprefix("}}") for _, text in between)])
    parts: list[str | syntax.Insertion] = [texts[0]]
    for (insertion, _), text in zip(between, texts[1:], strict=True):
        parts += [insertion, text]
    return merge_texts(parts)


def split_head(start: str) -> tuple[str, str]:
    """The role and the head of a message."""
    found = _START.match(start)
    return (found[1], found[2].strip(" \t\r")) if found else ("", "")


class _Builder:
    """What the rules of the grammar become, in a text: its texts know their indentation, its insertions their end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.builds: dict[str, Build] = {
            "Program": self.program,
            "Plain": self.plain,
            "Message": self.message,
            "CallMessage": self.function_message,
            "FunctionMessage": self.function_message,
            "FunctionBody": lambda fields, _: tuple(fields.get("statements", ())),
            "CodeMessage": self.code_message,
            "TextMessage": self.text_message,
            "CodeTag": self.code_tag,
            "TextTag": self.text_tag,
            "Parameter": self.parameter,
            "Statement": partial(self.statement, cls=syntax.Statement),
            "Mark": self.text_tag,
            "PipeSource": lambda fields, _: fields["value"],
            "InlinePrompt": partial(self.prompt, static=False),
            "Embed": partial(self.prompt, static=True),
            **dict.fromkeys(("Argument", "Entry", "Item"), partial(self.statement, cls=syntax.Argument)),
            "Insertion": self.insertion,
            **dict.fromkeys(
                ("TextPart", "QuotePart", "PlainPart", "PromptPart", "EmbedPart"),
                lambda found, _: (found["insertion"], found["rest"]),
            ),
            "Template": lambda found, span: syntax.Template(weave(found["start"][1:], found, quoted_parts), span=span),
            "Text": lambda fields, span: syntax.Text(unquoted(fields["start"] + '"'), span=span),
            "Heredoc": lambda fields, span: syntax.Text(heredoc_text(fields["text"]), span=span),
            "Number": lambda fields, span: syntax.Number(parse_number(fields["text"]), span=span),
            "Constant": lambda fields, span: syntax.Constant(fields["name"], span=span),
            "Call": lambda found, span: syntax.Call(
                _path(found["name"]), tuple(found.get("arguments", ())), _path(found.get("path", "")[1:]), span=span
            ),
            "Reference": lambda fields, span: syntax.Reference(_path(fields["path"]), span=span),
            "Map": build_tuple_of(syntax.Map, "entries"),
            "Array": build_tuple_of(syntax.Array, "items"),
        }

    def program(self, fields: Fields, span: Span) -> tuple[syntax.Message, ...]:
        messages: list[syntax.Message] = fields.get("messages", [])
        tags: list[syntax.Tag] = fields.get("tags", [])
        if tags:  # tags that stand before no message belong to an empty `define`
            end = Span(tags[0].span.start, span.end)
            messages = [*messages, syntax.CodeMessage("define", "", (), tuple(tags), span=end)]
        return tuple(messages)

    def plain(self, fields: Fields, span: Span) -> tuple[syntax.Message, ...]:
        """A file without heads: it is what a user says."""
        parts = weave(fields.get("start", ""), fields, partial(content_parts, indentation=0))
        place = self.trimmed(span.start, span.end)
        return (syntax.TextMessage("user", "", syntax.Template(parts, span=place), span=place),) if parts else ()

    def message(self, fields: Fields, _: Span) -> syntax.Message:
        body: syntax.Message = fields["body"]
        tags = tuple(fields.get("tags", ()))
        if isinstance(body, syntax.FunctionMessage):
            return replace(body, tags=tags, description=_described(fields))
        return replace(body, tags=tags) if tags else body

    def function_message(self, fields: Fields, span: Span) -> syntax.FunctionMessage:
        """A function, or a recorded call, which has arguments in place of parameters."""
        modifier, name = [None, *fields["start"][1:].split()][-2:]
        parameters, arguments = (tuple(fields.get(items, ())) for items in ("parameters", "arguments"))
        types = fields.get("takes"), fields.get("gives")
        return syntax.FunctionMessage(
            modifier, name or "", parameters, arguments, *types, fields.get("body"), span=span
        )

    def code_message(self, fields: Fields, span: Span) -> syntax.CodeMessage:
        return syntax.CodeMessage(*split_head(fields["start"]), tuple(fields.get("statements", ())), span=span)

    def text_message(self, fields: Fields, span: Span) -> syntax.TextMessage:
        start: str = fields["start"]
        line_end = (f"{start}\n").index("\n")
        line_start = self.text.rfind("\n", 0, span.start) + 1
        parts = weave(start[line_end:], fields, partial(content_parts, indentation=span.start - line_start))
        content = syntax.Template(parts, span=self.trimmed(span.start + line_end, span.end))
        place = Span(span.start, max(content.span.end, span.start + line_end))
        return syntax.TextMessage(*split_head(start), content, span=place)

    def code_tag(self, fields: Fields, span: Span) -> syntax.Tag:
        name, target = [*fields["start"][1:].split(), None][:2]
        return syntax.Tag(name, None, target, fields["expression"], span=span)

    def text_tag(self, fields: Fields, span: Span) -> syntax.Tag:
        line = fields["line"].rstrip(" \t\r")
        found = _TAG.match(line)
        name, text = (found[1], found[2].strip(BLANKS)) if found else ("", "")
        span = Span(span.start, span.start + len(line))
        route = _ROUTE.match(text) if name in {"to", "from"} else None
        if route is not None:
            return syntax.Tag(name, route[2] or None, route[1], span=span)
        return syntax.Tag(name, text or None, span=span)

    def parameter(self, fields: Fields, span: Span) -> syntax.Parameter:
        name = _label(fields["name"]) or ""
        return syntax.Parameter(name, "optional" in fields, fields.get("type"), _described(fields), span=span)

    def statement(self, fields: Fields, span: Span, *, cls: type[syntax.Statement]) -> syntax.Statement:
        label, path = _label(fields.get("label")), _path(fields.get("path"))
        tags = tuple(fields.get("marks", ()))
        return cls(_piped(fields), path, _described(fields), label, "optional" in fields, tags, span=span)

    def prompt(self, fields: Fields, span: Span, *, static: bool) -> syntax.InlinePrompt:
        opening = fields["start"][0]
        head, first = split_prompt(fields["start"].lstrip(opening))
        content = syntax.Template(weave(first, fields, prompt_parts), span=span)
        return syntax.InlinePrompt(head, content, static, span=span)

    def insertion(self, fields: Fields, span: Span) -> syntax.Insertion:
        end = MACHINE.layout_end(self.text, span.end) + len("}}")
        return syntax.Insertion(tuple(fields.get("statements", ())), span=Span(span.start, end))

    def trimmed(self, start: int, end: int) -> Span:
        """A stretch of the source without the blanks at its ends."""
        text = self.text[start:end]
        start += len(text) - len(text.lstrip(BLANKS))
        return Span(start, max(start, start + len(text.strip(BLANKS))))
