"""How the image of Neo4j understands its environment, which is as Neo4j's own image does."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docker.engine import REPOSITORY

PASSWORD = "long-enough"


def _load() -> Any:
    spec = importlib.util.spec_from_file_location(
        "docker_entrypoint", REPOSITORY / "docker" / "neo4j" / "entrypoint.py"
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


entrypoint = _load()


def _settings(**environment: str) -> Any:
    return entrypoint.Configuration.of(environment).settings


@pytest.mark.parametrize(
    ("variable", "setting"),
    [
        ("NEO4J_server_memory_heap_max__size", "server.memory.heap.max_size"),
        ("NEO4J_db_transaction_timeout", "db.transaction.timeout"),
        ("NEO4J_dbms_security_allow__csv__import__from__file__urls", "dbms.security.allow_csv_import_from_file_urls"),
    ],
)
def test_one_underscore_is_a_dot_and_two_are_one(variable: str, setting: str) -> None:
    assert _settings(**{variable: "a value"})[setting] == "a value"


def test_a_variable_comes_before_the_image_and_the_image_before_the_embedded_server() -> None:
    assert _settings()["server.default_listen_address"] == "0.0.0.0"
    assert _settings()["internal.dbms.cypher_ip_blocklist"] == "0.0.0.0/0,::/0"
    told = _settings(NEO4J_server_default__listen__address="::")
    assert told["server.default_listen_address"] == "::"
    assert "127.0.0.1" not in entrypoint.Configuration.of({}).neo4j_conf()


@pytest.mark.parametrize("name", ["NEO4J_EDITION", "NEO4J_PLUGINS", "NEO4J_PORT_7687_TCP", "NEO4J_", "PATH"])
def test_other_variables_are_no_settings(name: str) -> None:
    assert _settings(**{name: "x"}) == _settings()


def test_the_heap_and_more_options_go_to_the_jvm() -> None:
    told = {
        "NEO4J_server_memory_heap_initial__size": "300m",
        "NEO4J_server_memory_heap_max__size": "2g",
        "NEO4J_server_jvm_additional": "-Da=b -Dc=d",
    }
    configuration = entrypoint.Configuration.of(told)
    assert configuration.jvm_options()[-4:] == ["-Xms300m", "-Xmx2g", "-Da=b", "-Dc=d"]
    assert "server.jvm.additional" not in configuration.neo4j_conf()


def test_the_first_password_is_recorded_as_a_hash_that_it_answers() -> None:
    record = entrypoint.Configuration.of({"NEO4J_AUTH": f"neo4j/{PASSWORD}/with/slashes"}).first_password
    user, credential, flags = record.rstrip("\n").split(":")
    _, digest, salt, rounds = credential.split(",")
    expected = bytes.fromhex(salt) + f"{PASSWORD}/with/slashes".encode()
    for _ in range(int(rounds)):
        expected = hashlib.sha256(expected).digest()
    assert (user, digest, flags) == ("neo4j", expected.hex(), "")


def test_a_password_can_be_one_that_has_to_be_changed() -> None:
    record = entrypoint.Configuration.of({"NEO4J_AUTH": f"neo4j/{PASSWORD}/true"}).first_password
    assert record.endswith(":password_change_required\n")


def test_none_switches_logins_off_and_no_value_leaves_them_to_neo4j() -> None:
    assert _settings(NEO4J_AUTH="none")["dbms.security.auth_enabled"] == "false"
    assert entrypoint.Configuration.of({"NEO4J_AUTH": "none"}).first_password is None
    assert _settings()["dbms.security.auth_enabled"] == "true"
    assert entrypoint.Configuration.of({}).first_password is None


@pytest.mark.parametrize(
    ("login", "message"),
    [
        ("neo4j", "neo4j/PASSWORD"),
        ("neo4j/", "neo4j/PASSWORD"),
        ("ada/long-enough", "neo4j/PASSWORD"),
        ("neo4j/neo4j", "cannot be neo4j"),
        ("neo4j/short", "8 characters"),
        ("neo4j/short/true", "8 characters"),
    ],
)
def test_a_login_that_neo4j_would_not_take_is_refused_before_the_start(login: str, message: str) -> None:
    with pytest.raises(entrypoint.RefusedError, match=message):
        entrypoint.Configuration.of({"NEO4J_AUTH": login})


def test_the_least_length_of_a_password_can_be_set() -> None:
    told = {"NEO4J_AUTH": "neo4j/abc", "NEO4J_dbms_security_auth__minimum__password__length": "3"}
    assert entrypoint.Configuration.of(told).first_password
    told["NEO4J_dbms_security_auth__minimum__password__length"] = "three"
    with pytest.raises(entrypoint.RefusedError, match="minimum_password_length is no number: three"):
        entrypoint.Configuration.of(told)


def test_a_value_can_stand_in_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("none\n", "utf-8")
    assert _settings(NEO4J_AUTH_FILE=str(secret))["dbms.security.auth_enabled"] == "false"
    secret.write_text("none\n", "utf-8-sig")
    assert _settings(NEO4J_AUTH_FILE=str(secret))["dbms.security.auth_enabled"] == "false"
    secret.write_text(f"neo4j/pässword-{PASSWORD}", "latin-1")
    with pytest.raises(entrypoint.RefusedError, match=r"NEO4J_AUTH_FILE: .*secret is not UTF-8"):
        _settings(NEO4J_AUTH_FILE=str(secret))
    with pytest.raises(entrypoint.RefusedError, match="both"):
        _settings(NEO4J_AUTH_FILE=str(secret), NEO4J_AUTH="none")
    with pytest.raises(entrypoint.RefusedError, match="NEO4J_AUTH_FILE: cannot read"):
        _settings(NEO4J_AUTH_FILE=str(tmp_path / "absent"))


def test_a_password_is_written_before_the_first_start_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entrypoint, "DATA", tmp_path / "data")
    monkeypatch.setattr(entrypoint.tempfile, "gettempdir", lambda: str(tmp_path))
    configuration = entrypoint.Configuration.of({"NEO4J_AUTH": f"neo4j/{PASSWORD}"})
    record = tmp_path / "data" / "dbms" / "auth.ini"
    folder = entrypoint._prepare(configuration)
    assert record.read_text("utf-8") == configuration.first_password
    assert record.stat().st_mode & 0o077 == 0
    assert (folder / "neo4j.conf").stat().st_mode & 0o077 == 0
    record.unlink()
    (tmp_path / "data" / "databases" / "system").mkdir(parents=True)
    entrypoint._prepare(configuration)
    assert not record.exists()


def test_any_other_command_is_run_as_it_is() -> None:
    assert entrypoint._command(["ls", "-l"]) == ["ls", "-l"]
