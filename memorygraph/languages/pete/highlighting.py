"""The colours of PETE, its words taken from its grammar."""

from __future__ import annotations

from memorygraph.languages.engine.highlighting import ColourRule, Highlighting, Region, one_of, quoted_region
from memorygraph.languages.pete.items import NAME_PATTERN, WORDS

NEGATORS = one_of(WORDS["Negator"], "A-Za-z0-9_'")
CONNECTIVES = one_of([*WORDS["Conjunction"], "that", "if"], "A-Za-z0-9_'")

HIGHLIGHTING: Highlighting = {
    "root": Region(
        (
            ColourRule(r"//[^\r\n]*", "comment"),
            ColourRule(r"!![^\r\n]*", "report"),
            ColourRule(r"/\*", "description", "description"),
            ColourRule(r"@\[", "tag", "annotation"),
            ColourRule('"', "string", "quoted"),
            ColourRule(rf"(context)([ \t]+)({NAME_PATTERN})", ("keyword", "text", "title")),
            ColourRule("tl;dr", "keyword"),
            ColourRule(NEGATORS, "operator"),
            ColourRule(CONNECTIVES, "keyword"),
            ColourRule(one_of(WORDS["Constant"], "A-Za-z0-9_'"), "constant"),
            ColourRule("memory:[0-9]+", "constant"),
            ColourRule(rf"&{NAME_PATTERN}", "variable"),
            ColourRule(rf"_{NAME_PATTERN}", "label"),
            ColourRule(rf"(@{NAME_PATTERN})([ \t]*,[ \t]*)({NAME_PATTERN})", ("tag", "punctuation", "function")),
            ColourRule(NAME_PATTERN, "name"),
            ColourRule(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", "number"),
            ColourRule(r":-|>>|[=!]", "operator"),
            ColourRule(r"[\]\[(){},.?:]", "punctuation"),
        )
    ),
    "description": Region((), end=r"\*/", end_colour="description", rest="description"),
    "annotation": Region((), end=r"\]", end_colour="tag", rest="tag"),
    "quoted": quoted_region('"'),
}
