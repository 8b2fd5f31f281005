"""Regular expressions that mean the same on every Python.

Before Python 3.11.5 a possessive group, such as `(?:a|b)*+`, matches what it should not, or fails where it should
match (python/cpython#106052 and #100061). A greedy group inside an atomic one means the same, and is right there; later
versions are left the possessive group, which keeps no way back for each of its rounds.
"""

from __future__ import annotations

import re
import sys

POSSESSIVE_GROUPS_WORK = sys.version_info >= (3, 11, 5)

_PIECE = re.compile(
    r"""
    (?P<whole> \\. | \[ \^? \]? (?: \\. | [^\]\\] )* \] )   # an escape, or a set of characters
    | (?P<opening> \( )
    | \) (?P<times> [*+?] | \{ [0-9,]+ \} ) (?P<possessive> \+ )
    | (?P<closing> \) )
    | .
    """,
    re.VERBOSE | re.DOTALL,
)


def compile_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compile a pattern that may hold possessive groups."""
    return re.compile(pattern if POSSESSIVE_GROUPS_WORK else without_possessive_groups(pattern), flags)


def without_possessive_groups(pattern: str) -> str:
    r"""Write each possessive group as an atomic one that is greedy inside.

    >>> without_possessive_groups(r"(?:a|[)]\))*+b++(c){2,}+")
    '(?>(?:a|[)]\\))*)b++(?>(c){2,})'
    """
    written: list[str] = []
    openings: list[int] = []  # where in it the groups begin that are not closed yet
    for piece in _PIECE.finditer(pattern):
        if piece["opening"]:
            openings.append(len(written))
        elif piece["possessive"]:
            start = openings.pop()
            written[start:] = ["(?>", *written[start:], f"){piece['times']}", ")"]
            continue
        elif piece["closing"]:
            openings.pop()
        written.append(piece[0])
    return "".join(written)
