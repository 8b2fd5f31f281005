"""What is planned on a database without anything in it is kept for a while, when much may be in it already."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from memorygraph import EmbeddedServer, MemoryGraph
from memorygraph.graph.connection import Connection
from tests.graph.test_cypher import QUERIES
from tests.shared_neo4j import GiveSchema

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quick_java")]

# Of an index over several properties, the part behind what is equal: `namespace = $namespace AND id IS NOT NULL`.
_OPEN_PART = re.compile(r"(?P<property>\w+) IS NOT NULL")


@pytest.fixture(scope="module")
def cold(
    quick_java: None, tmp_path_factory: pytest.TempPathFactory, artifacts: Path, give_schema: GiveSchema
) -> Iterator[Connection]:
    """A server that has the schema and nothing else, so that there is no sample of any index."""
    server = give_schema(EmbeddedServer(tmp_path_factory.mktemp("cold"), artifacts))
    try:
        with MemoryGraph.connect(server=server) as graph:
            yield graph.connection
    finally:
        server.down()


@pytest.mark.parametrize("name", QUERIES)
def test_no_lookup_is_planned_as_a_walk_through_all_there_is(cold: Connection, name: str) -> None:
    query = QUERIES[name]
    _, operators = cold.plan(query)
    opened = Counter(
        found["property"]
        for operator, detail in operators
        if "Seek" in operator
        for found in _OPEN_PART.finditer(detail)
    )
    asked = Counter(found[1] for found in re.finditer(r"\.(\w+) (?:IS NOT NULL|>|<|STARTS WITH)", query.text))
    assert opened - asked == Counter()
