"""What a client of a cluster sees, in front of one real server: a routing table of members, each a small relay.

A member that does not lead refuses what writes, as Neo4j's do; the leader can move, a member can lag behind until it is
told that it has caught up, and it can die at a message. The store is one, so what a follower has not got yet is not
shown: a read with a bookmark waits, and that each read has the bookmark of the last write is what is tested.
"""

from __future__ import annotations

import base64
import select
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from neo4j._codec.packstream import v1 as packstream

from tests.trust.listener import Listener
from tests.trust.proxy import COMMIT

HANDSHAKE = b"\x60\x60\xb0\x17" + b"\x00\x04\x04\x05" + bytes(12)
"""Bolt 5.0 to 5.4, without the choice that newer servers offer: then messages begin right after the answer."""
RUN, BEGIN, ROLLBACK, RESET = 0x10, 0x11, 0x13, 0x0F
TRANSACTION_ENDS = {COMMIT, ROLLBACK, RESET}
SUCCESS, RECORD, IGNORED, FAILURE = 0x70, 0x71, 0x7E, 0x7F
NOT_A_LEADER = {
    "code": "Neo.ClientError.Cluster.NotALeader",
    "message": "No write operations are allowed on this member.",
}
TTL_S = 300
MAX_LAG_S = 20.0


class Death(NamedTuple):
    """When a member dies: at its nth message of a kind, before it is passed on, or after."""

    signature: int
    number: int = 1
    passed_on: bool = False


@dataclass
class Heard:
    """What a member was asked to do: whether it writes, and the bookmarks that it was given."""

    writes: bool
    bookmarks: list[str]


