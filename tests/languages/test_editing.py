"""What editors are told of the names and the form of scripts, for every case and example that there is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memorygraph.errors import MAX_PROBLEMS
from memorygraph.languages import LANGUAGES, language_of, parse
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


def format_text(language: str, text: str) -> str | None:
    """The usual form of a text."""
    row = LANGUAGES[language]
    return row.format_text(row.parse(text))


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("# Adds\n> f(a) -> (add( a 1 ))\n", "# Adds\n> f(\n    a\n) -> (\n    add(a, 1)\n)\n"),
        ("// k\n\n  # Adds\n  # one\n  > f( a )\n", "// k\n\n# Adds\n# one\n> f(\n    a\n)\n"),
        ("> user\nHi\n# Adds\n\n@call\n> f( a )\n", "> user\nHi\n@call\n# Adds\n> f(\n    a\n)\n"),
        ("# Adds\n// why\n> f( a )\n> g( b )\n", "# Adds\n// why\n> f( a )\n> g(\n    b\n)\n"),
        ("> do\nx=add( 1  2 ) // why\n> user\n{{ x }}\n", "> do\nx=add( 1  2 ) // why\n> user\n{{x}}\n"),
        ("> f( a ) // why\n> user\n{{ x }}\n", "> f( a ) // why\n> user\n{{x}}\n"),
        ("> node\r(b)\n> user\n{{ x }}\n", "> node\r(b)\n> user\n{{x}}\n"),
    ],
)
def test_descriptions_and_comments_of_one_message_keep_no_other_from_its_form(text: str, formatted: str) -> None:
    assert format_text("convo", text) == formatted
    check_form("convo", text)


def test_a_text_over_lines_that_end_in_crlf_is_left_as_it_is() -> None:
    text = 'Node( node_id="a", name="A", data="one\r\ntwo");\r\nNode( node_id="b", name="B", data="");\r\n'
    assert format_text("contextscript", text) == text.replace('Node( node_id="b"', 'Node(node_id="b"')


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(("language", "comment"), [("contextscript", "# "), ("pete", "// ")])
def test_a_name_is_completed_after_the_line_of_a_comment_however_it_ends(language: str, comment: str, end: str) -> None:
    row = LANGUAGES[language]
    assert row.complete(comment, len(comment), []) == []
    assert row.complete(comment + end, len(comment + end), [])
    assert row.complete(end + comment, len(end + comment), []) == []


def test_lines_that_end_in_cr_alone_are_kept_between_statements() -> None:
    text = '# one\rNode( node_id="a", name="A", data="");\rdel( id="a"); # two\r'
    assert format_text("contextscript", text) == text.replace("( ", "(")


@pytest.mark.parametrize(
    ("language", "before"),
    [("agentscript", f'x = "{"ab12" * 25_000}" + '), ("contextscript", f'Node(node_id={"a" * 30_000} name="A", ')],
)
def test_what_is_completed_behind_a_long_word_takes_no_time(language: str, before: str) -> None:
    started = time.process_time()
    assert LANGUAGES[language].complete(before, len(before), [])
    assert time.process_time() - started < 2


def test_names_are_looked_for_as_far_as_problems_are_told() -> None:
    script = parse("Node(node_id='a')\n" * (2 * MAX_PROBLEMS) + 'Node(node_id="a", name="A", data="");\n')
    read: list[object] = []

    def read_raw(text: str) -> Iterator[object]:
        assert script.read_raw is not None
        for item in script.read_raw(text):
            read.append(item)
            yield item

    assert LANGUAGES["contextscript"].find_occurrences(replace(script, read_raw=read_raw)) == []
    assert len(read) == MAX_PROBLEMS + 1


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
