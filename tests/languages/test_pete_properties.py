"""What must hold for every log: round trips, one meaning with textX, located problems, any division into pieces."""

from __future__ import annotations

import json
import random
from itertools import chain
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorygraph.errors import Source, Span
from memorygraph.languages import parse
from memorygraph.languages.engine.syntax import parts_in, walk
from memorygraph.languages.pete.continuation import ContinuationReader
from memorygraph.languages.pete.printing import print_item, print_pete
from memorygraph.languages.pete.reading import read_items
from memorygraph.languages.pete.syntax import Closing, Command, Feedback, Item, PeteProgram, Question, Value
from tests.examples import examples
from tests.languages.hostile_texts import are_located, mutated
from tests.languages.pete_logs import bodies, chunks, logs, structures
from tests.textx_itself import machine_stops_at, textx_stops_at

SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much]
randoms = st.randoms(use_true_random=False)
fragments = st.sampled_from(
    [
        *"(){}[].,:=!<*\"\\\n\r\t\x00\ufeff\ud800é-#;&+/`_@?'\u2019",
        *["context", "that", "tl", "not", "and", "or", "but", "true", "null", "memory", "if", "set", "a", "1", "2.5"],
        *["doesn't", "don't"],
        *["!!", "//", "/*", "*/", ">>", "tl;dr", "@[", "]", "&a", "_x", "@f,", "memory:4", ":-", "{}", '["a"]', '"b"'],
        *["&a eats &b.", "context n(&a) {", "\n}\n", "= memory:42", "set {", '"k": 1', "that &a is 3", "tl;dr /* a */"],
    ]
)
PIECES = ["", *'"({}[]=\nx .?&@_!/*>,:5']
garbage = st.lists(fragments | st.text(max_size=3), max_size=40).map(" ".join)


def printed(items: tuple[Item, ...]) -> str:
    return print_pete(PeteProgram(Source(""), items))


def syntax_of(text: str) -> tuple[Item, ...]:
    items, findings = read_items(Source(text))
    assert findings == []
    return items


@settings(max_examples=examples(150), deadline=None, suppress_health_check=SLOW)
@given(logs)
def test_what_is_printed_is_read_again(items: tuple[Item, ...]) -> None:
    text = printed(items)
    assert syntax_of(text) == items
    assert printed(syntax_of(text)) == text


@settings(max_examples=examples(60), deadline=None, suppress_health_check=SLOW)
@given(items=logs, draw=randoms)
def test_verbatim_stretches_tile_the_text(items: tuple[Item, ...], draw: random.Random) -> None:
    blanks = ["", " ", "\n", "\t"]
    text = "\n".join(f"{draw.choice(blanks)}{line}" for line in printed(items).split("\n"))
    end = 0
    for item in syntax_of(text):
        assert text[end : item.span.start].strip(" \t\r\n") == ""
        again = f"context a() {{{text[end : item.span.end]}\n"
        assert syntax_of(again)[1:] == (item,)
        end = item.span.end
    assert text[end:].strip(" \t\r\n") == ""


@settings(max_examples=examples(60), deadline=None, suppress_health_check=SLOW)
@given(logs)
def test_every_span_holds_what_was_read_there(items: tuple[Item, ...]) -> None:
    text = printed(items)
    for one in chain.from_iterable(map(walk, syntax_of(text))):
        if isinstance(one, Value):
            assert text[slice(*one.span)] == one.text
            json.loads(one.text)
        for inner in parts_in(one):
            assert one.span.start <= inner.span.start < inner.span.end <= one.span.end


@settings(max_examples=examples(60), deadline=None, suppress_health_check=SLOW)
@given(structures)
def test_a_value_is_canonical_whatever_blanks_it_had(value: Value) -> None:
    spread = json.dumps(json.loads(value.text), indent=1, ensure_ascii=False)
    command = syntax_of(f"context a() {{ set {spread}")[1]
    assert isinstance(command, Command)
    assert command.arguments == value


