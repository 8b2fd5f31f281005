"""Writers that begin at the same moment, and those whose commit is kept and its acknowledgement lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import neo4j
import pytest
from neo4j import exceptions

from memorygraph import MemoryGraphError


def together(*works: Callable[[], Any]) -> list[Any]:
    """Run functions at the same moment; an error is an outcome."""
    barrier = threading.Barrier(len(works))
    outcomes: list[Any] = [None] * len(works)

    def run(index: int, work: Callable[[], Any]) -> None:
        barrier.wait()
        try:
            outcomes[index] = work()
        except MemoryGraphError as error:
            outcomes[index] = error

    threads = [threading.Thread(target=run, args=item) for item in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def lose_replies(patch: pytest.MonkeyPatch, times: int = 1, meanwhile: Callable[[], object] = lambda: None) -> None:
    """Have the driver's next transactions commit, and then say that they do not know."""
    commit, losses = neo4j.Transaction.commit, iter([True] * times)

    def lossy(transaction: neo4j.Transaction) -> None:
        commit(transaction)
        if next(losses, False):
            meanwhile()
            raise exceptions.IncompleteCommit("the reply was lost")

    patch.setattr(neo4j.Transaction, "commit", lossy)
