"""The hooks with recorded inputs: what they answer, what they keep, and that they never break the agent."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import pytest
from click.testing import CliRunner, Result

from memorygraph import MemoryGraph
from memorygraph.cli import cli
from memorygraph.hooks import EVENTS, HookInput, PendingTranscripts, TranscriptRef, events, keep_transcripts

RECORDED = Path(__file__).parent / "recorded"
SESSION = "claude-code-2ff46cd5-f4e7-4724-bb20-579dae7956ea"


def given(event: str, tmp_path: Path, **changes: Any) -> str:
    """The recorded input of an event, with its transcripts where the test has put them."""
    document = json.loads((RECORDED / f"{event}.json").read_text("utf-8"))
    document["transcript_path"] = str(tmp_path / "session.jsonl")
    if "agent_transcript_path" in document:
        document["agent_transcript_path"] = str(tmp_path / "agent-def456.jsonl")
    return json.dumps(document | changes)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the recorded transcripts, and a home of its own."""
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(tmp_path / "home"))
    for path in RECORDED.glob("*.jsonl"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


# A hook that gives up ends its process, which is that of the tests here: no busy machine must make it give up.
PATIENT_HOOK = ["hook", "--timeout", "200"]


def hook(event: str, text: str, *options: str) -> Result:
    result = CliRunner().invoke(cli, [*PATIENT_HOOK, event, *options], input=text)
    assert result.exit_code == 0, result.output
    return result


def texts(graph: MemoryGraph, name: str) -> list[str]:
    return [str(message.get("content")) for message in graph.messages(name)]


@pytest.fixture
def memory(environment: str) -> Any:
    with MemoryGraph.connect(namespace=environment) as graph:
        yield graph


@pytest.mark.parametrize("event", ["Stop", "PreCompact", "SessionEnd"])
def test_the_session_is_kept_as_a_conversation_once(memory: MemoryGraph, home: Path, event: str) -> None:
    for _ in range(2):
        result = hook(event, given(event, home))
        assert (result.stdout, result.stderr) == ("", "")
    assert [info.name for info in memory.conversations()] == [SESSION]
    assert texts(memory, SESSION)[-4:] == ["Which region was it?\n\n[image]", "Oslo.", "Thanks", "You are welcome."]
    assert len(memory.messages(SESSION).versions()) == 1
    assert not [entry for entry in memory.messages(SESSION).entries() if entry.sampled]  # none is training data


def test_what_a_session_adds_is_added_to_its_conversation(memory: MemoryGraph, home: Path) -> None:
    lines = (home / "session.jsonl").read_bytes().splitlines(keepends=True)
    (home / "session.jsonl").write_bytes(b"".join(lines[:12]))
    hook("Stop", given("Stop", home))
    first = texts(memory, SESSION)
    (home / "session.jsonl").write_bytes(b"".join(lines))
    hook("Stop", given("Stop", home))
    assert texts(memory, SESSION)[: len(first)] == first
    assert len(texts(memory, SESSION)) > len(first) > 0
    assert len(memory.messages(SESSION).versions()) == 1


def test_what_was_said_keeps_its_time(memory: MemoryGraph, home: Path) -> None:
    hook("Stop", given("Stop", home))
    found = memory.recall("Which region was it?", since="2026-03-01", until="2026-03-01").hits
    assert "Which region" in found[0].text


def test_what_an_ended_hook_has_stored_and_not_dated_is_dated_by_the_next(
    memory: MemoryGraph, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as ended:
        ended.setattr("memorygraph.messages.indexing.date_messages", lambda *_: None)
        hook("Stop", given("Stop", home))
    assert not memory.recall("Which region was it?", since="2026-03-01", until="2026-03-01").hits
    hook("Stop", given("Stop", home))
    found = memory.recall("Which region was it?", since="2026-03-01", until="2026-03-01").hits
    assert "Which region" in found[0].text


def test_what_two_sessions_begin_with_keeps_the_time_at_which_it_was_said_first(
    memory: MemoryGraph, home: Path
) -> None:
    hook("Stop", given("Stop", home))
    later = (home / "session.jsonl").read_text("utf-8").replace("2026-03-01", "2026-03-09")
    (home / "session.jsonl").write_text(later, "utf-8")
    hook("Stop", given("Stop", home, session_id="another"))
    found = memory.recall("Which region was it?", since="2026-03-01", until="2026-03-01").hits
    assert "Which region" in found[0].text


def test_a_subagent_has_a_conversation_of_its_own(memory: MemoryGraph, home: Path) -> None:
    hook("SubagentStop", given("SubagentStop", home))
    assert texts(memory, f"{SESSION}-agent-def456") == ["Find where the region is set.", "In deploy.yaml."]


def test_a_prompt_is_answered_with_what_it_brings_to_mind(memory: MemoryGraph, home: Path) -> None:
    memory.load('Node(node_id="atlas", name="Atlas", data="is deployed to the region Oslo");')
    answer = json.loads(hook("UserPromptSubmit", given("UserPromptSubmit", home)).stdout)
    assert answer.keys() == {"hookSpecificOutput"}
    assert answer["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    context = answer["hookSpecificOutput"]["additionalContext"]
    assert context.startswith("From the memory of earlier conversations and notes (memorygraph).")
    assert "Atlas: is deployed to the region Oslo" in context


def test_a_prompt_is_answered_within_its_budget(memory: MemoryGraph, home: Path) -> None:
    for number in range(9):
        memory.load(f'Node(node_id="n{number}", name="Region {number}", data="region {"x" * 300}");')
    shown = {}
    for budget in ("200", "1k"):
        answer = json.loads(hook("UserPromptSubmit", given("UserPromptSubmit", home), "--budget", budget).stdout)
        shown[budget] = answer["hookSpecificOutput"]["additionalContext"].partition("\n")[2]
    assert 0 < len(shown["200"]) < 300 < len(shown["1k"]) < 1200


def test_a_prompt_does_not_bring_its_own_session_to_mind(memory: MemoryGraph, home: Path) -> None:
    hook("Stop", given("Stop", home))
    assert hook("UserPromptSubmit", given("UserPromptSubmit", home)).stdout == ""
    another = given("UserPromptSubmit", home, session_id="another")
    assert "Which region was it?" in hook("UserPromptSubmit", another).stdout


def test_no_secret_is_stored_looked_up_or_answered(memory: MemoryGraph, home: Path) -> None:
    token = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    memory.load(f'Node(node_id="note", name="Region", data="the region needs {token}");')
    result = hook("UserPromptSubmit", given("UserPromptSubmit", home, prompt=f"region for {token}?"))
    assert "the region needs [masked: GitHub token]" in result.stdout
    hook("Stop", given("Stop", home))
    rows = memory.query("MATCH (n {namespace: $namespace}) WHERE NOT n:Node RETURN properties(n) AS all")
    kept = json.dumps(rows, default=str) + "".join(p.read_text("utf-8") for p in (home / "home").rglob("*.json"))
    assert "Oslo" in kept
    assert not [secret for secret in (token, "hunter2secret", "correct horse", "k-1234") if secret in kept]


def test_a_dry_run_shows_what_would_be_stored_and_stores_nothing(memory: MemoryGraph, home: Path) -> None:
    shown = hook("Stop", given("Stop", home), "--dry-run").stdout
    assert shown.splitlines()[:2] == [
        f"{SESSION}:",
        "user: Deploy to the staging cluster in Oslo with token [masked: GitHub token].",
    ]
    assert (memory.conversations(), (home / "home").exists()) == ([], False)
    memory.load('Node(node_id="atlas", name="Atlas", data="is deployed to the region Oslo");')
    shown = hook("UserPromptSubmit", given("UserPromptSubmit", home), "--dry-run").stdout
    assert shown.startswith("From the memory")
    assert "Oslo" in shown


def test_while_neo4j_does_not_run_nothing_is_started_and_the_session_waits(
    memory: MemoryGraph, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = os.environ["NEO4J_URI"]
    monkeypatch.delenv("NEO4J_URI")
    for event in ("UserPromptSubmit", "Stop"):
        result = hook(event, given(event, home))
        assert result.stdout == ""
        assert "`memorygraph up` starts it" in result.stderr
    assert [path.name for path in (home / "home").iterdir()] == ["transcripts"]
    monkeypatch.setenv("NEO4J_URI", uri)
    hook("SessionStart", given("SessionStart", home))
    assert texts(memory, SESSION)[-1] == "You are welcome."
    assert PendingTranscripts(memory.namespace).waiting() == []


def test_a_database_that_says_nothing_is_given_up_in_time(memory: MemoryGraph, home: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        settings = {**os.environ, "NEO4J_URI": f"bolt://127.0.0.1:{silent.getsockname()[1]}"}
        command = [sys.executable, "-m", "memorygraph", "hook", "Stop", "--timeout", "1"]
        done = subprocess.run(
            command, input=given("Stop", home), env=settings, capture_output=True, text=True, timeout=60, check=True
        )
        assert "gave up after 1 seconds" in done.stderr
        assert done.stdout == ""
    hook("SessionStart", given("SessionStart", home))
    assert texts(memory, SESSION)[-1] == "You are welcome."


def test_a_transcript_that_is_gone_waits_no_longer(memory: MemoryGraph, home: Path) -> None:
    pending = PendingTranscripts(memory.namespace)
    pending.add(TranscriptRef(str(home / "gone.jsonl"), "gone"))
    hook("Stop", given("Stop", home))
    assert pending.waiting() == []
    assert texts(memory, SESSION)[-1] == "You are welcome."


def test_a_transcript_that_cannot_be_kept_keeps_no_other_waiting(memory: MemoryGraph, home: Path) -> None:
    pending = PendingTranscripts(memory.namespace)
    bad = [TranscriptRef(str(home), f"unreadable {number}") for number in range(5)]
    for ref in bad:
        pending.add(ref)
    result = hook("Stop", given("Stop", home))
    assert "cannot be read" in result.stderr
    assert texts(memory, SESSION)[-1] == "You are welcome."
    assert sorted(ref.conversation for ref in pending.waiting()) == [ref.conversation for ref in bad]


def test_a_session_whose_name_no_conversation_can_have_does_not_wait(memory: MemoryGraph, home: Path) -> None:
    refused = hook("Stop", given("Stop", home, session_id="s" * 3000))
    assert "the id of a session has at most 1,000 characters, and this has 3,000" in refused.stderr
    assert PendingTranscripts(memory.namespace).waiting() == []
    assert hook("Stop", given("Stop", home)).stderr == ""


@pytest.mark.usefixtures("home")
def test_a_transcript_that_is_noted_anew_while_it_is_kept_goes_on_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = TranscriptRef("session.jsonl", "talk")

    def keep(_graph: MemoryGraph, ref: TranscriptRef) -> int:
        if ref == ended:
            PendingTranscripts("hooks").add(ref)  # as the session ends, with messages behind those that were read
        return 1

    monkeypatch.setattr(events, "keep_transcript", keep)
    pending = PendingTranscripts("hooks")
    for ref in (ended, TranscriptRef("other.jsonl", "other")):
        pending.add(ref)
    keep_transcripts(cast("MemoryGraph", None), pending)
    assert pending.waiting() == [ended]


@pytest.mark.usefixtures("home")
def test_a_transcript_that_ends_the_hook_each_time_keeps_no_other_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    def end_if_long(_graph: MemoryGraph, ref: TranscriptRef) -> int:
        if ref.conversation.startswith("long"):
            raise SystemExit  # as at the time limit
        return 1

    monkeypatch.setattr(events, "keep_transcript", end_if_long)
    names = ["old", "long one", "middle", "long two", "new"]
    for name in names:
        PendingTranscripts("hooks").add(TranscriptRef(f"{name}.jsonl", name))
    for _ in names:
        with suppress(SystemExit):
            keep_transcripts(cast("MemoryGraph", None), PendingTranscripts("hooks"))
    assert {ref.conversation for ref in PendingTranscripts("hooks").waiting()} == {"long one", "long two"}


def test_a_transcript_that_is_too_long_is_said_once(
    memory: MemoryGraph, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorygraph.hooks.transcripts.MAX_TRANSCRIPT_BYTES", 10)
    assert "longer than" in hook("SessionEnd", given("SessionEnd", home)).stderr
    assert hook("SessionStart", given("SessionStart", home)).stderr == ""


@pytest.mark.parametrize("whole_namespace", [False, True])
def test_a_forgotten_session_is_not_kept_again_by_what_waits(
    memory: MemoryGraph, home: Path, *, whole_namespace: bool
) -> None:
    hook("Stop", given("Stop", home))
    PendingTranscripts(memory.namespace).add(TranscriptRef(str(home / "session.jsonl"), SESSION))
    if whole_namespace:
        memory.drop_namespace(memory.namespace)
    else:
        memory.forget_conversation(SESSION)
    hook("SessionStart", given("SessionStart", home, session_id="another"))
    assert memory.conversations() == []


def say_later(path: Path, text: str, at: str | None = "2999-01-01T00:00:00Z") -> None:
    """Let a user say more in a transcript, at a time or at an unknown one."""
    [*_, last] = [line for line in map(json.loads, path.read_text("utf-8").splitlines()) if "uuid" in line]
    line = {**last, "type": "user", "parentUuid": last["uuid"], "uuid": text, "timestamp": at}
    line["message"] = {"role": "user", "content": text}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


@pytest.mark.parametrize(
    ("event", "transcript", "conversation"),
    [("Stop", "session.jsonl", SESSION), ("SubagentStop", "agent-def456.jsonl", f"{SESSION}-agent-def456")],
)
@pytest.mark.parametrize("expires", [False, True])
def test_what_was_said_before_a_session_was_forgotten_does_not_come_back(
    memory: MemoryGraph, home: Path, event: str, transcript: str, conversation: str, *, expires: bool
) -> None:
    hook(event, given(event, home))
    assert texts(memory, conversation)
    if expires:
        memory.expire_conversation(conversation, at=datetime.now(UTC))
    else:
        memory.forget_conversation(conversation)
    hook(event, given(event, home))
    assert memory.conversations() == []
    say_later(home / transcript, "nobody knows when", None)
    for text in ("after it", "and more"):
        say_later(home / transcript, text)
        assert hook(event, given(event, home)).stderr == ""
    assert texts(memory, conversation) == ["after it", "and more"]
    assert len(memory.messages(conversation).versions()) == 1
    records = "MATCH (load:Load {namespace: $namespace}) RETURN load"
    said = str([each.as_dict() for each in memory.revisions()]) + str(memory.query(records))
    assert conversation not in said


def test_what_is_said_while_a_session_is_being_forgotten_is_not_kept(
    memory: MemoryGraph, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook("Stop", given("Stop", home))
    with monkeypatch.context() as interrupted:
        interrupted.setattr("memorygraph.graph.forgetting.finish", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            memory.forget_conversation(SESSION)
    hook("Stop", given("Stop", home))
    assert memory.conversations() == []
    memory.forget_conversation(SESSION)
    say_later(home / "session.jsonl", "after it")
    hook("Stop", given("Stop", home))
    assert texts(memory, SESSION) == ["after it"]


def test_the_forgetting_of_another_session_leaves_a_session_whole(memory: MemoryGraph, home: Path) -> None:
    hook("Stop", given("Stop", home, session_id="another"))
    memory.forget_conversation("claude-code-another")
    hook("Stop", given("Stop", home))
    assert texts(memory, SESSION)[-1] == "You are welcome."
    assert [info.name for info in memory.conversations()] == [SESSION]


def test_the_record_of_a_forgotten_conversation_that_no_hook_kept_has_no_hash_of_its_name(memory: MemoryGraph) -> None:
    memory.messages("letters to Ada").append({"role": "user", "content": "Dear Ada"})
    memory.forget_conversation("letters to Ada")
    memory.messages(SESSION).append({"role": "user", "content": "Hi"})
    memory.forget_conversation(SESSION)
    kept = "MATCH (load:Load {namespace: $namespace}) RETURN size(load.transcripts) AS hashes ORDER BY load.revision"
    assert [row["hashes"] for row in memory.query(kept)] == [None, 1]


def test_a_long_session_does_not_hide_what_others_know(memory: MemoryGraph, home: Path) -> None:
    own = json.loads(given("UserPromptSubmit", home, prompt="zebra question number", session_id="own"))
    said = [{"role": "user", "content": f"zebra question number {number}"} for number in range(60)]
    memory.messages("claude-code-own").extend(said)
    memory.messages("other").append({"role": "user", "content": "a zebra was seen in the office of the corridor"})
    assert "a zebra was seen" in hook("UserPromptSubmit", json.dumps(own), "--limit", "3").stdout


@pytest.mark.parametrize(
    ("arguments", "text", "said"),
    [
        (["Stop"], "", "not JSON"),
        (["Stop"], "[]", "no session_id"),
        (["Stop"], '{"session_id": 1}', "no session_id"),
        (["Stop"], "[" * 9000, "not JSON"),
        (["Nothing"], "{}", "there is no event `Nothing`"),
        ([], "{}", "Missing argument"),
        (["Stop", "--no-such-option"], "{}", "No such option"),
        (["UserPromptSubmit", "--budget", "plenty"], '{"session_id": "s", "prompt": "Hi"}', "is no budget"),
        (
            ["Stop"],
            '{"session_id": "s", "transcript_path": "/nowhere/x.jsonl"}',
            "there is no transcript /nowhere/x.jsonl",
        ),
        (["Stop"], '{"session_id": "s"}', "names no transcript"),
        (["SubagentStop"], '{"session_id": "s", "agent_transcript_path": "/x.jsonl"}', "names no transcript, or not"),
        (["UserPromptSubmit"], '{"session_id": "s"}', ""),
    ],
)
@pytest.mark.usefixtures("environment", "home")
def test_whatever_is_wrong_is_said_and_the_exit_code_is_0(arguments: list[str], text: str, said: str) -> None:
    result = CliRunner().invoke(cli, [*PATIENT_HOOK, *arguments], input=text)
    assert (result.exit_code, result.stdout) == (0, "")
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_the_transcript_of_a_subagent_without_an_id_is_not_kept_as_that_of_the_session() -> None:
    given = {"session_id": "s", "agent_transcript_path": "/x/agent.jsonl", "transcript_path": "/x/s.jsonl"}
    assert HookInput.parse("SubagentStop", json.dumps(given)).ref is None
    named = HookInput.parse("SubagentStop", json.dumps({**given, "agent_id": "a"})).ref
    assert named is not None
    assert named.conversation.endswith("s-agent-a")


def test_an_event_may_be_written_in_any_case_and_with_hyphens() -> None:
    for name in EVENTS:
        document = (RECORDED / f"{name}.json").read_text("utf-8")
        hyphens = "".join(f"-{c.lower()}" if c.isupper() else c for c in name).removeprefix("-")
        assert HookInput.parse(hyphens, document).event == HookInput.parse(name, document).event == name
