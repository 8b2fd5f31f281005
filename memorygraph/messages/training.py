"""On-policy training data: every sampled answer once, after exactly the messages that it was sampled from.

Because the identity of a message includes everything before it, the same answer after the same prefix is one
message, however many versions and conversations hold it. So an answer is found, and trained on, once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any

from memorygraph.errors import NotFoundError
from memorygraph.json_text import parse_stored_json
from memorygraph.messages.fine_tuning import LineCheck, NoFormError, count_omitted, form_of_message, form_of_tools
from memorygraph.messages.history import Attachment, MessageEntry
from memorygraph.messages.indexing import in_utc
from memorygraph.messages.message import canonical_json
from memorygraph.messages.storage import Storage

FORMATS = ("openai", "prompt-completion")


@dataclass(frozen=True)
class AnswerFilter:
    """Selects answers by their model, and by when they were stored, from `since` until before `until`.

    A time without a zone is one of UTC. An answer that was recorded repeatedly, with an attachment each, was stored at
    each of these times: one by the wanted model at a wanted time is looked for.
    """

    model: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def limits_time(self) -> bool:
        """Whether it looks at times."""
        return self.since is not None or self.until is not None

    def refuse(self, attachments: Iterable[Attachment], stored_at: str | None) -> str | None:
        """Why an answer that was stored then, with these attachments, is left out, or None if it is selected."""
        kept = [each for each in attachments if self.model is None or each.metadata.get("model") == self.model]
        if self.model is not None and not kept:
            return "another model"
        times = [attachment.at for attachment in kept if attachment.at]
        if stored_at and (self.model is None or not times):
            times.append(stored_at)
        return "another time" if self.limits_time and not any(map(self.is_in_time, times)) else None

    def select(self, attachments: Iterable[Attachment]) -> list[Attachment]:
        """Of the attachments of a selected answer, those that tell nothing of another model or of another time."""
        kept = [each for each in attachments if self.model is None or each.metadata.get("model") in (None, self.model)]
        return [attachment for attachment in kept if not attachment.at or self.is_in_time(attachment.at)] or kept

    def is_in_time(self, text: str) -> bool:
        """Whether a stored time is a wanted one."""
        # A server with a zone of its own names it behind the offset: `+02:00[Europe/Berlin]`.
        at = in_utc(datetime.fromisoformat(text.partition("[")[0]))
        return (self.since is None or at >= in_utc(self.since)) and (self.until is None or at < in_utc(self.until))


@dataclass(frozen=True)
class Sample:
    """A path of messages, the ids of its answers to train on, and the tools that were offered to the model."""

    path: tuple[MessageEntry, ...]
    trained: frozenset[str]
    tools: tuple[Any, ...] = ()

    def openai(self) -> dict[str, Any]:
        """The sample in OpenAI's fine-tuning format: weight 1 for the answers to train on, 0 for the others."""
        messages = [form_of_message(entry.message) for entry in self.path]
        for entry, message in zip(self.path, messages, strict=True):
            if entry.message.is_assistant:
                message["weight"] = int(entry.id in self.trained)
        return {"messages": messages, **self.offered()}

    def prompt_completions(self) -> Iterator[dict[str, Any]]:
        """The sample as one prompt and completion for each answer to train on."""
        for index, entry in enumerate(self.path):
            if entry.id in self.trained:
                prompt = [form_of_message(before.message) for before in self.path[:index]]
                yield {"prompt": prompt, "completion": [form_of_message(entry.message)], **self.offered()}

    def offered(self) -> dict[str, Any]:
        """The key of the tools, where there are any."""
        return {"tools": list(self.tools)} if self.tools else {}


