"""What a branch of a run needs of the language: its variables, and what expressions, texts and functions give."""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

from memorygraph.compiler.convo import OUTSIDE, GraphNode, NodeGraph, Route, functions_of, id_in
from memorygraph.errors import ScriptError, Span
from memorygraph.languages.convo import syntax
from memorygraph.languages.convo.printing import print_message, print_tag
from memorygraph.limits import spend_on_parts
from memorygraph.runtime.convo.evaluator import Evaluator
from memorygraph.runtime.convo.scope import Environment
from memorygraph.runtime.convo.steps import ConvoStep, EarlierVisit, GraphFailure, GraphStart, TypedVariables
from memorygraph.runtime.convo.transcript import SPEAKERS, TranscriptEntry
from memorygraph.runtime.convo.types import can_write_types
from memorygraph.runtime.convo.values import (
    UNDEFINED,
    ConvoType,
    Undefined,
    copy_deeply,
    deep_equal,
    is_number,
    render_value,
    to_plain,
    truthy,
)
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.values import ValueProblem

RESULT = ("__return",)
INPUT, GRAPH_INPUT, OUTPUT = "input", "graphInput", "output"
STACK, DEPTH = "__nodeStack", "__nodeContextDepth"
PLACEHOLDER_START = "${"  # of a value that is filled in: the source still has it then
VARIABLES_OF_THE_ENGINE = frozenset({INPUT, GRAPH_INPUT, OUTPUT, STACK})


@dataclass(frozen=True)
class Visit:
    """One visit of a node: its id, and the input that it was given."""

    node: str
    input: Any

    def info(self) -> dict[str, Any]:
        """The visit as programs see it."""
        return {"nodeId": self.node, "input": copy_deeply(self.input)}


