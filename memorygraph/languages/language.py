"""The languages of memorygraph: what differs between them is said in their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal, Protocol, TextIO, overload

from memorygraph.errors import MemoryGraphError, NotFoundError, Problem, Source
from memorygraph.languages import agentscript, contextscript, convo, pete
from memorygraph.languages.engine.editing import EditorCompletion, Occurrence
from memorygraph.languages.engine.highlighting import Highlighting
from memorygraph.query import Query


class Script(Protocol):
    """What every language makes of a text: its source, and what is wrong with it."""

    @property
    def language(self) -> str:
        """The name of its language."""

    @property
    def source(self) -> Source:
        """The text, which knows its places."""

    @property
    def statements(self) -> Sequence[Any]:
        """What it says, in the order of the text."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong, in the order of the text."""


@dataclass(frozen=True)
class Language:
    """A language: its name, the extension of its files, and what handles its scripts.

    Handlers are named as `module:attribute` and imported on first use: those of later stages stand in parts that
    import this one, and building a grammar takes its time.
    """

    name: str
    extension: str
    reader: str  # (text, file, strict) to a script
    store: str  # a class of a namespace with `load` and `queries`
    colours: str  # the regions of its highlighting
    editing: str  # a module with `find_occurrences`, `accepts_name`, `complete` and `format_text`, for editors
    compiler: str | None = None  # (program, the name of a namespace) to the queries of a store of programs
    checker: str | None = None  # a script to its problems, where there are more than those of its text
    importer: str | None = None  # (script, folder, import_folder) to the script with what it imports from there
    warner: str | None = None  # a script to its warnings, where it does not hold them itself
    batch_reader: str | None = None  # (stream, size, file, strict) to programs
    batched_store: bool = False  # its store has `load_batches`, for a script that is read as a whole
    runner: str | None = None  # (graph, program, RunRequest) to a RunResult
    run_reader: str | None = None  # (namespace, id) to the RunDetails of a stored run
    graph_ids: bool = False  # its ids are those of the graph
    name_marks: str = ""  # characters of words that stand before a name, and are no part of it
    text_input: bool = False  # the input of a run may be plain text instead of JSON
    shows_steps: bool = False  # people see each step of a run as it happens
    step_noun: str = "step"  # what the steps of a run are called
    resumable: bool = False  # a run that has failed can go on where it stopped

    @property
    def highlighting(self) -> Highlighting:
        """How scripts in it are coloured, as data."""
        highlighting: Highlighting = resolve_name(self.colours)
        return highlighting

    def find_occurrences(self, script: Script) -> list[Occurrence]:
        """Where the names of a script stand, for editors; not all of them, where it has problems."""
        return list(resolve_name(f"{self.editing}:find_occurrences")(script))

    def accepts_name(self, name: str, occurrence: Occurrence) -> bool:
        """Whether a name could stand in the place of another one."""
        accepted: bool = resolve_name(f"{self.editing}:accepts_name")(name, occurrence)
        return accepted

    def complete(self, text: str, offset: int, occurrences: Sequence[Occurrence]) -> list[EditorCompletion]:
        """What may be written at an offset of a text, whose names are these."""
        return list(resolve_name(f"{self.editing}:complete")(text, offset, occurrences))

    def format_text(self, script: Script) -> str | None:
        """The text of a script in its usual form; None where it has problems, or a form that would lose something."""
        formatted: str | None = resolve_name(f"{self.editing}:format_text")(script)
        return formatted

    def parse(self, text: str, *, strict: bool = False, file: str | None = None) -> Script:
        """Read a script; what is wrong with it is in its `problems`."""
        script: Script = resolve_name(self.reader)(text, file, strict=strict)
        return script

    def resolve_imports(self, script: Script, folder: Path, import_folder: Path | None = None) -> Script:
        """Read what a script imports, where its language reads that before the script is used.

        What it imports lies in its own folder, or anywhere in the `import_folder` that holds it.
        """
        resolved: Script = resolve_name(self.importer)(script, folder, import_folder) if self.importer else script
        return resolved

    def check(self, script: Script) -> list[Problem]:
        """Everything that can be found wrong in a script without a database."""
        return list(resolve_name(self.checker)(script) if self.checker else script.problems)

    def find_warnings(self, script: Script) -> list[Problem]:
        """What is suspicious in a script, and does not keep it from being used."""
        return list(resolve_name(self.warner)(script) if self.warner else getattr(script, "warnings", ()))

    def load(self, namespace: Any, script: Script, **options: Any) -> Any:
        """Store a script, and return its LoadReport; the options are those of `MemoryGraph.load`."""
        return resolve_name(self.store)(namespace).load(script, **options)

    def load_batches(self, namespace: Any, script: Script, size: int, **options: Any) -> Any:
        """Store a script that was read as a whole in batches, and return its LoadReport."""
        return resolve_name(self.store)(namespace).load_batches(script, size, **options)

    def compile(self, namespace: Any, script: Script) -> list[Query]:
        """The Cypher that `load` would run."""
        queries: list[Query] = resolve_name(self.store)(namespace).queries(script)
        return queries

    def compile_program(self, program: Script, namespace: str) -> list[Query]:
        """The queries that store a program whole, in a language whose store keeps programs."""
        if self.compiler is None:
            raise MemoryGraphError(f"a program in {self.name} is not stored whole")
        queries: list[Query] = resolve_name(self.compiler)(program, namespace)
        return queries

    def run(self, graph: Any, program: Script, request: Any) -> Any:
        """Run a program as a RunRequest says, and return its RunResult, if scripts in this language can be run."""
        if self.runner is None:
            raise MemoryGraphError("such a script is stored, and not run: memorygraph load FILE")
        return resolve_name(self.runner)(graph, program, request)

    def read_run(self, namespace: Any, id_: str) -> Any:
        """What this language makes of the record of a run, as RunDetails."""
        if self.run_reader is None:
            raise MemoryGraphError(f"runs of {self.name} are not stored")
        return resolve_name(self.run_reader)(namespace, id_)


