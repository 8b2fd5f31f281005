"""A recorded transcript as messages: what was said, in its order, without secrets and without what nobody said."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from memorygraph.errors import MemoryGraphError, NotFoundError
from memorygraph.hooks import TranscriptRef, read_transcript, transcripts

RECORDED = Path(__file__).parent / "recorded"
SESSION = RECORDED / "session.jsonl"


def said(path: Path = SESSION, *, of_subagent: bool = False) -> list[dict[str, Any]]:
    return [dict(each.message) for each in read_transcript(TranscriptRef(str(path), "talk", of_subagent))]


def test_the_recorded_session_is_what_was_said_in_it() -> None:
    token = "[masked: GitHub token]"
    cut = "x" * 4000 + "\n[... 1000 characters more]"
    calls = [
        ("toolu_01", "Read", {"file_path": "/home/ada/atlas/deploy.yaml"}),
        (
            "toolu_02",
            "Bash",
            {
                "command": "export DB_PASSWORD=[masked: value of a variable such as DB_PASSWORD=] && env",
                "api_key": "[masked: api_key]",
            },
        ),
    ]
    assert said() == [
        {"role": "user", "content": f"Deploy to the staging cluster in Oslo with token {token}."},
        {
            "role": "assistant",
            "content": "I look at both files.",
            "tool_calls": [
                {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
                for id_, name, arguments in calls
            ],
        },
        {
            "role": "tool",
            "tool_call_id": "toolu_01",
            "content": "     1→region: oslo\n     2→password: "
            '"[masked: quoted value of a name such as password, token or api_key]"',
        },
        {"role": "tool", "tool_call_id": "toolu_02", "content": cut},
        {"role": "assistant", "content": "It runs in Oslo."},
        {"role": "user", "content": "Which region was it?\n\n[image]"},
        {"role": "assistant", "content": "Oslo."},
        {"role": "user", "content": "Thanks"},
        {"role": "assistant", "content": "You are welcome."},
    ]


def test_each_message_has_the_time_of_its_first_line() -> None:
    times = [each.at.isoformat() for each in read_transcript(TranscriptRef(str(SESSION), "talk")) if each.at]
    assert times[:2] == ["2026-03-01T22:38:42.557000+00:00", "2026-03-01T22:38:44.557000+00:00"]
    assert len(times) == 9


def test_the_transcript_of_a_subagent_is_its_own() -> None:
    assert said(RECORDED / "agent-def456.jsonl", of_subagent=True) == [
        {"role": "user", "content": "Find where the region is set."},
        {"role": "assistant", "content": "In deploy.yaml."},
    ]
    assert said(RECORDED / "agent-def456.jsonl") == []


def test_at_every_line_the_messages_so_far_are_a_beginning_of_those_to_come(tmp_path: Path) -> None:
    lines = SESSION.read_bytes().splitlines(keepends=True)
    abandoned = next(number for number, line in enumerate(lines) if b"Delete it" in line)
    path = tmp_path / "session.jsonl"
    whole = said()
    for end in range(1, len(lines) + 1):
        path.write_bytes(b"".join(lines[:end]))
        if end not in range(abandoned + 1, abandoned + 3):  # the branch that was taken back
            so_far = said(path)
            assert so_far[:-1] == whole[: max(len(so_far) - 1, 0)]


@pytest.mark.parametrize(
    "line",
    [b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b'{"type": "user"}', b'{"type": "user", "message": "x"}', b"[" * 9000,
     b'{"type": "user", "message": {"content": null}}',
     b'{"type": "assistant", "uuid": 1, "message": {"content": [1]}}',
     b'{"type": "assistant", "message": {"content": [{"type": "text", "text": null}]}}',
     b'{"type": "user", "message": {"role": "user", "content": [{"type": "tool_result"}, {"text": 1}, null]}}'],
)  # fmt: skip
def test_a_line_that_is_none_of_the_format_hides_no_other(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(line + b"\n" + SESSION.read_bytes() + line[: len(line) // 2])
    assert [each for each in said(path) if each in said()] == said()


@pytest.mark.parametrize("damage", [b"", b'{"type": "assistant", "uu', b'{"uuid": "z", "parentUuid": "gone"}'])
@pytest.mark.parametrize("key", ["parentUuid", "logicalParentUuid"])
def test_a_line_that_is_damaged_or_missing_hides_no_line_before_it(tmp_path: Path, damage: bytes, key: str) -> None:
    entries = [
        {
            "type": role,
            "uuid": role + text,
            "parentUuid": None,
            key: before,
            "message": {"role": role, "content": [{"type": "text", "text": text}]},
        }
        for role, text, before in [
            ("user", "1", None),
            ("assistant", "2", "user1"),
            ("user", "taken back", "assistant2"),
            ("user", "3", "assistant2"),
            ("assistant", "4", "user3"),
            ("user", "5", "assistant4"),
        ]
    ]
    lines = [json.dumps(entry).encode() for entry in entries]
    lines[4] = damage
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"\n".join(lines))
    assert [each["content"] for each in said(path)] == ["1", "2", "3", "5"]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({}, ""),
        ({"content": None}, ""),
        ({"content": [{"type": "text", "text": ""}]}, ""),
        ({"content": [{"type": "text", "text": "a"}, {"type": "image"}]}, "a\n[image]"),
    ],
)
def test_a_tool_that_answered_nothing_has_said_nothing(tmp_path: Path, answer: dict[str, Any], text: str) -> None:
    result = {"type": "tool_result", "tool_use_id": "t", **answer}
    path = tmp_path / "session.jsonl"
    path.write_text(json.dumps({"type": "user", "message": {"role": "user", "content": [result]}}), "utf-8")
    assert said(path) == [{"role": "tool", "tool_call_id": "t", "content": text}]


def said_by_tool(tmp_path: Path, text: str) -> str:
    result = {"type": "tool_result", "tool_use_id": "t", "content": text}
    path = tmp_path / "session.jsonl"
    path.write_text(json.dumps({"type": "user", "message": {"role": "user", "content": [result]}}), "utf-8")
    [answer] = said(path)
    return str(answer["content"])


def test_of_a_long_answer_of_a_tool_little_more_is_masked_than_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    masked: list[int] = []

    def count_masked(text: str) -> str:
        masked.append(len(text))
        return text

    monkeypatch.setattr(transcripts, "mask_secrets", count_masked)
    assert said_by_tool(tmp_path, "x" * 1_000_000) == "x" * 4000 + "\n[... 996000 characters more]"
    assert sum(masked) < 20_000


@pytest.mark.parametrize("before", range(15_900, 16_010, 10))
def test_no_part_of_a_secret_is_kept_where_what_was_masked_before_it_is_long(tmp_path: Path, before: int) -> None:
    begin, end = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----\n"
    key = begin + "A" * (before - len(begin + end)) + end
    kept = said_by_tool(tmp_path, key + "ghp_" + "a" * 100 + "\n" + "x" * 10_000)
    assert kept.startswith("[masked: private key]\n[masked: GitHub token]\nxxx")
    assert kept.endswith("characters more]")


def said_by_user(tmp_path: Path, text: str) -> list[dict[str, Any]]:
    path = tmp_path / "session.jsonl"
    path.write_text(json.dumps({"type": "user", "message": {"role": "user", "content": text}}), "utf-8")
    return said(path)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a<system-reminder>b\nc</system-reminder>d<system-reminder>e</system-reminder>f", "adf"),
        ("<system-reminder>a<system-reminder>b</system-reminder>c</system-reminder>d", "c</system-reminder>d"),
        ("a</system-reminder>b<system-reminder>c", "a</system-reminder>b<system-reminder>c"),
        ("a<system-reminder>b</system-reminder>c<system-reminder>d", "ac<system-reminder>d"),
    ],
)
def test_of_what_the_user_said_the_reminders_are_left_out(tmp_path: Path, text: str, left: str) -> None:
    assert said_by_user(tmp_path, text) == [{"role": "user", "content": left}]


def test_many_tags_that_are_not_closed_are_read_at_once(tmp_path: Path) -> None:
    text = "<system-reminder>" * 20_000  # which took 20 s where each looked for its end
    start = time.process_time()
    assert said_by_user(tmp_path, text) == [{"role": "user", "content": text}]
    assert time.process_time() - start < 5


def test_a_line_that_is_its_own_ancestor_ends_the_path(tmp_path: Path) -> None:
    entry = {"type": "user", "uuid": "a", "parentUuid": "a", "message": {"role": "user", "content": "Hi"}}
    path = tmp_path / "session.jsonl"
    path.write_text(json.dumps(entry), "utf-8")
    assert said(path) == [{"role": "user", "content": "Hi"}]


def test_a_transcript_that_is_not_there_or_too_long_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFoundError, match="no transcript"):
        said(tmp_path / "none")
    monkeypatch.setattr(transcripts, "MAX_TRANSCRIPT_BYTES", 10)
    with pytest.raises(MemoryGraphError, match="longer than"):
        said()


def test_half_of_a_character_is_replaced(tmp_path: Path) -> None:
    cut = {"type": "user", "message": {"role": "user", "content": "cut \ud83d and whole \U0001f600"}}
    (tmp_path / "cut.jsonl").write_text(json.dumps(cut), "ascii")
    assert said(tmp_path / "cut.jsonl") == [{"role": "user", "content": "cut \ufffd and whole \U0001f600"}]


@pytest.mark.parametrize(
    ("queued", "kept"),
    [
        ({"commandMode": "prompt", "origin": {"kind": "human"}, "prompt": "never touch it"}, "never touch it"),
        ({"commandMode": "prompt", "prompt": "never touch it"}, "never touch it"),  # as older agents write it
        (
            {
                "commandMode": "prompt",
                "prompt": [{"type": "text", "text": "like this"}, {"type": "image", "source": {}}],
            },
            "like this\n\n[image]",
        ),
        ({"commandMode": "task-notification", "prompt": "<task-notification>done</task-notification>"}, None),
        ({"commandMode": "prompt", "origin": {"kind": "peer"}, "prompt": "from another session"}, None),
        ({"commandMode": "prompt", "isMeta": True, "prompt": "go on"}, None),
        ({"commandMode": "prompt", "prompt": {"text": 1}}, None),
        ({"prompt": "from a coordinator"}, None),
    ],
)
def test_what_the_user_types_while_the_agent_works_was_said_by_the_user(
    tmp_path: Path, queued: dict[str, Any], kept: str | None
) -> None:
    use = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "ok"}
    lines: list[dict[str, Any]] = [
        {"type": "user", "message": {"content": "Clean up."}},
        {"type": "assistant", "message": {"id": "m1", "content": [use]}},
        {"type": "user", "message": {"content": [result]}},
        {"type": "attachment", "attachment": {"type": "queued_command", **queued}},
        {"type": "attachment", "attachment": {"type": "date_change", "prompt": "x", "commandMode": "prompt"}},
        {"type": "assistant", "message": {"id": "m2", "content": [{"type": "text", "text": "Done."}]}},
    ]
    entries = [{**line, "uuid": str(n), "parentUuid": str(n - 1) if n else None} for n, line in enumerate(lines)]
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, entries)), "utf-8")
    found = [(each["role"], each.get("content")) for each in said(path)]
    typed = [("user", kept)] if kept else []
    assert found == [("user", "Clean up."), ("assistant", None), ("tool", "ok"), *typed, ("assistant", "Done.")]


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        (
            "<command-name>/review</command-name>\n<command-args>the retry logic of the mailer</command-args>",
            "/review the retry logic of the mailer",
        ),
        (
            "<command-message>note</command-message>\n<command-name>/note</command-name>\n"
            "<command-args>a </command-args> b\nc</command-args>",
            "/note a </command-args> b\nc",
        ),
        (
            "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>",
            "",
        ),
        ("<command-name>/clear</command-name>", ""),
        ("<command-args>alone</command-args>", ""),
        ("<local-command-stdout>a <command-args>b</command-args></local-command-stdout>", ""),
        ("<task-notification>\n<status>completed</status>\n</task-notification>", ""),
        ("[Request interrupted by user]", ""),
        ("[Request interrupted by user for tool use]", ""),
        ("[Request interrupted by user] is what it says", "[Request interrupted by user] is what it says"),
    ],
)
def test_a_command_with_its_arguments_was_typed_and_what_the_agent_writes_was_not(
    tmp_path: Path, text: str, typed: str
) -> None:
    assert said_by_user(tmp_path, text) == ([{"role": "user", "content": typed}] if typed else [])
