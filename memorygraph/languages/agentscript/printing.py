r"""AgentScript syntax to text.

An expression becomes the label of a source in a prompt, so it is always one line. A program becomes text that,
parsed, is the program again; the two differ in texts only, where a label escapes more than the language can read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from string import Formatter
from typing import Any

from memorygraph.languages.agentscript import syntax

# What would break a line, or cannot be encoded, beyond what JSON escapes.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})

# The formats of `Printer`. A name that nobody gave has two underscores, and is written like any other.
_TEMPLATES: dict[type, str] = {
    syntax.Import: "import {kind} {name} from {uri:quoted}",
    syntax.Agent: "{main:main }agent {name}",
    syntax.Function: "{main:main }func {name}({parameters})",
    syntax.FunctionParameter: "{name} {shape}",
    syntax.Config: "{name} {value}",
    syntax.Use: "use {value} < {budget}",
    syntax.Return: "return {value}",
    syntax.Repeat: "repeat * {count}",
    syntax.For: "for {item} in {items} < {limit}",
    syntax.Loop: "loop until {condition} < {limit}",
    syntax.If: "if {condition}",
    syntax.Assignment: "{target} = {value}",
    syntax.ExpressionStatement: "{value}",
    syntax.Limit: "{text}",
    syntax.Or: "{operands: or }",
    syntax.And: "{operands: and }",
    syntax.Comparison: "{left} {operator} {right}",
    syntax.Not: "not {operand}",
    syntax.Member: "{value}.{name}",
    syntax.FunctionCall: "{function}({arguments})",
    syntax.Index: "{value}[{index}]",
    syntax.Generate: "generate({{ {options} }}) {{ return {shape} }}",
    syntax.TextLiteral: "{value:quoted}",
    syntax.NumberLiteral: "{text}",
    syntax.Boolean: "{value}",
    syntax.Nothing: "none",
    syntax.Name: "{name}",
    syntax.Object: "{{ {entries} }}",
    syntax.Entry: "{key:key}: {value}",
    syntax.List: "[{items}]",
    syntax.Shape: "{{ {fields} }}",
    syntax.Field: "{name} {type}[{item}]",
}


def print_expression(expression: syntax.Expression) -> str:
    r"""An expression on one line, as a prompt and a trace name it.

    >>> print_expression(syntax.Member(syntax.Name("input"), "question"))
    'input.question'
    >>> entry = syntax.Entry("k", syntax.NumberLiteral("1", 1))
    >>> items = syntax.TextLiteral("two\nlines"), syntax.Not(syntax.Name("a")), syntax.Object((entry,))
    >>> print(print_expression(syntax.List(items)))
    ["two\nlines", not a, { k: 1 }]
    """
    return _LABELS.print(expression)


def print_agentscript(statements: Iterable[syntax.Import | syntax.Agent]) -> str:
    """The text of imports and agents, which parsed is the same again."""
    return "".join(f"{line}\n" for line in _lines(statements))


class Printer(Formatter):
    """Prints one line of syntax by its template; how a text is written is said by `quote`.

    The format of an attribute with several pieces is what stands between them, that of a boolean is what true adds.
    """

    def __init__(self, quote: Callable[[str], str]) -> None:
        self._quote = quote

    def print(self, node: syntax.AgentScriptSyntax) -> str:
        """The text of a node, without the blocks in it."""
        template = _TEMPLATES[type(node)]
        match node:
            case syntax.Member(value=syntax.NumberLiteral(text=text)) if text.isdecimal():
                template = "{value} .{name}"  # a point directly after a whole number would belong to it
            case syntax.Object(entries=()):
                template = "{{}}"
            case syntax.Field(item=None):
                template = "{name} {type}"
            case syntax.FunctionParameter(shape=None):
                template = "{name}"
            case syntax.Use(budget=None):
                template = "use {value}"
        return self.vformat(template, (), vars(node))

    def format_field(self, value: Any, format_spec: str) -> str:
        """The text of an attribute."""
        match value:
            case syntax.AgentScriptSyntax():
                return self.print(value)
            case tuple():
                return (format_spec or ", ").join(map(self.print, value))
            case bool():
                return format_spec * value if format_spec else str(value).lower()
            case str() if format_spec == "quoted" or (format_spec == "key" and not _KEY.fullmatch(value)):
                return self._quote(value)
        return str(value)


_LABELS = Printer(
    lambda text: _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
)
_PROGRAMS = Printer(lambda text: f'"{text.translate(_ESCAPES)}"')


def _lines(nodes: Iterable[syntax.AgentScriptSyntax]) -> Iterator[str]:
    """The lines of imports, agents, functions and statements."""
    for node in nodes:
        blocks = _blocks(node)
        header = _PROGRAMS.print(node)
        if not blocks:
            yield header
            continue
        for block in blocks:
            yield f"{header} {{"
            yield from (f"  {line}" for line in _lines(block))
            header = "} else"
        yield "}"


def _blocks(node: syntax.AgentScriptSyntax) -> Sequence[Sequence[syntax.AgentScriptSyntax]]:
    """What stands in the braces of a node; those of an `if` can be two."""
    match node:
        case syntax.Agent():
            return [(*node.configs, *node.functions)]
        case syntax.If():
            return [block.statements for block in (node.then, node.otherwise) if block]
        case syntax.Function() | syntax.Repeat() | syntax.For() | syntax.Loop():
            return [node.body.statements]
    return []
