"""AgentScript programs as text that, parsed, is the program again: what tests write programs with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from memorygraph.languages.agentscript import syntax
from memorygraph.languages.agentscript.printing import Printer

ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def print_agentscript(statements: Iterable[syntax.Import | syntax.Agent]) -> str:
    return "".join(f"{line}\n" for line in lines(statements))


class ProgramPrinter(Printer):
    templates: ClassVar[Mapping[type, str]] = {
        **Printer.templates,
        syntax.Import: "import {kind} {name} from {uri:quoted}",
        syntax.Agent: "agent {name}",
        syntax.Function: "func {name}({parameters})",
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
    }

    def print(self, node: syntax.AgentScriptSyntax) -> str:
        match node:
            case syntax.Agent(main=True) | syntax.Function(main=True):
                return f"main {super().print(node)}"
            case syntax.FunctionParameter(shape=None):
                return node.name
            case syntax.Use(budget=None):
                return f"use {self.print(node.value)}"
        return super().print(node)

    def quote(self, text: str) -> str:
        return f'"{text.translate(ESCAPES)}"'


def lines(nodes: Iterable[syntax.AgentScriptSyntax]) -> Iterator[str]:
    """The lines of imports, agents, functions and statements."""
    for node in nodes:
        header = ProgramPrinter().print(node)
        inside = blocks(node)
        if not inside:
            yield header
            continue
        for block in inside:
            yield f"{header} {{"
            yield from (f"  {line}" for line in lines(block))
            header = "} else"
        yield "}"


def blocks(node: syntax.AgentScriptSyntax) -> Sequence[Sequence[syntax.AgentScriptSyntax]]:
    """What stands in the braces of a node; those of an `if` can be two."""
    match node:
        case syntax.Agent():
            return [(*node.configs, *node.functions)]
        case syntax.If():
            return [block.statements for block in (node.then, node.otherwise) if block]
        case syntax.Function() | syntax.Repeat() | syntax.For() | syntax.Loop():
            return [node.body.statements]
    return []
