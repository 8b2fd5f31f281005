"""What Neo4j keeps: nothing twice, nothing lost, nothing changed unseen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import neo4j
import pytest

from memorygraph import ConflictError, MemoryGraph, MemoryGraphError, NotFoundError
from memorygraph.graph.connection import Connection
from memorygraph.graph.namespace import Namespace, NamespaceTransaction
from memorygraph.messages.graph import MessageGraph
from memorygraph.messages.message import ROOT, Message, message_id
from memorygraph.messages.neo4j_storage import MAX_ROWS_PER_CHANGE, Neo4jStorage, list_stored_conversations
from memorygraph.query import Query
from tests.writers import lose_replies, together

InNeo4j = Callable[[str], MessageGraph]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def talk(length: int) -> list[dict[str, Any]]:
    return [user(f"question {i}") if i % 2 == 0 else assistant(f"answer {i}") for i in range(length)]


@pytest.fixture
def rows(connection: Connection, namespace: str) -> Callable[..., list[dict[str, Any]]]:
    """Runs Cypher on the namespace."""

    def run(cypher: str, **parameters: Any) -> list[dict[str, Any]]:
        query = Query(cypher, {"namespace": namespace, **parameters})
        return connection.write(lambda transaction: transaction.run(query))

    return run


def count(rows: Callable[..., list[dict[str, Any]]]) -> int:
    return int(rows("MATCH (m:Message {namespace: $namespace}) RETURN count(m) AS n")[0]["n"])


def test_what_is_shared_is_stored_once(in_neo4j: InNeo4j, rows: Any) -> None:
    history = in_neo4j("talk")
    history.extend(talk(100))
    for i in range(50):
        history.branch(at=2 * i + 1).append(assistant(f"another answer {i}"))
    assert count(rows) == 150
    in_neo4j("other").extend(talk(100))
    assert count(rows) == 150
    assert len(in_neo4j("talk").versions()) == 51
    [links] = rows("MATCH (:Message {namespace: $namespace})-[next:NEXT]->() RETURN count(next) AS n")
    assert links["n"] == 149


def test_conversations_are_listed(connection: Connection, namespace: str, in_neo4j: InNeo4j) -> None:
    assert not in_neo4j("a").stored
    in_neo4j("b").append(user("x"))
    history = in_neo4j("a")
    history.extend(talk(2))
    history[0] = user("edited")
    listed = [info.as_dict() for info in list_stored_conversations(Namespace(connection, namespace))]
    assert listed == [
        {"name": "a", "versions": 2, "version": 2, "messages": 2},
        {"name": "b", "versions": 1, "version": 1, "messages": 1},
    ]


def test_namespaces_are_walls(connection: Connection, namespace: str, in_neo4j: InNeo4j) -> None:
    in_neo4j("talk").extend(talk(2))
    other = MessageGraph(storage=Neo4jStorage(Namespace(connection, namespace + "-other"), "talk"))
    assert len(other) == 0
    assert not other.stored


def with_a_clock(said: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"role": "system", "content": f"It is 12:0{len(said)}."}, *said]


def of_the_last_four(said: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"role": "system", "content": "Help."}, *said[-4:]]


@pytest.mark.parametrize("sent", [with_a_clock, of_the_last_four])
def test_what_recorded_lists_say_again_on_other_paths_has_the_time_at_which_it_was_first_said(
    in_neo4j: InNeo4j, rows: Any, sent: Callable[[Sequence[dict[str, Any]]], list[dict[str, Any]]]
) -> None:
    history, said = in_neo4j("c"), [*talk(7), assistant("answer 1")]
    for length in (2, 4, 6, 8):
        history.add_path(sent(said[:length]))
        history.add_path([user(f"A title for {length} messages, please."), assistant("Talk")])
    assert len(history.versions()) > 1
    found = rows(
        "MATCH (message:Message {namespace: $namespace}) WHERE message.body IN $bodies "
        "RETURN DISTINCT message.body AS body, message.said_at AS at ORDER BY at, body DESC",
        bodies=[Message.of(each).body for each in said],
    )
    assert [row["body"] for row in found] == [Message.of(each).body for each in said]


@pytest.mark.parametrize("edit", ["append", "replace", "pop", "add_path", "branch"])
@pytest.mark.parametrize("lost", [1, 2])
def test_a_commit_whose_acknowledgement_is_lost_is_applied_once(
    in_neo4j: InNeo4j, monkeypatch: pytest.MonkeyPatch, edit: str, lost: int
) -> None:
    history = in_neo4j("talk")
    history.extend(talk(3))
    lose_replies(monkeypatch, lost)
    edits: dict[str, Callable[[], Any]] = {
        "append": lambda: history.append(user("new")),
        "replace": lambda: history.__setitem__(0, user("new")),
        "pop": history.pop,
        "add_path": lambda: history.add_path([*talk(2), assistant("new")]),
        "branch": lambda: history.branch(at=2),
    }
    edits[edit]()
    monkeypatch.undo()
    found = in_neo4j("talk")
    expected = {"append": (1, 4), "replace": (2, 3), "pop": (1, 2), "add_path": (2, 3), "branch": (2, 2)}
    assert (len(found.versions()), len(found)) == expected[edit]
    assert found.verify().ok
    if edit in ("append", "replace", "pop"):
        history.append(user("after"))


def test_an_append_whose_acknowledgement_is_lost_is_known_after_others(
    in_neo4j: InNeo4j, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is found by its message, however much was written meanwhile, and is said to be sampled."""
    history = in_neo4j("talk")
    history.extend(talk(3))
    assert len(history.entries()) == 3

    def append_others() -> None:
        others = in_neo4j("talk")
        for i in range(40):
            others.append(user(f"meanwhile {i}"))

    lose_replies(monkeypatch, meanwhile=append_others)
    history.append(assistant("new"))
    monkeypatch.undo()
    assert history.entry(3).sampled
    found = in_neo4j("talk")
    assert [message["content"] for message in found[3:5]] == ["new", "meanwhile 0"]
    assert (len(found.versions()), len(found)) == (1, 44)
    with pytest.raises(ConflictError):
        history.append(user("late"))


