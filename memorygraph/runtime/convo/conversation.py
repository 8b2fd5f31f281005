"""A conversation that is completed step by step: the most flexible way to run a graph."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, Unpack

from memorygraph.runtime.convo.engine import Engine, RunOptions
from memorygraph.runtime.convo.failure import GraphFailure
from memorygraph.runtime.convo.steps import ConvoGraphResult, ConvoStep
from memorygraph.runtime.convo.transcript import transcript_text
from memorygraph.runtime.convo.values import render_value


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


class Conversation:
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

    def __init__(self, source: str, **options: Unpack[RunOptions]) -> None:
        self._engine = Engine.of(source, **{"summary": True, **options})
        self._result: ConvoGraphResult | None = None

    def complete(self) -> ConvoCompletion:
        """Take the next step.

        Raises:
            MemoryGraphError: the step failed, or the graph has been left already. `result` has what was done.
        """
        if self._result is not None:
            raise GraphFailure("the graph has been left already", "no-goto")
        try:
            branch = self._engine.begin()
            step = branch.take_step()
        except Exception as error:
            self._result = self._engine.end(error)
            raise
        if branch.exited:
            self._result = self._engine.end()
            if self._result.failure is not None:
                raise self._result.failure
        summary = self._result.summary if self._result else None
        message = render_value(step.output) if summary is None else summary
        return ConvoCompletion(step, message, step.output, branch.node, branch.exited)

    @property
    def result(self) -> ConvoGraphResult:
        """The result of the graph; one that failed as long as it has not been left."""
        return self._result or ConvoGraphResult(success=False, error="the graph has not been left", code="unfinished")

    @property
    def text(self) -> str:
        """The messages that the completions have added to the conversation, as Convo."""
        if self._result is not None:
            return self._result.text
        return transcript_text(self._engine.main.messages) if self._engine.main else ""

    def dispose(self) -> None:
        """Stop the branches that still run, and close the connections."""
        self._engine.stop()
        if self._result is None:
            self._result = self._engine.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.dispose()
