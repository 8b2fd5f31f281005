"""Hooks of command-line agents: what is recalled goes into the prompt, and what was said is kept, without secrets.

The inputs, the answers and the transcripts are those of Claude Code, whose hooks other agents have taken over.
"""

from memorygraph.hooks.events import EVENTS, HookInput, keep_transcripts, recall_for_prompt
from memorygraph.hooks.pending import PendingTranscripts
from memorygraph.hooks.transcripts import SaidMessage, TranscriptRef, read_transcript

__all__ = [
    "EVENTS",
    "HookInput",
    "PendingTranscripts",
    "SaidMessage",
    "TranscriptRef",
    "keep_transcripts",
    "read_transcript",
    "recall_for_prompt",
]
