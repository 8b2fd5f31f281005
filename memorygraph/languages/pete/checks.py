"""The checks of a log without syntax errors.

A context knows the handles that it was passed, its own name, what it instantiates, the variables that it asked for,
the contexts in it that have ended, and all faculties that were called before. Source: PETE's rulings 7, 12 and 16.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from memorygraph.errors import MAX_PROBLEMS, Source, Span
from memorygraph.json_text import HALF_CHARACTER
from memorygraph.languages.engine.findings import Finding, suggestion
from memorygraph.languages.engine.patterns import compile_pattern
from memorygraph.languages.engine.syntax import SyntaxNode, walk
from memorygraph.languages.pete import syntax
from memorygraph.languages.pete.items import MAX_ADDRESS

MAX_NUMBER = 308  # digits; the largest double has as many

_NUMBER = compile_pattern(r'"(?:[^"\\]++|\\.)*+"|(-?[0-9][0-9.eE+-]*+)')
_MAYBE_HALF = re.compile(r"\\u[dD][89a-fA-F]")


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
        if isinstance(item, syntax.Closing):
            self._bind([self._frames.pop().context.name])
            return
        if self._frames:
            self._check_parts(item, walk(item))
        if isinstance(item, syntax.Opening):
            self._frames.append(_Frame(item, {syntax.SELF, item.name, *(ref.name for ref in item.refs)}))
            return
        match item:
            case syntax.Tldr():
                self._sum_up(item)
            case syntax.Rule():
                self._rule(item)
            case syntax.Command(faculty=str(faculty)):
                self._faculties.add(faculty)
        self._bind(syntax.bound_handles(item))

    def _bind(self, handles: Iterable[str]) -> None:
        """Let the innermost open context know handles."""
        if self._frames:
            self._frames[-1].known.update(handles)

    def _check_parts(self, item: syntax.Item, parts: Iterable[SyntaxNode]) -> None:
        """Check the handles that an item uses, its addresses and its values."""
        consequence = ""
        for part in parts:
            match part:
                case syntax.Ref() if not isinstance(item, syntax.Instantiation) or part is not item.ref:
                    self._known(part, consequence)
                case syntax.Memory():
                    self._address(part)
                case syntax.Value():
                    self._value(part)
                case syntax.Opening(name) | syntax.Abbreviation(name):
                    consequence = f", so the context `{name}` cannot be passed it"

    def _sum_up(self, tldr: syntax.Tldr) -> None:
        frame = self._frames[-1]
        if frame.tldr is not None:
            self.warnings.append(several_tldr(frame.context.name, tldr.span, frame.tldr.span))
        frame.tldr = frame.tldr or tldr

    def _rule(self, rule: syntax.Rule) -> None:
        bound = set(_variables(rule.body))
        for name, variable in _variables([rule.head]).items():
            if name not in bound:
                near = suggestion(f"_{name}", [f"_{other}" for other in bound])
                message = f"the variable `_{name}` of this rule stands in no condition after `if`{near}"
                self.findings.append(Finding(message, "unbound-variable", variable.span))
                bound.add(name)

    def _known(self, ref: syntax.Ref, consequence: str) -> None:
        """A handle that its context does not know; it is said once."""
        frame = self._frames[-1]
        if ref.name in frame.known or ref.name in self._faculties:
            return
        message = f"the context `{frame.context.name}` does not know `&{ref.name}`{consequence}"
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
                    start = self._source.text.find(found[1], *value.span)
                    self.findings.append(Finding(message, "invalid-number", Span(start, start + len(found[1]))))
                    return
        if _MAYBE_HALF.search(value.text) and HALF_CHARACTER.search(json.dumps(value.value, ensure_ascii=False)):
            message = "an escape in this value is half a character, and cannot be stored"
            self.findings.append(Finding(message, "encoding", value.span))


def several_tldr(name: str, span: Span, first: Span | None = None) -> Finding:
    """The warning of a second tl;dr of a context, and where the first stands if that is in the same text."""
    return Finding(f"the context `{name}` has several tl;dr, and the last one counts", "several-tldr", span, first)


def _variables(predications: Iterable[syntax.Predication]) -> dict[str, syntax.Variable]:
    """The variables in predications by their names, each where it stands first."""
    found: dict[str, syntax.Variable] = {}
    for part in chain.from_iterable(map(walk, predications)):
        if isinstance(part, syntax.Variable):
            found.setdefault(part.name, part)
    return found
