"""Whose a recalled thing is, can be read from the text alone that a model is given."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

import pytest
from click.testing import CliRunner

from memorygraph import MemoryGraph
from memorygraph.budget import Budget
from memorygraph.cli import cli
from memorygraph.context.tokens import count_tokens
from memorygraph.graph.connection import Connection
from memorygraph.graph.elements import Edge
from memorygraph.memory.prompt_texts import render_items
from memorygraph.memory.recall import Recalled, RecallHit
from memorygraph.memory.shown import print_element, show_memory
from memorygraph.memory.values import Entity, Relation
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.mcp_server.clients import Session, over_stdio, text_of
from tests.memory.endpoints import asked
from tests.memory.recalling import say
from tests.shared_neo4j import Address, new_namespace

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
USES = """
import llm M from "openai://m"
import memory Known from "neo4j://"
main agent Answerer {
  model M role "A helper" description "Answers from memory"
  main func(input) {
    use Known.recall(input.question)
    return generate({ input: "Answer" }) { return { text string } }
  }
}
"""
Asking: TypeAlias = Callable[[str], str]


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
    Question("What needs a designer?", "needs a designer", "Project Heron"),
    Question("Who manages Project Heron?", "manages Project Heron", "Carol"),
    Question("Who designs Project Heron?", "designs Project Heron", "Ben Okafor"),
    Question("Who is married to Ben Okafor?", "is married to Ben Okafor", "Ada Lovelace"),
    Question("Who owns The Blue Door?", "owns The Blue Door", "Carol"),
    Question("Who mends bicycles?", "mends bicycles", "Dora"),
    Question("Who teaches Emil?", "teaches Emil", "Dora"),
    Question("Who lost an umbrella?", "lost my umbrella", "Ada on 2026-05-08 in walks"),
    Question("Who found an umbrella?", "found an umbrella", "Ben on 2026-05-08 in walks"),
]
OF_NODES = QUESTIONS[:-2]


@pytest.fixture(scope="module")
def stored(connection: Connection) -> MemoryGraph:
    """People whose likes differ, stored as MCP clients, scripts and conversations do."""
    graph = MemoryGraph(connection, new_namespace())
    entities = [Entity(name=name, entity_type="thing", observations=each) for name, each in ENTITIES.items()]
    graph.entities.create(entities)
    relations = [Relation(source=source, relation_type=verb, target=target) for source, verb, target in RELATIONS]
    graph.entities.relate(relations)
    store_the_rest(graph)
    return graph


def store_the_rest(graph: MemoryGraph) -> None:
    """Store what scripts and conversations say."""
    graph.load(SCRIPT)
    say(graph, "walks", *TALK, at=SAID_AT)


@pytest.fixture(scope="module")
def environment(server: Address) -> Iterator[None]:
    """The environment of a command line that uses the test's Neo4j."""
    uri, auth = server
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEO4J_URI", uri)
        for name, value in zip(("NEO4J_USERNAME", "NEO4J_PASSWORD"), auth or (), strict=False):
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def in_python(stored: MemoryGraph) -> Asking:
    return lambda text: str(stored.recall(text))


@pytest.fixture(scope="module")
def in_cli(stored: MemoryGraph, environment: None) -> Asking:
    def ask(text: str) -> str:
        result = CliRunner().invoke(cli, ["--namespace", stored.namespace, "recall", text])
        assert result.exit_code == 0, result.output
        return result.stdout

    return ask


@pytest.fixture(scope="module")
def in_mcp(connection: Connection, server: Address) -> Iterator[Asking]:
    """A client of a server that has made the entities by its tools."""
    graph = MemoryGraph(connection, new_namespace())
    entities = [{"name": name, "entityType": "thing", "observations": each} for name, each in ENTITIES.items()]
    relations = [{"source": one, "relationType": verb, "target": other} for one, verb, other in RELATIONS]
    with Session(over_stdio(server, graph.namespace)) as session:
        session.call("create_entities", {"entities": entities})
        session.call("create_relations", {"relations": relations})
        store_the_rest(graph)
        yield lambda text: text_of(session.call("recall", {"query": text}))


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(lambda _: '{"text": "I see."}') as model, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", model.base_url)
        patch.setenv("MEMORYGRAPH_MODEL", "small")
        yield model


@pytest.fixture(scope="module")
def in_chat(stored: MemoryGraph, model: ScriptedModel) -> Asking:
    def ask(text: str) -> str:
        stored.chat("asked").say(text)
        stored.forget_conversation("asked")  # the next question would recall this one
        return asked(model)[-1]["content"]

    return ask


