"""A proxy in front of any endpoint, that records into the namespace of the test."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, nullcontext
from pathlib import Path
from typing import Any

import openai
import pytest

from memorygraph import MemoryGraph
from memorygraph.proxy import Access, BackgroundRecording, RecordingProxy, Upstream
from memorygraph.proxy.recording import OpenGraph

DEADLINE_S = 60.0


class Proxies:
    """Makes proxies that end with the test; `said` is what they told people."""

    def __init__(self, graph: MemoryGraph, folder: Path, stack: ExitStack) -> None:
        self.graph = graph
        self.folder = folder
        self.said: list[str] = []
        self._stack = stack

    def __call__(
        self,
        base_url: str,
        *,
        open_graph: OpenGraph | None = None,
        tokens: dict[str, str] | None = None,
        silence: float = 30.0,
        **options: Any,
    ) -> RecordingProxy:
        access = Access("127.0.0.1", self.graph.namespace, tokens)
        recording = BackgroundRecording(
            open_graph or (lambda: nullcontext(self.graph)),
            access.namespaces,
            self.said.append,
            folder=self.folder,
            retry=0.05,
        )
        self._stack.callback(recording.close)
        upstream = self._stack.enter_context(closing(Upstream(base_url, silence)))
        proxy = RecordingProxy(upstream, access, recording, say=self.said.append, **options)
        return self._stack.enter_context(proxy)

    def client(self, base_url: str, key: str = "k", **headers: str) -> openai.OpenAI:
        """Return a client of a base URL, which ends with the test."""
        client = openai.OpenAI(base_url=base_url, api_key=key, max_retries=0, default_headers=headers)
        return self._stack.enter_context(client)


@pytest.fixture
def proxies(graph: MemoryGraph, tmp_path: Path) -> Iterator[Proxies]:
    with ExitStack() as stack:
        yield Proxies(graph, tmp_path / "records", stack)


def eventually(is_so: Callable[[], Any]) -> Any:
    """Wait for what happens in the background, and return it."""
    deadline = time.monotonic() + DEADLINE_S
    while not (found := is_so()):
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.01)
    return found
