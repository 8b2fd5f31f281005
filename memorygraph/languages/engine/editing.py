"""What an editor asks of each language: where names stand, what may be written next, and the usual form of a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from memorygraph.errors import Span
from memorygraph.languages.engine.patterns import compile_pattern

WORD = re.compile(r"[A-Za-z0-9_-]*\Z")
MAX_LOOK_BACK = 2**15  # characters before the cursor in which the statement around it is looked for


IMPORT = "import"
"""The space of the paths that a script imports."""


class Occurrence(NamedTuple):
    """A place where a name stands.

    Names are one where name, `space` and `scope` are the same. What declares one says its `kind` and, for the outline,
    the stretch of the `whole` declaration. `fixed` names cannot be renamed.
    """

    name: str
    space: str
    span: Span
    scope: int = 0
    kind: str = ""
    whole: Span | None = None
    fixed: bool = False

    @property
    def key(self) -> tuple[str, str, int]:
        """What the same name has in common at all its places."""
        return self.name, self.space, self.scope

    @property
    def declares(self) -> bool:
        """Whether the name is declared here."""
        return bool(self.kind)


class EditorCompletion(NamedTuple):
    """What may be written next, in place of the word before the cursor, and what it is."""

    text: str
    kind: str


def completions(kind: str, texts: Iterable[str]) -> Iterator[EditorCompletion]:
    """Completions of one kind, each once, in the order of the texts."""
    return (EditorCompletion(text, kind) for text in dict.fromkeys(texts))


def names_in(space: str, occurrences: Iterable[Occurrence]) -> list[str]:
    """The names of a space, those that are declared before the others."""
    names = [(not one.declares, one.name) for one in occurrences if one.space == space]
    return list(dict.fromkeys(name for _, name in sorted(names)))


def last_line(text: str) -> str:
    r"""The last line of a text, in which the cursor stands; CR, LF and CRLF all end one.

    >>> last_line("a\r\nb\rc")
    'c'
    """
    return text.rpartition("\n")[2].rpartition("\r")[2]


def find_word(text: str, word: str, span: Span) -> Span:
    """Find a word in a stretch of a text; all of the stretch where it is not there."""
    found = compile_pattern(rf"(?<![\w-]){re.escape(word)}(?![\w-])").search(text, *span)
    return Span(*found.span()) if found else span
