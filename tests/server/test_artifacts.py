"""Whatever happens to a download, only pinned files reach the class path, and a rerun heals."""

from __future__ import annotations

import errno
import gc
import hashlib
import os
import random
import shutil
import ssl
import threading
import time
import zipfile
from collections import defaultdict
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NoReturn

import pytest
import requests

from memorygraph.errors import DownloadError
from memorygraph.server import downloads
from memorygraph.server.artifacts import Lock, not_genuine, read_lock
from memorygraph.server.certificate import make_certificate
from memorygraph.server.installation import install
from memorygraph.server.pin_artifacts import NOT_USED
from tests.examples import amount

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

# jgo leaves the connections of refused and broken answers to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

KILLS = amount(ordinary=3, whole=3, long=20)

INSTALL = """
import sys
from pathlib import Path
from memorygraph.server.artifacts import read_lock
from memorygraph.server.installation import install
print(len(install(Path(sys.argv[1]), lock=read_lock(Path(sys.argv[2])))))
"""


class Repository:
    """A package server whose faults a test chooses: each request of a file uses up one of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.contents = {f"jar-{n}": os.urandom(300_000 + n) for n in range(5)}
        self.faults: defaultdict[str, list[str]] = defaultdict(list)
        self.requests: list[str] = []
        self.released = threading.Event()
        self.meanwhile: Callable[[], object] = lambda: None
        self.lock_file = folder / "tiny.lock"
        lines = [f"t:{name}:1 {hashlib.sha256(c).hexdigest()} {len(c)}" for name, c in self.contents.items()]
        self.lock_file.write_text("\n".join(["neo4j 0", *lines]), "utf-8")

    @property
    def lock(self) -> Lock:
        return read_lock(self.lock_file)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        name = handler.path.split("/")[-3]
        self.requests.append(name)
        fault = self.faults[name].pop(0) if self.faults[name] else "none"
        content = self.contents[name]
        self.meanwhile()
        if fault == "flip":
            content = content[:-1] + bytes([content[-1] ^ 1])
        if fault == "longer":
            content += content
        handler.send_response({"404": 404, "500": 500}.get(fault, 200))
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        if fault in ("truncate", "stall", "hang"):
            handler.wfile.write(content[: len(content) // 2])
            handler.wfile.flush()
            if fault != "truncate":
                self.released.wait(30)
            return
        handler.wfile.write(content)


@contextmanager
def serve(served: Repository, monkeypatch: pytest.MonkeyPatch, tls: ssl.SSLContext | None = None) -> Iterator[None]:
    """Serve a repository, over TLS where it has a certificate, and tell jgo to use it by its own settings file."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.endswith(".sha1"):
                self.send_error(404)
            else:
                served.answer(self)

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    if tls is not None:
        http.socket = tls.wrap_socket(http.socket, server_side=True)
    threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True).start()
    settings = served.folder / "jgo.conf"
    scheme = "http" if tls is None else "https"
    settings.write_text(f"[repositories]\ncentral = {scheme}://127.0.0.1:{http.server_port}\n", "utf-8")
    monkeypatch.setenv("JGO_CONFIG_FILE", str(settings))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield
    served.released.set()
    http.shutdown()
    http.server_close()
    gc.collect()  # while the warnings about jgo's connections are still ignored


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    """A package server."""
    served = Repository(tmp_path)
    with serve(served, monkeypatch):
        yield served


class Counter:
    def __init__(self) -> None:
        self.expected = self.received = 0

    def total(self, n: int) -> None:
        self.expected += n

    def advance(self, n: int) -> None:
        self.received += n


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "neo4j"


@pytest.fixture
def few_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "PAUSES_BEFORE_ATTEMPTS_S", (0.0, 0.01, 0.01))


def only_genuine_files_in(folder: Path, lock: Lock, strangers: Collection[str] = ()) -> bool:
    pins = {artifact.file_name: artifact.sha256 for artifact in lock.artifacts}
    files = [path for path in folder.rglob("*") if path.is_file()] if folder.exists() else []
    return all(
        pins.get(path.name) == hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.name not in strangers
    )


def test_the_lock_pins_neo4j_and_its_browser() -> None:
    lock = read_lock()
    names = {(artifact.name, artifact.version) for artifact in lock.artifacts}
    assert {("neo4j", lock.version), ("neo4j-browser", "5.24.0")} <= names
    assert len({artifact.file_name for artifact in lock.artifacts}) == len(lock.artifacts)
    assert [a.coordinate for a in lock.artifacts] == sorted(a.coordinate for a in lock.artifacts)
    assert all(len(artifact.sha256) == 64 and artifact.size > 0 for artifact in lock.artifacts)


def test_the_lock_pins_nothing_that_is_left_out() -> None:
    assert NOT_USED.isdisjoint(f"{artifact.group}:{artifact.name}" for artifact in read_lock().artifacts)


def test_every_jar_is_kept_as_its_publisher_signed_it(artifacts: Path) -> None:
    signed = set()
    for path in install(artifacts):
        with zipfile.ZipFile(path) as jar:
            if any(name.upper().endswith((".RSA", ".DSA", ".EC")) for name in jar.namelist()):
                signed.add(path.name.rpartition("-")[0])
    assert {"eclipse-collections", "eclipse-collections-api"} <= signed
    assert not list(artifacts.glob("*-unsigned.jar"))


