"""What a log speaks of, in the graph: nodes, found or made, and the rows in which all of it is written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from memorygraph.compiler.pete.state import Bound, Known, Open, id_of, key_of
from memorygraph.errors import Span
from memorygraph.languages.engine.findings import Finding
from memorygraph.languages.pete import syntax
from memorygraph.library import CYPHER
from memorygraph.query import Query
from memorygraph.word_parts import parts_of_properties

ROWS_PER_BATCH = 10_000
MAX_NAME = 200


def hash_of(*parts: Any) -> str:
    """The hash that names a fact, a value or a rule: equal parts have equal names."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "replace")).hexdigest()[:24]


def clipped(name: str) -> str:
    """A text as the name of a node, which is shown in lists."""
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…"


def named_whole(name: str) -> dict[str, str]:
    """The name of a node, and for its data what is clipped of that, so that a search finds it."""
    return {"name": name, "data": name} if len(name) > MAX_NAME else {"name": name}


@dataclass
class PeteRows:
    """What is to be written, table by table."""

    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    opened: dict[str, dict[str, Any]] = field(default_factory=dict)
    changed: dict[str, dict[str, Any]] = field(default_factory=dict)
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    entries: list[dict[str, Any]] = field(default_factory=list)
    bindings: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def queries(self, namespace: str, token: str, log: int | None) -> Iterator[Query]:
        """The queries that write it; each reports what it changed."""
        tables: tuple[tuple[str, Iterable[dict[str, Any]], dict[str, Any]], ...] = (
            ("add-nodes", self.nodes.values(), {"namespace_token": token}),
            ("open-new-contexts", self.opened.values(), {"namespace_token": token, "log": log}),
            ("change-contexts", self.changed.values(), {}),
            ("add-facts", self.facts.values(), {}),
            ("add-entries", self.entries, {"log": log}),
            ("bind", self.bindings.values(), {}),
        )
        for name, table, more in tables:
            listed = list(table)
            for start in range(0, len(listed), ROWS_PER_BATCH):
                part = listed[start : start + ROWS_PER_BATCH]
                yield CYPHER[f"pete/{name}"](namespace=namespace, rows=part, **more)

    def add_node(self, identifier: str, labels: Sequence[str] = (), **properties: Any) -> None:
        """A node that is made unless it is there."""
        shown = {"data": "", **properties, "name": clipped(properties["name"])}
        shown |= parts_of_properties({"name": shown["name"], "data": shown["data"]})
        self.nodes.setdefault(identifier, {"id": identifier, "labels": list(labels), "properties": shown})

    def add_edge(self, verb: str, from_node: str, to_node: str, identifier: str, **properties: Any) -> None:
        """An edge that is made unless it is there."""
        shown = {"verb": verb, "weight": 1.0, **properties}
        row = {"id": identifier, "from_node": from_node, "to_node": to_node, "properties": shown}
        self.facts.setdefault(identifier, row)

    def bind(self, owner: str, ref: str, nodes: Sequence[str], *, passed: bool = False) -> None:
        """A handle of a context means the first of these nodes; the others are answers, too."""
        self.bindings[owner, ref] = {"owner": owner, "ref": ref, "nodes": list(nodes), "passed": passed}


