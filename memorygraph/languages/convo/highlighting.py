"""The colours of Convo-Lang, its words taken from its grammar."""

from __future__ import annotations

from memorygraph.languages.convo.reading import BUILT_IN, GRAMMAR
from memorygraph.languages.convo.syntax import CODE_ROLES, EXPRESSION_TAGS
from memorygraph.languages.engine.highlighting import ColourRule, Highlighting, Region, one_of, quoted_region

LETTERS = "A-Za-z0-9_"
CONSTANTS = GRAMMAR.words("ConstantName")

_HEAD = r"^([ \t]*>[ \t]*)"
_INSERTION = ColourRule(r"\{\{", "operator", "insertion")
_COMMENT = ColourRule(r"//[^\n]*", "comment")
_CODE = (
    _COMMENT,
    ColourRule("#[^\n]*", "description"),
    ColourRule(r"---+", "string", "heredoc"),
    ColourRule(r"\?\?\?+", "string", "prompt"),
    ColourRule(r"===+", "string", "embed"),
    ColourRule('"', "string", "double"),
    ColourRule("'", "string", "single"),
    ColourRule(r"@\w+", "tag"),
    ColourRule(one_of(CONSTANTS, LETTERS), "constant"),
    ColourRule(one_of(BUILT_IN, LETTERS) + r"(?=[ \t]*\()", "builtin"),
    ColourRule(r"[A-Za-z_]\w*(?:\.\w+)*(?=[ \t]*\()", "function"),
    ColourRule(r"[A-Za-z_]\w*(?=\??[ \t]*:)", "attribute"),
    ColourRule(r"[A-Za-z_]\w*", "name"),
    ColourRule(r"-?(?:[0-9]|\.[0-9])[\w.]*", "number"),
    ColourRule(r"->|<<|[=?.]", "operator"),
    ColourRule(r"[\]\[(),;:]|\{(?!\{)|\}(?!\})", "punctuation"),
)

HIGHLIGHTING: Highlighting = {
    "root": Region(
        (
            ColourRule(r"^[ \t]*//[^\n]*", "comment"),
            ColourRule(
                rf"{_HEAD}({one_of(CODE_ROLES, LETTERS + '!')}|\w+!)([^\n]*)", ("operator", "keyword", "title"), "code"
            ),
            ColourRule(rf"{_HEAD}(\w+)([ \t]+)(\w+)(?=[ \t]*\()", ("operator", "keyword", "text", "title"), "code"),
            ColourRule(rf"{_HEAD}(\w+)(?=[ \t]*\()", ("operator", "title"), "code"),
            ColourRule(rf"{_HEAD}(\w+)([^\n]*)", ("operator", "keyword", "title")),
            ColourRule(
                rf"^([ \t]*@{one_of(EXPRESSION_TAGS, LETTERS)})([ \t]*[\w-]*[ \t]*)(=)",
                ("tag", "title", "operator"),
                "tag",
            ),
            ColourRule(r"^([ \t]*@\w+)([^\n]*)", ("tag", "title")),
            ColourRule(r"\\(?:\{\{|[>\\])", "escape"),
            _INSERTION,
        )
    ),
    "code": Region(_CODE, end=r"^(?=[ \t]*>)"),
    "tag": Region(_CODE, end="$"),
    "insertion": Region(_CODE, end=r"\}\}", end_colour="operator"),
    "double": quoted_region('"'),
    "single": quoted_region("'", _INSERTION),
    "heredoc": Region((), end="---+", end_colour="string", rest="string"),
    "prompt": Region((_INSERTION,), end=r"\?\?\?+", end_colour="string", rest="string"),
    "embed": Region((_INSERTION,), end="===+", end_colour="string", rest="string"),
}
