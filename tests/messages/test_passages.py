"""Passages: they cover the text, fit an embedding model, and end where a sentence does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorygraph.messages.passages import MAX_PASSAGE_TOKENS, find_passages

SENTENCE = "The quick brown fox jumps over the lazy dog. "
TEXTS = st.text(st.sampled_from("ab \n.é日。!?")) | st.lists(
    st.sampled_from([SENTENCE, "\n\n", "x" * 900, "日" * 50]), max_size=60
).map("".join)


@given(text=TEXTS.flatmap(lambda part: st.integers(1, 20).map(lambda times: part * times)))
def test_passages_are_the_whole_text_in_its_order_and_none_is_longer_than_a_passage(text: str) -> None:
    passages = find_passages(text)
    parts = [text[start:end] for start, end in passages]
    assert "".join(parts) == (text if passages else "")
    assert all(part.strip() and not find_passages(part) for part in parts)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        (SENTENCE * 8, 0),
        (SENTENCE * 40, 4),
        ("x" * 6 * MAX_PASSAGE_TOKENS, 0),
        ("x" * 6 * 200, 2),
        ("日" * 200, 2),
    ],
)
def test_only_a_text_longer_than_a_passage_is_divided(text: str, count: int) -> None:
    assert len(find_passages(text)) == count


def test_a_passage_ends_where_a_sentence_does() -> None:
    text = SENTENCE * 40
    assert all(text[start:end].endswith("dog. ") for start, end in find_passages(text))


def test_a_text_without_sentences_is_divided_between_words() -> None:
    text = "word " * 300
    assert all(text[start:end].endswith("word ") for start, end in find_passages(text))
