"""The checks of a program without syntax errors, before it runs. Source: specs/agentscript.md, section 3."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import get_args

from memorygraph.budget import SUFFIXES
from memorygraph.errors import Problem, Source, Span
from memorygraph.languages.agentscript import syntax
from memorygraph.languages.agentscript.body import BodyChecks
from memorygraph.languages.agentscript.names import KINDS, Binding, Scope
from memorygraph.languages.engine.findings import Finding, locate_problems
from memorygraph.languages.engine.syntax import walk, walk_levels

# These concern only a program that is run itself: one that is imported needs no main agent and function.
ENTRY_CODES = frozenset({"missing-main-agent", "missing-main-func"})

MAX_NESTING = 100  # levels of blocks, brackets and operators, one inside the other

_LEVELS = tuple({syntax.Block, *get_args(syntax.Expression)} - {*get_args(syntax.Leaf)})


def check_agentscript(statements: Sequence[syntax.Import | syntax.Agent], source: Source) -> list[Finding]:
    """Everything that can be found, in the order of the text; only what nests too deep is said alone."""
    return _collect(statements, _ProgramChecks(statements, source, {}).findings())


def find_warnings(program: syntax.AgentScriptProgram) -> list[Problem]:
    """The numbers of which only the first digits are read, in a program without problems.

    The suffix of a budget is left out elsewhere, too (specs/agentscript.md, section 1): `2k` is 2 without a warning.
    """
    findings: list[Finding] = []
    statements = program.statements if not program.problems else ()
    for node in chain.from_iterable(map(walk, statements)):
        if isinstance(node, syntax.NumberLiteral) and (suffix := node.text.lstrip("0123456789.")) not in SUFFIXES:
            read = f"`{node.text}` is read as {node.value}, without the `{suffix}` after its first digits"
            message = f"{read}; write all digits of a number, and anything else as a text in quotes"
            findings.append(Finding(message, "dropped-suffix", node.span))
    return [*locate_problems(sorted(findings, key=lambda finding: finding.span), program.source)]


def check_entry(
    declared: Sequence[syntax.Import | syntax.Agent],
    statements: Sequence[syntax.Statement],
    source: Source,
    scope: Scope,
) -> list[Finding]:
    """Everything that can be found in an entry of a session, as in a program; `scope` is what the session has.

    What an entry declares replaces what the session has under that name.
    """
    checks = _ProgramChecks(declared, source, scope.bindings)
    if declared:
        return [one for one in _collect(declared, checks.findings()) if one.code not in ENTRY_CODES]
    body = syntax.Block((*statements,))
    return _collect([body], checks.statements(body, scope))


def _collect(pieces: Sequence[syntax.AgentScriptSyntax], findings: Iterable[Finding]) -> list[Finding]:
    """These findings in the order of the text, with the numbers that are too large; or only that it nests too deep."""
    deep, numbers = _measured(pieces)
    if deep is not None:
        message = f"this is nested more than {MAX_NESTING} levels deep; name a part of it: `part = …`"
        return [Finding(message, "nesting-too-deep", Span(deep.end - 1, deep.end))]
    return sorted([*numbers, *findings], key=lambda finding: finding.span)


def _measured(statements: Iterable[syntax.AgentScriptSyntax]) -> tuple[Span | None, list[Finding]]:
    """The first place that is too deep, and the numbers that are too large."""
    numbers: list[Finding] = []
    for node, depth in walk_levels(statements, _LEVELS):
        if depth > MAX_NESTING:
            return node.span, []
        if isinstance(node, syntax.NumberLiteral) and math.isinf(node.value):
            numbers.append(Finding("this number is too large; one has at most 308 digits", "invalid-number", node.span))
    return None, numbers


def _functions(agent: syntax.Agent) -> dict[str | None, syntax.Function]:
    """The functions of an agent by name; the main one also by None."""
    functions: dict[str | None, syntax.Function] = {}
    for function in agent.functions:
        functions.setdefault(function.name, function)
        if function.main:
            functions.setdefault(None, function)
    return functions


class _ProgramChecks:
    """The checks of imports, agents and functions, and of how they are called.

    `known` are those of other sources, by name; what the statements declare comes in their place.
    """

    def __init__(
        self, statements: Sequence[syntax.Import | syntax.Agent], source: Source, known: Mapping[str, Binding]
    ) -> None:
        self._source = source
        self._imports = [one for one in statements if isinstance(one, syntax.Import)]
        self._agents = [one for one in statements if isinstance(one, syntax.Agent)]
        self._known = known
        replaced = {one.name for one in statements}
        self._globals = {name: one for name, one in known.items() if name not in replaced}
        agents = [*(one for one in self._globals.values() if isinstance(one, syntax.Agent)), *self._agents]
        self._functions = {agent.name: _functions(agent) for agent in agents}

    def findings(self) -> Iterator[Finding]:
        """All of them, in any order."""
        yield from self._imported()
        yield from self._declared()
        yield from self._entry()
        for agent in self._agents:
            yield from self._agent(agent)

    def statements(self, block: syntax.Block, scope: Scope) -> Iterator[Finding]:
        """What is wrong in statements that stand in no function."""
        function = syntax.Function("", main=False, parameters=(), body=block)
        yield from BodyChecks(scope, self._functions).function(function)

    def _imported(self) -> Iterator[Finding]:
        for one in self._imports:
            if one.name in self._globals:
                yield self._twice("duplicate-import", one, self._globals[one.name], "is imported twice")
            else:
                self._globals[one.name] = one

    def _declared(self) -> Iterator[Finding]:
        mains = [agent for agent in self._agents if agent.main]
        for agent in mains[1:]:
            yield self._twice("duplicate-main-agent", agent, mains[0], "is a second main agent; a program has one")
        for agent in self._agents:
            known = self._globals.get(agent.name)
            if isinstance(known, syntax.Import):
                message = "has the name of an import; give one of them another name"
                yield self._twice("duplicate-binding", agent, known, message)
            elif known is not None:
                yield self._twice("duplicate-agent", agent, known, "is declared twice; give one another name")
            else:
                self._globals[agent.name] = agent

    def _entry(self) -> Iterator[Finding]:
        main = next((agent for agent in self._agents if agent.main), None)
        if not self._agents:
            message = "a program needs an agent: main agent { main func(input) { … } }"
            yield Finding(message, "missing-main-agent", Span(0, 1))
        elif main is None and len(self._agents) > 1:
            message = "none of these agents is the main one; write `main agent` for the one where the program starts"
            yield Finding(message, "missing-main-agent", self._name_of(self._agents[0]))
        else:
            entry = main or self._agents[0]
            if not any(function.main for function in entry.functions):
                message = f"the program starts at `{entry.name}`, which has no main func: main func(input) {{ … }}"
                yield Finding(message, "missing-main-func", self._name_of(entry))

    def _agent(self, agent: syntax.Agent) -> Iterator[Finding]:
        bindings = dict(self._globals)
        mains = [function for function in agent.functions if function.main]
        for function in mains[1:]:
            yield self._twice("duplicate-main-func", function, mains[0], "is a second main func; an agent has one")
        for function in agent.functions:
            known = bindings.get(function.name)
            if isinstance(known, syntax.Function):
                yield self._twice("duplicate-function", function, known, "is defined twice; give one another name")
            elif known is not None:
                message = f"has the name of {KINDS[known.kind]}; give it another name"
                yield self._twice("duplicate-binding", function, known, message)
            else:
                bindings[function.name] = function
        configs = {config.name for config in agent.configs}
        yield from self._configs(agent, bindings)
        for function in agent.functions:
            yield from self._parameters(function)
            yield from BodyChecks(Scope(bindings, configs), self._functions).function(function)

    def _configs(self, agent: syntax.Agent, bindings: dict[str, Binding]) -> Iterator[Finding]:
        seen: dict[str, syntax.Config] = {}
        for config in agent.configs:
            if config.name in seen:
                message = f"`{config.name}` is given twice for this agent; remove one"
                yield Finding(message, "invalid-config", config.span, seen[config.name].span)
            seen.setdefault(config.name, config)
            yield from BodyChecks(Scope(bindings), self._functions).setting(config)

    def _parameters(self, function: syntax.Function) -> Iterator[Finding]:
        seen: dict[str, syntax.FunctionParameter] = {}
        for index, parameter in enumerate(function.parameters):
            name, span = parameter.name, Span(parameter.span.start, parameter.span.start + len(parameter.name))
            if name in seen:
                message = f"the parameter `{name}` is there twice; give one another name"
                yield Finding(message, "duplicate-param", span, seen[name].span)
            seen.setdefault(name, parameter)
            known = self._globals.get(name)
            if isinstance(known, syntax.Import):
                message = f"the parameter `{name}` hides {KINDS[known.kind]} that is imported; give it another name"
                yield Finding(message, "param-shadows-import", span, known.span if self._is_here(known) else None)
            if parameter.shape is not None and not (function.main and index == 0 and name == "input"):
                message = "only the first parameter of a main func can have a shape, and it is called `input`"
                yield Finding(message, "invalid-param-shape", parameter.shape.span)

    def _twice(self, code: str, one: Binding, first: Binding, message: str) -> Finding:
        place = self._name_of(first) if self._is_here(first) else None
        return Finding(f"`{one.name}` {message}", code, self._name_of(one), place)

    def _is_here(self, one: Binding) -> bool:
        """Whether a binding stands in this source."""
        return self._known.get(one.name) is not one

    def _name_of(self, one: Binding) -> Span:
        """Where the name of an import, agent or function stands; the whole of it where it has none."""
        start, end = one.span
        keyword = "func" if isinstance(one, syntax.Function) else one.kind
        after = self._source.text.find(keyword, start, end) + len(keyword)
        at = self._source.text.find(one.name, after, end)
        return one.span if at < 0 else Span(at, at + len(one.name))