LANGUAGES: dict[str, Language] = {
    language.name: language
    for language in (
        Language(
            "contextscript",
            ".ctx",
            reader="memorygraph.languages.contextscript.reading:read_contextscript",
            colours="memorygraph.languages.contextscript.highlighting:HIGHLIGHTING",
            editing="memorygraph.languages.contextscript.editing",
            batch_reader="memorygraph.languages.contextscript.reading:read_batches",
            checker="memorygraph.compiler.contextscript:find_problems",
            warner="memorygraph.compiler.contextscript:find_warnings",
            graph_ids=True,
            store="memorygraph.graph.loads:Loader",
        ),
        Language(
            "agentscript",
            ".as",
            reader="memorygraph.languages.agentscript.reading:read_agentscript",
            colours="memorygraph.languages.agentscript.highlighting:HIGHLIGHTING",
            editing="memorygraph.languages.agentscript.editing",
            compiler="memorygraph.compiler.agentscript:compile_agentscript",
            importer="memorygraph.runtime.agentscript.units:check_imports",
            warner="memorygraph.languages.agentscript.checks:find_warnings",
            store="memorygraph.runtime.programs:ProgramStore",
            runner="memorygraph.runtime.agentscript.run:run_agentscript",
            run_reader="memorygraph.runtime.agentscript.stored_run:read_run",
            step_noun="generation",
        ),
        Language(
            "convo",
            ".convo",
            reader="memorygraph.languages.convo.reading:read_convo",
            colours="memorygraph.languages.convo.highlighting:HIGHLIGHTING",
            editing="memorygraph.languages.convo.editing",
            compiler="memorygraph.compiler.convo:compile_convo",
            checker="memorygraph.runtime.convo.graph_checks:find_graph_problems",
            warner="memorygraph.runtime.convo.graph_checks:find_warnings",
            importer="memorygraph.runtime.convo.imports:resolve_imports",
            store="memorygraph.runtime.programs:ProgramStore",
            runner="memorygraph.runtime.convo.run:run_graph",
            run_reader="memorygraph.runtime.convo.run:read_graph_run",
            text_input=True,
            shows_steps=True,
            resumable=True,
        ),
        Language(
            "pete",
            ".pete",
            reader="memorygraph.languages.pete.reading:read_pete",
            colours="memorygraph.languages.pete.highlighting:HIGHLIGHTING",
            editing="memorygraph.languages.pete.editing",
            store="memorygraph.runtime.pete.store:LogStore",
            batched_store=True,
            name_marks="_",
        ),
    )
}


