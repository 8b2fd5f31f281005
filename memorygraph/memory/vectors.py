"""Vectors: what a text means, as numbers, where an embedding model is configured."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from memorygraph.graph.namespace import Namespace
from memorygraph.llm.model import OpenAIModel
from memorygraph.memory.local import LocalEmbedder

ROWS = 256
"""So many texts are embedded and written at a time."""


class Embedder(Protocol):
    """What makes vectors of texts. Vectors are compared only with those of an embedder of the same name."""

    @property
    def name(self) -> str:
        """The model, as it is stored beside its vectors."""

    @property
    def dimensions(self) -> int:
        """The length of its vectors."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, in their order."""


class ModelEmbedder:
    """The embedding model of an OpenAI-compatible endpoint."""

    def __init__(self, model: OpenAIModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.embedding_name

    @cached_property
    def dimensions(self) -> int:
        """The length of its vectors, which only the endpoint knows."""
        return len(self._model.embed(["length"])[0])

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, in their order. An empty text, which endpoints refuse, is taken for a blank."""
        return self._model.embed([text or " " for text in texts])


def configured_embedder() -> Embedder | None:
    """The embedder of the environment: MEMORYGRAPH_EMBEDDING_MODEL names a model of the endpoint, or a folder.

    A name with a path in it (`./models/minilm`, `/models/minilm`, `~/minilm`) is the folder of a local model.

    Raises:
        ModelError: there is no such folder, or the endpoint's URL or key cannot be one.
    """
    name = os.environ.get("MEMORYGRAPH_EMBEDDING_MODEL")
    if not name:
        return None
    if name.startswith(("/", "./", "../", "~")):
        return LocalEmbedder(Path(name).expanduser())
    return ModelEmbedder(OpenAIModel())


def embed_missing(namespace: Namespace, embedder: Embedder, progress: Callable[[int], None] | None = None) -> int:
    """Give a vector to each message and node of a namespace that has none of this embedder; returns how many.

    What is done is kept, also when the embedder fails: run again, it goes on from there.

    Raises:
        ModelError: the embedder failed.
    """
    done = 0
    for kind in ("messages", "nodes"):
        for rows in _without_vector(namespace, embedder, kind):
            vectors = embedder.embed([row["text"] for row in rows])
            for row, vector in zip(rows, vectors, strict=True):
                row["vector"] = vector
            query = namespace.query(f"recall/embed-{kind}", model=embedder.name, rows=rows)
            namespace.write(lambda transaction, query=query: transaction.run(query))  # type: ignore[misc]
            done += len(rows)
            if progress is not None:
                progress(done)
    return done


def _without_vector(namespace: Namespace, embedder: Embedder, kind: str) -> Iterator[list[dict[str, Any]]]:
    after = ""
    query = f"recall/{kind}-without-vector"
    while rows := namespace.read(query, model=embedder.name, after=after, limit=ROWS):
        after = rows[-1]["id"]
        yield [row if "text" in row else {**row, "text": text_of_node(row["name"], row["data"])} for row in rows]


def text_of_node(name: str, data: str) -> str:
    """What a node says, as it is embedded.

    >>> text_of_node("Ada", "wrote a program"), text_of_node("", "an observation")
    ('Ada: wrote a program', 'an observation')
    """
    return ": ".join(filter(None, [name, data]))
