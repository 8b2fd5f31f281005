"""AgentScript line by line: what somebody types in a session, without the checks that need a whole program."""

from __future__ import annotations

from memorygraph.errors import ScriptError, Source
from memorygraph.languages.agentscript import syntax
from memorygraph.languages.agentscript.errors import explain
from memorygraph.languages.agentscript.reading import BUILDS, MACHINE
from memorygraph.languages.engine.machine import Stopped

_DECLARING = ("import", "agent", "main")


def read_entry(source: Source) -> list[syntax.Import | syntax.Agent] | list[syntax.Statement]:
    """The imports and agents of an entry, or else its statements.

    >>> [type(piece).__name__ for piece in read_entry(Source("x = 1 x"))]
    ['Assignment', 'ExpressionStatement']

    Raises:
        ScriptError: the entry is wrong.
    """
    words = source.text.split(maxsplit=2)
    declares = len(words) > 1 and words[0] in _DECLARING and words[1][0] not in "=.(["
    rule = "TopLevel" if declares else "Statement"
    pieces = []
    position = MACHINE.layout_end(source.text, 0)
    while position < len(source.text):
        result = MACHINE.read(source.text, rule, BUILDS, position)
        if isinstance(result, Stopped):
            finding = explain(source, result, position)
            raise ScriptError([source.problem(finding.message, finding.code, finding.span)])
        pieces.append(result.value)
        position = result.end
    return pieces
