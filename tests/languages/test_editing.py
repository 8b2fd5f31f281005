"""What editors are told of the names and the form of scripts, for every case and example that there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorygraph.languages import LANGUAGES, language_of
from tests.cases import Case, read_cases

EXAMPLES = [
    path
    for path in sorted((Path(__file__).parents[2] / "examples").rglob("*.*"))
    if path.suffix in {language.extension for language in LANGUAGES.values()}
]
CASES = [param for language in LANGUAGES for param in read_cases(f"{language}/*") if param.values[0].section("source")]


def check_names(language: str, text: str) -> int:
    """Hold the names of a text to it; return their number."""
    row = LANGUAGES[language]
    script = row.parse(text)
    text = script.source.text
    found = row.find_occurrences(script)
    for one in found:
        assert text[slice(*one.span)] == one.name, one
        assert one.whole is None or (one.whole.start <= one.span.start and one.span.end <= one.whole.end), one
    changeable = [one.span for one in found if not one.fixed]
    assert len(changeable) == len(set(changeable))
    return len(found)


def check_form(language: str, text: str) -> bool:
    """Hold the usual form of a text to what it says, and to itself; return whether there is one."""
    row = LANGUAGES[language]
    script = row.parse(text)
    formatted = row.format_text(script)
    if formatted is None:
        return False
    again = row.parse(formatted)
    assert again.problems == ()
    assert again.statements == script.statements
    assert row.format_text(again) == formatted
    return True


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_names_of_an_example_stand_where_they_are_said_to_and_its_form_says_the_same(path: Path) -> None:
    language, text = language_of(path).name, path.read_text("utf-8")
    assert check_names(language, text) > 0
    assert check_form(language, text) or language == "convo"


@pytest.mark.parametrize("case", CASES)
def test_the_names_of_a_case_stand_where_they_are_said_to_and_its_form_says_the_same(case: Case) -> None:
    text = case.frame.replace("    // the body of a case stands here", case.source)
    check_names(case.language, text)
    check_form(case.language, text)
