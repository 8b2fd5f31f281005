"""Connections over HTTP: how many there are, of all and of one address, and how long each may wait for its client.

Where there are too many, the one that has waited longest for its client is closed: so half-open connections only stand
in each other's way.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

try:
    from resource import RLIMIT_NOFILE, getrlimit
except ImportError:  # Windows has no such limit
    getrlimit = None  # type: ignore[assignment]

HEADER_S = 10.0
BODY_S = 60.0
WRITE_S = 60.0  # that a client may leave what it has asked for unread
MAX_CONNECTIONS = 2000
BACKLOG = 128  # connections that are accepted at a time
REFUSAL = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\nretry-after: 5\r\n\r\n"


@dataclass(frozen=True)
class ConnectionLimits:
    """How many connections there may be, of all clients and of one address."""

    of_all: int
    of_one_address: int

    @classmethod
    def of_process(cls) -> ConnectionLimits:
        """Half of the files that the process may open, and of these a quarter for each address."""
        files = getrlimit(RLIMIT_NOFILE)[0] if getrlimit is not None else 2 * MAX_CONNECTIONS
        of_all = min(files // 2, MAX_CONNECTIONS) if files > 0 else MAX_CONNECTIONS
        return cls(of_all, max(of_all // 4, 1))

    @property
    def of_one_token(self) -> int:
        """How many requests of one token may be open: half of what an address may have, for others may share that."""
        return max(self.of_one_address // 2, 1)


def network_of(address: str) -> str:
    """The address that counts: of an IPv6 address its network, in which one client can have any number of them.

    >>> network_of("192.0.2.7"), network_of("2001:db8::1")
    ('192.0.2.7', '2001:db8::/64')
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(parsed.ipv4_mapped or ipaddress.ip_network((parsed, 64), strict=False))
    return address


class OpenConnections:
    """The connections that are open, by their networks, the oldest first."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._of: dict[str, dict[BoundedConnection, None]] = defaultdict(dict)
        self._count = 0

    def admit(self, connection: BoundedConnection, network: str) -> bool:
        """Add a connection, and close another one where there are too many; False if none can be closed."""
        fellows = self._of[network]
        if len(fellows) >= self._limits.of_one_address and not self._close_oldest(network):
            return False
        if self._count >= self._limits.of_all:
            crowded = max(self._of, key=lambda each: len(self._of[each]))
            if not self._close_oldest(crowded):
                return False
        self._of[network][connection] = None
        self._count += 1
        return True

    def remove(self, connection: BoundedConnection, network: str) -> None:
        """Forget a connection."""
        fellows = self._of.get(network, {})
        if connection in fellows:
            del fellows[connection]
            self._count -= 1
        if not fellows:
            self._of.pop(network, None)

    def _close_oldest(self, network: str) -> bool:
        waiting = next((each for each in self._of[network] if each.waits_for_client), None)
        if waiting is None:
            return False
        self.remove(waiting, network)
        waiting.transport.abort()
        return True


class BoundedConnection(H11Protocol):
    """A connection that is closed when its client takes too long to send a request, or to read the answer."""

    open_connections: ClassVar[OpenConnections]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._network = ""
        self._reading: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None
        self._awaited: Any = None

    @property
    def waits_for_client(self) -> bool:
        """Whether no whole request is there that is being answered."""
        return self.cycle is None or self.cycle.response_complete or self.conn.their_state is h11.SEND_BODY

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, and wait for its first request."""
        super().connection_made(transport)
        self._network = network_of(self.client[0] if self.client else "")
        if self.open_connections.admit(self, self._network):
            self._await_request()
        else:
            transport.write(REFUSAL)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.open_connections.remove(self, self._network)
        for timer in (self._reading, self._writing):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what the client sends."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        self._await_request()

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        self.flow.pause_writing()
        self._writing = self._writing or self.loop.call_later(WRITE_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: the client has read."""
        self.flow.resume_writing()
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

    def _await_request(self) -> None:
        """Have a time limit for what the client still has to send: all headers, or the whole body."""
        state = self.conn.their_state
        awaited = state if state in {h11.IDLE, h11.SEND_BODY} else None
        if awaited is self._awaited:
            return
        self._awaited = awaited
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        if awaited is not None:
            seconds = HEADER_S if awaited is h11.IDLE else BODY_S
            self._reading = self.loop.call_later(seconds, self.transport.abort)


def bounded_connections(limits: ConnectionLimits) -> type[BoundedConnection]:
    """The connections of one server, which count together."""

    class Connection(BoundedConnection):
        open_connections = OpenConnections(limits)

    return Connection
