"""What does not fit memory is ordered as if it did."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorygraph.errors import MemoryGraphError
from memorygraph.graph import disk_sort
from memorygraph.graph.disk_sort import NumberedNodes, TextSet, sort_lines
from tests.full_disk import max_file_bytes

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, st.integers(0, 20))
def test_lines_come_in_their_order_however_few_are_held(
    monkeypatch: pytest.MonkeyPatch, lines: list[str], limit: int
) -> None:
    monkeypatch.setattr(disk_sort, "MAX_HELD_CHARACTERS", limit)
    assert list(sort_lines(iter(lines))) == sorted(lines)


@given(TEXTS)
def test_nodes_are_numbered_in_the_order_of_their_content(lines: list[str]) -> None:
    with closing(NumberedNodes((f"e{index}", line, 0, None) for index, line in enumerate(lines))) as nodes:
        assert list(nodes) == list(enumerate(sorted(lines), start=1))
        assert {nodes.number(f"e{index}") for index in range(len(lines))} == {*range(1, len(lines) + 1)}
        assert nodes.number("other") is None


def test_a_number_that_is_there_stays_and_others_follow() -> None:
    found = [("a", "z", 0, 1), ("b", "y", 0, None), ("c", "x", 0, None), ("d", "a", 0, 2)]
    with closing(NumberedNodes(found)) as nodes:
        assert list(nodes) == [(1, "z"), (2, "a"), (3, "x"), (4, "y")]


def test_nodes_of_the_same_content_are_numbered_by_their_relationships() -> None:
    with closing(NumberedNodes([("a", "x", 3, None), ("b", "x", 10, None), ("c", "x", 0, None)])) as nodes:
        assert [nodes.number(element) for element in "abc"] == [2, 3, 1]


@given(TEXTS, TEXTS)
def test_a_set_has_what_was_added(added: list[str], others: list[str]) -> None:
    with closing(TextSet()) as texts:
        for text in added:
            texts.add(text)
        assert [text in texts for text in added + others] == [text in added for text in added + others]


def hold(lines: Iterable[str]) -> None:
    with closing(TextSet()) as texts:
        for line in lines:
            texts.add(line)


USES: dict[str, Callable[[Iterable[str]], Any]] = {
    "sorting": lambda lines: list(sort_lines(lines)),
    "numbering": lambda lines: NumberedNodes((line, line, 0, None) for line in lines),
    "a set": hold,
}


@pytest.mark.parametrize("use", USES)
def test_a_folder_for_temporary_files_that_takes_no_more_is_named(monkeypatch: pytest.MonkeyPatch, use: str) -> None:
    monkeypatch.setattr(disk_sort, "MAX_HELD_CHARACTERS", 100)
    lines = (f"{number:05}" * 400 for number in range(5000))
    told = "temporary files, which takes no more: .* or name another folder with TMPDIR, and run the same command again"
    with (
        max_file_bytes(2**16),
        pytest.raises(MemoryGraphError, match=told),
    ):
        USES[use](lines)
