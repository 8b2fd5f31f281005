"""Rules as questions use them, with places for variables; and what questions read: rules and facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from memorygraph.compiler.pete.goals import Goal, RuleGoals
from memorygraph.errors import MemoryGraphError
from memorygraph.graph.namespace import RunQuery

MAX_RULES = 1_000
Pair: TypeAlias = tuple[str, str]
Ends: TypeAlias = tuple[str | int, str | int]  # of a goal in a rule: a node, or the place of a variable
Environment: TypeAlias = tuple[str | None, ...]  # the nodes of a rule's variables, by their places

# To put the goals of a rule in order takes time that grows with their square.
MAX_ORDERED = 16


class Predicate(NamedTuple):
    """What a goal says, apart from of whom."""

    lemma: str
    negated: bool


class Pattern(NamedTuple):
    """A goal up to the names of its variables: None is a variable, `same` says that both ends are one."""

    subject: str | None
    object: str | None
    same: bool
    predicate: Predicate

    @classmethod
    def of(cls, goal: Goal) -> Pattern:
        """The pattern of a goal."""
        subject, object_ = goal.subject, goal.object
        same = subject.variable is not None and subject.variable == object_.variable
        return cls(subject.node, object_.node, same, Predicate(goal.lemma, goal.negated))

    def covers(self) -> Iterator[Pattern]:
        """The goals whose answers contain all of this one's: itself first."""
        yield self
        for subject, object_ in ((self.subject, None), (None, self.object), (None, None)):
            yield Pattern(subject, object_, False, self.predicate)

    @property
    def ground(self) -> bool:
        """Whether there is only yes or no."""
        return self.subject is not None and self.object is not None


@dataclass(frozen=True, eq=False)
class Clause:
    """A rule with its variables as places: the same for each use, whose nodes stand in an environment."""

    rule: RuleGoals
    head: Ends
    body: tuple[tuple[Ends, Predicate], ...]
    variables: int

    @classmethod
    def of(cls, rule: RuleGoals) -> Clause:
        """The clause of a rule."""
        places: dict[str, int] = {}

        def ends(goal: Goal) -> Ends:
            subject, object_ = (
                term.node if term.node is not None else places.setdefault(str(term.variable), len(places))
                for term in (goal.subject, goal.object)
            )
            return subject, object_

        head = ends(rule.head)
        body = tuple((ends(goal), Predicate(goal.lemma, goal.negated)) for goal in rule.body)
        return cls(rule, head, body, len(places))

    def ways(self) -> Iterator[list[int]]:
        """The goals that together make the body true, one list for each way: what follows an `or` begins one.

        Conjunctions have no precedence, so what follows later by an `and` must hold in any case.
        """
        words = self.rule.conjunctions
        for start in (0, *(i for i, word in enumerate(words, 1) if word == "or")):
            yield [start, *(i for i, word in enumerate(words[start:], start + 1) if word != "or")]

    def uses_for(self, pattern: Pattern) -> Iterator[RuleUse]:
        """The ways in which the rule can answer a goal."""
        if pattern.same and self.head[0] != self.head[1]:
            joined = self.join_ends()
            if joined is not None:
                yield from joined.uses_for(pattern)
            return
        environment: list[str | None] = [None] * self.variables
        for end, node in zip(self.head, (pattern.subject, pattern.object), strict=True):
            known = environment[end] if isinstance(end, int) else end
            if node is not None and known not in {None, node}:
                return
            if node is not None and isinstance(end, int):
                environment[end] = node
        for way in self.ways():
            yield RuleUse(self, tuple(self.order_goals(way, environment)), tuple(environment))

    def order_goals(self, way: list[int], environment: list[str | None]) -> list[int]:
        """Order the goals to be asked: next the one of whose ends most are known by then."""
        if len(way) > MAX_ORDERED:
            return way
        known = {place for place, node in enumerate(environment) if node is not None}
        ordered: list[int] = []
        while rest := [goal for goal in way if goal not in ordered]:
            open_ends = [sum(isinstance(end, int) and end not in known for end in self.body[goal][0]) for goal in rest]
            ordered.append(rest[open_ends.index(min(open_ends))])
            known.update(end for end in self.body[ordered[-1]][0] if isinstance(end, int))
        return ordered

    def pattern_of(self, goal: int, environment: Environment) -> Pattern:
        """A goal of the body, with the nodes that are known."""
        ends, predicate = self.body[goal]
        subject, object_ = (environment[end] if isinstance(end, int) else end for end in ends)
        return Pattern(subject, object_, ends[0] == ends[1] and subject is None, predicate)

    def extend(self, goal: int, environment: Environment, pair: Pair) -> Environment:
        """Put an answer to a goal of the body into an environment."""
        nodes = list(environment)
        for end, node in zip(self.body[goal][0], pair, strict=True):
            if isinstance(end, int):
                nodes[end] = node
        return tuple(nodes)

    def conclude(self, environment: Environment) -> Pair | None:
        """Conclude what the head says; None if the body left one of its variables open."""
        subject, object_ = (environment[end] if isinstance(end, int) else end for end in self.head)
        return None if subject is None or object_ is None else (subject, object_)

    def join_ends(self) -> Clause | None:
        """Make both ends of the head one; None if they are two nodes."""
        kept, gone = self.head if isinstance(self.head[1], int) else self.head[::-1]
        if not isinstance(gone, int):
            return None

        def one(ends: Ends) -> Ends:
            subject, object_ = (kept if end == gone else end for end in ends)
            return subject, object_

        body = tuple((one(ends), predicate) for ends, predicate in self.body)
        return Clause(self.rule, one(self.head), body, self.variables)


