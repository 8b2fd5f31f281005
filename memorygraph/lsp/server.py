"""The language server over stdio: what editors ask, in their protocol. The one module that knows pygls.

Documents are taken as a whole at each change: their lines end at line breaks only, as everywhere in memorygraph.
"""

from __future__ import annotations

import gc
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from itertools import accumulate
from logging import LogRecord
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.protocol import json_rpc
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import PositionCodec

from memorygraph.collection import without_collection
from memorygraph.errors import NotFoundError, Problem, Span
from memorygraph.languages.engine.editing import WORD, EditorCompletion, Occurrence
from memorygraph.languages.language import LANGUAGES, Language, language_of
from memorygraph.lsp.documents import Analysis, Document, Documents, find_shift
from memorygraph.lsp.lookup import CompletedIds, Connect, GraphLookup, likeliest

SOURCE = "memorygraph"
MAX_SHOWN_CHARACTERS = 800  # of a declaration that a hover shows
MAX_COUNTED_CHARACTERS = 200  # before a place, which are counted anew for each; those of a longer line are kept
MAX_COMPLETIONS = 200  # the editor asks again when more is written
GRAPH_SPACES = frozenset({"id", "address"})  # the names that the graph may know
COLLECTION_THRESHOLD = 200_000  # objects more than before
TRIGGERS = ['"', ">", "@", "&", "_", ".", "(", " "]

SYMBOL_KINDS = {
    "agent": types.SymbolKind.Class,
    "context": types.SymbolKind.Namespace,
    "edge": types.SymbolKind.Event,
    "function": types.SymbolKind.Function,
    "handle": types.SymbolKind.Variable,
    "node": types.SymbolKind.Object,
}
COMPLETION_KINDS = {
    "argument": types.CompletionItemKind.Property,
    "builtin": types.CompletionItemKind.Function,
    "constant": types.CompletionItemKind.Constant,
    "function": types.CompletionItemKind.Function,
    "id": types.CompletionItemKind.Reference,
    "keyword": types.CompletionItemKind.Keyword,
    "node": types.CompletionItemKind.Reference,
    "role": types.CompletionItemKind.Keyword,
    "type": types.CompletionItemKind.TypeParameter,
    "variable": types.CompletionItemKind.Variable,
}


class Places:
    """The places of a text as the editor counts them: lines from 0, characters in UTF-16 or as agreed."""

    def __init__(self, text: str, codec: PositionCodec) -> None:
        self.text = text
        self._codec = codec
        self._plain = text.isascii()
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._counted: dict[int, list[int]] = {}  # of a long line, the units before each of its characters

    def position(self, offset: int) -> types.Position:
        """The position of an offset."""
        line = bisect_right(self._starts, offset) - 1
        start = self._starts[line]
        if self._plain:
            units = offset - start
        elif offset - start <= MAX_COUNTED_CHARACTERS:
            units = self._units(self.text[start:offset])
        else:
            units = self._units_before(line)[offset - start]
        return types.Position(line, units)

    def _units(self, text: str) -> int:
        return int(self._codec.client_num_units(text))

    def _units_before(self, line: int) -> list[int]:
        if line not in self._counted:
            self._counted[line] = list(accumulate(map(self._units, self._line(line)), initial=0))
        return self._counted[line]

    def _line(self, line: int) -> str:
        start = self._starts[line]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else len(self.text)]

    def range(self, span: Span) -> types.Range:
        """The range of a stretch."""
        return types.Range(self.position(span.start), self.position(span.end))

    def offset(self, position: types.Position) -> int:
        """The offset of a position; one beyond a line or the text is at its end."""
        if position.line >= len(self._starts):
            return len(self.text)
        start = self._starts[position.line]
        line = self._line(position.line)
        if self._plain:
            return start + min(position.character, len(line))
        return start + bisect_right(self._units_before(position.line), position.character) - 1

    def problem_range(self, problem: Problem) -> types.Range:
        """The range of a problem."""
        line = min(problem.line - 1, len(self._starts) - 1)
        start = min(self._starts[line] + problem.column - 1, len(self.text))
        return self.range(Span(start, min(start + problem.length, len(self.text))))


