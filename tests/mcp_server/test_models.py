"""What a client's program may ask: the models of the server's list, and no address that the program names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memorygraph import MemoryGraphError
from memorygraph.mcp_server import choose_tools
from memorygraph.scripted.replies import Failure, Request, ScriptedAnswer
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.examples import mostly_slow
from tests.mcp_server.clients import Server, Session, environment_of, started_in, text_of
from tests.shared_neo4j import new_namespace
from tests.web_services import SAYING, Stranger

BROKEN = "broken"


def routed(model: str) -> str:
    """A node graph whose route is judged by a model."""
    return f"@routingModel {model}\n@to b Is it?\n> node s\n> system\nS\n> user\nGo\n> node b\n> nodeEnd\n> goto s"


def asking(uri: str) -> str:
    """A program of AgentScript that asks a model."""
    return (
        f'import llm M from "{uri}"\n'
        'main agent { model M role "r" description "d" '
        'main func() { return generate({ input: "Hi" }) { return { said string } } } }'
    )


def calling(imported: str, call: str) -> str:
    """A program of AgentScript that calls what it imports."""
    return f"import {imported} main agent {{ main func() {{ return {call} }} }}"


def reply(request: Request) -> ScriptedAnswer:
    """What the server's own model says: it judges, or makes an object, or fails."""
    if request.json["model"] == BROKEN or BROKEN in request.prompt:
        return Failure(400, f"organization {SAYING} has no such model")
    return json.dumps({"isTrue": True, "said": request.json["model"]} if "OUTPUT" in request.prompt else {"said": "x"})


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(reply) as model:
        yield model


@contextmanager
def serving(server: Server, model: ScriptedModel, *arguments: str, **variables: str) -> Iterator[Session]:
    """A client of a server that has a model, and a key of another service."""
    environment = environment_of(server) | {
        "OPENAI_BASE_URL": model.base_url,
        "OPENAI_API_KEY": "sk-the-key-of-the-server",
        "ANTHROPIC_API_KEY": "sk-another-key",
        "NO_PROXY": "127.0.0.1",
        **variables,
    }
    with Session(started_in(environment, new_namespace(), *arguments)) as session:
        yield session


@pytest.fixture(scope="module")
def session(server: Server, model: ScriptedModel) -> Iterator[Session]:
    with serving(server, model, "--model", "small", "--model", "openai://large", "--model", BROKEN) as session:
        yield session


