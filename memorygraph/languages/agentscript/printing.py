r"""AgentScript expressions to text: the label of a source in a prompt, so it is always one line."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from string import Formatter
from typing import Any, ClassVar

from memorygraph.languages.agentscript import syntax

# What would break a line, or cannot be encoded, beyond what JSON escapes.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def print_expression(expression: syntax.Expression) -> str:
    r"""An expression on one line, as a prompt and a trace name it.

    >>> print_expression(syntax.Member(syntax.Name("input"), "question"))
    'input.question'
    >>> entry = syntax.Entry("k", syntax.NumberLiteral("1", 1))
    >>> items = syntax.TextLiteral("two\nlines"), syntax.Not(syntax.Name("a")), syntax.Object((entry,))
    >>> print(print_expression(syntax.List(items)))
    ["two\nlines", not a, { k: 1 }]
    """
    return _PRINTER.print(expression)


class Printer(Formatter):
    """Prints syntax on one line; the format of an attribute with several pieces is what stands between them."""

    templates: ClassVar[Mapping[type, str]] = {
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

    def print(self, node: syntax.AgentScriptSyntax) -> str:
        """The text of a node."""
        template = self.templates[type(node)]
        match node:
            case syntax.Member(value=syntax.NumberLiteral(text=text)) if text.isdecimal():
                template = "{value} .{name}"  # a point directly after a whole number would belong to it
            case syntax.Object(entries=()):
                template = "{{}}"
            case syntax.Field(item=None):
                template = "{name} {type}"
        return self.vformat(template, (), vars(node))

    def format_field(self, value: Any, format_spec: str) -> str:
        """The text of an attribute."""
        match value:
            case syntax.AgentScriptSyntax():
                return self.print(value)
            case tuple():
                return (format_spec or ", ").join(map(self.print, value))
            case bool():
                return str(value).lower()
            case str() if format_spec == "quoted" or (format_spec == "key" and not _KEY.fullmatch(value)):
                return self.quote(value)
        return str(value)

    def quote(self, text: str) -> str:
        """A text in quotes; more is escaped than the language can read."""
        return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


_PRINTER = Printer()
