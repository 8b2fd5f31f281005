"""The record of a run: its steps, their calls of models and functions, its result, and its failure, as plain data.

An interrupted step holds the calls that were complete, so that a resumed run repeats none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from memorygraph.errors import MemoryGraphError, ScriptError
from memorygraph.llm.completion import Completion, ToolCall, Usage
from memorygraph.llm.structured import documents, without_thoughts
from memorygraph.runtime.convo.transcript import RunRecord, TranscriptEntry, transcript_text, wire_messages
from memorygraph.runtime.convo.types import read_types, write_types
from memorygraph.runtime.convo.values import UNDEFINED, Undefined, excerpt, to_plain
from memorygraph.runtime.values import ValueProblem

JUDGEMENT_KEY = "route "  # how the keys of calls begin that ask whether a condition holds
JUDGEMENTS = {"true": True, "yes": True, "1": True, "1.0": True, "false": False, "no": False, "0": False, "0.0": False}
NO_FURTHER_NODE = " (there is no further node)"  # why a route to the next node led out

CallPurpose = Literal["inference", "routing", "prompt", "summary"]


class GraphFailure(MemoryGraphError):  # noqa: N818 - it says what failed
    """A graph cannot go on. `code` says why, and stays the same where the words change.

    `missing-target`: a route leads to a node that does not exist. `no-goto`: no `goto` says where to begin.
    `unknown-tool`, `tool`: the model called a function that it was not offered, or the function failed. `json-output`:
    the reply does not have the wanted type. `routing`: the model chose a node that is not a candidate. `listener`: a
    listener raised. `stopped`: the caller stopped the run. `running`: the run that was to be resumed is running
    elsewhere.
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class FunctionFailure(ScriptError):  # noqa: N818 - it says what failed
    """A function that a step called cannot be executed; the problems say where."""

    code = "tool"


@dataclass(frozen=True)
class ModelCall(RunRecord):
    """A call of a model: its purpose, what was sent, and the completion."""

    key: str  # tells the calls of one step apart: `inference`, `route 2`, `auto 3`, `prompt 0`, `summary`
    purpose: CallPurpose
    messages: list[dict[str, Any]]
    options: dict[str, Any]  # sent beside the messages
    completion: Completion

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> ModelCall:
        """Read a call that `as_dict` gave."""
        said = dict(given["completion"])
        said["tool_calls"] = tuple(ToolCall(**call) for call in said.get("tool_calls") or ())
        said["usage"] = Usage(**said["usage"]) if said.get("usage") else None
        return cls(**{**given, "completion": Completion(**said)})


@dataclass(frozen=True)
class ToolUse(RunRecord):
    """A call of a function, by the model or in its place, with the result."""

    name: str
    arguments: dict[str, Any]
    result: Any = UNDEFINED
    changed: dict[str, Any] | None = None  # the variables of the conversation that it changed, with their values


@dataclass(frozen=True)
class TakenRoute(RunRecord):
    """The route that a step took: to a node, or out of the graph (None)."""

    target: str | None
    why: str  # the route as the source writes it
    forks: tuple[str, ...] = ()  # the nodes to which other branches went from here

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> TakenRoute:
        """Read a route that `as_dict` gave."""
        return cls(given["target"], given["why"], tuple(given.get("forks") or ()))


@dataclass(frozen=True)
class TypedVariables(RunRecord):
    """Variables of the program that are types, or have types in them, by their names."""

    values: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """The variables as JSON."""
        return {name: write_types(value) for name, value in self.values.items()}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any] | None) -> TypedVariables | Undefined:
        """Read variables that `as_dict` gave; undefined where there are none."""
        return cls({name: read_types(written) for name, written in given.items()}) if given else UNDEFINED


@dataclass(frozen=True)
class EarlierVisit(RunRecord):
    """A visit of a node that the conversation already held when its run began, with what was said in it."""

    node: str
    input: Any = UNDEFINED
    messages: list[TranscriptEntry] = field(default_factory=list)


