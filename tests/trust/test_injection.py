"""Injections in every position of every statement, parameter and search string: all of them stay texts.

Each position gets texts of the corpus (`injections.txt`). Whatever comes of it, an answer or an error of ours, a canary
(a graph, a file and an address) stays as it was, and what was stored is read back as it was given. The ordinary run
draws some of the texts for positions that take one at a time; with MEMORYGRAPH_TEST_LONG it is all of them.
"""

from __future__ import annotations

import json
import os
import pty
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from memorygraph import MemoryGraph, MemoryGraphError, Problem, Provenance, QueryError, ScriptError
from memorygraph.cli import cli
from memorygraph.graph.connection import Connection
from memorygraph.languages import parse
from memorygraph.languages.contextscript import NodeDeclaration, print_contextscript, print_value
from memorygraph.languages.convo import syntax as convo
from memorygraph.languages.convo.printing import print_convo
from memorygraph.languages.pete import syntax as pete
from memorygraph.languages.pete.printing import print_pete as print_log
from tests.examples import amount, every_nth, profile
from tests.mcp_server.clients import Server, Session, over_stdio, text_of
from tests.shared_neo4j import new_namespace
from tests.trust.canary import Canary, listening
from tests.trust.chance import seed
from tests.trust.fuzzing import is_located

LONG = profile() == "long"
SEED = seed()
# The first texts of the corpus, and some others, are given to each position that takes one at a time.
FIRST, SOME = amount(ordinary=3, whole=6, long=6), amount(ordinary=1, whole=4, long=4)
KEPT = (
    'Node(node_id="keep", name="Keep", data="stays"); '
    'Edge(edge_id="own", from_node="keep", to_node="keep", verb="is", weight=1.0);'
)

pairs: dict[str, int] = {}


@pytest.fixture(scope="module")
def canary(connection: Connection, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Canary]:
    graph = MemoryGraph(connection, new_namespace())
    canary = Canary(graph, tmp_path_factory.mktemp("canary") / "secret.csv", whole="NEO4J_URI" not in os.environ)
    start = time.monotonic()
    with listening(canary):
        canary.settle()
        try:
            yield canary
        finally:
            canary.leave()
    print(
        f"\ninjections: {sum(pairs.values())} pairs of a text and a position, {len(canary.injections())} texts, "
        f"{len(pairs)} positions, seed {SEED}, {time.monotonic() - start:.0f} s"
    )


