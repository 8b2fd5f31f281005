"""One real Neo4j for the whole run, and a namespace of its own for each test.

Workers (pytest-xdist) run the files of tests side by side. They share what is expensive: the first that needs Neo4j
starts it and makes every name (`tests/shared_neo4j.py`), and the process that started them stops it at the end.
Namespaces keep the tests apart; those of a module are emptied after it: many tests look at all there is in one, for
which Neo4j reads every node of every other.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

import pytest

from memorygraph import MemoryGraph, MemoryGraphError
from memorygraph.graph.connection import Connection, Transaction
from memorygraph.query import Query
from tests import shared_neo4j
from tests.examples import load_profile, profile
from tests.shared_neo4j import Address, GiveSchema, SharedNeo4j, folder_in_memory, new_namespace
from tests.turns import Turns

# A shell that starts the tests in its background has them ignore interrupts, and so would every process they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

load_profile()

EXAMPLES = Path(__file__).parent.parent / "examples"
RUN_FOLDER = "MEMORYGRAPH_TEST_RUN_FOLDER"
"""The variable that tells the workers the folder of the run, which goes away at its end."""

LONGEST = ("trust", "server", "docker", "test_merging.py", "test_cases.py", "test_bundles.py", "browser")
"""Folders and files that run first, so that no worker is left with a long file at the end: a file is not divided."""


def is_worker(config: pytest.Config) -> bool:
    """Whether this is a process that xdist started."""
    return hasattr(config, "workerinput")


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder of the run, and a place for bytecode, which workers and commands would make anew each time."""
    if not is_worker(config):
        cache: pytest.Cache | None = getattr(config, "cache", None)  # not there with `-p no:cacheprovider`
        if sys.dont_write_bytecode and cache:
            sys.dont_write_bytecode, sys.pycache_prefix = False, str(cache.mkdir("bytecode"))
            os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
            os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
        os.environ[RUN_FOLDER] = tempfile.mkdtemp(prefix="memorygraph-tests-", dir=folder_in_memory())


def pytest_make_parametrize_id(val: object) -> None:
    """Refuse a test that is named by bytes of gzip: they hold the second, and all workers need the same name."""
    if isinstance(val, bytes) and val.startswith(b"\x1f\x8b"):
        raise pytest.UsageError(f"a test is named by {val!r}, bytes of gzip that hold the time: give it `ids`")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage while tests are collected: that took a third of the time. Later not among them: they stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the server of the run, however the run ended."""
    if not is_worker(config):
        SharedNeo4j(Path(os.environ.pop(RUN_FOLDER))).stop()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """As many workers as processors, and one more: tests wait for Neo4j, or for a server that starts.

    There are none for named files, which are done sooner without, and for tests that print (-s).
    """
    only_files = config.args_source is pytest.Config.ArgsSource.ARGS and not any(map(os.path.isdir, config.args))
    if only_files or config.getoption("capture") == "no":
        return 0
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run long files first; leave to the whole check what is slow, unless its folder or file is named."""
    items.sort(key=_place)
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    if not named and "MEMORYGRAPH_TEST_LARGE" not in os.environ:
        reason = "slow: it runs in the whole check, with MEMORYGRAPH_TEST_LARGE=1, or where its file is named"
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason=reason))


def _place(item: pytest.Item) -> int:
    names = (item.path.parent.name, item.path.name)
    return next((place for place, name in enumerate(LONGEST) if name in names), len(LONGEST))


