"""Runs a node graph and stores its run: from the beginning, or from where an interrupted run ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memorygraph.compiler.identity import program_id
from memorygraph.errors import ConflictError, MemoryGraphError, ProgramError, ScriptError, Source
from memorygraph.graph.namespace import Namespace
from memorygraph.json_text import parse_json
from memorygraph.languages.convo.syntax import ConvoProgram
from memorygraph.llm.structured import shorten_json
from memorygraph.runtime.convo.engine import Engine, ListenerGroup, RunListener, RunOptions
from memorygraph.runtime.convo.graph_checks import find_graph_problems
from memorygraph.runtime.convo.imports import resolve_imports
from memorygraph.runtime.convo.journal import Journal
from memorygraph.runtime.convo.prompts import HIDDEN
from memorygraph.runtime.convo.steps import ConvoGraphResult, ConvoStep, messages_of_steps, summary_messages
from memorygraph.runtime.convo.store import (
    DONE,
    RUNNING,
    ConvoRunStore,
    StoredConvoRun,
    find_interrupted_run,
    find_latest_run,
    find_run,
)
from memorygraph.runtime.convo.transcript import TranscriptEntry, transcript_text
from memorygraph.runtime.convo.values import to_plain
from memorygraph.runtime.imports import redact_uri
from memorygraph.runtime.memories import GraphClient
from memorygraph.runtime.runs import LAST, Event, Listener, RunDetails, RunInterrupted, RunRequest, RunResult


def run_graph(graph: GraphClient, program: ConvoProgram, request: RunRequest) -> RunResult:
    """Run the graph of a conversation; the input is added to it as a message of the user."""
    if request.agent or request.function:
        raise MemoryGraphError("a node graph is run without --agent and --function")
    engine = open_engine(
        program,
        {
            "graph": graph,
            "model": request.model,
            "input": request.input,
            "listener": EventTeller(request.listener) if request.listener else None,
            "permissions": request.permissions,
            "max_steps": request.max_steps,
            "resume": request.resume or (),
            "limits": request.limits,
            "summary": request.summary,
            "mock": request.mock,
            "folder": request.folder,
            "import_folder": request.import_folder,
        },
    )
    try:
        result = engine.run()
    except KeyboardInterrupt as error:
        if not engine.begun:  # nothing of it is stored
            raise
        steps = all_steps(engine.main.result()) if engine.main else []  # none in a `do` before the first node
        done = [step for step in steps if step.completed]
        raise RunInterrupted(str(engine.run_id), len(done), resumable=True) from error
    failure = result.failure
    stored = result.run if engine.begun else None
    if isinstance(failure, ScriptError):
        raise ProgramError(failure.problems, stored) from failure
    if isinstance(failure, MemoryGraphError):
        failure.run = stored
    if failure is not None:
        raise failure
    steps = all_steps(result)
    events, summaries = [step_event(step) for step in steps], [step_summary(step) for step in steps]
    return RunResult(to_plain(result.value), events, summaries, result.conversation, str(result.run), result.summary)


class EventTeller(RunListener):
    """Tells the listener of any run of each complete step."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def step_completed(self, step: ConvoStep) -> None:
        """Tell it as an event of the trace."""
        self._listener(step_event(step), 0)


def open_engine(program: ConvoProgram, options: RunOptions, definition: ConvoProgram | None = None) -> Engine:
    """Prepare a run of a program, which is stored where the options name a graph.

    `definition` is the program that is stored, where the one that runs was filled in.
    """
    given: dict[str, Any] = dict(options)
    graph: GraphClient | None = given.pop("graph", None)
    file = given.pop("file", None)
    folder = given.pop("folder", None) or (Path(file).parent if file else None)
    import_folder = given.pop("import_folder", None)
    folders = [Path(each) if each is not None else None for each in (folder, import_folder)]
    program = resolve_imports(program, *folders)
    definition = resolve_imports(definition, *folders) if definition is not None else program
    resume = given.get("resume")
    if graph is None and isinstance(resume, str):
        raise MemoryGraphError("only a stored run can be resumed by its id; give its graph, as mg.convo does")
    problems = find_graph_problems(program)
    if problems:  # before anything of the run is stored
        raise ScriptError(problems)
    if graph is None:
        return Engine(program, **given)
    stored = find_resumable(graph.scope, definition.source, resume) if isinstance(resume, str) else None
    store = open_store(graph.scope, definition, given, stored)
    listener = given.get("listener")
    given["listener"] = ListenerGroup(store, *([listener] if listener else []))
    if stored is not None:
        require_input_of(given.get("input"), stored)
        given |= {"input": stored.input, "resume": stored.steps}
    return Engine(program, **given, run_id=store.id, conversation=store.conversation)


