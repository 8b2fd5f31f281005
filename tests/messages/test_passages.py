"""Passages: they cover the text, fit an embedding model, and end where a sentence does."""

from __future__ import annotations

import re

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


def divide_token_by_token(text: str) -> list[tuple[int, int]]:
    """The definition of a passage, without the patterns that find several tokens at once."""
    tokens = [match.start() for match in re.finditer(r"[A-Za-z0-9_]{1,6}|[^\x00-\x7f]|[^\w\s]", text)]
    ends = [match.end() for match in re.finditer(r"\n+|(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])", text)]
    passages, start = [], 0
    while len(left := [token for token in tokens if token >= start]) > MAX_PASSAGE_TOKENS:
        least, most = left[MAX_PASSAGE_TOKENS // 4], left[MAX_PASSAGE_TOKENS]
        end = max((end for end in ends if least <= end <= most), default=1 + text.rfind(" ", least, most) or most)
        passages.append((start, end))
        start = end
    return [*passages, (start, len(text))] if passages else []


SIGNS = ["a", "words of ", "x" * 13, ".", ". ", "! \n ", "\n\n", "\n ", "\t", "\u3000", "\x1c", "\x01", "\x85"]
SIGNS += ["\u3002\n", "\u6771"]


@given(text=st.lists(st.sampled_from(SIGNS), max_size=80).flatmap(lambda part: st.just("".join(part) * 9)))
def test_passages_are_those_that_counting_token_by_token_gives(text: str) -> None:
    assert find_passages(text) == divide_token_by_token(text)
