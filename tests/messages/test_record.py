"""Recorded clients: every way to call a model ends in the graph, and the client is otherwise what it was."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from threading import Barrier, Thread
from types import SimpleNamespace, coroutine
from typing import Any, cast

import openai
import pydantic
import pytest
from openai.types.responses import Response

from memorygraph import ConflictError, MemoryGraph, MemoryGraphError
from memorygraph.graph.connection import Connection
from memorygraph.graph.namespace import Namespace
from memorygraph.llm.completion import ToolCall
from memorygraph.messages import record as record_module
from memorygraph.messages.calls import bodies_without_secrets
from memorygraph.messages.graph import MessageGraph
from memorygraph.messages.neo4j_storage import Neo4jStorage
from memorygraph.messages.record import Recorded, record, watch_closing
from memorygraph.messages.recorder import Recorder, RecordWarning
from memorygraph.messages.training import TrainingData, training_data
from memorygraph.scripted.replies import CutStream, Failure, Replies, Reply, Request, ScriptedAnswer
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.examples import mostly_slow
from tests.messages.conftest import hold_records
from tests.messages.fine_tuning_rules import faults_of_lines

KEY = "sk-canary-7f3a9c"
HI: Any = [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "Hi"}]
CLOCK = ToolCall("clock", '{"zone": "utc"}', "call_1")
TOOLS: Any = [{"type": "function", "function": {"name": "clock", "parameters": {"type": "object"}}}]
RESPONSE_TOOLS: Any = [{"type": "function", "name": "clock", "parameters": {"type": "object"}}]


class World:
    """A conversation in Neo4j, and recorded clients that write to it."""

    def __init__(self, connection: Connection, namespace: str, folder: Path) -> None:
        self.connection, self.namespace, self.folder = connection, namespace, folder
        self.recorder = Recorder(Namespace(connection, namespace), "talk", folder)

    def client(self, model: ScriptedModel, **options: Any) -> openai.OpenAI:
        return record(openai.OpenAI(base_url=model.base_url, api_key=KEY, max_retries=0, **options), self.recorder)

    def async_client(self, model: ScriptedModel) -> openai.AsyncOpenAI:
        return record(openai.AsyncOpenAI(base_url=model.base_url, api_key=KEY, max_retries=0), self.recorder)

    def graph(self, version: int | None = None) -> MessageGraph:
        graph = MessageGraph(storage=Neo4jStorage(Namespace(self.connection, self.namespace), "talk"))
        return graph if version is None else graph.checkout(version)

    def training(self) -> TrainingData:
        return training_data(Neo4jStorage(Namespace(self.connection, self.namespace), "talk"))

    def versions(self) -> list[list[Any]]:
        """The content of every version."""
        graph = self.graph()
        return [[message.get("content") for message in graph.checkout(v)] for v in graph.versions()]


@pytest.fixture
def world(connection: Connection, namespace: str, tmp_path: Path) -> Iterator[World]:
    world = World(connection, namespace, tmp_path)
    yield world
    assert world.recorder.waiting == 0


def script(replies: Replies) -> ScriptedModel:
    return ScriptedModel(replies, strict=True)


def said(world: World) -> tuple[dict[str, Any], Any]:
    """The last message of the conversation, which was sampled, and what is kept beside it."""
    last = world.graph()[-1]
    assert not last.off_policy
    return dict(last), last.metadata


# Each way to have one answer, of both clients and both formats: they all leave the same messages.


def chat_create(client: Any) -> Any:
    return client.chat.completions.create(model="m", messages=HI, temperature=0.5)


def chat_stream(client: Any) -> Any:
    options = {"include_usage": True}
    return client.chat.completions.create(model="m", messages=HI, temperature=0.5, stream=True, stream_options=options)


def chat_parse(client: Any) -> Any:
    return client.chat.completions.parse(model="m", messages=HI, temperature=0.5)


def chat_events(client: Any) -> Any:
    return client.chat.completions.stream(
        model="m", messages=HI, temperature=0.5, stream_options={"include_usage": True}
    )


def chat_raw(client: Any) -> Any:
    return client.chat.completions.with_raw_response.create(model="m", messages=HI, temperature=0.5)


def with_options(client: Any) -> Any:
    return chat_create(client.with_options(timeout=20).copy(max_retries=1))


def responses_create(client: Any) -> Any:
    return client.responses.create(model="m", instructions="Be brief", input="Hi", temperature=0.5)


def responses_beta(client: Any) -> Any:
    """What `client.beta.responses.create` sends, without the package that it loads."""
    body = {"model": "m", "instructions": "Be brief", "input": "Hi", "temperature": 0.5}
    return client.post("/responses?beta=true", cast_to=Response, body=body)


def responses_stream(client: Any) -> Any:
    return client.responses.create(model="m", input=HI, temperature=0.5, stream=True)


def responses_parse(client: Any) -> Any:
    return client.responses.parse(model="m", input=HI, temperature=0.5)


def responses_events(client: Any) -> Any:
    return client.responses.stream(model="m", input=HI, temperature=0.5)


WAYS = [
    chat_create,
    chat_stream,
    chat_parse,
    chat_events,
    chat_raw,
    with_options,
    responses_create,
    responses_beta,
    responses_stream,
    responses_parse,
    responses_events,
]


def check_one_answer(world: World, api: str) -> None:
    assert world.graph() == [*HI, {"role": "assistant", "content": "Hello"}]
    _, metadata = said(world)
    assert metadata["api"] == api
    assert metadata["parameters"]["temperature"] == metadata["temperature"] == 0.5
    assert metadata["parameters"]["model"] == metadata["model"] == "m"
    assert "messages" not in metadata["parameters"]
    assert "input" not in metadata["parameters"]
    assert metadata["finish_reason"] == "stop"
    assert metadata["finished"] is True
    assert metadata["usage"]["total_tokens"] > 0
    assert 0 < metadata["latency_s"] < 60
    assert metadata["response_id"].startswith(("chatcmpl-", "resp_"))
    assert metadata["created"] > 1_000_000_000
    assert metadata["response"]["id"] == metadata["response_id"]
    assert len(world.training()) == 1
    assert faults_of_lines(world.training().jsonl()) == []


@pytest.mark.parametrize("call", WAYS)
def test_every_way_to_call_is_recorded(world: World, call: Callable[[Any], Any]) -> None:
    with script(["Hello"]) as model, world.client(model) as client:
        result = call(client)
        if call in (chat_events, responses_events):
            with result as stream:
                for _ in stream:
                    pass
        elif call in (chat_stream, responses_stream):
            list(result)
    check_one_answer(world, "responses" if "responses" in call.__name__ else "chat")


@pytest.mark.parametrize("call", mostly_slow(WAYS, ordinary=4))
def test_every_way_to_call_asynchronously_is_recorded(world: World, call: Callable[[Any], Any]) -> None:
    async def run(model: ScriptedModel) -> None:
        async with world.async_client(model) as client:
            result = call(client)
            if call in (chat_events, responses_events):
                async with result as stream:
                    async for _ in stream:
                        pass
            elif call in (chat_stream, responses_stream):
                async for _ in await result:
                    pass
            else:
                await result

    with script(["Hello"]) as model:
        asyncio.run(run(model))
    check_one_answer(world, "responses" if "responses" in call.__name__ else "chat")


def test_the_client_stays_what_it_was(world: World) -> None:
    with script(["Hello", "Hello", "Hello"]) as model, openai.OpenAI(base_url=model.base_url, api_key=KEY) as plain:
        client = record(plain, world.recorder)
        assert isinstance(client, openai.OpenAI)
        assert client.base_url == plain.base_url
        assert isinstance(client.chat.completions.create(model="m", messages=HI, stream=True), openai.Stream)
        raw = client.chat.completions.with_raw_response.create(model="m", messages=HI)
        assert raw.parse().choices[0].message.content == "Hello"
        assert client.embeddings.create(model="m", input="a").data[0].embedding
        before = world.versions()
        assert chat_create(plain).choices[0].message.content == "Hello"
        assert type(plain) is openai.OpenAI
        assert world.versions() == before
        with pytest.raises(TypeError, match="already"):
            record(client, world.recorder)
    with pytest.raises(TypeError, match=r"openai\.OpenAI"):
        record(object(), world.recorder)


def test_a_parsed_answer_is_parsed_and_recorded_as_it_came(world: World) -> None:
    class Word(pydantic.BaseModel):
        word: str

    with script('{"word": "yes"}') as model, world.client(model) as client:
        chat = client.chat.completions.parse(model="m", messages=HI, response_format=Word)
        assert chat.choices[0].message.parsed == Word(word="yes")
        assert "parsed" not in said(world)[1]["response"]["choices"][0]["message"]
        response = client.responses.parse(model="m", input=HI, text_format=Word)
        assert response.output_parsed == Word(word="yes")
        messages: Any = [*HI, chat.choices[0].message.model_dump(warnings=False), {"role": "user", "content": "?"}]
        client.chat.completions.create(model="m", messages=messages)
    assert world.versions() == [["Be brief", "Hi", '{"word": "yes"}', "?", '{"word": "yes"}']]


def test_an_answer_that_cannot_be_parsed_raises_as_ever(world: World) -> None:
    class Word(pydantic.BaseModel):
        word: str

    with script(["nothing"]) as model, world.client(model) as client, pytest.raises(pydantic.ValidationError):
        client.chat.completions.parse(model="m", messages=HI, response_format=Word)
    assert world.versions() == [[]]


def test_half_a_character_of_an_answer_is_recorded_as_one_that_is_missing(world: World) -> None:
    with script(["Hi \ud83d"]) as model, world.client(model) as client:
        list(chat_stream(client))
    assert world.versions() == [["Be brief", "Hi", "Hi \ufffd"]]


@pytest.mark.parametrize("stream", [False, True])
def test_tool_calls_of_both_formats_are_one_conversation(world: World, stream: bool) -> None:
    replies: list[ScriptedAnswer] = [Reply("Let me see.", (CLOCK,)), "It is noon."]
    with script(replies) as model, world.client(model) as client:
        answer = client.chat.completions.create(model="m", messages=HI, tools=TOOLS, stream=stream)
        if stream:
            list(answer)
        _, metadata = said(world)
        assert metadata["parameters"]["tools"] == TOOLS
        assert metadata["finish_reason"] == "tool_calls"
        items: Any = [
            *HI,
            {"role": "assistant", "content": "Let me see."},
            {"type": "function_call", "call_id": "call_1", "name": "clock", "arguments": CLOCK.arguments},
            {"type": "function_call_output", "call_id": "call_1", "output": "12:00"},
        ]
        second = client.responses.create(model="m", input=items, tools=RESPONSE_TOOLS, stream=stream)
        if stream:
            list(second)
    call = {"id": "call_1", "type": "function", "function": {"name": "clock", "arguments": '{"zone": "utc"}'}}
    assert world.graph() == [
        *HI,
        {"role": "assistant", "content": "Let me see.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "12:00"},
        {"role": "assistant", "content": "It is noon."},
    ]
    assert len(world.graph().versions()) == 1
    assert world.training().answers == 2


@pytest.mark.parametrize("stream", [False, True])
def test_each_choice_is_a_version_of_its_own(world: World, stream: bool) -> None:
    reply = Reply("one", alternatives=("two",))
    with script([reply, "three"]) as model, world.client(model) as client:
        result = client.chat.completions.create(model="m", messages=HI, n=2, stream=stream)
        if stream:
            list(result)
        assert world.versions() == [["Be brief", "Hi", "one"], ["Be brief", "Hi", "two"]]
        graph = world.graph()
        assert [graph.checkout(v)[-1].metadata["index"] for v in graph.versions()] == [0, 1]
        messages: Any = [*HI, {"role": "assistant", "content": "one"}, {"role": "user", "content": "and"}]
        client.chat.completions.create(model="m", messages=messages)
    assert world.versions() == [["Be brief", "Hi", "one", "and", "three"], ["Be brief", "Hi", "two"]]
    assert world.training().answers == 3


def test_edits_between_calls_land_on_versions_by_their_prefix(world: World) -> None:
    messages: Any = list(HI)
    with script(lambda request: f"You said {request.prompt}") as model, world.client(model) as client:

        def ask() -> None:
            messages.append(client.chat.completions.create(model="m", messages=messages).choices[0].message)

        ask()
        messages.append({"role": "user", "content": "A"})
        ask()
        messages[3:] = [{"role": "user", "content": "B"}]
        ask()
        messages.append({"role": "user", "content": "C"})
        ask()
    common = ["Be brief", "Hi", "You said Hi"]
    assert world.versions() == [
        [*common, "A", "You said A"],
        [*common, "B", "You said B", "C", "You said C"],
    ]
    assert world.training().answers == 4


def test_an_answer_is_known_in_every_form_in_which_it_comes_back(world: World) -> None:
    with script(lambda request: Reply(None, (CLOCK,)) if request.prompt == "Hi" else "ok") as model:
        client = world.client(model)
        answer = client.chat.completions.create(model="m", messages=HI, tools=TOOLS).choices[0].message
        result = {"role": "tool", "tool_call_id": "call_1", "content": "12:00"}
        call = {"id": "call_1", "type": "function", "function": {"name": "clock", "arguments": CLOCK.arguments}}
        forms: list[Any] = [
            answer,
            answer.model_dump(),
            answer.model_dump(exclude_none=True),
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "assistant", "content": None, "tool_calls": [call], "refusal": None},
        ]
        for form in forms:
            client.chat.completions.create(model="m", messages=cast(Any, [*HI, form, result]))
        client.close()
    assert world.versions() == [["Be brief", "Hi", None, "12:00", "ok"]]
    assert len(world.graph().attachments()) == 1 + len(forms)


def test_a_message_graph_can_be_sent(world: World) -> None:
    history = MessageGraph(HI)
    with script("Hello") as model, world.client(model) as client:
        client.chat.completions.create(model="m", messages=history)
        client.responses.create(model="m", input=cast(Any, history))
        bound = world.graph()
        bound.append({"role": "user", "content": "More"})
        client.chat.completions.create(model="m", messages=bound)
        assert [len(request.json.get("messages", [])) for request in model.requests] == [2, 0, 4]
    assert world.versions() == [["Be brief", "Hi", "Hello", "More", "Hello"]]


def test_a_memory_graph_records_a_client(
    connection: Connection, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(tmp_path))
    mg = MemoryGraph(connection, namespace)
    with script("Hello") as model, openai.OpenAI(base_url=model.base_url, api_key=KEY) as plain:
        client = mg.record(plain, conversation="support-42")
        assert chat_create(client).choices[0].message.content == "Hello"
        chat_create(mg.record(plain))
        with pytest.raises(MemoryGraphError, match="name"):
            mg.record(plain, conversation="")
        assert isinstance(client, Recorded)
        assert client.recorder.spool.folder.is_relative_to(tmp_path)
    assert mg.messages("support-42") == mg.messages("recorded") == [*HI, {"role": "assistant", "content": "Hello"}]
    assert mg.messages("support-42")[-1].metadata["usage"]["total_tokens"] > 0


@pytest.mark.parametrize("stream", [False, True])
def test_a_previous_response_is_continued(world: World, stream: bool) -> None:
    with script(["one", "two", "three", "four"]) as model, world.client(model) as client:

        def ask(**options: Any) -> Any:
            result: Any = client.responses.create(model="m", **options, stream=stream)
            return list(result)[-1].response.id if stream else result.id

        first = ask(input="1", instructions="Be brief")
        second = ask(input="2", instructions="Be brief", previous_response_id=first)
        ask(input="3", previous_response_id=second)
        ask(input="2b", instructions="Be kind", previous_response_id=first)
    assert sorted(world.versions()) == sorted(
        [
            ["Be brief", "1", "one", "2", "two"],
            ["1", "one", "2", "two", "3", "three"],
            ["Be kind", "1", "one", "2b", "four"],
        ]
    )
    data = world.training()
    assert data.answers == 4
    assert data.left_out == {"off-policy": 3}


def test_a_response_that_is_not_there_yet_is_kept_without_an_answer(world: World) -> None:
    """In the background an endpoint answers later, and whoever continues that continues what is not known."""
    queued = {"id": "resp_1", "object": "response", "created_at": 1, "status": "queued", "model": "m", "output": []}
    with script([Failure(200, body=queued), "later"]) as model, world.client(model) as client:
        client.responses.create(model="m", input="1", background=True)
        client.responses.create(model="m", input="2", previous_response_id="resp_1")
    assert world.graph() == [
        {"role": "user", "content": "1"},
        {"role": "user", "content": "2"},
        {"role": "assistant", "content": "later"},
    ]
    assert world.graph().metadata(0)["finished"] is False
    assert world.graph()[-1].off_policy


def test_an_answer_that_is_read_as_it_comes_is_recorded(world: World) -> None:
    with script("Hello") as model, world.client(model) as client:
        raw = client.chat.completions.with_streaming_response
        with raw.create(model="m", messages=HI) as response:
            assert response.parse().choices[0].message.content == "Hello"
        with raw.create(model="m", messages=HI, stream=True) as response:
            list(response.parse())
        raw_stream = client.responses.with_raw_response.create(model="m", input=HI, stream=True)
        list(raw_stream.parse())
    assert world.versions() == [["Be brief", "Hi", "Hello"]]
    assert [attachment.metadata["api"] for attachment in world.graph().attachments()] == ["chat", "chat", "responses"]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_warning_says_that_an_answer_that_is_read_as_bytes_is_not_recorded(world: World, streamed: bool) -> None:
    with script("Hello") as model, world.client(model) as client:
        raw = client.chat.completions.with_streaming_response
        response = raw.create(model="m", messages=HI, stream=streamed)
        with pytest.warns(RecordWarning, match="read as bytes") as warned, response as opened:
            assert "Hel" in "".join(opened.iter_lines())
        assert len(warned) == 1
    assert world.versions() == [[]]


def test_an_answer_behind_what_only_the_endpoint_knows_is_not_on_policy(world: World) -> None:
    with script(["one", "two", "three"]) as model, world.client(model) as client:
        unknown = client.responses.create(model="m", input="1", previous_response_id="resp_other")
        client.responses.create(model="m", input="2", previous_response_id=unknown.id)
        client.responses.create(model="m", input="1", conversation="conv_1")
    assert all(message.off_policy for message in world.graph() if message["role"] == "assistant")
    assert world.training().answers == 0


def test_a_stream_that_was_closed_early_is_kept_but_not_sampled(world: World) -> None:
    with script(Reply("a long answer that is not heard")) as model, world.client(model) as client:
        with client.chat.completions.create(model="m", messages=HI, stream=True) as stream:
            next(stream), next(stream)
        with client.responses.create(model="m", input=HI, stream=True) as events:
            for event in events:
                if event.type == "response.output_text.delta":
                    break
        with client.chat.completions.stream(model="m", messages=HI) as parsed:
            next(iter(parsed))
    graph = world.graph()
    assert graph == HI
    kept = [attachment.metadata for attachment in graph.attachments()]
    assert [metadata["finished"] for metadata in kept] == [False] * 3
    assert kept[0]["response"]["choices"][0]["message"]["content"] == "a lo"
    assert kept[1]["response"]["partial_text"] == "a lo"
    assert world.training().answers == 0


LEFT = """
import asyncio, json, sys
from pathlib import Path
import openai
from memorygraph.graph.connection import Connection
from memorygraph.graph.namespace import Namespace
from memorygraph.messages.record import record
from memorygraph.messages.recorder import Recorder, RecordWarning

