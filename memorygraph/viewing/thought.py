"""The page of a thought: contexts that fold, with their entries, as deep as they nest."""

from __future__ import annotations

from memorygraph.runtime.pete.log import Frame
from memorygraph.viewing.pages import NestedRows, PageRow, flatten_rows, render_page


def render_thought(frame: Frame) -> str:
    """Render a context of a thought, with all that is in it, as one HTML page."""
    rows = tuple(flatten_rows(list_parts(frame)))
    return render_page(
        "thought.html",
        name=frame.name,
        address=frame.address,
        open=frame.open,
        contexts=sum(row.kind == "context" for row in rows),
        entries=sum(row.kind == "entry" for row in rows),
        rows=rows,
    )


def list_parts(frame: Frame) -> NestedRows:
    """The contexts and entries in their order; each context ends with a row of its own."""
    yield PageRow("context", frame)
    for part in frame.parts:
        yield list_parts(part) if isinstance(part, Frame) else PageRow("entry", part)
    yield PageRow("context_end")
