"""The reference of AgentScript shows fragments of programs that run as it says: a case file for each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cases import FOLDER

REFERENCE = Path(__file__).parents[3] / "docs" / "agentscript.md"
FRAGMENTS = re.findall(r"^```agentscript\n(.*?)^```", REFERENCE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
CASES = sorted(FOLDER.glob("agentscript/*/fragment_*.case"), key=lambda path: path.stem)
SHOWN = (1, 2, 3, 9, 4, 5, 6, 7, 8)  # the fragments, by the numbers of their cases, in the order of the reference


def words(text: str) -> str:
    """A text up to its blanks."""
    return " ".join(text.split())


def test_each_fragment_has_a_case_file() -> None:
    assert sorted(SHOWN) == [int(case.stem.split("_")[1]) for case in CASES]
    assert len(FRAGMENTS) == len(SHOWN)


@pytest.mark.parametrize(("number", "fragment"), list(zip(SHOWN, FRAGMENTS, strict=True)))
def test_a_fragment_of_the_reference_stands_in_its_case(number: int, fragment: str) -> None:
    assert words(fragment) in words(CASES[number - 1].read_text("utf-8"))
