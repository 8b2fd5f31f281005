"""The language server, asked by a real client over stdio."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import click.testing
import pytest
from anyio.from_thread import start_blocking_portal
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.workspace import PositionCodec

from memorygraph import MemoryGraph
from memorygraph.cli import cli
from memorygraph.languages import LANGUAGES, parse
from memorygraph.lsp.lookup import MAX_COMPLETED_IDS, GraphLookup
from memorygraph.lsp.server import Places, smallest_edit
from tests.cases import Case, read_cases
from tests.lsp.editor import Answer, Editor, Work, in_editor, in_the_end, opened, within

MAX_CLOSING_SECONDS = 5
WORLD = (
    "# Who knows whom\n"
    'Node(node_id="ada", name="Ada", data="");\n'
    'Node(node_id="adam", name="Adam", data=""); # "no id"\n'
    'Node(node_id="charles", name="Charles 😀", data="");\n'
    'Edge(edge_id="e1", from_node="ada", to_node="adm", verb="knows", weight=0.5);\n'
)
PROGRAM = """\
import llm Model from "openai://gpt-5-mini"

agent Helper {
model Model
role "A helper"
description "Answers"
func answer(question) {
reply = generate({ input: "Answer" }) {
return { text string }
}
return reply.text
}
}

main agent Lead {
main func(question) {
reply = Helper.answer(question)
return reply
}
}
"""
GRAPH = """\
@to second = eq(output "yes")
@exit
> node first
> shout(word: string) -> (
    return(upper(word))
)
> user
Say {{shout("hi")}}

