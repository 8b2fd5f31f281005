"""Pages: which parts of a context are in view, and how large that is."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from memorygraph.runtime.pete import shapes
from memorygraph.runtime.pete.log import Entry, Frame
from memorygraph.runtime.pete.shapes import Measure

# A line is shorter than so many statements, which are one character or more; no more are tried.
_MAX_FILLED = 64


class Units:
    """What can be shown of a context or left out: a statement with what answered it, or a context in it.

    It holds only what does not change with the room, so that it is worked out once.
    """

    def __init__(self, frame: Frame, measure: Measure, folded: frozenset[int] = frozenset()) -> None:
        self.frame = frame
        self.measure = measure
        self.folded = folded
        parts = frame.parts
        self.starts = [n for n, part in enumerate(parts) if not (n and _answers(parts[n - 1], part))]
        self.count = len(self.starts)
        self.starts.append(len(parts))
        self._sizes: dict[int, int] = {}
        self._lines: dict[tuple[int, str, str], int] = {}

    def parts(self, unit: int) -> Sequence[Entry | Frame]:
        """The statement and its answer, or the one context."""
        return self.frame.parts[self.starts[unit] : self.starts[unit + 1]]

    def child(self, unit: int) -> Frame | None:
        """The context that the unit is, if it is one."""
        part = self.frame.parts[self.starts[unit]]
        return part if isinstance(part, Frame) else None

    def text(self, unit: int) -> str:
        """Its text; that of a context is folded, if that is shorter."""
        child = self.child(unit)
        if child is None:
            return "".join([part.text for part in self.parts(unit) if isinstance(part, Entry)])
        return shapes.folded_text(child) if self.folds(unit) else self.whole(unit)

    def folds(self, unit: int) -> bool:
        """Whether it is a context that can be folded."""
        child = self.child(unit)
        return child is not None and shapes.can_fold(child)

    def whole(self, unit: int) -> str:
        """The text of a context in it of which nothing is left out."""
        child = self.child(unit)
        return "" if child is None else "".join(shapes.visible_texts(child, self.folded))

    def size(self, unit: int) -> int:
        """The size of its text."""
        known = self._sizes.get(unit)
        if known is None:
            known = self._sizes[unit] = self.measure(self.text(unit))
        return known

    def line(self, first: int, end: int) -> int:
        """The size of the line that stands for some units; numbers with as many digits are taken as equally long."""
        count = self.starts[end] - self.starts[first]
        margins = shapes.margins(self.frame, self.starts[first], self.starts[end])
        key = (1 if count == 1 else 10 ** len(str(count)) - 1, *margins)
        if key not in self._lines:
            self._lines[key] = self.measure(shapes.line_of(self.frame.address, *key))
        return self._lines[key]

    def mentions(self, unit: int) -> Iterator[str]:
        """The handles in it that it does not itself bind; those of a folded context are what it was passed."""
        for part in self.parts(unit):
            yield from sorted(part.mentions - part.binds) if isinstance(part, Entry) else part.refs

    @cached_property
    def binders(self) -> dict[str, list[int]]:
        """The units that bind a handle, in their order; a context in it binds its name."""
        binders: dict[str, list[int]] = {}
        unit = 0
        for index, part in enumerate(self.frame.parts):
            unit += index == self.starts[unit + 1]
            for handle in (part.name,) if isinstance(part, Frame) else part.binds:
                binders.setdefault(handle, []).append(unit)
        return binders


def _answers(before: Entry | Frame, part: Entry | Frame) -> bool:
    return isinstance(part, Entry) and part.kind == "feedback" and isinstance(before, Entry)


class Page:
    """A context whose head stands, and what is shown of it: whole or folded units, and contexts with pages of theirs.

    `above` is the page it stands on, `place` its unit there, and `inner` the pages on it, by their units. `nearest`
    is the unit from which on backwards they matter most: the open one, or the end.
    """

    def __init__(self, units: Units, above: Page | None = None, nearest: Frame | None = None) -> None:
        self.units = units
        self.above = above
        self.place = above.unit_of(self.frame) if above else 0
        self.nearest = self.unit_of(nearest) if nearest else units.count
        self.chosen: list[int] = []
        self.whole: set[int] = set()
        self.inner: dict[int, Page] = {}
        self.tried = 0

    @property
    def frame(self) -> Frame:
        """The context."""
        return self.units.frame

    def unit_of(self, child: Frame) -> int:
        """The unit that a context in it is."""
        return bisect_left(self.units.starts, child.index)

    def shows(self, unit: int) -> bool:
        """Whether a unit is in view."""
        place = bisect_left(self.chosen, unit)
        return place < len(self.chosen) and self.chosen[place] == unit

    def gap(self, unit: int) -> tuple[int, int]:
        """The first unit and the end of the run out of view that a unit is in."""
        place = bisect_left(self.chosen, unit)
        first = self.chosen[place - 1] + 1 if place else 0
        return first, self.chosen[place] if place < len(self.chosen) else self.units.count

    def filling(self, first: int, end: int) -> tuple[int, bool]:
        """The size of what stands for a run of units, and whether it is they themselves."""
        if first == end:
            return 0, False
        line = self.units.line(first, end)
        if end - first > _MAX_FILLED:
            return line, False
        total = 0
        for unit in range(first, end):
            total += self.units.size(unit)
            if total > line:
                return line, False
        return total, True

    def growth(self, unit: int, size: int) -> int:
        """How much larger it is with a unit of a size in view, that is not yet."""
        return size + self.around(unit) - self.filling(*self.gap(unit))[0]

    def around(self, unit: int) -> int:
        """The size of what stands for the runs beside a unit, once it is in view."""
        first, end = self.gap(unit)
        return self.filling(first, unit)[0] + self.filling(unit + 1, end)[0]

    def add(self, unit: int) -> Iterable[int]:
        """Bring a unit into view, and the runs beside it that are no longer than their lines; all that came."""
        first, end = self.gap(unit)
        start = first if self.filling(first, unit)[1] else unit
        stop = end if self.filling(unit + 1, end)[1] else unit + 1
        place = bisect_left(self.chosen, unit)
        self.chosen[place:place] = range(start, stop)
        return range(start, stop)

    def next(self) -> int | None:
        """The unit to be tried next: from the nearest one backwards, and then what is behind that."""
        if self.tried < self.nearest:
            return self.nearest - 1 - self.tried
        return self.tried if self.tried < self.units.count else None

    @property
    def least(self) -> int:
        """The size of it with nothing in view but what is no longer than its line."""
        return self.borders + self.filling(0, self.units.count)[0]

    @property
    def borders(self) -> int:
        """The size of its head and its end."""
        head, tail, measure = self.frame.head, self.frame.tail, self.units.measure
        return measure(head if self.above else head.lstrip(shapes.BLANKS)) + (measure(tail) if tail else 0)
