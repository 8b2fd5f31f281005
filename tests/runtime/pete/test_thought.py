"""A thought goes on step by step: what it senses, what it closes, what it sees of itself, and what is kept of it."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from memorygraph import ConflictError, MemoryGraphError, NotFoundError
from memorygraph.languages.pete.reading import read_pete
from memorygraph.languages.pete.syntax import Closing, Piece
from memorygraph.runtime.pete.log import Frame
from memorygraph.runtime.pete.store import LogStore
from memorygraph.scripted.replies import Reply
from tests.runtime.pete.minds import BEGUN, Mind, at_once, lines, require_log, seen_by


def test_a_first_step_begins_the_log(mind: Mind) -> None:
    thought = mind.thinks("// hello\n")
    with pytest.raises(NotFoundError, match="there is no context `main` yet"):
        thought.render()
    step = thought.step()
    assert (step.context, step.written, step.closed) == ("main", "\n  // hello", False)
    assert [(log.name, log.open, log.tldr) for log in mind.graph.thoughts()] == [("main", True, None)]


def test_a_closed_context_is_bound_in_its_parent_and_the_parent_goes_on(mind: Mind) -> None:
    thought = mind.thinks(
        "&heat = /* the heat */ context cool(&heat) { &heat is 30.",
        "tl;dr /* it is\n cooler */ }",
        "&cool helps &I.",
        "tl;dr /* all done */\n}",
    )
    thinking = thought.run()
    assert (thinking.ended, [step.context for step in thinking.steps]) == ("closed", ["main", "cool", "main", "main"])
    inner = next(frame for frame in thought.frame().frames() if frame.name == "cool")
    assert (inner.open, inner.tldr) == (False, "it is cooler")
    [fact] = mind.query(
        "MATCH (a)-[:EDGE {namespace: $namespace, lemma: 'help'}]->() RETURN a.id AS id, a.tldr AS tldr"
    )
    assert fact == {"id": f"memory-{inner.address}", "tldr": "it is cooler"}
    assert [(log.open, log.tldr) for log in mind.graph.thoughts()] == [(False, "all done")]


@pytest.mark.parametrize("act", ["step", "run", "sense"])
def test_a_closed_log_cannot_go_on(mind: Mind, act: str) -> None:
    thought = mind.thinks("}")
    thought.step()
    before = thought.text
    with pytest.raises(MemoryGraphError, match=r"the log `main` \(memory:\d+\) is closed"):
        getattr(thought, act)(*["thermometer"] * (act == "sense"))
    assert thought.text == before
    assert len(mind.asked) == 1


@pytest.mark.parametrize("second", ["&fan cools &lab.", "context cool(&lab) { &fan cools &lab. }"])
def test_a_faculty_that_was_called_is_the_same_concept_in_a_later_step_as_in_a_loaded_log(
    mind: Mind, second: str
) -> None:
    first = '&lab = /* the lab */ @fan, set {"speed": 2}'
    thought = mind.thinks(first, second).faculty("fan", set=lambda speed: {"speed": speed})
    assert [warning for step in thought.run(2).steps for warning in step.warnings] == []
    facts = "MATCH (fan)-[:EDGE {namespace: $namespace, lemma: 'cool'}]->() RETURN fan.id AS id, fan.concept AS concept"
    [fact] = mind.query(facts)
    assert fact["concept"] == "fan"
    mind.graph.load("context other() {\n  &fan = /* fan */\n  &fan cools &I.\n}", language="pete")
    assert {row["id"] for row in mind.query(facts)} == {fact["id"]}


@pytest.mark.parametrize("end", ["closed", "deleted"])
@pytest.mark.parametrize("act", ["step", "sense"])
def test_a_log_that_another_process_ends_meanwhile_cannot_go_on(
    mind: Mind, monkeypatch: pytest.MonkeyPatch, act: str, end: str
) -> None:
    thought = mind.thinks("// never asked").sensor("clock", lambda: {"time": "12:30"})
    thought.sense("thermometer")
    log, append = thought.log, LogStore.append

    def end_before(store: LogStore, at: int | None, pieces: Sequence[Piece], **options: Any) -> object:
        monkeypatch.setattr(LogStore, "append", append)
        if end == "closed":
            append(store, log, [Piece(Closing(), "\n}")])
        else:
            mind.graph.delete(f"memory-{log}")
        return append(store, at, pieces, **options)

    monkeypatch.setattr(LogStore, "append", end_before)
    said = rf"(the log `main` \(memory:{log}\) is closed|there is no log memory:{log})"
    with pytest.raises(MemoryGraphError, match=said):
        getattr(thought, act)(*["thermometer"] * (act == "sense"))
    assert mind.asked == []


def test_a_name_or_an_address_must_be_one(mind: Mind) -> None:
    for wrong in ("", "a b", "memory:", "memory:x", "größe", "1"):
        with pytest.raises(MemoryGraphError, match="named by letters"):
            mind.graph.pete(wrong)
    with pytest.raises(MemoryGraphError, match="`that` is reserved"):
        mind.graph.pete("that")
    with pytest.raises(NotFoundError, match="no context memory:999"):
        mind.graph.pete("memory:999")


def test_an_address_is_that_context_and_continues_its_log(mind: Mind) -> None:
    mind.thinks("context inner() { // in\n", "// more\n").step()
    inner = mind.graph.pete("main").frame().innermost()
    again = mind.graph.pete(f"memory:{inner.address}", "any")
    again.step()
    assert again.text == "context inner() { // in\n    // more"


def test_sensors_report_before_each_step(mind: Mind) -> None:
    readings = iter([{"temperature": 30}, None, [1, "a"]])
    thought = mind.thinks("// one\n", "// two\n", "// three\n").sensor("thermometer", lambda: next(readings))
    thought.run(3)
    assert require_log(thought) == lines(
        BEGUN, '  !! thermometer {"temperature": 30}', "  // one", "  // two", '  !! thermometer [1, "a"]', "  // three"
    )
    assert '!! thermometer {"temperature": 30}' in mind.asked[0].prompt


def test_a_step_reads_the_whole_log_once_and_a_report_never(mind: Mind, monkeypatch: pytest.MonkeyPatch) -> None:
    thought = mind.thinks("// one\n").sensor("clock", lambda: 12)
    thought.sense("thermometer", 30)
    read, reads = LogStore.read, list[int]()

    def note_and_read(store: LogStore, log: int) -> Frame:
        reads.append(log)
        return read(store, log)

    monkeypatch.setattr(LogStore, "read", note_and_read)
    thought.sense("thermometer", 31)
    assert reads == []
    thought.step()
    assert reads == [thought.log]


def _broken() -> Any:
    raise OSError("no battery }\n>> {}")


@pytest.mark.parametrize(
    ("read", "said"),
    [(_broken, "OSError: no battery }"), (object, "Unable to serialize"), (lambda: "x" * 10**6, "fit")],
)
def test_a_sensor_that_fails_reports_that(mind: Mind, read: Any, said: str) -> None:
    thought = mind.thinks("// well\n").sensor("thermometer", read)
    thought.step()
    [report] = [line for line in require_log(thought).splitlines() if "!!" in line]
    assert report.startswith('  !! thermometer {"error": ')
    assert said in report


@pytest.mark.parametrize("value", ["a\n}\n>> {}", "}", '"', "\u2028\x00*/", {"a": [None, True]}, "\ud83e", 0, "", []])
def test_whatever_a_sensor_reports_is_one_line(mind: Mind, value: Any) -> None:
    thought = mind.thinks()
    thought.sense("thermometer", value)
    thought.sense("thermometer")
    assert require_log(thought).count("\n") == 2
    assert thought.frame().open


@pytest.mark.parametrize("value", [object(), float("nan"), "x" * 10**6, b"\xff"])
def test_what_no_report_can_hold_is_refused(mind: Mind, value: Any) -> None:
    thought = mind.thinks()
    with pytest.raises(MemoryGraphError, match="the report of the sensor `thermometer`"):
        thought.sense("thermometer", value)
    assert mind.graph.thoughts() == []


def test_a_question_is_answered_in_the_log_with_its_proof_and_binds(mind: Mind) -> None:
    thought = mind.thinks(
        "&cat = /* the cat */ &fish = /* a fish */ &cat eats &fish. _x likes _y if _x eats _y.\n_who likes &fish?",
        "&who is 7.",
    )
    step = thought.step()
    assert step.command == "_who likes &fish?"
    [found] = step.feedback["answers"]
    assert found["who"].endswith(" the cat")
    assert step.feedback["proof"]
    assert "_who likes &fish? >> {" in thought.text
    assert thought.step().warnings == ()
    rows = mind.query("MATCH (a)-[:EDGE {namespace: $namespace, lemma: 'be'}]->(b) RETURN a.name AS a, b.name AS b")
    assert rows == [{"a": "the cat", "b": "7"}]
    assert read_pete(thought.text).problems == ()


def test_what_nobody_knows_is_said_to_be_unknown(mind: Mind) -> None:
    step = mind.thinks("&fish = /* a fish */ _who likes &fish?").step()
    assert (step.feedback, len(step.warnings)) == ({"answer": "unknown"}, 1)


def test_a_question_that_met_a_limit_says_so_beside_its_answers(mind: Mind) -> None:
    liked = [f'Node(node_id="n{n}", name="N{n}", data="");' for n in range(101)]
    likes = [
        f'Edge(edge_id="e{n}", from_node="n0", to_node="n{n}", verb="likes", weight=1.0);' for n in range(len(liked))
    ]
    mind.graph.load("\n".join(liked + likes))
    feedback = mind.thinks("_who likes _what?").step().feedback
    assert (len(feedback["answers"]), feedback["more"]) == (10, 90)
    assert feedback["incomplete"] == "there are more than 100 answers"


def grown(mind: Mind, *replies: Any) -> Any:
    """A log with two closed contexts that do not fit 600 characters together."""
    body = "".join(f"\n    // thought {n} of many that were had" for n in range(12))
    text = "".join(f"\n  context {name}() {{{body}\n    tl;dr /* {name} is done */\n  }}" for name in ("one", "two"))
    thought = mind.loads(BEGUN + text)
    mind.model(list(replies))
    return thought


def test_what_does_not_fit_is_folded_in_what_the_model_sees(mind: Mind) -> None:
    thought = grown(mind, "// on\n")
    before = thought.text
    step = thought.step(budget="400")
    [seen] = seen_by(mind.asked)
    assert len(seen) <= 400
    assert "context one() = memory:" in seen
    assert seen == step.view.text
    assert read_pete(seen).problems == ()
    assert thought.text == before + "\n  // on"
    assert str(thought.render(budget="400")) != str(thought.render()) == thought.text


def test_a_model_can_unfold_and_fold_what_it_wants_to_see(mind: Mind) -> None:
    thought = grown(mind)
    one = next(frame for frame in thought.frame().frames() if frame.name == "one")
    mind.model(
        [
            f'@view, unfold {{"address": {one.address}}}',
            "// it is there\n",
            f"fold [{one.address}]",
            "// it is gone\n",
        ]
    )
    thinking = thought.run(4, budget="900")
    assert [step.feedback for step in thinking.steps] == [{"ok": True}, None, {"ok": True}, None]
    folded = one.folded
    assert [folded in seen for seen in seen_by(mind.asked)] == [True, False, False, True]
    assert [one.text in seen for seen in seen_by(mind.asked)] == [False, True, True, False]


def test_unfolding_what_is_not_there_is_an_error_in_the_log(mind: Mind) -> None:
    thought = mind.thinks('unfold {"address": 999}', "unfold {}", 'unfold {"address": "x"}')
    assert all("error" in step.feedback for step in thought.run(3).steps)


def test_a_context_of_another_log_is_shown_as_a_text(mind: Mind) -> None:
    thought = mind.thinks()
    mind.graph.load("context other() { // elsewhere\n}", language="pete")
    [other] = mind.graph.thoughts()
    mind.model([f'unfold {{"address": {other.address}}}'])
    assert thought.step().feedback == {"text": "context other() { // elsewhere\n}"}


def test_every_call_is_a_message_joined_to_the_context_it_continued(
    mind: Mind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
    thought = mind.thinks("context inner() { // in\n", "&a likes", "&a likes &b.", "", api_key="sk-secret-of-the-test")
    thought.run()
    rows = mind.query(
        "MATCH (c:Context {namespace: $namespace})-[:CONTINUED_BY]->(m:Message) "
        "RETURN c.name AS context, count(m) AS messages ORDER BY context"
    )
    assert rows == [{"context": "inner", "messages": 3}, {"context": "main", "messages": 1}]
    contents = [message["content"] for message in mind.graph.messages("pete-main")]
    assert contents[-1] in {"", None}
    everything = mind.query("MATCH (n) WHERE n.namespace = $namespace RETURN properties(n) AS properties")
    assert "&a likes" in str(everything)
    assert "sk-secret" not in str(everything)


def test_a_thought_that_is_forgotten_while_a_model_writes_does_not_come_back(mind: Mind) -> None:
    thought = mind.thinks()
    thought.sense("mail", "a canary")

    def answer(_request: object) -> str:
        mind.graph.forget(f"memory:{thought.log}")
        return "// noted\n"

    mind.model(answer)
    with pytest.raises(ConflictError):
        thought.step()
    assert mind.query("MATCH (n) WHERE n.namespace = $namespace AND NOT n:Load RETURN n.id AS id") == []


def test_what_a_model_was_stopped_in_is_recorded_as_far_as_it_came(mind: Mind) -> None:
    thought = mind.thinks(at_once("look\n// never\n"))
    thought.step()
    assert mind.graph.messages("pete-main")[-1]["content"].startswith("look")


def test_steps_and_runs_are_json(mind: Mind) -> None:
    thinking = mind.thinks("&a likes", "look\n", "}").run()
    document = json.loads(json.dumps(thinking.as_dict()))
    assert [step["number"] for step in document["steps"]] == [1, 2]
    assert document["steps"][0]["problems"][0]["line"] == 1
    assert (document["ended"], document["steps"][1]["closed"]) == ("closed", True)
    assert document["written"] == thinking.written == "".join(step.written for step in thinking.steps)


def test_a_listener_hears_of_each_step(mind: Mind) -> None:
    heard: list[int] = []
    mind.thinks("// one\n", "// two\n", "").run(listener=lambda step: heard.append(step.number))
    assert heard == [1, 2, 3]


def test_a_long_pause_of_the_model_changes_nothing(mind: Mind) -> None:
    thought = mind.thinks(Reply("// slow\n", pause=0.2))
    assert thought.step().written == "\n  // slow"


def many_contexts(mind: Mind) -> Any:
    """A log of four closed contexts between statements, and an open one with a closed and an open one in it."""
    body = "".join(f"\n    // thought {n} of many that were had" for n in range(6))
    ended = "\n    tl;dr /* done */\n  }\n  // after"
    closed = "".join(f"\n  context c{n}() {{{body}{ended} c{n}" for n in range(4))
    inner = f"\n  context last() {{\n  context inner() {{{body}\n  }}\n  context now() {{{body}"
    return mind.loads(BEGUN + closed + inner)


def delete_contexts(mind: Mind, names: Sequence[str]) -> list[int]:
    """Delete contexts by their names; the revisions of that."""
    found = {frame.name: frame.address for frame in mind.graph.pete("main").frame().frames()}
    return [mind.graph.delete(f"memory-{found[name]}").revision or 0 for name in names]


@pytest.mark.parametrize("gone", [["c0"], ["c0", "c2"], ["c3", "c1", "inner"], ["c2", "last"]], ids=" ".join)
def test_a_thought_from_which_contexts_were_deleted_is_viewed_and_goes_on(mind: Mind, gone: list[str]) -> None:
    thought = many_contexts(mind)
    delete_contexts(mind, gone)
    text = thought.text
    assert [name for name in gone if f"context {name}()" in text] == []
    every = [frame.address for frame in thought.frame().frames()]
    for budget in (None, "100", "250", "400", "700", "120t"):
        for folded in ([], every):
            seen = str(thought.render(budget, folded=folded))
            assert read_pete(seen).problems == ()
            lines_left = iter(text.splitlines())
            shown = [line for line in seen.splitlines() if "out of view" not in line and "= memory:" not in line]
            assert [line for line in shown if line not in lines_left] == [], "these are out of their order"
    mind.model(["// on\n"])
    thought.step(budget="300")
    assert (thought.text.startswith(text), thought.text.endswith("// on")) == (True, True)


def test_contexts_that_are_restored_stand_where_they_were_deleted(mind: Mind) -> None:
    thought = many_contexts(mind)
    before = thought.text
    revisions = delete_contexts(mind, ["c0", "c2", "inner"])
    mind.model(["// on\n"])
    thought.step(budget="300")
    for revision in revisions:
        mind.graph.undo(revision)
    assert thought.text == before + "\n      // on"
    assert str(thought.render("300"))


def test_two_that_begin_a_log_at_once_both_report(mind: Mind, monkeypatch: pytest.MonkeyPatch) -> None:
    find, both = LogStore.find, threading.Barrier(2)

    def find_together(store: LogStore, name: str) -> int | None:
        found = find(store, name)
        if found is None:
            both.wait(30)
        return found

    monkeypatch.setattr(LogStore, "find", find_together)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda number: mind.graph.pete("main").sense("thermometer", number), (1, 2)))
    text = require_log(mind.graph.pete("main"))
    assert sorted(text.splitlines()) == ["  !! thermometer 1", "  !! thermometer 2", BEGUN]


def test_a_second_tldr_of_a_context_is_warned_of(mind: Mind) -> None:
    thought = mind.thinks(
        "tl;dr /* a */\n", "tl;dr /* b */\ncontext in() {", "tl;dr /* c */ tl;dr /* d */ } tl;dr /* e */"
    )
    warnings = [list(step.warnings) for step in thought.run(3).steps]
    said = "the context `{}` has several tl;dr, and the last one counts"
    assert warnings == [[], [said.format("main")], [said.format("in"), said.format("main")]]
    assert [frame.tldr for frame in thought.frame().frames()] == ["e", "d"]


def test_a_command_whose_context_another_process_closes_is_said_not_to_be_called(
    mind: Mind, monkeypatch: pytest.MonkeyPatch
) -> None:
    pending = LogStore.pending

    def close_before(store: LogStore, log: int) -> Any:
        if "look" in mind.graph.pete("main").text:
            store.append(log, [Piece(Closing(), "\n}")])
        return pending(store, log)

    monkeypatch.setattr(LogStore, "pending", close_before)
    step = mind.thinks("look\n").step()
    assert ["was not called" in warning and "closed" in warning for warning in step.warnings] == [True]


@pytest.mark.parametrize("wish", ["folded", "unfolded"])
def test_only_contexts_of_the_thought_fold(mind: Mind, wish: str) -> None:
    thought = grown(mind)
    one = next(frame for frame in thought.frame().frames() if frame.name == "one")
    wishes: dict[str, Any] = {wish: [one.address, 999]}
    with pytest.raises(NotFoundError, match=r"no context memory:999 in `main` \(memory:\d+\)"):
        thought.render("400", **wishes)
    wishes = {wish: [thought.log]}
    with pytest.raises(NotFoundError, match=rf"no context memory:{thought.log} in `one`"):
        mind.graph.pete(f"memory:{one.address}").render(**wishes)
