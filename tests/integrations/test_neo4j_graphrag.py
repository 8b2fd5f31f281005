"""neo4j-graphrag: its RAG on what recall finds, and its own retrievers on our indexes as they are."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import neo4j
import pytest
from neo4j.exceptions import DatabaseError
from neo4j_graphrag.generation import GraphRAG
from neo4j_graphrag.llm import OpenAILLM
from neo4j_graphrag.retrievers import (
    HybridCypherRetriever,
    HybridRetriever,
    ToolsRetriever,
    VectorCypherRetriever,
    VectorRetriever,
)
from neo4j_graphrag.retrievers.base import Retriever
from neo4j_graphrag.types import RetrieverResultItem

from memorygraph import MemoryGraph, MemoryGraphError, NotFoundError
from memorygraph.integrations.neo4j_graphrag import RecallEmbedder, RecallRetriever, filter_in_index, fulltext_query
from memorygraph.llm.completion import ToolCall
from memorygraph.memory.recall import MAX_REWRITES
from memorygraph.scripted.replies import Reply
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.integrations.conftest import WORLD

QUESTION = "Who wrote the first program?"


@pytest.fixture
def embedded(world: MemoryGraph, twin: MemoryGraph, by_meaning: None) -> RecallEmbedder:
    """Two namespaces that say the same, with vectors of a model over HTTP."""
    twin.load(WORLD)
    world.embed()
    twin.embed()
    return RecallEmbedder()


def test_results_are_the_hits_of_recall_with_their_metadata(world: MemoryGraph, driver: neo4j.Driver) -> None:
    retriever = RecallRetriever(driver, namespace=world.namespace)
    items = retriever.search(query_text=QUESTION, top_k=3).items
    hits = world.recall(QUESTION, budget=None, limit=3).hits
    assert [(item.content, (item.metadata or {})["id"]) for item in items] == [(hit.content, hit.id) for hit in hits]
    metadata = items[0].metadata or {}
    assert (metadata["kind"], metadata["name"], metadata["label"]) == ("node", "Ada Lovelace", "node ada")
    assert len(retriever.search(query_text=QUESTION, top_k=1).items) == 1
    driver.verify_connectivity()  # it is the caller's, and stays open


def test_filters_are_those_of_recall(world: MemoryGraph, driver: neo4j.Driver) -> None:
    retriever = RecallRetriever(driver, namespace=world.namespace)
    [item] = retriever.search(query_text=QUESTION, conversation="talk").items
    assert item.content == "I like the first program."
    with pytest.raises(NotFoundError):
        retriever.search(query_text=QUESTION, conversation="nowhere")


def test_another_namespace_is_not_found(world: MemoryGraph, twin: MemoryGraph, driver: neo4j.Driver) -> None:
    assert RecallRetriever(driver, namespace=twin.namespace).search(query_text=QUESTION).items == []
    assert RecallRetriever(driver, namespace=world.namespace).search(query_text=QUESTION).items


def test_a_formatter_of_the_caller_makes_the_results(world: MemoryGraph, driver: neo4j.Driver) -> None:
    retriever = RecallRetriever(
        driver,
        world.namespace,
        result_formatter=lambda record: RetrieverResultItem(content=f"{record['label']}: {record['content']}"),
    )
    first = retriever.search(query_text=QUESTION).items[0]
    assert first.content.startswith("node ada: Ada Lovelace: wrote the first program")


def test_graph_rag_answers_from_what_is_recalled(world: MemoryGraph, driver: neo4j.Driver) -> None:
    with ScriptedModel("Ada Lovelace.", strict=True) as model:
        llm = OpenAILLM("scripted", base_url=model.base_url, api_key="sk-test")
        rag = GraphRAG(retriever=RecallRetriever(driver, world.namespace), llm=llm)
        answer = rag.search(QUESTION, retriever_config={"top_k": 2}, return_context=True)
        assert "wrote the first program" in model.requests[0].prompt
    assert answer.answer == "Ada Lovelace."
    assert answer.retriever_result is not None
    assert len(answer.retriever_result.items) == 2


def test_a_model_calls_it_as_a_tool(world: MemoryGraph, driver: neo4j.Driver) -> None:
    tool = RecallRetriever(driver, world.namespace).convert_to_tool("recall", "What is remembered.")
    properties = tool.get_parameters()["properties"]
    assert {"query_text", "top_k", "since", "conversation"} <= properties.keys()
    call = ToolCall("recall", '{"query_text": "the first program", "top_k": 1}', "call_1")
    with ScriptedModel(Reply(tool_calls=(call,))) as model:
        llm = OpenAILLM("scripted", base_url=model.base_url, api_key="sk-test")
        found = ToolsRetriever(driver, llm, [tool]).search(query_text=QUESTION)
    assert "wrote the first program" in str(found.items[0].content)


def names(items: list[RetrieverResultItem]) -> list[str]:
    return [str(item.content) for item in items]


def search(retriever: Retriever, graph: MemoryGraph, **options: Any) -> list[RetrieverResultItem]:
    """What a retriever finds, again after a recall where Neo4j's index was broken by what other tests delete."""
    for _ in range(MAX_REWRITES):
        with suppress(DatabaseError):
            return retriever.search(**options).items
        graph.recall("the first program")
    return retriever.search(**options).items


