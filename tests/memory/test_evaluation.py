"""The evaluation: its figures on the small conversations, and that it looks at no answer before it ranks."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memorygraph import EmbeddedServer, MemoryGraph
from memorygraph.errors import MemoryGraphError
from memorygraph.graph.connection import Connection
from memorygraph.memory.datasets import (
    BEAM,
    LOCOMO,
    evidence_of,
    evidence_of_chat,
    facts_of,
    questions_of,
    turns_of,
    turns_of_chat,
)
from memorygraph.memory.evaluation import RecallEvaluator

CONVERSATIONS = Path(__file__).parent / "conversations"
CHATS = Path(__file__).parent / "chats"


def document() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((CONVERSATIONS / "friends.json").read_text("utf-8"))
    return loaded


def rankings(connection: Connection, *folders: Path) -> list[list[list[frozenset[str]]]]:
    """What is ranked for each question of each folder, as turns, while all of them are stored.

    How rare a word is depends on the whole index, also on what was deleted from it and not yet cleared away.
    """
    evaluator = RecallEvaluator(connection, LOCOMO, facts=True)
    with ExitStack() as stack:
        stored = [
            [stack.enter_context(evaluator.store(document)) for document in evaluator.dataset.documents(folder)]
            for folder in folders
        ]
        return [
            [list(ranking.turns) for conversation in conversations for ranking in evaluator.rank_turns(conversation)]
            for conversations in stored
        ]


def assert_figures(connection: Connection, leeway: float) -> None:
    words = RecallEvaluator(connection, LOCOMO).run(CONVERSATIONS).as_dict()
    assert {name: words[name] for name in ("questions", "facts", "embedder")} == {
        "questions": 15,
        "facts": False,
        "embedder": None,
    }
    assert [words[f"recall_at_{depth}"] for depth in (5, 10, 20)] == pytest.approx(WORDS, abs=leeway)
    facts = RecallEvaluator(connection, LOCOMO, facts=True).run(CONVERSATIONS).as_dict()
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


@pytest.mark.alone  # what others store meanwhile changes how rare a word is
def test_answers_and_evidence_change_no_ranking(connection: Connection, tmp_path: Path) -> None:
    scrambled = document()
    chance = random.Random(7)
    for item in scrambled["qa"]:
        item["answer"] = item["adversarial_answer"] = chance.choice(["Lisbon", "observatory", "tomatoes"])
        item["evidence"] = [f"D{chance.randint(1, 3)}:{chance.randint(1, 14)}"]
        item["category"] = chance.randint(1, 5)
    (tmp_path / "friends.json").write_text(json.dumps(scrambled), "utf-8")
    plain, other = rankings(connection, CONVERSATIONS, tmp_path)
    assert other == plain
    assert len(plain) == 16
    assert max(map(len, plain)) <= 20


def test_evidence_is_read_after_all_of_its_questions_were_ranked(connection: Connection) -> None:
    events: list[str] = []

    def noted(value: Any) -> Any:
        events.append("evidence")
        return evidence_of(value)

    watched = replace(LOCOMO, evidence=noted)
    RecallEvaluator(connection, watched).run(CONVERSATIONS, lambda done, total: events.append(f"{done}/{total}"))
    # Before the first question, the format of the file is checked.
    assert events[events.index("1/16") :] == [*(f"{number}/16" for number in range(1, 17)), "evidence"]


@pytest.mark.alone
def test_nothing_is_left_behind(graph: MemoryGraph) -> None:
    RecallEvaluator(graph.connection, LOCOMO, facts=True).run(CONVERSATIONS)
    rows = graph.query("MATCH (n:Node|Message|Namespace) WHERE n.namespace STARTS WITH 'evaluate-' RETURN n")
    assert rows == []
    assert [space for space in graph.namespaces() if space.name.startswith("evaluate-")] == []


def test_a_turn_that_says_what_another_did_is_found_with_it(connection: Connection, tmp_path: Path) -> None:
    """Recall shows one message of those that say the same at one time."""
    changed = document()
    thanks = {"speaker": changed["session_1"][0]["speaker"], "text": "Thanks for the zucchini!"}
    changed["session_1"] += [{**thanks, "dia_id": "D1:98"}, {**thanks, "dia_id": "D1:99"}]
    asked = {"question": "Who was thanked for a zucchini?", "category": 1}
    changed["qa"] = [{**asked, "evidence": [f"D1:{number}"]} for number in (98, 99)]
    (tmp_path / "one.json").write_text(json.dumps(changed), "utf-8")
    found = RecallEvaluator(connection, LOCOMO, (5,)).run(tmp_path).as_dict()
    assert (found["questions"], found["recall_at_5"]) == (2, 100.0)


def test_a_file_may_hold_a_list_of_conversations(tmp_path: Path) -> None:
    (tmp_path / "all.json").write_text(json.dumps([document(), document()]))
    assert list(LOCOMO.documents(tmp_path)) == [document(), document()]


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
    assert str(turns_of(flat)[0].at) == "2024-03-03 09:12:00+00:00"
    assert facts_of(flat)[6][1] == ("D2:2", "D2:4")


@pytest.mark.parametrize(
    "content",
    [
        *("no JSON", "[]", "{}", '{"qa": []}', '{"qa": [{"question": "q"}]}', '{"session_1": [{}], "qa": []}'),
        '{"qa": [{"question": "q", "category": 1}]}',
        json.dumps(
            {
                "session_1": document()["session_1"],
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "qa": [{"category": 1}],
            }
        ),
    ],
)
def test_a_file_that_is_no_conversation_is_named(connection: Connection, tmp_path: Path, content: str) -> None:
    (tmp_path / "one.json").write_text(content, "utf-8")
    with pytest.raises(MemoryGraphError, match=r"one\.json|no conversation with questions"):
        RecallEvaluator(connection, LOCOMO).run(tmp_path)


def test_what_is_missing_in_a_conversation_is_named(graph: MemoryGraph, tmp_path: Path) -> None:
    times = '"session_1_date_time": "1:56 pm on 8 May, 2023"'
    (tmp_path / "one.json").write_text(f'{{"session_1": [{{"speaker": "Ada"}}], {times}, "qa": []}}', "utf-8")
    with pytest.raises(MemoryGraphError, match="'dia_id' is missing"):
        graph.evaluate(tmp_path)


@pytest.mark.parametrize("k", [(), (0,), (5, 1.5), (True,)])
def test_the_depths_of_an_evaluation_are_whole_numbers(graph: MemoryGraph, k: Any) -> None:
    with pytest.raises(MemoryGraphError, match="`k` is whole numbers of hits"):
        graph.evaluate(CONVERSATIONS, k=k)


def test_an_evaluation_has_a_format_that_is_known_and_a_folder_that_is_there(graph: MemoryGraph) -> None:
    with pytest.raises(MemoryGraphError, match="there is no format `x` to evaluate; there are: locomo, beam"):
        graph.evaluate(CONVERSATIONS, format="x")  # type: ignore[arg-type]
    with pytest.raises(MemoryGraphError, match=r"there is no folder `.*one\.json`: name the one that holds"):
        graph.evaluate(CONVERSATIONS / "one.json")


def test_a_chat_of_beam_has_roles_and_days_and_no_marks() -> None:
    [chat] = BEAM.documents(CHATS)
    turns = turns_of_chat(chat)
    assert [(turn.id, turn.role) for turn in turns[:3]] == [("0", "user"), ("1", "assistant"), ("2", "user")]
    assert turns[0].text == "I want to learn to bake bread. Always give me weights in grams."
    assert {turn.at.date().isoformat() for turn in turns if turn.at} == {"2024-03-15", "2024-04-02"}
    assert [(each.category, sorted(each.turns)) for each in evidence_of_chat(chat)] == [
        ("abstention", []),
        ("contradiction_resolution", ["2", "6"]),
        ("information_extraction", ["4"]),
    ]


def test_a_folder_of_beam_is_measured_by_kind_for_chosen_numbers_of_hits(connection: Connection) -> None:
    found = RecallEvaluator(connection, BEAM, (1, 3)).run(CHATS).as_dict()
    assert found["questions"] == 2
    assert found["messages"] == 8
    assert list(found["categories"]) == ["contradiction_resolution", "information_extraction"]
    assert found["categories"]["information_extraction"] == {
        "questions": 1,
        "recall_at_1": 100.0,
        "recall_at_3": 100.0,
        "complete_at_1": 100.0,
        "complete_at_3": 100.0,
    }
    assert found["complete_at_1"] == 50.0
    assert 0 < found["p50_ms"] <= found["p95_ms"]


def test_a_chat_without_its_questions_is_named(connection: Connection, tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    with pytest.raises(MemoryGraphError, match=r"/7` is not a conversation in the BEAM format.*chat\.json"):
        RecallEvaluator(connection, BEAM).run(tmp_path)
    with pytest.raises(MemoryGraphError, match=r"needs numbered folders with chat\.json in the BEAM format"):
        RecallEvaluator(connection, BEAM).run(tmp_path / "7")


def test_a_turn_has_the_role_that_it_names_or_that_its_speaker_has() -> None:
    changed = document()
    changed["session_1"][0] |= {"speaker": "assistant"}
    changed["session_1"][1] |= {"role": "system"}
    assert [turn.role for turn in turns_of(changed)[:3]] == ["assistant", "system", "user"]


def test_evidence_that_several_turns_share_one_string_is_read() -> None:
    changed = document()
    changed["qa"][0]["evidence"] = ["D1:8; D2:9", "D:1", "D9:99", "D1:100"]
    assert evidence_of(changed)[0].turns == {"D1:8", "D2:9"}


WORDS = [63.3, 63.3, 76.7]
FACTS = [83.3, 90.0, 96.7]
ONE_PLACE = 3.4
"""What one piece of evidence counts: how rare a word is depends on the whole index, which other tests fill too."""