@pytest.mark.slow
@pytest.mark.usefixtures("few_pauses")
def test_the_rewritten_jars_of_an_earlier_version_give_way_to_the_genuine_ones(
    repository: Repository, folder: Path
) -> None:
    install(folder, lock=repository.lock)
    genuine, rewritten = folder / "jar-4-1.jar", folder / "jar-4-1-unsigned.jar"
    genuine.rename(rewritten)
    (folder / "a-stranger-unsigned.jar").write_bytes(b"PK")
    repository.faults["jar-4"] = ["404"] * len(downloads.PAUSES_BEFORE_ATTEMPTS_S)
    with pytest.raises(DownloadError):
        install(folder, lock=repository.lock)
    assert rewritten.exists(), "the earlier version can still start with it"

    class_path = install(folder, lock=repository.lock)

    assert class_path[4] == genuine
    assert sorted(path.name for path in folder.glob("*unsigned*")) == ["a-stranger-unsigned.jar"]
    assert only_genuine_files_in(folder, repository.lock, strangers={"a-stranger-unsigned.jar"})
    rewritten.write_bytes(b"")  # as when the process was killed before it had removed it
    install(folder, lock=repository.lock)
    assert not rewritten.exists()


def test_installs_in_the_order_of_the_lock_and_counts_every_byte(repository: Repository, folder: Path) -> None:
    counter = Counter()
    class_path = install(folder, counter, lock=repository.lock)
    assert [path.name for path in class_path] == [f"jar-{n}-1.jar" for n in range(5)]
    assert counter.received == counter.expected == sum(map(len, repository.contents.values()))
    assert only_genuine_files_in(folder, repository.lock)
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == ["neo4j"]

    repository.requests.clear()
    assert install(folder, counter, lock=repository.lock) == class_path
    assert repository.requests == []


@pytest.mark.slow
@pytest.mark.usefixtures("few_pauses")
@pytest.mark.parametrize("fault", ["flip", "truncate", "longer", "404", "500", "stall"])
def test_one_fault_is_overcome_and_a_lasting_one_is_named(repository: Repository, folder: Path, fault: str) -> None:
    counter = Counter()
    repository.faults["jar-1"] = [fault]
    install(folder, counter, lock=repository.lock, read_timeout_s=1)
    assert counter.received == counter.expected
    assert only_genuine_files_in(folder, repository.lock)

    (folder / "jar-3-1.jar").unlink()
    repository.faults["jar-3"] = [fault] * 3
    with pytest.raises(DownloadError, match=r"t:jar-3:1.*memorygraph up"):
        install(folder, lock=repository.lock, read_timeout_s=1)
    assert only_genuine_files_in(folder, repository.lock)
    assert [artifact.name for artifact in not_genuine(folder, repository.lock)] == ["jar-3"]

    assert len(install(folder, lock=repository.lock)) == 5


@pytest.mark.usefixtures("few_pauses")
@pytest.mark.parametrize("fault", ["flip", "longer", "404", "refused"])
def test_where_the_first_repository_fails_the_next_is_asked(
    repository: Repository, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    found = downloads.repositories()
    with ExitStack() as serving:
        if fault == "refused":
            first = {"mirror": "http://127.0.0.1:1"}
        else:
            (tmp_path / "mirror").mkdir()
            mirror = Repository(tmp_path / "mirror")
            mirror.faults.update({name: [fault] * 9 for name in mirror.contents})
            serving.enter_context(serve(mirror, monkeypatch))
            first = {"mirror": downloads.repositories()["central"]}
        monkeypatch.setattr(downloads, "repositories", lambda: first | found)
        counter = Counter()
        assert len(install(folder, counter, lock=repository.lock)) == 5
    assert counter.received == counter.expected
    assert only_genuine_files_in(folder, repository.lock)


def test_files_altered_later_are_replaced_and_strangers_stay_off_the_class_path(
    repository: Repository, folder: Path
) -> None:
    install(folder, lock=repository.lock)
    altered = folder / "jar-2-1.jar"
    altered.write_bytes(b"x" + altered.read_bytes()[1:])
    (folder / "jar-4-1.jar").write_bytes(b"")
    (folder / "a-stranger.jar").write_bytes(b"PK")
    repository.requests.clear()

    class_path = install(folder, lock=repository.lock)

    assert sorted(repository.requests) == ["jar-2", "jar-4"]
    assert "a-stranger.jar" not in {path.name for path in class_path}
    assert not not_genuine(folder, repository.lock)


def test_a_killed_installer_leaves_nothing_unverified_and_the_next_heals(
    repository: Repository, folder: Path, run_python: Callable[..., subprocess.Popen[str]]
) -> None:
    repository.faults["jar-0"] = ["hang"]
    installer = run_python(INSTALL, folder, repository.lock_file)
    staging = folder.with_name("neo4j.staging")
    until = time.monotonic() + 30
    while len(list(folder.glob("*.jar"))) < 4 or not _is_under_way(staging):
        assert time.monotonic() < until
        time.sleep(0.02)
    installer.kill()
    installer.wait()

    assert any(staging.rglob("jar-0*.jar")), "a part of a file was left behind"
    assert only_genuine_files_in(folder, repository.lock)
    assert len(install(folder, lock=repository.lock)) == 5
    assert only_genuine_files_in(folder, repository.lock)
    assert not staging.exists()


def _is_under_way(staging: Path) -> bool:
    """Whether a file is being downloaded; folders may go while they are looked through, which `rglob` takes ill."""
    return any(name.endswith(".jar") for _, _, names in os.walk(staging) for name in names)


@pytest.mark.timeout(600)
@pytest.mark.slow
def test_installers_killed_at_any_moment_while_others_wait_never_leave_anything_unverified(
    repository: Repository, folder: Path, run_python: Callable[..., subprocess.Popen[str]]
) -> None:
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    repository.meanwhile = lambda: time.sleep(0.03)
    for _ in range(KILLS):
        shutil.rmtree(folder, ignore_errors=True)
        repository.requests.clear()
        installers = [run_python(INSTALL, folder, repository.lock_file) for _ in range(3)]
        while not repository.requests:
            assert any(installer.poll() is None for installer in installers)
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.15))
        installers[0].kill()
        assert only_genuine_files_in(folder, repository.lock), f"seed {seed}"
        assert [one.communicate(timeout=60)[0] for one in installers[1:]] == ["5\n"] * 2, f"seed {seed}"
        assert not not_genuine(folder, repository.lock)
    print(f"{KILLS} kills, seed {seed}")