def test_a_vector_retriever_stays_in_its_namespace_inside_the_index(
    world: MemoryGraph,
    twin: MemoryGraph,
    embedded: RecallEmbedder,
    driver: neo4j.Driver,
    caplog: pytest.LogCaptureFixture,
) -> None:
    retriever = filter_in_index(
        VectorRetriever(driver, "recall_vectors", embedded, return_properties=["name", "namespace"])
    )
    for graph in (world, twin):
        filters = {"namespace": graph.namespace, "embedding_model": embedded.name}
        # The index holds messages too, which are left out after the search.
        asked = {"query_text": "the first program", "top_k": 2, "effective_search_ratio": 2, "filters": filters}
        items = search(retriever, graph, **asked)
        assert [f"'namespace': '{graph.namespace}'" in text for text in names(items)] == [True, True]
        assert "Ada Lovelace" in items[0].content
    assert "falling back" not in caplog.text


def test_a_vector_retriever_finds_messages_too(
    world: MemoryGraph, embedded: RecallEmbedder, driver: neo4j.Driver
) -> None:
    plain = VectorRetriever(driver, "recall_vectors", embedded, return_properties=["said"])
    retriever = filter_in_index(plain, label="Message")
    filters = {"namespace": world.namespace, "embedding_model": embedded.name, "role": "user"}
    [item] = search(retriever, world, query_text="the first program", filters=filters)
    assert "I like the first program." in item.content
    with pytest.raises(NotFoundError, match="Passage"):
        filter_in_index(plain, label="Nothing")


def test_a_vector_cypher_retriever_reads_on_from_what_it_finds(
    world: MemoryGraph, embedded: RecallEmbedder, driver: neo4j.Driver
) -> None:
    query = "MATCH (node)-[edge:EDGE]->(other) RETURN node.name + ' ' + edge.verb + ' ' + other.name AS fact"
    retriever = filter_in_index(VectorCypherRetriever(driver, "recall_vectors", query, embedded))
    filters = {"namespace": world.namespace, "embedding_model": embedded.name}
    [item] = search(retriever, world, query_text="the first program", top_k=1, filters=filters)
    assert "Ada Lovelace drank Tea" in item.content


def test_hybrid_retrievers_run_on_our_indexes(
    world: MemoryGraph, embedded: RecallEmbedder, driver: neo4j.Driver
) -> None:
    """They have no filters: the words stay in their namespace by the query, and the vectors by the Cypher after it."""
    plain = HybridRetriever(driver, "recall_vectors", "node_text", embedded, return_properties=["name"])
    vector = embedded.embed_query("the first program")
    words = fulltext_query("the first program", world.namespace)
    assert plain.search(query_text=words, query_vector=vector, top_k=5).items
    only = "WITH node, score WHERE node.namespace = $namespace RETURN node.name AS name, node.namespace AS ns, score"
    retriever = HybridCypherRetriever(driver, "recall_vectors", "node_text", only, embedded)
    found = retriever.search(
        query_text=words, query_vector=vector, top_k=50, query_params={"namespace": world.namespace}
    ).items
    assert "Ada Lovelace" in found[0].content
    assert [world.namespace in text for text in names(found)] == [True] * len(found)


def test_an_embedder_needs_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORYGRAPH_EMBEDDING_MODEL", raising=False)
    with pytest.raises(MemoryGraphError, match="MEMORYGRAPH_EMBEDDING_MODEL"):
        RecallEmbedder()
    with pytest.raises(MemoryGraphError, match="word"):
        fulltext_query("  ", "people")
