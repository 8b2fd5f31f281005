"""Limits: how much a run may do, for how long, and how much it may keep; and how it is told to end.

A run is what executes a program. The code that it calls finds its budget in the context of the thread, so that the
copy of a large value counts wherever it is made. Where nothing runs, nothing is counted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import wait as wait_for_futures
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from operator import index
from threading import RLock, Thread
from typing import Any, TypeVar

from memorygraph.errors import MemoryGraphError

WORK_PER_LOOK = 1000  # between two looks at the clock
POLL_S = 0.05
PARTS_PER_WORK = 10  # of values that are copied, compared or written
BYTES_PER_PART = 64
MAX_READ_SECONDS = 1_000_000.0  # of a query: more than a week, and no number that a clock or a protocol cannot hold

Result = TypeVar("Result")


def require_one(limit: int, what: str) -> None:
    """Refuse to ask for fewer than one.

    >>> require_one(-1, "run")
    Traceback (most recent call last):
    memorygraph.errors.MemoryGraphError: at least one run is asked for, and this is -1

    Raises:
        TypeError: the limit is not a whole number.
        MemoryGraphError: the limit is below one.
    """
    if index(limit) < 1:
        raise MemoryGraphError(f"at least one {what} is asked for, and this is {limit}")


class Cancelled(MemoryGraphError):  # noqa: N818 - who asked for the work wants it no longer
    """The work was ended by whom it was done for, or because the process ends."""

    exit_code = 143  # that of a process which SIGTERM has ended


class LimitExceeded(MemoryGraphError):  # noqa: N818 - the name says it
    """A run has used up a limit; `code` says which."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class RunLimits:
    """What a run may use: steps of work, seconds, and bytes of values.

    A statement, a call, a new value and a round of a loop are a step of work each; so are ten parts of an expression,
    or of a value that is copied, compared or written. `max_bytes` is the sum of all values that the run makes, about
    as Python keeps them. `max_search_seconds` is what all its searches with regular expressions may take together.
    """

    max_work: float = 200_000_000
    max_seconds: float = 86_400
    max_bytes: float = 4_000_000_000
    max_search_seconds: float = 60


NO_LIMITS = RunLimits(math.inf, math.inf, math.inf, math.inf)


class RunBudget:
    """What a run may still use, and whether it is to end; safe to share between threads.

    A budget ends with the one that was active where it was made: a run with the request that began it.

    >>> budget = RunBudget(RunLimits(max_work=2))
    >>> budget.spend(2)
    >>> budget.spend()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    memorygraph.limits.LimitExceeded: the run has done its 2 steps of work; ...
    """

    def __init__(self, limits: RunLimits = NO_LIMITS) -> None:
        self.limits = limits
        self.work = 0
        self.bytes = 0
        self.search_seconds = 0.0
        self.around = _active.get()
        self.deadline = time.monotonic() + limits.max_seconds
        self._next_look: float = min(WORK_PER_LOOK, limits.max_work)
        self._max_bytes = limits.max_bytes
        self.cancelled: str | None = None
        self._ends: list[Callable[[], object]] = []
        self._ends_lock = RLock()  # a handler of a signal may cancel what its own thread has just begun

    @contextmanager
    def active(self) -> Iterator[None]:
        """Have what the block does count here."""
        token = _active.set(self)
        try:
            yield
        finally:
            _active.reset(token)

    def call(self, work: Callable[[], Result]) -> Result:
        """Do work that counts here."""
        with self.active():
            return work()

    def cancel(self, reason: str) -> None:
        """End what counts here, at its next step, and what it waits for at once; from any thread."""
        self.cancelled = self.cancelled or reason
        with self._ends_lock:
            for end in self._ends:
                end()

    @contextmanager
    def calling_when_cancelled(self, end: Callable[[], object]) -> Iterator[None]:
        """Have `end` called when this is cancelled during the block, which then fails as Cancelled."""
        with self._ends_lock:
            self._ends.append(end)
        try:
            self.require_wanted()
            yield
        except Exception as error:
            if self.cancelled is not None and not isinstance(error, Cancelled):
                raise Cancelled(self.cancelled) from error
            raise
        finally:
            with self._ends_lock:
                self._ends.remove(end)

    def spend(self, work: int = 1, size: int = 0) -> None:
        """Count work, and bytes that are kept. Threads may lose a count to each other, which does no harm."""
        self.work += work
        self.bytes += size
        if self.work > self._next_look or self.bytes > self._max_bytes:
            self._look()

    def require_wanted(self) -> None:
        """Raise Cancelled, if this was cancelled."""
        if self.cancelled is not None:
            raise Cancelled(self.cancelled)

    def require_running(self) -> None:
        """Raise Cancelled or LimitExceeded, if the run is to end."""
        for budget in self._chain():
            budget.require_wanted()
            if time.monotonic() > budget.deadline:
                seconds = f"{budget.limits.max_seconds:g} seconds"
                raise LimitExceeded(
                    f"the run has taken its {seconds}; `run` allows more with --max-seconds (in Python: limits)",
                    "too-much-time",
                )

    def _chain(self) -> Iterator[RunBudget]:
        budget: RunBudget | None = self
        while budget is not None:
            yield budget
            budget = budget.around
        yield PROCESS

    def _look(self) -> None:
        if self.bytes > self._max_bytes:
            megabytes = f"{self._max_bytes / 1e6:,.0f} MB"
            raise LimitExceeded(
                f"the run has made values of {megabytes}; `run` allows more with --max-megabytes (in Python: limits)",
                "value-too-large",
            )
        self.require_running()
        if self.work > self.limits.max_work:
            steps = f"{self.limits.max_work:,} steps of work"
            message = f"the run has done its {steps}; `run` allows more with --max-work (in Python: limits)"
            raise LimitExceeded(message, "too-much-work")
        self._next_look = min(self.work + WORK_PER_LOOK, self.limits.max_work)


