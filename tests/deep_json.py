"""Reads a text of 90,000 brackets at every door of the package, with a recursion limit that does not protect it.

Run as a program it prints a line for each door: its name, and what became of the text. A door whose line is missing
has ended the process.
"""

from __future__ import annotations

import base64
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memorygraph.bearer_tokens import read_tokens
from memorygraph.cli.graph import parameter
from memorygraph.cli.programs import parse_json_argument
from memorygraph.compiler.pete.goals import RuleGoals
from memorygraph.llm.completion import ToolCall, read_document
from memorygraph.llm.structured import documents
from memorygraph.memory.datasets import LOCOMO
from memorygraph.memory.local import LocalEmbedder
from memorygraph.memory.pages import PageStart
from memorygraph.memory.transfer import parse_item
from memorygraph.messages.message import Message
from memorygraph.messages.reader import explain_fault
from memorygraph.messages.spool import Spool
from memorygraph.messages.storage import StoredMessage
from memorygraph.runtime.agentscript.units import read_data
from memorygraph.runtime.convo.inference import read_arguments
from memorygraph.runtime.convo.journal import Journal
from memorygraph.runtime.memories import open_memory
from memorygraph.runtime.memories.graph import PREFIX, read_envelope
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.tools import open_tool
from memorygraph.runtime.tools.http import decode_body
from memorygraph.scripted.replies import Request
from tests.runtime.convo.expressions import Script

DEPTH = 90_000
RECORD_ID = f"{PREFIX}20260101T000000000000Z-1"
LISTS, OBJECTS = "[" * DEPTH, '{"a":' * DEPTH


def write(folder: Path, name: str, text: str) -> Path:
    """Write a file that only its owner can read."""
    (folder / name).write_text(text, "utf-8")
    (folder / name).chmod(0o600)
    return folder / name


def query_memory(folder: Path, name: str, uri: str) -> Any:
    """Read all records of a memory in a file."""
    return open_memory(name, uri, folder, None, Permissions.of()).call("query", []).value


def embedder(folder: Path) -> Any:
    """Open a sentence model whose configuration is the text."""
    for name in ("tokenizer.json", "model.safetensors", "config.json"):
        write(folder, name, LISTS)
    return LocalEmbedder(folder)


def sqlite_record(folder: Path) -> Any:
    """Read a record that another program has written."""
    memory = open_memory("M", "sqlite://notes.db", folder, None, Permissions.of())
    memory.call("add", [{"n": 1}])
    with sqlite3.connect(folder / "notes.db") as database:
        database.execute("UPDATE agentscript_records SET record = ?", (LISTS,))
    database.close()
    return memory.call("query", []).value


def convo_arguments(_folder: Path) -> Any:
    """Read the arguments that a model gives to a function of a conversation."""
    script = Script("> f(a: any) -> (a)\n")
    return read_arguments(OBJECTS, script.functions[0], script.evaluator)


ENVELOPE = '{"id": "1", "created_at": "", "updated_at": "", "record": ' + OBJECTS + "\n"
DOORS: dict[str, Callable[[Path], Any]] = {
    "cursor": lambda _: PageStart.of(base64.urlsafe_b64encode(LISTS.encode()).decode()),
    "arguments of a tool call": lambda _: ToolCall("f", OBJECTS).values(),
    "arguments of a function": convo_arguments,
    "answer of an endpoint": lambda _: read_document(LISTS.encode()),
    "answer of a model": lambda _: list(documents(OBJECTS)),
    "answer of a model, in prose": lambda _: list(documents(f"Well: {OBJECTS}, and {LISTS}", lists=True)),
    "answer of a web service": lambda _: decode_body({"content-type": "application/json"}, LISTS.encode())[:3],
    "message": lambda _: Message(LISTS).role,
    "verified message": lambda _: explain_fault(StoredMessage("1", LISTS, {}, [], sampled=False, seal=None), ""),
    "journal": lambda folder: [*Journal("r", write(folder, "r.jsonl", LISTS + "\n").parent).read()],
    "spooled record": lambda folder: Spool.read(write(folder, "1.jsonl", LISTS)),
    "record in a file": lambda folder: query_memory(write(folder, "m.jsonl", ENVELOPE).parent, "M", "file://m.jsonl"),
    "record in SQLite": sqlite_record,
    "record in the graph": lambda _: read_envelope({"id": f"{PREFIX}20260101T000000000000Z-1", "data": LISTS})[
        "record"
    ]["id"],
    "stored rule": lambda _: RuleGoals.from_json(LISTS),
    "tokens of a server": lambda folder: read_tokens(write(folder, "tokens", OBJECTS)),
    "line of an import": lambda _: parse_item(OBJECTS),
    "conversation of an evaluation": lambda folder: list(LOCOMO.documents(write(folder, "c.json", LISTS).parent)),
    "model in a folder": embedder,
    "input of a program": lambda _: parse_json_argument(LISTS, "--input"),
    "parameter of a query": lambda _: parameter(f"a={LISTS}")[1][:3],
    "imported file": lambda folder: read_data(write(folder, "d.json", LISTS)),
    "file of a tool": lambda folder: (
        open_tool("T", "file://", write(folder, "d.json", LISTS).parent, Permissions.of(["file"]))
        .call("read_json", ["d.json"])
        .value
    ),
    "request to the scripted endpoint": lambda _: Request("POST", "/", {}, LISTS.encode()).json,
}


def main() -> None:
    """Try every door."""
    sys.setrecursionlimit(1_000_000)
    for name, door in DOORS.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                result = repr(door(Path(folder)))
            except Exception as error:  # noqa: BLE001 - it is printed
                result = f"{type(error).__name__}: {error}"
        print(f"{name}: {result[:200]}", flush=True)


if __name__ == "__main__":
    main()
