"""Recall for an open client: what is not findable yet is made so before the first question."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from memorygraph.budget import Budget
from memorygraph.graph.namespace import Namespace
from memorygraph.memory.indexing import index_messages
from memorygraph.memory.recall import Recalled, recall
from memorygraph.memory.vectors import Embedder, configured_embedder, embed_missing


class Recaller:
    """Recalls from one namespace, by words and, where an embedding model is configured, by meaning.

    Messages that an earlier release stored are made findable once. With an embedder, what has no vector yet gets one
    before each recall; without one, a recall is one query.
    """

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._indexed = False

    @cached_property
    def embedder(self) -> Embedder | None:
        """What makes vectors, if MEMORYGRAPH_EMBEDDING_MODEL names it.

        Raises:
            ModelError: it names what cannot be one.
        """
        return configured_embedder()

    def __call__(self, text: str, *, budget: Budget | None, at: datetime | None, **options: Any) -> Recalled:
        """What a text brings to mind; it is asked now, unless `at` says when.

        Raises:
            ModelError: the embedding model failed.
        """
        if not self._indexed:
            index_messages(self._namespace)
            self._indexed = True
        if self.embedder is not None:
            embed_missing(self._namespace, self.embedder)
        return recall(
            self._namespace,
            text,
            budget=budget,
            embedder=self.embedder,
            at=at or datetime.now(UTC),
            **options,
        )
