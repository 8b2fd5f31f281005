"""What is around Neo4j, on our graph: schemas of langchain-neo4j and neo4j-graphrag without APOC, and neo4j-viz."""

from __future__ import annotations

from collections.abc import Iterator

import neo4j
import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_neo4j import GraphCypherQAChain, Neo4jGraph
from neo4j.exceptions import ClientError
from neo4j_graphrag.llm import OpenAILLM
from neo4j_graphrag.retrievers import Text2CypherRetriever
from neo4j_graphrag.schema import format_schema, get_schema
from neo4j_viz.neo4j import from_neo4j
from pydantic_extra_types.color import Color

from memorygraph import MemoryGraph, MemoryGraphError, QueryError
from memorygraph.integrations.neo4j_graphrag import structured_schema
from memorygraph.integrations.neo4j_viz import draw_graph, draw_query
from memorygraph.memory.values import Entity
from memorygraph.scripted.scripted_model import ScriptedModel
from memorygraph.server.browser import style
from tests.shared_neo4j import Address

EDGES = "MATCH (a:Node {namespace: $namespace})-[e:EDGE]->(b:Node) RETURN a, e, b"


@pytest.fixture
def of_langchain(server: Address) -> Iterator[Neo4jGraph]:
    """A graph of langchain-neo4j that does not ask for APOC."""
    uri, auth = server
    username, password = auth or ("", "")
    with Neo4jGraph(url=uri, username=username, password=password, refresh_schema=False) as graph:
        yield graph


def test_get_schema_itself_needs_apoc(driver: neo4j.Driver) -> None:
    with pytest.raises(ClientError, match=r"apoc\.meta\.data"):
        get_schema(driver)


@pytest.mark.usefixtures("world")
def test_a_schema_without_apoc_has_labels_properties_types_and_patterns(driver: neo4j.Driver) -> None:
    schema = structured_schema(driver)
    assert {"property": "name", "type": "STRING"} in schema["node_props"]["Node"]
    assert {"property": "created_at", "type": "DATE_TIME"} in schema["node_props"]["Conversation"]
    assert {"property": "sampled", "type": "BOOLEAN"} in schema["node_props"]["Message"]
    assert {"property": "conversations", "type": "LIST"} in schema["node_props"]["Message"]
    assert {"property": "weight", "type": "FLOAT"} in schema["rel_props"]["EDGE"]
    assert {"start": "Node", "type": "EDGE", "end": "Node"} in schema["relationships"]
    assert "(:Node)-[:EDGE]->(:Node)" in format_schema(schema, is_enhanced=False)


def test_a_pattern_that_is_rare_in_its_type_is_seen(graph: MemoryGraph, driver: neo4j.Driver) -> None:
    label = f"Rare_{graph.namespace}".replace("-", "_")
    nodes = "CREATE (a:Node {namespace: $namespace, id: 'a'})-[:EDGE {namespace: $namespace}]->"
    driver.execute_query(f"{nodes}(b:Node:{label} {{namespace: $namespace, id: 'b'}})", namespace=graph.namespace)
    graph.load(
        'Node(node_id="c", name="C", data=""); Edge(edge_id="e", from_node="b", to_node="c", verb="v", weight=1.0);'
    )
    relationships = structured_schema(driver, sample=1)["relationships"]
    remove = "MATCH (n:Node {namespace: $namespace}) DETACH DELETE n"  # their label is none of ours
    driver.execute_query(remove, namespace=graph.namespace)
    assert {"start": label, "type": "EDGE", "end": "Node"} in relationships


