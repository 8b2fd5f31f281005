"""Makes `graphiti.json` with Graphiti itself, here graphiti-core 0.31.2: what its classes store in a Neo4j.

It runs in an environment of its own (`pip install graphiti-core`), against a Neo4j that nobody needs.

    python graphiti_sample.py URI PASSWORD > graphiti.json
"""

import asyncio
import json
import sys
from datetime import UTC, datetime
from typing import Any

from graphiti_core.driver.neo4j_driver import Neo4jDriver
from graphiti_core.edges import EntityEdge, EpisodicEdge
from graphiti_core.nodes import EntityNode, EpisodeType, EpisodicNode

GROUP = "graphiti-sample"
VECTOR = [0.25] * 4


def year(number: int) -> datetime:
    return datetime(number, 1, 1, tzinfo=UTC)


async def make(driver: Any) -> None:
    def entity(name: str, labels: list[str], summary: str, **attributes: Any) -> Any:
        given = {"group_id": GROUP, "created_at": year(2026), "name_embedding": VECTOR}
        return EntityNode(name=name, labels=labels, summary=summary, attributes=attributes, **given)

    def fact(source: Any, verb: str, target: Any, text: str, **times: Any) -> Any:
        ends = {"source_node_uuid": source.uuid, "target_node_uuid": target.uuid}
        given = {"group_id": GROUP, "created_at": year(2026), "fact_embedding": VECTOR}
        return EntityEdge(name=verb, fact=text, **ends, **given, **times)

    ada = entity("Ada", ["Person"], "A mathematician who likes green tea.", born=1815)
    babbage = entity("Babbage", ["Person"], "")
    engine = entity("Analytical Engine", [], "A machine that was never built.")
    letter = EpisodicNode(
        name="letter",
        group_id=GROUP,
        source=EpisodeType.text,
        source_description="a letter",
        content="Ada wrote to Babbage about the Engine.",
        valid_at=year(1843),
        created_at=year(2026),
    )
    over = {"valid_at": year(1837), "invalid_at": year(1871), "expired_at": year(2026)}
    for stored in (
        *(ada, babbage, engine, letter),
        fact(ada, "WORKS_WITH", babbage, "Ada works with Babbage on the Engine.", valid_at=year(1833)),
        fact(ada, "ADMIRES", engine, "Ada admires the Engine."),
        fact(babbage, "BUILDS", engine, "Babbage builds the Analytical Engine.", **over),
        EpisodicEdge(group_id=GROUP, source_node_uuid=letter.uuid, target_node_uuid=ada.uuid, created_at=year(2026)),
    ):
        await stored.save(driver)


async def dump(driver: Any) -> dict[str, list[Any]]:
    nodes = "MATCH (n {group_id: $group}) RETURN n.uuid AS uuid, labels(n) AS labels, properties(n) AS properties"
    edges = (
        "MATCH (a {group_id: $group})-[r]->(b) "
        "RETURN a.uuid AS source, type(r) AS type, b.uuid AS target, properties(r) AS properties"
    )
    found = [(await driver.execute_query(query, group=GROUP)).records for query in (nodes, edges)]
    return {name: [row.data() for row in rows] for name, rows in zip(("nodes", "relationships"), found, strict=True)}


async def main(uri: str, password: str) -> None:
    driver = Neo4jDriver(uri, "neo4j", password)
    await make(driver)
    print(json.dumps(await dump(driver), indent=1, default=str))
    await driver.execute_query("MATCH (n {group_id: $group}) DETACH DELETE n", group=GROUP)
    await driver.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
