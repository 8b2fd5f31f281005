"""Fetches pinned files: in threads, with retries, and verified before they are kept.

jgo knows where the files are published, and the section `[repositories]` of its settings file can name a mirror. It
would fetch each file by a connection of its own, and a checksum by another: the handshakes take longer than the files.
So each thread here has one connection for all of its files. Each attempt has a staging folder of its own, and only a
file with the pinned size and sha256 moves, in one step, into the folder of the class path.
"""

from __future__ import annotations

import configparser
import errno
import hashlib
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

import requests
from jgo.config import GlobalSettings
from jgo.maven import MavenContext
from requests.adapters import HTTPAdapter
from urllib3 import Retry

from memorygraph.errors import DownloadError
from memorygraph.home import flush_folder
from memorygraph.server.artifacts import Artifact, DownloadProgress

CONNECTIONS = 12
BLOCK_BYTES = 1 << 16
MAX_REFUSED_TIMES = 3  # where a repository has too many requests: it says how long to wait
TOO_MANY_REQUESTS = 429
PAUSES_BEFORE_ATTEMPTS_S = (0.0, 0.5, 2.0, 6.0)
LOCAL_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EMFILE})
NEXT_STEP = (
    "What has arrived is kept: check the network and run `memorygraph up` again. "
    "Behind a mirror, name it under [repositories] in the settings file of jgo (~/.config/jgo.conf)."
)

CERTIFICATE_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")  # as requests reads them, the first first
CERTIFICATE_STEP = (
    "In a network that opens TLS with a certificate of its own, let REQUESTS_CA_BUNDLE name the file (PEM) that holds "
    "it, such as /etc/ssl/certs/ca-certificates.crt where the system trusts it; HTTPS_PROXY names a proxy. "
    "SSL_CERT_FILE is not read here."
)


def download(wanted: list[Artifact], folder: Path, progress: DownloadProgress | None, read_timeout_s: int) -> None:
    """Fetch artifacts into a folder; the caller makes sure that only one process does so at a time."""
    staging = folder.with_name(f"{folder.name}.staging")
    # Left by a process that was killed.
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(mode=0o700)
    needed, free = sum(artifact.size for artifact in wanted), shutil.disk_usage(folder).free
    try:
        if free < needed:
            raise OSError(errno.ENOSPC, f"{needed // 2**20} MB are needed and {free // 2**20} MB are free")
        if progress:
            progress.total(needed)
        source = ArtifactSource(folder, staging, repositories(), progress, read_timeout_s)
        largest_first = sorted(wanted, key=lambda artifact: artifact.size, reverse=True)  # none begins at the very end
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            try:
                for future in as_completed([pool.submit(source.fetch, artifact) for artifact in largest_first]):
                    future.result()
            except BaseException:
                # At the first failure, and at Ctrl-C, the other threads stop at once.
                source.stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            finally:
                source.close()
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    flush_folder(folder)


def certificate_advice(error: OSError) -> str:
    """Say what to do where a failure is one of certificates, which no other attempt can mend; else nothing.

    Files are fetched with requests, which reads these variables, and not SSL_CERT_FILE.
    """
    given = next(((name, os.environ[name]) for name in CERTIFICATE_VARIABLES if os.environ.get(name)), None)
    # requests checks the file of the variable itself, and raises an OSError without a number.
    if given and not Path(given[1]).exists():
        return f"{given[0]} names {given[1]}, which is not there. {CERTIFICATE_STEP}"
    if "CERTIFICATE_VERIFY_FAILED" not in str(error):  # OpenSSL's own word, which every wrapper repeats
        return ""
    trusted = f"one of those that {given[0]} names" if given else "the certificates that come with Python's requests"
    return (
        f"the certificate of the server, or of a proxy on the way, is not signed by {trusted}. {CERTIFICATE_STEP} "
        f"{NEXT_STEP}"
    )


def socks_advice(error: OSError) -> str:
    """Say what to do where requests lacks the package for a SOCKS proxy of the environment; else nothing."""
    if "dependencies for SOCKS" not in str(error):
        return ""
    return (
        "a variable such as ALL_PROXY or HTTPS_PROXY names a SOCKS proxy, for which Python's requests needs another "
        f"package: `pip install pysocks`, or name an HTTP proxy. {NEXT_STEP}"
    )


def repositories() -> dict[str, str]:
    """Return where to look, by name: the repositories of the user's settings of jgo, then jgo's own default."""
    try:
        named = GlobalSettings.load().repositories
    except configparser.Error as error:
        raise DownloadError(f"the settings file of jgo is malformed: {error}. Correct it and try again.") from error
    return named | {name: url for name, url in MavenContext().remote_repos.items() if name not in named}


