r"""AgentScript syntax to text.

An expression becomes the label of a source in a prompt, so it is always one line. A program becomes text that,
parsed, is the program again; the two differ in texts only, where a label escapes more than the language can read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import singledispatchmethod

from memorygraph.languages.agentscript import (
    Agent,
    And,
    Assignment,
    Block,
    Boolean,
    Call,
    Comparison,
    Config,
    Entry,
    Evaluation,
    Expression,
    Field,
    For,
    Function,
    Generate,
    If,
    Import,
    Index,
    List,
    Loop,
    Member,
    Name,
    Not,
    Nothing,
    Number,
    Object,
    Or,
    Parameter,
    Repeat,
    Return,
    Shape,
    Statement,
    Syntax,
    Text,
    Use,
)

# What would break a line, or cannot be encoded, beyond what JSON escapes.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def print_expression(expression: Expression) -> str:
    r"""An expression on one line, as a prompt and a trace name it.

    >>> print_expression(Member(Name("input"), "question"))
    'input.question'
    >>> print(print_expression(List((Text("two\nlines"), Not(Name("a")), Object((Entry("k", Number("1", 1)),))))))
    ["two\nlines", not a, { k: 1 }]
    """
    return _Expressions(_label).text(expression)


def print_program(statements: Iterable[Import | Agent]) -> str:
    """The text of imports and agents, which parsed is the same again.

    >>> print(print_program([Import("tool", "Search", "https://example.org")]), end="")
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

    def _joined(self, items: Iterable[Syntax], separator: str = ", ") -> str:
        return separator.join(map(self.text, items))

    @singledispatchmethod
    def text(self, syntax: Syntax) -> str:
        raise NotImplementedError(f"{type(syntax).__name__} is no expression")

    @text.register
    def _(self, syntax: Or) -> str:
        return self._joined(syntax.operands, " or ")

    @text.register
    def _(self, syntax: And) -> str:
        return self._joined(syntax.operands, " and ")

    @text.register
    def _(self, syntax: Comparison) -> str:
        return f"{self.text(syntax.left)} {syntax.operator} {self.text(syntax.right)}"

    @text.register
    def _(self, syntax: Not) -> str:
        return f"not {self.text(syntax.operand)}"

    @text.register
    def _(self, syntax: Member) -> str:
        # A point right behind a whole number would be its own.
        whole = isinstance(syntax.value, Number) and syntax.value.text.isdecimal()
        return f"{self.text(syntax.value)}{' ' * whole}.{syntax.name}"

    @text.register
    def _(self, syntax: Call) -> str:
        return f"{self.text(syntax.function)}({self._joined(syntax.arguments)})"

    @text.register
    def _(self, syntax: Index) -> str:
        return f"{self.text(syntax.value)}[{self.text(syntax.index)}]"

    @text.register
    def _(self, syntax: Generate) -> str:
        return f"generate({{ {self._joined(syntax.options)} }}) {{ return {self.text(syntax.shape)} }}"

    @text.register
    def _(self, syntax: Text) -> str:
        return self._quoted(syntax.value)

    @text.register
    def _(self, syntax: Number) -> str:
        return syntax.text

    @text.register
    def _(self, syntax: Boolean) -> str:
        return "true" if syntax.value else "false"

    @text.register
    def _(self, _: Nothing) -> str:
        return "none"

    @text.register
    def _(self, syntax: Name) -> str:
        return syntax.name

    @text.register
    def _(self, syntax: Object) -> str:
        return f"{{ {self._joined(syntax.entries)} }}" if syntax.entries else "{}"

    @text.register
    def _(self, syntax: Entry) -> str:
        key = syntax.key if _KEY.fullmatch(syntax.key) else self._quoted(syntax.key)
        return f"{key}: {self.text(syntax.value)}"

    @text.register
    def _(self, syntax: List) -> str:
        return f"[{self._joined(syntax.items)}]"

    @text.register
    def _(self, syntax: Shape) -> str:
        return f"{{ {self._joined(syntax.fields)} }}"

    @text.register
    def _(self, syntax: Field) -> str:
        return f"{syntax.name} {syntax.type}[{syntax.item}]" if syntax.item else f"{syntax.name} {syntax.type}"

    @text.register
    def _(self, syntax: Parameter) -> str:
        return f"{syntax.name} {self.text(syntax.shape)}" if syntax.shape else syntax.name


_text = _Expressions(_literal).text


def _lines(syntax: Import | Agent | Function | Statement) -> list[str]:
    """The lines of what is no expression."""
    match syntax:
        case Import():
            lines = [f"import {syntax.kind} {syntax.name} from {_literal(syntax.uri)}"]
        case Agent():
            parts: tuple[Config | Function, ...] = (*syntax.configs, *syntax.functions)
            body = [line for part in parts for line in _lines(part)]
            lines = [f"{_header('agent', syntax)} {{", *_indented(body), "}"]
        case Function():
            parameters = ", ".join(map(_text, syntax.parameters))
            lines = _with_block(f"{_header('func', syntax)}({parameters})", syntax.body)
        case If():
            lines = _with_block(f"if {_text(syntax.condition)}", syntax.then)
            if syntax.otherwise is not None:
                lines = [*lines[:-1], *_with_block("} else", syntax.otherwise)]
        case Repeat() | For() | Loop():
            lines = _with_block(_loop(syntax), syntax.body)
        case _:
            lines = [_simple(syntax)]
    return lines


def _header(keyword: str, syntax: Agent | Function) -> str:
    # The name of what has none has two underscores, and is written like any other.
    return f"{'main ' if syntax.main else ''}{keyword} {syntax.name}"


def _loop(syntax: Repeat | For | Loop) -> str:
    match syntax:
        case Repeat():
            return f"repeat * {syntax.count}"
        case For():
            return f"for {syntax.item} in {_text(syntax.items)} < {syntax.limit.text}"
        case Loop():
            return f"loop until {_text(syntax.condition)} < {syntax.limit.text}"


def _simple(syntax: Config | Use | Return | Assignment | Evaluation) -> str:
    match syntax:
        case Config():
            return f"{syntax.name} {_text(syntax.value)}"
        case Use():
            return f"use {_text(syntax.value)}{f' < {syntax.budget.text}' if syntax.budget else ''}"
        case Return():
            return f"return {_text(syntax.value)}"
        case Assignment():
            return f"{_text(syntax.target)} = {_text(syntax.value)}"
        case Evaluation():
            return _text(syntax.value)


def _with_block(header: str, block: Block) -> list[str]:
    return [f"{header} {{", *_indented(line for one in block.statements for line in _lines(one)), "}"]


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]
