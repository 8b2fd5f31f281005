"""Expiry: nodes and conversations that are gone for every read and write from a time on.

All that reads or writes a namespace through memorygraph begins with `Namespace.prepare`, and that asks an
`ExpiryGate`. Where something has expired, it is forgotten there and then (graph/forgetting.py): so no query has to know
of expiry, and none can miss it. The gate asks the database once a second in each process. That is exact, because a time
less than a second away counts as now: what is set after a process has asked is either due after it asks again, or is
gone when the command that set it returns.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Literal

from memorygraph.errors import MemoryGraphError, NotFoundError
from memorygraph.graph.forgetting import Forgotten, forget_for_good, read_counts
from memorygraph.graph.namespace import Namespace

LOOK_SECONDS = 1.0
LEAD_MILLISECONDS = 1000
MAX_NAMESPACES = 10_000
MAX_YEARS = 1000
MAX_MILLISECONDS = MAX_YEARS * 365 * 24 * 60 * 60 * 1000

ExpiringKind = Literal["node", "conversation"]

ClearFiles = Callable[[Namespace, Sequence[str], Sequence[str]], int]


@dataclass(frozen=True)
class Expiry:
    """When a node (its id) or a conversation (its name) expires; None for never."""

    of: str
    expires_at: datetime | None

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {"of": self.of, "expires_at": self.expires_at.isoformat() if self.expires_at else None}


class ExpiryGate:
    """Removes what has expired before a namespace is used. Threads share it."""

    def __init__(self, clear: ClearFiles) -> None:
        self.clear = clear
        self._look_again: dict[str, float] = {}

    def __call__(self, namespace: Namespace) -> None:
        """Let a read or a write of a namespace through, when nothing that has expired is left there."""
        if time.monotonic() >= self._look_again.get(namespace.name, 0.0):
            self.look(namespace)

    def look(self, namespace: Namespace) -> None:
        """Ask the database what has expired, remove that, and note when to ask again."""
        asked = time.monotonic()
        while (left := read_seconds_left(namespace)) <= 0:
            remove_some_expired(namespace, self.clear)
            asked = time.monotonic()
        if len(self._look_again) >= MAX_NAMESPACES:
            self._look_again.clear()
        # The database tells whole milliseconds: what it says is left can be one too many.
        self._look_again[namespace.name] = asked + min(left - 0.001, LOOK_SECONDS)


def read_seconds_left(namespace: Namespace) -> float:
    """Read how many seconds are left until something expires, by the clock of the database; 0 or less: it has."""
    [row] = replace(namespace, ungated=True).read("expiry/next")
    return math.inf if row["milliseconds"] is None else float(row["milliseconds"]) / 1000


def remove_some_expired(namespace: Namespace, clear: ClearFiles, *, dry_run: bool = False) -> Forgotten:
    """Forget as much of what has expired as fits one list; a dry run looks at all of it, and changes nothing."""
    own = replace(namespace, ungated=True)
    try:
        return forget_for_good(own, "expired", "", dry_run=dry_run, clear=partial(clear, own))
    except NotFoundError:  # the namespace was dropped meanwhile, and nothing in it is left
        return Forgotten("expired", {}, {}, 0, dry_run)


def purge_expired(namespace: Namespace, clear: ClearFiles, *, dry_run: bool = False) -> Forgotten:
    """Forget what has expired, and report all that has gone so since the last time; a dry run only reports it."""
    own = replace(namespace, ungated=True)
    went, stayed = Counter[str](), Counter[str]()
    if dry_run and read_seconds_left(own) <= 0:
        planned = remove_some_expired(own, clear, dry_run=True)
        went.update(planned.went)
        stayed.update(planned.stayed)
    while not dry_run and read_seconds_left(own) <= 0:
        remove_some_expired(own, clear)
    records = own.read("expiry/unreported")
    for record in records:
        went.update(read_counts(record["went"]))
        stayed.update(read_counts(record["stayed"]))
    revision = max((record["revision"] for record in records), default=0)
    if records and not dry_run:
        own.write_query("expiry/set-reported", revision=revision)
    return Forgotten("expired", dict(sorted(went.items())), dict(sorted(stayed.items())), revision, dry_run)


def set_expiry(
    namespace: Namespace, kind: ExpiringKind, of: str, at: datetime | None, after: timedelta | None
) -> Expiry:
    """Have a node or a conversation expire at a time or after one, or never where both are None.

    Raises:
        NotFoundError: there is no such node or conversation.
        MemoryGraphError: there are two times, or the time is none of UTC.
    """
    if at is not None and after is not None:
        raise MemoryGraphError("it expires at a time or after one, and here are both")
    milliseconds = None if after is None else after // timedelta(milliseconds=1)
    if milliseconds is not None and abs(milliseconds) > MAX_MILLISECONDS:
        raise MemoryGraphError(f"it expires within {MAX_YEARS} years or never, and this is {after}")
    try:
        time_of = None if at is None else at.astimezone()
    except (OverflowError, ValueError) as error:
        raise MemoryGraphError(f"it expires in a year from 1 to 9999 of UTC, or never, and this is {at}") from error
    key = {"id" if kind == "node" else "name": of}
    rows = namespace.write_query(
        f"expiry/set-{kind}", time=time_of, milliseconds=milliseconds, lead=LEAD_MILLISECONDS, **key
    )
    return _expiry(namespace, kind, of, rows)


def get_expiry(namespace: Namespace, kind: ExpiringKind, of: str) -> Expiry:
    """Tell when a node or a conversation expires.

    Raises:
        NotFoundError: there is no such node or conversation.
    """
    key: dict[str, Any] = {"id" if kind == "node" else "name": of}
    return _expiry(namespace, kind, of, namespace.read(f"expiry/of-{kind}", **key))


def _expiry(namespace: Namespace, kind: ExpiringKind, of: str, rows: list[dict[str, Any]]) -> Expiry:
    if not rows:
        raise NotFoundError(f"no {kind} `{of}` in namespace `{namespace}`, or it has expired")
    at = rows[0]["expires_at"]
    return Expiry(of, at.to_native() if hasattr(at, "to_native") else None)
