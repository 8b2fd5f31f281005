"""Views of a log: all of it, or what fits a budget of it, with the rest folded or left out, and a trace of that.

A view is a log itself, with the same contexts open, and whatever is in it is there to the byte. The same log and
budget give the same view. What comes first when room is short is told by `room`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

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
    Units,
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
    """A context in view: its page if it has one, its own texts, what is out of view, and what is folded in it."""

    frame: Frame
    page: Page | None = None
    texts: list[str] = field(default_factory=list)
    runs: list[HiddenRun] = field(default_factory=list)
    folded: list[Frame] = field(default_factory=list)

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
        text = "".join(self.texts)
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


@dataclass
class Sheet:
    """All texts in view in their order, and each context in view."""

    texts: list[str]
    contexts: list[ShownContext]

    @classmethod
    def of(cls, page: Page) -> Sheet:
        """What the outermost page shows; not recursive, for a log can nest deeper than Python's calls."""
        sheet = cls([], [ShownContext(page.frame, page)])
        stack = [(sheet.contexts[0], split_page(page))]
        while stack:
            shown, pieces = stack[-1]
            piece = next(pieces, None)
            if piece is None:
                stack.pop()
            elif isinstance(piece, Page):
                sheet.contexts.append(ShownContext(piece.frame, piece))
                stack.append((sheet.contexts[-1], split_page(piece)))
            elif isinstance(piece, ShownContext):
                sheet.contexts.append(piece)
                sheet.texts += piece.texts
            else:
                if isinstance(piece, HiddenRun):
                    shown.runs.append(piece)
                    piece = replace_parts(piece.frame, piece.first, piece.end)
                shown.texts.append(piece)
                sheet.texts.append(piece)
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
        hidden = self.find_hidden(wishes.unfolded)
        for shown in self.contexts:
            for frame in shown.folded:
                reason = ASKED if frame.address in wishes.folded else NO_ROOM
                yield Unused(label_context(frame), budget, NOT_UNFOLDED if hidden.pop(frame.address, None) else reason)
            for run in shown.runs:
                yield Unused(count_statements(run.end - run.first, run.frame.address), budget, LEFT_OUT)
                for part in run.parts:
                    if isinstance(part, Frame):
                        reason = NOT_UNFOLDED if hidden.pop(part.address, None) else LEFT_OUT_WITH
                        yield Unused(label_context(part), budget, reason)
        yield from (Unused(label_context(frame), budget, NOT_UNFOLDED) for frame in hidden.values())

    def find_hidden(self, frames: Iterable[Frame]) -> dict[int, Frame]:
        """Find those contexts that have no page, are not whole, and are in none that is."""
        known = {id(shown.frame): shown for shown in self.contexts}
        hidden: dict[int, Frame] = {}
        for frame in frames:
            around: Frame | None = frame
            while around is not None and id(around) not in known:
                around = around.parent
            shown = known[id(around)]
            inside_page = shown.page is not None and around is not frame
            if inside_page or frame in shown.folded or (around is not None and around in shown.folded):
                hidden[frame.address] = frame
        return hidden


ShownPiece = str | HiddenRun | Page | ShownContext


def split_page(page: Page) -> Iterator[ShownPiece]:
    """Split a page: its own texts, runs out of view, other pages, and contexts without a page."""
    frame, units = page.frame, page.units
    yield frame.head if page.above else frame.head.lstrip(BLANKS)
    at = 0
    for unit in (*page.chosen, units.count):
        if at < unit:
            yield HiddenRun(frame, units.starts[at], units.starts[unit])
        if unit < units.count:
            child = units.child(unit)
            if child is None:
                yield units.text(unit)
            elif unit in page.inner:
                yield page.inner[unit]
            elif unit not in page.whole and child.can_fold:
                yield ShownContext(child, texts=[units.text(unit)], folded=[child])
            else:
                inside = child.walk(units.folded) if units.folded else ()
                yield ShownContext(
                    child, texts=[units.whole(unit)], folded=[part for part in inside if isinstance(part, Frame)]
                )
        at = unit + 1
    if frame.tail is not None:
        yield frame.tail


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
    planner = ViewPlanner(root, budget, root.innermost(), wishes)
    room = planner.open_room(0)
    if budget is None or planner.all_fits(budget):
        room.show_all()
    else:
        room = planner.fit(budget, room)
    return Sheet.of(room.pages[id(root)]).as_view(budget, wishes)


@dataclass
class ViewPlanner:
    """Finds the room for a log. The heads on the way to the current context always stand."""

    root: Frame
    budget: Budget | None
    current: Frame
    wishes: Wishes
    units: dict[int, Units] = field(default_factory=dict)

    def open_room(self, limit: int) -> Room:
        """Open a room that shows only what always stands."""
        room = Room(limit, measure_of(self.budget), self.wishes, self.units)
        path = self.current.path()
        room.open(path[path.index(self.root) :])
        return room

    def all_fits(self, budget: Budget) -> bool:
        """Whether the log fits, with only that folded which shall be."""
        texts = list(self.root.texts(self.wishes.folded))
        texts[0] = texts[0].lstrip(BLANKS)
        characters = sum(map(len, texts))
        if not budget.in_tokens:
            return characters <= budget.limit
        if characters > budget.limit * MAX_RUN_CHARACTERS:
            return False
        # What is counted in pieces can be a little more than the whole, where two pieces meet.
        most = budget.limit + 2 + len(texts) // 32
        return measure_texts(texts, count_tokens_once, most) <= most and count_tokens("".join(texts)) <= budget.limit

    def fit(self, budget: Budget, smallest: Room) -> Room:
        """Find the room that shows most of the log within the budget."""
        # In tokens, the sizes of the parts come to a little more or less than that of the whole. So the room is made
        # larger once by as much, or smaller until all fits.
        if smallest.used > budget.limit and self.measure_room(smallest) > budget.limit:
            return smallest
        best: Room | None = None
        limit = budget.limit
        for _ in range(MAX_CORRECTIONS):
            room = self.open_room(limit)
            room.give_out(self.current)
            size = self.measure_room(room)
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

    def measure_room(self, room: Room) -> int:
        """Measure what a room shows, exactly."""
        in_tokens = self.budget is not None and self.budget.in_tokens
        return count_tokens(Sheet.of(room.pages[id(self.root)]).text) if in_tokens else room.used
