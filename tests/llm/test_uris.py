"""Models by their URI: which endpoint, which key, and that no key goes elsewhere."""

from __future__ import annotations

import pytest

from memorygraph.errors import MemoryGraphError, ModelError
from memorygraph.llm.model import read_timeout
from memorygraph.llm.uris import ModelUri, find_model, model_of
from memorygraph.scripted.replies import Failure, Stall
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.scripted.conftest import HI

KEY = "sk-openai-0123456789"
OTHER_KEY = "sk-anthropic-0123456789"
KEYS = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": OTHER_KEY}


@pytest.mark.parametrize(
    ("uri", "provider", "name", "host"),
    [
        ("openai://gpt-5-mini", "openai", "gpt-5-mini", None),
        ("openai://org/model", "openai", "org/model", None),
        ("openai://ft:gpt-4o:org::id", "openai", "ft:gpt-4o:org::id", None),
        ("openai://Qwen/Qwen3-8B-Instruct", "openai", "Qwen/Qwen3-8B-Instruct", None),
        ("anthropic://claude-opus-4.5", "anthropic", "claude-opus-4.5", None),
        ("ollama://localhost:11434/qwen3:7b", "ollama", "qwen3:7b", "localhost:11434"),
        ("ollama://localhost:11434/library/qwen:7b", "ollama", "library/qwen:7b", "localhost:11434"),
        ("ollama://10.0.0.1:80/hf.co/a/b:Q4_K_M", "ollama", "hf.co/a/b:Q4_K_M", "10.0.0.1:80"),
        ("ollama://[::1]:11434/m", "ollama", "m", "[::1]:11434"),
    ],
)
def test_a_uri_names_a_model(uri: str, provider: str, name: str, host: str | None) -> None:
    assert ModelUri.parse(uri) == ModelUri(provider, name, host)
    assert model_of(uri, KEYS).name == name


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("", "names no model"),
        ("gpt-5", "names no model; a model's URI is openai://model, anthropic://model or ollama://host:port/model"),
        ("gemini://x", "names no model"),
        ("OpenAI://x", "names no model"),
        ("openai:/x", "names no model"),
        ("http://localhost:11434/v1", "names no model"),
        ("openai://", "no usable name"),
        ("openai:// gpt", "no usable name"),
        ("openai://gpt 5", "no usable name"),
        ("openai://gpt\n", "no usable name"),
        ("openai://a//b", "no usable name"),
        ("openai://a/", "no usable name"),
        ("openai:///a", "no usable name"),
        ("openai://gpt\u20115", "no usable name"),
        ("openai://a%20b", "percent-encoded"),
        ("openai://a?b=c", "query"),
        ("openai://a#b", "fragment"),
        ("openai://user:secret@model", "credentials"),
        ("ollama://user:secret@localhost:11434/m", "credentials"),
        ("ollama://localhost:11434", "no usable name"),
        ("ollama://localhost:11434/", "no usable name"),
        ("ollama://localhost/m", "no host and port"),
        ("ollama://m", "no host and port"),
        ("ollama://:11434/m", "no host and port"),
        ("ollama://localhost:0/m", "no host and port"),
        ("ollama://localhost:99999/m", "no host and port"),
        ("ollama://localhost:x/m", "no host and port"),
        ("ollama://local host:1/m", "no host and port"),
        ("ollama://localhost:1\\@evil.org:2/m", "credentials"),
        ("ollama://localhost:\u0661/m", "no host and port"),
        ("openai://" + "a b" * 1000, "no usable name"),
    ],
)
def test_another_uri_is_refused(uri: str, message: str) -> None:
    with pytest.raises(MemoryGraphError) as raised:
        model_of(uri, KEYS)
    assert message in str(raised.value)
    assert "secret" not in str(raised.value)
    assert len(str(raised.value)) < 300


def test_each_service_has_its_own_endpoint() -> None:
    assert model_of("openai://m", KEYS).base_url == "https://api.openai.com/v1"
    assert model_of("anthropic://m", KEYS).base_url == "https://api.anthropic.com/v1/"
    assert model_of("ollama://h:1/m", KEYS).base_url == "http://h:1/v1"
    assert model_of("openai://m", {"OPENAI_BASE_URL": "http://x/v1"}).base_url == "http://x/v1"
    assert model_of("anthropic://m", {"ANTHROPIC_BASE_URL": "http://x/v1"}).base_url == "http://x/v1"


