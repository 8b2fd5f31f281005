"""A prompt that very many conversations share: found in each, and written anew for none of those that follow."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from memorygraph import MemoryGraph
from memorygraph.graph import search
from memorygraph.graph.search import SHARED_TOKEN
from memorygraph.memory.recall import MESSAGE_DEPTH, recall_hits
from memorygraph.messages import neo4j_storage
from memorygraph.messages.indexing import index_messages
from tests.examples import every_nth

PROMPT = " ".join(f"Rule {number}: be kind to whoever asks." for number in range(60)) + " Never mention marmalade."
NAMES = [f"talk {number}" for number in range(7)]


@pytest.fixture(autouse=True)
def few_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the index name three conversations of a message."""
    monkeypatch.setattr(search, "MAX_NAMED", 3)


def talk(graph: MemoryGraph, name: str, prompt: str = PROMPT) -> None:
    """Begin a conversation with the prompt."""
    graph.messages(name).extend([{"role": "system", "content": prompt}, {"role": "user", "content": f"I am {name}."}])


def found_in(graph: MemoryGraph, name: str, text: str = "marmalade") -> list[str]:
    """What a recall in a conversation finds by words."""
    return [hit.text for hit in recall_hits(graph.scope, text, conversation=name, steps=False).hits]


def words(graph: MemoryGraph) -> set[str]:
    """The words by which the prompt and its passages are found."""
    rows = graph.query(
        "MATCH (message:Message {namespace: $namespace, role: 'system'}) "
        "UNWIND [message] + [(message)-[:PASSAGE]->(part) | part] AS found RETURN found.namespace_token AS words"
    )
    assert len(rows) > 3
    return {row["words"] for row in rows}


@pytest.mark.parametrize("rows_of_a_query", [1, 100])
def test_the_index_names_the_first_conversations_of_a_prompt_and_then_all_others_at_once(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, rows_of_a_query: int
) -> None:
    monkeypatch.setattr(neo4j_storage, "MAX_ROWS_PER_QUERY", rows_of_a_query)
    for name in NAMES[:4]:
        talk(graph, name)
    [after_four] = words(graph)
    assert after_four.split().count(SHARED_TOKEN) == 1
    for name in NAMES[4:]:
        talk(graph, name)
    assert words(graph) == {after_four}
    assert all(found_in(graph, name)[0].endswith("marmalade.") for name in NAMES)


def test_a_prompt_is_found_in_its_conversations_alone(graph: MemoryGraph) -> None:
    for name in NAMES:
        talk(graph, name)
    talk(graph, "other", "Speak of marmalade alone.")
    assert found_in(graph, "other") == ["Speak of marmalade alone."]
    assert recall_hits(graph.scope, "marmalade", conversation=NAMES[-1], role="user", steps=False).hits == ()
    # Nothing fits by itself; what leads on is in the conversation, or it is not.
    assert [hit.text for hit in graph.recall("marmalade", conversation=NAMES[-1], role="user").hits] == [
        f"I am {NAMES[-1]}."
    ]


def test_many_prompts_of_others_hide_none_of_the_conversation(graph: MemoryGraph) -> None:
    for prompt in range(3):
        for name in NAMES:
            talk(graph, f"{prompt} {name}", f"Marmalade, {prompt}: " + "marmalade " * 20 * MESSAGE_DEPTH)
    for name in NAMES:
        talk(graph, name)
    [text] = found_in(graph, NAMES[-1])
    assert text.endswith("marmalade.")


def test_what_was_indexed_later_is_found_in_the_conversation(graph: MemoryGraph) -> None:
    for name in NAMES:
        talk(graph, name)
    [before] = words(graph)
    graph.query(
        "MATCH (message:Message {namespace: $namespace}) SET message.passages = null, "
        "message.conversations = null, message.namespace_token = null",
        write=True,
    )
    index_messages(graph.scope)
    [after] = words(graph)
    assert len(after.split()) == len(before.split())
    assert all(len(found_in(graph, name)) == 1 for name in NAMES)


GONE = {"first": NAMES[:1], "last": NAMES[-1:], "most": NAMES[:4], "middle": NAMES[2:6]}


@pytest.mark.parametrize(("edited", "which"), every_nth(product([False, True], GONE), 3))
def test_what_is_forgotten_is_named_no_more_and_the_others_find_their_prompt(
    graph: MemoryGraph, which: str, edited: bool
) -> None:
    gone = GONE[which]
    for name in NAMES:
        talk(graph, name)
    for name in gone:
        if edited:
            graph.messages(name)[0]["content"] = "No prompt any more."
        graph.forget_conversation(name)
    [row] = graph.query(
        "MATCH (message:Message {namespace: $namespace, role: 'system'}) RETURN message.conversations AS names"
    )
    assert row["names"] == [name for name in NAMES if name not in gone]
    assert all(len(found_in(graph, name)) == 1 for name in row["names"])
    for name in gone:
        talk(graph, name)
    assert all(len(found_in(graph, name)) == 1 for name in NAMES)
    assert graph.broken_invariants() == []


def test_a_prompt_is_found_in_its_conversations_after_an_import(
    graph: MemoryGraph, twin: MemoryGraph, tmp_path: Path
) -> None:
    for name in NAMES:
        talk(graph, name)
    graph.export_bundle(tmp_path / "bundle")
    twin.import_bundle(tmp_path / "bundle")
    talk(twin, "another")
    assert all(len(found_in(twin, name)) == 1 for name in (*NAMES, "another"))