def appended(rows: Any, name: str) -> bool:
    """Whether the last message was put there by the short way of an append."""
    [row] = rows(
        "MATCH (:Conversation {namespace: $namespace, name: $name})-[:HEAD]->(:Version)-[:TIP]->(tip:Message) "
        "RETURN tip.operation IS NOT NULL AS short",
        name=name,
    )
    return bool(row["short"])


def test_of_two_concurrent_appends_one_gets_the_conflict(in_neo4j: InNeo4j, rows: Any) -> None:
    in_neo4j("talk").extend(talk(2))
    for round_ in range(5):
        graphs = [in_neo4j("talk") for _ in range(2)]
        assert {len(graph) for graph in graphs} == {2 + round_}
        outcomes = together(*(partial(graph.append, user(f"{round_} {i}")) for i, graph in enumerate(graphs)))
        assert sum(outcome is None for outcome in outcomes) == 1, outcomes
        [conflict] = [outcome for outcome in outcomes if isinstance(outcome, ConflictError)]
        assert "was changed by another writer" in str(conflict)
        assert appended(rows, "talk")
    assert len(in_neo4j("talk")) == 7
    assert in_neo4j("talk").verify().ok


@pytest.mark.parametrize("begun_again", [False, True])
def test_a_branch_of_a_conversation_that_was_forgotten_meanwhile_is_a_conflict(
    connection: Connection, namespace: str, in_neo4j: InNeo4j, begun_again: bool
) -> None:
    history = in_neo4j("talk")
    history.extend(talk(3))
    MemoryGraph(connection, namespace).forget_conversation("talk")
    if begun_again:
        in_neo4j("talk").append(user("new"))
    with pytest.raises(ConflictError, match="look at the conversation again"):
        history.branch()
    now = [user("new")] if begun_again else []
    assert history == in_neo4j("talk") == now
    assert in_neo4j("talk").verify().versions == len(now)


def test_a_list_whose_conversation_was_forgotten_before_it_was_read_says_so_and_can_be_refreshed(
    connection: Connection, namespace: str, in_neo4j: InNeo4j
) -> None:
    in_neo4j("talk").extend(talk(3))
    late = in_neo4j("talk")
    assert len(late) == 3
    MemoryGraph(connection, namespace).forget_conversation("talk")
    with pytest.raises(NotFoundError, match=r"conversation `talk` was forgotten since .* `refresh\(\)`"):
        late[0]
    late.refresh()
    assert late == []


