"""Chat: a conversation with a model that has a memory, and writes into it.

The conversation keeps the words of both, with the model's program after them. The prompts, with recalled context and
programs that were sent back, are in another conversation, `NAME-calls`, where the answers are on-policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from memorygraph.budget import Budget
from memorygraph.compiler import mentioned
from memorygraph.context.labels import protect
from memorygraph.errors import ConflictError, MemoryGraphError, Problem
from memorygraph.graph.loads import Loader, LoadReport
from memorygraph.graph.namespace import Namespace
from memorygraph.languages import parse
from memorygraph.llm.uris import find_model
from memorygraph.memory.prompt_texts import count_units
from memorygraph.memory.prompts import (
    ANSWER_MESSAGE,
    CHAT,
    LANGUAGE,
    blocks_of,
    read_chat_answer,
    read_corrected_answer,
    without_programs,
)
from memorygraph.memory.recall import RecallHit
from memorygraph.memory.remember import (
    ATTEMPTS,
    BUDGET,
    ProgramWriter,
    WrittenProgram,
    build_prompt,
    check_text,
    without_own_secrets,
)
from memorygraph.memory.shown import ShownMemory, show_memory
from memorygraph.memory.vectors import Embedder
from memorygraph.messages.calls import CALLS_SUFFIX
from memorygraph.messages.graph import MessageGraph
from memorygraph.messages.history import MessageEntry
from memorygraph.messages.neo4j_storage import Neo4jStorage
from memorygraph.sentences import count_of

HISTORY_BUDGET = "12k"
MAX_TRIES = 20  # of writing a turn into a conversation that others write into too
MAX_RECENT_MESSAGES = 6  # the nodes and edges in the programs of these are shown, too


@dataclass(frozen=True)
class ChatTurn:
    """The answer of the model, and what it has remembered.

    `report` is None if nothing was loaded: there was nothing to remember, or `failure` says why. `problems` are those
    of the last program, if it was wrong. `proposed` is a program of the changes that the model wanted and may not make,
    because they are of what was not recalled: nothing of it is done, until you load it.
    """

    answer: str
    program: str
    report: LoadReport | None
    problems: tuple[Problem, ...]
    recalled: tuple[RecallHit, ...]
    attempts: int = 1
    failure: str = ""
    proposed: str = ""

    @classmethod
    def of(cls, written: WrittenProgram, shown: ShownMemory) -> ChatTurn:
        """The turn of a program that was written."""
        load = written.load
        loaded = load.report if load.report and load.report.load_id else None
        problems, failure = load.problems, ""
        if load.problems:
            tries = count_of(written.attempts, "attempt")
            failure = f"the model wrote no program that can be loaded, in {tries}"
            if written.error is not None:
                failure += f", and could not be asked again: {written.error}"
        elif written.former and loaded is None and not load.proposed:
            problems, failure = written.former, "its program was wrong, and the model has given it up"
        told = (problems, shown.hits, written.attempts, failure)
        return cls(written.answer, load.program, loaded, *told, load.proposed)

    @property
    def words(self) -> str:
        """The model's words, as the next turn shows them to it."""
        answer = without_programs(self.answer)
        if self.report is None:
            return answer or "(nothing)"
        return f"{answer}\n\n```{LANGUAGE}\n{self.program.strip()}\n```".strip()

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {
            "answer": self.answer,
            "program": self.program,
            "report": self.report.as_dict() if self.report else None,
            "proposed": self.proposed,
            "attempts": self.attempts,
            "failure": self.failure,
            "errors": [problem.as_dict() for problem in self.problems],
            "recalled": [hit.as_dict() for hit in self.recalled],
        }


