"""The definitions of the tools are such as every client takes whole, strict ones too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import mcp
import pytest

from memorygraph import MemoryGraph, NotFoundError
from memorygraph.cli.serve import serve_command
from memorygraph.context.tokens import count_tokens
from memorygraph.json_text import parse_json
from memorygraph.mcp_server import build_server, choose_tools
from memorygraph.mcp_server.tools import DROP_IN_GROUPS, GROUPS, TOOLS, KnownArguments
from tests.mcp_server.clients import call, text_of

pytestmark = pytest.mark.anyio

# What OpenAI's guide to structured outputs lists: https://platform.openai.com/docs/guides/structured-outputs
KEYWORDS = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "minItems", "maxItems"},
    "string": {"pattern", "format"},
    "integer": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
    "boolean": set[str](),
    "null": set[str](),
}
OF_ANY_KIND = {"type", "description", "enum", "const"}
MAX_DEPTH = 10


def break_strict_rules(schema: dict[str, Any], place: str, depth: int = 1) -> Iterator[str]:
    """What keeps a schema from being strict, besides that what may be left out is not required."""
    kinds = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type", [])
    if not kinds or not KEYWORDS.keys() >= set(kinds):
        yield f"{place}: it has no type that is known"
    if depth > MAX_DEPTH:
        yield f"{place}: it nests too deep"
    if unknown := schema.keys() - OF_ANY_KIND.union(*(KEYWORDS.get(kind, set()) for kind in kinds)):
        yield f"{place}: {sorted(unknown)}"
    if "object" in kinds and schema.get("additionalProperties") is not False:
        yield f"{place}: it allows other properties"
    for name, each in schema.get("properties", {}).items():
        if name not in schema.get("required", []) and "null" not in each.get("type", []):
            yield f"{place}.{name}: it may be left out, and may not be null"
        yield from break_strict_rules(each, f"{place}.{name}", depth + 1)
    if "array" in kinds:
        yield from break_strict_rules(schema.get("items", {}), f"{place}[]", depth + 1)
    if "enum" in schema and ("null" in kinds) != (None in schema["enum"]):
        yield f"{place}: null is no choice of it"


@pytest.mark.parametrize("name", choose_tools())
def test_the_arguments_of_every_tool_are_strict_by_the_rules_of_openai(name: str) -> None:
    schema = choose_tools()[name].described.input_schema
    assert schema["type"] == "object"
    assert list(break_strict_rules(schema, name)) == []
    assert "$ref" not in str(schema)
    assert "$defs" not in str(schema)


@pytest.mark.parametrize(
    ("schema", "broken"),
    [
        ({}, ["x: it has no type that is known"]),
        ({"type": "string", "minLength": 1}, ["x: ['minLength']"]),
        ({"type": "object", "properties": {}}, ["x: it allows other properties"]),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False},
            ["x.a: it may be left out, and may not be null"],
        ),
        ({"type": "array", "items": {"$ref": "#/$defs/A"}}, ["x[]: it has no type that is known", "x[]: ['$ref']"]),
        ({"type": ["string", "null"], "enum": ["a"]}, ["x: null is no choice of it"]),
    ],
    ids=str,
)
def test_what_is_not_strict_is_found(schema: dict[str, Any], broken: list[str]) -> None:
    assert list(break_strict_rules(schema, "x")) == broken


async def test_a_null_is_an_argument_that_is_left_out(client: mcp.Client) -> None:
    """A model that calls a strict tool sends all of its arguments."""
    for tool in (await client.list_tools()).tools:
        required = tool.input_schema.get("required", [])
        nulls = {name: None for name in tool.input_schema["properties"] if name not in required}
        if not required and nulls and tool.name not in {"forget", "run_program"}:  # which need one of two
            assert await call(client, tool.name, **nulls) == await call(client, tool.name)
    ada = {"name": "Ada", "entityType": "person", "observations": None}
    made = await call(client, "create_entities", entities=[ada], distinguishCase=None)
    assert made == {"entities": [{"name": "Ada", "entityType": "person", "observations": []}]}
    found = await call(client, "recall", query="Ada", max_tokens=None, since=None, role=None)
    assert [hit["name"] for hit in found["hits"]] == ["Ada"]
    refused = await client.call_tool("search_nodes", {"query": None})
    assert refused.is_error


async def test_a_list_that_is_sent_as_its_json_text_is_that_list(client: mcp.Client) -> None:
    """Some models do so, and servers that are made with the SDK's FastMCP take it."""
    ada = {"name": "Ada", "entityType": "person", "observations": ["[1]", "likes tea"]}
    made = await call(client, "create_entities", entities=json.dumps([ada]))
    assert made == {"entities": [ada]}
    assert (await call(client, "open_nodes", names='["Ada"]'))["entities"] == [ada]
    deletions = [{"entityName": "Ada", "observations": ["[1]"]}]
    await call(client, "delete_observations", deletions=json.dumps(deletions))
    assert (await call(client, "search_nodes", query='["Ada"]'))["entities"][0]["observations"] == ["likes tea"]
    await call(client, "delete_entities", entityNames='["Ada"]')
    assert (await call(client, "read_graph"))["entities"] == []
    for given in ("Ada", '{"name": "Ada"}', '["Ada"'):
        refused = await client.call_tool("open_nodes", {"names": given})
        assert refused.is_error
        assert text_of(refused) == "the arguments do not fit: names: Input should be a valid list"


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("merge_entities", {"entity": "Ada", "into": "Ben", "dryRun": True}, "`dryRun`; did you mean `dry_run`?"),
        ("forget", {"id": "Ada", "dry_run": False, "name": "Ben"}, "`name`; there are id, conversation, dry_run"),
        ("undo", {"revision": 1, "dry-run": True}, "`dry-run`; did you mean `dry_run`?"),
        ("load_contextscript", {"program": "del(id=Ada);", "dryrun": True}, "`dryrun`; did you mean `dry_run`?"),
        ("run_program", {"program": "", "maxSteps": 1}, "`maxSteps`; did you mean `max_steps`?"),
        (
            "recall",
            {"query": "Ada", "conversation_name": "none"},
            "`conversation_name`; did you mean `conversation`?",
        ),
        ("neighbours", {"id": "Ada", "radius": 3}, "`radius`; there are max_tokens, id, depth"),
        ("list_conversations", {"contains": "Ada"}, "`contains`; did you mean `containing`?"),
        (
            "load_contextscript",
            {"script": "del(id=Ada);"},
            "`script`; did you mean `program`, which is required and missing?",
        ),
        (
            "merge_entities",
            {"from": "Ada", "dryrun": True},
            "`from`; there are entity, into, dry_run; `entity`, `into` are required and missing",
        ),
    ],
)
async def test_a_tool_of_our_own_refuses_an_argument_that_it_does_not_know(
    tool: str, arguments: dict[str, Any], said: str, client: mcp.Client
) -> None:
    entities = [{"name": name, "entityType": "person", "observations": None} for name in ("Ada", "Ben")]
    await call(client, "create_entities", entities=entities, unknown="passed over, as by the server it stands for")
    refused = await client.call_tool(tool, arguments)
    assert refused.is_error
    assert text_of(refused) == f"the arguments do not fit: no argument is called {said}"
    kept = await call(client, "read_graph", unknown=True)
    assert [entity["name"] for entity in kept["entities"]] == ["Ada", "Ben"]
    assert await call(client, "revisions", unknown=None)


