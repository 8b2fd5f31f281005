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

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from memorygraph.compiler.pete.concepts import Concepts, PeteRows, clipped, hash_of, join_words, verb_of
from memorygraph.compiler.pete.goals import Goal, RuleGoals, Term
from memorygraph.compiler.pete.state import MAX_KEY, Asked, Bound, Known, Open
from memorygraph.errors import Span
from memorygraph.languages.engine.syntax import walk
from memorygraph.languages.pete import syntax
from memorygraph.languages.pete.checks import several_tldr
from memorygraph.languages.pete.items import NAME_PATTERN
from memorygraph.languages.pete.lemmas import spellings
from memorygraph.query import Query
from memorygraph.word_parts import parts_of_properties

_FIELD = re.compile(r"([A-Za-z][A-Za-z0-9_]{0,99})\s*:\s*(.*)", re.DOTALL)
_REPORT = re.compile(rf"\s*({NAME_PATTERN})\s*(.*)", re.DOTALL)


class Compiler:
    """Compiles the items that continue a log.

    `live` says that a model is writing: the answer to a question is written into the log, a handle that nobody knows
    becomes a concept without a text, with a warning, and a second tl;dr is warned of. `mistakes` are found item by
    item; where there is one, nothing may be written. `warnings` tell what was taken differently than it was written.
    """

    def __init__(self, stack: list[Open], known: Known, *, log: int | None, live: bool = False) -> None:
        self.stack = stack
        self.log = log
        self.question: Asked | None = None
        self.nodes = Concepts(known, live=live)
        self.mistakes, self.warnings = self.nodes.mistakes, self.nodes.warnings
        self._live = live
        self._text = ""

    def queries(self, namespace: str, token: str) -> Iterator[Query]:
        """The queries for what was compiled since the last time; each reports what it changed."""
        rows, self.nodes.rows = self.nodes.rows, PeteRows()
        return rows.queries(namespace, token, self.log)

    def bind(self, name: str, nodes: Sequence[Bound]) -> None:
        """Let a handle of the innermost context mean the first of some nodes."""
        frame = self.stack[-1]
        if nodes:
            frame.bindings[name] = nodes[0]
        else:
            frame.bindings.pop(name, None)
        self.nodes.rows.bind(frame.id, name, [node.id for node in nodes])

    def add(self, piece: syntax.Piece) -> None:
        """Compile one item."""
        item, self._text = piece
        if not self.stack and not (self.log is None and isinstance(item, syntax.Opening)):
            message = "no context is open here: a log begins with one, and ends where it is closed"
            self.nodes.mistake(message, "syntax", item.span)
            return
        match item:
            case syntax.Opening():
                self.begin_context(item)
            case syntax.Closing():
                self.end_context()
            case syntax.Abbreviation():
                self.abbreviate(item, item)
            case syntax.Instantiation():
                self.instantiate(item)
            case syntax.Fact(predication) if not syntax.bound_handles(item):
                self.assert_fact(item, predication)
            case syntax.Fact(predication) | syntax.Question(predication):
                self.ask(item, predication)
            case syntax.Rule():
                self.add_rule(item)
            case _:
                self.add_remark(item)

    def begin_context(self, item: syntax.Opening) -> None:
        """Open a context within the innermost one, or begin the log."""
        parent = self.stack[-1] if self.stack else None
        self._check_length(item.name, item.span)
        passed = [
            (ref.name, self.nodes.handle(ref, parent) if parent else self.nodes.named(ref.name)) for ref in item.refs
        ]
        frame = Open(self.nodes.new_address(), item.name)
        properties: dict[str, Any] = {
            "memory": frame.address,
            "name": item.name,
            **parts_of_properties({"name": item.name}),
            "head": self._text,
            "refs": [ref.name for ref in item.refs],
            "size": 0,
        }
        if parent is None:
            self.log = frame.address
            properties |= {"root": item.name, "index": 0}
        else:
            properties |= {"parent": parent.address, "index": parent.size}
            self._grown(parent)
        owner = parent.id if parent else None
        self.nodes.rows.opened[frame.id] = {"id": frame.id, "owner": owner, "properties": properties}
        self.stack.append(frame)
        # A context that has just begun can be named by its address like one that is stored.
        self.nodes.known.addresses[frame.address] = frame.bound
        self.nodes.known.contexts.add(frame.address)
        for name, bound in passed:
            frame.bindings[name] = bound
            self.nodes.rows.bind(frame.id, name, [bound.id], passed=True)

    def end_context(self) -> None:
        """Close the innermost context, and give its parent a handle for it."""
        frame = self.stack.pop()
        self._change(frame, tail=self._text)
        if self.stack:
            self.bind(frame.name, [frame.bound])

    def add_remark(self, item: syntax.Statement | syntax.Feedback) -> None:
        """Add an item that says no more than its text, or a part of which can be asked for."""
        properties: dict[str, Any] = {}
        changes = {}
        match item:
            case syntax.Tldr(text):  # the last one abbreviates the context
                self._note_tldr(item)
                changes = {"tldr": text.concept, "data": text.concept, **parts_of_properties({"data": text.concept})}
            case syntax.Annotation(text) if field := _FIELD.fullmatch(text):
                changes = {f"field_{field[1]}": field[2]}
            case syntax.SensorReport(text) if report := _REPORT.fullmatch(text):
                properties = {"sensor": report[1], "value": report[2].strip() or None}
            case syntax.Command(procedure, faculty, arguments):
                if faculty is not None:
                    self.nodes.known.faculties.add(faculty)
                called = arguments.text if arguments else None
                properties = {"faculty": faculty, "procedure": procedure, "arguments": called}
            case syntax.Feedback(data):
                properties = {"value": data.text}
        self._entry(item, **properties)
        if changes:
            self._change(self.stack[-1], **changes)

    def _note_tldr(self, item: syntax.Tldr) -> None:
        """Note that the innermost context has a tl;dr, and warn of a second one; a stored log was checked for that."""
        frame = self.stack[-1]
        if self._live and frame.has_tldr:
            self.warnings.append(several_tldr(frame.name, item.span))
        frame.has_tldr = True

    def instantiate(self, item: syntax.Instantiation) -> None:
        """Give a handle its meaning."""
        if isinstance(item.value, syntax.Abbreviation):
            self.abbreviate(item, item.value)
            return
        bound = self.nodes.concept(item.value) if isinstance(item.value, syntax.Nlp) else self.nodes.node_at(item.value)
        self._entry(item, [bound.id])
        self.bind(item.ref.name, [bound])

    def abbreviate(self, item: syntax.Statement, context: syntax.Abbreviation) -> None:
        """Let handles mean a closed context that is somewhere else in the store."""
        address = context.memory.address
        bound = self.nodes.node_at(context.memory)
        if address in self.nodes.known.addresses and address not in self.nodes.known.contexts:
            message = f"memory:{address} is no context, but `{bound.name}`"
            self.nodes.mistake(message, "no-context", context.memory.span)
        if self.mistakes:
            return
        passed = [self.nodes.handle(ref, self.stack[-1]).id for ref in context.refs]
        self._entry(item, [bound.id, *passed], address=address)
        for name in syntax.bound_handles(item):
            self.bind(name, [bound])

    def assert_fact(self, item: syntax.Fact, predication: syntax.Predication) -> None:
        """Add the edge of a fact."""
        frame = self.stack[-1]
        self._check_length(predication.predicate, item.span)
        subject, obj = self.nodes.node_of(predication.subject, frame), self.nodes.node_of(predication.object, frame)
        identifier = f"fact-{hash_of(subject.id, predication.stem, predication.negated, obj.id)}"
        said = {"lemma": predication.lemma, "negated": predication.negated}
        verb = verb_of(predication)
        more = {"surface": predication.predicate, "context": frame.address, **said}
        self.nodes.rows.add_edge(verb, subject.id, obj.id, identifier, **more)
        self._entry(item, [subject.id, obj.id], edge=identifier)

    def ask(self, item: syntax.Fact | syntax.Question, predication: syntax.Predication) -> None:
        """Stop at a question, which the store answers."""
        goal = self._goal(predication)
        self._entry(item, [term.node for term in (goal.subject, goal.object) if term.node])
        self.question = Asked(goal, item.span, isinstance(item, syntax.Question))

    def add_rule(self, item: syntax.Rule) -> None:
        """Add the node of a rule, which holds its goals."""
        said = (item.head, *item.body)
        head, *body = map(self._goal, said)
        rule = RuleGoals(head, tuple(body), tuple(join_words(item.conjunctions)))
        # Its id has stems for lemmas, in the goals and in their forms.
        head, *body = map(name_by_stem, (rule.head, *rule.body), said)
        identifier = f"rule-{hash_of(replace(rule, head=head, body=tuple(body)).as_json())}"
        about = {"rule": rule.as_json(), "head_lemma": rule.head.lemma, "head_negated": rule.head.negated}
        self.nodes.rows.add_node(identifier, ["Rule"], name=" ".join(self._text.split()), **about)
        self._entry(item, [identifier], rule=identifier)

    def _goal(self, predication: syntax.Predication) -> Goal:
        """A predication as a goal that the store can be asked."""
        self._check_length(predication.predicate, predication.span)
        subject, obj = (
            Term(variable=end.name)
            if isinstance(end, syntax.Variable)
            else Term(self.nodes.node_of(end, self.stack[-1]).id)
            for end in (predication.subject, predication.object)
        )
        forms = spellings(predication.lemma, predication.predicate)
        return Goal(subject, predication.lemma, obj, predication.negated, forms)

    def _check_length(self, word: str, span: Span) -> None:
        """Refuse a word that is too long for an index, which looks it up."""
        if len(word) > MAX_KEY:
            message = f"the name of a context and a predicate have at most {MAX_KEY} characters: {clipped(word)}"
            self.nodes.mistake(message, "name-too-long", span)

    def _entry(
        self,
        item: syntax.Statement | syntax.Feedback,
        about: Sequence[str] = (),
        *,
        address: int | None = None,
        **properties: Any,
    ) -> None:
        frame = self.stack[-1]
        said = {
            "mentions": sorted({part.name for part in walk(item) if isinstance(part, syntax.Ref)}),
            "binds": list(dict.fromkeys(syntax.bound_handles(item))),
            "about": list(dict.fromkeys(filter(None, about))),
            "properties": {name: value for name, value in properties.items() if value is not None},
        }
        row = {"context": frame.address, "index": frame.size, "kind": type(item).__name__.lower(), "text": self._text}
        if address is not None:
            row["address"] = address
        self.nodes.rows.entries.append(row | {name: value for name, value in said.items() if value})
        self._grown(frame)

    def _grown(self, frame: Open) -> None:
        frame.size += 1
        self._change(frame, size=frame.size)

    def _change(self, frame: Open, **properties: Any) -> None:
        rows = self.nodes.rows
        row = rows.opened.get(frame.id) or rows.changed.setdefault(frame.id, {"id": frame.id, "properties": {}})
        row["properties"].update(properties)


def name_by_stem(goal: Goal, predication: syntax.Predication) -> Goal:
    """A goal as the id of its rule names it."""
    stem, surface = predication.stem, predication.predicate
    forms = [form for form in (stem, f"{stem}s", f"{stem}es") if form != surface]
    return replace(goal, lemma=stem, forms=(*forms, surface))
