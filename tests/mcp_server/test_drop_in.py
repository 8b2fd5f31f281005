"""The tools of the two memory servers that people use answer as theirs do, over both transports."""

from __future__ import annotations

import ast
import json
import re
import tempfile
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import mcp
import pytest
from mcp_types import Implementation, PromptReference, ResourceTemplateReference
from neo4j.exceptions import ServiceUnavailable

from memorygraph import MemoryGraph
from memorygraph.errors import ModelError
from memorygraph.graph.driver_errors import translate
from memorygraph.llm.model import OpenAIModel
from memorygraph.mcp_server import build_server, choose_tools
from memorygraph.mcp_server import server as server_module
from memorygraph.mcp_server.resources import PROMPTS
from memorygraph.mcp_server.tools import TOOLS
from memorygraph.mcp_server.wording import say_in_words_of_tools
from memorygraph.runtime.permissions import refuse_scheme
from tests.mcp_server.clients import HttpServer, Server, call, over_http, over_stdio, run, text_of
from tests.modules import FILES, nodes_of, part_of
from tests.test_architecture import RANK

pytestmark = pytest.mark.anyio

# Written from the source of the servers: what each call answers, in this order, on an empty memory.
CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))


async def _compare(transport: AbstractAsyncContextManager[mcp.Client], steps: list[dict[str, Any]]) -> None:
    async with transport as client:
        for number, step in enumerate(steps):
            result = await client.call_tool(step["tool"], step["arguments"])
            assert [part.type for part in result.content] == ["text"]
            found = {
                "tool": step["tool"],
                "arguments": step["arguments"],
                "text": getattr(result.content[0], "text", None),
                "structured": result.structured_content,
                "error": bool(result.is_error),
            }
            assert found == step, number


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_tools_answer_exactly_as_those_that_they_replace(path: Path, graph: MemoryGraph, server: Server) -> None:
    run(lambda: _compare(over_stdio(server, graph.namespace), json.loads(path.read_text("utf-8"))))


@pytest.mark.slow
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_over_http_they_do_too(path: Path, open_http: HttpServer) -> None:
    run(lambda: _compare(over_http(open_http.url), json.loads(path.read_text("utf-8"))))


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_both_generations_of_the_protocol_are_served(mode: str, open_http: HttpServer) -> None:
    async with over_http(open_http.url, mode=mode) as client:
        await call(client, "create_entities", entities=[{"name": "A", "entityType": "t", "observations": []}])
        assert [each["name"] for each in (await call(client, "read_graph"))["entities"]] == ["A"]


@pytest.mark.slow
async def test_recall_takes_the_filters_of_the_client(graph: MemoryGraph, server: Server) -> None:
    graph.messages("talk").append({"role": "user", "name": "Ada", "content": "I drink tea."})
    async with over_stdio(server, graph.namespace) as client:
        await call(client, "create_entities", entities=[{"name": "Tea", "entityType": "drink", "observations": []}])
        await call(client, "create_entities", entities=[{"name": "A", "entityType": "t", "observations": ["x"]}])
        likes = {"from": "A", "to": "Tea", "relationType": "likes"}
        await call(client, "create_relations", relations=[likes])
        for filters, kinds in (
            ({"speaker": "ada", "since": "2020-01-01"}, ["message"]),
            ({"conversation": "talk", "role": "user"}, ["message"]),
            ({"kind": "drink"}, ["node"]),
            ({"verb": "likes"}, ["node", "node"]),
            ({"verb": "likes", "kind": "t"}, ["node"]),
            ({"until": "2020-01-01"}, []),
        ):
            found = await call(client, "recall", query="tea", **filters)
            assert [hit["kind"] for hit in found["hits"]] == kinds, filters
        wrong = await client.call_tool("recall", {"query": "tea", "kind": "unicorn"})
        assert wrong.is_error
        assert "no node of the kind `unicorn`" in str(wrong.content)


async def test_what_exists_is_merged_and_each_outcome_is_said(client: mcp.Client) -> None:
    first = {"name": "A", "entityType": "t", "observations": ["x"]}
    await call(client, "create_entities", entities=[first])
    again = await client.call_tool("create_entities", {"entities": [{**first, "observations": ["x", "y"]}]})
    assert getattr(again.content[0], "text", None) == "[]"
    assert again.structured_content == {
        "entities": [],
        "outcomes": [{"name": "A", "outcome": "merged", "addedObservations": ["y"]}],
    }
    assert notes_of(again) == ['"A" existed: 1 new observation was added to it.']


