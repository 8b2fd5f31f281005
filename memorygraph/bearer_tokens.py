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
    pairs = _read_object(path, text) if text.lstrip().startswith("{") else list(_read_lines(path, text))
    tokens: dict[str, str] = {}
    for number, pair in enumerate(pairs, start=1):
        if len(pair) != 2 or pair[1] in tokens:
            raise MemoryGraphError(f"{path}: entry {number} is not a namespace and a token of its own")
        tokens[pair[1]] = pair[0]
    if not tokens:
        raise MemoryGraphError(f"{path} has no tokens")
    return tokens


def _read_object(path: str | Path, text: str) -> list[tuple[str, ...]]:
    try:
        pairs: list[tuple[str, ...]] = parse_json(text, read_object=list)
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
    return pairs


def _read_lines(path: str | Path, text: str) -> Iterator[tuple[str, ...]]:
    for number, line in enumerate(map(str.strip, text.splitlines()), start=1):
        if not line or line.startswith("#"):
            continue
        if _COMMENT.search(line):  # its last word would be the token, which others might guess
            raise MemoryGraphError(
                f"{path}: line {number} has a comment behind its token: put the comment on a line of its own, "
                "or write the file as a JSON object of namespaces and tokens, if it is none"
            )
        yield tuple(line.rsplit(None, 1))


def hash_token(token: str) -> bytes:
    """The hash that a token is compared by."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
