"""The evaluation: its figures on the small conversations, and that it looks at no answer before it ranks."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memorygraph import EmbeddedServer, MemoryGraph
from memorygraph.errors import MemoryGraphError
from memorygraph.graph.connection import Connection
from memorygraph.memory import evaluation
from memorygraph.memory.evaluation import evaluate_recall, evidence_of, facts_of, questions_of, turns_of

CONVERSATIONS = Path(__file__).parent / "conversations"


def document() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((CONVERSATIONS / "friends.json").read_text("utf-8"))
    return loaded


def rankings(connection: Connection, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What is ranked for each question, as turns."""
    seen: list[list[str]] = []
    ranked = evaluation.rank_turns

    def kept(*args: Any, **options: Any) -> Any:
        for ranking in ranked(*args, **options):
            seen.append(ranking)
            yield ranking

    with monkeypatch.context() as patched:
        patched.setattr(evaluation, "rank_turns", kept)
        evaluate_recall(connection, folder, facts=True)
    return seen


def assert_figures(connection: Connection, leeway: float) -> None:
    words = evaluate_recall(connection, CONVERSATIONS, facts=False).as_dict()
    assert {name: words[name] for name in ("questions", "facts", "embedder")} == {
        "questions": 15,
        "facts": False,
        "embedder": None,
    }
    assert [words[f"recall_at_{depth}"] for depth in (5, 10, 20)] == pytest.approx(WORDS, abs=leeway)
    facts = evaluate_recall(connection, CONVERSATIONS, facts=True).as_dict()
    assert [facts[f"recall_at_{depth}"] for depth in (5, 10, 20)] == pytest.approx(FACTS, abs=leeway)
    assert {name: figures["questions"] for name, figures in facts["categories"].items()} == {
        "1": 3,
        "2": 3,
        "3": 2,
        "4": 5,
        "5": 2,
    }


def test_the_figures_of_the_small_conversations(connection: Connection) -> None:
    assert_figures(connection, ONE_PLACE)


@pytest.mark.slow
@pytest.mark.usefixtures("quick_java")
def test_the_figures_are_exact_where_nothing_else_is_stored(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path / "home", EmbeddedServer().artifacts)
    try:
        with MemoryGraph.connect(server=server) as graph:
            assert_figures(graph.connection, 0)
    finally:
        server.down()


@pytest.mark.alone  # how rare a word is depends on what other tests store meanwhile
def test_answers_and_evidence_change_no_ranking(
    connection: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scrambled = document()
    chance = random.Random(7)
    for item in scrambled["qa"]:
        item["answer"] = item["adversarial_answer"] = chance.choice(["Lisbon", "observatory", "tomatoes"])
        item["evidence"] = [f"D{chance.randint(1, 3)}:{chance.randint(1, 14)}"]
        item["category"] = chance.randint(1, 5)
    (tmp_path / "friends.json").write_text(json.dumps(scrambled), "utf-8")
    before = rankings(connection, CONVERSATIONS, monkeypatch)
    assert rankings(connection, tmp_path, monkeypatch) == before
    assert len(before) == 16
    assert max(map(len, before)) <= 20


def test_evidence_is_read_after_all_of_its_questions_were_ranked(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    monkeypatch.setattr(evaluation, "read_documents", lambda _: [document()])
    read = evaluation.evidence_of

    def seen(value: Any) -> Any:
        events.append("evidence")
        return read(value)

    monkeypatch.setattr(evaluation, "evidence_of", seen)
    evaluate_recall(
        connection, CONVERSATIONS, facts=False, progress=lambda done, total: events.append(f"{done}/{total}")
    )
    assert events == [*(f"{number}/16" for number in range(1, 17)), "evidence"]


@pytest.mark.alone
def test_nothing_is_left_behind(graph: MemoryGraph) -> None:
    evaluate_recall(graph.connection, CONVERSATIONS, facts=True)
    rows = graph.query("MATCH (n:Node|Message|Namespace) WHERE n.namespace STARTS WITH 'evaluate-' RETURN n")
    assert rows == []
    assert [space for space in graph.namespaces() if space.name.startswith("evaluate-")] == []


def test_both_layouts_of_a_conversation_say_the_same() -> None:
    flat = document()
    nested = {
        "qa": flat["qa"],
        "conversation": {key: value for key, value in flat.items() if not key.endswith(("qa", "_observation"))},
        "observation": {key: value for key, value in flat.items() if key.endswith("_observation")},
    }
    readers: list[Callable[[Any], Any]] = [turns_of, facts_of, questions_of, evidence_of]
    for read in readers:
        assert read(flat) == read(nested)
    assert len(turns_of(flat)) == 42
    assert turns_of(flat)[0].at.isoformat() == "2024-03-03T09:12:00+00:00"
    assert facts_of(flat)[6][1] == ("D2:2", "D2:4")


@pytest.mark.parametrize(
    "content",
    ["no JSON", "[]", "{}", '{"qa": []}', '{"qa": [{"question": "q"}]}', '{"session_1": [{}], "qa": []}'],
)
def test_a_file_that_is_no_conversation_is_named(connection: Connection, tmp_path: Path, content: str) -> None:
    (tmp_path / "one.json").write_text(content, "utf-8")
    with pytest.raises(MemoryGraphError, match=r"one\.json|no conversation with questions"):
        evaluate_recall(connection, tmp_path, facts=False)


def test_evidence_that_several_turns_share_one_string_is_read() -> None:
    changed = document()
    changed["qa"][0]["evidence"] = ["D1:8; D2:9", "D:1", "D9:99", "D1:100"]
    assert evidence_of(changed)[0].turns == {"D1:8", "D2:9"}


WORDS = [56.7, 63.3, 70.0]
FACTS = [83.3, 93.3, 96.7]
ONE_PLACE = 3.4
"""What one piece of evidence counts: how rare a word is depends on the whole index, which other tests fill too."""
