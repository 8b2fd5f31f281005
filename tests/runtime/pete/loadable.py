"""Random logs that can be loaded: as the printer writes them, or in any layout."""

from __future__ import annotations

from hypothesis import strategies as st

from memorygraph.languages import parse
from memorygraph.languages.engine.syntax import walk
from memorygraph.languages.pete.printing import print_item
from memorygraph.languages.pete.syntax import (
    SELF,
    Abbreviation,
    Closing,
    Fact,
    Instantiation,
    Item,
    Memory,
    Nlp,
    Opening,
    Question,
    Rule,
    Variable,
)
from tests.languages import pete_logs

BLANKS = st.text(" \t\r\n", max_size=4)
HANDLES = ["a", "heat", "travis", SELF, "x1"]
NOTES = st.sampled_from(["", " } ", "{", 'it\'s "so"', "/* a", "é 漢 🙂", "\x00\x1f\u2028", "a   b", "\\u0027"])


def _free(item: Item) -> bool:
    """Whether an item fits any store."""
    parts = list(walk(item))
    if any(isinstance(part, Memory) for part in parts) or isinstance(item, Abbreviation):
        return False
    if isinstance(item, Instantiation) and isinstance(item.value, Nlp) and not item.value.concept:
        return False
    asks = any(isinstance(part, Variable) for part in parts)
    return not (asks and isinstance(item, Fact | Question | Rule))


@st.composite
def printed(draw: st.DrawFn) -> str:
    """A random log as the printer writes it, without what no store could take."""
    text = "context main(&a, &heat, &travis, &x1) {\n"
    depth = 1
    for item in draw(pete_logs.bodies()):
        depth_after = depth + isinstance(item, Opening) - isinstance(item, Closing)
        longer = f"{text}{print_item(item)}\n"
        if _free(item) and depth_after > 0 and not parse(longer, "pete").problems:
            text, depth = longer, depth_after
    return text


@st.composite
def laid_out(draw: st.DrawFn) -> str:
    """A log of things that are known, with any blanks between its statements."""
    parts = [draw(BLANKS), "context main(&a, &heat, &travis, &x1)", draw(BLANKS), "{"]
    depth = 1
    for kind in draw(st.lists(st.sampled_from("cciiffqsrtnoopp}"), max_size=14)):
        parts += [draw(BLANKS), " ", _statement(draw, kind, depth), draw(BLANKS)]
        depth += {"o": 1, "}": -1 if depth > 1 else 0}.get(kind, 0)
    if draw(st.booleans()):
        parts += ["}", draw(BLANKS)] * depth
    return "".join(parts)


def _statement(draw: st.DrawFn, kind: str, depth: int) -> str:
    one, other = (f"&{draw(st.sampled_from(HANDLES))}" for _ in range(2))
    note = draw(NOTES)
    said = {
        "c": f"//{note}\n",
        "s": f"!!{note}\n",
        "i": f"&a =/* {note}.*/",
        "f": f"{one} {draw(st.sampled_from(['', 'not ', '!']))}likes that {other} has 3.",
        "q": f"{one} is {other}. {one} is _y? &y has 1.",
        "r": f"_x likes {one} if _x has {other}.",
        "t": f"tl;dr /*{note}*/",
        "n": f"@[{note}:]",
        "o": "context inner(&a, &heat ,&travis,&x1){",
        "p": draw(st.sampled_from(["@fan , set [1,{}]\n >> {}", "@fan, set {}>>[]", "look [ ]"])),
        "}": "}" if depth > 1 else "//\n",
    }
    return said[kind]


loadable = printed() | laid_out()
