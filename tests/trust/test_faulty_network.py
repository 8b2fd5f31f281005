"""Whatever breaks between client and server: each write is applied exactly once, and no call waits for ever."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from memorygraph import ConflictError, ConnectionError, LoadReport, MemoryGraph
from memorygraph.graph import connection as connections
from memorygraph.graph.connection import Connection
from memorygraph.query import Query
from tests.examples import amount
from tests.trust.chance import seeded
from tests.trust.proxy import AT_COMMIT, Fault, FaultProxy
from tests.trust.rounds import loads, stored
from tests.trust.transactions import await_open_transactions

FAULTS = amount(ordinary=12, whole=40, long=400)
OPERATIONS = amount(ordinary=60, whole=60, long=1000)
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300 + 3 * FAULTS), pytest.mark.usefixtures("made_plans")]
MAX_CALL_S = 60.0
"""Half a minute of new tries, and the silences that are waited for; a call that hangs takes for ever."""

Server = tuple[str, tuple[str, str] | None]


class Clock:
    """The longest of many calls."""

    def __init__(self) -> None:
        self.longest = 0.0

    @contextmanager
    def call(self) -> Iterator[None]:
        start = time.monotonic()
        try:
            yield
        finally:
            self.longest = max(self.longest, time.monotonic() - start)


@pytest.fixture
def short_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SILENCE_SECONDS", 1.0)
    monkeypatch.setattr(connections, "OPENING_SECONDS", 2.0)


@pytest.fixture
def proxy(server: Server) -> Iterator[FaultProxy]:
    with FaultProxy(server[0]) as proxy:
        yield proxy


@pytest.fixture
def through(
    proxy: FaultProxy, server: Server, graph: MemoryGraph, short_silence: None
) -> Iterator[Callable[[], MemoryGraph]]:
    """Makes clients whose way to the namespace of `graph` leads through the proxy."""
    made: list[MemoryGraph] = []

    def make() -> MemoryGraph:
        made.append(MemoryGraph(Connection(proxy.uri, server[1]), graph.namespace))
        return made[-1]

    yield make
    proxy.arm(None)
    for client in made:
        client.close()


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    return seeded(request.node.name)


@pytest.mark.parametrize("kind", AT_COMMIT)
def test_a_commit_whose_reply_is_lost_is_told_from_one_that_is_lost_itself(
    graph: MemoryGraph, proxy: FaultProxy, through: Callable[[], MemoryGraph], kind: str
) -> None:
    client = through()
    client.load('Node(node_id="a", name="A", data="");')
    proxy.arm(Fault(kind))
    report = client.load('Node(node_id="b", name="B", data="");')
    assert proxy.struck == [Fault(kind)]
    assert (report.revision, report.nodes_created) == (2, 1)
    assert loads(graph) == 2
    proxy.arm(Fault(kind))
    with pytest.raises(ConnectionError, match="whether it was kept is not known"):
        client.query("CREATE (:Stray {namespace: $namespace})", write=True)
    await_open_transactions(graph.connection)  # the commit may take longer than the silence that is waited for
    kept = len(graph.query("MATCH (s) WHERE s.namespace = $namespace AND 'Stray' IN labels(s) RETURN s"))
    assert kept == (kind != "commit cut off"), "it ran again, or the fault was another one"
    graph.query("MATCH (s) WHERE s.namespace = $namespace AND 'Stray' IN labels(s) DELETE s", write=True)


@pytest.mark.parametrize("kind", AT_COMMIT)
def test_a_load_that_may_have_been_kept_says_so_and_by_what_it_is_found(
    graph: MemoryGraph,
    proxy: FaultProxy,
    through: Callable[[], MemoryGraph],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    client = through()
    client.load('Node(node_id="a", name="A", data="");')
    monkeypatch.setattr(connections, "RETRY_SECONDS", 3.0)
    proxy.arm(Fault(kind), stays_down=True)
    with pytest.raises(ConnectionError, match="whether it was kept is not known") as caught:
        client.load('Node(node_id="b", name="B", data="");')
    assert proxy.struck == [Fault(kind)]
    assert caught.value.outcome_unknown
    assert f"`memorygraph -n {graph.namespace} revisions --json` lists the load {caught.value.load_id}" in str(
        caught.value
    )
    await_open_transactions(graph.connection)
    kept = {revision.load for revision in graph.revisions()}
    assert (caught.value.load_id in kept) == ("b" in stored(graph)) == (kind != "commit cut off")


def test_a_load_that_was_not_kept_does_not_say_that_it_may_have_been(
    proxy: FaultProxy, through: Callable[[], MemoryGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = through()
    client.load('Node(node_id="a", name="A", data="");')
    monkeypatch.setattr(connections, "RETRY_SECONDS", 3.0)
    proxy.arm(Fault("cut"), stays_down=True)
    with pytest.raises(ConnectionError, match=r"cannot be reached|was lost") as caught:
        client.load('Node(node_id="b", name="B", data="");')
    assert not caught.value.outcome_unknown
    assert "not known" not in str(caught.value)


def test_every_write_is_applied_exactly_once(
    graph: MemoryGraph, proxy: FaultProxy, through: Callable[[], MemoryGraph], chance: random.Random
) -> None:
    client, clock = through(), Clock()
    history = client.messages("talk")
    reports: dict[str, LoadReport] = {}
    said: list[str] = []
    while len(proxy.struck) < FAULTS:
        proxy.arm(Fault.by(chance))
        number = len(reports) + len(said)
        if number % 4 == 3:
            said.append(f"m{number}")
            with clock.call():
                history.append({"role": "user", "content": said[-1]})
            continue
        text = (
            f'Node(node_id="n{number}", name="N", data="{number}"); Node(node_id="shared", name="S", data="{number}");'
        )
        with clock.call():
            reports[f"load {number}"] = client.load(text, file=f"load {number}")
        assert number < 5 * FAULTS, f"too few faults strike: {proxy.struck}"
    proxy.arm(None)
    rows = graph.query(
        "MATCH (l:Load {namespace: $namespace}) OPTIONAL MATCH (n:Node {namespace: $namespace, since: l.revision}) "
        "WHERE n.id <> 'shared' RETURN l.file AS file, l.id AS id, l.revision AS revision, collect(n.data) AS made"
    )
    assert len(rows) == loads(graph) == len(reports)
    for row in rows:
        report = reports[row["file"]]
        assert row == {
            "file": row["file"],
            "id": report.load_id,
            "revision": report.revision,
            "made": [row["file"].removeprefix("load ")],
        }
        assert report.nodes_created == 1 + (report.revision == 1)
    assert len(stored(graph)) == len(reports) + 1
    assert [message["content"] for message in graph.messages("talk")] == said
    kinds = Counter(fault.kind for fault in proxy.struck)
    print(f"{FAULTS} faults {dict(kinds)}: {len(reports)} loads and {len(said)} messages exactly once, ", end="")
    print(f"longest call {clock.longest:.1f} s")
    assert clock.longest < MAX_CALL_S


def test_reads_survive_every_fault_too(
    graph: MemoryGraph, proxy: FaultProxy, through: Callable[[], MemoryGraph], chance: random.Random
) -> None:
    graph.load('Node(node_id="a", name="A", data="");')
    client, clock = through(), Clock()
    for _ in range(FAULTS // 4):
        proxy.arm(
            Fault.by(chance)._replace(kind=chance.choice(["cut", "stall", "half-close"]), byte=chance.randrange(90))
        )
        with clock.call():
            assert client.node("a").name == "A"
        with clock.call():
            assert client.query("RETURN 1 AS one") == [{"one": 1}]
    print(f"{len(proxy.struck)} faults: longest read {clock.longest:.1f} s")
    assert clock.longest < MAX_CALL_S


@pytest.mark.usefixtures("short_silence")
def test_a_server_that_never_answers_is_a_connection_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        start = time.monotonic()
        with pytest.raises(ConnectionError, match="cannot be reached"):
            Connection(f"bolt://127.0.0.1:{silent.getsockname()[1]}", ("neo4j", "x"))
        assert time.monotonic() - start < MAX_CALL_S


def test_a_read_ends_when_its_time_is_up_even_if_the_server_goes_on_sending(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "ANSWER_SECONDS", -9.0)
    monkeypatch.setattr(connections, "RETRY_SECONDS", 0.0)
    with Connection(*server) as hasty:
        start = time.monotonic()
        with pytest.raises(ConnectionError):
            hasty.read(Query("UNWIND range(1, 1000000000) AS i WITH i WHERE i % 7 = 0 RETURN i", {}), seconds=10)
        assert time.monotonic() - start < MAX_CALL_S
        assert hasty.read(Query("RETURN 1 AS one", {})) == [{"one": 1}]


class Recorded:
    """What clients were told of the values that they added: certain, impossible or unknown."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.acknowledged: list[str] = []
        self.unknown: list[str] = []
        self.refused: list[str] = []

    def add(self, value: str, write: Callable[[], Any]) -> bool:
        outcome = self.unknown
        try:
            write()
            outcome = self.acknowledged
        except ConflictError:
            outcome = self.refused
        except ConnectionError:
            pass
        finally:
            with self.lock:
                outcome.append(value)
        return outcome is not self.refused

    def check(self, found: list[str]) -> None:
        """The rules of a history: nothing lost, nothing twice, nothing that nobody added."""
        assert not set(self.acknowledged) - set(found), "lost"
        assert len(found) == len(set(found)), "twice"
        assert not set(found) - set(self.acknowledged) - set(self.unknown), "a phantom"


