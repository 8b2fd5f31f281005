"""Every error of memorygraph, and how an error in a script is shown.

The tree (the exit code of the command line in brackets)::

    MemoryGraphError [1]
     ├── ScriptError [1]          a script is wrong; .problems says what and where
     │    ├── ProgramError [1]    a program stopped while it ran
     │    ├── FunctionFailure [1] a function that a step called cannot be executed (runtime.convo)
     │    └── NotWrittenError [1] a model wrote no good program (memory.remember)
     ├── FilesError [1]           something is wrong in several files of a command (cli.output)
     ├── UnfinishedError [1]      one of several files is wrong, with the code of that error (cli.output)
     ├── Interrupted [130]        the user has stopped a command (cli.stopping)
     ├── Cancelled [143]         what a run was a part of has ended, or the process was told to end (limits)
     ├── LimitExceeded [1]       a run has used up its work, its time or its bytes (limits)
     ├── PoolFull [1]             a client of the memory server has too many calls waiting (mcp_server.pools)
     ├── QueryError [1]           a Cypher query is wrong, or was refused
     │    └── TooLargeError [1]   it needs more memory than one transaction has
     ├── ConflictError [1]        another write stands in the way
     ├── NotFoundError [1]        no such id, file or namespace
     ├── BackupError [1]          no backup, or none that fits, or something would be overwritten (server.archive)
     ├── BadRecordError [1]       a call of an `openai` client can never be recorded (messages.recorder)
     ├── TranscriptTooLongError [1]  a transcript of an agent can never be kept (hooks.transcripts)
     ├── Refused [1]              a program wanted what is not allowed (runtime.permissions)
     ├── ToolFailure [1]          a tool of a program failed (runtime.tools)
     ├── MemoryFailure [1]        a memory of a program failed (runtime.memories)
     ├── GraphFailure [1]         a node graph cannot go on (runtime.convo)
     ├── UnreadableRecord [1]     what is stored is not the JSON that was written (json_text)
     ├── ValueProblem [1]         something cannot be done with a value of a program (runtime.values)
     ├── ConnectionError [3]      Neo4j cannot be reached or started
     │    ├── LoginError [3]      Neo4j refuses the user name or the password
     │    ├── RestartNeededError [3]  Neo4j lives, works no more, and has to be started again
     │    ├── DatabaseUnavailableError [3]  Neo4j lives, and its database has not started
     │    ├── StartingError [3]   Neo4j is starting, and a client of the memory server does not wait (mcp_server.server)
     │    ├── DownloadError [3]   a file of the embedded server cannot be fetched or is not genuine
     │    └── AdminError [3]      Neo4j's tool for dumps and checks failed, or found damage (server.admin_tool)
     │         └── NotClosedError [3]  the server was killed before, and has to be started once
     └── ModelError [4]           the model endpoint failed
          ├── LocatedModelError [4]  it did at a place of a program (runtime.agentscript)
          └── ReplyError [4]      it answered, and not what it was asked for (llm.structured)
               ├── UnparsableReply [4]  there is no JSON in its answer
               └── ShapeMismatch [4]  the JSON has another shape

A `Problem` is one finding in a script, with its place. `check` returns problems,
`ScriptError.problems` holds them, and the warnings of a load are problems too.
"""

from __future__ import annotations

import copyreg
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

MAX_SHOWN_LINE = 100  # characters
MAX_PROBLEMS = 100  # reported for one script: nobody reads more


class Span(NamedTuple):
    """A stretch of a source, in characters from its start, the end not included."""

    start: int
    end: int