def notes_of(result: Any) -> list[str]:
    """The texts beside the first."""
    return [part.text for part in result.content[1:]]


A, B, C = ({"name": name, "entityType": "t", "observations": ["x"]} for name in "ABC")
DECLARED = """
Node(node_id="d", name="D", data="data"); Node(node_id="e", name="E", data="");
Edge(edge_id="k1", from_node="d", to_node="e", verb="knows", weight=1);
Edge(edge_id="k2", from_node="d", to_node="e", verb="knows", weight=1);
Node(node_id="o", name="", data="of both");
Edge(edge_id="o1", from_node="d", to_node="o", verb="observed", weight=1);
Edge(edge_id="o2", from_node="e", to_node="o", verb="observed", weight=1);
"""
A_LIKES_B, B_LIKES_A = ({"from": ends[0], "to": ends[1], "relationType": "likes"} for ends in ("AB", "BA"))


@pytest.mark.parametrize(
    ("tool", "arguments", "notes"),
    [
        ("create_entities", {"entities": [C]}, []),
        (
            "create_entities",
            {"entities": [C, A, {**B, "observations": ["y", "z"]}, {**B, "name": "a"}]},
            [
                '"C" was created. "A" existed, with all that was said of it: nothing changed. '
                '"B" existed: 2 new observations were added to it. '
                '"a" was not created, did you mean "A"? What was said of it is stored there.'
            ],
        ),
        (
            "create_entities",
            {"entities": [{**A, "entityType": "robot"}, {**B, "name": "b", "entityType": "robot"}]},
            [
                '"A" existed, with all that was said of it: nothing changed. Its type stays "t". '
                '"b" was not created, did you mean "B"? What was said of it is stored there. Its type stays "t".'
            ],
        ),
        ("create_relations", {"relations": [B_LIKES_A]}, []),
        (
            "create_relations",
            {"relations": [A_LIKES_B, B_LIKES_A]},
            ['The relation "A" "likes" "B" existed: nothing changed. The relation "B" "likes" "A" was created.'],
        ),
        ("delete_relations", {"relations": [A_LIKES_B]}, []),
        (
            "delete_relations",
            {"relations": [A_LIKES_B, B_LIKES_A]},
            ["1 of 2 was there, and was deleted."],
        ),
        ("delete_relations", {"relations": [B_LIKES_A]}, ["Nothing of it was there: nothing was deleted."]),
        ("delete_observations", {"deletions": [{"entityName": "A", "observations": ["x"]}]}, []),
        (
            "delete_observations",
            {"deletions": [{"entityName": "A", "observations": ["x", "y"]}]},
            ["1 of 2 was there, and was deleted."],
        ),
        ("delete_observations", {"deletions": [{"entityName": "D", "observations": ["data"]}]}, []),
        ("delete_observations", {"deletions": [{"entityName": "D", "observations": ["data", "of both"]}]}, []),
        (
            "delete_observations",
            {"deletions": [{"entityName": name, "observations": ["of both"]} for name in ("D", "E")]},
            [],
        ),
        (
            "delete_observations",
            {"deletions": [{"entityName": name, "observations": ["of both", "y"]} for name in ("D", "E", "D", "F")]},
            ["2 of 6 were there, and were deleted."],
        ),
        (
            "delete_relations",
            {"relations": [{"from": "D", "to": name, "relationType": "knows"} for name in ("E", "E", "F")]},
            ["1 of 2 was there, and was deleted."],
        ),
        ("delete_entities", {"entityNames": ["A"]}, []),
        ("delete_entities", {"entityNames": ["A", "nobody", "none"]}, ['"nobody", "none" were not there.']),
        ("delete_entities", {"entityNames": ["nobody"]}, ["Nothing of it was there: nothing was deleted."]),
        ("delete_entities", {"entityNames": ["a ", "B"]}, ['"a " was not there. Did you mean "A" by "a "?']),
        ("delete_entities", {"entityNames": ["a", "A"]}, ['"a" was not there.']),
        (
            "delete_observations",
            {"deletions": [{"entityName": "a", "observations": ["x"]}]},
            ['Nothing of it was there: nothing was deleted. Did you mean "A" by "a"?'],
        ),
        (
            "delete_relations",
            {"relations": [{"from": "a", "to": "b", "relationType": "likes"}]},
            ['Nothing of it was there: nothing was deleted. Did you mean "A" by "a"? Did you mean "B" by "b"?'],
        ),
    ],
    ids=lambda value: str(value)[:60],
)
async def test_the_text_says_what_happened(
    tool: str, arguments: dict[str, Any], notes: list[str], graph: MemoryGraph, client: mcp.Client
) -> None:
    """Many clients drop the structured part."""
    graph.load(DECLARED)
    await call(client, "create_entities", entities=[A, B])
    await call(client, "create_relations", relations=[A_LIKES_B])
    assert notes_of(await client.call_tool(tool, arguments)) == notes