class ScriptServer(LanguageServer):
    """The language server of the four languages."""

    def __init__(self, connect: Connect, import_folder: Path | None = None) -> None:
        super().__init__(SOURCE, version("memorygraph"), text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self.documents = Documents(self.publish, self.prepare, import_folder)
        self.lookup = GraphLookup(connect)
        self._places: dict[str, Places] = {}
        self._outlines: WeakKeyDictionary[Analysis, list[types.DocumentSymbol]] = WeakKeyDictionary()

    def forget(self, uri: str) -> None:
        """Forget a document that is closed."""
        self.documents.close(uri)
        self._places.pop(uri, None)

    def places(self, document: Document) -> Places:
        """The places of a document's text as it is now."""
        places = self._places.get(document.uri)
        if places is None or places.text is not document.text:
            places = self._places[document.uri] = Places(document.text, self.workspace.position_codec)
        return places

    def document(self, uri: str) -> Document:
        """An open document.

        Raises:
            JsonRpcInvalidParams: it is not open, or in none of our languages.
        """
        if uri not in self.documents:
            raise JsonRpcInvalidParams(f"not an open script in a language of memorygraph: {uri}")
        return self.documents[uri]

    def prepare(self, analysis: Analysis) -> None:
        """Make the outline of a text that was read, which takes long for many statements."""
        places = Places(analysis.text, self.workspace.position_codec)
        with without_collection():
            self._outlines[analysis] = outline(places, analysis, lambda span: span)

    async def outline(self, document: Document) -> list[types.DocumentSymbol]:
        """What a document declares: in the text as it is now, or else in the last one with names."""
        await self.documents.now_read(document)
        analysis = document.named
        if analysis is None:
            return []
        made = self._outlines.get(analysis) if analysis.text is document.text else None
        return outline(self.places(document), analysis, document.now) if made is None else made

    def publish(self, document: Document) -> None:
        """Send what is wrong in a document, in the words of `memorygraph check`."""
        if document.analysis is None:
            return
        places, analysis = self.places(document), document.analysis
        file = analysis.script.source.file

        def locate(problem: Problem) -> tuple[types.Range, str]:
            if problem.file is None or problem.file == file:
                return places.problem_range(problem), problem.message
            beside = replace(problem, file=os.path.relpath(problem.file, Path(file or "").parent), source_line="")
            return places.range(analysis.import_of(problem.file)), str(beside)

        shown = [
            types.Diagnostic(
                *locate(problem),
                severity=severity,
                code=problem.code,
                source=SOURCE,
            )
            for problems, severity in (
                (analysis.problems, types.DiagnosticSeverity.Error),
                (analysis.warnings, types.DiagnosticSeverity.Warning),
            )
            for problem in problems
        ]
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(document.uri, shown, document.version))

    async def describe(self, document: Document, offset: int) -> tuple[str, Span] | None:
        """What the name at an offset is, in Markdown, and where it stands."""
        await self.documents.first_read(document)
        found = document.occurrence_at(offset)
        if found is None:
            return None
        analysis, one = found
        declared = analysis.declaration_of(one)
        parts = [show_declaration(document.language, analysis, declared)] if declared else []
        if one.space in GRAPH_SPACES:
            stored = await self.lookup.look_up(one.name, similar=declared is None)
            if stored is not None and stored.lines:
                parts.append("\n\n".join(stored.lines))
            elif declared is None:
                known = [*analysis.declared_names(one.space), *(stored.similar if stored else ())]
                parts.append(explain_unknown(one, known, in_graph=bool(stored)))
        elif declared is None and one.space == "builtin":
            parts.append(f"`{one.name}` is a function of the language")
        elif declared is None and not one.fixed:
            parts.append(explain_unknown(one, analysis.declared_names(one.space), in_graph=False))
        return ("\n\n---\n\n".join(parts), document.now(one.span)) if parts else None

    async def complete(self, document: Document, offset: int) -> tuple[list[EditorCompletion], bool]:
        """What may be written at an offset, of the file and of the graph, and whether there may be more.

        An editor narrows by itself what it was given, unless there may be more: then it asks again.
        """
        await self.documents.first_read(document)
        word = word_before(document, offset)
        names = [one for one in (document.named.names if document.named else ()) if one.name != word]
        stored = await self.lookup.ids(word) if document.language.graph_ids else CompletedIds([], False)
        names += [Occurrence(id_, "id", Span(offset, offset)) for id_ in stored.ids]
        found = document.language.complete(document.text, offset, names)
        return [one for one in found if one.text.strip('"').lower().startswith(word.lower())], stored.may_be_more


