"""PETE syntax to text, which read again is the same."""

from __future__ import annotations

from collections.abc import Iterable

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
    return "".join(_lines(program.items))


def _lines(items: Iterable[syntax.Item]) -> Iterable[str]:
    depth = 0
    for item in items:
        depth -= isinstance(item, syntax.Closing)
        yield f"{'  ' * depth}{print_item(item)}\n"
        depth += isinstance(item, syntax.Opening)


def print_item(item: syntax.Item | syntax.Feedback) -> str:
    """The text of one item, without blanks around it.

    >>> print_item(syntax.Command("set", "fan", syntax.Value('{"speed": 2}')))
    '@fan, set {"speed": 2}'
    """
    match item:
        case syntax.Fact():
            text = f"{_predication(item.predication)}."
        case syntax.Question():
            text = f"{_predication(item.predication)}?{_answer(item.feedback)}"
        case syntax.Rule():
            text = f"{_predication(item.head)} if {_joined(item.body, item.conjunctions)}."
        case syntax.Command():
            text = _command(item)
        case syntax.Feedback():
            text = f">> {item.data.text}"
        case syntax.Opening():
            text = f"{_head(item)} {{"
        case syntax.Closing():
            text = "}"
        case _:
            text = _remark(item)
    return text


def _remark(
    item: syntax.Abbreviation
    | syntax.Tldr
    | syntax.Comment
    | syntax.SensorReport
    | syntax.Annotation
    | syntax.Instantiation,
) -> str:
    """The text of a statement that is neither said nor asked."""
    match item:
        case syntax.Abbreviation():
            text = f"{_head(item)} = {_argument(item.memory)}" + (f" {_nlp(item.tldr)}" if item.tldr else "")
        case syntax.Tldr():
            text = f"tl;dr {_nlp(item.text)}"
        case syntax.Comment():
            text = f"//{item.text}"
        case syntax.SensorReport():
            text = f"!!{item.text}"
        case syntax.Annotation():
            text = f"@[{item.text or ' '}]"
        case syntax.Instantiation(ref, syntax.Nlp() as described):
            text = f"&{ref.name} = {_nlp(described)}"
        case syntax.Instantiation(ref, syntax.Memory() as memory):
            text = f"&{ref.name} = {_argument(memory)}"
        case syntax.Instantiation(ref, syntax.Abbreviation() as abbreviation):
            text = f"&{ref.name} = {_remark(abbreviation)}"
    return text


def _head(item: syntax.Opening | syntax.Abbreviation) -> str:
    return f"context {item.name}({', '.join(f'&{ref.name}' for ref in item.refs)})"


def _nlp(nlp: syntax.Nlp) -> str:
    return f"/*{nlp.text}*/"


def _command(command: syntax.Command) -> str:
    called = f"@{command.faculty}, {command.procedure}" if command.faculty else command.procedure
    return called + (f" {command.arguments.text}" if command.arguments else "") + _answer(command.feedback)


def _answer(feedback: syntax.Feedback | None) -> str:
    return f" {print_item(feedback)}" if feedback else ""


def _joined(predications: tuple[syntax.Predication, ...], conjunctions: tuple[str, ...]) -> str:
    others = (f" {word} {_predication(one)}" for word, one in zip(conjunctions, predications[1:], strict=True))
    return _predication(predications[0]) + "".join(others)


def _predication(predication: syntax.Predication) -> str:
    negator = "" if predication.negator is None else "!" if predication.negator == "!" else f"{predication.negator} "
    subject, object_ = _argument(predication.subject), _argument(predication.object)
    return f"{subject} {negator}{predication.predicate} {object_}"


def _argument(argument: syntax.Argument) -> str:
    match argument:
        case syntax.Ref(name):
            text = f"&{name}"
        case syntax.Variable(name):
            text = f"_{name}"
        case syntax.Memory(address):
            text = f"memory:{address}"
        case syntax.Value(value):
            text = value
        case syntax.Abstraction(predications, conjunctions):
            text = f"that {_joined(predications, conjunctions)}"
    return text
