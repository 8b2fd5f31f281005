"""What texts say of time, and when that was; the words of a text, and the query of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorygraph.memory.words import times_meant, words_of, words_query
from memorygraph.messages.indexing import index_row
from memorygraph.messages.message import Message

ASKED = datetime(2024, 3, 6, 12, tzinfo=UTC)  # a Wednesday
LAST_WEEK = [f"{day} February 2024" for day in range(26, 30)] + [f"{day} March 2024" for day in (1, 2, 3)]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("what did she say yesterday?", ["5 March 2024"]),
        ("Today and YESTERDAY", ["6 March 2024", "5 March 2024"]),
        ("who came last week", LAST_WEEK),
        ("this month or last month", ["March 2024", "February 2024"]),
        ("last year", ["2023"]),
        ("three days ago", ["3 March 2024"]),
        ("3 months ago", ["December 2023"]),
        ("a week ago", LAST_WEEK),
        ("last Friday", ["1 March 2024"]),
        ("last wednesday", ["28 February 2024"]),
        ("on 2024-02-29", ["29 February 2024"]),
        ("on 2023-02-29 and 2023-13-01", []),
        ("on May 8, 2023 and May 9th 2023", ["8 May 2023", "9 May 2023"]),
        ("on the 8th of Sept 2023, or 9 oct. 2023", ["8 September 2023", "9 October 2023"]),
        ("999 days ago and 999 years ago", ["11 June 2021", "1025"]),
        ("at last we met", []),
    ],
)
def test_a_time_is_meant(text: str, meant: list[str]) -> None:
    assert times_meant(text, ASKED) == meant


def test_today_is_that_of_utc_as_messages_are_stored() -> None:
    morning_in_tokyo = datetime(2024, 5, 2, 8, tzinfo=timezone(timedelta(hours=9)))
    assert times_meant("What did I say today?", morning_in_tokyo) == ["1 May 2024"]
    message = Message.of({"role": "user", "content": "Hi"})
    assert index_row("a", message, morning_in_tokyo)["said"] == "user (1 May 2024): Hi"


def test_of_very_many_days_the_first_and_the_last_ones_are_meant() -> None:
    days = [f"{year}-01-02" for year in range(1000, 2200)]
    assert times_meant(" ".join(days), ASKED) == [
        f"2 January {year}" for year in (*range(1000, 1032), *range(2168, 2200))
    ]


def test_without_a_time_of_asking_only_what_is_named_is_meant() -> None:
    assert times_meant("yesterday, or on 2024-01-02", None) == ["2 January 2024"]


@given(st.text() | st.from_regex(r"(\d{1,4}[- ]){1,3}(days|weeks|months|years) ago"), st.datetimes())
def test_any_text_can_be_read(text: str, at: datetime) -> None:
    assert all(isinstance(meant, str) for meant in times_meant(text, at))


# What a pattern takes for an `i`, a `k` or an `s` where case does not count.
SAME = {"i": "iI\u0130\u0131", "k": "kK\u212a", "s": "sS\u017f"}


@pytest.mark.parametrize(
    "text",
    [
        *("this week", "last week", "this month", "six days ago", "six weeks ago", "3 weeks ago"),
        *("last Tuesday", "last Saturday", "2 Sept 2023", "April 2, 2023", "on 2 October 2023"),
    ],
)
@given(st.data())
def test_a_time_in_any_letters_that_count_as_its_own_can_be_read(text: str, data: st.DataObject) -> None:
    drawn = [data.draw(st.sampled_from(SAME.get(letter.lower(), letter))) for letter in text]
    assert all(isinstance(meant, str) for meant in times_meant("".join(drawn), ASKED))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("When did Caroline go to the support group's picnic?", ["Caroline", "go", "support", "group", "picnic"]),
        ("Who is it?", ["Who", "is", "it"]),
        ('" AND (', ["AND"]),
    ],
)
def test_words_that_only_join_are_left_out(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_of_very_many_words_the_first_and_the_last_ones_are_looked_for() -> None:
    words = [f"lorem{number}" for number in range(70)]
    assert words_of(" ".join(words)) == [*words[:32], *words[-32:]]
    assert words_of(" ".join(words[:64])) == words[:64]


def test_a_query_has_words_and_pairs_and_times_after_the_tokens() -> None:
    assert words_query(["red", "car"], ["1 May 2023"], ["7"], {"said": 1}) == (
        '+namespace_token:"7"^0 said:"red" said:"car" said:"red car" said:"1 May 2023" '
        'said_parts:"red" said_parts:"car"'
    )


def test_a_query_for_all_hits_takes_no_document_without_a_word() -> None:
    assert words_query(["red"], [], ["7"], {"said": 1}, of_all=True) == (
        '+namespace_token:"7"^0 +(said:"red" said_parts:"red")'
    )
