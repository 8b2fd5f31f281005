"""PETE beyond its cases: open logs, lemmas, and how problems are reported."""

from __future__ import annotations

from typing import Any

import pytest

from memorygraph.languages import parse
from memorygraph.languages.pete.items import GRAMMAR, RESERVED
from memorygraph.languages.pete.lemmas import lemma_of
from tests.cases import read_cases
from tests.languages.pete_logs import open_contexts

CODES = "syntax nesting-too-deep unknown-ref unbound-variable several-tldr invalid-number encoding"


def test_every_code_has_a_case_and_nothing_else_is_said() -> None:
    cases = [*read_cases("pete/parse"), *read_cases("pete/check")]
    programs = [case.values[0].parse() for case in cases]
    assert {p.code for program in programs for p in (*program.problems, *program.warnings)} == {*CODES.split()}


def test_an_open_log_has_its_open_contexts_and_a_brace_ends_the_innermost() -> None:
    log = "context a() {\ncontext b() {\ncontext c() {\n"
    assert open_contexts(parse(log, "pete")) == ["a", "b", "c"]
    assert open_contexts(parse(log + "}", "pete")) == ["a", "b"]


def test_the_items_before_an_error_are_read() -> None:
    program = parse("context a() {\nset {}\n&a eats\nset []", "pete")
    assert len(program.items) == 2
    assert len(program.problems) == 1


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


@pytest.mark.parametrize("token", ["Identifier", "Handle", "Unknown", "Faculty"])
def test_every_name_leaves_out_the_reserved_words(token: str) -> None:
    sign = {"Handle": "&", "Unknown": "_", "Faculty": "@"}.get(token, "")
    pattern = GRAMMAR.token(token)
    assert len(RESERVED) == 11
    assert [word for word in RESERVED if pattern.fullmatch(sign + word)] == []
    assert all(pattern.fullmatch(f"{sign}{word}s") for word in RESERVED)
