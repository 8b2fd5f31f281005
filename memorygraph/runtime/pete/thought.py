"""A thought: a log that a model continues, step by step, with what it may call and what it senses.

Nothing is kept between steps but what is stored, so that a thought goes on after a crash, in another process, or when
another writer has added to it. Only the system writes `>>` and `!!`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Self

from memorygraph.budget import Budget
from memorygraph.errors import ConflictError, MemoryGraphError, NotFoundError, Problem
from memorygraph.graph.namespace import Namespace
from memorygraph.languages.pete.items import NAME_PATTERN, RESERVED
from memorygraph.languages.pete.syntax import Opening, Piece, SensorReport
from memorygraph.limits import budget_of_run
from memorygraph.llm.model import grammar_field
from memorygraph.llm.uris import find_model
from memorygraph.runtime.pete.addresses import find_addressed, parse_address
from memorygraph.runtime.pete.faculties import (
    Faculties,
    Faculty,
    PythonFaculty,
    describe_failure,
    require_unfinished,
    to_log_data,
)
from memorygraph.runtime.pete.log import Frame, LogEntry
from memorygraph.runtime.pete.store import LogStore, UnfitPiece, read_command
from memorygraph.runtime.pete.turn import PeteStep, TurnTaker
from memorygraph.runtime.pete.views import View, view

BUDGET = Budget.parse("12k")
ATTEMPTS = 3
VIEWS = "view"  # the faculty with which the model asks for what is out of its view


@dataclass(frozen=True)
class Thinking:
    """A run of several steps; `ended` says why it ended: `closed`, `idle`, `stuck` (unreadable) or `max_steps`."""

    steps: tuple[PeteStep, ...] = ()
    ended: str = "max_steps"

    @property
    def written(self) -> str:
        """What the model wrote and what it was answered; not what sensors reported."""
        return "".join(step.written for step in self.steps)

    def as_dict(self) -> dict[str, Any]:
        """The run as `--json` prints it."""
        return {"ended": self.ended, "written": self.written, "steps": [step.as_dict() for step in self.steps]}


class Thought:
    """A log of PETE, by the name of its outermost context, or one of its contexts by its address.

    Example::

        thought = mg.pete("main")
        thought.faculty("clock", now=lambda zone="utc": {"time": "12:34"})
        thought.sense("thermometer", {"temperature": 30})
        thought.run(max_steps=10)
        print(thought.render(budget="4k"))
    """

    def __init__(self, namespace: Namespace, name: str, model: str | None = None) -> None:
        self._store = LogStore(namespace)
        self._name, self._model = name, model
        self._faculties = Faculties()
        self._sensors: dict[str, Callable[[], Any]] = {}
        self._address = parse_address(name)
        if self._address is None:
            require_name(name, "a context is", ", or by its address, memory:N")
        else:
            self._store.log_of(self._address)

    @property
    def log(self) -> int | None:
        """The address of the outermost context; None as long as nothing is stored."""
        if self._address is not None:
            return self._store.log_of(self._address)
        return self._store.find(self._name)

    @property
    def text(self) -> str:
        """The whole text, to the character."""
        return self.frame().text

    def frame(self) -> Frame:
        """The context with everything in it, as it is stored.

        Raises:
            NotFoundError: nothing is stored.
        """
        root = self._read_root()
        return root if self._address is None else find_frame(root, self._address)

    def render(
        self, budget: str | Budget | None = None, *, folded: Collection[int] = (), unfolded: Collection[int] = ()
    ) -> View:
        """View what fits a budget, with the rest folded or left out; without a budget, the whole text.

        `folded` and `unfolded` are addresses of contexts that shall be so, as far as it fits.

        Raises:
            NotFoundError: nothing is stored, or an address is that of no context in it.
            MemoryGraphError: the budget is invalid.
        """
        limit = None if budget is None else Budget.of(budget)
        frame = self.frame()
        known = {inner.address for inner in frame.frames()}
        for address in (*folded, *unfolded):
            if address not in known:
                raise NotFoundError(f"there is no context memory:{address} in `{frame.name}` (memory:{frame.address})")
        return view(frame, limit, folded=folded, unfolded=unfolded)

    def faculty(self, name: str, faculty: Faculty | None = None, /, **procedures: Callable[..., Any]) -> Self:
        """Give the model a faculty: Python callables by the names of the procedures, or a faculty of another kind.

        Raises:
            MemoryGraphError: the name can't be one, or nothing is given.
        """
        for given in (name, *procedures):
            require_name(given, "a faculty and its procedures are")
        if (faculty is None) == (not procedures):
            raise MemoryGraphError(f"the faculty `{name}` needs procedures, as name=callable")
        self._faculties.by_name[name] = faculty or PythonFaculty(procedures)
        return self

    def sensor(self, name: str, read: Callable[[], Any]) -> Self:
        """Let a sensor report before each step; a `read` that gives None has nothing to report."""
        require_name(name, "a sensor is")
        self._sensors[name] = read
        return self

    def sense(self, name: str, value: Any = None) -> None:
        """Write a sensor's report into the innermost open context; it begins the log if there is no log yet.

        Raises:
            MemoryGraphError: the log is closed, or the value is not JSON.
        """
        self._append([make_report(name, {} if value is None else value)])

    def step(
        self,
        *,
        model: str | None = None,
        budget: str | Budget = BUDGET,
        attempts: int = ATTEMPTS,
        grammar: str = "auto",
        max_tokens: int | None = None,
        number: int = 1,
    ) -> PeteStep:
        """Let the model continue the log once: up to a command, a question, or its end.

        `grammar` says how the endpoint takes a grammar: `auto`, `llama`, `vllm` or `none`. Text that can't be read
        goes back to the model, which has `attempts` tries.

        Raises:
            MemoryGraphError: the log is closed, or there are no attempts.
            ModelError: no model is configured, or its endpoint failed.
            ConflictError: other writers have opened or closed contexts while the model was writing.
        """
        if attempts < 1:
            raise MemoryGraphError(f"a model has at least one attempt, and not {attempts}")
        limit = Budget.of(budget)
        settled = self._prepare()
        with find_model(model or self._model) as asked:
            field = grammar_field(asked, grammar)
            taker = TurnTaker(self._store, asked, self._all_faculties(), number, field, max_tokens)
            with budget_of_run().active():
                turns = self._take_turns(taker, limit, attempts)
        return replace(
            turns[-1],
            written=settled + "".join(turn.written for turn in turns),
            problems=tuple(chain.from_iterable(turn.problems for turn in turns)),
            warnings=tuple(chain.from_iterable(turn.warnings for turn in turns)),
            stuck=bool(turns[-1].problems),
        )

    def run(
        self, max_steps: int = 10, *, listener: Callable[[PeteStep], None] | None = None, **options: Any
    ) -> Thinking:
        """Let the model continue the log, step by step, until it is closed or nothing more comes.

        `listener` hears of each step as it ends; the options are those of `step`.

        Raises:
            MemoryGraphError: the log is closed already.
            ModelError: no model is configured, or its endpoint failed. What was written before stays.
        """
        steps: list[PeteStep] = []
        while len(steps) < max_steps:
            step = self.step(number=len(steps) + 1, **options)
            steps.append(step)
            if listener is not None:
                listener(step)
            if step.closed:
                return Thinking(tuple(steps), "closed")
            if step.stuck or step.idle:
                return Thinking(tuple(steps), "stuck" if step.stuck else "idle")
        return Thinking(tuple(steps), "max_steps")

    def _take_turns(self, taker: TurnTaker, budget: Budget, attempts: int) -> list[PeteStep]:
        """Let the model write until it can be read, at most `attempts` times."""
        turns: list[PeteStep] = []
        problem: Problem | None = None
        while len(turns) < attempts:
            root = self._read_root()
            folded, unfolded = find_wishes(root)
            turns.append(taker.take(root, view(root, budget, folded=folded, unfolded=unfolded), problem))
            problem = next(iter(turns[-1].problems), None)
            if problem is None:
                break
        return turns

    def _find_log(self) -> int:
        """Find the address of the outermost context of a log that is stored."""
        if (log := self.log) is None:
            raise NotFoundError(f"there is no context `{self._name}` yet: `sense` and `step` begin it")
        return log

    def _read_root(self) -> Frame:
        """Read the whole log, from its outermost context."""
        return self._store.read(self._find_log())

    def _prepare(self) -> str:
        """Begin the log if need be, answer what was left unanswered, let the sensors report; return the answers."""
        self._append([])
        waiting = self._store.pending(self._find_log())
        written = [self._store.answer(command, self._all_faculties()).text for command in waiting]
        reports = [read_sensor(name, read) for name, read in self._sensors.items()]
        self._append([report for report in reports if report is not None])
        return "".join(written)

    def _append(self, pieces: Sequence[Piece]) -> None:
        """Add pieces to the innermost open context; the log is begun if there is no log yet."""
        log = self.log
        if log is None and (log := self._begin(pieces)) is None:
            return
        depth = self._require_open(log)
        if not pieces:
            return
        try:
            self._store.append(log, [indent(piece, depth) for piece in pieces])
        except UnfitPiece as unfit:  # another process has closed or deleted the log meanwhile
            self._require_open(log)
            raise ConflictError("the log went on elsewhere meanwhile; nothing was added to it") from unfit

    def _begin(self, pieces: Sequence[Piece]) -> int | None:
        """Begin the log; or write nothing and return its address, if another process has begun it meanwhile."""
        begun = Piece(Opening(self._name), f"context {self._name}() {{")
        try:
            self._store.append(None, [begun, *(indent(piece, 1) for piece in pieces)])
        except ConflictError:
            if (log := self.log) is None:
                raise
            return log
        return None

    def _require_open(self, log: int) -> int:
        """Return how many contexts are open where a log goes on, which is at least one."""
        end = self._store.find_end(log)
        if not end.depth:
            raise MemoryGraphError(f"the log `{end.name}` (memory:{log}) is closed, and can't go on")
        return end.depth

    def _all_faculties(self) -> Faculties:
        """The given faculties, and the one with which the model asks for what is out of its view."""
        views = PythonFaculty({"unfold": self._unfold, "fold": self._fold})
        return Faculties({VIEWS: views, **self._faculties.by_name})

    def _unfold(self, address: int) -> dict[str, Any]:
        """Show the whole text of a context, or what another node says."""
        for node in find_addressed(self._store.namespace.read, [address]):
            if not node.is_context:
                return {"name": node.name, "data": node.data}
        log = self._store.log_of(address)
        if log == self.log:
            return {"ok": True}
        return {"text": find_frame(self._store.read(log), address).text}

    def _fold(self, address: int) -> dict[str, Any]:
        """Show only the result of a context."""
        self._store.log_of(address)
        return {"ok": True}


def find_frame(root: Frame, address: int) -> Frame:
    """Find a context of a log by its address.

    Raises:
        NotFoundError: the log has no such context, because others have replaced it meanwhile.
    """
    for frame in root.frames():
        if frame.address == address:
            return frame
    raise NotFoundError(f"there is no context memory:{address} in this log")


def find_wishes(root: Frame) -> tuple[set[int], set[int]]:
    """Find what the model asked to have folded, and unfolded; the last wish for a context holds."""
    wishes: dict[int, str] = {}
    waiting: list[LogEntry | Frame] = [root]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Frame):
            waiting += reversed(part.parts)
        elif part.kind == "command" and "fold" in part.text:
            wishes.update(read_wish(part.text))
    folded = {address for address, wish in wishes.items() if wish == "fold"}
    return folded, wishes.keys() - folded


def read_wish(text: str) -> dict[int, str]:
    """Read which context a command wants to be folded or unfolded, and which of the two."""
    command = read_command(text)
    if command is None or command.faculty not in {None, VIEWS} or command.procedure not in {"fold", "unfold"}:
        return {}
    given = command.arguments.value if command.arguments else None
    address = str(given.get("address") if isinstance(given, dict) else next(iter(given or ()), None))
    return {int(address): command.procedure} if address.isdecimal() and len(address) < 19 else {}


def make_report(name: str, value: Any) -> Piece:
    """Make the report of a sensor, as the log holds it."""
    require_name(name, "a sensor is")
    try:
        [data] = to_log_data([value])
        text = json.dumps(data, ensure_ascii=False)
    except (MemoryGraphError, ValueError, RecursionError) as error:
        raise MemoryGraphError(f"the report of the sensor `{name}` can't be kept: {error}") from None
    return Piece(SensorReport(f" {name} {text}"), f"!! {name} {text}")


def read_sensor(name: str, read: Callable[[], Any]) -> Piece | None:
    """Read a sensor; its report may be how it failed, and there may be none."""
    try:
        value = read()
        return None if value is None else make_report(name, value)
    except Exception as error:  # noqa: BLE001 - a sensor may raise anything, and the log goes on
        require_unfinished(error)
        return make_report(name, describe_failure(error))


def indent(piece: Piece, depth: int) -> Piece:
    """Put a piece on a line of its own, as deep as it is nested."""
    return Piece(piece.item, "\n" + "  " * depth + piece.text)


def require_name(name: str, what: str, otherwise: str = "") -> None:
    """Refuse a name that PETE cannot write, or that means something else in it."""
    if not re.fullmatch(NAME_PATTERN, name):
        raise MemoryGraphError(f"{what} named by letters, digits and `_`{otherwise}, and this is {name!r}")
    if name in RESERVED:
        raise MemoryGraphError(f"{what} named by a word that means nothing else, and `{name}` is reserved")
