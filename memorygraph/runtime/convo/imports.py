"""`@import ./file.convo`: the messages of other files in the folder of a program, where the tag stands.

Only files in the folder are read, or below it, or in the wider folder that the user allows; each once: a cycle ends
where it began. Source: specs/convo.md, section 6, point 10.
"""

from __future__ import annotations

import os
import shlex
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePath
from typing import NoReturn

from memorygraph.errors import MemoryGraphError, Problem, ScriptError, Source, Span
from memorygraph.languages.convo import syntax
from memorygraph.languages.convo.checks import check_conversation
from memorygraph.languages.convo.reading import BUILT_IN, MAX_CHARACTERS, read_source
from memorygraph.languages.convo.syntax import NODE_ENDS, message_role
from memorygraph.languages.convo.unsupported import find_unsupported, is_file_import
from memorygraph.languages.engine.findings import locate_problems, shorten
from memorygraph.runtime.convo.scene import CHANGES
from memorygraph.runtime.paths import open_plain, resolve_path

MAX_FILES = 200
CONTENT_ROLES = {"user", "assistant", *CHANGES}  # the original keeps system messages, too
MAX_BYTES = 4 * MAX_CHARACTERS  # of a file: a character has four at most


class JoinedSource(Source):
    """The texts of several files, one after the other, that shows each problem in its own file."""

    def __init__(self, first: Source) -> None:
        super().__init__(first.text, first.file, first.first_line)
        self.parts = [first]
        self.starts = [0]

    def add(self, part: Source) -> int:
        """Add a file; give where it begins."""
        start = len(self.text) + 1
        self.text = f"{self.text}\n{part.text}"
        self.parts.append(part)
        self.starts.append(start)
        return start

    def index_at(self, offset: int) -> int:
        """The index of the file that a place is in."""
        return bisect_right(self.starts, offset) - 1

    def position(self, offset: int) -> tuple[int, int]:
        """The line and the column in its file of the character at an offset."""
        index = self.index_at(offset)
        return self.parts[index].position(offset - self.starts[index])

    def problem(self, message: str, code: str, span: Span) -> Problem:
        """A problem at a span, in its file."""
        index = self.index_at(span.start)
        start = self.starts[index]
        return self.parts[index].problem(message, code, Span(span.start - start, span.end - start))


def resolve_imports(
    program: syntax.ConvoProgram, folder: Path | None, import_folder: Path | None = None
) -> syntax.ConvoProgram:
    """Read what a program imports; the program itself, where it imports nothing.

    The program lies in `folder`, and its files there or below; or anywhere in the `import_folder` that holds it.

    Raises:
        ScriptError: a file is missing or outside of the folder, or what is in it is wrong.
    """
    if not any(is_file_import(tag) for message in program.statements for tag in message.tags):
        return program
    importer = Importer(program, folder, import_folder)
    messages = tuple(importer.expand(program.statements, 0))
    source = importer.source
    conversation = replace(program.conversation, messages=messages)
    problems = locate_problems(check_conversation(messages, source, BUILT_IN), source)
    warnings = locate_problems(find_unsupported(messages, source.text), source)
    return replace(program, source=source, conversation=conversation, problems=problems, warnings=warnings)


