"""Random edits against a plain list that is copied whole at every break: contents, versions, and who said what.

The model knows nothing of hashes: a version is a full copy, and an answer is on-policy where exactly this list
of messages up to it was once made by appending the answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorygraph.graph.connection import Connection
from memorygraph.graph.namespace import Namespace
from memorygraph.messages.graph import MessageGraph
from memorygraph.messages.neo4j_storage import Neo4jStorage
from tests.examples import FEWEST_GRAPHS, examples
from tests.shared_neo4j import new_namespace

Messages = list[dict[str, Any]]
Edit = Callable[[Any], Any]

MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "assistant", "tool"]), "content": st.sampled_from(["a", "b", "c"])}
)
INDEXES = st.integers(-6, 6)
SLICES = st.builds(slice, st.none() | INDEXES, st.none() | INDEXES, st.sampled_from([None, 1, 2, -1]))


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@dataclass
class Model:
    """A list, the copies of it that were made, and the paths that ended in an answer."""

    messages: Messages = field(default_factory=list)
    old: list[str] = field(default_factory=list)
    sampled: set[str] = field(default_factory=set)

    def become(self, new: Messages) -> None:
        same = 0
        while same < min(len(self.messages), len(new)) and self.messages[same] == new[same]:
            same += 1
        if same == len(self.messages):
            self.sampled |= {_text(new[: i + 1]) for i in range(same, len(new)) if new[i]["role"] == "assistant"}
        elif any(message["role"] == "assistant" for message in self.messages[same:]):
            self.old.append(_text(self.messages))
        self.messages = new

    def off_policy(self) -> list[bool]:
        return [
            message["role"] == "assistant" and _text(self.messages[: i + 1]) not in self.sampled
            for i, message in enumerate(self.messages)
        ]


def _assign(index: Any, value: Any) -> Edit:
    return lambda messages: messages.__setitem__(index, value)


def _set_key(index: int, text: str) -> Edit:
    return lambda messages: messages[index].__setitem__("content", text)


EDITS: st.SearchStrategy[Edit] = st.one_of(
    st.builds(lambda m: lambda h: h.append(dict(m)), MESSAGES),
    st.builds(lambda m: lambda h: h.append(dict(m)), MESSAGES),
    st.builds(lambda m: lambda h: h.extend([dict(x) for x in m]), st.lists(MESSAGES, max_size=3)),
    st.builds(lambda i, m: lambda h: h.insert(i, dict(m)), INDEXES, MESSAGES),
    st.builds(_assign, INDEXES, MESSAGES),
    st.builds(_assign, SLICES, st.lists(MESSAGES, max_size=3)),
    st.builds(_set_key, INDEXES, st.sampled_from(["a", "b", "c"])),
    st.builds(lambda i: lambda h: h.pop(i), INDEXES),
    st.builds(lambda i: lambda h: h.__delitem__(i), INDEXES | SLICES),
    st.just(lambda h: h.reverse()),
    st.just(lambda h: h.sort(key=_text)),
    st.just(lambda h: h.clear()),
)

EDITS_OF_EITHER = st.tuples(EDITS, st.booleans())
"""With whether it is done to `history.messages`, and not to the history itself."""


def _do(edit: Edit, messages: Any) -> str | None:
    """The name of the error, if there is one."""
    try:
        edit(messages)
    except (IndexError, ValueError) as error:
        return type(error).__name__
    return None


def _check(history: MessageGraph, reopened: Callable[[], MessageGraph], edits: list[tuple[Edit, bool]]) -> None:
    model = Model()
    live = history.messages
    for edit, as_list in edits:
        new = json.loads(_text(model.messages))
        assert _do(edit, live if as_list else history) == _do(edit, new)
        model.become(new)
        assert [message.as_dict() for message in (entry.message for entry in history.entries())] == model.messages
        assert live == model.messages
        assert json.loads(json.dumps(live)) == model.messages
        assert history.messages is live
    for graph in (history, reopened()):
        assert graph == model.messages
        assert [entry.off_policy for entry in graph.entries()] == model.off_policy()
        versions = graph.versions()
        replaced = [version for version in versions if version.replaced]
        assert [_text(graph.checkout(version).messages) for version in replaced] == model.old
        assert len(versions) == len(model.old) + 1
        assert graph.verify().ok


@settings(max_examples=examples(400), deadline=None, print_blob=True)
@given(st.lists(EDITS_OF_EITHER, max_size=25))
def test_in_memory_it_is_the_list_of_the_model(edits: list[tuple[Edit, bool]]) -> None:
    history = MessageGraph()
    _check(history, lambda: history, edits)


@settings(
    max_examples=examples(15, FEWEST_GRAPHS),
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(EDITS_OF_EITHER, min_size=4, max_size=12))
def test_so_it_is_in_neo4j(connection: Connection, edits: list[tuple[Edit, bool]]) -> None:
    namespace = new_namespace()

    def opened() -> MessageGraph:
        return MessageGraph(storage=Neo4jStorage(Namespace(connection, namespace), "talk"))

    _check(opened(), opened, edits)
