"""The colours of AgentScript, its words taken from its grammar."""

from __future__ import annotations

from memorygraph.languages.agentscript.body import TYPES
from memorygraph.languages.agentscript.names import CONFIGS, GRAMMAR, KEYWORDS
from memorygraph.languages.engine.highlighting import ColourRule, Highlighting, Region, one_of, quoted_region

LETTERS = "A-Za-z0-9_-"
CONSTANTS = GRAMMAR.words("Variable")  # those that no variable is called
IMPORTED = GRAMMAR.words("Kind")

HIGHLIGHTING: Highlighting = {
    "root": Region(
        (
            ColourRule(r"//[^\r\n]*", "comment"),
            ColourRule('"', "string", "double"),
            ColourRule("'", "string", "single"),
            ColourRule(
                rf"(import)([ \t]+)({one_of(IMPORTED, LETTERS)})([ \t]+)({GRAMMAR.tokens['Identifier']})",
                ("keyword", "text", "keyword", "text", "title"),
            ),
            ColourRule(
                rf"((?:agent|func)(?![{LETTERS}]))([ \t]+)({GRAMMAR.tokens['Identifier']})",
                ("keyword", "text", "title"),
            ),
            ColourRule(rf"(\.)({GRAMMAR.tokens['Identifier']})(?=[ \t]*\()", ("operator", "function")),
            ColourRule(rf"(\.)({GRAMMAR.tokens['Identifier']})", ("operator", "name")),
            ColourRule(rf"{GRAMMAR.tokens['Identifier']}(?=[ \t]*:)", "attribute"),
            ColourRule(one_of(CONSTANTS, LETTERS), "constant"),
            ColourRule(rf"generate(?![{LETTERS}])(?=[ \t]*\()", "builtin"),
            ColourRule(one_of(KEYWORDS - {*CONSTANTS}, LETTERS) + r"(?![ \t]*(?:=[^=]|\.))", "keyword"),
            ColourRule(one_of(CONFIGS, LETTERS) + r"(?=[ \t]+[A-Za-z_\"'])", "keyword"),
            ColourRule(one_of(TYPES, LETTERS), "type"),
            ColourRule(rf"{GRAMMAR.tokens['Identifier']}(?=[ \t]*\()", "function"),
            ColourRule(GRAMMAR.tokens["Identifier"], "name"),
            ColourRule(r"[0-9]+(?:\.[0-9]*)?[A-Za-z0-9_-]*", "number"),
            ColourRule(r"[=!]=|[=<*.]", "operator"),
            ColourRule(r"[\]\[(){},:]", "punctuation"),
        )
    ),
    "double": quoted_region('"'),
    "single": quoted_region("'"),
}
