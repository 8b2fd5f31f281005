"""What the arguments of a predication are in the graph: nodes, found or made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from memorygraph.compiler.pete.rows import MAX_NAME, PeteRows, clipped, hash_of
from memorygraph.compiler.pete.state import Bound, Known, Mistake, Open, id_of, key_of
from memorygraph.errors import Span
from memorygraph.languages.pete import syntax


class Concepts:
    """Finds and makes the nodes that a log speaks of.

    `live` says that a model is writing: a handle that nobody knows becomes a concept without a text, with a warning.
    """

    def __init__(self, known: Known, *, live: bool) -> None:
        self.known = known
        self.rows = PeteRows()
        self.mistakes: list[Mistake] = []
        self.warnings: list[Mistake] = []
        self.last_address = 0
        self._live = live
        self._free = iter(known.free)

    def new_address(self) -> int:
        """The next free address."""
        self.last_address = next(self._free)
        return self.last_address

    def mistake(self, message: str, code: str, span: Span) -> None:
        """Note what is wrong."""
        self.mistakes.append(Mistake(message, code, span))

    def node_of(self, argument: syntax.Argument, frame: Open) -> Bound:
        """The node of an argument; one that holds others is built from within, without recursion."""
        results: list[Bound] = []
        waiting: list[syntax.Argument | tuple[syntax.Abstraction]] = [argument]
        while waiting:
            part = waiting.pop()
            if isinstance(part, tuple):
                ends = results[len(results) - 2 * len(part[0].predications) :]
                del results[len(results) - len(ends) :]
                results.append(self._abstraction(part[0], ends))
            elif isinstance(part, syntax.Abstraction):
                waiting.append((part,))
                for predication in reversed(part.predications):
                    waiting += [predication.object, predication.subject]
            else:
                results.append(self._leaf(part, frame))
        return results[0]

    def _leaf(self, argument: syntax.Argument, frame: Open) -> Bound:
        match argument:
            case syntax.Ref():
                return self.handle(argument, frame)
            case syntax.Memory():
                return self.node_at(argument) or Bound("", "")
            case syntax.Value():
                return self.value(argument)
            case _:
                message = "a variable can't stand in `that …`: what is not known can't be spoken of; ask for it before"
                self.mistake(message, "variable-in-abstraction", argument.span)
                return Bound("", "")

    def _abstraction(self, abstraction: syntax.Abstraction, ends: Sequence[Bound]) -> Bound:
        said = [
            self._statement(predication, ends[2 * number], ends[2 * number + 1])
            for number, predication in enumerate(abstraction.predications)
        ]
        if len(said) == 1:
            return said[0]
        words = [("or" if word == "or" else "and") for word in abstraction.conjunctions]
        identifier = f"that-{hash_of(words, [part.id for part in said])}"
        name = clipped(
            said[0].name
            + "".join(f" {word} {part.name.removeprefix('that ')}" for word, part in zip(words, said[1:], strict=True))
        )
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
            return Bound(frame.id, frame.name)
        if ref.name == syntax.SELF or ref.name in self.known.faculties:
            return self.named(ref.name)
        if self._live:
            message = f"`&{ref.name}` was not known here: it is now a concept of its own, without a text"
            self.warnings.append(Mistake(message, "unknown-ref", ref.span))
            bound = self._new_node(ref.name)
            frame.bindings[ref.name] = bound
            self.rows.bind(frame.id, ref.name, [bound.id])
            return bound
        message = f"`&{ref.name}` is not known here: give it a meaning before, as `&{ref.name} = /* … */`"
        self.mistake(message, "unknown-ref", ref.span)
        return Bound("", "")

    def concept(self, nlp: syntax.Nlp) -> Bound:
        """The concept that a text describes, found or made."""
        if not nlp.concept:
            self.mistake("a concept needs a text: write what it is between `/*` and `*/`", "empty-text", nlp.span)
            return Bound("", "")
        return self.named(nlp.concept)

    def named(self, text: str) -> Bound:
        """The concept of a text, found or made."""
        key = key_of(text)
        if key not in self.known.concepts:
            self.known.concepts[key] = self._new_node(text, concept=key)
        return self.known.concepts[key]

    def _new_node(self, name: str, **more: Any) -> Bound:
        address = self.new_address()
        bound = Bound(id_of(address), clipped(name))
        whole = {"data": name} if len(name) > MAX_NAME else {}
        self.rows.add_node(bound.id, name=name, memory=address, **whole, **more)
        self.known.addresses[address] = bound
        return bound

    def value(self, value: syntax.Value) -> Bound:
        """The node of a JSON value: equal values have the same."""
        plain = _whole(value.value)
        text = json.dumps(plain, ensure_ascii=False, sort_keys=True)
        identifier = f"value-{hash_of(text)}"
        name = plain if isinstance(plain, str) else text
        self.rows.add_node(identifier, ["Value"], name=name, value=text)
        return Bound(identifier, clipped(name))

    def keep_context(self, address: int, bound: Bound) -> None:
        """A context that has just begun can be named by its address like one that is stored."""
        self.known.addresses[address] = bound
        self.known.contexts.add(address)

    def node_at(self, memory: syntax.Memory) -> Bound | None:
        """The node at an address, or None, which is a mistake."""
        bound = self.known.addresses.get(memory.address)
        if bound is None:
            message = f"there is no memory:{memory.address}; nothing was bound"
            self.mistake(message, "unknown-memory", memory.span)
        return bound


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
