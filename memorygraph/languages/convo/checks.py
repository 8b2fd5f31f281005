"""The checks of a conversation without syntax errors, before it runs.

Source: specs/convo.md, "Decisions that are ours to pin", and sections 1.2 and 1.4.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence, Set

from memorygraph.errors import Source, Span
from memorygraph.languages.convo import syntax
from memorygraph.languages.convo.syntax import message_role
from memorygraph.languages.convo.text import begins_line, first_line
from memorygraph.languages.engine.findings import Finding, shorten
from memorygraph.languages.engine.syntax import SyntaxNode, walk_levels

MAX_WAYS = 100_000  # of `auto`, which leads from one node to all others
MAX_NESTING = 100  # levels of calls, maps, arrays and insertions, one inside the other

_LEVELS = (syntax.Call, syntax.Map, syntax.Array, syntax.Insertion)
_PLACEHOLDER = "`{}` stands for the id of a node, which is not supported; write the id itself"
MOVING_TARGETS = frozenset({"auto", "next"})  # targets that are no ids of nodes
_LEADING = {"to", "from"}
_NO_NODE = "main"  # where a `goto` without an id leads
_ROLES = syntax.ROUTE_ROLES | syntax.NODE_ENDS | syntax.CODE_ROLES | {"user", "assistant", "system"}
# What stands below the heads of messages that are a role alone.
_HEADLESS = {
    **dict.fromkeys(syntax.CODE_ROLES - syntax.TITLED_ROLES, "statements begin"),
    **dict.fromkeys(("user", "assistant", "system"), "text begins"),
    **dict.fromkeys(("exit", "exit!"), "condition begins"),
}
_TYPE_NAME = re.compile(r"\w+(?:\[\])?|array\([ \t]*\w+[ \t]*\)")
_CANDIDATE = re.compile(r"[^\s,]+")
_DEPTH = re.compile(r"full|0*[1-9][0-9]*")


def misplaced(messages: Iterable[syntax.Message], text: str) -> Iterator[Finding]:
    """What is read, but stands in the wrong place: heads and tags begin a line, and a tag is one line."""
    for message in messages:
        for tag in message.tags:
            if not begins_line(text, tag.span.start):
                yield Finding("a tag begins a line; write it above the message", "syntax", first_line(text, tag.span))
            line_end = text.find("\n", *tag.span)
            if line_end >= 0:
                hint = "a tag is one line; put what is long into a variable or a function"
                yield Finding(f"this tag goes over lines; {hint}", "syntax", Span(tag.span.start, line_end))
        place = message.span.start
        if text.startswith(">", place) and not begins_line(text, place):
            hint = "there are no operators: to compare, write gt(a b)"
            where = Span(place, place + 1)
            yield Finding(f"`>` begins a message only at the start of a line; {hint}", "syntax", where)


def check_conversation(
    messages: Sequence[syntax.Message], source: Source, builtins: Set[str] = frozenset()
) -> list[Finding]:
    """Everything that can be found, in the order of the text; only what nests too deep is said alone."""
    deep, numbers = _measured(messages, source.text)
    if deep is not None:
        message = f"this is nested more than {MAX_NESTING} levels deep; give a part of it a name: part = …"
        return [Finding(message, "nesting-too-deep", Span(deep.start, deep.start + 1))]
    checks = _Checks(messages, source.text, builtins)
    return sorted([*numbers, *checks.findings()], key=lambda finding: finding.span)


def _measured(messages: Iterable[SyntaxNode], text: str) -> tuple[Span | None, list[Finding]]:
    """The first place that is too deep; invalid numbers, and braces that close the wrong thing."""
    findings: list[Finding] = []
    for node, depth in walk_levels(messages, _LEVELS):
        if depth > MAX_NESTING:
            return node.span, []
        if isinstance(node, syntax.Number) and not math.isfinite(node.value):
            message = "this is no number, or one that is too large; write one such as -5, 0.5 or 1e3"
            findings.append(Finding(message, "invalid-number", node.span))
        if isinstance(node, syntax.Insertion) and text.endswith("}}}", *node.span):
            place = Span(node.span.end - 3, node.span.end)
            message = "the first two braces of `}}}` close the insertion; write a blank before it ends: `} }}`"
            findings.append(Finding(message, "syntax", place))
    return None, findings


class _Checks:
    """The checks of one conversation; `nodes` are the heads of its nodes, by their ids."""

    def __init__(self, messages: Sequence[syntax.Message], text: str, builtins: Set[str]) -> None:
        self.messages = messages
        self.text = text
        self.builtins = builtins
        self.nodes: dict[str, syntax.TextMessage] = {}
        # What is imported may hold the nodes; they are known when the files are read.
        self.imports = any(tag.name == "import" for message in messages for tag in message.tags)

    def findings(self) -> Iterator[Finding]:
        """All of them, in any order."""
        yield from self.check_nodes()
        yield from self.check_routes()
        yield from self.check_ways()
        yield from self.check_functions()
        for message in self.messages:
            if message.head and message.role in _HEADLESS:
                what, begins = _HEADLESS[message.role].split()
                text = f"the {what} of `> {message.role}` {begins} on the line below it"
                yield Finding(text, "invalid-head", self.head_span(message))
            for tag in message.tags:
                yield from self.check_tag(tag)

    def check_nodes(self) -> Iterator[Finding]:
        for message in self.messages:
            if isinstance(message, syntax.TextMessage) and message.role == "node":
                id_ = message.head or _NO_NODE
                if len(id_) > syntax.MAX_NODE_ID:
                    text = f"an id has at most {syntax.MAX_NODE_ID} characters; text of a node begins on the line below"
                    yield Finding(text, "invalid-head", self.head_span(message))
                if id_ in self.nodes:
                    text = f"the node `{shorten(id_)}` is there twice; give one of them another id"
                    yield Finding(text, "duplicate-node", self.head_span(message), self.head_span(self.nodes[id_]))
                self.nodes.setdefault(id_, message)

    def check_routes(self) -> Iterator[Finding]:
        """Find routes outside of nodes, and routes to nodes that are not there."""
        inside = False
        # What stands before an `exitGraph` tells of a run that is over.
        exits = [index for index, message in enumerate(self.messages) if message_role(message) == "exitGraph"]
        over = exits[-1] if exits else -1
        for index, message in enumerate(self.messages):
            role, head = message_role(message), message.head
            if role in syntax.NODE_ENDS:
                inside = role == "node"
            yield from self.check_routing_tags(message)
            if role == "goto" and index > over and head != _NO_NODE:
                yield from self.check_target(head, self.head_span(message))
            elif role in syntax.ROUTE_ROLES and not inside:
                text = f"`> {role}` is a route of a node, and stands in none; write it below the node's head"
                yield Finding(text, "orphaned-route", self.head_span(message))
            elif role in {"to", "from"} and not head:
                text = f"`> {role}` names no node; write its id after it, or `next` or `auto`"
                yield Finding(text, "invalid-route-tag", self.head_span(message))
            elif role in {"to", "from"}:
                yield from self.check_route_head(message, self.head_span(message))

    def check_route_head(self, message: syntax.Message, span: Span) -> Iterator[Finding]:
        """Check what a head names: `auto` may be followed by its candidates, and it and `next` by a condition."""
        first = re.split(r"\s", message.head, maxsplit=1)[0]
        if first not in MOVING_TARGETS:
            yield from self.check_target(message.head, span)
        elif message.role == "to!" and first == "auto":  # its condition is the code below
            for name in _CANDIDATE.finditer(message.head, len(first)):
                yield from self.check_target(name[0], Span(span.start + name.start(), span.start + name.end()))

    def check_routing_tags(self, message: syntax.Message) -> Iterator[Finding]:
        for tag in message.tags:
            if tag.name in syntax.ROUTE_ROLES and message_role(message) != "node":
                continue  # it has no effect, and is a warning
            if tag.name in {"to", "from"} and tag.target is None:
                written = self.text[tag.span.start + len(tag.name) + 1 : tag.span.end].strip()
                text = (
                    _PLACEHOLDER.format(shorten(written))
                    if written.startswith("{")
                    else f"`@{tag.name}` names no node; write: @{tag.name} id, @{tag.name} next or @{tag.name} auto"
                )
                yield Finding(text, "invalid-route-tag", tag.span)
            elif tag.target is not None and tag.target not in MOVING_TARGETS:
                at = self.text.find(tag.target, tag.span.start + len(tag.name) + 1, tag.span.end)
                yield from self.check_target(tag.target, Span(at, at + len(tag.target)))

    def check_target(self, target: str, span: Span) -> Iterator[Finding]:
        if not target or target in self.nodes or "{{" in target or self.imports:
            return
        if target.startswith("{"):
            yield Finding(_PLACEHOLDER.format(shorten(target)), "missing-target", span)
            return
        nodes = ", ".join(f"`{shorten(id_)}`" for id_ in list(self.nodes)[:8])
        there = f"the nodes are {nodes}" if nodes else "there are no nodes"
        yield Finding(f"no node has the id `{shorten(target)}`; {there}", "missing-target", span)

    def check_ways(self) -> Iterator[Finding]:
        """Refuse routes of `auto` that lead to so many nodes that to look at all ways would take minutes."""
        written = [
            *(
                (message.head, self.head_span(message))
                for message in self.messages
                if message_role(message) in _LEADING
            ),
            *(
                (f"{tag.target} {tag.text or ''}", tag.span)
                for message in self.messages
                for tag in message.tags
                if tag.name in _LEADING
            ),
        ]
        to_all = []
        for target, span in written:
            first, *words = target.replace(",", " ").split() or [""]
            if first == "auto" and not (words and self.nodes.keys() >= set(words)):  # which are its candidates
                to_all.append(span)
        if len(to_all) * len(self.nodes) > MAX_WAYS:
            count = f"{len(to_all):,} routes to `auto` among {len(self.nodes):,} nodes"
            text = f"{count} are more than {MAX_WAYS:,} ways; name the nodes that each may choose: auto b c"
            yield Finding(text, "program-too-large", to_all[0])

    def check_functions(self) -> Iterator[Finding]:
        """Check the names of functions; a node, and what stands in none, are a scope each."""
        outside: dict[str, Span] = {}
        seen = outside
        for message in self.messages:
            role = message_role(message)
            if role in syntax.NODE_ENDS:
                seen = {} if role == "node" else outside
            if isinstance(message, syntax.FunctionMessage) and message.modifier not in {"call", "invoke"}:
                place = first_line(self.text, message.span)
                if message.name in seen:
                    text = f"the function `{shorten(message.name)}` is there twice; give one of them another name"
                    yield Finding(text, "duplicate-function", place, seen[message.name])
                seen.setdefault(message.name, place)
                yield from self.check_function(message, place)

    def check_function(self, message: syntax.FunctionMessage, place: Span) -> Iterator[Finding]:
        words = [message.modifier, message.name] if message.modifier else [message.name]
        if message.name in self.builtins:
            text = f"`{message.name}` is built in; give this function another name"
            yield Finding(text, "redefined-builtin", place)
        elif words[0] in _ROLES or (message.modifier and message.modifier not in syntax.MODIFIERS):
            known = ", ".join(sorted(syntax.MODIFIERS))
            text = (
                f"`> {shorten(' '.join(map(str, words)))}(` is read as a function; write text on the line below the"
                f" head, or one of these before a function's name: {known}"
            )
            yield Finding(text, "invalid-function", place)
        names: dict[str, Span] = {}
        for parameter in message.parameters:
            place = self.parameter_span(parameter)
            if parameter.name in names:
                text = f"the parameter `{shorten(parameter.name)}` is there twice; give one another name"
                yield Finding(text, "duplicate-parameter", place, names[parameter.name])
            names.setdefault(parameter.name, place)

    def check_tag(self, tag: syntax.Tag) -> Iterator[Finding]:
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

    def head_span(self, message: syntax.Message) -> Span:
        """Where the head of a message stands, or what is left of its line."""
        line, head = first_line(self.text, message.span), message.head
        at = self.text.rfind(head, *line) if head else -1
        return Span(at, at + len(head)) if at >= 0 else line

    def parameter_span(self, parameter: syntax.Parameter) -> Span:
        """Where the name of a parameter stands, after the lines that describe it."""
        start, end = parameter.span
        lines = self.text[start:end].split("\n")
        notes = sum(len(line) + 1 for line in lines[:-1]) if lines[0].startswith("#") else 0
        at = self.text.find(parameter.name, start + notes if notes < end - start else start, end)
        return Span(at, at + len(parameter.name)) if at >= 0 else parameter.span