@dataclass(frozen=True)
class Problem:
    """One finding in a script: what is wrong, where, and under which stable code.

    The codes are those of `memorygraph.codes`. `line` and `column` count from 1, `length` is in characters and stays
    within the line.

    >>> problem = Problem("weight must be at most 1.0", "weight-range", "a.ctx", 2, 10, 3, "weight = 1.2);")
    >>> print(problem)
    a.ctx:2:10: weight must be at most 1.0
        weight = 1.2);
                 ^^^
    """

    message: str
    code: str
    file: str | None
    line: int
    column: int
    length: int = 1
    source_line: str = ""

    def __str__(self) -> str:
        place = f"{self.file or '<script>'}:{self.line}:{self.column}: {self.message}"
        if not self.source_line.strip():
            return place
        # Of a long line what surrounds the column is shown; control characters become visible blanks.
        start = max(0, self.column - 1 - MAX_SHOWN_LINE // 2) if len(self.source_line) > MAX_SHOWN_LINE else 0
        window = self.source_line[start : start + MAX_SHOWN_LINE]
        shown = "".join(c if c.isprintable() else " " for c in window)
        column = self.column - start
        before, marked = shown[: column - 1], shown[column - 1 :][: self.length]
        caret = " " * display_width(before) + "^" * max(1, display_width(marked))
        return f"{place}\n    {shown}\n    {caret}"

    def as_dict(self) -> dict[str, str | int | None]:
        """The problem as `--json` prints it."""
        return {"file": self.file, "line": self.line, "column": self.column, "message": self.message, "code": self.code}


def display_width(text: str) -> int:
    r"""How many columns of a terminal a printable text takes.

    >>> display_width("né"), display_width("ne\u0301"), display_width("日本")
    (2, 2, 4)
    """
    if max(text, default="") < "\u0300":  # the first mark; wide letters come after it
        return len(text)
    # Marks stand over what is before them, joiners are not seen, and the later letters of a Korean syllable within it.
    drawn = [
        char
        for char in text
        if unicodedata.category(char) not in {"Mn", "Me", "Cf"} and not "\u1160" <= char <= "\u11ff"
    ]
    return len(drawn) + sum(unicodedata.east_asian_width(char) in {"W", "F"} for char in drawn)


def printable(text: str) -> str:
    r"""A text on one line, with escapes for what a terminal would obey and for what nobody sees.

    What errors quote must not forge a line of its own, neither for people nor for models.

    >>> print(printable("red \x1b[31m\n[2] source: admin"))
    red \x1b[31m\n[2] source: admin
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class Source:
    r"""A script's text, or a part of one, that knows where its characters stand in the file.

    A part of a file, as `load --batch` reads it, starts at `first_line`.

    >>> Source("Node(\n  id", file="a.ctx").position(8)
    (2, 3)
    """

    def __init__(self, text: str, file: str | None = None, first_line: int = 1) -> None:
        self.text = text
        self.file = file
        self.first_line = first_line
        self._line = (0, "")  # where the last line began of which there was a problem, and its text

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        """The line and the column, both from 1, of the character at an offset."""
        index = bisect_right(self._line_starts, offset) - 1
        return self.first_line + index, offset - self._line_starts[index] + 1

    def line_at(self, start: int) -> str:
        """The line that begins at an offset; all problems of one line share its text, which may be the whole script."""
        known, line = self._line
        if known != start or not line:
            end = self.text.find("\n", start)
            line = self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")
            self._line = (start, line)
        return line

    def problem(self, message: str, code: str, span: Span) -> Problem:
        """A problem at a span of this source."""
        line, column = self.position(span.start)
        source_line = self.line_at(span.start - (column - 1))
        length = max(1, min(span.end - span.start, len(source_line) - column + 1))
        return Problem(printable(message), code, self.file, line, column, length, source_line)


def cut_problems(
    problems: Sequence[Problem], most: int = MAX_PROBLEMS, rest: str = "these are the first ones"
) -> list[Problem]:
    """Keep the first problems, and have one after them say that there are more; `rest` is about those."""
    kept = list(problems[:most])
    if len(problems) > most:
        message = f"there are more than {MAX_PROBLEMS} problems; {rest}"
        kept.append(replace(problems[most], message=message, code="too-many-problems"))
    return kept


class CopyableError(BaseException):
    """An error that can be copied and pickled, whatever its `__init__` takes: a copy has its message and attributes."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Python would give the message to `__init__`, which may make it of something else.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class MemoryGraphError(CopyableError, Exception):
    """The root of every error that memorygraph raises on purpose."""

    exit_code = 1
    run: str | None = None
    """The id of the stored run that failed with this."""


class ScriptError(MemoryGraphError):
    """A script is wrong, and nothing of it was stored.

    `problems` holds everything that was found, in the order of the text. Only a batched load can have stored
    something before it: `stored_statements` counts the statements of the batches that are kept.
    """

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        self.stored_statements = 0
        super().__init__("\n".join(map(str, problems)))


class ProgramError(ScriptError):
    """A program stopped while it ran. What it had done by then stays; its run is kept, with its trace."""

    def __init__(self, problems: list[Problem], run: str | None = None) -> None:
        super().__init__(problems)
        self.run = run


class QueryError(MemoryGraphError):
    """A Cypher query is wrong, or was refused because it may do more than read.

    `line` and `column`, both from 1, are the place in its text that Neo4j's message names, if it names one.
    """

    line: int | None = None
    column: int | None = None


class TooLargeError(QueryError):
    """This needs more memory than one transaction has; nothing was changed by it."""


class ConflictError(MemoryGraphError):
    """A write lost against another one; nothing was changed by it."""


class NotFoundError(MemoryGraphError):
    """There is no such id, file or namespace."""


class ConnectionError(MemoryGraphError):  # noqa: A001 - the name is part of the public contract
    """Neo4j cannot be reached or started; the message says what to do.

    `outcome_unknown` is True where a write may have been kept all the same; otherwise nothing was. `load_id` is then
    the id that the write has among `MemoryGraph.revisions()` if it was kept, for writes that make a revision.
    """

    exit_code = 3

    def __init__(self, message: str, *, outcome_unknown: bool = False, load_id: str | None = None) -> None:
        super().__init__(message)
        self.outcome_unknown = outcome_unknown
        self.load_id = load_id


class LoginError(ConnectionError):
    """Neo4j refuses the user name or the password."""


class RestartNeededError(ConnectionError):
    """Neo4j lives and works no more, as after a full disk: it has to be started again."""


class DatabaseUnavailableError(ConnectionError):
    """Neo4j lives, and its database has not started, or is about to stop."""


class DownloadError(ConnectionError):
    """A file of the embedded server cannot be fetched, or is not the pinned one."""


class ModelError(MemoryGraphError):
    """The model endpoint failed. `brief` is the message without what the endpoint itself says.

    `status` is that of the endpoint's answer, where it refused the request.
    """

    exit_code = 4

    def __init__(self, message: str, brief: str | None = None, status: int | None = None) -> None:
        super().__init__(message)
        self.brief = message if brief is None else brief
        self.status = status


def find_interrupt(error: BaseException | None) -> KeyboardInterrupt | None:
    """Find the Ctrl-C that an error is, or that it came of: what is cut off in the middle can fail in any way.

    >>> try:
    ...     try:
    ...         raise KeyboardInterrupt
    ...     finally:
    ...         bytes(-1)
    ... except ValueError as error:
    ...     find_interrupt(error)
    KeyboardInterrupt()
    """
    seen: set[int] = set()  # an error can be its own cause
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None
