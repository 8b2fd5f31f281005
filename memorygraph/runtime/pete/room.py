"""Gives out the room of a view: which parts of a log are shown where not all of it fits.

The heads of open contexts always stand. Then comes the last statement of the current context, for the model goes on
from there, and what stands just before it, up to an eighth of the room. Then the contexts that were asked to be
unfolded, whole or as much of their ends as fits, since they were said to matter. Of what is left, half goes to
the current context, from its end backwards, and a quarter to the contexts around it, from the place of the open one
backwards and the nearest first, so that a long context does not hide what it was opened for. The rest goes to the
same again, in the same order, and then to unfolding what is shown folded: those first whose names are mentioned,
then the latest.

Whatever is shown brings what binds the handles in it, and that what binds those in turn, so that the model knows what
`&heat` is; all of this takes a quarter of the room at most. A context in a context counts as one statement, folded.
Parts that are no longer than the line that would replace them stay. What is larger than all the room that is left,
as a long answer may be, is passed over, even if it is the last: what stands before it is worth more than nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from memorygraph.runtime.pete.log import Frame
from memorygraph.runtime.pete.pages import Measure, Page, Units, measure_texts

# Bounds of the work on one view, however long the log is.
MAX_MISSES = 16  # parts without room that are tried before the rest is taken to have none
MAX_HEADS = 64  # whose handles are explained
MAX_STEPS = 20_000  # contexts that are searched for what binds the handles of a view


@dataclass(frozen=True)
class Wishes:
    """What shall be folded, and which contexts unfolded, those first that are around others."""

    folded: frozenset[int] = frozenset()
    unfolded: tuple[Frame, ...] = ()


class Room:
    """A room, and the pages on which it is given out: at first, the heads on the way to the current context stand."""

    def __init__(
        self, root: Frame, measure: Measure, wishes: Wishes, limit: int = 0, known: dict[int, Units] | None = None
    ) -> None:
        self.root = root
        self.limit = limit
        self.used = 0
        self.measure = measure
        self.wishes = wishes
        self.pages: dict[int, Page] = {}
        self._known = {} if known is None else known
        self._fresh: list[tuple[Page, int]] = []
        self._mentioned: set[str] = set()
        self._explaining = limit // 4
        self._steps = MAX_STEPS
        path = root.innermost().path()
        self.open(path[path.index(root) :])

    def enlarge(self, limit: int) -> Room:
        """Make another room for the same log, and give it out."""
        room = Room(self.root, self.measure, self.wishes, limit, self._known)
        room.give_out(room.pages[id(self.root.innermost())])
        return room

    def open(self, path: Sequence[Frame], above: Page | None = None) -> bool:
        """Let the heads of a path stand, on a page `above` unless they have no room there."""
        made: list[Page] = []
        for frame, kept in zip(path, [*path[1:], None], strict=True):
            if id(frame) not in self._known:
                self._known[id(frame)] = Units(frame, self.measure, self.wishes.folded)
            made.append(Page(self._known[id(frame)], made[-1] if made else above, kept))
        size = sum(page.least for page in made)
        if above is not None:
            unit = made[0].place
            size = size - above.units.size(unit) if above.shows(unit) else above.growth(unit, size)
            if self.used + size > self.limit:
                return False
        self.used += size
        for page in made:
            self.pages[id(page.frame)] = page
            self._fresh += [(page, unit) for unit in page.chosen]
            if page.above is not None:
                page.above.inner[page.place] = page
        if above is not None:
            self.bring(above, made[0].place)
        return True

    def bring(self, page: Page, unit: int) -> None:
        """Bring a unit into view, with what stands beside it and is no longer than its line."""
        if not page.shows(unit):
            self._fresh += [(page, come) for come in page.add(unit)]

    def measure_whole(self, frame: Frame) -> int:
        """Measure a context of which nothing is left out, as far as the limit of the room."""
        return measure_texts(frame.texts(self.wishes.folded), self.measure, self.limit)

    def show_all(self) -> None:
        """Bring everything into view, whatever it takes, but what shall be folded."""
        for page in self.pages.values():
            page.chosen = list(range(page.units.count))
            page.whole = {unit for unit in page.chosen if self.may_unfold(page, unit)}

    def give_out(self, page: Page) -> None:
        """Give out the room around the page of the current context."""
        around = [self.pages[id(frame)] for frame in reversed(page.frame.path()[:-1]) if id(frame) in self.pages]
        last = page.next()
        if last is not None and not self.show(page, last, self.limit):
            page.tried += 1
        self.scan(page, self.used + self.left // 8)
        for some in [page, *around][:MAX_HEADS]:
            if some.above is not None:
                for handle in some.frame.refs:
                    self.explain_handle(some.above, some.place, handle)
        self.explain_fresh()
        asked = [inner for frame in self.wishes.unfolded if (inner := self.unfold(frame))]
        self.scan(page, self.used + self.left // 2)
        until = self.used + self.left // 2
        for some in around[:MAX_MISSES]:  # each gets half of what is left to it and those after it
            self.scan(some, self.used + (until - self.used) // 2)
        misses = MAX_MISSES
        for some in (page, *asked, *around):
            misses = self.scan(some, self.limit, misses)
            if not misses:
                break
        self.unfold_more([page, *asked, *around])

    @property
    def left(self) -> int:
        """The room that is left."""
        return max(0, self.limit - self.used)

    def scan(self, page: Page, until: int, misses: int = 0) -> int:
        """Show units of a page in their order, until one has no room, or more than some; how many misses are left."""
        while (unit := page.next()) is not None:
            if not self.show(page, unit, until):
                if not misses:
                    return 0
                misses -= 1
            page.tried += 1
            self.explain_fresh()
        return misses

    def show(self, page: Page, unit: int, until: int) -> bool:
        """Bring a unit into view, unless the room used would pass a limit; whether it is in view."""
        if page.shows(unit):
            return True
        size = page.growth(unit, page.units.size(unit))
        if self.used + size > until:
            return False
        self.used += size
        self.bring(page, unit)
        return True

    def explain_fresh(self) -> None:
        """Show what binds the handles in what has just come into view, and in that again."""
        while self._fresh:
            page, unit = self._fresh.pop()
            for handle in page.units.mentions(unit):
                self.explain_handle(page, unit, handle)

    def explain_handle(self, page: Page, unit: int, handle: str) -> None:
        """Show what binds a handle of a unit, as far as the quarter for explanations goes."""
        self._mentioned.add(handle)
        binder = self.find_binder(page, unit, handle) if self._explaining > 0 else None
        if binder is not None:
            before = self.used
            self.show(*binder, min(self.limit, self.used + self._explaining))
            self._explaining -= self.used - before

    def find_binder(self, page: Page, unit: int, handle: str) -> tuple[Page, int] | None:
        """Find what binds a handle last before a unit; a context knows only what it was passed from around."""
        at, before = page, unit
        while self._steps > 0:
            self._steps -= 1
            places = at.units.binders.get(handle, ())
            place = bisect_left(places, before)
            if place:
                return at, places[place - 1]
            if handle not in at.frame.refs or at.above is None:
                return None
            at, before = at.above, at.place
        return None

    def unfold(self, frame: Frame) -> Page | None:
        """Unfold a context and those around it; return its page where the whole of it has no room."""
        path: list[Frame] = []  # from it to the nearest context with a page
        around: Frame | None = frame
        while around is not None and id(around) not in self.pages:
            path.append(around)
            around = around.parent
        above = self.pages.get(id(around))
        if above is None or not path or above.unit_of(path[-1]) in above.whole or not self.open(path[::-1], above):
            return None
        page = self.pages[id(frame)]
        more = self.measure_whole(frame) - page.least
        if page.above is None or more > self.left:
            self.scan(page, self.used + self.left // 2)
            return page
        self.used += more
        del page.above.inner[page.place], self.pages[id(frame)]
        page.above.whole.add(page.place)
        self._fresh = [fresh for fresh in self._fresh if fresh[0] is not page]
        return None

    def unfold_more(self, pages: Iterable[Page]) -> None:
        """Unfold what is shown folded, as far as it has room."""
        folded = [(page, unit) for page in pages for unit in reversed(page.chosen) if self.may_unfold(page, unit)]
        folded.sort(key=lambda at: getattr(at[0].units.child(at[1]), "name", "") not in self._mentioned)
        misses = MAX_MISSES
        for page, unit in folded:
            child = page.units.child(unit)
            if child is None:
                continue
            more = self.measure_whole(child) - page.units.size(unit)
            if more <= self.left:
                self.used += more
                page.whole.add(unit)
            elif not (misses := misses - 1):
                break

    def may_unfold(self, page: Page, unit: int) -> bool:
        """Whether a unit is a context that is shown folded, and not because that was asked."""
        child = page.units.child(unit)
        if child is None or unit in page.inner or unit in page.whole:
            return False
        return child.address not in self.wishes.folded and child.can_fold


def find_unfolded(root: Frame, unfolded: Collection[int], folded: Collection[int]) -> tuple[Frame, ...]:
    """Find the contexts to be unfolded: those around others first, then the latest; none inside one to be folded."""
    missing = set(unfolded) - set(folded)
    found = [frame for frame in root.frames() if frame.address in missing] if missing else []
    found = [frame for frame in found if all(each.open or each.address not in folded for each in frame.path())]
    found.reverse()
    return tuple(sorted(found, key=lambda frame: len(frame.path())))