def test_a_retriever_that_writes_cypher_is_told_the_schema(world: MemoryGraph, driver: neo4j.Driver) -> None:
    schema = format_schema(structured_schema(driver), is_enhanced=False)
    cypher = f"MATCH (n:Node {{namespace: '{world.namespace}', id: 'ada'}}) RETURN n.name"
    with ScriptedModel(cypher) as model:
        llm = OpenAILLM("scripted", base_url=model.base_url, api_key="sk-test")
        retriever = Text2CypherRetriever(driver, llm, neo4j_schema=schema)
        found = retriever.search(query_text="Who wrote the first program?")
        assert "(:Node)-[:EDGE]->(:Node)" in model.requests[0].prompt
    assert "Ada Lovelace" in str(found.items[0].content)


def test_a_graph_of_langchain_takes_the_schema(
    world: MemoryGraph, driver: neo4j.Driver, of_langchain: Neo4jGraph
) -> None:
    of_langchain.structured_schema = structured_schema(driver)
    of_langchain.schema = format_schema(of_langchain.structured_schema, is_enhanced=False)
    assert "(:Node)-[:EDGE]->(:Node)" in of_langchain.get_schema
    model = FakeListChatModel(
        responses=[f"MATCH (n:Node {{namespace: '{world.namespace}', id: 'ada'}}) RETURN n.name AS name", "She did."]
    )
    chain = GraphCypherQAChain.from_llm(
        model, graph=of_langchain, allow_dangerous_requests=True, return_intermediate_steps=True
    )
    assert "(:Node)-[:EDGE]->(:Node)" in chain.graph_schema
    answer = chain.invoke({"query": "Who wrote the first program?"})
    assert answer["intermediate_steps"][1]["context"] == [{"name": "Ada Lovelace"}]


def test_a_picture_has_names_and_verbs(world: MemoryGraph, driver: neo4j.Driver) -> None:
    picture = draw_graph(driver.execute_query(EDGES, namespace=world.namespace))
    assert sorted(str(node.caption) for node in picture.nodes) == ["Ada Lovelace", "Tea"]
    assert [edge.caption for edge in picture.relationships] == ["drank"]
    assert "Ada Lovelace" in str(picture.render().data)


def test_without_it_a_picture_has_labels_and_types(world: MemoryGraph, driver: neo4j.Driver) -> None:
    picture = from_neo4j(driver.execute_query(EDGES, namespace=world.namespace))
    assert {node.caption for node in picture.nodes} == {"Node"}
    assert [edge.caption for edge in picture.relationships] == ["EDGE"]


def test_an_entity_and_its_observation_have_captions_of_their_own(graph: MemoryGraph, driver: neo4j.Driver) -> None:
    graph.entities.create([Entity(name="Ada", entity_type="person", observations=["likes tea"])])
    picture = draw_graph(driver.execute_query(EDGES, namespace=graph.namespace))
    assert sorted(str(node.caption) for node in picture.nodes) == ["Ada", "likes tea"]


def test_what_has_no_words_keeps_its_type(world: MemoryGraph, driver: neo4j.Driver) -> None:
    path = "MATCH (c:Conversation {namespace: $namespace})-[e]->(v:Version) RETURN c, e, v"
    picture = draw_graph(driver.execute_query(path, namespace=world.namespace))
    assert {str(node.caption) for node in picture.nodes} == {"talk", "version 1"}
    assert {edge.caption for edge in picture.relationships} == {"HEAD", "VERSION"}


def test_a_query_is_drawn_without_a_driver(world: MemoryGraph) -> None:
    picture = draw_query(world, EDGES)
    assert sorted(str(node.caption) for node in picture.nodes) == ["Ada Lovelace", "Tea"]
    [edge] = draw_query(
        world, "MATCH path = ({namespace: $namespace})-[:EDGE]->() RETURN [path] AS paths"
    ).relationships
    assert edge.caption == "drank"


def test_only_a_query_that_reads_and_finds_nodes_is_drawn(world: MemoryGraph) -> None:
    with pytest.raises(MemoryGraphError, match="no node to draw"):
        draw_query(world, "RETURN 1 AS one")
    with pytest.raises(QueryError):
        draw_query(world, "MATCH (n {namespace: $namespace}) DETACH DELETE n RETURN 1 AS one")
    assert len(draw_query(world, EDGES).nodes) == 2