class Chat:
    """A conversation with a model that has a memory. Safe to share between threads.

    Example::

        chat = mg.chat("ada")
        turn = chat.say("I have moved to Turin.")
        print(turn.answer, turn.program, turn.report)
    """

    def __init__(
        self,
        namespace: Namespace,
        conversation: str = "chat",
        model: str | None = None,
        *,
        attempts: int = ATTEMPTS,
        budget: str | Budget = BUDGET,
        history: str | Budget = HISTORY_BUDGET,
        embedder: Embedder | None = None,
    ) -> None:
        if not conversation:
            raise MemoryGraphError("a conversation has a name, and this is empty")
        self.conversation = conversation
        self._loader = Loader(namespace)
        self._model = model
        self._attempts = attempts
        self._budget = Budget.of(budget)
        self._history = Budget.of(history)
        self._embedder = embedder
        self._lock = Lock()

    @property
    def calls(self) -> str:
        """The conversation that keeps the prompts and the replies."""
        return self.conversation + CALLS_SUFFIX

    @property
    def messages(self) -> MessageGraph:
        """The messages of the user and the model, as they are stored now."""
        return MessageGraph(storage=self._storage)

    @property
    def _storage(self) -> Neo4jStorage:
        return Neo4jStorage(self._loader.namespace, self.conversation)

    def say(self, text: str) -> ChatTurn:
        """Say something to the model; what it remembers of it is loaded in one transaction.

        Raises:
            ModelError: no model is configured, or its endpoint failed; nothing was stored.
            ConnectionError: the database cannot be reached.
        """
        check_text(text)
        text = without_own_secrets(text)
        with self._lock, find_model(self._model) as model:
            before = recent_entries(self.messages.entries(), self._history)
            shown = self._show(text, before)
            system, user = build_prompt(CHAT, ANSWER_MESSAGE, shown, "message of the user", text).messages()
            said = [{"role": entry.message.role, "content": protect(entry.message.text)} for entry in before]
            writer = ProgramWriter(self._loader, model, self.calls, "chat", self._attempts)
            written = writer.write([system, *said, user], shown, read_chat_answer, read_corrected_answer)
            turn = ChatTurn.of(written, shown)
            self._keep(text, turn, written, model.name)
        return turn

    def _show(self, text: str, before: Sequence[MessageEntry]) -> ShownMemory:
        """Recall by the text, and show what was written lately: the next message often refers to it."""
        seen = {entry.id for entry in before}

        def accept(hit: RecallHit) -> bool:
            # Recent messages are in the prompt already. Prompts and replies repeat what is recalled, and are of no
            # conversation that recall knows: so one of the user's own may have any name.
            return hit.kind == "node" or not (hit.id in seen or hit.role == "system" or hit.conversation is None)

        recent = [entry for entry in reversed(before[-MAX_RECENT_MESSAGES:]) if entry.message.is_assistant]
        written: dict[str, None] = {}
        for entry in recent:
            for block in blocks_of(entry.message.text):
                if block.language == LANGUAGE:
                    written.update(dict.fromkeys(mentioned(parse(block.text, LANGUAGE))))
        # What a program only mentions, or a text forges, is shown too, but does not become the model's to change.
        kept = self._storage.attachments([entry.id for entry in recent])
        wrote = [each.metadata.get("wrote") for each in kept]  # or what a user keeps under that key
        own = {id_ for ids in wrote if isinstance(ids, list) for id_ in ids if isinstance(id_, str)}
        return show_memory(
            self._loader.namespace,
            text,
            self._budget,
            embedder=self._embedder,
            also=list(written),
            own=own,
            accept=accept,
        )

    def _keep(self, text: str, turn: ChatTurn, written: WrittenProgram, model: str) -> None:
        """Put both messages after the conversation, which others may have continued meanwhile."""
        metadata = {
            "model": written.reply.completion.model or model,
            "at": written.reply.at,
            "call": written.reply.message,
            "revision": turn.report.revision if turn.report else None,
            "load": turn.report.load_id if turn.report else None,
            "wrote": list(written.load.wrote),
            "proposed": turn.proposed,
            "problems": [problem.as_dict() for problem in turn.problems],
        }
        said = {"role": "assistant", "content": turn.words, "metadata": metadata}
        history = self.messages
        # A conflict reads the conversation again, and both messages then go after those of the others.
        for tries_left in reversed(range(MAX_TRIES)):
            try:
                history.extend([{"role": "user", "content": text}, said], sampled=False)
            except ConflictError:
                if not tries_left:
                    raise
            else:
                return


def recent_entries(entries: Sequence[MessageEntry], limit: Budget) -> list[MessageEntry]:
    """The latest messages of a conversation that fit a budget, beginning with one of the user."""
    told = [entry for entry in entries if entry.message.role in {"user", "assistant"} and entry.message.text.strip()]
    start = size = 0
    sizes = [count_units(entry.message.text, limit) for entry in told]
    for end, added in enumerate(sizes):
        size += added
        # Half of the budget is freed at once: the beginning of the prompt then changes seldom, and an endpoint's cache
        # of it stays of use.
        if size > limit.limit:
            while start <= end and size > limit.limit / 2:
                size -= sizes[start]
                start += 1
    while start < len(told) and told[start].message.role != "user":
        start += 1
    return told[start:]
