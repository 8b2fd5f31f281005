"""The colours of ContextScript, its words taken from its grammar and its statements."""

from __future__ import annotations

from memorygraph.languages.contextscript.syntax import GRAMMAR, KEYWORDS, STATEMENTS
from memorygraph.languages.engine.highlighting import ColourRule, Highlighting, Region, one_of, quoted_region

LETTERS = "A-Za-z0-9_-"
ARGUMENTS = {argument for statement in STATEMENTS for argument in statement.arguments()}

HIGHLIGHTING: Highlighting = {
    "root": Region(
        (
            ColourRule(r"#[^\r\n]*", "comment"),
            ColourRule('"', "string", "quoted"),
            ColourRule(one_of(KEYWORDS.values(), LETTERS) + r"(?=[ \t]*\()", "keyword"),
            ColourRule(one_of(ARGUMENTS, LETTERS) + r"(?=[ \t]*=)", "attribute"),
            ColourRule(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?![A-Za-z0-9_-])", "number"),
            ColourRule(GRAMMAR.tokens["Id"], "name"),
            ColourRule("[(),;=]", "punctuation"),
        )
    ),
    "quoted": quoted_region('"'),
}
