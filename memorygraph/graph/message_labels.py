"""The labels of a message beside `Message`: who said it. Neo4j Browser, which knows no values, colors it by them."""

from __future__ import annotations

from memorygraph.graph.elements import as_text
from memorygraph.graph.namespace import Namespace

ROLE_LABELS = {
    "user": ["UserMessage"],
    "assistant": ["AssistantMessage"],
    "tool": ["ToolMessage"],
    "function": ["ToolMessage"],
    "system": ["SystemMessage"],
    "developer": ["SystemMessage"],
}
OFF_POLICY_LABEL = "OffPolicyMessage"
PAGE = 5000


def labels_of_message(role: str, *, sampled: bool) -> list[str]:
    """The labels of a message beside `Message`; none where its role is one that nobody knows.

    >>> labels_of_message("tool", sampled=False), labels_of_message("assistant", sampled=False)
    (['ToolMessage'], ['AssistantMessage', 'OffPolicyMessage'])
    """
    off_policy = [OFF_POLICY_LABEL] if role == "assistant" and not sampled else []
    return [*ROLE_LABELS.get(role, ()), *off_policy]


def migrate_message_labels(namespace: Namespace) -> None:
    """Give every message of a namespace its labels, a page at a time; a second time changes nothing."""
    after = ""
    while page := namespace.read("messages/roles-page", after=after, limit=PAGE):
        after = page[-1]["id"]
        rows = [
            {"id": row["id"], "labels": labels_of_message(as_text(row["role"]), sampled=row["sampled"] is True)}
            for row in page
        ]
        namespace.write_query("messages/set-labels", rows=rows)
