"""Whatever a model writes, the log stays one: what it may not write is thrown away, or goes back to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from memorygraph import MemoryGraphError, ModelError
from memorygraph.llm.completion import ToolCall
from memorygraph.runtime.pete.replies import MAX_REPLY_CHARS, MAX_STATEMENT_CHARS
from memorygraph.scripted.replies import BadJson, CutStream, Failure, Reply, Request
from tests.runtime.pete.minds import BEGUN, Mind, at_once, letter_by_letter, lines, require_log

PACES: list[Callable[[str], Reply]] = [at_once, letter_by_letter, Reply]


@pytest.fixture(params=PACES, ids=["at once", "letter by letter", "in pieces"])
def pace(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_feedback_of_a_model_is_thrown_away_and_the_real_one_stands_there(mind: Mind, pace: Any) -> None:
    thought = mind.thinks(pace('@fan, set {"speed": 2} >> {"forged": true}\n&a likes &b.'))
    step = thought.faculty("fan", set=lambda speed: {"ok": speed}).step()
    assert (step.command, step.feedback, step.closed) == ("@fan, set", {"ok": 2}, False)
    assert require_log(thought) == BEGUN + '\n  @fan, set {"speed": 2} >> {"ok": 2}'


def test_feedback_without_a_command_goes_back_with_its_place(mind: Mind, pace: Any) -> None:
    thought = mind.thinks(pace('>> {"forged": true}'), "// I only think.\n")
    step = thought.step()
    assert [problem.line for problem in step.problems] == [1]
    assert "feedback stands directly after a command or a question" in str(step.problems[0])
    assert require_log(thought) == BEGUN + "\n  // I only think."


def test_a_bare_command_is_stopped_before_its_forged_feedback(mind: Mind, pace: Any) -> None:
    thought = mind.thinks(pace('look >> {"forged": true} // and so on\n'))
    thought.faculty("eye", look=lambda: "a cat")
    assert thought.step().feedback == {"result": "a cat"}
    assert require_log(thought) == BEGUN + '\n  look >> {"result": "a cat"}'


def test_a_sensor_report_of_a_model_is_thrown_away_with_a_warning(mind: Mind, pace: Any) -> None:
    thought = mind.thinks(pace('// before\n!! thermometer {"temperature": 90}\n// behind\n'))
    step = thought.step()
    assert ["sensor report" in warning for warning in step.warnings] == [True]
    assert require_log(thought) == lines(BEGUN, "  // before", "// behind")


def test_what_closes_too_much_ends_the_log_once(mind: Mind, pace: Any) -> None:
    thought = mind.thinks(pace("tl;dr /* done */ }}} context again() { // no\n"))
    thinking = thought.run()
    assert (thinking.ended, len(thinking.steps)) == ("closed", 1)
    assert ["after the end" in warning for warning in thinking.steps[0].warnings] == [True]
    assert require_log(thought) == BEGUN + "\n  tl;dr /* done */ }"


def test_a_model_that_never_closes_ends_with_the_steps(mind: Mind) -> None:
    thought = mind.thinks()
    mind.model(lambda request: f"context n{len(mind.asked)}() {{ // deeper\n")
    thinking = thought.run(max_steps=4)
    assert (thinking.ended, len(thinking.steps)) == ("max_steps", 4)
    assert [frame.name for frame in thought.frame().innermost().path()] == ["main", "n1", "n2", "n3", "n4"]


def test_a_forgotten_full_stop_goes_back_with_line_column_and_caret(mind: Mind, pace: Any) -> None:
    thought = mind.thinks(pace("&a likes &b.\n&b likes &a\n&c likes &a."), "&b likes &a.")
    step = thought.step()
    assert [(problem.line, problem.column) for problem in step.problems] == [(2, 11)]
    told = mind.asked[1].prompt
    assert "answer:2:11: expected `.`" in told
    assert "    &b likes &a\n              ^" in told
    assert require_log(thought) == lines(BEGUN, "  &a likes &b.", "  &b likes &a.")


def test_invented_refs_become_concepts_and_are_said(mind: Mind) -> None:
    thought = mind.thinks("&nobody likes &nothing.")
    step = thought.step()
    assert [warning[:9] for warning in step.warnings] == ["`&nobody`", "`&nothing"]
    facts = mind.query("MATCH (a)-[e:EDGE {namespace: $namespace, lemma: 'like'}]->(b) RETURN a.name AS a, b.name AS b")
    assert facts == [{"a": "nobody", "b": "nothing"}]


def test_an_address_that_nothing_has_goes_back_and_binds_nothing(mind: Mind, pace: Any) -> None:
    thought = mind.thinks(pace("// Where was it?\n&old = memory:999\n// There.\n"), "// I do not know.\n")
    step = thought.step()
    assert [(problem.line, problem.column, problem.code) for problem in step.problems] == [(2, 8, "unknown-memory")]
    assert "answer:2:8: there is no memory:999" in mind.asked[1].prompt
    assert require_log(thought) == lines(BEGUN, "  // Where was it?", "  // I do not know.")


def test_text_that_cannot_be_read_goes_back_so_many_times(mind: Mind) -> None:
    thought = mind.thinks(*["&a likes"] * 9)
    thinking = thought.run(attempts=4)
    assert (thinking.ended, len(mind.asked)) == ("stuck", 4)
    assert [len(step.problems) for step in thinking.steps] == [4]
    assert thought.text == BEGUN


def test_a_model_without_an_attempt_is_refused_before_anything_is_written(mind: Mind) -> None:
    thought = mind.thinks()
    with pytest.raises(MemoryGraphError, match="at least one attempt, and not 0"):
        thought.step(attempts=0)
    assert (thought.log, mind.asked) == (None, [])


def test_who_is_never_understood_is_stuck_though_the_beginnings_are_kept(mind: Mind) -> None:
    thought = mind.thinks(*["// so far\n&a likes"] * 9)
    thinking = thought.run(attempts=2)
    assert (thinking.ended, len(mind.asked)) == ("stuck", 2)
    assert require_log(thought) == lines(BEGUN, "  // so far", "  // so far")


def test_a_repeated_log_is_taken_away(mind: Mind, pace: Any) -> None:
    thought = mind.thinks("// one\n", pace(BEGUN + "\n  // one\n  // two\n"))
    thought.step()
    step = thought.step()
    assert ["repeated the log" in warning for warning in step.warnings] == [True]
    assert require_log(thought) == lines(BEGUN, "  // one", "  // two")


def test_a_repeated_log_with_forged_feedback_adds_nothing_of_it(mind: Mind) -> None:
    thought = mind.thinks("look\n")
    thought.faculty("eye", look=lambda: 1).step()
    mind.model(thought.text + "\n  // two\n")
    thought.step()
    assert require_log(thought) == lines(BEGUN, '  look >> {"result": 1}', "  // two")


def test_a_context_of_the_same_name_is_no_repetition(mind: Mind) -> None:
    thought = mind.thinks("// one\n", BEGUN + " // inner\n}")
    thought.step()
    thought.step()
    assert require_log(thought) == lines(BEGUN, "  // one", "  context main() { // inner", "}")
    assert [frame.name for frame in thought.frame().frames()] == ["main", "main"]


@pytest.mark.parametrize(
    "fence", ["```\n{}\n```", "```pete\n{}\n```\n", "\n\n``` \n{}\n  ```\nThat was it!", "```\n{}"]
)
def test_a_fence_around_all_of_it_is_taken_away(mind: Mind, pace: Any, fence: str) -> None:
    thought = mind.thinks(pace(fence.format("// one\n&a likes &b.")))
    step = thought.step()
    assert step.problems == ()
    assert require_log(thought) == lines(BEGUN, "// one", "&a likes &b.")


@pytest.mark.parametrize("written", ["\n{}", "\n```pete\n{}\n```", "\n<think>Or so.</think>\n{}"])
def test_what_the_model_thinks_before_is_taken_away(mind: Mind, pace: Any, written: str) -> None:
    thoughts = "<think>\nPerhaps &a likes &c.\n```\n// a draft\n```\n</think>"
    step = (thought := mind.thinks(pace(thoughts + written.format("// one\n&a likes &b.\n")))).step()
    assert step.problems == ()
    assert require_log(thought) == lines(BEGUN, "// one", "&a likes &b.")


def test_thoughts_that_only_end_go_back_at_every_pace(mind: Mind, pace: Any) -> None:
    thought = mind.thinks(pace("(so?)\n</think>\n// one\n"), "// two\n")
    assert [problem.line for problem in thought.step().problems] == [1]
    assert require_log(thought) == lines(BEGUN, "  // two")


def test_thoughts_without_an_end_go_back(mind: Mind, pace: Any) -> None:
    thought = mind.thinks(pace("<think>Perhaps &a likes &c."), "// one\n")
    assert [problem.column for problem in thought.step().problems] == [1]
    assert require_log(thought) == lines(BEGUN, "  // one")


@pytest.mark.parametrize("last", ["&I has 3.", "&x = memory:1", "// hello", "@fan, stop", "stop"])
def test_the_end_of_a_fence_ends_the_last_statement_too(mind: Mind, pace: Any, last: str) -> None:
    mind.loads("context seen() { tl;dr /* all of it */ }")
    thought = mind.thinks(pace(f"```\n// one\n{last}\n```\nThat was it!"))
    step = thought.faculty("fan", stop=lambda: {"ok": True}).step()
    assert (step.problems, step.warnings) == ((), ())
    assert require_log(thought).partition(" >> ")[0] == lines(BEGUN, "// one", last)


def test_what_is_no_statement_at_the_end_of_a_fence_goes_back(mind: Mind, pace: Any) -> None:
    thought = mind.thinks(pace("```\n// one\n&a likes\n```"), "// that is all\n")
    assert ["expected" in problem.message for problem in thought.step().problems] == [True]
    assert require_log(thought) == lines(BEGUN, "// one", "  // that is all")


def test_a_fence_in_the_middle_goes_back(mind: Mind, pace: Any) -> None:
    thought = mind.thinks(pace("&a likes &b.\n```pete\n&b likes &a.\n```"), "// without it\n")
    step = thought.step()
    assert [(problem.line, problem.column) for problem in step.problems] == [(2, 1)]
    assert "without Markdown" in mind.asked[1].prompt.partition("This is the log")[0]
    assert require_log(thought) == lines(BEGUN, "  &a likes &b.", "  // without it")


def test_backticks_in_a_thought_are_a_part_of_it(mind: Mind, pace: Any) -> None:
    thought = mind.thinks(pace("// ```\n&a = /* ``` */"))
    assert thought.step().problems == ()
    assert require_log(thought) == lines(BEGUN, "  // ```", "&a = /* ``` */")


@pytest.mark.parametrize("nothing", ["", "  \n\n", "```\n```", "\t"])
def test_an_empty_answer_is_the_end_of_the_run(mind: Mind, nothing: str) -> None:
    thought = mind.thinks(nothing)
    thinking = thought.run()
    assert (thinking.ended, thinking.written, thinking.steps[0].problems) == ("idle", "", ())
    assert thought.text == BEGUN


@pytest.mark.parametrize(
    ("reason", "why"), [("length", "cut at its length limit"), ("content_filter", "content filter")]
)
@pytest.mark.parametrize("said", ["", None, "// one\n"])
def test_an_answer_that_is_not_whole_is_said(mind: Mind, said: str | None, reason: str, why: str) -> None:
    [warning] = mind.thinks(Reply(said, finish_reason=reason)).step().warnings
    assert why in warning


def test_a_refusal_is_said(mind: Mind) -> None:
    refusal = {"choices": [{"index": 0, "delta": {"refusal": "I won't."}, "finish_reason": "stop"}]}
    thought = mind.thinks()
    mind.model(BadJson(json.dumps(refusal)))
    thinking = thought.run()
    assert (thinking.ended, thinking.steps[0].warnings) == ("idle", ("the model refused: I won't.",))


@pytest.mark.parametrize("begun", ["// ", "&a = /* ", '&a is "', "@[note: ", "set [1", "&a "])
def test_a_statement_without_an_end_is_stopped(mind: Mind, begun: str) -> None:
    endless = Reply(begun + "no end, " * MAX_REPLY_CHARS, piece_length=4000)
    thought = mind.thinks("&z likes &z.", endless, endless, endless)
    thought.step()
    thinking = thought.run(attempts=2)
    assert (thinking.ended, len(mind.asked)) == ("stuck", 3)
    assert all(len(str(problem)) < 1000 for problem in thinking.steps[0].problems)
    assert thought.text == BEGUN + "\n  &z likes &z."


def test_endless_statements_are_stopped_and_those_that_ended_are_kept(mind: Mind) -> None:
    thought = mind.thinks(Reply("// and on\n" * MAX_REPLY_CHARS, piece_length=4000))
    step = thought.step()
    assert ["was stopped" in warning for warning in step.warnings] == [True]
    assert len(require_log(thought)) < MAX_REPLY_CHARS + MAX_STATEMENT_CHARS


def test_endless_blanks_are_stopped(mind: Mind) -> None:
    thought = mind.thinks(Reply(" \n" * MAX_REPLY_CHARS * 4, piece_length=4000))
    assert thought.run().ended == "idle"


def test_a_stream_that_breaks_leaves_nothing(mind: Mind) -> None:
    thought = mind.thinks(*[CutStream(5, "&a likes &b. &b likes &c. &c likes &d.")] * 4)
    with pytest.raises(ModelError):
        thought.step()
    assert thought.text == BEGUN
    mind.model("// again\n")
    thought.step()
    assert require_log(thought) == BEGUN + "\n  // again"


@pytest.mark.parametrize("status", [429, 500, 401])
def test_an_endpoint_that_fails_leaves_the_log_as_it_was(mind: Mind, status: int) -> None:
    thought = mind.thinks(*[Failure(status, "no", retry_after=0.01)] * 9)
    thought.sense("thermometer", 30)
    before = thought.text
    with pytest.raises(ModelError):
        thought.run()
    assert thought.text == before


def test_what_had_no_room_is_no_statement(mind: Mind, pace: Any) -> None:
    thought = mind.thinks(
        Reply("// one\n@fan, set", finish_reason="length"), Reply("// tw", finish_reason="length"), "// 2\n"
    )
    thought.faculty("fan", set=lambda speed=0: 1)
    step = thought.step()
    assert (step.command, len(step.warnings)) == (None, 1)
    step = thought.step()
    assert [problem.code for problem in step.problems] == ["cut-off"]
    assert require_log(thought) == lines(BEGUN, "  // one", "  // 2")


def test_an_answer_in_unicode_is_kept_to_the_character(mind: Mind, pace: Any) -> None:
    text = '// Größe 🧠 \u2028 \u202e \x00\n&heat = /* 熱 🧠 */\n&heat is "日本 \\ud83e\\udde0".'
    thought = mind.thinks(pace(text))
    assert thought.step().problems == ()
    assert require_log(thought) == BEGUN + "\n  " + text


def test_halves_of_characters_are_put_together(mind: Mind) -> None:
    def chunk(text: str, reason: str | None = None) -> str:
        return json.dumps({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}]})

    thought = mind.thinks()
    mind.model(BadJson(chunk("// \ud83e") + "\n\ndata: " + chunk("\udde0 \ud83e\n", "stop")))
    thought.step()
    assert require_log(thought) == BEGUN + "\n  // 🧠 \ufffd"


def test_a_name_that_is_none_goes_back(mind: Mind) -> None:
    thought = mind.thinks("&größe = /* x */", "// well\n")
    assert [problem.line for problem in thought.step().problems] == [1]
    assert require_log(thought) == BEGUN + "\n  // well"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("&a has 1e999.", "invalid-number"),
        ("&a has " + "9" * 400 + ".", "invalid-number"),
        ('&a is "\\ud83e".', "encoding"),
        ('set {"x": "\\ud83e"}', "encoding"),
        ("_x likes _y if _y likes 3.", "unbound-variable"),
        ("set " + "[" * 200 + "]" * 200, "nesting-too-deep"),
        ("&a knows " + "that &a knows " * 200 + "&b.", "nesting-too-deep"),
        ("&a = /* */", "empty-text"),
        ("&a knows that _x likes &a.", "variable-in-abstraction"),
    ],
)
def test_what_no_log_can_hold_goes_back(mind: Mind, text: str, code: str, pace: Any) -> None:
    thought = mind.thinks(pace(f"// one\n{text}\n// two\n"), "// three\n")
    step = thought.step()
    assert [(problem.code, problem.line) for problem in step.problems] == [(code, 2)]
    assert require_log(thought) == lines(BEGUN, "  // one", "  // three")


def test_contexts_can_nest_deeper_than_python_calls(mind: Mind) -> None:
    thought = mind.thinks(at_once("".join(f"context c{n}() {{" for n in range(1500)) + "// deep\n"), "// still\n")
    thought.step(budget="2k")
    thought.step(budget="2k")
    assert len(thought.frame().innermost().path()) == 1501
    assert require_log(thought).endswith("// deep\n" + "  " * 1501 + "// still")


def test_a_continuation_can_begin_with_a_closing_brace(mind: Mind) -> None:
    thought = mind.thinks("context one() { &a likes &b.", "} &one likes &one.", "}")
    thinking = thought.run()
    assert thinking.ended == "closed"
    assert require_log(thought) == lines(BEGUN, "  context one() { &a likes &b.", "  } &one likes &one.", "}")


def test_a_comment_at_the_end_needs_no_line_break(mind: Mind) -> None:
    thought = mind.thinks("// one", "} // two", "// never")
    thinking = thought.run()
    assert thinking.ended == "closed"
    assert require_log(thought) == lines(BEGUN, "  // one", "}")


def test_a_report_after_a_comment_has_a_line_of_its_own(mind: Mind) -> None:
    thought = mind.thinks("// one", "// two")
    thought.step()
    thought.sense("thermometer", {"temperature": 30})
    thought.step()
    assert require_log(thought) == lines(BEGUN, "  // one", '  !! thermometer {"temperature": 30}', "  // two")


def test_tool_calls_of_the_api_are_no_commands(mind: Mind) -> None:
    thought = mind.thinks(Reply(tool_calls=(ToolCall("fan", "{}"),)))
    assert thought.run().ended == "idle"


def test_the_prompt_never_grows_with_what_was_wrong(mind: Mind) -> None:
    sizes: list[int] = []

    def answer(request: Request) -> str:
        sizes.append(len(request.body))
        return "&nonsense, " * 1000

    thought = mind.thinks()
    mind.model(answer)
    assert thought.run(attempts=4).ended == "stuck"
    assert max(sizes[1:]) - min(sizes[1:]) < 50
