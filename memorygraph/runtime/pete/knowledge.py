"""What questions read: rules, facts and names of one namespace, each kind by one query for all that wants it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from memorygraph.errors import MemoryGraphError
from memorygraph.graph.namespace import RunQuery
from memorygraph.runtime.pete.clauses import Clause, Pair, Pattern, Predicate
from memorygraph.runtime.pete.goals import Goal, RuleGoals

MAX_RULES = 1_000


class Fact(NamedTuple):
    """What an edge asserts of one of the goals that were asked, whose number is `goal`."""

    goal: int
    pair: Pair
    edge: str
    surface: str


class Knowledge:
    """A namespace as one question sees it: the rules that can be reached from its goal, and any facts."""

    def __init__(self, run: RunQuery, goal: Goal, nesting: int) -> None:
        """Read the rules that a proof can use in which so many nest; `all_rules` is false if there are too many."""
        self._run = run
        self._forms: dict[str, dict[str, None]] = {}
        self._rules: dict[Predicate, list[Clause]] = {}
        self.all_rules = True
        self._spell(goal)
        self._read_rules({Predicate(goal.lemma, goal.negated)}, nesting)

    def rules(self, predicate: Predicate) -> Sequence[Clause]:
        """The rules whose head says this."""
        return self._rules.get(predicate, ())

    def facts(self, patterns: Sequence[Pattern], limit: int) -> list[Fact]:
        """What is asserted of any of these goals, in the order of the goals and of the nodes."""
        rows = [
            {
                "goal": number,
                "subject": pattern.subject,
                "object": pattern.object,
                "same": pattern.same,
                "lemma": pattern.predicate.lemma,
                "forms": list(self._forms[pattern.predicate.lemma]),
                "negated": pattern.predicate.negated,
            }
            for number, pattern in enumerate(patterns)
        ]
        found = self._run("pete_questions/facts", rows=rows, limit=limit)
        return [Fact(row["goal"], (row["subject"], row["object"]), row["edge"], row["surface"]) for row in found]

    def names(self, nodes: Iterable[str]) -> dict[str, str]:
        """The names of nodes, of those that have one."""
        rows = self._run("pete_questions/names", ids=sorted(nodes))
        return {row["id"]: row["name"] for row in rows if row["name"]}

    def _read_rules(self, predicates: set[Predicate], nesting: int) -> None:
        """One query for all rules that are nested equally deep."""
        left = MAX_RULES
        for _ in range(nesting):
            rows = [predicate._asdict() for predicate in sorted(predicates)]
            found = self._run("pete_questions/rules", rows=rows, limit=left + 1)
            self.all_rules = self.all_rules and len(found) <= left
            self._rules.update((predicate, []) for predicate in predicates)
            predicates = {predicate for row in found[:left] for predicate in self._keep(_rule(row))}
            predicates -= self._rules.keys()
            left -= min(len(found), left)
            if not predicates:
                break

    def _keep(self, rule: RuleGoals) -> list[Predicate]:
        clause = Clause.of(rule)
        self._rules[Predicate(rule.head.lemma, rule.head.negated)].append(clause)
        for goal in (rule.head, *rule.body):
            self._spell(goal)
        return [predicate for _, predicate in clause.body]

    def _spell(self, goal: Goal) -> None:
        self._forms.setdefault(goal.lemma, {goal.lemma: None}).update(dict.fromkeys(goal.forms))


def _rule(row: dict[str, Any]) -> RuleGoals:
    try:
        return RuleGoals.from_json(row["rule"], row["id"], row["name"] or "")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise MemoryGraphError(f"the rule {row['id']} cannot be read: {error}") from error
