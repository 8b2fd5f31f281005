"""Questions: what is asserted, and what rules infer from it, within bounds.

A goal is asked once, whatever its variables are called, and keeps a table of its answers: whoever asks it again is
told those, and every later one. So recursive rules end. What no table can go on without is read from the database,
one query for all the goals that wait.

An answer keeps its proof of the least height, the number of rules that nest in it, and the work goes on in the
order of heights. A better proof is told like a new answer.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from memorygraph.graph.namespace import RunQuery
from memorygraph.runtime.pete.clauses import Clause, Environment, Pair, Pattern, Predicate, Use
from memorygraph.runtime.pete.goals import Answer, Answers, Goal, Proof, RuleGoals, Term, explain, id_order
from memorygraph.runtime.pete.knowledge import MAX_RULES, Knowledge

__all__ = ["Answer", "Answers", "Goal", "Proof", "RuleGoals", "Term", "ask", "explain"]

MAX_FACTS = 100_000
# Each answer of a goal goes to each partial proof that waits for it: this bounds how often, for each goal allowed.
STEPS_PER_GOAL = 100

Place: TypeAlias = tuple["Table", Pair]  # where an answer is kept


@dataclass(eq=False)
class Found:
    """Why an answer holds: an edge, or a clause and the answers that satisfy its body."""

    height: int
    surface: str
    edge: str | None = None
    clause: Clause | None = None
    because: tuple[Place, ...] = ()


@dataclass(eq=False)
class Step:
    """A partial proof that waits for its next goal, to answer the goal of `owner`; it has `because` so far."""

    owner: Table
    use: Use
    environment: Environment
    height: int = 0
    because: tuple[Place, ...] = ()

    @property
    def goal(self) -> int:
        """The goal of the rule that it waits for."""
        return self.use.order[len(self.because)]

    def conclusion(self) -> Found:
        """The proof that it has come to be, with its parts as the rule names them."""
        clause = self.use.clause
        because = sorted(zip(self.use.order, self.because, strict=True), key=lambda part: part[0])
        return Found(self.height + 1, clause.surface, None, clause, tuple(place for _, place in because))


@dataclass(eq=False)
class Table:
    """A goal that was asked, its answers, and who waits for them.

    `level` is in how many rules the goal is nested at least. Who waits may want only the answers that fit a narrower
    goal, so that answers and who waits are kept by what they can be found by.
    """

    pattern: Pattern
    level: int
    answers: dict[Pair, Found] = field(default_factory=dict)
    goals: set[Table] = field(default_factory=set)  # that it waits for
    expanded: bool = False
    _by_end: dict[tuple[str | None, str | None], list[Pair]] = field(default_factory=dict)
    _steps: dict[tuple[str | None, str | None, bool], list[Step]] = field(default_factory=dict)

    @property
    def is_waited_for(self) -> bool:
        """Whether anybody wants its answers."""
        return bool(self._steps)

    def keep(self, pair: Pair, found: Found) -> None:
        """Keep an answer, or a better proof of it."""
        if pair not in self.answers:
            self._by_end.setdefault((pair[0], None), []).append(pair)
            self._by_end.setdefault((None, pair[1]), []).append(pair)
        self.answers[pair] = found

    def await_by(self, step: Step, pattern: Pattern) -> None:
        """Let a step wait for the answers that fit a goal."""
        self._steps.setdefault(pattern[:3], []).append(step)

    def fitting(self, pattern: Pattern) -> Iterable[Pair]:
        """The answers that fit a goal."""
        subject, object_, same, _ = pattern
        if subject is not None and object_ is not None:
            return [(subject, object_)] if (subject, object_) in self.answers else []
        pairs = self.answers if subject is None and object_ is None else self._by_end.get((subject, object_), ())
        return [pair for pair in pairs if pair[0] == pair[1]] if same else pairs

    def waiting(self, pair: Pair) -> Iterator[Step]:
        """The steps that wait for an answer."""
        subject, object_ = pair
        for ends in ((subject, object_), (subject, None), (None, object_), (None, None)):
            yield from self._steps.get((*ends, False), ())
        if subject == object_:
            yield from self._steps.get((None, None, True), ())


class _Met(Exception):  # noqa: N818 - control flow, not an error
    """A bound on all the work was met."""


def ask(run: RunQuery, goal: Goal, *, depth: int = 8, most: int = 100, most_goals: int = 10_000) -> Answers:
    """The nodes of which a goal holds, each with its shortest proof, in the order of `id_order`.

    `depth` bounds how deep rules nest in a proof (0: only facts), `most` the answers, `most_goals` how often a goal
    is asked. A goal without variables has one answer without bindings, or none.

    Raises:
        MemoryGraphError: a stored rule cannot be read.
    """
    knowledge = Knowledge(run, goal, depth + 1)  # one more, to know what the depth leaves out
    search = _Search(knowledge, goal, depth, most, most_goals)
    search.solve()
    return search.answers()


class _Search:
    """The work on one question."""

    def __init__(self, knowledge: Knowledge, goal: Goal, depth: int, most: int, most_goals: int) -> None:
        self.knowledge, self.goal = knowledge, goal
        self.depth, self.most, self.most_goals = depth, most, most_goals
        self.tables: dict[Pattern, Table] = {}
        self.steps: dict[tuple[Table, Use, int, Environment], tuple[Step, Table]] = {}
        self.agenda: list[tuple[int, int, Step, Table, Pair]] = []
        self.unread: list[Table] = []
        self.unexpanded: list[Table] = []
        self.reasons: dict[str, None] = {}
        self.handed = 0
        self.rows = 0
        self.root = self._demand(Pattern.of(goal), 0)

    def solve(self) -> None:
        """Work until nothing is left to do, or a bound is met."""
        try:
            while self.unread:
                self._read_facts()
                if self._is_asserted():
                    return
                self._infer()
        except _Met as met:
            self.reasons[str(met)] = None

    def _read_facts(self) -> None:
        """The facts of all the goals that were not read yet."""
        tables, self.unread = self.unread, []
        left = MAX_FACTS - self.rows
        if self.depth == 0 or not self._has_rules(self.root):  # no answer beyond those that are given is of use
            left = min(left, self.most + 1)
        facts = self.knowledge.facts([table.pattern for table in tables], left + 1)
        self.rows += len(facts)
        for fact in facts[:left]:
            self._offer(tables[fact.goal], fact.pair, Found(0, fact.surface, fact.edge))
        if self.rows > MAX_FACTS:
            raise _Met(f"more than {MAX_FACTS} facts were to be read")

    def _is_asserted(self) -> bool:
        """Whether a goal without variables is a fact: then there is no shorter proof, and no other answer."""
        return self.root.pattern.ground and any(found.height == 0 for found in self.root.answers.values())

    def _infer(self) -> None:
        """Do what can be done without reading."""
        while self.unexpanded or self.agenda:
            while self.unexpanded:
                self._expand(self.unexpanded.pop())
            if self.agenda:
                self._go_on(*heapq.heappop(self.agenda))

    def _demand(self, pattern: Pattern, level: int) -> Table:
        """The table for a goal that is asked in so many rules: its own, or that of a wider goal if it is no deeper."""
        known = (table for wider in pattern.covers() if (table := self.tables.get(wider)))
        table = next((table for table in known if table.pattern == pattern or table.level <= level), None)
        if table is None:
            table = self.tables[pattern] = Table(pattern, level)
            self.unread.append(table)
            self.unexpanded.append(table)
        lowered = [(table, level)]
        while lowered:
            each, level = lowered.pop()
            if level < each.level:
                each.level = level
                self.unexpanded.append(each)
                lowered += [(goal, level + 1) for goal in each.goals]
        return table

    def _uses(self, table: Table) -> Iterator[Use]:
        """The rules that could answer a goal, in all their ways."""
        for clause in self.knowledge.rules(table.pattern.predicate):
            yield from clause.uses_for(table.pattern)

    def _has_rules(self, table: Table) -> bool:
        return next(self._uses(table), None) is not None

    def _expand(self, table: Table) -> None:
        """Let the rules answer a goal, unless it is nested too deep."""
        if not table.expanded and table.level < self.depth:
            table.expanded = True
            for use in self._uses(table):
                self._wait(Step(table, use, use.environment))

    def _wait(self, step: Step) -> None:
        """Ask the goal that a partial proof is at. One that has come there before is kept if it is not higher."""
        pattern = step.use.clause.asks(step.goal, step.environment)
        key = (step.owner, step.use, len(step.because), step.environment)
        if key in self.steps:
            former, table = self.steps[key]
            if former.height <= step.height:
                return
            former.height, former.because = step.height, step.because
            step = former
        else:
            if len(self.steps) >= self.most_goals:
                raise _Met(f"more than {self.most_goals} goals were to be asked")
            table = self._demand(pattern, step.owner.level + 1)
            step.owner.goals.add(table)
            table.await_by(step, pattern)
            self.steps[key] = step, table
        for pair in table.fitting(pattern):
            self._hand(step, table, pair)

    def _hand(self, step: Step, table: Table, pair: Pair) -> None:
        """Put an answer on the agenda of who waits for it, unless the proof would be too high."""
        height = max(step.height, table.answers[pair].height)
        if height < self.depth:
            self.handed += 1
            if self.handed > self.most_goals * STEPS_PER_GOAL:
                raise _Met(f"more than {self.most_goals * STEPS_PER_GOAL} steps were to be taken")
            heapq.heappush(self.agenda, (height, self.handed, step, table, pair))

    def _go_on(self, height: int, _: int, step: Step, table: Table, pair: Pair) -> None:
        """Take a partial proof past its goal by one of the answers."""
        if height > max(step.height, table.answers[pair].height):
            return  # it is on the agenda with the better proof too
        clause = step.use.clause
        environment = clause.told(step.goal, step.environment, pair)
        further = Step(step.owner, step.use, environment, height, (*step.because, (table, pair)))
        if len(further.because) < len(step.use.order):
            self._wait(further)
        elif conclusion := clause.concludes(environment):
            self._offer(step.owner, conclusion, further.conclusion())
        else:
            self.reasons[f'the rule "{clause.called}" does not say what a variable of its head is'] = None

    def _offer(self, table: Table, pair: Pair, found: Found) -> None:
        """Keep an answer if it is new or its proof is less high, and tell all who wait for it."""
        former = table.answers.get(pair)
        if former is None or found.height < former.height:
            table.keep(pair, found)
            for step in table.waiting(pair):
                self._hand(step, table, pair)

    def answers(self) -> Answers:
        """The answers in their order, with their proofs."""
        pairs = sorted(self.root.answers, key=lambda pair: (id_order(pair[0]), id_order(pair[1])))
        proofs = self._proofs(pairs[: self.most])
        ends = self.goal.subject.variable, self.goal.object.variable
        answers = tuple(
            Answer({end: node for end, node in zip(ends, pair, strict=True) if end is not None}, proof)
            for pair, proof in zip(pairs, proofs, strict=False)
        )
        if self.root.pattern.ground and pairs:  # yes is all that could be answered
            return Answers(answers, complete=True, reason=None)
        self._note_bounds(len(pairs))
        return Answers(answers, not self.reasons, "; ".join(self.reasons) or None)

    def _note_bounds(self, found: int) -> None:
        tables = self.tables.values()
        if any(
            (table.is_waited_for and any(found.height >= self.depth for found in table.answers.values()))
            or (table.level >= self.depth and not table.expanded and self._has_rules(table))
            for table in tables
        ):
            self.reasons[f"proofs in which more than {self.depth} rules nest were not tried"] = None
        if not self.knowledge.all_rules:
            self.reasons[f"there are more than {MAX_RULES} rules to try"] = None
        if found > self.most:
            self.reasons[f"there are more than {self.most} answers"] = None

    def _proofs(self, pairs: list[Pair]) -> list[Proof]:
        """The proofs of the goal's answers. What a proof stands on is always less high than it."""
        wanted = [(self.root, pair) for pair in pairs]
        needed: dict[Place, Found] = {}
        while wanted:
            place = table, pair = wanted.pop()
            if place not in needed:
                needed[place] = table.answers[pair]
                wanted += needed[place].because
        names = self.knowledge.names({node for _, pair in needed for node in pair}) if needed else {}
        made: dict[Place, Proof] = {}
        for (table, pair), found in sorted(needed.items(), key=lambda item: item[1].height):
            because = tuple(made[place] for place in found.because)
            made[table, pair] = _proof(table.pattern.predicate, pair, found, because, names)
        return [made[self.root, pair] for pair in pairs]


def _proof(predicate: Predicate, pair: Pair, found: Found, because: tuple[Proof, ...], names: dict[str, str]) -> Proof:
    goal = Goal(Term(pair[0]), predicate.lemma, Term(pair[1]), predicate.negated, (found.surface,))
    text = goal.text(names)
    if found.clause is None:
        return Proof(goal, found.edge, None, (), text)
    return Proof(goal, None, found.clause.rule.id, because, text, found.clause.called)
