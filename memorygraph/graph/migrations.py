"""Migrations of stored data: what some files of `cypher/schema` do in Python, in each namespace."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from memorygraph.graph.answers import migrate_answers
from memorygraph.graph.leftovers import remove_leftovers
from memorygraph.graph.message_labels import migrate_message_labels
from memorygraph.graph.namespace import Namespace
from memorygraph.json_text import parse_stored_json
from memorygraph.languages.pete.lemmas import lemma_of, spellings

ITEMS_PER_TRANSACTION = 10_000
PASSAGES_PER_TRANSACTION = 10_000
PASSAGES_MIGRATION = "0038_passages_of_conversations"
# Each was its own lemma by an earlier rule, which after `doesn't` is right for every form.
_UNCHANGED_LEMMAS = frozenset({"is", "has", "does"})


def migrate_lemmas(namespace: Namespace) -> None:
    """Replace the lemmas of all predicates, which an earlier rule took from the letters, by those of a dictionary."""
    # Ids stay: they are made of stems, which is what lemmas were. Each step is idempotent.
    current = {row.pop("key"): _current_lemma(**row) for row in namespace.read("lemmas/stored")}
    lemmas = {key: lemma for key, lemma in current.items() if lemma != key.partition(" ")[0]}
    rules = []
    for row in namespace.read("lemmas/rules"):
        rule = parse_stored_json(row["rule"])
        rule = {**rule, "head": _current_goal(rule["head"]), "body": [_current_goal(goal) for goal in rule["body"]]}
        text = json.dumps(rule, ensure_ascii=False)
        if text != row["rule"]:
            rules.append({"id": row["id"], "rule": text, "head_lemma": rule["head"]["lemma"]})
    if lemmas:
        for name in ("facts", "statements", "former"):
            namespace.write_query(f"lemmas/change-{name}", lemmas=lemmas)
    if rules:
        namespace.write_query("lemmas/change-rules", rows=rules)


def add_item_homes(namespace: Namespace) -> None:
    """Say on which shelf the items are at home to which an earlier version gave a vector."""
    namespace.repeat("items/add-homes", limit=ITEMS_PER_TRANSACTION)


def catch_up(namespace: Namespace) -> None:
    """Have a namespace be at the revision of its last load, which an earlier version could set back."""
    namespace.write_query("namespaces/catch-up")


def find_passages_as_messages(namespace: Namespace) -> None:
    """Have passages be found in the conversations of their messages, which an import by an earlier version lost."""
    query, last = "messages/find-passages-as-messages", ""
    while last is not None:
        [row] = namespace.write_query(query, after=last, limit=PASSAGES_PER_TRANSACTION)
        last = row["last"]


def _current_goal(goal: dict[str, Any]) -> dict[str, Any]:
    surface = goal["forms"][-1]
    lemma = _current_lemma(goal["lemma"], surface, goal["negated"])
    return goal if lemma == goal["lemma"] else {**goal, "lemma": lemma, "forms": list(spellings(lemma, surface))}


def _current_lemma(lemma: str, surface: str, negated: bool) -> str:  # noqa: FBT001 - columns of a row
    as_written = negated and lemma == surface and surface not in _UNCHANGED_LEMMAS  # it may stand after `doesn't`
    return lemma if as_written else lemma_of(surface)


DATA_MIGRATIONS: Mapping[str, Callable[[Namespace], object]] = {
    "0016_lemmas": migrate_lemmas,
    "0017_leftovers": remove_leftovers,
    "0018_answers": migrate_answers,
    "0035_message_labels": migrate_message_labels,
    "0036_item_homes": add_item_homes,
    "0037_revisions": catch_up,
    PASSAGES_MIGRATION: find_passages_as_messages,
}
"""What a file of the schema does with the data of each namespace; each is idempotent."""