_active: ContextVar[RunBudget | None] = ContextVar("active", default=None)

PROCESS = RunBudget()
"""What everything ends with that runs in this process."""


def active_budget() -> RunBudget:
    """The budget of what runs here; without a run the one of the process."""
    return _active.get() or PROCESS


def budget_of_run(limits: RunLimits | None = None) -> RunBudget:
    """The budget of a run that begins here: with these limits, those of what it is a part of, or the default ones."""
    around = active_budget().limits
    return RunBudget(limits or (RunLimits() if around == NO_LIMITS else around))


def spend(work: int = 1, size: int = 0) -> None:
    """Count work and bytes for the run that does this, if there is one."""
    budget = _active.get()
    if budget is not None:
        budget.spend(work, size)


def spend_on_parts(count: int) -> None:
    """Count a value of so many parts, which is copied or written, for the run that does this."""
    budget = _active.get()
    if budget is not None:
        budget.spend(count // PARTS_PER_WORK, count * BYTES_PER_PART)


def spend_on_keeping(value: Any) -> None:
    """Count all parts of a value without shared parts, and its texts, for the run that keeps it."""
    budget = _active.get()
    if budget is None:
        return
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            budget.spend(0, len(part))
        elif isinstance(part, (Mapping, list, tuple)):
            budget.spend(len(part) // PARTS_PER_WORK, len(part) * BYTES_PER_PART)
            waiting.extend(part.values() if isinstance(part, Mapping) else part)


def require_running() -> None:
    """Raise Cancelled or LimitExceeded, if what runs here is to end."""
    active_budget().require_running()


def require_wanted() -> None:
    """Raise Cancelled, if whoever asked for what runs here has given it up."""
    for budget in _budgets_around():
        budget.require_wanted()


@contextmanager
def ending_when_unwanted(end: Callable[[], object]) -> Iterator[None]:
    """Have `end` called, from any thread, when whoever asked for the block gives it up; then the block is Cancelled."""
    with ExitStack() as budgets:
        for budget in _budgets_around():
            budgets.enter_context(budget.calling_when_cancelled(end))
        yield


def _budgets_around() -> Iterator[RunBudget]:
    budget = _active.get()
    while budget is not None:
        yield budget
        budget = budget.around


@contextmanager
def unlimited() -> Iterator[None]:
    """Count nothing of the block: it keeps the record of a run, also of one that has used up its limits."""
    token = _active.set(None)
    try:
        yield
    finally:
        _active.reset(token)


def wait_for(future: Future[Result], seconds: float = math.inf) -> Result:
    """Wait for a result, which is cancelled when the run is to end. A TimeoutError says that the seconds are over."""
    budget, deadline = active_budget(), time.monotonic() + seconds
    try:
        while not future.done() and time.monotonic() < deadline:
            budget.require_running()
            wait_for_futures([future], POLL_S)
        return future.result(0)
    finally:
        future.cancel()


def call_apart(work: Callable[[], Result]) -> Result:
    """Do work that waits for others in a thread of its own; when the run is to end, nobody waits for it any more."""
    return wait_for(begin_apart(work))


def begin_apart(work: Callable[[], Result]) -> Future[Result]:
    """Begin work that waits for others in a thread of its own, for which the end of the program does not wait."""
    future: Future[Result] = Future()
    context = copy_context()

    def run() -> None:
        try:
            future.set_result(context.run(work))
        except BaseException as error:  # noqa: BLE001 - the caller raises it
            future.set_exception(error)

    future.set_running_or_notify_cancel()
    Thread(target=run, name="memorygraph-call", daemon=True).start()
    return future
