"""Pygments lexers of the four languages, made from their highlighting; Pygments finds them by its entry points.

So documents, notebooks and terminals colour them::

    from pygments import highlight
    from pygments.formatters import TerminalFormatter
    from pygments.lexers import get_lexer_by_name

    lexer = get_lexer_by_name("contextscript")
    print(highlight('Node(node_id="ada", name="Ada", data="");', lexer, TerminalFormatter()))
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

from memorygraph.languages import LANGUAGES
from memorygraph.languages.engine.highlighting import Colour, ColourRule, Highlighting, Region

TOKENS: dict[Colour, Any] = {
    "attribute": Name.Attribute,
    "builtin": Name.Builtin,
    "comment": Comment.Single,
    "constant": Keyword.Constant,
    "description": String.Doc,
    "escape": String.Escape,
    "function": Name.Function,
    "keyword": Keyword,
    "label": Name.Label,
    "name": Name,
    "number": Number,
    "operator": Operator,
    "punctuation": Punctuation,
    "report": Comment.Special,
    "string": String,
    "tag": Name.Decorator,
    "text": Text,
    "title": Name.Class,
    "type": Keyword.Type,
    "variable": Name.Variable,
}


def lex_region(region: Region) -> list[Any]:
    """The rules of a state of Pygments: the end of the region, what is in it, and any other character."""
    ending = [(region.end, TOKENS[region.end_colour], "#pop")] if region.end is not None else []
    return [*ending, *map(lex_rule, region.rules), (r"[\s\S]", TOKENS[region.rest])]


def lex_rule(rule: ColourRule) -> tuple[Any, ...]:
    """A rule of Pygments."""
    colour = TOKENS[rule.colours] if isinstance(rule.colours, str) else _by_groups(rule.colours)
    return (rule.pattern, colour, rule.region) if rule.region else (rule.pattern, colour)


def _by_groups(colours: tuple[Colour, ...]) -> Any:
    return bygroups(*(TOKENS[colour] for colour in colours))  # type: ignore[no-untyped-call]


class LanguageLexer(RegexLexer):
    """A lexer whose rules are made on first use, for it reads the grammar of its language."""

    flags = re.MULTILINE
    language: ClassVar[str]

    @classmethod
    def get_tokendefs(cls) -> dict[str, list[Any]]:
        """The states of the lexer, one for each region of the language."""
        highlighting: Highlighting = LANGUAGES[cls.language].highlighting
        return {name: lex_region(region) for name, region in highlighting.items()}

    def get_tokens_unprocessed(self, text: str, stack: Iterable[str] = ("root",)) -> Iterator[tuple[int, Any, str]]:
        """Give the tokens, those beside each other that are of one kind as one."""
        tokens = super().get_tokens_unprocessed(text, tuple(stack))
        for kind, group in groupby(tokens, key=itemgetter(1)):
            pieces = list(group)
            yield pieces[0][0], kind, "".join(piece for _, _, piece in pieces)


class ContextScriptLexer(LanguageLexer):
    """Colours ContextScript."""

    name = "ContextScript"
    language = "contextscript"
    aliases: ClassVar[list[str]] = ["contextscript", "ctx"]
    filenames: ClassVar[list[str]] = ["*.ctx"]


_AGENT = re.compile(
    r"^[ \t]*(?:main[ \t]+agent(?:[ \t]+[A-Za-z_][\w-]*)?|agent[ \t]+[A-Za-z_][\w-]*)\s*\{", re.MULTILINE | re.ASCII
)


class AgentScriptLexer(LanguageLexer):
    """Colours AgentScript."""

    name = "AgentScript"
    language = "agentscript"
    aliases: ClassVar[list[str]] = ["agentscript"]
    filenames: ClassVar[list[str]] = ["*.as"]

    @staticmethod
    def analyse_text(text: str) -> float:
        """Tell an agent from ActionScript, whose files have the same extension."""
        return 0.9 if _AGENT.search(text) else 0.0


class ConvoLexer(LanguageLexer):
    """Colours Convo-Lang."""

    name = "Convo-Lang"
    language = "convo"
    aliases: ClassVar[list[str]] = ["convo"]
    filenames: ClassVar[list[str]] = ["*.convo"]


class PeteLexer(LanguageLexer):
    """Colours PETE."""

    name = "PETE"
    language = "pete"
    aliases: ClassVar[list[str]] = ["pete"]
    filenames: ClassVar[list[str]] = ["*.pete"]