def read_graph_run(namespace: Namespace, id_: str) -> RunDetails:
    """Read what was stored of a run of a graph; its transcript is Convo, each fork after a comment."""
    steps = find_run(namespace, id_).steps
    branches: dict[str, list[ConvoStep]] = {"": []}
    for step in steps:
        branches.setdefault(step.branch, []).append(step)
    texts = []
    for branch, own in branches.items():
        own.sort(key=lambda step: step.index)
        text = transcript_text([*messages_of_steps(own), *read_summary(own)])
        texts.append(f"// branch {branch}\n{text}" if branch else text)
    return RunDetails([step_summary(step) for step in steps], [step_event(step) for step in steps], "\n".join(texts))


def read_summary(steps: list[ConvoStep]) -> list[TranscriptEntry]:
    """The messages of the summary among the calls of the steps, if there was one."""
    for call in (call for step in steps for call in step.calls if call.purpose == "summary"):
        request = [TranscriptEntry(said["role"], said["content"], HIDDEN) for said in call.messages[-2:]]
        return summary_messages(request, call.completion.content or "")
    return []


def read_run_of(namespace: Namespace, source: Source, id_: str) -> list[dict[str, Any]]:
    """The steps of a run of a program, as its result lists them; `last` is the latest."""
    run = find_run(namespace, find_latest_run(namespace, source) if id_ == LAST else id_)
    require_run_of(source, run)
    return [step_summary(step) for step in run.steps]


def require_run_of(source: Source, run: StoredConvoRun) -> None:
    """Refuse a run of another program."""
    if run.program_hash != program_id(source):
        raise ConflictError(f"the run `{run.id}` is one of another program, or of an earlier state of this one")


def require_input_of(given: Any, run: StoredConvoRun) -> None:
    """Refuse an input other than that with which a run began."""
    if given is not None and parse_json(json.dumps(given)) != run.input:
        began = "without an input" if run.input is None else f"with another input, {shorten_json(run.input)}"
        message = f"the run `{run.id}` began {began}; go on with it without an input, or begin a new run with this one"
        raise ConflictError(message)


def find_resumable(namespace: Namespace, source: Source, resume: str) -> StoredConvoRun:
    """Find the run to go on with, which must be one of this program that has not ended."""
    id_ = find_interrupted_run(namespace, source) if resume == LAST else resume
    running = Journal(id_).is_locked()  # before its steps are read: afterwards they are those of its end
    stored = find_run(namespace, id_)
    require_run_of(source, stored)
    if stored.status == DONE:
        raise ConflictError(f"the run `{stored.id}` is done; there is nothing to go on with")
    if running:
        raise ConflictError(RUNNING.format(stored.id))
    return stored


def open_store(
    namespace: Namespace, program: ConvoProgram, options: dict[str, Any], stored: StoredConvoRun | None
) -> ConvoRunStore:
    """Open the store of a new run, or of the one to go on with."""
    given, model = options.get("input"), options.get("model")
    properties = {
        "language": "convo",
        "file": program.source.file,
        "program": program.source.text,
        "program_hash": program_id(program.source),
        "input": json.dumps(given, ensure_ascii=False) if given is not None else None,
        "input_json": given is not None,
        "model": model and redact_uri(model),
    }
    if stored is None:
        return ConvoRunStore(namespace, program, properties)
    return ConvoRunStore(namespace, program, properties, stored.id, stored.steps)


def all_steps(result: ConvoGraphResult) -> list[ConvoStep]:
    """The steps of the first branch, and then of the forks."""
    return [step for branch in result.branches() for step in branch.steps]


def step_event(step: ConvoStep) -> Event:
    """A step as an event of the trace."""
    return {"kind": "step", "data": {**step.as_plain(), "warnings": step.warnings}}


def step_summary(step: ConvoStep) -> dict[str, Any]:
    """The main facts of a step, as the result of a run lists them."""
    facts = {"index": step.index, "branch": step.branch, "node": step.node, "input": step.input, "output": step.output}
    taken = {"route": step.route and step.route.target, "why": step.route and step.route.why}
    return dict(to_plain({**facts, **taken, "warnings": step.warnings}))
