"""`pete` as a user meets it: texts on stdout, all else on stderr, and exit codes that tell."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from memorygraph.scripted.replies import Failure
from tests.cli.test_commands import document, memorygraph
from tests.memory.endpoints import Endpoint

SERVER = Path(__file__).parent.parent / "runtime" / "tools" / "mcp_server.py"
MCP = f"calc=mcp://{shlex.quote(sys.executable)} {shlex.quote(str(SERVER))}"
LOG = """context main() {
  context one() { // a thought that is longer than what stands for it
    tl;dr /* first */ }
  context two() { // another thought that is longer than what stands for it
    tl;dr /* second */ }
  // and on"""

pytestmark = pytest.mark.usefixtures("environment")


@pytest.fixture
def log(tmp_path: Path) -> str:
    (tmp_path / "main.pete").write_text(LOG, "utf-8")
    assert memorygraph("load", str(tmp_path / "main.pete")).returncode == 0
    return LOG


def test_a_long_log_is_loaded_in_batches_and_goes_on_after_them(tmp_path: Path) -> None:
    path = tmp_path / "main.pete"
    path.write_text(LOG, "utf-8")
    assert document("load", str(path), "--batch", "2")["statements"] == 5
    again = memorygraph("load", str(path), "--batch", "2")
    assert (again.returncode, "went on after statement 5" in again.stderr) == (0, True)
    assert memorygraph("pete", "show", "main").stdout.strip() == LOG


def test_a_log_begins_goes_on_and_ends(endpoint: Endpoint) -> None:
    assert memorygraph("pete", "sense", "main", "thermometer", '{"temperature": 30}').returncode == 0
    with endpoint("// It is hot.\n", "tl;dr /* hot */ }"):
        stepped = memorygraph("pete", "step", "main")
        assert (stepped.returncode, stepped.stdout) == (0, "\n  // It is hot.\n")
        ended = memorygraph("pete", "run", "main")
    assert (ended.returncode, ended.stderr) == (0, "1 step; the log is closed\n")
    shown = memorygraph("pete", "show", "main").stdout
    assert shown == 'context main() {\n  !! thermometer {"temperature": 30}\n  // It is hot.\n  tl;dr /* hot */ }\n'
    [info] = document("pete", "list")
    assert (info["name"], info["open"], info["tldr"]) == ("main", False, "hot")
    assert "hot" in memorygraph("pete", "list").stdout


def test_json_is_one_document(endpoint: Endpoint) -> None:
    with endpoint("&a likes", "look\n", ""):
        found = document("pete", "run", "main")
    assert (found["ended"], found["errors"], len(found["steps"])) == ("idle", [], 2)
    assert found["steps"][0]["problems"][0]["line"] == 1
    assert found["steps"][0]["command"] == "look"
    assert found["steps"][0]["trace"]["items"]


def test_what_was_sent_back_is_said(endpoint: Endpoint) -> None:
    with endpoint("&a likes\n", "&a likes &b."):
        finished = memorygraph("pete", "step", "main")
    assert "sent back to the model: answer:1:8: expected" in finished.stderr
    assert "warning: `&a` was not known here" in finished.stderr


def test_a_model_that_is_never_understood_fails_the_command(endpoint: Endpoint) -> None:
    with endpoint(*["&a likes"] * 4):
        finished = memorygraph("pete", "run", "main", "--attempts", "2")
        assert finished.returncode == 4
        assert "the model's text could not be read" in finished.stderr
        found = document("pete", "run", "main", "--attempts", "2", code=4)
    assert (found["ended"], [error["line"] for error in found["errors"]]) == ("stuck", [1, 1])


def test_what_is_folded_is_unfolded_to_the_same_bytes(log: str) -> None:
    whole = memorygraph("pete", "show", "main").stdout
    assert whole == log + "\n"
    folded = memorygraph("pete", "fold", "main").stdout
    assert (folded.count("= memory:"), "/* first */" in folded) == (2, True)
    assert memorygraph("pete", "unfold", "main").stdout == whole
    assert memorygraph("pete", "show", "main").stdout == whole


def test_some_contexts_are_folded_by_their_addresses(log: str) -> None:
    text = memorygraph("pete", "fold", "main").stdout
    address = text[text.index("memory:") :].split()[0]
    only = memorygraph("pete", "fold", "main", address).stdout
    assert (only.count("= memory:"), "another thought" in only) == (1, True)
    assert memorygraph("pete", "show", address).stdout.startswith("context one() {")
    wanted = memorygraph("pete", "unfold", "main", address, "--budget", "190").stdout
    assert "a thought that is longer" in wanted


def test_a_budget_folds_and_says_when_nothing_fits(log: str) -> None:
    found = document("pete", "show", "main", "--budget", "160")
    assert (found["fits"], found["size"] <= 160) == (True, True)
    assert "= memory:" in found["text"]
    assert "smallest view" in memorygraph("pete", "show", "main", "--budget", "3").stderr


def test_tools_are_faculties_where_they_are_allowed(endpoint: Endpoint) -> None:
    with endpoint('@calc, add {"a": 1, "b": 2}', '@calc, add {"a": 1, "b": 2}'):
        refused = document("pete", "step", "main", "--faculty", MCP)["steps"][0]["feedback"]
        allowed = document("pete", "step", "main", "--faculty", MCP, "--allow-tool", "mcp")["steps"][0]["feedback"]
    assert "--allow-tool mcp" in refused["error"]
    assert allowed == {"result": 3}


def test_sensors_report_before_the_model_is_asked(endpoint: Endpoint) -> None:
    with endpoint("// well\n") as model:
        memorygraph("pete", "step", "main", "--sense", "a=1", "--sense", 'b={"x": "}\\n"}')
        assert '  !! a 1\n  !! b {"x": "}\\n"}' in model.requests[-1].prompt


@pytest.mark.parametrize("root", ["log", "continuation"])
def test_the_grammar_needs_no_database(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_URI", "bolt://127.0.0.1:1")
    printed = memorygraph("pete", "grammar", "--root", root)
    assert (printed.returncode, printed.stdout.splitlines()[0]) == (0, f"root ::= {root}")


def test_a_grammar_is_sent_where_it_is_taken(endpoint: Endpoint) -> None:
    with endpoint("// one\n", "// two\n", owner="vllm") as model:
        memorygraph("pete", "step", "main")
        memorygraph("pete", "step", "main", "--grammar", "llama")
        bodies = [request.json for request in model.requests if request.method == "POST"]
    assert [sorted({"grammar", "guided_grammar"} & body.keys()) for body in bodies] == [["guided_grammar"], ["grammar"]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "nobody"), "there is no context `nobody` yet"),
        (("show", "memory:999"), "there is no context memory:999"),
        (("show", "a b"), "named by letters"),
        (("fold", "main", "memory:x"), "'memory:x' is not an address"),
        (("fold", "main", "memory:999"), "there is no context memory:999 in `main`"),
        (("unfold", "main", "999"), "there is no context memory:999 in `main`"),
        (("show", "main", "--budget", "much"), "`much` is no budget"),
        (("step", "main", "--budget", "0"), "leaves room for nothing"),
        (("sense", "main", "thermometer", "{hot"), "is not JSON"),
        (("sense", "main", "a b", "1"), "a sensor is named by letters"),
        (("sense", "main", "a", "NaN"), "can't be kept"),
        (("step", "main", "--sense", "a"), "--sense takes NAME=JSON"),
        (("step", "main", "--faculty", "x=nowhere"), "a tool's address begins with"),
        (("step", "main", "--faculty", "a b=env://"), "named by letters"),
    ],
)
def test_what_is_wrong_is_said_and_the_exit_code_is_one(log: str, arguments: tuple[str, ...], said: str) -> None:
    finished = memorygraph("pete", *arguments)
    assert (finished.returncode, finished.stdout) == (1, "")
    assert said in finished.stderr
    assert memorygraph("pete", "show", "main").stdout == log + "\n"


