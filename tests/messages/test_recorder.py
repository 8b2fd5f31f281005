"""The recorder when something fails: no call is broken or held up, and no record is lost or doubled."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import openai
import pytest

from memorygraph import MemoryGraph
from memorygraph.errors import ConnectionError
from memorygraph.graph import connection as connection_module
from memorygraph.graph.connection import Connection, Transaction
from memorygraph.graph.namespace import Namespace
from memorygraph.messages import recorder as recorder_module
from memorygraph.messages import spool as spool_module
from memorygraph.messages.calls import RecordedCall, exchange_of, items_of_message, messages_of_items
from memorygraph.messages.graph import MessageGraph
from memorygraph.messages.neo4j_storage import Neo4jStorage
from memorygraph.messages.record import record
from memorygraph.messages.recorder import Recorder, RecordWarning
from memorygraph.messages.spool import Spool
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.full_disk import max_file_bytes
from tests.messages.conftest import hold_records

KEY = "sk-canary-7f3a9c"
HI: Any = [{"role": "user", "content": "Hi"}]
Server = tuple[str, tuple[str, str] | None]


class Cable:
    """A connection to Neo4j that can be pulled out and put back in: a proxy at an address that stays."""

    def __init__(self, uri: str) -> None:
        target = urlsplit(uri)
        self._target = (target.hostname or "localhost", target.port or 7687)
        self._sockets: list[socket.socket] = []
        # It is bound and does not listen: while the cable is pulled, nobody answers at the port, or can take it.
        self._place = socket.socket()
        self._place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._place.bind(("127.0.0.1", 0))
        self.port = self._place.getsockname()[1]
        self.uri = f"bolt://127.0.0.1:{self.port}"
        self.plug_in()

    def _accept(self) -> None:
        listener = self._listener

        def accept() -> None:
            while True:
                try:
                    near, _ = listener.accept()
                    far = socket.create_connection(self._target)
                except OSError:
                    return
                self._sockets += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=_pump, args=(one, other), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()

    def pull(self) -> None:
        for each in (self._listener, *self._sockets):
            with suppress(OSError):  # it may have been pulled before
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._sockets.clear()

    def plug_in(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port), reuse_port=True)
        self._accept()

    def close(self) -> None:
        self.pull()
        self._place.close()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while block := source.recv(65536):
            target.sendall(block)


@pytest.fixture
def cable(server: Server) -> Iterator[Cable]:
    cable = Cable(server[0])
    yield cable
    cable.close()


@pytest.fixture
def fragile(cable: Cable, server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    """A connection through the cable; a pulled cable is noticed soon."""
    monkeypatch.setattr(recorder_module, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr("memorygraph.graph.connection.RETRY_SECONDS", 1.0)
    with Connection(cable.uri, server[1], max_transaction_retry_time=0.5) as connection:
        yield connection
        # A driver that is closed under a query leaves its session open, and a later test would be blamed for that.
        for thread in threading.enumerate():
            if thread.name == "memorygraph-recorder":
                thread.join(60)


def client_of(model: ScriptedModel, recorder: Recorder) -> openai.OpenAI:
    return record(openai.OpenAI(base_url=model.base_url, api_key=KEY, max_retries=0), recorder)


def ask(client: openai.OpenAI, text: str) -> str | None:
    messages: Any = [{"role": "user", "content": text}]
    return client.chat.completions.create(model="m", messages=messages).choices[0].message.content


def answers(connection: Connection, namespace: str) -> list[str]:
    graph = MessageGraph(storage=Neo4jStorage(Namespace(connection, namespace), "talk"))
    return sorted(str(graph.checkout(v)[-1]["content"]) for v in graph.versions() if v.length)


def count_metadata(connection: Connection, namespace: str) -> int:
    graph = MessageGraph(storage=Neo4jStorage(Namespace(connection, namespace), "talk"))
    return sum(len(graph.checkout(version).attachments()) for version in graph.versions())


def call_of(namespace: str, text: str = "Hi", **changes: Any) -> RecordedCall:
    fields = {
        "id": f"call-{text}",
        "namespace": namespace,
        "conversation": "talk",
        "api": "chat",
        "request": {"model": "m", "messages": [{"role": "user", "content": text}]},
        "response": {"id": "c", "model": "m", "choices": [{"message": {"content": f"re {text}"}}]},
        "complete": True,
        "latency_s": 0.1,
        "at": "2026-01-01T00:00:00+00:00",
    }
    return RecordedCall(**{**fields, **changes})


def test_what_happens_while_the_database_is_down_is_written_once_when_it_is_back(
    cable: Cable,
    fragile: Connection,
    connection: Connection,
    namespace: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorder = Recorder(Namespace(fragile, namespace), "talk", tmp_path)
    with ScriptedModel(lambda request: f"re {request.prompt}") as model, client_of(model, recorder) as client:
        monkeypatch.setattr(recorder_module, "PATIENCE_SECONDS", 60.0)  # the first query is the slowest
        assert ask(client, "before") == "re before"
        monkeypatch.setattr(recorder_module, "PATIENCE_SECONDS", 0.5)
        cable.pull()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for number in range(5):
                started = time.monotonic()
                assert ask(client, f"down {number}") == f"re down {number}"
                assert time.monotonic() - started < 30
        assert [warning.category for warning in caught] == [RecordWarning]
        assert "waits in" in str(caught[0].message)
        assert recorder.waiting == 5
        assert answers(connection, namespace) == ["re before"]
        cable.plug_in()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RecordWarning)
            assert ask(client, "after") == "re after"
        recorder.flush()
    assert recorder.waiting == 0
    assert answers(connection, namespace) == sorted(["re before", "re after", *(f"re down {n}" for n in range(5))])
    assert count_metadata(connection, namespace) == 7
    assert recorder.flush() == 0


@pytest.mark.slow
def test_flush_says_that_the_database_is_down(
    cable: Cable, fragile: Connection, connection: Connection, namespace: str, tmp_path: Path
) -> None:
    recorder = Recorder(Namespace(fragile, namespace), "talk", tmp_path)
    cable.pull()
    with pytest.warns(RecordWarning):
        recorder.record(call_of(namespace))
    with pytest.raises(ConnectionError):
        recorder.flush()
    assert recorder.waiting == 1
    cable.plug_in()
    assert recorder.flush() == 1
    assert answers(connection, namespace) == ["re Hi"]


def test_another_process_writes_what_a_former_one_left(connection: Connection, namespace: str, tmp_path: Path) -> None:
    spool = Spool(namespace, tmp_path)
    for number in range(3):
        spool.add(call_of(namespace, f"left {number}").as_dict())
    (spool.folder / "crashed.part").write_text('{"half": ')
    recorder = Recorder(Namespace(connection, namespace), "talk", tmp_path)
    recorder.record(call_of(namespace, "new"))
    assert recorder.waiting == 0
    assert answers(connection, namespace) == ["re left 0", "re left 1", "re left 2", "re new"]


def test_a_record_that_cannot_be_read_holds_up_no_other(connection: Connection, namespace: str, tmp_path: Path) -> None:
    recorder = Recorder(Namespace(connection, namespace), "talk", tmp_path)
    (recorder.spool.folder / "0.jsonl").mkdir(parents=True)
    recorder.spool.add(call_of(namespace, "waits").as_dict())
    recorder.record(call_of(namespace, "new"))
    assert answers(connection, namespace) == ["re new", "re waits"]
    assert (recorder.flush(), recorder.waiting) == (0, 1)


def test_a_folder_that_cannot_be_used_keeps_no_call_from_the_database(
    connection: Connection, namespace: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    recorder = Recorder(Namespace(connection, namespace), "talk", tmp_path / "file")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        recorder.record(call_of(namespace))
    assert answers(connection, namespace) == ["re Hi"]


def test_a_record_that_a_full_disk_refuses_leaves_nothing(tmp_path: Path) -> None:
    spool = Spool("full", tmp_path)
    for keep in (spool.add, spool.send):
        with max_file_bytes(20), pytest.raises(OSError, match="too large"):
            keep(call_of("full", "a long question").as_dict())
    assert list(spool.folder.iterdir()) == []


def test_a_spool_that_cannot_be_listed_is_not_an_empty_one(tmp_path: Path) -> None:
    spool = Spool("left", tmp_path)
    assert spool.waiting() == []
    spool.folder.write_text("not a folder")
    with pytest.raises(NotADirectoryError):
        spool.waiting()


def test_a_record_that_was_written_but_not_removed_is_not_doubled(
    connection: Connection, namespace: str, tmp_path: Path
) -> None:
    recorder = Recorder(Namespace(connection, namespace), "talk", tmp_path)
    call = call_of(namespace)
    recorder.record(call)
    recorder.spool.add(call.as_dict())
    assert recorder.flush() == 1
    assert answers(connection, namespace) == ["re Hi"]
    assert count_metadata(connection, namespace) == 1


def test_a_call_takes_three_queries_in_one_transaction(
    connection: Connection, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(Namespace(connection, namespace), "talk", tmp_path)
    recorder.record(call_of(namespace, "first"))
    counts = {"queries": 0, "transactions": 0}
    run, write = Transaction.run, Connection.write

    def counted_run(transaction: Transaction, query: Any) -> Any:
        counts["queries"] += 1
        return run(transaction, query)

    def counted_write(connection: Connection, *arguments: Any, **options: Any) -> Any:
        counts["transactions"] += 1
        return write(connection, *arguments, **options)

    monkeypatch.setattr(Transaction, "run", counted_run)
    monkeypatch.setattr(Connection, "write", counted_write)
    answered = [{"role": "user", "content": "first"}, {"role": "assistant", "content": "re first"}]
    goes_on = {"model": "m", "messages": [*answered, {"role": "user", "content": "and"}]}
    output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "named"}]}]
    named = {"id": "resp_1", "status": "completed", "output": output}
    calls = [
        call_of(namespace, "a new conversation", conversation="other"),
        call_of(namespace, "a sibling of the first"),
        call_of(namespace, "goes on", request=goes_on),
        call_of(namespace, "goes on", request=goes_on),
        call_of(namespace, "named", api="responses", request={"model": "m", "input": "say"}, response=named),
    ]
    for number, call in enumerate(calls, 1):
        recorder.record(call)
        assert counts == {"queries": 3 * number, "transactions": number}
    assert recorder.waiting == 0
    assert answers(connection, namespace) == ["named", "re a sibling of the first", "re goes on"]


def _process(server: Server, namespace: str, folder: Path, name: str) -> None:
    with Connection(*server) as connection:
        recorder = Recorder(Namespace(connection, namespace), "talk", folder)
        for number in range(5):
            recorder.spool.add(call_of(namespace, f"{name} {number}").as_dict())
            recorder.record(call_of(namespace, f"{name} direct {number}"))
        recorder.flush()


@contextmanager
def another_database(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the address have another database, as it has before a restore."""
    with monkeypatch.context() as before:
        before.setattr(Connection, "_read_database", lambda _: "another")
        before.setattr(connection_module, "MAX_DATABASE_AGE_S", 0.0)
        yield


