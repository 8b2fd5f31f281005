"""Entities that are likely one: which are found, why, which are not, and that no pair that a rule names is missed."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorygraph import MemoryGraph
from memorygraph.limits import Cancelled, RunBudget
from memorygraph.memory import duplicates
from memorygraph.memory.duplicates import MAX_SERIES, find_common_variants
from memorygraph.memory.name_keys import MAX_EDITED_LETTERS, MIN_EDITED_LETTERS, deletions_of, is_one_edit, keys_of
from memorygraph.memory.values import Entity, Relation

ONE: dict[tuple[str, str], str] = {
    ("Ada Lovelace", "ada lovelace"): "case",
    ("STRASSE", "Straße"): "case",
    ("Zoë Quinn", "Zoe Quinn"): "accents",
    ("Łódź", "Lodz"): "accents",
    ("Team \u2764\ufe0f", "Team \u2764"): "title",
    ("राम शर्मा", "शर्मा, राम"): "word order",
    ("Ada Lovelace", "Dr. Ada Lovelace"): "title",
    ("Ada Lovelace", "Lovelace, Ada"): "word order",
    ("Catherine Johnson", "Katherine Johnson"): "one edit",
    ("Project Apollo", "Projcet Apollo"): "one edit",
    ("Johnathan Smith", "Jonathan Smith"): "one edit",
}
TWO = [
    ("Anna", "Anne"),
    ("Room 101 North", "Room 102 North"),
    ("Version 2026.1", "Version 2026.11"),
    ("Player A", "Player B"),
    ("かき氷の店です", "がき氷の店です"),
    ("Dr", "Prof"),
    ("राम", "रीमा"),
    ("রাম", "রমা"),
    ("தமிழ்", "தாமிழ்"),
    ("มานี", "มานู"),
]


@pytest.fixture
def named(graph: MemoryGraph) -> MemoryGraph:
    """A graph with entities of all of the names, each pair in a type of its own."""
    entities = [
        Entity(name=name, entity_type=f"{index}", observations=[])
        for index, pair in enumerate([*ONE, *TWO])
        for name in pair
    ]
    graph.entities.create(entities, distinguish_case=True)
    return graph


def test_names_that_are_likely_of_one_thing_are_found_with_the_reason(named: MemoryGraph) -> None:
    found = {tuple(sorted(each.name for each in group.entities)): group.reason for group in named.duplicates()}
    wanted = {tuple(sorted(pair)): reason for pair, reason in ONE.items() if "Ada Lovelace" not in pair}
    assert {pair: found.get(pair) for pair in wanted} == wanted
    assert not {tuple(sorted(pair)) for pair in TWO} & found.keys()


@pytest.mark.parametrize(("pair", "reason"), ONE.items())
def test_the_keys_of_two_names_agree_but_for_an_edit(pair: tuple[str, str], reason: str) -> None:
    first, second = map(keys_of, pair)
    assert (first.order == second.order) == (reason != "one edit")
    assert is_one_edit(first.words, second.words) == (reason == "one edit")


@pytest.mark.parametrize("pair", TWO)
def test_the_keys_of_two_things_differ(pair: tuple[str, str]) -> None:
    first, second = map(keys_of, pair)
    assert first.order != second.order
    assert not is_one_edit(first.words, second.words) or len(first.words) < MIN_EDITED_LETTERS


def test_nodes_of_one_name_and_no_type_are_found(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="a", name="Ada", data=""); Node(node_id="b", name="Ada", data="");')
    [found] = graph.duplicates()
    assert (found.reason, [each.id for each in found.entities]) == ("same name", ["a", "b"])


def test_an_alias_counts_as_a_name(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="a", name="Countess", data=""); Node(node_id="b", name="Ada", data="");')
    graph.merge("a", into="b")
    graph.load('Node(node_id="c", name="Countess", data="");')
    [found] = graph.duplicates()
    assert {each.id for each in found.entities} == {"b", "c"}


def test_equal_neighbours_are_found_and_the_first_has_the_most_edges(graph: MemoryGraph) -> None:
    names = ("Rex", "the dog", "Tom", "Ada", "home", "ball")
    graph.entities.create([Entity(name=name, entity_type="t", observations=[]) for name in names])
    for name in ("Rex", "the dog", "Tom"):
        verbs = {"Ada": "belongs to", "home": "lives in", "ball": "likes" if name != "Tom" else "hates"}
        graph.entities.relate(
            [Relation(source=name, target=target, relation_type=verb) for target, verb in verbs.items()]
        )
    graph.entities.create([Entity(name="the dog", entity_type="t", observations=["barks"])])
    [found] = graph.duplicates()
    assert (found.reason, [each.name for each in found.entities]) == ("equal neighbours", ["the dog", "Rex"])


def test_entities_of_two_types_are_two(graph: MemoryGraph) -> None:
    graph.entities.create([Entity(name="Washington", entity_type="person", observations=[])])
    graph.entities.create([Entity(name="washington", entity_type="city", observations=[])], distinguish_case=True)
    assert graph.duplicates() == []


def test_the_reason_is_that_of_the_names_of_one_type(graph: MemoryGraph) -> None:
    people = [Entity(name=name, entity_type="person") for name in ("Ada Lovelace", "ada lovelace")]
    graph.entities.create([*people, Entity(name="Dr. Ada Lovelace", entity_type="ship")], distinguish_case=True)
    assert [(each.reason, len(each.entities)) for each in graph.duplicates()] == [("case", 2)]


NAMES = st.lists(st.text("abc ", min_size=8, max_size=10).map(str.strip), unique=True, min_size=2, max_size=4)


@given(names=NAMES, variants=st.sampled_from([1, 7, 1_000_000]))
def test_names_one_edit_apart_always_have_a_variant_in_common(names: list[str], variants: int) -> None:
    assert len(names) <= MAX_SERIES
    wanted = {pair for pair in combinations(sorted(names), 2) if is_one_edit(*pair)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "MAX_VARIANTS", variants)
        found = {
            pair
            for length in {len(name) for name in names}
            for group in find_common_variants(
                [name for name in names if len(name) == length], [name for name in names if len(name) == length - 1]
            )
            for pair in combinations(sorted(group), 2)
        }
    assert wanted <= found


@given(st.text("ab1 ", min_size=1, max_size=6), st.text("ab1 ", min_size=1, max_size=6))
def test_one_edit_is_the_same_both_ways_and_leaves_digits_alone(first: str, second: str) -> None:
    assert is_one_edit(first, second) == is_one_edit(second, first)
    if is_one_edit(first, second):
        assert [letter for letter in first if letter.isdigit()] == [letter for letter in second if letter.isdigit()]


def test_what_is_too_long_for_a_name_has_no_variants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has as many as it has letters, and each of these is as long: some names would fill the memory."""
    compared: list[str] = []

    def no_variants(name: str) -> tuple[str, ...]:
        compared.append(name)
        return ()

    monkeypatch.setattr(duplicates, "deletions_of", no_variants)
    names = ["x" * MAX_EDITED_LETTERS, "y" * (MAX_EDITED_LETTERS + 1)]
    called = {name: [place] for place, name in enumerate(names)}
    assert not list(duplicates.find_one_edit_apart([], called, {name: keys_of(name) for name in names}))
    assert compared == names[:1]


