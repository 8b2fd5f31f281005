"""The reference of the codes of problems, made from their table, with an example of each from the cases of the tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memorygraph import errors
from memorygraph.cli.output import code_of_kind
from memorygraph.codes import CODES
from tests.cases import Case, read_cases
from tests.code_examples import CodeExample, read_examples

SAID = re.compile(r"^\d+:\d+ (?P<code>[a-z-]+): ", re.MULTILINE)
MAX_EXAMPLE, MAX_LINES = 400, 20  # characters of a case, and lines of what is said
LANGUAGE_OF = {"ctx": "contextscript", "as": "agentscript", "convo": "convo", "pete": "pete", "jsonl": "json"}
TITLES = {"contextscript": "ContextScript", "agentscript": "AgentScript", "convo": "Convo-Lang", "pete": "PETE"}

INTRODUCTION = """\
# Codes of problems

<!-- made by `python -m tests.site` -->

Each problem that memorygraph finds in a script, a program or a bundle has one of these codes: `Problem.code` in Python,
`"code"` in `--json`. The messages are made for people and may change; the codes stay. The languages share one list. Each
example is run by the tests: a source and what is said of it, or what a user types and reads. `@@x*100@@` stands for a hundred `x`.
"""


class SourceExample(NamedTuple):
    """A source that shows a code, with all that is said of it."""

    language: str
    source: str
    said: str

    def show(self) -> str:
        """The example in Markdown."""
        return f"{TITLES[self.language]}:\n\n{_block(self.language, self.source)}\n{_block('text', self.said)}"


ERROR = re.compile(r"── (?P<name>\w+) \[(?P<exit>\d+)\] +(?P<said>.*?)(?: \([\w.]+\))?$", re.MULTILINE)
"""An error in the tree of `memorygraph.errors`."""

WITH_CODES_OF_PROBLEMS = {
    *["ScriptError", "ProgramError", "FunctionFailure", "NotWrittenError", "FilesError", "UnfinishedError"],
    *["CheckedError", "LimitExceeded", "GraphFailure", "ValueProblem", "LocatedModelError"],
}
OTHER_ERRORS = """\
## Errors without a place

What is wrong with no place of a script has the code of its kind in `--json`, and null for `file`, `line` and `column`. The
exit code is that of the command.

| Code | Exit code | What is wrong |
|---|---|---|
| `memorygraph` | 1 | anything else |
"""


def page() -> str:
    """The page: every code, what it says, and an example; and the codes of other errors."""
    examples = find_examples()
    sections = [_section(code, said, examples[code]) for code, said in CODES.items()]
    return "\n".join([INTRODUCTION, *sections, OTHER_ERRORS + "".join(_rows_of_other_errors())])


def _rows_of_other_errors() -> Iterator[str]:
    for error in ERROR.finditer(errors.__doc__ or ""):
        if error["name"] not in WITH_CODES_OF_PROBLEMS:
            yield f"| `{code_of_kind(error['name'])}` | {error['exit']} | {error['said']} |\n"


def _section(code: str, said: str, example: SourceExample | CodeExample) -> str:
    shown = example.show() if isinstance(example, SourceExample) else show_example(example)
    return f"## {code}\n\n{said[0].upper()}{said[1:]}.\n\n{shown}"


def show_example(example: CodeExample) -> str:
    """An example that is typed, in Markdown: its files, the commands, what a model answers, and what is said."""
    lines = example.said.splitlines()
    said = "\n".join(lines if len(lines) <= MAX_LINES else [*lines[:3], "…", *lines[-5:]])
    languages = {name: LANGUAGE_OF.get(name.rpartition(".")[2], "text") for name in example.files}
    parts = [f"`{name}`:\n\n{_block(languages[name], text)}" for name, text in example.files.items()]
    parts += [f"The model answers:\n\n{_block('text', reply)}" for reply in example.replies]
    if example.commands:
        typed = "\n".join(f"$ {command}" for command in example.commands)
        parts.append(_block("console", typed if example.python else f"{typed}\n{said}"))
    if example.python:
        parts.append(f"{_block('python', example.python)}\n{_block('text', said)}")
    return "\n".join(parts)


def _block(language: str, text: str) -> str:
    fence = "````" if "```" in text else "```"
    return f"{fence}{language}\n{text}\n{fence}\n"


def find_examples() -> dict[str, SourceExample | CodeExample]:
    """For each code its shortest case, or else the example of its own."""
    found: dict[str, SourceExample | CodeExample] = {}
    for code, example in sorted(_of_cases(), key=lambda pair: (len(pair[1].source) + len(pair[1].said), pair[1])):
        found.setdefault(code, example)
    return {**read_examples(), **found}


def _of_cases() -> Iterator[tuple[str, SourceExample]]:
    for parameter in read_cases():
        case: Case = parameter.values[0]
        source = next((text for name, text in case.sections if name in {"source", "load", "program"}), "")
        said = "\n".join(text for name, text in case.sections if name in {"problems", "warnings"})
        plain = case.kind in {"parse", "check"} and not {"escaped", "strict"} & set(case.options)
        if plain and "@@" not in source and source.strip() and len(source) + len(said) < MAX_EXAMPLE:
            for code in SAID.findall(said):
                yield code, SourceExample(case.language, source, said)
