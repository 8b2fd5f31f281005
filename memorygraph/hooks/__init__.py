"""Hooks of command-line agents: what is recalled goes into the prompt, and what was said is kept, without secrets.

The inputs, the answers and the transcripts are those of Claude Code, whose hooks other agents have taken over.
"""

from memorygraph.hooks.events import EVENTS, KEEPING, HookInput, keep_transcripts, recall_for_prompt
from memorygraph.hooks.transcripts import SaidMessage, read_transcript
from memorygraph.messages.pending import PendingTranscripts, TranscriptRef

__all__ = [
    "EVENTS",
    "KEEPING",
    "HookInput",
    "PendingTranscripts",
    "SaidMessage",
    "TranscriptRef",
    "keep_transcripts",
    "read_transcript",
    "recall_for_prompt",
]
