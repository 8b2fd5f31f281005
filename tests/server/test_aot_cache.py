"""The start cache: it is used when it fits and is whole, no start waits for it, and none fails because of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from memorygraph.cli.server import finish_start_cache
from memorygraph.server import aot_cache, aot_training, available_memory
from memorygraph.server import process as server_process
from memorygraph.server.aot_cache import SWITCH, AotCache
from memorygraph.server.artifacts import read_lock
from memorygraph.server.doctor import examine
from memorygraph.server.embedded import EmbeddedServer
from memorygraph.server.java import java_executable
from memorygraph.server.settings import JVM_FLAGS
from tests.examples import profile
from tests.shared_neo4j import JVM_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LONG = profile() == "long"
CACHE_IN_JVM_ARGUMENTS = "-XX:SharedArchiveFile="
AUTOGROUP = "/proc/self/autogroup"  # "/autogroup-7 nice 0", where Linux shares the processor between sessions
PRIORITIES = f"import os; print(os.nice(0), open({AUTOGROUP!r}).read() if os.path.exists({AUTOGROUP!r}) else None)"


@pytest.fixture(autouse=True)
def switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SWITCH, raising=False)


@pytest.fixture
def jars(tmp_path: Path) -> list[Path]:
    folder = tmp_path / "neo4j"
    folder.mkdir()
    paths = [folder / name for name in ("a.jar", "b.jar")]
    for path in paths:
        path.write_text(path.name, "utf-8")
    return paths


@pytest.fixture
def fitting(jars: list[Path]) -> Callable[[], AotCache]:
    """The cache for a class path of two small files; what its content is does not matter here."""

    def of() -> AotCache:
        cache = AotCache.of(java_executable(), jars[0].parent, jars)
        cache.folder.mkdir(exist_ok=True)
        return cache

    return of


def made(cache: AotCache, content: bytes = b"classes" * 1000) -> Path:
    unfinished = cache.folder / "unfinished"
    unfinished.write_bytes(content)
    return cache.keep(unfinished)


def test_a_cache_is_found_and_given_to_the_jvm_which_must_use_it(fitting: Callable[[], AotCache]) -> None:
    cache = fitting()
    assert cache.options() == []
    kept = made(cache)
    assert cache.find() == kept
    assert cache.options() == ["-Xshare:on", f"-XX:SharedArchiveFile={kept}"]


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "longer"])
def test_a_damaged_cache_is_never_used_and_goes(fitting: Callable[[], AotCache], damage: str) -> None:
    cache = fitting()
    kept = made(cache)
    content = kept.read_bytes()
    changed = {
        "flip": content[:500] + bytes([content[500] ^ 1]) + content[501:],
        "truncate": content[:-1],
        "empty": b"",
        "longer": content + b"x",
    }
    kept.write_bytes(changed[damage])
    assert cache.find() is None
    assert not kept.exists()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user who may not read everything")
def test_a_cache_that_cannot_be_read_is_passed_over(fitting: Callable[[], AotCache]) -> None:
    cache = fitting()
    made(cache).chmod(0)
    assert cache.options() == []


def test_a_folder_that_is_no_folder_is_passed_over(fitting: Callable[[], AotCache]) -> None:
    cache = fitting()
    cache.folder.rmdir()
    cache.folder.write_text("not a folder", "utf-8")
    assert cache.options() == []
    cache.build_later()
    cache.refuse("why")
    assert cache.folder.read_text("utf-8") == "not a folder"


@pytest.mark.parametrize("what", ["jar", "time", "order", "option", "flags", "java"])
def test_a_cache_for_anything_else_is_not_taken(
    fitting: Callable[[], AotCache], jars: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str
) -> None:
    made(fitting())
    if what == "jar":
        jars[1].write_text("another content", "utf-8")
    elif what == "time":
        os.utime(jars[1], (1, 1))
    elif what == "order":
        jars.reverse()
    elif what == "option":
        monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:+UseParallelGC")
    elif what == "flags":
        monkeypatch.setattr(aot_cache, "JVM_FLAGS", (*JVM_FLAGS, "-Xss2m"))
    else:
        other = tmp_path / "bin" / "java"
        other.parent.mkdir()
        other.write_text("another Java", "utf-8")
        monkeypatch.setitem(globals(), "java_executable", lambda: other)
    assert fitting().find() is None


def test_the_switch_keeps_a_cache_from_being_used_and_made(
    fitting: Callable[[], AotCache], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = fitting()
    kept = made(cache)
    monkeypatch.setenv(SWITCH, "off")
    assert cache.options() == []
    kept.unlink()
    cache.build_later()
    assert not cache.log.exists()


def test_a_maker_that_has_ended_before_it_is_looked_at_fails_no_start(
    fitting: Callable[[], AotCache], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[object] = []

    def end_at_once(*given: object) -> psutil.Process:
        begun.extend(given)
        raise psutil.NoSuchProcess(1)

    monkeypatch.setattr(aot_cache, "find_lack", lambda _folder: None)
    monkeypatch.setattr(server_process, "spawn", end_at_once)
    fitting().build_later()
    assert begun


def test_the_last_two_caches_in_use_are_kept(fitting: Callable[[], AotCache], jars: list[Path]) -> None:
    caches = []
    for moment in (1, 2, 3):
        os.utime(jars[0], (moment, moment))
        cache = fitting()
        os.utime(made(cache), (moment, moment))
        caches.append(cache)
        if moment == 2:
            assert caches[0].find(), "and now it is the one that was used last"
    assert [bool(cache.find()) for cache in caches] == [True, False, True]


@pytest.mark.usefixtures("memory_to_spare")
def test_each_start_makes_it_again_after_a_failure_unless_the_jvm_refused_it_or_the_machine_lacks_the_means(
    fitting: Callable[[], AotCache], monkeypatch: pytest.MonkeyPatch
) -> None:
    made_later: list[AotCache] = []
    monkeypatch.setattr(aot_cache, "spawn_making", lambda cache, _delay_s: made_later.append(cache))
    cache = fitting()
    cache.refuse("the reason")
    cache.build_later()
    assert cache.why_missing() == "the reason"
    os.utime(cache.refusal, (time.time() - aot_cache.RETRY_REFUSED_AFTER_S - 1,) * 2)
    for limit, lack in (("MIN_MAKING_DISK_BYTES", "free"), ("MIN_MAKING_MEMORY_BYTES", "memory")):
        with monkeypatch.context() as changed:
            changed.setattr(aot_cache, limit, 2**62)
            cache.build_later()
            assert lack in cache.why_missing()
    with monkeypatch.context() as changed:
        changed.setattr(sys, "frozen", True, raising=False)
        cache.build_later()
    assert made_later == []
    cache.failure.write_text("it was killed", "utf-8")
    assert cache.why_missing() == "it was killed"
    cache.build_later()
    assert made_later == [cache]


@pytest.mark.usefixtures("memory_to_spare")
def test_no_cache_is_made_where_the_container_has_too_little_memory_for_it(
    fitting: Callable[[], AotCache], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = fitting()
    for name, value in {"memory.max": 2**29, "memory.current": 2**28, "memory.stat": "inactive_file 0"}.items():
        (tmp_path / name).write_text(f"{value}\n", "ascii")
    monkeypatch.setattr(available_memory, "CGROUPS", tmp_path)
    assert cache.build_later() is None
    assert cache.why_missing() == "only 256 of 768 MB of memory are available in this container"


def test_where_nothing_can_be_written_beside_the_files_of_neo4j_the_cache_is_in_the_home(
    fitting: Callable[[], AotCache], jars: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = fitting()
    monkeypatch.setattr(aot_cache, "is_writable", lambda folder: folder != beside.folder)
    own = AotCache.of(java_executable(), jars[0].parent, jars, tmp_path / "home")
    assert own.folder.parent == tmp_path / "home"
    made(beside)
    assert AotCache.of(java_executable(), jars[0].parent, jars, tmp_path / "home") == beside, "one that is there serves"


def test_a_cache_in_a_folder_that_cannot_be_written_is_used(
    fitting: Callable[[], AotCache], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    cache = fitting()
    kept = made(cache)
    monkeypatch.setattr(os, "utime", refuse)
    assert cache.find() == kept


def test_where_the_cache_beside_the_files_of_neo4j_cannot_be_read_one_is_made_in_the_home(
    fitting: Callable[[], AotCache], jars: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = made(fitting())
    monkeypatch.setattr(aot_cache, "is_writable", lambda _folder: False)
    monkeypatch.setattr(os, "access", lambda path, mode: (path, mode) != (kept, os.R_OK))
    own = AotCache.of(java_executable(), jars[0].parent, jars, tmp_path / "home")
    assert own.folder.parent == tmp_path / "home"


def test_who_waits_for_a_cache_has_it_made_and_hears_when_that_fails(
    fitting: Callable[[], AotCache], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = fitting()
    monkeypatch.setattr(aot_cache, "find_lack", lambda _folder: None)
    # Its jars are none of Neo4j's, so that the maker ends without a cache.
    assert not cache.await_made(patience_s=60)
    made(cache)
    assert cache.await_made(patience_s=0)


def test_a_cache_that_cannot_be_made_is_not_said_to_be_made(
    fitting: Callable[[], AotCache], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cache, server = fitting(), EmbeddedServer()
    monkeypatch.setattr(server, "start_cache", lambda: cache)
    cache.refuse("the JVM refused it")
    finish_start_cache(server)
    assert capsys.readouterr().err == "the start cache is not there yet: the JVM refused it\n"


@pytest.fixture
def linked_artifacts(artifacts: Path, tmp_path: Path) -> Path:
    """The developer's copy of Neo4j's files under another path, with a folder for caches of its own."""
    folder = tmp_path / "linked" / artifacts.name
    folder.mkdir(parents=True)
    for artifact in read_lock().artifacts:
        (folder / artifact.file_name).symlink_to(artifacts / artifact.file_name)
    return folder


@pytest.fixture
def linked_cache(linked_artifacts: Path) -> AotCache:
    cache = cache_for(linked_artifacts)
    cache.folder.mkdir()
    return cache


def cache_for(artifacts: Path) -> AotCache:
    class_path = read_lock().class_path(artifacts)
    return AotCache.of(java_executable(), artifacts, class_path)


@pytest.fixture
def linked_server(linked_artifacts: Path, tmp_path: Path) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(tmp_path / "home", linked_artifacts)
    yield server
    server.down()


@pytest.fixture
def first_compiler_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a start cache, a start with all compilers takes twice as long."""
    for name, value in JVM_SETTINGS.items():
        monkeypatch.setenv(name, value)


