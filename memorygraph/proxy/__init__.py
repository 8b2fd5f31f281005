"""The recording proxy: an OpenAI-compatible base URL that forwards every request and records each call of a model.

Forwarding comes first: what can't be recorded is forwarded all the same, and recording waits for nothing but the disk.
A call goes into the spool of its namespace when its answer has ended, and one thread writes the spools to Neo4j.
"""

from memorygraph.proxy.access import TOKEN_HEADER, Access
from memorygraph.proxy.recording import BackgroundRecording
from memorygraph.proxy.server import CONVERSATION_HEADER, RecordingProxy
from memorygraph.proxy.upstream import Upstream

__all__ = ["CONVERSATION_HEADER", "TOKEN_HEADER", "Access", "BackgroundRecording", "RecordingProxy", "Upstream"]
