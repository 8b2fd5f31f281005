"""LiteLLM: recorded by the client that each call takes."""

from __future__ import annotations

import pytest

from tests.recorded_frameworks.conftest import Recording, run

litellm = pytest.importorskip("litellm", reason="LiteLLM is not installed: tests/recorded_frameworks/run")

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the framework


def test_a_completion_with_a_recorded_client_is_recorded(recording: Recording) -> None:
    with recording.client() as client:
        hi = [{"role": "user", "content": "sync"}]
        assert litellm.completion(model="openai/m", messages=hi, client=client).choices[0].message.content == "re sync"
        hi = [{"role": "user", "content": "stream"}]
        pieces = litellm.completion(model="openai/m", messages=hi, client=client, stream=True)
        assert "".join(piece.choices[0].delta.content or "" for piece in pieces) == "re stream"
    asynchronous = recording.async_client()
    hi = [{"role": "user", "content": "async"}]
    work = litellm.acompletion(model="openai/m", messages=hi, client=asynchronous)
    assert run(work, asynchronous).choices[0].message.content == "re async"
    assert [answered for _, answered in recording.kept()] == ["re sync", "re stream", "re async"]
