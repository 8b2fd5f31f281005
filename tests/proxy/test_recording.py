"""What the proxy records: whose conversation, in which namespace, without keys, and when Neo4j is away."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import openai
import pytest
from click.testing import CliRunner

from memorygraph import MemoryGraph
from memorygraph.cli import cli
from memorygraph.errors import ConnectionError
from memorygraph.graph.connection import Connection
from memorygraph.llm.completion import ToolCall
from memorygraph.messages.spool import Spool
from memorygraph.proxy import CONVERSATION_HEADER, TOKEN_HEADER
from memorygraph.scripted.replies import BadJson, Reply
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.proxy.conftest import Proxies, eventually
from tests.proxy.upstreams import RawClient

KEY = "sk-canary-0123456789abcdef"
SYSTEM: Any = {"role": "system", "content": "Be brief."}


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def conversations(graph: MemoryGraph) -> dict[str, list[list[str]]]:
    """The texts of each version by the name of the conversation."""
    return {
        info.name: [
            [str(message.get("content")) for message in history.checkout(version)] for version in history.versions()
        ]
        for info in graph.conversations()
        for history in [graph.messages(info.name)]
    }


def talk(client: openai.OpenAI, *texts: str, system: Any = SYSTEM) -> list[Any]:
    """Say texts one after the other, each after the answer before, as a program does that keeps its own list."""
    messages = [system]
    for text in texts:
        messages.append(user(text))
        answer = client.chat.completions.create(model="m", messages=messages).choices[0].message
        messages.append({"role": "assistant", "content": answer.content})
    return messages


def test_a_talk_is_one_conversation_and_another_with_the_same_beginning_is_another(
    proxies: Proxies, graph: MemoryGraph
) -> None:
    with ScriptedModel(lambda request: f"re {request.prompt}") as model:
        client = proxies.client(proxies(model.base_url).base_url, KEY)
        talk(client, "Hi", "Who?")
        talk(client, "Hello", "Why?")
        eventually(lambda: sum(info.messages for info in graph.conversations()) == 10)
    found = conversations(graph)
    assert sorted(found.values()) == [
        [["Be brief.", "Hello", "re Hello", "Why?", "re Why?"]],
        [["Be brief.", "Hi", "re Hi", "Who?", "re Who?"]],
    ]
    assert all(re.fullmatch(r"recorded-\d{4}-\d\d-\d\d-[0-9a-f]{8}", name) for name in found)


def test_an_edited_question_is_another_version_of_its_conversation(proxies: Proxies, graph: MemoryGraph) -> None:
    with ScriptedModel(lambda request: f"re {request.prompt}") as model:
        client = proxies.client(proxies(model.base_url).base_url, KEY)
        messages = talk(client, "Hi", "Who?")
        eventually(lambda: len(conversations(graph)) == 1)
        client.chat.completions.create(model="m", messages=[*messages[:3], user("Where?")])
        found = eventually(lambda: [v for v in conversations(graph).values() if len(v) == 2])
    assert found == [
        [["Be brief.", "Hi", "re Hi", "Who?", "re Who?"], ["Be brief.", "Hi", "re Hi", "Where?", "re Where?"]]
    ]


def test_examples_in_a_prompt_do_not_make_calls_one_conversation(proxies: Proxies, graph: MemoryGraph) -> None:
    shown = [SYSTEM, user("cat"), {"role": "assistant", "content": "animal"}]
    with ScriptedModel(lambda request: f"re {request.prompt}") as model:
        client = proxies.client(proxies(model.base_url).base_url, KEY)
        for text in ("oak", "ant"):
            client.chat.completions.create(model="m", messages=[*shown, user(text)])
        eventually(lambda: len(conversations(graph)) == 2)


def test_the_header_names_the_conversation_and_goes_no_further(proxies: Proxies, graph: MemoryGraph) -> None:
    with ScriptedModel("Yes.") as model:
        proxy = proxies(model.base_url, conversation="others")
        talk(proxies.client(proxy.base_url, KEY, **{CONVERSATION_HEADER: quote("Café 7")}), "Hi")
        talk(proxies.client(proxy.base_url, KEY), "Hi")
        eventually(lambda: set(conversations(graph)) == {"Café 7", "others"})
        assert not [name for request in model.requests for name in request.headers if "memorygraph" in name]


def test_responses_are_recorded_with_what_a_previous_one_held(proxies: Proxies, graph: MemoryGraph) -> None:
    with ScriptedModel(lambda request: f"re {request.prompt}") as model:
        client = proxies.client(proxies(model.base_url).base_url, KEY)
        first = client.responses.create(model="m", input="Hi", instructions="Be brief.")
        eventually(lambda: conversations(graph))
        with client.responses.stream(
            model="m", input="Who?", instructions="Be brief.", previous_response_id=first.id
        ) as stream:
            stream.until_done()
        [found] = eventually(lambda: [v for v in conversations(graph).values() if len(v[0]) == 5])
    assert found == [["Be brief.", "Hi", "re Hi", "Who?", "re Who?"]]


def test_a_streamed_tool_call_is_recorded_as_the_call_that_it_is(proxies: Proxies, graph: MemoryGraph) -> None:
    call = ToolCall("clock", '{"zone": "utc"}', "call-1")
    with ScriptedModel([Reply(tool_calls=(call,)), "12:34"]) as model:
        client = proxies.client(proxies(model.base_url, conversation="talk").base_url, KEY)
        ask: Any = {"model": "m", "stream": True, "stream_options": {"include_usage": True}}
        list(client.chat.completions.create(messages=[user("Time?")], **ask))
        history = eventually(lambda: h if len(h := graph.messages("talk")) == 2 else None)
    assert history[1]["tool_calls"] == [
        {"id": "call-1", "type": "function", "function": {"name": "clock", "arguments": '{"zone":"utc"}'}}
    ]
    [attachment] = history.attachments()
    assert attachment.metadata["finish_reason"] == "tool_calls"
    assert attachment.metadata["usage"]["completion_tokens"] > 0
    assert attachment.metadata["latency_s"] > 0


def test_embeddings_models_and_anything_else_are_forwarded_and_not_recorded(
    proxies: Proxies, graph: MemoryGraph
) -> None:
    with ScriptedModel("Hi", models=["m"]) as model:
        proxy = proxies(model.base_url)
        client = proxies.client(proxy.base_url, KEY)
        assert [each.id for each in client.models.list()] == ["m"]
        direct = proxies.client(model.base_url, KEY).embeddings.create(model="m", input="a")
        assert client.embeddings.create(model="m", input="a").data[0].embedding == direct.data[0].embedding
        client.chat.completions.create(model="m", messages=[user("Hi")])  # when this is written, the others would be
    [found] = eventually(lambda: list(conversations(graph).values()))
    assert found == [["Hi", "Hi"]]


def everything(graph: MemoryGraph) -> str:
    rows = graph.query("MATCH (n {namespace: $namespace}) RETURN properties(n) AS all")
    return json.dumps(rows, default=str)


def test_a_key_is_passed_on_and_is_nowhere_in_the_database_or_on_the_disk(proxies: Proxies, graph: MemoryGraph) -> None:
    other = "azure-key-0123456789"

    def down() -> Any:
        raise ConnectionError("away")

    with ScriptedModel(f"You sent {KEY} and {other}") as model:
        for open_graph in (None, down):
            client = proxies.client(proxies(model.base_url, open_graph=open_graph).base_url, KEY, **{"Api-Key": other})
            client.chat.completions.create(
                model="m",
                messages=[user(f"My key is {KEY}")],
                extra_body={"api_key": "secret-token"},
            )
            # Before the second one keeps its call: while the first one writes, it would write that too.
            stored = eventually(lambda: text if "You sent" in (text := everything(graph)) else "")
        assert [request.headers["authorization"] for request in model.requests] == [f"Bearer {KEY}"] * 2
        assert [request.headers["api-key"] for request in model.requests] == [other] * 2
    kept = eventually(lambda: [p.read_text("utf-8") for p in proxies.folder.rglob("*.jsonl")])
    for text in (stored, *kept):
        assert "[removed]" in text
        assert not [secret for secret in (KEY, other, "secret-token") if secret in text]


@contextmanager
def refusing_first(graph: MemoryGraph, failures: int) -> Iterator[Any]:
    """A way to connect that fails so many times."""
    left = [failures]

    @contextmanager
    def connect() -> Iterator[MemoryGraph]:
        if left[0]:
            left[0] -= 1
            raise ConnectionError("Neo4j is away")
        yield graph

    yield connect


def test_calls_are_forwarded_while_neo4j_is_away_and_written_when_it_is_back(
    proxies: Proxies, graph: MemoryGraph
) -> None:
    with ScriptedModel(lambda request: f"re {request.prompt}") as model, refusing_first(graph, 3) as connect:
        client = proxies.client(proxies(model.base_url, open_graph=connect).base_url, KEY)
        talk(client, "Hi", "Who?", "Why?")
        [found] = eventually(lambda: [v for v in conversations(graph).values() if len(v[0]) == 7])
    assert found == [["Be brief.", "Hi", "re Hi", "Who?", "re Who?", "Why?", "re Why?"]]
    said = eventually(lambda: proxies.said if len(proxies.said) == 2 else None)
    assert said[0].startswith("recording waits, and calls are forwarded and kept in ")
    assert said[0].endswith("Neo4j is away")
    assert said[1] == "recording goes on: what waited is written"


def test_what_one_proxy_could_not_write_the_next_one_writes(proxies: Proxies, graph: MemoryGraph) -> None:
    with ScriptedModel("Yes.") as model, refusing_first(graph, 1 << 30) as away:
        proxy = proxies(model.base_url, open_graph=away)
        talk(proxies.client(proxy.base_url, KEY), "Hi")
        eventually(lambda: Spool(graph.namespace, proxies.folder).waiting())
        proxy.recording.close(0)
        assert conversations(graph) == {}
        proxies(model.base_url)
        [found] = eventually(lambda: list(conversations(graph).values()))
    assert found == [["Be brief.", "Hi", "Yes."]]


def leave_waiting(proxies: Proxies, graph: MemoryGraph, model: ScriptedModel) -> tuple[openai.OpenAI, Path]:
    """A client of a proxy that records no more, and the file of a call that waits since."""
    proxy = proxies(model.base_url)
    client = proxies.client(proxy.base_url, KEY)
    talk(client, "Hi")
    eventually(lambda: conversations(graph))
    proxy.recording.close()
    talk(client, "Another")
    [path] = eventually(Spool(graph.namespace, proxies.folder).waiting)
    return client, path


def test_a_call_that_waits_names_its_database_so_that_it_is_written_into_no_other(
    proxies: Proxies, graph: MemoryGraph
) -> None:
    with ScriptedModel("Yes.") as model:
        _, path = leave_waiting(proxies, graph, model)
    assert json.loads(path.read_bytes())["database"] == graph.connection.find_database()


def test_a_call_of_another_database_is_not_said_to_be_written(proxies: Proxies, graph: MemoryGraph) -> None:
    with ScriptedModel("Yes.") as model, refusing_first(graph, 1) as connect:
        client, path = leave_waiting(proxies, graph, model)
        path.write_text(json.dumps({**json.loads(path.read_bytes()), "database": "another"}))
        talk(proxies.client(proxies(model.base_url, open_graph=connect).base_url, KEY), "Later")
        said = eventually(lambda: proxies.said if len(proxies.said) == 2 else None)
        talk(client, "Last")
    assert said[1].startswith("recording goes on: what waited is written, but for 1 call of another database, ")
    assert str(Spool(graph.namespace, proxies.folder).folder) in said[1]
    assert path.exists()


def test_what_is_recorded_after_a_restore_is_of_the_restored_database(
    proxies: Proxies, graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorygraph.graph.connection.MAX_DATABASE_AGE_S", 0.0)
    with ScriptedModel(lambda request: f"re {request.prompt}") as model:
        proxy = proxies(model.base_url)
        client = proxies.client(proxy.base_url, KEY)
        with monkeypatch.context() as before:
            before.setattr(Connection, "_read_database", lambda _: "another")
            talk(client, "Hi")
            eventually(lambda: len(conversations(graph)) == 1 and not proxy.recording.waiting)
        talk(client, "Hello")  # kept before it is noticed that the database is another one
        eventually(lambda: len(conversations(graph)) == 2)
        proxy.recording.close()
        talk(client, "Bye")
        [path] = Spool(graph.namespace, proxies.folder).waiting()
    assert json.loads(path.read_bytes())["database"] == graph.connection.find_database()
    assert proxies.said == []


def test_a_disk_that_takes_nothing_breaks_no_call(proxies: Proxies, graph: MemoryGraph) -> None:
    proxies.folder.write_text("a file in the place of the folder")
    with ScriptedModel("Yes.") as model:
        assert talk(proxies.client(proxies(model.base_url).base_url, KEY), "Hi")[-1]["content"] == "Yes."
    eventually(lambda: [said for said in proxies.said if "a call could not be recorded" in said])
    assert conversations(graph) == {}


def test_a_request_that_is_no_json_is_forwarded_and_said(proxies: Proxies) -> None:
    with ScriptedModel("Yes.") as model, RawClient(proxies(model.base_url).base_url) as client:
        client.send("POST", "/v1/chat/completions", b"{", authorization=f"Bearer {KEY}")
        assert "400" in client.answer()[0].line  # the endpoint's own
    assert (len(model.requests), proxies.said) == (1, [])


def test_an_answer_that_is_no_json_is_passed_on_and_said(proxies: Proxies) -> None:
    request = {"model": "m", "messages": [user("Hi")]}
    with ScriptedModel(BadJson("<html>Log in</html>")) as model, RawClient(proxies(model.base_url).base_url) as client:
        client.send("POST", "/v1/chat/completions", json.dumps(request).encode())
        assert client.answer()[1] == b"<html>Log in</html>"
        [said] = eventually(lambda: proxies.said)
    expected = (
        "a call could not be recorded: the endpoint's answer to /chat/completions is not JSON (application/json; "
    )
    assert said.startswith(expected)


@pytest.mark.parametrize("text", ["half \ud83d", "an emoji 😀"])
def test_what_no_database_holds_is_recorded_as_near_as_can_be(proxies: Proxies, graph: MemoryGraph, text: str) -> None:
    completion = {"choices": [{"message": {"content": "Yes."}, "logprobs": {"content": [{"logprob": float("-inf")}]}}]}
    request = {"model": "m", "messages": [user(text)]}
    with ScriptedModel(BadJson(json.dumps(completion))) as model:
        with RawClient(proxies(model.base_url).base_url) as client:
            client.send("POST", "/v1/chat/completions", json.dumps(request).encode())
            assert "-Infinity" in client.answer()[1].decode()
        eventually(lambda: conversations(graph))
    [[said]] = conversations(graph).values()
    assert said == [text.replace("\ud83d", "\ufffd"), "Yes."]
    assert proxies.said == []


def test_a_token_decides_the_namespace_and_reaches_no_endpoint(
    proxies: Proxies, graph: MemoryGraph, twin: MemoryGraph
) -> None:
    tokens = {"token-of-the-first-0": graph.namespace, "token-of-the-other-0": twin.namespace}
    with ScriptedModel(lambda request: f"re {request.prompt}") as model:
        proxy = proxies(model.base_url, tokens=tokens, own_key="sk-own-0123456789")
        talk(proxies.client(proxy.base_url, KEY, **{TOKEN_HEADER: "token-of-the-first-0"}), "Hi")
        talk(proxies.client(proxy.base_url, key="token-of-the-other-0"), "Hello")
        both = {TOKEN_HEADER: "token-of-the-first-0"}
        for key in ("token-of-the-first-0", "token-of-the-other-0"):
            talk(proxies.client(proxy.base_url, key=key, **both), "Hi")
        for key, headers in (("wrong", {}), (KEY, {TOKEN_HEADER: "wrong"})):
            with pytest.raises(openai.AuthenticationError, match="needs its token"):
                talk(proxies.client(proxy.base_url, key=key, **headers), "Let me in")
        sent = [request.headers["authorization"] for request in model.requests]
    assert sent == [f"Bearer {KEY}", *["Bearer sk-own-0123456789"] * 3]
    assert not [request for request in model.requests if "token-of" in repr(request)]
    assert eventually(lambda: len(conversations(graph)) == 3)
    assert list(conversations(graph).values()) == [[["Be brief.", "Hi", "re Hi"]]] * 3
    assert eventually(lambda: list(conversations(twin).values())) == [[["Be brief.", "Hello", "re Hello"]]]


def test_the_command_records_what_a_program_sends_and_ends_on_sigterm(
    environment: str, server: Any, tmp_path: Path
) -> None:
    with ScriptedModel(lambda request: f"re {request.prompt}") as model:
        settings = {**os.environ, "MEMORYGRAPH_HOME": str(tmp_path), "OPENAI_BASE_URL": model.base_url}
        command = [sys.executable, "-m", "memorygraph", "proxy", "--port", "0"]
        with subprocess.Popen(command, env=settings, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            line = process.stderr.readline()
            found = re.fullmatch(r"recording at (http://127\.0\.0\.1:\d+/v1), which forwards to (\S+)\n", line)
            assert found, line
            assert model.base_url.startswith(found[2])
            with openai.OpenAI(base_url=found[1], api_key=KEY) as client:
                talk(client, "Hi")
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 128 + signal.SIGTERM
    with MemoryGraph.connect(namespace=environment) as graph:
        assert list(conversations(graph).values()) == [[["Be brief.", "Hi", "re Hi"]]]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_client_that_has_its_whole_answer_finds_the_call_kept(
    proxies: Proxies, graph: MemoryGraph, streamed: bool
) -> None:
    body = json.dumps({"model": "m", "stream": streamed, "messages": [user("Hi")]}).encode()
    with ScriptedModel("Yes.") as model, refusing_first(graph, 1 << 30) as away:
        client = RawClient(proxies(model.base_url, open_graph=away).base_url)
        with client:
            for count in (1, 2, 3):
                client.send("POST", "/v1/chat/completions", body)
                assert b"Yes" in client.answer()[1]
                assert len(Spool(graph.namespace, proxies.folder).waiting()) == count


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
@pytest.mark.usefixtures("environment")
def test_the_command_listens_beyond_this_machine_with_tokens_only(host: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["proxy", "--host", host, "--port", "0"])
    assert result.exit_code == 1
    assert "give it tokens" in result.stderr
    tokens = tmp_path / "tokens"
    tokens.write_text("team secret-of-the-team\n")
    tokens.chmod(0o644)
    result = CliRunner().invoke(cli, ["proxy", "--host", host, "--port", "0", "--tokens", str(tokens)])
    assert (result.exit_code, "chmod 600" in result.stderr) == (1, True)


@pytest.mark.usefixtures("environment")
def test_the_command_says_that_its_port_is_taken_and_that_it_would_forward_to_itself() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(cli, ["proxy", "--port", port, "--upstream", "https://x.example/v1"])
    assert (result.exit_code, f"cannot listen at 127.0.0.1 port {port}" in result.stderr) == (1, True)
    result = CliRunner().invoke(cli, ["proxy", "--port", port, "--upstream", f"http://localhost:{port}/v1"])
    assert (result.exit_code, "forward to itself" in result.stderr) == (1, True)