def test_only_tools_of_other_servers_pass_over_arguments_that_they_do_not_know() -> None:
    lenient = {name for name, tool in TOOLS.items() if not issubclass(tool.arguments, KnownArguments)}
    assert lenient == {name for name, tool in TOOLS.items() if tool.group in DROP_IN_GROUPS} - {"recall"}


PROGRAM = "main agent { main func(input { a number }) { return input.a } }"


@pytest.mark.parametrize("given", [{"a": 2}, '{"a": 2}'], ids=str)
async def test_the_input_of_a_program_is_json_as_a_value_or_as_text(given: Any, client: mcp.Client) -> None:
    assert (await call(client, "run_program", program=PROGRAM, input=given))["value"] == 2
    text = await client.call_tool("run_program", {"program": PROGRAM, "input": "no JSON"})
    assert text.is_error


MAX_DEFINITION_TOKENS = 3000


def test_the_tools_that_a_server_offers_by_default_cost_a_model_few_tokens() -> None:
    [default] = [str(option.default) for option in serve_command.params if option.name == "groups"]
    offered = choose_tools(groups=[default])
    described = [tool.described.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in offered.values()]
    assert count_tokens(json.dumps(described, separators=(",", ":"))) <= MAX_DEFINITION_TOKENS
    assert {"recall", "create_entities", "search_nodes"} <= offered.keys()


def test_every_group_of_tools_has_some_and_each_tool_has_a_group() -> None:
    assert {tool.group for tool in TOOLS.values()} == set(GROUPS)
    apart = [name for group in GROUPS for name in choose_tools(groups=[group])]
    assert sorted(apart) == sorted(TOOLS)
    with pytest.raises(NotFoundError, match="there is no group of tools `memoryy`; there are: memory, "):
        choose_tools(groups=["memoryy"])


async def test_a_tool_of_another_group_says_how_it_is_offered(graph: MemoryGraph) -> None:
    async with mcp.Client(build_server(graph, tools=choose_tools(groups=["memory", "graph"]))) as client:
        assert len((await client.list_tools()).tools) == 14
        with pytest.raises(mcp.MCPError, match=r"'undo' here: its group, history, is not among the --tools of `"):
            await client.call_tool("undo", {"revision": 1})


NOT_STRUCTURED = {"show_thought"}  # a text for models


