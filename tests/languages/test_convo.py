"""Convo beyond its cases: what is printed is read again, the seed's examples, and how problems are reported."""

from __future__ import annotations

import re

import pytest

from memorygraph.languages import parse
from memorygraph.languages.convo.checks import check_conversation
from memorygraph.languages.convo.printing import print_convo, print_message
from memorygraph.languages.convo.syntax import CodeMessage, FunctionMessage, Template, TextMessage
from tests.cases import FOLDER, Case, read_cases

SEED = (FOLDER / "convo" / "review" / "seed.txt").read_text("utf-8")
CODES = """
syntax duplicate-node missing-target orphaned-route invalid-route-tag duplicate-function duplicate-parameter
invalid-function invalid-head invalid-tag invalid-context-depth invalid-json-tag invalid-number
"""


@pytest.mark.parametrize("case", read_cases("convo/parse"))
def test_what_is_read_is_printed_and_read_again(case: Case) -> None:
    conversation = case.parse().conversation
    assert parse(print_convo(conversation.messages), "convo").conversation == conversation


def test_every_code_has_a_case_and_nothing_else_is_said() -> None:
    cases = [*read_cases("convo/check"), *read_cases("convo/parse")]
    said = {problem.code for case in cases for problem in case.values[0].parse().problems}
    assert said == set(CODES.split())


def blocks() -> list[str]:
    return re.findall(r"^``` convo\n(.*?)^```", SEED, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", [*blocks()])
def test_every_example_of_the_seed_is_read(block: str) -> None:
    """Some examples are parts of a graph, so that routes lead nowhere; all of them can be read."""
    program = parse(block, "convo")
    assert program.conversation.messages
    codes = {problem.code for problem in program.problems}
    placeholder = {"invalid-route-tag"} if "{id" in block else set()
    assert codes <= {"missing-target", "orphaned-route", "duplicate-node"} | placeholder
    printed = print_convo(program.conversation.messages)
    assert parse(printed, "convo").conversation == program.conversation


def test_the_product_reviews_are_read_without_a_problem() -> None:
    graph, transcript, summary = (parse(block, "convo") for block in blocks()[-3:])
    assert graph.problems == transcript.problems == summary.problems == ()
    nodes = [m.head for m in graph.conversation.messages if isinstance(m, TextMessage) and m.role == "node"]
    assert nodes == ["screenInput", "categorize", "reward", "refund"]
    functions = [m.name for m in graph.conversation.messages if isinstance(m, FunctionMessage)]
    assert functions == ["flagUser", "categorize", "sendReward", "sendRefund"]
    result = transcript.conversation.messages[2]
    assert isinstance(result, CodeMessage)
    assert result.statements[0].path == ("__return",)
    assert print_message(result) in blocks()[-2]


def test_names_of_builtins_are_passed_in() -> None:
    program = parse("> eq(a b)\n> f(a)", "convo")
    found = check_conversation(program.conversation.messages, program.source, builtins={"eq"})
    assert [finding.code for finding in found] == ["redefined-builtin"]


def test_what_cannot_be_written_is_refused() -> None:
    for head in ("a\nb", "f(a)", " a"):
        with pytest.raises(ValueError, match="no message has the head"):
            print_message(TextMessage("goto", head, Template()))
