"""On-policy training data: every sampled answer once, behind exactly the messages that it was sampled from.

Because the identity of a message includes everything before it, "the same answer behind the same prefix" is one
message, however many versions and conversations it stands in. So an answer is found, and trained on, once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memorygraph.errors import NotFoundError
from memorygraph.messages.history import Attachment, Entry
from memorygraph.messages.message import canonical
from memorygraph.messages.storage import Storage

FORMATS = ("openai", "prompt-completion")


@dataclass(frozen=True)
class Wanted:
    """Which answers are wanted: of which model, and sampled from when until when (`until` not included)."""

    model: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def refusal(self, attachments: Iterable[Attachment]) -> str | None:
        """Why an answer with this beside it is not wanted, or None if it is."""
        kept = list(attachments)
        if self.model is not None and self.model not in {attachment.metadata.get("model") for attachment in kept}:
            return "another model"
        times = [datetime.fromisoformat(attachment.at) for attachment in kept if attachment.at]
        if (self.since or self.until) and not any(map(self._in_time, times)):
            return "another time"
        return None

    def _in_time(self, at: datetime) -> bool:
        return (self.since is None or at >= self.since) and (self.until is None or at < self.until)


@dataclass(frozen=True)
class Sample:
    """A path of messages, and the ids of the answers in it that are trained on; `tools` were offered to the model."""

    path: tuple[Entry, ...]
    trained: frozenset[str]
    tools: tuple[Any, ...] = ()

    def openai(self) -> dict[str, Any]:
        """The sample in OpenAI's fine-tuning format: weight 1 on what is trained on, 0 on the other answers."""
        messages = []
        for entry in self.path:
            weight = {"weight": int(entry.id in self.trained)} if entry.message.is_assistant else {}
            messages.append({**entry.message.as_dict(), **weight})
        return {"messages": messages, **({"tools": list(self.tools)} if self.tools else {})}

    def prompt_completions(self) -> Iterator[dict[str, Any]]:
        """The sample as one prompt and completion for each answer that is trained on."""
        for index, entry in enumerate(self.path):
            if entry.id in self.trained:
                prompt = [before.message.as_dict() for before in self.path[:index]]
                tools = {"tools": list(self.tools)} if self.tools else {}
                yield {"prompt": prompt, "completion": [entry.message.as_dict()], **tools}


@dataclass(frozen=True)
class TrainingData:
    """Samples in which every wanted answer is trained on once; `left_out` counts the other answers by reason.

    Iterating gives the samples in OpenAI's fine-tuning format.
    """

    samples: tuple[Sample, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def answers(self) -> int:
        """How many answers are trained on."""
        return sum(len(sample.trained) for sample in self.samples)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (sample.openai() for sample in self.samples)

    def __len__(self) -> int:
        return len(self.samples)

    def jsonl(self, form: str = "openai") -> str:
        """The samples as JSON lines, in the format `openai` or `prompt-completion`.

        Raises:
            NotFoundError: there is no such format.
        """
        if form not in FORMATS:
            raise NotFoundError(f"no training format `{form}`; there are {' and '.join(FORMATS)}")
        if form == "openai":
            rows: Iterable[dict[str, Any]] = self
        else:
            rows = (row for sample in self.samples for row in sample.prompt_completions())
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def training_data(storage: Storage, wanted: Wanted | None = None) -> TrainingData:
    """Everything in the versions of a conversation, and in its subagents' conversations, that can be trained on.

    >>> from memorygraph.messages.history import entries_of
    >>> from memorygraph.messages.memory import Memory
    >>> from memorygraph.messages.message import Message
    >>> said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    >>> storage = Memory()
    >>> _ = storage.add_path(entries_of([Message.of(message) for message in said], sampled=True))
    >>> list(training_data(storage))[0]["messages"][1]
    {'role': 'assistant', 'content': 'Hello', 'weight': 1}
    """
    wanted = wanted or Wanted()
    paths, attachments = _everything(storage)
    answers = {
        entry.id: (index, path) for path in paths for index, entry in enumerate(path) if entry.message.is_assistant
    }
    left_out: Counter[str] = Counter()
    trainable: dict[str, str] = {}
    for id_, (index, path) in answers.items():
        reason = "off-policy" if path[index].off_policy else wanted.refusal(attachments.get(id_, ()))
        if reason is None:
            trainable[id_] = canonical(_tools(attachments.get(id_, ())))
        else:
            left_out[reason] += 1
    samples = tuple(_samples({id_: answers[id_] for id_ in trainable}, trainable))
    return TrainingData(samples, dict(left_out))


def _samples(answers: Mapping[str, tuple[int, tuple[Entry, ...]]], tools: Mapping[str, str]) -> Iterator[Sample]:
    """Few samples that hold all answers: the longest paths first, each with the answers on its way.

    An answer on the way of another was sampled from what stands before it there, but only counts as sampled
    in the same situation if the same tools were offered.
    """
    done: set[str] = set()
    for id_, (index, path) in sorted(answers.items(), key=lambda item: -item[1][0]):
        if id_ not in done:
            here = path[: index + 1]
            trained = frozenset(e.id for e in here if e.id not in done and tools.get(e.id) == tools[id_])
            done |= trained
            yield Sample(here, trained, tuple(json.loads(tools[id_])))


def _tools(attachments: Iterable[Attachment]) -> list[Any]:
    """The tools that were offered when an answer was sampled."""
    parameters = (attachment.metadata.get("parameters") or {} for attachment in attachments)
    return next((tools for tools in (given.get("tools") for given in parameters) if tools), [])


def _everything(storage: Storage) -> tuple[list[tuple[Entry, ...]], dict[str, list[Attachment]]]:
    """The paths of all versions and of all subagents inside them, and what is kept beside their messages."""
    attachments: dict[str, list[Attachment]] = {}
    paths: list[tuple[Entry, ...]] = []
    seen: set[str] = set()
    tips = [version.tip for version in storage.versions() if version.tip]
    while tips:
        tip = tips.pop(0)
        if tip in seen:
            continue
        seen.add(tip)
        path = tuple(storage.path(tip))
        paths.append(path)
        new = [entry.id for entry in path if entry.id not in attachments]
        attachments.update({id_: [] for id_ in new})
        for attachment in storage.attachments(new):
            attachments[attachment.message_id].append(attachment)
            if attachment.subgraph:
                tips.append(attachment.subgraph)
    return paths, attachments
