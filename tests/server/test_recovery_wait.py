"""A start waits for a server that recovers, as its log says, and for no other longer than it may take."""

from __future__ import annotations

import os
import time
import warnings
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from memorygraph.errors import ConnectionError
from memorygraph.server import launch
from memorygraph.server import process as server_process
from memorygraph.server.launch import RECOVERY_PATIENCE_S, Deadline, Launch, RecoveryWarning, is_recovering
from memorygraph.server.server_home import ServerHome
from memorygraph.server.settings import Endpoints

# As Neo4j 2026.08.1 writes it.
LINE = (
    '{{"time":"{time}","level":"INFO","category":"{category}","message":"[{database}/03db516b] {message}",'
    '"databaseId":"03db516b-7ec5-49f6-a79e-1fbfa6d5549d","databaseName":"{database}"}}\n'
)
BEGAN = 1_800_000_000.5
REQUIRED = "Recovery required from position LogPosition{logVersion=0, byteOffset=3246}"


def write_log(logs: Path, database: str = "neo4j", *, begins: float = BEGAN) -> None:
    time_ = f"{datetime.fromtimestamp(begins, UTC):%Y-%m-%d %H:%M:%S}.500+0000"
    lines = (("o.n.k.d.Database", REQUIRED), ("o.n.k.r.Recovery", " 70% completed"))
    text = "".join(LINE.format(time=time_, category=kind, database=database, message=said) for kind, said in lines)
    (logs / "debug.log").write_text(text, "utf-8")


def test_a_log_tells_whether_the_server_that_runs_recovers(tmp_path: Path) -> None:
    assert not is_recovering(tmp_path, BEGAN - 9), "there is no log"
    write_log(tmp_path, "system")
    assert not is_recovering(tmp_path, BEGAN - 9), "only the small database of users"
    write_log(tmp_path)
    assert is_recovering(tmp_path, BEGAN - 9)
    assert not is_recovering(tmp_path, BEGAN + 9), "an earlier start did"


def test_a_start_waits_while_the_server_recovers_and_says_so_once(tmp_path: Path) -> None:
    deadline = Deadline(psutil.Process(), tmp_path, until=0)
    with pytest.raises(ConnectionError, match="does not answer in time"):
        deadline.check()
    write_log(tmp_path, begins=time.time() + 1)
    with pytest.warns(RecoveryWarning, match=r"recovers .* Let it end: .*debug.log"):
        deadline.check()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        deadline.until = 0
        deadline.check()
    assert deadline.until > time.monotonic()


@pytest.mark.filterwarnings("ignore::memorygraph.server.launch.RecoveryWarning")
def test_a_start_gives_up_on_a_log_that_was_silent_while_it_waited_and_not_while_the_machine_slept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    deadline = Deadline(psutil.Process(), tmp_path, until=0)
    write_log(tmp_path, begins=time.time() + 1)
    os.utime(tmp_path / "debug.log", (0, 0))  # it slept for long
    deadline.check()
    now += RECOVERY_PATIENCE_S - 1
    deadline.check()
    with (tmp_path / "debug.log").open("a") as log:
        log.write(LINE.format(time="", category="o.n.k.r.Recovery", database="neo4j", message=" 80% completed"))
    now += 2
    deadline.check()
    now += RECOVERY_PATIENCE_S
    with pytest.raises(ConnectionError, match="does not answer in time"):
        deadline.check()


def test_a_start_waits_as_long_as_the_log_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = ServerHome(tmp_path)
    home.logs.mkdir()
    write_log(home.logs, begins=time.time() + 1)
    monkeypatch.setattr(launch, "RECOVERY_PATIENCE_S", 0.5)
    monkeypatch.setattr(launch, "RECOVERY_LOOK_S", 0.01)
    began = time.monotonic()
    with pytest.warns(RecoveryWarning), pytest.raises(ConnectionError, match="does not answer in time"):
        Launch(home, tmp_path, tmp_path).await_answer(psutil.Process(), Endpoints(0, 0, ""), until=0)
    assert time.monotonic() - began >= 0.4


def test_a_start_that_is_given_up_gives_the_last_line_before_its_own_stop_as_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = ServerHome(tmp_path)
    home.logs.mkdir()

    def write(said: str) -> psutil.Process:
        with (home.logs / "neo4j.log").open("a", encoding="utf-8") as log:
            log.write(f"2026-11-30 20:00:00.000+0000 INFO  {said}\n")
        return psutil.Process()

    monkeypatch.setattr(server_process, "start", lambda *_: write("Bolt enabled on 127.0.0.1:7687."))
    monkeypatch.setattr(server_process, "stop", lambda *_: write("Stopped."))
    with pytest.raises(ConnectionError, match=r"does not answer in time: Bolt enabled on 127\.0\.0\.1:7687\. Run"):
        Launch(home, tmp_path, tmp_path).run([], Endpoints(0, 0, ""), until=0)
