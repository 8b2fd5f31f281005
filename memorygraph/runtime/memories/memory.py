"""What all memories share: records in their envelopes, and which of them a query wants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from memorygraph.context.origins import copy_value
from memorygraph.context.rendering import compact, quoted
from memorygraph.errors import MemoryGraphError
from memorygraph.json_text import parse_json
from memorygraph.runtime.imports import CallResult, Imported
from memorygraph.runtime.values import describe_type, is_whole, require_object, require_text

DEFAULT_LIMIT = 10
MAX_LIMIT = 2**31 - 1  # more than any memory has, and no more than its parts can count
_FILTER_KEYS = ("kind", "text", "where", "limit")


@dataclass(frozen=True)
class MemoryResult(CallResult):
    """What a memory gave: how many records, or the one that was added, with its id."""

    count: int | None = None
    id: str | None = None
    record: Any = None

    def noted(self) -> dict[str, Any]:
        """What else the trace says of the call."""
        added = {"id": self.id, "record": copy_value(self.record)} if self.id else {}
        return {"count": self.count, **added}


class MemoryFailure(MemoryGraphError):  # noqa: N818 - the name says it
    """A memory did not do what it was asked."""


class ImportedMemory(Imported[MemoryResult]):
    """A memory that a program has imported."""

    METHODS: ClassVar[tuple[str, ...]] = ("add", "query")
    kind = "memory"
    failure = MemoryFailure

    def describe_call(self, method: str) -> dict[str, Any]:
        """What the trace says of a call before it is made."""
        return {"memory": self.name, "operation": method, "uri": self.uri}


@dataclass(frozen=True)
class Filter:
    """Which records a query wants: all that is given must hold.

    `text` is somewhere in a text of it, or in its JSON text, whatever the case; `kind` and each field of `where` equal
    the record's.
    """

    kind: str | None = None
    text: str | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    limit: int = DEFAULT_LIMIT

    @classmethod
    def read(cls, value: Any) -> Filter:
        """Read the filter that a program wrote; without one it wants the newest ten records."""
        given = {key: inner for key, inner in require_object(value or {}, "a filter").items() if inner is not None}
        unknown = [key for key in given if key not in _FILTER_KEYS]
        if unknown:
            raise MemoryGraphError(f"a filter has no `{unknown[0]}`; it has {', '.join(_FILTER_KEYS)}")
        for key in ("kind", "text"):
            if key in given:
                require_text(given[key], f"`{key}`")
        where = require_object(given.get("where", {}), "`where`")
        return cls(given.get("kind"), given.get("text"), where, read_limit(given.get("limit", DEFAULT_LIMIT)))

    def matches(self, record: Any) -> bool:
        """Whether a record is wanted."""
        if not self.fits(record):
            return False
        told = compact(record).lower() if self.text else ""
        return any(text.lower() in told for text in self.written_texts())

    def written_texts(self) -> list[str]:
        """The text, empty where all are wanted, as it is and, if that differs, as it stands within JSON."""
        text = self.text or ""
        return [*dict.fromkeys((text, quoted(text)[1:-1]))]

    def fits(self, record: Any) -> bool:
        """Whether a record is wanted, as far as its fields can tell."""
        if not isinstance(record, Mapping):
            return self.kind is None and not self.where
        if self.kind is not None and record.get("kind") != self.kind:
            return False
        return all(key in record and compact(record[key]) == compact(wanted) for key, wanted in self.where.items())


def read_limit(value: Any) -> int:
    """Read a limit that a program wrote."""
    if not is_whole(value) or value < 1:
        shown_value = value if isinstance(value, (int, float)) else describe_type(value)
        raise MemoryGraphError(f"a limit is a whole number from 1, and this is {shown_value}")
    return min(int(value), MAX_LIMIT)


def read_record(value: Any) -> tuple[dict[str, Any], str]:
    """Read a record that a program adds, and write its JSON text."""
    text = compact(require_object(value, "a record"))
    try:
        record: dict[str, Any] = parse_json(text)
    except ValueError as error:
        raise MemoryGraphError(f"a record cannot be kept: {error}") from error
    return record, text


def wrap_record(identifier: str, at: datetime, record: Any) -> dict[str, Any]:
    """Put a new record into its envelope."""
    written = format_timestamp(at)
    return {"id": identifier, "created_at": written, "updated_at": written, "record": record}


def format_timestamp(time: datetime) -> str:
    """Write a time as envelopes have it.

    >>> from datetime import UTC
    >>> format_timestamp(datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC))
    '2026-01-02T03:04:05.000006Z'
    """
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
