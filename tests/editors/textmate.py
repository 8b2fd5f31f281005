"""The highlighting of a language as a TextMate grammar."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memorygraph.languages import LANGUAGES
from memorygraph.languages.engine.highlighting import Colour, ColourRule, Region
from tests.site.grammars import TITLES

FOLDER = Path(__file__).parents[2] / "editors" / "vscode"

SCOPES: dict[Colour, str] = {
    "attribute": "variable.other.property",
    "builtin": "support.function",
    "comment": "comment.line",
    "constant": "constant.language",
    "description": "comment.block.documentation",
    "escape": "constant.character.escape",
    "function": "entity.name.function",
    "keyword": "keyword.control",
    "label": "variable.parameter",
    "name": "variable.other",
    "number": "constant.numeric",
    "operator": "keyword.operator",
    "punctuation": "punctuation",
    "report": "markup.quote",
    "string": "string.quoted",
    "tag": "storage.modifier",
    "text": "",
    "title": "entity.name.type",
    "type": "support.type",
    "variable": "variable.other.readwrite",
}


def path_of(language: str) -> Path:
    """The file of a language's grammar."""
    return FOLDER / "syntaxes" / f"{language}.tmLanguage.json"


def grammar(language: str) -> str:
    """The grammar of a language, as the text of its file."""
    regions = LANGUAGES[language].highlighting
    document = {
        "name": TITLES[language],
        "scopeName": f"source.{language}",
        "patterns": [{"include": "#root"}],
        "repository": {
            name: {"patterns": [_rule(rule, regions, language) for rule in region.rules]}
            for name, region in regions.items()
        },
    }
    return json.dumps(document, indent=2) + "\n"


def _rule(rule: ColourRule, regions: Any, language: str) -> dict[str, Any]:
    if rule.region is None:
        if isinstance(rule.colours, str):
            return {"match": rule.pattern, "name": _scope(rule.colours, language)}
        return {"match": rule.pattern, "captures": _captures(rule.colours, language)}
    region: Region = regions[rule.region]
    colours = rule.colours
    captures = {"0": {"name": _scope(colours, language)}} if isinstance(colours, str) else _captures(colours, language)
    found = {"begin": rule.pattern, "beginCaptures": captures, "end": region.end}
    if region.end_colour != "text":
        found["endCaptures"] = {"0": {"name": _scope(region.end_colour, language)}}
    if region.rest != "text":
        found["contentName"] = _scope(region.rest, language)
    return {**found, "patterns": [{"include": f"#{rule.region}"}]}


def _captures(colours: tuple[Colour, ...], language: str) -> dict[str, Any]:
    return {
        str(number): {"name": _scope(colour, language)} for number, colour in enumerate(colours, 1) if colour != "text"
    }


def _scope(colour: Colour, language: str) -> str:
    return f"{SCOPES[colour]}.{language}"