@pytest.fixture
def texts(canary: Canary, request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """The corpus; behind the test, the canary is well."""
    found = canary.injections()
    assert len(found) > 150
    pairs[request.node.name] = len(found)
    yield found
    canary.is_well()


@pytest.fixture
def some(texts: list[str], request: pytest.FixtureRequest) -> list[str]:
    """What a position gets that takes one text at a time."""
    others = random.Random(f"{SEED} {request.node.name}").sample(texts[FIRST:], SOME)
    drawn = texts if LONG else [*texts[:FIRST], *others]
    pairs[request.node.name] = len(drawn)
    return drawn


# What is stored is read back as it was given.


def test_texts_of_nodes(graph: MemoryGraph, canary: Canary, texts: list[str]) -> None:
    nodes = [NodeDeclaration(node_id=f"n{i}", name=text, data=text) for i, text in enumerate(texts)]
    graph.load(KEPT + print_contextscript(nodes))
    stored = graph.query("MATCH (n:Node {namespace: $namespace}) RETURN n.id AS id, n.name AS name, n.data AS data")
    assert {row["id"]: (row["name"], row["data"]) for row in stored} == {
        "keep": ("Keep", "stays"),
        **{f"n{i}": (text, text) for i, text in enumerate(texts)},
    }
    exported = graph.export()
    graph.load("".join(f'Node(node_id="n{i}", data="");' for i in range(len(texts))))
    assert graph.history("n5")[0].after == {"name": texts[5], "data": texts[5]}
    assert graph.at(1).node("n5").data == texts[5]
    graph.undo(2)
    assert graph.export() == exported
    again = MemoryGraph(graph.connection, new_namespace())
    again.load(exported)
    assert again.export() == exported


ARGUMENTS = {
    "node_id": "Node(node_id={}, name={});",
    "edge_id": 'Edge(edge_id={}, from_node="keep", to_node="keep", verb="is", weight=1.0);',
    "from_node": 'Edge(edge_id="e", from_node={}, to_node="keep", verb="is", weight=1.0);',
    "to_node": 'Edge(edge_id="e", from_node="keep", to_node={}, verb="is", weight=1.0);',
    "verb": 'Edge(edge_id="e", from_node="keep", to_node="keep", verb={}, weight=1.0);',
    "weight": 'Edge(edge_id="own", weight={});',
    "id": "del(id={});",
}


def _loaded(graph: MemoryGraph, program: str, *, strict: bool = False) -> None:
    """Load a program, or be told where it is wrong."""
    problems: list[Problem] = []
    try:
        graph.load(program, strict=strict)
    except ScriptError as error:
        problems = error.problems
    is_located(problems, program)


@pytest.mark.parametrize("strict", [False, True], ids=["default", "strict"])
@pytest.mark.parametrize("argument", ARGUMENTS)
def test_arguments_of_statements(graph: MemoryGraph, texts: list[str], argument: str, strict: bool) -> None:
    """As a value in quotes, and as it is: between quotes, and without any."""
    graph.load(KEPT)
    for quote in (print_value, '"{}"'.format, str):
        statements = [ARGUMENTS[argument].format(quote(text), quote(text)) for text in texts]
        for start in range(0, len(statements), 40):
            _loaded(graph, "\n".join(statements[start : start + 40]), strict=strict)
    # What got out of its quotes is a statement as any other: of this namespace, and no more than one can say.
    assert {row["labels"] for row in _labels(graph)} <= {"Node"}


def _labels(graph: MemoryGraph) -> list[dict[str, Any]]:
    return graph.query("MATCH (n:Node {namespace: $namespace}) UNWIND labels(n) AS labels RETURN DISTINCT labels")


def test_texts_of_logs(graph: MemoryGraph, texts: list[str]) -> None:
    graph.load(KEPT)
    said: list[pete.Item] = [pete.Opening("main", (pete.Ref("a"),))]
    for text in texts:
        value = pete.Value(json.dumps(text, ensure_ascii=False))
        argument = pete.Value(json.dumps({text: [text]}, ensure_ascii=False))
        said += [
            pete.Comment(re.sub(r"[\r\n]", " ", text).rstrip()),
            pete.SensorReport(re.sub(r"[\r\n]", " ", text).rstrip()),
            pete.Annotation(text.replace("]", ")").strip(" \t\r\n")) if text.strip(" \t\r\n") else pete.Comment("none"),
            pete.Instantiation(pete.Ref("b"), pete.Nlp(f"it is {text.replace('*/', '* /')}")),
            pete.Fact(pete.Predication(pete.Ref("a"), "says", value, None)),
            pete.Command("tell", "fan", argument, pete.Feedback(argument)),
        ]
    log = print_log(pete.PeteProgram(parse("").source, tuple(said)))
    program = parse(log, "pete")
    assert program.problems == ()
    graph.load(program, "pete")
    assert parse(graph.pete("main").text, "pete").items == program.items
    values = {row["name"] for row in graph.query("MATCH (n:Node {namespace: $namespace}) RETURN n.name AS name")}
    assert {text[:200] for text in texts} <= {str(value)[:200] for value in values}


def test_texts_and_inputs_of_agents(graph: MemoryGraph, texts: list[str]) -> None:
    quoted = ", ".join(json.dumps(text, ensure_ascii=False).replace("\\u00", "\\\\u00") for text in texts)
    program = f"main agent A {{ main func(input) {{ return [input, [{quoted}]] }} }}"
    result = graph.run(program, {"texts": texts, **{text: text for text in texts if text}}, mock=True)
    assert result.value[0]["texts"] == texts
    assert len(result.value[1]) == len(texts)


def test_texts_and_inputs_of_node_graphs(graph: MemoryGraph, texts: list[str]) -> None:
    said = tuple(convo.TextMessage("user", "", convo.Template((text,) if text else ())) for text in texts)
    printed = print_convo(said)
    assert parse(printed, "convo").conversation.messages == said
    given = "\n".join(texts)
    flow = '> node first\n  > do\n  add("" input)\n> nodeEnd\n'
    assert graph.run(f"{flow}{printed}> goto first\n", given, language="convo").value == given


def test_messages(graph: MemoryGraph, texts: list[str]) -> None:
    name = "\n".join(texts)[:200]
    history = graph.messages(name)
    for text in texts[::10]:
        history.append({"role": "user", "content": text, "name": text or None}, metadata={text: text})
    history.extend(
        [{"role": "tool", "tool_call_id": text or "x", "content": text, "x" + text: [text]} for text in texts]
    )
    history[0]["content"] = texts[1]
    read = graph.messages(name)
    assert [message["content"] for message in read][-len(texts) :] == texts
    assert read[0]["content"] == texts[1]
    assert read[-2]["x" + texts[-2]] == [texts[-2]]
    assert [info.name for info in graph.conversations()] == [name]
    assert list(graph.messages("another")) == []
    json.loads(json.dumps([message.as_dict() for message in (entry.message for entry in read.entries())]))


def test_lines_of_an_import(graph: MemoryGraph, texts: list[str], tmp_path: Path) -> None:
    named = [text for text in dict.fromkeys(texts) if text.strip() and len(text) <= 200]
    entities = [
        {"type": "entity", "name": text, "entityType": text, "observations": [f"says {text}"]} for text in named
    ]
    relations = [{"type": "relation", "from": text, "to": named[0], "relationType": text} for text in named]
    path = tmp_path / "memory.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in [*entities, *relations]), "utf-8")
    graph.import_memory(path)
    assert sorted(
        json.loads(line)["name"] for line in graph.export("server-memory").split("\n")[: len(named)]
    ) == sorted(named)
    for text in texts[::6]:  # and what is no JSON, or another one
        path.write_text(f'{{"type": "entity", "name": "{text}", "entityType": "x", "observations": []}}\n', "utf-8")
        with suppress(ScriptError):
            graph.import_memory(path)


def test_who_asked_for_a_load(graph: MemoryGraph, texts: list[str]) -> None:
    named = [text for text in texts[::8] if text]
    for text in named:
        graph.load(KEPT, file=text, provenance=Provenance(text, text, text, text))
    assert [(revision.by, revision.file) for revision in graph.revisions(1000)][::-1] == [
        (text, text) for text in named
    ]


# Where one text stands at a time: an answer, or an error of ours.


def _own_namespace(graph: MemoryGraph, text: str) -> Any:
    other = MemoryGraph(graph.connection, text[:200])
    if any(info.name == other.namespace for info in graph.namespaces()):
        return None
    other.load(KEPT)
    names = [info.name for info in graph.namespaces()]
    assert other.namespace in names
    assert other.node("keep").data == "stays"
    return graph.drop_namespace(other.namespace)


def _conversation(graph: MemoryGraph, text: str) -> Any:
    history = graph.messages(text)
    history.append({"role": "user", "content": text})
    return [message["content"] for message in graph.messages(text)]


def _query(graph: MemoryGraph, text: str) -> Any:
    """Cypher is a language that may read; so what is aimed at the canary's own graph is left out."""
    try:
        return graph.query(text.replace("{namespace: 'canary", "{namespace: 'nobody"))
    except QueryError as error:
        return str(error).replace(text, "")


POSITIONS: dict[str, Callable[[MemoryGraph, str], Any]] = {
    "node": lambda graph, text: graph.node(text),
    "edge": lambda graph, text: graph.edge(text),
    "element": lambda graph, text: graph.element(text),
    "neighbours": lambda graph, text: graph.neighbours(text),
    "history": lambda graph, text: graph.history(text),
    "delete": lambda graph, text: graph.delete(text),
    "search": lambda graph, text: graph.search(text),
    "fuzzy search": lambda graph, text: graph.search(text, fuzzy=True),
    "suggest": lambda graph, text: graph.suggest(text),
    "recall": lambda graph, text: str(graph.recall(text)),
    "recall in a conversation": lambda graph, text: str(graph.recall("stays", conversation=text)),
    "recall within a budget": lambda graph, text: str(graph.recall("stays", budget=text)),
    "conversation": _conversation,
    "role of a message": lambda graph, text: graph.messages("c").append({"role": text, "content": text}),
    "thought": lambda graph, text: graph.pete(text).text,
    "namespace": _own_namespace,
    "drop a namespace": lambda graph, text: graph.drop_namespace(text),
    "query": _query,
    "parameter of a query": lambda graph, text: graph.query("RETURN $text AS text", {"text": text})[0]["text"] == text,
    "name of a parameter": lambda graph, text: graph.query("RETURN 1 AS one", {text: 1}),
    "key of a parameter": lambda graph, text: graph.query("RETURN $map AS map", {"map": {text: [text]}}),
    "language": lambda graph, text: graph.check(KEPT, language=text),
    "format of an export": lambda graph, text: graph.export(text),
    "run to resume": lambda graph, text: graph.run("> user\nHi\n", language="convo", resume=text),
    "agent of a run": lambda graph, text: graph.run(AGENT, "x", mock=True, agent=text),
    "function of a run": lambda graph, text: graph.run(AGENT, "x", mock=True, function=text),
    "tools of a run": lambda graph, text: graph.run(AGENT, "x", mock=True, allow_tools=[text]),
    "hosts of a run": lambda graph, text: graph.run(AGENT, "x", mock=True, allow_hosts=[text]),
    "namespaces of a run": lambda graph, text: graph.run(AGENT, "x", mock=True, allow_namespaces=[text]),
    "import of an agent": lambda graph, text: graph.run(
        f"import file F from {json.dumps(text, ensure_ascii=False)}\n{AGENT}", "x", mock=True
    ),
    "memory of an agent": lambda graph, text: graph.run(
        AGENT.replace("return", "use K.query(input)\n return").replace(
            "main agent", 'import memory K from "neo4j://"\nmain agent'
        ),
        text,
        mock=True,
    ),
    "ContextScript": lambda graph, text: graph.load(text),
    "PETE": lambda graph, text: graph.load(text, "pete"),
    "AgentScript": lambda graph, text: graph.run(text, mock=True),
}
AGENT = "main agent A { main func(input) { return input } }"


@pytest.mark.parametrize("position", POSITIONS)
def test_a_text_at_a_time(graph: MemoryGraph, canary: Canary, some: list[str], position: str) -> None:
    graph.load(KEPT)
    for text in [*some, "\ud800"]:
        try:
            said = str(POSITIONS[position](graph, text))
        except MemoryGraphError as error:
            said = str(error)
        except (TypeError, ValueError):  # what these say of a message that is none
            assert position in {"conversation", "role of a message"}
            continue
        canary.says(said.replace(text, ""))
    assert graph.node("keep").data == "stays"


COMMANDS: dict[str, Callable[[str], list[str]]] = {
    "show": lambda text: ["show", "--", text],
    "show as it was": lambda text: ["show", f"--at={text}", "keep"],
    "search": lambda text: ["search", "--", text],
    "recall": lambda text: ["recall", "--", text],
    "recall at a time": lambda text: ["recall", f"--at={text}", "stays"],
    "neighbours": lambda text: ["neighbours", "--", text],
    "history": lambda text: ["history", "--", text],
    "undo": lambda text: ["undo", "--", text],
    "delete": lambda text: ["delete", "--", text],
    "forget": lambda text: ["forget", "--yes", "--", text],
    "forget a conversation": lambda text: ["messages", "forget", "--yes", "--", text],
    "query": lambda text: ["query", "RETURN $text AS text", "-p", f"text={text}"],
    "name of a parameter": lambda text: ["query", "RETURN 1 AS one", "-p", f"{text}=1"],
    "namespace": lambda text: [f"--namespace={text}", "show", "keep"],
    "drop a namespace": lambda text: ["namespaces", "drop", "--yes", "--", text],
    "conversation": lambda text: ["messages", "show", "--", text],
    "export of a conversation": lambda text: ["messages", "export", "--", text],
    "thought": lambda text: ["pete", "show", "--", text],
    "file": lambda text: ["load", "--language=contextscript", "--", text],
    "language": lambda text: ["check", f"--language={text}", os.devnull],
    "database": lambda text: [f"--database={text or 'none'}", "show", "keep"],
}


def printed_by(*arguments: str) -> tuple[int, str]:
    """Run the command line in this process; its exit code, and what it has printed."""
    result = CliRunner().invoke(cli, arguments, prog_name="memorygraph")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.mark.parametrize("command", COMMANDS)
def test_arguments_of_commands(
    environment: str, connection: Connection, canary: Canary, some: list[str], command: str
) -> None:
    graph = MemoryGraph(connection, environment)
    graph.load(KEPT)
    for text in some:
        if "\0" in text:  # no argument of a program can hold it
            continue
        code, output = printed_by(*COMMANDS[command](text))
        assert code in {0, 1, 2}, output
        assert "Traceback" not in output
        if text != str(canary.secret):  # the file that was asked for by its name
            canary.says(output.replace(text, ""))
    assert graph.node("keep").data == "stays"


def test_a_file_gets_what_is_stored(environment: str, connection: Connection, texts: list[str]) -> None:
    graph = MemoryGraph(connection, environment)
    graph.load(
        print_contextscript(NodeDeclaration(node_id=f"n{i}", name=text, data=text) for i, text in enumerate(texts))
    )
    exported = CliRunner().invoke(cli, ["export"]).stdout_bytes.decode("utf-8")
    assert exported == graph.export()


ON_A_TERMINAL = [
    ["show", "n"],
    ["query", "MATCH (n:Node {namespace: $namespace}) RETURN n.name AS name, n.data AS data"],
    ["query", "MATCH (n:Node {namespace: $namespace}) RETURN n.name AS name", "--json"],
    ["search", "obey"],
    ["recall", "obey"],
    ["history", "n"],
    ["export"],
    ["messages", "show", "c"],
    ["show", "TEXT"],
    ["delete", "TEXT"],
]


@pytest.mark.parametrize(
    "arguments",
    [*ON_A_TERMINAL[:3], *(pytest.param(each, marks=pytest.mark.slow) for each in ON_A_TERMINAL[3:])],
    ids=" ".join,
)
def test_a_terminal_gets_nothing_to_obey(
    environment: str, connection: Connection, texts: list[str], arguments: list[str]
) -> None:
    text = "obey " + "".join(character for one in texts for character in one if not character.isprintable())
    graph = MemoryGraph(connection, environment)
    graph.load(print_contextscript([NodeDeclaration(node_id="n", name=text, data=text)]))
    graph.messages("c").append({"role": "user", "content": text})
    shown = _on_a_terminal([part.replace("TEXT", text.replace("\0", "")) for part in arguments])
    assert "obey" in shown
    assert [character for character in shown if not (character.isprintable() or character in "\r\n\t")] == []


def _on_a_terminal(arguments: list[str]) -> str:
    """What a command prints where its standard output and error are a terminal that shows no colours."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "memorygraph", *arguments]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "dumb"}) as process:
        os.close(theirs)
        pieces = []
        with suppress(OSError), os.fdopen(ours, "rb", 0) as terminal:  # at its end, a terminal fails to be read
            while piece := terminal.read(2**16):
                pieces.append(piece)
        assert process.wait(60) in {0, 1}
    return b"".join(pieces).decode("utf-8")


# MCP: what a model's client sends.

TOOLS: dict[str, Callable[[str], dict[str, Any]]] = {
    "search_nodes": lambda text: {"query": text},
    "search_memories": lambda text: {"query": text},
    "open_nodes": lambda text: {"names": [text]},
    "find_memories_by_name": lambda text: {"names": [text]},
    "recall": lambda text: {"query": text},
    "neighbours": lambda text: {"id": text},
    "show": lambda text: {"id": text},
    "history": lambda text: {"id": text},
    "show_conversation": lambda text: {"name": text},
    "conversation_versions": lambda text: {"name": text},
    "show_thought": lambda text: {"name": text},
    "load_contextscript": lambda text: {"program": text},
    "check_contextscript": lambda text: {"program": text},
    "run_program": lambda text: {"program": text},
    "undo": lambda text: {"revision": text},
    "merge_entities": lambda text: {"entity": text, "into": text},
    "forget": lambda text: {"id": text, "dry_run": False},
    "delete_entities": lambda text: {"entityNames": [text]},
    "delete_observations": lambda text: {"deletions": [{"entityName": text, "observations": [text]}]},
    "delete_relations": lambda text: {"relations": [{"from": text, "to": text, "relationType": text}]},
}


@pytest.fixture(scope="module")
def session(server: Server, connection: Connection) -> Iterator[Session]:
    namespace = new_namespace()
    with Session(over_stdio(server, namespace)) as session:
        assert not session.call("load_contextscript", {"program": KEPT}).is_error
        yield session


@pytest.mark.parametrize("tool", every_nth(TOOLS, 4))
def test_arguments_of_tools(session: Session, canary: Canary, some: list[str], tool: str) -> None:
    [schema] = [each.input_schema for each in session.tools() if each.name == tool]
    for text in some:
        arguments = TOOLS[tool](text)
        assert set(arguments) <= set(schema["properties"]), schema["properties"]
        answer = text_of(session.call(tool, arguments))
        assert "Traceback" not in answer
        assert "an error of memorygraph itself" not in answer
        canary.says(answer)
    assert "stays" in text_of(session.call("show", {"id": "keep"}))


def test_what_a_client_remembers(session: Session, texts: list[str]) -> None:
    named = [text for text in dict.fromkeys(texts) if text.strip() and len(text) <= 200]
    entities = [{"name": text, "entityType": text, "observations": [f"a {text}"]} for text in named]
    made = session.call(
        "create_entities", {"entities": entities, "distinguishCase": True}
    )  # some differ in blanks only
    assert not made.is_error, text_of(made)
    added = [{"entityName": text, "contents": [f"b {text}"]} for text in named]
    session.call("add_observations", {"observations": added})
    relations = [{"from": text, "to": named[0], "relationType": text} for text in named]
    related = session.call("create_relations", {"relations": relations})
    assert not related.is_error, text_of(related)
    entities_read, relations_read = [], []
    for start in range(0, len(named), 40):  # an answer has a budget
        opened = session.call("open_nodes", {"names": named[start : start + 40]}).structured_content
        entities_read += opened["entities"]
        relations_read += opened["relations"]
    assert {(one["name"], one["entityType"], *one["observations"]) for one in entities_read} == {
        (text, text, f"a {text}", f"b {text}") for text in named
    }
    assert {(one["from"], one["relationType"]) for one in relations_read} >= {(text, text) for text in named[:40]}
    session.call("delete_entities", {"entityNames": named})
    assert session.call("open_nodes", {"names": named}).structured_content["entities"] == []
