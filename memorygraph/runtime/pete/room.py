"""Gives out the room of a view: which parts of a log are shown where not all of it fits.

The heads of open contexts always stand. Then comes the last statement of the current context, for the model goes on
from there, and what stands just before it, up to an eighth of the room. Then the contexts that were asked to be
unfolded, whole or as much of their ends as fits, since somebody said that they matter. Of what is left, half goes to
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
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from memorygraph.runtime.pete import shapes
from memorygraph.runtime.pete.log import Frame
from memorygraph.runtime.pete.pages import Page, Units
from memorygraph.runtime.pete.shapes import Measure

# So many things that have no room are tried before the rest is taken to have none, so many heads are explained, and so
# many contexts are searched for what binds the handles of a view.
_MAX_MISSES = 16
_MAX_HEADS = 64
_MAX_STEPS = 20_000


@dataclass(frozen=True)
class Wishes:
    """What shall be folded, and which contexts unfolded, those first that are around others."""

    folded: frozenset[int] = frozenset()
    unfolded: tuple[Frame, ...] = ()


class Room:
    """A room, and the pages on which it is given out."""

    def __init__(self, limit: int, measure: Measure, wishes: Wishes, known: dict[int, Units]) -> None:
        self.limit = limit
        self.used = 0
        self.measure = measure
        self.wishes = wishes
        self.pages: dict[int, Page] = {}
        self._known = known
        self._fresh: list[tuple[Page, int]] = []
        self._mentioned: set[str] = set()
        self._explaining = limit // 4
        self._steps = _MAX_STEPS

    def open(self, path: Sequence[Frame], until: int | None = None) -> bool:
        """Let the heads of a path stand, from one that does or from the outermost, unless they are too large."""
        known = next((n for n in range(len(path), 0, -1) if id(path[n - 1]) in self.pages), 0)
        if known == len(path):
            return True
        above = self.pages[id(path[known - 1])] if known else None
        fresh = len(self._fresh)
        made, size = self._new_pages(path[known:], above)
        if above is not None:
            unit = made[0].place
            size = size - above.units.size(unit) if above.shows(unit) else above.growth(unit, size)
        if until is not None and self.used + size > until:
            del self._fresh[fresh:]
            return False
        self.used += size
        if above is not None:
            self._bring(above, made[0].place)
            above.inner[made[0].place] = made[0]
        self.pages.update((id(page.frame), page) for page in made)
        return True

    def _new_pages(self, frames: Sequence[Frame], above: Page | None) -> tuple[list[Page], int]:
        """Pages that stand on each other, the first on one that is known, and their size."""
        made: list[Page] = []
        size = 0
        for frame, kept in zip(frames, [*frames[1:], None], strict=True):
            page = Page(self._units(frame), above, kept)
            if made:
                made[-1].inner[page.place] = page
            if kept is None:
                size += page.least
                self._fill(page)
            else:
                size += page.borders + page.around(page.nearest)
                self._bring(page, page.nearest)
            made.append(page)
            above = page
        return made, size

    def _fill(self, page: Page) -> None:
        """Show all of it that is no longer than its line."""
        if page.filling(0, page.units.count)[1]:
            page.chosen.extend(range(page.units.count))
            self._fresh += [(page, unit) for unit in page.chosen]

    def _units(self, frame: Frame) -> Units:
        if id(frame) not in self._known:
            self._known[id(frame)] = Units(frame, self.measure, self.wishes.folded)
        return self._known[id(frame)]

    def _bring(self, page: Page, unit: int) -> None:
        if not page.shows(unit):
            self._fresh += [(page, come) for come in page.add(unit)]

    def _whole(self, frame: Frame, most: int) -> int:
        return shapes.size_of(shapes.visible_texts(frame, self.wishes.folded), self.measure, most)

    def show_all(self) -> None:
        """Bring everything into view, whatever it takes, but what shall be folded."""
        for page in self.pages.values():
            page.chosen = list(range(page.units.count))
            page.whole = {unit for unit in page.chosen if self._may_unfold(page, unit)}

    def give_out(self, current: Frame) -> None:
        """Give out the room around the current context."""
        page = self.pages[id(current)]
        around = list(_above(page))
        last = page.next()
        if last is not None and not self._show(page, last, self.limit):
            page.tried += 1
        self._scan(page, self.used + self._left // 8)
        self._explain_heads([page, *around])
        asked = [inner for frame in self.wishes.unfolded if (inner := self._unfold(frame))]
        self._scan(page, self.used + self._left // 2)
        self._share(around, self.used + self._left // 2)
        misses = _MAX_MISSES
        for some in (page, *asked, *around):
            misses = self._scan(some, self.limit, misses)
            if not misses:
                break
        self._unfold_more([page, *asked, *around])

    @property
    def _left(self) -> int:
        return max(0, self.limit - self.used)

    def _share(self, pages: Sequence[Page], until: int) -> None:
        """Give each page half of what is left to it and the pages behind it."""
        for page in pages[:_MAX_MISSES]:
            self._scan(page, self.used + (until - self.used) // 2)

    def _scan(self, page: Page, until: int, misses: int = 0) -> int:
        """Show units of a page in their order, until one has no room, or more than some; how many misses are left."""
        while (unit := page.next()) is not None:
            if not self._show(page, unit, until):
                if not misses:
                    return 0
                misses -= 1
            page.tried += 1
            self._explain()
        return misses

    def _show(self, page: Page, unit: int, until: int) -> bool:
        if page.shows(unit):
            return True
        size = page.growth(unit, page.units.size(unit))
        if self.used + size > until:
            return False
        self.used += size
        self._bring(page, unit)
        return True

    def _explain_heads(self, pages: Sequence[Page]) -> None:
        for page in pages[:_MAX_HEADS]:
            if page.above is not None:
                for handle in page.frame.refs:
                    self._explain_handle(page.above, page.place, handle)
        self._explain()

    def _explain(self) -> None:
        """Show what binds the handles in what has just come into view, and in that again."""
        while self._fresh:
            page, unit = self._fresh.pop()
            for handle in page.units.mentions(unit):
                self._explain_handle(page, unit, handle)

    def _explain_handle(self, page: Page, unit: int, handle: str) -> None:
        self._mentioned.add(handle)
        binder = self._binder(page, unit, handle) if self._explaining > 0 else None
        if binder is not None:
            before = self.used
            self._show(*binder, min(self.limit, self.used + self._explaining))
            self._explaining -= self.used - before

    def _binder(self, page: Page, unit: int, handle: str) -> tuple[Page, int] | None:
        """What binds a handle last before a unit; a context knows what it was passed, and nothing else from around."""
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

    def _unfold(self, frame: Frame) -> Page | None:
        """Unfold a context and those around it; the page that it gets where the whole of it has no room."""
        path = self._path_to(frame)
        if len(path) < 2 or not self.open(path, self.limit):
            return None
        page = self.pages[id(frame)]
        more = self._whole(frame, self.limit) - page.least
        if page.above is None or more > self._left:
            self._scan(page, self.used + self._left // 2)
            return page
        self.used += more
        del page.above.inner[page.place], self.pages[id(frame)]
        page.above.whole.add(page.place)
        self._fresh = [fresh for fresh in self._fresh if fresh[0] is not page]
        return None

    def _path_to(self, frame: Frame) -> list[Frame]:
        """The contexts from the nearest one that has a page to this one; none if one around it is shown whole."""
        path: list[Frame] = [frame]
        while id(path[-1]) not in self.pages:
            around = path[-1].parent
            if around is None:
                return []
            path.append(around)
        page = self.pages[id(path[-1])]
        if len(path) > 1 and page.unit_of(path[-2]) in page.whole:
            return []
        return path[::-1]

    def _unfold_more(self, pages: Iterable[Page]) -> None:
        """Unfold what is shown folded, as far as it has room."""
        folded = [(page, unit) for page in pages for unit in reversed(page.chosen) if self._may_unfold(page, unit)]
        folded.sort(key=lambda at: getattr(at[0].units.child(at[1]), "name", "") not in self._mentioned)
        misses = _MAX_MISSES
        for page, unit in folded:
            child = page.units.child(unit)
            if child is None:
                continue
            more = self._whole(child, self.limit) - page.units.size(unit)
            if more <= self._left:
                self.used += more
                page.whole.add(unit)
            elif not (misses := misses - 1):
                break

    def _may_unfold(self, page: Page, unit: int) -> bool:
        child = page.units.child(unit)
        if child is None or unit in page.inner or unit in page.whole:
            return False
        return child.address not in self.wishes.folded and page.units.folds(unit)


def _above(page: Page) -> Iterator[Page]:
    while page.above is not None:
        page = page.above
        yield page


def unfolded_wishes(root: Frame, unfolded: Collection[int], folded: Collection[int]) -> tuple[Frame, ...]:
    """The contexts to be unfolded: those around others first, then the latest; none inside one to be folded."""
    missing = set(unfolded) - set(folded)
    found: list[tuple[int, int, Frame]] = []
    stack: list[tuple[int, Frame]] = [(0, root)]
    while stack and missing:
        depth, frame = stack.pop()
        if frame.address in folded and not frame.open:
            continue
        if frame.address in missing:
            missing.discard(frame.address)
            found.append((depth, len(found), frame))
        stack += [(depth + 1, part) for part in frame.parts if isinstance(part, Frame)]
    return tuple(frame for _, _, frame in sorted(found, key=lambda at: at[:2]))
