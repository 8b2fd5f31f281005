"""A log as it is kept: contexts in each other, and the entries in them, all to the character.

The verbatim texts of all parts in their order are the text of the log, so that to fold is only to print less.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Entry:
    """One item of a context that is no context: its kind, and its text with the blanks before it.

    `kind` is the name of its class in lower case (`fact`, `command`, `feedback`, …). `mentions` are the handles in
    it, `binds` the handles that it binds. `address` is the memory that an abbreviation stands for.
    """

    index: int
    kind: str
    text: str
    mentions: frozenset[str] = frozenset()
    binds: frozenset[str] = frozenset()
    address: int | None = None
    at: str = ""


@dataclass(eq=False)
class Frame:
    """A context: `head` is its text up to `{` with the blanks before it, `tail` that of its end, or None if open.

    `index` is its place among the parts of its parent, `refs` are the handles that it was passed.
    """

    address: int
    name: str
    head: str
    index: int = 0
    refs: tuple[str, ...] = ()
    tail: str | None = None
    tldr: str | None = None
    parent: Frame | None = field(default=None, repr=False)
    parts: list[Entry | Frame] = field(default_factory=list, repr=False)

    @property
    def open(self) -> bool:
        """Whether it can be continued."""
        return self.tail is None

    @property
    def lead(self) -> str:
        """The blanks before it."""
        return self.head[: len(self.head) - len(self.head.lstrip())]

    def texts(self) -> Iterator[str]:
        """All texts of it, in their order; not recursive, for a log can nest deeper than Python's calls."""
        stack: list[Iterator[Entry | Frame | str]] = [iter([self])]
        while stack:
            part = next(stack[-1], None)
            if part is None:
                stack.pop()
            elif isinstance(part, Frame):
                yield part.head
                stack.append(iter([] if part.tail is None else [part.tail]))
                stack.append(iter(part.parts))
            else:
                yield part if isinstance(part, str) else part.text

    @property
    def text(self) -> str:
        r"""The whole text of it, from its name on.

        >>> Frame(1, "a", " context a() {", parts=[Entry(0, "comment", " // x")], tail="\\n}").text
        'context a() { // x\\n}'
        """
        return "".join(self.texts()).lstrip()

    def path(self) -> tuple[Frame, ...]:
        """The contexts around it, outermost first, and itself."""
        around: list[Frame] = [self]
        while around[-1].parent is not None:
            around.append(around[-1].parent)
        return tuple(reversed(around))

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
