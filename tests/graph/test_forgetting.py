"""Forgetting: nothing of it is found anywhere, the rest is all there, and it goes on where it was interrupted."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from importlib.util import find_spec
from io import StringIO
from itertools import count, pairwise, product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from memorygraph import MemoryGraph, Provenance
from memorygraph.cli import cli
from memorygraph.compiler.identity import program_id
from memorygraph.errors import ConflictError, NotFoundError, Source, TooLargeError
from memorygraph.graph import forgetting
from memorygraph.graph.namespace import Namespace, NamespaceTransaction
from memorygraph.memory.items import ItemKey, ItemWrites, shelf_of
from memorygraph.memory.values import Entity, ObservationDeletion, Observations
from memorygraph.messages.history import entries_of
from memorygraph.messages.message import Message
from memorygraph.messages.neo4j_storage import Neo4jStorage
from memorygraph.messages.spool import Spool
from memorygraph.query import Query
from memorygraph.runtime.convo.journal import Journal
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.cli.test_stopping import await_waiting
from tests.examples import every_nth, mostly_slow
from tests.graph.test_deletions import THOUGHT

HALF = 500
"""How many words are forgotten, and how many are kept."""

PROGRAM = """
import llm M from "openai://m"
import memory Known from "neo4j://"
main agent A {{
  model M role "{role}" description "d"
  main func(input) {{
    use Known.query({{ text: "{word}" }})
    return generate({{ input: "{asked}" }}) {{ return {{ said string }} }}
  }}
}}
"""

READING = """
import llm M from "openai://m"
import memory Known from "neo4j://"
main agent A {{ model M role "r" description "d" main func(input) {{ {body} }} }}
"""

CONVO = "> node first\n> user\nSay {word}.\n> nodeEnd\n> user\n{said}\n> goto first\n"

LOG = """context {root}() {{
 &a = /* {fact} */ &b = /* {other} */
 &a likes &b.
 &a says that &b {verb} &a and &a knows that &b {verb} &b.
 _x {verb} _y if _y likes _x.
 context {inner}(&a) {{ tl;dr /* {tldr} */ }}
}}"""

ALL_OF_IT = (
    "MATCH (node) WHERE node.namespace = $namespace OR node.name = $namespace "
    "RETURN labels(node) AS labels, properties(node) AS properties "
    "UNION ALL MATCH (node)-[relation]->() WHERE node.namespace = $namespace "
    "RETURN [type(relation)] AS labels, properties(relation) AS properties"
)


PROGRAM_WITH = "MATCH (p:Program {namespace: $namespace}) WHERE p.source CONTAINS $word RETURN p.id AS id"


NAMES = ("Quillon", "Marisol")


def contents_with(graph: MemoryGraph, word: str) -> list[dict[str, Any]]:
    """What is stored with a word in any of its values."""
    return [row for row in graph.query(ALL_OF_IT) if word in str(row["properties"])]


class Words:
    """Words that stand for what a user has said: `next` gives one that was not used yet."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.used: list[str] = []

    def next(self) -> str:
        self.used.append(f"{self.prefix}{len(self.used):04}x")
        return self.used[-1]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, where journals and records lie."""
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(tmp_path))
    return tmp_path


def plant(graph: MemoryGraph, word: Words) -> list[Callable[[], object]]:
    """Put words into every part, and return what forgets all of them."""
    forgets: list[Callable[[], object]] = []
    # nodes with all of their texts, edges with their verbs, observations, and what these were before
    node, edge, verb = word.next(), word.next(), word.next()
    graph.load(f'Node(node_id="{node}", name="{word.next()}", data="{word.next()}");', file=f"{node}.ctx")
    graph.load(f'Node(node_id="{node}", name="{word.next()}", data="{word.next()}");')
    graph.load(f'Edge(edge_id="{edge}", from_node="{node}", to_node="kept", verb="{verb}", weight=0.5);')
    graph.load(f'Edge(edge_id="{edge}", verb="{word.next()}");')
    forgets.append(lambda: graph.forget(node))
    alone = word.next()
    graph.load(f'Edge(edge_id="{alone}", from_node="kept", to_node="kept", verb="{word.next()}", weight=0.5);')
    graph.load(f'Edge(edge_id="{alone}", verb="{word.next()}");')
    forgets.append(lambda: graph.forget(alone))
    name = word.next()
    texts = [word.next(), word.next()]
    graph.entities.create([Entity(name=name, entity_type=word.next(), observations=texts)])
    graph.entities.delete_observations([ObservationDeletion(entity_name=name, observations=texts[:1])])
    [entity] = graph.query("MATCH (n:Entity {namespace: $namespace, name: $name}) RETURN n.id AS id", {"name": name})
    merged = word.next()  # an alias of the other from then on
    graph.entities.create([Entity(name=merged, entity_type="t", observations=[word.next()])])
    graph.merge(merged, name)
    forgets.append(lambda: graph.forget(entity["id"]))
    forgets.append(lambda: graph.forget(merged))
    gone = word.next()
    graph.load(f'Node(node_id="{gone}", name="{word.next()}", data="{word.next()}");')
    graph.delete(gone)
    forgets.append(lambda: graph.forget(gone))
    # a conversation with versions, edits, a tool call, metadata, a subagent, facts, and what was changed by it
    talk = word.next()
    history = graph.messages(talk)
    history.append({"role": "system", "content": "shared by all"})
    history.append({"role": "user", "content": word.next()})
    call = {"id": "c", "type": "function", "function": {"name": word.next(), "arguments": f'{{"a":"{word.next()}"}}'}}
    history.append({"role": "assistant", "content": None, "tool_calls": [call]})
    history.append({"role": "tool", "tool_call_id": "c", "content": word.next()})
    history.append(
        {"role": "assistant", "content": word.next()},
        metadata={"note": word.next()},
        subgraph=[{"role": "user", "content": word.next()}, {"role": "assistant", "content": word.next()}],
    )
    history.append({"role": "user", "content": word.next()})
    history[5]["content"] = word.next()
    history[1]["content"] = word.next()
    filler = "Some filler stands between the words of this passage. " * 20
    history.append({"role": "user", "content": f"{word.next()} {filler}{word.next()} {filler}{word.next()}"})
    message = history.entries()[1].id
    fact = {"id": f"fact-{talk}", "data": word.next(), "messages": [message]}
    graph.scope.write(
        lambda transaction: transaction.run("recall/learn", namespace_token=graph.scope.token, rows=[fact])
    )
    asked = Provenance("chat", "m", talk, message)
    learnt = word.next()
    graph.load(f'Node(node_id="{learnt}", name="{word.next()}", data="");', provenance=asked, file=word.next())
    graph.load(f'Node(node_id="{learnt}", data="{word.next()}");', provenance=asked)
    graph.load(f'Node(node_id="kept", data="{word.next()}");', provenance=asked)
    Spool(graph.namespace).add({"conversation": talk, "messages": [word.next()]})
    forgets.append(lambda: graph.forget_conversation(talk))
    # a thought, its concepts and facts, and the conversation of its steps
    root = word.next()
    parts = {part: word.next() for part in ("fact", "other", "inner", "tldr", "verb")}
    graph.load(LOG.format(root=root, **parts), "pete")
    [thought] = [each for each in graph.thoughts() if each.name == root]
    graph.messages(f"pete-{root}").append({"role": "assistant", "content": word.next()})
    forgets.append(lambda: graph.forget(f"memory:{thought.address}"))
    # programs and runs, with their traces, messages, steps and journals
    shown = word.next()
    graph.load(f'Node(node_id="record-{shown}", name="{shown}", data="{word.next()}");')
    text = PROGRAM.format(role=word.next(), word=shown, asked=word.next())
    run = graph.run(text, input={"said": word.next()}, mock=True)
    forgets.append(lambda: graph.forget(run.run))
    forgets.append(lambda: graph.forget(f"record-{shown}"))
    role, first = word.next(), word.next()
    text = PROGRAM.format(role=role, word="none", asked=word.next())
    graph.load(text, "agentscript", file=f"{word.next()}.as")
    text = CONVO.format(word=first, said=word.next())
    graph.load(text, "convo", file=f"{word.next()}.convo")
    made = graph.run(text, language="convo", mock=True)
    Journal(made.run).append(json.dumps({"branch": "", "index": 0, "node": "first", "output": word.next()}))
    for said in (role, first):
        [program] = graph.query(PROGRAM_WITH, {"word": said})
        forgets.append(partial(graph.forget, program["id"]))
    if find_spec("langgraph") is not None:
        forgets += plant_in_langgraph(graph, word)
    return forgets


def plant_in_langgraph(graph: MemoryGraph, word: Words) -> list[Callable[[], object]]:
    """Put words into an item of a store, and into a thread that has a message of a conversation, too."""
    from langchain_core.messages import HumanMessage

    from memorygraph.integrations.langgraph import MemoryGraphSaver
    from tests.integrations.test_langgraph_saver import put, thread

    shelf, key, name, said = (word.next() for _ in range(4))
    for _ in range(2):
        writes = ItemWrites()
        writes.put(ItemKey(shelf_of([shelf]), key), {word.next(): word.next()}, word.next())
        graph.items.write(writes)
    graph.messages(f"talk-{said}").append({"role": "user", "content": said})
    saver = MemoryGraphSaver(graph)
    put(saver, thread(name), 0, messages=[HumanMessage(said, id="1")], settings=word.next())
    return [
        lambda: graph.forget(ItemKey(shelf_of([shelf]), key).id),
        lambda: graph.forget_conversation(f"talk-{said}"),
        lambda: saver.delete_thread(name),
    ]


def everything(graph: MemoryGraph, home: Path, words: Sequence[str]) -> str:
    """All that anybody can read of a namespace, as one text, with what is found by these words and ids."""
    found: list[Any] = [list(graph.stream(ALL_OF_IT, seconds=120))]
    found += [graph.export(form) for form in ("contextscript", "jsonl", "graphml", "bundle", "server-memory")]
    found += [revision.as_dict() for revision in graph.revisions(1000)]
    found += [conversation.as_dict() for conversation in graph.conversations()]
    found += [graph.stored_run(run.id).as_dict() for run in graph.runs(1000)]
    found += [program.name for program in graph.programs()]
    found += [thought.name for thought in graph.thoughts()]
    last = graph.revisions(1)[0].revision
    found += [graph.at(revision).export() for revision in range(1, last + 1, max(1, last // 10))]
    found += [*graph.items.list_under(""), *graph.threads.states()]
    for conversation in graph.conversations():
        found.append(graph.view_conversation(conversation.name))
        history = graph.messages(conversation.name)
        found += [entry.message.as_dict() for v in history.versions() for entry in history.checkout(v.number).entries()]
    found += [graph.view_run(run.id) for run in graph.runs(1000)]
    for thought in graph.thoughts():
        found.append(graph.view_thought(thought.name))
        found.append(str(graph.pete(f"memory:{thought.address}").render(budget="100k")))
    for word in words:
        found += [graph.search(word), str(graph.recall(word, budget="8k")), graph.entities.search(word)]
    ids = dict.fromkeys([*graph.ids(limit=10_000), *words])
    for id_, read in product(ids, (graph.history, graph.neighbours)):
        with suppress(NotFoundError):
            found.append(read(id_))
    found += [path.read_text("utf-8") for path in home.rglob("*.jsonl")]
    return "\n".join(map(str, found))


@pytest.fixture
def planted(graph: MemoryGraph, home: Path) -> tuple[MemoryGraph, Words, Words, list[Callable[[], object]]]:
    """A namespace with words in every part, of which half are to be forgotten."""
    graph.load('Node(node_id="kept", name="kept", data="as it was");')
    going, staying = Words("gone"), Words("stay")
    forgets: list[Callable[[], object]] = []
    while len(going.used) < HALF:
        forgets += plant(graph, going)
        plant(graph, staying)
    return graph, going, staying, forgets


@pytest.mark.slow
def test_of_a_thousand_words_in_every_part_the_forgotten_half_is_found_nowhere(
    planted: tuple[MemoryGraph, Words, Words, list[Callable[[], object]]], home: Path
) -> None:
    graph, going, staying, forgets = planted
    before = everything(graph, home, [])
    assert [word for word in (*going.used, *staying.used) if word not in before] == []
    for forget in forgets:
        try:
            forget()
        except NotFoundError:  # it went with what was forgotten before
            continue
    text = everything(graph, home, [*going.used, *staying.used[::10]])
    assert [word for word in going.used if word in text] == []
    assert [word for word in staying.used if word not in text] == []
    assert graph.node("kept").data.startswith("stay")
    assert graph.broken_invariants() == []


def test_what_a_conversation_shares_with_another_stays_and_names_only_that(graph: MemoryGraph) -> None:
    for name in ("first", "second"):
        history = graph.messages(name)
        history.append({"role": "user", "content": "a question of both"})
        history.append({"role": "assistant", "content": f"the answer in the {name}"})
    forgotten = graph.forget_conversation("first")
    assert (forgotten.went["messages"], forgotten.stayed) == (1, {"messages that another conversation has": 1})
    assert [message["content"] for message in graph.messages("second")] == [
        "a question of both",
        "the answer in the second",
    ]
    assert {hit.conversation for hit in graph.recall("question", kinds=["message"]).hits} == {"second"}
    assert graph.messages("second").verify().ok


@pytest.mark.parametrize(
    "answers", [[], [{"role": "assistant", "content": "an answer"}]], ids=["as its last", "before others"]
)
def test_a_message_that_was_edited_away_and_that_another_conversation_has_names_only_that(
    graph: MemoryGraph, answers: list[dict[str, str]]
) -> None:
    asked = [{"role": "user", "content": text} for text in ("hello", "a first draft")]
    first, second = graph.messages("first"), graph.messages("second")
    first.extend(asked)
    second.extend([*asked, *answers])
    first[1]["content"] = "a better draft"
    forgotten = graph.forget_conversation("first")
    assert (forgotten.went["messages"], forgotten.stayed) == (1, {"messages that another conversation has": 2})
    rows = graph.query("MATCH (message:Message {namespace: $namespace}) RETURN message.conversations AS names")
    assert [row["names"] for row in rows] == [["second"]] * (2 + len(answers))
    assert {hit.conversation for hit in graph.recall("draft", kinds=["message"]).hits} == {"second"}
    with pytest.raises(NotFoundError, match="no conversation `first`"):
        graph.recall("draft", conversation="first")
    assert second.verify().ok


def test_a_long_message_that_stays_is_found_by_its_passages_and_filters(graph: MemoryGraph) -> None:
    said = " ".join(f"The plan of day {day} is to walk to the lake and to swim there." for day in range(60))
    for name in ("first", "second"):
        history = graph.messages(name)
        history.append({"role": "user", "content": said + " Bring marmalade."})
        history.append({"role": "assistant", "content": f"the answer in the {name}"})
    graph.forget_conversation("first")
    [hit] = graph.recall("marmalade", role="user", conversation="second", steps=False).hits
    assert hit.conversation == "second"
    assert hit.text.endswith("Bring marmalade.")
    assert graph.broken_invariants() == []
    graph.forget_conversation("second")
    assert graph.query("MATCH (part:Passage {namespace: $namespace}) RETURN part.id AS id") == []


def test_who_was_merged_into_what_is_forgotten_is_forgotten_with_its_names(graph: MemoryGraph) -> None:
    graph.entities.create([Entity(name=name, entity_type="person", observations=[f"{name} swims"]) for name in NAMES])
    graph.merge("Quillon", into="Marisol")
    graph.forget("Marisol")
    assert contents_with(graph, "Quillon") == contents_with(graph, "Marisol") == []
    assert graph.broken_invariants() == []


@pytest.mark.parametrize("expired", [False, True])
def test_who_was_merged_and_is_forgotten_leaves_its_name_nowhere_and_the_other_its_own_aliases(
    graph: MemoryGraph, expired: bool
) -> None:
    graph.entities.create([Entity(name=name, entity_type="person", observations=[]) for name in ("Quill", *NAMES)])
    graph.merge("Quill", into="Quillon")
    graph.merge("Quillon", into="Marisol")
    if expired:
        graph.query(
            "MATCH (f:Former {namespace: $namespace, name: 'Quillon'}) SET f.expires_at = datetime.realtime()",
            write=True,
        )
        forgotten = graph.purge_expired()
    else:
        assert graph.forget("Quillon", dry_run=True).stayed == {"entities that it was merged into": 1}
        forgotten = graph.forget("Quillon")
    assert forgotten.stayed == {"entities that it was merged into": 1}
    assert contents_with(graph, "Quillon") == []
    assert (graph.aliases("Marisol"), graph.node("Quill").name) == (["Quill"], "Marisol")
    assert graph.broken_invariants() == []
    with pytest.raises(ConflictError, match="forgotten"):
        graph.undo(2)
    graph.forget("Marisol")
    assert contents_with(graph, "Quill") == contents_with(graph, "Marisol") == []


@pytest.mark.parametrize(
    "body",
    [
        'use Known.query() < 300 return generate({ input: "x" }) { return { t string } }',
        "return Known.query().length",
        "found = Known.query() return generate({ input: found[1].record.data }) { return { t string } }",
        'return Known.recall("canary")',
        "return Known.add({ id: input.id, data: input.data })",
    ],
    ids=["in a prompt in part", "read alone", "as the instruction", "recalled", "added"],
)
@pytest.mark.usefixtures("home")
def test_a_run_that_a_memory_gave_a_node_is_forgotten_with_it(graph: MemoryGraph, body: str) -> None:
    graph.load('Node(node_id="a", name="A", data="It stays."); Node(node_id="z", name="Z", data="A canary.");')
    run = graph.run(READING.format(body=body), input={"id": "z", "data": "A canary."}, mock=True)
    assert run.run in [each.id for each in graph.runs()]
    graph.forget("z")
    assert contents_with(graph, "canary") == []
    assert (graph.runs(), graph.conversations(), graph.node("a").data) == ([], [], "It stays.")


@pytest.mark.usefixtures("home")
def test_a_run_that_was_told_of_a_relation_is_forgotten_with_the_other_end(graph: MemoryGraph) -> None:
    graph.load("""
        Node(node_id="m", name="Mill", data="wheel, wheel, wheel"); Node(node_id="z", name="canary", data="a wheel");
        Edge(edge_id="e", from_node="z", to_node="m", verb="turns", weight=1.0);
    """)
    run = graph.run(READING.format(body='return Known.recall("wheel", 1)'), mock=True)
    assert [(hit["id"], hit["relations"]) for hit in run.value] == [("m", ["canary turns Mill"])]
    graph.forget("z")
    assert contents_with(graph, "canary") == []
    assert (graph.runs(), graph.node("m").name) == ([], "Mill")


@pytest.mark.parametrize(
    ("language", "program"),
    [
        ("agentscript", READING.format(body='return generate({ input: "x" }) { return { t string } }')),
        ("convo", CONVO.format(word="x", said="y")),
    ],
)
def test_a_run_that_is_forgotten_while_a_model_writes_does_not_come_back(
    graph: MemoryGraph, home: Path, monkeypatch: pytest.MonkeyPatch, language: str, program: str
) -> None:
    def answer(_request: object) -> str:
        graph.forget(graph.runs()[0].id)
        return '{"t": "canary"}'

    with ScriptedModel(answer) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        # The model forgets before it answers, which on a busy machine that has planned none of it takes half a minute.
        monkeypatch.setenv("AGENTSCRIPT_LLM_TIMEOUT_MS", "300000")
        graph.run(program, language=language, model="m")
    assert contents_with(graph, "canary") == []
    assert (graph.runs(), graph.conversations()) == ([], [])
    assert [path for path in home.rglob("*") if path.is_file() and b"canary" in path.read_bytes()] == []


ASKING = READING.format(body='return generate({ input: "canary" }) { return { t string } }')
STEPS = CONVO.format(word="canary", said="y")


def id_of(program: str) -> str:
    """The id of a program: what the stored ones are known by."""
    return program_id(Source(program))


@pytest.mark.parametrize(
    ("language", "program", "earlier"),
    [("agentscript", ASKING, False), ("agentscript", ASKING, True), ("convo", STEPS, False)],
    ids=["agentscript", "agentscript of earlier versions", "convo"],
)
@pytest.mark.usefixtures("home")
def test_a_program_is_forgotten_with_its_runs(graph: MemoryGraph, language: str, program: str, earlier: bool) -> None:
    graph.load(program, language, file="asked.as")
    graph.run(program, language=language, mock=True)
    other = graph.run(program.replace("canary", "pigeon"), language=language, mock=True)
    if earlier:  # a run had the whole hash
        longer = "MATCH (run:Run {namespace: $namespace}) SET run.program_hash = run.program_hash + $rest"
        graph.query(longer, {"rest": "0" * 32}, write=True)
    assert graph.forget(id_of(program)).went["runs"] == 1
    assert contents_with(graph, "canary") == []
    assert [run.id for run in graph.runs()] == [other.run]
    assert graph.broken_invariants() == []


@pytest.mark.usefixtures("home")
def test_a_node_graph_that_was_only_run_is_forgotten_by_its_id_with_its_runs(graph: MemoryGraph) -> None:
    for _ in range(2):
        graph.run(STEPS, language="convo", mock=True)
    planned = graph.forget(id_of(STEPS), dry_run=True)
    went = graph.forget(id_of(STEPS)).went
    assert (went, went["programs"], went["runs"]) == (planned.went, 1, 2)
    assert contents_with(graph, "canary") == []
    with pytest.raises(NotFoundError):
        graph.forget(id_of(STEPS))


@pytest.mark.parametrize("load", [False, True], ids=["only run", "loaded, and no longer a program"])
@pytest.mark.usefixtures("home")
def test_a_node_graph_goes_with_the_last_of_its_runs(graph: MemoryGraph, load: bool) -> None:
    if load:
        graph.load(STEPS, "convo", file="steps.convo")
    first, last = (graph.run(STEPS, language="convo", mock=True) for _ in range(2))
    if load:
        graph.forget_program("steps")
    assert "programs" not in graph.forget(first.run).went
    assert {row["labels"][0] for row in contents_with(graph, "Say canary")} >= {"Run", "Graph"}
    assert graph.forget(last.run).went["programs"] == 1
    assert contents_with(graph, "canary") == []


@pytest.mark.usefixtures("home")
def test_a_loaded_node_graph_outlives_its_runs(graph: MemoryGraph) -> None:
    graph.load(STEPS, "convo", file="steps.convo")
    run = graph.run(STEPS, language="convo", mock=True)
    graph.forget(run.run)
    assert [program.name for program in graph.programs()] == ["steps"]
    graph.run(graph.program("steps"), mock=True)
    assert graph.broken_invariants() == []


@pytest.mark.parametrize("deleted", [True, False])
def test_nothing_is_left_of_what_only_a_forgotten_thought_spoke_of(graph: MemoryGraph, deleted: bool) -> None:
    graph.load(THOUGHT, "pete")
    [thought] = graph.thoughts()
    if deleted:
        graph.delete(f"memory-{thought.address}")
    graph.forget(f"memory:{thought.address}")
    assert {label for row in graph.query(ALL_OF_IT) for label in row["labels"]} == {"Load", "Namespace"}


def test_a_conversation_longer_than_a_transaction_is_forgotten_to_its_first_message(graph: MemoryGraph) -> None:
    count = 2 * forgetting.MESSAGES_PER_TRANSACTION + 100
    graph.messages("long").extend([{"role": "user", "content": f"message {number}"} for number in range(count)])
    assert graph.forget_conversation("long").went["messages"] == count
    assert contents_with(graph, "message ") == []


def test_a_dry_run_says_the_same_and_changes_nothing(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="a", name="A", data="");')
    graph.load('Node(node_id="a", data="more");')
    before = graph.export("bundle")
    planned = graph.forget("a", dry_run=True)
    assert graph.export("bundle") == before
    done = graph.forget("a")
    assert (planned.went, planned.stayed) == (done.went, done.stayed) == ({"former states": 1, "nodes": 1}, {})


NODE = 'Node(node_id="x", name="Quillon", data="");'
EDGE = 'Edge(edge_id="x", from_node="b", to_node="c", verb="Marisol", weight=1.0);'


@pytest.mark.parametrize("programs", [[NODE, EDGE], [EDGE, NODE], [NODE, EDGE, ""], [EDGE, NODE, ""]])
def test_an_id_that_was_a_node_and_an_edge_is_forgotten_as_both(graph: MemoryGraph, programs: list[str]) -> None:
    graph.load('Node(node_id="b", name="B", data=""); Node(node_id="c", name="C", data="");')
    graph.load(programs[0])
    for program in programs[1:]:
        graph.load('del(id="x");')
        graph.load(program)
    planned = graph.forget("x", dry_run=True)
    assert graph.forget("x").went == planned.went
    assert [contents_with(graph, word) for word in NAMES] == [[], []]
    assert graph.broken_invariants() == []
    with pytest.raises(NotFoundError):
        graph.forget("x")


@pytest.mark.parametrize("name", ["Ada Lovelace", "Countess"])
def test_an_entity_is_forgotten_by_its_name_or_an_alias(graph: MemoryGraph, environment: str, name: str) -> None:
    graph = MemoryGraph(graph.connection, environment)
    people = {"Ada Lovelace": ["a canary"], "Countess": [], "Ben Okafor": ["stays"]}
    graph.entities.create([Entity(name=each, entity_type="p", observations=said) for each, said in people.items()])
    graph.merge("Countess", "Ada Lovelace")
    graph.purge()  # what the alias had been has an id, which is also its name
    planned = CliRunner().invoke(cli, ["forget", name, "--dry-run"])
    assert "would be forgotten: 1 aliases, " in planned.stdout + planned.stderr
    assert CliRunner().invoke(cli, ["forget", name, "--yes"]).exit_code == 0
    assert contents_with(graph, "canary") == contents_with(graph, "Lovelace") == contents_with(graph, "Countess") == []
    assert [each.name for each in graph.entities.search("").entities] == ["Ben Okafor"]


def test_what_has_a_text_as_its_id_is_forgotten_before_what_is_called_so(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="ada", name="Ada", data=""); Node(node_id="other", name="ada", data="");')
    graph.forget("ada")
    assert (graph.search("ada")[0].node.id, contents_with(graph, "Ada")) == ("other", [])


def test_a_name_of_several_is_not_forgotten_and_their_ids_are_said(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="a1", name="Ada Lovelace", data=""); Node(node_id="a2", name="Ada Lovelace", data="");')
    with pytest.raises(ConflictError, match="2 nodes are called Ada Lovelace: `a1`, `a2`; give the id of the one"):
        graph.forget("Ada Lovelace")
    with pytest.raises(NotFoundError, match="has the id or the name `ada lovelace`"):
        graph.forget("ada lovelace")


def test_an_address_of_nothing_is_said_as_it_was_given(graph: MemoryGraph) -> None:
    with pytest.raises(NotFoundError, match="has the id or the name `memory:99`;"):
        graph.forget("memory:99")


def test_an_id_that_raw_cypher_has_given_to_two_things_is_refused_with_what_to_do(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="b", name="B", data="");' + NODE)
    graph.query(
        "MATCH (b:Node {namespace: $namespace, id: 'b'}) "
        "CREATE (b)-[:EDGE {namespace: $namespace, id: 'x', verb: 'v', weight: 1.0}]->(b)",
        write=True,
    )
    with pytest.raises(ConflictError, match=r"several things \(edge, node\).*doctor --graph"):
        graph.forget("x")


def test_what_a_conversation_changed_becomes_what_it_was_before(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="a", name="A", data="of others"); Node(node_id="b", name="B", data="");')
    graph.messages("talk").append({"role": "user", "content": "Hi"})
    asked = Provenance("chat", "m", "talk", None)
    graph.load('Node(node_id="a", data="of the talk");', provenance=asked)
    graph.load('Node(node_id="b", data="of the talk");', provenance=asked)
    graph.load('Node(node_id="b", data="of others");')
    graph.forget_conversation("talk")
    assert [graph.node(each).data for each in ("a", "b")] == ["of others", "of others"]
    assert [[change.after for change in graph.history(each)] for each in ("a", "b")] == [
        [{"name": "A", "data": "of others"}],
        [{"name": "B", "data": ""}, {"name": "B", "data": "of others"}],
    ]
    assert graph.broken_invariants() == []


AT_O = 'Edge(edge_id="e", from_node="o", to_node="o", verb="{verb}", weight=1.0);'


@pytest.mark.parametrize("expired", mostly_slow([False, True], ordinary=1))
@pytest.mark.parametrize(
    "said",
    [
        ['Node(node_id="ada", name="Ada", data="canary");' + AT_O.format(verb="canary")],
        ['Node(node_id="ada", name="", data="");', 'Node(node_id="ada", data="canary");', AT_O.format(verb="canary")],
        ['Node(node_id="ada", name="canary", data=""); ' + AT_O.format(verb="canary"), 'del(id="ada"); del(id="e");'],
    ],
)
def test_what_a_conversation_says_under_an_id_that_was_deleted_before_goes_without_the_former_one(
    graph: MemoryGraph, said: list[str], expired: bool
) -> None:
    first = AT_O.format(verb="knows")
    graph.load('Node(node_id="o", name="O", data=""); Node(node_id="ada", name="Ada", data="of others");' + first)
    graph.load('Node(node_id="ada", data="changed");')
    deleted = graph.load('del(id="ada"); del(id="e");').revision
    assert deleted is not None
    before = graph.export()
    for text in said:
        graph.load(text, provenance=Provenance(conversation="talk"))
    if expired:
        graph.messages("talk").append({"role": "user", "content": "canary"})
        graph.expire_conversation("talk", after=timedelta(0))
        graph.purge_expired()
    else:
        graph.forget_conversation("talk")
    assert contents_with(graph, "canary") == []
    assert graph.export() == before
    graph.undo(deleted)  # it was not the conversation that said this
    assert (graph.node("ada").data, graph.edge("e").verb) == ("changed", "knows")
    assert [change.after for change in graph.history("ada")][:2] == [
        {"name": "Ada", "data": "of others"},
        {"name": "Ada", "data": "changed"},
    ]
    assert graph.broken_invariants() == []


def test_what_a_conversation_deletes_and_says_anew_in_one_load_goes(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="ada", name="Ada", data="of others");')
    anew = 'del(id="ada"); Node(node_id="ada", name="Ada", data="canary");'
    graph.load(anew, provenance=Provenance(conversation="talk"))
    graph.forget_conversation("talk")
    assert contents_with(graph, "canary") == []
    assert graph.at(1).node("ada").data == "of others"
    assert graph.broken_invariants() == []


def test_what_others_say_of_an_id_again_stays_when_a_conversation_is_forgotten_that_used_it(graph: MemoryGraph) -> None:
    asked = Provenance(conversation="talk")
    graph.load('Node(node_id="o", name="O", data="");')
    graph.load('Node(node_id="ada", name="Ada", data="canary");' + AT_O.format(verb="canary"), provenance=asked)
    graph.load('del(id="ada"); del(id="e");')
    graph.load('Node(node_id="ada", name="Ada", data="of others");' + AT_O.format(verb="knows"))
    graph.load('Node(node_id="ada", data="changed");' + AT_O.format(verb="likes"))
    graph.forget_conversation("talk")
    assert contents_with(graph, "canary") == []
    assert [change.after["data"] for change in graph.history("ada") if change.after] == ["of others", "changed"]
    assert [change.after["verb"] for change in graph.history("e") if change.after] == ["knows", "likes"]
    assert graph.broken_invariants() == []


def test_what_a_conversation_only_brought_back_stays(graph: MemoryGraph) -> None:
    note = 'Node(node_id="note", name="", data="likes tea");'
    observed = 'Edge(edge_id="e", from_node="ada", to_node="note", verb="observed", weight=1.0);'
    graph.load('Node(node_id="ada", name="Ada", data="");' + note + observed)
    before = graph.export()
    deleted = graph.delete("ada").revision
    assert deleted is not None
    graph.undo(deleted, provenance=Provenance(conversation="talk"))
    graph.forget_conversation("talk")
    assert graph.export() == before
    assert graph.broken_invariants() == []


def undo_deletions(graph: MemoryGraph, *, of: str) -> None:
    """Delete something and bring it back, twice."""
    for _ in range(2):
        deleted = graph.delete(of).revision
        assert deleted is not None
        graph.undo(deleted)


def undo_load_and_undo(graph: MemoryGraph, *, times: int, revision: int = 2) -> None:
    """Undo a load, by default the second, and each undo of it by another one."""
    for _ in range(times):
        revision = graph.undo(revision).revision


@pytest.mark.parametrize(
    "undo",
    [
        partial(undo_deletions, of="ada"),
        partial(undo_deletions, of="e"),
        partial(undo_load_and_undo, times=2),
        partial(undo_load_and_undo, times=3),
        partial(undo_load_and_undo, times=4),
    ],
    ids=["a node", "an edge", "the load", "the load, and undone again", "the load twice"],
)
def test_what_a_conversation_said_and_an_undo_brought_back_is_forgotten_with_it(
    graph: MemoryGraph, undo: Callable[[MemoryGraph], None]
) -> None:
    graph.load('Node(node_id="o", name="O", data="");')
    joined = 'Edge(edge_id="e", from_node="ada", to_node="o", verb="canary", weight=1.0);'
    graph.load('Node(node_id="ada", name="Ada", data="canary");' + joined, provenance=Provenance(conversation="talk"))
    undo(graph)
    graph.forget_conversation("talk")
    assert contents_with(graph, "canary") == contents_with(graph, "Ada") == []
    assert [node.id for node in graph.at(graph.revisions(1)[0].revision).nodes()] == ["o"]
    assert graph.broken_invariants() == []
    for revision in range(2, graph.revisions(1)[0].revision):
        with pytest.raises(ConflictError, match="can't be undone"):
            graph.undo(revision)


@pytest.mark.parametrize("later", ["", 'Node(node_id="ada", data="later");'])
def test_what_a_conversation_changed_and_an_undo_brought_back_becomes_what_it_was_before(
    graph: MemoryGraph, later: str
) -> None:
    graph.load('Node(node_id="o", name="O", data="");')
    graph.load('Node(node_id="ada", name="Ada", data="of others");' + AT_O.format(verb="knows"))
    changed = 'Node(node_id="ada", data="canary");' + AT_O.format(verb="canary")
    graph.load(changed, provenance=Provenance(conversation="talk"))
    for id_ in ("ada", "e"):
        undo_deletions(graph, of=id_)
    if later:
        graph.load(later)
    graph.forget_conversation("talk")
    assert contents_with(graph, "canary") == []
    assert (graph.node("ada").data, graph.edge("e").verb) == ("later" if later else "of others", "knows")
    assert graph.at(2).node("ada").data == "of others"
    assert graph.broken_invariants() == []


@pytest.mark.parametrize(("loads", "after", "times"), every_nth(product([1, 2], [[], ["ada", "e"]], [1, 2, 3]), 5))
def test_what_a_conversation_changed_and_an_undo_of_a_later_change_brought_back_becomes_what_it_was_before(
    graph: MemoryGraph, times: int, after: Sequence[str], loads: int
) -> None:
    change = 'Node(node_id="ada", data="{0}");' + AT_O.format(verb="{0}")
    graph.load('Node(node_id="o", name="O", data=""); Node(node_id="ada", name="Ada", data="");')
    graph.load(change.format("knows"))
    for number in range(loads):
        graph.load(change.format(f"canary{number}"), provenance=Provenance(conversation="talk"))
    changed = graph.load(change.format("likes")).revision
    assert changed is not None
    undo_load_and_undo(graph, times=times, revision=changed)
    for id_ in after:
        undo_deletions(graph, of=id_)
    planned = graph.forget_conversation("talk", dry_run=True)
    assert graph.forget_conversation("talk").went == planned.went
    assert contents_with(graph, "canary") == []
    said = "knows" if times % 2 else "likes"
    assert (graph.node("ada").data, graph.edge("e").verb) == (said, said)
    assert [graph.at(revision).edge("e").verb for revision in (changed - 1, changed)] == ["knows", "likes"]
    assert [graph.at(revision).node("ada").data for revision in (changed - 1, changed)] == ["knows", "likes"]
    assert graph.broken_invariants() == []


@pytest.mark.parametrize("later", [[], ["math"], ["math", "music"]])
def test_what_a_conversation_said_and_undos_of_later_changes_brought_back_is_forgotten_with_it(
    graph: MemoryGraph, later: Sequence[str]
) -> None:
    change = 'Node(node_id="ada", data="{0}");' + AT_O.format(verb="{0}")
    graph.load('Node(node_id="o", name="O", data="");')
    created = 'Node(node_id="ada", name="Ada", data="canary");' + AT_O.format(verb="canary")
    graph.load(created, provenance=Provenance(conversation="talk"))
    revisions = [graph.load(change.format(said)).revision for said in ("physics", *later)]
    for revision in reversed(revisions):
        assert revision is not None
        graph.undo(revision)
    graph.forget_conversation("talk")
    assert contents_with(graph, "canary") == contents_with(graph, "Ada") == []
    assert [node.id for node in graph.at(graph.revisions(1)[0].revision).nodes()] == ["o"]
    assert graph.broken_invariants() == []


def test_what_others_said_since_an_undo_brought_back_what_a_conversation_said_stays(graph: MemoryGraph) -> None:
    change = 'Node(node_id="ada", data="{0}");' + AT_O.format(verb="{0}")
    graph.load('Node(node_id="o", name="O", data="");')
    created = 'Node(node_id="ada", name="Ada", data="canary");' + AT_O.format(verb="canary")
    graph.load(created, provenance=Provenance(conversation="talk"))
    graph.load(change.format("physics"))
    undo_load_and_undo(graph, times=1, revision=3)
    graph.load(change.format("music"))
    graph.forget_conversation("talk")
    assert contents_with(graph, "canary") == []
    assert (graph.node("ada").data, graph.edge("e").verb) == ("music", "music")
    assert [change.after["data"] for change in graph.history("ada") if change.after] == ["physics", "music"]
    assert graph.broken_invariants() == []
    for revision in (2, 3, 4):
        with pytest.raises(ConflictError, match="can't be undone"):
            graph.undo(revision)


def test_an_edge_that_an_undo_brought_back_goes_where_an_end_that_it_had_before_is_gone(graph: MemoryGraph) -> None:
    graph.load("".join(f'Node(node_id="{id_}", name="{id_}", data="");' for id_ in ("ada", "gone", "tea", "milk")))
    graph.load('Edge(edge_id="e", from_node="ada", to_node="gone", verb="likes", weight=0.5);')
    graph.load('Edge(edge_id="e", to_node="tea", verb="canary");', provenance=Provenance(conversation="talk"))
    moved = graph.load('Edge(edge_id="e", to_node="milk", verb="likes");').revision
    assert moved is not None
    undo_load_and_undo(graph, times=1, revision=moved)
    graph.delete("gone")
    graph.forget_conversation("talk")
    assert contents_with(graph, "canary") == []
    with pytest.raises(NotFoundError):
        graph.edge("e")
    assert (
        graph.query("MATCH (f:Former {namespace: $namespace}) WHERE f.until < 0 OR f.since < 0 RETURN f.id AS id") == []
    )
    assert graph.broken_invariants() == []


def test_what_others_said_and_an_undo_brought_back_stays_with_its_history(graph: MemoryGraph) -> None:
    graph.load(
        'Node(node_id="o", name="O", data="");' + AT_O.format(verb="knows") + 'Node(node_id="p", name="P", data="");'
    )
    graph.load('Node(node_id="ada", name="Ada", data="canary");', provenance=Provenance(conversation="talk"))
    deleted = graph.load('del(id="ada"); del(id="p"); del(id="e");').revision
    assert deleted is not None
    undone = graph.undo(deleted).revision
    graph.forget_conversation("talk")
    assert contents_with(graph, "canary") == []
    assert [node.id for node in graph.at(graph.revisions(1)[0].revision).nodes()] == ["o", "p"]
    assert [change.revision for change in graph.history("p")] == [1, deleted, undone]
    assert graph.edge("e").verb == "knows"
    assert graph.broken_invariants() == []


def test_what_becomes_what_it_was_before_has_no_vector_of_what_was_forgotten(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="a", name="A", data="of others");')
    graph.load('Node(node_id="a", data="of the talk");', provenance=Provenance(conversation="talk"))
    graph.query("MATCH (a:Node {namespace: $namespace}) SET a.embedding = [1.0], a.embedding_model = 'm'", write=True)
    deleted = graph.delete("a").revision
    assert deleted is not None
    graph.forget_conversation("talk")
    graph.undo(deleted)
    vectors = graph.query("MATCH (a:Node {namespace: $namespace}) RETURN a.data AS data, a.embedding AS vector")
    assert vectors == [{"data": "of others", "vector": None}]


def test_what_a_conversation_changed_is_found_and_joined_as_before(graph: MemoryGraph) -> None:
    graph.load("".join(f'Node(node_id="{id_}", name="{id_}", data="");' for id_ in ("ada", "tea", "milk", "gone")))
    graph.load('Node(node_id="note", name="학교", data="ชา");')
    for edge, end in (("likes", "tea"), ("lost", "gone")):
        graph.load(f'Edge(edge_id="{edge}", from_node="ada", to_node="{end}", verb="likes", weight=0.5);')
    asked = Provenance(conversation="talk")
    graph.load('Node(node_id="note", name="커피숍", data="กาแฟ");', provenance=asked)
    graph.load('Edge(edge_id="likes", from_node="milk", to_node="ada");', provenance=asked)
    graph.load('Edge(edge_id="lost", to_node="milk");', provenance=asked)
    graph.delete("gone")
    graph.forget_conversation("talk")
    assert [(hit.id, hit.node.name) for hit in graph.search("학교")] == [("note", "학교")]
    assert [hit.id for word in ("커피숍", "피숍", "กาแฟ") for hit in graph.search(word)] == []
    assert not [row for text in ("커피", "กา") for row in contents_with(graph, text)]
    moved = graph.edge("likes")
    assert (moved.from_node, moved.to_node, moved.verb) == ("ada", "tea", "likes")
    with pytest.raises(NotFoundError):  # one of its ends before is gone, and it would have gone with that
        graph.edge("lost")
    assert graph.broken_invariants() == []


@pytest.mark.usefixtures("environment")
def test_no_page_of_what_is_forgotten_stays_in_the_home(
    graph: MemoryGraph, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    graph.messages("talk").append({"role": "user", "content": "canary"})
    shown = CliRunner().invoke(cli, ["--namespace", graph.namespace, "messages", "view", "talk", "--open"])
    assert shown.exit_code == 0, shown.output
    assert "canary" in "".join(page.read_text("utf-8") for page in home.rglob("*.html"))
    assert graph.forget_conversation("talk").went["files of this machine"] == 1
    assert [*home.rglob("*.html")] == []


def test_the_edges_of_who_was_merged_by_a_conversation_stay_with_the_other(graph: MemoryGraph) -> None:
    graph.load("".join(f'Node(node_id="{id_}", name="{id_}", data="");' for id_ in ("ada", "lovelace", "tea")))
    graph.load('Edge(edge_id="likes", from_node="lovelace", to_node="tea", verb="likes", weight=0.5);')
    graph.merge("lovelace", into="ada", provenance=Provenance(conversation="talk"))
    graph.forget_conversation("talk")
    edge = graph.edge("likes")
    assert (edge.from_node, edge.to_node, graph.aliases("ada")) == ("ada", "tea", ["lovelace"])
    assert graph.broken_invariants() == []


def test_a_load_of_something_forgotten_cannot_be_undone_and_earlier_revisions_do_not_have_it(
    graph: MemoryGraph,
) -> None:
    graph.load('Node(node_id="a", name="A", data=""); Node(node_id="b", name="B", data="");')
    graph.load('Edge(edge_id="e", from_node="a", to_node="b", verb="knows", weight=1.0);')
    graph.delete("a")
    graph.forget("a")
    for revision in (1, 2, 3):
        with pytest.raises(ConflictError, match="forgotten"):
            graph.undo(revision)
    with pytest.raises(ConflictError, match="what was forgotten is gone"):
        graph.undo(4)
    assert [node.id for node in graph.at(2).nodes()] == ["b"]
    assert list(graph.at(2).edges()) == []
    with pytest.raises(NotFoundError, match="had the id `a` at revision 2"):
        graph.at(2).node("a")
    with pytest.raises(NotFoundError, match="nothing in namespace"):
        graph.forget("a")


def test_the_record_says_how_much_was_forgotten_and_not_what(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="secretive", name="secretive", data="");')
    done = graph.forget("secretive")
    [record, *_] = graph.revisions()
    assert (record.revision, record.language, record.went) == (done.revision, "forget", ("1 nodes",))
    assert "secretive" not in str([each.as_dict() for each in graph.revisions()])


def test_what_was_interrupted_after_any_transaction_is_finished_by_forgetting_again(
    graph: MemoryGraph, twin: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forgetting, "ELEMENTS_PER_TRANSACTION", 1)
    monkeypatch.setattr(forgetting, "EDGES_PER_TRANSACTION", 1)
    monkeypatch.setattr(forgetting, "PARTS_PER_TRANSACTION", 1)
    for each in (graph, twin):
        each.load('Node(node_id="stays", name="S", data="");')
        history = each.messages("talk")
        history.extend([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}])
        history[0]["content"] = "Hey"
        each.load(
            'Node(node_id="a", name="A", data=""); Edge(edge_id="e", from_node="a", to_node="a", verb="v", weight=1);',
            provenance=Provenance("chat", "m", "talk", None),
        )
    complete = twin.forget_conversation("talk")
    piece, left = forgetting.forget_next, 0

    def killed(*arguments: Any) -> bool:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        return piece(*arguments)

    monkeypatch.setattr(forgetting, "forget_next", killed)
    for allowed in range(3):
        left = allowed
        with pytest.raises(KeyboardInterrupt):
            graph.forget_conversation("talk")
        assert graph.conversations() == []
        assert [broken.name for broken in graph.broken_invariants()] == ["forgetting"]
    monkeypatch.setattr(forgetting, "forget_next", piece)
    assert graph.forget_conversation("talk").went == complete.went
    assert graph.broken_invariants() == []
    assert [node.id for node in graph.at(graph.revisions(1)[0].revision).nodes()] == ["stays"]


def test_what_was_learnt_from_a_conversation_that_began_since_an_interruption_goes_with_it(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def learn(identifier: str) -> None:
        graph.messages("talk").extend([{"role": "user", "content": identifier}])
        graph.load(
            f'Node(node_id="{identifier}", name="A", data="");', provenance=Provenance("chat", "m", "talk", None)
        )

    learn("before")
    with monkeypatch.context() as patched:
        patched.setattr(forgetting, "forget_next", killed)
        with pytest.raises(KeyboardInterrupt):
            graph.forget_conversation("talk")
    learn("since")
    graph.forget_conversation("talk")
    assert graph.query("MATCH (n:Node|Conversation|Message {namespace: $namespace}) RETURN n") == []
    assert graph.query("MATCH (l:Load {namespace: $namespace, conversation: 'talk'}) RETURN l") == []


def test_the_former_edges_of_a_node_are_listed_some_at_a_time_and_go_on_after_a_break(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges = (f'Edge(edge_id="e{i}", from_node="hub", to_node="n{i % 2}", verb="v", weight=1);' for i in range(10))
    nodes = (f'Node(node_id="{id_}", name="N", data="");' for id_ in ("hub", "n0", "n1"))
    graph.load("".join([*nodes, *edges]))
    graph.load("".join(f'Edge(edge_id="e{i}", weight=0.5);' for i in range(10)))
    graph.load('del(id="hub");')
    monkeypatch.setattr(forgetting, "PARTS_PER_TRANSACTION", 3)
    piece, listed = forgetting.forget_next, [1]

    def list_some(*arguments: Any) -> bool:
        more = piece(*arguments)
        on_list = "MATCH (:Forgetting {namespace: $namespace})-[:FORGETS]->(part) RETURN count(part) AS parts"
        listed.append(arguments[0].transaction.run(Query(on_list, {"namespace": graph.namespace}))[0]["parts"])
        return more

    def killed_between(*arguments: Any) -> bool:
        if len(listed) % 2:
            listed.append(listed[-1])
            raise KeyboardInterrupt
        return list_some(*arguments)

    monkeypatch.setattr(forgetting, "forget_next", killed_between)
    for _ in range(8):
        with pytest.raises(KeyboardInterrupt):
            graph.forget("hub")
    monkeypatch.setattr(forgetting, "forget_next", list_some)
    assert graph.forget("hub").went == {"former states": 21}
    assert max(later - former for former, later in pairwise(listed[1:])) == 3
    assert max(listed) == 21
    assert graph.broken_invariants() == []
    assert contents_with(graph, "hub") == []


def test_fewer_at_a_time_are_forgotten_where_those_of_one_transaction_are_too_large(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    piece, shares = forgetting.forget_next, list[int]()

    def forget_a_few(transaction: NamespaceTransaction, list_: str, load: str, share: int) -> bool:
        shares.append(share)
        if share < 10:
            raise TooLargeError("this is too large for one transaction")
        return piece(transaction, list_, load, share)

    monkeypatch.setattr(forgetting, "forget_next", forget_a_few)
    monkeypatch.setattr(forgetting, "MESSAGES_PER_TRANSACTION", 32)
    graph.messages("talk").extend({"role": "user", "content": f"a long text {i}"} for i in range(5))
    assert graph.forget_conversation("talk").went["messages"] == 5
    assert shares == [1, 4, *[16] * 5]  # its version, two messages, two more, the last, and nothing
    assert graph.broken_invariants() == []


def killed(*_: Any) -> bool:
    """The process ends before it forgets the first piece of a list."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["Ada Lovelace", "Countess"])