async def test_the_text_of_a_recall_says_what_was_not_found_and_what_is_left_out(client: mcp.Client) -> None:
    nothing = await client.call_tool("recall", {"query": "tea"})
    assert text_of(nothing) == "Nothing is remembered about it."
    many = {"name": "Ada", "entityType": "t", "observations": [f"tea {each} " * 40 for each in range(20)]}
    await call(client, "create_entities", entities=[many])
    some = await client.call_tool("recall", {"query": "tea", "max_tokens": 200})
    left_out = some.structured_content["leftOut"]
    assert notes_of(some) == [f"{left_out} more did not fit: `max_tokens` can be greater."]
    far_too_long = f'Node(node_id="{"i-" * 250}", name="coffee", data="");'
    await call(client, "load_contextscript", program=far_too_long)
    none = await client.call_tool("recall", {"query": "coffee", "max_tokens": 200})
    assert text_of(none) == "1 more did not fit: `max_tokens` can be greater."


async def test_a_search_for_a_misspelt_name_asks_what_was_meant(client: mcp.Client) -> None:
    await call(client, "create_entities", entities=[{"name": "Ada Lovelace", "entityType": "t", "observations": []}])
    for tool in ("search_nodes", "search_memories"):
        answer = await client.call_tool(tool, {"query": "Lovlace"})
        assert notes_of(answer) == ["Nothing was found; did you mean Ada Lovelace?"]
        assert not answer.structured_content["entities"]
        assert notes_of(await client.call_tool(tool, {"query": "zebra"})) == []
    recalled = await client.call_tool("recall", {"query": "Who is Lovlace?"})
    assert text_of(recalled) == "Nothing is remembered about it; did you mean Ada Lovelace?"


async def test_a_message_is_shown_with_its_place_and_its_id_and_not_with_what_it_calls_so_itself(
    graph: MemoryGraph, client: mcp.Client
) -> None:
    numbered = {"role": "user", "content": "hi", "id": 17, "index": "first"}
    graph.messages("talk").extend([numbered, {"role": "user", "content": "ho", "id": "msg_1"}])
    shown = await call(client, "show_conversation", name="talk")
    ids = [entry.id for entry in graph.messages("talk").entries()]
    assert shown["messages"] == [
        {"index": 0, "id": ids[0], "role": "user", "content": "hi"},
        {"index": 1, "id": ids[1], "role": "user", "content": "ho"},
    ]


NEEDS_TWO = "main agent { main func(a, b) { return 1 } }"
NEEDS_A = "main agent { main func(input { a number }) { return 1 } }"


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("undo", {"revision": 4000}, "revisions lists them"),
        ("forget", {"conversation": "nobody"}, "list_conversations shows them all"),
        ("show_conversation", {"name": "nobody"}, "list_conversations shows them all"),
        ("forget", {"id": "nobody"}, "a conversation is forgotten by its name, as `conversation`"),
        ("show", {"id": "nobody"}, "search_nodes and recall find what is there"),
        ("neighbours", {"id": "nobody"}, "search_nodes and recall find what is there"),
        ("merge_entities", {"entity": "nobody", "into": "no one"}, "search_nodes and recall find what is there"),
        ("show_thought", {"name": "nobody"}, "list_thoughts shows them all"),
        ("run_program", {"program": NEEDS_A, "input": {}}, "give it with `input`"),
        ("run_program", {"program": NEEDS_A, "input": '{"a":2'}, "it is not valid JSON"),
        ("run_program", {"program": NEEDS_TWO, "input": '{"a":2'}, "it is not valid JSON"),
    ],
)
async def test_errors_name_tools_and_no_commands(
    tool: str, arguments: dict[str, Any], said: str, client: mcp.Client
) -> None:
    await call(client, "create_entities", entities=[A])
    refused = await client.call_tool(tool, arguments)
    assert refused.is_error
    told = text_of(refused).splitlines()[0]
    assert told.endswith(said)
    assert "--" not in told


