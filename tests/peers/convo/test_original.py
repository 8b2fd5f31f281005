"""Convo-Lang is read and run as by the original, wherever a checkout of it is at hand."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.peers.convo.compare import Part, compare_all, table
from tests.peers.convo.original import FOLDER_VARIABLE, bundle, find_missing

missing = find_missing()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing), reason=missing), pytest.mark.timeout(900)]

MAX_ONLY_ORIGINAL = 5
MAX_OTHER_BODIES = 3


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Part]:
    folder = Path(os.environ[FOLDER_VARIABLE])
    found = compare_all(bundle(folder, tmp_path_factory.mktemp("original")), folder)
    print(f"\n{table(found)}")
    return {part.name: part for part in found}


def test_what_the_original_reads_is_read(parts: dict[str, Part]) -> None:
    part = parts["texts that only the original reads"]
    assert part.same <= MAX_ONLY_ORIGINAL, "\n".join(part.differences)


def test_generated_graphs_run_the_same(parts: dict[str, Part]) -> None:
    part = parts["generated graphs"]
    assert part.same == part.total, "\n".join(part.differences)


def test_what_only_the_original_reads_says_what_is_wrong_with_it(parts: dict[str, Part]) -> None:
    rules = ("missing-target", "duplicate-node", "invalid-route-tag")  # those that are ours to pin
    found = parts["texts that only the original reads"].differences
    assert [each for each in found if not re.search(rf": \d+:\d+ ({'|'.join(rules)}): ", each)] == []


def test_generated_calls_give_the_same_unless_they_divide_by_zero(parts: dict[str, Part]) -> None:
    # Division by zero is an error here, and infinite or no number there.
    by_zero = r"(?:(?:div|mod)\(.*\b0\b.*\)|pow\(0 .*-.*\))"
    allowed = re.compile(by_zero + r'\s+ours: +error\s+original: +\{"\$": "(?:-?Infinity|NaN)"\}')
    assert [
        each for each in parts["generated calls of built-in functions"].differences if not allowed.fullmatch(each)
    ] == []


def test_functions_of_real_texts_give_the_same(parts: dict[str, Part]) -> None:
    part = parts["real texts with function bodies"]
    assert part.total - part.same <= MAX_OTHER_BODIES, "\n".join(part.differences)