class Importer:
    """Reads the files that a program imports."""

    def __init__(self, program: syntax.ConvoProgram, folder: Path | None, import_folder: Path | None) -> None:
        self.folder = folder.resolve() if folder is not None else None
        self.allowed = import_folder.resolve() if import_folder is not None else self.folder
        self.source = JoinedSource(program.source)
        file = program.source.file
        self.shown = Path(file).parent if file else Path()  # the folder, as the file of the program is named
        self.folders = [self.folder]  # of each part of the source
        self.known = {(self.folder / Path(file).name).resolve()} if file and self.folder else set()

    def expand(self, messages: tuple[syntax.Message, ...], start: int) -> Iterator[syntax.Message]:
        """The messages of a part of the source, with those before them that their tags import."""
        beside = self.folders[self.source.index_at(start)]
        for message in messages:
            for tag in message.tags:
                if is_file_import(tag):
                    yield from self.read(tag, beside)
            yield replace(message, tags=tuple(tag for tag in message.tags if not is_file_import(tag)))

    def read(self, tag: syntax.Tag, beside: Path | None) -> Iterator[syntax.Message]:
        """The messages of an imported file."""
        name, *modifiers = (tag.text or "").split()
        path = self.find(tag, name, beside)
        if path in self.known:
            return
        self.known.add(path)
        if len(self.folders) > MAX_FILES:  # the program itself has one
            self.refuse(tag, f"a program imports at most {MAX_FILES} files")
        text = self.read_file(tag, name, path)
        own = Source(text, os.path.normpath(self.shown / os.path.relpath(path, self.folder)))
        # By itself first: what is wrong in it names places of its own, such as that of a `(`.
        messages, findings = read_source(own)
        if findings and not messages:
            raise ScriptError(list(locate_problems(findings, own)))
        start = self.source.add(own)
        self.folders.append(path.parent)
        # With as many line breaks before it as there is text, its places are those of the whole source.
        messages, _ = read_source(Source("\n" * start + text))
        expanded = self.expand(messages, start)
        yield from leave_out_content(expanded) if modifiers else expanded
        # A node ends with its file.
        if any(isinstance(message, syntax.TextMessage) and message.role == "node" for message in messages):
            yield syntax.TextMessage("nodeEnd", "", syntax.Template(), span=Span(start, start))

    def find(self, tag: syntax.Tag, name: str, beside: Path | None) -> Path:
        """The file that is imported, beside the one that imports it."""
        if self.folder is None or beside is None:
            self.refuse(tag, "no folder is known to import files from; give the folder of the program")
        # The whole name is looked up: what a link `a.convo` leads to is not beside `a`.
        written = name if PurePath(name).suffix else f"{name}.convo"
        try:
            path = resolve_path(beside / written, name)
        except MemoryGraphError as error:
            self.refuse(tag, str(error))
        if self.allowed is None or not self.folder.is_relative_to(self.allowed):
            self.refuse(tag, f"the program is not in the folder that its files may come from, {self.allowed}")
        if not path.is_relative_to(self.allowed):
            allowed = "the folder of the program" if self.allowed == self.folder else str(self.allowed)
            self.refuse(tag, f"`{name}` is outside of {allowed}; only files in it are imported{self.widen(path)}")
        return path

    def widen(self, path: Path) -> str:
        """How to allow a file that is outside, to those who have the program as a file."""
        if self.folder is None or self.source.file is None:
            return ""
        wider = os.path.relpath(os.path.commonpath([path, self.folder]), self.folder)
        shown = shlex.quote(os.path.normpath(self.shown / wider))
        return f". Allow a folder that holds both with `--import-folder {shown}` (in Python: import_folder)"

    def read_file(self, tag: syntax.Tag, name: str, path: Path) -> str:
        """The text of a file that is imported; no link is followed any more, and no pipe or device is read."""
        try:
            with os.fdopen(open_plain(path, os.O_RDONLY), "rb") as file:
                content = file.read(MAX_BYTES + 1)
            text = content.decode("utf-8-sig") if len(content) <= MAX_BYTES else None
        except FileNotFoundError:
            self.refuse(tag, f"there is no file `{name}` beside this one")
        except UnicodeDecodeError:
            self.refuse(tag, f"`{name}` cannot be read: it is not UTF-8")
        except OSError as error:
            self.refuse(tag, f"`{shorten(name)}` cannot be read: {error.strerror}")
        except MemoryGraphError as error:
            self.refuse(tag, str(error))
        if text is None or len(self.source.text) + len(text) > MAX_CHARACTERS:
            self.refuse(tag, f"a program and its imports have at most {MAX_CHARACTERS:,} characters")
        return text

    def refuse(self, tag: syntax.Tag, message: str) -> NoReturn:
        """Raise what is wrong with an import, with its place."""
        raise ScriptError([self.source.problem(message, "import-failed", tag.span)])


def leave_out_content(messages: Iterable[syntax.Message]) -> Iterator[syntax.Message]:
    """Leave out what users and assistants say outside of nodes, with what is added to it, for `!ignoreContent`."""
    in_node = False
    for message in messages:
        if message_role(message) in NODE_ENDS:
            in_node = message_role(message) == "node"
        if in_node or message_role(message) not in CONTENT_ROLES:
            yield message
