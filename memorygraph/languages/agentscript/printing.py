r"""AgentScript syntax to text.

An expression becomes the label of a source in a prompt, so it is always one line. A program becomes text that,
parsed, is the program again; the two differ in texts only, where a label escapes more than the language can read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import singledispatchmethod

from memorygraph.languages.agentscript import syntax

# What would break a line, or cannot be encoded, beyond what JSON escapes.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def print_expression(expression: syntax.Expression) -> str:
    r"""An expression on one line, as a prompt and a trace name it.

    >>> print_expression(syntax.Member(syntax.Name("input"), "question"))
    'input.question'
    >>> entry = syntax.Entry("k", syntax.NumberLiteral("1", 1))
    >>> items = syntax.TextLiteral("two\nlines"), syntax.Not(syntax.Name("a")), syntax.Object((entry,))
    >>> print(print_expression(syntax.List(items)))
    ["two\nlines", not a, { k: 1 }]
    """
    return _Expressions(_label).text(expression)


def print_agentscript(statements: Iterable[syntax.Import | syntax.Agent]) -> str:
    """The text of imports and agents, which parsed is the same again.

    >>> print(print_agentscript([syntax.Import("tool", "Search", "https://example.org")]), end="")
    import tool Search from "https://example.org"
    """
    return "".join(f"{line}\n" for statement in statements for line in _lines(statement))


def _label(text: str) -> str:
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def _literal(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


class _Expressions:
    """Prints expressions; how a text is written is said by `quoted`."""

    def __init__(self, quoted: Callable[[str], str]) -> None:
        self._quoted = quoted

    def _joined(self, items: Iterable[syntax.AgentScriptSyntax], separator: str = ", ") -> str:
        return separator.join(map(self.text, items))

    @singledispatchmethod
    def text(self, node: syntax.AgentScriptSyntax) -> str:
        raise NotImplementedError(f"{type(node).__name__} is no expression")

    @text.register
    def _(self, node: syntax.Or) -> str:
        return self._joined(node.operands, " or ")

    @text.register
    def _(self, node: syntax.And) -> str:
        return self._joined(node.operands, " and ")

    @text.register
    def _(self, node: syntax.Comparison) -> str:
        return f"{self.text(node.left)} {node.operator} {self.text(node.right)}"

    @text.register
    def _(self, node: syntax.Not) -> str:
        return f"not {self.text(node.operand)}"

    @text.register
    def _(self, node: syntax.Member) -> str:
        # A point directly after a whole number would belong to it.
        whole = isinstance(node.value, syntax.NumberLiteral) and node.value.text.isdecimal()
        return f"{self.text(node.value)}{' ' * whole}.{node.name}"

    @text.register
    def _(self, node: syntax.FunctionCall) -> str:
        return f"{self.text(node.function)}({self._joined(node.arguments)})"

    @text.register
    def _(self, node: syntax.Index) -> str:
        return f"{self.text(node.value)}[{self.text(node.index)}]"

    @text.register
    def _(self, node: syntax.Generate) -> str:
        return f"generate({{ {self._joined(node.options)} }}) {{ return {self.text(node.shape)} }}"

    @text.register
    def _(self, node: syntax.TextLiteral) -> str:
        return self._quoted(node.value)

    @text.register
    def _(self, node: syntax.NumberLiteral) -> str:
        return node.text

    @text.register
    def _(self, node: syntax.Boolean) -> str:
        return "true" if node.value else "false"

    @text.register
    def _(self, _: syntax.Nothing) -> str:
        return "none"

    @text.register
    def _(self, node: syntax.Name) -> str:
        return node.name

    @text.register
    def _(self, node: syntax.Object) -> str:
        return f"{{ {self._joined(node.entries)} }}" if node.entries else "{}"

    @text.register
    def _(self, node: syntax.Entry) -> str:
        key = node.key if _KEY.fullmatch(node.key) else self._quoted(node.key)
        return f"{key}: {self.text(node.value)}"

    @text.register
    def _(self, node: syntax.List) -> str:
        return f"[{self._joined(node.items)}]"

    @text.register
    def _(self, node: syntax.Shape) -> str:
        return f"{{ {self._joined(node.fields)} }}"

    @text.register
    def _(self, node: syntax.Field) -> str:
        return f"{node.name} {node.type}[{node.item}]" if node.item else f"{node.name} {node.type}"

    @text.register
    def _(self, node: syntax.FunctionParameter) -> str:
        return f"{node.name} {self.text(node.shape)}" if node.shape else node.name


_text = _Expressions(_literal).text


def _lines(node: syntax.Import | syntax.Agent | syntax.Function | syntax.Statement) -> list[str]:
    """The lines of what is no expression."""
    match node:
        case syntax.Import():
            lines = [f"import {node.kind} {node.name} from {_literal(node.uri)}"]
        case syntax.Agent():
            parts: tuple[syntax.Config | syntax.Function, ...] = (*node.configs, *node.functions)
            body = [line for part in parts for line in _lines(part)]
            lines = [f"{_header('agent', node)} {{", *_indented(body), "}"]
        case syntax.Function():
            parameters = ", ".join(map(_text, node.parameters))
            lines = _with_block(f"{_header('func', node)}({parameters})", node.body)
        case syntax.If():
            lines = _with_block(f"if {_text(node.condition)}", node.then)
            if node.otherwise is not None:
                lines = [*lines[:-1], *_with_block("} else", node.otherwise)]
        case syntax.Repeat() | syntax.For() | syntax.Loop():
            lines = _with_block(_loop(node), node.body)
        case _:
            lines = [_simple(node)]
    return lines


def _header(keyword: str, node: syntax.Agent | syntax.Function) -> str:
    # The name of what has none has two underscores, and is written like any other.
    return f"{'main ' if node.main else ''}{keyword} {node.name}"


def _loop(node: syntax.Repeat | syntax.For | syntax.Loop) -> str:
    match node:
        case syntax.Repeat():
            return f"repeat * {node.count}"
        case syntax.For():
            return f"for {node.item} in {_text(node.items)} < {node.limit.text}"
        case syntax.Loop():
            return f"loop until {_text(node.condition)} < {node.limit.text}"


def _simple(node: syntax.Config | syntax.Use | syntax.Return | syntax.Assignment | syntax.ExpressionStatement) -> str:
    match node:
        case syntax.Config():
            return f"{node.name} {_text(node.value)}"
        case syntax.Use():
            return f"use {_text(node.value)}{f' < {node.budget.text}' if node.budget else ''}"
        case syntax.Return():
            return f"return {_text(node.value)}"
        case syntax.Assignment():
            return f"{_text(node.target)} = {_text(node.value)}"
        case syntax.ExpressionStatement():
            return _text(node.value)


def _with_block(header: str, block: syntax.Block) -> list[str]:
    return [f"{header} {{", *_indented(line for one in block.statements for line in _lines(one)), "}"]


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]
