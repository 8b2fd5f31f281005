"""Every code has an example that shows it, and that says what it says when it is run."""

from __future__ import annotations

import pytest

from memorygraph.codes import CODES
from tests.code_examples import read_examples
from tests.examples import every_nth
from tests.site.codes import find_examples

EXAMPLES = read_examples()
SLOW = {"endless-loop", "endless-pattern", "too-long"}
# It adopts what is of no namespace: tests/memory/test_transfer.py runs it beside the others that do.
ELSEWHERE = {"left-out"}


def test_every_code_has_an_example_and_no_example_is_of_another() -> None:
    assert find_examples().keys() == CODES.keys()


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(
    "code",
    [
        *every_nth(sorted(EXAMPLES.keys() - ELSEWHERE - SLOW), 3),
        *(pytest.param(code, marks=pytest.mark.slow) for code in sorted(SLOW)),
    ],
)
def test_an_example_of_a_code_says_what_it_says(code: str) -> None:
    shown = EXAMPLES[code].run()
    assert code in shown.codes
    assert shown.said == EXAMPLES[code].said, "write it anew: python -m tests.code_examples"
