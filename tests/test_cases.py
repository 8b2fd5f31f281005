"""Run every case of `tests/cases`; the format is described in cases.py. Here, a function for each kind of case.

A function returns by name what a case can hold: a text, or the texts of a section that occurs more than once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import pytest

from memorygraph import MemoryGraph, ModelError, Problem, ScriptError
from memorygraph.compiler import Stored, compile_program
from memorygraph.graph.loads import LoadReport
from memorygraph.graph.writes import COUNTS
from memorygraph.languages import LANGUAGES, parse
from memorygraph.languages.convo.syntax import ConvoSyntax
from memorygraph.library import CYPHER
from memorygraph.llm.completion import ToolCall
from memorygraph.query import Query
from memorygraph.runtime.convo.controller import execute_convo_graph
from memorygraph.runtime.pete.store import LogStore
from memorygraph.runtime.runs import Event
from memorygraph.scripted.replies import Reply, Request
from tests.cases import FOLDER, PLACE, Case, expand, read_cases
from tests.languages.agentscript_text import print_agentscript
from tests.runtime.convo.model import scripted
from tests.runtime.pete import stored

Found: TypeAlias = Mapping[str, Callable[[], str | list[str]]]
Fixture: TypeAlias = Callable[[str], Any]

INPUTS = {"source", "stored", "given", "load", "dry", "delete", "program", "input", "reply", "call", "judge"}
INPUTS |= {"thought", "text", "attempts"}
EMPTY_UNLESS_WRITTEN = {"problems", "warnings", "error", "statements", "cypher", "changed", "proposed"}
JSON = {"value", "request", "options"}
AGENT = f"""import llm M from "openai://m"
main agent A {{
model M
role "R"
description "D"
main func(input) {{
{PLACE}
}}
}}"""
_BLOCKS = {block.text: name for name, block in CYPHER.items()}


@pytest.mark.parametrize("case", read_cases())
def test_case(case: Case, request: pytest.FixtureRequest) -> None:
    found = FUNCTIONS[case.kind](case, request.getfixturevalue)
    names = {name for name, _ in case.sections if name not in INPUTS and not name.startswith("file-")}
    for name in sorted(names | (found.keys() & EMPTY_UNLESS_WRITTEN)):
        result, wanted = found[name](), case.texts(name)
        if name in JSON:
            wanted = [json.dumps(json.loads(text), ensure_ascii=False) for text in wanted]
        if isinstance(result, str):
            assert [result] == (wanted or [""]), name
        else:
            assert result[: len(wanted)] == wanted, name


def test_every_language_has_cases() -> None:
    assert {case.values[0].language for case in read_cases("*/parse")} == set(LANGUAGES)


def run_case(case: Case, fixture: Fixture) -> Found:
    """Run a program of one of the languages that are run."""
    return {"agentscript": run_agent, "convo": run_graph}[case.language](case, fixture)


def show_problems(case: Case, problems: Iterable[Problem]) -> str:
    """Problems as a case writes them; their lines are counted from the source of the case."""
    above = case.frame.partition(PLACE)[0].count("\n") if case.kind in {"parse", "check"} else 0
    lines = []
    for p in problems:
        marked = p.source_line[p.column - 1 : p.column - 1 + p.length].encode("utf-8", "backslashreplace").decode()
        mark = f" [{marked}]" if case.language == "pete" and case.kind in {"parse", "check"} else ""
        lines.append(f"{p.line - above}:{p.column} {p.code}: {p.message}{mark}")
    return "\n".join(lines)


def show_checked(case: Case, _: Fixture) -> Found:
    """What is wrong with a source."""
    program = case.parse()
    language = LANGUAGES[program.language]
    return {
        "problems": lambda: show_problems(case, language.check(program)),
        "warnings": lambda: show_problems(case, language.find_warnings(program)),
    }


def show_parsed(case: Case, _: Fixture) -> Found:
    """The `statements` of a source, one a line; of AgentScript those of its main function, or a whole one printed."""
    program = case.parse()
    problems = program.problems
    match case.language:
        case "contextscript":
            shown = [
                f"{type(each).__name__} {json.dumps(each.given(), ensure_ascii=False)}" for each in program.statements
            ]
        case "agentscript":
            # A case of the syntax may well say what means nothing.
            problems = problems if any(problem.code == "syntax" for problem in problems) else ()
            if problems:
                shown = []
            elif "whole" in case.options:
                shown = [print_agentscript(program.statements).strip()]
            else:
                agent = next(each for each in program.statements if hasattr(each, "functions"))
                shown = list(map(repr, agent.functions[0].body.statements))
        case "convo":
            shown = [] if problems else list(map(show_convo, program.statements))
        case "pete":
            shown = [] if problems else list(map(repr, program.items["whole" not in case.options :]))
    statements = "\n".join(shown)
    return {
        "problems": lambda: show_problems(case, problems),
        "warnings": lambda: show_problems(case, getattr(program, "warnings", ())),
        "statements": lambda: statements,
    }


def show_convo(part: Any) -> str:
    """Syntax of Convo on one line, without what is empty."""
    if isinstance(part, tuple):
        return f"[{', '.join(map(show_convo, part))}]"
    if not isinstance(part, ConvoSyntax):
        return repr(part)
    given = {name: value for name, value in vars(part).items() if name != "span"}
    fields = [f"{name}={show_convo(value)}" for name, value in given.items() if value not in (None, (), "", False)]
    return f"{type(part).__name__}({', '.join(fields)})"


def compile_case(case: Case, fixture: Fixture) -> Found:
    """The `cypher` of each query: the name of its block, and its parameters without the namespace."""
    if case.language == "pete":
        for log in case.texts("stored"):
            fixture("graph").load(log, "pete")
        queries = fixture("graph").compile(case.section("source"), "pete")
        return {"cypher": lambda: "\n".join(map(show_query, queries))}
    rows = [line.split() for line in case.section("stored").splitlines()]
    edges = {row[0]: (row[1], row[2]) for row in rows if len(row) == 3}
    compiled = compile_program(
        parse(case.section("source")), Stored(frozenset(r[0] for r in rows if len(r) == 1), edges)
    )
    return {
        "problems": lambda: show_problems(case, compiled.problems),
        "cypher": lambda: "" if compiled.problems else "\n".join(map(show_query, compiled.queries)),
    }


def show_query(query: Query) -> str:
    """A query as a case writes it; in PETE, with one row a line."""
    name = _BLOCKS[query.text]
    parameters = {k: v for k, v in query.parameters.items() if not k.startswith("namespace")}
    if name.startswith("contextscript/"):
        return f"{name.removeprefix('contextscript/')} {json.dumps(parameters)}"
    rows: list[Any] = parameters.pop("rows", [])
    return "\n  ".join([f"{name} {json.dumps(parameters)}", *(json.dumps(row, ensure_ascii=False) for row in rows)])


def load_case(case: Case, fixture: Fixture) -> Found:
    """What is stored in the end: `graph`, the export, or in PETE lines of `facts`, `nodes` and so on, and `changes`.

    What fails changes nothing, and a dry run neither. Problems and warnings are those of the last load.
    """
    graph: MemoryGraph = fixture("graph")
    fixture("monkeypatch").setenv("MEMORYGRAPH_NAMESPACE", graph.namespace)  # so that no command has to name it
    graph.load(case.section("given"))
    problems: Iterable[Problem] = ()
    report: LoadReport | None = None
    exported = ""
    for name, text in case.sections:
        if name not in {"load", "dry", "delete"}:
            continue
        before, exported = stored.elements(graph), graph.export().strip()
        try:
            report = graph.delete(text) if name == "delete" else graph.load(text, case.language, dry_run=name == "dry")
            assert name != "dry" or stored.elements(graph) == before
            if name == "load" and case.language == "pete":
                assert_kept(graph, text)
        except ScriptError as error:
            problems, report = error.problems, None
            assert stored.elements(graph) == before
    if case.language == "contextscript":
        assert graph.export().strip() == case.section("graph", exported)
    counts = {name: getattr(report, name) for name in COUNTS} if report else {}
    return {
        "problems": lambda: show_problems(case, problems),
        "warnings": lambda: show_problems(case, report.warnings if report else ()),
        "changes": lambda: ", ".join(f"{name} {count}" for name, count in counts.items() if count) or "none",
        "graph": lambda: graph.export().strip(),
        **{name: partial(stored.lines, graph, name) for name in stored.TABLES},
    }


def assert_kept(graph: MemoryGraph, text: str) -> None:
    """The stored log goes on as the loaded one, to the byte."""
    store = LogStore(graph.scope)
    name = text.partition("(")[0].split()[1]
    [log] = [log.address for log in store.logs() if log.name == name]
    assert store.read(log).text.startswith(text.strip(" \t\r\n"))


def remember_case(case: Case, fixture: Fixture) -> Found:
    """What stored elements are `changed` afterwards, or deleted, what was `added`, and what was `proposed` instead."""
    graph: MemoryGraph = fixture("graph")
    graph.load((FOLDER / case.language / case.kind / "world.ctx").read_text("utf-8") + case.section("given"))
    for log in case.texts("thought"):
        graph.load(log, "pete")
    before = stored.all_elements(graph)
    replies = RepeatedReplies(case)
    with scripted(replies):
        proposed = list(let_remember(graph, case, replies))
    after = stored.all_elements(graph)
    assert parse("".join(proposed)).problems == ()
    fates = {id_: "changed" if id_ in after else "deleted" for id_ in before if after.get(id_) != before[id_]}
    return {
        "changed": lambda: "\n".join(f"{id_} {fate}" for id_, fate in sorted(fates.items())),
        "added": lambda: "\n".join(sorted(after.keys() - before.keys())),
        "proposed": lambda: "".join(proposed).strip(),
    }


def let_remember(graph: MemoryGraph, case: Case, replies: RepeatedReplies) -> Iterator[str]:
    """Remember each text, or say it in a chat, and yield what is proposed."""
    attempts = int(case.section("attempts", "3"))
    chat = graph.chat(attempts=attempts) if "chat" in case.options else None
    for number, text in enumerate(case.texts("text")):
        replies.turn = number
        done = chat.say(text) if chat else graph.remember(text, attempts=attempts)
        yield done.proposed


class RepeatedReplies:
    """Answers the texts of a case by the replies that follow them; the last is given again and again."""

    def __init__(self, case: Case) -> None:
        self.turn = 0
        self._replies: list[list[str]] = []
        for name, text in case.sections:
            if name == "text":
                self._replies.append([])
            elif name == "reply":
                self._replies[-1].append(text)

    def __call__(self, _: Request) -> str:
        replies = self._replies[self.turn]
        return replies.pop(0) if len(replies) > 1 else replies[0]


def run_agent(case: Case, fixture: Fixture) -> Found:
    """The prompts, the trace and the value of an AgentScript program; without an agent, it is the body of one.

    `prompt` is the user's message of each call, `system` that of the first, `kinds` the events in order, `items` the
    last prompt's context (source, sizes, strategy, text), `views` which of them show a view of a value, `unused` what
    is not in it; in `error` the folder is FOLDER.
    """
    text = expand(case.section("program"))
    folder: Path = fixture("tmp_path")
    for name, content in case.sections:
        if name.startswith("file-"):
            (folder / name.removeprefix("file-")).write_text(content)
    events: list[Event] = []
    error, value = "", None
    with scripted(case.texts("reply")) as model:
        try:
            value = (
                fixture("graph")
                .run(
                    text if "agent " in text else AGENT.replace(PLACE, text),
                    json.loads(case.section("input", "{}")),
                    folder=folder,
                    listener=lambda event, depth: events.append(event) if depth == 0 else None,
                )
                .value
            )
        except ScriptError as problem:
            error = show_problems(case, problem.problems)
        except ModelError as problem:
            error = str(problem).splitlines()[0]
    requests = [request.json["messages"] for request in model.requests]
    assert len(requests) == len(case.texts("reply"))
    contexts = [event["data"]["context"] for event in events if event["kind"] == "generate"]
    return {
        "error": lambda: error.replace(str(folder), "FOLDER"),
        "value": lambda: json.dumps(value, ensure_ascii=False),
        "system": lambda: str(requests[0][0]["content"]),
        "prompt": lambda: [messages[-1]["content"] for messages in requests],
        "kinds": lambda: " ".join(event["kind"] for event in events),
        "items": lambda: "\n".join(map(show_item, contexts[-1]["items"])),
        "views": lambda: "\n".join(
            f"{item['source']}: {item['view']}" for item in contexts[-1]["items"] if "view" in item
        ),
        "unused": lambda: "\n".join(f"{unused['source']}: {unused['reason']}" for unused in contexts[-1]["unused"]),
    }


def show_item(item: Mapping[str, Any]) -> str:
    """An item of a prompt's context on one line."""
    sizes = f"{item['originalSize']}/{item['clippedSize']}"
    return f"{item['source']} {sizes} {item['strategy']} {json.dumps(item['text'])}"