@pytest.mark.parametrize(
    ("of_command_line", "of_tools"),
    [
        (
            "the run has done its 2 steps of work; `run` allows more with --max-work (in Python: limits)",
            "the run has done its 2 steps of work, and this server allows no more",
        ),
        (
            "the graph has taken its 2 steps without an end; allow more with --max-steps (in Python: max_steps)",
            "the graph has taken its 2 steps without an end; `max_steps` allows more, as far as this server does",
        ),
        (
            refuse_scheme("sh", "the tool `T`", None),
            "the tool `T` may not run commands, for nobody allowed it, and this server allows it to no program",
        ),
        (
            refuse_scheme("http", "the tool `T`", ("example.org", 80)),
            "the tool `T` may not reach example.org:80, for nobody allowed it, and this server allows it to no program",
        ),
        (
            "once Neo4j works again, `memorygraph revisions --json` lists the load 7 if it was kept",
            "once Neo4j works again, revisions lists the load 7 if it was kept",
        ),
        (
            "namespace `two words` has no revision 7; `memorygraph -n 'two words' revisions` lists them",
            "namespace `two words` has no revision 7; revisions lists them",
        ),
        (
            "a message before `x` was altered in the database: `memorygraph -n people messages verify` names it",
            "a message before `x` was altered in the database: "
            "on the machine of this server `memorygraph -n people messages verify` names it",
        ),
        (
            "and nothing was changed by it: `delete 'a hub' --batch 30000` deletes it in parts "
            "(in Python: delete with batch=30000)",
            "and nothing was changed by it: delete its edges first, at most 30000 at a time",
        ),
        (
            "a script, which has declarations of what it changed or deleted, as `export --at 4` writes them: "
            "`load --batch 30000` stores them in parts (in Python: load_file with batch=30000)",
            "a script, which has declarations of what it changed or deleted: send at most 30000 at a time",
        ),
        (
            "`../x` is outside of the folder of the program; only files in it are imported. "
            "Allow a folder that holds both with `--import-folder ..` (in Python: import_folder)",
            "`../x` is outside of the folder of the program; only files in it are imported",
        ),
        (
            "Without a dry run it is forgotten in parts, which have room: `--yes` does not ask",
            "Without a dry run it is forgotten in parts, which have room: `dry_run`: false forgets it",
        ),
        (
            "revision 3 can't be undone: `memorygraph programs forget` takes a stored node graph away",
            "revision 3 can't be undone: "
            "forget takes a stored node graph away for good, by the id that list_programs shows",
        ),
        (
            'node "a" is not as it should be: name = 7; `memorygraph doctor --graph` says how it is mended',
            'node "a" is not as it should be: name = 7; '
            "on the machine of this server `memorygraph doctor --graph` says how it is mended",
        ),
        (str(translate(ServiceUnavailable("refused"))), "Neo4j cannot be reached: try again in 5 s (refused)"),
    ],
)
def test_what_only_a_command_can_allow_is_not_offered_to_a_client(of_command_line: str, of_tools: str) -> None:
    assert say_in_words_of_tools(of_command_line) == of_tools


