r"""The texts of Convo-Lang: what their characters mean, once it is known where they begin and end.

In a message, `\>` at the start of a line is `>`, and `\{{` is `{{`; all other backslashes are themselves, but two
right before `{{` are one. In quotes a backslash makes the character after it plain. Line breaks are `\n` everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memorygraph.errors import Span
from memorygraph.languages.engine.patterns import compile_pattern

BLANKS = " \t\r\n"

_ESCAPE = re.compile(r"\\([\s\S])")
_ESCAPES = {"n": "\n", "r": "\n", "t": "\t"}
_HEAD = re.compile(r"(\n[ \t\r]*+)\\(?=\\*+>)")
_BRACES = compile_pattern(r"(?<!\\)((?:\\\\)*+)\\\{\{")
_BACKSLASHES = compile_pattern(r"(?<!\\)(?:\\\\)++\Z")
_INDENTATION = re.compile(r"\n+([ \t]*)")
_MODIFIERS = re.compile(r"[ \t\r\n]*\(([^)]*)\)")
_BLANK_END = re.compile(r"(?:(?<!\\)((?:\\\\)*\\[ \t\r\n]))?[ \t\r\n]*\Z")  # an escaped blank stays
_WIDEST = 2**16  # characters of an indentation that are removed


def content_parts(texts: Sequence[str], indentation: int) -> list[str]:
    r"""The texts between the insertions of a message, as they are meant.

    >>> content_parts(["\n  Hi\n    \\> a \\{{b}} \\\\", "!  \n"], 2)
    ['Hi\n  > a {{b}} \\', '!']
    """
    outer = compile_pattern(rf"\n[ \t]{{0,{min(indentation, _WIDEST)}}}")
    parts = [_HEAD.sub(r"\1", outer.sub("\n", text.replace("\r\n", "\n"))) for text in texts]
    parts[0] = parts[0].lstrip(BLANKS)
    parts = [_BACKSLASHES.sub(lambda found: found[0][::2], part) for part in parts[:-1]] + [parts[-1].rstrip(BLANKS)]
    return [_BRACES.sub(lambda found: f"{found[1][::2]}{{{{", part) for part in parts]


def quoted_parts(texts: Sequence[str]) -> list[str]:
    """The texts between the insertions of a text in quotes, their escapes resolved."""
    return [_ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), text.replace("\r\n", "\n")) for text in texts]


def prompt_parts(texts: Sequence[str]) -> list[str]:
    """The texts between the insertions of a prompt in code, without the blanks around them."""
    stripped = [texts[0].lstrip(BLANKS), *texts[1:]]
    stripped[-1] = _BLANK_END.sub(r"\1", stripped[-1])
    return quoted_parts(stripped)


def split_prompt(text: str) -> tuple[str, str]:
    r"""The modifiers in parentheses at the start of a prompt, and what follows them.

    >>> split_prompt(" (+ boolean)\nIs it?"), split_prompt("Is it?")
    (('+ boolean', '\nIs it?'), ('', 'Is it?'))
    """
    found = _MODIFIERS.match(text)
    return (found[1].strip(BLANKS), text[found.end() :]) if found else ("", text)


def unquoted(token: str) -> str:
    """The text in quotes."""
    return quoted_parts([token[1:-1]])[0]


def heredoc_text(token: str) -> str:
    r"""The text between two rows of dashes, without the indentation of its first line.

    >>> heredoc_text("---\n  a\n    b\n  ---"), heredoc_text("--- a\n b\n---")
    ('\na\n  b\n', 'a\n b')
    """
    text = token.strip("-").replace("\r\n", "\n")
    first, newline, rest = text.partition("\n")
    if first.strip(BLANKS) or not newline:
        return text.strip(BLANKS)
    rest = "\n" + rest.rstrip(" \t")
    indentation = _INDENTATION.match(rest)
    width = len(indentation[1]) if indentation else 0
    return re.sub(rf"\n[ \t]{{0,{min(width, _WIDEST)}}}", "\n", rest)


def begins_line(text: str, place: int) -> bool:
    """Whether only blanks stand before a place in its line."""
    return not text[text.rfind("\n", 0, place) + 1 : place].strip(" \t")


def first_line(text: str, span: Span) -> Span:
    """The first line of a stretch."""
    line_end = text.find("\n", *span)
    return Span(span.start, line_end) if line_end >= 0 else span
