"""The scripted server itself: what it records, whom it serves, and that nothing of it is left behind."""

from __future__ import annotations

import gc
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest

from memorygraph.errors import ModelError
from memorygraph.scripted.replies import Reply, Request, Stall
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.scripted.conftest import HI, Connect


def _port(model: ScriptedModel) -> int:
    return int(model.base_url.rpartition(":")[2].partition("/")[0])


def _exchange(model: ScriptedModel, method: str, path: str, body: bytes, **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", _port(model), timeout=10)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


@pytest.fixture
def port() -> Iterator[int]:
    """A port for servers of the test only: a socket holds it that does not listen."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # else no server could listen there
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def test_requests_are_recorded_byte_by_byte() -> None:
    body = b'{ "model":"any",\n "messages" : [{"role":"user","content":"\xc3\xa9\\u00e9"}] }'
    with ScriptedModel("x") as model:
        status, _ = _exchange(model, "POST", "/v1/chat/completions?a=b", body, X_Trace="7")
    request = model.requests[0]
    assert status == 200
    assert request.body == body
    assert (request.method, request.path, request.headers["x-trace"]) == ("POST", "/v1/chat/completions?a=b", "7")
    assert request.json["messages"] == [{"role": "user", "content": "éé"}]
    assert request.prompt == "éé"


def test_refused_requests_are_recorded_too() -> None:
    with ScriptedModel("x", strict=True) as model:
        assert _exchange(model, "POST", "/v1/chat/completions", b"nonsense")[0] == 400
        assert _exchange(model, "GET", "/v1/nothing", b"")[0] == 404
        assert _exchange(model, "DELETE", "/v1/models", b"")[0] == 405
    assert [request.path for request in model.requests] == ["/v1/chat/completions", "/v1/nothing", "/v1/models"]
    assert model.requests[0].json is None


@pytest.mark.parametrize("content", ["Hi", [{"type": "text", "text": "H"}, {"type": "text", "text": "i"}]])
def test_the_prompt_is_the_text_of_the_last_message(content: Any) -> None:
    messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": content}]
    for name in ("messages", "input"):
        assert Request("POST", "/", {}, json.dumps({name: messages}).encode()).prompt == "Hi"
    assert Request("POST", "/", {}, b"[]").prompt == ""


def test_a_key_is_asked_for_where_one_is_configured(connect: Connect) -> None:
    with ScriptedModel("Hello", api_key="sk-right") as model:
        with pytest.raises(openai.AuthenticationError, match="Incorrect API key"):
            connect(model, api_key="sk-wrong").chat.completions.create(model="any", messages=HI)
        assert connect(model, api_key="sk-right").chat.completions.create(model="any", messages=HI).choices
        assert _exchange(model, "GET", "/v1/models", b"")[0] == 401
        assert _exchange(model, "GET", "/v1/models", b"", Authorization="Bearer \xe9")[0] == 401


def test_a_body_that_is_too_large_is_refused_unread() -> None:
    with ScriptedModel("x", largest_body=1000) as model:
        status, document = _exchange(model, "POST", "/v1/chat/completions", b" " * 2000)
        assert status == 413
        assert "1000 bytes" in document["error"]["message"]
        assert _exchange(model, "POST", "/v1/chat/completions", b"{}", Content_Length="-1")[0] == 400
        assert _exchange(model, "POST", "/v1/chat/completions", b"", Transfer_Encoding="chunked")[0] == 411
    assert model.requests == []


def test_it_listens_on_the_loopback_interface_only() -> None:
    with ScriptedModel() as model:
        assert model.base_url == f"http://127.0.0.1:{_port(model)}/v1"
        with socket.socket() as other, pytest.raises(OSError):  # noqa: PT011 - refused, or no such address
            other.connect(("127.0.0.2", _port(model)))


def test_a_request_without_a_reply_is_refused_once(connect: Connect) -> None:
    with ScriptedModel(["only one"]) as model:
        client = connect(model, max_retries=2)
        client.chat.completions.create(model="any", messages=HI)
        with pytest.raises(openai.BadRequestError, match="no reply"):
            client.chat.completions.create(model="any", messages=HI)
    assert len(model.requests) == 2


def test_a_strict_script_raises_for_a_request_without_a_reply(connect: Connect) -> None:
    model = ScriptedModel(lambda request: None, strict=True).start()
    with pytest.raises(openai.BadRequestError):
        connect(model).chat.completions.create(model="any", messages=HI)
    with pytest.raises(ModelError, match=r"1 of 1 requests had no scripted reply.*'Hi'"):
        model.__exit__(None, None, None)


def test_a_strict_script_does_not_hide_the_error_of_its_user(connect: Connect) -> None:
    with pytest.raises(openai.BadRequestError) as raised, ScriptedModel(strict=True) as model:
        connect(model).chat.completions.create(model="any", messages=HI)
    assert "no scripted reply" in raised.value.__notes__[0]


def test_twenty_threads_are_served_side_by_side(connect: Connect) -> None:
    together = threading.Barrier(20)

    def reply(request: Request) -> Reply:
        together.wait(timeout=30)
        return Reply(f"answer to {request.prompt}")

    with ScriptedModel(reply) as model, ThreadPoolExecutor(20) as pool:
        client = connect(model)

        def ask(number: int) -> str:
            said: Any = [{"role": "user", "content": str(number)}]
            if number % 2:
                chunks = client.chat.completions.create(model="any", messages=said, stream=True)
                return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
            return str(client.chat.completions.create(model="any", messages=said).choices[0].message.content)

        assert list(pool.map(ask, range(60))) == [f"answer to {number}" for number in range(60)]
    assert len({request.prompt for request in model.requests}) == 60


def test_a_list_gives_each_reply_once_to_many_threads(connect: Connect) -> None:
    with ScriptedModel(map(str, range(100)), strict=True) as model, ThreadPoolExecutor(20) as pool:
        client = connect(model)
        answers = pool.map(lambda _: client.responses.create(model="any", input="x").output_text, range(100))
        assert sorted(map(int, answers)) == list(range(100))


def _left() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("scripted-model")]


def test_no_thread_and_no_socket_is_left(connect: Connect, port: int) -> None:
    with ScriptedModel(["Hello"], port=port) as model:
        connect(model).chat.completions.create(model="any", messages=HI)  # the connection stays open
        assert _left()
    assert _left() == []
    with socket.socket() as other, pytest.raises(ConnectionRefusedError):
        other.connect(("127.0.0.1", port))
    gc.collect()  # a socket that was not closed would warn now


def test_closing_ends_what_is_in_progress(connect: Connect) -> None:
    arrived = threading.Event()

    def stall(request: Request) -> Stall:
        arrived.set()
        return Stall(600)

    with ThreadPoolExecutor(1) as pool:
        with ScriptedModel(stall) as model:
            asked = pool.submit(connect(model).chat.completions.create, model="any", messages=HI)
            assert arrived.wait(10)
            started = time.monotonic()
        assert time.monotonic() - started < 5
        assert isinstance(asked.exception(10), openai.APIConnectionError)
    assert _left() == []


def test_a_client_that_goes_away_does_no_harm(connect: Connect, capfd: pytest.CaptureFixture[str]) -> None:
    with ScriptedModel(Reply("many words " * 20, pause=0.01)) as model:
        client = connect(model)
        for chunk in client.chat.completions.create(model="any", messages=HI, stream=True):
            assert chunk.choices
            break
        assert client.models.list().data
    assert capfd.readouterr() == ("", "")


def test_a_port_can_be_chosen_and_used_again(port: int) -> None:
    with ScriptedModel(port=port) as first:
        assert _port(first) == port
        with pytest.raises(OSError, match="in use"):
            ScriptedModel(port=port).start()
    with ScriptedModel(port=port) as second:
        assert second.base_url == first.base_url


def test_the_address_is_known_only_after_the_start() -> None:
    with pytest.raises(ModelError, match="not been started"):
        ScriptedModel(port=1024).base_url  # noqa: B018
