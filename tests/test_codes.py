"""The table of problem codes against the code of the package."""

from __future__ import annotations

import ast
import re

from memorygraph.codes import CODES
from memorygraph.library import CYPHER
from tests.modules import FILES, PACKAGE

# Other words with a hyphen that stand in the package as texts of their own.
OTHER = {
    *{name.partition("/")[2] for name in CYPHER},
    *["api-key", "cache-control", "content-length", "content-type", "no-cache", "proxy-authorization", "retry-after"],
    *["transfer-encoding", "x-api-key", "x-request-id", "accept-encoding", "content-encoding", "keep-alive", "x-gzip"],
    *["proxy-authenticate", "proxy-connection"],
    *["basic-memory", "langgraph-store", "mcp-neo-j-memory"],
    *["off-policy", "prompt-completion", "server-memory", "scripted-model", "scripted-model-connection"],
}


def hyphenated_words() -> set[str]:
    """The texts of the package that look like codes."""
    trees = [ast.parse(path.read_text("utf-8")) for path in FILES if path != PACKAGE / "codes.py"]
    texts = {
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return {text for text in texts if re.fullmatch(r"[a-z]+(-[a-z]+)+", text) and not text.startswith("memorygraph-")}


def test_every_code_is_in_the_table_and_the_table_has_no_others() -> None:
    single_words = {"encoding", "failed", "model", "syntax"}
    assert hyphenated_words() - (OTHER - CODES.keys()) == CODES.keys() - single_words


def test_codes_are_kebab_case_and_in_their_order() -> None:
    assert list(CODES) == sorted(CODES)
    assert [code for code in CODES if not re.fullmatch(r"[a-z]+(-[a-z]+)*", code)] == []
