"""A proxy between clients and Neo4j that breaks a connection once for each fault that a test arms.

It follows the messages of a client as far as a COMMIT can be told from everything else: Bolt's handshake, then
messages in chunks of a length of two bytes, ended by an empty chunk.
"""

from __future__ import annotations

import random
import select
import socket
import struct
import threading
from contextlib import suppress
from typing import NamedTuple

from tests.trust.listener import Listener

COMMIT = 0x12
MANIFEST = b"\x00\x00\x01\xff"
"""The server's answer to a handshake that offers a choice: the client then says its choice, and a number."""

AT_BYTE = ("cut", "stall", "half-close")
AT_COMMIT = ("commit cut off", "reply to commit cut off", "reply to commit stalled")
KINDS = AT_BYTE + AT_COMMIT


class Fault(NamedTuple):
    """What breaks: at a byte that goes one way, counted from the arming, or at the next commit."""

    kind: str
    towards_server: bool = True
    byte: int = 0

    @classmethod
    def by(cls, chance: random.Random) -> Fault:
        return cls(chance.choice(KINDS), chance.random() < 0.5, int(2 ** chance.uniform(0, 11)))


class Messages:
    """The messages of one client, of which only the signatures are kept."""

    def __init__(self) -> None:
        self.offers_choice = False
        self._opening = 20
        self._chosen = False
        self._buffer = bytearray()
        self._message = bytearray()

    def hear(self, data: bytes) -> list[int]:
        """The signatures of the messages that end in these bytes."""
        self._buffer += data
        if not self._opened():
            return []
        signatures = []
        while len(self._buffer) >= 2:
            size = int.from_bytes(self._buffer[:2], "big")
            if size and len(self._buffer) < size + 2:
                break
            self._message += self._buffer[2 : min(size, 2) + 2]
            del self._buffer[: size + 2]
            if not size and self._message:
                signatures.append(self._message[1])
                self._message.clear()
        return signatures

    def _opened(self) -> bool:
        """Take the handshake out of the buffer; its second part follows the server's answer."""
        taken = min(self._opening, len(self._buffer))
        del self._buffer[:taken]
        self._opening -= taken
        if self._opening or not self._buffer:
            return False
        if self.offers_choice and not self._chosen:
            end = next((i + 1 for i in range(4, len(self._buffer)) if self._buffer[i] < 0x80), 0)
            del self._buffer[:end]
            self._chosen = end > 0
            return self._chosen
        return True


class Link:
    """One connection of a client, and its counterpart to the server."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = client
        self.server = server
        self.messages = Messages()
        self.greeted = False
        self._cut = False
        self.mute: set[socket.socket] = set()
        self.at_reply: str | None = None

    def cut(self) -> None:
        """End both connections at once, with all that is under way."""
        self._cut = True
        for side in (self.client, self.server):
            with suppress(OSError):
                side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            side.close()

    def is_cut(self) -> bool:
        return self._cut

    def stall(self) -> None:
        """Let nothing through any more, and keep both connections open until a side ends."""
        self.mute = {self.client, self.server}

    def half_close(self, sink: socket.socket) -> None:
        sink.shutdown(socket.SHUT_WR)
        self.mute.add(sink)


class FaultProxy(Listener):
    """A fault strikes once, on the connection that reaches it first."""

    def __init__(self, uri: str) -> None:
        self.struck: list[Fault] = []
        self.is_down = False
        """Whether new connections are ended at once."""
        self._armed: Fault | None = None
        self._stays_down = False
        self._passed = {True: 0, False: 0}
        self._lock = threading.Lock()
        super().__init__(uri)
        self.uri = f"bolt://{self.address}"

    def arm(self, fault: Fault | None, *, stays_down: bool = False) -> None:
        """Let a fault strike at the next place that fits, in place of one that has not struck yet.

        With `stays_down` no other connection comes through until the next arming.
        """
        with self._lock:
            self.is_down, self._stays_down = False, stays_down
            self._armed = fault
            self._passed = {True: 0, False: 0}

    def _serve(self, client: socket.socket) -> None:
        if self.is_down:
            client.close()
            return
        try:
            server = socket.create_connection(self.server, timeout=10)
        except OSError:
            client.close()
            return
        link = Link(client, server)
        with client, server, suppress(OSError):
            while not self.closing.is_set():
                for source in select.select([client, server], [], [], 0.1)[0]:
                    data = source.recv(65536)
                    if not data:
                        return
                    self._pass(link, data, source)
                    if link.is_cut():
                        return

    def _pass(self, link: Link, data: bytes, source: socket.socket) -> None:
        towards_server = source is link.client
        sink = link.server if towards_server else link.client
        if not towards_server and not link.greeted:
            link.greeted = True
            link.messages.offers_choice = data.startswith(MANIFEST)
        commits = towards_server and COMMIT in link.messages.hear(data)
        if sink in link.mute:
            return
        if link.at_reply and not towards_server:
            link.cut() if link.at_reply == "cut off" else link.stall()
            return
        fault, place = self._due(towards_server, len(data), commits)
        with suppress(BrokenPipeError, ConnectionResetError):
            sink.sendall(data[:place])
        if fault:
            self._strike(link, fault, sink)

    def _due(self, towards_server: bool, size: int, commits: bool) -> tuple[Fault | None, int]:
        """The fault that strikes in these bytes, and how many of them go before it."""
        with self._lock:
            fault = self._armed
            before = self._passed[towards_server]
            self._passed[towards_server] += size
            if fault is None:
                return None, size
            if fault.kind in AT_COMMIT:
                if not commits:
                    return None, size
                place = 0 if fault.kind == "commit cut off" else size
            elif fault.towards_server == towards_server and before + size > fault.byte:
                place = max(0, fault.byte - before)
            else:
                return None, size
            self._armed = None
            self.is_down = self._stays_down
            self.struck.append(fault)
            return fault, place

    def _strike(self, link: Link, fault: Fault, sink: socket.socket) -> None:
        match fault.kind:
            case "cut" | "commit cut off":
                link.cut()
            case "stall":
                link.stall()
            case "half-close":
                link.half_close(sink)
            case _:
                link.at_reply = fault.kind.removeprefix("reply to commit ")
