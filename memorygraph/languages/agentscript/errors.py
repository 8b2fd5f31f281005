"""Syntax errors of AgentScript: its words for what was expected, and what it knows about what was found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memorygraph.languages.engine.explain import (
    BYTE_ORDER_MARK,
    OTHER_BLANKS,
    Explainer,
    Group,
    Optional,
    Place,
    not_closed,
    unclosed_text,
)
from memorygraph.languages.engine.findings import Finding, shorten, suggestion
from memorygraph.languages.engine.patterns import compile_pattern

_VALUE = frozenset({"Variable", "String", "Numeral", "Truth", "None", "generate", "not", "{", "["})
_STATEMENT = _VALUE | {"use", "return", "repeat", "for", "loop", "if", "model", "Setting"}
GROUPS = (
    Group({"use"}, "a statement", _STATEMENT),
    Group({"Variable"}, "a value", _VALUE),
    Group({"func", "model"}, "a func or a setting (model, role, description)", {"main", "func", "model", "Setting"}),
)
# What may follow a finished value says nothing about what is missing.
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
_HINTS = (
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
    BYTE_ORDER_MARK,
    OTHER_BLANKS,
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
_PIECE = compile_pattern(
    r"//[^\r\n]*+|(?P<text>\"(?:[^\"\\]++|\\[\s\S])*+\"|'(?:[^'\\]++|\\[\s\S])*+')|(?P<bracket>[{}()\[\]])"
)
_STATEMENT_TEXT = re.compile(r"(?:[=:(,\[]|\b(?:use|return|role|description|from))[ \t]*+\Z")


class AgentScriptExplainer(Explainer):
    """Explains syntax errors in programs."""

    word = _WORD
    pieces = _PIECE
    names = _NAMES
    groups = GROUPS
    optional = (Optional((), _CONTINUATIONS), Optional({"."}, _SUFFIXES))
    hints = _HINTS

    def explain_special(self, place: Place) -> Finding | None:
        """A text that is not closed."""
        quote = find_unclosed_quote(place)
        return None if quote is None else unclosed_text(place.text, quote)

    def hints_for(self, place: Place) -> Iterable[str]:
        """What to do, by the place, by a word before an open brace, or by what was found."""
        bracket = self.open_bracket(place)
        if not place.found:
            return [] if bracket is None else [not_closed(place.source, bracket)]
        found, expected = place.found, place.stop.expected
        known = hint_by_expected(expected, place.before, found)
        if not known and expected == (":",) and bracket is not None:
            known = hint_by_brace(place.text, bracket)
        hints = [hint for hint in [known or self.known_hint(place)] if hint]
        closes = found in {"func", "agent", "import", "main", "}", ")", "]"} and "import" not in expected
        if closes and bracket is not None and _PAIRS[place.text[bracket]] != found:
            hints.append(not_closed(place.source, bracket))
        if not hints and found[0].isalpha():
            near = suggestion(found, [name for name in expected if name.islower()])
            return [near.removeprefix("; ")] if near else []
        return hints


explain = AgentScriptExplainer().explain


def hint_by_expected(expected: tuple[str, ...], before: str, found: str) -> str:
    """The hint for what was expected, and for the token before it."""
    wanted, hint = set(expected), ""
    if before == "else" and found == "if":
        hint = "write else { if … { … } }"
    elif before == "return" and found == "}":
        hint = "a `return` has a value: return none"
    elif before in {"agent", "func"} and "Identifier" in wanted:
        hint = f"only a main {before} needs no name"
    elif before in {"model", "role", "description"} and found == "=":
        hint = f"`{before}` is a setting, and no variable can have this name"
    elif found == "func" and ("import" in wanted or (before == "main" and wanted == {"agent"})):
        hint = "a func stands in an agent: main agent { main func(input) { … } }"
    elif "import" in wanted and found not in {"import", "agent", "main"} and found[0].isalpha():
        hint = "there is no code outside of agents: main agent { main func(input) { … } }"
    elif len(meant := wanted - _CONTINUATIONS - _SUFFIXES) == 1:
        hint = _EXPECTED_HINTS.get(meant.pop(), "")
    return hint


def hint_by_brace(text: str, brace: int) -> str:
    """The hint for a brace that was taken for an object: mostly, the word before it is no keyword."""
    found = _WORD.search(text[text.rfind("\n", 0, brace) + 1 : brace])
    word = found[0] if found else ""
    if word in _OTHER_WORDS:
        return f"there is no `{word}`; write {_OTHER_WORDS[word]}"
    near = suggestion(word, _BLOCK_WORDS)
    return f"there is no `{shorten(word)}`{near}" if near and word not in _BLOCK_WORDS else ""


def find_unclosed_quote(place: Place) -> int | None:
    """Where a text begins whose second quote is missing.

    Mostly another quote follows, which opens the next text. Then the first text ends where a text begins, or in the
    middle of a word, and goes over lines.
    """
    text, offset = place.text, place.offset
    if text[offset : offset + 1] in {'"', "'"} and not _PIECE.match(text, offset):
        return next(find_swallowing_texts(text, place.start, offset), offset)
    before, end = place.stop.before
    if text[before : before + 1] in {'"', "'"} and "\n" in text[before:end]:
        return next(find_swallowing_texts(text, before, end), None)
    return None


def find_swallowing_texts(text: str, start: int, end: int) -> Iterator[int]:
    """Where texts begin that go over lines, and end in a way that shows that a quote before is missing."""
    for piece in _PIECE.finditer(text, start, end):
        inside = piece["text"]
        if inside and "\n" in inside:
            broken = text[piece.end() : piece.end() + 1].isalnum()
            if broken or _STATEMENT_TEXT.search(inside, max(0, len(inside) - 200), len(inside) - 1):
                yield piece.start()