@pytest.mark.slow
@pytest.mark.usefixtures("first_compiler_alone")
def test_a_cache_that_the_jvm_refuses_is_given_up_and_the_server_starts_without_it(
    linked_server: EmbeddedServer, linked_cache: AotCache
) -> None:
    kept = made(linked_cache, b"nothing that a JVM could use")
    assert linked_server.up().running
    assert CACHE_IN_JVM_ARGUMENTS not in (linked_server.home / "conf" / "jvm.args").read_text("utf-8")
    assert not kept.exists()
    assert linked_cache.was_refused_lately()
    finding = next(finding for finding in examine(linked_server) if finding.name == "start cache")
    assert finding.warning
    assert "the JVM did not start with it" in finding.detail


def test_a_jvm_that_makes_no_cache_says_why(
    linked_cache: AotCache,
) -> None:
    class_path = read_lock().class_path(linked_cache.artifacts)
    with pytest.raises(RuntimeError, match="no-such-flag"):
        aot_training.run_jvm(
            linked_cache.java, class_path, linked_cache.folder, time.monotonic() + 60, "-XX:no-such-flag", "-version"
        )


def skip_where_it_cannot_be_made(cache: AotCache) -> None:
    """Skip the test where the machine lacks what another process needs to make the cache."""
    if lack := aot_cache.find_lack(cache.folder):
        pytest.skip(lack)


