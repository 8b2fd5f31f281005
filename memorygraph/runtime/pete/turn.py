"""One turn of a model at a log: it is asked, what it writes is read as it comes, stored, and answered."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from memorygraph.compiler.pete import id_of
from memorygraph.errors import Problem
from memorygraph.languages.pete.gbnf import grammar
from memorygraph.languages.pete.syntax import Closing, Command, Opening, Piece, Question
from memorygraph.llm.completion import Completion, answers_of, call_of
from memorygraph.llm.model import OpenAIModel
from memorygraph.messages.recorder import Recorder
from memorygraph.query import Query
from memorygraph.runtime.pete.appending import UnfitPiece
from memorygraph.runtime.pete.faculties import Faculties, Faculty
from memorygraph.runtime.pete.inference import Answers, explain_proof
from memorygraph.runtime.pete.log import Frame
from memorygraph.runtime.pete.replies import PeteReply, ReplyReader, join_halves
from memorygraph.runtime.pete.store import LogStore, make_feedback
from memorygraph.runtime.pete.views import View

ANSWERED_ELSEWHERE = "another process has answered the command meanwhile, and that answer stands in the log"
MAX_ANSWERS = 10  # of one question that are shown in the log

RULES = """\
You are the mind of an agent. Its running thought is a log in the language PETE, and you write what comes next in it. \
The log is the agent's inner monologue and its memory: nobody else reads it. Answer with PETE only, without Markdown \
and without repeating what stands there: your text is put behind the end of the log as it is.

A log is made of contexts, `context name(&a, &b) { … }`, and in each context of these statements:
// a thought, up to the end of the line
&heat = /* the heat in the lab */        names a concept: the same text is the same concept
&old = memory:42                         names what is stored at an address
&travis likes &heat.                     a fact: argument, predicate, argument, full stop
&travis doesn't like &heat.              what is not so: doesn't, don't, not, !
&I knows that &travis likes &heat.       `that …` speaks of something without saying that it is so
_who likes &heat?                        a question: the system answers it, and binds &who
_a likes _b if _b cools _a and _a is 3.  a rule, with variables
@[time: 12:30]                           a note on this context
tl;dr /* what came of it */              the result of this context; write it before the closing }
context cool(&heat) { … }                a context of its own for a part of the work; only the handles in brackets
                                         are known inside, and behind it &cool means the whole of it
@fan, set {"speed": 2}                   a command to a faculty: stop there, and the system writes `>> {…}` behind it

