"""PETE ⇒ syntax or problems, as data: the files in tests/cases/pete/parse and …/check.

A case is a line `=== title`, a source, a line `--`, and what must come out: the problems, as `LINE:COLUMN CODE:
message` with the stretch of the source that the caret shows, then the warnings likewise, and in `parse`, where there
are no problems, the items. The source stands behind `context main(&a, &b, &c) {` and a line break, and its lines are
counted from there; with ` | log` in the title it is a whole log. With ` | escaped` it is written with Python's escapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memorygraph.client import MemoryGraph
from memorygraph.errors import MemoryGraphError, Problem
from memorygraph.languages import parse, parse_batches
from memorygraph.languages.pete.lemmas import lemma_of
from memorygraph.languages.pete.syntax import Program

CASES = Path(__file__).parents[1] / "cases" / "pete"
FRAME = "context main(&a, &b, &c) {\n"
CODES = "syntax nesting-too-deep unknown-ref unbound-variable several-tldr invalid-number encoding"


class Case(NamedTuple):
    """One case of a case file; the source is a whole log, or the beginning of the frame's body."""

    source: str
    whole: bool
    expected: str

    def program(self) -> Program:
        return parse(self.source if self.whole else FRAME + self.source, "pete")

    def outcome(self, *, items: bool) -> str:
        program = self.program()
        lines = [*self.shown(program.problems), *self.shown(program.warnings, "warning ")]
        if items and not program.problems:
            lines += map(repr, program.items if self.whole else program.items[1:])
        return "\n".join(lines)

    def shown(self, problems: Iterable[Problem], kind: str = "") -> Iterator[str]:
        above = 0 if self.whole else FRAME.count("\n")
        for p in problems:
            marked = p.source_line[p.column - 1 : p.column - 1 + p.length].encode("utf-8", "backslashreplace").decode()
            yield f"{kind}{p.line - above}:{p.column} {p.code}: {p.message} [{marked}]"


def cases(folder: str) -> Iterator[Any]:
    """Every case below a folder."""
    for path in sorted((CASES / folder).glob("*.txt")):
        for text in re.split(r"^=== ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
            header, _, body = text.partition("\n")
            title, *options = header.split(" | ")
            source, _, expected = f"\n{body}".partition("\n--\n")
            source = re.sub(r"@@(.*?)\*(\d+)@@", lambda found: found[1] * int(found[2]), source[1:])
            if "escaped" in options:
                source = source.encode("latin-1", "backslashreplace").decode("unicode_escape")
            yield pytest.param(Case(source, "log" in options, expected.strip()), id=f"{path.stem}: {title}")


@pytest.mark.parametrize("case", [*cases("parse")])
def test_syntax(case: Case) -> None:
    assert case.outcome(items=True) == case.expected


@pytest.mark.parametrize("case", [*cases("check")])
def test_checks(case: Case) -> None:
    assert case.outcome(items=False) == case.expected


def test_every_code_has_a_case_and_nothing_else_is_said() -> None:
    programs = [parameters.values[0].program() for folder in ("parse", "check") for parameters in cases(folder)]
    assert {p.code for program in programs for p in (*program.problems, *program.warnings)} == {*CODES.split()}


def test_a_problem_shows_its_place() -> None:
    program = parse("context main(&a) {\n  &a eats &a\n}", "pete", file="a.pete")
    assert str(program.problems[0]) == (
        "a.pete:2:12: expected `.`, `?` or `if` but found `}`; a fact ends with a full stop, a question with `?`\n"
        "      &a eats &a\n"
        "               ^"
    )


def test_an_open_log_has_its_open_contexts_and_a_brace_ends_the_innermost() -> None:
    log = "context a() {\ncontext b() {\ncontext c() {\n"
    assert [frame.name for frame in parse(log, "pete").open_frames] == ["a", "b", "c"]
    assert [frame.name for frame in parse(log + "}", "pete").open_frames] == ["a", "b"]


def test_the_items_before_an_error_are_read() -> None:
    program = parse("context a() {\nset {}\n&a eats\nset []", "pete")
    assert len(program.items) == 2
    assert len(program.problems) == 1


def test_a_hundred_problems_are_enough() -> None:
    problems = parse("context a() {\n" + "&x likes\n" * 1000, "pete").problems
    assert len(problems) == 101
    assert problems[-1].code == "too-many-problems"


def test_a_byte_order_mark_may_begin_a_log() -> None:
    assert parse("\ufeffcontext a() {}", "pete").problems == ()


@pytest.mark.parametrize(
    ("forms", "lemma"),
    [
        *[("likes like", "like"), ("eats eat", "eat"), ("watches watch", "watch"), ("goes go", "go")],
        *[("fixes fix", "fix"), ("passes pass", "pass"), ("buzzes buzz", "buzz"), ("washes wash", "wash")],
        *[("is be", "be"), ("has have", "have"), ("does do", "do"), ("as", "as"), ("bus", "bus"), ("knows", "know")],
        *[("uses use", "use"), ("causes cause", "cause"), ("ate eats", "eat"), ("means mean", "mean")],
        *[("likes_to", "likes_to"), ("s", "s"), ("s" * 51, "s" * 51)],
    ],
)
def test_the_forms_of_a_predicate_have_one_lemma(forms: str, lemma: str) -> None:
    assert {lemma_of(form) for form in forms.split()} == {lemma}


@pytest.mark.parametrize(
    ("said", "lemma"),
    [
        *[("doesn't eat", "eat"), ("!eat", "eat"), ("! eat", "eat"), ("not eats", "eat"), ("don't eats", "eats")],
        *[("doesn't use", "use"), ("not uses", "use")],
    ],
)
def test_a_negated_predication_has_its_lemma(said: str, lemma: str) -> None:
    fact: Any = parse(f"context a(&x) {{ &x {said} &x. }}", "pete").items[1]
    assert fact.predication.negated
    assert fact.predication.lemma == lemma


def test_the_client_checks_and_does_not_store() -> None:
    source = "context main() { &x eats 3. }"
    problems = MemoryGraph.check(source, "pete", file="a.pete")
    assert [(problem.file, problem.code) for problem in problems] == [("a.pete", "unknown-ref")]
    with pytest.raises(MemoryGraphError, match="not in batches"):
        parse_batches(iter([]), "pete", size=1)  # type: ignore[arg-type]
