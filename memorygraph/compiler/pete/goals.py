"""Goals and rules: what can be asked, and what it can be inferred by; a rule is stored as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from memorygraph.json_text import parse_stored_json

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

    @property
    def surface(self) -> str:
        """The predicate as it was written."""
        return self.forms[-1] if self.forms else self.lemma

    def as_dict(self) -> dict[str, Any]:
        """The goal as JSON knows it."""
        # Ids of rules are hashes of this text: the order of the fields counts.
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
        ends = Term(**data["subject"]), data["lemma"], Term(**data["object"])
        return cls(*ends, data.get("negated", False), tuple(data.get("forms", ())))

    def text(self, names: Mapping[str, str]) -> str:
        """The goal in words, with the names of its nodes.

        >>> Goal(Term("leo"), "eat", Term(variable="x"), forms=("eat", "eats")).text({"leo": "Leo"})
        'Leo eats _x'
        """
        predicate = self.surface
        if self.negated:  # `is` has no form that goes with "doesn't"
            predicate = f"not {predicate}" if self.lemma == "be" else f"doesn't {self.lemma}"
        return f"{self.subject.text(names)} {predicate} {self.object.text(names)}"


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

    @property
    def called(self) -> str:
        """What the rule is called."""
        return self.name or self.id

    def as_json(self) -> str:
        """The text that a rule is stored as; its id and its name are stored beside it."""
        body = [goal.as_dict() for goal in self.body]
        parts = {"head": self.head.as_dict(), "body": body, "conjunctions": list(self.conjunctions)}
        return json.dumps(parts, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, id: str = "", name: str = "") -> Self:  # noqa: A002 - the field's name
        """The rule of a stored text."""
        data = parse_stored_json(text)
        body = tuple(map(Goal.from_dict, data["body"]))
        return cls(Goal.from_dict(data["head"]), body, tuple(data["conjunctions"]), id, name)