def open_session() -> requests.Session:
    """Open a session, whose connection serves one file after the other."""
    session = requests.Session()
    waits = Retry(MAX_REFUSED_TIMES, connect=0, read=0, other=0, status_forcelist=[TOO_MANY_REQUESTS])
    session.mount("https://", HTTPAdapter(pool_maxsize=1, max_retries=waits))
    session.mount("http://", HTTPAdapter(pool_maxsize=1, max_retries=waits))
    return session


class _FailedAttemptError(Exception):
    """An attempt to download a file has failed; another may succeed."""


@dataclass(frozen=True)
class ArtifactSource:
    """The repositories, the folder that they fill, and the bytes that its threads receive."""

    folder: Path
    staging: Path
    repositories: dict[str, str]
    progress: DownloadProgress | None
    read_timeout_s: int
    stopped: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    sessions: dict[int, requests.Session] = field(default_factory=dict)  # by thread

    def session(self) -> requests.Session:
        """The session of this thread."""
        thread = threading.get_ident()
        if thread not in self.sessions:
            self.sessions[thread] = open_session()
        return self.sessions[thread]

    def close(self) -> None:
        """Close the connections."""
        for session in list(self.sessions.values()):
            session.close()

    def fetch(self, artifact: Artifact) -> None:
        """Fetch one file into the folder, from the first repository that gives it, in a few attempts."""
        failures: dict[str, _FailedAttemptError] = {}
        for pause in PAUSES_BEFORE_ATTEMPTS_S:
            if self.stopped.wait(pause):
                break
            for name, url in self.repositories.items():
                if self.stopped.is_set():
                    break
                try:
                    return self.fetch_once(artifact, f"{url.rstrip('/')}/{artifact.place}")
                except _FailedAttemptError as error:
                    failures[name] = error
        said = "; ".join(f"{name}: {failure}" for name, failure in failures.items())
        raise DownloadError(f"cannot download {artifact.coordinate}: {said or 'it was stopped'}. {NEXT_STEP}")

    def fetch_once(self, artifact: Artifact, address: str) -> None:
        """Fetch one file into a folder of its own, verify it, and move it into place."""
        received = 0

        def count_block(n: int) -> None:
            nonlocal received
            if self.stopped.is_set():
                raise _FailedAttemptError("it was stopped")
            received += n
            self.count(n)
            if received > artifact.size:
                raise _FailedAttemptError("what arrives is longer than the pinned file")

        with tempfile.TemporaryDirectory(dir=self.staging) as empty_folder:
            try:
                path = self.receive(artifact, address, Path(empty_folder), count_block)
            except BaseException:
                self.count(-received)
                raise
            with path.open("rb+") as file:
                os.fsync(file.fileno())
            path.replace(self.folder / artifact.file_name)
            self.count(artifact.size - received)

    def count(self, n: int) -> None:
        """Count bytes that have arrived in any thread."""
        if self.progress and n:
            with self.lock:
                self.progress.advance(n)

    def receive(self, artifact: Artifact, address: str, folder: Path, count_block: Callable[[int], None]) -> Path:
        """Fetch a file from an address, and verify it as it arrives.

        Errors of this machine are not worth another attempt.
        """
        path = folder / artifact.file_name
        try:
            arrived = self.receive_from(address, path, count_block)
        except OSError as error:
            if error.errno in LOCAL_ERRORS:
                raise
            if advice := certificate_advice(error) or socks_advice(error):
                raise DownloadError(f"cannot download {artifact.coordinate}: {advice}") from error
            # The text of a network error is a chain of object names; its kind says enough.
            raise _FailedAttemptError(f"the connection failed ({type(error).__name__})") from error
        except ValueError as error:  # an address that is none
            raise _FailedAttemptError(f"the address is wrong ({error})") from error
        if arrived != artifact.sha256:
            raise _FailedAttemptError("what arrived is not the pinned file")
        return path

    def receive_from(self, address: str, path: Path, count_block: Callable[[int], None]) -> str:
        """Fetch a file from an address, and return the hash of what arrived."""
        arrived = hashlib.sha256()
        with self.session().get(address, stream=True, timeout=self.read_timeout_s) as answer:
            if answer.status_code != requests.codes.ok:
                raise _FailedAttemptError(f"it answered {answer.status_code}")
            with path.open("wb") as file:
                for block in answer.iter_content(BLOCK_BYTES):
                    file.write(block)
                    arrived.update(block)
                    count_block(len(block))
        return arrived.hexdigest()
