"""Expressions of Convo-Lang for tests: written as text, and evaluated."""

from __future__ import annotations

from typing import Any

import pytest

from memorygraph.errors import Problem, ScriptError
from memorygraph.languages import parse
from memorygraph.languages.convo.syntax import CodeMessage, ConvoProgram, FunctionMessage, Template, TextMessage
from memorygraph.runtime.convo.evaluator import Evaluator
from memorygraph.runtime.convo.scope import Environment, Hook
from memorygraph.runtime.permissions import Permissions


class Script:
    """A conversation whose functions are declared and whose `define` and `do` messages can be executed."""

    def __init__(
        self,
        text: str,
        variables: dict[str, Any] | None = None,
        hooks: dict[str, Hook] | None = None,
        permissions: Permissions | None = None,
    ) -> None:
        self.program: ConvoProgram = parse(text, "convo")
        assert self.program.problems == ()
        self.messages = self.program.conversation.messages
        self.environment = Environment(
            variables if variables is not None else {}, hooks=hooks or {}, permissions=permissions or Permissions.of()
        )
        self.evaluator = Evaluator(self.environment, self.program.source)
        self.functions = [message for message in self.messages if isinstance(message, FunctionMessage)]
        self.evaluator.declare(self.functions)

    def run(self) -> Any:
        """The value of the last code message, after all those before it."""
        value = None
        for message in self.messages:
            if isinstance(message, CodeMessage):
                value = self.evaluator.statements(message.statements, defining=message.role == "define")
        return value

    def text(self) -> str:
        """The text of the last message in text."""
        return self.evaluator.template(self.template())

    def template(self) -> Template:
        """What stands in the last message in text."""
        return next(message.content for message in reversed(self.messages) if isinstance(message, TextMessage))


def evaluate(code: str, **variables: Any) -> Any:
    """The last value of statements."""
    return Script(f"> do\n{code}\n", variables).run()


def failure(text: str, variables: dict[str, Any] | None = None, permissions: Permissions | None = None) -> Problem:
    """What is wrong when a script runs."""
    with pytest.raises(ScriptError) as caught:
        Script(text, variables, permissions=permissions).run()
    return caught.value.problems[0]
