"""A stream read as many small programs, in memory that depends neither on the stream's length nor its lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from memorygraph.errors import MAX_PROBLEMS, Source
from memorygraph.languages.contextscript.reading import MACHINE, Parser, Part, Unreadable, parser_for
from memorygraph.languages.contextscript.syntax import ContextScriptProgram

MAX_BATCH_CHARACTERS = 4 * 2**20  # after which a batch is closed, however few statements it has
MIN_READ_CHARACTERS = 2**17
MAX_LINE_CHARACTERS = 2**16  # that are kept around a batch, for its columns and its messages


class StreamBuffer:
    """The part of a stream that is held. It begins where a line does, so that places have lines and columns.

    Of a line longer than `MAX_LINE_CHARACTERS`, the beginning is dropped; its columns count from there.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.text = ""
        self.first_line = 1
        self.dropped = 0
        self.ended = False
        self.grow()
        if self.text.startswith("\ufeff"):
            self.cut(1)

    def grow(self) -> None:
        """Read on, at least as much as is held: so rereading an unfinished statement takes linear time in all."""
        more = self._stream.read(max(MIN_READ_CHARACTERS, len(self.text)))
        self.ended = not more
        self.text += more

    def drop(self, position: int) -> int:
        """Drop the lines before a position, and return the position after that."""
        line = self.text.rfind("\n", 0, position) + 1
        if position - line > MAX_LINE_CHARACTERS:
            line = position
        self.first_line += self.text.count("\n", 0, line)
        self.cut(line)
        return position - line

    def shorten_layout(self, position: int) -> None:
        """Keep only the beginning of blanks or a comment that go on beyond the buffer."""
        if len(self.text) - position > MAX_LINE_CHARACTERS:
            kept = self.text[:position] + self.text[position:].lstrip()[:1]
            self.dropped += len(self.text) - len(kept)
            self.text = kept

    def through_line(self, position: int) -> str:
        """The text through the end of a position's line."""
        while not self.ended and self.text.find("\n", position) < 0 and len(self.text) - position < MAX_LINE_CHARACTERS:
            self.grow()
        end = self.text.find("\n", position, position + MAX_LINE_CHARACTERS)
        return self.text[: end if end >= 0 else position + MAX_LINE_CHARACTERS]

    def cut(self, length: int) -> None:
        """Drop characters from the front."""
        self.text = self.text[length:]
        self.dropped += length


class Batches:
    """The programs of one stream."""

    def __init__(self, parser: Parser, stream: TextIO, size: int, file: str | None) -> None:
        self._parser = parser
        self._size = size
        self._file = file
        self._buffer = StreamBuffer(stream)
        self._unread: set[str] = set()
        self._findings = 0

    def __iter__(self) -> Iterator[ContextScriptProgram]:
        """At least one program, and none without statements or problems after it."""
        buffer = self._buffer
        position, first, done = 0, True, False
        while not done:
            part = Part(buffer.drop(position))
            done = self.fill(part)
            if first or part.statements or part.findings:
                source = Source(buffer.through_line(part.end), self._file, buffer.first_line)
                yield self._parser.program(part, source, self._unread, buffer.dropped, self._findings)
                self._findings += len(part.findings)
            position, first = part.end, False

    def fill(self, part: Part) -> bool:
        """Read statements until the batch is full; return whether nothing more can be read."""
        buffer, parser, start = self._buffer, self._parser, part.end
        while True:
            for item in parser.reader.read(buffer.text, part.end, complete=buffer.ended):
                parser.take(item, buffer.text, part, self._unread)
                if isinstance(item, Unreadable) and item.last:
                    return True
                if self._findings + len(part.findings) > MAX_PROBLEMS:
                    return True
                if len(part.statements) >= self._size or part.end - start > MAX_BATCH_CHARACTERS:
                    return False
            if buffer.ended:
                return True
            if not part.statements and not part.findings:
                start = part.end = self.skip_layout(part.end)
            buffer.grow()

    def skip_layout(self, position: int) -> int:
        """Drop the lines of layout before the next statement."""
        buffer = self._buffer
        end = MACHINE.layout_end(buffer.text, position)
        open_end = end == len(buffer.text)
        line = buffer.text.rfind("\n", position, end) + 1
        if line:
            position = buffer.drop(line)
        if open_end:
            buffer.shorten_layout(position)
        return position


def read_batches(
    stream: TextIO, size: int, file: str | None = None, *, strict: bool = False
) -> Iterator[ContextScriptProgram]:
    """Read a stream as programs of at most `size` statements."""
    return iter(Batches(parser_for(strict=strict), stream, size, file))