@dataclass(frozen=True, eq=False)
class RuleUse:
    """A rule that is to answer a goal, in one of its ways: the goals to ask in their order, and what is known."""

    clause: Clause
    order: tuple[int, ...]
    environment: Environment


class Knowledge:
    """A namespace as one question sees it: the rules that can be reached from its goal, and any facts."""

    def __init__(self, run: RunQuery, goal: Goal, nesting: int) -> None:
        """Read the rules that a proof with `nesting` levels can use; `all_rules` is false if there are too many."""
        self._run = run
        self._forms: dict[str, dict[str, None]] = {}
        self.rules: dict[Predicate, list[Clause]] = {}  # by what their heads say
        self.all_rules = True
        self.note_forms(goal)
        self.read_rules({Predicate(goal.lemma, goal.negated)}, nesting)

    def facts(self, patterns: Sequence[Pattern], limit: int) -> list[dict[str, Any]]:
        """Read the edges that assert any of these goals: its number, both ends, the edge and its predicate."""
        rows = [
            {
                "goal": number,
                "subject": pattern.subject,
                "object": pattern.object,
                "same": pattern.same,
                "forms": list(self._forms[pattern.predicate.lemma]),
                **pattern.predicate._asdict(),
            }
            for number, pattern in enumerate(patterns)
        ]
        return self._run("pete_questions/facts", rows=rows, limit=limit)

    def read_rules(self, predicates: set[Predicate], nesting: int) -> None:
        """Read the rules that can be reached, by one query for all that are nested equally deep."""
        left = MAX_RULES
        for _ in range(nesting):
            rows = [predicate._asdict() for predicate in sorted(predicates)]
            found = self._run("pete_questions/rules", rows=rows, limit=left + 1)
            self.all_rules = self.all_rules and len(found) <= left
            self.rules.update((predicate, []) for predicate in predicates)
            predicates = {predicate for row in found[:left] for predicate in self.keep_rule(row)}
            predicates -= self.rules.keys()
            left -= min(len(found), left)
            if not predicates:
                break

    def keep_rule(self, row: dict[str, Any]) -> list[Predicate]:
        """Keep a rule that was read, and return the predicates that its body asks for."""
        try:
            rule = RuleGoals.from_json(row["rule"], row["id"], row["name"] or "")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise MemoryGraphError(f"the rule {row['id']} cannot be read: {error}") from error
        clause = Clause.of(rule)
        self.rules[Predicate(rule.head.lemma, rule.head.negated)].append(clause)
        for goal in (rule.head, *rule.body):
            self.note_forms(goal)
        return [predicate for _, predicate in clause.body]

    def note_forms(self, goal: Goal) -> None:
        """Remember how the predicate of a goal is written."""
        self._forms.setdefault(goal.lemma, {goal.lemma: None}).update(dict.fromkeys(goal.forms))
