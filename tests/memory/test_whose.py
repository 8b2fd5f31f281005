"""Whose a recalled thing is, can be read from the text alone that a model is given."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple

import pytest

from memorygraph import MemoryGraph
from memorygraph.context.tokens import count_tokens
from memorygraph.graph.connection import Connection
from memorygraph.memory.recall import Recalled
from memorygraph.memory.values import Entity, Relation
from tests.memory.recalling import say
from tests.shared_neo4j import new_namespace

ENTITIES = {
    "Ada Lovelace": ["likes tea", "plays the violin", "is allergic to nuts", "was born in London"],
    "Carol": ["hates tea", "plays the piano", "was born in Turin"],
    "Ben Okafor": ["drinks coffee only", "is allergic to cats", "sings in a choir"],
    "The Blue Door": ["opens at noon", "serves green tea"],
    "Project Heron": ["ends in May", "needs a designer"],
}
RELATIONS = [
    ("Carol", "manages", "Project Heron"),
    ("Ben Okafor", "designs", "Project Heron"),
    ("Ada Lovelace", "is married to", "Ben Okafor"),
    ("Carol", "owns", "The Blue Door"),
]
SCRIPT = """
Node(node_id="dora", name="Dora", data="mends bicycles"); Node(node_id="emil", name="Emil", data="sells bicycles");
Edge(edge_id="e1", from_node="dora", to_node="emil", verb="teaches", weight=0.9);
"""
TALK = [("Ada", "I lost my umbrella on the tram."), ("Ben", "I found an umbrella in the library.")]
SAID_AT = datetime(2026, 5, 8, 9, tzinfo=UTC)


class Question(NamedTuple):
    """A question, the words that the answer stands by, and the answer."""

    text: str
    words: str
    answer: str


QUESTIONS = [
    Question("Who likes tea?", "likes tea", "Ada Lovelace"),
    Question("Who hates tea?", "hates tea", "Carol"),
    Question("Who drinks coffee?", "drinks coffee only", "Ben Okafor"),
    Question("Who plays the violin?", "plays the violin", "Ada Lovelace"),
    Question("Who plays the piano?", "plays the piano", "Carol"),
    Question("Who is allergic to nuts?", "is allergic to nuts", "Ada Lovelace"),
    Question("Who is allergic to cats?", "is allergic to cats", "Ben Okafor"),
    Question("Who was born in London?", "was born in London", "Ada Lovelace"),
    Question("Who was born in Turin?", "was born in Turin", "Carol"),
    Question("Who sings in a choir?", "sings in a choir", "Ben Okafor"),
    Question("What opens at noon?", "opens at noon", "The Blue Door"),
    Question("Where do they serve green tea?", "serves green tea", "The Blue Door"),
    Question("What ends in May?", "ends in May", "Project Heron"),
    Question("Who manages Project Heron?", "manages Project Heron", "Carol"),
    Question("Who designs Project Heron?", "designs Project Heron", "Ben Okafor"),
    Question("Who is married to Ben Okafor?", "is married to Ben Okafor", "Ada Lovelace"),
    Question("Who owns The Blue Door?", "owns The Blue Door", "Carol"),
    Question("Who mends bicycles?", "mends bicycles", "Dora"),
    Question("Who teaches Emil?", "teaches Emil", "Dora"),
    Question("Who lost an umbrella?", "lost my umbrella", "Ada on 2026-05-08 in walks"),
    Question("Who found an umbrella?", "found an umbrella", "Ben on 2026-05-08 in walks"),
]


@pytest.fixture(scope="module")
def stored(connection: Connection) -> MemoryGraph:
    """People whose likes differ, stored as MCP clients, scripts and conversations do."""
    graph = MemoryGraph(connection, new_namespace())
    entities = [Entity(name=name, entity_type="thing", observations=each) for name, each in ENTITIES.items()]
    graph.entities.create(entities)
    relations = [Relation(source=source, relation_type=verb, target=target) for source, verb, target in RELATIONS]
    graph.entities.relate(relations)
    graph.load(SCRIPT)
    say(graph, "walks", *TALK, at=SAID_AT)
    return graph


def read_answer(text: str, words: str) -> str:
    """Answer as one who knows nothing but the text: by who stands on the line of the words, or who said it."""
    label = ""
    for line in text.splitlines():
        if found := re.match(r"\[\d+\] (?:message of )?(.*):$", line):
            label = found[1]
        elif words in line:
            before = line.partition(words)[0]
            return label if before in {"", "I "} else before.rstrip(": ")
    return ""


def render_without_owners(found: Recalled) -> str:
    """The hits as they were shown before they said whose they are."""
    lines = []
    for place, hit in enumerate(found.hits):
        label = f"node {hit.id}" if hit.kind == "node" else hit.label
        named = [hit.name] if hit.kind == "node" and hit.name else []
        lines.append("\n".join([f"[{place}] {label}:", *named, hit.text]))
    return "\n".join(lines)


@pytest.mark.parametrize("question", QUESTIONS, ids=[question.text for question in QUESTIONS])
def test_who_it_is_stands_beside_what_is_asked(stored: MemoryGraph, question: Question) -> None:
    assert read_answer(str(stored.recall(question.text)), question.words) == question.answer


def test_it_takes_no_more_tokens_to_say_whose_it_is(stored: MemoryGraph) -> None:
    found = [stored.recall(question.text, budget=None) for question in QUESTIONS]
    assert sum(count_tokens(str(each)) for each in found) <= sum(
        count_tokens(render_without_owners(each)) for each in found
    )


def test_a_name_that_was_mentioned_takes_no_place_of_its_own(stored: MemoryGraph) -> None:
    found = stored.recall("likes tea", budget=None)
    assert "Ada Lovelace" in {hit.content for hit in found.hits}
    assert "Ada Lovelace" not in {item.text for item in found.context}
    assert found.shown == found.hits