Arguments are handles (&name), addresses (memory:42), JSON values ("text", 3.5, true) or `that …`. Every handle needs \
a meaning before it is used. &I is you. Never write `>>` or `!!`: only the system does. Lines `!! name {…}` are what \
sensors report. A context whose text is out of view stands as `context name(&a) = memory:42 /* its result */`.
When the work of a context is done, write its tl;dr and close it with }."""

CONTINUE = "This is the log. Write what comes next, from its end on."
TRY_AGAIN = (
    "What you wrote could not be read from this place on, and was thrown away from there; what stood before it is in "
    "the log above, if it was complete. Write on from the end of the log, without this mistake:"
)


@dataclass(frozen=True)
class PeteTurn:
    """The result of one reply of the model: what of it was stored, and what could not be read."""

    context: str
    view: View
    written: str = ""
    command: str | None = None
    feedback: Any = None
    problem: Problem | None = None
    warnings: tuple[str, ...] = ()
    closed: bool = False


@dataclass(frozen=True)
class TurnTaker:
    """Lets a model take turns at one log."""

    store: LogStore
    model: OpenAIModel
    faculties: Faculties
    conversation: str
    grammar_field: str | None = None
    max_tokens: int | None = None

    def take(self, root: Frame, view: View, problem: Problem | None) -> PeteTurn:
        """Take one turn; `problem` is what was wrong with the one before.

        Raises:
            ModelError: the endpoint failed; nothing was stored.
            ConflictError: other writers have opened or closed contexts meanwhile; nothing was stored.
        """
        current = root.innermost()
        stack = [frame.address for frame in current.path()]
        messages = build_messages(view.text, self.faculties.by_name, problem)
        at = datetime.now(UTC).isoformat()
        reader = ReplyReader(len(stack), view.text)
        completion = self.stream_reply(messages, reader)
        reply = reader.reply()
        joined = self.record_call(current, messages, completion, at)
        refused = [f"the model refused: {completion.refusal}"] if completion.refusal else []
        turn = PeteTurn(current.name, view, problem=reply.problem, warnings=(*reply.warnings, *refused))
        return self.store_reply(turn, root.address, stack, reply, joined)

    def stream_reply(self, messages: Sequence[Mapping[str, Any]], reader: ReplyReader) -> Completion:
        """Ask the model, and read its reply as it comes, until no more of it is wanted."""
        extra = {self.grammar_field: grammar("continuation")} if self.grammar_field else None
        with self.model.stream(messages, extra=extra, max_tokens=self.max_tokens) as answer:
            for text in answer:
                if not reader.feed(text):
                    break
            else:
                reader.finish(cut=answer.completion.finish_reason == "length")
            return answer.completion

    def record_call(
        self, current: Frame, messages: Sequence[Mapping[str, Any]], completion: Completion, at: str
    ) -> Query:
        """Keep the call in the message graph, and make the query that joins its answer to the context."""
        namespace = self.store.namespace
        raw = json.loads(join_halves(json.dumps(completion.raw, ensure_ascii=False)))
        completion = replace(completion, raw=raw)
        call = call_of(namespace.name, self.conversation, messages, completion, at)
        Recorder(self.store.namespace, self.conversation).record(call)
        return namespace.query("pete/join-message", id=id_of(current.address), messages=answers_of(call))

    def store_reply(self, turn: PeteTurn, log: int, stack: Sequence[int], reply: PeteReply, joined: Query) -> PeteTurn:
        """Store what fits, and let the system answer."""
        depth = len(stack)
        pieces = begin_line(reply.pieces, depth)
        shown: list[str] = []

        def answer_question(found: Answers, names: Mapping[str, str]) -> Piece:
            piece = make_feedback(shorten_answers(found, names))
            shown[:] = [piece.text]
            return piece

        try:
            appended = self.store.append(
                log, pieces, stack=stack, live=True, answered=answer_question, closing=(joined,)
            )
        except UnfitPiece as unfit:
            mistake = unfit.mistakes[0]
            located = reply.problem_at(unfit.number, mistake.message, mistake.code, mistake.span)
            turn = replace(turn, problem=located)
            pieces = pieces[: unfit.number]
            appended = self.store.append(log, pieces, stack=stack, live=True, closing=(joined,))
        written = "".join(piece.text for piece in pieces)
        warnings = (*turn.warnings, *(mistake.message for mistake in appended.warnings))
        turn = replace(turn, written=written, warnings=warnings, closed=depth + sum(map(depth_change, pieces)) == 0)
        if turn.problem is not None or not pieces:
            return turn
        last = pieces[-1].item
        if isinstance(last, Question):
            feedback = json.loads(shown[0].removeprefix(" >> "))
            return replace(turn, written=written + shown[0], command=pieces[-1].text.strip(), feedback=feedback)
        return self.answer_command(turn, log, last, pieces[-1].text) if isinstance(last, Command) else turn

    def answer_command(self, turn: PeteTurn, log: int, command: Command, text: str) -> PeteTurn:
        """Run a command, and write what it gives after it."""
        waiting = [one for one in self.store.pending(log) if one.text == text]
        name = f"@{command.faculty}, {command.procedure}" if command.faculty else command.procedure
        if not waiting:
            return replace(turn, command=name, warnings=(*turn.warnings, ANSWERED_ELSEWHERE))
        answered = self.store.answer(waiting[-1], self.faculties)
        warnings = turn.warnings if answered.text else (*turn.warnings, ANSWERED_ELSEWHERE)
        written = turn.written + answered.text
        return replace(turn, written=written, command=name, feedback=answered.feedback, warnings=warnings)


def shorten_answers(found: Answers, names: Mapping[str, str]) -> dict[str, Any]:
    """Make the feedback to a question: its first answers, and the proof of the first."""
    if not found.answers:
        return {"answer": "unknown"} | ({} if found.complete else {"because": found.reason})
    first = found.answers[0]
    shown: dict[str, Any] = {"answer": "yes"}
    if first.bindings:
        shown = {
            "answers": [
                {name: name_node(node, names) for name, node in answer.bindings.items()}
                for answer in found.answers[:MAX_ANSWERS]
            ]
        }
    if len(found.answers) > MAX_ANSWERS:
        shown["more"] = len(found.answers) - MAX_ANSWERS
    return shown | {"proof": explain_proof(first.proof)}


def name_node(node: str, names: Mapping[str, str]) -> str:
    """The name of a node in feedback, with its address if it has one."""
    address = node.removeprefix("memory-")
    return f"memory:{address} {names[node]}" if address.isdigit() and address != node else names[node]


def begin_line(pieces: Sequence[Piece], depth: int) -> tuple[Piece, ...]:
    """Put a line break before the first piece: a comment before it would go to the end of its line."""
    if not pieces:
        return ()
    item, text = pieces[0]
    bare = text.lstrip()
    if "\n" not in text[: len(text) - len(bare)]:
        text = "\n" + "  " * (depth - isinstance(item, Closing)) + bare
    return (Piece(item, text), *pieces[1:])


def depth_change(piece: Piece) -> int:
    """How many more contexts are open after a piece than before it."""
    return isinstance(piece.item, Opening) - isinstance(piece.item, Closing)


def build_messages(view: str, faculties: Mapping[str, Faculty], problem: Problem | None = None) -> list[dict[str, Any]]:
    """Build the messages with which a model is asked to continue what it sees of a log.

    >>> build_messages("context main() {", {})[1]["content"].splitlines()[-1]
    'context main() {'
    """
    lines = [f"@{name}, {described}" for name, faculty in faculties.items() for described in faculty.describe()]
    if lines:
        system = "\n".join([RULES, "", "The faculties and their procedures:", *lines])
    else:
        system = f"{RULES}\n\nThere are no faculties: no command does anything."
    mistake = [] if problem is None else [TRY_AGAIN, str(problem)]
    user = "\n\n".join([*mistake, CONTINUE, view])
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]
