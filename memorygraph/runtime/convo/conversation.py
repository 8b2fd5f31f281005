"""A conversation that is completed step by step: the most flexible way to run a graph."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, Unpack

from memorygraph.runtime.convo.engine import Engine, RunOptions
from memorygraph.runtime.convo.entry import transcript_text
from memorygraph.runtime.convo.failure import GraphFailure
from memorygraph.runtime.convo.steps import ConvoGraphResult, Step


@dataclass(frozen=True)
class ConvoCompletion:
    """What one completion did: the step that it took, the message that came of it, and where the graph goes on.

    `message` is the output as text, or the summary where the graph has been left and a summary is wanted; `value` is
    the output.
    """

    step: Step
    message: str
    value: Any
    next_node: str | None
    exited: bool


class Conversation:
    r"""A conversation with a graph in it; each `complete` visits one node. With `summary` the last one sums up.

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

    def __init__(self, source: str, **options: Unpack[RunOptions]) -> None:
        self._engine = Engine.of(source, **{"summary": True, **options})
        self._result: ConvoGraphResult | None = None

    def complete(self) -> ConvoCompletion:
        """Take the next step.

        Raises:
            MemoryGraphError: it failed, or the graph has been left already. `result` says what was done.
        """
        if self._result is not None:
            raise GraphFailure("the graph has been left already", "no-goto")
        try:
            branch = self._engine.begin()
            step = branch.step()
        except Exception as error:
            self._result = self._engine.end(error)
            raise
        if branch.exited:
            self._result = self._engine.end()
            if self._result.failure is not None:
                raise self._result.failure
        summary = self._result.summary if self._result else None
        message = branch.scene.written(step.output) if summary is None else summary
        return ConvoCompletion(step, message, step.output, branch.node, branch.exited)

    @property
    def result(self) -> ConvoGraphResult:
        """What has come of the graph; a failed result as long as nothing has."""
        return self._result or ConvoGraphResult(success=False, error="the graph has not been left", code="unfinished")

    @property
    def text(self) -> str:
        """What the completions have added to the conversation, as Convo."""
        if self._result is not None:
            return self._result.text
        return transcript_text(self._engine.main.messages) if self._engine.main else ""

    def dispose(self) -> None:
        """Stop what still runs, and close the connections."""
        self._engine.stop()
        if self._result is None:
            self._result = self._engine.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.dispose()
