"""Pools: how many calls are worked on at once, of all clients and of one; the others wait, or are told to come later.

A call ends with its request: when the client cancels that, or its connection is gone, what the call runs is cancelled.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import anyio
from anyio import to_thread

from memorygraph.errors import MemoryGraphError
from memorygraph.limits import NO_LIMITS, RunBudget, RunLimits

DISCONNECT_POLL_S = 0.5


class PoolFull(MemoryGraphError):  # noqa: N818 - the name says it
    """A client has so many calls waiting that it has to come later."""


@dataclass(frozen=True)
class PoolSize:
    """How many calls are worked on at once, of all clients and of one, how many of one wait, and the limits of each."""

    at_once: int
    of_one_client: int
    waiting: int
    limits: RunLimits = NO_LIMITS


@dataclass
class _Client:
    places: anyio.Semaphore
    calls: int = 0  # in work, or waiting


class Pool:
    """Threads for the calls of clients."""

    def __init__(self, size: PoolSize) -> None:
        self._size = size
        self._threads: anyio.CapacityLimiter | None = None
        self._clients: dict[str, _Client] = {}

    async def call(self, client: str, work: Callable[[], Any], request: Disconnectable | None = None) -> Any:
        """Do a client's work in a thread.

        Raises:
            PoolFull: the client has too many calls already.
        """
        self._threads = self._threads or anyio.CapacityLimiter(self._size.at_once)
        async with self._place(client), self._threads:
            return await run_in_thread(RunBudget(self._size.limits), work, request)

    @asynccontextmanager
    async def _place(self, name: str) -> AsyncIterator[None]:
        size = self._size
        client = self._clients.setdefault(name, _Client(anyio.Semaphore(size.of_one_client)))
        if client.calls >= size.of_one_client + size.waiting:
            counts = f"{size.of_one_client} of your calls are worked on and {size.waiting} wait"
            raise PoolFull(f"{counts}; try again when one has ended")
        client.calls += 1
        try:
            async with client.places:
                yield
        finally:
            client.calls -= 1
            if not client.calls:
                del self._clients[name]


_in_work: set[RunBudget] = set()


def calls_in_work() -> bool:
    """Whether a thread of any pool is at work."""
    return bool(_in_work)


class Disconnectable(Protocol):
    """A request over HTTP."""

    async def is_disconnected(self) -> bool:
        """Whether nobody waits for its answer any more."""


async def run_in_thread(budget: RunBudget, work: Callable[[], Any], request: Disconnectable | None) -> Any:
    """Do work in a thread, which is left to end by itself when the request has ended: its place is taken until then."""
    result: Any = None
    failure: Exception | None = None

    async def watch() -> None:
        try:
            while request is None or not await request.is_disconnected():
                await anyio.sleep(math.inf if request is None else DISCONNECT_POLL_S)
        finally:
            budget.cancel("the request has ended")

    def work_here() -> Any:
        _in_work.add(budget)
        try:
            return budget.call(work)
        finally:
            _in_work.remove(budget)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        try:
            result = await to_thread.run_sync(work_here, limiter=anyio.CapacityLimiter(1))
        except Exception as error:  # noqa: BLE001 - raised below: a task group would raise a group
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return result
