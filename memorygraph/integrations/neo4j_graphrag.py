"""A retriever of neo4j-graphrag that recalls, and what lets its own retrievers use our indexes (extra `graphrag`)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any, TypeVar

from neo4j import Driver, Record, RoutingControl

from memorygraph.client import MemoryGraph
from memorygraph.errors import MemoryGraphError, NotFoundError
from memorygraph.graph.search import lucene_query
from memorygraph.integrations import needing_extra
from memorygraph.library import CYPHER
from memorygraph.memory.recall import RecallHit
from memorygraph.memory.vectors import configured_embedder, embed_question

with needing_extra("graphrag"):
    from neo4j_graphrag.embeddings.base import Embedder
    from neo4j_graphrag.retrievers import VectorCypherRetriever, VectorRetriever
    from neo4j_graphrag.retrievers.base import Retriever
    from neo4j_graphrag.types import RawSearchResult, RetrieverResultItem

VectorSearch = TypeVar("VectorSearch", VectorRetriever, VectorCypherRetriever)

# The names that APOC, and so neo4j-graphrag, has for types that Cypher calls otherwise.
_APOC_TYPES = {
    "ZONED DATETIME": "DATE_TIME",
    "LOCAL DATETIME": "LOCAL_DATE_TIME",
    "ZONED TIME": "TIME",
    "LOCAL TIME": "LOCAL_TIME",
}


class RecallRetriever(Retriever):
    """A `Retriever` whose results are those of `mg.recall`, best first, for `GraphRAG` and for tools.

    A result's content is what the hit says and whose it is; its metadata are the other fields of the hit, such as
    `kind`, `source`, `score`, `conversation` and `at`. The driver is yours and stays open. `namespace` is by default
    MEMORYGRAPH_NAMESPACE, then "default"; `result_formatter` makes a result of a record that has the fields of a hit.

    Example::

        retriever = RecallRetriever(driver, namespace="people")
        retriever.search(query_text="Who wrote the first program?", top_k=3)
        GraphRAG(retriever=retriever, llm=llm).search("Who wrote the first program?")

    Raises:
        ConnectionError: the server cannot be reached.
    """

    VERIFY_NEO4J_VERSION = False  # our schema, which is set up here, needs a later version

    def __init__(
        self,
        driver: Driver,
        namespace: str | None = None,
        *,
        result_formatter: Callable[[Record], RetrieverResultItem] | None = None,
        neo4j_database: str | None = None,
    ) -> None:
        super().__init__(driver, neo4j_database)
        self.result_formatter = result_formatter
        self.mg = MemoryGraph.connect(driver=driver, database=neo4j_database, namespace=namespace)

    def get_search_results(
        self,
        query_text: str,
        top_k: int = 5,
        since: str | None = None,
        until: str | None = None,
        role: str | None = None,
        speaker: str | None = None,
        conversation: str | None = None,
        kind: str | None = None,
        verb: str | None = None,
    ) -> RawSearchResult:
        """Recall what a text brings to mind: nodes and messages.

        Args:
            query_text: The text.
            top_k: The number of results.
            since: Only messages since this time, such as 2024-05-01.
            until: Only messages until this time, the day with all of it.
            role: Only messages of this role: `user` or `assistant`.
            speaker: Only messages of the speaker with this name.
            conversation: Only messages of this conversation.
            kind: Only nodes of this kind.
            verb: Only nodes with an edge of this verb.

        Raises:
            MemoryGraphError: a filter is invalid.
            NotFoundError: nothing was found, and there is no such conversation, kind or verb.
        """
        found = self.mg.recall(
            query_text,
            budget=None,
            limit=top_k,
            since=since,
            until=until,
            role=role,
            speaker=speaker,
            conversation=conversation,
            kind=kind,
            verb=verb,
        )
        records = list(map(record_of_hit, found.hits))
        return RawSearchResult(records=records, metadata={"namespace": self.mg.namespace})

    def default_record_formatter(self, record: Record) -> RetrieverResultItem:
        """The content of a hit, with its other fields as metadata."""
        metadata = record.data()
        return RetrieverResultItem(content=metadata.pop("content"), metadata=metadata)


def record_of_hit(hit: RecallHit) -> Record:
    """A hit as a record, with its label and its content in a prompt."""
    record: Record = Record({**hit.as_dict(), "label": hit.label, "content": hit.content})  # type: ignore[no-untyped-call]
    return record


class RecallEmbedder(Embedder):
    """An `Embedder` with the model of recall, MEMORYGRAPH_EMBEDDING_MODEL, a local one too.

    The vectors of the index `recall_vectors` are compared with those of its `name`.

    Raises:
        MemoryGraphError: no embedding model is configured.
    """

    def __init__(self) -> None:
        super().__init__()
        embedder = configured_embedder()
        if embedder is None:
            raise MemoryGraphError("no embedding model: MEMORYGRAPH_EMBEDDING_MODEL is not set")
        self._embedder = embedder

    @property
    def name(self) -> str:
        """The value of `embedding_model` of what has a vector of this model."""
        return self._embedder.name

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question.

        Raises:
            MemoryGraphError: the model knows no word of it.
            ModelError: the embedding model failed.
        """
        vectors = embed_question(self._embedder, text)
        if not vectors:
            raise MemoryGraphError(f"the embedding model knows no word of {text!r}")
        return vectors[0]


