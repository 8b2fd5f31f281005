"""One turn of a model at a log: it is asked, what it writes is read as it comes, stored, and answered."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from memorygraph.compiler.pete import Piece, id_of
from memorygraph.errors import Problem
from memorygraph.languages.pete import Closing, Command, Opening, Question
from memorygraph.languages.pete.gbnf import grammar
from memorygraph.library import CYPHER
from memorygraph.llm.completion import Completion
from memorygraph.llm.model import OpenAIModel
from memorygraph.llm.recording import answers_of, call_of
from memorygraph.messages.recorder import Recorder
from memorygraph.runtime.pete.answering import answer, feedback_piece, pending_in
from memorygraph.runtime.pete.appending import Wrong
from memorygraph.runtime.pete.faculties import Faculties
from memorygraph.runtime.pete.replies import ModelReply, ReplyReader, join_halves
from memorygraph.runtime.pete.inference import Answers, explain
from memorygraph.runtime.pete.log import Frame
from memorygraph.runtime.pete.prompt import messages_for
from memorygraph.runtime.pete.store import LogStore
from memorygraph.runtime.pete.views import View

ANSWERED_ELSEWHERE = "somebody else has answered the command meanwhile, and that answer stands in the log"
MAX_ANSWERS = 10  # of one question that are shown in the log


@dataclass(frozen=True)
class Turn:
    """What became of one answer of the model: what of it was stored, and what could not be read."""

    context: str
    view: View
    written: str = ""
    command: str | None = None
    feedback: Any = None
    problem: Problem | None = None
    warnings: tuple[str, ...] = ()
    closed: bool = False


@dataclass(frozen=True)
class Turns:
    """Lets a model take turns at one log."""

    store: LogStore
    model: OpenAIModel
    faculties: Faculties
    conversation: str
    grammar_field: str | None = None
    max_tokens: int | None = None

    def take(self, root: Frame, view: View, problem: Problem | None) -> Turn:
        """One turn; `problem` is what was wrong with the one before.

        Raises:
            ModelError: the endpoint failed; nothing was stored.
            ConflictError: others have opened or closed contexts meanwhile; nothing was stored.
        """
        current = root.innermost()
        stack = [frame.address for frame in current.path()]
        messages = messages_for(view.text, self.faculties.by_name, [] if problem is None else [problem])
        at = datetime.now(UTC).isoformat()
        hearing = Hearing(len(stack), view.text)
        completion = self._spoken(messages, hearing)
        spoken = hearing.spoken()
        joined = self._recorded(current, messages, completion, at)
        refused = [f"the model refused: {completion.refusal}"] if completion.refusal else []
        turn = Turn(current.name, view, problem=spoken.problem, warnings=(*spoken.warnings, *refused))
        return self._stored(turn, root.address, stack, spoken, joined)

    def _spoken(self, messages: Sequence[Mapping[str, Any]], hearing: Hearing) -> Completion:
        extra = {self.grammar_field: grammar("continuation")} if self.grammar_field else None
        with self.model.stream(messages, extra=extra, max_tokens=self.max_tokens) as answer:
            for text in answer:
                if not hearing.take(text):
                    break
            else:
                hearing.end(cut=answer.completion.finish_reason == "length")
            return answer.completion

    def _recorded(self, current: Frame, messages: Sequence[Mapping[str, Any]], completion: Completion, at: str) -> Any:
        """Keep the call in the message graph; the query that joins its answer to the context."""
        namespace = self.store.namespace
        raw = json.loads(join_halves(json.dumps(completion.raw, ensure_ascii=False)))
        completion = replace(completion, raw=raw)
        call = call_of(namespace, self.conversation, messages, completion, at)
        Recorder(self.store.connection, namespace, self.conversation).record(call)
        return CYPHER["pete/join-message"](namespace=namespace, id=id_of(current.address), messages=answers_of(call))

    def _stored(self, turn: Turn, log: int, stack: Sequence[int], spoken: Spoken, joined: Any) -> Turn:
        """Store what fits, and let the system answer."""
        pieces = _laid_out(spoken.pieces, len(stack))
        shown: list[str] = []

        def answered(found: Answers, names: Mapping[str, str]) -> Piece:
            piece = feedback_piece(answer_of(found, names))
            shown[:] = [piece.text]
            return piece

        try:
            appended = self.store.append(log, pieces, stack=stack, live=True, answered=answered, closing=(joined,))
        except Wrong as wrong:
            mistake = wrong.mistakes[0]
            located = spoken.problem_at(wrong.number, mistake.message, mistake.code, mistake.span)
            turn = replace(turn, problem=located)
            pieces = pieces[: wrong.number]
            appended = self.store.append(log, pieces, stack=stack, live=True, closing=(joined,))
        written = "".join(piece.text for piece in pieces)
        warnings = (*turn.warnings, *(mistake.message for mistake in appended.warnings))
        turn = replace(turn, written=written, warnings=warnings, closed=_depth(pieces, len(stack)) == 0)
        if turn.problem is not None or not pieces:
            return turn
        last = pieces[-1].item
        if isinstance(last, Question):
            return replace(turn, written=written + shown[0], command=pieces[-1].text.strip(), feedback=_read(shown[0]))
        return self._answered(turn, log, last, pieces[-1].text) if isinstance(last, Command) else turn

    def _answered(self, turn: Turn, log: int, command: Command, text: str) -> Turn:
        """Run a command, and write what it gives behind it."""
        waiting = [one for one in pending_in(self.store, log) if one.text == text]
        name = f"@{command.faculty}, {command.procedure}" if command.faculty else command.procedure
        if not waiting:
            return replace(turn, command=name, warnings=(*turn.warnings, ANSWERED_ELSEWHERE))
        answered = answer(self.store, waiting[-1], self.faculties)
        warnings = turn.warnings if answered.text else (*turn.warnings, ANSWERED_ELSEWHERE)
        written = turn.written + answered.text
        return replace(turn, written=written, command=name, feedback=answered.feedback, warnings=warnings)


def answer_of(found: Answers, names: Mapping[str, str]) -> dict[str, Any]:
    """The answers to a question as the log shows them, the first of them with its proof."""
    if not found.answers:
        return {"answer": "unknown"} | ({} if found.complete else {"because": found.reason})
    first = found.answers[0]
    shown: dict[str, Any] = {"answer": "yes"}
    if first.bindings:
        shown = {
            "answers": [
                {name: _called(node, names) for name, node in answer.bindings.items()}
                for answer in found.answers[:MAX_ANSWERS]
            ]
        }
    if len(found.answers) > MAX_ANSWERS:
        shown["more"] = len(found.answers) - MAX_ANSWERS
    return shown | {"proof": explain(first.proof)}


def _called(node: str, names: Mapping[str, str]) -> str:
    address = node.removeprefix("memory-")
    return f"memory:{address} {names[node]}" if address.isdigit() and address != node else names[node]


def _laid_out(pieces: Sequence[Piece], depth: int) -> tuple[Piece, ...]:
    """The pieces with a line break before the first: what stands before it may go to the end of its line."""
    if not pieces:
        return ()
    item, text = pieces[0]
    bare = text.lstrip()
    if "\n" not in text[: len(text) - len(bare)]:
        text = "\n" + "  " * (depth - isinstance(item, Closing)) + bare
    return (Piece(item, text), *pieces[1:])


def _depth(pieces: Sequence[Piece], depth: int) -> int:
    opened = sum(isinstance(piece.item, Opening) for piece in pieces)
    return depth + opened - sum(isinstance(piece.item, Closing) for piece in pieces)


def _read(text: str) -> Any:
    return json.loads(text.removeprefix(" >> "))