@pytest.fixture(scope="module")
def in_use(stored: MemoryGraph, model: ScriptedModel) -> Asking:
    def ask(text: str) -> str:
        stored.run(USES, {"question": text})
        return asked(model)[-1]["content"]

    return ask


WAYS = ["python", *(pytest.param(way, marks=pytest.mark.slow) for way in ("cli", "mcp", "chat", "use"))]


def read_answer(text: str, words: str) -> str:
    """Answer as one who knows nothing but the text: by who stands beside the words, or above them, or said them."""
    label = ""
    for line in text.splitlines():
        if found := re.match(r"""\[\d+\] (?:message of )?(.*):$|\s*"name": "(.*)",$""", line):
            label = found[1] or found[2]
        elif words in line:
            before = line.partition(words)[0]
            if named := re.search(r"""name="(.*)", data="$""", before):
                return named[1]
            before = before.rpartition(" # ")[2].strip(' :"')
            return label if before in {"", "I", "data"} else before
    return ""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("question", QUESTIONS, ids=[question.text for question in QUESTIONS])
def test_who_it_is_stands_beside_what_is_asked(way: str, question: Question, request: pytest.FixtureRequest) -> None:
    if way == "use" and question not in OF_NODES:
        pytest.skip("a memory of a program has nodes, and no messages")
    ask: Asking = request.getfixturevalue(f"in_{way}")
    assert read_answer(ask(question.text), question.words) == question.answer


@pytest.mark.parametrize("question", [*OF_NODES, Question("Who teaches whom?", "", "")], ids=lambda each: each.text)
def test_it_takes_no_more_tokens_of_a_prompt(stored: MemoryGraph, question: Question) -> None:
    shown = show_memory(stored.scope, question.text, Budget.parse("100k"))
    assert count_tokens(render_items(shown.items)) <= count_tokens(render_as_statements(stored, shown.hits))


def test_relations_of_a_hub_take_no_more_tokens_of_a_prompt(graph: MemoryGraph) -> None:
    people = ["Ada Lovelace", "Ben Okafor", "Carol", "Dora", "Emil", "Fay Wong", "Gus", "Hedy Lamarr"]
    nodes = "".join(f'Node(node_id="n{n}", name="{name}", data="");' for n, name in enumerate(people))
    edges = (
        f'Edge(edge_id="e{n}", from_node="hub", to_node="n{n}", verb="employs", weight=0.5);'
        for n in range(len(people))
    )
    graph.load(f'{nodes} Node(node_id="hub", name="Blue Door", data="an office"); {"".join(edges)}')
    shown = show_memory(graph.scope, "office", Budget.parse("100k"))
    assert "Blue Door employs Hedy Lamarr" in shown.items[0].text
    assert count_tokens(render_items(shown.items)) <= count_tokens(render_as_statements(graph, shown.hits))


def render_as_statements(graph: MemoryGraph, hits: Iterable[RecallHit]) -> str:
    """The hits as a model was shown them before they said whose they are: as statements of ContextScript."""
    lines: list[str] = []
    shown: set[str] = set()
    for place, hit in enumerate(hits):
        label, parts = hit.label, [hit.text]
        if hit.kind == "node":
            label, parts = " of ".join([hit.label, *hit.about[:1]]), [print_element(graph.node(hit.id))]
            edges = {edge.id: edge for edge in edges_at(graph, hit.id) if edge.id not in shown}
            parts += map(print_element, edges.values())
            shown |= edges.keys()
        lines += [f"[{place}] {label}:", *parts]
    return "\n".join(lines)


def edges_at(graph: MemoryGraph, node: str) -> list[Edge]:
    rows = graph.query(
        "MATCH (:Node {namespace: $namespace, id: $id})-[edge:EDGE]-() "
        "RETURN edge.id AS id, startNode(edge).id AS from_node, endNode(edge).id AS to_node, edge.verb AS verb, "
        "edge.weight AS weight ORDER BY id LIMIT 8",
        {"id": node},
    )
    return [Edge(**row) for row in rows]


def test_a_name_that_was_mentioned_takes_no_place_of_its_own(stored: MemoryGraph) -> None:
    found = stored.recall("likes tea", budget=None)
    assert "Ada Lovelace" in {hit.content for hit in found.hits}
    assert "Ada Lovelace" not in {item.text for item in found.context}
    assert found.shown == found.hits


def test_a_name_inside_another_word_was_not_mentioned() -> None:
    hits = tuple(
        RecallHit(identifier, "node", 0.5, "fulltext", text, name=name)
        for identifier, name, text in (("a", "Adam", "likes tea"), ("b", "Ada", ""), ("c", "Adam", ""))
    )
    assert [text.text for text in Recalled(hits).texts] == ["Adam: likes tea", "Ada"]
