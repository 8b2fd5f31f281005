"""The model that programs use, against the scripted endpoint: answers, configuration, and every error."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openai
import pytest

from memorygraph.errors import ModelError
from memorygraph.llm.completion import ToolCall, Usage, answers_of, call_of, read_completion, read_models
from memorygraph.llm.model import MEANINGS, OpenAIModel, grammar_field, translate_model_error
from memorygraph.messages.chunks import chat_document
from memorygraph.scripted.replies import BadJson, CutStream, Failure, Reply, Request, ScriptedAnswer, Stall
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.scripted.conftest import HI
from tests.web_services import Answer, Stranger, WebService

KEY = "sk-secret-0123456789"
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}


def _model(server: ScriptedModel, **options: Any) -> OpenAIModel:
    options = {"name": "any", "embedding_name": "vectors", "api_key": KEY, "retries": 0, **options}
    return OpenAIModel(base_url=server.base_url, **options)


def test_a_completion_holds_all_that_is_known() -> None:
    reply = Reply("Hello", usage=Usage(3, 5), model="any-2026")
    with ScriptedModel([reply]) as server, _model(server) as model:
        completion = model.complete(
            HI,
            tools=[WEATHER],
            response_format={"type": "json_object"},
            extra={"temperature": 0.5, "grammar": 'root ::= "x"', "seed": 1},
            max_tokens=100,
        )
    assert completion.content == "Hello"
    assert completion.tool_calls == ()
    assert (completion.finish_reason, completion.model, completion.usage) == ("stop", "any-2026", Usage(3, 5))
    assert 0 < completion.latency_s < 10
    assert completion.raw["choices"][0]["message"]["content"] == "Hello"
    assert completion.parameters == {
        "model": "any",
        "temperature": 0.5,
        "tools": [WEATHER],
        "response_format": {"type": "json_object"},
        "max_tokens": 100,
        "grammar": 'root ::= "x"',
        "seed": 1,
    }
    assert server.requests[0].json == {"messages": HI, **completion.parameters}
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_what_is_not_asked_for_is_not_sent() -> None:
    with ScriptedModel(["x"]) as server, _model(server) as model:
        model.complete(HI, extra={"temperature": 0.0})
    assert server.requests[0].json == {"model": "any", "messages": HI, "temperature": 0.0}


def test_an_option_that_there_is_not_is_refused() -> None:
    with ScriptedModel("Hello") as server, _model(server) as model:
        with pytest.raises(TypeError, match="max_token"):
            model.complete(HI, max_token=9)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="max_token"), model.stream(HI, max_token=9):  # type: ignore[call-arg]
            pass
        assert server.requests == []


def test_a_conversation_with_tools_goes_on_with_its_own_message() -> None:
    call = ToolCall("weather", '{"city": "Oslo"}')
    with ScriptedModel([Reply(tool_calls=(call,)), "Rain."]) as server, _model(server) as model:
        first = model.complete(HI, tools=[WEATHER])
        assert first.content is None
        assert first.finish_reason == "tool_calls"
        assert first.tool_calls[0].values() == {"city": "Oslo"}
        result = {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "rain"}
        assert model.complete([*HI, first.message(), result]).content == "Rain."


def test_arguments_that_are_no_object_are_an_error_of_the_model() -> None:
    for arguments in ("{", "[]", "5"):
        with pytest.raises(ModelError, match="'weather' with arguments that are not"):
            ToolCall("weather", arguments).values()
    assert ToolCall("clock", "").values() == {}


def test_a_stream_ends_with_the_same_completion() -> None:
    calls = (ToolCall("weather", '{"city": "Oslo"}', "c1"), ToolCall("clock", "{}", "c2"))
    with ScriptedModel(Reply("Let me see.", calls)) as server, _model(server) as model:
        plain = model.complete(HI)
        with model.stream(HI, max_tokens=9) as answer:
            assert list(answer) == ["Let ", "me s", "ee."]
        streamed = answer.completion
    assert (streamed.content, streamed.tool_calls) == (plain.content, plain.tool_calls)
    assert (streamed.finish_reason, streamed.model, streamed.usage) == ("tool_calls", "any", plain.usage)
    assert server.requests[1].json["max_tokens"] == 9


@pytest.mark.parametrize("stream", [False, True])
def test_half_a_character_of_an_answer_is_replaced(stream: bool) -> None:
    with ScriptedModel(['{"text": "Hi \ud83d"}']) as server, _model(server) as model:
        if stream:
            with model.stream(HI) as answer:
                list(answer)
            completion = answer.completion
        else:
            completion = model.complete(HI)
    assert completion.content == '{"text": "Hi \ufffd"}'
    assert completion.raw["choices"][0]["message"]["content"] == completion.content
    assert len(answers_of(call_of("names", "", HI, completion, "2026-01-01"))) == 1


def test_halves_of_a_character_in_two_chunks_are_put_together() -> None:
    pieces = [{"choices": [{"index": 0, "delta": {"content": half}}]} for half in ("Hi \ud83d", "\ude00")]
    assert read_completion(chat_document(pieces), 0, {}).content == "Hi \U0001f600"


@pytest.mark.parametrize("message", [{"content": 5}, {"content": ["a"]}, {"content": "a", "name": 5}])
def test_what_is_no_message_has_no_id(message: dict[str, Any]) -> None:
    completion = read_completion({"choices": [{"message": message}]}, 0, {})
    assert answers_of(call_of("names", "", HI, completion, "2026-01-01")) == []


def test_a_stream_can_be_left_early() -> None:
    with ScriptedModel(Reply("one two three " * 1000, pause=0.001)) as server, _model(server) as model:
        with model.stream(HI) as answer:
            first = next(iter(answer))
        assert answer.completion.content == first == "one "
        assert answer.completion.finish_reason is None


@pytest.mark.parametrize("answer", [CutStream(3), BadJson(), Failure(500), Stall(30, "Hello", after=2)])
def test_a_stream_that_fails_is_a_model_error(answer: ScriptedAnswer) -> None:
    with (
        ScriptedModel(answer) as server,
        _model(server, timeout=0.3) as model,
        pytest.raises(ModelError),
        model.stream(HI) as stream,
    ):
        list(stream)


@pytest.mark.parametrize("event", ["null", '"x"', "[1]", '{"choices": 5}', '{"choices": ["x"]}'])
def test_an_event_of_a_stream_that_is_no_chunk_is_a_model_error(event: str) -> None:
    with (
        ScriptedModel(BadJson(event)) as server,
        _model(server) as model,
        model.stream(HI) as answer,
        pytest.raises(ModelError, match="has an event"),
    ):
        list(answer)


def test_a_stream_that_is_not_in_utf_8_is_a_model_error() -> None:
    def answer(*_: object) -> Answer:
        return Answer(b'data: {"choices": [{"index": 0, "delta": {"content": "caf\xe9"}}]}\n\n')

    with WebService(answer) as endpoint, OpenAIModel("any", f"http://{endpoint.host}/v1", retries=0) as model:
        with pytest.raises(ModelError, match="not in UTF-8"), model.stream(HI) as stream:
            list(stream)
        with pytest.raises(ModelError, match="not JSON"):
            model.complete(HI)


def test_a_stream_without_an_end_is_a_model_error() -> None:
    without_end = BadJson('{"choices": [{"index": 0, "delta": {"content": "Hel"}}]}')
    with ScriptedModel(without_end) as server, _model(server) as model, model.stream(HI) as answer:
        with pytest.raises(ModelError, match="broke off"):
            list(answer)
        assert answer.completion.content == "Hel"


def test_vectors_come_in_the_order_of_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorygraph.llm.model.MAX_TEXTS_PER_REQUEST", 2)
    with ScriptedModel() as server, _model(server) as model:
        together = model.embed(["a", "b", "c"])
        assert together == [model.embed([text])[0] for text in "abc"]
        assert model.embed([]) == []
    assert [len(request.json["input"]) for request in server.requests] == [2, 1, 1, 1, 1]
    assert server.requests[0].json["model"] == "vectors"


def test_more_texts_than_an_endpoint_takes_at_once_go_in_parts() -> None:
    def refuse(request: Request) -> Failure | None:
        return Failure(422, "batch size 5 > maximum allowed batch size 2") if len(request.json["input"]) > 2 else None

    with ScriptedModel(embedding_failures=refuse) as server, _model(server) as model:
        together = model.embed(["a", "b", "c", "d", "e"])
        assert together == [model.embed([text])[0] for text in "abcde"]


@pytest.mark.parametrize(
    "failure",
    [
        Failure(400, "This model's maximum context length is 512 tokens"),
        Failure(413, "inputs must have less than 512 tokens"),
        Failure(500, "input is too large to process. increase the physical batch size"),
    ],
)
def test_a_text_that_is_too_long_has_the_vector_of_its_beginning(failure: Failure) -> None:
    def refuse(request: Request) -> Failure | None:
        return failure if any(len(text.split()) > 512 for text in request.json["input"]) else None

    with ScriptedModel(embedding_failures=refuse) as server, _model(server) as model:
        short, long, other = model.embed(["tea", "word " * 1200, "zoo"])
        assert [short, long, other] == model.embed(["tea", "word " * 300, "zoo"])


@pytest.mark.parametrize("key", ["x", "none", "openai", "token", KEY])
def test_a_text_that_is_too_long_has_a_vector_with_any_key(key: str) -> None:
    failure = Failure(413, f"inputs must have less than 512 tokens; the key is {KEY}")

    def refuse(request: Request) -> Failure | None:
        return failure if any(len(text.split()) > 512 for text in request.json["input"]) else None

    with ScriptedModel(embedding_failures=refuse) as server, _model(server, api_key=key) as model:
        assert model.embed(["word " * 1200]) == model.embed(["word " * 300])


def test_a_placeholder_for_a_key_stays_in_what_an_endpoint_says() -> None:
    with ScriptedModel(Failure(400, "no token, no openai")) as server:
        for key in ("token", "openai", "n"):
            with _model(server, api_key=key) as model, pytest.raises(ModelError) as raised:
                model.complete(HI)
        assert str(raised.value) == "the model endpoint refused the request (no token, no openai)"


def test_a_refusal_that_no_shorter_text_mends_is_an_error_after_a_few_requests() -> None:
    with (
        ScriptedModel(embedding_failures=lambda _: Failure(400, "no such model")) as server,
        _model(server) as model,
        pytest.raises(ModelError, match="no such model"),
    ):
        model.embed(["word " * 1000] * 8)
    assert len(server.requests) < 12


def test_the_environment_configures_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedModel(["Hello"], api_key=KEY, models=["small", "vectors"]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("MEMORYGRAPH_MODEL", "small")
        monkeypatch.setenv("MEMORYGRAPH_EMBEDDING_MODEL", "vectors")
        with OpenAIModel() as model:
            assert model.complete(HI).content == "Hello"
            assert len(model.embed(["x"])) == 1


def test_the_environment_says_how_long_a_model_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTSCRIPT_LLM_TIMEOUT_MS", "200")
    with ScriptedModel(Stall(30), embedding_failures=Stall(30)) as server:
        model = OpenAIModel("any", server.base_url, api_key="", embedding_name="vectors", retries=0)
        calls: list[Callable[[], object]] = [lambda: model.complete(HI), lambda: model.embed(["x"])]
        with model:
            for call in calls:
                with pytest.raises(ModelError, match="in time: try again, or raise AGENTSCRIPT_LLM_TIMEOUT_MS"):
                    call()


def test_the_variable_of_the_timeout_is_named_only_where_it_counts() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        model = OpenAIModel("any", url, api_key="", retries=0)
        with model, pytest.raises(ModelError, match="in time: try again, or allow more time"):
            model.offered(0.2)


def test_a_local_endpoint_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedModel("Hello") as server:
        with OpenAIModel("any", server.base_url) as model:
            assert model.complete(HI).content == "Hello"
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        with OpenAIModel("any", server.base_url, api_key="") as model:
            model.complete(HI)
    assert all(KEY not in str(request.headers) for request in server.requests)


def test_what_is_not_configured_is_said() -> None:
    with pytest.raises(ModelError, match=r"no model is configured: .* MEMORYGRAPH_MODEL"):
        OpenAIModel().complete(HI)
    with pytest.raises(ModelError, match="no model endpoint is configured: set OPENAI_API_KEY"):
        OpenAIModel("any").complete(HI)
    with pytest.raises(ModelError, match="MEMORYGRAPH_EMBEDDING_MODEL"):
        OpenAIModel("any", "http://127.0.0.1:1/v1").embed(["x"])


@pytest.mark.parametrize(
    "url",
    [
        *("localhost:8000", "ftp://x/v1", "http://", "http://[", "http://x:99999", "http://a b", "http://x..y/v1"),
        *(f"http://{'a' * 64}.example/v1", "http://xn--\u00fc/v1"),
    ],
)
def test_a_url_that_cannot_be_used_is_said_at_once(url: str) -> None:
    with pytest.raises(ModelError, match="URL cannot be used"):
        OpenAIModel("any", url)


@pytest.mark.parametrize("key", ["sk-1\n", "sk 1\x00", " sk-1", "sk-ä"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ModelError, match="API key has blanks") as raised:
        OpenAIModel("any", api_key=key)
    assert "sk" not in str(raised.value)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Failure(400, "bad field"), r"refused the request \(bad field\)"),
        (Failure(401), "check OPENAI_API_KEY"),
        (Failure(403), "may not use this model"),
        (Failure(404, "no such model"), r"check the model's name .*no such model"),
        (Failure(418, "teapot"), "refused the request"),
        (Failure(429), "rate limit or quota"),
        (Failure(503, body="<h1>Bad gateway</h1>"), "try again later"),
        (Stall(30), "did not answer in time: try again, or allow more time"),
        (CutStream(), "connection to the model endpoint broke"),
        (BadJson(), "not JSON"),
        (BadJson("[]"), "not a JSON object"),
        (BadJson("{}"), "without a message"),
        (BadJson('{"choices": []}'), "without a message"),
        (BadJson('{"choices": [{"message": {"tool_calls": [{}]}}]}'), "tool call without a name"),
        (BadJson('{"error": {"message": "overloaded", "code": 502}}'), "failed: overloaded"),
        (BadJson("[" * 100_000), "not JSON"),
    ],
)
def test_every_failure_is_a_model_error_that_says_what_to_do(answer: ScriptedAnswer, message: str) -> None:
    with (
        ScriptedModel([answer]) as server,
        _model(server, timeout=0.5 if isinstance(answer, Stall) else 60) as model,
        pytest.raises(ModelError, match=message) as raised,
    ):
        model.complete(HI)
    assert raised.value.exit_code == 4
    assert len(str(raised.value)) < 800


@pytest.mark.parametrize(
    "body",
    [
        '{"data": []}',
        '{"data": [{"index": 1, "embedding": [1]}]}',
        '{"data": [{"index": 0, "embedding": []}]}',
        '{"data": [{"index": 0, "embedding": "AAA="}]}',
        f'{{"data": [{{"index": 0, "embedding": [1{"0" * 400}]}}]}}',
        '{"data": {}}',
        "{}",
    ],
)
def test_embeddings_that_do_not_fit_are_a_model_error(body: str) -> None:
    with (
        ScriptedModel(embedding_failures=BadJson(body)) as server,
        _model(server) as model,
        pytest.raises(ModelError, match="embeddings"),
    ):
        model.embed(["x"])


def test_an_endpoint_that_is_not_there_is_a_model_error() -> None:
    with ScriptedModel() as server:
        pass
    with _model(server) as model, pytest.raises(ModelError, match=r"cannot be reached.*OPENAI_BASE_URL"):
        model.complete(HI)


@pytest.mark.parametrize(
    "answer",
    [
        Failure(401, f"Incorrect API key provided: {KEY}."),
        Failure(500, body=f"<p>{KEY}</p>"),
        BadJson(json.dumps({"error": {"message": f"not with {KEY}"}})),
    ],
)
def test_the_key_is_never_shown(answer: ScriptedAnswer) -> None:
    with ScriptedModel([answer]) as server, _model(server) as model:
        with pytest.raises(ModelError) as raised:
            model.complete(HI)
        assert KEY not in repr(model)
    assert KEY not in "".join(traceback.format_exception(raised.value))


def test_lists_of_models_differ_in_what_they_leave_out() -> None:
    assert read_models(b'{"data": [{"id": "a", "owned_by": "vllm"}, {"id": "b"}]}') == {"a": "vllm", "b": ""}
    assert read_models(b'[{"id": "a", "type": "chat"}]') == {"a": ""}
    for wrong in (b"[1]", b"{}", b'{"data": 1}', b'{"data": [{}]}', b"1", b"<p>"):
        with pytest.raises(ModelError, match="does its URL end in /v1"):
            read_models(wrong)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(status: int) -> None:
    with Stranger() as elsewhere, Stranger(status, {"Location": f"http://{elsewhere.host}/x"}) as endpoint:
        with OpenAIModel("any", f"http://{endpoint.host}/v1", KEY, embedding_name="vectors", retries=0) as model:
            calls: list[Callable[[], object]] = [
                lambda: model.complete(HI),
                lambda: model.stream(HI).__enter__(),
                lambda: model.embed(["x"]),
                lambda: model.offered(5.0),
            ]
            for call in calls:
                with pytest.raises(ModelError, match=r"no redirect is followed: check OPENAI_BASE_URL"):
                    call()
            assert model.owner() == ""
        assert len(endpoint.visits) == len(calls) + 1
        assert elsewhere.visits == []


def test_this_machine_is_reached_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY")
    with Stranger() as proxy, ScriptedModel("Hello") as server:
        for name in ("HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://{proxy.host}")
        with _model(server) as model:
            assert model.complete(HI).content == "Hello"
        assert proxy.visits == []


@pytest.mark.parametrize("variable", ["ALL_PROXY", "HTTPS_PROXY", "http_proxy"])
@pytest.mark.parametrize(
    ("proxy", "message"),
    [
        ("socks5://ada:planted@127.0.0.1:9", "names a SOCKS proxy, for which .*`pip install socksio`"),
        ("ftp://ada:planted@127.0.0.1:9", "names no proxy that can be used"),
        ("http://ada:planted@127.0.0.1:nine", "names no proxy that can be used"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_named_and_this_machine_is_reached_without_it(
    monkeypatch: pytest.MonkeyPatch, variable: str, proxy: str, message: str
) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)  # as where it is not installed
    monkeypatch.setenv("NO_PROXY", "elsewhere.example")
    monkeypatch.setenv(variable, proxy)
    with OpenAIModel("any", "http://192.0.2.1/v1") as model, pytest.raises(ModelError, match=message) as raised:
        model.complete(HI)
    assert str(raised.value).startswith(f"{variable} ")
    assert "planted" not in str(raised.value)
    with ScriptedModel("Hello") as server, _model(server) as model:
        assert model.complete(HI).content == "Hello"


def test_certificates_that_cannot_be_read_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    empty, missing = tmp_path / "empty.pem", tmp_path / "missing.pem"
    empty.touch()
    for file in (empty, missing):
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        with OpenAIModel("any", "https://192.0.2.1/v1") as model, pytest.raises(ModelError) as raised:
            model.complete(HI)
        assert str(raised.value).startswith(f"SSL_CERT_FILE names `{file}`, which is no file of certificates (")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OPENAI_CUSTOM_HEADERS", "X-Team: atlas\nX-Key: pl\u00e4nted"),
        ("OPENAI_CUSTOM_HEADERS", "X Key: planted"),
        ("OPENAI_CUSTOM_HEADERS", "X-Key: planted\x01"),
        ("OPENAI_CUSTOM_HEADERS", ": planted"),
        ("OPENAI_ORG_ID", "planted\n"),
        ("OPENAI_PROJECT_ID", "pl\u00e4nted"),
    ],
)
def test_a_header_of_the_environment_that_cannot_be_sent_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with ScriptedModel("Hello") as server, _model(server) as model, pytest.raises(ModelError, match=variable) as raised:
        model.complete(HI)
    assert "nted" not in str(raised.value)
    assert server.requests == []


def test_headers_of_the_environment_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Team:\tatlas, and\tmore \r\nbroken")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    with ScriptedModel("Hello") as server, _model(server) as model:
        model.complete(HI)
        headers = server.requests[0].headers
    assert (headers["x-team"], headers["openai-organization"]) == ("atlas, and\tmore", "org-1")


def test_what_an_endpoint_says_is_told_apart_from_what_it_means() -> None:
    told: list[ScriptedAnswer] = [
        Failure(400, "a saying"),
        Failure(503, "a saying"),
        BadJson('{"error": {"message": "a saying"}}'),
    ]
    with ScriptedModel(told) as server, _model(server) as model:
        for _ in told:
            with pytest.raises(ModelError, match="a saying") as raised:
                model.complete(HI)
            assert "saying" not in raised.value.brief
            assert str(raised.value).startswith(raised.value.brief)


@pytest.mark.parametrize(
    "url", ["sk-planted-0123", "sk-planted@host", "http://ada:sk-planted@host:99999/v1", "http://[sk-planted"]
)
def test_a_url_is_not_shown_where_it_may_hold_a_key(url: str) -> None:
    with pytest.raises(ModelError, match="check OPENAI_BASE_URL") as raised:
        OpenAIModel("any", url)
    assert "planted" not in "".join(traceback.format_exception(raised.value))
    assert "planted" not in repr(OpenAIModel("any", "http://ada:sk-planted@host/planted/v1?key=planted"))


def test_a_text_that_cannot_be_sent_is_a_model_error() -> None:
    with ScriptedModel("x") as server, _model(server) as model, pytest.raises(ModelError, match="cannot be sent"):
        model.complete([{"role": "user", "content": "\ud800"}])


def test_a_failure_that_passes_is_tried_again() -> None:
    replies: list[ScriptedAnswer] = [
        Failure(429, retry_after=0.01),
        Failure(500, headers={"retry-after-ms": "10"}),
        "Hello",
    ]
    with ScriptedModel(replies) as server, _model(server, retries=2) as model:
        assert model.complete(HI).content == "Hello"
    assert len(server.requests) == 3


def test_a_model_is_shared_between_threads() -> None:
    with (
        ScriptedModel(lambda request: request.prompt) as server,
        _model(server) as model,
        ThreadPoolExecutor(20) as pool,
    ):
        said = [[{"role": "user", "content": str(number)}] for number in range(60)]
        assert [completion.content for completion in pool.map(model.complete, said)] == [str(n) for n in range(60)]


def _tree(kind: type[Exception]) -> Iterator[type[Exception]]:
    yield kind
    for special in kind.__subclasses__():
        yield from _tree(special)


def test_every_error_of_the_client_has_its_meaning() -> None:
    root = openai.OpenAIError
    errors = {kind for kind in _tree(root) if kind.__module__.startswith("openai") and kind is not root}
    # They come from uses of the client that memorygraph never makes: its module functions, audio, and its old form.
    misuse = {"APIRemovedInV1", "_AmbiguousModuleClientUsageError", "MissingDependencyError"}
    for kind in errors:
        meant = next(name for name in (base.__name__ for base in kind.__mro__) if name in MEANINGS)
        assert (meant != root.__name__) != (kind.__name__ in misuse), kind
        error = kind.__new__(kind)
        assert isinstance(translate_model_error(error), ModelError)
    public = {name for name in openai.__all__ if name.endswith("Error")}
    assert public - MEANINGS.keys() <= {"OAuthError"}


def test_openai_is_imported_only_when_a_model_is_called() -> None:
    program = (
        "import sys, memorygraph.llm.model, memorygraph.scripted.scripted_model\n"
        "memorygraph.llm.model.OpenAIModel('any')\n"
        "sys.exit('openai' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_kind_of_endpoint_has_its_field_for_a_grammar() -> None:
    assert grammar_field(OpenAIModel("any", "http://localhost:1/v1"), "llama") == "grammar"