@dataclass(frozen=True)
class GraphStart(RunRecord):
    """What a run had before its first step: a resumed run takes it from here, and executes no code outside again."""

    around: list[TranscriptEntry]  # what was said outside of the graph
    visits: list[EarlierVisit]
    variables: dict[str, Any]
    types: TypedVariables | Undefined = UNDEFINED

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> GraphStart:
        """Read what `as_dict` gave."""
        visits = [
            EarlierVisit(**{**visit, "messages": [TranscriptEntry.from_dict(entry) for entry in visit["messages"]]})
            for visit in given["visits"]
        ]
        around = [TranscriptEntry.from_dict(entry) for entry in given["around"]]
        return cls(around, visits, given["variables"], TypedVariables.from_dict(given.get("types")))


@dataclass
class ConvoStep(RunRecord):
    """One visit of a node, by a branch."""

    index: int  # counts the visits of the branch
    node: str
    input: Any = UNDEFINED
    branch: str = ""  # empty for the first
    messages: list[TranscriptEntry] = field(default_factory=list)  # added to the transcript
    system: list[TranscriptEntry] = field(default_factory=list)  # sent beside the messages
    begun: bool = False  # the messages are known
    answered: bool = False  # the output is known
    calls: list[ModelCall] = field(default_factory=list)
    tool: ToolUse | None = None
    output: Any = UNDEFINED
    route: TakenRoute | None = None
    variables: dict[str, Any] = field(default_factory=dict)  # of the program afterwards, as far as JSON can hold them
    types: TypedVariables | Undefined = UNDEFINED  # the variables that JSON cannot hold as they are
    error: str | None = None  # why it failed
    completed: bool = False  # the route is chosen
    start: GraphStart | Undefined = UNDEFINED  # what the run had before its first step, which keeps it

    @property
    def said(self) -> list[TranscriptEntry]:
        """All that was said in it: the messages of the system first, as they were sent."""
        return [*self.system, *self.messages]

    @property
    def warnings(self) -> list[str]:
        """What went on though it may not be what was asked for: replies that are not whole, and calls not made."""
        cut = [call.purpose for call in self.calls if call.completion.was_cut]
        what = "was cut at its limit of tokens; raise `@maxTokens`, or ask for less"
        calls = [call.completion.tool_calls for call in self.calls if len(call.completion.tool_calls) > 1]
        return [
            *(f"the model's reply ({purpose}) {what}" for purpose in cut),
            *filter(None, map(warn_of_reply, self.calls)),
            *(
                f"the model called {len(made)} functions at once, and a step calls one: only the first call, "
                f"of `{made[0].name}`, was made"
                for made in calls
            ),
        ]

    def as_plain(self) -> dict[str, Any]:
        """The step as JSON data: each of its calls may be as large as a value, and so may all that is beside them.

        Raises:
            GraphFailure: it holds more than that.
        """
        whole = self.as_dict()
        try:
            return {**to_plain({**whole, "calls": []}), "calls": [to_plain(call) for call in whole["calls"]]}
        except ValueProblem as error:
            raise GraphFailure(f"the step at `{self.node}` cannot be kept: {error}", error.code) from error

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> ConvoStep:
        """Read a step that `as_dict` gave.

        >>> step = ConvoStep(0, "a", input="Hi", route=TakenRoute(None, "@exit"))
        >>> ConvoStep.from_dict(step.as_dict()) == step
        True
        """
        return cls(
            **{
                **given,
                "messages": [TranscriptEntry.from_dict(entry) for entry in given.get("messages") or ()],
                "system": [TranscriptEntry.from_dict(entry) for entry in given.get("system") or ()],
                "calls": [ModelCall.from_dict(call) for call in given.get("calls") or ()],
                "tool": ToolUse(**given["tool"]) if given.get("tool") else None,
                "route": TakenRoute.from_dict(given["route"]) if given.get("route") else None,
                "types": TypedVariables.from_dict(given.get("types")),
                "start": GraphStart.from_dict(given["start"]) if given.get("start") else UNDEFINED,
            }
        )


def warn_of_reply(call: ModelCall) -> str | None:
    """Say what is wrong with a whole reply that the run went on with, if anything is."""
    completion = call.completion
    if completion.was_cut or completion.refusal:
        return None
    if completion.finish_reason == "content_filter":
        return f"the endpoint's content filter stopped the model's reply ({call.purpose})"
    if call.key.startswith(JUDGEMENT_KEY) and read_judgement(completion.content or "") is None:
        return f"a judge said neither yes nor no, which counts as no: {excerpt(completion.content)}"
    if call.options.get("tool_choice") not in (None, "auto", "none") and not completion.tool_calls:
        return "the model called no function in spite of `@call`: its text is the output"
    return None


