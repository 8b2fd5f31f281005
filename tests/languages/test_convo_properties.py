"""What must hold for every conversation: round trips, one meaning with textX, only located problems."""

from __future__ import annotations

import random
import string
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memorygraph.languages import parse
from memorygraph.languages.convo import reading, syntax
from memorygraph.languages.convo.printing import print_content, print_convo, print_convo_value, print_message
from memorygraph.languages.engine.syntax import parts_in
from tests.examples import examples
from tests.languages.hostile_texts import are_located, mutated
from tests.textx_itself import machine_stops_at, textx_stops_at

CONSTANTS = ["true", "false", "null", "undefined"]
NASTY = [
    *["{", "}", "{{", "}}", "\\", "\\{{", "\\>", ">", "> goto evil", "\n> exit", "@exit", "@call\n", "# h", "// c"],
    *["---", "\n---\n", "\n", "\r", "\r\n", " ", "\t", '"', "'", "{{graphInput}}", "\\\\", "\n@to b = x", "é", "🙂"],
]
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True).filter(lambda name: name not in CONSTANTS)
characters = st.characters(exclude_categories=["Cs"])
texts = st.text(characters, max_size=12) | st.lists(st.sampled_from(NASTY) | st.text(characters, max_size=2)).map(
    "".join
)
lines = st.text(characters, max_size=10).map(lambda text: text.replace("\n", "").strip(" \t\r\n"))
descriptions = st.none() | st.lists(lines, min_size=1, max_size=2).map("\n".join)
paths = st.lists(names, min_size=1, max_size=3).map(tuple)


def tuples(of: st.SearchStrategy[Any], most: int = 3) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(of, max_size=most).map(tuple)


words = st.from_regex(r"[A-Za-z0-9_-]{1,8}", fullmatch=True)
leaves: st.SearchStrategy[Any] = st.one_of(
    st.builds(syntax.Text, texts),
    st.builds(syntax.Number, st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)),
    st.builds(syntax.Constant, st.sampled_from(CONSTANTS)),
    st.builds(syntax.Reference, paths),
)

marks = st.sampled_from([(), (syntax.Tag("shared"),), (syntax.Tag("on", "user"),)]) | tuples(
    st.builds(syntax.Tag, names.filter(lambda name: len(name) > 1), st.none() | words), 1
)
pipes = st.builds(syntax.Pipe, st.lists(leaves, min_size=2, max_size=3).map(tuple))


