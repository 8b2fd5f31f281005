"""A conversation of a namespace as a list: one that its first message creates, or one that has to be there."""

from __future__ import annotations

from memorygraph.errors import MemoryGraphError, NotFoundError
from memorygraph.graph.namespace import Namespace
from memorygraph.messages.graph import MessageGraph
from memorygraph.messages.neo4j_storage import Neo4jStorage


def open_conversation(namespace: Namespace, name: str) -> MessageGraph:
    """Return a conversation as a list of messages, whether anything of it is stored or not.

    Raises:
        MemoryGraphError: the name is empty.
    """
    if not name:
        raise MemoryGraphError("a conversation has a name, and this is empty")
    return MessageGraph(storage=Neo4jStorage(namespace, name))


def find_stored_conversation(namespace: Namespace, name: str) -> MessageGraph:
    """Return a conversation that is stored.

    Raises:
        MemoryGraphError: the name is empty.
        NotFoundError: there is no conversation of this name.
    """
    history = open_conversation(namespace, name)
    if not history.stored:
        raise missing_conversation(namespace, name)
    return history


def missing_conversation(namespace: Namespace, name: str) -> NotFoundError:
    """The error that says that there is no conversation of a name."""
    conversations = f"`memorygraph{namespace.option} messages list` shows them all"
    return NotFoundError(f"no conversation `{name}` in namespace `{namespace}`; {conversations}")
