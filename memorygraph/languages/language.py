"""The languages of memorygraph, and how a script in one of them is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Protocol, TextIO, overload

from memorygraph.errors import MemoryGraphError, NotFoundError, Problem, Source
from memorygraph.languages import agentscript, contextscript, convo, pete
from memorygraph.languages.contextscript.batches import Batches
from memorygraph.languages.contextscript.reading import Parser
from memorygraph.languages.contextscript.syntax import Program, Statement
from memorygraph.languages.engine.grammar import Grammar

__all__ = [
    "LANGUAGES",
    "FlatLanguage",
    "Language",
    "NestedLanguage",
    "Program",
    "Script",
    "Statement",
    "language_of",
    "parse",
    "parse_batches",
]


class Script(Protocol):
    """What every language makes of a text: its source, and what is wrong with it."""

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
class Language(ABC):
    """A language: its name, and the extension of its files."""

    name: str
    extension: str

    @abstractmethod
    def parse(self, text: str, *, strict: bool = False, file: str | None = None) -> Script:
        """Read a script; what is wrong with it is in its `problems`."""


@dataclass(frozen=True)
class FlatLanguage(Language):
    """A language of statements that stand side by side: its grammar, and the classes of its statements."""

    grammar: Grammar = field(repr=False)
    statements: Sequence[type[Statement]] = field(repr=False)

    @cached_property
    def parser(self) -> Parser:
        """Reads scripts in the default dialect."""
        return Parser(self.grammar, self.statements)

    @cached_property
    def strict_parser(self) -> Parser:
        """Reads scripts in the strict dialect."""
        return Parser(self.grammar, self.statements, strict=True)

    def parse(self, text: str, *, strict: bool = False, file: str | None = None) -> Program:
        """Read a script; what is wrong with it is in the program's `problems`."""
        return (self.strict_parser if strict else self.parser).parse(text, file)


@dataclass(frozen=True)
class NestedLanguage(Language):
    """A language of programs that nest. It has one dialect, and its programs are read as a whole.

    `reader` is the module that reads them, imported when that first happens: making a grammar takes its time.
    """

    reader: str = field(repr=False)

    def parse(self, text: str, *, strict: bool = False, file: str | None = None) -> Script:  # noqa: ARG002
        """Read a program; what is wrong with it is in its `problems`."""
        program: Script = import_module(self.reader).read_program(text, file)
        return program


LANGUAGES: dict[str, Language] = {
    "contextscript": FlatLanguage("contextscript", ".ctx", contextscript.GRAMMAR, contextscript.STATEMENTS),
    "agentscript": NestedLanguage("agentscript", ".as", "memorygraph.languages.agentscript.reading"),
    "convo": NestedLanguage("convo", ".convo", "memorygraph.languages.convo.reading"),
    "pete": NestedLanguage("pete", ".pete", "memorygraph.languages.pete.reading"),
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
) -> Program: ...
@overload
def parse(
    text: str, language: Literal["agentscript"], *, strict: bool = ..., file: str | None = ...
) -> agentscript.Program: ...
@overload
def parse(text: str, language: Literal["convo"], *, strict: bool = ..., file: str | None = ...) -> convo.Program: ...
@overload
def parse(text: str, language: Literal["pete"], *, strict: bool = ..., file: str | None = ...) -> pete.Program: ...
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
) -> Iterator[Program]:
    """Read a script piece by piece: programs of at most `size` statements, in bounded memory.

    There is at least one program, and the statements and problems of all of them are those of `parse`.

    >>> import io
    >>> [len(part.statements) for part in parse_batches(io.StringIO('del(id="a");' * 5), size=2)]
    [2, 2, 1]
    """
    chosen = language_of(None, language)
    if not isinstance(chosen, FlatLanguage):
        raise MemoryGraphError(f"a program in {language} is read as a whole, and not in batches")
    return iter(Batches(chosen.strict_parser if strict else chosen.parser, stream, size, file))