class Scene:
    """The variables and functions of one branch, and its visits of nodes."""

    # Expressions get copies of inputs and outputs, so that no program can change the record of its run.

    def __init__(self, program: syntax.ConvoProgram, graph: NodeGraph, permissions: Permissions) -> None:
        self.program, self.graph = program, graph
        self.visits: list[Visit] = []
        self.infos: list[dict[str, Any]] = []
        self.use_environment(Environment(permissions=permissions, protected=VARIABLES_OF_THE_ENGINE))
        self.declare_functions()

    def copy(self) -> Scene:
        """Copy the scene for a fork, which shares no variable with it."""
        other = Scene(self.program, self.graph, self.environment.permissions)
        other.visits = list(self.visits)
        other.infos = [visit.info() for visit in self.visits]
        other.use_environment(self.environment.copy())
        return other

    def use_environment(self, environment: Environment) -> None:
        """Evaluate in an environment from here on, with the functions that know the visits."""
        hooks = {
            "getNodeInfo": partial(self.read_visit, Visit.info),
            "getNodeInput": partial(self.read_visit, lambda visit: visit.info()["input"]),
        }
        self.environment = replace(environment, hooks=hooks)
        self.evaluator = Evaluator(self.environment, self.program.source)

    def declare_functions(self) -> None:
        """Make all functions callable. Of several with one name, code calls its node's own, else the one outside."""
        outside = functions_of(self.graph.outside)
        of_nodes = {id_: node.functions for id_, node in self.graph.nodes.items()}
        self.evaluator.declare([*chain.from_iterable(of_nodes.values()), *outside])
        everywhere = {function.name: function for function in self.environment.functions.values()}
        self.functions = {
            id_: ChainMap({function.name: function for function in own}, everywhere) for id_, own in of_nodes.items()
        }
        bodies = {id(function): self.functions[id_] for id_, own in of_nodes.items() for function in own}
        self.environment.callable_in = {**bodies, **{id(function): everywhere for function in outside}}

    # Visits

    def enter(self, visit: Visit) -> None:
        """Begin a visit: expressions see its input from here on, and no output yet."""
        self.add_visit(visit)
        self.environment.functions = self.functions[visit.node]
        self.environment.variables[INPUT] = copy_deeply(visit.input)
        self.environment.variables.pop(OUTPUT, None)

    def add_visit(self, visit: Visit) -> None:
        """Add a visit to the stack of nodes."""
        self.visits.append(visit)
        self.infos.append(visit.info())
        self.environment.variables[STACK] = self.infos
        self.environment.variables[GRAPH_INPUT] = copy_deeply(self.visits[0].input)

    def read_visit(self, read: Callable[[Visit], Any], arguments: Sequence[Any]) -> Any:
        """Read a visit by its index, the latest one of a node's id, or without an argument the current one."""
        which, count = (arguments[0] if arguments else -1), len(self.visits)
        if isinstance(which, str):
            visit = next((visit for visit in reversed(self.visits) if visit.node == which), None)
            return UNDEFINED if visit is None else read(visit)
        if is_number(which) and -count <= which < count and which == int(which):
            return read(self.visits[int(which)])
        return UNDEFINED

    # Variables

    @contextmanager
    def output(self, value: Any) -> Iterator[None]:
        """Let the expressions of the block see the output of the step."""
        self.environment.variables[OUTPUT] = copy_deeply(value)
        try:
            yield
        finally:
            self.environment.variables.pop(OUTPUT, None)

    def variables(self) -> dict[str, Any]:
        """Copy the program's variables, as far as JSON can hold them."""
        return {
            name: copy_deeply(value)
            for name, value in self.environment.variables.items()
            if name not in VARIABLES_OF_THE_ENGINE and is_data(value)
        }

    def typed_variables(self) -> TypedVariables | Undefined:
        """Copy those of the program's variables that are types, or have types in them."""
        values = {
            name: copy_deeply(value)
            for name, value in self.environment.variables.items()
            if name not in VARIABLES_OF_THE_ENGINE and not is_data(value) and can_write_types(value)
        }
        return TypedVariables(values) if values else UNDEFINED

    def keep(self, step: ConvoStep) -> None:
        """Note the program's variables in a step, as they are after it."""
        step.variables, step.types = self.variables(), self.typed_variables()

    def restore(self, kept: ConvoStep | GraphStart) -> None:
        """Give the program's variables the values that a step noted, or the start of a run."""
        self.environment.variables.update(copy_deeply(kept.variables))
        if kept.types is not UNDEFINED:
            self.environment.variables.update(copy_deeply(kept.types.values))

    # Texts and messages

    def describe(self, node: str) -> str:
        """Render the description of a node, which calls the node's own functions."""
        if node not in self.graph.nodes:
            return ""
        here, self.environment.functions = self.environment.functions, self.functions[node]
        try:
            return self.evaluator.template(self.graph.nodes[node].message.content)
        finally:
            self.environment.functions = here

    def is_enabled(self, message: syntax.Message | Route) -> bool:
        """Whether the tags `@condition` and `@disabled` let a message, or a route, take part."""
        for tag in message.tags:
            if tag.name == "condition" and not self.holds(tag):
                return False
            if tag.name == "disabled" and (tag.text or "").lower() != "false" and self.holds(tag):
                return False
        return True

    def holds(self, tag: syntax.Tag) -> bool:
        """Whether the condition of a tag holds: an expression, or `name`, `!name` or `name text` as words."""
        if tag.expression is not None:
            return truthy(self.evaluator.value(tag.expression))
        words = (tag.text or "true").removeprefix("!").split()
        if words in (["true"], ["false"]):
            return (words == ["true"]) != (tag.text or "").startswith("!")
        value = self.evaluator.look_up(words[0]) if words else UNDEFINED
        if (tag.text or "").startswith("!"):
            value = not truthy(value)
        return truthy(value) if len(words) < 2 else render_value(value) == " ".join(words[1:])

    def speech(self, message: syntax.TextMessage) -> TranscriptEntry:
        """Render the message of a speaker; its tag `@assignTo` makes it the value of a variable."""
        entry = TranscriptEntry(message.role, self.evaluator.template(message.content), self.tags(message))
        for tag in message.tags:
            if tag.name == "assignTo" and tag.text:
                self.environment.variables[tag.text] = entry.content
        return entry

    def recorded_call(self, message: syntax.FunctionMessage) -> TranscriptEntry:
        """Read a call that the conversation already holds."""
        arguments = {
            argument.label or "": to_plain(self.evaluator.value(argument.value)) for argument in message.arguments
        }
        id_ = next((tag.text for tag in message.tags if tag.name == "toolId"), None)
        tags = tuple(tag for tag in self.tags(message) if not tag.startswith("@toolId"))
        return TranscriptEntry("call", tags=tags, name=message.name, arguments=arguments, id=id_ or "")

    def recorded_result(self, message: syntax.CodeMessage) -> TranscriptEntry:
        """Read the result of a function that the conversation already holds."""
        values = [s.value for s in message.statements if s.path in {RESULT, ()}]
        self.evaluator.statements([s for s in message.statements if s.path not in {RESULT, ()}])
        value = self.evaluator.value(values[-1]) if values else None
        return TranscriptEntry("result", tags=self.tags(message), value=value)

    def messages_of(self, node: GraphNode) -> tuple[list[TranscriptEntry], list[TranscriptEntry]]:
        """Execute the code of a node; give the messages that it adds, and the system messages sent beside them."""
        messages: list[TranscriptEntry] = []
        system: list[TranscriptEntry] = []
        latest: list[TranscriptEntry] | None = None  # of the two, the one with the message before
        for child in node.children:
            if isinstance(child, syntax.FunctionMessage) or not self.is_enabled(child):
                continue
            if isinstance(child, syntax.TextMessage) and (child.role in SPEAKERS or child.role in CHANGES):
                entry = self.speech(child)
                place = system if child.role in {"system", "appendSystem"} else messages
                if latest is not None and changes_message_before(entry):
                    place = latest
                count = len(place)
                add_speech(place, entry)
                latest = place if len(place) > count else latest
            elif child.role in {"define", "do"} and isinstance(child, syntax.CodeMessage):
                self.evaluator.statements(child.statements, defining=child.role == "define")
                messages.append(TranscriptEntry(child.role, self.code_text(child), self.tags(child)))
        return messages, system

    def tags(self, message: syntax.Message) -> tuple[str, ...]:
        """The tags of a message, as they are written; a placeholder in one has been filled in."""
        return tuple(map(self.tag_text, message.tags))

    def tag_text(self, tag: syntax.Tag) -> str:
        """A tag as it is written; a placeholder in it has been filled in."""
        written = self.source_text(tag.span)
        return written if PLACEHOLDER_START not in written else print_tag(on_one_line(tag))

    def code_text(self, message: syntax.CodeMessage) -> str:
        """The statements of a message, as they are written; placeholders in them have been filled in."""
        if not message.statements:
            return ""
        code = self.source_text(Span(message.statements[0].span[0], message.statements[-1].span[1]))
        if PLACEHOLDER_START not in code:
            return code
        return print_message(replace(message, tags=())).partition("\n")[2].strip()

    def source_text(self, span: Span) -> str:
        """The source in a span."""
        return self.program.source.text[span[0] : span[1]].strip()

    # Functions and types

    def call(self, function: syntax.FunctionMessage, arguments: dict[str, Any]) -> tuple[Any, dict[str, Any] | None]:
        """Call a function; give its result, as data of its own, and the variables that it changed."""
        before = self.variables()
        value = self.evaluator.call_function(function, arguments)
        changed = {
            name: held
            for name, held in self.variables().items()
            if name not in before or not deep_equal(held, before[name])
        }
        return value if value is UNDEFINED else to_plain(value), changed or None

    def reply_type(self, node: GraphNode, messages: Sequence[TranscriptEntry]) -> ConvoType | None:
        """The type of the reply that the last message of the user in a node asks for; None for a text."""
        last = next((entry for entry in reversed(messages) if entry.role == "user"), None)
        written = last.tags if last is not None else ()
        # Of a message that others were added to, the last such tag counts.
        known = {self.tag_text(tag): tag for child in node.children for tag in child.tags if tag.name == "json"}
        tag = next((known[text] for text in reversed(written) if text in known), None)
        if tag is None:
            return None
        try:
            return self.evaluator.type(tag.expression or tag.text or "any")
        except ValueProblem as error:
            raise ScriptError([self.program.source.problem(str(error), error.code, tag.span)]) from error


