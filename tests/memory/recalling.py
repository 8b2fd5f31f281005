"""What tests of recall share: conversations to recall from, and vectors of an endpoint that needs no model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memorygraph import MemoryGraph
from memorygraph.graph.search import namespace_token
from memorygraph.library import CYPHER
from memorygraph.memory.datasets import ROLES
from memorygraph.memory.recall import DEPTH
from memorygraph.messages.indexing import date_messages, index_messages


def say(graph: MemoryGraph, conversation: str, *turns: tuple[str, str], at: datetime | None = None) -> list[str]:
    """Store turns of a speaker or a role and a text, make them findable, and return the ids of all there are."""
    history = graph.messages(conversation)
    for speaker, text in turns:
        who = {"role": speaker} if speaker in ROLES else {"role": "user", "name": speaker}
        history.append({**who, "content": text})
    ids = [entry.id for entry in history.entries()]
    index_messages(graph.scope)
    if at is not None:
        date_messages(graph.scope, conversation, dict.fromkeys(ids[-len(turns) :], at))
    return ids


def crowd(graph: MemoryGraph, name: str) -> None:
    """Create more nodes of a name than a recall of its words asks the index for at first."""
    graph.query(
        "UNWIND range(0, $crowd) AS i CREATE (:Node {namespace: $namespace, id: 'n' + i, name: $name, data: '', "
        "namespace_token: $token})",
        {"crowd": 25 * DEPTH, "name": name, "token": graph.scope.token},
        write=True,
    )


def learn(graph: MemoryGraph, facts: Sequence[tuple[str, str, list[str]]]) -> None:
    """Store what was learnt: the id of a node, what it says, and the messages that it is from."""
    rows = [{"id": id_, "data": data, "messages": messages} for id_, data, messages in facts]
    query = CYPHER["recall/learn"](
        namespace=graph.namespace, namespace_token=namespace_token(graph.namespace), rows=rows
    )
    graph.connection.write(lambda transaction: transaction.run(query))
