"""Ways to run a graph from its source to its result: a function, a template with values, a controller with events."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import cached_property
from queue import SimpleQueue
from threading import Barrier, BrokenBarrierError, Thread
from typing import Any, Literal, Unpack

from memorygraph.errors import MemoryGraphError, ScriptError, Span
from memorygraph.languages import parse
from memorygraph.languages.convo import syntax
from memorygraph.runtime.convo.engine import EVENTS, Engine, EventName, ListenerGroup, RunListener, RunOptions
from memorygraph.runtime.convo.run import open_engine
from memorygraph.runtime.convo.steps import ConvoGraphResult, ConvoStep, GraphFailure
from memorygraph.runtime.convo.transcript import transcript_text
from memorygraph.runtime.convo.values import render_value

State = Literal["ready", "running", "stopped"]

PLACEHOLDER = re.compile(r"\$\{\s*([A-Za-z_]\w*)\s*\}")
_ESCAPED = re.compile(r"(?<!\\)(?:\\\\)*\\(?=\$\{)")
_INSERTION = re.compile(r"\{\{.*?\}\}", re.DOTALL)


def convo_graph(source: str, options: RunOptions | None = None, /, **values: Any) -> Any:
    r"""Run the graph in a source; give its output, or None where it failed. `${name}` stands for a value.

    A value is data wherever it stands: nothing in it is read as Convo. With `{"graph": mg}` the run is stored.

    >>> convo_graph("> user\n${text}\n> node a\n  > f(x: string) -> (add(x '!'))\n> goto a", text="Hi")
    'Hi!'

    Raises:
        ScriptError: the source is wrong, or has a placeholder without a value.
    """
    given = options or RunOptions()
    program = parse(source, "convo", file=given.get("file"))
    return open_engine(fill_placeholders(program, values), given, definition=program).run().value


def execute_convo_graph(source: str, **options: Unpack[RunOptions]) -> ConvoGraphResult:
    r"""Run the graph in a source; an error is part of the result. With `graph=mg` the run is stored.

    >>> execute_convo_graph("> user\n3\n> node a\n  > double(x: number) -> (mul(x 2))\n> goto a").value
    6

    Raises:
        ScriptError: the source is wrong.
    """
    return open_engine(parse(source, "convo", file=options.get("file")), options).run()


class ConvoGraphController(AbstractContextManager["ConvoGraphController"]):
    r"""Runs a graph, and tells any number of listeners of its events, in their order.

    The state is `ready`, then `running`, then `stopped`. A listener that raises fails the run; `dispose` ends it
    before its next call. `mg.convo(source)` is one whose run is stored in the graph, as with `graph=mg`.

    >>> visited = []
    >>> controller = ConvoGraphController("> user\n3\n> node a\n  > double(x: number) -> (mul(x 2))\n> goto a")
    >>> controller.on("step_completed", lambda step: visited.append(step.node))
    >>> controller.run().value, controller.state, visited
    (6, 'stopped', ['a'])

    Raises:
        ScriptError: the source is wrong.
    """

    def __init__(self, source: str | syntax.ConvoProgram, **options: Unpack[RunOptions]) -> None:
        given = options.get("listener")
        self._group = ListenerGroup(*([given] if given else []))
        program = parse(source, "convo", file=options.get("file")) if isinstance(source, str) else source
        self._engine = open_engine(program, {**options, "listener": self._group})
        self._running = False

    @property
    def state(self) -> State:
        """Whether the run is `ready`, `running` or `stopped`."""
        return "stopped" if self.result is not None else "running" if self._running else "ready"

    @property
    def result(self) -> ConvoGraphResult | None:
        """The result of the run, once it has ended."""
        return self._engine.result

    @cached_property
    def conversation(self) -> Conversation:
        r"""The same run, one step at each `complete`; `run` takes the steps that are left.

        >>> controller = ConvoGraphController("> user\n3\n> node a\n  > double(x: number) -> (mul(x 2))\n> goto a")
        >>> controller.conversation.complete().value, controller.state
        (6, 'stopped')
        """
        return Conversation(self._engine)

    def __exit__(self, *_error: object) -> None:
        self.dispose()

    @property
    def step_index(self) -> int:
        """The index of the latest step; -1 before the first."""
        main = self._engine.main
        return main.steps[-1].index if main and main.steps else -1

    def subscribe(self, listener: RunListener) -> None:
        """Add a listener, which hears of each event after the earlier ones."""
        self._group.listeners.append(listener)

    def on(self, event: EventName, callback: Callable[..., None]) -> None:
        """Call a function at each event of a name.

        Raises:
            MemoryGraphError: there is no such event.
        """
        if event not in EVENTS:
            raise MemoryGraphError(f"there is no event `{event}`; there are {', '.join(EVENTS)}")
        listener = RunListener()
        setattr(listener, event, callback)
        self._group.listeners.append(listener)

    def run(self) -> ConvoGraphResult:
        """Run the graph to its end; a second call gives the same result.

        Raises:
            MemoryGraphError: it is running.
        """
        if self.result is None:
            self.require_idle()
            self._running = True
            return self._engine.run()
        return self.result

    def steps(self) -> Iterator[ConvoStep]:
        """Run the graph; give each step when it is complete. The graph goes on when the next one is asked for.

        Leaving the loop ends the run.

        Raises:
            MemoryGraphError: it is running.
        """
        self.require_idle()
        completed: SimpleQueue[ConvoStep | None] = SimpleQueue()
        asked = Barrier(2)

        def give(step: ConvoStep) -> None:
            completed.put(step)
            with suppress(BrokenBarrierError):  # the caller has left the loop
                asked.wait()

        def run() -> None:
            try:
                self.run()
            finally:
                completed.put(None)

        self.on("step_completed", give)
        runner = Thread(target=run, name="memorygraph-graph", daemon=True)
        runner.start()
        try:
            while (step := completed.get()) is not None:
                yield step
                asked.wait()
        finally:
            self._engine.stop()
            asked.abort()
            runner.join()

    def require_idle(self) -> None:
        """Refuse a second run at the same time."""
        if self.state == "running":
            raise MemoryGraphError("this graph is running already")

    def dispose(self) -> None:
        """End the run before its next call or step; from any thread, also from a listener.

        One that was not begun executes nothing, and is not stored.
        """
        self._engine.stop()
        if self.state == "ready":
            self._engine.end(GraphFailure("the run was stopped", "stopped"))


def fill_placeholders(program: syntax.ConvoProgram, values: Mapping[str, Any]) -> syntax.ConvoProgram:
    """Replace the placeholders `${name}` of a parsed program by values, which are always data."""
    source = program.source
    escaped = find_escaped(program)
    missing = [
        source.problem(f"`{match[0]}` has no value: give {match[1]}=…", "missing-value", Span(*match.span()))
        for match in PLACEHOLDER.finditer(source.text)
        if match[1] not in values and match.start() not in escaped
    ]
    if missing:
        raise ScriptError(missing)
    texts = {name: render_value(value) for name, value in values.items()}

    def fill(part: Any, written: Collection[str]) -> Any:
        if isinstance(part, str):
            return PLACEHOLDER.sub(lambda match: texts[match[1]] if match[1] in written else match[0], part)
        if isinstance(part, syntax.Text | syntax.Template):
            # A text can read like a placeholder where the source has none: `$\{name}` and `\${name}` are escapes.
            found = PLACEHOLDER.finditer(source.text, *part.span)
            written = {match[1] for match in found if match.start() not in escaped}
        if isinstance(part, syntax.ConvoSyntax):
            names = (field.name for field in dataclasses.fields(part) if field.name != "span")
            return dataclasses.replace(part, **{name: fill(getattr(part, name), written) for name in names})
        if isinstance(part, tuple):
            return tuple(fill(item, written) for item in part)
        return part

    return dataclasses.replace(program, conversation=fill(program.conversation, texts))


def find_escaped(program: syntax.ConvoProgram) -> set[int]:
    """Find the places of the source where a backslash makes a placeholder plain, as it does any character in quotes."""
    places = {match.end() for match in _ESCAPED.finditer(program.source.text)}
    if not places:
        return places
    quoted = list(find_quoted(program.conversation, program.source.text))
    return {place for place in places if any(start <= place < end for start, end in quoted)}


def find_quoted(part: Any, text: str) -> Iterator[tuple[int, int]]:
    """Find the stretches of the source in which a backslash escapes what follows: not in messages, nor in heredocs."""
    if isinstance(part, tuple):
        for item in part:
            yield from find_quoted(item, text)
    elif isinstance(part, syntax.TextMessage):
        # By its text, as an insertion that is only a text in quotes has become a part of the message.
        yield from (match.span() for match in _INSERTION.finditer(text, *part.content.span))
        yield from find_quoted(part.tags, text)
    elif isinstance(part, syntax.Text | syntax.Template):
        if not text.startswith("-", part.span.start):
            yield part.span
    elif isinstance(part, syntax.ConvoSyntax):
        for field in dataclasses.fields(part):
            yield from find_quoted(getattr(part, field.name), text)


@dataclass(frozen=True)
class ConvoCompletion:
    """The result of one completion: the step that it took, its message, and the next node.

    `message` is the output as text, or the summary at the end of a conversation with one; `value` is the output.
    """

    step: ConvoStep
    message: str
    value: Any
    next_node: str | None
    exited: bool


class Conversation(AbstractContextManager["Conversation"]):
    r"""A conversation with a graph in it; each `complete` visits one node, and may end with a summary.

    >>> source = "> user\n3\n@to b\n> node a\n  > f(x: number) -> (mul(x 2))\n> node b\n> goto a"
    >>> conversation, done = Conversation(source, summary=False), False
    >>> while not done:
    ...     completion = conversation.complete()
    ...     print(completion.step.node, completion.value)
    ...     done = completion.exited
    a 6
    b 6

    Raises:
        ScriptError: the source is wrong.
    """

    def __init__(self, source: str | Engine, **options: Unpack[RunOptions]) -> None:
        if isinstance(source, str):
            given: RunOptions = {"summary": True, **options}
            source = open_engine(parse(source, "convo", file=options.get("file")), given)
        self._engine = source

    def complete(self) -> ConvoCompletion:
        """Take the next step.

        Raises:
            MemoryGraphError: the step failed, or the graph has been left already. `result` has what was done.
        """
        if self._engine.result is not None:
            raise GraphFailure("the graph has been left already", "no-goto")
        try:
            branch = self._engine.begin()
            step = branch.take_step()
        except Exception as error:
            self._engine.end(error)
            raise
        result = self._engine.end() if branch.exited else None
        if result is not None and result.failure is not None:
            raise result.failure
        summary = result.summary if result else None
        message = render_value(step.output) if summary is None else summary
        return ConvoCompletion(step, message, step.output, branch.node, branch.exited)

    @property
    def result(self) -> ConvoGraphResult:
        """The result of the graph; one that failed as long as it has not been left."""
        unfinished = ConvoGraphResult(success=False, error="the graph has not been left", code="unfinished")
        return self._engine.result or unfinished

    @property
    def text(self) -> str:
        """The messages that the completions have added to the conversation, as Convo."""
        if self._engine.result is not None:
            return self._engine.result.text
        return transcript_text(self._engine.main.messages) if self._engine.main else ""

    def dispose(self) -> None:
        """Stop the run where it has not ended, and close the connections. A stored one can be resumed."""
        self._engine.stop()
        if self._engine.result is None:
            self._engine.end(GraphFailure("the run was stopped", "stopped"))

    def __exit__(self, *_error: object) -> None:
        self.dispose()
