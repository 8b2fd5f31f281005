"""Transcripts that wait: a hook that found no database leaves a note of them, and the next one keeps them."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from memorygraph.home import name_file, own_folder, write_private
from memorygraph.hooks.transcripts import TranscriptRef
from memorygraph.json_text import parse_json


class PendingTranscripts:
    """The transcripts of a namespace that wait to be kept, as files in MEMORYGRAPH_HOME that name them.

    The files hold names, and nothing of what was said: that stays in the transcripts, which the agent has anyway.
    """

    def __init__(self, namespace: str, folder: Path | None = None) -> None:
        self.folder = (folder or own_folder("transcripts")) / name_file(namespace)

    def add(self, ref: TranscriptRef) -> None:
        """Let a transcript wait, once."""
        write_private(self._path(ref), json.dumps(ref.as_dict()))

    def remove(self, ref: TranscriptRef) -> None:
        """Let a transcript wait no longer."""
        with suppress(OSError):
            self._path(ref).unlink(missing_ok=True)

    def waiting(self) -> list[TranscriptRef]:
        """Return the transcripts that wait."""
        found = []
        for path in sorted(self.folder.glob("*.json")):
            try:
                found.append(TranscriptRef(**parse_json(path.read_bytes())))
            except (OSError, ValueError, TypeError):  # it was removed just now, or is no note of ours
                continue
        return found

    def _path(self, ref: TranscriptRef) -> Path:
        return self.folder / f"{name_file(ref.conversation)}.json"