def show_declaration(language: Language, analysis: Analysis, declared: Occurrence) -> str:
    """A declaration as a hover shows it: what it is, where, and its text."""
    file, line = analysis.place_of(declared)
    where = f"line {line} of {Path(file).name}" if file and declared in analysis.imported else f"line {line}"
    shown = analysis.resolved.source.text[slice(*(declared.whole or declared.span))]
    if len(shown) > MAX_SHOWN_CHARACTERS:
        shown = shown[:MAX_SHOWN_CHARACTERS] + "…"
    fence = "`" * (max((len(ticks) for ticks in re.findall("`+", shown)), default=2) + 1)
    return f"{declared.kind} `{declared.name}`, {where}\n\n{fence:`<3}{language.name}\n{shown}\n{fence:`<3}"


def explain_unknown(one: Occurrence, known: Sequence[str], *, in_graph: bool) -> str:
    """What to say of a name that nothing declares: the likeliest that there are."""
    where = "neither in this file nor in the graph" if in_graph else "not declared in this file"
    if one.name in known:
        return f"`{one.name}` is declared elsewhere in this file, and not known here"
    near = likeliest(one.name, list(known))
    meant = f"; did you mean {', '.join(f'`{name}`' for name in near)}?" if near else ""
    return f"`{one.name}` is {where}{meant}"


def word_before(document: Document, offset: int) -> str:
    """The word that ends at an offset, without a mark that stands before names."""
    found = WORD.search(document.text[max(0, offset - 600) : offset])
    return found[0].lstrip(document.language.name_marks) if found else ""


def without_mark(text: str) -> str:
    """A text with a blank for a byte order mark, which no language counts."""
    return f" {text[1:]}" if text.startswith("\ufeff") else text


def open_document(item: types.TextDocumentItem) -> Document | None:
    """The document that an editor opens; None where it is in none of our languages."""
    file = to_fs_path(item.uri) if item.uri.startswith("file:") else None
    try:
        language = LANGUAGES.get(item.language_id) or language_of(file or item.uri)
    except NotFoundError:
        return None
    return Document(item.uri, Path(file) if file else None, language, without_mark(item.text), item.version)


def outline(places: Places, analysis: Analysis, now: Callable[[Span], Span]) -> list[types.DocumentSymbol]:
    """What a text declares, each in what it stands in; `now` says where a stretch of it is by now."""
    top: list[types.DocumentSymbol] = []
    around: list[tuple[int, list[types.DocumentSymbol]]] = []  # of each that is open, its end and what is in it
    declared = [one for one in analysis.occurrences if one.whole]
    for one in sorted(declared, key=lambda one: (one.whole or one.span).start):
        whole = now(one.whole or one.span)
        while around and around[-1][0] <= whole.start:
            around.pop()
        kind = SYMBOL_KINDS.get(one.kind, types.SymbolKind.Constant)
        inside: list[types.DocumentSymbol] = []
        symbol = types.DocumentSymbol(
            one.name,
            kind,
            places.range(whole),
            places.range(now(one.span)),
            children=inside,
        )
        (around[-1][1] if around else top).append(symbol)
        around.append((whole.end, inside))
    return top