@pytest.mark.parametrize("write", ["append", "add_path"])
def test_the_name_of_a_conversation_is_at_most_as_long_as_that_of_a_node(in_neo4j: InNeo4j, write: str) -> None:
    messages: Any = user("hello") if write == "append" else [user("hello")]
    longest = "\U0001f600" * 1500
    getattr(in_neo4j(longest), write)(messages)
    assert in_neo4j(longest) == [user("hello")]
    with pytest.raises(MemoryGraphError, match=r"^the name of a conversation has at most 1,500 .* 9,000: nn"):
        getattr(in_neo4j("n" * 9000), write)(messages)


def test_an_append_to_a_version_that_was_replaced_says_so(in_neo4j: InNeo4j) -> None:
    history, late = in_neo4j("talk"), in_neo4j("talk")
    history.extend(talk(4))
    assert len(late) == 4
    history[0] = user("edited")
    with pytest.raises(ConflictError, match="was replaced by a newer version"):
        late.append(user("late"))
    assert late == history
    late.append(user("after"))
    assert [version.length for version in in_neo4j("talk").versions()] == [4, 5]


def test_appends_race_with_edits_and_records(in_neo4j: InNeo4j) -> None:
    """Whoever is acknowledged is in some version, and nobody waits for another forever."""
    start = talk(4)
    in_neo4j("talk").extend(start)

    def append(writer: int) -> str:
        in_neo4j("talk").append(user(f"append {writer}"))
        return f"append {writer}"

    def edit(writer: int) -> str:
        in_neo4j("talk")[0] = user(f"edit {writer}")
        return f"edit {writer}"

    def record(writer: int) -> str:
        in_neo4j("talk").add_path([*start, user(f"record {writer}")])
        return f"record {writer}"

    def branch(writer: int) -> str:
        in_neo4j("talk").branch(at=2).append(user(f"branch {writer}"))
        return f"branch {writer}"

    outcomes = together(*(partial(work, i) for i in range(6) for work in (append, edit, record, branch)))
    assert all(isinstance(outcome, (str, ConflictError)) for outcome in outcomes), outcomes
    history = in_neo4j("talk")
    said = {message["content"] for v in history.versions() for message in history.checkout(v).messages}
    assert {outcome for outcome in outcomes if isinstance(outcome, str)} <= said
    assert {f"record {i}" for i in range(6)} <= said
    assert [version.number for version in history.versions()] == list(range(1, len(history.versions()) + 1))
    assert history.verify().ok


def test_an_append_of_what_is_stored_already_shares_it(in_neo4j: InNeo4j, rows: Any) -> None:
    in_neo4j("other").extend(talk(4))
    history = in_neo4j("talk")
    history.extend(talk(3))
    history.append(assistant("answer 3"))
    assert not appended(rows, "talk")
    assert count(rows) == 4
    history.append(user("and"))
    assert appended(rows, "talk")
    assert in_neo4j("talk").messages == [*talk(4), user("and")]
    assert in_neo4j("other").messages == talk(4)
    unsampled = in_neo4j("third")
    unsampled.append(user("question 0"))
    unsampled.append(assistant("answer 1"), sampled=False)
    assert not unsampled[1].off_policy
    assert unsampled.verify().ok


def test_an_append_to_another_version_moves_the_head(in_neo4j: InNeo4j, rows: Any) -> None:
    history = in_neo4j("talk")
    history.extend(talk(2))
    other = history.branch(at=1)
    assert in_neo4j("talk").version.number == 2
    history.append(user("here"))
    assert not appended(rows, "talk")
    assert in_neo4j("talk").version.number == 1
    history.append(user("again"))
    assert appended(rows, "talk")
    other.append(user("there"))
    assert in_neo4j("talk").messages == [user("question 0"), user("there")]
    [heads] = rows("MATCH (:Conversation {namespace: $namespace})-[head:HEAD]->() RETURN count(head) AS n")
    [tips] = rows("MATCH (:Version {namespace: $namespace})-[tip:TIP]->() RETURN count(tip) AS n")
    assert (heads["n"], tips["n"]) == (1, 2)