given = json.load(sys.stdin)
connection = Connection(given["uri"], given["auth"] and tuple(given["auth"]))
recorder = Recorder(Namespace(connection, given["namespace"]), "talk", Path(given["folder"]))
asked = {"model": "m", "messages": given["messages"], "stream": True}

def client_of(kind):
    return record(kind(base_url=given["base_url"], api_key="none", max_retries=0), recorder)

async def leave():
    async for _ in await client_of(openai.AsyncOpenAI).chat.completions.create(**asked):
        break

if given["asynchronous"]:
    asyncio.run(leave())
else:
    stream = client_of(openai.OpenAI).chat.completions.create(**asked)
    for _ in stream:
        break
"""


@pytest.mark.parametrize("asynchronous", mostly_slow([False, True], ordinary=1))
def test_a_stream_that_a_program_leaves_is_recorded_at_its_end(
    world: World, server: tuple[str, tuple[str, str] | None], asynchronous: bool
) -> None:
    with script(Reply("a long answer that is not heard", pause=0.1)) as model:
        given = {
            "uri": server[0], "auth": server[1], "namespace": world.namespace, "folder": str(world.folder),
            "messages": HI, "base_url": model.base_url, "asynchronous": asynchronous,
        }  # fmt: skip
        subprocess.run([sys.executable, "-c", LEFT], input=json.dumps(given), text=True, check=True)
    world.recorder.flush()  # newer Pythons begin no thread at the end, so that the record waits
    assert world.versions() == [["Be brief", "Hi"]]
    assert world.graph().metadata(1)["finished"] is False


def test_a_stream_that_is_collected_while_it_closes_is_recorded() -> None:
    @coroutine
    def wait() -> Generator[None, None, None]:
        yield

    recorded: list[Any] = []
    response = SimpleNamespace(close=None, aclose=wait)
    watch: Any = SimpleNamespace(reading=False, finish_response=recorded.append)
    watch_closing(response, watch)
    closing = response.aclose()
    closing.send(None)
    closing.close()
    assert recorded == [response]


def test_the_time_of_a_stream_ends_with_its_last_piece(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1.0]
    monkeypatch.setattr(record_module, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    with script("a long answer") as model, world.client(model) as client:
        stream = client.chat.completions.create(model="m", messages=HI, stream=True)
        now[0] = 3.0
        next(stream)
        now[0] = 60.0
        stream.close()
    assert world.graph().metadata(1)["latency_s"] == 2.0


@pytest.mark.parametrize("call", [chat_stream, responses_stream])
def test_a_stream_whose_connection_breaks_raises_and_is_not_sampled(world: World, call: Callable[[Any], Any]) -> None:
    with script([CutStream(4, Reply("a long answer")), "Hello"]) as model, world.client(model) as client:
        with pytest.raises(Exception, match=r"onnection|closed|chunk"):
            list(call(client))
        assert world.versions() == [["Be brief", "Hi"]]
        list(call(client))
    assert world.versions() == [["Be brief", "Hi", "Hello"]]
    assert world.training().answers == 1


def test_a_list_that_changes_while_the_answer_streams_is_recorded_as_it_was_sent(world: World) -> None:
    messages = list(HI)
    with script("Hello") as model, world.client(model) as client:
        stream = client.chat.completions.create(model="m", messages=messages, stream=True)
        next(stream)
        messages[1] = {"role": "user", "content": "edited"}
        messages.clear()
        list(stream)
    assert world.versions() == [["Be brief", "Hi", "Hello"]]


def test_an_asynchronous_stream_that_is_cancelled_is_not_sampled(world: World) -> None:
    async def read(client: openai.AsyncOpenAI, begun: asyncio.Event) -> None:
        async for _ in await chat_stream(client):
            begun.set()
            await asyncio.Event().wait()

    async def run(model: ScriptedModel) -> None:
        begun = asyncio.Event()
        async with world.async_client(model) as client:
            reading = asyncio.create_task(read(client, begun))
            await asyncio.wait_for(begun.wait(), 60)
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading

    with script(Reply("a long answer", pause=0.4)) as model:
        asyncio.run(run(model))
    assert world.versions() == [["Be brief", "Hi"]]


def test_a_call_that_raises_leaves_no_message(world: World) -> None:
    failures = [Failure(429, "slow down"), Failure(500)]
    with script(failures * 2) as model, world.client(model) as client:
        for call in (chat_create, responses_create):
            with pytest.raises(openai.RateLimitError, match="slow down"):
                call(client)
            with pytest.raises(openai.InternalServerError):
                call(client)
    assert not world.graph().stored


def test_sixteen_threads_lose_nothing(world: World) -> None:
    threads, calls = 16, 3
    together = Barrier(threads)

    with script(lambda request: f"re {request.prompt}") as model, world.client(model) as client:

        def work(number: int) -> None:
            together.wait()
            for call in range(calls):
                messages: Any = [*HI, {"role": "user", "content": f"{number}.{call}"}]
                client.chat.completions.create(model="m", messages=messages)

        workers = [Thread(target=work, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        world.recorder.flush()
    expected = {f"re {number}.{call}" for number in range(threads) for call in range(calls)}
    assert {version[-1] for version in world.versions()} == expected
    assert world.training().answers == threads * calls


def test_asynchronous_calls_side_by_side_lose_nothing_and_block_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(model: ScriptedModel) -> list[bool]:
        went_on = hold_records(monkeypatch)
        async with world.async_client(model) as client:
            calls = [
                client.chat.completions.create(model="m", messages=[*HI, {"role": "user", "content": str(n)}])
                for n in range(16)
            ]
            await asyncio.gather(*calls)
        return went_on

    def answer(request: Request) -> str:
        return f"re {request.prompt}"

    with script(answer) as model:
        assert asyncio.run(run(model)) == [True] * 16
    assert {version[-1] for version in world.versions()} == {f"re {n}" for n in range(16)}


def test_no_key_is_stored(world: World, connection: Connection) -> None:
    with script("Hello") as model, world.client(model, default_headers={"X-Api-Key": KEY}) as client:
        remote: Any = {"type": "mcp", "server_url": "https://a.example", "authorization": "t", "headers": {"a": "b"}}
        client.responses.create(model="m", input=f"my key is {KEY}", tools=[remote])
        client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": f"my key is {KEY}"}],
            extra_body={"api_key": KEY, "user": KEY},
            extra_headers={"Authorization": f"Bearer {KEY}", "X-Trace": "7"},
        )
        assert KEY in str(model.requests[0].json)
    everything = connection.read(_everything(world.namespace))
    assert len(everything) > 4
    assert KEY not in str(everything)
    assert "my key is [removed]" in str(everything)
    assert "X-Trace" not in str(everything)
    tool = world.graph().metadata(1)["parameters"]
    assert "api_key" in str(everything)
    assert tool.get("user") in (None, "[removed]")
    assert '"headers":"[removed]"' in str(everything)
    assert '"authorization":"[removed]"' in str(everything)


def test_a_parameter_has_no_text_under_a_name_of_a_secret_and_an_answer_keeps_it() -> None:
    schema = {"type": "object", "properties": {"password": {"type": "string"}, "authentication": {"type": "object"}}}
    search = {"endpoint": "https://a.example", "authentication": {"type": "api_key", "key": KEY}}
    call = {
        "max_tokens": 5,
        "aws_secret_access_key": KEY,
        "azure_ad_token": KEY,
        "data_sources": [{"type": "azure_search", "parameters": search}],
        "tools": [
            {"type": "mcp", "server_url": f"https://ada:{KEY}@a.example/mcp?key={KEY}"},
            {"type": "function", "function": {"name": "sign_in", "parameters": schema}},
        ],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi", "token": "a"}]}],
    }
    answer = {"choices": [{"logprobs": {"content": [{"token": "Hel", "logprob": -0.1}]}}]}
    kept = bodies_without_secrets(call, answer, ())
    assert KEY not in str(kept)
    assert kept["response"] == answer
    request = kept["request"]
    assert list(request) == list(call)
    assert [request[name] for name in ("max_tokens", "messages")] == [5, call["messages"]]
    assert request["aws_secret_access_key"] == request["azure_ad_token"] == "[removed]"
    assert request["data_sources"][0]["parameters"]["authentication"] == {"type": "api_key", "key": "[removed]"}
    assert request["tools"][0]["server_url"] == "https://[removed]@a.example/mcp?[removed]"
    assert request["tools"][1]["function"]["parameters"] == schema


def _everything(namespace: str) -> Any:
    from memorygraph.query import Query

    text = "MATCH (stored {namespace: $namespace}) RETURN properties(stored) AS properties"
    return Query(text, {"namespace": namespace})


def test_an_answer_that_was_recorded_can_be_appended_by_its_caller(world: World) -> None:
    history = world.graph()
    history.append({"role": "user", "content": "Hi"})
    with script("Hello") as model, world.client(model) as client:
        messages = cast(Any, history.for_model())
        answer = client.chat.completions.create(model="small", messages=messages)
    history.append(answer.choices[0].message)
    history.append({"role": "user", "content": "And?"})
    assert [message["role"] for message in world.graph()] == ["user", "assistant", "user"]
    assert [version.length for version in history.versions()] == [3]
    assert history.metadata(1)["model"] == answer.model


def test_an_append_of_another_answer_is_still_a_conflict(world: World) -> None:
    history = world.graph()
    history.append({"role": "user", "content": "Hi"})
    world.graph().append({"role": "assistant", "content": "Hello"})
    with pytest.raises(ConflictError):
        history.append({"role": "assistant", "content": "Goodbye"})
    assert [message["content"] for message in world.graph()] == ["Hi", "Hello"]
