"""One turn of a model at a log: it is asked, what it writes is read as it comes, stored, and answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from memorygraph.compiler.pete.state import id_of
from memorygraph.errors import MemoryGraphError, NotFoundError, Problem
from memorygraph.languages.pete.gbnf import grammar
from memorygraph.languages.pete.syntax import Closing, Command, Opening, Piece, Question
from memorygraph.limits import call_apart, require_running
from memorygraph.llm.completion import Completion, answers_of, call_of
from memorygraph.llm.model import OpenAIModel
from memorygraph.messages.recorder import Recorder
from memorygraph.query import Query
from memorygraph.runtime.pete.faculties import Faculties, Faculty
from memorygraph.runtime.pete.log import Frame
from memorygraph.runtime.pete.replies import CUT_OFF, PeteReply, ReplyReader
from memorygraph.runtime.pete.store import LogStore, UnfitPiece, make_feedback
from memorygraph.runtime.pete.views import View

ANSWERED_ELSEWHERE = "another process has answered the command meanwhile, and that answer stands in the log"
NOT_CALLED = "the command was not called: another process has answered it meanwhile, or closed the context it stands in"

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
_who likes &heat?                        a question: the system answers it, and binds &who; answers and their proof
                                         name nodes by their addresses, as memory:42
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

NO_FACULTIES = "There are no faculties: no command does anything."
CONTINUE = "This is the log. Write what comes next, from its end on."
TRY_AGAIN = (
    "What you wrote could not be read from this place on, and was thrown away from there; what stood before it is in "
    "the log above, if it was complete. Write on from the end of the log, without this mistake:"
)


@dataclass(frozen=True)
class PeteStep:
    """One step: `written` is what the model wrote and what it was answered, `view` what it saw.

    `command` is the command or question that ended it, `feedback` what the system answered. `problems` is what could
    not be read of the model's answers, try by try; `warnings` says what was read differently than it was written.
    `stuck` says that its last answer could not be read either; `closed` that the outermost context is closed, so that
    the log has ended.
    """

    number: int
    context: str
    written: str
    view: View
    command: str | None = None
    feedback: Any = None
    problems: Sequence[Problem] = ()
    warnings: Sequence[str] = ()
    stuck: bool = False
    closed: bool = False

    @property
    def idle(self) -> bool:
        """Whether the model had nothing to say."""
        return not self.written

    def as_dict(self) -> dict[str, Any]:
        """The step as `--json` prints it."""
        return {
            "number": self.number,
            "context": self.context,
            "written": self.written,
            "command": self.command,
            "feedback": self.feedback,
            "problems": [problem.as_dict() for problem in self.problems],
            "warnings": list(self.warnings),
            "stuck": self.stuck,
            "closed": self.closed,
            "trace": self.view.as_dict(),
        }


@dataclass(frozen=True)
class TurnTaker:
    """Lets a model take turns at one log."""

    store: LogStore
    model: OpenAIModel
    faculties: Faculties
    number: int
    grammar_field: str | None = None
    max_tokens: int | None = None

    def take(self, root: Frame, view: View, problem: Problem | None) -> PeteStep:
        """Take one turn; `problem` is what was wrong with the one before. Where it raises, nothing was stored."""
        current = root.innermost()
        stack = [frame.address for frame in current.path()]
        messages = build_messages(view.text, self.faculties.by_name, problem)
        at = datetime.now(UTC).isoformat()
        reader = ReplyReader(len(stack), view.text)
        completion = call_apart(lambda: self.stream_reply(messages, reader))
        reply = reader.reply()
        joined = self.record_call(root, messages, completion, at)
        unfinished = [completion.unfinished[1]] if completion.unfinished and CUT_OFF not in reply.warnings else []
        problems = (reply.problem,) if reply.problem else ()
        turn = PeteStep(self.number, current.name, "", view, problems=problems, warnings=(*reply.warnings, *unfinished))
        return self.store_reply(turn, root.address, stack, reply, joined)

    def stream_reply(self, messages: Sequence[Mapping[str, Any]], reader: ReplyReader) -> Completion:
        """Ask the model, and read its reply as it comes, until no more of it is wanted."""
        extra = {self.grammar_field: grammar("continuation")} if self.grammar_field else None
        with self.model.stream(messages, extra=extra, max_tokens=self.max_tokens) as answer:
            for text in answer:
                require_running()
                if not reader.feed(text):
                    break
            else:
                reader.finish(cut=answer.completion.was_cut)
            return answer.completion

    def record_call(self, root: Frame, messages: Sequence[Mapping[str, Any]], completion: Completion, at: str) -> Query:
        """Keep the call in the message graph, and make the query that joins its answer to the context."""
        namespace = self.store.namespace
        conversation = f"pete-{root.name}"
        call = call_of(namespace.name, conversation, messages, completion, at)
        if not self.is_gone(root.address):
            Recorder(namespace, conversation).record(call)
        return namespace.query("pete/join-message", id=id_of(root.innermost().address), messages=answers_of(call))

    def is_gone(self, log: int) -> bool:
        """Whether a log was forgotten or deleted while the model wrote, so that nothing more is stored of it."""
        try:
            self.store.find_end(log)
        except NotFoundError:
            return True
        except MemoryGraphError:  # what is recorded waits until the database answers
            return False
        return False

    def store_reply(self, turn: PeteStep, log: int, stack: Sequence[int], reply: PeteReply, joined: Query) -> PeteStep:
        """Store what fits, and let the system answer."""
        depth = len(stack)
        pieces = begin_line(reply.pieces, depth)
        try:
            noted, feedback = self.store.append(log, pieces, stack=stack, live=True, closing=(joined,))
        except UnfitPiece as unfit:
            turn = replace(turn, problems=(reply.problem_at(unfit.number, unfit.mistakes[0]),))
            pieces = pieces[: unfit.number]
            noted, feedback = self.store.append(log, pieces, stack=stack, live=True, closing=(joined,))
        written = "".join(piece.text for piece in pieces)
        depth += sum(isinstance(item, Opening) - isinstance(item, Closing) for item, _ in pieces)
        warnings = (*turn.warnings, *(mistake.message for mistake in noted))
        turn = replace(turn, written=written, warnings=warnings, closed=depth == 0)
        if turn.problems or not pieces:
            return turn
        last = pieces[-1].item
        if isinstance(last, Question):
            written += make_feedback(feedback).text
            return replace(turn, written=written, command=pieces[-1].text.strip(), feedback=feedback)
        return self.answer_command(turn, log, last, pieces[-1].text) if isinstance(last, Command) else turn

    def answer_command(self, turn: PeteStep, log: int, command: Command, text: str) -> PeteStep:
        """Run a command, and write what it gives after it."""
        waiting = [one for one in self.store.pending(log) if one.text == text]
        name = f"@{command.faculty}, {command.procedure}" if command.faculty else command.procedure
        if not waiting:
            return replace(turn, command=name, warnings=(*turn.warnings, NOT_CALLED))
        answered = self.store.answer(waiting[-1], self.faculties)
        warnings = turn.warnings if answered.text else (*turn.warnings, ANSWERED_ELSEWHERE)
        written = turn.written + answered.text
        return replace(turn, written=written, command=name, feedback=answered.feedback, warnings=warnings)


def begin_line(pieces: Sequence[Piece], depth: int) -> tuple[Piece, ...]:
    """Put a line break before the first piece: a comment before it would go to the end of its line."""
    if not pieces:
        return ()
    item, text = pieces[0]
    bare = text.lstrip()
    if "\n" not in text[: len(text) - len(bare)]:
        text = "\n" + "  " * (depth - isinstance(item, Closing)) + bare
    return (Piece(item, text), *pieces[1:])


def build_messages(view: str, faculties: Mapping[str, Faculty], problem: Problem | None = None) -> list[dict[str, Any]]:
    """Build the messages with which a model is asked to continue what it sees of a log.

    >>> build_messages("context main() {", {})[1]["content"].splitlines()[-1]
    'context main() {'
    """
    lines = [f"@{name}, {described}" for name, faculty in faculties.items() for described in faculty.describe()]
    known = ["The faculties and their procedures:", *lines] if lines else [NO_FACULTIES]
    system = "\n".join([RULES, "", *known])
    mistake = [] if problem is None else [TRY_AGAIN, str(problem)]
    user = "\n\n".join([*mistake, CONTINUE, view])
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]
