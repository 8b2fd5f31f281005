"""Where the reading of a program stopped, said so that a person, or a model that tries again, knows what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memorygraph.errors import Source, Span
from memorygraph.languages.agentscript.names import suggestion
from memorygraph.languages.engine.findings import Finding, character, clipped
from memorygraph.languages.engine.machine import Stopped

TOO_DEEP = "this is nested too deep; name a part of it: `part = …`"

_VALUE = frozenset({"Variable", "String", "Numeral", "Truth", "None", "generate", "not", "{", "["})
_STATEMENT = _VALUE | {"use", "return", "repeat", "for", "loop", "if", "model", "Setting"}
# Tokens that stand for something larger: where the first ones may come, that may come.
_GROUPS = (
    ({"use"}, "a statement", _STATEMENT),
    ({"Variable"}, "a value", _VALUE),
    ({"func", "model"}, "a func or a setting (model, role, description)", {"main", "func", "model", "Setting"}),
)
# What may always go on where a value has ended, and says nothing about what is missing.
_CONTINUATIONS = {"or", "and", "Equality", ",", "Assign"}
_SUFFIXES = {".", "(", "["}
_NAMES = {
    "Identifier": "a name",
    "Type": "a type (string, number, boolean, json or list)",
    "Key": "a key",
    "Numeral": "a number such as 800 or 2k",
    "Count": "a whole number",
    "String": "a text in quotes",
    "Kind": "`tool`, `llm`, `file`, `agent` or `memory`",
    "Setting": "`role` or `description`",
    "Equality": "`==`",
    "Assign": "`=`",
}
_COMPARED = "values are compared with `==` and `!=` only, and `<` is a limit"
# What is known about what was found, by how it reads.
_HINTS = tuple(
    (re.compile(pattern), hint)
    for pattern, hint in (
        (r"--|#|/\*|/(?!/)", "comments begin with `//`"),
        (r"(?<===)=", "write `==`"),
        (r"(?<=!=)=", "write `!=`"),
        (r"(?<=<)=|>|<", _COMPARED),
        (r"&", "write `and`"),
        (r"\|", "write `or`"),
        (r"!(?!=)", "write `not`"),
        (r";", "statements need no `;` between them; remove it"),
        (r"-[0-9]", "there are no negative numbers"),
        (r"[+*/%-]", "there is no arithmetic; a tool or a model calculates"),
        (r"\(", "there are no parentheses around values; remove them"),
        (r"=(?!=)", "`=` assigns, at the start of a statement; to compare, write `==`"),
        (r"(?<=else)\s+if|if(?<=\selse\sif)", "write else { if … { … } }"),
        ("[\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019]", "write straight quotes"),
        (r"```", "write the program alone, without Markdown around it"),
        (r"`", "texts stand in straight quotes"),
        (r"(?:function|def|fn|fun)(?![A-Za-z0-9_-])", "write `func`"),
        (r"func(?![A-Za-z0-9_-])", "a func does not stand in another func"),
        ("\ufeff", "remove this byte order mark; it may only stand at the very start"),
    )
)
_EXPECTED_HINTS = {
    "<": "it needs a limit: for item in items < 10 { … }, loop until done < 10 { … }",
    "from": 'write: import tool Name from "https://…"',
    "Count": "write: repeat * 3 { … }",
    "until": "write: loop until done < 10 { … }",
}
_OTHER_WORDS = {
    "while": "loop until … < 10 {",
    "elif": "} else { if … {",
    "elseif": "} else { if … {",
    "foreach": "for … in … < 10 {",
    "switch": "if … {",
    "unless": "if not … {",
}
_BLOCK_WORDS = ("loop until", "repeat", "for", "if", "else", "return", "generate", "func")
_PAIRS = {"{": "}", "(": ")", "[": "]"}
_WORD = re.compile(r"\w[\w-]*")
_PIECE = re.compile(
    r"//[^\r\n]*+|(?P<text>\"(?:[^\"\\]++|\\[\s\S])*+\"|'(?:[^'\\]++|\\[\s\S])*+')|(?P<bracket>[{}()\[\]])"
)
_STATEMENT_TEXT = re.compile(r"(?:[=:(,\[]|\b(?:use|return|role|description|from))[ \t]*+\Z")


def explained(source: Source, stop: Stopped, start: int) -> Finding:
    """What is wrong with a piece of a program that begins at `start`."""
    text, offset = source.text, stop.offset
    if stop.deep:
        return Finding(TOO_DEEP, "nesting-too-deep", Span(offset, offset + 1))
    opened = _open_text(text, start, stop)
    if opened is not None:
        line_end = text.find("\n", opened, opened + 100)
        message = f"this text is not closed: its second `{text[opened]}` is missing"
        return Finding(message, "syntax", Span(opened, line_end if line_end > 0 else opened + 1))
    expected = _expected(stop.expected)
    message = f"expected {_either(expected)} but "
    if offset >= len(text):
        span = Span(max(stop.before.end - 1, 0), max(stop.before.end, 1))
        bracket = _open_bracket(text, start, offset)
        hint = f"; {_unclosed(source, bracket)}" if bracket is not None else ""
        return Finding(f"{message}the text ends{hint}", "syntax", span)
    word = _WORD.match(text, offset, offset + 100)
    found = word[0] if word else text[offset]
    message += f"found {f'`{clipped(found)}`' if len(found) > 1 else character(found)}"
    hint = _hint(source, stop, start, found)
    return Finding(message + hint, "syntax", Span(offset, offset + len(found)))


def _expected(names: tuple[str, ...]) -> list[str]:
    """What would have fitted, in the words of the language."""
    left = set(names)
    said = []
    for begins, name, members in _GROUPS:
        if begins <= left:
            left -= members
            said.append(name)
    for more in (_CONTINUATIONS, _SUFFIXES if "." in left else set()):
        if said or left - more:
            left -= more
    return [*said, *(_NAMES.get(name, f"`{name}`") for name in names if name in left)]


def _either(options: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(options[:-1]), *options[-1:]]))


def _hint(source: Source, stop: Stopped, start: int, found: str) -> str:
    """The end of the message: what to do, as far as it can be told."""
    text, offset = source.text, stop.offset
    before = text[slice(*stop.before)]
    hint = _by_place(stop.expected, before, found)
    if not hint and ":" in stop.expected and len(stop.expected) == 1:
        hint = _by_brace(source, start, offset)
    for pattern, known in _HINTS:
        if not hint and pattern.match(text, offset):
            hint = known
    if found in {"func", "agent", "import", "main", "}", ")", "]"} and "import" not in stop.expected:
        bracket = _open_bracket(text, start, offset)
        if bracket is not None and _PAIRS[text[bracket]] != found:
            hint += ("; " if hint else "") + _unclosed(source, bracket)
    if hint:
        return f"; {hint}"
    return suggestion(found, [name for name in stop.expected if name.islower()]) if found[0].isalpha() else ""


def _by_place(expected: tuple[str, ...], before: str, found: str) -> str:
    """What is known from what was expected, and what stands before it."""
    wanted, hint = set(expected), ""
    if before == "else" and found == "if":
        hint = "write else { if … { … } }"
    elif before == "return" and found == "}":
        hint = "a `return` has a value: return none"
    elif before in {"agent", "func"} and "Identifier" in wanted:
        hint = f"only a main {before} needs no name"
    elif before in {"model", "role", "description"} and found == "=":
        hint = f"`{before}` is a setting, and no variable can have this name"
    elif "import" in wanted and found == "func":
        hint = "a func stands in an agent: main agent { main func(input) { … } }"
    elif "import" in wanted and found not in {"import", "agent", "main"} and found[0].isalpha():
        hint = "there is no code outside of agents: main agent { main func(input) { … } }"
    elif len(meant := wanted - _CONTINUATIONS - _SUFFIXES) == 1:
        hint = _EXPECTED_HINTS.get(meant.pop(), "")
    return hint


def _by_brace(source: Source, start: int, offset: int) -> str:
    """What is known if a brace was taken for an object: mostly a word before it is no keyword."""
    brace = _open_bracket(source.text, start, offset)
    if brace is None:
        return ""
    line = source.text[source.text.rfind("\n", 0, brace) + 1 : brace]
    word = _WORD.search(line)
    if word is None:
        return ""
    if word[0] in _OTHER_WORDS:
        return f"there is no `{word[0]}`; write {_OTHER_WORDS[word[0]]}"
    near = suggestion(word[0], _BLOCK_WORDS)
    known = word[0] in _BLOCK_WORDS or not near
    return "" if known else f"there is no `{clipped(word[0])}`{near}"


def _unclosed(source: Source, bracket: int) -> str:
    return "`{}` at {}:{} is not closed".format(source.text[bracket], *source.position(bracket))


def _open_bracket(text: str, start: int, end: int) -> int | None:
    """The innermost bracket that is open at the end of a stretch."""
    brackets: list[int] = []
    for piece in _PIECE.finditer(text, start, end):
        if piece["bracket"] and piece[0] in "{([":
            brackets.append(piece.start())
        elif piece["bracket"] and brackets:
            brackets.pop()
    return brackets[-1] if brackets else None


def _open_text(text: str, start: int, stop: Stopped) -> int | None:
    """Where a text begins whose second quote is missing.

    Mostly there is another quote behind it, which opens the next text: then the first one ends where a text
    begins, or in the middle of a word, and goes over lines.
    """
    unclosed = text[stop.offset : stop.offset + 1] in {'"', "'"} and not _PIECE.match(text, stop.offset)
    if unclosed:
        return next((opened for opened in _swallowing(text, start, stop.offset)), stop.offset)
    before, end = stop.before
    if text[before : before + 1] in {'"', "'"} and "\n" in text[before:end]:
        return next(_swallowing(text, before, end), None)
    return None


def _swallowing(text: str, start: int, end: int) -> Iterator[int]:
    for piece in _PIECE.finditer(text, start, end):
        inside = piece["text"]
        if inside and "\n" in inside:
            broken = text[piece.end() : piece.end() + 1].isalnum()
            if broken or _STATEMENT_TEXT.search(inside, max(0, len(inside) - 200), len(inside) - 1):
                yield piece.start()
