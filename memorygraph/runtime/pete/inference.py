"""Questions: what is asserted, and what rules infer from it, within bounds.

A goal is asked once, whatever its variables are called, and keeps a table of its answers, so that recursive rules end.
An answer keeps its proof of the least height, the number of rules that nest in it, and the work goes on in the order
of heights. A better proof is handed on like a new answer.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from memorygraph.compiler.pete.goals import Goal, Term, id_order
from memorygraph.graph.namespace import RunQuery
from memorygraph.limits import spend
from memorygraph.runtime.pete.rules import MAX_RULES, Environment, Knowledge, Pair, Pattern, Predicate, RuleUse

MAX_FACTS = 100_000
# Each answer of a goal goes to each partial proof that waits for it: this bounds how often, for each goal allowed.
STEPS_PER_GOAL = 100
MAX_SHOWN_ANSWERS = 10  # of one question, in a log


@dataclass(eq=False)
class Proof:
    """Why a predicate holds of two nodes: it was asserted by an edge, or a rule says it because of other proofs.

    `rule` is the id of the rule, `by` what it is called, `height` how many rules nest in the proof. Proofs share their
    parts: written out as a tree, one can be far longer than it is in memory.
    """

    predicate: Predicate
    ends: Pair
    surface: str  # the predicate as it was written
    edge: str | None = None
    rule: str | None = None
    by: str = ""
    because: tuple[Proof, ...] = field(default=(), repr=False)
    height: int = 0

    @property
    def goal(self) -> Goal:
        """What it proves."""
        subject, object_ = self.ends
        lemma, negated = self.predicate
        return Goal(Term(subject), lemma, Term(object_), negated, (self.surface,))

    def become(self, better: Proof) -> None:
        """Hold for another reason, also for the proofs that stand on this one."""
        vars(self).update(vars(better))


@dataclass(frozen=True)
class GoalAnswer:
    """Nodes for the variables of a goal, and why it holds of them."""

    bindings: Mapping[str, str]
    proof: Proof


@dataclass(frozen=True)
class Answers:
    """The answers that were found; if not `complete`, there may be more, and `reason` says which bound was met."""

    answers: tuple[GoalAnswer, ...]
    complete: bool
    reason: str | None

    @property
    def shown(self) -> tuple[GoalAnswer, ...]:
        """The answers that a log shows; the proof is that of the first."""
        return self.answers[:MAX_SHOWN_ANSWERS]

    @property
    def shown_nodes(self) -> list[str]:
        """The nodes that the shown answers and the proof name, each once."""
        named = dict.fromkeys(node for answer in self.shown for node in answer.bindings.values())
        waiting, seen = [answer.proof for answer in self.shown[:1]], set[int]()
        while waiting:
            proof = waiting.pop()
            if id(proof) not in seen:
                seen.add(id(proof))
                named.update(dict.fromkeys(proof.ends))
                waiting += reversed(proof.because)
        return list(named)


@dataclass(eq=False)
class PartialProof:
    """A partial proof that waits for its next goal, to answer the goal of `owner`; it has `because` so far."""

    owner: GoalTable
    use: RuleUse
    environment: Environment
    height: int = 0
    because: tuple[Proof, ...] = ()

    @property
    def goal(self) -> int:
        """The goal of the rule that it waits for."""
        return self.use.order[len(self.because)]

    def conclusion(self, ends: Pair) -> Proof:
        """The proof that it has come to be, with its parts as the rule names them."""
        rule = self.use.clause.rule
        parts = sorted(zip(self.use.order, self.because, strict=True), key=lambda part: part[0])
        because = tuple(proof for _, proof in parts)
        predicate, surface = self.owner.pattern.predicate, rule.head.surface
        return Proof(predicate, ends, surface, None, rule.id, rule.called, because, self.height + 1)


@dataclass(eq=False)
class GoalTable:
    """A goal that was asked, its answers, and the partial proofs that wait for them.

    A partial proof may want only the answers that fit a narrower goal, so both are kept by their ends.
    """

    pattern: Pattern
    level: int  # in how many rules the goal is nested at least
    answers: dict[Pair, Proof] = field(default_factory=dict)
    goals: set[GoalTable] = field(default_factory=set)  # that it waits for
    expanded: bool = False
    by_end: dict[tuple[str | None, str | None], list[Proof]] = field(default_factory=lambda: defaultdict(list))
    steps: dict[tuple[str | None, str | None, bool], list[PartialProof]] = field(default_factory=dict)

    def fitting(self, pattern: Pattern) -> Iterable[Proof]:
        """The answers that fit a goal."""
        subject, object_, same, _ = pattern
        if subject is not None and object_ is not None:
            return [self.answers[subject, object_]] if (subject, object_) in self.answers else []
        every = subject is None and object_ is None
        proofs = self.answers.values() if every else self.by_end.get((subject, object_), ())
        return [proof for proof in proofs if proof.ends[0] == proof.ends[1]] if same else proofs

    def waiting(self, pair: Pair) -> Iterator[PartialProof]:
        """The steps that wait for an answer."""
        subject, object_ = pair
        for ends in ((subject, object_), (subject, None), (None, object_), (None, None)):
            yield from self.steps.get((*ends, False), ())
        if subject == object_:
            yield from self.steps.get((None, None, True), ())


class BoundMet(Exception):  # noqa: N818 - control flow, not an error
    """A bound on all the work was met."""


def ask(run: RunQuery, goal: Goal, *, depth: int = 8, most: int = 100, most_goals: int = 10_000) -> Answers:
    """The nodes of which a goal holds, each with its shortest proof, in the order of `id_order`.

    `depth` bounds how deep rules nest in a proof (0: only facts), `most` the answers, `most_goals` how often a goal
    is asked. A goal without variables has one answer without bindings, or none.
    """
    knowledge = Knowledge(run, goal, depth + 1)  # one more, to know what the depth leaves out
    search = ProofSearch(knowledge, goal, depth, most, most_goals)
    search.solve()
    return search.answers()


class ProofSearch:
    """The work on one question."""

    def __init__(self, knowledge: Knowledge, goal: Goal, depth: int, most: int, most_goals: int) -> None:
        self.knowledge, self.goal = knowledge, goal
        self.depth, self.most, self.most_goals = depth, most, most_goals
        self.tables: dict[Pattern, GoalTable] = {}
        self.steps: dict[tuple[GoalTable, RuleUse, int, Environment], tuple[PartialProof, GoalTable]] = {}
        self.agenda: list[tuple[int, int, PartialProof, Proof]] = []
        self.unread: list[GoalTable] = []
        self.unexpanded: list[GoalTable] = []
        self.reasons: dict[str, None] = {}
        self.handed = 0
        self.rows = 0
        self.root = self.demand(Pattern.of(goal), 0)

    def solve(self) -> None:
        """Work until nothing is left to do, or a bound is met."""
        try:
            while self.unread:
                self.read_facts()
                # The proof of a fact is the shortest, and a goal without variables has no other answer.
                found = self.root.answers.values()
                if self.root.pattern.ground and any(proof.height == 0 for proof in found):
                    return
                while self.unexpanded or self.agenda:
                    while self.unexpanded:
                        self.expand(self.unexpanded.pop())
                    if self.agenda:
                        self.advance(*heapq.heappop(self.agenda))
        except BoundMet as met:
            self.reasons[str(met)] = None

    def read_facts(self) -> None:
        """Read the facts of all the goals that were not read yet."""
        tables, self.unread = self.unread, []
        left = MAX_FACTS - self.rows
        if self.depth == 0 or not self.has_rules(self.root):  # no answer beyond those that are given is of use
            left = min(left, self.most + 1)
        facts = self.knowledge.facts([table.pattern for table in tables], left + 1)
        self.rows += len(facts)
        for row in facts[:left]:
            table = tables[row["goal"]]
            ends = row["subject"], row["object"]
            self.offer(table, Proof(table.pattern.predicate, ends, row["surface"], row["edge"]))
        if self.rows > MAX_FACTS:
            raise BoundMet(f"more than {MAX_FACTS} facts were to be read")

    def demand(self, pattern: Pattern, level: int) -> GoalTable:
        """Find or make the table of a goal that is nested in `level` rules; a wider goal's does if it is no deeper."""
        known = (table for wider in pattern.covers() if (table := self.tables.get(wider)))
        table = next((table for table in known if table.pattern == pattern or table.level <= level), None)
        if table is None:
            table = self.tables[pattern] = GoalTable(pattern, level)
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

    def find_uses(self, table: GoalTable) -> Iterator[RuleUse]:
        """Find the rules that could answer a goal, in all their ways."""
        for clause in self.knowledge.rules.get(table.pattern.predicate, ()):
            yield from clause.uses_for(table.pattern)

    def has_rules(self, table: GoalTable) -> bool:
        """Whether a rule could answer a goal."""
        return next(self.find_uses(table), None) is not None

    def expand(self, table: GoalTable) -> None:
        """Let the rules answer a goal, unless it is nested too deep."""
        if not table.expanded and table.level < self.depth:
            table.expanded = True
            for use in self.find_uses(table):
                self.wait(PartialProof(table, use, use.environment))

    def wait(self, step: PartialProof) -> None:
        """Ask the goal that a partial proof is at. One that has come there before is kept if it is not higher."""
        pattern = step.use.clause.pattern_of(step.goal, step.environment)
        key = (step.owner, step.use, len(step.because), step.environment)
        if key in self.steps:
            former, table = self.steps[key]
            if former.height <= step.height:
                return
            former.height, former.because = step.height, step.because
            step = former
        else:
            if len(self.steps) >= self.most_goals:
                raise BoundMet(f"more than {self.most_goals} goals were to be asked")
            table = self.demand(pattern, step.owner.level + 1)
            step.owner.goals.add(table)
            table.steps.setdefault(pattern[:3], []).append(step)
            self.steps[key] = step, table
        for proof in table.fitting(pattern):
            self.hand(step, proof)

    def hand(self, step: PartialProof, proof: Proof) -> None:
        """Put an answer on the agenda of a partial proof, unless the proof would be too high."""
        height = max(step.height, proof.height)
        if height < self.depth:
            self.handed += 1
            if self.handed > self.most_goals * STEPS_PER_GOAL:
                raise BoundMet(f"more than {self.most_goals * STEPS_PER_GOAL} steps were to be taken")
            heapq.heappush(self.agenda, (height, self.handed, step, proof))

    def advance(self, height: int, _: int, step: PartialProof, proof: Proof) -> None:
        """Take a partial proof past its goal by one of the answers."""
        spend()
        if height > max(step.height, proof.height):
            return  # it is on the agenda with the better proof too
        clause = step.use.clause
        environment = clause.extend(step.goal, step.environment, proof.ends)
        further = PartialProof(step.owner, step.use, environment, height, (*step.because, proof))
        if len(further.because) < len(step.use.order):
            self.wait(further)
        elif ends := clause.conclude(environment):
            self.offer(step.owner, further.conclusion(ends))
        else:
            self.reasons[f'the rule "{clause.rule.called}" does not say what a variable of its head is'] = None

    def offer(self, table: GoalTable, found: Proof) -> None:
        """Keep an answer if it is new or its proof is less high, and hand it to all that wait for it."""
        kept = table.answers.setdefault(found.ends, found)
        if kept is found:
            table.by_end[found.ends[0], None].append(found)
            table.by_end[None, found.ends[1]].append(found)
        elif found.height < kept.height:
            kept.become(found)
        else:
            return
        for step in table.waiting(found.ends):
            self.hand(step, kept)

    def answers(self) -> Answers:
        """The answers in their order, with their proofs."""
        pairs = sorted(self.root.answers, key=lambda pair: (id_order(pair[0]), id_order(pair[1])))
        ends = self.goal.subject.variable, self.goal.object.variable
        answers = tuple(
            GoalAnswer(
                {end: node for end, node in zip(ends, pair, strict=True) if end is not None}, self.root.answers[pair]
            )
            for pair in pairs[: self.most]
        )
        if self.root.pattern.ground and pairs:  # yes is all that could be answered
            return Answers(answers, complete=True, reason=None)
        self.note_bounds(len(pairs))
        return Answers(answers, not self.reasons, "; ".join(self.reasons) or None)

    def note_bounds(self, found: int) -> None:
        """Note why there may be more answers than these."""
        tables = self.tables.values()
        if any(
            (table.steps and any(found.height >= self.depth for found in table.answers.values()))
            or (table.level >= self.depth and not table.expanded and self.has_rules(table))
            for table in tables
        ):
            self.reasons[f"proofs in which more than {self.depth} rules nest were not tried"] = None
        if not self.knowledge.all_rules:
            self.reasons[f"there are more than {MAX_RULES} rules to try"] = None
        if found > self.most:
            self.reasons[f"there are more than {self.most} answers"] = None


