"""The reference of the memory server's tools: their schemas, and one real exchange of each.

    python -m tests.site.tools    # asks them all, and writes the page anew

The exchanges are those of a client and a server over one namespace, in this order, so that later ones find what earlier
ones stored. A test asks them again. What differs each time, as times and random ids, is written as one that stands for all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mcp

from memorygraph import MemoryGraph
from memorygraph.languages import parse
from memorygraph.mcp_server import build_server, choose_tools
from memorygraph.mcp_server.resources import PROMPTS, RESOURCES
from memorygraph.mcp_server.tools import GROUPS, Tool
from tests.mcp_server.clients import run, text_of
from tests.shared_neo4j import new_namespace
from tests.site.markdown import table

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "tools.md"

DOUBLED = "main agent Doubler { main func(input { a number }) { numbers = [input.a input.a] return numbers } }"
THOUGHT = "context walk(&sam) {\n  &rain = /* rain on the hills */\n  &sam likes &rain."

EXCHANGES: Mapping[str, dict[str, Any]] = {
    "create_entities": {
        "entities": [
            {"name": "Ada", "entityType": "person", "observations": ["Wrote the first program"]},
            {"name": "Analytical Engine", "entityType": "machine", "observations": []},
        ]
    },
    "create_relations": {
        "relations": [{"from": "Ada", "to": "Analytical Engine", "relationType": "programmed"}],
    },
    "add_observations": {"observations": [{"entityName": "Ada", "contents": ["Likes tea"]}]},
    "search_nodes": {"query": "first program"},
    "open_nodes": {"names": ["Ada"]},
    "read_graph": {"names_only": True},
    "recall": {"query": "Who wrote the first program?"},
    "search_memories": {"query": "tea"},
    "find_memories_by_name": {"names": ["Analytical Engine"]},
    "delete_observations": {"deletions": [{"entityName": "Ada", "observations": ["Likes tea"]}]},
    "delete_relations": {
        "relations": [{"from": "Ada", "to": "Analytical Engine", "relationType": "programmed"}],
    },
    "check_contextscript": {"program": 'Node(node_id="bob", nam="Bob", data="");'},
    "load_contextscript": {
        "program": 'Node(node_id="ada-1", name="Ada Lovelace", data="A mathematician.");\n'
        'Node(node_id="ada-2", name="Lovelace, Ada", data="A countess.");\n'
        'Node(node_id="bob", name="Bob", data="A friend.");\n'
        'Edge(edge_id="e1", from_node="ada-1", to_node="bob", verb="knows", weight=0.8);'
    },
    "neighbours": {"id": "ada-1"},
    "show": {"id": "e1"},
    "history": {"id": "bob"},
    "revisions": {"limit": 1},
    "undo": {"revision": 7, "dry_run": True},
    "find_duplicates": {},
    "merge_entities": {"entity": "Lovelace, Ada", "into": "Ada Lovelace"},
    "delete_entities": {"entityNames": ["Analytical Engine"]},
    "forget": {"id": "bob"},
    "list_conversations": {},
    "show_conversation": {"name": "support-42"},
    "conversation_versions": {"name": "support-42"},
    "list_thoughts": {},
    "show_thought": {"name": "walk"},
    "list_programs": {},
    "run_program": {"name": "Doubler", "input": '{"a": 2}'},
}
"""The arguments of one call of each tool."""

INTRODUCTION = """\
# Tools of the memory server

<!-- made by `python -m tests.site.tools` -->

