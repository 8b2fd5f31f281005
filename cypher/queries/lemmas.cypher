// Predicates that an earlier memorygraph stored by another rule of lemmas, and what they become; also those of what is
// deleted, which an undo brings back.

// name: stored
// Every predicate with the lemma that is stored for it. Parameters: namespace.
MATCH ()-[edge:EDGE {namespace: $namespace}]->()
WHERE edge.lemma > "" AND edge.surface IS NOT NULL
WITH DISTINCT edge.lemma AS lemma, edge.surface AS surface, coalesce(edge.negated, false) AS negated
RETURN lemma + " " + surface + " " + toString(negated) AS key, lemma, surface, negated
UNION
MATCH (node:Node {namespace: $namespace})
WHERE node.id STARTS WITH "that-" AND node.lemma IS NOT NULL
WITH DISTINCT node.lemma AS lemma, node.surface AS surface, coalesce(node.negated, false) AS negated
RETURN lemma + " " + surface + " " + toString(negated) AS key, lemma, surface, negated
UNION
MATCH (former:Former {namespace: $namespace})
WHERE former.until IS NOT NULL AND former.lemma > "" AND former.surface IS NOT NULL
WITH DISTINCT former.lemma AS lemma, former.surface AS surface, coalesce(former.negated, false) AS negated
RETURN lemma + " " + surface + " " + toString(negated) AS key, lemma, surface, negated;

// name: rules
// Every rule. Parameters: namespace.
MATCH (rule:Rule {namespace: $namespace})
WHERE rule.head_lemma IS NOT NULL
RETURN rule.id AS id, rule.rule AS rule
UNION
MATCH (former:Former {namespace: $namespace})
WHERE former.until IS NOT NULL AND former.head_lemma IS NOT NULL
RETURN former.id AS id, former.rule AS rule;

// name: change-facts
// Parameters: namespace, lemmas {key: lemma}, with the keys of `stored`.
MATCH ()-[edge:EDGE {namespace: $namespace}]->()
WHERE edge.lemma > "" AND edge.surface IS NOT NULL
WITH edge, $lemmas[edge.lemma + " " + edge.surface + " " + toString(coalesce(edge.negated, false))] AS lemma
WHERE lemma IS NOT NULL
SET edge.lemma = lemma;

// name: change-statements
// Parameters: namespace, lemmas {key: lemma}, with the keys of `stored`.
MATCH (node:Node {namespace: $namespace})
WHERE node.id STARTS WITH "that-" AND node.lemma IS NOT NULL
WITH node, $lemmas[node.lemma + " " + node.surface + " " + toString(coalesce(node.negated, false))] AS lemma
WHERE lemma IS NOT NULL
SET node.lemma = lemma;

// name: change-former
// Parameters: namespace, lemmas {key: lemma}, with the keys of `stored`.
MATCH (former:Former {namespace: $namespace})
WHERE former.until IS NOT NULL AND former.lemma > "" AND former.surface IS NOT NULL
WITH former, $lemmas[former.lemma + " " + former.surface + " " + toString(coalesce(former.negated, false))] AS lemma
WHERE lemma IS NOT NULL
SET former.lemma = lemma;

// name: change-rules
// Parameters: namespace, rows [{id, rule, head_lemma}].
UNWIND $rows AS row
CALL (row) {
  MATCH (rule:Node {namespace: $namespace, id: row.id})
  USING INDEX SEEK rule:Node(namespace, id)
  RETURN rule
  UNION
  MATCH (rule:Former {namespace: $namespace, id: row.id})
  USING INDEX SEEK rule:Former(namespace, id, until)
  WHERE rule.until IS NOT NULL
  RETURN rule
}
SET rule.rule = row.rule, rule.head_lemma = row.head_lemma;
