"""A stream read as many small programs, in memory that depends neither on the stream's length nor its lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from memorygraph.errors import MAX_PROBLEMS, Source
from memorygraph.languages.contextscript.reading import MACHINE, Parser, Part, Unreadable, parser_for
from memorygraph.languages.contextscript.syntax import Program

_BATCH_TEXT = 4 * 2**20  # characters after which a batch is closed, however few statements it has
_CHUNK = 2**17  # characters that are read at a time, at least
_MAX_LINE = 2**16  # characters of a line that are kept around a batch, for its columns and its messages


class _Buffer:
    """What is held of the stream: it begins with a line, so that lines and columns can be told.

    Only of a line longer than `_MAX_LINE` the beginning is given up, and its columns count from there.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.text = ""
        self.first_line = 1
        self.dropped = 0
        self.ended = False
        self.grow()
        if self.text.startswith("\ufeff"):
            self._cut(1)

    def grow(self) -> None:
        """Read on; the more is still held, the more, so that reading again takes linear time in all."""
        more = self._stream.read(max(_CHUNK, len(self.text)))
        self.ended = not more
        self.text += more

    def drop(self, position: int) -> int:
        """Give up the lines before a position, and return where the position is then."""
        line = self.text.rfind("\n", 0, position) + 1
        if position - line > _MAX_LINE:
            line = position
        self.first_line += self.text.count("\n", 0, line)
        self._cut(line)
        return position - line

    def shorten_layout(self, position: int) -> None:
        """Of blanks or a comment, of any length, that go on beyond the buffer, keep only how they begin."""
        if len(self.text) - position > _MAX_LINE:
            kept = self.text[:position] + self.text[position:].lstrip()[:1]
            self.dropped += len(self.text) - len(kept)
            self.text = kept

    def through_line(self, position: int) -> str:
        """The text through the end of a position's line."""
        while not self.ended and self.text.find("\n", position) < 0 and len(self.text) - position < _MAX_LINE:
            self.grow()
        end = self.text.find("\n", position, position + _MAX_LINE)
        return self.text[: end if end >= 0 else position + _MAX_LINE]

    def _cut(self, length: int) -> None:
        self.text = self.text[length:]
        self.dropped += length


class Batches:
    """The programs of one stream."""

    def __init__(self, parser: Parser, stream: TextIO, size: int, file: str | None) -> None:
        self._parser = parser
        self._size = size
        self._file = file
        self._buffer = _Buffer(stream)
        self._unread: set[str] = set()
        self._findings = 0

    def __iter__(self) -> Iterator[Program]:
        """At least one program, and none without statements or problems after it."""
        position, first, done = 0, True, False
        while not done:
            part = Part(self._buffer.drop(position))
            done = self._fill(part)
            if first or part.statements or part.findings:
                yield self._program(part)
            position, first = part.end, False

    def _program(self, part: Part) -> Program:
        text = self._buffer.through_line(part.end)
        source = Source(text, self._file, self._buffer.first_line)
        program = self._parser.program(part, source, self._unread, self._buffer.dropped, self._findings)
        self._findings += len(part.findings)
        return program

    def _fill(self, part: Part) -> bool:
        """Read statements until the batch is full; whether the stream, or the reading of it, is at its end."""
        buffer, parser, start = self._buffer, self._parser, part.end
        while True:
            for item in parser.reader.read(buffer.text, part.end, complete=buffer.ended):
                parser.take(item, buffer.text, part, self._unread)
                if isinstance(item, Unreadable) and item.last:
                    return True
                if self._findings + len(part.findings) > MAX_PROBLEMS:
                    return True
                if len(part.statements) >= self._size or part.end - start > _BATCH_TEXT:
                    return False
            if buffer.ended:
                return True
            if not part.statements and not part.findings:
                start = part.end = self._past_layout(part.end)
            buffer.grow()

    def _past_layout(self, position: int) -> int:
        """Give up the lines of layout before the next statement."""
        buffer = self._buffer
        end = MACHINE.layout_end(buffer.text, position)
        open_end = end == len(buffer.text)
        line = buffer.text.rfind("\n", position, end) + 1
        if line:
            position = buffer.drop(line)
        if open_end:
            buffer.shorten_layout(position)
        return position


def read_batches(stream: TextIO, size: int, file: str | None = None, *, strict: bool = False) -> Iterator[Program]:
    """Read a stream as programs of at most `size` statements."""
    return iter(Batches(parser_for(strict=strict), stream, size, file))
