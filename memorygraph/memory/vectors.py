"""Vectors of texts, where an embedding model is configured."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

from memorygraph.graph.connection import Connection
from memorygraph.graph.elements import as_text
from memorygraph.graph.namespace import Namespace
from memorygraph.home import expand_user
from memorygraph.json_text import HALF_CHARACTER
from memorygraph.llm.model import OpenAIModel
from memorygraph.memory.local import LocalEmbedder

MAX_ROWS_PER_QUERY = 256
LOOK_SECONDS = 3600.0
KINDS_OF_TEXTS = ("messages", "passages", "nodes")

_LOOKS = WeakKeyDictionary[Connection, dict[tuple[str, str], tuple[float, int]]]()
"""When this process last looked through all texts of a namespace for vectors of a model, after how many raw writes."""


class Embedder(Protocol):
    """Makes vectors of texts, which are compared only with those of an embedder of the same name."""

    @property
    def name(self) -> str:
        """The model, as it is stored beside its vectors."""

    @property
    def dimensions(self) -> int:
        """The length of its vectors."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, in their order."""


@runtime_checkable
class QuestionEmbedder(Protocol):
    """An embedder that makes other vectors of questions than of what answers them."""

    def embed_questions(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each question, in their order."""


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
        """A vector for each text, in their order; an empty text, which endpoints refuse, counts as a blank."""
        return self._model.embed([text or " " for text in texts])


def configured_embedder() -> Embedder | None:
    """The embedder of the environment: MEMORYGRAPH_EMBEDDING_MODEL names a model of the endpoint, or a folder."""
    name = os.environ.get("MEMORYGRAPH_EMBEDDING_MODEL")
    if not name:
        return None
    if names_folder(name):
        return LocalEmbedder(expand_user(name))
    return ModelEmbedder(OpenAIModel())


def names_folder(name: str) -> bool:
    """Whether MEMORYGRAPH_EMBEDDING_MODEL is the folder of a local model; a name may hold a slash: `org/model`."""
    return name.startswith(("/", "./", "../", "~")) or Path(name).is_absolute()  # one of Windows has a drive


def embed_question(embedder: Embedder, text: str) -> list[list[float]]:
    """The vector of a question, in a list that is empty where no word of it is known."""
    embed = embedder.embed_questions if isinstance(embedder, QuestionEmbedder) else embedder.embed
    return [vector for vector in embed([HALF_CHARACTER.sub("\ufffd", text)]) if any(vector)]


def vector_parameters(embedder: Embedder | None, text: str) -> dict[str, Any]:
    """The parameters `vectors` and `model` of a query: those of a question, or of one that goes by words alone."""
    if embedder is None:
        return {"vectors": [], "model": ""}
    return {"vectors": embed_question(embedder, text), "model": embedder.name}


def embed_missing(namespace: Namespace, embedder: Embedder) -> int:
    """Give a vector of this embedder to what was stored since the last look; returns how many texts lacked one.

    Those that change meanwhile count too, and get theirs at the next look.

    What is stored in a namespace that an embedder has looked through is marked. All texts are looked through the first
    time, and again after an hour or a query that writes: what raw Cypher has stored has no mark.
    """
    [due] = namespace.read("recall/due-vectors", model=embedder.name)
    looks = _LOOKS.get(namespace.connection, {})
    at, raw_writes = looks.get((namespace.name, embedder.name), (-inf, 0))
    is_late = monotonic() - at > LOOK_SECONDS or raw_writes != namespace.connection.raw_writes
    if is_late or due["embedder"] != embedder.name:
        return embed_all(namespace, embedder)
    queries = {kind: f"recall/{kind}-due" for kind in due["kinds"]}
    return sum(page.found for page in embed_pages(namespace, embedder, queries))


def embed_all(namespace: Namespace, embedder: Embedder, progress: Callable[[int, int], None] | None = None) -> int:
    """Give a vector of this embedder to each text of a namespace that lacks one; returns how many lacked it.

    A text is a node, or a message, or each passage of a long message. One that changes meanwhile counts too, and gets
    its vector at the next look. `progress` is told page by page how many are done, and how many there are.
    """
    done = embedded = total = 0
    if progress is not None:
        [row] = namespace.read("recall/count-without-vector", model=embedder.name)
        total = row["texts"]
        progress(0, total)
    began = monotonic(), namespace.connection.raw_writes
    namespace.write_query("recall/set-embedder", model=embedder.name)
    queries = {kind: f"recall/{kind}-without-vector" for kind in KINDS_OF_TEXTS}
    for page in embed_pages(namespace, embedder, queries):
        done, embedded = done + page.found, embedded + page.embedded
        if progress is not None:
            progress(done, max(done, total))
    if embedded == done:  # and nothing has changed meanwhile
        _LOOKS.setdefault(namespace.connection, {})[namespace.name, embedder.name] = began
    return done


class EmbeddedPage(NamedTuple):
    """How many texts had no vector, and how many of them have one now: not those that have changed meanwhile."""

    found: int
    embedded: int


def embed_pages(namespace: Namespace, embedder: Embedder, queries: Mapping[str, str]) -> Iterator[EmbeddedPage]:
    """Give vectors to the texts that queries find, which stand under the kinds of the texts, page by page.

    What is stored before the embedder fails is kept: run again, it goes on from there.
    """
    for kind, query in queries.items():
        for rows in texts_without_vector(namespace, embedder, query):
            vectors = embedder.embed([row["text"] for row in rows])
            for row, vector in zip(rows, vectors, strict=True):
                row["vector"] = vector
            [written] = namespace.write_query(f"recall/embed-{kind}", model=embedder.name, rows=rows)
            yield EmbeddedPage(len(rows), written["embedded"])


def texts_without_vector(namespace: Namespace, embedder: Embedder, query: str) -> Iterator[list[dict[str, Any]]]:
    """Pages of the messages, passages or nodes without a vector that a query finds, each with its `id` and `text`."""
    after = ""
    while rows := namespace.read(query, model=embedder.name, after=after, limit=MAX_ROWS_PER_QUERY):
        after = rows[-1]["id"]
        # A message or passage has a text, and a node a name and data: `Ada: wrote a program`.
        told = ([as_text(row.get(name)) for name in ("name", "data", "said")] for row in rows)
        yield [row | {"text": ": ".join(filter(None, texts))} for row, texts in zip(rows, told, strict=True)]
        if len(rows) < MAX_ROWS_PER_QUERY:
            return
