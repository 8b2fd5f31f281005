"""What a step sends: which messages of the transcript, which tools, and what it asks of the reply."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memorygraph.runtime.convo.entry import Entry
from memorygraph.runtime.convo.failure import GraphFailure

INCLUDED = "includeInNodes"
FULL = "full"


def depth_of(written: object) -> int | None:
    """How many groups of messages a context depth means; None for all of them.

    >>> depth_of("3"), depth_of("full"), depth_of(0)
    (3, None, 1)

    Raises:
        GraphFailure: it is neither a number nor `full`.
    """
    text = str(written).strip()
    if text == FULL:
        return None
    try:
        return max(1, int(float(text)))
    except (ValueError, OverflowError):
        raise GraphFailure(f"a context depth is a number or `full`, and not {text!r}", "context-depth") from None


def step_context(
    around: Iterable[Entry],
    earlier: Sequence[Sequence[Entry]],
    system: Iterable[Entry],
    current: Iterable[Entry],
    depth: int | None,
) -> list[Entry]:
    """The messages that a step sends, in their order.

    What stands around the graph comes only where it is tagged `@includeInNodes`; of the earlier steps, those within
    the depth, and of the others what is tagged so.
    """
    near = len(earlier) if depth is None else min(depth - 1, len(earlier))
    first = len(earlier) - near
    context = [entry for entry in around if entry.has_tag(INCLUDED)]
    context += system
    for index, group in enumerate(earlier):
        context += [entry for entry in group if index >= first or entry.has_tag(INCLUDED)]
    return [*context, *current]


def tool_choice(last: Entry | None, tools: Sequence[str]) -> str | dict[str, object] | None:
    """What the tag `@call` of the last message that is sent asks for.

    >>> tool_choice(Entry("user", "Hi", ("@call",)), ["f"]), tool_choice(Entry("user", "Hi", ("@call f",)), ["f"])
    ('required', {'type': 'function', 'function': {'name': 'f'}})

    Raises:
        GraphFailure: it names a function that is not offered.
    """
    if last is None or not last.has_tag("call") or not tools:
        return None
    wanted = next(tag for tag in reversed(last.tags) if tag.split()[0] == "@call").partition("@call")[2].strip()
    if wanted in {"", "required"}:
        return "required"
    if wanted in {"auto", "none"}:
        return wanted
    if wanted not in tools:
        raise GraphFailure(f"`@call {wanted}` asks for a function that is not offered here", "unknown-tool")
    return {"type": "function", "function": {"name": wanted}}
