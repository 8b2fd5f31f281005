"""PETE: the items of a log to batches of parameterized Cypher.

A log is compiled where it goes on: `Open` says which contexts are open and what their handles mean, `Known` what the
store knows about the texts and addresses that the items name. A question is answered by the store, so that compiling
stops at one (`Compiler.question`), and goes on with what was found (`Compiler.bind`).

Ids tell what they name: `memory-5` is the address memory:5; a fact, a value, an abstraction and a rule are named by
the hash of what they say, so that saying it again changes nothing. There a predicate is its stem, not its lemma: ids
are kept, and dictionaries change.

Source: the rulings of PETE.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import singledispatchmethod
from typing import Any

from memorygraph.compiler.pete.concepts import Concepts, verb_of
from memorygraph.compiler.pete.rows import PeteRows, clipped, hash_of
from memorygraph.compiler.pete.state import (
    MAX_KEY,
    Asked,
    Bound,
    Known,
    Mistake,
    Needs,
    Open,
    id_of,
    key_of,
    needs_of,
    parts_of,
    pieces_of,
)
from memorygraph.errors import Span
from memorygraph.languages.pete import syntax
from memorygraph.languages.pete.lemmas import spellings
from memorygraph.query import Query

__all__ = [
    "Asked",
    "Bound",
    "Compiler",
    "Known",
    "Mistake",
    "Needs",
    "Open",
    "id_of",
    "key_of",
    "needs_of",
    "pieces_of",
]

_FIELD = re.compile(r"([A-Za-z][A-Za-z0-9_]{0,99})\s*:\s*(.*)", re.DOTALL)
_REPORT = re.compile(r"\s*([A-Za-z][A-Za-z0-9_]*)\s*(.*)", re.DOTALL)


class Compiler:
    """Compiles the items that continue a log.

    `live` says that a model is writing: a handle that nobody knows becomes a concept without a text, with a warning,
    and the answer to a question is written into the log. `mistakes` are found item by item; where there is one,
    nothing may be written.
    """

    def __init__(self, stack: Sequence[Open], known: Known, *, log: int | None, live: bool = False) -> None:
        self.stack = [deepcopy(frame) for frame in stack]
        self.log = log
        self.question: Asked | None = None
        self._nodes = Concepts(known, live=live)
        self._text = ""

    def queries(self, namespace: str, token: str) -> Iterator[Query]:
        """The queries for what was compiled since the last time; each reports what it changed."""
        rows, self._nodes.rows = self._nodes.rows, PeteRows()
        return rows.queries(namespace, token, self.log)

    @property
    def mistakes(self) -> list[Mistake]:
        """What is wrong; where there is something, nothing may be written."""
        return self._nodes.mistakes

    @property
    def warnings(self) -> list[Mistake]:
        """What was taken differently than it was written."""
        return self._nodes.warnings

    @property
    def last_address(self) -> int:
        """The last address that was given out, or 0."""
        return self._nodes.last_address

    def bind(self, name: str, nodes: Sequence[Bound]) -> None:
        """Let a handle of the innermost context mean the first of some nodes."""
        frame = self.stack[-1]
        if nodes:
            frame.bindings[name] = nodes[0]
        else:
            frame.bindings.pop(name, None)
        self._nodes.rows.bind(frame.id, name, [node.id for node in nodes])

    def add(self, piece: syntax.Piece) -> None:
        """Compile one item."""
        if not self.stack and not (self.log is None and isinstance(piece.item, syntax.Opening)):
            message = "no context is open here: a log begins with one, and ends where it is closed"
            self._nodes.mistake(message, "nothing-open", piece.item.span)
            return
        self._text = piece.text
        self._add(piece.item)

    @singledispatchmethod
    def _add(self, item: Any) -> None:
        """One method for each class of items that says more than its text."""
        self._entry(item)

    @_add.register
    def begin_context(self, item: syntax.Opening) -> None:
        """A context begins."""
        root = not self.stack
        self._check_length(item.name, item.span)
        passed = [
            (ref.name, self._nodes.named(ref.name) if root else self._nodes.handle(ref, self.stack[-1]))
            for ref in item.refs
        ]
        frame = Open(self._nodes.new_address(), item.name)
        properties: dict[str, Any] = {
            "memory": frame.address,
            "name": item.name,
            "head": self._text,
            "refs": [ref.name for ref in item.refs],
            "size": 0,
        }
        if root:
            self.log = frame.address
            properties |= {"root": item.name, "index": 0}
        else:
            parent = self.stack[-1]
            properties |= {"parent": parent.address, "index": parent.size}
            self._grown(parent)
        owner = self.stack[-1].id if self.stack else None
        self._nodes.rows.opened[frame.id] = {"id": frame.id, "owner": owner, "properties": properties}
        self.stack.append(frame)
        self._nodes.keep_context(frame.address, Bound(frame.id, frame.name))
        for name, bound in passed:
            frame.bindings[name] = bound
            self._nodes.rows.bind(frame.id, name, [bound.id], passed=True)

    @_add.register
    def end_context(self, _item: syntax.Closing) -> None:
        """The innermost context ends, and its parent gets a handle for it."""
        frame = self.stack.pop()
        self._change(frame, tail=self._text)
        if self.stack:
            self.bind(frame.name, [Bound(frame.id, frame.name)])

    @_add.register
    def tldr(self, item: syntax.Tldr) -> None:
        """The last one abbreviates the context."""
        self._entry(item)
        self._change(self.stack[-1], tldr=item.text.concept, data=item.text.concept)

    @_add.register
    def annotation(self, item: syntax.Annotation) -> None:
        """A note sets a field of the context's node, if it has a key."""
        self._entry(item)
        found = _FIELD.fullmatch(item.text)
        if found:
            self._change(self.stack[-1], **{f"field_{found[1]}": found[2]})

    @_add.register
    def sensor_report(self, item: syntax.SensorReport) -> None:
        """Its sensor and its value can be asked for."""
        found = _REPORT.fullmatch(item.text)
        self._entry(item, sensor=found[1] if found else None, value=(found[2].strip() or None) if found else None)

    @_add.register
    def command(self, item: syntax.Command) -> None:
        """Its parts can be asked for."""
        if item.faculty is not None:
            self._nodes.known.faculties.add(item.faculty)
        arguments = item.arguments.text if item.arguments else None
        self._entry(item, faculty=item.faculty, procedure=item.procedure, arguments=arguments)

    @_add.register
    def feedback(self, item: syntax.Feedback) -> None:
        """What the system answered."""
        self._entry(item, value=item.data.text)

    @_add.register
    def abbreviation(self, item: syntax.Abbreviation) -> None:
        """A closed context that is somewhere else in the store."""
        bound = self._context(item)
        if bound is not None:
            self._abbreviated(item, item, bound, [item.name])

    @_add.register
    def instantiation(self, item: syntax.Instantiation) -> None:
        """A handle gets its meaning."""
        match item.value:
            case syntax.Nlp():
                bound: Bound | None = self._nodes.concept(item.value)
            case syntax.Memory():
                bound = self._nodes.node_at(item.value)
            case syntax.Abbreviation():
                bound = self._context(item.value)
        if bound is None:
            return
        if isinstance(item.value, syntax.Abbreviation):
            self._abbreviated(item, item.value, bound, [item.value.name, item.ref.name])
        else:
            self._entry(item, [bound.id], binds=[item.ref.name])
            self.bind(item.ref.name, [bound])

    def _abbreviated(self, item: syntax.Item, context: syntax.Abbreviation, bound: Bound, names: Sequence[str]) -> None:
        passed = [self._nodes.handle(ref, self.stack[-1]).id for ref in context.refs]
        self._entry(item, [bound.id, *passed], binds=names, address=context.memory.address)
        for name in names:
            self.bind(name, [bound])

    @_add.register
    def fact(self, item: syntax.Fact) -> None:
        """An edge, or, with a variable in it, a question."""
        if any(isinstance(part, syntax.Variable) for part in parts_of(item)):
            self._asked(item, item.predication)
            return
        known = len(self._nodes.mistakes)
        self._check_length(item.predication.predicate, item.span)
        ends = self._ends(item.predication)
        if len(self._nodes.mistakes) == known:
            edge = self._asserted(item.predication, *ends)
            self._entry(item, [bound.id for bound in ends], edge=edge)

    @_add.register
    def asked(self, item: syntax.Question) -> None:
        """A question stops the compiling."""
        self._asked(item, item.predication)

    def _asked(self, item: syntax.Fact | syntax.Question, predication: syntax.Predication) -> None:
        goal = self._goal(predication)
        if goal is not None:
            self._entry(item, [term["node"] for term in (goal["subject"], goal["object"]) if "node" in term])
            self.question = Asked(goal, item.span, isinstance(item, syntax.Question))

    @_add.register
    def rule(self, item: syntax.Rule) -> None:
        """A node that holds its goals."""
        predications = (item.head, *item.body)
        goals = [goal for goal in map(self._goal, predications) if goal is not None]
        if len(goals) < len(predications):
            return
        head = goals[0]
        conjunctions = [("or" if word == "or" else "and") for word in item.conjunctions]
        named = [name_by_stem(goal, said) for goal, said in zip(goals, predications, strict=True)]
        identifier = f"rule-{hash_of(rule_text(named, conjunctions))}"
        text = rule_text(goals, conjunctions)
        name = " ".join(self._text.split())
        about = {"rule": text, "head_lemma": head["lemma"], "head_negated": head["negated"]}
        self._nodes.rows.add_node(identifier, ["Rule"], name=name, **about)
        self._entry(item, [identifier], rule=identifier)

    def _goal(self, predication: syntax.Predication) -> dict[str, Any] | None:
        """A predication as a goal that the store can be asked; None where something in it is wrong."""
        known = len(self._nodes.mistakes)
        self._check_length(predication.predicate, predication.span)
        subject, obj = (self._term(argument) for argument in (predication.subject, predication.object))
        goal = {
            "subject": subject,
            "lemma": predication.lemma,
            "forms": list(spellings(predication.lemma, predication.predicate)),
            "negated": predication.negated,
            "object": obj,
        }
        return goal if len(self._nodes.mistakes) == known else None

    def _term(self, argument: syntax.Argument) -> dict[str, Any]:
        if isinstance(argument, syntax.Variable):
            return {"variable": argument.name}
        return {"node": self._nodes.node_of(argument, self.stack[-1]).id}

    def _check_length(self, word: str, span: Span) -> None:
        """What is looked up by an index can't be of any length."""
        if len(word) > MAX_KEY:
            message = f"the name of a context and a predicate have at most {MAX_KEY} characters: {clipped(word)}"
            self._nodes.mistake(message, "name-too-long", span)

    def _asserted(self, predication: syntax.Predication, subject: Bound, obj: Bound) -> str:
        """The edge of a fact."""
        identifier = f"fact-{hash_of(subject.id, predication.stem, predication.negated, obj.id)}"
        said = {"lemma": predication.lemma, "negated": predication.negated}
        more = {"surface": predication.predicate, "context": self.stack[-1].address, **said}
        return self._nodes.rows.add_edge(verb_of(predication), subject.id, obj.id, identifier, **more)

    def _ends(self, predication: syntax.Predication) -> tuple[Bound, Bound]:
        frame = self.stack[-1]
        return self._nodes.node_of(predication.subject, frame), self._nodes.node_of(predication.object, frame)

    def _context(self, item: syntax.Abbreviation) -> Bound | None:
        bound = self._nodes.node_at(item.memory)
        if bound is not None and item.memory.address not in self._nodes.known.contexts:
            message = f"memory:{item.memory.address} is no context, but `{bound.name}`"
            self._nodes.mistake(message, "no-context", item.memory.span)
            return None
        return bound

    def _entry(
        self,
        item: syntax.Item | syntax.Feedback,
        about: Sequence[str] = (),
        *,
        binds: Sequence[str] = (),
        address: int | None = None,
        **properties: Any,
    ) -> None:
        frame = self.stack[-1]
        asked = [part.name for part in parts_of(item) if isinstance(part, syntax.Variable)]
        kept = asked if isinstance(item, syntax.Fact | syntax.Question) else binds
        mentions = {part.name for part in parts_of(item) if isinstance(part, syntax.Ref)}
        said = {
            "mentions": sorted(mentions),
            "binds": list(dict.fromkeys(kept)),
            "about": list(dict.fromkeys(filter(None, about))),
            "properties": {name: value for name, value in properties.items() if value is not None},
        }
        row = {"context": frame.address, "index": frame.size, "kind": type(item).__name__.lower(), "text": self._text}
        if address is not None:
            row["address"] = address
        self._nodes.rows.entries.append(row | {name: value for name, value in said.items() if value})
        self._grown(frame)

    def _grown(self, frame: Open) -> None:
        frame.size += 1
        self._change(frame, size=frame.size)

    def _change(self, frame: Open, **properties: Any) -> None:
        row = self._nodes.rows.opened.get(frame.id) or self._nodes.rows.changed.setdefault(
            frame.id, {"id": frame.id, "properties": {}}
        )
        row["properties"].update(properties)


def rule_text(goals: Sequence[dict[str, Any]], conjunctions: Sequence[str]) -> str:
    """A rule as it is stored: its head, and the goals of its body."""
    return json.dumps({"head": goals[0], "body": goals[1:], "conjunctions": conjunctions}, ensure_ascii=False)


def name_by_stem(goal: dict[str, Any], predication: syntax.Predication) -> dict[str, Any]:
    """A goal as the id of its rule names it."""
    stem, surface = predication.stem, predication.predicate
    forms = [form for form in (stem, f"{stem}s", f"{stem}es") if form != surface]
    return {**goal, "lemma": stem, "forms": [*forms, surface]}
