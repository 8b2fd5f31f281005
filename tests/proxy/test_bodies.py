"""Bodies of answers as an endpoint may send them: what can be read of one is recorded."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import pytest

from memorygraph.proxy import bodies
from memorygraph.proxy.bodies import decode, read_events

EVENTS: dict[str, tuple[str, list[Any]]] = {
    "heartbeat without data": ("data:\n\ndata: 1\n\ndata: \n\ndata: 2\n\n", [1, 2]),
    "heartbeat of a comment": (": ping\n\ndata: 1\n\n", [1]),
    "no JSON": ("data: 1\n\ndata: oops\n\ndata: 2\n\n", [1]),
    "cut within an event": ('data: 1\n\ndata: {"a"\n\n', [1]),
    "cut before its end": ('data: 1\n\ndata: {"a"', [1]),
    "nested too deep": (f"data: 1\n\ndata: {'[' * 9000}\n\n", [1]),
    "several lines": ('data: {"a":\ndata: 1}\n\ndata: [DONE]\n\n', [{"a": 1}]),
}


@pytest.mark.parametrize(("text", "events"), EVENTS.values(), ids=EVENTS)
def test_events_are_read_as_far_as_they_came_whole(text: str, events: list[Any]) -> None:
    assert list(read_events(text)) == events


PACKED: dict[str, tuple[bytes, str]] = {
    "one member": (gzip.compress(b"Hello"), "gzip"),
    "several members": (gzip.compress(b"He") + gzip.compress(b"") + gzip.compress(b"llo"), "gzip"),
    "other bytes behind it": (gzip.compress(b"Hello") + bytes(512) + b"x", "gzip"),
    "deflate": (zlib.compress(b"Hello"), "deflate"),
    "twice": (gzip.compress(gzip.compress(b"Hel") + gzip.compress(b"lo")), "gzip, x-gzip"),
    "identity": (b"Hello", "identity"),
}


@pytest.mark.parametrize(("packed", "encoding"), PACKED.values(), ids=PACKED)
@pytest.mark.parametrize("block", [1, bodies.BLOCK_BYTES])
def test_a_packed_body_is_unpacked_whole(
    packed: bytes, encoding: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "BLOCK_BYTES", block)
    assert decode(packed, encoding) == b"Hello"


def test_a_packed_body_that_was_cut_is_unpacked_as_far_as_it_came() -> None:
    packed = gzip.compress(b"Hel") + gzip.compress(b"lo")
    assert decode(packed[:-2], "gzip") == b"Hello"


@pytest.mark.parametrize(
    "packed", [gzip.compress(bytes(11)), gzip.compress(bytes(6)) * 2], ids=["one member", "two members"]
)
def test_a_body_that_unpacks_to_more_than_is_recorded_is_refused(
    packed: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "MAX_RECORDED_BYTES", 10)
    with pytest.raises(ValueError, match="more than"):
        decode(packed, "gzip")
    assert decode(gzip.compress(bytes(10)), "gzip") == bytes(10)