@pytest.mark.parametrize("service", ["openai", "anthropic"])
def test_a_missing_key_is_said(service: str) -> None:
    with pytest.raises(ModelError, match=f"set {service.upper()}_API_KEY, or {service.upper()}_BASE_URL"):
        model_of(f"{service}://m", {})


@pytest.fixture
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that the client of OpenAI adds to requests by itself."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "secret-admin")
    monkeypatch.setenv("OPENAI_ORG_ID", "secret-organization")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "secret-project")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "authorization: Bearer secret-ambient\nX-Key: secret-custom\nbroken")


@pytest.mark.usefixtures("_secrets")
def test_a_host_that_the_program_names_gets_no_key() -> None:
    with ScriptedModel("Hello") as server:
        host = server.base_url.removeprefix("http://").removesuffix("/v1")
        with model_of(f"ollama://{host}/library/qwen:7b") as model:
            assert model.complete(HI).content == "Hello"
        request = server.requests[0]
    said = f"{request.headers} {request.body!r}"
    assert KEY not in said
    assert "secret" not in said
    assert request.json["model"] == "library/qwen:7b"


@pytest.mark.usefixtures("_secrets")
def test_each_service_gets_its_own_key() -> None:
    with ScriptedModel("Hello") as server:
        for service, key in (("openai", KEY), ("anthropic", OTHER_KEY)):
            environ = {**KEYS, f"{service.upper()}_BASE_URL": server.base_url}
            with model_of(f"{service}://m", environ) as model:
                model.complete(HI)
            headers = server.requests[-1].headers
            assert ("secret-custom" in str(headers)) == (service == "openai")
            assert service == "openai" or headers["authorization"] == f"Bearer {key}"
            other = OTHER_KEY if service == "openai" else KEY
            assert other not in str(headers)


def test_the_environment_is_the_given_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")
    assert model_of("openai://m", {"OPENAI_API_KEY": KEY}).base_url == "https://api.openai.com/v1"
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://here/v1")
    assert model_of("anthropic://m").base_url == "http://here/v1"


def test_the_environment_names_a_model_by_its_address_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedModel("Hello") as server:
        host = server.base_url.removeprefix("http://").removesuffix("/v1")
        monkeypatch.setenv("MEMORYGRAPH_MODEL", f"ollama://{host}/qwen")
        with find_model() as model:
            assert model.complete(HI).content == "Hello"
        assert server.requests[0].json["model"] == "qwen"


def test_a_message_names_the_right_variable() -> None:
    with ScriptedModel(Failure(401)) as server:
        host = server.base_url.removeprefix("http://").removesuffix("/v1")
        expected = {
            "openai://m": "check OPENAI_API_KEY",
            "anthropic://m": "check ANTHROPIC_API_KEY",
            f"ollama://{host}/m": f"check ollama://{host}/m",
        }
        for uri, message in expected.items():
            environ = {**KEYS, "OPENAI_BASE_URL": server.base_url, "ANTHROPIC_BASE_URL": server.base_url}
            with model_of(uri, environ) as model, pytest.raises(ModelError, match=message):
                model.complete(HI)


def test_a_failure_is_not_tried_again() -> None:
    with ScriptedModel([Failure(500), "Hello"]) as server:
        with model_of("openai://m", {"OPENAI_BASE_URL": server.base_url}) as model, pytest.raises(ModelError):
            model.complete(HI)
        assert len(server.requests) == 1


def test_the_timeout_is_that_of_the_environment() -> None:
    with ScriptedModel(Stall(30)) as server:
        environ = {"OPENAI_BASE_URL": server.base_url, "AGENTSCRIPT_LLM_TIMEOUT_MS": "200"}
        with model_of("openai://m", environ) as model, pytest.raises(ModelError, match="or raise AGENTSCRIPT_LLM"):
            model.complete(HI)


@pytest.mark.parametrize(("given", "seconds"), [(None, 30.0), ("", 30.0), ("1500", 1.5), ("0.5", 0.0005)])
def test_the_timeout(given: str | None, seconds: float) -> None:
    assert read_timeout(30.0, {} if given is None else {"AGENTSCRIPT_LLM_TIMEOUT_MS": given}) == seconds


@pytest.mark.parametrize("given", ["0", "-1", "soon", "inf", "nan", "30s"])
def test_a_timeout_that_is_none_is_refused(given: str) -> None:
    with pytest.raises(MemoryGraphError, match="AGENTSCRIPT_LLM_TIMEOUT_MS is"):
        read_timeout(30.0, {"AGENTSCRIPT_LLM_TIMEOUT_MS": given})
