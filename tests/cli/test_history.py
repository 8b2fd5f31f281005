"""The commands about what was: their documents, their tables and their exit codes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.cli.test_commands import document, memorygraph

pytestmark = pytest.mark.usefixtures("environment")

AB = 'Node(node_id="a", name="A", data="1"); Node(node_id="b", name="B", data="2");'


def test_history_says_who_changed_what_and_when() -> None:
    document("load", "-", stdin=AB)
    document("load", "-", stdin='Node(node_id="a", name="Anna");')
    created, changed = document("history", "a")
    assert (created["action"], created["before"], created["after"]) == ("created", None, {"name": "A", "data": "1"})
    assert (changed["revision"], changed["after"]["name"], changed["file"]) == (2, "Anna", "<stdin>")
    assert datetime.fromisoformat(created["at"]) <= datetime.fromisoformat(changed["at"]) <= datetime.now(UTC)
    assert "name: A → Anna" in memorygraph("history", "a").stdout
    assert document("history", "nobody", code=1)["errors"][0]["code"] == "not-found"


def test_undo_takes_a_revision_back_and_says_what_it_did() -> None:
    document("load", "-", stdin=AB)
    document("delete", "b")
    tried = document("undo", "2", "--dry-run")
    assert (tried["nodes_created"], tried["dry_run"], tried["revision"]) == (1, True, 0)
    assert "revision 2 would be undone: a dry run in namespace" in memorygraph("undo", "2", "--dry-run").stdout
    report = document("undo", "2")
    assert (report["revision"], report["nodes_created"], report["errors"]) == (3, 1, [])
    assert document("show", "b")["name"] == "B"
    assert [(r["revision"], r["undoes"]) for r in document("revisions")] == [(3, 2), (2, None), (1, None)]
    assert "undo of 2" in memorygraph("revisions", "--limit", "1").stdout


def test_an_undo_that_would_take_more_along_is_refused() -> None:
    document("load", "-", stdin=AB)
    document("delete", "b")
    [error] = document("undo", "1", code=1)["errors"]
    assert error["code"] == "conflict"
    assert "node `b` was deleted by revision 2" in error["message"]
    assert document("undo", "7", code=1)["errors"][0]["code"] == "not-found"
    assert memorygraph("undo", "x").returncode == 2


def test_what_was_is_shown_and_exported_as_of_a_revision_or_a_time() -> None:
    document("load", "-", stdin=AB)
    exported = memorygraph("export").stdout
    document("delete", "b")
    assert memorygraph("export", "--at", "1").stdout == exported
    assert document("show", "b", "--at", "1")["data"] == "2"
    later = datetime.now(UTC) + timedelta(minutes=1)
    assert memorygraph("export", "--at", later.isoformat()).stdout == memorygraph("export").stdout != exported
    assert memorygraph("export", "--at", "2001-02-03").stdout == ""
    assert document("show", "b", "--at", "2", code=1)["errors"][0]["code"] == "not-found"
    assert memorygraph("export", "--at", "9").returncode == 1
    assert memorygraph("export", "--at", "soon").returncode == 2
    for form in ("bundle", "server-memory"):
        refused = memorygraph("export", "--format", form, "--at", "1")
        assert refused.returncode == 2
        assert "--at goes with contextscript, jsonl and graphml" in " ".join(refused.stderr.split())


def test_purge_asks_and_then_forgets() -> None:
    document("load", "-", stdin=AB)
    document("delete", "b")
    assert memorygraph("purge", stdin="n\n").returncode == 1
    assert len(document("history", "b")) == 2
    assert document("purge", "--yes") == {"forgotten": 1}
    assert document("history", "b", code=1)["errors"][0]["code"] == "not-found"
    assert document("show", "b", "--at", "1", code=1)["errors"][0]["code"] == "not-found"