def test_each_kind_has_the_color_of_browser_and_each_role_one_of_its_own(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="n", name="N", data="");')
    graph.entities.create([Entity(name="Ada", entity_type="person", observations=["likes tea"])])
    history = graph.messages("talk")
    for role in ("user", "assistant"):
        history.append({"role": role, "content": "hello"})
    nodes = draw_query(graph, "MATCH (n {namespace: $namespace}) WHERE NOT n:Metadata RETURN n").nodes
    colors = {str(node.caption): node.color.as_hex("long").upper() for node in nodes if isinstance(node.color, Color)}
    assert colors["user: hello"] == style()["node.UserMessage"]["color"]
    assert colors["assistant: hello"] == style()["node.AssistantMessage"]["color"]
    assert len({colors[name] for name in ("N", "Ada", "likes tea", "talk", "user: hello", "assistant: hello")}) == 6


def test_an_off_policy_copy_does_not_look_like_its_original(graph: MemoryGraph) -> None:
    history = graph.messages("talk")
    history.append({"role": "user", "content": "I like soup."})
    history.append({"role": "assistant", "content": "Lentils."})
    history[0]["content"] = "I like pizza."
    drawn = draw_query(graph, "MATCH (m:Message {namespace: $namespace, role: 'assistant'}) RETURN m").nodes
    colors = {str(node.caption): node.color.as_hex("long").upper() for node in drawn if isinstance(node.color, Color)}
    assert colors == {
        "assistant: Lentils.": style()["node.AssistantMessage"]["color"],
        "off-policy assistant: Lentils.": style()["node.OffPolicyMessage"]["color"],
    }


def test_messages_of_another_graph_are_drawn(driver: neo4j.Driver, graph: MemoryGraph) -> None:
    query = "CREATE (m:Message {namespace: $namespace, content: 'Hi'}) RETURN m"
    drawn = draw_graph(driver.execute_query(query, namespace=graph.namespace))
    assert [str(node.caption) for node in drawn.nodes] == [": Hi"]


def test_what_has_more_edges_is_drawn_larger_and_what_weighs_more_wider(graph: MemoryGraph) -> None:
    graph.load(
        'Node(node_id="a", name="A", data=""); Node(node_id="b", name="B", data="");'
        'Node(node_id="c", name="C", data="");'
        'Edge(edge_id="x", from_node="a", to_node="b", verb="v", weight=0.1);'
        'Edge(edge_id="y", from_node="a", to_node="c", verb="w", weight=0.9);'
    )
    picture = draw_query(graph, EDGES)
    sizes = {str(node.caption): node.size or 0 for node in picture.nodes}
    widths = {edge.caption: edge.width or 0 for edge in picture.relationships}
    assert sizes["A"] > sizes["B"]
    assert widths["w"] > widths["v"]


def test_an_edge_whose_weight_is_none_of_ours_is_drawn(driver: neo4j.Driver, graph: MemoryGraph) -> None:
    query = """UNWIND [null, -1, 0.5, 7, 0.0 / 0.0, 1.0 / 0.0, 'strong', [1.0]] AS weight
        CREATE (a:A {namespace: $namespace})-[e:E {weight: weight}]->(a) RETURN a, e"""
    drawn = draw_graph(driver.execute_query(query, namespace=graph.namespace))
    assert [edge.width for edge in drawn.relationships] == [1, 1, 2.5, 4, 1, 1, 1, 1]


def test_a_long_caption_is_shortened_with_an_ellipsis(graph: MemoryGraph) -> None:
    graph.entities.create([Entity(name="Ada", entity_type="person", observations=["tea " * 50])])
    [caption] = [str(node.caption) for node in draw_query(graph, EDGES).nodes if node.caption != "Ada"]
    assert (len(caption), caption[-1]) == (90, "…")
