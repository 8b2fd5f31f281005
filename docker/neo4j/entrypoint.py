"""Runs Neo4j in its container, by the conventions of Neo4j's own image.

    NEO4J_AUTH=neo4j/PASSWORD           the first password; neo4j/PASSWORD/true has it changed at the first login;
                                        none switches logins off
    NEO4J_server_memory_heap_max__size  the setting server.memory.heap.max_size: `_` stands for a dot, `__` for `_`
    NEO4J_…_FILE                        the value of NEO4J_… stands in this file, such as a secret

The server is the embedded one of memorygraph, with its settings, but for those of `IN_A_CONTAINER`, and its log goes
to the console too. It takes the place of this process, so that the signal of `docker stop` reaches it.
`neo4j-admin …` runs that program on the data of the stopped server; any other command is run as it is.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memorygraph.server.artifacts import read_lock
from memorygraph.server.java import java_executable
from memorygraph.server.process import DEFAULT_BOLT_PORT, DEFAULT_HTTP_PORT, MAIN_CLASS
from memorygraph.server.settings import USERNAME, Endpoints, first_password_record, jvm_arguments

ADMIN_CLASS = "org.neo4j.server.startup.Neo4jAdminCommand"
HOME = Path("/var/lib/neo4j")
LIBRARIES = Path("/opt/neo4j/lib")
AOT_CACHE = Path("/opt/neo4j/classes.aot")
DATA = Path("/data")
LOGS = Path("/logs")

IN_A_CONTAINER = {
    # Who reaches it is decided by the ports that the container publishes.
    "server.default_listen_address": "0.0.0.0",  # noqa: S104
    "server.bolt.listen_address": f":{DEFAULT_BOLT_PORT}",
    "server.bolt.advertised_address": f":{DEFAULT_BOLT_PORT}",
    "server.http.listen_address": f":{DEFAULT_HTTP_PORT}",
    "server.http.advertised_address": f":{DEFAULT_HTTP_PORT}",
    # The certificate of the embedded server belongs to a home; an image's own is set like every other setting.
    "server.bolt.tls_level": "DISABLED",
    "dbms.ssl.policy.bolt.enabled": "false",
    # Its password is chosen by somebody, and can be short: Neo4j's own limits.
    "dbms.security.auth_max_failed_attempts": "3",
    "dbms.security.auth_minimum_password_length": "8",
    "dbms.security.http_access_control_allow_origin": f"http://localhost:{DEFAULT_HTTP_PORT}",
    "server.directories.data": str(DATA),
    "server.directories.logs": str(LOGS),
}
MINIMUM_LENGTH = "dbms.security.auth_minimum_password_length"
HEAP_OPTIONS = {"server.memory.heap.initial_size": "-Xms", "server.memory.heap.max_size": "-Xmx"}
JVM_ADDITIONAL = "server.jvm.additional"


class RefusedError(Exception):
    """What the container was started with is wrong; the message says how to put it right."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the environment asks for: Neo4j's settings, and the record of its first password if one is given."""

    settings: Mapping[str, str]
    first_password: str | None

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Configuration:
        """Read the environment.

        Raises:
            RefusedError: a value cannot be used.
        """
        values = dict(_values(environment))
        settings = {**_settings_of_the_embedded_server(), **IN_A_CONTAINER}
        settings |= {
            setting_name(name): value for name, value in values.items() if name.removeprefix("NEO4J_")[:1].islower()
        }
        login = values.get("NEO4J_AUTH", "")
        if login == "none":
            settings["dbms.security.auth_enabled"] = "false"
            login = ""
        return cls(settings, _password_record(login, settings[MINIMUM_LENGTH]) if login else None)

    def neo4j_conf(self) -> str:
        """Write `neo4j.conf`; what is for the JVM is given to it as options."""
        kept = {name: value for name, value in self.settings.items() if name != JVM_ADDITIONAL}
        return "".join(f"{name}={value}\n" for name, value in kept.items())

    def jvm_options(self) -> list[str]:
        """Give the JVM options that the settings ask for, and the cache that makes the start quicker."""
        cache = ["-Xshare:auto", f"-XX:SharedArchiveFile={AOT_CACHE}"] if AOT_CACHE.exists() else []
        heap = [option + self.settings[name] for name, option in HEAP_OPTIONS.items() if name in self.settings]
        return [*cache, *heap, *self.settings.get(JVM_ADDITIONAL, "").split()]


