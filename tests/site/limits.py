"""The reference of the limits that no option lifts: each figure is the constant that the code holds to."""

from __future__ import annotations

from memorygraph.graph.connection import READ_SECONDS, WRITE_SECONDS
from memorygraph.home import MAX_NAMESPACE
from memorygraph.languages.agentscript.reading import MAX_CHARACTERS as MAX_AGENTSCRIPT_CHARACTERS
from memorygraph.languages.contextscript.reading import LONG, MAX_CODE
from memorygraph.languages.contextscript.reading import MAX_CHARACTERS as MAX_STATEMENT_CHARACTERS
from memorygraph.languages.contextscript.syntax import MAX_ID, MAX_NAME
from memorygraph.languages.convo.reading import MAX_CHARACTERS as MAX_CONVO_CHARACTERS
from memorygraph.languages.pete.reading import MAX_CHARACTERS as MAX_PETE_CHARACTERS
from memorygraph.mcp_server.graph_tools import MAX_PROGRAM
from memorygraph.mcp_server.http import (
    MAX_BODY_BYTES,
    MAX_REQUESTS_OF_ONE_TOKEN,
    MAX_SESSIONS,
    MAX_SESSIONS_OF_ONE_TOKEN,
    SESSION_IDLE_S,
)
from memorygraph.proxy.bodies import MAX_RECORDED_BYTES
from memorygraph.proxy.server import MAX_CONVERSATION_CHARACTERS, MAX_PROXY_CONNECTIONS
from memorygraph.runtime.agentscript.interpreter import MAX_CALL_DEPTH as MAX_AGENTSCRIPT_CALLS
from memorygraph.runtime.agentscript.units import MAX_FILE_BYTES
from memorygraph.runtime.convo.builtins.texts import MAX_PATTERN_CHARACTERS, MAX_SEARCH_S, MAX_SEARCHED_CHARACTERS
from memorygraph.runtime.convo.control import MAX_ROUNDS
from memorygraph.runtime.convo.scope import MAX_CALL_DEPTH as MAX_CONVO_CALLS
from memorygraph.runtime.convo.scope import MAX_WORK
from memorygraph.runtime.convo.values import MAX_ITEMS, MAX_TEXT_CHARACTERS
from memorygraph.word_parts import MAX_PAIRS, MAX_TERMS
from tests.site.markdown import table

MIB = 1 << 20

LIMITS: dict[str, dict[str, str]] = {
    "Names and texts": {
        "The name of a namespace": f"{MAX_NAMESPACE} printable characters",
        "An id, a verb, or the type of a relation": f"{MAX_ID} characters",
        "The name of a node, an entity or a conversation": f"{MAX_NAME:,} characters",
        "A statement of ContextScript": f"{MAX_STATEMENT_CHARACTERS:,} characters, of which {MAX_CODE:,} stand outside of "
        f"texts, blanks and comments of more than {LONG} characters",
        "A log of PETE": f"{MAX_PETE_CHARACTERS:,} characters",
    },
    "AgentScript": {
        "A program": f"{MAX_AGENTSCRIPT_CHARACTERS:,} characters",
        "A file that it imports": f"{MAX_FILE_BYTES // 1_000_000} MB",
        "Calls of functions inside one another": f"{MAX_AGENTSCRIPT_CALLS:,}",
    },
    "Convo-Lang": {
        "A program with all that it imports": f"{MAX_CONVO_CHARACTERS:,} characters",
        "Work of one evaluation of code": f"{MAX_WORK:,} calls and rounds of loops; large values count more than once",
        "Calls of functions inside one another": f"{MAX_CONVO_CALLS}",
        "Rounds of one `while`": f"{MAX_ROUNDS:,}",
        "A text": f"{MAX_TEXT_CHARACTERS:,} characters",
        "A list or a map": f"{MAX_ITEMS:,} items",
        "`regexMatch`": f"a pattern of {MAX_PATTERN_CHARACTERS:,} characters, a text of {MAX_SEARCHED_CHARACTERS:,}, and "
        f"{MAX_SEARCH_S:g} seconds",
    },
    "Queries": {
        "`mg.query` that reads": f"{READ_SECONDS:g} seconds; `mg.stream(seconds=…)` and `query --seconds` may take longer",
        "A query that writes": f"{WRITE_SECONDS / 60:g} minutes, and one transaction: it has no `IN TRANSACTIONS`",
        "Words of a text that `recall` and `search` look for": f"the first {MAX_TERMS // 2} and the last {MAX_TERMS // 2}; "
        f"of words in scripts without spaces, the first {MAX_PAIRS // 2} and the last {MAX_PAIRS // 2} pairs of signs",
    },
    "The memory server": {
        "A program that a client sends": f"{MAX_PROGRAM:,} characters",
        "A request over HTTP": f"{MAX_BODY_BYTES // MIB} MiB",
        "Sessions over HTTP": f"{MAX_SESSIONS_OF_ONE_TOKEN} of a token, {MAX_SESSIONS:,} of a server without tokens; "
        f"one ends by `DELETE`, or after {SESSION_IDLE_S / 60:g} minutes without an open request",
        "Open requests of a token": f"{MAX_REQUESTS_OF_ONE_TOKEN}",
    },
    "The proxy": {
        "The name of a conversation in its header": f"{MAX_CONVERSATION_CHARACTERS} printable characters",
        "A body that is recorded": f"{MAX_RECORDED_BYTES // MIB} MiB",
        "Connections": f"{MAX_PROXY_CONNECTIONS:,}",
    },
}

INTRODUCTION = """\
# Limits

<!-- made by `python -m tests.site` -->

What no option lifts. [Running programs safely](../programs.md) has the limits of a run that options set, and
[a memory for any MCP client](../memory.md#many-users-over-http) those of the programs of clients.
"""


def page() -> str:
    """The page: a table for each part."""
    sections = [f"## {part}\n\n" + table(("What", "At most"), limits.items()) for part, limits in LIMITS.items()]
    return "\n".join([INTRODUCTION, *sections])
