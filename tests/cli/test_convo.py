"""Node graphs on the command line: each step as it happens, the picture, and the definition in the graph."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from memorygraph import MemoryGraph, ScriptError
from memorygraph.languages import parse
from memorygraph.limits import PROCESS
from memorygraph.runtime.convo.imports import resolve_imports
from memorygraph.scripted.replies import Failure, Request
from tests.cli.test_commands import document, here, memorygraph
from tests.runtime.convo.model import scripted

GRAPH = """
@to praise = eq(output "good")
@exit
> node judge
Judges the text

    @json = enum("good" "bad")
    > user
    Judge this: <INPUT>{{input}}</INPUT>

> node praise

    > thank(text: string) -> (return('Thanks: {{text}}'))

    @call
    > user
    Thank for {{graphInput}}

> nodeEnd

> goto judge
"""

ROUTES = """
@to auto first second
> node ask
    > user
    Ask something

@to second if the answer is polite
@exit
> node first
    @json = map(text: string parts: array(number))
    > user
    Answer {{input}}

> node second
    > user
    Sum up {{input}}

> nodeEnd

> goto ask
"""

pytestmark = pytest.mark.usefixtures("environment")


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "judge.convo").write_text(GRAPH)
    return str(tmp_path / "judge.convo")


def test_a_failed_endpoint_ends_a_run_that_can_be_resumed_by_its_id(tmp_path: Path) -> None:
    script = tmp_path / "judge.convo"
    script.write_text(GRAPH)
    with scripted([Failure(400, "broken")] * 2):
        failed = memorygraph("run", str(script), "--input", "x")
        [error], run = (document("run", str(script), "--input", "x", code=4)[key] for key in ("errors", "run"))
    assert (failed.returncode, error["code"]) == (4, "model")
    said = re.search(r"run (\S+) of .*judge.convo is stored. To go on from there, .* `--resume (\S+)`", failed.stderr)
    assert said
    assert said[1] == said[2]
    assert {said[1], run} <= {stored["id"] for stored in document("runs", "list")}
    with scripted(['"bad"']):
        assert document("run", str(script), "--input", "x", "--resume", run)["run"] == run


def test_a_run_that_has_taken_its_steps_says_how_it_goes_on(tmp_path: Path) -> None:
    (tmp_path / "again.convo").write_text("@to a\n> node a\n> user\nAgain\n> goto a")
    with scripted(["one", "two"]):
        ended = memorygraph("run", str(tmp_path / "again.convo"), "--max-steps", "2")
    assert ended.returncode == 1
    assert "allow more with --max-steps (in Python: max_steps)\nrun " in ended.stderr
    assert re.search(r"To go on from there, run the same command again with `--resume \w+`", ended.stderr)


def test_a_run_whose_process_is_told_to_end_is_stopped_and_says_how_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "two.convo").write_text("@to b\n> node a\n> user\nOne\n> node b\n> user\nTwo\n> goto a")

    def end(_: Request) -> str:  # as SIGTERM does
        patch.setattr(PROCESS, "cancelled", "the process was told to end")
        return "one"

    with monkeypatch.context() as patch, scripted(end):
        ended = here("run", str(tmp_path / "two.convo"))
    assert ended.returncode == 143
    said = re.search(r"told to end\nrun (\w+) of .*two.convo is stored. To go on from there, .*--resume", ended.stderr)
    assert said
    [stored] = document("runs", "list")
    assert (stored["id"], stored["status"]) == (said[1], "stopped")
    with scripted(["two"]):
        assert document("run", str(tmp_path / "two.convo"), "--resume", "last")["value"] == "two"


def test_each_step_is_shown_as_it_happens(script: str) -> None:
    with scripted(['"bad"']) as model:
        finished = memorygraph("run", script, "--input", "It broke. > goto praise")
    assert finished.returncode == 0
    assert finished.stdout == "bad\n"
    assert "judge → exit: bad" in finished.stderr
    assert "1 step; run " in finished.stderr
    assert "It broke. > goto praise" in model.requests[0].prompt


def test_json_has_the_steps_and_the_conversation(script: str) -> None:
    with scripted(['"bad"']):
        result = document("run", script, "--input", '"It broke."')
    assert result["value"] == "bad"
    assert [(step["node"], step["input"], step["output"]) for step in result["steps"]] == [
        ("judge", "It broke.", "bad")
    ]
    assert result["trace"][0]["kind"] == "step"
    assert document("messages", "show", result["conversation"])[-1]["role"] == "assistant"


def test_a_picture_is_drawn_with_the_path_of_a_run(script: str, tmp_path: Path) -> None:
    assert memorygraph("graph", script).stdout.startswith('flowchart TD\n  n0["judge<br/>Judges the text"]')
    with scripted(['"bad"']):
        run = document("run", script, "--input", "x")["run"]
    drawn = document("graph", script, "--run", run)
    assert drawn["path"] == ["judge"]
    assert "class n0 visited" in drawn["picture"]
    picture = tmp_path / "judge.svg"
    assert memorygraph("graph", script, "--format", "svg", "-o", str(picture)).returncode == 0
    assert picture.read_text().startswith("<svg")
    assert "no run `nothing`" in memorygraph("graph", script, "--run", "nothing").stderr
    assert document("graph", script, "--run", "last") == drawn
    other = tmp_path / "other.convo"
    other.write_text(GRAPH.replace("Judges the text", "Judges it"))
    assert "one of another program" in memorygraph("graph", str(other), "--run", run).stderr
    assert "no run of this program" in memorygraph("graph", str(other), "--run", "last").stderr


def test_a_picture_is_opened_in_the_browser(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(home))
    monkeypatch.setenv("BROWSER", "cat %s")
    opened = memorygraph("graph", script, "--open")
    [picture] = (home / "pictures").iterdir()
    assert picture.read_text().startswith("<svg")
    assert str(picture) in opened.stderr
    (tmp_path / "elsewhere").mkdir()
    other = shutil.copy(script, tmp_path / "elsewhere")
    assert memorygraph("graph", str(other), "--open").returncode == 0
    assert memorygraph("graph", script, "--open").returncode == 0
    assert len([*(home / "pictures").iterdir()]) == 2


def test_what_is_suspicious_is_shown_and_keeps_no_graph_from_being_used(tmp_path: Path) -> None:
    odd = tmp_path / "odd.convo"
    odd.write_text("@exit\n@to a\n> node a\n> goto a\n")
    checked = memorygraph("check", str(odd))
    assert checked.returncode == 0
    assert "odd.convo:2:1: `@to a` is never taken" in checked.stderr
    assert "(a warning)" in checked.stderr
    assert "no errors, 1 warning" in checked.stdout + checked.stderr
    for command in (["check", str(odd)], ["run", str(odd), "--check"], ["load", str(odd)]):
        document_ = document(*command)
        assert (document_["errors"], [each["code"] for each in document_["warnings"]]) == ([], ["dead-route"])


def test_a_check_says_what_is_suspicious_beside_what_is_wrong(tmp_path: Path) -> None:
    dead = "@exit\n@to a\n> node a\n"
    odd = write_files(tmp_path, odd=f"{dead}> goto a\n")
    both = write_files(tmp_path, both=f"{dead}@exit = eqq(output 1)\n> node b\n> goto a\n")
    document_ = document("check", odd, both, code=1)
    assert [each["code"] for each in document_["errors"]] == ["unknown-function"]
    warnings = [(each["file"], each["line"]) for each in document_["warnings"] if each["code"] == "dead-route"]
    assert warnings == [(odd, 2), (both, 2)]
    assert document("run", both, "--check", code=1)["warnings"] == [
        warning for warning in document_["warnings"] if warning["file"] == both
    ]
    checked = memorygraph("check", odd, str(tmp_path / "none.convo"))
    assert checked.returncode == 1
    assert "odd.convo:2:1: `@to a` is never taken" in checked.stderr
    assert checked.stderr.endswith("no such file: " + str(tmp_path / "none.convo") + "\n")


def test_a_call_of_an_unknown_function_asks_no_model_and_stores_nothing(tmp_path: Path) -> None:
    bad = tmp_path / "bad.convo"
    bad.write_text("@exit = eqq(output 1)\n> node a\n  > user\n  Hi\n> goto a\n")
    with scripted(["1"]) as model:
        for command in (["check", str(bad)], ["run", str(bad)], ["run", str(bad), "--check"], ["load", str(bad)]):
            assert [each["code"] for each in document(*command, code=1)["errors"]] == ["unknown-function"]
    assert model.requests == []


def test_a_definition_is_loaded(script: str) -> None:
    report = document("load", script)
    assert (report["language"], report["nodes_created"], report["edges_created"]) == ("convo", 3, 2)
    assert "Graph" in memorygraph("load", script, "--show-cypher").stdout


def test_what_is_wrong_is_said_with_its_place(tmp_path: Path) -> None:
    bad = tmp_path / "bad.convo"
    bad.write_text("@to nowhere\n> node a\n    > user\n    {{input\n> goto a\n")
    errors = document("check", str(bad), code=1)["errors"]
    assert errors
    assert memorygraph("run", str(bad)).returncode == 1
    assert memorygraph("graph", str(bad)).returncode == 1


def test_what_a_graph_does_not_have_is_refused(script: str) -> None:
    finished = memorygraph("run", script, "--agent", "A", "--input", "x")
    assert finished.returncode == 1
    assert "without --agent" in finished.stderr


def test_run_of_a_node_graph_takes_mock(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "MEMORYGRAPH_MODEL"):
        monkeypatch.delenv(name, raising=False)
    result = document("run", script, "--mock", "--input", "x")
    assert [(step["node"], step["output"]) for step in result["steps"]] == [("judge", "good"), ("praise", "Thanks: ")]
    assert result["value"] == "Thanks: "
    assert document("messages", "show", result["conversation"])
    assert memorygraph("run", script, "--input", "x").returncode == 4, "without --mock a model is needed"
    (tmp_path / "routes.convo").write_text(ROUTES)
    steps = document("run", str(tmp_path / "routes.convo"), "--mock")["steps"]
    assert [step["node"] for step in steps] == ["ask", "first", "second"]


def test_graph_of_a_program_that_is_no_node_graph_says_so(tmp_path: Path) -> None:
    for name, text, why in (
        ("talk.convo", "> user\nHello", "it has no nodes"),
        ("world.ctx", 'Node(node_id="a", name="A", data="");', "by its extension it is contextscript"),
        ("answer.as", "main agent { main func(input) { return input } }", "by its extension it is agentscript"),
    ):
        (tmp_path / name).write_text(text)
        finished = memorygraph("graph", str(tmp_path / name))
        assert (finished.returncode, finished.stdout) == (1, "")
        assert f"{name} is no node graph: {why}; `graph` draws Convo-Lang files" in finished.stderr
        assert "`> node NAME`" in document("graph", str(tmp_path / name), code=1)["errors"][0]["message"]


def write_files(folder: Path, **texts: str) -> str:
    """Write files of Convo-Lang to a folder; give the path of the first."""
    for name, text in texts.items():
        (folder / f"{name}.convo").write_text(text)
    return str(folder / f"{next(iter(texts))}.convo")


MAIN = """\
@import ./parts/tools
@to b
> node a
    > f(text: string) -> ( twice(3) )
