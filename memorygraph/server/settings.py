"""The settings of the embedded Neo4j: its configuration, the arguments of its JVM, its first password.

The ports of a running or a former server are read back from its configuration file.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from memorygraph.server import browser

HOST = "127.0.0.1"
USERNAME = "neo4j"

# Fit for a laptop. A transaction that outgrows its share fails, with a message, before the JVM does.
SETTINGS = """\
server.default_listen_address=127.0.0.1
server.bolt.listen_address=127.0.0.1:{bolt}
server.bolt.advertised_address=127.0.0.1:{bolt}
# Our clients demand the certificate of the home; Neo4j Browser, a page without TLS, does without.
server.bolt.tls_level=OPTIONAL
dbms.ssl.policy.bolt.enabled=true
dbms.ssl.policy.bolt.client_auth=NONE
server.http.listen_address=127.0.0.1:{http}
server.http.advertised_address=127.0.0.1:{http}
server.http_enabled_modules=TRANSACTIONAL_ENDPOINTS,QUERY_API_ENDPOINTS,BROWSER
server.http.x_forward.enabled=false
dbms.security.http_access_control_allow_origin=http://127.0.0.1:{http}

dbms.security.auth_enabled=true
# Any program, and any page in a browser, can send wrong passwords: they must not lock the owner out. Nobody guesses the
# random one; one that is set instead of it has to be long.
dbms.security.auth_max_failed_attempts=0
dbms.security.auth_minimum_password_length=16
# A read-only session could read local files, and call other machines, through LOAD CSV.
dbms.security.allow_csv_import_from_file_urls=false
internal.dbms.cypher_ip_blocklist=0.0.0.0/0,::/0

dbms.usage_report.enabled=false
client.allow_telemetry=false
dbms.fleet_manager.enabled=false
server.fleet_discovery.enabled=false
db.logs.query.enabled=OFF

server.memory.pagecache.size=128m
db.memory.transaction.max=600m
dbms.memory.transaction.total.max=768m
db.transaction.timeout=30s
db.lock.acquisition.timeout=60s
# A silent connection is dead after twice this time: a server at work sends an empty chunk more often.
server.bolt.connection_keep_alive=10s
db.tx_log.rotation.size=32m
db.tx_log.rotation.retention_policy=1 days 256M

# No query is planned once more for each order of magnitude of each of its texts and lists.
internal.cypher.use_parameter_size=false

# Without this, every stop waits ten seconds for connections that are already closed.
internal.dbms.bolt.netty_server_shutdown_quiet_period_duration=0s
"""

# All compilers of the JVM: with the first alone (-XX:TieredStopAtLevel=1) a start is a tenth shorter, but a server that
# has run for a minute takes up to twice as long to answer.
JVM_FLAGS = (
    "-Xms128m",
    "-Xmx1g",
    "-XX:+UseSerialGC",
    # A JVM out of memory is in an unknown state: it ends, and the next `up` recovers.
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-UsePerfData",
    # Without a message, as compiled code throws them, Neo4j cannot send an error to its client, which waits in vain.
    "-XX:-OmitStackTraceInFastThrow",
    # Neo4j makes a key store in memory for each connection, and its key was derived from an empty password in 10,000
    # steps: that was most of what a connection cost. On the disk no key is kept in a key store.
    "-Dkeystore.pkcs12.keyPbeIterationCount=1",
    "--enable-native-access=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",
)

_READ_BACK = re.compile(
    r"\A# Neo4j (?P<version>\S+)$.*^server\.bolt\.listen_address=\S+:(?P<bolt>\d+)$"
    r".*^server\.http\.listen_address=\S+:(?P<http>\d+)$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where a server listens, and which version it is."""

    bolt: int
    http: int
    version: str

    @property
    def bolt_uri(self) -> str:
        """The address for a driver."""
        return f"bolt://{HOST}:{self.bolt}"

    @property
    def browser_url(self) -> str:
        """The address at which Neo4j Browser opens with this server and its user filled in."""
        return f"http://{HOST}:{self.http}/browser/?dbms=bolt://{USERNAME}@{HOST}:{self.bolt}"

    @classmethod
    def read(cls, configuration: Path) -> Endpoints | None:
        """Read the endpoints back from a configuration file, if it names them."""
        try:
            found = _READ_BACK.search(configuration.read_text("utf-8", "replace"))
        except FileNotFoundError:
            return None
        return cls(int(found["bolt"]), int(found["http"]), found["version"]) if found else None

    def configuration(self) -> str:
        """Write `neo4j.conf`."""
        settings = SETTINGS.format(bolt=self.bolt, http=self.http)
        settings += f"\nbrowser.post_connect_cmd={browser.connect_commands()}\n"
        return f"# Neo4j {self.version}\n# Written anew by `memorygraph up`: changes are lost.\n{settings}"


def has_certificate(configuration: Path) -> bool:
    """Tell whether a server with this configuration has a certificate, and can prove itself."""
    try:
        return "\nserver.bolt.tls_level=" in configuration.read_text("utf-8", "replace")
    except FileNotFoundError:
        return False


def jvm_arguments(class_path: Iterable[Path], logs: Path, more: Iterable[str] = ()) -> str:
    """Format the file of JVM arguments: the class path alone is too long for some command lines."""
    paths = os.pathsep.join(map(str, class_path))
    arguments = [*JVM_FLAGS, *more, f"-XX:ErrorFile={logs / 'crash.log'}", "-cp", paths]
    escaped = (argument.replace("\\", "\\\\").replace('"', '\\"') for argument in arguments)
    return "".join(f'"{argument}"\n' for argument in escaped)


def first_password_record(password: str) -> str:
    """Format what `neo4j-admin dbms set-initial-password` leaves for the first start, without its JVM."""
    salt = secrets.token_bytes(32)
    digest = hashlib.sha256(salt + password.encode()).digest()
    for _ in range(1023):
        digest = hashlib.sha256(digest).digest()
    return f"{USERNAME}:SHA-256,{digest.hex()},{salt.hex()},1024:\n"