def on_one_line(tag: syntax.Tag) -> syntax.Tag:
    """A tag on one line, whatever was filled in: nothing of it may be read as a head, a tag or an expression."""
    text, target = (" ".join(said.split()).lstrip("= ") if said else said for said in (tag.text, tag.target))
    return replace(tag, text=text, target=target)


# Roles whose messages change the message before them, and where their text goes.
CHANGES = {
    **dict.fromkeys(("replace", "replaceForModel"), "{new}"),
    **dict.fromkeys(("append", "suffix", "appendUser", "appendAssistant", "appendSystem"), "{old}\n\n{new}"),
    **dict.fromkeys(("prepend", "prefix"), "{new}\n\n{old}"),
}
APPENDED = {f"append{speaker.capitalize()}": speaker for speaker in ("user", "assistant", "system")}
OWN_TAGS = ("concat", "condition", "disabled", "assignTo")  # of a message by itself, whatever it is added to


def changes_message_before(entry: TranscriptEntry) -> bool:
    """Whether what is said belongs to the message before it, whoever said that."""
    return (entry.role in CHANGES and entry.role not in APPENDED) or entry.has_tag("concat")


def add_speech(entries: list[TranscriptEntry], entry: TranscriptEntry) -> TranscriptEntry:
    """Add what is said to messages, or change the last one, as its role or `@concat` says; give what is said then."""
    layout = CHANGES.get(entry.role) or (CHANGES["append"] if entry.has_tag("concat") else None)
    speaker = APPENDED.get(entry.role, "")
    last = next(
        (at for at in reversed(range(len(entries))) if entries[at].role in ({speaker} if speaker else SPEAKERS)), None
    )
    if layout is not None and last is not None:
        old = entries[last]
        content = layout.format(old=old.content, new=entry.content) if old.content else entry.content
        added = [tag for tag in entry.tags if not any(map(replace(entry, tags=(tag,)).has_tag, OWN_TAGS))]
        tags = (*(tag for tag in old.tags if tag not in added), *added)
        entries[last] = replace(old, content=content, tags=tags)
        return entries[last]
    if entry.role in CHANGES:
        entry = replace(entry, role=speaker or "user")
    entries.append(entry)
    return entry