def filter_in_index(retriever: VectorSearch, label: str | None = None) -> VectorSearch:
    """Let a vector retriever on `recall_vectors` filter in the index, by `namespace` and what else it is filtered by.

    neo4j-graphrag looks for filterable properties where Neo4j 2026.08 does not name them, and refuses the filters.
    Returns the retriever. `label` searches `Message` or `Passage` in place of `Node`, the first label of the index.
    What has another label is left out after the search: with `effective_search_ratio` the index is asked for more.

    Example::

        retriever = filter_in_index(VectorRetriever(driver, "recall_vectors", embedder))
        retriever.search(query_text="…", filters={"namespace": "people", "embedding_model": embedder.name})

    Raises:
        NotFoundError: the index has no such label.
    """
    query = CYPHER["schema/search-indexes"].text
    indexes, _, _ = retriever.driver.execute_query(query, database_=retriever.neo4j_database)
    [index] = (index for index in indexes if index["name"] == retriever.index_name)
    if label is not None:
        if label not in index["labels"]:
            raise NotFoundError(f"`{retriever.index_name}` has no label `{label}`; it has {', '.join(index['labels'])}")
        retriever._node_label = label  # noqa: SLF001 - there is no public way to either
    retriever._filterable_properties = index["properties"][1:]  # noqa: SLF001
    return retriever


def fulltext_query(text: str, namespace: str) -> str:
    """The query of the full-text index `node_text` for any text, inside one namespace.

    For the words of `HybridRetriever`, which are in Lucene's syntax, and for `db.index.fulltext.queryNodes`.

    >>> fulltext_query("the first program", "people").startswith('+namespace_token:"')
    True

    Raises:
        MemoryGraphError: the text has no word to look for.
    """
    query = lucene_query(text, namespace)
    if query is None:
        raise MemoryGraphError(f"there is no word to look for in {text!r}")
    return query


def structured_schema(driver: Driver, database: str | None = None, *, sample: int = 1000) -> dict[str, Any]:
    """The schema of a database in the form of neo4j-graphrag's `get_structured_schema`, read without APOC.

    All namespaces of the database share their labels, and so this schema. `sample` is how many nodes of each label and
    relationships of each type are looked at; what only others have is not in it.

    Example::

        schema = format_schema(structured_schema(driver), is_enhanced=False)  # of neo4j_graphrag.schema
        Text2CypherRetriever(driver, llm, neo4j_schema=schema)

    Raises:
        neo4j.exceptions.Neo4jError: the server refused to say.
    """

    def read(text: str) -> list[dict[str, Any]]:
        found = driver.execute_query(text, {"sample": sample}, RoutingControl.READ, database)
        return [record.data() for record in found.records]

    return {
        "node_props": _properties_by_label(read(CYPHER["schema/sampled-node-properties"].text)),
        "rel_props": _properties_by_label(read(CYPHER["schema/sampled-edge-properties"].text)),
        "relationships": read(CYPHER["schema/sampled-patterns"].text),
        "metadata": {"constraint": [], "index": []},
    }


def _properties_by_label(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, str]]]:
    return {
        label: [{"property": row["property"], "type": _apoc_type(row["type"])} for row in group]
        for label, group in groupby(rows, key=lambda row: row["label"])
    }


def _apoc_type(value_type: str) -> str:
    """Name a type as APOC does: `LIST` for a list of any.

    >>> _apoc_type("LIST<FLOAT NOT NULL> NOT NULL"), _apoc_type("ZONED DATETIME NOT NULL")
    ('LIST', 'DATE_TIME')
    """
    name = value_type.partition("<")[0].removesuffix(" NOT NULL")
    return _APOC_TYPES.get(name, name)
