"""The JSON in what a model says: all of it, in a fence, or somewhere in its prose."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

_FENCE = "```"
_LANGUAGE = re.compile(r"\s*[A-Za-z0-9_+-]*\s")
_OBJECT = re.compile(r'\{(?=[ \t\r\n]*["}])')
_OBJECT_OR_LIST = re.compile(r"[{\[]")

# An answer in prose has a few brackets at most; a hostile one could make each of them cost its whole length.
_MAX_OPENINGS = 200


def documents(text: str, *, lists: bool = False) -> Iterator[Any]:
    r"""The values that a text holds as JSON, the likeliest first; in prose only objects, unless `lists` are wanted.

    >>> next(documents('Sure:\n```json\n{"ok": true}\n```'))
    {'ok': True}
    >>> list(documents("I cannot"))
    []
    """
    for candidate in (text, *_fenced(text)):
        try:
            yield _DECODER.decode(candidate.strip("\ufeff \t\r\n"))
        except (ValueError, RecursionError):
            continue
    openings = (_OBJECT_OR_LIST if lists else _OBJECT).finditer(text)
    for match, _ in zip(openings, range(_MAX_OPENINGS), strict=False):
        try:
            yield _DECODER.raw_decode(text, match.start())[0]
        except (ValueError, RecursionError):
            continue


def _fenced(text: str) -> Iterator[str]:
    """What stands in each fence, without and with the name of its language."""
    for part in text.split(_FENCE)[1::2]:
        if language := _LANGUAGE.match(part):
            yield part[language.end() :]
        yield part


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
