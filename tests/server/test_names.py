"""The names that the database of the tests has from the start are those that the package stores."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.names import NAMES, stored_names

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quick_java")]


def test_every_name_that_is_stored_is_made_before_the_tests_and_no_other(tmp_path: Path) -> None:
    made = json.loads(NAMES.read_text("utf-8"))
    assert stored_names(tmp_path) == made, "after a change of what is stored: python -m tests.names"
