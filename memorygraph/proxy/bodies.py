"""The bodies of requests and responses: how they are read from a connection, and what they say of a recorded call."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from email.message import Message
from io import BufferedIOBase
from typing import Any

from memorygraph.json_text import parse_json
from memorygraph.messages.calls import APIS, CHAT, response_document
from memorygraph.messages.chunks import chat_document
from memorygraph.proxy.access import ProxyRefusalError

BLOCK_BYTES = 1 << 16
MAX_RECORDED_BYTES = 64 << 20  # of one body; a longer one is forwarded, and its call is not recorded
MAX_LINE_BYTES = 1 << 12  # of the head of a chunk

_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32  # by what stands at the beginning
_GZIP_BEGIN = b"\x1f"
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")
_EVENT_ENDS = re.compile(r"\r\n|\n|\r")
DECODED = frozenset({"gzip", "deflate", "identity"})  # the encodings of an answer that can be recorded


class Body:
    """A body that is forwarded piece by piece; `content` is what came, while that is short enough to record."""

    def __init__(self) -> None:
        self._pieces: list[bytes] | None = []
        self._size = 0

    def add(self, piece: bytes) -> None:
        """Keep a piece, unless the body has grown too long."""
        self._size += len(piece)
        if self._size > MAX_RECORDED_BYTES:
            self._pieces = None
        elif self._pieces is not None:
            self._pieces.append(piece)

    @property
    def content(self) -> bytes:
        """All that came.

        Raises:
            ValueError: it is too long to record.
        """
        if self._pieces is None:
            raise ValueError(f"its body is longer than {MAX_RECORDED_BYTES >> 20} MiB")
        return b"".join(self._pieces)


class RequestBody:
    """The body of a request, piece by piece as it comes, once; `ended` says whether all of it was read.

    Raises:
        ProxyRefusalError: the headers do not say where the body ends.
    """

    def __init__(self, stream: BufferedIOBase, headers: Message) -> None:
        self.ended = False
        self._pieces: Iterator[bytes] = iter(())
        encoding, lengths = headers.get("transfer-encoding"), headers.get_all("content-length", [])
        self.exists = encoding is not None or bool(lengths)
        if encoding is not None:
            if encoding.strip().lower() != "chunked" or lengths:
                raise ProxyRefusalError(400, "the end of the body is not clear: send a Content-Length, or chunks")
            self._pieces = read_chunks(stream)
        elif lengths:
            if len(lengths) > 1 or not (lengths[0].isascii() and lengths[0].isdigit()):
                raise ProxyRefusalError(400, "the Content-Length is not a number")
            self._pieces = read_length(stream, int(lengths[0]))
        else:
            self.ended = True

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces
        self.ended = True


def read_length(stream: BufferedIOBase, length: int) -> Iterator[bytes]:
    """Yield the pieces of a body of known length."""
    while length > 0:
        piece = stream.read(min(length, BLOCK_BYTES))
        if not piece:
            raise ConnectionAbortedError("the request ended before its end")
        length -= len(piece)
        yield piece


def read_chunks(stream: BufferedIOBase) -> Iterator[bytes]:
    """Yield the pieces of a body that comes in chunks; what may follow its last chunk is read and dropped."""
    while True:
        size = _CHUNK_SIZE.match(stream.readline(MAX_LINE_BYTES))
        if size is None:
            raise ConnectionAbortedError("the request has a chunk without a size")
        length = int(size[0], 16)
        if length == 0:
            break
        yield from read_length(stream, length)
        stream.readline(MAX_LINE_BYTES)
    while stream.readline(MAX_LINE_BYTES).strip():
        pass


def decode(body: bytes, encoding: str) -> bytes:
    """Return a response's body without its content encoding.

    >>> import gzip
    >>> decode(gzip.compress(b"{}"), "gzip")
    b'{}'

    Raises:
        ValueError: the encoding is another one, the body is not in it, or it unpacks to more than is recorded.
    """
    for name in reversed([part.strip().lower() for part in encoding.split(",") if part.strip()]):
        if name == "identity":
            continue
        if name not in {"gzip", "x-gzip", "deflate"}:
            raise ValueError(f"the answer is encoded by {name}")
        unpacked, unpacker, place = bytearray(), zlib.decompressobj(wbits=_GZIP_OR_ZLIB), 0
        while place < len(body):
            block = body[place : place + BLOCK_BYTES]
            if unpacker.eof:  # a body may have several members, and other bytes behind the last
                if not block.startswith(_GZIP_BEGIN):
                    break
                unpacker = zlib.decompressobj(wbits=_GZIP_OR_ZLIB)
            try:
                unpacked += unpacker.decompress(block, MAX_RECORDED_BYTES + 1 - len(unpacked))
            except zlib.error as error:
                raise ValueError(f"the answer is not {name}: {error}") from None
            if len(unpacked) > MAX_RECORDED_BYTES:
                raise ValueError(f"the answer unpacks to more than {MAX_RECORDED_BYTES >> 20} MiB")
            place += len(block) - len(unpacker.unused_data)
        body = bytes(unpacked)
    return body


def read_events(text: str) -> Iterator[Any]:
    r"""Yield the JSON documents in a stream of server-sent events, up to the first that did not come whole.

    >>> list(read_events('data: {"a": 1}\n\n: a comment\ndata: [DONE]\n\ndata: {"b"'))
    [{'a': 1}]
    """
    data: list[str] = []
    for line in _EVENT_ENDS.split(text):
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and data:
            event, data = "\n".join(data), []
            if event.strip() in {"", "[DONE]"}:  # an endpoint that thinks may send events without data
                continue
            try:
                document = parse_json(event)
            except ValueError:
                return
            yield document


def parse_answer(api: str, content: bytes, content_type: str) -> tuple[dict[str, Any], bool]:
    """Return the document that an answer is, or that its stream tells; and whether it must have come whole.

    Raises:
        ValueError: it is not JSON, or not an object.
    """
    if content_type.partition(";")[0].strip().lower() == "text/event-stream":
        events = [event for event in read_events(content.decode("utf-8", "replace")) if isinstance(event, dict)]
        return (chat_document if api == CHAT else response_document)(events), False
    try:
        document = parse_json(content)
    except ValueError as error:
        path = next(path for path, name in APIS.items() if name == api)
        raise ValueError(f"the endpoint's answer to {path} is not JSON ({content_type}; {error})") from error
    if not isinstance(document, dict):
        raise ValueError("the answer is not an object")  # noqa: TRY004 - a value of the wire, not of a caller
    return document, True
