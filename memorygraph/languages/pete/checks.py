"""The checks of a log without syntax errors.

A context knows the handles that it was passed, its own name, what it instantiates, the variables that it asked for,
and the contexts in it that have ended; and every context knows the faculties that were called before, by their names.
Source: the rulings on PETE's grammar, 7, 12 and 16, and its sample log.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from memorygraph.errors import MAX_PROBLEMS, Source, Span
from memorygraph.languages.agentscript.names import suggestion
from memorygraph.languages.engine.findings import Finding
from memorygraph.languages.pete import syntax
from memorygraph.languages.pete.items import MAX_ADDRESS

MAX_NUMBER = 308  # digits; the largest double has as many

_NUMBER = re.compile(r'"(?:[^"\\]++|\\.)*+"|(-?[0-9][0-9.eE+-]*+)')
_MAYBE_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")


@dataclass
class _Frame:
    """An open context: its handles, and whether it was summed up."""

    context: syntax.Opening
    known: set[str] = field(default_factory=set)
    tldr: syntax.Tldr | None = None


def check_pete(items: Sequence[syntax.Item], source: Source) -> tuple[list[Finding], list[Finding]]:
    """What is wrong, and what is only strange, both in the order of the text."""
    checks = _Checks(source)
    for item in items:
        checks.take(item)
        if len(checks.findings) > MAX_PROBLEMS:
            break
    return sorted(checks.findings, key=lambda finding: finding.span), checks.warnings


class _Checks:
    """Follows a log from context to context."""

    def __init__(self, source: Source) -> None:
        self.findings: list[Finding] = []
        self.warnings: list[Finding] = []
        self._source = source
        self._frames: list[_Frame] = []
        self._faculties: set[str] = set()  # those that were called: the log has met them, so it can speak of them

    def take(self, item: syntax.Item) -> None:
        """Check the next item of the log."""
        match item:
            case syntax.Opening():
                self._open(item)
            case syntax.Closing():
                closed = self._frames.pop().context.name
                if self._frames:
                    self._frames[-1].known.add(closed)
            case _:
                self._state(item)

    def _state(self, statement: syntax.Statement) -> None:
        match statement:
            case syntax.Tldr():
                self._sum_up(statement)
            case syntax.Instantiation():
                self._instantiate(statement)
            case syntax.Abbreviation():
                self._abbreviated(statement)
            case syntax.Fact(predication) | syntax.Question(predication):
                self._said([predication])
                self._frames[-1].known.update(
                    one.name for one in _leaves([predication]) if isinstance(one, syntax.Variable)
                )
            case syntax.Rule():
                self._rule(statement)
            case _:
                pass
        if isinstance(statement, (syntax.Command, syntax.Question)):
            self._data(statement)
        if isinstance(statement, syntax.Command) and statement.faculty is not None:
            self._faculties.add(statement.faculty)

    def _instantiate(self, statement: syntax.Instantiation) -> None:
        if isinstance(statement.value, syntax.Memory):
            self._address(statement.value)
        elif isinstance(statement.value, syntax.Abbreviation):
            self._abbreviated(statement.value)
        self._frames[-1].known.add(statement.ref.name)

    def _open(self, context: syntax.Opening) -> None:
        if self._frames:
            self._passed(context.name, context.refs)
        self._frames.append(_Frame(context, {syntax.SELF, context.name, *(ref.name for ref in context.refs)}))

    def _abbreviated(self, item: syntax.Abbreviation) -> None:
        self._passed(item.name, item.refs)
        self._address(item.memory)
        self._frames[-1].known.add(item.name)

    def _passed(self, name: str, refs: Iterable[syntax.Ref]) -> None:
        for ref in refs:
            self._known(ref, f"so the context `{name}` cannot be passed it")

    def _sum_up(self, tldr: syntax.Tldr) -> None:
        frame = self._frames[-1]
        if frame.tldr is not None:
            message = f"the context `{frame.context.name}` has several tl;dr, and the last one counts"
            self.warnings.append(Finding(message, "several-tldr", tldr.span, frame.tldr.span))
        frame.tldr = frame.tldr or tldr

    def _rule(self, rule: syntax.Rule) -> None:
        self._said([rule.head, *rule.body])
        bound = {one.name for one in _leaves(rule.body) if isinstance(one, syntax.Variable)}
        for one in _leaves([rule.head]):
            if isinstance(one, syntax.Variable) and one.name not in bound:
                bound.add(one.name)
                near = suggestion(f"_{one.name}", [f"_{name}" for name in bound - {one.name}])
                message = f"the variable `_{one.name}` of this rule stands in no condition after `if`{near}"
                self.findings.append(Finding(message, "unbound-variable", one.span))

    def _said(self, predications: Iterable[syntax.Predication]) -> None:
        for one in _leaves(predications):
            match one:
                case syntax.Ref():
                    self._known(one)
                case syntax.Memory():
                    self._address(one)
                case syntax.Value():
                    self._value(one)
                case _:
                    pass

    def _data(self, item: syntax.Command | syntax.Question) -> None:
        if isinstance(item, syntax.Command) and item.arguments is not None:
            self._value(item.arguments)
        if item.feedback is not None:
            self._value(item.feedback.data)

    def _known(self, ref: syntax.Ref, consequence: str = "") -> None:
        """A handle that its context does not know; it is said once."""
        frame = self._frames[-1]
        if ref.name in frame.known or ref.name in self._faculties:
            return
        message = f"the context `{frame.context.name}` does not know `&{ref.name}`"
        if consequence:
            message += f", {consequence}"
        if any(ref.name in outer.known for outer in self._frames[:-1]):
            passed = ", ".join(f"&{name}" for name in (*(one.name for one in frame.context.refs), ref.name))
            message += f"; pass it: context {frame.context.name}({passed})"
        else:
            near = suggestion(f"&{ref.name}", [f"&{name}" for name in sorted(frame.known)])
            message += near or f"; make it: &{ref.name} = /* what it is */"
        frame.known.add(ref.name)
        self.findings.append(Finding(message, "unknown-ref", ref.span))

    def _address(self, memory: syntax.Memory) -> None:
        if memory.address >= 10**MAX_ADDRESS:
            message = f"this is no address; one has at most {MAX_ADDRESS} digits"
            self.findings.append(Finding(message, "invalid-number", memory.span))

    def _value(self, value: syntax.Value) -> None:
        """Numbers that no float holds, and texts that no encoding can write."""
        if len(value.text) > MAX_NUMBER or "e" in value.text or "E" in value.text:
            for found in _NUMBER.finditer(value.text):
                if found[1] and (len(found[1]) > MAX_NUMBER or math.isinf(float(found[1]))):
                    message = f"this number is too large; one has at most {MAX_NUMBER} digits"
                    self.findings.append(Finding(message, "invalid-number", _inside(value, found[1], self._source)))
                    return
        if _MAYBE_HALF.search(value.text) and _HALF.search(json.dumps(value.value, ensure_ascii=False)):
            message = "an escape in this value is half a character, and cannot be stored"
            self.findings.append(Finding(message, "encoding", value.span))


def _inside(value: syntax.Value, token: str, source: Source) -> Span:
    """Where a token of a value stands."""
    start = source.text.find(token, *value.span)
    return Span(start, start + len(token))


def _leaves(predications: Iterable[syntax.Predication]) -> Iterator[syntax.Argument]:
    """The subjects and objects of predications, those within abstractions too, in the order of the text."""
    waiting: list[syntax.Predication | syntax.Argument] = [*predications]
    waiting.reverse()
    while waiting:
        one = waiting.pop()
        match one:
            case syntax.Predication():
                waiting += [one.object, one.subject]
            case syntax.Abstraction():
                waiting += one.predications[::-1]
            case _:
                yield one