def test_an_entity_whose_forgetting_was_interrupted_is_forgotten_by_its_name_again(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    graph.entities.create(
        [Entity(name=each, entity_type="p", observations=["a"]) for each in ("Ada Lovelace", "Countess")]
    )
    graph.merge("Countess", "Ada Lovelace")
    graph.purge()  # what the alias had been has an id, which is also its name
    planned = graph.forget(name, dry_run=True)
    monkeypatch.setattr(forgetting, "finish", killed)
    with pytest.raises(KeyboardInterrupt):
        graph.forget(name)
    monkeypatch.undo()
    assert graph.entities.search("").entities == []
    assert graph.forget(name, dry_run=True).went == planned.went
    assert graph.forget(name).went == planned.went
    assert graph.broken_invariants() == []
    assert contents_with(graph, "Lovelace") == contents_with(graph, "Countess") == []
    with pytest.raises(NotFoundError):
        graph.forget(name)


@pytest.mark.parametrize("kind", ["node", "edge", "conversation"])
def test_a_dry_run_of_what_was_interrupted_says_what_forgetting_it_again_does(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    graph.load('Node(node_id="n", name="N", data=""); Node(node_id="o", name="O", data="");')
    for weight in (0.25, 0.5):
        graph.load(f'Edge(edge_id="e", from_node="n", to_node="o", verb="v", weight={weight});')
    graph.messages("talk").append({"role": "user", "content": "Hi"})
    forgets: dict[str, Callable[..., forgetting.Forgotten]] = {
        "node": partial(graph.forget, "n"),
        "edge": partial(graph.forget, "e"),
        "conversation": partial(graph.forget_conversation, "talk"),
    }
    forget = forgets[kind]
    planned = forget(dry_run=True)
    monkeypatch.setattr(forgetting, "forget_next", killed)
    with pytest.raises(KeyboardInterrupt):
        forget()
    monkeypatch.undo()
    again = forget(dry_run=True)
    done = forget()
    assert planned.went == again.went == done.went
    assert graph.broken_invariants() == []


@pytest.mark.parametrize("form", ["contextscript", "jsonl"])
def test_an_export_beside_a_forgetting_is_of_the_moment_before_it_or_of_one_after(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    graph.load('Node(node_id="n", name="N", data=""); Node(node_id="o", name="O", data="");')
    graph.load('Edge(edge_id="e", from_node="n", to_node="o", verb="v", weight=0.5);')
    stream = Namespace.stream

    def forget_before_edges(self: Namespace, query: Any, **parameters: Any) -> Any:
        if str(query).startswith("read/all-edges") and graph.scope.read("forget/known", id="n"):
            with suppress(KeyboardInterrupt):
                graph.forget("n")
        yield from stream(self, query, **parameters)

    monkeypatch.setattr(forgetting, "finish", killed)
    monkeypatch.setattr(Namespace, "stream", forget_before_edges)
    file = StringIO()
    graph.export_to(file, form)
    assert '"o"' in file.getvalue()
    assert '"n"' not in file.getvalue()


def do_before_piece(monkeypatch: pytest.MonkeyPatch, number: int, change: Callable[[], None]) -> None:
    """Have a forgetting go element by element, and another client change something before one of its pieces."""
    monkeypatch.setattr(forgetting, "ELEMENTS_PER_TRANSACTION", 1)
    piece, numbers = forgetting.forget_next, count()

    def after_another(*list_: Any) -> bool:
        if next(numbers) == number:
            change()
        return piece(*list_)

    monkeypatch.setattr(forgetting, "forget_next", after_another)


@pytest.mark.parametrize("before", range(4))
def test_what_others_change_of_a_node_while_it_is_forgotten_is_forgotten_with_it(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    graph.load('Node(node_id="Ada", name="Ada", data="Quillon"); Node(node_id="near", name="N", data="");')
    graph.load('Edge(edge_id="e", from_node="near", to_node="Ada", verb="Quillon", weight=0.5);')
    graph.load('Node(node_id="Ada", data="Quillon, too");')

    def change() -> None:
        if graph.scope.read("read/node", id="Ada"):
            graph.load('Node(node_id="Ada", data="Marisol");')
            graph.load('Node(node_id="Ada", data="");')
            with suppress(NotFoundError):  # it may be forgotten by then
                graph.delete("e")
            graph.load('Edge(edge_id="f", from_node="Ada", to_node="near", verb="Marisol", weight=0.5);')
            graph.entities.observe([Observations(entity_name="Ada", contents=["Marisol"])])

    do_before_piece(monkeypatch, before, change)
    graph.forget("Ada")
    assert [contents_with(graph, word) for word in NAMES] == [[], []]
    assert graph.broken_invariants() == []


@pytest.mark.parametrize("before", range(5))
@pytest.mark.parametrize("done", ["merge", "delete", "undo"])
def test_who_is_merged_into_deleted_or_brought_back_while_it_is_forgotten_leaves_nothing(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, done: str, before: int
) -> None:
    graph.load('Node(node_id="Ada", name="Marisol", data="Quillon"); Node(node_id="near", name="N", data="");')
    graph.load('Edge(edge_id="e", from_node="near", to_node="Ada", verb="Quillon", weight=0.5);')
    others: dict[str, Callable[[], object]] = {
        "merge": partial(graph.merge, "other", into="Ada"),
        "delete": partial(graph.delete, "Ada"),
        "undo": partial(graph.undo, 3),
    }
    if done == "undo":
        graph.delete("Ada")
    elif done == "merge":
        graph.load('Node(node_id="other", name="Marisol", data="Quillon");')

    def change() -> None:
        with suppress(NotFoundError, ConflictError):  # it may be forgotten by then
            others[done]()

    do_before_piece(monkeypatch, before, change)
    graph.forget("Ada")
    if done == "merge" and graph.scope.read("read/node", id="other"):
        graph.forget("other")  # it was too late to merge it
    assert [contents_with(graph, word) for word in NAMES] == [[], []]
    assert graph.broken_invariants() == []


def test_who_is_created_while_one_of_its_id_is_forgotten_stays(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = forgetting.finish

    def finish_after_another(*list_: Any) -> forgetting.Forgotten:
        graph.load('Node(node_id="a", name="A", data="new");')
        graph.load('Node(node_id="a", data="newer");')
        return finish(*list_)

    monkeypatch.setattr(forgetting, "finish", finish_after_another)
    graph.load('Node(node_id="a", name="A", data="old");')
    graph.forget("a")
    assert [change.after for change in graph.history("a")] == [
        {"name": "A", "data": "new"},
        {"name": "A", "data": "newer"},
    ]


def test_who_is_overtaken_finishes_only_the_list_that_it_began(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = forgetting.finish

    def finish_after_another(namespace: Namespace, *list_: Any) -> forgetting.Forgotten:
        """Another process finishes the list first, and a third one begins the next of its id."""
        monkeypatch.setattr(forgetting, "finish", finish)
        done = finish(namespace, *list_)
        graph.messages("talk").append({"role": "user", "content": "new"})
        namespace.write(lambda opened: forgetting.begin_list(opened, "conversation", "talk", "next", dry_run=False))
        assert finish(namespace, *list_) == done
        return done

    monkeypatch.setattr(forgetting, "finish", finish_after_another)
    graph.messages("talk").append({"role": "user", "content": "old"})
    assert graph.forget_conversation("talk").went["messages"] == 1
    assert [broken.name for broken in graph.broken_invariants()] == ["forgetting"]
    assert graph.forget_conversation("talk").went["messages"] == 1
    assert graph.broken_invariants() == []


def test_who_appends_to_a_conversation_that_is_forgotten_is_refused_or_begins_another(graph: MemoryGraph) -> None:
    history = graph.messages("talk")
    history.append({"role": "user", "content": "before"})
    graph.forget_conversation("talk")
    with pytest.raises(ConflictError):
        history.append({"role": "user", "content": "after"})
    graph.messages("talk").append({"role": "user", "content": "new"})
    assert [message["content"] for message in graph.messages("talk")] == ["new"]
    assert graph.broken_invariants() == []


@pytest.mark.parametrize("expired", [False, True])
@pytest.mark.parametrize("others", [[], ["other"]], ids=["its alone", "of another, too"])
def test_what_is_recorded_of_a_conversation_while_it_is_forgotten_stays_and_names_it(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, others: list[str], expired: bool
) -> None:
    said = [{"role": "user", "content": text} for text in ("an old question", "a new question")]
    entries = entries_of([*map(Message.of, said)])
    for name in ("talk", *others):
        Neo4jStorage(graph.scope, name).add_path(entries[:1])
    piece, pieces = forgetting.forget_next, 0

    def forget_after_another_call(*list_: Any) -> bool:
        nonlocal pieces
        pieces += 1
        assert pieces < 20
        if pieces == 1:
            Neo4jStorage(replace(graph.scope, ungated=True), "talk").add_path(entries)
        return piece(*list_)

    monkeypatch.setattr(forgetting, "forget_next", forget_after_another_call)
    if expired:
        graph.expire_conversation("talk", after=timedelta())
        graph.purge_expired()
    else:
        graph.forget_conversation("talk")
    assert [message["content"] for message in graph.messages("talk")] == [each["content"] for each in said]
    rows = graph.query("MATCH (m:Message {namespace: $namespace}) RETURN m.conversations AS names ORDER BY m.content")
    assert [row["names"] for row in rows] == [["talk"], ["talk", *others]]
    assert len(graph.recall("question", conversation="talk", kinds=["message"]).hits) == 2
    assert graph.broken_invariants() == []


@pytest.mark.parametrize("name", ["talk", "third"])
def test_what_is_recorded_of_a_message_while_it_loses_the_name_of_a_forgotten_conversation_names_it(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    question, call = (
        entries_of([Message.of({"role": "user", "content": text})]) for text in ("a question of all", "another call")
    )
    for each in ("talk", "other"):
        Neo4jStorage(graph.scope, each).add_path(question)
    run = NamespaceTransaction.run
    with ThreadPoolExecutor() as pool:

        def run_beside_another(transaction: NamespaceTransaction, query: str | Query, /, **parameters: Any) -> Any:
            monkeypatch.setattr(NamespaceTransaction, "run", run)
            if query == "forget/rename-messages":
                await_waiting(graph, pool.submit(Neo4jStorage(graph.scope, name).add_path, question))
            else:
                if query == "forget/lock-named":
                    Neo4jStorage(graph.scope, name).add_path(call)
                monkeypatch.setattr(NamespaceTransaction, "run", run_beside_another)
            return run(transaction, query, **parameters)

        monkeypatch.setattr(NamespaceTransaction, "run", run_beside_another)
        graph.forget_conversation("talk")
    [row] = graph.query(
        "MATCH (message:Message {namespace: $namespace, id: $id}) RETURN message.conversations AS names",
        {"id": question[0].id},
    )
    assert row["names"] == ["other", name]
    assert len(graph.recall("question", conversation=name, kinds=["message"]).hits) == 1
    assert graph.broken_invariants() == []
