"""What is stored goes on, whatever ended the process, and whoever else writes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from memorygraph import ConflictError, MemoryGraph
from memorygraph.limits import PROCESS, Cancelled
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.pete.faculties import ToolFaculty
from memorygraph.runtime.pete.thought import Thought
from memorygraph.runtime.tools import open_tool
from memorygraph.scripted.replies import Request
from tests.runtime.pete.minds import BEGUN, Mind, lines, require_log

PROGRAM = """
import os, signal, sys
from memorygraph import MemoryGraph
with MemoryGraph.connect(namespace=sys.argv[1]) as graph:
    thought = graph.pete("main", "any")
    thought.faculty("bomb", tick=lambda: os.kill(os.getpid(), signal.SIGKILL))
    thought.step()
"""


@pytest.fixture
def process(mind: Mind, server: tuple[str, tuple[str, str] | None], monkeypatch: pytest.MonkeyPatch) -> Any:
    uri, auth = server
    monkeypatch.setenv("NEO4J_URI", uri)
    if auth:
        monkeypatch.setenv("NEO4J_USERNAME", auth[0])
        monkeypatch.setenv("NEO4J_PASSWORD", auth[1])

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", PROGRAM, mind.graph.namespace], env=os.environ.copy())

    return start


@pytest.mark.slow
def test_a_process_that_is_killed_while_the_model_writes_loses_nothing(mind: Mind, process: Any) -> None:
    asked = threading.Event()
    release = threading.Event()

    def answer(_request: Request) -> str:
        asked.set()
        release.wait(60)
        return "// too late\n"

    thought = mind.thinks()
    thought.sense("thermometer", 30)
    mind.model(answer)
    running = process()
    assert asked.wait(60)
    running.kill()
    running.wait()
    release.set()
    mind.model(["// again\n"])
    thought.step()
    assert require_log(thought) == lines(BEGUN, "  !! thermometer 30", "  // again")


@pytest.mark.slow
def test_a_command_that_killed_its_process_is_answered_once_by_the_next_step(mind: Mind, process: Any) -> None:
    thought = mind.thinks("@bomb, tick\n")
    assert process().wait(60) == -9
    assert require_log(thought) == BEGUN + "\n  @bomb, tick"
    mind.model(["// it was a dud\n", ""])
    step = thought.faculty("bomb", tick=lambda: "tock").step()
    thought.step()
    assert step.written == ' >> {"result": "tock"}\n  // it was a dud'
    assert require_log(thought) == lines(BEGUN, '  @bomb, tick >> {"result": "tock"}', "  // it was a dud")


def test_a_command_during_which_the_process_was_told_to_end_is_called_again(mind: Mind, tmp_path: Path) -> None:
    thought = mind.thinks('@job, run ["echo 1 > calls; sleep 60"]\n', "// done\n")
    thought.faculty("job", ToolFaculty(open_tool("job", "sh://", tmp_path, Permissions.of(["sh"]))))

    def cancel() -> None:
        while not (tmp_path / "calls").exists():
            time.sleep(0.02)
        mind.monkeypatch.setattr(PROCESS, "cancelled", "the process was told to end")

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with pytest.raises(Cancelled):
        thought.step()
    canceller.join()
    mind.monkeypatch.setattr(PROCESS, "cancelled", None)
    assert not thought.text.endswith("}")
    step = thought.faculty("job", run=lambda line: "done").step()
    assert step.written == ' >> {"result": "done"}\n  // done'


@pytest.mark.slow
def test_a_report_behind_an_unanswered_command_stays_behind_its_answer(mind: Mind, process: Any) -> None:
    thought = mind.thinks("context in() { @bomb, tick\n")
    process().wait(60)
    thought.sense("thermometer", 30)
    mind.model(["// well\n"])
    thought.step()
    assert require_log(thought).splitlines()[1:] == [
        "  context in() { @bomb, tick >> " + '{"error": "there is no faculty `bomb`; there are `view`"}',
        "    !! thermometer 30",
        "    // well",
    ]


def test_commands_of_a_loaded_log_are_answered_where_they_stand(mind: Mind) -> None:
    mind.loads(BEGUN + ' look\n  context one() { look\n  }\n  context two() { // x\n look {"n": 1} // y\n')
    mind.model([""])
    thought = mind.graph.pete("main", "any").faculty("eye", look=lambda n=0: n)
    thought.step()
    assert require_log(thought) == (
        BEGUN + ' look >> {"result": 0}\n  context one() { look\n  }\n  context two() { // x\n'
        ' look {"n": 1} >> {"result": 1} // y'
    )


@pytest.mark.slow
def test_a_log_with_thousands_of_answered_commands_goes_on(mind: Mind) -> None:
    """Looking through its whole context for the answer of each command would take longer than a read may."""
    answered = "".join(f'  look {{"n": {n}}} >> {{"result": {n}}}\n' for n in range(8000))
    mind.loads(f"{BEGUN}\n{answered}  look\n")
    mind.model(["// on"])
    thought = mind.graph.pete("main", "any").faculty("eye", look=lambda n=-1: n)
    assert thought.step().feedback is None
    assert require_log(thought).endswith(
        lines('  look {"n": 7999} >> {"result": 7999}', '  look >> {"result": -1}', "  // on")
    )


def test_a_report_that_comes_while_a_command_runs_stands_behind_its_answer(mind: Mind) -> None:
    thought = mind.thinks("look\n", "// on\n")
    other = mind.graph.pete("main")
    thought.faculty("eye", look=lambda: other.sense("thermometer", 30))
    step = thought.step()
    assert (step.feedback, step.written) == ({"result": None}, '\n  look >> {"result": None}'.replace("None", "null"))
    thought.step()
    assert require_log(thought) == lines(BEGUN, '  look >> {"result": null}', "  !! thermometer 30", "  // on")


def test_a_command_that_was_answered_elsewhere_meanwhile_keeps_that_answer(mind: Mind) -> None:
    thought = mind.thinks("look\n", "// other\n")
    other = mind.graph.pete("main", "any").faculty("eye", look=lambda: "first")

    def look() -> str:
        other.step()
        return "second"

    step = thought.faculty("eye", look=look).step()
    assert ["another process" in warning for warning in step.warnings] == [True]
    assert require_log(thought) == lines(BEGUN, '  look >> {"result": "first"}', "  // other")


def test_additions_of_others_stay_and_the_answer_comes_behind(mind: Mind) -> None:
    thought = mind.thinks()

    def answer(_request: Request) -> str:
        mind.graph.pete("main").sense("thermometer", 30)
        return "// mine\n"

    mind.model(answer)
    thought.step()
    assert require_log(thought) == lines(BEGUN, "  !! thermometer 30", "  // mine")


def test_who_finds_other_contexts_open_has_a_conflict_and_writes_nothing(mind: Mind) -> None:
    answers = iter(["// mine\n", "context other() { // theirs\n"])
    thought = mind.thinks()

    def answer(_request: Request) -> str:
        said = next(answers)
        if said == "// mine\n":
            mind.graph.pete("main", "any").step()
        return said

    mind.model(answer)
    with pytest.raises(ConflictError, match="went on elsewhere"):
        thought.step()
    assert require_log(thought) == BEGUN + "\n  context other() { // theirs"


def test_several_at_once_lose_nothing_and_tear_nothing(mind: Mind) -> None:
    thought = mind.thinks()
    thought.sense("begun")
    mind.model(lambda request: 'count {"n": 1}\n')
    failures: list[Exception] = []

    def work(graph: MemoryGraph) -> None:
        own: Thought = graph.pete("main", "any").faculty("it", count=lambda n: n)
        for _ in range(3):
            try:
                own.step()
            except ConflictError as error:
                failures.append(error)

    threads = [threading.Thread(target=work, args=(mind.graph,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = require_log(thought)
    assert text.count('count {"n": 1} >> {"result": 1}') == text.count("count") == 9 - len(failures)
