"""Pages: which parts of a context are in view, whole, folded, or replaced by a line, and how large that is.

What is in view is never changed; it gets only the blank or the line break that the next part needs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice

from memorygraph.budget import Budget
from memorygraph.context.tokens import count_tokens
from memorygraph.languages.pete.syntax import BLANKS
from memorygraph.runtime.pete.log import Frame, LogEntry, leading_blanks

Measure = Callable[[str], int]

# A line has room for fewer statements than this, each of one character or more: no more are tried.
MAX_FILLED = 64
TEXTS_AT_ONCE = 128
MAX_TOKEN_COUNTS = 1 << 17

# The text's hash is kept and not the text, so that no text outlives its log. A wrong count, should two texts ever have
# the same hash, does no harm: a whole view is counted anew.
_token_counts: dict[tuple[int, int], int] = {}


def count_tokens_once(text: str) -> int:
    """Count the tokens of a text, and remember it: a log grows at its end, and each view asks for the same texts."""
    key = len(text), hash(text)
    known = _token_counts.get(key)
    if known is None:
        if len(_token_counts) >= MAX_TOKEN_COUNTS:
            _token_counts.clear()
        known = _token_counts[key] = count_tokens(text)
    return known


def measure_of(budget: Budget | None) -> Measure:
    """The function that measures a text in a budget's unit."""
    return count_tokens_once if budget is not None and budget.in_tokens else len


def measure_texts(texts: Iterable[str], measure: Measure, limit: int | None = None) -> int:
    """Measure many texts together, until a limit is passed."""
    # Tokens are counted of many texts at once, which is nearly as exact, and takes less time.
    rest = iter(texts)
    size = 0
    for some in iter(lambda: "".join(islice(rest, TEXTS_AT_ONCE)), ""):
        size += measure(some)
        if limit is not None and size > limit:
            break
    return size


def replace_parts(frame: Frame, first: int, end: int) -> str:
    r"""Write the line that stands for some parts of a context, indented as the first of them.

    >>> parts = [LogEntry(0, "fact", "\n  &a is 1."), LogEntry(1, "fact", " &a is 2.")]
    >>> frame = Frame(5, "a", "context a() {", parts=parts)
    >>> replace_parts(frame, 0, 1), replace_parts(frame, 0, 2)
    ('\n  // 1 statement of memory:5 is out of view\n', '\n  // 2 statements of memory:5 are out of view\n')
    """
    return replacement_line(frame.address, end - first, *margins(frame, first, end))


def margins(frame: Frame, first: int, end: int) -> tuple[str, str]:
    """The indentation of the first part, and a line break unless there is one before the part after the last one."""
    lead = leading_blanks(frame.text_at(first) or "")
    follows = frame.text_at(end)
    return lead[lead.rfind("\n") + 1 :], "" if follows is not None and "\n" in leading_blanks(follows) else "\n"


def replacement_line(address: int, count: int, indentation: str, end: str) -> str:
    """The line that says how many statements are out of view. It is a line of its own, as comments are."""
    return f"\n{indentation}// {count_statements(count, address)} {'is' if count == 1 else 'are'} out of view{end}"


def count_statements(count: int, address: int) -> str:
    """A number of statements of a context, in words.

    >>> count_statements(9950, 5)
    '9,950 statements of memory:5'
    """
    return f"{count:,} statement{'' if count == 1 else 's'} of memory:{address}"


class Units:
    """What can be shown of a context, in any room: its statements with what answered them, and the contexts in it."""

    def __init__(self, frame: Frame, measure: Measure, folded: frozenset[int] = frozenset()) -> None:
        self.frame = frame
        self.measure = measure
        self.folded = folded
        parts = frame.parts
        self.starts = [n for n, part in enumerate(parts) if not (n and answers(part, parts[n - 1]))]
        self.count = len(self.starts)
        self.starts.append(len(parts))
        self._sizes: dict[int, int] = {}
        self._lines: dict[tuple[int, str, str], int] = {}

    def parts(self, unit: int) -> Sequence[LogEntry | Frame]:
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
            return "".join([part.text for part in self.parts(unit) if isinstance(part, LogEntry)])
        return child.folded_text if child.can_fold else "".join(child.texts(self.folded))

    def size(self, unit: int) -> int:
        """The size of its text."""
        known = self._sizes.get(unit)
        if known is None:
            known = self._sizes[unit] = self.measure(self.text(unit))
        return known

    def line(self, first: int, end: int) -> int:
        """The size of the line that stands for some units; numbers with as many digits are taken as equally long."""
        count = self.starts[end] - self.starts[first]
        around = margins(self.frame, self.starts[first], self.starts[end])
        key = (1 if count == 1 else 10 ** len(str(count)) - 1, *around)
        if key not in self._lines:
            self._lines[key] = self.measure(replacement_line(self.frame.address, *key))
        return self._lines[key]

    def mentions(self, unit: int) -> Iterator[str]:
        """The handles in it that it does not itself bind; those of a folded context are what it was passed."""
        for part in self.parts(unit):
            yield from sorted(part.mentions - part.binds) if isinstance(part, LogEntry) else part.refs

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


def answers(part: LogEntry | Frame, before: LogEntry | Frame) -> bool:
    """Whether a part is the feedback to the one before it."""
    return isinstance(part, LogEntry) and part.kind == "feedback" and isinstance(before, LogEntry)


class Page:
    """A context whose head stands, and what is shown of it: whole or folded units, and contexts with pages."""

    def __init__(self, units: Units, above: Page | None = None, nearest: Frame | None = None) -> None:
        self.frame, self.units = units.frame, units
        self.above = above  # the page it stands on
        self.place = above.unit_of(self.frame) if above else 0  # its unit there
        self.nearest = self.unit_of(nearest) if nearest else units.count  # units matter most from here on backwards
        self.chosen: list[int] = []
        self.whole: set[int] = set()
        self.inner: dict[int, Page] = {}  # the pages on it, by their units
        self.tried = 0
        # Its size with nothing in view but what is no longer than its line, and without the page of the nearest unit.
        if nearest:
            self.least = self.borders + self.around(self.nearest)
            self.add(self.nearest)
        else:
            filling, whole = self.filling(0, units.count)
            self.least = self.borders + filling
            self.chosen += range(units.count if whole else 0)

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
        """The size of what stands for a run of units, and whether it is the units themselves."""
        if first == end:
            return 0, False
        line = self.units.line(first, end)
        if end - first > MAX_FILLED:
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
        """The unit to be tried next: from the nearest one backwards, and then what follows it."""
        if self.tried < self.nearest:
            return self.nearest - 1 - self.tried
        return self.tried if self.tried < self.units.count else None

    @property
    def borders(self) -> int:
        """The size of its head and its end."""
        head, tail, measure = self.frame.head, self.frame.tail, self.units.measure
        return measure(head if self.above else head.lstrip(BLANKS)) + (measure(tail) if tail else 0)
