"""The checks of a conversation without syntax errors, before it runs.

Source: specs/convo.md, "Decisions that are ours to pin", and sections 1.2 and 1.4.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any, TypeAlias

from memorygraph.errors import Source, Span
from memorygraph.languages.convo import syntax
from memorygraph.languages.engine.findings import Finding, shorten

MAX_NESTING = 100  # levels of calls, maps, arrays and insertions, one inside the other

_LEVELS = (syntax.Call, syntax.Map, syntax.Array, syntax.Insertion)
_MOVING = frozenset({"auto", "next", "main"})  # targets that are no ids of nodes
_ROLES = syntax.ROUTE_ROLES | syntax.NODE_ENDS | syntax.CODE_ROLES | {"user", "assistant", "system"}
_TYPE_NAME = re.compile(r"\w+(?:\[\])?|array\([ \t]*\w+[ \t]*\)")
_DEPTH = re.compile(r"full|0*[1-9][0-9]*")
_FIRST_WORD = re.compile(r"\S*")

_Head: TypeAlias = syntax.TextMessage | syntax.CodeMessage


def check_conversation(
    messages: Sequence[syntax.Message], source: Source, builtins: Set[str] = frozenset()
) -> list[Finding]:
    """Everything that can be found, in the order of the text; only what nests too deep is said alone.

    `builtins` are the names of functions that no file may define anew.
    """
    deep, numbers = _measured(messages, source.text)
    if deep is not None:
        message = f"this is nested more than {MAX_NESTING} levels deep; give a part of it a name: part = …"
        return [Finding(message, "nesting-too-deep", Span(deep.start, deep.start + 1))]
    checks = _Checks(messages, source, builtins)
    return sorted([*numbers, *checks.findings()], key=lambda finding: finding.span)


def role_of(message: syntax.Message) -> str:
    """The role of a message without its `!`; a function has none."""
    return "" if isinstance(message, syntax.FunctionMessage) else message.role.removesuffix("!")


def _measured(messages: Iterable[syntax.ConvoSyntax], text: str) -> tuple[Span | None, list[Finding]]:
    """The first place that is too deep; invalid numbers, and braces that close the wrong thing."""
    findings: list[Finding] = []
    waiting: list[tuple[Any, int]] = [(one, 0) for one in messages]
    while waiting:
        node, depth = waiting.pop()
        if isinstance(node, tuple):
            waiting += [(one, depth) for one in node if isinstance(one, syntax.ConvoSyntax)]
            continue
        depth += isinstance(node, _LEVELS)
        if depth > MAX_NESTING:
            return node.span, []
        if isinstance(node, syntax.Number) and not math.isfinite(node.value):
            message = "this is no number, or one that is too large; write one such as -5, 0.5 or 1e3"
            findings.append(Finding(message, "invalid-number", node.span))
        if isinstance(node, syntax.Insertion) and text.endswith("}}}", *node.span):
            place = Span(node.span.end - 3, node.span.end)
            message = "the first two braces of `}}}` close the insertion; write a blank before it ends: `} }}`"
            findings.append(Finding(message, "syntax", place))
        for part in vars(node).values():
            if isinstance(part, syntax.ConvoSyntax) or type(part) is tuple:  # a span is another kind of tuple
                waiting.append((part, depth))
    return None, findings


class _Checks:
    """The checks of one conversation."""

    def __init__(self, messages: Sequence[syntax.Message], source: Source, builtins: Set[str]) -> None:
        self._messages = messages
        self._source = source
        self._builtins = builtins
        self._nodes: dict[str, syntax.TextMessage] = {}

    def findings(self) -> Iterator[Finding]:
        """All of them, in any order."""
        yield from self._declared()
        yield from self._placed()
        yield from self._functions()
        for message in self._messages:
            yield from self._head(message)
            for tag in message.tags:
                yield from self._tag(tag)

    def _declared(self) -> Iterator[Finding]:
        for message in self._messages:
            if isinstance(message, syntax.TextMessage) and message.role == "node":
                id_ = message.head or "main"
                if id_ in self._nodes:
                    text = f"the node `{shorten(id_)}` is there twice; give one of them another id"
                    first = self._head_span(self._nodes[id_])
                    yield Finding(text, "duplicate-node", self._head_span(message), first)
                self._nodes.setdefault(id_, message)

    def _placed(self) -> Iterator[Finding]:
        """Routes outside of nodes, and routes to nodes that are not there."""
        inside = False
        # What stands before an `exitGraph` tells of a run that is over.
        exits = [index for index, message in enumerate(self._messages) if role_of(message) == "exitGraph"]
        over = exits[-1] if exits else -1
        for index, message in enumerate(self._messages):
            role = role_of(message)
            if role in syntax.NODE_ENDS:
                inside = role == "node"
            yield from self._routing_tags(message)
            if role == "goto" and index > over:
                yield from self._target(self._plain_head(message), self._head_span(message))
            elif role in syntax.ROUTE_ROLES and not inside:
                text = f"`> {role}` is a route of a node, and stands in none; write it below the node's head"
                yield Finding(text, "orphaned-route", self._head_span(message))
            elif role in {"to", "from"}:
                yield from self._routing_message(message, role)

    def _routing_tags(self, message: syntax.Message) -> Iterator[Finding]:
        for tag in message.tags:
            if tag.name in syntax.ROUTE_ROLES and role_of(message) != "node":
                text = f"`@{tag.name}` is a route of a node; write it above the head of one"
                yield Finding(text, "orphaned-route", tag.span)
            elif tag.name in {"to", "from"} and tag.target is None:
                text = f"`@{tag.name}` names no node; write: @{tag.name} id, @{tag.name} next or @{tag.name} auto"
                yield Finding(text, "invalid-route-tag", tag.span)
            elif tag.target is not None:
                at = self._source.text.find(tag.target, tag.span.start + len(tag.name) + 1, tag.span.end)
                yield from self._target(tag.target, Span(at, at + len(tag.target)))

    def _routing_message(self, message: syntax.Message, role: str) -> Iterator[Finding]:
        head = self._plain_head(message)
        if not head:
            text = f"`> {role}` names no node; write its id after it, or `next` or `auto`"
            yield Finding(text, "invalid-route-tag", self._head_span(message))
            return
        word = _FIRST_WORD.match(head)
        first = word[0] if word else head
        # `auto` may be followed by the nodes among which it chooses.
        target = first if first in _MOVING else head
        yield from self._target(target, self._head_span(message))

    def _plain_head(self, message: syntax.Message) -> str:
        return "" if isinstance(message, syntax.FunctionMessage) else message.head

    def _target(self, target: str, span: Span) -> Iterator[Finding]:
        if not target or target in _MOVING or target in self._nodes or "{{" in target:
            return
        nodes = ", ".join(f"`{shorten(id_)}`" for id_ in list(self._nodes)[:8])
        there = f"the nodes are {nodes}" if nodes else "there are no nodes"
        yield Finding(f"no node has the id `{shorten(target)}`; {there}", "missing-target", span)

    def _functions(self) -> Iterator[Finding]:
        """Names of functions; a node, and what stands in none, are a scope each."""
        outside: dict[str, syntax.FunctionMessage] = {}
        seen = outside
        for message in self._messages:
            role = role_of(message)
            if role in syntax.NODE_ENDS:
                seen = {} if role == "node" else outside
            if isinstance(message, syntax.FunctionMessage) and message.modifier not in {"call", "invoke"}:
                if message.name in seen:
                    text = f"the function `{shorten(message.name)}` is there twice; give one of them another name"
                    first = self._first_line(seen[message.name])
                    yield Finding(text, "duplicate-function", self._first_line(message), first)
                seen.setdefault(message.name, message)
                yield from self._function(message)

    def _function(self, message: syntax.FunctionMessage) -> Iterator[Finding]:
        words = [message.modifier, message.name] if message.modifier else [message.name]
        if message.name in self._builtins:
            text = f"`{message.name}` is built in; give this function another name"
            yield Finding(text, "redefined-builtin", self._first_line(message))
        elif words[0] in _ROLES or (message.modifier and message.modifier not in syntax.MODIFIERS):
            known = ", ".join(sorted(syntax.MODIFIERS))
            text = (
                f"`> {shorten(' '.join(map(str, words)))}(` is read as a function; write text on the line below the"
                f" head, or one of these before a function's name: {known}"
            )
            yield Finding(text, "invalid-function", self._first_line(message))
        yield from self._parameters(message)

    def _parameters(self, message: syntax.FunctionMessage) -> Iterator[Finding]:
        names: dict[str, Span] = {}
        for parameter in message.parameters:
            if parameter.name in names:
                text = f"the parameter `{shorten(parameter.name)}` is there twice; give one another name"
                place = self._first(parameter.span, parameter.name)
                yield Finding(text, "duplicate-parameter", place, names[parameter.name])
            names.setdefault(parameter.name, self._first(parameter.span, parameter.name))

    def _head(self, message: syntax.Message) -> Iterator[Finding]:
        if isinstance(message, syntax.CodeMessage) and message.role in syntax.CODE_ROLES and message.head:
            text = f"the statements of `> {message.role}` begin on the line below it"
            yield Finding(text, "invalid-head", self._head_span(message))

    def _tag(self, tag: syntax.Tag) -> Iterator[Finding]:
        text = tag.text or ""
        if tag.expression is None and tag.target is None and text.startswith("="):
            if tag.name not in syntax.EXPRESSION_TAGS:
                known = ", ".join(f"@{name}" for name in syntax.EXPRESSION_TAGS)
                yield Finding(f"`@{tag.name}` takes no expression; only these do: {known}", "invalid-tag", tag.span)
        elif tag.name == "contextDepth" and not _DEPTH.fullmatch(text):
            message = "`@contextDepth` takes a whole number from 1 on, or `full`"
            yield Finding(message, "invalid-context-depth", tag.span)
        elif tag.name == "json" and tag.expression is None and text and not _TYPE_NAME.fullmatch(text):
            message = "`@json` takes a name, Name[], array(Name) or an expression: @json = enum(…)"
            yield Finding(message, "invalid-json-tag", tag.span)

    def _first_line(self, message: syntax.Message) -> Span:
        start, end = message.span
        line_end = self._source.text.find("\n", start, end)
        return Span(start, line_end if line_end >= 0 else end)

    def _head_span(self, message: syntax.Message) -> Span:
        """Where the head of a message stands, or what is left of its line."""
        line = self._first_line(message)
        head = self._plain_head(message)
        at = self._source.text.rfind(head, *line) if head else -1
        return Span(at, at + len(head)) if at >= 0 else line

    def _first(self, span: Span, name: str) -> Span:
        """Where the name of a parameter stands, after the lines that describe it."""
        lines = self._source.text[slice(*span)].split("\n")
        notes = sum(len(line) + 1 for line in lines[:-1]) if lines[0].startswith("#") else 0
        at = self._source.text.find(name, span.start + notes if notes < span.end - span.start else span.start, span.end)
        return Span(at, at + len(name)) if at >= 0 else span