def setting_name(variable: str) -> str:
    """Give the setting that a variable stands for."""
    return variable.removeprefix("NEO4J_").replace("_", ".").replace("..", "_")


def _values(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in environment.items():
        if not name.startswith("NEO4J_"):
            continue
        if not name.endswith("_FILE"):
            yield name, value
        elif (named := name.removesuffix("_FILE")) in environment:
            raise RefusedError(f"both {named} and {name} are set: give one of them")
        else:
            try:
                yield named, Path(value).read_text("utf-8-sig").strip()
            except OSError as error:
                raise RefusedError(f"{name}: cannot read {value}: {error.strerror}") from error
            except UnicodeDecodeError as error:
                raise RefusedError(f"{name}: {value} is not UTF-8: write it anew in that encoding") from error


def _settings_of_the_embedded_server() -> dict[str, str]:
    text = Endpoints(DEFAULT_BOLT_PORT, DEFAULT_HTTP_PORT, read_lock().version).configuration()
    lines = [line.partition("=") for line in text.splitlines() if line and not line.startswith("#")]
    return {name: value for name, _, value in lines}


def _password_record(login: str, minimum_length: str) -> str:
    user, _, password = login.partition("/")
    if user != USERNAME or not password:
        raise RefusedError(f"NEO4J_AUTH is none or {USERNAME}/PASSWORD")
    password, is_to_change = password.removesuffix("/true"), password.endswith("/true")
    if password == USERNAME:
        raise RefusedError(f"NEO4J_AUTH: the password cannot be {USERNAME}, which is the default one")
    if not minimum_length.isdecimal():
        raise RefusedError(f"{MINIMUM_LENGTH} is no number: {minimum_length}")
    if len(password) < int(minimum_length):
        raise RefusedError(f"NEO4J_AUTH: the password needs {minimum_length} characters or more")
    record = first_password_record(password)
    return f"{record.rstrip()}password_change_required\n" if is_to_change else record


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(text, "utf-8")


def _prepare(configuration: Configuration) -> Path:
    """Write the files that Neo4j starts with, and return their folder; a password only before the first start."""
    folder = Path(tempfile.gettempdir()) / f"neo4j-of-user-{os.getuid()}"
    class_path = read_lock().class_path(LIBRARIES)
    _write(folder / "neo4j.conf", configuration.neo4j_conf())
    _write(folder / "jvm.args", jvm_arguments(class_path, LOGS, configuration.jvm_options()))
    if configuration.first_password and not (DATA / "databases" / "system").exists():
        _write(DATA / "dbms" / "auth.ini", configuration.first_password)
    return folder


def _command(arguments: Sequence[str]) -> list[str]:
    """Give what is to run: Neo4j, its program for administration, or a command of the user's."""
    if arguments and arguments[0] not in {"neo4j", "neo4j-admin"}:
        return list(arguments)
    folder = _prepare(Configuration.of(os.environ))
    java = [str(java_executable()), f"@{folder / 'jvm.args'}"]
    if arguments and arguments[0] == "neo4j-admin":
        os.environ |= {"NEO4J_HOME": str(HOME), "NEO4J_CONF": str(folder)}
        return [*java, ADMIN_CLASS, *arguments[1:]]
    return [*java, MAIN_CLASS, f"--home-dir={HOME}", f"--config-dir={folder}", "--console-mode"]


def main(arguments: Sequence[str]) -> None:
    """Become what is to run."""
    try:
        command = _command(arguments)
        os.environ.pop("NEO4J_AUTH", None)
        os.execvp(command[0], command)  # noqa: S606 - the user's own command
    except RefusedError as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(
            f"cannot use {error.filename}: {error.strerror}. Set the rights of what is mounted, or run with --user."
        )


if __name__ == "__main__":
    main(sys.argv[1:])
