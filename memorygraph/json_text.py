"""JSON texts are read here and nowhere else: how deep a text nests is checked before Python's parser sees it.

The parser takes a piece of the C stack for each level. With little of it left, or with a recursion limit that the
embedding program has raised, a text of nothing but brackets would end the process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, TypeVar

from memorygraph.errors import MemoryGraphError

MAX_JSON_DEPTH = 200  # levels of lists and objects inside one another
MAX_STORED_JSON_DEPTH = 250  # of what the package wrote itself: a document from outside, with some levels around it


class UnreadableRecord(MemoryGraphError, ValueError):  # noqa: N818 - the name says it
    """What is stored is not JSON any more, or nests deeper than anything that was stored here."""


_Result = TypeVar("_Result")

HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair: no text in UTF-8 has it."""


_TOKEN = re.compile(r'[\[\]{}"]|\\.', re.DOTALL)


def parse_json(
    text: str | bytes | bytearray, *, strict: bool = False, read_object: Callable[[list[Any]], Any] | None = None
) -> Any:
    """Parse a JSON text; `strict` refuses `NaN` and `Infinity`, which Python reads and JSON does not have.

    `read_object` is given the pairs of each object, and returns what is to stand for it: with `dict`, which is the
    default, the last of two equal keys wins.

    >>> parse_json('{"a": [1, "]"]}')
    {'a': [1, ']']}
    >>> parse_json("[" * 90_000)
    Traceback (most recent call last):
    json.decoder.JSONDecodeError: nested more than 200 levels deep: line 1 column 201 (char 200)

    Raises:
        ValueError: the text is not JSON, or nests more than `MAX_JSON_DEPTH` levels; a `JSONDecodeError` says where.
    """
    constant = _refuse_constant if strict else None
    return _parse(text, MAX_JSON_DEPTH, read_constant=constant, read_object=read_object)


def parse_stored_json(text: str | bytes, *, read_constant: Callable[[str], Any] | None = None) -> Any:
    """Parse a JSON text that the package wrote: some levels may stand around a document from outside.

    `read_constant` is given the names of `NaN`, `Infinity` and `-Infinity`, and returns what is to stand for them.

    Raises:
        UnreadableRecord: the text is not JSON, or nests more than `MAX_STORED_JSON_DEPTH` levels. It is a ValueError.
    """
    try:
        return _parse(text, MAX_STORED_JSON_DEPTH, read_constant=read_constant)
    except ValueError as error:
        raise UnreadableRecord(f"a stored text is not the JSON that was written: {error}") from error


def format_json(value: Any, **options: Any) -> str:
    """A value as JSON, with options of `json.dumps`: what JSON does not know is its text, NaN and infinity are null.

    >>> format_json({"what": {1}, "weight": float("nan")})
    '{"what": "{1}", "weight": null}'
    """
    try:
        return json.dumps(value, default=str, allow_nan=False, **options)
    except ValueError:
        plain = parse_stored_json(json.dumps(value, default=str), read_constant=lambda _: None)
        return json.dumps(plain, **options)


def parse_json_at(text: str, start: int) -> Any:
    """Parse the JSON value that begins at a place of a text, whatever follows it, without `NaN` and `Infinity`.

    >>> parse_json_at('so: {"a": 1}, and [[[', 4)
    {'a': 1}

    Raises:
        ValueError: no JSON value begins there, or it nests more than `MAX_JSON_DEPTH` levels.
    """
    check_json_depth(text, start=start)
    return _call(lambda: _STRICT.raw_decode(text, start)[0], text)


def check_json_depth(text: str, maximum: int = MAX_JSON_DEPTH, *, start: int = 0) -> None:
    """Raise a `JSONDecodeError` where the value that begins at a place of a text nests too deep."""
    if text.count("[", start) + text.count("{", start) <= maximum:
        return
    for end, depth in _brackets(text, start):
        if depth > maximum:
            raise json.JSONDecodeError(f"nested more than {maximum} levels deep", text, end - 1)
        if depth <= 0:
            return  # the parser refuses what follows the value, or is not asked about it


def find_end(text: str, start: int) -> int:
    """The place after the bracket that closes the one at a place, or the end of the text where none does.

    >>> find_end('{"a": [1, "}"],} and more', 0)
    16
    """
    return next((end for end, depth in _brackets(text, start) if depth <= 0), len(text))


def _brackets(text: str, start: int) -> Iterator[tuple[int, int]]:
    """The place after each bracket outside of strings, and how many are open there."""
    depth, in_string = 0, False
    for match in _TOKEN.finditer(text, start):
        if match[0] == '"':
            in_string = not in_string
        elif not in_string and match[0] in "[{]}":
            depth += 1 if match[0] in "[{" else -1
            yield match.end(), depth


def nests_deeper(value: Any, maximum: int = MAX_JSON_DEPTH) -> bool:
    """Whether a value has more levels of lists and objects inside one another; one that holds itself has.

    >>> nests_deeper([[1]], 2), nests_deeper([[[1]]], 2)
    (False, True)
    """
    level = [value]
    for _ in range(maximum + 1):
        # A list that many others hold counts once on each level.
        holders = {id(part): part for part in level if isinstance(part, (Mapping, list, tuple))}
        if not holders:
            return False
        level = [inner for part in holders.values() for inner in (part.values() if isinstance(part, Mapping) else part)]
    return True


def check_keys(value: Any, owner: str) -> None:
    """Refuse keys that are not texts: JSON would turn them into texts, and two keys into the same one.

    >>> check_keys({"scores": [{1: "one"}]}, "an item")
    Traceback (most recent call last):
    TypeError: the keys of an item are texts, and 1 is a int

    Raises:
        TypeError: the value of this owner, or a part of it, has such a key.
    """
    if isinstance(value, str):  # most values are, and `isinstance` with Mapping is slow
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"the keys of {owner} are texts, and {key!r} is a {type(key).__name__}")
            check_keys(item, owner)
    elif isinstance(value, (list, tuple)):
        for item in value:
            check_keys(item, owner)


def join_halves(text: str) -> str:
    r"""Make a text that can be encoded: halves of characters are put together, or replaced.

    >>> join_halves("\ud83d\ude00 \ud83d").encode()
    b'\xf0\x9f\x98\x80 \xef\xbf\xbd'
    """
    if not HALF_CHARACTER.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def join_halves_within(document: Any) -> Any:
    r"""Make a JSON document whose texts can all be encoded.

    >>> join_halves_within({"content": ["\ud83d\ude00", 1]})
    {'content': ['😀', 1]}
    """
    text = json.dumps(document, ensure_ascii=False)
    joined = join_halves(text)
    return document if joined is text else parse_stored_json(joined)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


_STRICT = json.JSONDecoder(parse_constant=_refuse_constant)


def _parse(
    text: str | bytes | bytearray,
    maximum: int,
    *,
    read_constant: Callable[[str], Any] | None = None,
    read_object: Callable[[list[Any]], Any] | None = None,
) -> Any:
    if not isinstance(text, str):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    check_json_depth(text, maximum)
    return _call(lambda: json.loads(text, parse_constant=read_constant, object_pairs_hook=read_object), text)


def _call(parse: Callable[[], _Result], text: str) -> _Result:
    try:
        return parse()
    except RecursionError as error:  # the calls around this one have left too little
        raise json.JSONDecodeError("nested too deep for what is left of the call stack", text, 0) from error