def smallest_edit(places: Places, new: str) -> list[types.TextEdit]:
    """The lines that differ, so that the cursor and the marks of the others stay.

    No edit where lines end in both ways: which one a break within a text has is said by nothing in the new text.
    """
    old = places.text
    if "\r\n" in old:
        if re.search(r"(?<!\r)\n", old):
            return []
        new = re.sub("\r?\n", "\r\n", new)
    if old == new:
        return []
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    lines = find_shift(before, after)
    span = Span(*(sum(map(len, before[:line])) for line in (lines.start, lines.old_end)))
    return [types.TextEdit(places.range(span), "".join(after[lines.start : lines.new_end]))]


def did_open(ls: ScriptServer, params: types.DidOpenTextDocumentParams) -> None:
    """Take in a document."""
    document = open_document(params.text_document)
    if document is not None:
        ls.documents.open(document)


def did_change(ls: ScriptServer, params: types.DidChangeTextDocumentParams) -> None:
    """Take a new text of a document."""
    uri = params.text_document.uri
    if uri in ls.documents:
        text = ls.workspace.get_text_document(uri).source
        ls.documents.change(uri, without_mark(text), params.text_document.version)


def did_save(ls: ScriptServer, _: types.DidSaveTextDocumentParams) -> None:
    """Read all documents again: any of them may import what was saved."""
    for document in ls.documents:
        ls.documents.read_again(document.uri)


def did_close(ls: ScriptServer, params: types.DidCloseTextDocumentParams) -> None:
    """Forget a document, and what is wrong in it."""
    uri = params.text_document.uri
    if uri in ls.documents:
        ls.forget(uri)
        ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


async def hover(ls: ScriptServer, params: types.HoverParams) -> types.Hover | None:
    """Say what the name at a place is."""
    document = ls.document(params.text_document.uri)
    text = document.text
    found = await ls.describe(document, ls.places(document).offset(params.position))
    if found is None or document.text is not text:
        return None
    content = types.MarkupContent(types.MarkupKind.Markdown, found[0])
    return types.Hover(content, ls.places(document).range(found[1]))


async def definition(ls: ScriptServer, params: types.DefinitionParams) -> types.Location | None:
    """Find where the name at a place is declared."""
    document = ls.document(params.text_document.uri)
    await ls.documents.first_read(document)
    places = ls.places(document)
    found = document.occurrence_at(places.offset(params.position))
    declared = found[0].declaration_of(found[1]) if found else None
    if found is None or declared is None:
        return None
    analysis, _ = found
    if declared not in analysis.imported:
        return types.Location(document.uri, places.range(document.now(declared.span)))
    file, line = analysis.place_of(declared)
    start = types.Position(line - 1, 0)
    return types.Location(from_fs_path(file or "") or document.uri, types.Range(start, start))


async def completion(ls: ScriptServer, params: types.CompletionParams) -> types.CompletionList:
    """Complete the word before the cursor."""
    document = ls.document(params.text_document.uri)
    places = ls.places(document)
    offset = places.offset(params.position)
    found, may_be_more = await ls.complete(document, offset)
    place = places.range(Span(offset - len(word_before(document, offset)), offset))
    items = [
        types.CompletionItem(
            one.text,
            kind=COMPLETION_KINDS.get(one.kind, types.CompletionItemKind.Text),
            detail=one.kind,
            sort_text=f"{index:05}",
            text_edit=types.TextEdit(place, one.text),
        )
        for index, one in enumerate(found[:MAX_COMPLETIONS])
    ]
    return types.CompletionList(is_incomplete=may_be_more or len(found) > MAX_COMPLETIONS, items=items)


async def prepare_rename(ls: ScriptServer, params: types.PrepareRenameParams) -> types.Range:
    """Find the name at a place, if it can be changed."""
    document, one = await name_to_change(ls, params.text_document.uri, params.position)
    return ls.places(document).range(one.span)


