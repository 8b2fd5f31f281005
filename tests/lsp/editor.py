"""An editor without a window: pygls's own client, at the program `memorygraph lsp`."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from lsprotocol import types
from pygls.lsp.client import LanguageClient

PROGRAM = shutil.which("memorygraph", path=str(Path(sys.executable).parent)) or "memorygraph"
MAX_SECONDS = 30.0
Answer = TypeVar("Answer")
Work: TypeAlias = Callable[["Editor"], Awaitable[Answer]]


class Editor(LanguageClient):
    """A client that keeps the problems of each document, as they come."""

    def __init__(self) -> None:
        super().__init__("memorygraph-tests", "1")
        self.problems: dict[str, list[types.PublishDiagnosticsParams]] = {}
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.came = asyncio.Event()

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
        def take(params: types.PublishDiagnosticsParams) -> None:
            self.problems.setdefault(params.uri, []).append(params)
            self.came.set()

    async def launch(self, *arguments: str, **environment: str | None) -> types.InitializeResult:
        """Start the server and greet it; a variable of the environment that is None is taken away."""
        changed = {**os.environ, **environment}
        env = {name: value for name, value in changed.items() if value is not None}
        await self.start_io(PROGRAM, "lsp", *arguments, env=env)
        result = await self.initialize_async(types.InitializeParams(types.ClientCapabilities()))
        self.initialized(types.InitializedParams())
        return result

    @property
    def stderr(self) -> asyncio.StreamReader:
        """What the server says to its terminal."""
        assert self._server is not None
        assert self._server.stderr is not None
        return self._server.stderr

    def open(self, path: Path, text: str) -> str:
        """Open a document with a text, which need not be that of the file."""
        uri = path.as_uri()
        self.texts[uri], self.versions[uri] = text, 1
        item = types.TextDocumentItem(uri, "plaintext", 1, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def edit(self, uri: str, text: str) -> None:
        """Change the text of a document."""
        self.texts[uri] = text
        self.versions[uri] += 1
        identifier = types.VersionedTextDocumentIdentifier(self.versions[uri], uri)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))

    async def problems_now(self, uri: str) -> list[types.Diagnostic]:
        """The problems of the text as it is now."""
        async with asyncio.timeout(MAX_SECONDS):
            while not any(one.version == self.versions[uri] for one in self.problems.get(uri, ())):
                self.came.clear()
                await self.came.wait()
        return list(self.problems[uri][-1].diagnostics)

    def place(self, uri: str, before: str, after: str = "") -> types.Position:
        """The position after a piece of the text, the first that another follows."""
        offset = self.texts[uri].index(before + after) + len(before)
        lines = self.texts[uri][:offset].split("\n")
        return types.Position(len(lines) - 1, len(lines[-1].encode("utf-16-le")) // 2)

    async def hover(self, uri: str, before: str, after: str = "") -> str | None:
        """What is shown at a place."""
        params = types.HoverParams(types.TextDocumentIdentifier(uri), self.place(uri, before, after))
        found = await self.text_document_hover_async(params)
        assert found is None or isinstance(found.contents, types.MarkupContent)
        return found.contents.value if found else None  # type: ignore[union-attr]

    async def complete(self, uri: str, before: str, after: str = "") -> list[str]:
        """What may be written at a place."""
        return [item.label for item in (await self.completions(uri, before, after)).items]

    async def completions(self, uri: str, before: str, after: str = "") -> types.CompletionList:
        """What may be written at a place, as the server says it."""
        params = types.CompletionParams(types.TextDocumentIdentifier(uri), self.place(uri, before, after))
        found = await self.text_document_completion_async(params)
        assert isinstance(found, types.CompletionList)
        return found

    async def define(self, uri: str, before: str, after: str = "") -> str | None:
        """The line that declares the name at a place."""
        params = types.DefinitionParams(types.TextDocumentIdentifier(uri), self.place(uri, before, after))
        found = await self.text_document_definition_async(params)
        assert found is None or isinstance(found, types.Location)
        return self.texts[uri].split("\n")[found.range.start.line] if found else None

    async def rename(self, uri: str, new: str, before: str, after: str = "") -> str:
        """The text after the name at a place is changed."""
        identifier = types.TextDocumentIdentifier(uri)
        params = types.RenameParams(identifier, self.place(uri, before, after), new)
        edit = await self.text_document_rename_async(params)
        assert edit is not None
        assert edit.changes is not None
        return self.apply(uri, edit.changes[uri])

    async def format(self, uri: str) -> str | None:
        """The text in its usual form; None where the server leaves it."""
        options = types.FormattingOptions(tab_size=2, insert_spaces=True)
        params = types.DocumentFormattingParams(types.TextDocumentIdentifier(uri), options)
        edits = await self.text_document_formatting_async(params)
        return self.apply(uri, edits) if edits is not None else None

    async def outline(self, uri: str) -> list[tuple[str, list[Any]]]:
        """The names of a document, each with those in it."""
        params = types.DocumentSymbolParams(types.TextDocumentIdentifier(uri))
        found = await self.text_document_document_symbol_async(params)

        def names(symbols: Any) -> list[tuple[str, list[Any]]]:
            return [(symbol.name, names(symbol.children or ())) for symbol in symbols]

        return names(found)

    def apply(self, uri: str, edits: Any) -> str:
        """A text with edits made, from its end to its beginning."""
        text = self.texts[uri]
        starts = [0]
        for line in text.split("\n"):
            starts.append(starts[-1] + len(line) + 1)

        def offset(position: types.Position) -> int:
            start = starts[position.line]
            line = text[start : starts[position.line + 1] - 1] if position.line + 1 < len(starts) else ""
            return start + len(line.encode("utf-16-le")[: 2 * position.character].decode("utf-16-le"))

        for edit in sorted(edits, key=lambda one: (one.range.start.line, one.range.start.character), reverse=True):
            text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
        return text


@asynccontextmanager
async def opened(*arguments: str, **environment: str | None) -> AsyncIterator[Editor]:
    """An editor with a language server of its own, which ends with it."""
    editor = Editor()
    await editor.launch(*arguments, **environment)
    try:
        yield editor
    finally:
        await editor.shutdown_async(None)
        editor.exit(None)
        await editor.stop()  # type: ignore[no-untyped-call]


async def within(editor: Editor, work: Work[Answer]) -> Answer:
    """Do something in an editor, in bounded time."""
    async with asyncio.timeout(2 * MAX_SECONDS):
        return await work(editor)


def in_editor(work: Work[Answer], *arguments: str, **environment: str | None) -> Answer:
    """Do something in an editor that is opened for it."""

    async def run() -> Answer:
        async with opened(*arguments, **environment) as editor:
            return await within(editor, work)

    return asyncio.run(run())


async def in_the_end(ask: Callable[[], Awaitable[Answer]], holds: Callable[[Answer], bool]) -> Answer:
    """An answer of the graph, asked for until it holds: one that comes too late is left out of a hover."""
    async with asyncio.timeout(MAX_SECONDS):
        while not holds(answer := await ask()):
            await asyncio.sleep(0.1)
    return answer
