"""The events of a trace, as lines for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TextIO

from memorygraph.cli import output
from memorygraph.errors import MemoryGraphError
from memorygraph.sentences import count_of

if TYPE_CHECKING:
    from memorygraph.runtime.runs import Event

PRETTY = "pretty"
MAX_SHOWN = 200  # characters of a value


def summarize_step(data: dict[str, Any]) -> str:
    """Summarize a step of a node graph."""
    route = f" → {(data['route'] or {}).get('target') or 'exit'}" if data["completed"] else ""
    result = f"{data['node']}{route}: {summarize_result({**data, 'result': data['output']})}"
    return "\n".join([result, *(f"    warning: {warning}" for warning in data["warnings"])])


def summarize_use(data: dict[str, Any]) -> str:
    """Summarize a `use` with its budget."""
    budget = data["budget"]
    limit = f" < {budget['amount']}{budget['unit'] or ''}" if budget else ""
    return f"use {data['source']}{limit}"


def summarize_call(kind: str, owner: str, callee: str, data: dict[str, Any]) -> str:
    """Summarize a call; `owner` and `callee` are the names of the fields that say what was called."""
    return f"{kind} {data[owner]}.{data[callee]}{shorten_value(data['args'])} → {summarize_result(data)}"


def summarize_generate(data: dict[str, Any]) -> str:
    """Summarize a `generate`, with what its prompt held and left out."""
    tries = count_of(data["attempts"], "attempt")
    lines = [f"generate {shorten_value(data['instruction'])} ({tries}) → {summarize_result(data)}"]
    for item in data["context"]["items"]:
        sizes = f"{item['clippedSize']} of {item['originalSize']}" if item["clipped"] else f"{item['originalSize']}"
        lines.append(f"    [{item['index']}] {item['source']}: {sizes} {shorten_value(item['text'])}")
        if "view" in item:
            lines.append(f"        {item['view']}")
    lines += [f"    not included: {unused['source']}: {unused['reason']}" for unused in data["context"]["unused"]]
    return "\n".join(lines)


SUMMARIES: dict[str, Callable[[dict[str, Any]], str]] = {
    "step": summarize_step,
    "use": summarize_use,
    "generate": summarize_generate,
    "tool": partial(summarize_call, "tool", "tool", "method"),
    "memory": partial(summarize_call, "memory", "memory", "operation"),
    "agent": partial(summarize_call, "agent", "agent", "function"),
}


def summarize_result(data: dict[str, Any]) -> str:
    """What a step, a call or a generation gave, or why it failed."""
    return f"failed: {data['error']}" if data.get("error") else shorten_value(data.get("result"))


def shorten_value(value: Any) -> str:
    """A value on one line of at most MAX_SHOWN characters."""
    text = write_on_a_line(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def write_on_a_line(value: Any) -> str:
    """A value on one line."""
    text = value if isinstance(value, str) else output.to_json(value)
    return output.plain(" ".join(text.split()))


def print_event(event: Event, depth: int) -> None:
    """Show an event to people on a line or two, as soon as it has happened."""
    kind, data = event["kind"], event["data"]
    text = SUMMARIES[kind](data) if kind in SUMMARIES else f"{kind} {shorten_value(data)}"
    output.say("\n".join(f"{'  ' * depth}{line}" for line in text.splitlines()))


class TraceOutput:
    """Where the trace of a run goes: to stderr as it happens, to a file at the end, or nowhere.

    `option` is the value of --trace: a file, `pretty`, or None. Steps inside of a step are shown, and not written.
    """

    def __init__(self, option: str | None, *, shown: bool) -> None:
        self.file = None if option == PRETTY else option
        self._shown = shown or option == PRETTY
        self._events: list[Event] = []
        self._opened: TextIO | None = None

    def __enter__(self) -> Self:
        """Open the file, so that one that cannot be written is said before the run."""
        with self._explaining():
            self._opened = Path(self.file).open("w", encoding="utf-8", errors="backslashreplace") if self.file else None
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Write the file of a run that failed; where it takes no more, that is said beside the error."""
        if error is not None and (unwritten := self.write()):
            output.say_error(unwritten)

    def write(self) -> MemoryGraphError | None:
        """Write the file, and return why it could not be written; one that was written before stays as it is."""
        if self._opened and not self._opened.closed:
            try:
                with self._explaining(), self._opened as file:
                    file.write(output.to_json(self._events, indent=2) + "\n")
            except MemoryGraphError as error:
                return error
        return None

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise MemoryGraphError(f"the trace cannot be written to {self.file}: {error.strerror}") from error

    def listen(self, event: Event, depth: int) -> None:
        """Take an event as soon as it has happened."""
        if depth == 0:
            self._events.append(event)
        if self._shown:
            print_event(event, depth)