@settings(max_examples=examples(400), deadline=None)
@given(garbage)
def test_garbage_has_located_problems(text: str) -> None:
    for log in (text, f"context main(&a, &b) {{ {text} }}"):
        program = parse(log, "pete")
        are_located(program.problems, log)
        are_located(program.warnings, log)


@settings(max_examples=examples(100), deadline=None, suppress_health_check=SLOW)
@given(items=logs, draw=randoms)
def test_mutations_have_located_problems(items: tuple[Item, ...], draw: random.Random) -> None:
    text = mutated(printed(items), draw, PIECES)
    are_located(parse(text, "pete").problems, text)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=SLOW)
@given(items=logs, draw=randoms)
def test_textx_reads_the_same(items: tuple[Item, ...], draw: random.Random) -> None:
    text = printed(items)
    assert textx_stops_at("pete", text) is None
    both_stop_alike(mutated(text, draw, PIECES))


def both_stop_alike(text: str) -> None:
    ours, theirs = machine_stops_at("pete", text), textx_stops_at("pete", text)
    if ours is None or theirs is None or theirs < ours:
        assert ours == theirs
    elif ours != theirs:
        # Behind the end of a whole log, no token is tried, and the machine says what it tried last.
        assert textx_stops_at("pete", text[:theirs]) is None


@settings(max_examples=examples(100), deadline=None)
@given(garbage)
def test_textx_stops_at_the_same_place(text: str) -> None:
    text = f"context main(&a) {{ {text} }}"
    both_stop_alike(text)


@settings(max_examples=examples(150), deadline=None)
@given(garbage)
def test_item_by_item_a_log_is_what_the_whole_grammar_says(text: str) -> None:
    text = f"context main(&a) {{ {text}"
    _, findings = read_items(Source(text))
    stops = machine_stops_at("pete", text)
    half = any(finding.code == "encoding" for finding in findings)
    assert half or (stops is None) == (findings == [])


def read(pieces: list[str], depth: int = 1) -> tuple[list[Any], bool, str]:
    """What a reader makes of a text that comes in pieces."""
    reader = ContinuationReader(depth)
    found = [piece for text in pieces for piece in reader.feed(text)]
    found += reader.finish()
    assert "".join(piece.text for piece in found) + reader.rest == "".join(pieces)
    for piece in found:
        assert piece.text[: piece.item.span.start].strip(" \t\r\n") == ""
        assert len(piece.text) == piece.item.span.end
        assert getattr(piece.item, "feedback", None) is None
    return found, reader.problem is not None, reader.rest


@settings(max_examples=examples(200), deadline=None, suppress_health_check=SLOW)
@given(body=bodies(), draw=randoms)
def test_a_continuation_is_read_like_a_log(body: list[Item], draw: random.Random) -> None:
    text = "".join(f"{print_item(item)}\n" for item in body)
    found, problem, rest = read(chunks(text, draw))
    assert not problem
    assert rest.strip() == ""
    items: list[Item | Feedback] = []
    for item in body:
        answer = item.feedback if isinstance(item, (Command, Question)) else None
        items += [item] if answer is None else [without_feedback(item), answer]
    assert [piece.item for piece in found] == items


def without_feedback(item: Item) -> Item:
    match item:
        case Command():
            return Command(item.procedure, item.faculty, item.arguments)
        case Question():
            return Question(item.predication)
    return item


@settings(max_examples=examples(400), deadline=None)
@given(text=garbage, draw=randoms)
def test_garbage_is_the_same_in_any_pieces(text: str, draw: random.Random) -> None:
    whole = read([text])
    assert read(chunks(text, draw)) == whole
    assert read(list(text)) == whole


@settings(max_examples=examples(150), deadline=None, suppress_health_check=SLOW)
@given(body=bodies(), draw=randoms)
def test_mutations_are_the_same_in_any_pieces(body: list[Item], draw: random.Random) -> None:
    text = mutated("".join(f"{print_item(item)}\n" for item in body), draw, PIECES)
    whole = read([text], 2)
    assert read(chunks(text, draw), 2) == whole
    assert read(list(text), 2) == whole


