"""Patterns mean the same on every Python, also where `re` has errors."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from memorygraph.languages.engine.patterns import POSSESSIVE_GROUPS_WORK, compile_pattern, without_possessive_groups
from tests.conftest import EXAMPLES

FILES = {"agentscript": "*.as", "contextscript": "*.ctx", "convo": "*.convo", "pete": "*.pete"}
MODULES = {language: f"memorygraph.languages.{language}.reading" for language in FILES} | {
    "pete": "memorygraph.languages.pete.items"
}
GROUPS = re.compile(r"\)(?:[*+?]|\{[0-9,]+\})\+")


@pytest.mark.skipif(not POSSESSIVE_GROUPS_WORK, reason="this Python's own possessive groups are wrong")
@pytest.mark.parametrize("language", FILES)
def test_tokens_without_possessive_groups_match_the_same(language: str) -> None:
    texts = [path.read_text("utf-8") for path in EXAMPLES.glob(FILES[language])]
    assert texts
    tokens: dict[str, str] = import_module(MODULES[language]).GRAMMAR.tokens
    for name, pattern in tokens.items():
        if GROUPS.search(pattern):
            ours = re.compile(without_possessive_groups(pattern), re.MULTILINE)
            theirs = re.compile(pattern, re.MULTILINE)
            assert not GROUPS.search(ours.pattern)
            for text in texts:
                for start in range(len(text)):
                    assert str(ours.match(text, start)) == str(theirs.match(text, start)), name


@pytest.mark.parametrize(
    ("pattern", "text", "end"),
    [
        (r"(?:ab?c)*+", "a", 0),  # python/cpython#106052
        (r"(?:(?!C).)++", "ABC", 2),  # python/cpython#100061
        (r"(?:\n(?![ \t]*+-)[^\n]*+)*+\n-", "\nab\ncd\n-", 8),
    ],
)
def test_possessive_groups_match_what_they_should(pattern: str, text: str, end: int) -> None:
    match = compile_pattern(pattern).match(text)
    assert match is not None
    assert match.end() == end