@pytest.mark.parametrize(
    "wrong",
    [
        ("--budget", "5x"),
        ("--sense", "broken="),
        ("--sense", "two words=1"),
        ("--faculty", "nonsense"),
        ("--faculty", "that=env://"),
    ],
    ids=" ".join,
)
def test_a_refused_command_has_reported_nothing(wrong: tuple[str, str]) -> None:
    assert memorygraph("pete", "step", "lab", "--sense", "thermometer=30", *wrong).returncode == 1
    assert document("pete", "list") == []


def test_wrong_usage_is_two() -> None:
    assert memorygraph("pete", "dream").returncode == 2
    assert memorygraph("pete", "step").returncode == 2
    assert memorygraph("pete", "run", "main", "--max-steps", "0").returncode == 2
    assert memorygraph("pete", "run", "main", "--grammar", "other").returncode == 2


def test_a_failing_endpoint_is_four(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    with endpoint(Failure(401, "no")):
        assert memorygraph("pete", "step", "main").returncode == 4
        found = document("pete", "run", "main", code=4)
        assert found["errors"]
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "OPENAI_BASE_URL" in memorygraph("pete", "step", "main").stderr


def test_a_closed_log_is_refused(endpoint: Endpoint) -> None:
    with endpoint("}"):
        memorygraph("pete", "step", "main")
        again = memorygraph("pete", "run", "main")
    assert (again.returncode, "is closed, and can't go on" in again.stderr) == (1, True)