def test_what_an_earlier_release_stored_goes_on(in_neo4j: InNeo4j, rows: Any) -> None:
    """Its messages have no seal and no operation, and its conversations another lock value."""
    history = in_neo4j("talk")
    history.extend(talk(4))
    rows("MATCH (m:Message {namespace: $namespace}) REMOVE m.seal, m.operation")
    rows("MATCH (c:Conversation {namespace: $namespace}) SET c.operation = 7")
    assert history.verify().ok
    history.append(user("more"))
    history.add_path([*talk(4), user("more"), assistant("answer")])
    found = in_neo4j("talk")
    assert found.messages == [*talk(4), user("more"), assistant("answer")]
    assert [entry.off_policy for entry in found.entries()] == [False] * 6
    assert found.verify().ok


def test_of_concurrent_edits_exactly_one_wins(in_neo4j: InNeo4j) -> None:
    in_neo4j("talk").extend(talk(4))
    for round_ in range(5):
        graphs = [in_neo4j("talk") for _ in range(4)]
        lengths = {len(graph) for graph in graphs}
        assert lengths == {4}
        works = [
            partial(MessageGraph.__setitem__, graph, 0, user(f"edit {round_} {i}")) for i, graph in enumerate(graphs)
        ]
        outcomes = together(*works)
        assert sum(outcome is None for outcome in outcomes) == 1, outcomes
        assert sum(isinstance(outcome, ConflictError) for outcome in outcomes) == 3
    history = in_neo4j("talk")
    assert len(history.versions()) == 6
    assert [v.replaces for v in history.versions()] == [None, 1, 2, 3, 4, 5]
    assert history.verify().ok


def test_a_version_whose_successor_is_not_read_yet_stays_until_it_is(in_neo4j: InNeo4j, rows: Any) -> None:
    """What is committed while the versions are read may be seen by halves: here it is stored so."""
    history = in_neo4j("talk")
    history.extend(talk(2))
    in_neo4j("talk")[0] = user("edited")
    rows("MATCH (:Conversation {namespace: $namespace})-[listed:VERSION]->(:Version {number: 2}) DELETE listed")
    history.refresh()
    assert (history.version.number, history.version.replaced) == (1, True)
    assert history.messages == talk(2)
    with pytest.raises(ConflictError):
        history.append(user("too late"))
    rows(
        "MATCH (c:Conversation {namespace: $namespace}), (v:Version {namespace: $namespace, number: 2}) "
        "CREATE (c)-[:VERSION]->(v)"
    )
    history.refresh()
    assert history.messages == [user("edited"), assistant("answer 1")]


def test_32_recorders_lose_nothing(in_neo4j: InNeo4j) -> None:
    start = talk(4)
    in_neo4j("talk").extend(start)
    paths = [[*start, user("and?"), assistant(f"answer of {i}")] for i in range(32)]

    def record(path: list[dict[str, Any]]) -> int:
        return in_neo4j("talk").add_path(path).number

    outcomes = together(*(partial(record, path) for path in paths))
    assert [outcome for outcome in outcomes if isinstance(outcome, Exception)] == []
    history = in_neo4j("talk")
    stored = [history.checkout(version).messages for version in history.versions()]
    assert sorted(map(str, stored)) == sorted(map(str, paths))
    assert [version.number for version in history.versions()] == list(range(1, 33))
    assert history.verify().ok


TAMPERING = {
    "body": "MATCH (m:Message {namespace: $namespace, id: $id}) SET m.body = replace(m.body, 'answer 3', 'answer 4')",
    "spelling": "MATCH (m:Message {namespace: $namespace, id: $id}) SET m.body = m.body + ' '",
    "no message": "MATCH (m:Message {namespace: $namespace, id: $id}) SET m.body = '{'",
    "no text": "MATCH (m:Message {namespace: $namespace, id: $id}) SET m.body = 7",
    "nothing": "MATCH (m:Message {namespace: $namespace, id: $id}) SET m.body = null",
    "readable content": "MATCH (m:Message {namespace: $namespace, id: $id}) SET m.content = 'answer 4'",
    "readable role": "MATCH (m:Message {namespace: $namespace, id: $id}) SET m.role = 'user'",
    "sampled": "MATCH (m:Message {namespace: $namespace, id: $id}) SET m.sampled = false",
    "seal": "MATCH (m:Message {namespace: $namespace, id: $id}) SET m.seal = '0' + substring(m.seal, 1) + 'x'",
    "metadata": (
        "MATCH (:Message {namespace: $namespace, id: $id})-[:HAS]->(d:Metadata) SET d.body = replace(d.body, '1', '2')"
    ),
}


