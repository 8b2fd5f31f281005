"""PETE's grammar for the servers of models that can hold a model to one, llama.cpp's among them.

The rules stand in pete.gbnf, since a grammar without priorities needs others than grammar.tx. The words are those of
grammar.tx: what a name is, and which words negate, conjoin or are constants, is derived.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from functools import cache
from itertools import groupby
from pathlib import Path
from string import ascii_lowercase
from typing import Literal

from memorygraph.languages.pete.items import RESERVED, WORDS


@cache
def grammar(root: Literal["log", "continuation"] = "log") -> str:
    """The GBNF of a whole log, or of what a model may write next: up to one command or question, and no feedback.

    >>> grammar("continuation").splitlines()[0]
    'root ::= continuation'
    """
    rules = Path(__file__).with_name("pete.gbnf").read_text("utf-8")
    lists = "".join(
        '{} ::= "{}"\n'.format(rule.lower(), '" | "'.join(WORDS[rule]))
        for rule in ("Negator", "Conjunction", "Constant")
    )
    return f"root ::= {root}\n\n{rules}\n{lists}\n{name_rules(RESERVED)}"


def name_rules(reserved: Set[str]) -> str:
    r"""The rules of a name, which is any word but the reserved ones; none of these begins another.

    Each rule says how a name may go on after the letters in the rule's own, where a reserved word still threatens.

    >>> print(name_rules({"at"}), end="")
    # A name is any word but: at.
    id ::= [b-zA-Z] id-rest | "a" id-a
    id-a ::= ([a-su-zA-Z0-9_] id-rest | "t" [a-zA-Z0-9_] id-rest)?
    """
    heading = f"# A name is any word but: {', '.join(sorted(reserved))}.\n"
    return heading + "".join(f"{rule}\n" for rule in _rules_after("", reserved))


def _rules_after(prefix: str, reserved: Set[str]) -> Iterator[str]:
    """The rule for what follows some letters, and those for what follows more."""
    following = sorted({word[len(prefix)] for word in reserved if word.startswith(prefix)})
    others = f"[{_class_of(set(ascii_lowercase) - set(following))}A-Z{'0-9_' if prefix else ''}] id-rest"
    options = [
        f'"{letter}" [a-zA-Z0-9_] id-rest' if prefix + letter in reserved else f'"{letter}" id-{prefix}{letter}'
        for letter in following
    ]
    body = " | ".join([others, *options])
    yield f"id-{prefix} ::= ({body})?" if prefix else f"id ::= {body}"
    for letter in following:
        if prefix + letter not in reserved:
            yield from _rules_after(prefix + letter, reserved)


def _class_of(letters: Set[str]) -> str:
    """Letters as a class of characters, with ranges.

    >>> _class_of(set("abcdfg"))
    'a-dfg'
    """
    runs = groupby(enumerate(sorted(letters)), lambda pair: ord(pair[1]) - pair[0])
    together = ("".join(letter for _, letter in run) for _, run in runs)
    return "".join(re.sub(r"(?<=.).+(?=.)", "-", run) for run in together)