def maker(cache: AotCache, delay_s: float = 0) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "memorygraph.server.aot_training", str(cache.java), str(cache.artifacts)]
    return subprocess.Popen([*command, str(delay_s)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.slow
def test_one_process_makes_a_cache_and_what_a_killed_one_leaves_says_nothing_about_the_next(
    linked_cache: AotCache,
) -> None:
    skip_where_it_cannot_be_made(linked_cache)
    with maker(linked_cache) as first:
        try:
            while not (linked_cache.folder / "making" / "classes").exists():
                assert first.poll() is None
                time.sleep(0.02)
            assert linked_cache.why_missing() == "it is being made in the background"
            with maker(linked_cache) as second:
                assert second.wait(60) == 0, "it leaves the work to the first"
            if sys.platform == "linux":
                niceness = [child.nice() for child in psutil.Process(first.pid).children()]
                assert all(nice >= server_process.NICENESS for nice in niceness)
        finally:
            for child in psutil.Process(first.pid).children():
                child.kill()
            first.kill()
    assert linked_cache.find() is None
    assert not linked_cache.was_refused_lately()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such priorities")
@pytest.mark.parametrize(("niceness", "expected"), [(0, 5), (15, 15)])
def test_what_works_in_the_background_gives_way_in_its_session_and_to_others(niceness: int, expected: int) -> None:
    background = server_process.background(60)

    def begin() -> None:
        os.nice(max(0, niceness - os.nice(0)))  # the tests themselves may be nice
        assert background
        background()

    command = [sys.executable, "-c", PRIORITIES]
    said = subprocess.run(
        command, preexec_fn=begin, start_new_session=True, capture_output=True, text=True, check=True, timeout=60
    ).stdout
    niceness_of_process, *_, niceness_of_session = said.split()
    assert niceness_of_process == str(max(expected, os.nice(0)))
    if os.geteuid() == 0:  # others may change that of sessions ten times a second only, all of them together
        assert niceness_of_session in (str(server_process.NICENESS), "None")


@pytest.fixture(scope="module")
def trained(artifacts: Path) -> Path:
    """The developer's own cache; making it takes a quarter of a minute of a quiet machine, once."""
    cache = cache_for(artifacts)
    cache.folder.mkdir(mode=0o700, exist_ok=True)
    cache.refusal.unlink(missing_ok=True)
    until = time.monotonic() + aot_training.TIME_LIMIT_S
    while not (found := cache.find()):
        skip_where_it_cannot_be_made(cache)
        assert time.monotonic() < until
        with maker(cache) as process:
            _, errors = process.communicate()
            assert process.returncode == 0, errors.decode()
        time.sleep(0.5)
    return found


@pytest.mark.slow
@pytest.mark.timeout(1000)
@pytest.mark.skipif(
    not LONG and sys.platform != "linux",
    reason="slow (MEMORYGRAPH_TEST_LONG=1), and only Linux says what a process maps",
)
def test_a_start_uses_the_cache_that_was_made_in_the_background(
    trained: Path, make_server: Callable[[], EmbeddedServer]
) -> None:
    server = make_server()
    server.up()
    process = server_process.find_server(server.home)
    assert process
    assert str(trained) in (server.home / "conf" / "jvm.args").read_text("utf-8")
    assert str(trained) in {mapped.path for mapped in process.memory_maps()}
    finding = next(finding for finding in examine(server) if finding.name == "start cache")
    assert str(trained) in finding.detail


@pytest.mark.timeout(1000)
@pytest.mark.skipif(not LONG, reason="slow; set MEMORYGRAPH_TEST_LONG=1")
@pytest.mark.parametrize("seed", range(3))
def test_a_cache_that_crashes_the_jvm_does_not_keep_the_server_from_starting(
    trained: Path, linked_server: EmbeddedServer, linked_cache: AotCache, seed: int
) -> None:
    content = bytearray(trained.read_bytes())
    for place in range(100_000 + seed, len(content), 4096):
        content[place] ^= 0x55
    made(linked_cache, bytes(content))
    assert linked_server.up().running
    assert linked_cache.find() is None
