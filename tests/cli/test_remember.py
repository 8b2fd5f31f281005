"""`remember` and `chat` as a user meets them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

from memorygraph import MemoryGraph
from memorygraph.cli import cli
from memorygraph.scripted.replies import Failure, Request, Stall
from tests.cli.test_commands import document, here, memorygraph
from tests.memory.endpoints import Endpoint, asked, fenced
from tests.memory.test_remember import ADA, TEA

pytestmark = pytest.mark.usefixtures("environment")


def test_what_is_remembered_is_shown_and_can_be_undone(endpoint: Endpoint) -> None:
    with endpoint(fenced(ADA)) as model:
        finished = memorygraph("remember", "Ada", "wrote", "the first program.")
    assert (finished.returncode, finished.stdout) == (0, ADA + "\n")
    assert "1 node created; revision 1 of namespace" in finished.stderr
    assert "memorygraph undo 1" in finished.stderr
    assert "Ada wrote the first program." in asked(model)[-1]["content"]
    assert document("show", "ada")["name"] == "Ada Lovelace"
    assert "(small)" in memorygraph("revisions").stdout
    assert memorygraph("undo", "1").returncode == 0
    assert memorygraph("show", "ada").returncode == 1


def test_remember_as_json_from_standard_input(endpoint: Endpoint) -> None:
    with endpoint(fenced("Node("), fenced(f"{ADA}\n{TEA}")) as model:
        result = document("remember", "-", stdin="Ada likes tea.\n")
    assert asked(model, 0)[-1]["content"].count("Ada likes tea.") == 1
    assert (result["program"], result["attempts"], result["errors"]) == (f"{ADA}\n{TEA}\n", 2, [])
    assert (result["nodes_created"], result["edges_created"], result["revision"]) == (2, 1, 1)
    assert (result["problems"][0]["file"], result["problems"][0]["line"]) == ("<program>", 1)
    assert (result["model"], result["conversation"], result["recalled"]) == ("small", "remember", [])


def test_a_program_that_stays_wrong_is_exit_code_1(endpoint: Endpoint) -> None:
    with endpoint(*[fenced('Node(node_id="a");')] * 2):
        finished = memorygraph("remember", "Ada", "--attempts", "2")
    assert (finished.returncode, finished.stdout) == (1, "")
    assert "<program>:1:14: `a` does not exist yet" in finished.stderr
    assert "nothing was changed" in finished.stderr
    with endpoint(fenced("Node(")):
        result = document("remember", "Ada", "--attempts", "1", code=1)
    assert (result["attempts"], result["program"], len(result["errors"])) == (1, "Node(\n", 1)
    assert memorygraph("export").stdout == ""


def test_what_is_only_proposed_is_told_with_the_way_to_do_it(endpoint: Endpoint) -> None:
    memorygraph("load", "-", "--language", "contextscript", stdin='Node(node_id="canary", name="Bird", data="");')
    with endpoint('del(id="canary");'):
        finished = memorygraph("remember", "Ada is here.", "--attempts", "1")
    assert (finished.returncode, finished.stdout) == (0, "")
    assert 'not recalled for this:\ndel(id="canary");\nTo do it, save this as' in finished.stderr
    assert "memorygraph load proposed.ctx" in finished.stderr
    with endpoint('del(id="canary");'):
        result = document("remember", "Ada is here.", "--attempts", "1")
    assert (result["proposed"], result["load_id"], result["errors"]) == ('del(id="canary");\n', "", [])
    assert document("show", "canary")["name"] == "Bird"


def test_a_proposal_of_a_chat_is_done_where_the_user_says_so(endpoint: Endpoint) -> None:
    memorygraph("load", "-", "--language", "contextscript", stdin='Node(node_id="canary", name="Bird", data="");')
    with endpoint(fenced('del(id="canary");', "Gone.")):
        arguments = ("chat", "--attempts", "1")
        finished = memorygraph(*arguments, stdin=":apply\nI am Ada.\n")
        assert document("show", "canary")["name"] == "Bird"
    assert "nothing is proposed" in finished.stderr
    assert 'del(id="canary");\nTo do it, type :apply' in finished.stderr
    with endpoint(fenced('del(id="canary");', "Gone.")):
        finished = memorygraph(*arguments, stdin="I am Ada.\n:apply\n:apply\n")
    assert "1 node deleted; revision 2" in finished.stderr
    assert finished.stderr.count("nothing is proposed") == 1
    assert memorygraph("show", "canary").returncode == 1


def test_a_proposal_that_is_refused_can_be_done_later(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    memorygraph("load", "-", "--language", "contextscript", stdin='Node(node_id="canary", name="Bird", data="");')
    load, refused = MemoryGraph.load, ['del(id="nothing"']
    monkeypatch.setattr(MemoryGraph, "load", lambda graph, program: load(graph, refused.pop() if refused else program))
    with endpoint(fenced('del(id="canary");', "Gone.")):
        finished = here("chat", "--attempts", "1", stdin="I am Ada.\n:apply\n:apply\n:apply\n")
    assert "<script>:1:17: " in finished.stderr
    assert "1 node deleted; revision 2" in finished.stderr
    assert finished.stderr.count("nothing is proposed") == 1


def test_nothing_to_remember_is_said(endpoint: Endpoint) -> None:
    with endpoint(fenced("")):
        finished = memorygraph("remember", "Hm.")
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "nothing to remember\n")


def test_an_endpoint_that_fails_is_exit_code_4(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    with endpoint(Failure(400, "no")):
        assert document("remember", "Ada", code=4)["errors"][0]["code"] == "model"
        assert memorygraph("chat", stdin="Hi\n").returncode == 4
    monkeypatch.delenv("MEMORYGRAPH_MODEL")
    finished = memorygraph("remember", "Ada")
    assert finished.returncode == 4
    assert "name one with --model" in finished.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("remember",), 2),
        (("remember", "x", "--attempts", "0"), 2),
        (("remember", " "), 1),
        (("remember", "x", "--budget", "2x"), 1),
        (("chat", "--conversation", ""), 1),
    ],
)
def test_wrong_requests(arguments: tuple[str, ...], code: int) -> None:
    assert memorygraph(*arguments).returncode == code


def test_a_chat_from_a_pipe(endpoint: Endpoint) -> None:
    typed = "I am Ada.\n\n:help\n:nonsense\nWhat do you know?\n:recalled\n"
    with endpoint(fenced(ADA, "Hello\x1b[31m Ada."), "That you are Ada."):
        finished = memorygraph("chat", "--conversation", "ada", stdin=typed)
    assert finished.returncode == 0
    assert finished.stdout == "Hello [31m Ada.\nThat you are Ada.\n"
    assert ADA in finished.stderr
    assert "memorygraph undo 1" in finished.stderr
    assert "there is no command :nonsense" in finished.stderr
    assert [message["role"] for message in document("messages", "show", "ada")] == ["user", "assistant"] * 2


def test_what_is_typed_in_another_encoding_is_said(endpoint: Endpoint) -> None:
    with endpoint("never asked"):
        result = CliRunner().invoke(cli, ["chat"], input="Zoë\n".encode("latin-1"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "memorygraph: what is typed is not UTF-8: " in result.stderr


def test_a_chat_as_json(endpoint: Endpoint) -> None:
    with endpoint(fenced(ADA, "Hello."), "Yes."):
        first, second = document("chat", stdin="I am Ada.\nStill?\n")
    assert (first["answer"], first["report"]["nodes_created"], first["errors"]) == ("Hello.", 1, [])
    assert (second["answer"], second["report"], second["program"]) == ("Yes.", None, "")


def test_a_chat_from_a_pipe_whose_model_fails_prints_the_turns_before_that(endpoint: Endpoint) -> None:
    with endpoint(fenced(ADA, "Hello."), Failure(400, "no")):
        printed = document("chat", stdin="I am Ada.\nStill?\nNever said\n", code=4)
    assert [(turn["answer"], turn["report"]["nodes_created"]) for turn in printed["turns"]] == [("Hello.", 1)]
    assert [error["code"] for error in printed["errors"]] == ["model"]


def test_a_chat_without_a_good_program_says_why(endpoint: Endpoint) -> None:
    with endpoint(fenced("Node(", "Hello."), fenced("Node(")):
        finished = memorygraph("chat", "--attempts", "2", stdin="I am Ada.\n:quit\nnever said\n")
    assert (finished.returncode, finished.stdout) == (0, "Hello.\n")
    assert "nothing was remembered: the model wrote no program that can be loaded" in finished.stderr
    assert "<program>:1:" in finished.stderr


@pytest.mark.slow
def test_an_interrupt_ends_a_chat_cleanly(endpoint: Endpoint) -> None:
    process: list[subprocess.Popen[str]] = []

    def answer(_request: Request) -> Stall:
        process[0].send_signal(signal.SIGINT)
        return Stall(30, "never")

    with endpoint(answer):
        command = [sys.executable, "-m", "memorygraph", "chat"]
        process.append(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
        out, err = process[0].communicate("Hi\n", timeout=60)
    assert (process[0].returncode, out) == (0, "")
    assert err.endswith("stopped\n")
    assert "Traceback" not in err
    assert json.loads(memorygraph("messages", "list", "--json").stdout) == []
