"""ContextScript beyond its cases: reading in batches."""

from __future__ import annotations

import io

import pytest

from memorygraph.languages import parse, parse_batches
from memorygraph.languages.contextscript.reading import MIN_READ_CHARACTERS
from tests.cases import Case, read_cases


@pytest.mark.parametrize("case", read_cases("contextscript/parse"))
def test_a_case_is_the_same_in_batches_of_one(case: Case) -> None:
    strict = "strict" in case.options
    parts = list(parse_batches(io.StringIO(case.source, newline=""), size=1, strict=strict))
    whole = parse(case.source, strict=strict)
    assert [s for part in parts for s in part.statements] == list(whole.statements)
    assert [p for part in parts for p in part.problems] == list(whole.problems)


def test_a_statement_follows_many_comments_whose_lines_end_in_cr_alone() -> None:
    comments = "# seven\r" * (MIN_READ_CHARACTERS // 8)  # so that one part of the stream ends where they do
    [part] = parse_batches(io.StringIO(comments + "del(id=a);", newline=""), size=1)
    assert len(part.statements) == 1
