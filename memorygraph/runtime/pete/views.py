"""Views of a log: all of it, or what fits a budget of it, with the rest folded or left out, and a trace of that.

A view is a log itself, with the same contexts open, and whatever is in it is there to the byte. The same log and
budget give the same view. What comes first when room is short is told by `room`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Self

from memorygraph.budget import Budget
from memorygraph.context.clipping import Strategy
from memorygraph.context.labels import one_line
from memorygraph.context.prompt import ContextItem, Unused
from memorygraph.context.tokens import MAX_RUN_CHARACTERS, count_tokens
from memorygraph.languages.pete.syntax import BLANKS
from memorygraph.runtime.pete.log import Frame, LogEntry
from memorygraph.runtime.pete.pages import (
    Measure,
    Page,
    count_statements,
    count_tokens_once,
    measure_of,
    measure_texts,
    replace_parts,
)
from memorygraph.runtime.pete.room import Room, Wishes, find_unfolded

MAX_CORRECTIONS = 8

ASKED = "it is folded, as was asked"
NO_ROOM = "it is folded, because the whole of it has no room"
LEFT_OUT = "they are out of view, because no room is left for them"
LEFT_OUT_WITH = "it is out of view with the statements around it"
NOT_UNFOLDED = "it was to be unfolded, and has no room"


@dataclass(frozen=True)
class View:
    """What of a log is in view: the text that a model sees, and the trace of how it came about.

    Each context in view has an item of its own, so that the items' texts together are that of the view. The original
    size of a context counts the contexts that are out of view with its statements.
    """

    text: str
    items: tuple[ContextItem, ...]
    unused: tuple[Unused, ...]
    size: int
    budget: Budget | None = None

    @property
    def fits(self) -> bool:
        """Whether it is within its budget; if not, it is the smallest view there is."""
        return self.budget is None or self.size <= self.budget.limit

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, Any]:
        """The trace: what is in view of each context, what is not, and why."""
        return {
            "budget": None if self.budget is None else self.budget.as_dict(),
            "size": self.size,
            "fits": self.fits,
            "items": [item.as_dict() for item in self.items],
            "unused": [unused.as_dict() for unused in self.unused],
        }


class HiddenRun(NamedTuple):
    """Parts of a context that are out of view."""

    frame: Frame
    first: int
    end: int

    @property
    def parts(self) -> Sequence[LogEntry | Frame]:
        """The parts."""
        return self.frame.parts[self.first : self.end]


@dataclass
class ShownContext:
    """A context in view: its page if it has one, its pieces in their order, what is out of view, and what is folded.

    The pieces are its own texts, and the contexts in it that are in view themselves.
    """

    frame: Frame
    page: Page | None
    pieces: list[str | Page | ShownContext]
    runs: list[HiddenRun] = field(default_factory=list)
    folded: list[Frame] = field(default_factory=list)

    @classmethod
    def of(cls, page: Page) -> Self:
        """What a page shows."""
        frame, units = page.frame, page.units
        shown = cls(frame, page, [frame.head if page.above else frame.head.lstrip(BLANKS)])
        at = 0
        for unit in (*page.chosen, units.count):
            if at < unit:
                shown.runs.append(HiddenRun(frame, units.starts[at], units.starts[unit]))
                shown.pieces.append(replace_parts(*shown.runs[-1]))
            if unit < units.count:
                shown.pieces.append(page.inner.get(unit) or show_unit(page, unit))
            at = unit + 1
        if frame.tail is not None:
            shown.pieces.append(frame.tail)
        return shown

    def measure_original(self, measure: Measure) -> int:
        """Measure it as it is in the log, without the contexts in it that are in view themselves."""
        if self.page is None:
            return measure_texts(self.frame.texts(), measure)
        own = (part.text for part in self.frame.parts if isinstance(part, LogEntry))
        hidden = (part.texts() for run in self.runs for part in run.parts if isinstance(part, Frame))
        return self.page.borders + sum(measure_texts(texts, measure) for texts in (own, *hidden))

    def as_item(self, index: int, budget: Budget | None) -> ContextItem:
        """The context in the trace."""
        measure = measure_of(budget)
        text = "".join([piece for piece in self.pieces if isinstance(piece, str)])
        size = measure(text)
        strategy: Strategy = "items" if self.runs else "fold" if self.folded else "none"
        return ContextItem(
            index=index,
            source=label_context(self.frame),
            value=self.frame.address,
            text=text,
            budget=budget,
            clipped=strategy != "none",
            original_size=size if strategy == "none" else self.measure_original(measure),
            clipped_size=size,
            strategy=strategy,
        )


def show_unit(page: Page, unit: int) -> str | ShownContext:
    """What is shown of a unit in view that has no page."""
    units = page.units
    child = units.child(unit)
    if child is None:
        return units.text(unit)
    if unit not in page.whole and child.can_fold:
        return ShownContext(child, None, [units.text(unit)], folded=[child])
    inside = child.walk(units.folded) if units.folded else ()
    folded = [part for part in inside if isinstance(part, Frame)]
    return ShownContext(child, None, ["".join(child.texts(units.folded))], folded=folded)


@dataclass
class Sheet:
    """All texts in view in their order, and each context in view."""

    texts: list[str]
    contexts: list[ShownContext]

    @classmethod
    def of(cls, room: Room) -> Sheet:
        """What a room shows; not recursive, for a log can nest deeper than Python's calls."""
        sheet = cls([], [])
        waiting: list[str | Page | ShownContext] = [room.pages[id(room.root)]]
        while waiting:
            piece = waiting.pop()
            if isinstance(piece, str):
                sheet.texts.append(piece)
            else:
                sheet.contexts.append(ShownContext.of(piece) if isinstance(piece, Page) else piece)
                waiting += reversed(sheet.contexts[-1].pieces)
        return sheet

    @cached_property
    def text(self) -> str:
        """The text in view."""
        return "".join(self.texts)

    def as_view(self, budget: Budget | None, wishes: Wishes) -> View:
        """Make the view, with its trace."""
        items = (shown.as_item(index, budget) for index, shown in enumerate(self.contexts))
        size = count_tokens(self.text) if budget is not None and budget.in_tokens else len(self.text)
        return View(self.text, tuple(items), tuple(self.find_unused(budget, wishes)), size, budget)

    def find_unused(self, budget: Budget | None, wishes: Wishes) -> Iterator[Unused]:
        """Find what is folded or out of view, and why."""
        gone: set[Frame] = set()

        def note(frame: Frame, reason: str) -> Unused:
            gone.add(frame)
            return Unused(label_context(frame), budget, NOT_UNFOLDED if frame in wishes.unfolded else reason)

        for shown in self.contexts:
            for frame in shown.folded:
                yield note(frame, ASKED if frame.address in wishes.folded else NO_ROOM)
            for run in shown.runs:
                yield Unused(count_statements(run.end - run.first, run.frame.address), budget, LEFT_OUT)
                yield from (note(part, LEFT_OUT_WITH) for part in run.parts if isinstance(part, Frame))
        inside = (frame for frame in wishes.unfolded if frame not in gone and not gone.isdisjoint(frame.path()))
        yield from (Unused(label_context(frame), budget, NOT_UNFOLDED) for frame in inside)


