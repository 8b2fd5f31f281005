"""What is in view, as text and as a trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from memorygraph.budget import Budget
from memorygraph.context.clipping import Strategy
from memorygraph.context.items import ContextItem, Unused
from memorygraph.context.labels import one_line
from memorygraph.context.tokens import count_tokens
from memorygraph.runtime.pete import shapes
from memorygraph.runtime.pete.log import Entry, Frame
from memorygraph.runtime.pete.pages import Page
from memorygraph.runtime.pete.room import Wishes
from memorygraph.runtime.pete.shapes import Measure, measure_of, size_of, statements

ASKED = "it is folded, as was asked"
NO_ROOM = "it is folded, because the whole of it has no room"
LEFT_OUT = "they are out of view, because no room is left for them"
LEFT_OUT_WITH = "it is out of view with the statements around it"
NOT_UNFOLDED = "it was to be unfolded, and has no room"


@dataclass(frozen=True)
class View:
    """What of a log is in view: the text that a model sees, and the trace of how it came about.

    Each context has an item of its own, with what is shown of the context, without the contexts in it that have items
    themselves; so the items' texts and sizes together are those of the view. The original size of a context counts the
    contexts that are out of view with its statements.
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


@dataclass(frozen=True)
class _Run:
    """Parts of a context that are out of view."""

    frame: Frame
    first: int
    end: int

    @property
    def parts(self) -> Sequence[Entry | Frame]:
        return self.frame.parts[self.first : self.end]


@dataclass
class _Shown:
    """A context in view: its page if it has one, its own texts, what is out of view, and what is folded in it."""

    frame: Frame
    page: Page | None = None
    texts: list[str] = field(default_factory=list)
    runs: list[_Run] = field(default_factory=list)
    folded: list[Frame] = field(default_factory=list)

    @property
    def strategy(self) -> Strategy:
        return "items" if self.runs else "fold" if self.folded else "none"

    def original(self, measure: Measure) -> int:
        """The size of it in the log, without the contexts in it that are in view themselves."""
        frame = self.frame
        if self.page is None:
            return size_of(frame.texts(), measure)
        own = (part.text for part in frame.parts if isinstance(part, Entry))
        hidden = (part for run in self.runs for part in run.parts if isinstance(part, Frame))
        return self.page.borders + size_of(own, measure) + sum(size_of(part.texts(), measure) for part in hidden)


@dataclass
class Sheet:
    """All texts in view in their order, and each context in view."""

    texts: list[str] = field(default_factory=list)
    contexts: list[_Shown] = field(default_factory=list)

    @classmethod
    def of(cls, page: Page) -> Sheet:
        """What the outermost page shows; not recursive, for a log can nest deeper than Python's calls."""
        sheet = cls()
        stack = [sheet._begin(page)]
        while stack:
            shown, pieces = stack[-1]
            piece = next(pieces, None)
            if piece is None:
                stack.pop()
            elif isinstance(piece, Page):
                stack.append(sheet._begin(piece))
            elif isinstance(piece, _Shown):
                sheet.contexts.append(piece)
                sheet.texts += piece.texts
            else:
                sheet.texts.append(sheet._own(shown, piece))
        return sheet

    def _begin(self, page: Page) -> tuple[_Shown, Iterator[_Piece]]:
        self.contexts.append(_Shown(page.frame, page))
        return self.contexts[-1], _pieces(page)

    @staticmethod
    def _own(shown: _Shown, piece: str | _Run) -> str:
        if isinstance(piece, _Run):
            shown.runs.append(piece)
            piece = shapes.left_out(piece.frame, piece.first, piece.end)
        shown.texts.append(piece)
        return piece

    @property
    def text(self) -> str:
        """The text in view."""
        return "".join(self.texts)

    def view(self, budget: Budget | None, wishes: Wishes) -> View:
        """The view, with its trace."""
        in_tokens = budget is not None and budget.in_tokens
        text = self.text
        items = (_item(index, shown, budget) for index, shown in enumerate(self.contexts))
        size = count_tokens(text) if in_tokens else len(text)
        return View(text, tuple(items), tuple(self._unused(budget, wishes)), size, budget)

    def _unused(self, budget: Budget | None, wishes: Wishes) -> Iterator[Unused]:
        hidden = self._hidden(wishes.unfolded)
        for shown in self.contexts:
            for frame in shown.folded:
                reason = ASKED if frame.address in wishes.folded else NO_ROOM
                yield Unused(_label(frame), budget, NOT_UNFOLDED if hidden.pop(frame.address, None) else reason)
            for run in shown.runs:
                yield Unused(statements(run.end - run.first, run.frame.address), budget, LEFT_OUT)
                for part in run.parts:
                    if isinstance(part, Frame):
                        reason = NOT_UNFOLDED if hidden.pop(part.address, None) else LEFT_OUT_WITH
                        yield Unused(_label(part), budget, reason)
        yield from (Unused(_label(frame), budget, NOT_UNFOLDED) for frame in hidden.values())

    def _hidden(self, frames: Iterable[Frame]) -> dict[int, Frame]:
        """Those contexts that have no page, are not whole, and are in none that is."""
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


_Piece = str | _Run | Page | _Shown


def _pieces(page: Page) -> Iterator[_Piece]:
    """What a page shows: its own texts, runs that are out of view, other pages, and contexts without a page."""
    frame, units = page.frame, page.units
    yield frame.head if page.above else frame.head.lstrip(shapes.BLANKS)
    at = 0
    for unit in (*page.chosen, units.count):
        if at < unit:
            yield _Run(frame, units.starts[at], units.starts[unit])
        if unit < units.count:
            child = units.child(unit)
            yield units.text(unit) if child is None else page.inner.get(unit) or _without_page(page, unit, child)
        at = unit + 1
    if frame.tail is not None:
        yield frame.tail


def _without_page(page: Page, unit: int, child: Frame) -> _Shown:
    if unit not in page.whole and page.units.folds(unit):
        return _Shown(child, texts=[page.units.text(unit)], folded=[child])
    return _Shown(child, texts=[page.units.whole(unit)], folded=list(shapes.folded_inside(child, page.units.folded)))


def _label(frame: Frame) -> str:
    return one_line(f"context {frame.name} = memory:{frame.address}")


def _item(index: int, shown: _Shown, budget: Budget | None) -> ContextItem:
    measure = measure_of(budget)
    text = "".join(shown.texts)
    size = measure(text)
    return ContextItem(
        index=index,
        source=_label(shown.frame),
        value=shown.frame.address,
        text=text,
        budget=budget,
        clipped=shown.strategy != "none",
        original_size=size if shown.strategy == "none" else shown.original(measure),
        clipped_size=size,
        strategy=shown.strategy,
    )