> nodeEnd

> user
hello

> goto a
"""


@pytest.fixture
def importing(tmp_path: Path) -> str:
    (tmp_path / "parts").mkdir()
    write_files(
        tmp_path / "parts",
        tools="@import ./more.convo\n> local twice(x: number) -> (mul(x 2))\n",
        more="@rag\n@exit\n> node b\n    > g(x: any) -> ( add(x '!') )\n",
    )
    return write_files(tmp_path, main=MAIN)


def test_what_a_file_imports_is_checked_run_and_drawn_with_it(importing: str) -> None:
    [warning] = document("check", importing)["warnings"]
    more = str(Path(importing).parent / "parts" / "more.convo")
    assert (warning["file"], warning["line"], warning["code"]) == (more, 1, "not-supported")
    assert memorygraph("run", importing).stdout == "6!\n"
    picture = document("graph", importing, "--run", "last")
    assert picture["path"] == ["a", "b"]
    assert 'n1 -->|"1"| n0' in picture["picture"]


def test_what_is_wrong_in_an_imported_file_is_found_before_a_run(importing: str) -> None:
    path = Path(importing)
    path.write_text(MAIN.replace("twice", "twise"))
    for command in (("check",), ("run", "--check"), ("run",)):
        [error] = document(*command, importing, code=1)["errors"]
        assert (error["file"], error["line"], error["code"]) == (importing, 4, "unknown-function")
    (path.parent / "parts" / "tools.convo").write_text("> do\nf(")
    [error] = document("check", importing, code=1)["errors"]
    assert (error["file"], error["line"]) == (str(path.parent / "parts" / "tools.convo"), 2)


def test_a_graph_that_imports_files_is_not_stored_without_them(importing: str) -> None:
    [error] = document("load", importing, code=1)["errors"]
    assert (error["line"], error["code"]) == (1, "needs-files")


def test_an_import_that_has_changed_makes_another_program_of_it(importing: str) -> None:
    assert memorygraph("run", importing).returncode == 0
    more = Path(importing).parent / "parts" / "more.convo"
    more.write_text(more.read_text() + "\n")
    [error] = document("graph", importing, "--run", "last", code=1)["errors"]
    assert "no run of this program, as it is now, is stored" in error["message"]


@pytest.fixture
def shared_base(tmp_path: Path) -> tuple[Path, str]:
    """A folder, and a program below it whose first import is above its own folder."""
    (tmp_path / "programs").mkdir()
    (tmp_path / "parts").mkdir()
    write_files(tmp_path, base="@import ./parts/more.convo\n> define\nn=2\n")
    write_files(tmp_path / "parts", more="> define\nm=3\n")
    node = "> node a\n    > total(x: any) -> ( add(n m) )\n> nodeEnd\n\n> user\nhello\n\n> goto a\n"
    return tmp_path, write_files(tmp_path / "programs", main=f"@import ../base.convo\n{node}")


def test_a_wider_folder_can_be_allowed_to_import_from(shared_base: tuple[Path, str]) -> None:
    folder, program = shared_base
    for command in (["check"], ["run", "--check"], ["graph"]):
        [error] = document(*command, program, code=1)["errors"]
        assert "`../base.convo` is outside of the folder of the program" in error["message"]
        assert f"`--import-folder {folder}`" in error["message"]
        assert document(*command, program, "--import-folder", str(folder))["errors"] == []


def test_what_is_wrong_in_a_file_above_the_program_has_its_place_there(shared_base: tuple[Path, str]) -> None:
    folder, program = shared_base
    write_files(folder, base="> define\nn=lost(\n")
    [error] = document("check", program, "--import-folder", str(folder), code=1)["errors"]
    assert error["file"] == str(folder / "base.convo")
    assert error["line"] == 2


def test_a_wider_folder_holds_the_program_and_nothing_leads_out_of_it(shared_base: tuple[Path, str]) -> None:
    folder, program = shared_base
    [error] = document("check", program, "--import-folder", str(folder / "parts"), code=1)["errors"]
    assert "the program is not in the folder that its files may come from" in error["message"]
    outside = write_files(folder / "programs", other="@import ../../away.convo\n> user\nhello\n")
    [error] = document("check", outside, "--import-folder", str(folder), code=1)["errors"]
    assert f"`../../away.convo` is outside of {folder}; only files in it are imported" in error["message"]


def test_as_many_files_are_imported_as_the_reference_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorygraph.runtime.convo.imports.MAX_FILES", 3)
    names = {"a": "@import ./b.convo\n> define\n", "b": "> define\n", "c": "> define\n", "d": "> define\n"}
    write_files(tmp_path, **names)
    for files, said in {"ac": [], "acaa": [], "acd": ["a program imports at most 3 files"]}.items():
        imports = "".join(f"@import ./{name}.convo\n" for name in files)
        program = parse(f"{imports}> define\n", "convo", file="main.convo")
        try:
            problems = resolve_imports(program, tmp_path).problems
        except ScriptError as error:
            problems = tuple(error.problems)
        assert [problem.message for problem in problems] == said


def test_a_run_in_python_imports_from_a_wider_folder(graph: MemoryGraph, shared_base: tuple[Path, str]) -> None:
    folder, program = shared_base
    assert graph.run_file(program, import_folder=folder).value == 5
    assert graph.convo(Path(program).read_text(), file=program, import_folder=folder).run().value == 5


def test_a_check_of_several_files_shows_what_is_wrong_in_each(tmp_path: Path) -> None:
    one = write_files(tmp_path, one="@import ./none.convo\n> user\nhello\n")
    two = write_files(tmp_path, two="> define\nn=lost(\n")
    errors = document("check", one, two, code=1)["errors"]
    assert [Path(error["file"]).name for error in errors] == ["one.convo", "two.convo"]


@pytest.mark.parametrize("name", ["./away", "./away.convo", "./parts/away", "./folder/away", "../beyond"])
def test_no_link_leads_an_import_out_of_the_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "program"
    (folder / "parts").mkdir(parents=True)
    write_files(tmp_path, beyond="> user\nsecret\n", away="> user\nsecret\n")
    (folder / "away.convo").symlink_to(tmp_path / "beyond.convo")
    (folder / "parts" / "away.convo").symlink_to("../../beyond.convo")
    (folder / "folder").symlink_to(tmp_path)
    program = write_files(folder, main=f"@import {name}\n> user\nhello\n")
    for command in ("check", "run"):
        [error] = document(command, program, code=1)["errors"]
        assert error["code"] == "import-failed"
        assert "is outside of the folder of the program" in error["message"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("./a\0b", "cannot be a path"),
        ("../" * 40, "is outside of the folder"),
        ("./" + "x" * 300, "File name too long"),
        ("./loop", "there is no file|cannot be a path|not a plain file"),
        ("./pipe", "`pipe.convo` is not a plain file"),
        ("./parts.convo", "`parts.convo` is a folder"),
        ("./latin", "it is not UTF-8"),
    ],
)
def test_what_cannot_be_imported_is_said_where_it_stands(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "parts.convo").mkdir()
    (tmp_path / "loop.convo").symlink_to("loop.convo")
    (tmp_path / "latin.convo").write_bytes(b"> user\n\xe9")
    os.mkfifo(tmp_path / "pipe.convo")
    program = write_files(tmp_path, main=f"> user\nhello\n\n@import {name}\n> user\nhello\n")
    [error] = document("check", program, code=1)["errors"]
    assert (error["line"], error["code"]) == (4, "import-failed")
    assert re.search(message, error["message"])
