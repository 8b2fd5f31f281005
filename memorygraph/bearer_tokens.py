"""Bearer tokens, each bound to one namespace. A token is compared by its hash, and goes nowhere else."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from memorygraph.errors import MemoryGraphError, NotFoundError
from memorygraph.home import refuse_exposed
from memorygraph.json_text import parse_json

_COMMENT = re.compile(r"\s#")


def read_tokens(path: str | Path) -> dict[str, str]:
    """The namespace of each token in a file, which has lines of both, or is a JSON object of them."""
    if Path(path).is_dir():
        raise MemoryGraphError(f"{path} is a folder: name the file of tokens")
    try:
        refuse_exposed(Path(path))
        text = Path(path).read_text("utf-8-sig")
    except FileNotFoundError:
        raise NotFoundError(f"no such file: {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise MemoryGraphError(f"cannot read {path}: {error}") from None
    entries = _read_object(path, text) if text.lstrip().startswith("{") else _read_lines(path, text)
    tokens: dict[str, str] = {}
    for place, namespace, token in entries:
        if token in tokens:
            raise MemoryGraphError(
                f"{place}: this token is there already, for the namespace `{tokens[token]}`: give each line "
                "`NAMESPACE TOKEN` a token of its own"
            )
        tokens[token] = namespace
    if not tokens:
        raise MemoryGraphError(f"{path} has no tokens")
    return tokens


def _read_object(path: str | Path, text: str) -> Iterator[tuple[str, str, str]]:
    try:
        pairs: list[tuple[str, str]] = parse_json(text, read_object=list)
    except ValueError as error:
        raise MemoryGraphError(f"{path} is not valid JSON: {error}") from None
    if not all(isinstance(token, str) and token for _, token in pairs):
        raise MemoryGraphError(f"{path}: each value is the token of a namespace")
    counts = Counter(namespace for namespace, _ in pairs)
    if twice := [namespace for namespace, count in counts.items() if count > 1]:
        raise MemoryGraphError(
            f"{path} has the namespace `{twice[0]}` twice, and a JSON object has one token of each: for several write "
            "lines `NAMESPACE TOKEN`"
        )
    return ((str(path), *pair) for pair in pairs)


def _read_lines(path: str | Path, text: str) -> Iterator[tuple[str, str, str]]:
    """The place of each entry, its namespace and its token; no line is shown, which may be a token alone."""
    for number, line in enumerate(map(str.strip, text.splitlines()), start=1):
        if not line or line.startswith("#"):
            continue
        if _COMMENT.search(line):  # its last word would be the token, which others might guess
            raise MemoryGraphError(
                f"{path}:{number}: there is a comment after the token: put the comment on a line of its own, "
                "or write the file as a JSON object of namespaces and tokens, if it is none"
            )
        namespace, *token = line.rsplit(None, 1)
        if not token:
            raise MemoryGraphError(f"{path}:{number}: there is no token: write a line as `NAMESPACE TOKEN`")
        yield f"{path}:{number}", namespace, token[0]


def hash_token(token: str) -> bytes:
    """The hash that a token is compared by."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
