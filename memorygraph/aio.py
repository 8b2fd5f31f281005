"""The client for asyncio: the same methods, each run in a thread, in one place."""

from __future__ import annotations

import asyncio
import functools
import inspect
import itertools
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from typing import Any, Self

from memorygraph.client import MemoryGraph

PAGE = 1000


class AsyncMemoryGraph:
    """`MemoryGraph` for asyncio: every method is awaited, and is otherwise the same.

    Only what `stream` gives is read with `async for`, without an `await`. A call that is cancelled may still be
    stored: a commit that was sent cannot be taken back.

    Example::

        async with await AsyncMemoryGraph.connect() as mg:
            await mg.load('Node(node_id="a", name="A", data="");')
    """

    def __init__(self, graph: MemoryGraph) -> None:
        self._graph = graph

    @classmethod
    async def connect(cls, *args: Any, **options: Any) -> Self:
        """Connect as `MemoryGraph.connect` does."""
        return cls(await asyncio.to_thread(MemoryGraph.connect, *args, **options))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._graph.close)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in dir(self._graph) if not name.startswith("_"))})

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._graph, name)
        if inspect.isgeneratorfunction(attribute):
            return _in_threads(attribute)
        return _in_thread(attribute) if callable(attribute) else attribute


def _in_thread(method: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    @functools.wraps(method)
    async def call(*args: Any, **options: Any) -> Any:
        return await asyncio.to_thread(method, *args, **options)

    return call


def _in_threads(method: Callable[..., Generator[Any, None, None]]) -> Callable[..., AsyncIterator[Any]]:
    """Each page of what a generator gives is fetched in a thread; what is left is given up where the reader ends."""

    @functools.wraps(method)
    async def call(*args: Any, **options: Any) -> AsyncIterator[Any]:
        values = method(*args, **options)
        try:
            while page := await asyncio.to_thread(lambda: list(itertools.islice(values, PAGE))):
                for value in page:
                    yield value
        finally:
            await asyncio.to_thread(values.close)

    return call
