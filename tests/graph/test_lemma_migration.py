"""Lemmas that an earlier rule stored: they become those of a dictionary, so that old logs answer as new ones do."""

from __future__ import annotations

import json

from memorygraph import MemoryGraph
from memorygraph.graph.migrations import migrate_lemmas

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
IDS = {
    "uses": "fact-3285ae752563b670037f2ccf",
    "doesn't use": "fact-a0922d55cfa19d6aa07313a3",
    "is": "fact-e8bb77ef34cfcb44addcc461",
    "not has": "fact-f9bf692d14203757d8bcfca5",
    "doesn't likes": "fact-9d57b99aa262ecf179dc8fd4",
    "knows": "fact-9256856b35215a3a825c049a",
    "that a causes b": "that-34c8bbbb6406c8a7be6ee5c7",
    "_x eats _y if _x uses _y and _y not is _x.": "rule-468545b27426e20ca94b03ed",
}
"""What the version before stored for the log in a new namespace."""


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
        "WITH DISTINCT 1 AS done OPTIONAL MATCH (f:Former {namespace: $namespace, verb: 'uses'}) SET f.lemma = 'us' "
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
    migrate_lemmas(graph.scope)
    assert lemmas(graph) == current
    migrate_lemmas(graph.scope)
    assert lemmas(graph) == current


def users_of_b(graph: MemoryGraph, log: str) -> list[str]:
    """Who uses &b, as a new log is answered."""
    graph.load(f"context {log}(&b) {{\n  _who use &b?\n", "pete")
    rows = graph.query(
        "MATCH (:Context {namespace: $namespace, name: $log})-[:BINDS {ref: 'who'}]->(n) RETURN n.name AS name",
        {"log": log},
    )
    return [row["name"] for row in rows]


def test_ids_are_those_of_the_version_before(graph: MemoryGraph) -> None:
    graph.load(LOG, "pete")
    rows = graph.query(
        "MATCH ({namespace: $namespace})-[e:EDGE]->() WHERE e.lemma <> '' RETURN e.verb AS said, e.id AS id "
        "UNION MATCH (n:Statement|Rule {namespace: $namespace}) RETURN n.name AS said, n.id AS id",
    )
    assert {row["said"]: row["id"] for row in rows} == IDS


def test_what_was_stored_is_the_same_when_it_is_said_again(graph: MemoryGraph) -> None:
    graph.load(LOG, "pete")
    make_former(graph)
    assert users_of_b(graph, "before") == []
    migrate_lemmas(graph.scope)
    again = graph.load(LOG.replace("main", "again"), "pete")
    assert (again.nodes_created, again.edges_created) == (1, 0)  # its context
    assert users_of_b(graph, "after") == ["a"]
    graph.delete(IDS["uses"])
    assert users_of_b(graph, "retracted") == []


def test_a_deleted_fact_comes_back_with_the_lemma_of_the_dictionary(graph: MemoryGraph) -> None:
    graph.load(LOG, "pete")
    deleted = graph.delete(IDS["uses"])
    make_former(graph)
    migrate_lemmas(graph.scope)
    graph.undo(deleted.revision)
    assert users_of_b(graph, "undone") == ["a"]
