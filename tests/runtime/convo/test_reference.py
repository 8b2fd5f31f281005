"""The reference of Convo-Lang says what happens, and knows everything that there is."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memorygraph.compiler.convo import graph_of
from memorygraph.errors import ScriptError
from memorygraph.languages import LANGUAGES, parse
from memorygraph.languages.convo import syntax
from memorygraph.languages.convo.reading import BUILT_IN, GRAMMAR
from memorygraph.languages.convo.unsupported import GRAPH_ROLES, GRAPH_TAGS
from memorygraph.runtime.convo.inference import MODEL_PARAMETERS
from memorygraph.runtime.convo.scene import CHANGES, DEPTH, VARIABLES_OF_THE_ENGINE, Scene, Visit
from memorygraph.runtime.convo.transcript import SPEAKERS
from memorygraph.runtime.convo.types import BASIC, CONSTRUCTORS
from memorygraph.runtime.convo.values import UNDEFINED, to_plain
from memorygraph.runtime.permissions import Permissions
from tests.cases import Case
from tests.modules import PACKAGE
from tests.test_cases import run_graph, show_problems

REFERENCE = (Path(__file__).parents[3] / "docs" / "convo.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```convo\n(.*?)^```\n```text\n(.*?)^```", REFERENCE, re.MULTILINE | re.DOTALL)
SHOWN = {"path", "value", "request", "prompt", "options"}  # what a run gives; the rest is said to it, or found before
LINES = SHOWN | {"call", "checked", "error", "judge", "problem", "reply", "warning"}
CODE = re.compile(r"`([^`]+)`")


def rows(columns: int) -> list[list[str]]:
    """The rows of all tables with so many columns, without their heads."""
    lines = [line.strip().strip("|") for line in REFERENCE.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.split("|")] for line in lines]
    heads = {index - 1 for index, row in enumerate(cells) if set(row[0]) == {"-"}}
    return [
        row
        for index, row in enumerate(cells)
        if len(row) == columns and index not in heads and set("".join(row)) != {"-"}
    ]


EXPRESSIONS = rows(4)


def names(column: list[list[str]]) -> set[str]:
    """All words in the code of the first cells of rows."""
    return {word for row in column for code in CODE.findall(row[0]) for word in re.findall(r"[\w!]+", code)}


def test_every_example_says_what_it_does() -> None:
    assert len(EXAMPLES) == REFERENCE.count("```convo\n") == REFERENCE.count("```text\n")


@pytest.mark.parametrize(("example", "shown"), EXAMPLES, ids=lambda text: " ".join(text.split())[:40])
def test_an_example_does_what_it_says(example: str, shown: str) -> None:
    said = [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in shown.splitlines()]
    program = parse(example, "convo")
    language = LANGUAGES["convo"]
    judgements = "\n".join(text for name, text in said if name == "judge")
    sections = [pair for pair in said if pair[0] not in {"judge", "problem", "warning"}]
    case = Case("convo", "run", (), (("program", example), ("judge", judgements), *sections))
    assert show_problems(case, language.check(program)).splitlines() == [
        text for name, text in said if name == "problem"
    ]
    warned = sorted(show_problems(case, language.find_warnings(program)).splitlines())
    assert warned == sorted(text for name, text in said if name == "warning")
    assert {name for name, _ in said} <= LINES
    if not any(name in SHOWN for name, _ in said):
        return
    found = run_graph(case, lambda _: None)
    assert found["error"]() == "".join(case.texts("error"))
    for name in ("path", "value"):
        assert case.section(name, str(found[name]())) == found[name]()
    for name in ("prompt", "request", "options"):
        wanted = case.texts(name)
        assert wanted == list(found[name]())[: len(wanted)]


@pytest.mark.parametrize("row", EXPRESSIONS, ids=lambda row: row[2])
def test_an_expression_gives_what_stands_beside_it(row: list[str]) -> None:
    [example], gives = CODE.findall(row[2]), row[3]
    [shown] = CODE.findall(gives)
    assert shown == evaluate(example)


def evaluate(code: str) -> str:
    """What statements give in a visit of the node `a`, whose input is `hello`, as JSON; or the code of the error."""
    program = parse(f"> node a\n> nodeEnd\n> do\n{code}\n", "convo")
    assert program.problems == ()
    scene = Scene(program, graph_of(program.conversation), Permissions.of())
    scene.enter(Visit("a", "hello"))
    [do] = [message for message in program.statements if isinstance(message, syntax.CodeMessage)]
    try:
        value: Any = scene.evaluator.statements(do.statements)
    except ScriptError as error:
        return error.problems[0].code
    return "undefined" if value is UNDEFINED else json.dumps(to_plain(value), ensure_ascii=False)


# What there is: made from the grammar, the tables of the runtime, and the code that looks for tags


def missing(wanted: set[str], where: list[list[str]]) -> set[str]:
    return wanted - names(where)


def test_every_built_in_function_has_a_row_with_an_example_of_it() -> None:
    assert missing(set(BUILT_IN), EXPRESSIONS) == set()
    for row in EXPRESSIONS:
        for name in names([row]) & BUILT_IN:
            assert re.search(rf"\b{name}\b", row[2]), f"the example of `{name}` does not call it"


def test_every_type_has_a_row() -> None:
    assert missing({*BASIC, *CONSTRUCTORS}, EXPRESSIONS) == set()


def test_every_kind_of_expression_and_of_syntax_is_named() -> None:
    alternatives = {
        option.rule for rule in ("Body", "Tag", "Value") for option in getattr(GRAMMAR.rules[rule].body, "options", ())
    }
    classes = {kind.__name__ for kind in syntax.ConvoSyntax.__subclasses__()} - {"ParsedConversation", "Tag"}
    assert len(alternatives) > 10
    known = set(CODE.findall(re.sub(r"^```.*?^```", "", REFERENCE, flags=re.MULTILINE | re.DOTALL)))
    assert {*alternatives, *classes, "Note", "Comment", "Separator"} - known == set()


def test_every_message_has_a_row_and_stands_in_an_example() -> None:
    routes = {f"{role}!" for role in syntax.ROUTE_ROLES}
    roles = {
        *SPEAKERS,
        *CHANGES,
        *syntax.CODE_ROLES,
        *syntax.ROUTE_ROLES,
        *routes,
        *syntax.NODE_ENDS,
        *syntax.MODIFIERS,
    }
    assert missing(roles, rows(2)) == set()
    heads = {head for example, _ in EXAMPLES for head in re.findall(r"^\s*> *([\w!]+)", example, re.MULTILINE)}
    assert roles - heads == set()
    assert roles - routes - syntax.MODIFIERS - GRAPH_ROLES == set()  # none of them is called unknown


def test_every_variable_of_the_engine_has_a_row() -> None:
    assert missing({*VARIABLES_OF_THE_ENGINE, DEPTH}, rows(2)) == set()


def test_every_tag_that_the_code_looks_for_has_a_row_and_stands_in_an_example() -> None:
    tags = {*syntax.EXPRESSION_TAGS, *MODEL_PARAMETERS, "model", "responseModel", *tags_of_the_code()}
    assert {"call", "contextDepth", "fork", "includeInNodes", "json", "routingModel", "toolId"} <= tags
    assert {name for name in tags if not re.search(rf"^\| .*`@{name}\b", REFERENCE, re.MULTILINE)} == set()
    used = {tag for example, _ in EXAMPLES for tag in re.findall(r"^\s*@(\w+)", example, re.MULTILINE)}
    assert tags - used == set()
    assert tags - GRAPH_TAGS == set()  # none of them is called unknown


def tags_of_the_code() -> Iterator[str]:
    """The names by which the code looks for tags: compared with `tag.name`, or given to `tag_of` and `has_tag`."""
    folders = ("compiler", "languages/convo", "runtime/convo")
    for path in [path for folder in folders for path in (PACKAGE / folder).rglob("*.py")]:
        tree = ast.parse(path.read_text("utf-8"))
        constants = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            given: list[ast.expr] = []
            if isinstance(node, ast.Compare) and ast.unparse(node.left) == "tag.name":
                given = [each for side in node.comparators for each in getattr(side, "elts", [side])]
            elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in {"tag_of", "has_tag"}:
                given = list(node.args)
            for each in given:
                name = constants.get(each.id) if isinstance(each, ast.Name) else getattr(each, "value", None)
                if isinstance(name, str):
                    yield name
