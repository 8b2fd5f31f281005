"""Text to statements: the languages of memorygraph, and how a script in one of them is read."""

from memorygraph.languages.contextscript import ContextScriptProgram, GraphStatement
from memorygraph.languages.language import LANGUAGES, Language, Script, language_of, parse, parse_batches

__all__ = [
    "LANGUAGES",
    "ContextScriptProgram",
    "GraphStatement",
    "Language",
    "Script",
    "language_of",
    "parse",
    "parse_batches",
]
