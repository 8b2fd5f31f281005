"""A prompt: who answers, the items of its context, the instruction, and the shape of the answer.

Source: specs/agentscript.md, section 5, to the character.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from memorygraph.budget import Budget
from memorygraph.context.clipping import Clipped, clip
from memorygraph.context.labels import CONTEXT, INSTRUCTION, SCHEMA, one_line
from memorygraph.context.origins import origins_of
from memorygraph.context.rendering import render
from memorygraph.limits import spend


@dataclass(frozen=True)
class ContextSource:
    """A value for a prompt, with its label and its budget; `view` says what the value is a view of, if it is one."""

    label: str
    value: Any
    budget: Budget | None = None
    view: str | None = None


@dataclass(frozen=True, kw_only=True)
class ContextItem(Clipped):
    """One item of a context, after clipping.

    `origins` are the nodes of the graph that its value is from, `view` says what the value is a view of, if it is one.
    """

    index: int
    source: str
    budget: Budget | None
    origins: tuple[str, ...] = ()
    view: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the item as a trace shows it."""
        return {
            "index": self.index,
            "source": self.source,
            "value": self.value,
            "text": self.text,
            "budget": None if self.budget is None else self.budget.as_dict(),
            "clipped": self.clipped,
            "originalSize": self.original_size,
            "clippedSize": self.clipped_size,
            "strategy": self.strategy,
            "origins": list(self.origins),
            **({"view": self.view} if self.view else {}),
        }


@dataclass(frozen=True)
class Unused:
    """A declared source that is not in the prompt, and the reason."""

    label: str
    budget: Budget | None
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """Return the source as a trace shows it."""
        return {
            "source": self.label,
            "budget": None if self.budget is None else self.budget.as_dict(),
            "reason": self.reason,
        }


def build_items(sources: Iterable[ContextSource]) -> tuple[ContextItem, ...]:
    """Build the items of a context, each within its budget, numbered from 0.

    >>> item = build_items([ContextSource("question", "What is it?", Budget.parse("4"))])[0]
    >>> item.text, item.original_size, item.strategy
    ('What', 11, 'chars')

    Raises:
        MemoryGraphError: a value cannot be rendered.
    """
    items = []
    for index, source in enumerate(sources):
        clipped = clip(source.value, source.budget)
        spend(size=len(clipped.text))
        label, origins = one_line(source.label), origins_of(clipped.value)
        items.append(
            ContextItem(
                **vars(clipped), index=index, source=label, budget=source.budget, origins=origins, view=source.view
            )
        )
    return tuple(items)


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
