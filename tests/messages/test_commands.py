"""The commands of conversations, as a user meets them."""

from __future__ import annotations

import pytest

from memorygraph import MemoryGraph
from memorygraph.graph.connection import Connection
from tests.cli.test_commands import document, memorygraph


@pytest.fixture(autouse=True)
def _talk(environment: str, connection: Connection) -> None:
    history = MemoryGraph(connection, environment).messages("talk")
    history.extend([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}])
    history[0]["content"] = "Good morning"


def test_conversations_are_read() -> None:
    assert document("messages", "list") == [{"name": "talk", "versions": 2, "version": 2, "messages": 2}]
    shown = document("messages", "show", "talk")
    assert [(m["content"], m["off_policy"]) for m in shown] == [("Good morning", False), ("Hello!", True)]
    assert [m["content"] for m in document("messages", "show", "talk", "--version", "1")] == ["Hi", "Hello!"]
    assert [(v["number"], v["replaces"], v["at"]) for v in document("messages", "versions", "talk")] == [
        (1, None, None),
        (2, 1, 0),
    ]
    found = document("messages", "diff", "talk", "1", "2")
    assert found["removed"] == [{"index": 0, "message": {"role": "user", "content": "Hi"}}]
    assert document("messages", "verify", "talk")["ok"] is True


def test_conversations_are_listed_in_pages_and_by_their_names(environment: str, connection: Connection) -> None:
    graph = MemoryGraph(connection, environment)
    for name in ("Talk 2", "walk", "a b"):
        graph.messages(name).append({"role": "user", "content": "Hi"})

    def names(*options: str) -> list[str]:
        return [found["name"] for found in document("messages", "list", *options)]

    assert names() == ["Talk 2", "a b", "talk", "walk"]
    assert names("--limit", "2") == ["Talk 2", "a b"]
    assert names("--limit", "2", "--after", "a b") == ["talk", "walk"]
    assert names("--containing", "ALK", "--after", "Talk 2") == ["talk", "walk"]
    assert (graph.count_conversations(), graph.count_conversations(after="a b", containing="TALK")) == (4, 1)
    assert "2 more; the next ones: --after 'a b'" in memorygraph("messages", "list", "--limit", "2").stderr
    assert memorygraph("messages", "list", "--limit", "4").stderr == ""


def test_what_is_not_there_is_said() -> None:
    assert document("messages", "show", "nothing", code=1)["errors"][0]["code"] == "not-found"
    assert memorygraph("messages", "diff", "talk", "1", "7").returncode == 1


def test_tampering_is_exit_code_1(environment: str, connection: Connection) -> None:
    graph = MemoryGraph(connection, environment)
    graph.query("MATCH (m:Message {namespace: $namespace, content: 'Hi'}) SET m.body = m.body + ' '", write=True)
    fault = document("messages", "verify", "talk", code=1)["fault"]
    assert (fault["version"], fault["index"]) == (1, 0)
    assert "message 0 of version 1" in memorygraph("messages", "verify", "talk").stderr


@pytest.mark.parametrize("command", [("show", "talk"), ("versions", "talk"), ("diff", "talk", "1", "2"), ("list",)])
def test_people_get_tables(command: tuple[str, ...]) -> None:
    finished = memorygraph("messages", *command)
    assert finished.returncode == 0
    assert finished.stdout.strip()
