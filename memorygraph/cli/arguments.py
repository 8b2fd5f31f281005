"""Arguments that several commands take: JSON values, and pairs of a name and a value."""

from __future__ import annotations

import json
from typing import Any

from memorygraph.errors import MemoryGraphError
from memorygraph.scripts import read_script


def parse_json_argument(given: str, option: str, *, or_text: bool = False) -> Any:
    """The JSON value of an argument, or of the file that it names after `@`; with `or_text` any other text as it is.

    Raises:
        MemoryGraphError: it is not JSON.
    """
    text = read_script(given[1:]) if given.startswith("@") else given
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if or_text:
            return text
        example = '\'{"question": "…"}\''
        raise MemoryGraphError(
            f"{option} is not JSON: {error}; write for example {example}, or @ and the name of a file"
        ) from error


def split_pair(given: str, option: str, form: str) -> tuple[str, str]:
    """The two sides of `NAME=VALUE`.

    Raises:
        MemoryGraphError: there is no `=` in it.
    """
    name, sign, value = given.partition("=")
    if not sign:
        raise MemoryGraphError(f"{option} takes {form}, and this is {given!r}")
    return name, value