@contextmanager
def failing_writes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the database take nothing."""

    def fail(*_: Any) -> None:
        raise ConnectionError("Neo4j is away")

    with monkeypatch.context() as away:
        away.setattr(Recorder, "_write_paths", fail)
        away.setattr(Recorder, "_flush_one", fail)
        yield


@pytest.mark.slow
def test_several_processes_share_the_spool(
    server: Server, connection: Connection, namespace: str, tmp_path: Path
) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_process, args=(server, namespace, tmp_path, name)) for name in "abc"]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert Spool(namespace, tmp_path).waiting() == []
    expected = [f"re {name} {kind}{n}" for name in "abc" for kind in ("", "direct ") for n in range(5)]
    assert answers(connection, namespace) == sorted(expected)
    assert count_metadata(connection, namespace) == 30


def test_a_record_says_what_another_recorder_has_found_of_its_database(
    connection: Connection, namespace: str, tmp_path: Path
) -> None:
    Recorder(Namespace(connection, namespace), "talk", tmp_path).record(call_of(namespace))
    path = Recorder(Namespace(connection, namespace), "talk", tmp_path).spool_call(call_of(namespace))
    assert path is not None
    assert json.loads(path.read_bytes())["database"] == connection.known_database is not None


def test_forgetting_leaves_the_records_of_other_databases(graph: MemoryGraph) -> None:
    recorder = Recorder(graph.scope, "talk")
    own, other = (
        recorder.spool.add(call_of(graph.namespace, database=database).as_dict())
        for database in (graph.connection.find_database(), "another")
    )
    graph.messages("talk").append({"role": "user", "content": "Hi"})
    graph.forget_conversation("talk")
    assert (own.exists(), other.exists()) == (False, True)


def test_a_recorder_notices_that_its_address_has_another_database(
    connection: Connection, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(Namespace(connection, namespace), "talk", tmp_path)
    with another_database(monkeypatch):
        recorder.record(call_of(namespace))
        recorder.spool.add(call_of(namespace, "Before", database="another").as_dict())
    monkeypatch.setattr(connection_module, "MAX_DATABASE_AGE_S", 0.0)
    now = recorder.namespace.connection.find_database()
    recorder.spool.add(call_of(namespace, "Since", database=now).as_dict())
    assert (recorder.flush(), recorder.kept_for_others) == (1, 1)
    recorder.record(call_of(namespace, "Now"))
    with failing_writes(monkeypatch), pytest.warns(RecordWarning, match="its record waits"):
        recorder.record(call_of(namespace, "Later"))
    labels = [json.loads(path.read_bytes())["database"] for path in recorder.spool.waiting()]
    assert labels == ["another", now]
    assert answers(connection, namespace) == ["re Hi", "re Now", "re Since"]


def test_a_record_of_another_database_is_read_once_until_that_is_there(
    connection: Connection, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(Namespace(connection, namespace), "talk", tmp_path)
    recorder.spool.add(call_of(namespace, "Before", database="another").as_dict())
    read: list[Path] = []
    read_record = Spool.read

    def note_read(path: Path) -> dict[str, Any] | None:
        read.append(path)
        return read_record(path)

    monkeypatch.setattr(Spool, "read", staticmethod(note_read))
    for number in range(3):
        recorder.record(call_of(namespace, f"Now {number}"))
    assert (len(read), recorder.kept_for_others, recorder.waiting) == (1, 1, 1)
    with another_database(monkeypatch):
        assert (recorder.flush(), recorder.kept_for_others, recorder.waiting) == (1, 0, 0)


def test_what_a_recorder_could_not_write_during_a_restore_it_writes_afterwards(
    connection: Connection, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(Namespace(connection, namespace), "talk", tmp_path)
    with another_database(monkeypatch):
        recorder.record(call_of(namespace))
        with failing_writes(monkeypatch), pytest.warns(RecordWarning, match="its record waits"):
            recorder.record(call_of(namespace, "Meanwhile"))
    monkeypatch.setattr(connection_module, "MAX_DATABASE_AGE_S", 0.0)
    assert (recorder.flush(), recorder.kept_for_others, recorder.waiting) == (1, 0, 0)
    assert answers(connection, namespace) == ["re Hi", "re Meanwhile"]


def test_a_waiting_call_without_a_name_does_not_bring_a_forgotten_conversation_back(graph: MemoryGraph) -> None:
    answer = {"id": "c", "model": "m", "choices": [{"message": {"role": "assistant", "content": "I see"}}]}
    recorder = Recorder(graph.scope, "")
    recorder.spool.add(call_of(graph.namespace, conversation="", response=answer).as_dict())
    assert recorder.flush() == 1
    [info] = graph.conversations()
    again: Any = [*HI, {"role": "assistant", "content": "I see"}, {"role": "user", "content": "And now?"}]
    going_on = call_of(graph.namespace, "And now?", conversation="", request={"model": "m", "messages": again})
    recorder.spool.add(going_on.as_dict())
    graph.forget_conversation(info.name)
    assert (recorder.flush(), recorder.waiting, graph.conversations()) == (0, 0, [])


def test_what_is_set_aside_says_why(connection: Connection, namespace: str, tmp_path: Path) -> None:
    recorder = Recorder(Namespace(connection, namespace), "talk", tmp_path)
    recorder.spool.add({"id": "of another release"})
    recorder.spool.add(call_of(namespace, "\ud800").as_dict())
    # A value that no Neo4j takes: it was tried again before each call, for ever.
    recorder.spool.add(call_of(namespace, conversation="\ud800").as_dict())
    (recorder.spool.folder / "0-broken.jsonl").write_text("{")
    with pytest.warns(RecordWarning, match="no database can hold it.* its record is kept in .* and is not tried again"):
        recorder.record(call_of(namespace, "direct", conversation="\ud800"))
    assert recorder.waiting == 0
    kept = [json.loads(path.read_text()) for path in sorted(recorder.spool.refused_folder.iterdir())]
    broken, other, half, first, second = [each["refused_because"] for each in kept]
    assert broken.startswith("it is no record: ")
    assert kept[0]["content"] == "{"
    assert "missing" in other
    assert "is not a message" in half
    assert "a value that Neo4j cannot hold" in first
    assert "a value that Neo4j cannot hold" in second
    assert kept[4]["request"]["messages"][0]["content"] == "direct"
    for path in recorder.spool.refused_folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    # What is mended and put back is tried again.
    mended = {**kept[4], "conversation": "talk"}
    (recorder.spool.folder / "1-mended.jsonl").write_text(json.dumps(mended))
    assert recorder.flush() == 1
    assert answers(connection, namespace) == ["re direct"]


KILLED = """
import json, os, signal, sys
from pathlib import Path
from memorygraph.graph.connection import Connection
from memorygraph.graph.namespace import Namespace
from memorygraph.messages.calls import RecordedCall
from memorygraph.messages.recorder import Recorder

