"""The client for asyncio: the same methods, each run in a thread, in one place.

The signatures for editors and type checkers are in aio.pyi, which is made from those of the client.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import cached_property, partial, wraps
from threading import Lock
from typing import Any, Self

from memorygraph.client import MemoryGraph
from memorygraph.errors import ConnectionError, Problem
from memorygraph.graph.connection import Driver
from memorygraph.limits import RunBudget, begin_apart

PAGE_ROWS = 999  # with the one that is read ahead, as many as the driver asks for at once
MAX_THREADS = 32

CLOSED = "this client was closed: nothing more can be asked through it. Connect again, or close it after its last use"


class _Stream:
    """What a generator gives, which one thread at a time reads or closes."""

    def __init__(self, values: Generator[Any, None, None]) -> None:
        self._values = values
        self._ahead: list[Any] = []
        self._busy = Lock()
        self._is_given_up = False
        self.is_reading = False

    def read_page(self) -> tuple[list[Any], bool]:
        """Read the next page, and tell whether it is the last.

        That is known at once, from a value that is read ahead: the client may be closed before it is asked again.

        Raises:
            ConnectionError: the rest was given up, as the client was closed.
        """
        with self._busy:
            if self._is_given_up:
                raise ConnectionError(f"a stream was not read to its end: {CLOSED}")
            self.is_reading = True
            try:
                read = [*self._ahead, *itertools.islice(self._values, PAGE_ROWS + 1 - len(self._ahead))]
                self._ahead = read[PAGE_ROWS:]
                return read[:PAGE_ROWS], not self._ahead
            finally:
                self.is_reading = False

    def close(self) -> None:
        """Give up the rest."""
        with self._busy:
            self._is_given_up = True
            self._values.close()


class Offloaded:
    """An object whose methods are awaited: each call runs in a thread of the executor."""

    def __init__(self, target: Any, executor: ThreadPoolExecutor, streams: set[_Stream]) -> None:
        self._target = target
        self._executor = executor
        self._streams = streams  # those that are open, of the whole client

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in dir(self._target) if not name.startswith("_"))})

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._target, name)
        # A part of the client that has methods of its own, as `mg.entities`.
        if isinstance(getattr(type(self._target), name, None), cached_property):
            return Offloaded(attribute, self._executor, self._streams)
        if inspect.isgeneratorfunction(attribute):
            return wraps(attribute)(partial(self._stream, attribute))
        return wraps(attribute)(partial(self._run, attribute)) if callable(attribute) else attribute

    async def _run(self, method: Callable[..., Any], /, *args: Any, **options: Any) -> Any:
        return await self._call(RunBudget(), partial(method, *args, **options))

    async def _call(self, budget: RunBudget, work: Callable[[], Any]) -> Any:
        # The caller's context variables count in the thread too, as with asyncio.to_thread.
        call = partial(copy_context().run, budget.call, work)
        try:
            return await self._submit(call)
        except asyncio.CancelledError:
            budget.cancel("the task that asked for this was cancelled")
            raise

    def _submit(self, call: Callable[[], Any]) -> asyncio.Future[Any]:
        try:
            return asyncio.get_running_loop().run_in_executor(self._executor, call)
        except RuntimeError as error:  # the executor was shut down
            raise ConnectionError(CLOSED) from error

    async def _stream(
        self, method: Callable[..., Generator[Any, None, None]], /, *args: Any, **options: Any
    ) -> AsyncGenerator[Any, None]:
        """Fetch each page of what a generator gives in a thread; where the reader ends, the rest is given up."""
        stream, budget = _Stream(method(*args, **options)), RunBudget()
        self._streams.add(stream)
        try:
            is_last = False
            while not is_last:
                page, is_last = await self._call(budget, stream.read_page)
                for value in page:
                    yield value
        except asyncio.CancelledError:
            with suppress(RuntimeError):  # the client is closed already
                self._executor.submit(stream.close)  # behind the page, which is still being read: nobody waits for it
            raise
        except BaseException:
            with suppress(ConnectionError):  # the client is closed already, and has closed this first
                await self._run(stream.close)
            raise
        finally:
            self._streams.discard(stream)


class AsyncMemoryGraph(Offloaded):
    """`MemoryGraph` for asyncio: every method is awaited, and is otherwise the same.

    Only what `stream` gives is read with `async for`, without an `await`. A query of a call that is cancelled ends at
    once. What the call writes may still be stored, as a commit that was sent cannot be taken back; a run ends before
    its next step. At most MAX_THREADS calls run at a time, in threads of the client's own, so that they never wait for
    other work of the program. Once the client is closed, a call, and a stream that was not read to its end, is a
    `ConnectionError`.

    Example::

        async with await AsyncMemoryGraph.connect() as mg:
            await mg.load('Node(node_id="a", name="A", data="");')

    A driver of yours is a `neo4j.Driver` here too, which the threads share; `await AsyncMemoryGraph.connect(driver=…)`
    does not hold up the loop.
    """

    def __init__(self, graph: MemoryGraph | Driver, *args: Any, **options: Any) -> None:
        """Take a client, or make one of a driver as `MemoryGraph` does."""
        if not isinstance(graph, MemoryGraph):
            graph = MemoryGraph(graph, *args, **options)
        super().__init__(graph, ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="memorygraph"), set())

    @classmethod
    async def connect(cls, *args: Any, **options: Any) -> Self:
        """Connect as `MemoryGraph.connect` does; what is connected after this is cancelled is closed again."""

        def close(connected: Future[MemoryGraph]) -> None:
            if not connected.cancelled() and connected.exception() is None:
                connected.result().close()

        threads = ThreadPoolExecutor(1, "memorygraph-connecting")
        connecting = threads.submit(copy_context().run, partial(MemoryGraph.connect, *args, **options))
        threads.shutdown(wait=False)
        try:
            return cls(await asyncio.wrap_future(connecting))
        except asyncio.CancelledError:
            connecting.add_done_callback(close)  # in the thread, for which nobody waits
            raise

    @staticmethod
    async def check(*args: Any, **options: Any) -> list[Problem]:
        """Check as `MemoryGraph.check` does; it needs no connection."""
        return await asyncio.to_thread(MemoryGraph.check, *args, **options)

    @staticmethod
    async def find_warnings(*args: Any, **options: Any) -> list[Problem]:
        """Find warnings as `MemoryGraph.find_warnings` does; it needs no connection."""
        return await asyncio.to_thread(MemoryGraph.find_warnings, *args, **options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection at once; what is still asked through it fails. A client can be closed twice."""
        # A stream that was left early is given up before its connection is closed; one that is being read ends with it.
        left = [stream.close for stream in self._streams if not stream.is_reading]
        try:
            await asyncio.gather(*map(self._run, left), return_exceptions=True)
        finally:
            # Not in a thread of the client's own: all may wait for what this ends.
            await asyncio.wrap_future(begin_apart(self._target.close))
            self._executor.shutdown(wait=False)
