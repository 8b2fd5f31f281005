"""Text to statements: the languages of memorygraph, and how a script in one of them is read."""

from memorygraph.languages.contextscript import Program, Statement
from memorygraph.languages.language import LANGUAGES, Language, Script, language_of, parse, parse_batches

__all__ = [
    "LANGUAGES",
    "Language",
    "Program",
    "Script",
    "Statement",
    "language_of",
    "parse",
    "parse_batches",
]