@pytest.hookimpl(tryfirst=True, wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Run a test that is marked `alone` while the other workers wait.

    Neither that wait nor the start of Neo4j, nor the making of its start cache, counts as the time of the test.
    """
    fixtures = getattr(item, "fixturenames", ())
    if "server" in fixtures:
        _start_neo4j()
    if "quick_java" in fixtures and not any(map(item.get_closest_marker, ("skip", "skipif"))):
        _make_start_cache()
    with Turns(Path(os.environ[RUN_FOLDER])).take(alone=item.get_closest_marker("alone") is not None):
        return (yield)


@cache
def _start_neo4j() -> None:
    with suppress(MemoryGraphError):  # the fixture says why
        shared = SharedNeo4j(Path(os.environ[RUN_FOLDER]))
        shared.address()
        if profile() != "ordinary":  # half a minute of many
            shared.make_plans()


@cache
def _make_start_cache() -> None:
    with suppress(MemoryGraphError), shared_neo4j.quick_java(Path(os.environ[RUN_FOLDER])):
        pass


@pytest.fixture(scope="session")
def server() -> Address:
    """The address and the login of Neo4j: NEO4J_URI, or an embedded server with data of its own."""
    return SharedNeo4j(Path(os.environ[RUN_FOLDER])).address()


@pytest.fixture(scope="session")
def made_plans(server: Address) -> None:
    """No query waits for its plan, which on a busy machine takes longer than a test with short time limits allows."""
    SharedNeo4j(Path(os.environ[RUN_FOLDER])).make_plans()


@pytest.fixture(scope="module")
def quick_java() -> Iterator[None]:
    """The servers that tests of this module start are quick to start, and not to run for hours."""
    with shared_neo4j.quick_java(Path(os.environ[RUN_FOLDER])):
        yield


@pytest.fixture(scope="session")
def give_schema() -> GiveSchema:
    """Give a server with an empty home a database that has the schema and nothing else."""
    return partial(shared_neo4j.give_schema, Path(os.environ[RUN_FOLDER]))


@pytest.fixture(scope="module", autouse=True)
def emptied_namespaces() -> Iterator[None]:
    """What a module has stored goes after it, and after its other fixtures."""
    yield
    SharedNeo4j(Path(os.environ[RUN_FOLDER])).empty_namespaces()


@pytest.fixture(scope="session")
def connection(server: Address) -> Iterator[Connection]:
    """A connection to Neo4j with the schema applied; the server's warnings about our Cypher fail the test."""
    uri, auth = server
    log = logging.getLogger("neo4j.notifications")
    handler = NotificationHandler(logging.WARNING)
    log.addHandler(handler)
    with Connection(uri, auth, notifications_min_severity="WARNING") as connection:
        yield connection
    log.removeHandler(handler)


class NotificationHandler(logging.Handler):
    """Makes a warning of Python of what Neo4j warns about, and so fails the query.

    The driver can do so itself (`warn_notification_severity`), but then looks through the source of every function on
    the stack at each query, which took more time than the queries.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Warn."""
        warnings.warn(record.getMessage(), stacklevel=1)


def empty_namespace(connection: Connection) -> MemoryGraph:
    """A namespace that no other test uses."""
    return MemoryGraph(connection, new_namespace())


@pytest.fixture
def graph(connection: Connection) -> MemoryGraph:
    """An empty namespace."""
    return empty_namespace(connection)


@pytest.fixture
def twin(connection: Connection) -> MemoryGraph:
    """Another empty namespace, to compare the first with."""
    return empty_namespace(connection)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Query]:
    """The queries that transactions run, as they do."""
    queries: list[Query] = []
    run = Transaction.run

    def noted(transaction: Transaction, query: Query) -> list[dict[str, object]]:
        queries.append(query)
        return run(transaction, query)

    monkeypatch.setattr(Transaction, "run", noted)
    return queries


@pytest.fixture
def environment(server: Address, monkeypatch: pytest.MonkeyPatch) -> str:
    """The environment of a command line that uses the test's Neo4j, and its own namespace, which is returned."""
    uri, auth = server
    namespace = new_namespace()
    monkeypatch.setenv("NEO4J_URI", uri)
    if auth:
        monkeypatch.setenv("NEO4J_USERNAME", auth[0])
        monkeypatch.setenv("NEO4J_PASSWORD", auth[1])
    monkeypatch.setenv("MEMORYGRAPH_NAMESPACE", namespace)
    return namespace