def test_a_set_and_a_list_that_many_clients_add_to_lose_nothing_and_double_nothing(
    graph: MemoryGraph, proxy: FaultProxy, through: Callable[[], MemoryGraph], chance: random.Random
) -> None:
    nodes, messages, clock = Recorded(), Recorded(), Clock()
    clients = [through() for _ in range(4)]
    graph.messages("shared").append({"role": "system", "content": "start"})
    clients[0].load('Node(node_id="first", name="N", data="");')
    start = time.monotonic()
    clients[0].delete("first")
    # Faults that come faster than a busy machine can write would only show that nothing gets through.
    pace_s = max(0.05, time.monotonic() - start)
    failures: list[BaseException] = []
    over = threading.Event()

    def work(name: int, client: MemoryGraph) -> None:
        try:
            for number in range(OPERATIONS // 8):
                value = f"{name}-{number}"
                with clock.call():
                    nodes.add(value, partial(client.load, f'Node(node_id="{value}", name="N", data="");'))
                for attempt in range(50):
                    said = f"{value}-{attempt}"
                    with clock.call():
                        append = client.messages("shared").append
                        added = messages.add(said, partial(append, {"role": "user", "content": said}))
                    if added:
                        break
        except BaseException as error:  # noqa: BLE001 - told by the test's own thread
            failures.append(error)

    def weather() -> None:
        while not over.wait(pace_s * chance.uniform(1, 8)):
            proxy.arm(Fault.by(chance))

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(clients)]
    storm = threading.Thread(target=weather)
    for thread in (*threads, storm):
        thread.start()
    for thread in threads:
        thread.join()
    over.set()
    storm.join()
    proxy.arm(None)
    assert not failures
    nodes.check(list(stored(graph)))
    messages.check([message["content"] for message in graph.messages("shared")][1:])
    loads(graph)
    print(
        f"{len(proxy.struck)} faults, {len(nodes.acknowledged)} nodes and {len(messages.acknowledged)} messages added,"
    )
    print(f"{len(messages.refused)} refused, {len(nodes.unknown) + len(messages.unknown)} unknown: ", end="")
    print(f"0 lost, 0 twice, 0 phantoms; longest call {clock.longest:.1f} s")
    assert len(nodes.acknowledged) + len(nodes.unknown) == OPERATIONS // 8 * 4
    assert clock.longest < MAX_CALL_S
