"""The Cypher library: the named blocks of `cypher/queries`, and the schema files in their order.

A block starts with `// name: create-nodes`; the comment lines below it are its documentation, which
names its parameters. It ends at the semicolon that ends a line. So each file also runs in Neo4j Browser.

A line of a block that ends in `// include: file/name` is replaced by the text of that block. The line itself returns
what the rest reads of that, so that the file runs without it. A line that ends in `// given` stands for what comes
before such a line: it is left out where its block is included.

>>> CYPHER["load/record-load"].parameters == {"namespace", "load", "record"}
True
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from memorygraph.query import Query

_NAME = re.compile(r"^// name: (?P<name>\S+)$", re.MULTILINE)
_LANGUAGE = "CYPHER 25\n"
_INCLUDE = " // include: "
_GIVEN = " // given"
PARAMETER = re.compile(r"\$([a-z_]+)")


def cypher_folder() -> Path:
    """The folder `cypher/`: inside the installed package, or beside it in a checkout."""
    packaged = Path(__file__).parent / "_cypher"
    return packaged if packaged.is_dir() else Path(__file__).parent.parent / "cypher"


@dataclass(frozen=True)
class NamedQuery:
    """One block of the library: its Cypher, its documentation, and where it stands."""

    name: str
    text: str
    documentation: str
    file: Path
    line: int

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The names of the parameters that the text uses."""
        return frozenset(PARAMETER.findall(self.text))

    def __call__(self, **parameters: Any) -> Query:
        """The query with exactly the parameters that it uses."""
        if parameters.keys() != self.parameters:
            wrong = sorted(self.parameters.symmetric_difference(parameters))
            raise TypeError(f"{self.name} ({self.file.name}:{self.line}): parameters {wrong} do not match")
        return Query(self.text, parameters)


class Library(Mapping[str, NamedQuery]):
    """The blocks by `file/name`, read at the first use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _queries(self) -> dict[str, NamedQuery]:
        files = sorted((self._folder / "queries").glob("*.cypher"))
        blocks = {f"{file.stem}/{query.name}": query for file in files for query in read_blocks(file)}
        return {name: replace(query, text=_include(query.text, blocks)) for name, query in blocks.items()}

    def __getitem__(self, name: str) -> NamedQuery:
        return self._queries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)

    @cached_property
    def _migrations(self) -> list[tuple[str, list[Query]]]:
        files = sorted((self._folder / "schema").glob("*.cypher"))
        return [(file.stem, [Query(text) for text in _statements(file.read_text("utf-8"))]) for file in files]

    def migrations(self) -> list[tuple[str, list[Query]]]:
        """The schema: each file's name and its statements, in the order to apply them."""
        return list(self._migrations)


def read_blocks(file: Path) -> Iterator[NamedQuery]:
    """The named blocks of one file."""
    text = file.read_text("utf-8")
    marks = list(_NAME.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=True):
        lines = text[mark.end() : end].strip().splitlines()
        documentation = " ".join(line.removeprefix("//").strip() for line in lines if line.startswith("//"))
        [cypher] = _statements("\n".join(lines))
        yield NamedQuery(mark["name"], cypher, documentation, file, text.count("\n", 0, mark.start()) + 1)


def _include(text: str, blocks: Mapping[str, NamedQuery]) -> str:
    """The text of a block with the blocks that it includes, and those that these include."""
    lines = (line.partition(_INCLUDE) for line in text.splitlines())
    return "\n".join(_include(_included(blocks[name]), blocks) if mark else line for line, mark, name in lines)


def _included(block: NamedQuery) -> str:
    lines = block.text.removeprefix(_LANGUAGE).splitlines()
    return "\n".join(line for line in lines if not line.endswith(_GIVEN))


def _statements(text: str) -> list[str]:
    code = "\n".join(line for line in text.splitlines() if not line.startswith("//"))
    return [part.strip() for part in re.split(r";\s*(?:\n|$)", code) if part.strip()]


CYPHER = Library(cypher_folder())
