"""What a text says of time, as the words that stand in what was said then.

What was said carries its day (`Ada (8 May 2023): …`), and so a day is found like any word. This says the days
that a text means in that form: `2023-05-08` and `May 8th, 2023` as they are, `yesterday` and `last week` counted from
when it is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta

from memorygraph.messages.findable import MONTHS, day

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_MONTH = "|".join([*MONTHS, "Sept", *(month[:3] for month in MONTHS)])
_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_MONTH_FIRST = re.compile(rf"\b({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}})\b", re.IGNORECASE)
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?({_MONTH})\.?,? (\d{{4}})\b", re.IGNORECASE)
_AGO = re.compile(r"\b(\d{1,3}|an?|one|two|three|four|five|six) (day|week|month|year)s? ago\b", re.IGNORECASE)
_LAST_DAY = re.compile(rf"\blast ({'|'.join(DAYS)})\b", re.IGNORECASE)
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_RELATIVE = {
    "today": ("day", 0),
    "yesterday": ("day", 1),
    "this week": ("week", 0),
    "last week": ("week", 1),
    "this month": ("month", 0),
    "last month": ("month", 1),
    "this year": ("year", 0),
    "last year": ("year", 1),
}
_SAID = re.compile(rf"\b({'|'.join(_RELATIVE)})\b", re.IGNORECASE)


def times_meant(text: str, at: datetime | None) -> list[str]:
    """The days, months and years that a text means, as they stand in what was said then.

    Without `at`, when it is asked, `yesterday` means nothing.

    >>> times_meant("What was on 2023-05-08?", None)
    ['8 May 2023']
    >>> times_meant("Where was she last month, and yesterday?", datetime(2023, 1, 1))
    ['31 December 2022', 'December 2022']
    """
    found = [*_named(text), *(_relative(text, at.date()) if at is not None else ())]
    return list(dict.fromkeys(found))


def _named(text: str) -> Iterator[str]:
    for match in _ISO.finditer(text):
        yield from _checked(int(match[1]), int(match[2]), int(match[3]))
    for match in _MONTH_FIRST.finditer(text):
        yield from _checked(int(match[3]), _month(match[1]), int(match[2]))
    for match in _DAY_FIRST.finditer(text):
        yield from _checked(int(match[3]), _month(match[2]), int(match[1]))


def _month(name: str) -> int:
    return next(place for place, month in enumerate(MONTHS, 1) if month.lower().startswith(name[:3].lower()))


def _checked(year: int, month: int, number: int) -> Iterator[str]:
    try:
        yield day(date(year, month, number))
    except ValueError:  # there is no such day
        return


def _relative(text: str, today: date) -> Iterator[str]:
    spans = [_RELATIVE[match[1].lower()] for match in _SAID.finditer(text)]
    spans += [(match[2].lower(), _NUMBERS.get(match[1].lower()) or int(match[1])) for match in _AGO.finditer(text)]
    for unit, before in sorted(spans, key=lambda span: ("day", "week", "month", "year").index(span[0])):
        yield from _span(unit, before, today)
    for match in _LAST_DAY.finditer(text):
        wanted = DAYS.index(match[1].capitalize())
        yield from _back(today, (today.weekday() - wanted - 1) % 7 + 1)


def _span(unit: str, before: int, today: date) -> Iterator[str]:
    """A day, each day of a week from Monday on, a month, or a year that lies so many units back."""
    if unit == "day":
        yield from _back(today, before)
    elif unit == "week":
        for weekday in range(7):
            yield from _back(today, today.weekday() - weekday + 7 * before)
    elif unit == "month":
        months = today.year * 12 + today.month - 1 - before
        yield f"{MONTHS[months % 12]} {months // 12}"
    else:
        yield str(today.year - before)


def _back(today: date, days: int) -> Iterator[str]:
    try:
        yield day(today - timedelta(days=days))
    except OverflowError:  # before the year 1
        return