def test_a_folder_that_cannot_be_written_needs_rights_and_no_room(
    repository: Repository, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **options: object) -> NoReturn:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    with pytest.raises(DownloadError, match=r"Read-only file system\. Set its rights, or give another folder"):
        install(folder, lock=repository.lock)


def test_a_disk_that_fills_up_meanwhile_is_named_and_a_rerun_heals(repository: Repository, small_disk: Path) -> None:
    folder, ballast = small_disk / "neo4j", small_disk / "ballast"

    def fill() -> None:
        with suppress(OSError), ballast.open("ab") as file:
            file.write(bytes(2**21))

    repository.meanwhile = fill
    with pytest.raises(DownloadError, match=r"No space left.*Make room"):
        install(folder, lock=repository.lock)
    assert only_genuine_files_in(folder, repository.lock)
    with pytest.raises(DownloadError, match="MB are needed"):
        install(folder, lock=repository.lock)
    ballast.unlink()
    repository.meanwhile = lambda: None
    assert len(install(folder, lock=repository.lock)) == 5
    assert only_genuine_files_in(folder, repository.lock)


@pytest.mark.slow
def test_several_installers_at_once_fetch_each_file_once(
    repository: Repository, folder: Path, run_python: Callable[..., subprocess.Popen[str]]
) -> None:
    installers = [run_python(INSTALL, folder, repository.lock_file) for _ in range(8)]
    assert [installer.communicate(timeout=60)[0] for installer in installers] == ["5\n"] * 8
    assert sorted(repository.requests) == sorted(repository.contents)
    assert only_genuine_files_in(folder, repository.lock)


def test_a_folder_that_cannot_be_written_is_named(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder", "utf-8")
    with pytest.raises(DownloadError, match="MEMORYGRAPH_HOME"):
        install(tmp_path / "file" / "neo4j", lock=repository.lock)
    assert repository.requests == []


def test_a_tls_failure_of_the_download_names_the_certificate_variables(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = make_certificate()
    (tmp_path / "ca.pem").write_text(certificate, "utf-8")
    (tmp_path / "both.pem").write_text(key + certificate, "utf-8")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "both.pem")
    for name in downloads.CERTIFICATE_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    served = Repository(tmp_path)
    with serve(served, monkeypatch, tls):
        with pytest.raises(DownloadError, match=r"not signed by .* requests.*REQUESTS_CA_BUNDLE.*HTTPS_PROXY"):
            install(folder, lock=served.lock)
        assert served.requests == []
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "absent.pem"))
        with pytest.raises(DownloadError, match=r"REQUESTS_CA_BUNDLE names .*absent.pem, which is not there"):
            install(folder, lock=served.lock)
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))
        assert len(install(folder, lock=served.lock)) == 5
    assert only_genuine_files_in(folder, served.lock)


def test_a_socks_proxy_without_its_package_is_named_at_once(
    repository: Repository, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lack(*_: object, **__: object) -> NoReturn:
        raise requests.exceptions.InvalidSchema("Missing dependencies for SOCKS support.")  # as requests does

    monkeypatch.setattr(requests.adapters, "SOCKSProxyManager", lack)
    for name in ("ALL_PROXY", "HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "socks5h://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(downloads, "PAUSES_BEFORE_ATTEMPTS_S", (0.0, 600.0))
    with pytest.raises(DownloadError, match=r"SOCKS proxy.*pip install pysocks"):
        install(folder, lock=repository.lock)
    assert repository.requests == []
