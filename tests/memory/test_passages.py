"""A long message is found by each of its passages, and is one hit: itself, with the passage that fits best."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memorygraph import MemoryGraph
from memorygraph.memory import recall
from memorygraph.memory.recall import IndexingThread, IndexingWarning, Recalled, Recaller, recall_hits
from memorygraph.memory.vectors import Embedder, embed_missing
from memorygraph.messages.history import entries_of
from memorygraph.messages.indexing import date_messages, index_messages
from memorygraph.messages.message import Message
from memorygraph.messages.neo4j_storage import Neo4jStorage
from tests.memory.recalling import say
from tests.memory.test_recall import PointingEmbedder
from tests.shared_neo4j import new_namespace

TOPICS = ["the greyhound on the balcony", "a violin made in Cremona", "tickets for the night train"]
LONG = "\n\n".join(
    f"Let me tell you about {topic}. " + "One thing follows from another, as it does. " * 12 for topic in TOPICS
)
PARTS = "MATCH (m:Message {namespace: $namespace})-[:PASSAGE]->(p:Passage) RETURN p ORDER BY p.id"


def ask(graph: MemoryGraph, text: str, **options: Any) -> Recalled:
    return recall_hits(graph.scope, text, **options)


def passages(graph: MemoryGraph) -> list[dict[str, Any]]:
    return [row["p"] for row in graph.query(PARTS)]


def make_old(graph: MemoryGraph) -> None:
    """Have messages be as an earlier release stored them."""
    graph.query(
        "MATCH (m:Message {namespace: $namespace}) SET m.said = 'user (1 May 2024): ' + m.content REMOVE m.passages "
        "WITH m MATCH (m)-[:PASSAGE]->(p) DETACH DELETE p",
        write=True,
    )


@pytest.mark.parametrize("topic", TOPICS)
def test_a_long_message_is_found_by_each_of_its_passages(graph: MemoryGraph, topic: str) -> None:
    [id_] = say(graph, "talk", ("user", LONG))
    [hit] = ask(graph, topic, steps=False).hits
    assert (hit.id, hit.kind, hit.whole) == (id_, "message", LONG)
    assert topic in hit.text
    assert hit.text == LONG[hit.start : hit.end].strip()
    assert len(hit.text) < len(LONG) / 2


@pytest.mark.parametrize("topic", TOPICS)
def test_a_long_message_is_found_by_the_vector_of_each_of_its_passages(
    graph: MemoryGraph, embedder: Embedder, topic: str
) -> None:
    say(graph, "talk", ("user", LONG))
    assert embed_missing(graph.scope, embedder) == len(passages(graph))
    best = ask(graph, topic, embedder=embedder, steps=False).hits[0]
    assert best.source == "fulltext+vector"
    assert topic in best.text


def test_a_passage_is_no_hit_of_its_own_and_takes_no_place(graph: MemoryGraph) -> None:
    say(
        graph,
        "talk",
        ("user", f"{LONG} The greyhound barks."),
        ("user", "A greyhound!"),
        ("user", "No greyhound here."),
    )
    assert [hit.id for hit in ask(graph, "greyhound things", steps=False, limit=3).hits] == list(
        dict.fromkeys(hit.id for hit in ask(graph, "greyhound things", steps=False).hits)
    )
    assert len(ask(graph, "greyhound things", steps=False).hits) == 3


def test_a_short_message_is_its_own_passage(graph: MemoryGraph) -> None:
    say(graph, "talk", ("user", "The greyhound sleeps."))
    assert passages(graph) == []
    [hit] = ask(graph, "greyhound").hits
    assert (hit.text, hit.start, hit.end, hit.whole) == ("The greyhound sleeps.", None, None, None)


def test_a_long_neighbour_shows_its_first_passage(graph: MemoryGraph) -> None:
    say(graph, "talk", ("Ada", "Did you hear about the harpsichord?"), ("Ben", LONG))
    neighbour = ask(graph, "harpsichord").hits[1]
    assert neighbour.source == "neighbour"
    assert LONG.startswith(neighbour.text)


def test_a_prompt_has_the_passage_and_the_json_has_not_the_whole(graph: MemoryGraph) -> None:
    say(graph, "talk", ("user", LONG))
    found = ask(graph, TOPICS[1])
    assert TOPICS[1] in str(found)
    assert TOPICS[0] not in str(found)
    [hit] = found.as_dict()["hits"]
    assert "whole" not in hit
    assert hit["end"] > hit["start"] > 0


@pytest.mark.parametrize("way", ["append", "extend", "add_path"])
def test_passages_are_stored_with_their_message_however_that_is_stored(graph: MemoryGraph, way: str) -> None:
    history = graph.messages("talk")
    if way == "append":
        history.append({"role": "user", "content": LONG})
    elif way == "extend":
        history.extend([{"role": "user", "content": LONG}, {"role": "assistant", "content": "I see."}])
    else:
        other = graph.messages("other")
        other.append({"role": "user", "content": LONG})
        Neo4jStorage(graph.scope, "talk").add_path(other.entries())
    parts = passages(graph)
    assert [part["id"].rpartition("-")[2] for part in parts] == [str(i + 1) for i in range(len(parts))]
    assert "".join(LONG[slice(*part["span"])] for part in parts) == LONG
    assert graph.broken_invariants() == []


def test_a_message_that_two_conversations_share_has_its_passages_once_and_is_found_in_both(graph: MemoryGraph) -> None:
    say(graph, "first", ("user", LONG))
    once = passages(graph)
    say(graph, "second", ("user", LONG), ("user", "And more."))
    assert [part["id"] for part in passages(graph)] == [part["id"] for part in once]
    for name in ("first", "second"):
        assert [TOPICS[2] in hit.text for hit in ask(graph, "night train", conversation=name, steps=False).hits] == [
            True
        ]


def test_the_passages_of_a_message_are_written_once_for_each_conversation_that_has_it(graph: MemoryGraph) -> None:
    prompt, asked = {"role": "system", "content": LONG}, {"role": "user", "content": "Which train?"}
    history = graph.messages("talk")
    history.append(prompt)
    written = "MATCH (passage:Passage {namespace: $namespace}) "
    graph.query(f"{written} SET passage.home = 'as it was'", write=True)
    history.branch(at=0).extend([prompt, asked])
    history.append(asked, subgraph=[prompt, asked])
    homes = f"{written} RETURN DISTINCT passage.home AS home"
    assert graph.query(homes) == [{"home": "as it was"}]
    graph.messages("other").extend([prompt, asked])
    assert graph.query(homes) == [{"home": ""}]
    assert graph.broken_invariants() == []


def test_a_conversation_that_recall_does_not_read_has_no_passages(graph: MemoryGraph) -> None:
    from memorygraph.messages.graph import MessageGraph

    MessageGraph(storage=Neo4jStorage(graph.scope, "private", recalled=False)).append({"role": "user", "content": LONG})
    assert passages(graph) == []
    assert index_messages(graph.scope) == 0
    assert ask(graph, "greyhound").hits == ()


def test_a_message_that_recall_did_not_find_is_found_once_a_recorded_conversation_has_it_too(
    graph: MemoryGraph,
) -> None:
    asked, answered = {"role": "user", "content": LONG}, {"role": "assistant", "content": "Well."}
    Neo4jStorage(graph.scope, "private", recalled=False).add_path(entries_of([Message.of(asked)]))
    assert ask(graph, "greyhound").hits == ()
    graph.messages("talk").add_path([asked, answered])
    assert [hit.conversation for hit in ask(graph, "greyhound", conversation="talk", steps=False).hits] == ["talk"]


def test_passages_know_when_they_were_said(graph: MemoryGraph) -> None:
    ids = say(graph, "talk", ("Ada", LONG))
    date_messages(graph.scope, "talk", {ids[0]: datetime(2023, 5, 8, tzinfo=UTC)})
    assert all(part["said"].startswith("Ada (8 May 2023): ") for part in passages(graph))
    assert ask(graph, "What was on 8 May 2023?").hits[0].at == "2023-05-08T00:00:00Z"


def test_a_vector_of_a_text_with_another_day_is_made_anew(graph: MemoryGraph) -> None:
    ids = say(graph, "talk", ("Ada", LONG), ("Ben", "Well."))
    having = (
        "MATCH (part:Message|Passage {namespace: $namespace}) WHERE part.embedding IS NOT NULL OR "
        "part.embedding_model IS NOT NULL RETURN count(part) AS parts"
    )
    count = embed_missing(graph.scope, PointingEmbedder())
    assert graph.query(having) == [{"parts": count}]
    dates = dict.fromkeys(ids, datetime(2023, 5, 8, tzinfo=UTC))
    date_messages(graph.scope, "talk", dates)
    assert graph.query(having) == [{"parts": 0}]
    assert embed_missing(graph.scope, PointingEmbedder()) == count
    date_messages(graph.scope, "talk", dates)  # the same day
    assert embed_missing(graph.scope, PointingEmbedder()) == 0


def test_what_is_not_indexed_of_a_very_long_conversation_is_listed_at_once(graph: MemoryGraph) -> None:
    history = graph.messages("talk")
    history.extend([{"role": "user", "content": f"{place}"} for place in range(5000)])
    ids = [entry.id for entry in history.entries()]
    make_old(graph)
    assert graph.scope.read("recall/unindexed-messages", limit=1) == [{"conversation": "talk", "ids": ids}]
    graph.query("MATCH (m:Message {namespace: $namespace, id: $id}) SET m.passages = 0", {"id": ids[4000]}, write=True)
    assert graph.scope.read("recall/unindexed-messages", limit=1) == [{"conversation": "talk", "ids": ids[4001:]}]


def test_what_an_earlier_release_stored_is_found_at_once_and_divided_by_the_first_recall(graph: MemoryGraph) -> None:
    say(graph, "talk", ("user", LONG), ("user", "And a greyhound."))
    make_old(graph)
    assert TOPICS[1] in ask(graph, "Cremona").hits[0].whole  # type: ignore[operator]
    heard: list[tuple[int, int]] = []
    assert graph.index_messages(lambda done, total: heard.append((done, total))) == 2
    assert heard == [(2, 2)]
    assert TOPICS[1] in ask(graph, "Cremona").hits[0].text
    assert graph.broken_invariants() == []
    assert graph.index_messages() == 0


def test_indexing_that_was_interrupted_goes_on(graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = say(graph, "talk", *(("user", f"{LONG} Number {i}.") for i in range(5)))
    make_old(graph)
    monkeypatch.setattr("memorygraph.messages.indexing.MAX_ROWS_PER_QUERY", 2)

    def stop(done: int, _total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        graph.index_messages(stop)
    assert graph.index_messages() == 3
    assert graph.broken_invariants() == []
    assert len({part["id"].partition("-")[0] for part in passages(graph)}) == len(ids)


def test_recalls_at_once_index_once(graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    start, started = IndexingThread.start, list[IndexingThread]()

    def start_late(thread: IndexingThread) -> None:
        started.append(thread)
        time.sleep(0.2)
        start(thread)

    monkeypatch.setattr(IndexingThread, "start", start_late)
    recaller = Recaller(graph.scope)
    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(lambda _: recaller.index(), range(4))] == [None] * 4
    assert len(started) == 1


def test_a_recall_does_not_wait_for_what_takes_long_to_index(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(graph, "talk", ("user", LONG))
    make_old(graph)
    monkeypatch.setattr(recall, "INDEX_SECONDS", 0.0)
    monkeypatch.delenv("MEMORYGRAPH_EMBEDDING_MODEL", raising=False)
    goes_on = threading.Event()
    monkeypatch.setattr(recall, "index_messages", lambda *given: goes_on.wait(60) and index_messages(*given))
    recaller = Recaller(graph.scope)
    with pytest.warns(IndexingWarning, match=r"still being indexed \(1 are left\).*messages index"):
        assert recaller("Cremona", budget=None, at=None).hits  # by its whole text
    goes_on.set()
    while not passages(graph):
        time.sleep(0.05)
    assert TOPICS[1] in recaller("Cremona", budget=None, at=None).hits[0].text


def test_a_chat_has_what_an_earlier_release_stored_be_indexed(graph: MemoryGraph) -> None:
    say(graph, "talk", ("user", LONG))
    make_old(graph)
    assert passages(graph) == []
    graph.chat()
    assert passages(graph)


def test_an_error_of_the_background_is_one_of_the_next_recall(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_namespace: object, _progress: object) -> int:
        raise OSError("no such disk")

    say(graph, "talk", ("user", LONG))
    make_old(graph)
    monkeypatch.setattr(recall, "index_messages", fail)
    with pytest.raises(OSError, match="no such disk"):
        Recaller(graph.scope)("Cremona", budget=None, at=None)


def test_a_dropped_namespace_leaves_no_passage(graph: MemoryGraph) -> None:
    say(graph, "talk", ("user", LONG))
    graph.load("")
    graph.drop_namespace(graph.namespace)
    assert graph.query("MATCH (p:Passage {namespace: $namespace}) RETURN p") == []


@pytest.mark.slow
def test_a_bundle_carries_passages(graph: MemoryGraph, tmp_path: Path) -> None:
    say(graph, "talk", ("user", LONG))
    report = graph.export_bundle(tmp_path / "bundle")
    assert not report.left_out
    copy = MemoryGraph(graph.connection, new_namespace())
    copy.import_bundle(tmp_path / "bundle")
    assert copy.export_bundle(tmp_path / "again").sha256 == report.sha256
    assert TOPICS[1] in ask(copy, "Cremona").hits[0].text
    assert copy.broken_invariants() == []
