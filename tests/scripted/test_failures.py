"""Every way to fail, as the client of OpenAI sees it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import openai
import pytest

from memorygraph.scripted.replies import BadJson, CutStream, Failure, Reply, Request, Stall
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.scripted.conftest import HI, Connect


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (403, openai.PermissionDeniedError),
        (404, openai.NotFoundError),
        (409, openai.ConflictError),
        (422, openai.UnprocessableEntityError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (503, openai.InternalServerError),
    ],
)
def test_each_status_is_the_error_of_its_kind(status: int, kind: type[openai.APIStatusError], connect: Connect) -> None:
    with ScriptedModel([Failure(status, "because")]) as model, pytest.raises(kind, match="because") as raised:
        connect(model).chat.completions.create(model="any", messages=HI)
    assert raised.value.status_code == status
    assert raised.value.request_id


def test_the_client_waits_as_long_as_it_is_told(connect: Connect) -> None:
    with ScriptedModel([Failure(429, retry_after=0.2), "Hello"]) as model:
        client = connect(model, max_retries=1)
        started = time.monotonic()
        completion = client.chat.completions.create(model="any", messages=HI)
        waited = time.monotonic() - started
    assert completion.choices[0].message.content == "Hello"
    assert waited >= 0.2
    assert [request.headers["x-stainless-retry-count"] for request in model.requests] == ["0", "1"]


def test_a_failure_can_have_any_body(connect: Connect) -> None:
    failures = [Failure(502, body="<h1>Bad gateway</h1>"), Failure(400, body={"detail": "no"}, headers={"x-why": "x"})]
    with ScriptedModel(failures) as model:
        client = connect(model)
        with pytest.raises(openai.InternalServerError) as gateway:
            client.chat.completions.create(model="any", messages=HI)
        with pytest.raises(openai.BadRequestError) as raised:
            client.responses.create(model="any", input="Hi", stream=True)
    assert gateway.value.response.text == "<h1>Bad gateway</h1>"
    assert raised.value.body == {"detail": "no"}
    assert raised.value.response.headers["x-why"] == "x"


def test_a_stall_runs_into_the_timeout(connect: Connect) -> None:
    with ScriptedModel([Stall(30), Stall(0.05, "late")]) as model:
        client = connect(model)
        with pytest.raises(openai.APITimeoutError):
            client.chat.completions.create(model="any", messages=HI, timeout=0.3)
        assert client.chat.completions.create(model="any", messages=HI).choices[0].message.content == "late"


def test_a_stream_can_stall_in_its_middle(connect: Connect) -> None:
    with ScriptedModel([Stall(30, Reply("Hello, world"), after=3)]) as model:
        # The timeout bounds the pieces that come too.
        chunks = connect(model, timeout=3).chat.completions.create(model="any", messages=HI, stream=True)
        heard = [next(chunks).choices[0].delta.content for _ in range(3)]
        with pytest.raises(openai.APITimeoutError):
            next(chunks)
    assert heard == ["", "Hell", "o, w"]


def test_a_stream_is_cut(connect: Connect) -> None:
    with ScriptedModel(CutStream(after=3, reply="Hello, world")) as model:
        client = connect(model)
        chunks = client.chat.completions.create(model="any", messages=HI, stream=True)
        heard = [next(chunks).choices[0].delta.content for _ in range(3)]
        with pytest.raises(openai.APIConnectionError):
            next(chunks)
        with pytest.raises(openai.APIConnectionError):
            list(client.responses.create(model="any", input="Hi", stream=True))
    assert heard == ["", "Hell", "o, w"]


@pytest.mark.parametrize("after", [0, 1000])
def test_a_stream_is_cut_at_its_very_start_or_end(after: int, connect: Connect) -> None:
    with ScriptedModel(CutStream(after, "Hello")) as model, pytest.raises(openai.APIConnectionError):
        # The client stops reading at the mark of the end, so that a cut after it only shows without one.
        list(connect(model).responses.create(model="any", input="Hi", stream=True))


def test_a_plain_answer_is_cut(connect: Connect) -> None:
    with ScriptedModel(CutStream()) as model, pytest.raises(openai.APIConnectionError):
        connect(model).chat.completions.create(model="any", messages=HI)


def test_an_answer_that_is_not_json(connect: Connect) -> None:
    with ScriptedModel(BadJson()) as model:
        client = connect(model)
        with pytest.raises(json.JSONDecodeError):
            client.chat.completions.create(model="any", messages=HI)
        with pytest.raises(json.JSONDecodeError):
            list(client.chat.completions.create(model="any", messages=HI, stream=True))


def test_failures_reach_asynchronous_clients_too(connect_async: Callable[..., openai.AsyncOpenAI]) -> None:
    async def ask(model: ScriptedModel) -> list[type[Exception]]:
        kinds: list[type[Exception]] = []
        async with connect_async(model) as client:
            for options in ({}, {"timeout": 0.3}, {"stream": True}):
                try:
                    answer: Any = await client.chat.completions.create(model="any", messages=HI, **options)
                    async for _ in answer:
                        pass
                except openai.OpenAIError as error:
                    kinds.append(type(error))
        return kinds

    with ScriptedModel([Failure(429), Stall(30), CutStream()]) as model:
        kinds = asyncio.run(ask(model))
    assert kinds == [openai.RateLimitError, openai.APITimeoutError, openai.APIConnectionError]


def test_a_script_that_fails_is_shown_where_it_was_opened(connect: Connect) -> None:
    def broken(request: Request) -> str:
        return request.json["no such field"]  # type: ignore[no-any-return]

    model = ScriptedModel(broken).start()
    with pytest.raises(openai.BadRequestError, match="script failed"):
        connect(model, max_retries=2).chat.completions.create(model="any", messages=HI)
    with pytest.raises(KeyError, match="no such field"):
        model.__exit__(None, None, None)
    assert len(model.requests) == 1


def test_a_script_that_gives_no_answer_is_shown(connect: Connect) -> None:
    numbers: Any = [5]
    model = ScriptedModel(numbers).start()
    with pytest.raises(openai.BadRequestError):
        connect(model).chat.completions.create(model="any", messages=HI)
    with pytest.raises(TypeError, match="5 is not an answer"):
        model.__exit__(None, None, None)
