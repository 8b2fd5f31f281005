"""What must hold for every AgentScript program: round trips, one meaning with textX, only located problems."""

from __future__ import annotations

import random
import re
from itertools import chain
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorygraph.languages import parse
from memorygraph.languages.agentscript import syntax
from memorygraph.languages.agentscript.printing import print_expression
from memorygraph.languages.engine.syntax import parts_in, walk
from tests.examples import examples
from tests.languages.agentscript_text import print_agentscript
from tests.languages.hostile_texts import are_located, mutated
from tests.textx_itself import machine_stops_at, textx_stops_at

KEYWORDS = "import main agent func use loop until repeat for in return if else and or not generate from true false none"
words = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,8}", fullmatch=True)
# Behind another expression, a name such as `or` would go on with it.
names = words.filter(lambda word: word not in {*KEYWORDS.split(), "model", "role", "description"})
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
limits = st.from_regex(r"[1-9][0-9]{0,3}(\.[0-9]{1,2})?(k|t|kt)?", fullmatch=True)


def number(text: str) -> syntax.NumberLiteral:
    found = re.match(r"[0-9.]+", text)
    value = float(found[0] if found else 0)
    return syntax.NumberLiteral(text, int(value) if value.is_integer() else value)


numbers = limits.map(number)
leaves: st.SearchStrategy[Any] = st.one_of(
    st.builds(syntax.TextLiteral, texts),
    numbers,
    st.builds(syntax.Boolean, st.booleans()),
    st.just(syntax.Nothing()),
    st.builds(syntax.Name, names),
)


def tuples(of: st.SearchStrategy[Any], least: int = 0) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(of, min_size=least, max_size=3).map(tuple)


shapes = st.builds(
    syntax.Shape,
    tuples(
        st.builds(syntax.Field, words, st.sampled_from(["string", "number", "boolean", "json"]))
        | st.builds(syntax.Field, words, st.just("list"), st.sampled_from([None, "string", "json"]))
    ),
)


def entries(of: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[syntax.Entry, ...]]:
    return tuples(st.builds(syntax.Entry, words | texts, of))


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Postfix expressions: what may stand anywhere in an expression, since there are no parentheses."""
    loose = operators(inner)
    return st.one_of(
        st.builds(syntax.Member, inner, words),
        st.builds(syntax.FunctionCall, inner, tuples(loose)),
        st.builds(syntax.Index, inner, loose),
        st.builds(syntax.Object, entries(loose)),
        st.builds(syntax.List, tuples(loose)),
        st.builds(syntax.Generate, entries(loose), shapes),
    )


def operators(operand: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Expressions of these operands, from tight to loose."""
    unary = operand | st.builds(syntax.Not, operand)
    compared = unary | st.builds(syntax.Comparison, st.sampled_from(["==", "!="]), unary, unary)
    both = compared | st.builds(syntax.And, tuples(compared, 2))
    return both | st.builds(syntax.Or, tuples(both, 2))


postfixes = st.recursive(leaves, nested, max_leaves=6)
expressions = operators(postfixes)
# A statement that begins with a bracket would go on with the expression before it.
opening = expressions.filter(lambda value: print_expression(value)[0] != "[")
targets = st.builds(syntax.Name, names) | st.builds(syntax.Member, st.builds(syntax.Name, names), words)
configs = st.builds(syntax.Config, st.just("model"), st.builds(syntax.Name, names)) | st.builds(
    syntax.Config, st.sampled_from(["role", "description"]), expressions
)
whole = st.builds(syntax.Limit, st.integers(0, 99).map(str))
simple = st.one_of(
    configs,
    st.builds(syntax.Use, expressions, st.none() | st.builds(syntax.Limit, limits)),
    st.builds(syntax.Return, expressions),
    st.builds(syntax.Assignment, targets, expressions),
    st.builds(syntax.ExpressionStatement, opening),
)


