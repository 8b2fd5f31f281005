"""PETE syntax to text, which read again is the same."""

from __future__ import annotations

from collections.abc import Iterable

from memorygraph.languages.pete import (
    Abbreviation,
    Abstraction,
    Annotation,
    Argument,
    Closing,
    Command,
    Comment,
    Fact,
    Feedback,
    Instantiation,
    Item,
    Memory,
    Nlp,
    Opening,
    Predication,
    Program,
    Question,
    Ref,
    Rule,
    SensorReport,
    Tldr,
    Value,
    Variable,
)


def print_program(program: Program) -> str:
    """A log with one statement a line, each context two blanks further in than the one around it.

    >>> from memorygraph.languages import parse
    >>> print(print_program(parse("context main(&a) { &a has 3. context b() {} set", "pete")), end="")
    context main(&a) {
      &a has 3.
      context b() {
      }
      set
    """
    return "".join(_lines(program.items))


def _lines(items: Iterable[Item]) -> Iterable[str]:
    depth = 0
    for item in items:
        depth -= isinstance(item, Closing)
        yield f"{'  ' * depth}{print_item(item)}\n"
        depth += isinstance(item, Opening)


def print_item(item: Item | Feedback) -> str:
    """The text of one item, without blanks around it.

    >>> print_item(Command("set", "fan", Value('{"speed": 2}')))
    '@fan, set {"speed": 2}'
    """
    match item:
        case Fact():
            text = f"{_predication(item.predication)}."
        case Question():
            text = f"{_predication(item.predication)}?{_answer(item.feedback)}"
        case Rule():
            text = f"{_predication(item.head)} if {_joined(item.body, item.conjunctions)}."
        case Command():
            text = _command(item)
        case Feedback():
            text = f">> {item.data.text}"
        case Opening():
            text = f"{_head(item)} {{"
        case Closing():
            text = "}"
        case _:
            text = _remark(item)
    return text


def _remark(
    item: Abbreviation | Tldr | Comment | SensorReport | Annotation | Instantiation,
) -> str:
    """The text of a statement that is neither said nor asked."""
    match item:
        case Abbreviation():
            text = f"{_head(item)} = {_argument(item.memory)}" + (f" {_nlp(item.tldr)}" if item.tldr else "")
        case Tldr():
            text = f"tl;dr {_nlp(item.text)}"
        case Comment():
            text = f"//{item.text}"
        case SensorReport():
            text = f"!!{item.text}"
        case Annotation():
            text = f"@[{item.text or ' '}]"
        case Instantiation(ref, Nlp() as described):
            text = f"&{ref.name} = {_nlp(described)}"
        case Instantiation(ref, Memory() as memory):
            text = f"&{ref.name} = {_argument(memory)}"
        case Instantiation(ref, Abbreviation() as abbreviation):
            text = f"&{ref.name} = {_remark(abbreviation)}"
    return text


def _head(item: Opening | Abbreviation) -> str:
    return f"context {item.name}({', '.join(f'&{ref.name}' for ref in item.refs)})"


def _nlp(nlp: Nlp) -> str:
    return f"/*{nlp.text}*/"


def _command(command: Command) -> str:
    called = f"@{command.faculty}, {command.procedure}" if command.faculty else command.procedure
    return called + (f" {command.arguments.text}" if command.arguments else "") + _answer(command.feedback)


def _answer(feedback: Feedback | None) -> str:
    return f" {print_item(feedback)}" if feedback else ""


def _joined(predications: tuple[Predication, ...], conjunctions: tuple[str, ...]) -> str:
    others = (f" {word} {_predication(one)}" for word, one in zip(conjunctions, predications[1:], strict=True))
    return _predication(predications[0]) + "".join(others)


def _predication(predication: Predication) -> str:
    negator = "" if predication.negator is None else "!" if predication.negator == "!" else f"{predication.negator} "
    subject, object_ = _argument(predication.subject), _argument(predication.object)
    return f"{subject} {negator}{predication.predicate} {object_}"


def _argument(argument: Argument) -> str:
    match argument:
        case Ref(name):
            text = f"&{name}"
        case Variable(name):
            text = f"_{name}"
        case Memory(address):
            text = f"memory:{address}"
        case Value(value):
            text = value
        case Abstraction(predications, conjunctions):
            text = f"that {_joined(predications, conjunctions)}"
    return text
