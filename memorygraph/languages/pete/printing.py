"""PETE syntax to text, which read again is the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memorygraph.languages.pete import syntax


def print_pete(program: syntax.PeteProgram) -> str:
    """A log with one statement a line, each context two blanks further in than the one around it.

    >>> from memorygraph.languages import parse
    >>> print(print_pete(parse("context main(&a) { &a has 3. context b() {} set", "pete")), end="")
    context main(&a) {
      &a has 3.
      context b() {
      }
      set
    """
    lines: list[str] = []
    depth = 0
    for item in program.items:
        depth -= isinstance(item, syntax.Closing)
        lines.append(f"{'  ' * depth}{print_item(item)}\n")
        depth += isinstance(item, syntax.Opening)
    return "".join(lines)


def print_item(item: syntax.PeteSyntax | None, before: str = "") -> str:
    """The text of one item or a part of one, without blanks around it; what is not there has none.

    >>> print_item(syntax.Command("set", "fan", syntax.Value('{"speed": 2}')))
    '@fan, set {"speed": 2}'
    """
    return before + _PRINTERS[type(item)](item) if item else ""


def print_head(item: syntax.Opening | syntax.Abbreviation) -> str:
    """The name of a context, and what it is passed."""
    return f"context {item.name}({', '.join(map(print_item, item.refs))})"


def print_predication(predication: syntax.Predication) -> str:
    """A predication without what ends it."""
    negator = "" if predication.negator is None else "!" if predication.negator == "!" else f"{predication.negator} "
    return f"{print_item(predication.subject)} {negator}{predication.predicate} {print_item(predication.object)}"


def join_predications(predications: tuple[syntax.Predication, ...], conjunctions: tuple[str, ...]) -> str:
    """Predications with the conjunctions between them."""
    others = (f" {word} {print_item(one)}" for word, one in zip(conjunctions, predications[1:], strict=True))
    return print_item(predications[0]) + "".join(others)


def print_command(command: syntax.Command) -> str:
    """A command with its arguments and what answered it."""
    called = f"@{command.faculty}, {command.procedure}" if command.faculty else command.procedure
    return called + print_item(command.arguments, " ") + print_item(command.feedback, " ")


_PRINTERS: Mapping[type, Callable[[Any], str]] = {
    syntax.Ref: lambda ref: f"&{ref.name}",
    syntax.Variable: lambda variable: f"_{variable.name}",
    syntax.Memory: lambda memory: f"memory:{memory.address}",
    syntax.Nlp: lambda nlp: f"/*{nlp.text}*/",
    syntax.Value: lambda value: value.text,
    syntax.Abstraction: lambda that: f"that {join_predications(that.predications, that.conjunctions)}",
    syntax.Predication: print_predication,
    syntax.Feedback: lambda feedback: f">> {feedback.data.text}",
    syntax.Opening: lambda opening: f"{print_head(opening)} {{",
    syntax.Closing: lambda _: "}",
    syntax.Abbreviation: lambda item: f"{print_head(item)} = {print_item(item.memory)}{print_item(item.tldr, ' ')}",
    syntax.Tldr: lambda tldr: f"tl;dr {print_item(tldr.text)}",
    syntax.Comment: lambda comment: f"//{comment.text}",
    syntax.SensorReport: lambda report: f"!!{report.text}",
    syntax.Annotation: lambda annotation: f"@[{annotation.text or ' '}]",
    syntax.Instantiation: lambda item: f"{print_item(item.ref)} = {print_item(item.value)}",
    syntax.Fact: lambda fact: f"{print_item(fact.predication)}.",
    syntax.Question: lambda question: f"{print_item(question.predication)}?{print_item(question.feedback, ' ')}",
    syntax.Rule: lambda rule: f"{print_item(rule.head)} if {join_predications(rule.body, rule.conjunctions)}.",
    syntax.Command: print_command,
}