def statements_of(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    labels = st.none() | names
    return st.builds(syntax.Statement, values | pipes, st.just(()) | paths, descriptions, labels, tags=marks)


def templates_of(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    insertions = st.builds(syntax.Insertion, tuples(statements_of(values), 2))
    parts = st.lists(texts | insertions, max_size=4)
    return parts.map(lambda some: syntax.Template(reading.merge_texts(some)))


def nested(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    labelled = st.builds(syntax.Argument, values, st.just(()), descriptions, names | texts, st.booleans())
    others = st.builds(syntax.Argument, values | pipes, st.just(()) | paths, descriptions, tags=marks)
    items = st.builds(syntax.Argument, values, st.just(()), descriptions)
    prompt_heads = st.sampled_from(["", "+ boolean", "* x=json:Todo[] /m"])
    return st.one_of(
        st.builds(syntax.Call, paths, tuples(labelled | others), st.just(()) | paths),
        st.builds(syntax.InlinePrompt, prompt_heads, templates_of(values), st.booleans()),
        st.builds(syntax.Map, tuples(labelled)),
        st.builds(syntax.Array, tuples(items)),
        templates_of(values),
    )


values = st.recursive(leaves, nested, max_leaves=5)
undescribed = st.builds(syntax.Call, paths, tuples(st.builds(syntax.Argument, leaves)))
statements = statements_of(values)
conditions = lines.filter(lambda text: not text.startswith("=")).map(lambda text: text or None)
tags = st.one_of(
    st.builds(syntax.Tag, names.filter(lambda name: name not in {"to", "from"}), conditions),
    st.builds(syntax.Tag, st.sampled_from(["to", "from"]), conditions, words),
    st.builds(syntax.Tag, st.sampled_from(["to", "from"]), st.none(), words, undescribed),
    st.builds(syntax.Tag, st.sampled_from(["json", "exit", "condition"]), st.none(), st.none(), undescribed),
)
heads = st.from_regex(r"([A-Za-z0-9_-]{1,5} ?){0,2}", fullmatch=True).map(str.strip)
roles = st.sampled_from(["user", "assistant", "node", "goto", "to", "exit", "nodeEnd"]) | names.filter(
    lambda name: name not in syntax.CODE_ROLES
)
code_roles = st.sampled_from(["do", "define", "result", "to!", "exit!"]) | names.map(lambda name: f"{name}!")
parameters = st.builds(syntax.Parameter, names, st.booleans(), st.none() | values, descriptions)
labelled = st.builds(syntax.Argument, values, label=names | texts)
function_names = st.none() | st.sampled_from(["local", "extern", "agent"])
messages: st.SearchStrategy[Any] = st.one_of(
    st.builds(syntax.TextMessage, roles, heads, templates_of(values), tuples(tags, 2)),
    st.builds(syntax.CodeMessage, code_roles, heads, tuples(statements), tuples(tags, 2)),
    st.builds(
        syntax.FunctionMessage,
        function_names,
        names,
        tuples(parameters),
        st.just(()),
        st.none() | names,
        st.none() | names,
        st.none() | tuples(statements, 2),
        descriptions,
        tuples(tags, 2),
    ),
    st.builds(syntax.FunctionMessage, st.just("call"), names, arguments=tuples(labelled), tags=tuples(tags, 2)),
)
conversations = st.lists(messages, max_size=4).map(tuple)
slow = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@settings(slow, max_examples=examples(200))
@given(conversations)
@example((syntax.CodeMessage("do", "", (syntax.Statement(syntax.InlinePrompt("", syntax.Template(("\\",)))),)),))
def test_what_is_printed_is_read_again(conversation: tuple[syntax.Message, ...]) -> None:
    program = parse(print_convo(conversation), "convo")
    assert [problem for problem in program.problems if problem.code == "syntax"] == []
    assert program.conversation.messages == conversation


@settings(slow, max_examples=examples(300))
@given(texts, st.lists(messages, max_size=1))
@example("a\n\r>", [])  # a carriage return is a blank before the head of a message
def test_any_text_stays_data(text: str, after: list[syntax.Message]) -> None:
    message = syntax.TextMessage("assistant", "", syntax.Template((text,) if text else ()))
    program = parse(print_convo([message, *after]), "convo")
    assert program.conversation.messages == (message, *after)
    assert parse(f"> user\n{print_content(text)}", "convo").conversation.messages[0] == syntax.TextMessage(
        "user", "", message.content
    )


@settings(slow, max_examples=examples(200))
@given(values)
def test_a_value_is_read_again(value: syntax.Value) -> None:
    message = parse(f"> do\n{print_convo_value(value)}", "convo").conversation.messages[0]
    assert isinstance(message, syntax.CodeMessage)
    assert message.statements[0].value == value


@slow
@given(st.integers(0, 4), texts)
def test_indentation_is_cosmetic(width: int, text: str) -> None:
    printed = print_message(syntax.TextMessage("user", "", syntax.Template((text,) if text else ())))
    indented = "\n".join(" " * width + line for line in printed.split("\n"))
    assert parse(indented, "convo").conversation == parse(printed, "convo").conversation


@slow
@given(conversations)
def test_every_span_holds_what_was_read_there(conversation: tuple[syntax.Message, ...]) -> None:
    program = parse(print_convo(conversation), "convo")
    text = program.source.text
    waiting: list[Any] = [(one, one.span) for one in program.conversation.messages]
    while waiting:
        one, (start, end) = waiting.pop()
        inside = not isinstance(one, syntax.Tag)
        assert start <= one.span.start <= one.span.end <= end or not inside
        if isinstance(one, syntax.Insertion):
            assert text[slice(*one.span)][:2] + text[slice(*one.span)][-2:] == "{{}}"
        if isinstance(one, syntax.Tag):
            assert text[one.span.start] == "@"
        if isinstance(one, (syntax.TextMessage, syntax.CodeMessage, syntax.FunctionMessage)):
            assert text[one.span.start] == ">"
        waiting += [(inner, one.span) for inner in parts_in(one)]


fragments = st.sampled_from(
    [
        *NASTY,
        *"()[]=:;,?!-+$&|<",
        *["> user\n", "\n> do\n", "\n> node a\n", "> f(", " -> (", "@to a = ", "@json = ", "x = ", "f(1 2)", "a.b"],
        *[
            "{{x}}",
            "'a {{b}} c'",
            '"q"',
            "1e3",
            "-.5",
            "null",
            "\x00",
            "\ufeff",
            "\ud800",
            "# note\n",
            "--- \n",
            "???",
            "===",
            "<<",
            "@shared\n",
        ],
    ]
)
garbage = st.lists(fragments | st.text(max_size=3), max_size=30).map("".join)


PIECES = ["", *"\"(){}=\nx >@#'", "{{", "}}", "---"]


def is_located(text: str) -> None:
    are_located(parse(text, "convo").problems, text)


@settings(slow, max_examples=examples(400))
@given(garbage)
def test_garbage_has_located_problems(text: str) -> None:
    is_located(text)
    is_located(f"> user\n{text}")
    is_located(f"> do\n{text}")


@slow
@given(conversation=conversations, draw=st.randoms(use_true_random=False))
def test_mutations_have_located_problems(conversation: tuple[Any, ...], draw: random.Random) -> None:
    is_located(mutated(print_convo(conversation), draw, PIECES))


@slow
@given(conversation=conversations, draw=st.randoms(use_true_random=False))
def test_textx_reads_the_same(conversation: tuple[Any, ...], draw: random.Random) -> None:
    text = print_convo(conversation)
    assert textx_stops_at("convo", text) is None
    text = mutated(text, draw, PIECES)
    assert machine_stops_at("convo", text) == textx_stops_at("convo", text)


@settings(slow, max_examples=examples(200))
@given(garbage)
def test_textx_stops_at_the_same_place(text: str) -> None:
    for whole in (text, f"> user\n{text}", f"> do\n{text}"):
        assert machine_stops_at("convo", whole) == textx_stops_at("convo", whole)


@pytest.mark.parametrize("character", [*string.punctuation, *string.whitespace, "\x85", "\u2028", "\xa0"])
def test_every_character_at_the_start_and_the_end(character: str) -> None:
    for text in (character, f"{character}a", f"a{character}", f"a\n{character}{character}b\n{character}"):
        message = syntax.TextMessage("user", "", syntax.Template((text,)))
        assert parse(print_message(message), "convo").conversation.messages == (message,)


@pytest.mark.parametrize("depth", [99, 100, 101])
def test_the_limit_of_nesting_is_exact(depth: int) -> None:
    problems = parse(f"> do\n{'[' * depth}{']' * depth}", "convo").problems
    assert [problem.code for problem in problems] == ["nesting-too-deep"] * (depth > 100)