def compound(statement: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    block = st.builds(syntax.Block, tuples(statement))
    return st.one_of(
        st.builds(syntax.If, expressions, block, st.none() | block),
        st.builds(syntax.For, names, expressions, whole, block),
        st.builds(syntax.Loop, expressions, whole, block),
        st.builds(syntax.Repeat, st.integers(0, 99), block),
    )


blocks = st.builds(syntax.Block, tuples(st.recursive(simple, compound, max_leaves=4)))
parameters = st.builds(syntax.FunctionParameter, words, st.none() | shapes)
functions = st.builds(syntax.Function, words, st.booleans(), tuples(parameters), blocks)
agents = st.builds(syntax.Agent, words, st.booleans(), tuples(configs), tuples(functions))
imports = st.builds(syntax.Import, st.sampled_from(["tool", "llm", "file", "agent", "memory"]), words, texts)
programs = st.lists(imports | agents, max_size=2).map(tuple)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs)
def test_what_is_printed_is_read_again(program: tuple[syntax.Import | syntax.Agent, ...]) -> None:
    text = print_agentscript(program)
    assert parse(text, "agentscript").statements == program


@given(expressions)
def test_a_label_is_one_line_that_can_be_encoded(expression: syntax.Expression) -> None:
    label = print_expression(expression)
    assert len(f"{label}\n".splitlines()) == 1
    label.encode()


def test_a_label_escapes_what_breaks_lines_or_encodings() -> None:
    label = print_expression(syntax.TextLiteral('a"\u2028\u2029\x85\x0b\n\ud800é🙂'))
    assert label == r'"a\"\u2028\u2029\u0085\u000b\n\ud800é🙂"'


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs)
def test_every_span_holds_what_was_read_there(program: tuple[syntax.Import | syntax.Agent, ...]) -> None:
    parsed = parse(print_agentscript(program), "agentscript")
    for one in chain.from_iterable(map(walk, parsed.statements)):
        text = parsed.source.text[slice(*one.span)]
        assert text == text.strip()
        for inner in parts_in(one):
            assert one.span.start <= inner.span.start <= inner.span.end <= one.span.end
        if isinstance(one, (syntax.TextLiteral, syntax.NumberLiteral, syntax.Name)):
            assert print_expression(one)[:1] in {text[:1], '"'}


fragments = st.sampled_from(
    [
        *'(){}[].,:=!<*"\\\n\r\t\x00\ufeff\ud800é-#;&+/`',
        *f"{KEYWORDS} model role description tool string input a b 1 2k".split(),
        *["==", "!=", "//", "--", "'", " ", '"a"', "{ }", "main agent A {", "\nmain func(input) {", "}\n", "a.b"],
        *['import tool T from "env://"\n', 'generate({ input: "x" }) { return { a string } }', "not not ", "[0]"],
    ]
)
garbage = st.lists(fragments | st.text(max_size=3), max_size=40).map(" ".join)


PIECES = ["", *'"({}=\nx .[']


def is_located(text: str) -> None:
    are_located(parse(text, "agentscript").problems, text)


@settings(max_examples=examples(300), deadline=None)
@given(garbage)
def test_garbage_has_located_problems(text: str) -> None:
    is_located(text)
    is_located(f"main agent A {{ main func(input) {{ {text} }} }}")


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(program=programs, draw=st.randoms(use_true_random=False))
def test_mutations_have_located_problems(program: tuple[Any, ...], draw: random.Random) -> None:
    is_located(mutated(print_agentscript(program), draw, PIECES))


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(program=programs, draw=st.randoms(use_true_random=False))
def test_textx_reads_the_same(program: tuple[Any, ...], draw: random.Random) -> None:
    text = print_agentscript(program)
    assert textx_stops_at("agentscript", text) is None
    text = mutated(text, draw, PIECES)
    assert machine_stops_at("agentscript", text) == textx_stops_at("agentscript", text)


@settings(max_examples=examples(100), deadline=None)
@given(garbage)
def test_textx_stops_at_the_same_place(text: str) -> None:
    text = f"main agent A {{ main func(input) {{ {text} }} }}"
    assert machine_stops_at("agentscript", text) == textx_stops_at("agentscript", text)


@pytest.mark.parametrize("depth", [99, 100, 101])
def test_the_limit_of_nesting_is_exact(depth: int) -> None:
    problems = parse(f"main agent A {{ main func() {{ return {'[' * depth}{']' * depth} }} }}", "agentscript").problems
    assert [problem.code for problem in problems] == ["nesting-too-deep"] * (depth > 99)
