"""Which context sources were declared but are not in a prompt, and why.

Source: seeds/agentscript.txt, trace requirements: "Which context sources were declared but not included?"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memorygraph.budget import Budget
from memorygraph.context.items import Unused
from memorygraph.languages.agentscript import syntax
from memorygraph.languages.agentscript.printing import print_expression
from memorygraph.runtime.agentscript.scope import Declared, Scope


def unused_sources(generate: syntax.Generate, scope: Scope, visible: Sequence[Declared]) -> Iterator[Unused]:
    """The sources of this function that the prompt leaves out, then those that its caller could see."""
    included = {id(declared.use) for declared in visible}
    for use in _uses(scope.frame.function.body):
        if id(use) not in included:
            yield _unused(use, _reason(use, generate, scope))
    for declared in scope.frame.caller:
        yield _unused(declared.use, "the context of a caller does not reach what it calls")


def _reason(use: syntax.Use, generate: syntax.Generate, scope: Scope) -> str:
    if id(use) in scope.frame.reached:
        return "it was declared in a block that has ended"
    if use.span.start > generate.span.start:
        return "it is declared after this generate"
    return "the run did not come to its declaration"


def _unused(use: syntax.Use, reason: str) -> Unused:
    budget = Budget.parse(use.budget.text) if use.budget else None
    return Unused(print_expression(use.value), budget, reason)


def _uses(block: syntax.Block) -> Iterator[syntax.Use]:
    """The declarations in a block and the blocks inside it, in the order of the text."""
    for statement in block.statements:
        match statement:
            case syntax.Use():
                yield statement
            case syntax.If():
                yield from _uses(statement.then)
                if statement.otherwise:
                    yield from _uses(statement.otherwise)
            case syntax.For() | syntax.Loop() | syntax.Repeat():
                yield from _uses(statement.body)