def test_a_search_for_duplicates_ends_with_its_request(named: MemoryGraph) -> None:
    budget = RunBudget()
    budget.cancel("nobody waits")
    with pytest.raises(Cancelled, match="nobody waits"):
        budget.call(named.duplicates)


def test_a_deletion_takes_one_letter_and_no_digit() -> None:
    assert list(deletions_of("aab1")) == ["ab1", "aa1"]


def test_what_raw_cypher_has_spoilt_is_compared_as_text_or_left_out(graph: MemoryGraph) -> None:
    people = [Entity(name=name, entity_type="person", observations=[]) for name in ("Ada", "ada")]
    graph.entities.create(people, distinguish_case=True)
    graph.query(
        """
        CREATE (node:Node {namespace: $namespace, id: 'n', name: 'N'})
        CREATE (:Node {namespace: $namespace, id: ['x'], name: 'X'})
               -[:EDGE {namespace: $namespace, id: 'e', verb: ['v']}]->(node)
        CREATE (node)-[:EDGE {namespace: $namespace, id: 'f'}]->(:Node {namespace: $namespace, name: 'Y'})
        CREATE (:Alias {namespace: $namespace, id: 'a'})-[:ALIAS_OF]->(node)
        CREATE (:Alias {namespace: $namespace, id: 'b', name: ['b']})-[:ALIAS_OF]->(node)
        """,
        write=True,
    )
    assert [[entity.name for entity in found.entities] for found in graph.duplicates()] == [["Ada", "ada"]]