given = json.load(sys.stdin)
with Connection(given["uri"], given["auth"] and tuple(given["auth"])) as connection:
    recorder = Recorder(Namespace(connection, given["call"]["namespace"]), "talk", Path(given["folder"]))
    Connection.write = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
    recorder.record(RecordedCall(**given["call"]))
"""


def test_a_kill_before_the_database_has_a_call_keeps_it(
    server: Server, connection: Connection, namespace: str, tmp_path: Path
) -> None:
    given = {
        "uri": server[0],
        "auth": server[1],
        "folder": str(tmp_path),
        "call": call_of(namespace, "killed").as_dict(),
    }
    process = subprocess.run([sys.executable, "-c", KILLED], input=json.dumps(given), text=True, check=False)
    assert process.returncode == -signal.SIGKILL
    recorder = Recorder(Namespace(connection, namespace), "talk", tmp_path)
    assert recorder.waiting == 1
    recorder.record(call_of(namespace, "next"))
    assert recorder.waiting == 0
    assert answers(connection, namespace) == ["re killed", "re next"]
    assert list(recorder.spool.folder.iterdir()) == []


def test_what_another_process_is_sending_is_left_to_it(
    connection: Connection, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(Namespace(connection, namespace), "talk", tmp_path)
    path = recorder.spool.send(call_of(namespace, "here").as_dict())
    assert recorder.waiting == 0
    theirs = path.rename(path.with_name(path.name.replace(f".{os.getpid()}.", f".{os.getppid()}.")))
    assert recorder.waiting == 0
    monkeypatch.setattr(spool_module, "MAX_SENDING_SECONDS", 0.0)  # nobody sends for so long
    assert recorder.spool.waiting() == [theirs]
    assert recorder.flush() == 1
    assert answers(connection, namespace) == ["re here"]


def test_a_warning_that_is_an_error_breaks_no_call(
    cable: Cable, fragile: Connection, namespace: str, tmp_path: Path
) -> None:
    recorder = Recorder(Namespace(fragile, namespace), "talk", tmp_path)
    cable.pull()
    with warnings.catch_warnings(), ScriptedModel("Hello") as model, client_of(model, recorder) as client:
        warnings.simplefilter("error")
        assert ask(client, "Hi") == "Hello"
    assert recorder.waiting == 1


@pytest.mark.slow
def test_an_asynchronous_call_goes_on_while_the_database_is_down(
    cable: Cable, fragile: Connection, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(Namespace(fragile, namespace), "talk", tmp_path)

    async def run(model: ScriptedModel) -> list[bool]:
        went_on = hold_records(monkeypatch)
        client = record(openai.AsyncOpenAI(base_url=model.base_url, api_key=KEY, max_retries=0), recorder)
        async with client:
            await asyncio.gather(*(client.chat.completions.create(model="m", messages=HI) for _ in range(4)))
        return went_on

    cable.pull()
    with ScriptedModel("Hello") as model, pytest.warns(RecordWarning):
        assert asyncio.run(run(model)) == [True] * 4
    assert recorder.waiting == 4


def test_a_spooled_record_holds_no_key_and_is_its_owners(
    cable: Cable, fragile: Connection, namespace: str, tmp_path: Path
) -> None:
    recorder = Recorder(Namespace(fragile, namespace), "talk", tmp_path)
    cable.pull()
    with ScriptedModel("Hello") as model, client_of(model, recorder) as client, pytest.warns(RecordWarning):
        client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": KEY}], extra_headers={"Authorization": f"Bearer {KEY}"}
        )
    [path] = recorder.spool.waiting()
    assert KEY not in path.read_text()
    assert "authorization" not in path.read_text().lower()
    assert path.read_text().count("\n") == 1
    assert json.loads(path.read_text())["conversation"] == "talk"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(recorder.spool.folder.stat().st_mode) == 0o700


def test_a_spool_that_cannot_be_written_breaks_no_call(
    cable: Cable, fragile: Connection, namespace: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    recorder = Recorder(Namespace(fragile, namespace), "talk", tmp_path / "file")
    cable.pull()
    warned = pytest.warns(RecordWarning, match="lost")
    with ScriptedModel("Hello") as model, client_of(model, recorder) as client, warned:
        assert ask(client, "Hi") == "Hello"


def test_spooled_calls_keep_their_order_behind_a_response(
    connection: Connection, namespace: str, tmp_path: Path
) -> None:
    recorder = Recorder(Namespace(connection, namespace), "talk", tmp_path)
    previous = None
    for number in range(3):
        request = {"model": "m", "input": str(number), "previous_response_id": previous}
        output = [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": f"re {number}"}]}
        ]
        previous = f"resp_{number}"
        response = {"id": previous, "status": "completed", "output": output}
        recorder.spool.add(
            call_of(namespace, str(number), api="responses", request=request, response=response).as_dict()
        )
    assert recorder.flush() == 3
    graph = MessageGraph(storage=Neo4jStorage(Namespace(connection, namespace), "talk"))
    assert [message["content"] for message in graph] == ["0", "re 0", "1", "re 1", "2", "re 2"]
    assert not any(message.off_policy for message in graph)


def test_items_that_the_chat_format_does_not_know_are_kept() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
    search = {"type": "web_search_call", "id": "ws_1", "action": {"query": "q"}, "status": "completed"}
    screen = {"type": "computer_call_output", "call_id": "c2", "output": {"type": "computer_screenshot"}}
    text = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "a", "annotations": []}],
    }
    assert messages_of_items([reasoning, search, text, screen, text, text]) == [
        {
            "role": "assistant",
            "content": [
                reasoning,
                {"type": "web_search_call", "id": "ws_1", "action": {"query": "q"}},
                {"type": "output_text", "text": "a"},
            ],
        },
        {"role": "tool", "tool_call_id": "c2", "content": [screen]},
        {"role": "assistant", "content": "a"},
        {"role": "assistant", "content": "a"},
    ]


def test_what_a_user_approves_is_a_message_of_the_user() -> None:
    asked = {"type": "mcp_approval_request", "id": "mcpr_1", "name": "roll", "arguments": "{}", "server_label": "dice"}
    approved = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
    called = {"type": "mcp_call", "id": "mcp_1", "name": "roll", "arguments": "{}", "output": "6"}
    messages = messages_of_items([*HI, asked, approved, called])
    assert messages[1:] == [
        {"role": "assistant", "content": [asked]},
        {"role": "user", "content": [approved]},
        {"role": "assistant", "content": [called]},
    ]
    assert items_of_message(messages[2]) == [approved]


@pytest.mark.parametrize(
    "item",
    [
        {"type": "configuration_update", "reasoning": {"effort": "low"}},
        {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "clock"}]},
        {"type": "compaction_trigger"},
        {"type": "item_reference", "id": "msg_1"},
        {"id": "msg_1"},
        {"id": "msg_1", "type": None},
        {"__enc__": 1, "v": 1, "kid": "hkdf-v1", "payload": "gAAAAA"},
    ],
    ids=str,
)
def test_an_item_that_a_program_puts_between_is_not_what_the_model_said(item: dict[str, Any]) -> None:
    answer = {"role": "assistant", "content": "Hello"}
    stored = {"type": "item_reference", "id": "msg_1"} if "id" in item else item
    messages = messages_of_items([answer, item, *HI, item])
    between = {"role": "developer", "content": [stored]}
    assert messages == [answer, between, *HI, between]
    assert items_of_message(between) == [stored]


def test_an_output_is_the_same_message_as_its_items_sent_back() -> None:
    output = [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}", "status": "completed"},
    ]
    request = {"model": "m", "input": [*HI, *output, {"type": "function_call_output", "call_id": "c", "output": "1"}]}
    answered = call_of("n", api="responses", response={"status": "completed", "output": output})
    sent_back = call_of("n", api="responses", request=request)
    [answer] = exchange_of(answered).answers
    assert exchange_of(sent_back).prompt[1:2] == answer.messages


@pytest.mark.parametrize(
    "thought",
    [
        {"reasoning_content": "hm"},
        {"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
    ],
)
def test_an_answer_is_the_same_message_with_and_without_what_the_model_thought(thought: dict[str, Any]) -> None:
    answer = {"role": "assistant", "content": "Hello"}
    response = {"choices": [{"index": 0, "message": {**answer, **thought}, "finish_reason": "stop"}]}
    [answered] = exchange_of(call_of("n", response=response)).answers
    for sent_back in (answer, {**answer, **thought}):
        following = call_of("n", request={"messages": [*HI, sent_back, {"role": "user", "content": "And?"}]})
        assert exchange_of(following).prompt[1:2] == answered.messages
    assert answered.metadata["response"]["choices"][0]["message"] == {**answer, **thought}