def is_data(value: Any) -> bool:
    """Whether JSON can hold a value, and give it back unchanged; not one that holds itself."""
    waiting: list[tuple[Any, bool]] = [(value, False)]  # each with whether its parts are done
    inside: set[int] = set()
    done: set[int] = set()  # what is shared is looked at once
    while waiting:
        found, left = waiting.pop()
        if isinstance(found, (dict, list)):
            if left:
                inside.remove(id(found))
                done.add(id(found))
            elif id(found) in inside:
                return False
            elif id(found) not in done:
                inside.add(id(found))
                spend_on_parts(len(found))
                waiting.append((found, True))
                waiting += [(part, False) for part in (found.values() if isinstance(found, dict) else found)]
        elif found is not None and not isinstance(found, (str, int, float, bool)):
            return False
    return True


@dataclass
class Surroundings:
    """Reads the messages outside of the nodes, in order. Visits that a transcript already holds count as steps."""

    scene: Scene
    given: Any = None  # the input that the caller adds
    around: list[TranscriptEntry] = field(default_factory=list)  # what was said outside of the graph
    groups: list[list[TranscriptEntry]] = field(default_factory=list)  # what each visit so far has said
    heard: Any = UNDEFINED  # the last thing that was said: the input of the next visit
    visit: Visit | None = None  # the visit that the messages are in

    def find_start(self) -> Visit:
        """Read the messages; give the visit at the last `goto`."""
        for message in self.scene.graph.outside:
            if self.scene.is_enabled(message):
                self.read(message)
        if self.visit is None:
            raise GraphFailure("there are no node results: no `> goto` says where the graph begins", "no-goto")
        if self.given is not None:  # it goes before the last `goto`, which only now is known to be the last
            text = self.given if isinstance(self.given, str) else json.dumps(self.given, ensure_ascii=False)
            entry = TranscriptEntry("user", text)
            self.around.append(entry)
            self.visit = Visit(self.visit.node, self.given) if entry.spoken else self.visit
        self.around += self.groups.pop()
        return self.visit

    def record(self) -> GraphStart:
        """Record what a resumed run begins with."""
        visits = [
            EarlierVisit(visit.node, visit.input, list(said))
            for visit, said in zip(self.scene.visits, self.groups, strict=True)
        ]
        return GraphStart(list(self.around), visits, self.scene.variables(), self.scene.typed_variables())

    def reopen(self, start: GraphStart, first: ConvoStep) -> Visit:
        """Take everything from where the run began; give the visit of its first step."""
        self.around, self.groups = list(start.around), [list(visit.messages) for visit in start.visits]
        for visit in start.visits:
            self.scene.add_visit(Visit(visit.node, visit.input))
        self.scene.restore(start)
        return Visit(first.node, first.input)

    def read(self, message: syntax.Message) -> None:
        """Read a message, and execute the code in it."""
        match message:
            case syntax.FunctionMessage(modifier="call"):
                self.hear(self.scene.recorded_call(message))
            case syntax.CodeMessage(role="result"):
                entry = self.scene.recorded_result(message)
                self.hear(entry, entry.value)
            case syntax.CodeMessage(role="define" | "do"):
                self.scene.evaluator.statements(message.statements)
            case syntax.TextMessage(role="goto" | "exitGraph"):
                self.end_visit()
                # A `goto` without an id leads out of the graph.
                leads_in = id_in(message.head) != OUTSIDE or OUTSIDE in self.scene.graph.nodes
                if message.role == "goto" and leads_in:
                    self.visit = Visit(id_in(message.head), self.heard)
                    self.groups.append([])
            case syntax.TextMessage() if message.role in SPEAKERS or message.role in CHANGES:
                entry = add_speech(self.place(), self.scene.speech(message))
                self.note(entry, entry.content)

    def hear(self, entry: TranscriptEntry, value: Any = None) -> None:
        """Add what is said to the transcript; it may be the input of a node."""
        self.place().append(entry)
        self.note(entry, value)

    def place(self) -> list[TranscriptEntry]:
        """The messages that what is said now is added to: those of the visit, or those around the graph."""
        return self.around if self.visit is None else self.groups[-1]

    def note(self, entry: TranscriptEntry, value: Any) -> None:
        """Note what was said last, which may be the input of a node."""
        if entry.spoken and entry.role in {"user", "assistant", "result"}:
            self.heard = value

    def end_visit(self) -> None:
        """End the visit that is open, if there is one: it is one of the steps before this run."""
        if self.visit is not None:
            self.scene.add_visit(self.visit)
            self.visit = None
