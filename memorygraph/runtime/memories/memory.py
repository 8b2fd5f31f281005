"""What all memories share: records in their envelopes, and which of them a query wants."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from memorygraph.context.rendering import compact
from memorygraph.errors import ConnectionError, MemoryGraphError
from memorygraph.runtime.permissions import Refused
from memorygraph.runtime.tools.tool import redact_uri
from memorygraph.runtime.values import call_method, describe_type, require_object, require_text

DEFAULT_LIMIT = 10
_FILTER_KEYS = ("kind", "text", "where", "limit")


@dataclass(frozen=True)
class MemoryResult:
    """What a memory gave: a value for the program, and for the trace how many, or under which id and what."""

    value: Any
    count: int | None = None
    id: str | None = None
    record: Any = None


class MemoryFailure(MemoryGraphError):  # noqa: N818 - the name says it
    """A memory did not do what it was asked."""


class ImportedMemory:
    """A memory that a program has imported. Nothing is opened before its first call.

    Its methods are those Python methods that `METHODS` names, and every failure says whose it is. `uri` is fit to be
    shown.
    """

    METHODS: ClassVar[tuple[str, ...]] = ("add", "query")

    def __init__(self, name: str, uri: str) -> None:
        self.name = name
        self.uri = redact_uri(uri)

    def call(self, method: str, arguments: list[Any]) -> MemoryResult:
        """Call a method.

        Raises:
            Refused: the user has not allowed it; nothing was done.
            ConnectionError: Neo4j cannot be reached.
            MemoryFailure: it failed.
        """
        try:
            result: MemoryResult = call_method(self, self.METHODS, method, arguments)
        except (Refused, ConnectionError):
            raise
        except (MemoryGraphError, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise MemoryFailure(f"Memory {self.name}.{method} ({self.uri}) failed: {reason}") from error
        return result


@dataclass(frozen=True)
class Filter:
    """Which records a query wants: all that is given must hold.

    `kind` is compared with the record's `kind`, `text` is somewhere in its JSON text, whatever the case, and each field
    of `where` is equal to the record's.

    >>> Filter.read({"kind": "fact", "text": "ADA"}).matches({"kind": "fact", "about": "Ada"})
    True
    """

    kind: str | None = None
    text: str | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    limit: int = DEFAULT_LIMIT

    @classmethod
    def read(cls, value: Any) -> Filter:
        """Read the filter that a program wrote; without one it wants the newest ten records.

        Raises:
            MemoryGraphError: the value is not a filter.
        """
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
        return self.fits(record) and (self.text is None or self.text.lower() in compact(record).lower())

    def fits(self, record: Any) -> bool:
        """Whether a record is wanted, as far as its fields can tell."""
        if not isinstance(record, Mapping):
            return self.kind is None and not self.where
        if self.kind is not None and record.get("kind") != self.kind:
            return False
        return all(key in record and compact(record[key]) == compact(wanted) for key, wanted in self.where.items())


def read_limit(value: Any) -> int:
    """Read a limit that a program wrote.

    Raises:
        MemoryGraphError: the value is not a positive whole number.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value) or value < 1:
        shown_value = value if isinstance(value, (int, float)) else describe_type(value)
        raise MemoryGraphError(f"a limit is a whole number from 1, and this is {shown_value}")
    return int(value)


def read_record(value: Any) -> tuple[dict[str, Any], str]:
    """Read a record that a program adds, and write its JSON text.

    Raises:
        MemoryGraphError: the value is not an object of JSON values.
    """
    text = compact(require_object(value, "a record"))
    record: dict[str, Any] = json.loads(text)
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