def test_a_client_whose_program_asks_a_model_where_none_is_configured_is_told_of_no_option(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("MEMORYGRAPH_MODEL", raising=False)
    with OpenAIModel() as model, pytest.raises(ModelError) as failed:
        assert not model.name
    assert say_in_words_of_tools(str(failed.value)) == "no model is configured, and this server was started without one"


# Commands that messages may name to a client, with the reason.
COMMANDS_OF_PEOPLE = {
    **dict.fromkeys(("backup", "doctor", "down", "up"), "for the person on whose machine the server runs"),
    **dict.fromkeys(("delete", "export", "messages index"), "said by doctor and restore, which are no tools"),
    **dict.fromkeys(
        ("namespaces drop …", "namespaces list", "run FILE", "runs list"),
        "no tool imports into a namespace or drops one, stores a program, or reads a run",
    ),
}


OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")

# Options that messages may name to a client, with the reason.
OPTIONS_OF_PEOPLE = {
    "--allow-tool": "in a part of a message, of which no more is told as a whole",
    "--uri": "for the person on whose machine the server runs",
    **dict.fromkeys(
        ("--agent", "--fix", "--format", "--function", "--model", "--namespace", "--summary", "--write"),
        "no tool imports into a namespace, exports, mends or evaluates, and none has these ways to run or to query",
    ),
}


def messages(wanted: re.Pattern[str], besides: tuple[str, ...] = ()) -> set[str]:
    """The texts of the package below the client, besides those of some parts, that have something; values are `…`."""
    found = set()
    for path in (path for path in FILES if RANK[part_of(path)] < RANK["client"] and part_of(path) not in besides):
        nodes = nodes_of(path)
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        skipped = {ast.get_docstring(node, clean=False) for node in nodes if isinstance(node, documented)}
        joined = [node for node in nodes if isinstance(node, ast.JoinedStr)]
        parts_of_joined = {id(part) for node in joined for part in node.values}
        for node in nodes:
            if id(node) in parts_of_joined:
                continue
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            said = "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts)
            said = re.sub(r"`memorygraph(?:…|{option}) ", "`memorygraph ", said)  # the namespace, where it is another
            if wanted.search(said) and said not in skipped:
                found.add(said)
    return found


def test_no_message_names_a_command_to_a_client_that_has_only_tools() -> None:
    named = messages(re.compile("`memorygraph "))
    assert len(named) > 20
    left = {
        command
        for message in map(say_in_words_of_tools, named)
        for command in re.findall(r"(?<!on the machine of this server )`memorygraph ([^`]*)`", message)
    }
    assert left == COMMANDS_OF_PEOPLE.keys()


def test_no_message_names_an_option_to_a_client_that_has_only_tools() -> None:
    # Those of `server` are for the one on whose machine Neo4j runs, or go to a program; `masking` names what it masks.
    named = {said.replace("…", "7") for said in messages(OPTION, ("server", "masking"))}
    assert len(named) > 20
    told = {re.sub("`memorygraph [^`]*`", "", say_in_words_of_tools(message)) for message in named}
    assert {option for message in told for option in OPTION.findall(message)} == OPTIONS_OF_PEOPLE.keys()


@pytest.mark.parametrize("tool", ["check_contextscript", "load_contextscript"])
@pytest.mark.parametrize("weight", [".5", "0.5"])
async def test_what_the_letter_of_the_grammar_refuses_is_said_by_the_name_of_the_argument(
    tool: str, weight: str, client: mcp.Client
) -> None:
    text = "b" if weight == ".5" else "€"
    nodes = f'Node(node_id="a", name="A", data="{text}"); Node(node_id="b", name="B", data="");'
    edge = f'Edge(edge_id="e", from_node="a", to_node="b", verb="v", weight={weight});'
    told = text_of(await client.call_tool(tool, {"program": nodes + edge, "strict": True}))
    assert re.search("`strict` (wants digits on both sides|does not allow)", told), told
    assert "--strict" not in told


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
async def test_who_subscribed_hears_of_that_resource_until_unsubscribing_and_an_unknown_one_is_refused(
    graph: MemoryGraph,
) -> None:
    heard: list[str] = []

    async def hear(message: Any) -> None:
        heard.append(str(getattr(getattr(message, "params", None), "uri", "")))

    async with mcp.Client(build_server(graph), mode="legacy", message_handler=hear) as client:
        for refused in (client.session.subscribe_resource, client.session.unsubscribe_resource):
            with pytest.raises(mcp.MCPError, match="there is no resource memory://nothing") as error:
                await refused("memory://nothing")
            assert (error.value.code, error.value.data) == (-32602, {"uri": "memory://nothing"})
        await client.session.subscribe_resource("memory://overview")
        await client.session.subscribe_resource("memory://knowledge-graph")
        await client.session.unsubscribe_resource("memory://overview")
        await call(client, "create_entities", entities=[A])
        await client.session.subscribe_resource("memory://overview")
        await call(client, "create_entities", entities=[B])
        with anyio.fail_after(10):
            while len(heard) < 3:
                await anyio.sleep(0.01)
    assert heard == ["memory://knowledge-graph", "memory://knowledge-graph", "memory://overview"]


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
async def test_a_namespace_without_subscribers_keeps_nothing(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[dict[str, Any]] = []

    class Watched(server_module._Subscribers):
        def __init__(self) -> None:
            super().__init__()
            kept.append(self._sessions)

    monkeypatch.setattr(server_module, "_Subscribers", Watched)
    async with mcp.Client(build_server(graph), mode="legacy") as client:
        await client.session.unsubscribe_resource("memory://overview")
        await call(client, "create_entities", entities=[A])
        assert kept == [{}]
        await client.session.subscribe_resource("memory://overview")
        assert kept[0].keys() == {graph.namespace}
        await client.session.unsubscribe_resource("memory://overview")
        assert kept == [{}]


async def test_every_tool_says_all_four_hints_and_has_schemas(client: mcp.Client) -> None:
    tools: dict[str, Any] = {tool.name: tool for tool in (await client.list_tools()).tools}
    for tool in tools.values():
        hints = tool.annotations
        assert None not in {
            hints.read_only_hint,
            hints.destructive_hint,
            hints.idempotent_hint,
            hints.open_world_hint,
        }, tool.name
        assert tool.description
        assert tool.input_schema["type"] == "object"
    assert {name for name, tool in tools.items() if tool.annotations.destructive_hint} == {
        "delete_entities",
        "delete_observations",
        "delete_relations",
        "forget",
        "load_contextscript",
        "merge_entities",
        "run_program",  # a program may write a node that is there
        "undo",
    }
    assert not any("cypher" in name for name in tools)
    relation = tools["create_relations"].input_schema["properties"]["relations"]["items"]
    assert relation["required"] == ["from", "to", "relationType"]


async def test_an_entity_is_forgotten_by_the_name_that_clients_know(client: mcp.Client) -> None:
    entities = [
        {"name": name, "entityType": "person", "observations": ["likes tea"]} for name in ("Ada Lovelace", "Ben Okafor")
    ]
    await call(client, "create_entities", entities=entities)
    planned = await call(client, "forget", id="Ada Lovelace")
    assert (planned["dry_run"], planned["went"]["nodes"]) == (True, 2)
    assert (await call(client, "forget", id="Ada Lovelace", dry_run=False))["went"] == planned["went"]
    assert [each["name"] for each in (await call(client, "read_graph"))["entities"]] == ["Ben Okafor"]


SILENT = "> node a\n> do\nx = 1\n> nodeEnd\n> goto a"


@pytest.mark.parametrize(
    ("program", "language"), [("main agent { main func() { return 1 } }", "agentscript"), (SILENT, "convo")]
)
async def test_a_run_in_which_nothing_is_said_names_no_conversation(
    program: str, language: str, graph: MemoryGraph, client: mcp.Client
) -> None:
    answer = await call(client, "run_program", program=program, language=language)
    [run] = graph.runs()
    assert (answer["run"], answer["conversation"]) == (run.id, None)
    assert [info.name for info in graph.conversations()] == []


async def test_what_a_program_stores_is_by_the_client_that_runs_it(graph: MemoryGraph) -> None:
    program = 'import memory M from "neo4j://"\nmain agent { main func() { return M.add({ "fact": "tea" }) } }'
    async with mcp.Client(build_server(graph), client_info=Implementation(name="desk", version="2")) as client:
        await call(client, "run_program", program=program)
        [written] = (await call(client, "revisions"))["revisions"]
        assert written["by"] == "desk 2"


@pytest.mark.parametrize(
    ("program", "language"),
    [
        ("main agent { main func() { return [1][7] } }", "agentscript"),
        ("> node a\n> f(x: any) -> (add(1 2))\n> nodeEnd\n> goto a", "convo"),
    ],
)
async def test_the_error_of_a_run_names_its_record(
    program: str, language: str, graph: MemoryGraph, client: mcp.Client
) -> None:
    failed = await client.call_tool("run_program", {"program": program, "language": language})
    assert failed.is_error
    [record] = graph.runs()
    assert text_of(failed).endswith(f"; its record is run {record.id}.")


async def test_a_dry_run_names_no_revision_and_says_that_nothing_was_changed(client: mcp.Client) -> None:
    nodes = " ".join(f'Node(node_id="{name}", name="{name}", data="");' for name in ("ada", "ben"))
    calls: list[tuple[str, dict[str, Any]]] = [
        ("load_contextscript", {"program": nodes}),
        ("undo", {"revision": 1}),
        ("merge_entities", {"entity": "ada", "into": "ben"}),
        ("forget", {"id": "ada"}),
    ]
    await call(client, "load_contextscript", program=nodes)
    for tool, arguments in calls:
        tried = await client.call_tool(tool, {**arguments, "dry_run": True})
        said = tried.structured_content or {}
        assert (said["dry_run"], said["revision"], said.get("load_id", "")) == (True, 0, ""), tool
        assert text_of(tried).endswith("\nThis was a dry run: nothing was changed."), tool
    assert [each["revision"] for each in (await call(client, "revisions"))["revisions"]] == [1]


async def test_the_graph_is_a_resource_and_who_listens_hears_of_changes(open_http: HttpServer) -> None:
    async with over_http(open_http.url) as client:
        [uri] = [each.uri for each in (await client.list_resources()).resources if each.name == "knowledge-graph"]
        async with client.listen(resource_subscriptions=[uri]) as events:
            await call(client, "create_entities", entities=[{"name": "A", "entityType": "t", "observations": []}])
            with anyio.fail_after(10):
                assert getattr(await anext(aiter(events)), "uri", None) == uri
        found = json.loads(getattr((await client.read_resource(uri)).contents[0], "text", ""))
        assert [each["name"] for each in found["entities"]] == ["A"]


async def test_who_listens_hears_of_each_resource_that_it_asked_for_and_an_unknown_one_is_not_honoured(
    graph: MemoryGraph,
) -> None:
    asked = ["memory://overview", "memory://nothing", "memory://entity/Ada"]
    known = [asked[0], asked[2]]
    async with (
        mcp.Client(build_server(graph)) as client,
        client.listen(resource_subscriptions=asked) as events,
        client.listen(resource_subscriptions=["memory://knowledge-graph"]) as others,
    ):
        assert events.honored.resource_subscriptions == known
        for name in "AB":
            await call(client, "create_entities", entities=[{"name": name, "entityType": "t", "observations": []}])
            with anyio.fail_after(10):
                heard = [getattr(await anext(aiter(events)), "uri", None) for _ in known]
                assert heard == known
                assert getattr(await anext(aiter(others)), "uri", None) == "memory://knowledge-graph"


async def test_who_listens_hears_of_what_a_program_has_stored_before_it_fails(graph: MemoryGraph) -> None:
    program = 'import memory M from "neo4j://"\nmain agent { main func() { M.add({ "fact": "tea" }) return [1][7] } }'
    async with (
        mcp.Client(build_server(graph)) as client,
        client.listen(resource_subscriptions=["memory://knowledge-graph"]) as events,
    ):
        assert (await client.call_tool("run_program", {"program": program})).is_error
        with anyio.fail_after(10):
            assert getattr(await anext(aiter(events)), "uri", None) == "memory://knowledge-graph"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
async def test_who_subscribed_in_the_older_protocol_hears_of_changes(graph: MemoryGraph, server: Server) -> None:
    heard: list[Any] = []

    async def hear(message: Any) -> None:
        heard.append(message)

    async with over_stdio(server, graph.namespace, mode="legacy", message_handler=hear) as client:
        await client.session.subscribe_resource("memory://knowledge-graph")
        await call(client, "create_entities", entities=[{"name": "A", "entityType": "t", "observations": []}])
        with anyio.fail_after(10):
            while not any("resources/updated" in str(message) for message in heard):
                await anyio.sleep(0.05)


async def test_the_parameters_of_resources_are_completed(graph: MemoryGraph, client: mcp.Client) -> None:
    many_nodes = "".join(f'Node(node_id="n{at:03}", name="Name {at}", data="");' for at in range(120))
    graph.load(f'{many_nodes} Node(node_id="ada", name="Ada Lovelace", data="");')
    graph.messages("talk 1").append({"role": "user", "content": "Hello"})
    wanted = {
        ("memory://entity/{name}", "Ad"): ["Ada Lovelace"],
        ("memory://entity/{name}", "x"): [],
        ("memory://node/{id}", "ad"): ["ada"],
        ("memory://node/{id}", "n01"): [f"n{at:03}" for at in range(10, 20)],
        ("memory://conversation/{name}", "ALK"): ["talk 1"],
        ("memory://nothing/{name}", ""): [],
    }
    for (uri, text), values in wanted.items():
        template = ResourceTemplateReference(uri=uri)
        found = await client.complete(template, {"name": "name", "value": text})
        assert found.completion.values == values
    nodes = ResourceTemplateReference(uri="memory://node/{id}")
    many = await client.complete(nodes, {"name": "id", "value": "n"})
    assert (len(many.completion.values), many.completion.has_more) == (100, True)
    nothing = await client.complete(PromptReference(name="recall"), {"name": "question", "value": "Who"})
    assert nothing.completion.values == []


async def test_a_client_that_asks_for_progress_hears_how_far_a_program_is(graph: MemoryGraph) -> None:
    program = "agent helper { func one() { return 1 } } main agent { main func() { return helper.one() } }"
    heard: list[tuple[float, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))

    async with mcp.Client(build_server(graph)) as client:
        nodes = 'Node(node_id="a", name="A", data=""); Node(node_id="b", name="B", data="");'
        await client.call_tool("load_contextscript", {"program": nodes}, progress_callback=hear)
        await client.call_tool("run_program", {"program": program, "input": "x"}, progress_callback=hear)
    assert heard == [(2.0, "rows written"), (1.0, "agent")]


async def test_calls_that_nest_deep_are_told_of_as_others_are(graph: MemoryGraph) -> None:
    """They go on in threads that the server's event loop does not know."""
    nested = " ".join(f"func f{at}() {{ return f{at + 1}() }}" for at in range(60))
    deep = f"{nested} func f60() {{ return helper.one() }} main func() {{ return f0() }}"
    program = f"agent helper {{ func one() {{ return 1 }} }} main agent {{ {deep} }}"
    heard: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async with mcp.Client(build_server(graph)) as client:
        for told in (None, hear):
            result = await client.call_tool("run_program", {"program": program}, progress_callback=told)
            assert not result.is_error, text_of(result)
            assert result.structured_content["value"] == 1
    assert heard == ["agent"]


async def test_without_a_place_for_temporary_files_no_program_runs(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    async with mcp.Client(build_server(graph)) as client:
        refused = await client.call_tool("run_program", {"program": "main agent { main func() { return 1 } }"})
        assert refused.is_error
        assert "TMPDIR on the machine of this server" in text_of(refused)


async def test_resources_and_prompts_can_be_read(graph: MemoryGraph, client: mcp.Client) -> None:
    graph.load('Node(node_id="ada", name="Ada Lovelace", data="[1] x");')
    graph.messages("talk 1").append({"role": "user", "content": "Hello"})
    for uri, wanted in {
        "memory://overview": "Ada Lovelace",
        "memory://entity/Ada%20Lovelace": "[1] x",
        "memory://node/ada": "[1] x",
        "memory://conversation/talk%201": "Hello",
        "memory://contextscript": "Node(node_id=",
    }.items():
        found = await client.read_resource(uri)
        assert wanted in getattr(found.contents[0], "text", ""), uri
    for uri in ("memory://node/none", "memory://nothing", "file:///etc/passwd", "memory://conversation/no"):
        with pytest.raises(mcp.MCPError, match="no"):
            await client.read_resource(uri)
    unknown = "no entity has the name or the alias `Bob`; search_nodes and recall find what is there"
    with pytest.raises(mcp.MCPError, match=unknown):
        await client.read_resource("memory://entity/Bob")
    for prompt in (await client.list_prompts()).prompts:
        [argument] = prompt.arguments or []
        filled = await client.get_prompt(prompt.name, {argument.name: "{these} words"})
        assert "{these} words" in getattr(filled.messages[0].content, "text", "")
    with pytest.raises(mcp.MCPError, match="needs the argument"):
        await client.get_prompt("recall")


@pytest.mark.parametrize(
    ("groups", "read_only", "prompts"),
    [
        ((), False, ["remember", "recall", "write_contextscript"]),
        (["memory"], False, ["remember", "recall"]),
        (["memory", "graph"], True, ["recall"]),
        (["graph"], False, ["write_contextscript"]),
        (["history"], False, []),
    ],
)
async def test_a_prompt_is_offered_where_all_tools_are_that_it_names(
    groups: list[str], read_only: bool, prompts: list[str], graph: MemoryGraph
) -> None:
    tools = choose_tools(groups=groups, read_only=read_only)
    async with mcp.Client(build_server(graph, tools=tools)) as client:
        assert [each.name for each in (await client.list_prompts()).prompts] == prompts
        for prompt in prompts:
            filled = await client.get_prompt(prompt, {"text": "x", "question": "x"})
            named = {*re.findall(r"\w+", getattr(filled.messages[0].content, "text", ""))} & TOOLS.keys()
            assert named == PROMPTS[prompt].tools
        for prompt in PROMPTS.keys() - prompts:
            with pytest.raises(mcp.MCPError, match=rf"no prompt '{prompt}' here: it needs \w+"):
                await client.get_prompt(prompt, {"text": "x", "question": "x"})


async def test_what_a_client_wrote_is_in_the_history_and_can_be_undone(graph: MemoryGraph) -> None:
    client_info = Implementation(name="a client", version="1")
    async with mcp.Client(build_server(graph), client_info=client_info) as client:
        await call(client, "create_entities", entities=[{"name": "A", "type": "t", "observations": ["x"]}])
        await call(client, "delete_entities", entityNames=["A"])
        revisions = (await call(client, "revisions"))["revisions"]
        assert [(each["revision"], each["language"], each["by"]) for each in revisions] == [
            (2, "memory", "a client 1"),
            (1, "memory", "a client 1"),
        ]
        changes = (await call(client, "history", id="A"))["changes"]
        assert [(each["action"], each["by"]) for each in changes] == [
            ("created", "a client 1"),
            ("deleted", "a client 1"),
        ]
        await call(client, "undo", revision=2)
        assert (await call(client, "read_graph"))["entities"] == [
            {"name": "A", "entityType": "t", "observations": ["x"]}
        ]
        await call(client, "undo", revision=3)
        await call(client, "load_contextscript", program='Node(node_id="b", name="B", data="");')
        assert [each["name"] for each in (await call(client, "read_graph"))["entities"]] == ["B"]