What `memorygraph serve` offers to MCP clients. The definitions of tools cost a model tokens at each request, so that a server
offers the group `memory` unless it is told more: `serve --tools memory,graph,history`, or `--tools all`. Every schema of
arguments is strict by OpenAI's rules; a null is an argument that is left out, and a list may be sent as its JSON text, as some
models do. Each exchange below is a real one, in this order; times and random ids stand for what differs each time.
"""


def page(answers: Mapping[str, str]) -> str:
    """The page, with the answers to the exchanges."""
    tools = choose_tools()
    sections = [INTRODUCTION]
    for group, about in GROUPS.items():
        sections.append(f"## {group}\n\n{about[0].upper()}{about[1:]}.\n")
        sections += [_section(tool, answers[tool.name]) for tool in tools.values() if tool.group == group]
    resources = [(f"`{each.uri}`", each.description) for each in RESOURCES]
    prompts = [
        (
            f"`{name}`",
            f"{each.description}. `{each.argument}`: {each.meaning[0].lower()}{each.meaning[1:]}",
            ", ".join(f"`{tool}`" for tool in sorted(each.tools)),
        )
        for name, each in PROMPTS.items()
    ]
    sections.append(
        "## Resources\n\nWhat a client can read without a tool.\n\n" + table(("URI", "What it is"), resources)
    )
    sections.append(
        "## Prompts\n\nWhat a user of a client can choose, each with one argument. A server offers those whose tools it "
        "offers.\n\n" + table(("Prompt", "What it asks the model for", "Its tools"), prompts)
    )
    return "\n".join(sections)


def _section(tool: Tool, answer: str) -> str:
    described = tool.described
    schemas = {"arguments": described.input_schema, "the answer": described.output_schema}
    shown = [
        f'<details markdown="1"><summary>The schema of {what}</summary>\n\n{_json_block(schema)}\n</details>\n'
        for what, schema in schemas.items()
        if schema
    ]
    hints = ", ".join(_hints(tool))
    asked = EXCHANGES[tool.name]
    rows = [(f"`{name}`", each) for name, each in _arguments(described.input_schema)]
    arguments = table(("Argument", "What it is"), rows) if rows else "It takes no arguments.\n"
    return "\n".join(
        [
            f"### {tool.name}\n",
            f"{described.description}\n\n{hints}.\n",
            arguments,
            f"Asked:\n\n{_json_block(asked)}\nAnswered:\n\n{answer}",
            *shown,
        ]
    )


def _hints(tool: Tool) -> Iterator[str]:
    yield "Writes" if tool.writes else "Reads only"
    if tool.destructive:
        yield "can change or delete what is there"
    if tool.open_world:
        yield "asks models"


def _arguments(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, each in schema["properties"].items():
        kinds = each["type"] if isinstance(each["type"], list) else [each["type"]]
        said = [" or ".join(kind for kind in kinds if kind != "null")]
        said += ["required"] if name in schema.get("required", []) else []
        said += [f"one of {', '.join(f'`{one}`' for one in each['enum'] if one)}"] if "enum" in each else []
        text = each.get("description", "")
        yield name, f"{', '.join(said)}{': ' if text else ''}{text}"


def _json_block(value: Any) -> str:
    return f"```json\n{json.dumps(value, indent=2, ensure_ascii=False)}\n```\n"


def ask_all(graph: MemoryGraph) -> dict[str, str]:
    """Ask every exchange in an empty namespace, and return the answers as Markdown."""
    history = graph.messages("support-42")
    history.append({"role": "user", "content": "My order is late."})
    history.append({"role": "assistant", "content": "Which order?"})
    history[0]["content"] = "My order 7 is late."
    graph.load(THOUGHT, "pete")
    graph.load(parse(DOUBLED, "agentscript", file="Doubler.as"))

    async def work() -> dict[str, str]:
        async with mcp.Client(build_server(graph)) as client:
            return {
                name: _shown(await client.call_tool(name, dict(arguments))) for name, arguments in EXCHANGES.items()
            }

    return run(work)


def _shown(result: Any) -> str:
    if result.structured_content is None:
        return f"```text\n{settle_text(text_of(result))}\n```\n"
    return _json_block(settle(result.structured_content))


EACH_TIME = {"elapsed_s": 0.02, "score": 0.5, "namespace": "default"}
AT = "2026-11-25T09:00:00Z"
RANDOM_ID = re.compile(r"\b(?:[0-9a-f]{32}|[0-9a-f]{16}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b")
HASH = re.compile(r"\b[0-9a-f]{40,64}\b")
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)?")


def settle(value: Any, name: str = "") -> Any:
    """A value of an answer as the page has it: what differs each time stands for all."""
    if isinstance(value, dict):
        return {key: settle(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [settle(inner, name) for inner in value]
    if name in EACH_TIME and value is not None:
        return EACH_TIME[name]
    return settle_text(value) if isinstance(value, str) else value


def settle_text(text: str) -> str:
    """A text of an answer as the page has it."""
    return RANDOM_ID.sub("0f1e2d3c4b5a69788796a5b4c3d2e1f0", TIME.sub(AT, HASH.sub("5c1e…", text)))


@contextmanager
def _empty_graph() -> Iterator[MemoryGraph]:
    with MemoryGraph.connect(namespace=new_namespace()) as graph:
        yield graph
        graph.drop_namespace(graph.namespace)


if __name__ == "__main__":
    with _empty_graph() as empty:
        PAGE.write_text(page(ask_all(empty)), "utf-8")
