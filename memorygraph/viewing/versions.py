"""The versions of a conversation side by side: what they have in common, where they part, and what was edited."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter

from memorygraph.messages.history import MessageEntry, Version, first_difference
from memorygraph.messages.message import Message

# What repeats, such as a comma, is compared with each of its like for each run that is equal: a second at these limits.
MAX_ALIGNED = 250_000  # pairs of messages that are compared with each other; more are paired by their places
MAX_WORDS = 800  # and signs of a message whose edited words are marked
WORDS = re.compile(r"(\w+|[^\w\s]|\A)(\s*)")  # each with the blank after it, which is no word that repeats

Words = tuple[tuple[str, str], ...]
SpacedWord = tuple[str, str]
Opcode = tuple[str, int, int, int, int]


@dataclass(frozen=True)
class MessageEdit:
    """How a message of a version differs from the version that it parts from: `same`, `edited` or `added`."""

    kind: str
    before: Message | None = None


@dataclass(frozen=True)
class VersionColumn:
    """The messages of a version that no column before it shows, from the index `at` on.

    `parts_from` is the number of the version that it has the messages before `at` in common with. `removed` are those
    messages of that version that have no place here, by the index before which they stood.
    """

    version: Version
    at: int
    entries: tuple[MessageEntry, ...]
    parts_from: int | None = None
    edits: Mapping[int, MessageEdit] = field(default_factory=dict)
    removed: Mapping[int, tuple[Message, ...]] = field(default_factory=dict)


def arrange_columns(paths: Mapping[int, Sequence[MessageEntry]], versions: Sequence[Version]) -> list[VersionColumn]:
    """Arrange versions as columns; each stored message is in one of them only.

    Each version parts from an earlier one: from the one that it replaced, if none has more in common with it.
    """
    owners: dict[str, int] = {}
    columns: list[VersionColumn] = []
    for version in versions:
        path = paths[version.number]
        at = len(path)
        while at and path[at - 1].id not in owners:
            at -= 1
        if not columns:
            columns.append(VersionColumn(version, 0, tuple(path)))
        else:
            first = columns[0].version.number
            base = owners[path[at - 1].id] if at else first
            replaced = paths.get(version.replaces or 0, ())
            if version.replaces is not None and (
                not at or (len(replaced) >= at and replaced[at - 1].id == path[at - 1].id)
            ):
                base = version.replaces
            edits, removed = compare_messages(paths[base][at:], path[at:], at)
            columns.append(VersionColumn(version, at, tuple(path[at:]), base, edits, removed))
        owners.update((entry.id, version.number) for entry in path[at:])
    return columns


def compare_messages(
    old: Sequence[MessageEntry], new: Sequence[MessageEntry], start: int
) -> tuple[dict[int, MessageEdit], dict[int, tuple[Message, ...]]]:
    """How each message of `new` came from `old`, and the messages of `old` that are gone, by indexes from `start`."""
    before, after = [entry.message for entry in old], [entry.message for entry in new]
    edits: dict[int, MessageEdit] = {}
    removed: dict[int, tuple[Message, ...]] = {}
    for tag, i, j, k, m in align(before, after):
        for offset in range(m - k):
            place = start + k + offset
            if tag == "equal":
                edits[place] = MessageEdit("same", before[i + offset])
            elif i + offset < j and before[i + offset].role == after[k + offset].role:
                edits[place] = MessageEdit("edited", before[i + offset])
            else:
                edits[place] = MessageEdit("added")
        kept = {i + n for n in range(m - k) if edits[start + k + n].before is not None}
        if gone := tuple(before[n] for n in range(i, j) if n not in kept):
            removed[start + m] = gone
    return edits, removed


def align(before: Sequence[Message], after: Sequence[Message]) -> list[Opcode]:
    """Align two lists of messages, as the opcodes of `SequenceMatcher`."""
    head = first_difference(before, after)
    tail = first_difference(before[head:][::-1], after[head:][::-1])
    i, k = len(before) - tail, len(after) - tail
    codes: list[Opcode] = [("equal", 0, head, 0, head)]
    if (i - head) * (k - head) > MAX_ALIGNED:
        codes.append(("replace", head, i, head, k))
    else:
        # autojunk would take messages that repeat, such as "ok", for noise.
        matcher = SequenceMatcher(None, before[head:i], after[head:k], autojunk=False)
        codes += [(tag, head + a, head + b, head + c, head + d) for tag, a, b, c, d in matcher.get_opcodes()]
    return [*codes, ("equal", i, len(before), k, len(after))]


def mark_words(before: str, after: str) -> Words:
    """The words of two texts in their order, each run of them `same`, `removed` or `added`.

    >>> mark_words("Good day, Ada", "Good night, Ada")
    (('same', 'Good '), ('removed', 'day'), ('added', 'night'), ('same', ', Ada'))
    """
    old, new = WORDS.findall(before), WORDS.findall(after)
    if max(len(old), len(new)) > MAX_WORDS:
        return (("removed", before), ("added", after))
    marked: list[tuple[str, str]] = []
    matcher = SequenceMatcher(None, [word for word, _ in old], [word for word, _ in new], autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            for (word, former_blank), (_, blank) in zip(old[i:j], new[k:m], strict=True):
                marked += [("same", word), *mark_replaced([("", former_blank)], [("", blank)])]
        else:
            marked += mark_replaced(old[i:j], new[k:m])
    runs = groupby(((kind, text) for kind, text in marked if text), key=itemgetter(0))
    return tuple((kind, "".join(text for _, text in run)) for kind, run in runs)


def mark_replaced(old: Sequence[SpacedWord], new: Sequence[SpacedWord]) -> Words:
    """Mark words that others replace; a blank that both end with stays.

    >>> mark_replaced([("day", " ")], [("night", " ")])
    (('removed', 'day'), ('added', 'night'), ('same', ' '))
    """
    tail = old[-1][1] if old and new and old[-1][1] == new[-1][1] else ""
    removed, added = ("".join(map("".join, words)) for words in (old, new))
    return (("removed", removed.removesuffix(tail)), ("added", added.removesuffix(tail)), ("same", tail))
