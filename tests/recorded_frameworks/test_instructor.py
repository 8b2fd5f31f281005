"""instructor: it wraps a recorded client; the other way round is refused."""

from __future__ import annotations

import openai
import pytest
from pydantic import BaseModel

from tests.recorded_frameworks.conftest import Recording, run

instructor = pytest.importorskip("instructor", reason="instructor is not installed: tests/recorded_frameworks/run")

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the framework


class Person(BaseModel):
    """A person."""

    name: str


def test_a_wrapped_recorded_client_is_recorded(recording: Recording) -> None:
    with recording.client() as client:
        wrapped = instructor.from_openai(client, mode=instructor.Mode.JSON)
        hi = [{"role": "user", "content": "Who?"}]
        assert wrapped.chat.completions.create(model="m", messages=hi, response_model=Person).name == "Ada"
    asynchronous = recording.async_client()
    wrapped = instructor.from_openai(asynchronous, mode=instructor.Mode.JSON)
    hi = [{"role": "user", "content": "And who?"}]
    work = wrapped.chat.completions.create(model="m", messages=hi, response_model=Person)
    assert run(work, asynchronous).name == "Ada"
    assert [answered for _, answered in recording.kept()] == ['{"name": "Ada"}'] * 2


def test_a_wrapper_is_refused_in_words(recording: Recording) -> None:
    refused = pytest.raises(TypeError, match="and not a Instructor: record the client that it is made from")
    with openai.OpenAI(base_url=recording.base_url, api_key="k") as client, refused:
        recording.graph.record(instructor.from_openai(client))
    with recording.client() as client, pytest.raises(TypeError, match="recorded already"):
        recording.graph.record(instructor.from_openai(client))
