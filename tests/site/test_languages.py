"""The references of the languages say what happens, and know everything that there is.

That of Convo-Lang is held to its language in tests/runtime/convo/test_reference.py.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from memorygraph import MemoryGraph, ScriptError
from memorygraph.languages.agentscript.body import METHODS
from memorygraph.languages.contextscript.syntax import KEYWORDS, STATEMENTS
from memorygraph.languages.engine.grammar import Choice, Grammar, RuleReference
from memorygraph.runtime.imports import Imported
from memorygraph.runtime.memories.graph import GraphMemory
from memorygraph.runtime.memories.jsonl import JsonlMemory
from memorygraph.runtime.memories.memory import ImportedMemory
from memorygraph.runtime.memories.sqlite import SqliteMemory
from memorygraph.runtime.tools import _KINDS
from tests.cases import PLACE
from tests.site.examples import DOCS, EXAMPLE, PAGES, run_page
from tests.site.grammars import GRAMMARS, ordered_rules, page
from tests.test_cases import AGENT

TEXTS = {name: (DOCS / f"{name}.md").read_text("utf-8") for name in ("contextscript", "agentscript", "pete", "convo")}
CODE = re.compile(r"`([^`]+)`")


def rows(language: str, columns: int) -> list[list[str]]:
    """The rows of all tables of a reference with so many columns, without their heads."""
    lines = [line.strip("|") for line in TEXTS[language].splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)] for line in lines]
    heads = {place - 1 for place, row in enumerate(cells) if set(row[0]) <= {"-"}}
    return [
        row
        for place, row in enumerate(cells)
        if len(row) == columns and not {place, place + 1} & {h + 1 for h in heads}
    ]


def alternatives(grammar: Grammar, rule: str) -> Iterator[str]:
    """The rules that a rule is one of, and those that they are one of."""
    body = grammar.rules[rule].body
    options = body.options if isinstance(body, Choice) else (body,)
    references = [option.rule for option in options if isinstance(option, RuleReference)]
    if len(references) < len(options):
        yield rule
        return
    for reference in references:
        yield from alternatives(grammar, reference)


@pytest.mark.parametrize("language", PAGES)
def test_what_stands_below_an_example_is_what_came_of_it(language: str, graph: MemoryGraph) -> None:
    assert len(EXAMPLE.findall(TEXTS[language])) == TEXTS[language].count(f"```{language}\n") >= 7
    assert run_page(TEXTS[language], graph) == TEXTS[language], "write it anew: python -m tests.site.examples"


def test_the_reference_of_contextscript_has_every_statement_and_argument() -> None:
    named = {(row[0].strip("`"), row[1].strip("`")) for row in rows("contextscript", 3)}
    arguments = {(name, KEYWORDS[kind.__name__]) for kind in STATEMENTS for name in kind.arguments()}
    statements = {(f"{KEYWORDS[kind.__name__]}(…);", kind.__name__) for kind in STATEMENTS}
    assert arguments | statements <= named
    assert {kind.__name__ for kind in STATEMENTS} == set(alternatives(GRAMMARS["contextscript"], "Statement"))
    examples = "".join(found["source"] for found in EXAMPLE.finditer(TEXTS["contextscript"]))
    assert [name for name, _ in arguments if not re.search(rf"\b{name}=", examples)] == []


def test_the_reference_of_pete_has_every_rule_that_means_something() -> None:
    grammar = GRAMMARS["pete"]
    named = {word for row in rows("pete", 3) for word in CODE.findall(row[1])}
    meant = {*alternatives(grammar, "Item"), "Abbreviation", "Nlp", "Memory", "Feedback", "Inferred", "Predication"}
    meant |= {*alternatives(grammar, "Argument"), "Negator", "Conjunction"}
    assert meant - named == set()
    assert named - {*grammar.rules, *grammar.tokens} == set()


def test_the_reference_of_agentscript_has_every_statement_and_expression() -> None:
    grammar = GRAMMARS["agentscript"]
    named = {row[0].strip("`") for row in rows("agentscript", 4)}
    meant = {each for rule in ("Statement", "Suffix", "Primary") for each in alternatives(grammar, rule)}
    assert meant | {"Or", "And", "Comparison", "Not"} == named


@pytest.mark.parametrize("row", rows("agentscript", 4), ids=lambda row: row[0])
def test_an_example_of_agentscript_gives_what_stands_beside_it(row: list[str], graph: MemoryGraph) -> None:
    [gives] = CODE.findall(row[3])
    assert run_body(row[2], graph) == gives


@pytest.mark.parametrize(
    "row", [row for row in rows("agentscript", 2) if re.fullmatch("`[a-z-]+`", row[1])], ids=lambda row: row[0]
)
def test_an_example_of_agentscript_fails_as_it_says(row: list[str], graph: MemoryGraph) -> None:
    [code] = CODE.findall(row[1])
    with pytest.raises(ScriptError) as raised:
        run_body(row[0], graph)
    assert [problem.code for problem in raised.value.problems] == [code]


def run_body(cell: str, graph: MemoryGraph) -> str:
    """The value of the body of a function, as JSON."""
    [body] = CODE.findall(cell)
    return json.dumps(graph.run(AGENT.replace(PLACE, body), {"n": 2, "words": ["a", "b"]}).value)


def test_the_reference_of_agentscript_has_every_tool_and_memory_with_its_methods() -> None:
    imports = [
        (CODE.findall(row[0]), CODE.findall(row[1]), set(re.findall(r"`(\w+)\(", row[2])))
        for row in rows("agentscript", 3)
    ]
    for scheme, kind in _KINDS.items():
        [methods] = [
            each for names, at, each in imports if names == ["tool"] and any(a.startswith(scheme + ":") for a in at)
        ]
        assert methods == set(kind.METHODS), scheme
    memories = {at[0].partition(":")[0]: methods for names, at, methods in imports if names == ["memory"]}
    own, graph = set(ImportedMemory.METHODS), set(GraphMemory.METHODS)
    assert memories == {"file": own, "sqlite": own, "neo4j": graph}


@pytest.mark.parametrize(
    ("imported", "scheme", "kind"),
    [
        *[("tool", scheme, kind) for scheme, kind in _KINDS.items() if scheme != "mcp"],
        *[("memory", "file", JsonlMemory), ("memory", "sqlite", SqliteMemory), ("memory", "neo4j", GraphMemory)],
    ],
)
def test_check_knows_the_methods_of_tools_and_memories_and_how_many_arguments_they_take(
    imported: str, scheme: str, kind: type[Imported[Any]]
) -> None:
    counts: dict[str, tuple[int, int] | None] = {}
    for name in kind.METHODS:
        parameters = inspect.signature(getattr(kind, name)).parameters.values()
        own = [each for each in parameters if each.name != "self"]
        least = sum(each.default is each.empty for each in own)
        counts[name] = None if any(each.kind is each.VAR_POSITIONAL for each in own) else (least, len(own))
    assert METHODS[imported][scheme] == counts


@pytest.mark.parametrize("language", GRAMMARS)
def test_every_rule_of_a_grammar_has_a_picture(language: str) -> None:
    text, grammar = page(language), GRAMMARS[language]
    assert ordered_rules(grammar)[0] == "Program"
    assert set(re.findall(r"^## (\w+)\n\n<div class=\"railroad\"><svg", text, re.MULTILINE)) == grammar.rules.keys()
    linked = set(re.findall(r'href="#(\w+)"', text))
    assert linked <= {name.lower() for name in {*grammar.rules, *grammar.tokens}}


@pytest.mark.parametrize("language", TEXTS)
def test_every_reference_says_what_differs_from_the_original(language: str) -> None:
    _, heading, table = TEXTS[language].partition("\n## Coming from the original\n")
    assert heading
    assert table.count("\n|") > 5
