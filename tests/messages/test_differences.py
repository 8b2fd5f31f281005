"""How two versions differ: as few messages as can be are removed and added, also where they repeat."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memorygraph.messages import history
from memorygraph.messages.history import difference
from memorygraph.messages.message import Message


def _messages(texts: Sequence[str]) -> list[Message]:
    return [Message.of({"role": "user", "content": text}) for text in texts]


def _longest_common(old: str, new: str) -> int:
    @cache
    def length(i: int, k: int) -> int:
        if i == len(old) or k == len(new):
            return 0
        return 1 + length(i + 1, k + 1) if old[i] == new[k] else max(length(i + 1, k), length(i, k + 1))

    return length(0, 0)


@given(st.text("abcd", max_size=20), st.text("abcd", max_size=20))
@example("xxx1a2b3c4", "1p2q3r4xxx")  # the longest run of them is no part of it
def test_what_is_neither_removed_nor_added_is_the_longest_list_that_both_have(old: str, new: str) -> None:
    before, after = _messages(old), _messages(new)
    found = difference(before, after)
    gone, come = dict(found.removed), dict(found.added)
    kept = [message for n, message in enumerate(before) if n not in gone]
    assert kept == [message for n, message in enumerate(after) if n not in come]
    assert len(kept) == _longest_common(old, new)
    assert [*gone] == sorted(gone)
    assert [*come] == sorted(come)
    assert all(before[n] == message for n, message in gone.items())
    assert all(after[n] == message for n, message in come.items())


def test_messages_that_repeat_one_by_one_are_looked_up_a_few_times_each(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 200
    old, new = (_messages([text for n in range(count) for text in (f"{name} {n}", "ok")]) for name in ("old", "new"))
    looked_up = 0

    def count_hash(message: Message) -> int:
        nonlocal looked_up
        looked_up += 1
        return hash(message.body)

    monkeypatch.setattr(Message, "__hash__", count_hash)
    found = difference(old, new)
    assert looked_up < 10 * len(old + new)
    assert found.removed == tuple(enumerate(old))[::2]
    assert found.added == tuple(enumerate(new))[::2]


def test_more_than_can_be_aligned_goes_between_what_is_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old, new = _messages("xabcay"), _messages("xbacby")
    assert len(difference(old, new).removed) == 2
    monkeypatch.setattr(history, "MAX_ALIGNED_BITS", 15)
    found = difference(old, new)
    assert (found.at, found.removed, found.added) == (1, tuple(enumerate(old))[1:-1], tuple(enumerate(new))[1:-1])
