"""A log as it is kept: contexts and entries in each other, whose texts in their order are the text of the log."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import cast

from memorygraph.languages.pete.syntax import BLANKS

MAX_TLDR_CHARS = 200


def leading_blanks(text: str) -> str:
    """The blanks that a text begins with."""
    return text[: len(text) - len(text.lstrip(BLANKS))]


@dataclass(frozen=True)
class LogEntry:
    """One item of a context that is not a context itself, with the handles that it mentions and binds."""

    index: int
    kind: str  # its class in lower case: `fact`, `command`, `feedback`, …
    text: str  # with the blanks before it
    mentions: frozenset[str] = frozenset()
    binds: frozenset[str] = frozenset()


@dataclass(eq=False)
class Frame:
    """A context of a log."""

    address: int
    name: str
    head: str  # its text up to `{`, with the blanks before it
    index: int = 0  # its place among the parts of its parent
    refs: tuple[str, ...] = ()  # the handles that it was passed
    tail: str | None = None  # the text of its end; None if it is open
    tldr: str | None = None
    parent: Frame | None = field(default=None, repr=False)
    parts: list[LogEntry | Frame] = field(default_factory=list, repr=False)

    @property
    def open(self) -> bool:
        """Whether it can be continued."""
        return self.tail is None

    @property
    def lead(self) -> str:
        """The blanks before it."""
        return leading_blanks(self.head)

    def walk(self, folded: Collection[int] = ()) -> Iterator[str | Frame]:
        """All texts of it in their order, and in place of their texts the contexts in it that are to be folded."""
        yield self.head
        # Not recursive, for a log can nest deeper than Python's calls.
        stack: list[Iterator[LogEntry | Frame | str]] = [iter([] if self.tail is None else [self.tail])]
        stack.append(iter(self.parts))
        while stack:
            part = next(stack[-1], None)
            if part is None:
                stack.pop()
            elif not isinstance(part, Frame):
                yield part if isinstance(part, str) else part.text
            elif part.address in folded and part.can_fold:
                yield part
            else:
                yield part.head
                stack.append(iter([] if part.tail is None else [part.tail]))
                stack.append(iter(part.parts))

    def texts(self, folded: Collection[int] = ()) -> Iterator[str]:
        """All texts of it, in their order; the contexts in it that are to be folded, are."""
        if not folded:
            return cast("Iterator[str]", self.walk())
        return (part if isinstance(part, str) else part.folded_text for part in self.walk(folded))

    def text_at(self, index: int) -> str | None:
        """The text of the part at a place, or of the end after the last; None where an open context can go on."""
        if index >= len(self.parts):
            return self.tail
        part = self.parts[index]
        return part.head if isinstance(part, Frame) else part.text

    @property
    def folded(self) -> str:
        r"""The context without its body: its address, and its tl;dr if it has one.

        >>> Frame(42, "cool", "context cool( &heat ) {", refs=("heat",), tail="}", tldr=" turned the\n fan on ").folded
        'context cool(&heat) = memory:42 /* turned the fan on */'
        """
        refs = ", ".join(f"&{ref}" for ref in self.refs)
        tldr = " ".join((self.tldr or "").split())
        if len(tldr) > MAX_TLDR_CHARS:
            tldr = tldr[: MAX_TLDR_CHARS - 1].rstrip() + "…"
        return f"context {self.name}({refs}) = memory:{self.address}" + (f" /* {tldr} */" if tldr else "")

    @property
    def folded_text(self) -> str:
        """The folded context at its place: the blanks before it, and one after it if a word or a number follows."""
        follows = self.parent.text_at(self.index + 1) if self.parent else None
        word = follows is not None and (follows[:1].isalnum() or follows[:1] == "_")
        return f"{self.lead}{self.folded}{' ' if word else ''}"

    @property
    def can_fold(self) -> bool:
        """Whether it is closed, and shorter when it is folded."""
        if self.open:
            return False
        left = len(self.lead) + len(self.folded)
        for text in self.texts():
            left -= len(text)
            if left < 0:
                return True
        return False

    @property
    def text(self) -> str:
        r"""The whole text of it, from its name on.

        >>> Frame(1, "a", " context a() {", parts=[LogEntry(0, "comment", " // x")], tail="\\n}").text
        'context a() { // x\\n}'
        """
        return "".join(self.texts()).lstrip()

    def path(self) -> tuple[Frame, ...]:
        """The contexts around it, outermost first, and itself."""
        path: list[Frame] = [self]
        while path[-1].parent is not None:
            path.append(path[-1].parent)
        return tuple(reversed(path))

    def innermost(self) -> Frame:
        """The innermost open context: where the log goes on."""
        frame = self
        while frame.parts and isinstance(frame.parts[-1], Frame) and frame.parts[-1].open:
            frame = frame.parts[-1]
        return frame

    def frames(self) -> Iterator[Frame]:
        """It and every context within, in their order."""
        waiting = [self]
        while waiting:
            frame = waiting.pop()
            yield frame
            waiting += [part for part in reversed(frame.parts) if isinstance(part, Frame)]