@pytest.mark.parametrize("status", mostly_slow([200, 303, 307, 401], ordinary=2))
@pytest.mark.parametrize(
    ("language", "program"),
    [
        ("convo", routed("ollama://HOST/x")),
        ("convo", routed("anthropic://m")),
        ("convo", routed("expensive")),
        ("convo", "> node s\n@responseModel ollama://HOST/x\n> user\nGo\n> nodeEnd\n> goto s"),
        ("convo", "> define\n__model = 'ollama://HOST/x'\n> node s\n> user\nGo\n> nodeEnd\n> goto s"),
        ("convo", "@import FILE\n> node s\n> user\nGo\n> nodeEnd\n> goto s"),
        ("convo", "> user\nHi\n> node s\n  > f() -> (httpGet('http://HOST/a'))\n> goto s"),
        ("convo", "> user\nHi\n> node s\n  > f() -> (httpPost('http://HOST/a' {a: 1}))\n> goto s"),
        ("agentscript", asking("ollama://HOST/x")),
        ("agentscript", asking("anthropic://m")),
        ("agentscript", asking("openai://expensive")),
        ("agentscript", calling('tool T from "http://HOST"', 'T.get("/a")')),
        ("agentscript", calling('tool T from "mcp://http://HOST/mcp"', "T.anything({})")),
        ("agentscript", calling('tool T from "sh://curl"', 'T.run("http://HOST/a")')),
        ("agentscript", calling('tool T from "env://"', 'T.get("OPENAI_API_KEY")')),
        ("agentscript", calling('tool T from "file://."', 'T.write("a", "b")')),
        ("agentscript", calling('memory M from "file://facts.jsonl"', 'M.add({ a: 1 })')),
        ("agentscript", calling('memory M from "sqlite://facts.db"', 'M.add({ a: 1 })')),
        ("agentscript", calling('memory M from "neo4j://another"', "M.query()")),
        ("agentscript", calling('memory M from "neo4j://%61nother"', "M.query()")),
        ("agentscript", calling('file F from "FILE"', "F")),
        ("agentscript", calling('agent A from "FILE"', "1")),
    ],
)  # fmt: skip
def test_a_program_reaches_no_address_that_it_names(
    session: Session, model: ScriptedModel, tmp_path: Path, language: str, program: str, status: int
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text(SAYING, "utf-8")
    before = [request.json["model"] for request in model.requests]
    with Stranger(status, {"Location": "/elsewhere"}) as stranger:
        source = program.replace("HOST", stranger.host).replace("FILE", str(secret))
        result = session.call("run_program", {"program": source, "language": language})
    assert result.is_error
    assert re.search(r"may not|here the|leads out of|is outside of", text_of(result)), text_of(result)
    assert stranger.visits == []
    assert SAYING not in text_of(result)
    assert "sk-the-key-of-the-server" not in text_of(result)
    assert {request.json["model"] for request in model.requests[len(before) :]} <= {"small"}
    assert "error of memorygraph itself" not in text_of(result)


def test_the_models_of_the_list_are_asked_by_either_name(session: Session, model: ScriptedModel) -> None:
    for uri in ("openai://small", "openai://large"):
        answer = session.call("run_program", {"program": asking(uri)})
        assert not answer.is_error, text_of(answer)
        assert model.requests[-1].json["model"] == uri.removeprefix("openai://")
    for name in ("large", "openai://small"):
        before = len(model.requests)
        answer = session.call("run_program", {"program": routed(name), "language": "convo"})
        assert not answer.is_error, text_of(answer)
        # What the program does not say is for the first of the list.
        asked = [request.json["model"] for request in model.requests[before:]]
        assert asked[:2] == ["small", name.removeprefix("openai://")]


def test_what_is_not_listed_is_refused_with_the_list(session: Session) -> None:
    said = text_of(session.call("run_program", {"program": asking("openai://expensive")}))
    assert "here the model 'openai://expensive' may not be asked, only small, openai://large, broken" in said
    [tool] = [tool for tool in session.tools() if tool.name == "run_program"]
    assert tool.description.endswith(f"Its models: small, openai://large, {BROKEN}.")


def prompting(code: str) -> str:
    """A node graph with code in a node; `PROMPT` in it is a prompt at which the model fails."""
    return f"> node a\n{code}\n> nodeEnd\n> goto a".replace("PROMPT", f"??? Is it {BROKEN}? ???")


@pytest.mark.parametrize(
    ("language", "program"),
    [
        ("agentscript", asking(f"openai://{BROKEN}")),
        ("convo", routed(BROKEN)),
        ("convo", prompting("> f() -> (PROMPT)")),
        ("convo", prompting("> local g() -> (map(a: PROMPT))\n> f() -> (g())")),
        ("convo", prompting("> do\nx = PROMPT\n> user\nGo")),
    ],
)
def test_what_an_endpoint_says_of_its_failure_is_not_for_clients(session: Session, language: str, program: str) -> None:
    said = text_of(session.call("run_program", {"program": program, "language": language}))
    assert "the model endpoint refused the request" in said
    assert SAYING not in said


@pytest.mark.parametrize(
    "model", ["ollama://ada:sesame@host:1/m", "https://ada:sesame@host/v1", "openai://m?key=sesame"]
)
def test_a_list_that_would_tell_clients_a_password_is_refused(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    monkeypatch.setenv("MEMORYGRAPH_MODEL", model)
    for given in ([model], []):
        with pytest.raises(MemoryGraphError, match="a model's URI is"):
            choose_tools(models=given)


@pytest.mark.slow
def test_without_a_list_the_model_of_the_environment_is_the_only_one(server: Server, model: ScriptedModel) -> None:
    with serving(server, model, MEMORYGRAPH_MODEL="own") as session:
        assert not session.call("run_program", {"program": asking("openai://own")}).is_error
        assert session.call("run_program", {"program": asking("openai://small")}).is_error
    with serving(server, model, MEMORYGRAPH_MODEL="") as session:
        before = len(model.requests)
        for program, language in ((asking("openai://own"), "agentscript"), (routed("own"), "convo")):
            result = session.call("run_program", {"program": program, "language": language})
            assert "model" in text_of(result)
            assert result.is_error
        assert len(model.requests) == before


@pytest.mark.slow
def test_what_the_endpoint_of_embeddings_says_is_not_for_clients(server: Server) -> None:
    with ScriptedModel(embedding_failures=[Failure(400, SAYING)] * 20) as model:
        with serving(server, model, MEMORYGRAPH_EMBEDDING_MODEL="vectors") as session:
            memory = calling('memory M from "neo4j://"', 'M.recall("tea")')
            answers = [session.call("recall", {"query": "tea"}), session.call("run_program", {"program": memory})]
        assert model.requests
    for answer in answers:
        assert answer.is_error
        assert "the model endpoint refused the request" in text_of(answer)
        assert SAYING not in text_of(answer)
