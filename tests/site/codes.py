"""The reference of the codes of problems, made from their table."""

from __future__ import annotations

from memorygraph.codes import CODES
from tests.site.markdown import table

INTRODUCTION = """\
# Codes of problems

<!-- made by `python -m tests.site` -->

Each problem that memorygraph finds in a script, a program or a bundle has one of these codes: `Problem.code` in Python,
`"code"` in `--json`. The messages are made for people and may change; the codes stay. The languages share one list.
A code in the reference of a language leads to an example of it.
"""


def page() -> str:
    """The page: every code, and what it says."""
    rows = [(f"`{code}`", said[0].upper() + said[1:]) for code, said in CODES.items()]
    return INTRODUCTION + "\n" + table(("Code", "What is wrong"), rows)
