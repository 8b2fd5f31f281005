"""The reference of the codes of problems, made from their table, with an example of each from the cases of the tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from memorygraph.codes import CODES
from tests.cases import FOLDER, Case, read_cases
from tests.modules import FILES

ROOT = Path(__file__).parents[2]
SAID = re.compile(r"^\d+:\d+ (?P<code>[a-z-]+): ", re.MULTILINE)
MAX_EXAMPLE = 400  # characters
TITLES = {"contextscript": "ContextScript", "agentscript": "AgentScript", "convo": "Convo-Lang", "pete": "PETE"}

INTRODUCTION = """\
# Codes of problems

<!-- made by `python -m tests.site` -->

Each problem that memorygraph finds in a script, a program or a bundle has one of these codes: `Problem.code` in Python,
`"code"` in `--json`. The messages are made for people and may change; the codes stay. The languages share one list. Each
example is a case that the tests run; where a code comes from something else than a short text, the case, the test or the module
that has it is named.
"""


CODE_OF_CONVO = {
    "division-by-zero": "div(1 0)",
    "endless-loop": "while(true) do(1)",
    "invalid-arguments": "enum()",
    "invalid-assignment": "a = 1\na.b = 2",
    "invalid-foreach": "foreach(1) do(2)",
    "invalid-url": "httpGet('nowhere')",
    "misplaced-form": "in(array(1))",
    "no-body": "while(true)",
    "no-label": "map(1)",
    "no-loop": "break()",
    "no-model": "??? Say a ???",
    "no-pipe": "nothing << 1",
    "no-type": "new(1)",
    "not-a-list": "aryJoin(1)",
    "not-a-number": "add(map(a: 1) 2)",
}
"""Statements of Convo-Lang that fail with a code when they run, for codes that no case has. A test runs them."""


class CodeExample(NamedTuple):
    """What shows a code: a source with all that is said of it, and where that is tested, from the repository's root."""

    language: str
    source: str
    said: str
    places: tuple[str, ...]


def page() -> str:
    """The page: every code, what it says, and an example."""
    examples = find_examples()
    return "\n".join([INTRODUCTION, *(_section(code, said, examples[code]) for code, said in CODES.items())])


def _section(code: str, said: str, example: CodeExample) -> str:
    head = f"## {code}\n\n{said[0].upper()}{said[1:]}.\n"
    if example.source:
        shown = f"```{example.language}\n{example.source}\n```\n\n```text\n{example.said}\n```\n"
        return f"{head}\n{TITLES[example.language]}:\n\n{shown}"
    links = ", ".join(f"[{place}](../../{place})" for place in example.places)
    return f"{head}\nSee {links}.\n" if example.places else head


def find_examples() -> dict[str, CodeExample]:
    """For each code its shortest case, or else the tests and references that have it."""
    found: dict[str, CodeExample] = {}
    for code, example in sorted(_of_cases(), key=lambda pair: (len(pair[1].source) + len(pair[1].said), pair[1])):
        found.setdefault(code, example)
    for code in CODES.keys() - found.keys():
        if code in CODE_OF_CONVO:
            found[code] = CodeExample("convo", f"> do\n{CODE_OF_CONVO[code]}", f"when it runs: {code}", ())
        else:
            found[code] = CodeExample("", "", "", _naming(code))
    return found


def _of_cases() -> Iterator[tuple[str, CodeExample]]:
    for parameter in read_cases():
        case: Case = parameter.values[0]
        source = next((text for name, text in case.sections if name in {"source", "load", "program"}), "")
        said = "\n".join(text for name, text in case.sections if name in {"problems", "warnings"})
        plain = case.kind in {"parse", "check"} and not {"escaped", "strict"} & set(case.options)
        if plain and "@@" not in source and source.strip() and len(source) + len(said) < MAX_EXAMPLE:
            for code in SAID.findall(said):
                yield code, CodeExample(case.language, source, said, ())


def _naming(code: str) -> tuple[str, ...]:
    """The files in which a code stands, two at most: references and tests, or else the modules that find it."""
    word = re.compile(rf"(?<![\w-]){re.escape(code)}(?![\w-])")
    tests = [ROOT / "docs" / "convo.md", *sorted(FOLDER.rglob("*.case")), *sorted((ROOT / "tests").rglob("test_*.py"))]
    own = {"test_codes.py", "test_languages.py", "codes.py"}
    for files in (tests, FILES):
        named = [file for file in files if file.name not in own and word.search(file.read_text("utf-8"))]
        if named:
            break
    return tuple(file.relative_to(ROOT).as_posix() for file in named[:2])
