"""Views of a log: all of it, or what fits a budget of it, with the rest folded or left out, and a trace of that.

A view is a log itself, with the same contexts open, and whatever is in it is there to the byte. Closed contexts can be
folded to their address and their tl;dr; statements out of view leave a line that says so. Nothing in the log changes,
and the same log and budget give the same view. What comes first when room is short is told by `room`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from memorygraph.budget import Budget
from memorygraph.context.tokens import MAX_RUN_CHARACTERS, count_tokens
from memorygraph.errors import MemoryGraphError
from memorygraph.runtime.pete import shapes
from memorygraph.runtime.pete.log import Frame
from memorygraph.runtime.pete.pages import Units
from memorygraph.runtime.pete.room import Room, Wishes, unfolded_wishes
from memorygraph.runtime.pete.shapes import fold
from memorygraph.runtime.pete.views import Sheet, View

__all__ = ["View", "fold", "view"]

_MAX_CORRECTIONS = 8


def view(
    root: Frame,
    budget: Budget | None = None,
    *,
    current: Frame | None = None,
    folded: Collection[int] = (),
    unfolded: Collection[int] = (),
) -> View:
    r"""What of a log is in view, within a budget, from the current context: the innermost open one, if none is given.

    Contexts to be folded are, unless they are open or no shorter then; those to be unfolded come first where room is
    short. A context of both is folded.

    >>> from memorygraph.runtime.pete.log import Entry
    >>> log = Frame(1, "main", "context main() {")
    >>> cool = Frame(2, "cool", "\n  context cool() {", tail="\n  }", tldr="it is cool", parent=log)
    >>> cool.parts.append(Entry(0, "comment", "\n    // It was hot, and the fan did not stand where it should."))
    >>> log.parts.append(cool)
    >>> print(view(log, Budget.parse("80")).text)
    context main() {
      context cool() = memory:2 /* it is cool */

    Raises:
        MemoryGraphError: the current context is not in the log.
    """
    open_frame = _innermost(root)
    current = open_frame if current is None else current
    wishes = Wishes(frozenset(folded), unfolded_wishes(root, unfolded, folded))
    plan = _Plan(root, budget, [_path(root, current), _path(root, open_frame)], wishes)
    room = plan.room(0)
    if budget is None or plan.all_fits(budget):
        room.show_all()
    else:
        room = plan.fitting(budget, current, room)
    return Sheet.of(room.pages[id(root)]).view(budget, wishes)


def _innermost(root: Frame) -> Frame:
    frame = root
    while frame.parts and isinstance(frame.parts[-1], Frame) and frame.parts[-1].open:
        frame = frame.parts[-1]
    return frame


def _path(root: Frame, frame: Frame) -> list[Frame]:
    path = [frame]
    while path[-1] is not root:
        around = path[-1].parent
        if around is None:
            raise MemoryGraphError(f"memory:{frame.address} is no context in memory:{root.address}")
        path.append(around)
    return path[::-1]


@dataclass
class _Plan:
    """What has to be decided: the room for a log, whose paths always stand."""

    root: Frame
    budget: Budget | None
    paths: list[list[Frame]]
    wishes: Wishes
    units: dict[int, Units] = field(default_factory=dict)

    def room(self, limit: int) -> Room:
        room = Room(limit, shapes.measure_of(self.budget), self.wishes, self.units)
        for path in self.paths:
            room.open(path)
        return room

    def all_fits(self, budget: Budget) -> bool:
        """Whether all of it, but what shall be folded, is within the budget."""
        texts = list(shapes.visible_texts(self.root, self.wishes.folded))
        texts[0] = texts[0].lstrip(shapes.BLANKS)
        characters = sum(map(len, texts))
        if not budget.in_tokens:
            return characters <= budget.limit
        if characters > budget.limit * MAX_RUN_CHARACTERS:
            return False
        # What is counted in pieces can be a little more than the whole, where two pieces meet.
        most = budget.limit + 2 + len(texts) // 32
        return shapes.size_of(texts, shapes.tokens, most) <= most and count_tokens("".join(texts)) <= budget.limit

    def fitting(self, budget: Budget, current: Frame, smallest: Room) -> Room:
        """The room that shows most of it within the budget.

        The sizes of the parts come to a little more or less than that of the whole, in tokens. So the room is made
        larger once by as much, or smaller until all fits.
        """
        if smallest.used > budget.limit and self._size(smallest) > budget.limit:
            return smallest
        best: Room | None = None
        limit = budget.limit
        for _ in range(_MAX_CORRECTIONS):
            room = self.room(limit)
            room.give_out(current)
            size = self._size(room)
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

    def _size(self, room: Room) -> int:
        in_tokens = self.budget is not None and self.budget.in_tokens
        return count_tokens(Sheet.of(room.pages[id(self.root)]).text) if in_tokens else room.used
