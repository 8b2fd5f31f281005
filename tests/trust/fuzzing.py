"""Fuzzing the readers of the languages: random inputs, what must hold for each of them, and a worker that tries them.

An input is told by the language, a seed and an index alone, so that a failure can be had again. A worker is a process
of its own: it may take so much more memory than it has at its start, and each input so much time of the processor.
"""

from __future__ import annotations

import io
import resource
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from random import Random
from typing import Any, NoReturn

import psutil
from textx.exceptions import TextXSyntaxError

from memorygraph.errors import Problem
from memorygraph.languages import ContextScriptProgram, parse, parse_batches
from memorygraph.languages.contextscript.reading import Parser
from memorygraph.languages.engine.fast_path import RawStatement
from memorygraph.languages.engine.machine import Machine
from memorygraph.languages.pete.continuation import ContinuationReader
from memorygraph.scripts import read_script
from tests.textx_itself import deep_calls
from tests.trust.mutations import mutated, mutated_bytes
from tests.trust.sentences import ODD, Sentences

MAX_SECONDS = 1.0
MAX_MEMORY = 256 * 2**20
MAX_FAILURES = 5  # that a worker tells of before it stops
MAX_CHARACTERS = 50_000  # characters of an input; the limits of the languages for larger ones have tests of their own
KINDS = ("sentence", "mutated sentence", "mutated program", "soup", "bytes")


class TooSlow(BaseException):
    """An input takes more time than any may; no `except Exception` of a reader catches it."""


@dataclass(frozen=True)
class Input:
    """One input: what kind it is of, its text as `read_script` gives it, and chance for how it is read."""

    kind: str
    text: str
    draw: Random = field(compare=False)


@dataclass
class Report:
    """What came of some inputs: how many of each kind, how many textX reads to the end, and what went wrong."""

    kinds: Counter[str] = field(default_factory=Counter)
    whole: int = 0
    compared: int = 0
    slowest: float = 0.0
    memory: int = 0
    failures: list[str] = field(default_factory=list)

    def add(self, other: Report) -> None:
        """The report of another worker."""
        self.kinds += other.kinds
        self.whole += other.whole
        self.compared += other.compared
        self.slowest = max(self.slowest, other.slowest)
        self.memory = max(self.memory, other.memory)
        self.failures += other.failures


@cache
def sentences(language: str) -> Sentences:
    return Sentences(language)


def input_of(language: str, seed: int, index: int) -> Input:
    """The input of this index."""
    draw = Random(f"{language} {seed} {index}")
    source = sentences(language)
    kind = draw.choices(KINDS, [2, 3, 5, 1, 2])[0]
    text = source.sentence(draw) if "sentence" in kind else source.program(draw)
    if kind.startswith("mutated"):
        text = mutated(text, draw, source.program(draw))
    elif kind == "soup":
        words = text.split() or [""]
        text = draw.choice(["", " "]).join(draw.choice([draw.choice(words), draw.choice(ODD)]) for _ in range(30))
    elif kind == "bytes":
        text = _through_a_file(mutated_bytes(text, draw))
    return Input(kind, text[:MAX_CHARACTERS], draw)


def _through_a_file(data: bytes) -> str:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        return read_script(file.name)


def fuzz(language: str, seed: int, indices: range) -> Report:
    """Try the inputs of these indices, in this process."""
    report = Report()
    signal.signal(signal.SIGVTALRM, _too_slow)
    sentences(language).warm()
    before = _limit_memory()
    for index in indices:
        one = input_of(language, seed, index)
        report.kinds[one.kind] += 1
        try:
            _try(language, one, report)
        except (Exception, TooSlow):  # noqa: BLE001 - whatever it is, it is told with its input
            report.failures.append(
                f"{language}, seed {seed}, index {index}, {one.kind}: {one.text[:5000]!r}\n{traceback.format_exc()}"
            )
            if len(report.failures) >= MAX_FAILURES:
                break
    report.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    return report


def _too_slow(*_: object) -> NoReturn:
    raise TooSlow