@dataclass(frozen=True)
class TrainingData:
    """Samples that train on each selected answer once; `left_out` counts the other answers by reason.

    Every line is valid by the published rules of fine-tuning. An answer is left out where it, a message before it, or a
    tool that was offered has no form there. `omitted` counts the parts that the lines do without, such as `reasoning`.
    Iterating gives the samples in OpenAI's fine-tuning format.
    """

    samples: tuple[Sample, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def omitted(self) -> Mapping[str, int]:
        """How many parts of messages are left out of the lines, by their kind."""
        entries = {entry.id: entry.message for sample in self.samples for entry in sample.path}
        return dict(count_omitted(entries.values()))

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
        rows = self if form == "openai" else chain.from_iterable(map(Sample.prompt_completions, self.samples))
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def training_data(storage: Storage, wanted: AnswerFilter | None = None) -> TrainingData:
    """The training data of a conversation and of its subagents' conversations."""
    wanted = wanted or AnswerFilter()
    paths, attachments = read_paths(storage)
    answers = {
        entry.id: (index, path) for path in paths for index, entry in enumerate(path) if entry.message.is_assistant
    }
    unusable = find_unusable(paths)
    times = storage.times(answers) if wanted.limits_time else {}
    left_out: Counter[str] = Counter()
    tools: dict[str, str] = {}
    for id_, (index, path) in answers.items():
        beside = attachments.get(id_, ())
        reason = "off-policy" if path[index].off_policy else wanted.refuse(beside, times.get(id_)) or unusable.get(id_)
        if reason is None:
            # Or what a user keeps so.
            sent = (attachment.metadata.get("parameters") for attachment in wanted.select(beside))
            found = (parameters.get("tools") for parameters in sent if isinstance(parameters, Mapping))
            offered = (tools for tools in found if isinstance(tools, (list, tuple)))
            try:
                tools[id_] = canonical_json(form_of_tools(next(filter(None, offered), [])))
            except NoFormError as error:
                reason = str(error)
        if reason is not None:
            left_out[reason] += 1
    return TrainingData(tuple(cover_answers({id_: answers[id_] for id_ in tools}, tools)), dict(left_out))


def find_unusable(paths: Iterable[tuple[MessageEntry, ...]]) -> dict[str, str]:
    """The messages that no line may end with, by their ids, each with the reason."""
    reasons: dict[str, str] = {}
    for path in paths:
        check = LineCheck()
        for entry in path:
            if reason := check.add(entry.message):
                reasons[entry.id] = reason
    return reasons


def cover_answers(
    answers: Mapping[str, tuple[int, tuple[MessageEntry, ...]]], tools: Mapping[str, str]
) -> Iterator[Sample]:
    """Cover all answers with few samples: the longest paths first, each with the answers on its way."""
    done: set[str] = set()
    for id_, (index, path) in sorted(answers.items(), key=lambda item: -item[1][0]):
        if id_ not in done:
            # Nothing after the answer belongs to its sample, and what was sampled with other tools is no part of it.
            here = path[: index + 1]
            trained = frozenset(e.id for e in here if e.id not in done and tools.get(e.id) == tools[id_])
            done |= trained
            yield Sample(here, trained, tuple(parse_stored_json(tools[id_])))


def read_paths(storage: Storage) -> tuple[list[tuple[MessageEntry, ...]], dict[str, list[Attachment]]]:
    """The paths of all versions and of all subagents inside them, and the attachments of their messages."""
    attachments: dict[str, list[Attachment]] = {}
    paths: list[tuple[MessageEntry, ...]] = []
    known: dict[str, MessageEntry] = {}  # a long conversation has most of its messages in hundreds of versions
    seen: set[str] = set()
    tips = [version.tip for version in storage.versions() if version.tip]
    # Subagents may have subagents, and share messages with each other.
    while tips:
        tip = tips.pop(0)
        if tip in seen:
            continue
        seen.add(tip)
        path = tuple(known.setdefault(entry.id, entry) for entry in storage.path(tip))
        paths.append(path)
        new = [entry.id for entry in path if entry.id not in attachments]
        attachments.update({id_: [] for id_ in new})
        for attachment in storage.attachments(new):
            attachments[attachment.message_id].append(attachment)
            if attachment.subgraph:
                tips.append(attachment.subgraph)
    return paths, attachments