class Frames:
    """The messages in a stream of chunks, each with the bytes that it came in."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def hear(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """The whole messages that these bytes end, and the bytes of each."""
        self._buffer += data
        found = []
        while (end := self._end()) is not None:
            raw = bytes(self._buffer[:end])
            del self._buffer[:end]
            found.append((_join(raw), raw))
        return found

    def _end(self) -> int | None:
        place = 0
        while place + 2 <= len(self._buffer):
            size = int.from_bytes(self._buffer[place : place + 2], "big")
            place += 2 + size
            if not size:
                return place
        return None


def _join(raw: bytes) -> bytes:
    message, place = bytearray(), 0
    while size := int.from_bytes(raw[place : place + 2], "big"):
        message += raw[place + 2 : place + 2 + size]
        place += 2 + size
    return bytes(message)


def pack(signature: int, *fields: Any) -> bytes:
    """A message as it is sent."""
    buffer = packstream.PackableBuffer()
    packer = packstream.Packer(buffer)
    packer.pack_struct(bytes([signature]), list(fields))
    message = bytes(buffer.data)
    chunks = [message[place : place + 0xFFFF] for place in range(0, len(message), 0xFFFF)]
    return b"".join(len(chunk).to_bytes(2, "big") + chunk for chunk in chunks) + b"\0\0"


def unpack(message: bytes) -> list[Any]:
    """The fields of a message."""
    buffer = packstream.UnpackableBuffer(message)
    unpacker = packstream.Unpacker(buffer)
    size, _ = unpacker.unpack_structure_header()
    return [unpacker.unpack() for _ in range(size)]


def transaction_of(bookmark: str) -> int:
    """The number of the transaction that a bookmark of one database stands for."""
    unpacker = packstream.Unpacker(packstream.UnpackableBuffer(base64.b64decode(bookmark.removeprefix("FB:"))))
    [_database] = unpacker.unpack()
    return int(unpacker.unpack())


class Member(Listener):
    """A member of a cluster: it passes on what it may."""

    def __init__(self, cluster: Cluster, uri: str) -> None:
        self.cluster = cluster
        self.is_up = True
        self.death: Death | None = None
        self.caught_up = threading.Event()
        self.caught_up.set()
        self.heard: list[Heard] = []
        self._links: set[socket.socket] = set()
        self._counted = 0
        super().__init__(uri)

    @property
    def leads(self) -> bool:
        return self.cluster.leader is self

    def die(self) -> None:
        """End all connections, and take no new ones."""
        self.is_up = False
        for link in list(self._links):
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)

    def __exit__(self, *_: object) -> None:
        self.caught_up.set()
        self.die()
        super().__exit__()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(self.server, timeout=10) as server, suppress(OSError):
            if not self.is_up:
                return
            self._links |= {client, server}
            _read_exactly(client, len(HANDSHAKE))
            server.sendall(HANDSHAKE)
            client.sendall(_read_exactly(server, 4))
            Relay(self, client, server).run()
            self._links -= {client, server}

    def dies_at(self, signature: int) -> Death | None:
        """The death that a message is, if it is one."""
        death = self.death
        if death is None or death.signature != signature:
            return None
        self._counted += 1
        if self._counted < death.number:
            return None
        self.death, self._counted = None, 0
        return death


def _read_exactly(source: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = source.recv(size - len(data))
        if not more:
            raise OSError("the connection has ended")
        data += more
    return data


class Relay:
    """One connection through a member."""

    def __init__(self, member: Member, client: socket.socket, server: socket.socket) -> None:
        self.member, self.client, self.server = member, client, server
        self._from_client, self._from_server = Frames(), Frames()
        self._in_transaction = self._writes = self._refuses = self._dies_at_reply = False

    def run(self) -> None:
        """Pass messages on, until a side ends or the member dies."""
        while not self._has_ended():
            for source in select.select([self.client, self.server], [], [], 0.1)[0]:
                data = source.recv(65536)
                if not data:
                    return
                ours = source is self.client
                for message, raw in (self._from_client if ours else self._from_server).hear(data):
                    (self._ask if ours else self._answer)(message, raw)
                    if self._has_ended():
                        return

    def _has_ended(self) -> bool:
        return not self.member.is_up or self.member.closing.is_set()

    def _ask(self, message: bytes, raw: bytes) -> None:
        signature = message[1] if message else None
        if self._refuses and signature != RESET:
            self.client.sendall(pack(IGNORED))
            return
        self._refuses = False
        if signature in {BEGIN, RUN} and not self._in_transaction:
            extra = unpack(message)[0 if signature == BEGIN else 2]
            heard = Heard(extra.get("mode", "w") == "w", list(extra.get("bookmarks") or ()))
            self.member.heard.append(heard)
            self._writes = heard.writes
            if heard.writes and not self.member.leads:
                self._refuses = True
                self.client.sendall(pack(FAILURE, NOT_A_LEADER))
                return
            if heard.bookmarks:
                self.member.caught_up.wait(MAX_LAG_S)
        self._in_transaction = signature == BEGIN or (self._in_transaction and signature not in TRANSACTION_ENDS)
        death = self.member.dies_at(signature) if signature is not None else None
        if death and not death.passed_on:
            self.member.die()
            return
        self.server.sendall(raw)
        self._dies_at_reply = self._dies_at_reply or death is not None

    def _answer(self, message: bytes, raw: bytes) -> None:
        found = unpack(message)[0] if message and message[1] == SUCCESS else {}
        if self._dies_at_reply:
            self.member.cluster.lost.extend(found.get("bookmark", "").split())
            self.member.die()
            return
        if self._writes and "bookmark" in found:
            self.member.cluster.bookmarks.append(found["bookmark"])
        if "rt" in found:
            raw = pack(SUCCESS, {**found, "rt": {**found["rt"], **self.member.cluster.table()}})
        if message and (death := self.member.dies_at(message[1])) and not death.passed_on:
            self.member.die()
            return
        self.client.sendall(raw)


class Cluster:
    """Some members in front of a server; the first leads, and all route."""

    def __init__(self, uri: str, members: int = 3) -> None:
        self.gone: list[str] = []
        """Addresses that the table names, where nobody is."""
        self.members = [Member(self, uri) for _ in range(members)]
        self.leader = self.members[0]
        self.bookmarks: list[str] = []
        """Of each write that was committed, as its member has answered it."""
        self.lost: list[str] = []
        """Of each write that was committed, and whose member died before it could say so."""

    @property
    def uri(self) -> str:
        """The address of the first member, as a client of a cluster names it."""
        return f"neo4j://{self.members[0].address}"

    @property
    def followers(self) -> list[Member]:
        return [member for member in self.members if member is not self.leader]

    def table(self) -> dict[str, Any]:
        """What a router answers: members that are up, and those that it does not know to be gone."""
        up = [member.address for member in self.members if member.is_up]
        readers = [member.address for member in self.followers if member.is_up]
        roles: Sequence[tuple[str, list[str]]] = (
            ("WRITE", [self.leader.address] if self.leader.is_up else []),
            ("READ", [*self.gone, *(readers or up)]),
            ("ROUTE", [*self.gone, *up]),
        )
        return {"ttl": TTL_S, "servers": [{"role": role, "addresses": addresses} for role, addresses in roles]}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for member in self.members:
            member.__exit__()
