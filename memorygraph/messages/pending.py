"""Transcripts that wait: a hook that found no database leaves a note of them, and the next one keeps them."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from memorygraph.home import name_file, own_folder, write_private
from memorygraph.json_text import parse_json


@dataclass(frozen=True)
class TranscriptRef:
    """Where a transcript is, and the conversation that it is kept as."""

    path: str
    conversation: str
    of_subagent: bool = False


class PendingTranscripts:
    """The transcripts of a namespace that wait to be kept, as files in MEMORYGRAPH_HOME that name them.

    The files hold names, and nothing of what was said: that stays in the transcripts, which the agent has anyway.
    """

    def __init__(self, namespace: str) -> None:
        self.folder = own_folder("transcripts") / name_file(namespace)
        self._seen: dict[str, tuple[int, int]] = {}  # of each conversation the note that `waiting` has read

    def add(self, ref: TranscriptRef) -> None:
        """Let a transcript wait, once."""
        write_private(self._path(ref.conversation), json.dumps(asdict(ref)))

    def remove(self, ref: TranscriptRef) -> None:
        """Let a transcript that `waiting` returned wait no longer, unless another hook has noted it anew since then."""
        with suppress(OSError):
            if _mark_of(self._path(ref.conversation)) == self._seen.get(ref.conversation):
                self.forget([ref.conversation])

    def begin(self, ref: TranscriptRef) -> None:
        """Note that a transcript that `waiting` returned is tried: if that ends the hook, it is the last next time."""
        path = self._path(ref.conversation)
        written_ns, number = self._seen[ref.conversation]
        with suppress(OSError):
            os.utime(path, ns=(written_ns // 2, written_ns // 2))  # older than any that was not tried so often
            if (mark := _mark_of(path))[1] == number:
                self._seen[ref.conversation] = mark

    def forget(self, conversations: Collection[str]) -> int:
        """Let the transcripts of conversations wait no longer, and return how many these were."""
        forgotten = 0
        for path in map(self._path, conversations):
            with suppress(OSError):
                path.unlink()
                forgotten += 1
        return forgotten

    def waiting(self) -> list[TranscriptRef]:
        """Return the transcripts that wait: those first that were tried least often, and of these the latest."""
        found = []
        for path in self.folder.glob("*.json"):
            try:
                mark = _mark_of(path)
                found.append((mark, TranscriptRef(**parse_json(path.read_bytes()))))
            except (OSError, ValueError, TypeError):  # it was removed just now, or is no note of ours
                continue
        self._seen = {ref.conversation: mark for mark, ref in found}
        return [ref for _, ref in sorted(found, key=lambda each: each[0], reverse=True)]

    def _path(self, conversation: str) -> Path:
        return self.folder / f"{name_file(conversation)}.json"


def _mark_of(path: Path) -> tuple[int, int]:
    """Tell a note from one that has been written in its place, also within one tick of the clock."""
    status = path.stat()
    return status.st_mtime_ns, status.st_ino
