"""Calls of a program that nest deeper than Python lets its own calls nest: they go on in a further thread.

Python counts the nested calls of each thread apart. To raise its limit instead would raise it for the whole process,
and in Python 3.11 also for what is written in C, which then overflows its stack: the parser of JSON, and the
comparison, the copy and the text of nested values.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any

# From one call of a function to the next, an expression takes six hundred of the thousand frames that Python allows.
MAX_FRAMES_BEFORE_CALL = 200
MAX_THREADS = 400  # of one evaluation: a thousand calls, each out of some blocks, take a hundred


@dataclass(eq=False)
class CallStack:
    """The nested calls of one evaluation, which has one call at a time.

    >>> calls = CallStack()
    >>> def count(number: int) -> int:
    ...     return calls.call(count, number - 1) + 1 if number else 0
    >>> count(5000)
    5000
    """

    threads: int = 0
    interrupted: bool = False

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function: here, or in a further thread where the calls around it have taken much of this one's stack.

        Raises:
            RecursionError: the calls nest too deep.
        """
        if self.interrupted:
            raise KeyboardInterrupt
        try:
            sys._getframe(MAX_FRAMES_BEFORE_CALL)  # noqa: SLF001 - the one way to ask that takes less than a call does
        except ValueError:
            return function(*arguments)
        return self.call_in_thread(function, arguments)

    def call_in_thread(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Call a function in a thread of its own, and wait for what it returns or raises."""
        if self.threads >= MAX_THREADS:
            raise RecursionError("the calls nest too deep")
        returned: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        context = copy_context()

        def run() -> None:
            try:
                returned.put((context.run(function, *arguments), None))
            except BaseException as error:  # noqa: BLE001 - the caller raises it
                returned.put((None, error))

        thread = Thread(target=run, name="memorygraph-calls", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise RecursionError("the calls nest too deep: the system starts no further thread for them") from error
        self.threads += 1
        try:
            value, raised = returned.get()
        except BaseException:  # the user interrupts the program: what runs in the thread ends at its next call
            self.interrupted = True
            raise
        finally:
            self.threads -= 1
        thread.join()
        if raised is not None:
            raise raised
        return value
