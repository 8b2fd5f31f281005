"""Random PETE syntax, as hypothesis strategies: all that can be read, and so be printed and read again."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import strategies as st

from memorygraph.languages.pete.syntax import (
    Abbreviation,
    Abstraction,
    Annotation,
    Closing,
    Command,
    Comment,
    Fact,
    Feedback,
    Instantiation,
    Item,
    Memory,
    Nlp,
    Opening,
    PeteProgram,
    Predication,
    Question,
    Ref,
    Rule,
    SensorReport,
    Tldr,
    Value,
    Variable,
)

RESERVED = "context that tl not and or but true false null memory".split()  # noqa: SIM905 - as the rulings have it
near_reserved = st.builds(str.__add__, st.sampled_from(RESERVED), st.sampled_from(["s", "0", "_", "X", "al"]))
cut_reserved = st.sampled_from(RESERVED).map(lambda word: word[:-1])
names = st.one_of(
    st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,6}", fullmatch=True), near_reserved, cut_reserved, st.just("if")
).filter(lambda name: name not in RESERVED)
characters = st.characters(exclude_categories=["Cs"])
notes = st.text(characters, max_size=12)


def tuples(of: st.SearchStrategy[Any], least: int = 0, most: int = 3) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(of, min_size=least, max_size=most).map(tuple)


refs = st.builds(Ref, names)
scalars = st.one_of(
    st.text(characters, max_size=8),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([True, False, None]),
)


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(st.text(characters, max_size=4), inner, max_size=3)


def value(data: Any) -> Value:
    return Value(json.dumps(data, ensure_ascii=False))


jsons = st.recursive(scalars, containers, max_leaves=5)
values = jsons.map(value) | st.sampled_from(["1.50", "-0", "1E+5", '"\\/"', '{"a": 1, "a": 2}']).map(Value)
structures = containers(jsons).map(value)
memories = st.builds(Memory, st.integers(0, 10**18 - 1))
descriptions = st.builds(Nlp, notes.filter(lambda text: "*/" not in text))
simple: st.SearchStrategy[Any] = refs | st.builds(Variable, names) | memories | values
conjunctions = st.sampled_from(["and", "or", "but"])


def predicated(argument: st.SearchStrategy[Any]) -> st.SearchStrategy[Predication]:
    negators = st.sampled_from([None, None, "!", "doesn't", "don't", "not"])
    return st.builds(Predication, argument, names, argument, negators)


@st.composite
def joined(draw: st.DrawFn, predication: st.SearchStrategy[Predication]) -> tuple[Any, Any]:
    """Predications with conjunctions; an abstraction would take what follows it, so it only ends the last one."""
    some = [draw(predication)]
    while not isinstance(some[-1].object, Abstraction) and len(some) < 3 and draw(st.booleans()):
        some.append(draw(predication))
    return tuple(some), tuple(draw(st.lists(conjunctions, min_size=len(some) - 1, max_size=len(some) - 1)))


def abstracted(argument: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return argument | joined(predicated(argument)).map(lambda both: Abstraction(*both))


predications = predicated(st.recursive(simple, abstracted, max_leaves=4))
feedback = st.none() | st.builds(Feedback, structures)
abbreviations = st.builds(Abbreviation, names, tuples(refs), memories, st.none() | descriptions)
lines = notes.filter(lambda text: not {"\r", "\n"} & {*text})
openings = st.builds(Opening, names, tuples(refs))
statements: st.SearchStrategy[Any] = st.one_of(
    st.builds(Comment, lines),
    st.builds(SensorReport, lines),
    st.builds(Tldr, descriptions),
    st.builds(Annotation, notes.filter(lambda text: "]" not in text and text == text.strip(" \t\r\n"))),
    abbreviations,
    st.builds(Instantiation, refs, descriptions | memories | abbreviations),
    st.builds(Fact, predications),
    st.builds(Question, predications, feedback),
    st.builds(lambda head, body: Rule(head, *body), predications, joined(predications)),
    st.builds(Command, names, st.none() | names, st.none() | structures, feedback),
)


def begins_with_structure(item: Item) -> bool:
    predication = getattr(item, "predication", None) or getattr(item, "head", None)
    subject = getattr(predication, "subject", None)
    return isinstance(subject, Value) and subject.text[0] in "{["


@st.composite
def bodies(draw: st.DrawFn, depth: int = 1) -> list[Item]:
    """What may follow where so many contexts are open; the outermost one may end at the end only."""
    items: list[Item] = []
    for item in draw(st.lists(statements | openings | st.just(Closing()), max_size=6)):
        if isinstance(item, Closing) and depth == 1:
            continue
        last = items[-1] if items else None
        bare = isinstance(last, Command) and last.arguments is None and last.feedback is None
        if bare and begins_with_structure(item):
            continue  # these would be its arguments
        depth += isinstance(item, Opening) - isinstance(item, Closing)
        items.append(item)
    if depth == 1 and draw(st.booleans()):
        items.append(Closing())
    return items


logs = st.builds(lambda opening, body: (opening, *body), openings, bodies())


def open_contexts(program: PeteProgram) -> list[str]:
    """The names of the contexts that a log leaves open, outermost first."""
    names: list[str] = []
    for item in program.items:
        if isinstance(item, Opening):
            names.append(item.name)
        elif isinstance(item, Closing):
            names.pop()
    return names


def chunks(text: str, draw: random.Random) -> list[str]:
    """A text in pieces of any length."""
    longest = draw.choice([1, 3, 10, 1000])
    found, at = [], 0
    while at < len(text):
        size = draw.randint(1, longest)
        found.append(text[at : at + size])
        at += size
    return found
