"""The layers of a prompt: who answers, the context, the instruction, and the shape of the answer.

Source: specs/agentscript.md, section 5, to the character.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memorygraph.context.items import ContextItem
from memorygraph.context.labels import CONTEXT, INSTRUCTION, SCHEMA
from memorygraph.context.rendering import render


def system_layer(name: str, role: str, description: str) -> str:
    """Return the message that says who the model is.

    >>> print(system_layer("Planner", "a planner", "Plans."))
    You are Planner.
    role: a planner
    description: Plans.
    """
    return f"You are {name}.\nrole: {role}\ndescription: {description}"


@dataclass(frozen=True)
class Prompt:
    """The whole prompt of one model call.

    >>> print(Prompt("You are Planner.", (), "Plan the day.", None).user)
    Instruction:
    Plan the day.
    """

    system: str
    items: tuple[ContextItem, ...]
    instruction: str
    schema: Mapping[str, Any] | None = None

    @property
    def user(self) -> str:
        """The message that holds the context, the instruction, and the schema."""
        parts = [CONTEXT] if self.items else []
        for item in self.items:
            parts += [f"[{item.index}] {item.source}:", item.text]
        parts += [INSTRUCTION, self.instruction]
        if self.schema is not None:
            parts += [SCHEMA, render(self.schema)]
        return "\n".join(parts)

    def messages(self) -> list[dict[str, str]]:
        """Return the messages as a model takes them."""
        return [{"role": "system", "content": self.system}, {"role": "user", "content": self.user}]
