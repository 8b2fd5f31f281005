"""Logs for tests: written down as texts, or made by chance, and what a view shows of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from hypothesis import strategies as st

from memorygraph.runtime.pete.log import Frame, LogEntry

ENTRY = {
    "fact": ["&travis doesn't like &heat.", "&pete knows that &a likes &b and &b cools &c.", '"x" is 3.5.', "3 is &a."],
    "comment": ["// It is } hot.", "//", "// one /* two"],
    "sensorreport": ['!! thermometer { "temperature": 30 }', "!! x }"],
    "annotation": ["@[time: 12:30]", "@[a } note]"],
    "instantiation": ["&heat = /* the heat\n   in the } lab */", "&old = memory:4200", "&a = /* a **/"],
    "abbreviation": ["context gone(&a) = memory:77 /* it went */", "context gone() = memory:78"],
    "command": ['@fan, set {"speed": 2, "note": "}"}', "look", "@fan, stop", f'write {{"text": "{"word " * 40}"}}'],
    "question": ["_w eats &b?", "&a likes &b?"],
    "rule": ["_x eats _y if _x likes _y and _y is 3.", "_x is &a :- _x has &b."],
    "tldr": ["tl;dr /* turned the fan on */"],
}
FEEDBACK = ['>> {"ok": true}', ">> []", '>> {"error": "no fan"}', f'>> {{"result": "{"long " * 30}"}}']
HANDLE = re.compile(r"&([a-z]+)")
LINE = re.compile(r"\n[ \t]*// ([\d,]+) statements? of memory:(\d+) (?:is|are) out of view")


def entry(parent: Frame, kind: str, text: str) -> LogEntry:
    """Put an entry into a context."""
    mentions = frozenset(HANDLE.findall(text)) if kind not in {"comment", "sensorreport"} else frozenset()
    bound = HANDLE.findall(text)[:1] if kind == "instantiation" else ["gone"] if kind == "abbreviation" else []
    made = LogEntry(len(parent.parts), kind, text, mentions, frozenset(bound))
    parent.parts.append(made)
    return made


def frame(parent: Frame | None, address: int, head: str, *, tail: str | None = None, tldr: str | None = None) -> Frame:
    """Put a context into another."""
    name = re.findall(r"context (\w+)", head)[0]
    index = len(parent.parts) if parent else 0
    made = Frame(address, name, head, index, tuple(HANDLE.findall(head)), tail, tldr, parent)
    if parent:
        parent.parts.append(made)
    return made


@dataclass
class _Writing:
    """A log that is written by chance, and what it ended with."""

    draw: st.DrawFn
    root: Frame
    stack: list[Frame] = field(default_factory=list)
    before: str = "{"
    line: bool = False
    count: int = 1

    def lead(self) -> str:
        leads = ["\n", "\n  ", "\n\n    ", "\n\t"] + ([] if self.line else [" ", "  "])
        if self.before in "{}" and not self.line:
            leads.append("")
        return self.draw(st.sampled_from(leads))

    def write(self, kind: str) -> None:
        text = self.lead() + self.draw(st.sampled_from(ENTRY[kind]))
        entry(self.stack[-1], kind, text)
        self.before, self.line = text[-1], kind in {"comment", "sensorreport"}
        if kind in {"command", "question"} and self.draw(st.booleans()):
            text = self.draw(st.sampled_from([" ", "\n    "])) + self.draw(st.sampled_from(FEEDBACK))
            entry(self.stack[-1], "feedback", text)
            self.before = "a"

    def open(self) -> None:
        self.count += 1
        refs = self.draw(st.sampled_from(["", "&heat", "&a, &b"]))
        name = self.draw(st.sampled_from(["cool", "walk", "a"]))
        self.stack.append(frame(self.stack[-1], self.count, f"{self.lead()}context {name}({refs}) {{"))
        self.before, self.line = "{", False

    def close(self) -> None:
        if len(self.stack) > 1:
            closed = self.stack.pop()
            closed.tldr = self.draw(st.sampled_from([None, "it\n is done", "word " * 60]))
            closed.tail = self.lead() + "}"
            self.before, self.line = "}", False


@st.composite
def logs(draw: st.DrawFn, most: int = 40) -> Frame:
    """Logs with open contexts, closed ones and entries in any order."""
    root = frame(None, 1, draw(st.sampled_from(["context main(&travis) {", "\n context main() {"])))
    writing = _Writing(draw, root, [root])
    for what in draw(st.lists(st.sampled_from([*ENTRY, "fact", "open", "open", "close", "close"]), max_size=most)):
        if what == "open":
            writing.open()
        elif what == "close":
            writing.close()
        else:
            writing.write(what)
    if draw(st.integers(0, 4)) == 0:
        while len(writing.stack) > 1:
            writing.close()
        root.tail = writing.lead() + "}"
    return root


def frames(root: Frame) -> Iterator[Frame]:
    """A context and all in it."""
    yield root
    for part in root.parts:
        if isinstance(part, Frame):
            yield from frames(part)


@dataclass
class Seen:
    """What a text shows of a log: the parts of it, the contexts that are folded, and the runs left out."""

    shown: set[int] = field(default_factory=set)
    folded: list[Frame] = field(default_factory=list)
    runs: list[tuple[Frame, int, int]] = field(default_factory=list)

    @classmethod
    def of(cls, text: str, root: Frame) -> Seen:
        """Compare a view with its log; it fails where the view has anything that the log has not, or not there."""
        seen = cls()
        end = seen._context(text, 0, root, root.head.lstrip())
        assert end == len(text), text[end:]
        return seen

    def _context(self, text: str, at: int, of: Frame, head: str) -> int:
        at = _after(text, at, head)
        index = 0
        while index < len(of.parts):
            line = LINE.match(text, at)
            if line and int(line[2]) == of.address:
                count = int(line[1].replace(",", ""))
                self.runs.append((of, index, index + count))
                index += count
                at = _line_end(text, line.end(), _text(of, index))
            else:
                at = self._part(text, at, of.parts[index])
                index += 1
        return at if of.tail is None else _after(text, at, of.tail)

    def _part(self, text: str, at: int, part: LogEntry | Frame) -> int:
        if isinstance(part, Frame) and not text.startswith(part.head, at):
            self.folded.append(part)
            at = _after(text, at, part.lead + part.folded)
            follows = _text(part.parent, part.index + 1) if part.parent else None
            return at + (follows is not None and re.match(r"\w", follows) is not None)
        self.shown.add(id(part))
        return self._context(text, at, part, part.head) if isinstance(part, Frame) else _after(text, at, part.text)


def _text(of: Frame, index: int) -> str | None:
    if index == len(of.parts):
        return of.tail
    part = of.parts[index]
    return part.head if isinstance(part, Frame) else part.text


def _line_end(text: str, at: int, follows: str | None) -> int:
    """Where the line ends that stands for a run: it brings its own line break where none follows."""
    if follows is None or "\n" not in follows[: len(follows) - len(follows.lstrip())]:
        return _after(text, at, "\n")
    return at


def _after(text: str, at: int, expected: str) -> int:
    assert text.startswith(expected, at), (expected, text[at:])
    return at + len(expected)
