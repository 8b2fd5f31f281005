"""Goals, rules and proofs: what can be asked, what it can be inferred by, and why an answer holds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

# Longer numbers than the database's integers hold stand in no id that we made.
_MEMORY = re.compile(r"memory-([0-9]{1,18})")


def id_order(node: str) -> tuple[bool, int, str]:
    """The key that sorts nodes: those that PETE made by their number, then all others by their id.

    >>> sorted(["leo", "memory-10", "memory-9"], key=id_order)
    ['memory-9', 'memory-10', 'leo']
    """
    memory = _MEMORY.fullmatch(node)
    return (memory is None, int(memory[1]) if memory else 0, node)


@dataclass(frozen=True)
class Term:
    """One end of a goal: a node, or a variable that stands for any."""

    node: str | None = None
    variable: str | None = None

    def __post_init__(self) -> None:
        if (self.node is None) == (self.variable is None):
            raise ValueError("a term is either a node or a variable")

    def text(self, names: Mapping[str, str]) -> str:
        """The term in words: a variable, the name of a node, or its address."""
        if self.node is None:
            return f"_{self.variable}"
        memory = _MEMORY.fullmatch(self.node)
        return names.get(self.node) or (f"memory:{memory[1]}" if memory else self.node)

    def as_dict(self) -> dict[str, str]:
        """`{"node": …}` or `{"variable": …}`."""
        return {"variable": self.variable} if self.variable is not None else {"node": str(self.node)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The term that `as_dict` gave."""
        return cls(**data)


@dataclass(frozen=True)
class Goal:
    """What is asked: a predication whose ends are terms.

    A negated goal is answered by what was asserted as negated; that nothing is known does not answer it.
    `forms` are the spellings of the predicate that an edge without a lemma may have; the last is as it was written.
    """

    subject: Term
    lemma: str
    object: Term
    negated: bool = False
    forms: tuple[str, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """Its variables, each once."""
        names = (self.subject.variable, self.object.variable)
        return tuple(dict.fromkeys(name for name in names if name is not None))

    def as_dict(self) -> dict[str, Any]:
        """The goal as JSON knows it."""
        return {
            "subject": self.subject.as_dict(),
            "lemma": self.lemma,
            "forms": list(self.forms),
            "negated": self.negated,
            "object": self.object.as_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The goal that `as_dict` gave."""
        ends = Term.from_dict(data["subject"]), data["lemma"], Term.from_dict(data["object"])
        return cls(*ends, data.get("negated", False), tuple(data.get("forms", ())))

    def text(self, names: Mapping[str, str]) -> str:
        """The goal in words, with the names of its nodes.

        >>> Goal(Term("leo"), "eat", Term(variable="x"), forms=("eat", "eats")).text({"leo": "Leo"})
        'Leo eats _x'
        """
        subject, object_ = self.subject.text(names), self.object.text(names)
        predicate = self.forms[-1] if self.forms else self.lemma
        if self.negated:  # `is` has no form that goes with "doesn't"
            predicate = f"not {predicate}" if self.lemma == "be" else f"doesn't {self.lemma}"
        return f"{subject} {predicate} {object_}"


@dataclass(frozen=True)
class RuleGoals:
    """A rule: its head holds when its body does.

    `conjunctions` stand between the goals of the body, and have no precedence: `a and b or c` is `(a and b) or c`,
    and `but` means `and`.

    >>> x, food, cat = Term(variable="x"), Term("food"), Term("cat")
    >>> rule = RuleGoals(Goal(x, "eat", food), (Goal(x, "is", cat),), ())
    >>> RuleGoals.from_json(rule.as_json()) == rule
    True
    """

    head: Goal
    body: tuple[Goal, ...]
    conjunctions: tuple[str, ...]
    id: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        if len(self.body) != len(self.conjunctions) + 1:
            raise ValueError("a rule has one conjunction less than goals in its body")

    def as_json(self) -> str:
        """The text that a rule is stored as; its id and its name are stored beside it."""
        body = [goal.as_dict() for goal in self.body]
        parts = {"head": self.head.as_dict(), "body": body, "conjunctions": list(self.conjunctions)}
        return json.dumps(parts, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, id: str = "", name: str = "") -> Self:  # noqa: A002 - the field's name
        """The rule of a stored text."""
        data = json.loads(text)
        body = tuple(map(Goal.from_dict, data["body"]))
        return cls(Goal.from_dict(data["head"]), body, tuple(data["conjunctions"]), id, name)


@dataclass(frozen=True)
class Proof:
    """Why a goal without variables holds: it was asserted by an edge, or a rule says it because of other proofs.

    `rule` is the id of the rule, `by` what it is called. Proofs share their parts: written out as a tree, one can
    be far longer than it is in memory.
    """

    goal: Goal
    edge: str | None
    rule: str | None
    because: tuple[Proof, ...] = field(repr=False)
    text: str
    by: str = ""


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


def explain_proof(proof: Proof) -> list[str]:
    r"""Write a proof as indented lines: what holds, and below it why. Each derivation is shown once.

    >>> ends = Term("leo"), Term("meat")
    >>> likes = Proof(Goal(ends[0], "like", ends[1]), "edge-1", None, (), "leo likes meat")
    >>> eats = Proof(Goal(ends[0], "eat", ends[1]), None, "memory-3", (likes,), "leo eats meat", "_x eats _y if …")
    >>> print(*explain_proof(eats), sep="\n")
    leo eats meat, by the rule "_x eats _y if …", because
      leo likes meat (fact)
    """
    lines: list[str] = []
    shown: set[Goal] = set()
    rest = [(proof, "")]
    while rest:
        proof, indent = rest.pop()
        if proof.rule is None:
            lines.append(f"{indent}{proof.text} (fact)")
        elif proof.goal in shown:
            lines.append(f"{indent}{proof.text} (as above)")
        else:
            shown.add(proof.goal)
            lines.append(f'{indent}{proof.text}, by the rule "{proof.by or proof.rule}", because')
            rest += [(reason, indent + "  ") for reason in reversed(proof.because)]
    return lines
