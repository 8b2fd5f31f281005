"""How an error in a script is shown."""

from __future__ import annotations

import pytest

from memorygraph.errors import MAX_SHOWN_LINE, Problem


def shown(line: str, marked: str) -> str:
    """What the carets for a part of a line are shown as."""
    problem = Problem("wrong", "syntax", None, 1, line.index(marked) + 1, len(marked), line)
    return str(problem).split("\n")[-1][len("    ") :]


@pytest.mark.parametrize(
    ("line", "marked", "carets"),
    [
        ("a = bc", "bc", "    ^^"),
        ("\ta = b", "b", "     ^"),
        ("日本 = b", "b", "       ^"),
        ("ａ = b", "b", "     ^"),  # noqa: RUF001 - a letter of two columns
        ("a = 日本 b", "日本", "    ^^^^"),
        ("😀 = b", "b", "     ^"),
        ("e\u0301 = b", "b", "    ^"),
        ("❤\ufe0f = b", "b", "    ^"),
        ("\u1100\u1161\u11a8\u1102\u1161 = b", "b", "       ^"),  # 각나, as macOS names files
        ("a = e\u0301e\u0301", "e\u0301e\u0301", "    ^^"),
        ("a = \u0301", "\u0301", "    ^"),
        ("日" * MAX_SHOWN_LINE + "b", "b", "  " * (MAX_SHOWN_LINE // 2) + "^"),
    ],
)
def test_carets_stand_below_what_they_mark_however_wide_that_is(line: str, marked: str, carets: str) -> None:
    assert shown(line, marked) == carets


def test_a_caret_stands_after_a_line_whose_end_is_wrong() -> None:
    assert str(Problem("wrong", "syntax", None, 1, 3, 1, "日本")).split("\n")[-1] == "        ^"
