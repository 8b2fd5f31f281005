"""The versions of a page: the words that an edit of a message removes and adds, and how often they are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorygraph.messages.graph import MessageGraph
from memorygraph.messages.history import Version
from memorygraph.messages.storage import InMemoryStorage
from memorygraph.viewing.conversation import render_conversation
from memorygraph.viewing.versions import MAX_WORDS, Words, mark_words

TEXTS = st.lists(st.sampled_from(["tea", "milk", ",", ".", " ", "  ", "\n", "\u00a0"]), max_size=12).map("".join)


@pytest.mark.parametrize(
    ("before", "after", "marked"),
    [
        ("tea", "tea", (("same", "tea"),)),
        ("", "tea", (("added", "tea"),)),
        ("tea ", "", (("removed", "tea "),)),
        ("tea", "tea and milk", (("same", "tea"), ("added", " and milk"))),
        ("hot tea", "tea", (("removed", "hot "), ("same", "tea"))),
        ("hot tea now", "hot milk now", (("same", "hot "), ("removed", "tea"), ("added", "milk"), ("same", " now"))),
        ("hot tea", "hot\ntea", (("same", "hot"), ("removed", " "), ("added", "\n"), ("same", "tea"))),
        ("  tea", "tea", (("removed", "  "), ("same", "tea"))),
    ],
)
def test_the_words_of_an_edit_are_marked(before: str, after: str, marked: Words) -> None:
    assert mark_words(before, after) == marked


@given(TEXTS | st.text(max_size=12), TEXTS | st.text(max_size=12))
def test_both_texts_are_in_the_marked_words(before: str, after: str) -> None:
    marked = mark_words(before, after)
    assert "".join(text for kind, text in marked if kind != "added") == before
    assert "".join(text for kind, text in marked if kind != "removed") == after


@pytest.mark.parametrize("count", [MAX_WORDS, MAX_WORDS + 1])
def test_a_blank_is_no_word_that_very_many_others_are_compared_at(count: int) -> None:
    before, after = (" ".join(f"{letter}{number}" for number in range(count)) for letter in "ab")
    assert mark_words(before, after) == (("removed", before), ("added", after))


def test_a_page_reads_the_versions_as_often_for_many_as_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    read = InMemoryStorage.versions
    readings: list[int] = []

    def count_versions(storage: InMemoryStorage) -> list[Version]:
        versions = read(storage)
        readings.append(len(versions))
        return versions

    monkeypatch.setattr(InMemoryStorage, "versions", count_versions)
    history = MessageGraph([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}])
    render_conversation(history)
    for_one, readings[:] = len(readings), []
    for _ in range(9):
        history.branch(1).append({"role": "assistant", "content": "Hello again!"})
    render_conversation(history)
    assert readings == [10] * for_one
