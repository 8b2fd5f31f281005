"""What is found wrong while a statement is read, before its place in the file is worked out."""

from __future__ import annotations

from typing import NamedTuple

from memorygraph.errors import Span


class Finding(NamedTuple):
    """A problem that does not know its source yet; `first` is an earlier place that belongs to it."""

    message: str
    code: str
    span: Span
    first: Span | None = None