def test_every_tool_that_has_structure_says_its_form() -> None:
    described = [tool.described for tool in choose_tools().values()]
    assert {each.name for each in described if each.output_schema is None} == NOT_STRUCTURED
    for each in described:
        assert (each.output_schema or {"type": "object"})["type"] == "object"
        assert "$ref" not in str(each.output_schema)


SCRIPT = """
Node(node_id="ada", name="Ada", data="likes tea"); Node(node_id="ada2", name="ADA", data="");
Edge(edge_id="e1", from_node="ada", to_node="ada2", verb="knows", weight=0.8);
"""
ADA = {"name": "Ada L", "entityType": "person", "observations": ["x"]}
MADE: list[tuple[str, dict[str, Any]]] = [
    ("load_contextscript", {"program": SCRIPT}),
    ("check_contextscript", {"program": "Node("}),
    ("create_entities", {"entities": [ADA, {**ADA, "name": "Ada  L"}, {**ADA, "name": "Countess"}]}),
    ("create_entities", {"entities": [{**ADA, "name": "ada l", "observations": ["y"]}]}),
    ("run_program", {"program": "main agent { main func() { return [1] } }"}),
    ("recall", {"query": "tea"}),
    ("recall", {"query": "hello"}),
    ("neighbours", {"id": "ada"}),
    ("show", {"id": "ada"}),
    ("show", {"id": "e1"}),
    ("history", {"id": "e1"}),
    ("find_duplicates", {}),
    ("merge_entities", {"entity": "Countess", "into": "Ada L", "dry_run": True}),
    ("merge_entities", {"entity": "Countess", "into": "Ada L"}),
    ("undo", {"revision": 2, "dry_run": True}),
    ("revisions", {}),
    ("list_conversations", {}),
    ("show_conversation", {"name": "talk"}),
    ("conversation_versions", {"name": "talk"}),
    ("list_thoughts", {}),
    ("list_programs", {}),
    ("forget", {"id": "ada"}),
    ("forget", {"conversation": "talk", "dry_run": False}),
    ("open_nodes", {"names": ["Countess"]}),
    ("read_graph", {"max_tokens": 1000}),
]


ALTER = """
MATCH (a:Node {namespace: $namespace})-[e]->(b:Node) WHERE a.id = 'ada'
SET a.name = 7, b.name = null, a.data = [1], e.weight = 'x', e.verb = 7
CREATE (a)-[:EDGE {namespace: $namespace, verb: 'v'}]->(:Node {namespace: $namespace, id: rand(), name: 'C', data: ''}),
       (a)<-[:EDGE {namespace: $namespace, id: rand(), verb: 'v'}]-(:Node {namespace: $namespace, name: 'D', data: ''})
"""


NO_JSON = """
MATCH (a:Node {namespace: $namespace})-[e]->(b:Node) WHERE a.id = 'ada'
SET a.data = date('2024-05-01'), b.data = 0.0 / 0.0, e.weight = -1.0 / 0.0
"""


@pytest.mark.parametrize(
    ("altered", "weight"),
    [("", 0.8), (ALTER, "x"), (NO_JSON, None)],
    ids=["as it was written", "with values that raw Cypher has changed", "with values that JSON does not know"],
)
async def test_every_answer_has_the_form_that_its_tool_says(altered: str, weight: Any, graph: MemoryGraph) -> None:
    """The SDK's client refuses an answer that has another one."""
    graph.messages("talk").append({"role": "user", "name": "Ada", "content": "hello"})
    graph.load("main agent { main func() { return 1 } }", "agentscript", file="one.as")
    async with mcp.Client(build_server(graph)) as client:
        for tool, arguments in MADE:
            if altered and tool == "recall":
                graph.query(altered, write=True)
                assert (await call(client, "show", id="e1"))["weight"] == weight
            result = await client.call_tool(tool, arguments)
            assert "error of memorygraph itself" not in text_of(result), tool
            if not altered:
                assert not result.is_error, (tool, result.content)
                assert result.structured_content is not None


@pytest.mark.filterwarnings("ignore::memorygraph.graph.bad_elements.BadElementWarning")
async def test_what_is_no_json_is_a_text_or_null_in_an_answer_and_in_a_resource(
    graph: MemoryGraph, client: mcp.Client
) -> None:
    graph.load(SCRIPT)
    graph.query(NO_JSON, write=True)
    shown = {"ada": {"data": "2024-05-01"}, "ada2": {"data": None}, "e1": {"weight": None}}
    for id_, values in shown.items():
        answer = await client.call_tool("show", {"id": id_})
        told = [parse_json(getattr(answer.content[0], "text", ""), strict=True), answer.structured_content]
        if id_ != "e1":
            read = await client.read_resource(f"memory://node/{id_}")
            told.append(parse_json(getattr(read.contents[0], "text", ""), strict=True))
        for each in told:
            assert each | values == each
    near = await client.call_tool("neighbours", {"id": "ada2"})
    assert parse_json(getattr(near.content[0], "text", ""), strict=True) == near.structured_content
    assert '"data": "2024-05-01"' in text_of(near)
