"""Nothing is allowed by default, and a refusal names the option to give."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorygraph import MemoryGraph
from memorygraph.errors import MemoryGraphError
from memorygraph.runtime.models import RunModels
from memorygraph.runtime.paths import inside, within
from memorygraph.runtime.permissions import SCHEMES, Permissions, Refused, address_of
from memorygraph.runtime.tools import open_tool
from memorygraph.scripted.scripted_model import ScriptedModel

API = ("api.example.com", 443)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_scheme_is_allowed_by_default(scheme: str) -> None:
    with pytest.raises(Refused, match=f"--allow-tool {scheme}.*allow_tools=\\[.{scheme}.\\]"):
        Permissions().require(scheme, "the tool `T`", API if scheme.startswith("http") else None)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_allowed_scheme_allows_no_other(scheme: str) -> None:
    allowed = {other for other in SCHEMES if Permissions.of([scheme]).allows(other)}
    assert allowed == ({"http", "https"} if scheme == "http" else {scheme})


@pytest.mark.parametrize(
    ("tools", "hosts", "scheme", "address", "allowed"),
    [
        (["http"], [], "https", API, True),
        (["https"], [], "http", ("a", 80), False),
        ([], ["api.example.com"], "https", API, True),
        ([], ["API.example.com."], "http", ("api.example.com", 8080), True),
        ([], ["api.example.com:443"], "https", API, True),
        ([], ["api.example.com:443"], "https", ("api.example.com", 8443), False),
        ([], ["example.com"], "https", API, False),
        ([], ["evil-api.example.com"], "https", API, False),
        (["http"], ["localhost:8000"], "https", API, False),
        ([], ["[::1]:8000"], "http", ("::1", 8000), True),
        ([], ["127.0.0.1"], "http", ("127.1", 80), False),
        (["mcp"], [], "mcp", API, True),
        ([], ["api.example.com"], "mcp", API, False),
        (["mcp"], ["other.example.com"], "mcp", API, False),
        (["mcp"], ["api.example.com"], "mcp", API, True),
        (["mcp"], ["api.example.com"], "mcp", None, True),
    ],
)
def test_hosts(tools: list[str], hosts: list[str], scheme: str, address: tuple[str, int], allowed: bool) -> None:
    permissions = Permissions.of(tools, hosts)
    if allowed:
        permissions.require(scheme, "the tool `T`", address)
    else:
        with pytest.raises(Refused, match="--allow-"):
            permissions.require(scheme, "the tool `T`", address)


def test_another_host_than_the_listed_ones_is_named_with_them() -> None:
    with pytest.raises(Refused) as refusal:
        Permissions.of([], ["localhost:8000"]).require("https", "the tool `Api`", API)
    assert str(refusal.value) == (
        "the tool `Api` may not reach api.example.com:443, for only localhost:8000 may be reached; "
        'add `--allow-host api.example.com:443` (in Python: allow_hosts=["api.example.com:443"])'
    )


@pytest.mark.parametrize("scheme", ["", "ftp", "SH", "sh://"])
def test_what_is_no_scheme_is_said(scheme: str) -> None:
    with pytest.raises(MemoryGraphError, match="there are file, env, http, https, sh, mcp"):
        Permissions.of([scheme])


@pytest.mark.parametrize(
    "host",
    ["", "*", "http://a", "a/b", "a:b", "a:0", "a:65536", "a b", "u@a", "[::1", "::1", "größe.example", "a:٣", "a\n"],
)
def test_what_is_no_host_is_said(host: str) -> None:
    with pytest.raises(MemoryGraphError, match="HOST:PORT"):
        Permissions.of([], [host])


def test_one_text_is_no_list() -> None:
    with pytest.raises(MemoryGraphError, match="a list"):
        Permissions.of("sh")
    with pytest.raises(MemoryGraphError, match="a list"):
        Permissions.of(allow_models="small")
    with pytest.raises(MemoryGraphError, match="a list"):
        Permissions.of(allow_namespaces="theirs")


@pytest.mark.parametrize(
    ("hosts", "models", "model", "allowed"),
    [
        ([], None, "any", True),
        ([], None, "openai://any", True),
        ([], None, "anthropic://any", True),
        (["localhost"], None, "openai://any", True),
        ([], None, "ollama://localhost:11434/m", False),
        ([], None, "ollama://[::1]:11434/m", False),
        (["localhost:11434"], None, "ollama://localhost:11434/m", True),
        (["localhost:11434"], None, "ollama://LOCALHOST:11434/m", True),
        (["localhost:11434"], None, "ollama://localhost:11435/m", False),
        (["[::1]"], None, "ollama://[::1]:1/m", True),
        ([], [], "any", False),
        ([], ["any"], "any", True),
        ([], ["any"], "openai://any", True),
        ([], ["openai://any"], "any", True),
        ([], ["any"], "anthropic://any", False),
        ([], ["any"], "anyone", False),
        ([], ["any"], "any ", False),
        ([], ["ollama://localhost:1/m"], "ollama://localhost:1/m", True),
        (["localhost"], ["any"], "ollama://localhost:1/m", False),
    ],
)
def test_models(hosts: list[str], models: list[str] | None, model: str, allowed: bool) -> None:
    permissions = Permissions.of([], hosts, models)
    if allowed:
        permissions.require_model(model)
    else:
        with pytest.raises(Refused, match=r"--allow-host (localhost|\[::1\]):\d+`|may not be asked"):
            permissions.require_model(model)


def test_a_program_that_names_no_model_asks_the_first_of_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYGRAPH_MODEL", "of-the-environment")
    assert RunModels(Permissions.of(allow_models=["a", "b"])).find().name == "a"
    assert RunModels(Permissions.of(allow_models=["a", "b"]), "chosen").find().name == "chosen"
    assert RunModels(Permissions()).find().name == "of-the-environment"
    with pytest.raises(Refused, match="no model may be asked"):
        RunModels(Permissions.of(allow_models=[])).find()


ASKING = (
    'import llm M from "ollama://HOST/x" main agent { model M role "r" description "d" '
    'main func() { return generate({ input: "Hi" }) { return { said string } } } }'
)
ROUTED = "@routingModel ollama://HOST/x\n@to b Is it?\n> node s\n> assistant\nS\n> node b\n> nodeEnd\n> goto s"


@pytest.mark.parametrize(("language", "program"), [("agentscript", ASKING), ("convo", ROUTED)])
def test_a_model_at_a_host_that_a_program_names_needs_that_host(
    graph: MemoryGraph, language: str, program: str
) -> None:
    with ScriptedModel('{"said": "x"}' if language == "agentscript" else '{"isTrue": true}') as model:
        host = model.base_url.removeprefix("http://").removesuffix("/v1")
        source = program.replace("HOST", host)
        with pytest.raises(MemoryGraphError, match=f"--allow-host {host}"):
            graph.run(source, language=language)
        with pytest.raises(MemoryGraphError, match=f"for only localhost may be reached.*--allow-host {host}"):
            graph.run(source, language=language, allow_hosts=["localhost"])
        assert model.requests == []
        graph.run(source, language=language, allow_hosts=[host])
        assert len(model.requests) == 1


def test_ports_follow_from_the_scheme() -> None:
    assert [address_of(url)[1] for url in ("http://a", "https://a", "https://a:80")] == [80, 443, 80]


@pytest.mark.parametrize(
    "uri", ["", "sh", "ftp://a", "http://", "http://a:x", "http://a:99999", "http://u:pw@a", "http://a?x=1", "http://a#b",
            "http://a/../b", "http://a/%2e%2e/b", "http://a b", "http://a\r\nX: y", "env://A B", "env://9",
            "sh://echo 'a", "mcp://", "mcp://http://", "mcp://http://u:pw@a/mcp", "javascript:alert(1)", "http://größe.example"]
)  # fmt: skip
def test_a_uri_that_names_no_tool_is_said_without_its_secrets(uri: str, tmp_path: Path) -> None:
    with pytest.raises(MemoryGraphError, match="the tool `T` cannot be at") as failure:
        open_tool("T", uri, tmp_path, Permissions.of(SCHEMES))
    assert "pw" not in str(failure.value)


@pytest.mark.parametrize(
    "uri", ["file://made", "env://", "http://127.0.0.1:1", "https://127.0.0.1:1", "sh://touch made", "sh://",
            "mcp://touch made", "mcp://http://127.0.0.1:1/mcp"]
)  # fmt: skip
def test_a_tool_that_is_not_allowed_is_refused_when_it_is_called(uri: str, tmp_path: Path) -> None:
    tool = open_tool("T", uri, tmp_path, Permissions())
    with pytest.raises(Refused, match="the tool `T`"):
        tool.call("write" if tool.scheme == "file" else "run", ["touch made"])
    tool.close()
    assert list(tmp_path.iterdir()) == []


def test_paths_stay_in_the_folder_of_the_script(tmp_path: Path) -> None:
    folder = tmp_path / "script"
    folder.mkdir()
    (folder / "out").symlink_to(tmp_path)
    (folder / "loop").symlink_to(folder / "loop")
    assert inside(folder, "a/../b.txt", anywhere=False) == folder / "b.txt"
    for path in ("..", "../x", "a/../../x", "out/x", str(tmp_path / "x"), "/etc/passwd", "../script-2/x"):
        with pytest.raises(Refused, match="--allow-tool file"):
            inside(folder, path, anywhere=False)
        assert inside(folder, path, anywhere=True).is_absolute()
    for path in ("a\0b", "loop/x"):
        with pytest.raises(MemoryGraphError):
            inside(folder, path, anywhere=False)


@pytest.mark.parametrize(
    "path", ["", "..", "../x", "a/../x", "/x", "//x", "\\x", "..\\x", "a\\..\\..\\x", "out", "out/x", "a\0", "up/x"]
)
def test_paths_of_a_tool_stay_below_its_folder(path: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to(tmp_path)
    (root / "up").symlink_to("..")
    with pytest.raises(MemoryGraphError):
        within(root, path)