def _limit_memory() -> int:
    """Bound what this process may take from now on; what it has."""
    has = psutil.Process().memory_info()
    resource.setrlimit(resource.RLIMIT_AS, (has.vms + MAX_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    return int(has.rss)


def _try(language: str, one: Input, report: Report) -> None:
    start = time.thread_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, MAX_SECONDS)
    try:
        if language == "contextscript":
            _read_contextscript(one)
        else:
            _read_nested(language, one)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    report.slowest = max(report.slowest, time.thread_time() - start)
    agree = _textx_reads_the_same_statements if language == "contextscript" else _textx_stops_at_the_same_place
    whole = agree(language, one.text)
    report.compared += whole is not None
    report.whole += whole is True


def is_located(problems: Iterable[Problem], text: str) -> None:
    """Every problem is at a place of the text, and says something that can be printed."""
    lines = text.removeprefix("\ufeff").split("\n")
    for problem in problems:
        assert 1 <= problem.line <= len(lines)
        assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1
        assert problem.message
        assert problem.code
        assert all(character.isprintable() for line in str(problem).split("\n") for character in line)


@cache
def parser(*, strict: bool, fast: bool) -> Parser:
    return Parser(strict=strict, fast=fast)


def _read_contextscript(one: Input) -> None:
    """Both dialects, each with and without the fast path, and in batches."""
    read: ContextScriptProgram | None = None
    for strict in (True, False):
        read = parser(strict=strict, fast=True).parse(one.text)
        slow = parser(strict=strict, fast=False).parse(one.text)
        assert read.statements == slow.statements
        assert [statement.span for statement in read.statements] == [statement.span for statement in slow.statements]
        assert (read.problems, read.unread) == (slow.problems, slow.unread)
        is_located(read.problems, one.text)
    assert read is not None
    parts = list(parse_batches(io.StringIO(one.text, newline=""), size=one.draw.randint(1, 3)))
    assert [statement for part in parts for statement in part.statements] == list(read.statements)
    assert [problem for part in parts for problem in part.problems] == list(read.problems)


def _read_nested(language: str, one: Input) -> None:
    program: Any = parse(one.text, language)
    for problems in (program.problems, getattr(program, "warnings", ())):
        is_located(problems, program.source.text)  # where CR may be a line break
        places = [(problem.line, problem.column) for problem in problems]
        assert places == sorted(places)
    if language == "pete":
        assert _continued([one.text]) == _continued(_pieces(one))


def _pieces(one: Input) -> list[str]:
    """A text in pieces as a model may stream it."""
    cuts = sorted(one.draw.randint(0, len(one.text)) for _ in range(one.draw.randint(1, 12)))
    return [one.text[start:end] for start, end in zip([0, *cuts], [*cuts, len(one.text)], strict=True)]


def _continued(pieces: list[str]) -> tuple[list[Any], bool, str]:
    """What a reader makes of a model's continuation."""
    reader = ContinuationReader(1)
    found = [piece for text in pieces for piece in reader.feed(text)]
    found += reader.finish()
    return found, reader.problem is not None, reader.rest


def _textx_reads_the_same_statements(language: str, text: str) -> bool | None:
    """The whole text is read by textX itself: the same statements, or something wrong; which."""
    text = text.removeprefix("\ufeff")
    ours = list(parser(strict=False, fast=True).read(text))
    try:
        program = sentences(language).metamodel.model_from_str(text)
    except TextXSyntaxError:
        assert not all(isinstance(raw, RawStatement) for raw in ours)
        return False
    theirs = program.statements if program else []  # of a text without statements, textX gives back a text
    assert [_meaning(raw) for raw in ours] == [
        (
            type(statement).__name__,
            (statement._tx_position, statement._tx_position_end),
            [(argument.name, argument.value) for argument in statement.arguments],
        )
        for statement in theirs
    ]
    return True


def _meaning(raw: Any) -> Any:
    if not isinstance(raw, RawStatement):
        return raw
    return raw.rule, tuple(raw.span), list(zip(raw.names, raw.tokens, strict=True))


def _textx_stops_at_the_same_place(language: str, text: str) -> bool | None:
    """The machine and textX itself read the same; None where it nests deeper than the machine reads."""
    machine: Machine = import_module(f"memorygraph.languages.{language}.reading").MACHINE
    result: Any = machine.read(text, "Program", dict.fromkeys(machine.rules, lambda *_: None), whole=True)
    if getattr(result, "deep", False):
        return None
    ours, theirs = getattr(result, "offset", None), _textx_stops_at(language, text)
    if ours != theirs:
        # Behind the end of a whole program no token is tried, and the machine says what it tried last.
        assert ours is not None
        assert theirs is not None
        assert theirs > ours
        assert _textx_stops_at(language, text[:theirs]) is None
    return theirs is None


def _textx_stops_at(language: str, text: str) -> int | None:
    with deep_calls():
        try:
            sentences(language).metamodel.model_from_str(text)
        except TextXSyntaxError as error:
            return int(error.__cause__.position)
    return None