def language_of(path: str | Path | None, name: str | None = None) -> Language:
    """The language of a file: by its name, if it is given, otherwise by the extension of the file.

    Without either it is ContextScript. `NotFoundError` says which languages and extensions there are.

    >>> language_of("world.ctx").name
    'contextscript'
    >>> language_of("world.txt")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    memorygraph.errors.NotFoundError: no language has the extension `.txt`; known: contextscript (.ctx), agentscript ...
    """
    known = ", ".join(f"{language.name} ({language.extension})" for language in LANGUAGES.values())
    if name is not None:
        if name not in LANGUAGES:
            raise NotFoundError(f"no language is called `{name}`; known: {known}")
        return LANGUAGES[name]
    if path is None:
        return LANGUAGES["contextscript"]
    extension = Path(path).suffix
    for language in LANGUAGES.values():
        if language.extension == extension.lower():
            return language
    raise NotFoundError(f"no language has the extension `{extension}`; known: {known}")


@overload
def parse(
    text: str, language: Literal["contextscript"] = ..., *, strict: bool = ..., file: str | None = ...
) -> contextscript.ContextScriptProgram: ...
@overload
def parse(
    text: str, language: Literal["agentscript"], *, strict: bool = ..., file: str | None = ...
) -> agentscript.AgentScriptProgram: ...
@overload
def parse(
    text: str, language: Literal["convo"], *, strict: bool = ..., file: str | None = ...
) -> convo.ConvoProgram: ...
@overload
def parse(text: str, language: Literal["pete"], *, strict: bool = ..., file: str | None = ...) -> pete.PeteProgram: ...
@overload
def parse(text: str, language: str, *, strict: bool = ..., file: str | None = ...) -> Script: ...
def parse(text: str, language: str = "contextscript", *, strict: bool = False, file: str | None = None) -> Script:
    """Read a script. A bad one raises nothing: what is wrong with it is in the program's `problems`.

    >>> program = parse('Node(node_id="ada", name="Ada", data="");')
    >>> program.statements[0].name, program.problems
    ('Ada', ())
    >>> print(parse("Node(node_id=ada);", file="world.ctx").problems[0])
    world.ctx:1:14: `node_id` takes text in double quotes: write "ada"
        Node(node_id=ada);
                     ^^^
    """
    return language_of(None, language).parse(text, strict=strict, file=file)


def parse_batches(
    stream: TextIO,
    language: str = "contextscript",
    *,
    size: int,
    strict: bool = False,
    file: str | None = None,
) -> Iterator[contextscript.ContextScriptProgram]:
    """Read a script piece by piece: programs of at most `size` statements, in bounded memory.

    There is at least one program, and the statements and problems of all of them are those of `parse`.

    >>> import io
    >>> [len(part.statements) for part in parse_batches(io.StringIO('del(id="a");' * 5), size=2)]
    [2, 2, 1]
    """
    reader = language_of(None, language).batch_reader
    if reader is None:
        raise MemoryGraphError(f"a program in {language} is read as a whole, and not in batches")
    programs: Iterator[contextscript.ContextScriptProgram] = resolve_name(reader)(stream, size, file, strict=strict)
    return programs