async def rename(ls: ScriptServer, params: types.RenameParams) -> types.WorkspaceEdit:
    """Change a name at all its places in the document."""
    document, one = await name_to_change(ls, params.text_document.uri, params.position)
    places, analysis = ls.places(document), document.analysis
    if not document.language.accepts_name(params.new_name, one):
        raise JsonRpcInvalidParams(f"`{params.new_name}` cannot be the name of this in {document.language.name}")
    if analysis is None or any(other.name == params.new_name and other.space == one.space for other in analysis.names):
        raise JsonRpcInvalidParams(f"`{params.new_name}` is in this file or its imports already; the two would be one")
    edits = [types.TextEdit(places.range(other.span), params.new_name) for other in analysis.by_key[one.key]]
    return types.WorkspaceEdit(changes={document.uri: edits})


async def name_to_change(ls: ScriptServer, uri: str, position: types.Position) -> tuple[Document, Occurrence]:
    """The name at a place of a text that was read as it is now."""
    document = ls.document(uri)
    text, offset = document.text, ls.places(document).offset(position)
    read = await ls.documents.now_read(document)
    analysis = document.analysis
    current = read and analysis is not None and document.text is text and document.named is analysis
    if analysis is None or not current or analysis.script.problems:
        raise JsonRpcInvalidParams("the text has errors, or has just changed; then no name can be changed")
    one = analysis.at(offset)
    if one is None or any(other.fixed for other in analysis.by_key[one.key]):
        raise JsonRpcInvalidParams("there is no name here that can be changed")
    if not any(other.declares for other in analysis.by_key[one.key]):
        raise JsonRpcInvalidParams(f"`{one.name}` is not declared in this file, and only this file would be changed")
    return document, one


async def document_symbol(ls: ScriptServer, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    """List what a document declares."""
    document = ls.document(params.text_document.uri)
    return await ls.outline(document)


async def formatting(ls: ScriptServer, params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
    """Bring a document into its usual form."""
    document = ls.document(params.text_document.uri)
    text = document.text
    if not await ls.documents.now_read(document) or document.analysis is None or document.text is not text:
        return None
    formatted = document.language.format_text(document.analysis.script)
    return smallest_edit(ls.places(document), formatted) if formatted is not None else None


def shutdown(ls: ScriptServer, _: Any = None) -> None:
    """Read and look up no more."""
    ls.documents.shut_down()
    ls.lookup.close()


FEATURES: tuple[tuple[str, Any, Any], ...] = (
    (types.TEXT_DOCUMENT_DID_OPEN, did_open, None),
    (types.TEXT_DOCUMENT_DID_CHANGE, did_change, None),
    (types.TEXT_DOCUMENT_DID_SAVE, did_save, None),
    (types.TEXT_DOCUMENT_DID_CLOSE, did_close, None),
    (types.TEXT_DOCUMENT_HOVER, hover, None),
    (types.TEXT_DOCUMENT_DEFINITION, definition, None),
    (types.TEXT_DOCUMENT_COMPLETION, completion, types.CompletionOptions(trigger_characters=TRIGGERS)),
    (types.TEXT_DOCUMENT_PREPARE_RENAME, prepare_rename, None),
    (types.TEXT_DOCUMENT_RENAME, rename, types.RenameOptions(prepare_provider=True)),
    (types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, document_symbol, None),
    (types.TEXT_DOCUMENT_FORMATTING, formatting, None),
    (types.SHUTDOWN, shutdown, None),
)


def serve(connect: Connect, import_folder: Path | None = None) -> None:
    """Serve the editor at standard input and output until it is done; imports may come from anywhere in the folder."""
    # What is known of a large text is many small objects, which a collection goes through while somebody waits.
    gc.set_threshold(COLLECTION_THRESHOLD)
    json_rpc.logger.addFilter(is_no_refusal)
    make_server(connect, import_folder).start_io()


def is_no_refusal(record: LogRecord) -> bool:
    """Whether pygls reports something else than that we refuse a request, which is an answer."""
    return not (record.exc_info and isinstance(record.exc_info[1], JsonRpcInvalidParams))


def make_server(connect: Connect, import_folder: Path | None = None) -> ScriptServer:
    """A language server that asks the graph through `connect`."""
    server = ScriptServer(connect, import_folder)
    for name, handler, options in FEATURES:
        server.feature(name, options)(handler)
    return server