class Script:
    """Answers inferences in order, and judgements by their conditions."""

    def __init__(self, case: Case) -> None:
        self.replies = [self._reply(name, text) for name, text in case.sections if name in {"reply", "call"}]
        lines = (line.partition(" => ") for line in case.section("judge").splitlines())
        self.judgements = {condition: reply for condition, _, reply in lines}
        self.inferences: list[dict[str, Any]] = []
        self.judged: list[str] = []
        self._lock = Lock()

    def __call__(self, request: Request) -> Reply | str | None:
        with self._lock:
            condition = request.prompt.split("\n")[0]
            if "<OUTPUT_RESULT>" in request.prompt:
                self.judged.append(condition)
                return self.judgements.get(condition)
            self.inferences.append(request.json)
            return self.replies.pop(0) if self.replies else None

    @staticmethod
    def _reply(name: str, text: str) -> Reply | str:
        if name == "reply":
            return text
        function, _, arguments = text.partition(" ")
        return Reply(tool_calls=(ToolCall(function, arguments or "{}", "call_1"),))


def run_graph(case: Case, fixture: Fixture) -> Found:
    """The `value`, `path` and `transcript` of a graph, the conditions that were `judged`, and for each inference its
    `prompt` (the last message), `request` (all messages) and `options` (what else was sent).
    """
    script = Script(case)
    given = case.section("input")
    folder: Path = fixture("tmp_path")
    for name, content in case.sections:
        if name.startswith("file-"):
            (folder / name.removeprefix("file-")).write_text(content)
    with scripted(script):
        try:
            result = execute_convo_graph(
                case.section("program"), input=json.loads(given) if given else None, folder=folder
            )
        except ScriptError as problem:
            wrong = show_problems(case, problem.problems)
            return {"error": lambda: wrong}
    assert not script.replies, "not every reply was asked for"
    sent = [request["messages"] for request in script.inferences]
    options = [{k: v for k, v in each.items() if k not in {"messages", "model"}} for each in script.inferences]
    return {
        "error": lambda: f"{result.code}: {result.error}" if result.error else "",
        "value": lambda: json.dumps(result.value, ensure_ascii=False),
        "path": lambda: " ".join(step.node for step in result.steps),
        "judged": lambda: "\n".join(sorted(script.judged)),
        "transcript": result.text.strip,
        "prompt": lambda: [messages[-1]["content"] for messages in sent],
        "request": lambda: [json.dumps(messages, ensure_ascii=False) for messages in sent],
        "options": lambda: [json.dumps(each, ensure_ascii=False) for each in options],
    }


FUNCTIONS = {
    "parse": show_parsed,
    "check": show_checked,
    "compile": compile_case,
    "load": load_case,
    "remember": remember_case,
    "run": run_case,
}
