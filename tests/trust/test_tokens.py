"""Random calls of four tokens at once: none sees what another namespace holds, and each keeps what it acknowledged.

The calls come from the MCP SDK's own client over HTTP. Two of the tokens share a namespace and take turns in it; the
others have one of their own. At full size it goes on for ten minutes.
"""

from __future__ import annotations

import base64
import json
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import mcp_types as types
import pytest
from mcp import MCPError

from memorygraph import MemoryGraph
from memorygraph.graph.connection import Connection
from tests.conftest import empty_namespace
from tests.examples import amount, profile
from tests.mcp_server.clients import Server, Session, environment_of, http_command, over_http, text_of
from tests.trust.chance import seeded
from tests.trust.memory_model import MemoryModel, View
from tests.trust.rounds import loads
from tests.trust.tool_calls import LETTERS, NAMES, WORD, Caller, foreign_words, word

CALLS = amount(ordinary=8, whole=30, long=250)
"""Calls in each namespace, at least."""
SECONDS = amount(ordinary=0, whole=0, long=600)
CALLS_PER_READING = 25
TOKENS = {"first": "a", "second": "a", "third": "b", "fourth": "c"}
"""The letter of each token's namespace."""
PAGE_TOKENS = [4_000, 25_000, 1_000_000]
FILLING = ["create_entities", "create_entities", "create_relations", "add_observations", "load_contextscript", "undo"]
READS = {"read_graph", "search_nodes", "open_nodes", "search_memories", "find_memories_by_name"}


@contextmanager
def serving(server: Server, log: Path, tokens: list[str], options: list[str]) -> Iterator[str]:
    """The address of a server in a process of its own, whose standard error goes to a file."""
    with log.open("w") as errors:
        command = [*http_command("nothing", *tokens), *options]
        process = subprocess.Popen(command, env=environment_of(server), stderr=errors)
    try:
        until = time.monotonic() + 60
        while not (line := log.read_text()).endswith("\n"):
            assert process.poll() is None, line
            assert time.monotonic() < until, "the server does not begin"
            time.sleep(0.02)
        assert line.startswith("serving at "), line
        yield line.removeprefix("serving at ").strip()
        assert process.poll() is None, "the server has ended"
    finally:
        process.kill()
        process.wait()


def furnish(graph: MemoryGraph, letter: str) -> None:
    """Store what no tool of the server stores: a conversation, a thought and a program."""
    graph.messages("talk").append({"role": "user", "content": f"said {word(letter, 910)}"})
    graph.messages(word(letter, 900)).append({"role": "user", "content": f"said {word(letter, 911)}"})
    graph.load(f'context idea(&a) {{ &a likes "{word(letter, 912)}". }}', "pete")
    graph.load(f'main agent {{ main func(input) {{ return "{word(letter, 913)}" }} }}', "agentscript", file="pick.as")


