"""The GBNF admits what is printed, refuses what is broken, and admits nothing that cannot be read."""

from __future__ import annotations

import random
from functools import cache
from typing import Any, Literal

import pytest
from gbnf import GBNF, InputParseError, RuleChar, RuleEnd
from hypothesis import HealthCheck, given, settings

from memorygraph.errors import Source
from memorygraph.languages.pete.continuation import ContinuationReader
from memorygraph.languages.pete.gbnf import grammar
from memorygraph.languages.pete.printing import print_item, print_pete
from memorygraph.languages.pete.reading import read_items
from memorygraph.languages.pete.syntax import Command, Item, PeteProgram, Question
from tests.examples import examples, mostly_slow
from tests.languages.pete_logs import bodies, logs

SAMPLE = """context main(&pete, &travis) {
  @[time: 12:30]
  !! thermometer { "temperature": 30 }
  // It is hot.
  &heat = /* the heat in the lab */
  &travis doesn't like &heat.
  context cool(&heat) { @fan, set {"speed": 2} >> {"ok": true}
    tl;dr /* turned the fan on */ }
  &old = memory:42
  &pete knows that &travis likes &fan and &fan cools &heat.
"""
MAX_SAMPLE = 5_000
ANY_OTHER = [ord(character) for character in 'ab"\\}{/*.3 \n&_é!@]']


@cache
def state(root: Literal["log", "continuation"]) -> Any:
    return GBNF(grammar(root))


def admits(root: Literal["log", "continuation"], text: str) -> bool:
    try:
        after = state(root).add(text)
    except (InputParseError, IndexError):  # the second while it words the first, about a text with line breaks
        return False
    return ends(after)


def ends(after: Any) -> bool:
    return any(isinstance(rule, RuleEnd) for rule in after)


@pytest.mark.parametrize("root", ["log", "continuation"])
def test_a_parser_of_gbnf_knows_the_grammar(root: Literal["log", "continuation"]) -> None:
    assert grammar(root).startswith(f"root ::= {root}\n")
    assert [*state(root)]


@pytest.mark.parametrize(
    "log", [SAMPLE, SAMPLE + "}", SAMPLE + "context a() { context b() { }", " context a ( ) {}\n\n"]
)
def test_a_log_is_admitted(log: str) -> None:
    assert admits("log", log)


@settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
@given(logs)
def test_what_is_printed_is_admitted(items: tuple[Item, ...]) -> None:
    assert admits("log", print_pete(PeteProgram(Source(""), items)))


@pytest.mark.parametrize(
    "broken",
    [
        *["", "set {}", "&a is &a.", "context a {", "context a(b) {", "context a() {} set {}", "context a() { } }"],
    ],
)
def test_a_broken_log_is_refused(broken: str) -> None:
    assert not admits("log", broken)


@pytest.mark.parametrize(
    "broken",
    [
        *[
            "&a eats &b",
            "&a and &b.",
            "&and eats &b.",
            "@fan set {}",
            "set {a: 1}",
            "set {} >> 3",
            "set {} >> {} >> {}",
        ],
        *["&a eats &b. >> {}", "tl;dr a", "tl", "/* a */", "tl;dr /* a", '&a is "b', "&a has 01.", "&a has .5.", "@[]"],
        *["# a", "&a = 3", "&a = memory:", "&a eats &b if.", "context true() {", "&a doesn\u2019t eat &b.", "set {]"],
        *["context a {", "context a(b) {"],
    ],
)
def test_a_broken_statement_is_refused(broken: str) -> None:
    assert not admits("log", f"context main(&a) {{ {broken}")
    assert not admits("log", f"context main(&a) {{ {broken} }}")


@pytest.mark.parametrize(
    "text",
    [
        *[
            "set {}",
            "@fan, set",
            "&a eats &b?",
            "",
            "}",
            "} }\n context n(&a) {",
            "&a eats &b. @fan, set [1]",
            "// a }",
        ],
        *["tl;dr /* a */ }", "&a = /* a */ &a has 3.", "// a\nset", "&a = memory:3", "!! a"],
    ],
)
def test_a_continuation_is_admitted(text: str) -> None:
    assert admits("continuation", text)


@pytest.mark.parametrize(
    "text",
    [
        *["set {} >> {}", "set >> {}", "&a eats &b? >> {}", ">> {}", "@fan, set\n>> {}", "&a eats &b. >> {}"],
        *["set {} set {}", "set set", "&a eats &b? &a eats &b?", "set {} // a", "set {} }", "context a() {} set {} }"],
    ],
)
def test_a_continuation_ends_with_its_command_and_has_no_feedback(text: str) -> None:
    assert not admits("continuation", text)


@settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
@given(bodies())
def test_a_continuation_up_to_its_first_command_is_admitted(body: list[Item]) -> None:
    text = ""
    for item in body:
        if isinstance(item, (Command, Question)):
            text += print_item(Question(item.predication) if isinstance(item, Question) else Command(item.procedure))
            break
        text += f"{print_item(item)}\n"
    assert admits("continuation", text)


def sampled(root: Literal["log", "continuation"], draw: random.Random) -> str:
    """A text that the grammar admits, made by taking one of the next characters that it admits, over and over."""
    after, text = state(root), ""
    characters = draw.randint(10, 150)  # and as many more as it takes to an end
    while len(text) < characters or not ends(after):
        assert len(text) < MAX_SAMPLE, f"no end after {text!r}"
        rules = [rule for rule in after if not isinstance(rule, RuleEnd)]
        if not rules:
            break
        rule = draw.choice(rules)
        among = [value if isinstance(value, int) else draw.randint(*value) for value in rule.value]
        if not isinstance(rule, RuleChar):
            excluded = [value if not isinstance(value, int) else (value, value) for value in rule.value]
            among = [code for code in ANY_OTHER if not any(low <= code <= high for low, high in excluded)]
        text += chr(draw.choice(among))
        after = after.add(text[-1])
    return text


@pytest.mark.parametrize("seed", mostly_slow(range(150), ordinary=30))
def test_what_is_admitted_can_be_read(seed: int) -> None:
    draw = random.Random(seed)
    assert read_items(Source(sampled("log", draw)))[1] == []
    reader = ContinuationReader(depth=100)
    reader.feed(sampled("continuation", draw))
    reader.finish()
    assert (reader.problem, reader.rest.strip(" \t\r\n")) == (None, "")
