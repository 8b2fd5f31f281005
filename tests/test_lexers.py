"""The colours of the four languages, in Pygments."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Error, Keyword, Name, String

from memorygraph.languages import LANGUAGES, parse
from memorygraph.languages.convo.reading import BUILT_IN
from memorygraph.lexers import AgentScriptLexer
from tests.cases import Case, read_cases

EXAMPLES = sorted(path for path in (Path(__file__).parents[1] / "examples").rglob("*.*") if path.suffix in {
    language.extension for language in LANGUAGES.values()
})  # fmt: skip
SOURCES = [case for language in LANGUAGES for case in read_cases(f"{language}/parse")]


def colours(language: str, text: str) -> list[tuple[str, str]]:
    """What each piece of a text is coloured as, but for the blanks."""
    tokens = get_lexer_by_name(language).get_tokens(text)
    return [(str(kind).removeprefix("Token."), piece) for kind, piece in tokens if piece.strip()]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_coloured_by_its_extension_and_keeps_each_character(path: Path) -> None:
    text = path.read_text("utf-8")
    lexer = get_lexer_for_filename(path.name, text)
    assert lexer.name in {"ContextScript", "AgentScript", "Convo-Lang", "PETE"}
    assert "".join(piece for _, piece in lexer.get_tokens(text)).strip("\n") == text.strip("\n")
    kinds = {kind for kind, _ in lexer.get_tokens(text)}
    assert Error not in kinds
    assert {Keyword, String} <= kinds | {kind.parent for kind in kinds}


@pytest.mark.parametrize("case", SOURCES)
def test_no_character_of_a_case_is_lost_whatever_is_wrong_with_it(case: Case) -> None:
    text = case.source
    lexer = get_lexer_by_name(case.language)
    assert "".join(piece for _, _, piece in lexer.get_tokens_unprocessed(text)) == text


def test_a_statement_of_contextscript_has_its_words_coloured() -> None:
    assert colours("contextscript", 'Node(node_id="a\\n"); # why') == [
        ("Keyword", "Node"),
        ("Punctuation", "("),
        ("Name.Attribute", "node_id"),
        ("Punctuation", "="),
        ("Literal.String", '"a'),
        ("Literal.String.Escape", "\\n"),
        ("Literal.String", '"'),
        ("Punctuation", ");"),
        ("Comment.Single", "# why"),
    ]


def test_a_keyword_of_agentscript_that_is_assigned_to_is_a_name() -> None:
    found = {piece: kind for kind, piece in colours("agentscript", "use = 1 loop until x < 3 { }")}
    assert found["use"] == "Name"
    assert found["loop"] == "Keyword"


def test_code_of_convo_ends_at_the_next_message_and_text_is_no_code() -> None:
    text = "> define\n// why\nx = add(1 2)\n> user\nif (x) {{upper(x)}} \\{{y}}\n@to a\n> node a\n"
    found = colours("convo", text)
    assert ("Comment.Single", "// why") in found
    assert ("Name.Builtin", "add") in found
    assert ("Name.Function", "upper") in found
    assert ("Literal.String.Escape", "\\{{") in found
    assert ("Name.Builtin", "if") not in found
    assert [piece for kind, piece in found if kind == "Keyword"] == ["define", "user", "node"]


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_each_built_in_of_the_grammar_is_coloured_as_one(name: str) -> None:
    assert ("Name.Builtin", name) in colours("convo", f"> do\n{name}(1)")


def test_pete_tells_handles_variables_and_what_the_system_says() -> None:
    text = 'context main(&a) {\n// hm\n!! clock {"hour": 12}\n&a doesn\'t like _what?\n@fan, set {"speed": 2}\n'
    found = colours("pete", text)
    assert {
        ("Keyword", "context"),
        ("Name.Class", "main"),
        ("Name.Variable", "&a"),
        ("Comment.Single", "// hm"),
        ("Comment.Special", '!! clock {"hour": 12}'),
        ("Operator", "doesn't"),
        ("Name.Label", "_what"),
        ("Name.Decorator", "@fan"),
        ("Name.Function", "set"),
    } <= set(found)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_rule_has_a_colour_for_each_group_and_opens_a_region_that_there_is(language: str) -> None:
    regions = LANGUAGES[language].highlighting
    for region in regions.values():
        for rule in region.rules:
            assert rule.region is None or rule.region in regions
            assert isinstance(rule.colours, str) or re.compile(rule.pattern).groups == len(rule.colours), rule


def test_an_agentscript_file_is_told_from_actionscript() -> None:
    lexer = get_lexer_for_filename("a.as", "main agent { main func() { return 1 } }")
    assert lexer.name == "AgentScript"
    assert Name.Class in dict(lexer.get_tokens("agent A { }"))
    assert Comment.Single in dict(lexer.get_tokens("// c"))


@pytest.mark.parametrize(
    "text",
    [
        "// why\nagent A {\n}\nmain agent { main func() { return 1 } }",
        "  agent a-b{ }main agent { main func() { return 1 } }",
        "main agent { main func() { return 1 } }",
        "main agent A\n{\nmain func() { return 1 } }",
        'import tool Sum from "python://sum"\nmain agent Lead { main func() { return 1 } }',
    ],
)
def test_an_agent_is_found_in_a_file(text: str) -> None:
    assert parse(text, "agentscript").problems == ()
    assert AgentScriptLexer.analyse_text(text) > 0.5


@pytest.mark.parametrize(
    "text",
    [
        "pipeline {\n    agent { docker { image 'python' } }\n}",
        "pipeline {\n    agent any\n    stages {\n    }\n}",
        "package { public class A { } }",
    ],
)
def test_no_agent_is_found_in_a_file_of_another_language(text: str) -> None:
    assert AgentScriptLexer.analyse_text(text) == 0


@pytest.mark.timeout(10)
@pytest.mark.parametrize("line", ["\n", " \n", "\t", "main ", "main agent ", "agent a ", "agent a\n", "agent a\n\n"])
def test_a_long_file_is_judged_in_time(line: str) -> None:
    assert AgentScriptLexer.analyse_text(line * 100_000) == 0


def test_the_block_of_code_on_the_page_of_editors_is_coloured_and_right() -> None:
    page = (Path(__file__).parents[1] / "docs" / "editors.md").read_text("utf-8")
    [block] = re.findall(r"```contextscript\n(.*?)```", page, re.DOTALL)
    assert parse(block).problems == ()
    assert ("Keyword", "Node") in colours("contextscript", block)
