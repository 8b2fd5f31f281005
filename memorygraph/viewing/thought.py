"""The page of a thought: contexts that fold, with their entries, as deep as they nest."""

from __future__ import annotations

from collections.abc import Iterator

from memorygraph.runtime.pete.log import Frame, LogEntry
from memorygraph.viewing.pages import PageRow, render_page


def render_thought(frame: Frame) -> str:
    """Render a context of a thought, with all that is in it, as one HTML page."""
    rows = tuple(list_parts(frame))
    return render_page(
        "thought.html",
        name=frame.name,
        address=frame.address,
        open=frame.open,
        contexts=sum(row.kind == "context" for row in rows),
        entries=sum(row.kind == "entry" for row in rows),
        rows=rows,
    )


def list_parts(frame: Frame) -> Iterator[PageRow]:
    """The contexts and entries in their order; each context ends with a row of its own."""
    waiting: list[Iterator[LogEntry | Frame | PageRow]] = [iter([frame])]
    while waiting:
        part = next(waiting[-1], None)
        if part is None:
            waiting.pop()
        elif isinstance(part, PageRow):
            yield part
        elif isinstance(part, Frame):
            yield PageRow("context", part)
            waiting.append(iter([PageRow("context_end")]))
            waiting.append(iter(part.parts))
        else:
            yield PageRow("entry", part)