@pytest.mark.parametrize("change", list(TAMPERING))
def test_one_byte_of_one_message_is_found(in_neo4j: InNeo4j, rows: Any, change: str) -> None:
    history = in_neo4j("talk")
    history.extend(talk(6))
    history.attach(3, {"seconds": 1})
    assert history.verify().ok
    rows(TAMPERING[change], id=history.entry(3).id)
    fault = in_neo4j("talk").verify().fault
    assert fault is not None
    assert (fault.version, fault.index, fault.message_id) == (1, 3, history.entry(3).id)


def test_a_tip_that_is_moved_while_it_is_read_is_read_again(
    in_neo4j: InNeo4j, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_neo4j("talk").extend(talk(2))
    [tip] = rows("MATCH (:Version {namespace: $namespace})-[pointer:TIP]->(tip) DELETE pointer RETURN tip.id AS id")
    read = Namespace.read

    def read_early(namespace: Namespace, query: str, /, **parameters: Any) -> list[dict[str, Any]]:
        found = read(namespace, query, **parameters)
        rows(
            "MATCH (version:Version {namespace: $namespace}), (tip:Message {namespace: $namespace, id: $id}) "
            "MERGE (version)-[:TIP]->(tip)",
            **tip,
        )
        return found

    monkeypatch.setattr(Namespace, "read", read_early)
    assert in_neo4j("talk") == talk(2)


@pytest.mark.parametrize("body", ["not json", "[]", '{"a":1}', "7", '{"metadata":7,"subgraph":[]}', None])
def test_metadata_that_is_none_any_more_is_named(in_neo4j: InNeo4j, rows: Any, body: str | None) -> None:
    history = in_neo4j("talk")
    history.extend(talk(2))
    history.attach(1, {"seconds": 1})
    rows("MATCH (kept:Metadata {namespace: $namespace}) SET kept.body = $body", body=body)
    fault = in_neo4j("talk").verify().fault
    assert fault is not None
    assert (fault.index, fault.reason) == (1, "its metadata is not what its id is the hash of")
    with pytest.raises(MemoryGraphError, match=r"metadata of message `[0-9a-f]+` was altered.*messages verify"):
        in_neo4j("talk").metadata(1)


def test_a_link_that_was_cut_or_moved_is_found(in_neo4j: InNeo4j, rows: Any) -> None:
    history = in_neo4j("talk")
    history.extend(talk(6))
    rows(
        "MATCH (:Message {namespace: $namespace})-[n:NEXT]->(:Message {namespace: $namespace, id: $id}) DELETE n",
        id=history.entry(3).id,
    )
    fault = in_neo4j("talk").verify().fault
    assert fault is not None
    assert fault.message_id == history.entry(3).id


def test_a_subagent_is_reached_from_cypher(in_neo4j: InNeo4j, rows: Any) -> None:
    history = in_neo4j("talk")
    history.append({"role": "tool", "tool_call_id": "c", "content": "out", "subgraph": [user("in"), assistant("a")]})
    [row] = rows(
        "MATCH (:Message {namespace: $namespace, role: 'tool'})-[:HAS]->(d:Metadata)-[:CONTAINS]->(tip:Message) "
        "MATCH (first:Message)-[:NEXT*]->(tip) RETURN d.length AS length, tip.content AS last, first.content AS first"
    )
    assert row == {"length": 2, "last": "a", "first": "in"}
    assert count(rows) == 3


def test_a_subagent_with_a_conversation_of_its_own_is_not_stored_again(in_neo4j: InNeo4j, rows: Any) -> None:
    inner = in_neo4j("inner")
    inner.extend(talk(4))
    inner.append({"role": "tool", "tool_call_id": "d", "content": "deep", "subgraph": [user("deepest")]})
    in_neo4j("talk").append({"role": "tool", "tool_call_id": "c", "content": "out", "subgraph": inner})
    assert count(rows) == 4 + 1 + 1 + 1
    found = in_neo4j("talk")[0].subgraph
    assert found == inner
    assert found[4].subgraph == [user("deepest")]


def ids(length: int) -> Iterator[str]:
    parent = ROOT
    for message in talk(length):
        parent = message_id(Message.of(message), parent)
        yield parent


@pytest.mark.slow
def test_ten_thousand_messages(in_neo4j: InNeo4j) -> None:
    history = in_neo4j("talk")
    history.extend(talk(10_000))
    history.append(user("last"))
    found = in_neo4j("talk")
    assert (len(found), found[-1]["content"], found[5000]["content"]) == (10_001, "last", "question 5000")
    assert [entry.id for entry in found.entries()[:-1]] == list(ids(10_000))
    found[9_990] = user("edited")
    assert [version.at for version in found.versions()] == [None, 9_990]
    assert found.verify().ok


def test_a_change_too_long_for_one_transaction(in_neo4j: InNeo4j, monkeypatch: pytest.MonkeyPatch) -> None:
    """The way of 100,000 messages, gone with few."""
    assert MAX_ROWS_PER_CHANGE > 100
    monkeypatch.setattr("memorygraph.messages.neo4j_storage.MAX_ROWS_PER_CHANGE", 50)
    monkeypatch.setattr("memorygraph.messages.neo4j_storage.MAX_ROWS_PER_QUERY", 20)
    history, late = in_neo4j("talk"), in_neo4j("talk")
    history.append(user("start"))
    assert len(late) == 1
    history.extend(talk(101))
    assert [entry.off_policy for entry in history.entries()] == [False] * 102
    assert [entry.sampled for entry in history.entries()] == [entry.sampled for entry in in_neo4j("talk").entries()]
    with pytest.raises(ConflictError):
        late.extend([assistant("other"), *talk(101)])
    assert in_neo4j("talk").messages == [user("start"), *talk(101)]
    history[0] = user("edited")
    assert sum(entry.off_policy for entry in in_neo4j("talk").entries()) == 50
    assert history.verify().ok


def test_a_path_too_long_for_one_transaction_is_stored_ahead_and_what_is_stored_of_it_is_not_written_again(
    in_neo4j: InNeo4j, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorygraph.messages.neo4j_storage.MAX_ROWS_PER_CHANGE", 50)
    monkeypatch.setattr("memorygraph.messages.neo4j_storage.MAX_ROWS_PER_QUERY", 20)
    written: list[int] = []
    run, commit = NamespaceTransaction.run, neo4j.Transaction.commit

    def run_and_count(transaction: NamespaceTransaction, query: str | Query, /, **parameters: Any) -> Any:
        if query in ("messages/write-messages", "messages/change-version"):
            written[-1] += len(parameters["rows"])
        return run(transaction, query, **parameters)

    def commit_and_begin(transaction: neo4j.Transaction) -> None:
        commit(transaction)
        written.append(0)

    def added(name: str, messages: list[dict[str, Any]]) -> list[int]:
        written[:] = [0]
        in_neo4j(name).add_path(messages, sampled=range(1, 101, 2))
        return written[:-1]

    history = in_neo4j("talk")
    monkeypatch.setattr(NamespaceTransaction, "run", run_and_count)
    monkeypatch.setattr(neo4j.Transaction, "commit", commit_and_begin)
    assert added("talk", talk(101)) == [20, 20, 20, 20, 1, 20]
    assert added("copy", talk(101)) == [20, 20, 20, 20, 1, 20]  # they are of this conversation, too
    assert added("talk", talk(103)) == [2]
    assert added("talk", talk(103)) == [0]
    assert history.messages == talk(103)
    assert in_neo4j("copy").messages == talk(101)
    assert [entry.sampled for entry in history.entries()] == [i % 2 == 1 and i < 100 for i in range(103)]
    assert [entry.off_policy for entry in history.entries()].count(True) == 1
    assert (history.verify().ok, count(rows)) == (True, 103)


@pytest.mark.slow
def test_a_hundred_thousand_messages(in_neo4j: InNeo4j) -> None:
    history = in_neo4j("talk")
    history.extend(talk(100_000))
    history.append(user("last"))
    found = in_neo4j("talk")
    assert (len(found.entries()), found[-1]["content"]) == (100_001, "last")
    assert found.verify().ok
