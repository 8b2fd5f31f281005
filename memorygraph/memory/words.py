"""The words and times of a text as a full-text query that never fails to parse.

Words that only ask or join (`what`, `did`) are left out: on conversations this alone gains four points of evidence.
The indexed text of a message carries its day (`Ada (8 May 2023): …`), and the days of a question come out in that form.
A general date parser would not do: it gives one date, and `last week` asks for seven.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from itertools import pairwise

import regex

from memorygraph.graph.search import any_of, require_token
from memorygraph.messages.indexing import MONTHS, day_text, in_utc
from memorygraph.word_parts import MAX_TERMS, POSSESSIVE, Terms, keep_ends, segments_of, words_with_signs

MAX_TERM_CHARACTERS = 255

# A word with its marks and its inner apostrophes, or signs that are not letters, such as an emoji, which may be joined.
_TERM = regex.compile(
    r"(?![\p{M}\u200d])[\w\p{M}]+(?:['\u2019][\w\p{M}]+)*|(?:[^\w\s\x00-\x7f\ud800-\udfff]|[\p{M}\u200d])+"
)
_JOINING_WORDS = """
a about an and are as at be been being but by can could did do does done for from had has have having he her him his
how i if in into is it its just me might must my no not of on or our shall she should so than that the their them
then there these they this those to too us very was we were what when where which who whom whose why will with would
you your
"""
JOINING = frozenset(_JOINING_WORDS.split())

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_MONTH = "|".join([*MONTHS, "Sept", *(month[:3] for month in MONTHS)])
_MONTH_NUMBERS = {month[:3].casefold(): number for number, month in enumerate(MONTHS, start=1)}
_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_MONTH_FIRST = re.compile(rf"\b({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}})\b", re.IGNORECASE)
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?({_MONTH})\.?,? (\d{{4}})\b", re.IGNORECASE)
# What is looked up afterwards is in letters of English only (`(?a:`): with re.IGNORECASE an `i` is also a dotless one,
# whose lower case is no `i`.
_AGO = re.compile(r"\b(\d{1,3}|(?a:an?|one|two|three|four|five|six)) ((?a:day|week|month|year))s? ago\b", re.IGNORECASE)
_LAST_DAY = re.compile(rf"\blast ((?a:{'|'.join(DAYS)}))\b", re.IGNORECASE)
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
_TOLD = "(?:say|said|tell|told|suggest|recommend|advise|mention|propose)"
_ASKS_ASSISTANT = re.compile(
    rf"\b(?:did|have|had) you (?:\w+ )?{_TOLD}|\byour (?:answer|advice|suggestion)", re.IGNORECASE
)
_SAID = re.compile(rf"\b((?a:{'|'.join(_RELATIVE)}))\b", re.IGNORECASE)


def words_of(text: str) -> list[str]:
    """The words of a text without joining ones, each once; all of its words if it has no others.

    Of more than `MAX_TERMS` those in the middle are left out.

    >>> words_of("When did Ada move to example.com?")
    ['Ada', 'move', 'example.com', 'example', 'com']
    """
    found = list[str]()
    for part in text.split():
        found += words_with_signs(part)
        stems = (POSSESSIVE.sub("", term) for term in _TERM.findall(part))
        found += (segment.text for stem in stems for segment in segments_of(stem))
    # Reversed twice, so that the first spelling of a word counts.
    once = {word.casefold(): word[:MAX_TERM_CHARACTERS] for word in reversed(found) if word}
    terms = list(reversed(once.values()))
    return keep_ends([term for term in terms if term.casefold() not in JOINING] or terms, MAX_TERMS)


def asks_assistant(text: str) -> bool:
    """Whether a question is about what the assistant said.

    >>> asks_assistant("Which book did you recommend to me?"), asks_assistant("Can you tell me what I planned?")
    (True, False)
    """
    return _ASKS_ASSISTANT.search(text) is not None


def words_query(
    words: Sequence[str],
    phrases: Sequence[str],
    tokens: Sequence[str],
    fields: Mapping[str, int],
    *,
    of_all: bool = False,
) -> str:
    """A Lucene query for any of the words in these fields, in documents with all of the tokens.

    `of_all` is for a query whose hits are not limited: a document without any of the words is no hit of it. Without
    that, the index finds the best few sooner.
    """
    found = Terms.of(words)
    # Neighbours count once more where they are neighbours in a hit, too: `support group`.
    pairs = [f"{first} {second}" for first, second in pairwise(words) if {first, second} <= {*found.text}]
    required = map(require_token, tokens)  # what only they match has a score of zero
    clauses = list(any_of(Terms([*found.text, *pairs, *phrases], found.parts, found.signs), fields))
    if of_all and clauses:
        clauses = [f"+({' '.join(clauses)})"]
    return " ".join([*required, *clauses])


def times_meant(text: str, at: datetime | None) -> list[str]:
    """The days, months and years that a text refers to, as indexed messages write them."""
    relative = find_relative_times(text, in_utc(at).date()) if at is not None else ()
    # A text of many days, such as a log, would have more terms than a query of Lucene may.
    return keep_ends(list(dict.fromkeys([*find_dates(text), *relative])), MAX_TERMS)


def find_dates(text: str) -> Iterator[str]:
    """The dates in a text."""
    found = [(match[1], match[2], match[3]) for match in _ISO.finditer(text)]
    found += [(match[3], match[1], match[2]) for match in _MONTH_FIRST.finditer(text)]
    found += [(match[3], match[2], match[1]) for match in _DAY_FIRST.finditer(text)]
    for year, name, number in found:
        month = int(name) if name.isdigit() else _MONTH_NUMBERS[name[:3].casefold()]
        with suppress(ValueError):  # there is no such day
            yield day_text(date(int(year), month, int(number)))


def find_relative_times(text: str, today: date) -> Iterator[str]:
    """The days, months and years in a text that count from today."""
    spans = [_RELATIVE[match[1].lower()] for match in _SAID.finditer(text)]
    spans += [(match[2].lower(), _NUMBERS.get(match[1].lower()) or int(match[1])) for match in _AGO.finditer(text)]
    # Days before weeks before months: the most exact terms come first.
    for unit, before in sorted(spans, key=lambda span: ("day", "week", "month", "year").index(span[0])):
        yield from times_before(today, unit, before)
    for match in _LAST_DAY.finditer(text):
        wanted = DAYS.index(match[1].capitalize())
        yield from times_before(today, "day", (today.weekday() - wanted - 1) % 7 + 1)


def times_before(today: date, unit: str, before: int) -> Iterator[str]:
    """The day, the days of the week from Monday on, the month, or the year `before` units ago."""
    if unit in {"day", "week"}:
        monday = today.weekday() + 7 * before
        for days in [before] if unit == "day" else range(monday, monday - 7, -1):
            with suppress(OverflowError):  # before the year 1
                yield day_text(today - timedelta(days=days))
    elif unit == "month":
        months = today.year * 12 + today.month - 1 - before
        yield f"{MONTHS[months % 12]} {months // 12}"
    else:
        yield str(today.year - before)
