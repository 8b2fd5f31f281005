"""The shapes that a part of a log can have in a view: whole, folded, or left out behind a line that says so.

A shape never changes the bytes of what is shown. It brings only the blank or the line break that the next part needs,
so that a view is read as the log is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice

from memorygraph.budget import Budget
from memorygraph.context.tokens import count_tokens
from memorygraph.runtime.pete.log import Entry, Frame

MAX_TLDR = 200
BLANKS = " \t\r\n"

Measure = Callable[[str], int]

_TEXTS_AT_ONCE = 128
_MAX_COUNTS = 1 << 17
_counts: dict[tuple[int, int], int] = {}


def fold(frame: Frame) -> str:
    r"""A context without its body: its address, and its tl;dr if it has one.

    >>> fold(Frame(42, "cool", "context cool( &heat ) {", refs=("heat",), tail="}", tldr=" turned the\n fan on "))
    'context cool(&heat) = memory:42 /* turned the fan on */'
    """
    refs = ", ".join(f"&{ref}" for ref in frame.refs)
    tldr = " ".join((frame.tldr or "").split())
    if len(tldr) > MAX_TLDR:
        tldr = tldr[: MAX_TLDR - 1].rstrip() + "…"
    return f"context {frame.name}({refs}) = memory:{frame.address}" + (f" /* {tldr} */" if tldr else "")


def can_fold(frame: Frame) -> bool:
    """Whether a context is closed, and shorter when it is folded."""
    if frame.open:
        return False
    left = len(frame.lead) + len(fold(frame))
    for text in frame.texts():
        left -= len(text)
        if left < 0:
            return True
    return False


def folded_text(frame: Frame) -> str:
    """A folded context at its place: the blanks before it, and one behind it if a word or a number follows at once."""
    follows = _text_at(frame.parent, frame.index + 1) if frame.parent else None
    word = follows is not None and (follows[:1].isalnum() or follows[:1] == "_")
    return f"{frame.lead}{fold(frame)}{' ' if word else ''}"


def visible_texts(frame: Frame, folded: Collection[int]) -> Iterator[str]:
    """The texts of a context of which nothing is left out; the contexts in it that are to be folded, are."""
    if not folded:
        yield from frame.texts()
        return
    for part in _walk(frame, folded):
        yield part if isinstance(part, str) else folded_text(part)


def folded_inside(frame: Frame, folded: Collection[int]) -> Iterator[Frame]:
    """The contexts in one that are folded where nothing of it is left out."""
    if folded:
        yield from (part for part in _walk(frame, folded) if isinstance(part, Frame))


def _walk(frame: Frame, folded: Collection[int]) -> Iterator[str | Frame]:
    stack: list[Iterator[Entry | Frame | str]] = [iter([frame.head]), iter(frame.parts), iter([frame.tail or ""])][::-1]
    while stack:
        part = next(stack[-1], None)
        if part is None:
            stack.pop()
        elif not isinstance(part, Frame):
            yield part if isinstance(part, str) else part.text
        elif part.address in folded and can_fold(part):
            yield part
        else:
            yield part.head
            stack.append(iter([] if part.tail is None else [part.tail]))
            stack.append(iter(part.parts))


def left_out(frame: Frame, first: int, end: int) -> str:
    r"""The line that stands for some parts of a context, indented as the first of them.

    >>> frame = Frame(5, "a", "context a() {", parts=[Entry(0, "fact", "\n  &a is 1."), Entry(1, "fact", " &a is 2.")])
    >>> left_out(frame, 0, 1), left_out(frame, 0, 2)
    ('\n  // 1 statement of memory:5 is out of view\n', '\n  // 2 statements of memory:5 are out of view\n')
    """
    return line_of(frame.address, end - first, *margins(frame, first, end))


def margins(frame: Frame, first: int, end: int) -> tuple[str, str]:
    """The indentation of the first part, and a line break if none stands before the part behind the last one."""
    lead = _lead(_text_at(frame, first) or "")
    follows = _text_at(frame, end)
    return lead[lead.rfind("\n") + 1 :], "" if follows is not None and "\n" in _lead(follows) else "\n"


def line_of(address: int, count: int, indentation: str, end: str) -> str:
    """The line that says how many statements are out of view. It is a line of its own, as comments are."""
    return f"\n{indentation}// {statements(count, address)} {'is' if count == 1 else 'are'} out of view{end}"


def statements(count: int, address: int) -> str:
    """How many statements of a context.

    >>> statements(9950, 5)
    '9,950 statements of memory:5'
    """
    return f"{count:,} statement{'' if count == 1 else 's'} of memory:{address}"


def _text_at(frame: Frame, index: int) -> str | None:
    """The text of the part at a place, or of the end behind the last; None where an open context can be continued."""
    if index >= len(frame.parts):
        return frame.tail
    part = frame.parts[index]
    return part.head if isinstance(part, Frame) else part.text


def _lead(text: str) -> str:
    return text[: len(text) - len(text.lstrip(BLANKS))]


def tokens(text: str) -> int:
    """How many tokens a text is, remembered: a log grows at its end, and each view of it asks for the same texts.

    What is kept is the text's hash, so that no text outlives its log. A wrong count, should two texts ever have the
    same one, can do no harm, for a whole view is counted anew.
    """
    key = len(text), hash(text)
    known = _counts.get(key)
    if known is None:
        if len(_counts) >= _MAX_COUNTS:
            _counts.clear()
        known = _counts[key] = count_tokens(text)
    return known


def measure_of(budget: Budget | None) -> Measure:
    """What measures a text in a budget's unit."""
    return tokens if budget is not None and budget.in_tokens else len


def size_of(texts: Iterable[str], measure: Measure, most: int | None = None) -> int:
    """The size of many texts, or some size beyond the most that matters.

    Tokens are counted of many texts at once, which is nearly as exact, and takes less time.
    """
    rest = iter(texts)
    size = 0
    for some in iter(lambda: "".join(islice(rest, _TEXTS_AT_ONCE)), ""):
        size += measure(some)
        if most is not None and size > most:
            break
    return size