def shorten_answers(found: Answers, labels: Mapping[str, str]) -> dict[str, Any]:
    """Make the feedback to a question: its first answers, why there may be others, and the proof of the first.

    `labels` are the addresses and names of the nodes in it.
    """
    if not found.answers:
        return {"answer": "unknown"} | ({} if found.complete else {"because": found.reason})
    first = found.answers[0]
    shown: dict[str, Any] = {"answer": "yes"}
    if first.bindings:
        shown = {"answers": [{name: labels[node] for name, node in answer.bindings.items()} for answer in found.shown]}
    if len(found.answers) > len(found.shown):
        shown["more"] = len(found.answers) - len(found.shown)
    if not found.complete:
        shown["incomplete"] = found.reason
    return shown | {"proof": explain_proof(first.proof, labels)}


def explain_proof(proof: Proof, names: Mapping[str, str]) -> list[str]:
    r"""Write a proof as indented lines: what holds, and below it why. Each derivation is shown once.

    `names` are those of the nodes; a node without one is shown by its id.

    >>> ends = ("memory-1", "meat")
    >>> likes = Proof(Predicate("like", False), ends, "likes", "edge-1")
    >>> eats = Proof(Predicate("eat", False), ends, "eats", rule="memory-3", by="_x eats _y if …", because=(likes,))
    >>> print(*explain_proof(eats, {"memory-1": "leo"}), sep="\n")
    leo eats meat, by the rule "_x eats _y if …", because
      leo likes meat (fact)
    """
    lines: list[str] = []
    shown: set[Goal] = set()
    rest = [(proof, "")]
    while rest:
        proof, indent = rest.pop()
        goal = proof.goal
        text = goal.text(names)
        if proof.rule is None:
            lines.append(f"{indent}{text} (fact)")
        elif goal in shown:
            lines.append(f"{indent}{text} (as above)")
        else:
            shown.add(goal)
            lines.append(f'{indent}{text}, by the rule "{proof.by or proof.rule}", because')
            rest += [(reason, indent + "  ") for reason in reversed(proof.because)]
    return lines