def read_judgement(reply: str) -> bool | None:
    """Read whether a judge finds a condition true, in JSON or as a bare word; None where it does not say.

    >>> read_judgement('{"isTrue": false}'), read_judgement("Yes."), read_judgement("maybe")
    (False, True, None)
    """
    said = next(documents(reply, lists=True), without_thoughts(reply))
    if isinstance(said, dict):
        said = said.get("isTrue")
    return JUDGEMENTS.get(str(said).strip(" \t\r\n.!*").lower())


@dataclass(frozen=True)
class Fork:
    """Where a branch began: the branch that it forked from, and the index of the step there."""

    parent: str
    index: int


def fork_of(branch: str) -> Fork | None:
    """Read where a branch began from its id, `PARENT/INDEX.NUMBER`; the first branch began nowhere.

    >>> fork_of("0.1/2.1"), fork_of("")
    (Fork(parent='0.1', index=2), None)
    """
    parent, _, last = branch.rpartition("/")
    return Fork(parent, int(last.partition(".")[0])) if last else None


def messages_of_steps(steps: Iterable[ConvoStep]) -> list[TranscriptEntry]:
    """The messages that the steps of a branch add to the transcript: their own, and where each of them led.

    >>> step = ConvoStep(0, "a", messages=[TranscriptEntry("user", "Hi")], route=TakenRoute(None, "@exit"))
    >>> print(transcript_text(messages_of_steps([step])), end="")
    > user
    Hi
    <BLANKLINE>
    > exitGraph
    """
    entries: list[TranscriptEntry] = []
    for step in steps:
        entries += step.said
        if step.route is not None and step.error is None:
            target = step.route.target
            entries.append(TranscriptEntry("exitGraph") if target is None else TranscriptEntry("goto", target))
    return entries


def summary_messages(request: Iterable[TranscriptEntry], summary: str) -> list[TranscriptEntry]:
    """The messages that the summary of a run adds to the transcript."""
    return [*request, TranscriptEntry("assistant", summary), TranscriptEntry("user")]


@dataclass
class ConvoGraphResult(RunRecord):
    """The result of a run of a graph: the output of its last step, with the steps and the messages.

    `messages` are what the run added to the conversation; `text` is the same as Convo. `exited` says that the run
    left the graph by a route. `forks` are the results of the other branches. `error` and its `code` say why the run
    failed, and `failure` is the error itself. `run` and `conversation` are the id and the conversation under which a
    run that is bound to a graph is stored; where nothing was said, it has no conversation.
    """

    success: bool
    value: Any = None
    error: str | None = None
    code: str | None = None
    steps: list[ConvoStep] = field(default_factory=list)
    messages: list[TranscriptEntry] = field(default_factory=list)
    exited: bool = False
    forks: list[ConvoGraphResult] = field(default_factory=list)
    summary: str | None = None
    run: str | None = None
    conversation: str | None = None
    failure: Exception | None = field(default=None, repr=False, compare=False)

    def fail(self, error: Exception) -> None:
        """Make it the result of a run that failed."""
        self.success, self.value = False, None
        self.error, self.failure = str(error), error
        code = getattr(error, "code", None)
        by_kind = {"ModelError": "model", "ScriptError": "script"}
        self.code = code if isinstance(code, str) else by_kind.get(type(error).__name__, "error")

    def branches(self) -> Iterator[ConvoGraphResult]:
        """This result, and those of the branches that forked from it."""
        yield self
        for fork in self.forks:
            yield from fork.branches()

    @property
    def conversed(self) -> bool:
        """Whether anything was said in the run: to a model, or as a message of a step."""
        steps = (step for branch in self.branches() for step in branch.steps)
        return any(step.calls or wire_messages(step.said, 0, plain_results=True) for step in steps)

    @property
    def output(self) -> Any:
        """The value, by the name that routes have for it."""
        return self.value

    @property
    def text(self) -> str:
        """The messages as Convo."""
        return transcript_text(self.messages)

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON."""
        data = super().as_dict() | {"value": to_plain(self.value)}
        del data["failure"]  # the error itself
        return data
