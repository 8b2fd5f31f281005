"""Fixtures: one conversation in each storage, opened as often as a test wants."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from threading import Event
from typing import Any

import pytest

from memorygraph.graph.connection import Connection
from memorygraph.graph.namespace import Namespace
from memorygraph.messages import recorder
from memorygraph.messages.graph import MessageGraph
from memorygraph.messages.neo4j_storage import Neo4jStorage
from memorygraph.messages.recorder import Recorder
from memorygraph.messages.storage import InMemoryStorage
from tests.shared_neo4j import new_namespace

Open = Callable[[], MessageGraph]


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow machine is not a database that is down; the tests of one that is say how long they wait."""
    monkeypatch.setattr(recorder, "PATIENCE_SECONDS", 60.0)
    monkeypatch.setattr(recorder, "MAX_WAIT_SECONDS", 60.0)


def hold_records(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Have each call be recorded only after the running loop has gone on meanwhile, and tell of each whether it has."""
    loop, record = asyncio.get_running_loop(), Recorder.record
    went_on: list[bool] = []

    def hold(*arguments: Any) -> None:
        ticked = Event()
        loop.call_soon_threadsafe(ticked.set)
        went_on.append(all(went_on) and ticked.wait(30))
        record(*arguments)

    monkeypatch.setattr(Recorder, "record", hold)
    return went_on


@pytest.fixture
def namespace() -> str:
    """An empty namespace for conversations."""
    return new_namespace()


@pytest.fixture(params=["memory", "neo4j"])
def opened(request: pytest.FixtureRequest) -> Open:
    """Opens the same empty conversation again and again, as different programs would."""
    if request.param == "memory":
        memory = InMemoryStorage("talk")
        return lambda: MessageGraph(storage=memory)
    connection, namespace = (request.getfixturevalue(name) for name in ("connection", "namespace"))
    return lambda: MessageGraph(storage=Neo4jStorage(Namespace(connection, namespace), "talk"))


@pytest.fixture
def history(opened: Open) -> MessageGraph:
    """An empty conversation."""
    return opened()


@pytest.fixture
def in_neo4j(connection: Connection, namespace: str) -> Callable[[str], MessageGraph]:
    """Opens a conversation of the namespace by its name."""
    return partial(_stored, connection, namespace)


def _stored(connection: Connection, namespace: str, name: str = "talk") -> MessageGraph:
    return MessageGraph(storage=Neo4jStorage(Namespace(connection, namespace), name))
