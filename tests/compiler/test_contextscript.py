"""ContextScript to Cypher beyond its cases."""

from __future__ import annotations

from memorygraph.compiler import Stored, compile_program
from memorygraph.languages import parse
from memorygraph.library import CYPHER


def test_nothing_of_a_program_is_in_the_text_of_its_cypher() -> None:
    text = 'Node(node_id="canary-id", name="canary-name", data="canary-data"); del(id="canary-id");'
    queries = compile_program(parse(text), Stored()).queries
    assert {query.text for query in queries} <= {block.text for block in CYPHER.values()}
    assert not any("canary" in query.text for query in queries)
