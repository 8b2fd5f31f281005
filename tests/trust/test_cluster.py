"""Against a cluster, as far as a client of one sees it: each write is kept once, and reads see the writes before."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from memorygraph import ConnectionError, LoadReport, MemoryGraph
from memorygraph.cli import cli
from memorygraph.graph import connection as connections
from memorygraph.graph.connection import Connection
from memorygraph.memory.values import Entity
from memorygraph.query import Query
from tests.trust.cluster import BEGIN, RECORD, RUN, SUCCESS, Cluster, Death, Member, transaction_of
from tests.trust.proxy import COMMIT

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("made_plans")]

Server = tuple[str, tuple[str, str] | None]
ROWS = 5000
HI = {"role": "user", "content": "Hi"}


@pytest.fixture
def cluster(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setattr(connections, "SILENCE_SECONDS", 5.0)
    monkeypatch.setattr(connections, "OPENING_SECONDS", 2.0)
    with Cluster(server[0]) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Cluster, server: Server, graph: MemoryGraph) -> Iterator[MemoryGraph]:
    """A client of the cluster, in the namespace of `graph`, which goes to the server itself."""
    with MemoryGraph(Connection(cluster.uri, server[1]), graph.namespace) as client:
        yield client


def node(name: str) -> str:
    return f'Node(node_id="{name}", name="{name}", data="");'


def person(name: str, *observations: str) -> Entity:
    return Entity(name=name, entity_type="person", observations=list(observations))


def names(graph: MemoryGraph) -> list[str]:
    return sorted(graph.ids("", 100))


def revisions(graph: MemoryGraph) -> list[int]:
    return [revision.revision for revision in graph.revisions(100)][::-1]


@contextmanager
def succeeded_by(cluster: Cluster, successor: Member) -> Iterator[None]:
    """Have another member lead as soon as the leader has died, which it does in the block."""
    dead = cluster.leader

    def elect() -> None:
        while dead.is_up:
            threading.Event().wait(0.01)
        cluster.leader = successor

    election = threading.Thread(target=elect)
    election.start()
    yield
    election.join(30)
    assert not dead.is_up


def test_writes_go_to_the_leader_and_reads_to_its_followers(cluster: Cluster, client: MemoryGraph) -> None:
    for member in cluster.members:
        member.heard.clear()
    client.load(node("a"))
    assert client.node("a").name == "a"
    assert any(heard.writes for heard in cluster.leader.heard)
    assert not any(heard.writes for member in cluster.followers for heard in member.heard)
    assert any(member.heard for member in cluster.followers)


def test_each_read_has_the_bookmark_of_the_last_write(cluster: Cluster, client: MemoryGraph) -> None:
    for number in range(5):
        written = len(cluster.bookmarks)
        client.load(node(f"n{number}"))
        assert len(cluster.bookmarks) > written
        for member in cluster.followers:
            member.heard.clear()
        assert client.node(f"n{number}").name == f"n{number}"
        reads = [heard for member in cluster.followers for heard in member.heard]
        assert reads
        assert all(cluster.bookmarks[-1] in heard.bookmarks for heard in reads)


def test_a_read_waits_for_a_follower_that_lags_behind_and_sees_its_own_write(
    cluster: Cluster, client: MemoryGraph
) -> None:
    client.load(node("a"))
    for member in cluster.followers:
        member.caught_up.clear()
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append(client.node("a").name))
    reader.start()
    reader.join(0.5)
    assert found == []
    for member in cluster.followers:
        member.caught_up.set()
    reader.join(30)
    assert found == ["a"]


def test_a_leader_that_moves_is_followed_and_each_write_is_kept_once(
    cluster: Cluster, client: MemoryGraph, graph: MemoryGraph
) -> None:
    for number in range(6):
        cluster.leader = cluster.members[number % 3]
        report = client.load(node(f"n{number}"))
        assert (report.revision, report.nodes_created) == (number + 1, 1)
    assert names(graph) == [f"n{number}" for number in range(6)]
    assert revisions(graph) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "death",
    [Death(BEGIN), Death(RUN), Death(COMMIT), Death(COMMIT, passed_on=True)],
    ids=["at its beginning", "in its middle", "before the commit", "after the commit"],
)
def test_a_leader_that_dies_in_a_load_leaves_it_stored_once(
    cluster: Cluster, client: MemoryGraph, graph: MemoryGraph, death: Death
) -> None:
    client.load(node("before"))
    cluster.leader.death = death
    with succeeded_by(cluster, cluster.members[1]):
        report = client.load(node("a"))
    assert (report.revision, report.nodes_created) == (2, 1)
    assert names(graph) == ["a", "before"]
    assert revisions(graph) == [1, 2]
    assert client.load(node("after")).revision == 3


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda client: client.load(node("a")), id="one node"),
        pytest.param(lambda client: client.load(node("a") + node("b")), id="two nodes"),
        pytest.param(lambda client: client.delete("before"), id="deletion"),
        pytest.param(lambda client: client.undo(1), id="undo"),
        pytest.param(lambda client: client.entities.create([person("Bob", "sings")]), id="new entity"),
        pytest.param(lambda client: client.entities.create([person("Ada", "sings")]), id="known entity"),
        pytest.param(lambda client: client.entities.delete(["Ada"]), id="deleted entity"),
        pytest.param(lambda client: client.messages("talk").append(HI), id="message"),
        pytest.param(lambda client: client.messages("talk").extend([HI, HI]), id="messages"),
        pytest.param(lambda client: client.forget_conversation("talk"), id="forgetting"),
    ],
)
def test_a_read_after_a_write_whose_answer_was_lost_waits_for_that_write(
    cluster: Cluster, client: MemoryGraph, write: Callable[[MemoryGraph], object]
) -> None:
    client.load(node("before"))
    client.entities.create([person("Ada")])
    client.messages("talk").append(HI)
    cluster.leader.death = Death(COMMIT, passed_on=True)
    with succeeded_by(cluster, cluster.members[1]):
        write(client)
    for member in cluster.members:
        member.heard.clear()
    client.connection.read(Query("RETURN 1 AS one"))
    [lost] = cluster.lost
    [read] = [heard for member in cluster.followers for heard in member.heard]
    assert max(map(transaction_of, read.bookmarks), default=0) >= transaction_of(lost) > 0


def test_a_load_in_batches_goes_on_over_a_dead_leader(
    cluster: Cluster, client: MemoryGraph, graph: MemoryGraph, tmp_path: Path
) -> None:
    cluster.leader.death = Death(COMMIT, 3, passed_on=True)
    file = tmp_path / "many.ctx"
    file.write_text("\n".join(node(f"n{number}") for number in range(60)))
    with succeeded_by(cluster, cluster.members[2]):
        client.load_file(file, batch=10)
    assert len(names(graph)) == 60
    assert revisions(graph) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("death", [Death(RECORD, 50), Death(SUCCESS, 2), Death(RUN)], ids=["rows", "end", "question"])
def test_a_read_whose_member_dies_is_answered_by_another(
    cluster: Cluster, client: MemoryGraph, graph: MemoryGraph, death: Death
) -> None:
    client.load("\n".join(node(f"n{number}") for number in range(100)))
    client.node("n1")
    for member in cluster.followers:
        member.death = death
    query = "MATCH (n:Node {namespace: $namespace}) RETURN n.id AS id ORDER BY id"
    expected = graph.query(query)
    # The first dies at it, the second may too: then the leader answers.
    assert client.query(query) == expected
    assert sum(not member.is_up for member in cluster.followers) >= 1


def test_an_answer_that_breaks_off_is_never_taken_for_a_whole_one(cluster: Cluster, client: MemoryGraph) -> None:
    client.load(node("a"))
    for member in cluster.members:
        member.death = Death(RECORD, 1500)
    rows = client.connection.stream(Query("UNWIND range(1, $most) AS n RETURN n", {"most": ROWS}))
    with pytest.raises(ConnectionError):
        list(rows)


def test_a_router_that_names_members_that_are_gone_is_survived(
    cluster: Cluster, server: Server, graph: MemoryGraph
) -> None:
    nobody = Cluster(server[0], members=1)
    cluster.gone = [nobody.members[0].address]
    nobody.__exit__()
    with MemoryGraph(Connection(cluster.uri, server[1]), graph.namespace) as client:
        for number in range(4):
            client.load(node(f"n{number}"))
            assert client.node(f"n{number}").name == f"n{number}"
    assert len(names(graph)) == 4


def test_the_member_that_was_named_may_be_gone_later(cluster: Cluster, client: MemoryGraph, graph: MemoryGraph) -> None:
    client.load(node("a"))
    cluster.leader = cluster.members[1]
    cluster.members[0].die()
    assert client.load(node("b")).revision == 2
    assert names(client) == ["a", "b"]


def test_many_writers_lose_nothing_while_the_leader_moves_and_members_die(
    cluster: Cluster, client: MemoryGraph, graph: MemoryGraph
) -> None:
    reports: list[LoadReport] = []

    def write(writer: int) -> None:
        reports.extend(client.load(node(f"w{writer}-{number}")) for number in range(10))

    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in writers:
        thread.start()
    for leader in (1, 2, 1):
        threading.Event().wait(0.3)
        cluster.leader = cluster.members[leader]
    cluster.members[0].die()
    for thread in writers:
        thread.join(120)
    assert len(names(graph)) == 40
    assert sorted(report.revision for report in reports) == list(range(1, 41))
    assert revisions(graph) == list(range(1, 41))


def test_status_says_which_member_answered(cluster: Cluster, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    user, password = server[1] or ("neo4j", "")
    for name, value in (("NEO4J_URI", cluster.uri), ("NEO4J_USERNAME", user), ("NEO4J_PASSWORD", password)):
        monkeypatch.setenv(name, value)
    found = json.loads(CliRunner().invoke(cli, ["status", "--json"]).stdout)["server"]
    assert found["uri"] == cluster.uri
    assert found["reads"] in {member.address for member in cluster.followers}
    assert found["writes"] == cluster.leader.address
    assert found["problem"] is None
    said = CliRunner().invoke(cli, ["status"]).stdout
    assert f"writes are answered by {cluster.leader.address}" in said
    for member in cluster.members:
        member.die()
    found = json.loads(CliRunner().invoke(cli, ["status", "--json"]).stdout)["server"]
    assert "cannot" in found["problem"]
