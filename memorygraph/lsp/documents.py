"""The documents that an editor has open: their texts, and what was found out about them, in threads of their own.

Answers are made from the last text that could be read, with its places moved to where they are by now.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from memorygraph.errors import Problem, ScriptError, Span
from memorygraph.languages.engine.editing import IMPORT, Occurrence
from memorygraph.languages.language import Language, Script

PAUSE_SECONDS = 0.15  # after an edit, before the text is read: while keys are pressed nobody reads problems
MAX_WAIT_SECONDS = 10.0  # for what needs the text as it is now, such as a rename


@dataclass(frozen=True, eq=False)
class Analysis:
    """What was found out about a text: its script, what is wrong and what is suspicious, and its names.

    The script is also there with what it imports, whose text follows its own; `imported` are the names declared there.
    """

    text: str
    script: Script
    resolved: Script
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    occurrences: tuple[Occurrence, ...]
    imported: tuple[Occurrence, ...]

    @cached_property
    def names(self) -> tuple[Occurrence, ...]:
        """The names of the text, and those that what it imports declares."""
        return self.occurrences + self.imported

    @cached_property
    def in_order(self) -> list[Occurrence]:
        """The names of the text by their places."""
        return sorted(self.occurrences, key=lambda one: one.span)

    @cached_property
    def starts(self) -> list[int]:
        """Where they begin."""
        return [one.span.start for one in self.in_order]

    @cached_property
    def by_key(self) -> dict[tuple[str, str, int], list[Occurrence]]:
        """All places of each name."""
        places: dict[tuple[str, str, int], list[Occurrence]] = {}
        for one in self.in_order:
            places.setdefault(one.key, []).append(one)
        return places

    def at(self, offset: int) -> Occurrence | None:
        """The name at an offset, or just before it."""
        index = bisect_right(self.starts, offset)
        for one in reversed(self.in_order[max(0, index - 2) : index]):
            if one.span.start <= offset <= one.span.end:
                return one
        return None

    def declaration_of(self, occurrence: Occurrence) -> Occurrence | None:
        """Where a name is declared first: in the text, or in what it imports."""
        declared = (one for one in self.by_key.get(occurrence.key, ()) if one.declares)
        return next(declared, None) or next((one for one in self.imported if one.key == occurrence.key), None)

    def place_of(self, declared: Occurrence) -> tuple[str | None, int]:
        """The file and the line of a declaration."""
        place = self.resolved.source.problem("", "", declared.span)
        return place.file, place.line

    def declared_names(self, space: str) -> list[str]:
        """The names of a space that are declared, in the text or in what it imports."""
        return [one.name for one in self.names if one.space == space and one.declares]

    def import_of(self, file: str) -> Span:
        """Where a file is imported; another import may lead to it."""
        imports = [one for one in self.in_order if one.space == IMPORT]
        named = [one for one in imports if Path(one.name).stem == Path(file).stem]
        return next((one.span for one in named + imports), Span(0, 0))


def analyse(language: Language, text: str, path: Path | None, import_folder: Path | None = None) -> Analysis:
    """Find out about a text what `memorygraph check` finds out about its file."""
    script = language.parse(text, file=str(path) if path else None)
    occurrences = tuple(language.find_occurrences(script))
    resolved = script
    try:
        resolved = language.resolve_imports(script, path.parent, import_folder) if path else script
        problems = tuple(language.check(resolved))
        warnings = tuple(language.find_warnings(resolved))
    except ScriptError as error:
        problems, warnings = tuple(error.problems), ()
    names = language.find_occurrences(resolved) if resolved is not script else ()
    imported = tuple(one for one in names if one.declares and one.span.start > len(text))
    return Analysis(text, script, resolved, problems, warnings, occurrences, imported)


class Shift(NamedTuple):
    """How places move between two texts, of which one stretch differs: it begins at `start`."""

    start: int
    old_end: int
    new_end: int

    def move(self, offset: int) -> int:
        """Where a place of the old text is in the new one; one within the stretch stays in it."""
        if offset < self.start:
            return offset
        return offset + self.new_end - self.old_end if offset >= self.old_end else min(offset, self.new_end)

    def back(self) -> Shift:
        """How places move from the new text to the old one."""
        return Shift(self.start, self.new_end, self.old_end)


def find_shift(old: Sequence[str], new: Sequence[str]) -> Shift:
    """Find the stretch in which two texts, or two lists of lines, differ.

    >>> find_shift("one two", "one and two")
    Shift(start=4, old_end=4, new_end=8)
    """
    start = common_length(lambda size: old[:size] == new[:size], min(len(old), len(new)))
    room = min(len(old), len(new)) - start
    rest = common_length(lambda size: old[len(old) - size :] == new[len(new) - size :], room)
    return Shift(start, len(old) - rest, len(new) - rest)


def common_length(is_common: Callable[[int], bool], limit: int) -> int:
    """The largest size up to a limit that is common, where every smaller one is too."""
    low = 0
    while low < limit:
        middle = (low + limit + 1) // 2
        low, limit = (middle, limit) if is_common(middle) else (low, middle - 1)
    return low


@dataclass
class Document:
    """An open document. Its `analysis` is that of the last text that was read, and `named` the last with names."""

    uri: str
    path: Path | None
    language: Language
    text: str
    version: int | None
    analysis: Analysis | None = None
    named: Analysis | None = None
    reading: asyncio.Task[None] | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    _shift: tuple[str, str, Shift] | None = None

    @property
    def is_read(self) -> bool:
        """Whether the analysis is that of the text as it is now."""
        return self.analysis is not None and self.analysis.text is self.text

    def take(self, analysis: Analysis) -> None:
        """Take what was found out; names stay where a text with errors has none."""
        self.analysis = analysis
        if analysis.occurrences or self.named is None or not analysis.problems:
            self.named = analysis
        self.changed.set()

    def occurrence_at(self, offset: int) -> tuple[Analysis, Occurrence] | None:
        """The name at an offset of the text as it is now."""
        if self.named is None:
            return None
        found = self.named.at(self.shift.back().move(offset))
        if found is None or self.text[slice(*self.now(found.span))] != found.name:
            return None
        return self.named, found

    def now(self, span: Span) -> Span:
        """Where a stretch of the text with names is in the text as it is now."""
        return Span(self.shift.move(span.start), self.shift.move(span.end))

    @property
    def shift(self) -> Shift:
        """How places moved since the last text with names."""
        old = self.named.text if self.named else self.text
        if self._shift is None or self._shift[0] is not old or self._shift[1] is not self.text:
            end = len(old)
            self._shift = old, self.text, Shift(end, end, end) if old is self.text else find_shift(old, self.text)
        return self._shift[2]


class Documents:
    """The open documents, by their addresses; `publish` is told of each that was read.

    What they import lies beside them, or anywhere in the `import_folder`.
    `prepare` is given each analysis in the thread of the reading, for what takes long and is asked often.
    """

    def __init__(
        self,
        publish: Callable[[Document], None],
        prepare: Callable[[Analysis], None],
        import_folder: Path | None = None,
    ) -> None:
        self._publish, self._prepare = publish, prepare
        self._import_folder = import_folder
        self._documents: dict[str, Document] = {}
        self._threads = ThreadPoolExecutor(1, "memorygraph-reading")

    def __getitem__(self, uri: str) -> Document:
        return self._documents[uri]

    def __contains__(self, uri: str) -> bool:
        return uri in self._documents

    def __iter__(self) -> Iterator[Document]:
        return iter(self._documents.values())

    def open(self, document: Document) -> None:
        """Take a document in, and read it."""
        self.close(document.uri)
        self._documents[document.uri] = document
        self._read_later(document, 0)

    def change(self, uri: str, text: str, version: int | None) -> None:
        """Take a new text, and read it when no other follows."""
        document = self._documents[uri]
        document.text, document.version = text, version
        self._read_later(document, PAUSE_SECONDS)

    def read_again(self, uri: str) -> None:
        """Read a document again: what it imports may have changed."""
        self._read_later(self._documents[uri], 0)

    def close(self, uri: str) -> None:
        """Forget a document."""
        document = self._documents.pop(uri, None)
        if document is not None and document.reading is not None:
            document.reading.cancel()

    def shut_down(self) -> None:
        """Read no more."""
        for document in list(self):
            self.close(document.uri)
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def first_read(self, document: Document) -> None:
        """Wait until a document was read at all."""
        if document.analysis is None:
            await self.now_read(document)

    async def now_read(self, document: Document) -> bool:
        """Wait until the text was read as it is now; return whether it was, within the time that an editor waits."""
        try:
            async with asyncio.timeout(MAX_WAIT_SECONDS):
                while not document.is_read:
                    document.changed.clear()
                    await document.changed.wait()
        except TimeoutError:
            return False
        return True

    def _read_later(self, document: Document, pause: float) -> None:
        if document.reading is not None:
            document.reading.cancel()
        document.reading = asyncio.get_running_loop().create_task(self._read(document, pause))

    async def _read(self, document: Document, pause: float) -> None:
        await asyncio.sleep(pause)
        text = document.text
        loop = asyncio.get_running_loop()
        analysis = await loop.run_in_executor(self._threads, self._analyse, document, text)
        if document.text is text:
            document.take(analysis)
            self._publish(document)

    def _analyse(self, document: Document, text: str) -> Analysis:
        analysis = analyse(document.language, text, document.path, self._import_folder)
        self._prepare(analysis)
        return analysis
