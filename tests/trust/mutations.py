"""What makes a bad program of a good one: changes of its tokens, of its characters, and of its bytes."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from tests.trust.sentences import ODD

_TOKENS = re.compile(r'"[^"\n]{0,200}"|\w+|\s+|[^\w\s]')
_BRACKETS = ["()", "[]", "{}", '""', "''", "{{}}", "/**/", "@[]"]
_NUMBERS = [
    *["9" * 400, "9" * 4301, "0." + "1" * 2000, "1e999999", "1e-999999", "-0", "-0.0", ".5", "5.", "1.", "00", "0x10"],
    *["1_000", "1e5", "NaN", "inf", "-", "2k", "1.5kt", "9" * 25 + "k", "18446744073709551616", "\u0663", "1\xb2"],
]
_BYTES = [
    *[b"\x00", b"\xff", b"\xfe", b"\x80", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"\x1a"],
    *[b"\r\n", b"\r", b"\xe2\x82", b"\xe2\x80\xa8", b"\xc2\x85", b"\xff\xfe", b"\x1b[2J", b'"', b"\\", b"\n"],
]

Change = Callable[[list[str], Random, list[str]], None]


def tokens_of(text: str) -> list[str]:
    """A text in pieces of about a token each."""
    return _TOKENS.findall(text)


def _delete(tokens: list[str], draw: Random, _: list[str]) -> None:
    at = draw.randrange(len(tokens))
    del tokens[at : at + draw.choice([1, 1, 2, 5])]


def _repeat(tokens: list[str], draw: Random, _: list[str]) -> None:
    at = draw.randrange(len(tokens))
    tokens[at:at] = tokens[at : at + draw.choice([1, 1, 3])] * draw.choice([1, 1, 2, 40])


def _swap(tokens: list[str], draw: Random, _: list[str]) -> None:
    one, other = draw.randrange(len(tokens)), draw.randrange(len(tokens))
    tokens[one], tokens[other] = tokens[other], tokens[one]


def _borrow(tokens: list[str], draw: Random, others: list[str]) -> None:
    if others:
        at, start = draw.randrange(len(tokens)), draw.randrange(len(others))
        tokens[at : at + draw.randint(0, 1)] = others[start : start + draw.choice([1, 2, 10])]


def _splice(tokens: list[str], draw: Random, others: list[str]) -> None:
    tokens[draw.randrange(len(tokens)) :] = others[draw.randrange(len(others) + 1) :]


def _odd(tokens: list[str], draw: Random, _: list[str]) -> None:
    at = draw.randrange(len(tokens))
    middle = draw.randint(0, len(tokens[at]))
    tokens[at] = f"{tokens[at][:middle]}{draw.choice(ODD)}{tokens[at][middle + draw.randint(0, 1) :]}"


def _number(tokens: list[str], draw: Random, _: list[str]) -> None:
    numbers = [at for at, token in enumerate(tokens) if token[:1].isdecimal()]
    tokens[draw.choice(numbers or range(len(tokens)))] = draw.choice(_NUMBERS)


def _nest(tokens: list[str], draw: Random, _: list[str]) -> None:
    start = draw.randrange(len(tokens))
    end = draw.randint(start, min(len(tokens), start + 20))
    pair = draw.choice(_BRACKETS)
    half = len(pair) // 2
    deep = draw.choice([1, 1, 2, 5, 20])
    tokens[start:end] = [pair[:half] * deep, *tokens[start:end], pair[half:] * deep]


def _run(tokens: list[str], draw: Random, _: list[str]) -> None:
    piece = draw.choice([*"()[]{}\"'<>@&!;,.:=#\\/-+*?|^`~$%_ \n", "{{", "}}", "//", "/*", "---", draw.choice(tokens)])
    tokens.insert(draw.randrange(len(tokens)), piece * draw.choice([2, 3, 10, 120, 300]))


def _long(tokens: list[str], draw: Random, _: list[str]) -> None:
    at = draw.randrange(len(tokens))
    middle = len(tokens[at]) // 2
    filling = draw.choice(["x", " ", "\\", '\\"', "é", "0", "\n", draw.choice(ODD)]) * draw.choice(
        [70, 300, 300, 5000, 20_000]
    )
    tokens[at] = f"{tokens[at][:middle]}{filling}{tokens[at][middle:]}"


def _lines(tokens: list[str], draw: Random, _: list[str]) -> None:
    ending = draw.choice(["\r\n", "\r", "\u2028", "\x85", ""])
    tokens[:] = [token.replace("\n", ending) if token.isspace() else token for token in tokens]


CHANGES: list[Change] = [
    _delete,
    _delete,
    _repeat,
    _swap,
    _borrow,
    _splice,
    _odd,
    _odd,
    _number,
    _nest,
    _run,
    _long,
    _lines,
]


def mutated(text: str, draw: Random, other: str) -> str:
    """A program with a few changes; another one gives what is put into it."""
    tokens, others = tokens_of(text), tokens_of(other)
    for _ in range(draw.choice([1, 1, 2, 3, 6])):
        if not tokens:
            break
        draw.choice(CHANGES)(tokens, draw, others)
    return "".join(tokens)


def mutated_bytes(text: str, draw: Random) -> bytes:
    """A program as bytes that are no longer those of a text, or bytes that never were."""
    if draw.random() < 0.1:
        return draw.randbytes(draw.randint(0, 200))
    codec = draw.choices(["utf-8", "utf-8-sig", "utf-16", "latin-1"], [20, 3, 1, 1])[0]
    data = bytearray(text.encode(codec, "surrogatepass" if codec.startswith("utf") else "replace"))
    for _ in range(draw.choice([1, 1, 2, 4, 12])):
        at = draw.randint(0, len(data))
        data[at : at + draw.choice([0, 0, 1, 1, 2, 30])] = draw.choice([b"", draw.randbytes(1), draw.choice(_BYTES)])
    return bytes(data)