> node second
> goto first
"""
LOG = """\
context main(&travis) {
&heat = /* the heat */
&travis likes &heat.
_what cools &heat?
"""


def checked(path: Path) -> list[tuple[int, int, str, str]]:
    """What `memorygraph check` says of a file."""
    result = click.testing.CliRunner().invoke(cli, ["check", str(path), "--json"])
    document = json.loads(result.stdout)
    return [(one["line"], one["column"], one["message"], one["code"]) for one in document["errors"]]


def shown(problems: list[types.Diagnostic]) -> list[tuple[int, int, str, str]]:
    """What an editor shows as errors, counted as `check` counts."""
    errors = [one for one in problems if one.severity == types.DiagnosticSeverity.Error]
    return [(one.range.start.line + 1, one.range.start.character + 1, one.message, str(one.code)) for one in errors]


class Edit(Protocol):
    """Does something in the editor that the tests of this module share, whose server knows no graph."""

    def __call__(self, work: Work[Answer], /) -> Answer: ...


@pytest.fixture(scope="module")
def edit() -> Iterator[Edit]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(opened("--no-graph")) as editor,
    ):
        yield lambda work: portal.call(within, editor, work)


CASES = [
    param
    for language in LANGUAGES
    for param in read_cases(f"{language}/*")
    if param.values[0].kind in {"parse", "check"} and param.values[0].source.isascii()
]


def test_an_editor_says_the_very_words_of_check_of_every_case(tmp_path: Path, edit: Edit) -> None:
    async def work(editor: Editor) -> int:
        errors = 0
        for number, param in enumerate(CASES):
            case = param.values[0]
            assert isinstance(case, Case)
            text = case.source.replace("\r", "")
            if not 0 < len(text) < 20_000 or text.startswith("\ufeff"):
                continue
            path = tmp_path / f"{number}{LANGUAGES[case.language].extension}"
            path.write_text(text, "utf-8")
            uri = editor.open(path, text)
            found = shown(await editor.problems_now(uri))
            assert found == checked(path), text
            errors += len(found)
        return errors

    assert edit(work) > 100


def test_a_warning_of_check_is_a_warning(tmp_path: Path, edit: Edit) -> None:
    text = "@exit\n@to a\n> node a\n> goto a"

    async def work(editor: Editor) -> list[types.Diagnostic]:
        return await editor.problems_now(editor.open(tmp_path / "a.convo", text))

    expected = MemoryGraph.find_warnings(text, "convo")
    found = edit(work)
    assert [(one.message, one.code) for one in found] == [(one.message, one.code) for one in expected]
    assert {one.severity for one in found} == {types.DiagnosticSeverity.Warning}


def test_a_warning_stays_while_something_else_is_wrong(tmp_path: Path, edit: Edit) -> None:
    text = "@exit\n@to a\n> node a\n@exit = eqq(output 1)\n> node b\n> goto a"

    async def work(editor: Editor) -> list[types.Diagnostic]:
        return await editor.problems_now(editor.open(tmp_path / "a.convo", text))

    assert {"unknown-function", "dead-route"} <= {str(one.code) for one in edit(work)}


@pytest.mark.parametrize(
    ("name", "text", "other", "written", "message"),
    [
        (
            "main.convo",
            "@import ./other\n> define\n> node a\n> user\nHi\n> goto a\n",
            "other.convo",
            "> define\nx = 1\n",
            "there is no file `./other` beside this one",
        ),
        (
            "main.as",
            'import agent B from "other.as"\nmain agent A { main func() { return B() } }\n',
            "other.as",
            "agent B { main func() { return 1 } }\n",
            "no such file: FOLDER/other.as",
        ),
    ],
    ids=["convo", "agentscript"],
)
def test_what_is_wrong_with_an_import_is_said_and_goes_when_the_file_is_saved(
    tmp_path: Path, edit: Edit, name: str, text: str, other: str, written: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(text)

    async def work(editor: Editor) -> tuple[list[types.Diagnostic], list[types.Diagnostic]]:
        uri = editor.open(path, text)
        before = await editor.problems_now(uri)
        (tmp_path / other).write_text(written)
        editor.problems.clear()
        editor.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))
        return before, await editor.problems_now(uri)

    before, after = edit(work)
    assert [one.code for one in before] == ["import-failed"]
    assert shown(before) == [(1, 1, message.replace("FOLDER", str(tmp_path)), "import-failed")]
    assert shown(after) == []


def test_an_import_may_come_from_a_wider_folder_that_is_allowed(tmp_path: Path, edit: Edit) -> None:
    (tmp_path / "programs").mkdir()
    (tmp_path / "base.convo").write_text("> define\nx = 1\n")
    text = "@import ../base.convo\n> user\nHi\n"

    async def work(editor: Editor) -> list[types.Diagnostic]:
        return await editor.problems_now(editor.open(tmp_path / "programs" / "main.convo", text))

    [refused] = edit(work)
    assert f"`--import-folder {tmp_path}`" in refused.message
    assert in_editor(work, "--no-graph", "--import-folder", str(tmp_path)) == []


IMPORTING = "@import ./parts/b\n@import ./parts/c\n@exit\n> node a\n> user\nSay {{hello('x')}}\n> goto a\n"
IMPORTED = "> define\ny = 2\n> hello(word: string) -> (\n  return(word)\n)\n"


def test_a_name_that_a_file_imports_is_shown_and_found_where_it_is_declared_and_not_renamed(
    tmp_path: Path, edit: Edit
) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "b.convo").write_text(IMPORTED)
    (tmp_path / "parts" / "c.convo").write_text(IMPORTED.replace("hello", "bye"))

    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.convo", IMPORTING)
        assert shown(await editor.problems_now(uri)) == []
        place = editor.place(uri, "{{hel")
        params = types.DefinitionParams(types.TextDocumentIdentifier(uri), place)
        found = await editor.text_document_definition_async(params)
        assert isinstance(found, types.Location)
        assert (found.uri, found.range.start.line) == ((tmp_path / "parts" / "b.convo").as_uri(), 2)
        said = await editor.hover(uri, "{{hel")
        assert said is not None
        assert said.startswith("function `hello`, line 3 of b.convo")
        assert "return(word)" in said
        assert "hello" in await editor.complete(uri, "{{hel")
        with pytest.raises(JsonRpcException, match="`hello` is not declared in this file"):
            await editor.rename(uri, "goodbye", "{{hel")
        editor.edit(uri, IMPORTING.replace("> user", "> greet(word: string) -> (\n  return(word)\n)\n> user"))
        with pytest.raises(JsonRpcException, match=r"`bye` is .* already"):
            await editor.rename(uri, "bye", "> gre")
        assert "> welcome(word" in await editor.rename(uri, "welcome", "> gre")

    edit(work)


def test_an_id_that_only_the_graph_may_have_is_not_renamed(tmp_path: Path, edit: Edit) -> None:
    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.ctx", WORLD)
        with pytest.raises(JsonRpcException, match="`adm` is not declared in this file"):
            await editor.rename(uri, "adam2", 'to_node="')

    edit(work)


def test_what_is_wrong_in_an_imported_file_is_marked_at_its_import(tmp_path: Path, edit: Edit) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "b.convo").write_text(IMPORTED)
    (tmp_path / "parts" / "c.convo").write_text("> do\nf(")

    async def work(editor: Editor) -> None:
        [problem] = await editor.problems_now(editor.open(tmp_path / "a.convo", IMPORTING))
        assert problem.range.start == types.Position(1, len("@import "))
        assert problem.message.startswith("parts/c.convo:2:")
        (tmp_path / "parts" / "c.convo").write_text("@import ./d\n> define\nx = 1\n")
        (tmp_path / "parts" / "d.convo").write_text("> do\nf(")
        [problem] = await editor.problems_now(editor.open(tmp_path / "b.convo", IMPORTING))
        assert problem.range.start.line in {0, 1}
        assert problem.message.startswith("parts/d.convo:2:")

    edit(work)


def test_what_is_wrong_in_an_imported_agent_is_marked_at_its_import(tmp_path: Path, edit: Edit) -> None:
    (tmp_path / "b.as").write_text("agent B { main func() { return } }\n")
    text = 'import llm M from "openai://m"\nimport agent B from "b.as"\nmain agent A { main func() { return B() } }\n'

    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.as", text)
        [problem] = await editor.problems_now(uri)
        assert problem.range.start == editor.place(uri, 'agent B from "')
        assert problem.message.startswith("b.as:1:")

    edit(work)


def test_an_edge_is_not_offered_as_the_end_of_an_edge(tmp_path: Path, edit: Edit) -> None:
    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.ctx", WORLD)
        ends = await editor.complete(uri, 'from_node="')
        assert ends == await editor.complete(uri, 'to_node="') == ["ada", "adam", "charles", "adm"]
        editor.edit(uri, WORLD + "del(id=")
        assert '"e1"' in await editor.complete(uri, "del(id=")

    edit(work)


def test_a_refused_rename_is_an_answer_and_no_failure_of_the_server(tmp_path: Path) -> None:
    async def work() -> bytes:
        async with opened("--no-graph") as editor:
            uri = editor.open(tmp_path / "a.ctx", WORLD)
            with pytest.raises(JsonRpcException):
                await editor.rename(uri, "likes", 'verb="')
            said = editor.stderr
        return await said.read()

    assert asyncio.run(work()) == b""


def test_a_server_that_never_answers_keeps_no_editor_from_closing(tmp_path: Path) -> None:
    async def work(uri: str) -> float:
        async with opened(NEO4J_URI=uri, NEO4J_PASSWORD="none") as editor:
            document = editor.open(tmp_path / "a.ctx", WORLD)
            assert (await editor.hover(document, 'from_node="a')) is not None
            start = time.monotonic()
        return time.monotonic() - start

    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert asyncio.run(work(f"bolt://127.0.0.1:{silent.getsockname()[1]}")) < MAX_CLOSING_SECONDS


def test_a_hover_shows_the_declaration_and_an_unknown_id_offers_the_likeliest(tmp_path: Path, edit: Edit) -> None:
    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.ctx", WORLD)
        known = await editor.hover(uri, 'from_node="a')
        assert known is not None
        assert known.startswith("node `ada`, line 2")
        assert 'Node(node_id="ada", name="Ada", data="");' in known
        unknown = await editor.hover(uri, 'to_node="a')
        assert unknown == "`adm` is not declared in this file; did you mean `adam`, `ada`?"
        assert await editor.hover(uri, "# Who") is None

    edit(work)


def test_names_are_found_completed_and_renamed_in_contextscript(tmp_path: Path, edit: Edit) -> None:
    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.ctx", WORLD)
        await editor.problems_now(uri)
        assert await editor.define(uri, 'from_node="ad') == 'Node(node_id="ada", name="Ada", data="");'
        assert await editor.define(uri, 'to_node="ad') is None
        renamed = await editor.rename(uri, "lovelace", 'from_node="')
        assert renamed == WORLD.replace('"ada"', '"lovelace"')
        assert [name for name, _ in await editor.outline(uri)] == ["ada", "adam", "charles", "e1"]
        assert {"ada", "adam", "charles"} <= {*await editor.complete(uri, 'to_node="')}
        assert await editor.complete(uri, 'verb="k') == ["knows"]
        assert await editor.complete(uri, "weight=0.5);\n") == ["Node", "Edge", "del"]
        editor.edit(uri, WORLD + 'Edge(edge_id="e2", from_node="ada", ')
        assert await editor.complete(uri, 'from_node="ada", ') == ["to_node", "verb", "weight"]
        editor.edit(uri, WORLD + "Edge(edge_id=")
        assert '"ada"' in await editor.complete(uri, "Edge(edge_id=")

    edit(work)


PASSED = "context main(&travis) {\n&fan = /* the fan */\ncontext cool(&fan) {\n&fan is 3.\n}\n&travis likes &cool.\n"
SHADOWED = """\
import memory Facts from "neo4j://"
main agent Lead {
func summary(text) { return text }
main func(question) {
summary = summary(question)
Facts = Facts.recall("x")
return summary
}
}
"""
CALLED = """\
@to next
> node a
  > book(people: int) -> (people)
  @call book
  > user
  Book {{input}}
> node b
> goto a
"""


@pytest.mark.parametrize(
    ("name", "text", "before", "new"),
    [
        *[("a.ctx", WORLD, 'from_node="', "adam"), ("a.ctx", WORLD, 'from_node="', "no id")],
        *[("a.ctx", WORLD, 'verb="', "likes"), ("a.ctx", WORLD, "# Wh", "x")],
        ("a.as", PROGRAM, "Helper.answer(ques", "asked"),
        ("a.as", SHADOWED, "func sum", "total"),
        ("a.as", SHADOWED, "return sum", "total"),
        ("a.as", SHADOWED, "memory Fa", "Known"),
        ("a.convo", GRAPH, "goto fi", "next"),
        ("a.convo", GRAPH, "goto fi", "auto"),
        ("a.convo", GRAPH, "goto fi", "main"),
        ("a.convo", "> node a\n> goto main\n", "goto ma", "start"),
        ("a.convo", "> node\n> user\nHi\n> goto main\n", "goto ma", "start"),
        ("a.convo", "> node main\n> user\nHi\n> goto\n", "node ma", "start"),
        ("a.convo", CALLED, "> bo", "required"),
        ("a.ctx", WORLD + "Edge(", 'from_node="', "lovelace"),
        ("a.pete", LOG + "&travis likes\n", "likes &he", "warmth"),
        ("a.pete", LOG, "&travis likes &he", "travis"),
        ("a.pete", LOG, "&tra", "kim"),
        ("a.pete", LOG, "\n&tra", "kim"),
        ("a.pete", 'context main() {\n@fan, set {"speed": 2}\n&I likes &fan.\n', "likes &fa", "vent"),
    ],
)
def test_a_rename_that_would_break_the_text_or_mean_something_else_is_refused(
    tmp_path: Path, name: str, text: str, before: str, new: str, edit: Edit
) -> None:
    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / name, text)
        with pytest.raises(JsonRpcException):
            await editor.rename(uri, new, before)

    edit(work)


@pytest.mark.parametrize("before", ["> bo", "@call bo"])
def test_a_renamed_function_is_the_one_that_must_be_called(tmp_path: Path, before: str, edit: Edit) -> None:
    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.convo", CALLED)
        renamed = await editor.rename(uri, "reserve", before)
        assert renamed == CALLED.replace("> book", "> reserve").replace("@call book", "@call reserve")

    edit(work)


@pytest.mark.parametrize("before", ["context co", "likes &co"])
def test_a_context_and_its_handle_are_renamed_together(tmp_path: Path, before: str, edit: Edit) -> None:
    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.pete", PASSED)
        assert await editor.rename(uri, "chill", before) == PASSED.replace("cool", "chill")

    edit(work)


def test_names_are_found_completed_and_renamed_in_agentscript(tmp_path: Path, edit: Edit) -> None:
    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.as", PROGRAM)
        await editor.problems_now(uri)
        assert await editor.define(uri, "model Mo") == PROGRAM.partition("\n")[0]
        assert await editor.define(uri, "Helper.an") == "func answer(question) {"
        assert await editor.define(uri, "return repl", "y\n") == "reply = Helper.answer(question)"
        assert await editor.outline(uri) == [("Model", []), ("Helper", [("answer", [])]), ("Lead", [])]
        renamed = await editor.rename(uri, "said", "return rep", "ly.text")
        assert renamed == PROGRAM.replace("reply = generate", "said = generate").replace("reply.text", "said.text")
        assert await editor.rename(uri, "Aid", "agent Hel") == PROGRAM.replace("Helper", "Aid")
        assert await editor.complete(uri, "Helper.") == ["answer"]
        assert await editor.complete(uri, "import l") == ["llm"]
        assert await editor.complete(uri, 'input: "Answ') == []
        assert {"return", "reply", "generate", "string"} <= {*await editor.complete(uri, "{\n", "return { text")}

    edit(work)


def test_names_are_found_completed_and_renamed_in_convo(tmp_path: Path, edit: Edit) -> None:
    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.convo", GRAPH)
        await editor.problems_now(uri)
        assert await editor.define(uri, "@to sec") == "> node second"
        assert await editor.define(uri, "{{sho") == "> shout(word: string) -> ("
        assert await editor.rename(uri, "start", "goto fi") == GRAPH.replace("first", "start")
        assert await editor.rename(uri, "cry", "{{sh") == GRAPH.replace("shout", "cry")
        assert await editor.complete(uri, "@to ") == ["first", "second"]
        assert "to" in await editor.complete(uri, "@", "to second")
        assert "goto" in await editor.complete(uri, "> g", "oto")
        assert {"shout", "upper", "word", "eq"} <= {*await editor.complete(uri, "return(", "upper")} | {"upper"}
        assert await editor.complete(uri, "\nSay ") == []
        assert await editor.hover(uri, "= e") == "`eq` is a function of the language"

    edit(work)


FUNCTIONS = """\
> first(message: string) -> (
    note = "mine"
    @shared
    said = message
    return(note)
)
@condition = message
> second(
    message: string
    said: string
) -> (
    total = 1
    return(message said note)
)
> define
message = "global"
total = 0
> user
Say {{message}} {{said}} {{note}}
"""


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("return(", "message", "    message: string"),
        ("return(message ", "said", "    said: string"),
        ("said = ", "message\n", "> first(message: string) -> ("),
        ("return(", "note", '    note = "mine"'),
        ("return(message said ", "note", None),
        ("tot", "al = 0", "    total = 1"),
        ("@condition = ", "message", 'message = "global"'),
        ("{{", "message", 'message = "global"'),
        ("{{", "said", "    said = message"),
        ("{{", "note", None),
    ],
)
def test_what_only_the_body_of_a_function_knows_is_declared_there(
    tmp_path: Path, before: str, after: str, line: str | None, edit: Edit
) -> None:
    async def work(editor: Editor) -> None:
        assert await editor.define(editor.open(tmp_path / "a.convo", FUNCTIONS), before, after) == line

    edit(work)


def test_a_rename_follows_a_node_among_those_that_a_route_chooses_from(tmp_path: Path, edit: Edit) -> None:
    text = "@to auto second, third\n> node first\n@to next\n> node second\n> node third\n> goto first\n"

    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.convo", text)
        assert await editor.rename(uri, "last", "> node th") == text.replace("third", "last")
        assert await editor.hover(uri, "@to ne") is None

    edit(work)


def test_a_node_that_is_called_main_is_renamed(tmp_path: Path, edit: Edit) -> None:
    text = "> node main\n> user\nHi\n> goto main\n"

    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.convo", text)
        assert await editor.rename(uri, "start", "goto ma") == text.replace("main", "start")

    edit(work)


def test_names_are_found_completed_and_renamed_in_pete(tmp_path: Path, edit: Edit) -> None:
    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.pete", LOG)
        await editor.problems_now(uri)
        assert await editor.define(uri, "likes &he") == "&heat = /* the heat */"
        assert await editor.rename(uri, "warmth", "likes &he") == LOG.replace("&heat", "&warmth")
        assert await editor.complete(uri, "likes &") == ["heat", "main", "travis", "what"]
        assert await editor.complete(uri, "_") == ["heat", "main", "travis", "what"]
        assert await editor.complete(uri, "_wh") == ["what"]
        assert "likes" in await editor.complete(uri, "travis li")
        assert await editor.outline(uri) == [("main", []), ("heat", [])]

    edit(work)


HANDLES = """\
context a(&x, &fan) {
  context b(&x) {
    &z = /* of b */
    &x likes &z.
  }
  context c(&x, &fan) {
    &z = /* of c */
    &x knows &z.
    context fan(&fan, &z) {
      &z cools &x.
      &fan is 3.
      &z = /* of fan */
      &z has 4.
    }
    &fan was 5.
    _w is 6?
    &w is 7.
  }
  &w is 8.
  &fan has 9.
}
"""


@pytest.mark.parametrize(
    ("text", "before", "declared"),
    [
        (PASSED, "}\n&tra", "handle `travis`, line 1"),
        (PASSED, "likes &co", "context `cool`, line 3"),
        (PASSED, "context cool(&fa", "handle `fan`, line 2"),
        (LOG + "&what is 4.\n", "\n&wh", "variable `what`, line 4"),
        (LOG + "_a likes _b if _b likes _a.\n", "if _", "variable `b`, line 5"),
        (HANDLES, "likes &z", "handle `z`, line 3"),
        (HANDLES, "knows &z", "handle `z`, line 7"),
        (HANDLES, "context fan(&fan, &z", "handle `z`, line 7"),
        (HANDLES, "{\n      &z", "handle `z`, line 7"),
        (HANDLES, " cools &x", "`x` is declared elsewhere in this file, and not known here"),
        (HANDLES, "cools &x.\n      &fan", "handle `fan`, line 1"),
        (HANDLES, "/* of fan */\n      &z", "handle `z`, line 12"),
        (HANDLES, "}\n    &fan", "context `fan`, line 9"),
        (HANDLES, "?\n    &w", "variable `w`, line 16"),
        (HANDLES, "}\n  &w", "`w` is declared elsewhere in this file, and not known here"),
        (HANDLES, "&w is 8.\n  &fan", "handle `fan`, line 1"),
    ],
)
def test_a_handle_is_that_of_the_context_which_makes_it_or_passes_it(
    tmp_path: Path, text: str, before: str, declared: str, edit: Edit
) -> None:
    async def work(editor: Editor) -> None:
        shown = await editor.hover(editor.open(tmp_path / "a.pete", text), before)
        assert shown is not None
        assert shown.startswith(declared)

    edit(work)


def test_a_rename_changes_a_handle_in_the_contexts_that_are_passed_it_and_in_no_other(
    tmp_path: Path, edit: Edit
) -> None:
    async def work(editor: Editor) -> None:
        known = HANDLES.replace("cools &x", "cools 2").replace("&w is 8", "&x is 8")
        uri = editor.open(tmp_path / "a.pete", known)
        own = known[known.index("context c") : known.index("      &z = /* of fan */")]
        assert await editor.rename(uri, "y", "knows &z") == known.replace(own, own.replace("&z", "&y"))
        assert [name for name, _ in await editor.outline(uri)] == ["a", "b", "z", "c", "z", "fan", "z"]

    edit(work)


def test_answers_come_from_the_last_text_that_could_be_read_while_an_edit_is_under_way(
    tmp_path: Path, edit: Edit
) -> None:
    broken = PROGRAM.replace("return reply.text", "\n\nreturn reply.text ) ( {{{")

    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.as", PROGRAM)
        await editor.problems_now(uri)
        editor.edit(uri, broken)
        assert await editor.define(uri, "reply = Helper.an") == "func answer(question) {"
        assert [one.code for one in await editor.problems_now(uri)] != []
        assert await editor.define(uri, "reply = Helper.an") == "func answer(question) {"
        assert await editor.hover(uri, "model Mo") is not None
        assert "Helper" in await editor.complete(uri, "reply = ", "Helper.answer")
        with pytest.raises(JsonRpcException, match="errors"):
            await editor.rename(uri, "Aid", "agent Hel")
        assert await editor.format(uri) is None
        editor.edit(uri, PROGRAM)
        assert await editor.problems_now(uri) == []

    edit(work)


def test_only_the_last_of_many_edits_is_reported(tmp_path: Path, edit: Edit) -> None:
    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.ctx", WORLD)
        await editor.problems_now(uri)
        for size in range(1, len(WORLD)):
            editor.edit(uri, WORLD[:size])
        editor.edit(uri, "Node(node_id=ada);")
        assert [one.message for one in await editor.problems_now(uri)] == [
            one.message for one in MemoryGraph.check("Node(node_id=ada);")
        ]
        await asyncio.sleep(1)
        assert editor.problems[uri][-1].version == editor.versions[uri]

    edit(work)


def test_places_are_counted_in_utf_16(tmp_path: Path, edit: Edit) -> None:
    text = 'Node(node_id="a", name="😀", data=""); Node(node_id="b", name="B", data="", date="");\n'

    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.ctx", text)
        [problem] = await editor.problems_now(uri)
        assert problem.range.start == editor.place(uri, 'data="", ')
        mended = text.replace(', date=""', "")
        editor.edit(uri, mended)
        assert await editor.rename(uri, "c", 'Node(node_id="', 'b"') == mended.replace('"b"', '"c"')

    edit(work)


@pytest.mark.parametrize(
    ("name", "text", "formatted"),
    [
        (
            "a.ctx",
            '# first\nNode( node_id = "a",name="A" , data="" );Node(node_id="b", # why\n name="B", data="");',
            '# first\nNode(node_id="a", name="A", data="");\nNode(node_id="b", # why\n name="B", data="");',
        ),
        ("a.pete", "context main(&a) { &a has 3. // hm\n set", "context main(&a) {\n  &a has 3.\n  // hm\n  set\n"),
        (
            "a.as",
            'main agent {\nmain func(a) {\nx = "one\n two"  \n    return [\n1 2 ]\n}\n}\n',
            'main agent {\n  main func(a) {\n    x = "one\n two"\n    return [\n      1 2 ]\n  }\n}\n',
        ),
        (
            "a.convo",
            "> define\nx=add( 1  2 )\n\n// kept\n> user\nHi {{ x }}\n",
            "> define\nx=add(1, 2)\n\n// kept\n> user\nHi {{x}}\n",
        ),
    ],
)
def test_a_text_is_formatted_and_says_the_same_with_its_comments(
    tmp_path: Path, name: str, text: str, formatted: str, edit: Edit
) -> None:
    async def work(editor: Editor) -> str | None:
        return await editor.format(editor.open(tmp_path / name, text))

    language = next(one.name for one in LANGUAGES.values() if name.endswith(one.extension))
    assert edit(work) == formatted
    assert parse(formatted, language).statements == parse(text, language).statements


def test_a_file_in_another_language_is_left_alone(tmp_path: Path, edit: Edit) -> None:
    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.txt", "Node(")
        with pytest.raises(JsonRpcException, match="not an open script"):
            await editor.outline(uri)
        assert uri not in editor.problems

    edit(work)


def test_a_hover_shows_the_node_of_the_graph_and_its_last_change(tmp_path: Path, environment: str) -> None:
    with MemoryGraph.connect(namespace=environment) as graph:
        graph.load('Node(node_id="lovelace", name="Ada [L]", data="The first *programmer*");')
        graph.load('Node(node_id="lovelock", name="James", data="");')
        address = graph.address("lovelace")
    text = 'Edge(edge_id="e", from_node="lovelace", to_node="lovelac", verb="knows", weight=0.5);\n'
    log = f"context main() {{\n&a = {address}\n"

    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.ctx", text)
        found = await in_the_end(lambda: editor.hover(uri, 'from_node="'), lambda said: "in the graph" in (said or ""))
        assert found is not None
        assert "node `lovelace`, Ada \\[L\\]" in found
        assert "The first \\*programmer\\*" in found
        assert "created in revision 1" in found
        meant = "`lovelac` is neither in this file nor in the graph; did you mean `lovelace`, `lovelock`?"
        await in_the_end(lambda: editor.hover(uri, 'to_node="'), lambda said: said == meant)
        both = {"lovelace", "lovelock"}
        await in_the_end(lambda: editor.complete(uri, 'to_node="lov'), both.issubset)
        alone = editor.open(tmp_path / "b.ctx", 'Edge(edge_id="x", from_node="lov')
        await in_the_end(lambda: editor.complete(alone, 'from_node="lov'), lambda ids: ids == sorted(both))
        other = editor.open(tmp_path / "a.pete", log)
        await in_the_end(lambda: editor.hover(other, "= mem"), lambda said: "Ada" in (said or ""))

    in_editor(work)


def test_the_editor_asks_again_while_the_graph_may_have_more_ids(tmp_path: Path, environment: str) -> None:
    with MemoryGraph.connect(namespace=environment) as graph:
        graph.load("".join(f'Node(node_id="town{number:03}", name="T", data="");' for number in range(120)))

    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.ctx", 'Edge(edge_id="x", from_node="town')
        await in_the_end(lambda: editor.complete(uri, 'from_node="town'), lambda ids: len(ids) == MAX_COMPLETED_IDS)
        assert (await editor.completions(uri, 'from_node="town')).is_incomplete
        editor.edit(uri, 'Edge(edge_id="x", from_node="town11')
        await in_the_end(lambda: editor.complete(uri, 'from_node="town11'), lambda ids: len(ids) == 10)
        assert not (await editor.completions(uri, 'from_node="town11')).is_incomplete

    in_editor(work)


def test_ids_that_the_graph_does_not_say_may_be_more() -> None:
    lookup = GraphLookup(lambda: None)
    assert asyncio.run(lookup.ids("town")) == ([], True)
    lookup.close()


@pytest.mark.slow
def test_without_a_server_a_hover_answers_and_starts_none(tmp_path: Path) -> None:
    home = tmp_path / "home"

    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.ctx", WORLD)
        assert "did you mean" in ((await editor.hover(uri, 'to_node="a')) or "")
        assert not (home / "neo4j").exists()

    in_editor(work, NEO4J_URI=None, MEMORYGRAPH_HOME=str(home))


@pytest.mark.slow
def test_a_server_that_cannot_be_reached_keeps_no_hover_waiting(tmp_path: Path) -> None:
    async def work(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.ctx", WORLD)
        for _ in range(3):
            assert (await editor.hover(uri, 'from_node="a')) is not None

    in_editor(work, NEO4J_URI="bolt://127.0.0.1:9", NEO4J_PASSWORD="none")


class CountingCodec(PositionCodec):
    """Counts the characters that it is asked about."""

    def __init__(self, encoding: types.PositionEncodingKind) -> None:
        super().__init__(encoding)
        self.asked = 0

    def client_num_units(self, chars: str) -> int:
        self.asked += len(chars)
        return int(super().client_num_units(chars))


@pytest.mark.parametrize("encoding", [types.PositionEncodingKind.Utf8, types.PositionEncodingKind.Utf16])
def test_a_place_in_a_long_line_is_found_without_counting_the_line_again(encoding: types.PositionEncodingKind) -> None:
    line = "a\u00e4\u6f22\U0001f600 " * 2000
    text = f"first \u00e4\n{line}\nlast \U0001f600"
    codec = CountingCodec(encoding)
    places = Places(text, codec)
    for offset in range(0, len(text) + 1, 7):
        start = text.rfind("\n", 0, offset) + 1
        units = PositionCodec(encoding).client_num_units(text[start:offset])
        assert places.position(offset) == types.Position(text.count("\n", 0, offset), units)
        assert places.offset(places.position(offset)) == offset
    assert places.offset(types.Position(1, 10**9)) == len(f"first \u00e4\n{line}")
    assert codec.asked < 2 * len(text)


def test_a_text_with_line_breaks_of_both_kinds_is_not_formatted() -> None:
    codec = PositionCodec()
    formatted = "a = 1\nb = 2\nc = 3\n"
    assert smallest_edit(Places("a=1\r\nb = 2\nc = 3\r\n", codec), formatted) == []
    [edit] = smallest_edit(Places("a=1\r\nb = 2\r\nc = 3\r\n", codec), formatted)
    assert edit.new_text == "a = 1\r\n"