def label_context(frame: Frame) -> str:
    """The label of a context in the trace."""
    return one_line(f"context {frame.name} = memory:{frame.address}")


def view(
    root: Frame, budget: Budget | None = None, *, folded: Collection[int] = (), unfolded: Collection[int] = ()
) -> View:
    r"""View a log within a budget, from the current context: the innermost open one.

    Contexts to be folded are, unless they are open or no shorter then; those to be unfolded come first where room is
    short. A context of both is folded.

    >>> log = Frame(1, "main", "context main() {")
    >>> cool = Frame(2, "cool", "\n  context cool() {", tail="\n  }", tldr="it is cool", parent=log)
    >>> cool.parts.append(LogEntry(0, "comment", "\n    // It was hot, and the fan did not stand where it should."))
    >>> log.parts.append(cool)
    >>> print(view(log, Budget.parse("80")).text)
    context main() {
      context cool() = memory:2 /* it is cool */
    """
    wishes = Wishes(frozenset(folded), find_unfolded(root, unfolded, folded))
    room = Room(root, measure_of(budget), wishes)
    if budget is None or all_fits(root, budget, wishes):
        room.show_all()
    else:
        room = fit(room, budget)
    return Sheet.of(room).as_view(budget, wishes)


def all_fits(root: Frame, budget: Budget, wishes: Wishes) -> bool:
    """Whether a log fits, with only that folded which shall be."""
    texts = list(root.texts(wishes.folded))
    texts[0] = texts[0].lstrip(BLANKS)
    characters = sum(map(len, texts))
    if not budget.in_tokens:
        return characters <= budget.limit
    if characters > budget.limit * MAX_RUN_CHARACTERS:
        return False
    # What is counted in pieces can be a little more than the whole, where two pieces meet.
    most = budget.limit + 2 + len(texts) // 32
    return measure_texts(texts, count_tokens_once, most) <= most and count_tokens("".join(texts)) <= budget.limit


def fit(smallest: Room, budget: Budget) -> Room:
    """Find the room that shows most of a log within the budget; the smallest shows only what always stands."""
    # In tokens, the sizes of the parts come to a little more or less than that of the whole. So the room is made
    # larger once by as much, or smaller until all fits.
    if smallest.used > budget.limit and measure_room(smallest, budget) > budget.limit:
        return smallest
    best: Room | None = None
    limit = budget.limit
    for _ in range(MAX_CORRECTIONS):
        room = smallest.enlarge(limit)
        size = measure_room(room, budget)
        excess = size - budget.limit
        if excess <= 0 and (best is not None or not budget.in_tokens):
            return room
        if excess <= 0:
            best, limit = room, max(limit, room.used * budget.limit // max(1, size))
        elif best is not None or limit <= smallest.used:
            break
        else:
            limit -= excess
    return best or smallest


def measure_room(room: Room, budget: Budget) -> int:
    """Measure what a room shows, exactly."""
    return count_tokens(Sheet.of(room).text) if budget.in_tokens else room.used
