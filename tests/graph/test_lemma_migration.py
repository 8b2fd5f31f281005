"""Lemmas that an earlier rule stored: they become those of a dictionary, so that old logs answer as new ones do."""

from __future__ import annotations

import json

from memorygraph import MemoryGraph
from memorygraph.graph.lemma_migration import migrate_lemmas

LOG = """context main(&a, &b) {
  &a uses &b.
  &b doesn't use &a.
  &a is &b.
  &a not has &b.
  &b doesn't likes &a.
  &I knows that &a causes &b.
  _x eats _y if _x uses _y and _y not is _x.
"""
FORMER = {"use": "us", "be": "is", "have": "has", "cause": "caus"}


def lemmas(graph: MemoryGraph) -> dict[str, str]:
    """The lemma of each verb, and of each statement and goal of a rule by its form."""
    rows = graph.query(
        "MATCH ({namespace: $namespace})-[e:EDGE]->() WHERE e.lemma <> '' RETURN e.verb AS form, e.lemma AS lemma "
        "UNION MATCH (s:Statement {namespace: $namespace}) RETURN s.name AS form, s.lemma AS lemma",
    )
    [rule] = graph.query("MATCH (r:Rule {namespace: $namespace}) RETURN r.rule AS rule, r.head_lemma AS head")
    goals = json.loads(rule["rule"])
    assert goals["head"]["lemma"] == rule["head"]
    body = {f"if {goal['forms'][-1]}": goal["lemma"] for goal in goals["body"]}
    return {**{row["form"]: row["lemma"] for row in rows}, **body}


def make_former(graph: MemoryGraph) -> None:
    """Store the lemmas as the earlier rule had them."""
    graph.query(
        "MATCH ({namespace: $namespace})-[e:EDGE]->() WHERE e.verb IN ['uses', 'is', 'not has'] "
        "SET e.lemma = {uses: 'us', is: 'is', `not has`: 'has'}[e.verb] "
        "WITH DISTINCT 1 AS done MATCH (s:Statement {namespace: $namespace}) SET s.lemma = 'caus'",
        write=True,
    )
    [row] = graph.query("MATCH (r:Rule {namespace: $namespace}) RETURN r.rule AS rule")
    rule = json.loads(row["rule"])
    for goal in rule["body"]:
        goal["lemma"] = FORMER[goal["lemma"]]
    graph.query("MATCH (r:Rule {namespace: $namespace}) SET r.rule = $rule", {"rule": json.dumps(rule)}, write=True)


def test_stored_lemmas_become_those_of_the_dictionary(graph: MemoryGraph) -> None:
    graph.load(LOG, "pete")
    current = lemmas(graph)
    assert current["uses"] == current["doesn't use"] == current["if uses"] == "use"
    assert current["doesn't likes"] == "likes"
    make_former(graph)
    former = lemmas(graph)
    assert former["uses"] == former["if uses"] == "us"
    migrate_lemmas(graph.connection, graph.namespace)
    assert lemmas(graph) == current
    migrate_lemmas(graph.connection, graph.namespace)
    assert lemmas(graph) == current
