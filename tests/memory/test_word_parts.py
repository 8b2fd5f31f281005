"""Texts in other scripts are found by their parts: in messages, nodes and entities, and in what was stored before.

Each file of `scripts` has texts, and questions about them that use other words around the key ones.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from memorygraph import MemoryGraph
from memorygraph.graph import stored_parts as stored_parts_module
from memorygraph.graph.search import lucene_query
from memorygraph.memory.items import ItemKey, ItemWrites
from memorygraph.memory.recall import recall_hits
from memorygraph.memory.values import Entity
from memorygraph.memory.words import words_of
from memorygraph.word_parts import MAX_PAIRS, Terms, pairs_of, segments_of, stem_arabic, stored_parts, words_with_signs
from tests.examples import mostly_slow
from tests.memory.recalling import say

FOLDER = Path(__file__).parent / "scripts"
LANGUAGES = ("arabic", "chinese", "japanese", "korean", "thai")
WITHOUT_PARTS = (
    "MATCH (found:Node|Message {namespace: $namespace}) "
    "SET found.said_parts = null, found.name_parts = null, found.data_parts = null"
)
PARTS = (
    "MATCH (found:Node|Message {namespace: $namespace}) WHERE coalesce(found.said, found.data, found.name) <> '' "
    "RETURN found.id AS id, found.said_parts AS said, found.name_parts AS name, found.data_parts AS data ORDER BY id"
)


class Examples(NamedTuple):
    """Texts in a language by their names, and questions with the name of the text that answers each."""

    texts: dict[str, str]
    questions: list[tuple[str, str]]


def read_examples(language: str) -> Examples:
    found, name = Examples({}, []), ""
    for line in (FOLDER / f"{language}.txt").read_text("utf-8").splitlines():
        first, rest = line.split(maxsplit=1)
        if first == "?":
            found.questions.append((rest, name))
        else:
            name = first.removesuffix(":")
            found.texts[name] = rest
    return found


def thing(name: str, *observations: str) -> Entity:
    return Entity(name=name, entity_type="thing", observations=[*observations])


def store(graph: MemoryGraph, language: str) -> Examples:
    """Store texts of a language as messages of two speakers, and as observations of entities."""
    found = read_examples(language)
    say(graph, language, *((("Ada", "Ben")[i % 2], text) for i, text in enumerate(found.texts.values())))
    graph.entities.create(
        [
            Entity(name=f"{language} {name}", entity_type="note", observations=[text])
            for name, text in found.texts.items()
        ]
    )
    return found


def recall_at_5(found: Examples, ask: Callable[[str], list[str]], wanted: Callable[[str], str]) -> float:
    """Of 100 questions, how many have what answers them among the first five."""
    right = sum(wanted(name) in ask(question)[:5] for question, name in found.questions)
    return 100 * right / len(found.questions)


@pytest.mark.parametrize("language", mostly_slow(LANGUAGES, ordinary=2))
def test_questions_find_their_texts_among_the_first_five(graph: MemoryGraph, language: str) -> None:
    found = store(graph, language)
    assert len(found.questions) == 30
    ways: dict[str, tuple[Callable[[str], list[str]], Callable[[str], str]]] = {
        "messages": (
            lambda text: [hit.text for hit in graph.recall(text, limit=5, kinds=["message"]).hits],
            found.texts.__getitem__,
        ),
        "search": (lambda text: [hit.node.data for hit in graph.search(text, limit=5)], found.texts.__getitem__),
        "entities": (
            lambda text: [entity.name for entity in graph.entities.search(text).entities],
            lambda name: f"{language} {name}",
        ),
    }
    figures = {way: recall_at_5(found, ask, wanted) for way, (ask, wanted) in ways.items()}
    assert figures["messages"] >= 93
    assert figures["entities"] >= 90
    assert figures["search"] >= 86


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("東京タワー", "タワー"),
        ("アイスコーヒー", "コーヒー"),
        ("ｱｲｽｺｰﾋｰ", "コーヒー"),
        ("서울식물원", "식물원이"),
        ("หอศิลป์กรุงเทพ", "กรุงเทพ"),
        ("المكتبة الوطنية", "مكتبات"),
        ("مَدِينَة", "المدينة"),
        ("Docker를", "docker"),
        ("东京Tower", "tower"),
        ("हिन्दी की किताब", "हिन्दी"),
    ],
)
def test_a_name_is_found_by_a_part_of_it(graph: MemoryGraph, stored: str, asked: str) -> None:
    graph.load(f'Node(node_id="a", name="{stored}", data="x"); Node(node_id="b", name="other", data="y");')
    assert [hit.id for hit in graph.search(asked)] == ["a"]
    assert [hit.id for hit in graph.recall(asked).hits] == ["a"]
    assert [entity.name for entity in graph.entities.search(f"{asked} zebra").entities] == [stored]


WITH_SIGNS = ["example.com", "O'Brien", "3.5", "memory.py", "1,500", "re:Invent", "O\u2019Brien", 'צה"ל', "IT회사.com"]


@pytest.mark.parametrize("word", mostly_slow(WITH_SIGNS, ordinary=2))
def test_a_word_with_signs_in_it_is_found_in_messages_nodes_aliases_and_items(graph: MemoryGraph, word: str) -> None:
    [message] = say(graph, "talk", ("Ada", f"We spoke of {word} at noon."))
    graph.entities.create([thing(word), thing("Express", f"needs {word}'s help")])
    graph.entities.create([thing("tea"), thing("other")])
    writes = ItemWrites()
    writes.put(ItemKey("users.", "k"), {"text": word}, f"It likes {word}.")
    writes.put(ItemKey("users.", "other"), {"text": "tea"}, "It likes tea.")
    graph.items.write(writes)
    for text in (word, f"what of {word}'s, then?"):
        recalled = recall_hits(graph.scope, text, steps=False).hits
        assert {hit.id if hit.kind == "message" else hit.content for hit in recalled} == {
            message,
            word,
            f"Express: needs {word}'s help",
            f"k: It likes {word}.",
        }
        assert len(graph.search(text)) == 3
        assert [item.address.key for item, _ in graph.items.find(text, limit=5)] == ["k"]
        assert {entity.name for entity in graph.entities.search(text).entities} >= {word, "Express"}
    graph.merge(word, into="tea")
    assert "tea" in {hit.name for hit in graph.recall(word).hits}
    assert "tea" in {hit.node.name for hit in graph.search(word)}


@given(st.from_regex(r"[\w ]*", fullmatch=True))
def test_words_without_signs_in_them_are_asked_for_as_they_are(text: str) -> None:
    assert words_with_signs(text) == []


@given(st.text("ab1.:,'\u2019\"א한東ア\u0301 _", max_size=20))
def test_a_word_with_signs_in_it_is_a_part_of_the_text_and_has_signs(text: str) -> None:
    for word in words_with_signs(text):
        assert word in text
        assert len(regex.findall(r"[\w\p{M}]+", word)) > 1 or f"{word}'" in text.replace("\u2019", "'")


def test_a_node_that_says_something_else_is_found_by_that(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="a", name="서울식물원", data="카페라떼");')
    graph.load('Node(node_id="a", data="아이스커피");')
    assert [[hit.id for hit in graph.search(word)] for word in ("라떼", "커피", "식물원")] == [[], ["a"], ["a"]]
    loaded = graph.load('Node(node_id="a", name="garden", data="tea");')
    assert [[hit.id for hit in graph.search(word)] for word in ("커피", "식물원", "tea")] == [[], [], ["a"]]
    graph.undo(loaded.revision)
    assert [[hit.id for hit in graph.search(word)] for word in ("커피", "식물원", "tea")] == [["a"], ["a"], []]


def test_what_was_stored_without_parts_gets_them_and_the_rest_none(graph: MemoryGraph) -> None:
    store(graph, "korean")
    store(graph, "chinese")
    graph.load('Node(node_id="latin", name="tea", data="Ada likes tea");')
    before = graph.query(PARTS)
    graph.query(WITHOUT_PARTS, write=True)
    forget_parts_were_stored(graph)
    # As if it had been stopped half way: what has its parts is not written again.
    graph.query(
        "MATCH (n:Node {namespace: $namespace}) WHERE n.data STARTS WITH '우리' SET n.data_parts = 'kept'", write=True
    )
    heard: list[tuple[int, int]] = []
    assert graph.index_messages(lambda done, total: heard.append((done, total))) == 59
    assert heard[-1] == (59, 59)
    assert graph.index_messages() == 0
    after = graph.query(PARTS)
    assert [row for row in after if row["data"] != "kept"] == [
        row for row, now in zip(before, after, strict=True) if now["data"] != "kept"
    ]
    assert sum(row["data"] == "kept" for row in after) == 1


def test_the_first_recall_stores_the_parts_that_an_earlier_release_left_out(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="a", name="서울식물원", data="카페라떼");')
    graph.query(WITHOUT_PARTS, write=True)
    forget_parts_were_stored(graph)
    assert graph.search("라떼") == []
    assert [hit.id for hit in graph.recall("라떼").hits] == ["a"]
    assert [hit.id for hit in graph.search("라떼")] == ["a"]


def test_parts_that_were_interrupted_go_on_and_are_looked_for_once(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.load("".join(f'Node(node_id="n{i}", name="서울식물원 {i}", data="");' for i in range(5)))
    graph.query(WITHOUT_PARTS, write=True)
    forget_parts_were_stored(graph)
    monkeypatch.setattr(stored_parts_module, "ROWS_PER_TRANSACTION", 2)

    def stop(done: int, _total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stored_parts_module.store_missing_parts(graph.scope, stop)
    assert stored_parts_module.store_missing_parts(graph.scope) == 3
    graph.query(WITHOUT_PARTS, write=True)
    assert graph.index_messages() == 0


def test_a_new_namespace_is_not_looked_through_for_what_an_earlier_release_left_out(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="a", name="서울식물원", data="카페라떼");')
    graph.query(WITHOUT_PARTS, write=True)
    assert graph.index_messages() == 0
    forget_parts_were_stored(graph)
    assert graph.index_messages() == 1


@pytest.mark.parametrize(
    ("called", "asked"), [("서울식물원", "식물원"), ("東京都庁", "都庁"), ("สวนพฤกษศาสตร์", "พฤกษ")]
)
def test_an_alias_is_found_by_a_part_of_it(graph: MemoryGraph, called: str, asked: str) -> None:
    graph.load(f'Node(node_id="a", name="{called}", data=""); Node(node_id="b", name="garden", data="");')
    graph.merge("a", into="b")
    for _ in range(2):
        assert [hit.id for hit in graph.search(asked)] == ["b"]
        assert [hit.id for hit in graph.recall(asked).hits] == ["b"]
        assert [entity.name for entity in graph.entities.search(f"{asked} zebra").entities] == ["garden"]
        # As an earlier release left it.
        graph.query("MATCH (alias:Alias {namespace: $namespace}) SET alias.name_parts = null", write=True)
        forget_parts_were_stored(graph)
        graph.index_messages()


def forget_parts_were_stored(graph: MemoryGraph) -> None:
    """Leave the namespace as an earlier release did, which did not say that all parts are there."""
    graph.query("MATCH (namespace:Namespace {name: $namespace}) REMOVE namespace.parts_stored", write=True)


def test_english_texts_have_no_parts_and_are_searched_as_before() -> None:
    assert stored_parts("Ada's café, naïve, 5 °C 😀") is None
    assert Terms.of(["tea", "Ada", "3.5"]).text == ["tea", "Ada", "3.5"]


@pytest.mark.parametrize("word", ["Zo\u00eb", "Zoe\u0308", "Ti\u1ebfng", "Tie\u0302\u0301ng"])
def test_a_word_is_found_with_its_marks_in_one_sign_or_in_two(graph: MemoryGraph, word: str) -> None:
    asked = [unicodedata.normalize(form, word) for form in ("NFC", "NFD")]
    graph.load(f'Node(node_id="a", name="{word}", data="x"); Node(node_id="b", name="tea", data="x");')
    [message] = say(graph, "talk", ("Ada", f"Did {word} call?"))
    for text in asked:
        assert [hit.id for hit in graph.search(text)] == ["a"]
        assert {hit.id for hit in graph.recall(text).hits} == {"a", message}
        assert [entity.name for entity in graph.entities.search(f"{text} zebra").entities] == [word]


@pytest.mark.parametrize("sign", ["'", "\u2019"])
@pytest.mark.parametrize("word", ["O'Brien", "l'ann\u00e9e", "don't"])
def test_a_word_is_found_with_either_apostrophe(graph: MemoryGraph, word: str, sign: str) -> None:
    stored, asked = word.replace("'", sign), word.replace("'", "'" if sign != "'" else "\u2019")
    graph.load(f'Node(node_id="a", name="{stored}", data="x"); Node(node_id="b", name="tea", data="x");')
    [message] = say(graph, "talk", ("Ada", f"Then {stored} came"))
    for text in (stored, asked):
        assert [hit.id for hit in graph.search(text)] == ["a"]
        assert {hit.id for hit in graph.recall(text).hits} == {"a", message}
        assert [entity.name for entity in graph.entities.search(f"{text} zebra").entities] == [stored]


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("\U0001f469\u200d\U0001f4bb", "\U0001f469\u200d\U0001f4bb"),
        ("\u2764\ufe0f", "\u2764\ufe0f"),
        ("\u2764", "\u2764\ufe0f"),
        ("\U0001f44d\U0001f3fd", "\U0001f44d\U0001f3fd"),
    ],
)
def test_an_emoji_of_several_signs_is_found(graph: MemoryGraph, stored: str, asked: str) -> None:
    graph.load(f'Node(node_id="a", name="x", data="love {stored} it"); Node(node_id="b", name="tea", data="x");')
    [message] = say(graph, "talk", ("Ada", f"I {stored} tea"))
    assert [hit.id for hit in graph.search(asked)] == ["a"]
    assert {"a", message} <= {hit.id for hit in graph.recall(asked).hits}
    assert [entity.name for entity in graph.entities.search(f"{asked} zebra").entities] == ["x"]


@pytest.mark.parametrize("sign", ["", "'a", "\u2019a"])
def test_a_long_text_with_a_mark_on_each_word_is_a_question(graph: MemoryGraph, sign: str) -> None:
    words = [f"\u1ebf{i}a\u0323\u0302{sign}" for i in range(100)]
    graph.load(f'Node(node_id="a", name="{words[0]}", data="x");')
    assert [hit.id for hit in graph.recall(" ".join(words)).hits] == ["a"]
    assert [hit.id for hit in graph.search(" ".join(words))] == ["a"]


@pytest.mark.parametrize("sign", ["漢", "カ", "한", "ก", "س", "ก\u0e49", "x漢カ한กس"])
def test_a_long_text_in_any_script_is_a_question(graph: MemoryGraph, sign: str) -> None:
    graph.load('Node(node_id="a", name="漢カ", data="한กا");')
    text = "".join(chr(ord(sign[0]) + i % 40) + sign for i in range(3000))
    assert len(Terms.of(words_of(text)).parts) <= 2 * MAX_PAIRS
    assert isinstance(graph.recall(text).hits, tuple)
    assert isinstance(graph.search(text), list)
    assert isinstance(graph.entities.search(text).entities, list)


@pytest.mark.parametrize(
    ("filler", "question"),
    [
        (" ".join(f"lorem{number}" for number in range(70)), "So what is the wifi password?"),
        ("wifi " + " ".join(f"lorem{number}" for number in range(70)), "wifi"),
        ("、".join(f"{chr(0x4E00 + 5 * number)}{chr(0x4E03 + 5 * number)}京" for number in range(60)), "暗証番号"),
    ],
)
def test_a_question_is_read_after_a_long_text(graph: MemoryGraph, filler: str, question: str) -> None:
    graph.load('Node(node_id="a", name="wifi password", data="暗証番号");')
    asked = f"{filler}、{question}"
    assert [hit.id for hit in graph.recall(asked).hits] == ["a"]
    assert [hit.id for hit in graph.search(asked)] == ["a"]
    assert [entity.name for entity in graph.entities.search(asked).entities] == ["wifi password"]


@given(st.text())
def test_any_text_has_its_parts(text: str) -> None:
    assert "".join(segment.text for word in text.split() for segment in segments_of(word)) or not text.split()
    parts = stored_parts(text)
    assert parts is None or parts.split()
    assert lucene_query(text, "default") is None or text.strip()


@given(st.text("กขค้ี่าแ漢字かな", min_size=1))
def test_pairs_of_signs_are_the_whole_text(text: str) -> None:
    pairs = pairs_of(text)
    assert pairs[0] == text[: len(pairs[0])]
    assert pairs[-1] == text[-len(pairs[-1]) :]
    assert all(pair in text for pair in pairs)


@given(st.text("ابتثجحخدذرزسشصضطظعغفقكلمنهويةى", min_size=1))
def test_a_stem_of_arabic_is_never_empty(word: str) -> None:
    assert stem_arabic(word)
    assert len(stem_arabic(word)) <= len(word)