class Namespace(threading.Thread):
    """The calls of the tokens of one namespace, one after the other, and a model of what they must find."""

    def __init__(
        self, graph: MemoryGraph, caller: Caller, sessions: list[Session], readers: list[Session], over: threading.Event
    ) -> None:
        super().__init__()
        self.graph, self.caller, self.chance = graph, caller, caller.chance
        self.sessions, self.readers, self.over = sessions, readers, over
        self.tools = sessions[0].tools()
        self.model = MemoryModel(loads(graph))
        self.furniture = self.read_pages()
        self.runs: list[str] = []
        self.sent_to_programs = ""
        self.counts: Counter[str] = Counter()
        self.failure: str | None = None

    def run(self) -> None:
        until = time.monotonic() + SECONDS
        number, request = 0, "the first entity"
        try:
            # However few calls are drawn, there is something to be seen.
            create = next(tool for tool in self.tools if tool.name == "create_entities")
            first = {"name": word(self.caller.letter, NAMES[0]), "entityType": "kind", "observations": ["came first"]}
            self.call(self.sessions[0], create, {"entities": [first]})
            while (number < CALLS or time.monotonic() < until) and not self.over.is_set():
                number += 1
                tool = self.draw_tool()
                request = f"{tool.name} {json.dumps(arguments := self.caller.draw(tool), ensure_ascii=False)}"
                if self.readers and self.chance.random() < 0.1:
                    self.call_reader(tool, arguments)
                else:
                    self.call(self.chance.choice(self.sessions), tool, arguments)
                if number % CALLS_PER_READING == 0:
                    request = "reading all"
                    self.read_all()
        except BaseException as error:  # noqa: BLE001 - told by the test's own thread
            self.failure = f"namespace {self.caller.letter}, call {number}: {request[:3000]}\n{error!r}"
            self.over.set()

    def draw_tool(self) -> Any:
        """Any of the tools, but more often one of those that others need something of."""
        if self.chance.random() < 0.6:
            return self.chance.choice(self.tools)
        name = self.chance.choice(FILLING)
        return next(tool for tool in self.tools if tool.name == name)

    def call(self, session: Session, tool: Any, arguments: dict[str, Any]) -> None:
        """Call a tool; whatever it answers, hold that against the model."""
        self.counts["calls"] += 1
        if tool.name == "run_program":
            self.sent_to_programs += json.dumps(arguments)
        try:
            result = session.call(tool.name, arguments)
        except MCPError as error:
            self.check_refusal(error, json.dumps(arguments))
            return
        text, values = text_of(result), result.structured_content or {}
        self.check_words(f"{text} {json.dumps(values)} {_decoded(values.get('cursor'))}", json.dumps(arguments))
        assert result.content
        assert "an error of memorygraph itself" not in text, text
        assert "Traceback" not in text, text
        if result.is_error:
            self.counts["refused"] += 1
            return
        program = str(arguments.get("program"))
        assert not any(f"neo4j://{name}" in program for name in self.caller.namespaces.values()), "it went elsewhere"
        self.note_cursor(values)
        if tool.name == "run_program":
            self.runs.append(values["run"])
        if tool.name in READS:
            self.check_page(tool.name, arguments, values)
        if tool.annotations is not None and not tool.annotations.read_only_hint:
            self.counts["writes"] += self.model.apply(tool.name, arguments, self.caller.programs)
            [last] = session.call("revisions", {"limit": 1}).structured_content["revisions"]
            self.caller.revision = last["revision"]
            assert last["revision"] == self.model.revision, "a write has no revision, or more than its own"

    def call_reader(self, tool: Any, arguments: dict[str, Any]) -> None:
        """Call a server that only reads with the same token: it has no tool that writes."""
        offered = self.chance.choice(self.readers)
        if tool.annotations.read_only_hint:
            self.call(offered, tool, arguments)
            return
        with pytest.raises(MCPError, match="there is no tool"):
            offered.call(tool.name, arguments)

    def read_all(self) -> None:
        """Hold all that is shown against the model, and ask for what is no tool's."""
        expected = self.model.view().plus(self.furniture)
        assert self.read_pages().in_parts() == expected.in_parts(), "what is stored is not what was acknowledged"
        session = self.chance.choice(self.sessions)
        uri = self.caller.uri()
        try:
            resource = session.ask(lambda client: client.read_resource(uri))
        except MCPError as error:
            self.check_refusal(error, uri)
        else:
            self.check_words(" ".join(getattr(each, "text", "") for each in resource.contents), uri)

    def read_pages(self) -> View:
        """Read the whole namespace, page by page."""
        tokens = self.chance.choice(PAGE_TOKENS)
        pages: list[dict[str, Any]] = []
        cursor: str | None = None
        while cursor is not None or not pages:
            answer = self.chance.choice(self.sessions).call("read_graph", {"max_tokens": tokens, "cursor": cursor})
            assert not answer.is_error, text_of(answer)
            pages.append(answer.structured_content)
            cursor = pages[-1].get("cursor")
        return View.of(*pages)

    def check_page(self, tool: str, arguments: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """An answer that is complete shows just what the model has of it, any other one no more."""
        if arguments.get("names_only") is True or arguments.get("cursor") or values.get("cursor"):
            return
        found = View.of(values)
        if tool == "read_graph":
            assert found == self.model.view().plus(self.furniture)
        elif "names" in arguments:
            assert found == self.model.view(arguments["names"])
        else:
            assert self.model.view().plus(self.furniture).holds(found), "a search shows what is not there"

    def check_refusal(self, error: MCPError, sent: str) -> None:
        self.counts["refused"] += 1
        assert error.error.code == types.INVALID_PARAMS, f"{error.error}"
        self.check_words(json.dumps(error.error.model_dump(mode="json")), sent)

    def check_words(self, shown: str, sent: str) -> None:
        leaked = foreign_words(shown, self.caller.letter, sent + self.sent_to_programs)
        assert not leaked, f"words of another namespace: {leaked} in {shown[:3000]}"

    def note_cursor(self, values: Mapping[str, Any]) -> None:
        if values.get("cursor"):
            self.caller.cursors.append(values["cursor"])

    def check_end(self) -> None:
        """What is stored in the end, seen past the server: its own words only, no gap, and each acknowledged run."""
        self.read_all()
        assert loads(self.graph) == self.model.revision
        rows = self.graph.query("MATCH (run:Run {namespace: $namespace}) RETURN run.id AS id")
        assert set(self.runs) <= {row["id"] for row in rows}, "an acknowledged run is lost"
        rows = self.graph.query(
            "MATCH (node {namespace: $namespace}) RETURN properties(node) AS held "
            "UNION ALL MATCH ()-[edge {namespace: $namespace}]->() RETURN properties(edge) AS held"
        )
        for row in rows:
            self.check_words(json.dumps(row["held"], default=str), "")


def _decoded(cursor: str | None) -> str:
    with suppress(ValueError):
        return base64.urlsafe_b64decode((cursor or "") + "===").decode()
    return ""


@pytest.mark.timeout(600 + 2 * SECONDS)
@pytest.mark.slow
def test_no_token_sees_another_namespace_and_each_keeps_what_it_acknowledged(
    server: Server, connection: Connection, tmp_path: Path
) -> None:
    chance = seeded("calls of four tokens")
    graphs = {letter: empty_namespace(connection) for letter in LETTERS}
    for letter, graph in graphs.items():
        furnish(graph, letter)
    given = [f"{graphs[letter].namespace}={token}-token" for token, letter in TOKENS.items()]
    doors: list[list[str]] = [[]] if profile() == "ordinary" else [[], ["--read-only", "--without", "recall"]]
    logs = [tmp_path / f"{number}.log" for number in range(len(doors))]
    over = threading.Event()
    names = {letter: graph.namespace for letter, graph in graphs.items()}
    with ExitStack() as stack:
        urls = [
            stack.enter_context(serving(server, log, given, options)) for log, options in zip(logs, doors, strict=True)
        ]
        namespaces = []
        for letter, graph in graphs.items():
            tokens = [f"{token}-token" for token, own in TOKENS.items() if own == letter]
            sessions, *readers = (
                [stack.enter_context(Session(over_http(url, token))) for token in tokens] for url in urls
            )
            caller = Caller(letter, Random(chance.randrange(2**32)), names)
            namespaces.append(Namespace(graph, caller, sessions, [each for some in readers for each in some], over))
        for each in namespaces:
            each.start()
        for each in namespaces:
            each.join()
        assert [each.failure for each in namespaces if each.failure] == []
        for each in namespaces:
            each.check_end()
    for log in logs:
        assert len(log.read_text().splitlines()) == 1, log.read_text()
    counts = sum((each.counts for each in namespaces), Counter[str]())
    print(f"{len(TOKENS)} tokens, {dict(counts)}, {sum(len(each.runs) for each in namespaces)} runs: 0 words of others")
    assert counts["writes"]
    assert counts["refused"]
    assert WORD.search(str([each.model.view() for each in namespaces]))
