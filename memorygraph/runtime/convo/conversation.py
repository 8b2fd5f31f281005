"""The conversation of a run of a node graph: all that was said in it, as one conversation of the message graph.

Each call of a model is a version of its own, because its prompt has only what its node includes. This is the version
that has everything, in order: what stood before the graph, and then the messages of every step, results of tools too.
The version that was last written is that of the first branch; a fork has one of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from memorygraph.errors import ConflictError
from memorygraph.graph.namespace import Namespace
from memorygraph.messages.history import MessageEntry, Version, VersionChange, entries_of
from memorygraph.messages.message import ROOT, Message
from memorygraph.messages.neo4j_storage import Neo4jStorage
from memorygraph.runtime.convo.steps import fork_of
from memorygraph.runtime.convo.transcript import TranscriptEntry, wire_messages


class RunConversation:
    """Writes the conversation of one run, step by step; `add` and `end` are called by one thread."""

    def __init__(self, namespace: Namespace, run: str, name: str) -> None:
        self._namespace = namespace
        self._run = run
        self._name = name
        self._storage = Neo4jStorage(namespace, name, recalled=False)
        self._paths: dict[str, list[MessageEntry]] = {}  # by branch
        self._lengths: dict[tuple[str, int], int] = {}  # of the path after each step
        self._versions: dict[str, Version] = {}

    def begin(self, messages: Sequence[TranscriptEntry]) -> None:
        """Begin with what was said before the first step."""
        self._paths[""] = make_entries(messages, [])

    def add(self, step: str, branch: str, index: int, messages: Sequence[TranscriptEntry]) -> None:
        """Add the messages of a step after those before it, and join them to it."""
        path = self.path_of(branch)
        new = make_entries(messages, path)
        path += new
        self._lengths[branch, index] = len(path)
        self.write(branch, new)
        self._namespace.write_query(
            "convo/join-messages",
            run=self._run,
            step=step,
            conversation=self._name,
            messages=[entry.id for entry in new],
        )

    def end(self, messages: Sequence[TranscriptEntry]) -> None:
        """Add what was said after the last step, and let the first branch be the version that is shown."""
        path = self.path_of("")
        new = make_entries(messages, path)
        path += new
        self.write("", new)
        version, head = self._versions.get(""), self._storage.head()
        if version is not None and path and head is not None and head.id != version.id:
            if version.tip == path[-1].id:
                self._storage.apply(VersionChange(version, version.tip, (), version.length))
            else:
                self._storage.branch(version, path[-1].id, len(path))

    def path_of(self, branch: str) -> list[MessageEntry]:
        """The path of a branch so far; that of a fork begins as the one that it left."""
        fork = fork_of(branch)
        if branch not in self._paths:
            self._paths[branch] = (
                self.path_of(fork.parent)[: self._lengths.get((fork.parent, fork.index), 0)] if fork else []
            )
        return self._paths[branch]

    def write(self, branch: str, new: Sequence[MessageEntry]) -> None:
        """Write the new messages of a branch; a whole path, where its version is not known or has moved."""
        if not new:
            return
        path, known = self._paths[branch], self._versions.get(branch)
        before = path[-len(new) - 1].id if len(path) > len(new) else ROOT
        if known is not None and known.tip == before:
            change = VersionChange(known, before, tuple(new), len(path))
            try:
                self._versions[branch], _ = self._storage.apply(change)
            except ConflictError:  # a call of a model went on from there
                known = None
        if known is None or known.tip != before:
            self._versions[branch] = self._storage.add_path(path)


def make_entries(messages: Sequence[TranscriptEntry], path: Sequence[MessageEntry]) -> list[MessageEntry]:
    """Messages as they follow a path; those that a model gave to other prompts do not count as sampled here."""
    sent = [Message.of(message) for message in wire_messages(messages, len(path), plain_results=True)]
    return list(entries_of(sent, path[-1].id if path else ROOT, sampled=False))
