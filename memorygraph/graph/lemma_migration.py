"""Replace the lemmas of stored predicates, which an earlier rule took from the letters, by those of a dictionary.

Ids stay: they are made of stems, which is what lemmas were then. Each step is idempotent, so that an interrupted
migration is finished by the next one, and two clients may run it at once.
"""

from __future__ import annotations

import json
from operator import methodcaller
from typing import Any

from memorygraph.graph.connection import Connection
from memorygraph.languages.pete.lemmas import lemma_of, spellings
from memorygraph.library import CYPHER

MIGRATION = "0016_lemmas"

# Each was its own lemma, which after `doesn't` is right for every form.
_UNCHANGED = frozenset({"is", "has", "does"})


def migrate_lemmas(connection: Connection, namespace: str) -> None:
    """Replace the lemmas of all predicates of a namespace."""
    stored = connection.read(CYPHER["lemmas/stored"](namespace=namespace))
    current = {row.pop("key"): _current_lemma(**row) for row in stored}
    lemmas = {key: lemma for key, lemma in current.items() if lemma != key.partition(" ")[0]}
    rules = []
    for row in connection.read(CYPHER["lemmas/rules"](namespace=namespace)):
        rule = json.loads(row["rule"])
        rule = {**rule, "head": _current_goal(rule["head"]), "body": [_current_goal(goal) for goal in rule["body"]]}
        text = json.dumps(rule, ensure_ascii=False)
        if text != row["rule"]:
            rules.append({"id": row["id"], "rule": text, "head_lemma": rule["head"]["lemma"]})
    if lemmas:
        for name in ("facts", "statements", "former"):
            connection.write(methodcaller("run", CYPHER[f"lemmas/change-{name}"](namespace=namespace, lemmas=lemmas)))
    if rules:
        connection.write(methodcaller("run", CYPHER["lemmas/change-rules"](namespace=namespace, rows=rules)))


def _current_goal(goal: dict[str, Any]) -> dict[str, Any]:
    surface = goal["forms"][-1]
    lemma = _current_lemma(goal["lemma"], surface, goal["negated"])
    return goal if lemma == goal["lemma"] else {**goal, "lemma": lemma, "forms": list(spellings(lemma, surface))}


def _current_lemma(lemma: str, surface: str, negated: bool) -> str:  # noqa: FBT001 - columns of a row
    as_written = negated and lemma == surface and surface not in _UNCHANGED  # it may stand after `doesn't`
    return lemma if as_written else lemma_of(surface)
