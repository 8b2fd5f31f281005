"""The grammar of each language as railroad pictures, made from the rules that textX has read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from io import StringIO

import railroad

from memorygraph.languages.agentscript.names import GRAMMAR as AGENTSCRIPT
from memorygraph.languages.contextscript.syntax import GRAMMAR as CONTEXTSCRIPT
from memorygraph.languages.convo.reading import GRAMMAR as CONVO
from memorygraph.languages.engine.grammar import (
    Absent,
    Assigned,
    Choice,
    Expression,
    Grammar,
    Repetition,
    RuleReference,
    Sequence,
    Token,
)
from memorygraph.languages.pete.items import GRAMMAR as PETE

GRAMMARS = {"contextscript": CONTEXTSCRIPT, "agentscript": AGENTSCRIPT, "convo": CONVO, "pete": PETE}
TITLES = {"contextscript": "ContextScript", "agentscript": "AgentScript", "convo": "Convo-Lang", "pete": "PETE"}
MAX_WIDTH = 640  # pixels of a track, before it goes on in another line

INTRODUCTION = """\
# The grammar of {title}

Every rule of [the grammar]({file}), which textX reads and the parser follows: this page is made from it when the site is built.
What is in a rounded box is written as it stands; a square box is another rule, or a token, and leads to it. Where a track
forks, the first way that fits is taken. [The reference]({reference}) says what it all means.
"""


def page(language: str) -> str:
    """The page of a language: a picture of each rule, and the patterns of its tokens."""
    grammar = GRAMMARS[language]
    head = INTRODUCTION.format(
        title=TITLES[language],
        file=f"../../memorygraph/languages/{language}/grammar.tx",
        reference=f"../{language}.md",
    )
    # Those that are used come after those that use them.
    rules = [f"## {name}\n\n{picture(grammar, name)}\n" for name in ordered_rules(grammar)]
    tokens = [f"### {name}\n\n```text\n{pattern}\n```\n" for name, pattern in grammar.tokens.items()]
    about = "## Tokens\n\nEach is a regular expression of Python; blanks and comments may stand between tokens.\n"
    return "\n".join([head, *rules, about, *tokens])


def ordered_rules(grammar: Grammar) -> list[str]:
    """The rules in the order in which they are first referred to, from `Program` on."""
    order = ["Program"]
    for name in order:
        order += [each for each in _referred(grammar.rules[name].body) if each not in order and each in grammar.rules]
    return order + [name for name in grammar.rules if name not in order]


def _referred(expression: Expression) -> Iterator[str]:
    match expression:
        case RuleReference(name):
            yield name
        case Assigned(_, _, value):
            yield from _referred(value)
        case Sequence(parts) | Choice(parts):
            for part in parts:
                yield from _referred(part)
        case Repetition(item, _, _, _):
            yield from _referred(item)


def picture(grammar: Grammar, rule: str) -> str:
    """The picture of a rule, as SVG in a box of its own that scrolls where it is too wide."""
    drawn = StringIO()
    railroad.Diagram(_track(grammar, grammar.rules[rule].body)).writeSvg(drawn.write)
    svg = drawn.getvalue().replace("<svg ", f'<svg role="img" aria-label="{escape(rule)}" ', 1)
    svg = re.sub(r"(<text[^>]*>[^<]*</text>)\1", r"\1", svg)  # the library writes a text with a link twice
    return f'<div class="railroad">{re.sub(chr(10) + "+", " ", svg)}</div>'


def _track(grammar: Grammar, expression: Expression) -> railroad.DiagramItem:
    match expression:
        case Token(_, name):
            # The name of a token is that of its rule, or else what it is.
            return _link(name) if name in grammar.tokens else railroad.Terminal(name)
        case RuleReference(name):
            return _link(name)
        case Assigned(_, _, part):
            return _track(grammar, part)
        case Absent(token):
            return railroad.Comment(f"not {token.name}")
        case Choice(options):
            return railroad.Choice(0, *(_track(grammar, option) for option in options))
        case Sequence(parts):
            return _in_lines([_track(grammar, part) for part in parts])
        case Repetition(item, least, most, separator):
            track = _track(grammar, item)
            if most == 1:
                return railroad.Optional(track)
            between = _track(grammar, separator) if separator else None
            return railroad.OneOrMore(track, between) if least else railroad.ZeroOrMore(track, between)
    raise TypeError(expression)


def _link(name: str) -> railroad.NonTerminal:
    return railroad.NonTerminal(name, href=f"#{name.lower()}")


def _in_lines(tracks: list[railroad.DiagramItem]) -> railroad.DiagramItem:
    """One after the other, in as many lines as they take."""
    lines: list[list[railroad.DiagramItem]] = [[]]
    for track in tracks:
        if lines[-1] and sum(each.width for each in lines[-1]) + track.width > MAX_WIDTH:
            lines.append([])
        lines[-1].append(track)
    sequences = [railroad.Sequence(*line) for line in lines]
    return sequences[0] if len(sequences) == 1 else railroad.Stack(*sequences)
