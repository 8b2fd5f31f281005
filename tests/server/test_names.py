"""The names that the database of the tests has from the start are those that the package stores."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.conftest import RUN_FOLDER
from tests.names import NAMES, stored_names
from tests.shared_neo4j import SharedNeo4j

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quick_java")]


@pytest.mark.usefixtures("server")
def test_every_name_that_is_stored_is_made_before_the_tests_and_no_other(tmp_path: Path) -> None:
    made = json.loads(NAMES.read_text("utf-8"))
    found = SharedNeo4j(Path(os.environ[RUN_FOLDER])).stored_names() or stored_names(tmp_path)
    assert found == made, "after a change of what is stored: python -m tests.names"