@settings(max_examples=examples(150), deadline=None)
@given(garbage)
def test_a_reader_reads_what_a_log_has(text: str) -> None:
    found, problem, rest = read([text])
    program = parse(f"context main() {{{text}", "pete")
    syntax = [one for one in program.problems if one.code in {"syntax", "nesting-too-deep"}]
    if not any(one.code == "encoding" for one in program.problems):
        assert (problem or rest.strip(" \t\r\n") != "") == bool(syntax)
        if not syntax:
            assert "".join(piece.text for piece in found) == text[: len(text) - len(rest)]


@pytest.mark.parametrize(
    ("text", "certain"),
    [
        *[("context n(&a) {", True), ("}", True), ("// a", False), ("// a\n", True), ("!! a", False), ("!! a\n", True)],
        *[("tl;dr /* a *", False), ("tl;dr /* a */", True), ("@[a", False), ("@[a]", True), ("&x = /* a */", True)],
        *[("&a has 3", False), ("&a has 3.", False), ("&a has 3.5", False), ("&a has 3. ", True), ("&a is &b.", True)],
        *[("&a is &b?", True), ("set {}", True), ("set {", False), ("set []", True), ("set", False), ("set ", False)],
        *[
            ("// a", False),
            ("// a\r", True),
            ("set &", True),
            ("set >", True),
            ("@f, set", False),
            ("@f, set {}", True),
            ("&x = memory:4", False),
        ],
        *[("&x = memory:4 ", False), ("&x = memory:4 &", True), ("context n() = memory:4 /", False)],
        *[("context n() = memory:4 /* a */", True), ("context n() = memory:4 }", True), ('&a is "b', False)],
        *[("_x eats &b if &a is &b", False), ("_x eats &b if &a is &b.", True), ('set {"a": {}', False)],
    ],
)
def test_an_item_is_certain_as_soon_as_nothing_can_go_on_with_it(text: str, certain: bool) -> None:
    reader = ContinuationReader(depth=1)
    assert bool(reader.feed(text)) == certain
    assert reader.problem is None


def test_what_a_model_writes_as_feedback_is_a_piece_of_its_own() -> None:
    reader = ContinuationReader(depth=1)
    assert [type(piece.item) for piece in reader.feed('@fan, set {} >> {"ok": true} ')] == [Command, Feedback]


def test_nothing_is_read_behind_the_outermost_context() -> None:
    reader = ContinuationReader(depth=2)
    pieces = [piece for text in ("set } }", "\nfoo ", "`") for piece in reader.feed(text)]
    assert [type(piece.item) for piece in (*pieces, *reader.finish())] == [Command, Closing, Closing]
    assert (reader.rest, reader.problem, reader.ended()) == ("\nfoo `", None, True)


def test_a_problem_of_a_continuation_has_its_place_in_it() -> None:
    reader = ContinuationReader(depth=1)
    assert len(reader.feed("set {}\n  &a is &b. &a &")) == 2
    reader.feed(" &\n")
    assert reader.finish() == []
    assert reader.problem is not None
    assert (reader.problem.line, reader.problem.column) == (2, 16)
    assert reader.rest == " &a & &\n"


def test_what_cannot_be_read_is_given_up_after_a_while() -> None:
    reader = ContinuationReader(depth=1)
    reader.feed("&a eats ( ")
    for _ in range(400):
        reader.feed("and so on ")
    assert reader.problem is not None
    assert reader.problem.column == 9


def test_a_long_text_is_not_given_up() -> None:
    reader = ContinuationReader(depth=1)
    for text in ['set {"text": "', *["and so on "] * 1000, '"', "}"]:
        assert reader.problem is None
        pieces = reader.feed(text)
    assert len(pieces) == 1


def test_spans_of_a_reader_count_from_the_piece() -> None:
    pieces = ContinuationReader(depth=1).feed("set {}\n &a is &b.")
    assert pieces[1].item.span == Span(2, 11)