class Concepts:
    """Finds and makes the nodes that a log speaks of."""

    def __init__(self, known: Known, *, live: bool) -> None:
        self.known = known
        self.rows = PeteRows()
        self.mistakes: list[Finding] = []
        self.warnings: list[Finding] = []
        self.last_address = 0  # that was given out, or 0
        self._live = live
        self._free = iter(known.free)

    def new_address(self) -> int:
        """The next free address."""
        self.last_address = next(self._free)
        return self.last_address

    def mistake(self, message: str, code: str, span: Span) -> Bound:
        """Note what is wrong; what it returns stands for the node that there is not."""
        self.mistakes.append(Finding(message, code, span))
        return Bound("", "")

    def node_of(self, argument: syntax.Argument, frame: Open) -> Bound:
        """The node of an argument; one that holds others is built from within, without recursion."""
        results: list[Bound] = []
        waiting: list[syntax.Argument | tuple[syntax.Abstraction]] = [argument]
        while waiting:
            match waiting.pop():
                case (built,):
                    ends = results[-2 * len(built.predications) :]
                    results[-len(ends) :] = [self._abstraction(built, ends)]
                case syntax.Abstraction(predications) as abstraction:
                    waiting.append((abstraction,))
                    for predication in reversed(predications):
                        waiting += [predication.object, predication.subject]
                case syntax.Ref() as ref:
                    results.append(self.handle(ref, frame))
                case syntax.Memory() as memory:
                    results.append(self.node_at(memory))
                case syntax.Value() as value:
                    results.append(self.value(value))
                case variable:
                    message = (
                        "a variable can't stand in `that …`: what is not known can't be spoken of; ask for it before"
                    )
                    results.append(self.mistake(message, "variable-in-abstraction", variable.span))
        return results[0]

    def _abstraction(self, abstraction: syntax.Abstraction, ends: Sequence[Bound]) -> Bound:
        said = [
            self._statement(predication, *ends[2 * number : 2 * number + 2])
            for number, predication in enumerate(abstraction.predications)
        ]
        if len(said) == 1:
            return said[0]
        words = join_words(abstraction.conjunctions)
        identifier = f"that-{hash_of(words, [part.id for part in said])}"
        others = (f" {word} {part.name.removeprefix('that ')}" for word, part in zip(words, said[1:], strict=True))
        name = clipped(said[0].name + "".join(others))
        self.rows.add_node(identifier, ["Statement"], name=name, conjunctions=words)
        for number, part in enumerate(said):
            self._lead("part", identifier, part, f"part-{hash_of(identifier, number)}", index=number)
        return Bound(identifier, name)

    def _statement(self, predication: syntax.Predication, subject: Bound, obj: Bound) -> Bound:
        """The node of a predication that is spoken of."""
        said = {"lemma": predication.lemma, "negated": predication.negated}
        identifier = f"that-{hash_of(subject.id, predication.stem, predication.negated, obj.id)}"
        name = clipped(f"that {subject.name} {verb_of(predication)} {obj.name}")
        self.rows.add_node(identifier, ["Statement"], name=name, surface=predication.predicate, **said)
        for verb, end in (("subject", subject), ("object", obj)):
            self._lead(verb, identifier, end, f"{verb}-{hash_of(identifier)}")
        return Bound(identifier, name)

    def _lead(self, verb: str, statement: str, to: Bound, identifier: str, **properties: Any) -> None:
        """An edge from what is spoken of to what it is about; it has no predicate, so that no question finds it."""
        self.rows.add_edge(verb, statement, to.id, identifier, lemma="", **properties)

    def handle(self, ref: syntax.Ref, frame: Open) -> Bound:
        """What a handle means in a context."""
        if ref.name in frame.bindings:
            return frame.bindings[ref.name]
        if ref.name == frame.name:
            return frame.bound
        if ref.name == syntax.SELF or ref.name in self.known.faculties:
            return self.named(ref.name)
        if not self._live:
            message = f"`&{ref.name}` is not known here: give it a meaning before, as `&{ref.name} = /* … */`"
            return self.mistake(message, "unknown-ref", ref.span)
        message = f"`&{ref.name}` was not known here: it is now a concept of its own, without a text"
        self.warnings.append(Finding(message, "unknown-ref", ref.span))
        bound = frame.bindings[ref.name] = self._new_node(ref.name)
        self.rows.bind(frame.id, ref.name, [bound.id])
        return bound

    def concept(self, nlp: syntax.Nlp) -> Bound:
        """The concept that a text describes, found or made."""
        if not nlp.concept:
            message = "a concept needs a text: write what it is between `/*` and `*/`"
            return self.mistake(message, "empty-text", nlp.span)
        return self.named(nlp.concept)

    def named(self, text: str) -> Bound:
        """The concept of a text, found or made."""
        key = key_of(text)
        if key not in self.known.concepts:
            self.known.concepts[key] = self._new_node(text, concept=key)
        return self.known.concepts[key]

    def _new_node(self, name: str, **more: Any) -> Bound:
        address = self.new_address()
        bound = self.known.addresses[address] = Bound(id_of(address), clipped(name))
        self.rows.add_node(bound.id, **named_whole(name), memory=address, **more)
        return bound

    def value(self, value: syntax.Value) -> Bound:
        """The node of a JSON value: equal values have the same."""
        plain = _whole(value.value)
        text = json.dumps(plain, ensure_ascii=False, sort_keys=True)
        identifier = f"value-{hash_of(text)}"
        name = plain if isinstance(plain, str) else text
        self.rows.add_node(identifier, ["Value"], **named_whole(name), value=text)
        return Bound(identifier, clipped(name))

    def node_at(self, memory: syntax.Memory) -> Bound:
        """The node at an address; it is a mistake if there is none."""
        if memory.address not in self.known.addresses:
            message = f"there is no memory:{memory.address}; nothing was bound"
            return self.mistake(message, "unknown-memory", memory.span)
        return self.known.addresses[memory.address]


def _whole(plain: Any) -> Any:
    """A JSON value in which 3.0 is 3."""
    if isinstance(plain, float) and plain.is_integer() and abs(plain) < 2**53:
        return int(plain)
    if isinstance(plain, list):
        return [_whole(part) for part in plain]
    return {key: _whole(part) for key, part in plain.items()} if isinstance(plain, dict) else plain


def verb_of(predication: syntax.Predication) -> str:
    """What the edge of a fact is called: a negated one never reads as the opposite."""
    if not predication.negated:
        return predication.predicate
    negator = "not" if predication.negator == "!" else predication.negator
    return f"{negator} {predication.predicate}"


def join_words(conjunctions: Iterable[str]) -> list[str]:
    """What conjunctions mean: `or` or `and`."""
    return [("or" if word == "or" else "and") for word in conjunctions]
