"""The checks of a node graph before it runs, and before any model is paid for.

A problem is what fails when it is reached: a call of an unknown function, an unknown type. A warning is what a run
survives, and what nobody means: a route that is never taken, a node that is never reached, a variable that nothing
sets, a loop without a way out. A conversation without nodes is not run here, and has neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from memorygraph.compiler.convo import (
    AUTO,
    EXIT,
    OUTSIDE,
    GraphNode,
    Route,
    functions_of,
    graph_of,
    id_in,
    is_disabled,
    tag_of,
)
from memorygraph.errors import MAX_PROBLEMS, MemoryGraphError, Problem, Span
from memorygraph.languages.convo import syntax
from memorygraph.languages.convo.reading import BUILT_IN
from memorygraph.languages.convo.syntax import message_role
from memorygraph.languages.convo.text import first_line
from memorygraph.languages.engine.findings import Finding, locate_problems, shorten, suggestion
from memorygraph.runtime.convo.builtins import FUNCTIONS, METHODS, is_method
from memorygraph.runtime.convo.control import PURE_FORMS
from memorygraph.runtime.convo.evaluator import Evaluator
from memorygraph.runtime.convo.graph_uses import CONDITIONS, Uses, plain_text, uses_of
from memorygraph.runtime.convo.scene import OUTPUT, VARIABLES_OF_THE_ENGINE
from memorygraph.runtime.convo.scope import Environment
from memorygraph.runtime.convo.types import BASIC, CONSTRUCTORS
from memorygraph.runtime.convo.values import truthy

BRANCHES = frozenset({"then", "elif", "else"})
IF_FORM = "; a branch is written with parentheses: `if(…) then(…) elif(…) then(…) else(…)`"

MAX_FOLLOWED_WAYS = 1000  # from node to node; in a larger graph, no paths are looked for
MAX_SHOWN_NAMES = 8
COMPARISONS = frozenset({"eq", "neq", "gt", "gte", "lt", "lte"})  # of fewer than two values, they are false


def find_graph_problems(program: syntax.ConvoProgram) -> list[Problem]:
    r"""Everything that is wrong in a conversation: what its text shows, and what its graph would fail at.

    >>> from memorygraph.languages import parse
    >>> print(find_graph_problems(parse("@exit = eqq(output 1)\n> node a\n> goto a", "convo"))[0].message)
    there is no function `eqq`; did you mean `eq`?
    """
    if program.problems:
        return list(program.problems)
    return locate_first(program, GraphChecks(program).errors())


def find_warnings(program: syntax.ConvoProgram) -> list[Problem]:
    """What has no effect here, and, in a graph that can be run, what is suspicious."""
    if program.problems:
        return list(program.warnings)
    suspicious = locate_first(program, GraphChecks(program).warnings())
    return sorted([*program.warnings, *suspicious], key=lambda warning: (warning.line, warning.column))


def locate_first(program: syntax.ConvoProgram, checks: Iterable[Iterator[Finding]]) -> list[Problem]:
    """What checks find, in the order of the text; of each no more than anybody reads, since guesses take their time."""
    found = chain.from_iterable(islice(check, MAX_PROBLEMS + 1) for check in checks)
    return list(locate_problems(sorted(found, key=lambda finding: finding.span), program.source))


@dataclass(frozen=True)
class LiveRoute:
    """A route with what is known of it before a run: whether it `always` holds, or is `dead`, and why."""

    route: Route
    targets: tuple[str, ...]
    always: bool
    dead: str = ""


class GraphChecks:
    """The checks of one graph."""

    def __init__(self, program: syntax.ConvoProgram) -> None:
        self.program, self.text = program, program.source.text
        self.graph = graph_of(program.conversation)
        self.functions = {
            function.name: function
            for function in functions_of(chain(self.graph.outside, *(n.children for n in self.graph.nodes.values())))
        }
        self.uses: Uses = uses_of(self.graph, self.text)
        # An import can declare any function, type or variable.
        self.imports = any(tag.name == "import" for message in program.statements for tag in message.tags)
        self.evaluator = Evaluator(Environment(), program.source)
        self.followed = self.count_ways() <= MAX_FOLLOWED_WAYS
        self.routes = {id_: list(self.judge_routes(node)) for id_, node in self.graph.nodes.items()}

    def errors(self) -> Iterator[Iterator[Finding]]:
        """The checks for what fails when it is reached."""
        if self.graph.nodes and not self.imports:
            yield self.check_calls()
            yield self.check_types()

    def warnings(self) -> Iterator[Iterator[Finding]]:
        """The checks for what is suspicious."""
        if not self.graph.nodes:
            return
        yield self.check_routes()
        if self.followed:
            reached = self.reached_nodes()
            yield self.check_reached(reached)
            yield self.check_loops(reached or set(self.graph.nodes))
        if not self.imports and not self.uses.sets_any:
            yield self.check_variables()

    # Functions and types

    def check_calls(self) -> Iterator[Finding]:
        """Find calls of functions that are neither built in nor declared."""
        known = [*self.functions, *sorted(BUILT_IN)]
        for name, span in self.uses.calls:
            if name not in BUILT_IN and name not in self.functions and not is_method(name.split(".")):
                declare = f"; declare it: > {shorten(name)}(…) -> (…)"
                methods = f"; the methods of texts are {', '.join(METHODS)}"
                guess = suggestion(name, known) or (methods if "." in name else declare)
                yield Finding(f"there is no function `{shorten(name)}`{guess}", "unknown-function", span)

    def check_types(self) -> Iterator[Finding]:
        """Find names of types that nothing declares."""
        if self.uses.sets_any:
            return
        declared = {write.name for write in self.uses.writes}
        for name, span in self.uses.types:
            if name not in BASIC and name not in declared:
                guess = suggestion(name, [*declared, *BASIC])
                guess = guess or f"; declare it in a `> define`: {shorten(name)} = map(…)"
                yield Finding(f"there is no type `{shorten(name)}`{guess}", "unknown-type", span)

    # Routes

    def judge_routes(self, node: GraphNode) -> Iterator[LiveRoute]:
        """Find out of each route whether it always holds, or is never taken."""
        forks = tag_of(node.message, "fork") is not None
        sure: Route | None = None
        for route in node.routes:
            targets = tuple(self.graph.targets(node, route)) if self.followed else ()
            holds = self.constant_of(route)
            dead = "its condition is never true" if holds is False else ""
            dead = dead or self.impossible_output(node, route)
            if sure is not None and not forks and not dead:
                dead = f"`{shorten(sure.written)}` before it always holds; write the routes with conditions first"
            always = holds is True and not dead and (bool(targets) or route.target != AUTO)
            yield LiveRoute(route, targets, always, dead)
            sure = sure or (route if always else None)

    def count_ways(self) -> int:
        """The number of ways from node to node."""
        routes = [route for node in self.graph.nodes.values() for route in node.routes]
        return sum(len(route.candidates or self.graph.nodes) if route.target == AUTO else 1 for route in routes)

    def constant_of(self, route: Route) -> bool | None:
        """Whether a condition holds, where that is known before a run; None where it is not."""
        condition = route.condition
        if isinstance(condition, syntax.Template) or any(tag.name in CONDITIONS for tag in route.tags):
            return None
        if condition is None:
            return True
        last = condition[-1].value if condition else None
        if last is None or (isinstance(last, syntax.Call) and compares_nothing(last)):
            return False
        if len(condition) > 1 or not is_constant(last):
            return None
        try:
            return truthy(self.evaluator.value(last))
        except MemoryGraphError:  # the run will say so
            return None

    def impossible_output(self, node: GraphNode, route: Route) -> str:
        """Why `eq(output "x")` never holds: no reply of the node's type is `x`."""
        condition = route.condition
        if not isinstance(condition, tuple) or len(condition) != 1:
            return ""
        call = condition[0].value
        if not isinstance(call, syntax.Call) or call.name != ("eq",) or len(call.arguments) != 2:
            return ""
        values = [argument.value for argument in call.arguments]
        texts = [text for text in map(plain_text, values) if text is not None]
        if len(texts) != 1 or not any(isinstance(v, syntax.Reference) and v.path == (OUTPUT,) for v in values):
            return ""
        replies = self.replies_of(node)
        if not replies or texts[0] in replies:
            return ""
        known = ", ".join(f"`{shorten(reply)}`" for reply in replies[:MAX_SHOWN_NAMES])
        return f"the replies of `{shorten(node.id)}` are {known}{suggestion(texts[0], replies)}"

    def replies_of(self, node: GraphNode) -> list[str]:
        """The texts that a node can reply, where its last message of the user says so; empty where it does not."""
        functions = [*functions_of(self.graph.outside), *node.functions]
        # What is added to a message can say another type.
        asked = [child for child in node.children if child.role == "user" or tag_of(child, "json") is not None]
        asked = [child for child in asked if not is_disabled(child)]
        if not asked or any(function.modifier != "local" for function in functions):
            return []
        if asked[-1].role != "user" or any(tag.name in CONDITIONS for tag in asked[-1].tags):
            return []
        tags = [tag for tag in asked[-1].tags if tag.name == "json"]
        type_ = (tags[-1].expression or self.uses.declared_type(tags[-1].text or "")) if tags else None
        if not isinstance(type_, syntax.Call) or type_.name != ("enum",):
            return []
        texts = [plain_text(argument.value) for argument in type_.arguments]
        return [text for text in texts if text is not None] if None not in texts else []

    def check_routes(self) -> Iterator[Finding]:
        """Find routes that are never taken."""
        for routes in self.routes.values():
            for live in routes:
                if live.dead:
                    text = f"`{shorten(live.route.written)}` is never taken: {live.dead}"
                    yield Finding(text, "dead-route", first_line(self.text, live.route.span))

    # Paths

    def successors(self, id_: str) -> set[str]:
        """The nodes, or EXIT, to which a node can lead."""
        return {target for live in self.routes[id_] if not live.dead for target in live.targets}

    def follow(self, starts: Iterable[str]) -> set[str]:
        """All nodes on paths from some nodes on, with them."""
        found: set[str] = set()
        waiting = [id_ for id_ in starts if id_ in self.graph.nodes]
        while waiting:
            id_ = waiting.pop()
            if id_ not in found:
                found.add(id_)
                waiting += [target for target in self.successors(id_) if target in self.graph.nodes]
        return found

    def reached_nodes(self) -> set[str] | None:
        """The nodes that a run can reach; None where the file does not say where a run begins."""
        gotos = [id_in(m.head) for m in self.graph.outside if message_role(m) == "goto" and not is_disabled(m)]
        starts = [id_ for id_ in gotos if id_ != OUTSIDE or OUTSIDE in self.graph.nodes]
        if not starts or any("{{" in id_ for id_ in starts):
            return None
        return self.follow(starts)

    def check_reached(self, reached: Set[str] | None) -> Iterator[Finding]:
        """Find nodes that no path leads to."""
        for id_, node in self.graph.nodes.items():
            if reached is not None and id_ not in reached:
                name = shorten(id_)
                # Only the head of a message can name an id with blanks.
                route = f"`> to {name}` in" if len(id_.split()) > 1 else f"`@to {name}` above"
                text = f"the node `{name}` is never reached: no `goto` and no route that can be taken leads to it"
                hint = f"write {route} the node before it"
                yield Finding(f"{text}; {hint}", "unreached-node", self.head_span(node.message))

    def check_loops(self, reached: Set[str]) -> Iterator[Finding]:
        """Find loops that nothing leads out of."""
        ends = {id_ for id_ in reached if self.may_end(id_)}
        before: dict[str, set[str]] = {}
        for id_ in reached:
            for target in self.successors(id_):
                before.setdefault(target, set()).add(id_)
        waiting = list(ends)
        while waiting:
            more = before.get(waiting.pop(), set()) - ends
            ends |= more
            waiting += more
        # Every path from the others goes on without end. The same nodes follow from each node of a loop that nothing
        # leads out of, not even into another loop.
        following = {id_: self.follow(self.successors(id_)) for id_ in self.graph.nodes if id_ in reached - ends}
        said: set[str] = set()
        for id_, loop in following.items():
            if id_ in loop and id_ not in said and all(len(following[other]) == len(loop) for other in loop):
                said |= loop
                yield self.endless_loop([other for other in self.graph.nodes if other in loop])

    def may_end(self, id_: str) -> bool:
        """Whether a run can end at a node: by an exit, or because no route has to hold."""
        live = [each for each in self.routes[id_] if not each.dead]
        return not any(each.always for each in live) or any(EXIT in each.targets for each in live)

    def endless_loop(self, loop: list[str]) -> Finding:
        """What to say of a loop without a way out, at the route that closes it."""
        closing = next(live.route for live in reversed(self.routes[loop[-1]]) if not live.dead)
        nodes = ", ".join(f"`{shorten(id_)}`" for id_ in loop[:MAX_SHOWN_NAMES])
        which = f"the node {nodes} leads" if len(loop) == 1 else f"the nodes {nodes} lead"
        text = f"{which} only to {'itself' if len(loop) == 1 else 'each other'}, and nothing ends the loop"
        hint = "; write `@exit = …` above one of them, else the run fails at its limit of steps"
        return Finding(text + hint, "endless-graph", first_line(self.text, closing.span))

    # Variables

    def check_variables(self) -> Iterator[Finding]:
        """Find variables that are read where no path has set them."""
        setters: dict[str, list[Any]] = {}
        for write in self.uses.writes:
            setters.setdefault(write.name, []).append(write)
        known = [*setters, *sorted(VARIABLES_OF_THE_ENGINE)]
        after: dict[str, set[str]] = {}  # by variable: the nodes after those that set it
        for read in self.uses.reads:
            name, writes = read.name, setters.get(read.name, [])
            if name == OUTPUT and not writes and read.node is not None and read.speaks:
                text = "`output` is known in routes only; what the node before gave is `input`"
                yield Finding(text, "unset-variable", read.span)
            elif name in VARIABLES_OF_THE_ENGINE or name.startswith("__") or name in BASIC:
                continue
            elif not writes:
                guess = suggestion(name, known) or "; set it in a `> define`"
                guess = IF_FORM if name in BRANCHES else guess
                yield Finding(f"nothing sets the variable `{shorten(name)}`{guess}", "unset-variable", read.span)
            elif self.followed and read.node is not None and not any(w.node is None or read.follows(w) for w in writes):
                if name not in after:
                    after[name] = self.follow(chain.from_iterable(self.successors(w.node) for w in writes))
                if read.node not in after[name]:
                    nodes = ", ".join(dict.fromkeys(f"`{shorten(w.node)}`" for w in writes[:MAX_SHOWN_NAMES]))
                    text = f"no path sets the variable `{shorten(name)}` before this: it is set in {nodes}"
                    yield Finding(f"{text}; set it in a `> define` above the nodes", "unset-variable", read.span)

    def head_span(self, message: syntax.Message) -> Span:
        """Where the head of a message stands."""
        line = first_line(self.text, message.span)
        at = self.text.rfind(message.head, *line) if message.head else -1
        return Span(at, at + len(message.head)) if at >= 0 else line


def compares_nothing(call: syntax.Call) -> bool:
    """Whether a call is a comparison that lacks a second value."""
    return ".".join(call.name) in COMPARISONS and len(call.arguments) < 2


def is_constant(value: syntax.Value) -> bool:
    """Whether a value is known before a run: literals, and calls of pure built-in functions with such."""
    match value:
        case syntax.Text() | syntax.Number() | syntax.Constant():
            return True
        case syntax.Template():
            return plain_text(value) is not None
        case syntax.Call():
            name = ".".join(value.name)
            pure = name in CONSTRUCTORS or name in PURE_FORMS - {"inc", "dec"}
            # A search for a pattern may take seconds.
            pure = pure or (name in FUNCTIONS and FUNCTIONS[name].pure and name != "regexMatch")
            return pure and all(not a.path and is_constant(a.value) for a in value.arguments)
        case syntax.Map():
            return all(is_constant(entry.value) for entry in value.entries)
        case syntax.Array():
            return all(is_constant(item.value) for item in value.items)
    return False
