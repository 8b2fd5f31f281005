"""Examples of codes that a command shows: what a user types, and what the command says.

    python -m tests.code_examples    # runs them all, and writes anew what they say

They are in the format of the cases (`tests/cases.py`), `tests/cases/codes/*.case`. The title is the code. A section
whose name has a dot is a file of that name; `@@x*100@@` stands in it for a hundred `x`. `$` is a command; the last one
shows the code, unless there is `python`, which knows `mg`, and raises an error or ends with `problems`. `said` is what
it says of it. A `reply` is what the model answers, the last one again and again. The folder
`examples` is there. An `after` is a command that takes away what is of other namespaces; the namespace of an example
is left to the end of a run of the tests, and dropped where this module is run.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner, Result

from memorygraph import MemoryGraph, MemoryGraphError, Problem, ScriptError
from memorygraph.cli import cli
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.cases import FOLDER as CASES
from tests.cases import Sectioned, Sections, expand, read_sections
from tests.shared_neo4j import RUN, new_namespace

FOLDER = CASES / "codes"
ROOT = Path(__file__).parents[1]
MAX_LINE_S = 120
NAMESPACE = rf"test-{RUN}-[0-9a-f]{{16}}"
"""What the namespaces of these examples match."""


class Shown(NamedTuple):
    """What a command that was run says of a code, and the codes in the document that it prints with `--json`."""

    said: str
    codes: frozenset[str]


@dataclass(frozen=True)
class CodeExample(Sectioned):
    """An example of a code."""

    code: str
    sections: Sections

    @property
    def files(self) -> dict[str, str]:
        """The files that the commands read."""
        return {name: text for name, text in self.sections if "." in name}

    @property
    def commands(self) -> list[str]:
        """What a user types."""
        return self.texts("$")

    @property
    def replies(self) -> list[str]:
        """What the model answers."""
        return self.texts("reply")

    @property
    def after(self) -> list[str]:
        """What is typed at the end."""
        return self.texts("after")

    @property
    def said(self) -> str:
        """What the last command says."""
        return self.section("said")

    @property
    def python(self) -> str:
        """What is run after the commands, where no command shows the code."""
        return self.section("python")

    def run(self) -> Shown:
        """Do what the example says, in a folder and a namespace of its own; the last command again with `--json`."""
        if self.python:
            with self.prepared(self.commands):
                return _run_python(self.python)
        *before, command = self.commands
        with self.prepared(before):
            shown = type_command(command)
            if shown.exit_code and not self.replies:  # then it changed nothing, and there is no need to begin again
                return _shown(shown, type_command(f"{command} --json"))
        with self.prepared(before):
            return _shown(shown, type_command(f"{command} --json"))

    @contextmanager
    def prepared(self, commands: Sequence[str]) -> Iterator[None]:
        """Where an example runs: its files, a model that gives its replies, and what these commands have done."""
        replies = list(map(expand, self.replies)) or ["Hello."]
        answers = chain(replies, repeat(replies[-1]))
        namespace = new_namespace()
        with (
            ScriptedModel(lambda _request: next(answers)) as model,
            TemporaryDirectory() as folder,
            chdir(folder),
            pytest.MonkeyPatch.context() as patch,
        ):
            Path("examples").symlink_to(ROOT / "examples")
            for name, text in self.files.items():
                Path(name).write_text(expand(text), "utf-8")
            for name, value in {
                "MEMORYGRAPH_NAMESPACE": namespace,
                "OPENAI_BASE_URL": model.base_url,
                "OPENAI_API_KEY": "k",
                "MEMORYGRAPH_MODEL": "m",
                "NO_PROXY": "127.0.0.1",
                "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]]),
            }.items():
                patch.setenv(name, value)
            try:
                for command in commands:
                    run_line(command)
                yield
            finally:
                for command in self.after:
                    run_line(command)


def type_command(command: str) -> Result:
    """Run a command of memorygraph as a user types it."""
    return CliRunner(catch_exceptions=False).invoke(cli, shlex.split(command, comments=True)[1:])


def run_line(line: str) -> str:
    """Run a line of a shell, which must not fail, and give what it prints."""
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    if line.startswith("memorygraph ") and not any(set(word) <= set("|<>&;()") for word in words):
        done = type_command(line)
        assert done.exit_code == 0, done.output
        return done.output
    ran = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=MAX_LINE_S, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout + ran.stderr


def read_examples(folder: Path = FOLDER) -> dict[str, CodeExample]:
    """All examples of a folder by their titles."""
    found: dict[str, CodeExample] = {}
    for file in sorted(folder.glob("*.case")):
        for code, sections in read_sections(file):
            assert code not in found, code
            found[code] = CodeExample(code, sections)
    return found


def write_what_they_say() -> None:
    """Run every example, write anew what it says, and drop the namespaces in which they ran."""
    for file in sorted(FOLDER.glob("*.case")):
        written = []
        for code, sections in read_sections(file):
            shown = CodeExample(code, sections).run()
            if code not in shown.codes:
                print(f"{code}: {set(shown.codes)} {shown.said[:300]}")
            kept = [*(each for each in sections if each[0] != "said"), ("said", shown.said)]
            written.append(f"=== {code}\n" + "".join(f"-- {name}\n{text}\n" for name, text in kept))
        file.write_text("\n".join(written), "utf-8")
    for namespace in json.loads(type_command("memorygraph namespaces list --json").stdout):
        if re.fullmatch(NAMESPACE, namespace["name"]):
            type_command(f"memorygraph namespaces drop {namespace['name']} --yes")


def _shown(text: Result, document: Result) -> Shown:
    return Shown(_of_problem(text.stderr), frozenset(_codes_in(json.loads(document.stdout))))


def _of_problem(stderr: str) -> str:
    """What a command says, but for the namespace, the run and the moment."""
    lines = [
        line for line in stderr.rstrip().splitlines() if not re.match(r"stored in namespace |run [0-9a-f]{32}", line)
    ]
    return re.sub(NAMESPACE, "default", "\n".join(lines))


def _run_python(python: str) -> Shown:
    """The problems with which a piece of Python ends, or those of the error that it raises."""
    with MemoryGraph.connect() as graph:
        names: dict[str, Any] = {"mg": graph}
        try:
            exec(python, names)
        except ScriptError as error:
            names["problems"] = error.problems
        except MemoryGraphError as error:
            return Shown(f"{type(error).__name__}: {error}", frozenset({str(getattr(error, "code", ""))}))
    problems: Sequence[Problem] = names["problems"]
    return Shown("\n".join(map(str, problems)), frozenset(problem.code for problem in problems))


def _codes_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("code"), str):
            yield value["code"]
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _codes_in(each)


if __name__ == "__main__":
    write_what_they_say()
