// Questions that PETE asks of the graph, and the rules that it infers by.
//
//   (:Node)-[:EDGE {namespace, id, verb, lemma, surface, negated}]->(:Node)  a fact; of one without a lemma, the verb counts
//   (:Node:Rule {namespace, id, name, rule, head_lemma, head_negated})        `rule` is its goals, as JSON
//
// A node that PETE made has the id memory-N. Such nodes come first, by N; a number too long for an integer is none.

// name: rules
// The rules whose head says one of these. Parameters: namespace, rows [{lemma, negated}], limit.
UNWIND $rows AS row
MATCH (rule:Rule {namespace: $namespace, head_lemma: row.lemma, head_negated: row.negated})
WHERE rule.id IS NOT NULL
WITH rule, CASE WHEN rule.id =~ 'memory-[0-9]{1,18}' THEN toInteger(substring(rule.id, 7)) END AS number
RETURN rule.id AS id, rule.name AS name, rule.rule AS rule
ORDER BY number, id
LIMIT $limit;

// name: facts
// What is asserted of each goal, all goals of a round at once: the nodes, the first edge that says it, and how. A goal
// is known at both ends, at one or at none, and each kind has its own way through the indexes; without the hint, the
// planner reads the whole index, of all namespaces, as long as few lemmas are stored. Parameters:
// namespace, rows [{goal, subject, object, same, lemma, forms, negated}] (`subject` and `object` are ids or null,
// `same` says that both ends are one node), limit.
CALL () {
  UNWIND [row IN $rows WHERE row.subject IS NOT NULL AND row.object IS NOT NULL] AS row
  MATCH (subject:Node {namespace: $namespace, id: row.subject})
  USING INDEX SEEK subject:Node(namespace, id)
  MATCH (object:Node {namespace: $namespace, id: row.object})
  USING INDEX SEEK object:Node(namespace, id)
  MATCH (subject)-[edge:EDGE {namespace: $namespace}]->(object)
  RETURN row, subject, edge, object
  UNION ALL
  UNWIND [row IN $rows WHERE row.subject IS NOT NULL AND row.object IS NULL] AS row
  MATCH (subject:Node {namespace: $namespace, id: row.subject})
  USING INDEX SEEK subject:Node(namespace, id)
  MATCH (subject)-[edge:EDGE {namespace: $namespace}]->(object:Node {namespace: $namespace})
  RETURN row, subject, edge, object
  UNION ALL
  UNWIND [row IN $rows WHERE row.subject IS NULL AND row.object IS NOT NULL] AS row
  MATCH (object:Node {namespace: $namespace, id: row.object})
  USING INDEX SEEK object:Node(namespace, id)
  MATCH (object)<-[edge:EDGE {namespace: $namespace}]-(subject:Node {namespace: $namespace})
  RETURN row, subject, edge, object
  UNION ALL
  UNWIND [row IN $rows WHERE row.subject IS NULL AND row.object IS NULL] AS row
  MATCH (subject:Node)-[edge:EDGE {namespace: $namespace, lemma: row.lemma}]->(object:Node)
  USING INDEX SEEK edge:EDGE(namespace, lemma)
  WHERE subject.namespace = $namespace AND object.namespace = $namespace
  RETURN row, subject, edge, object
  UNION ALL
  // Edges that PETE has not stated have no lemma: they are looked through once for all of these rows.
  WITH [row IN $rows WHERE row.subject IS NULL AND row.object IS NULL] AS rows
  WITH rows, reduce(forms = [], row IN rows | forms + row.forms) AS forms WHERE rows <> []
  MATCH (subject:Node)-[edge:EDGE {namespace: $namespace}]->(object:Node)
  WHERE edge.verb IN forms AND edge.lemma IS NULL
    AND edge.id IS NOT NULL AND subject.namespace = $namespace AND object.namespace = $namespace
  UNWIND rows AS row
  WITH row, subject, edge, object WHERE edge.verb IN row.forms
  RETURN row, subject, edge, object
}
WITH row, subject, edge, object
WHERE coalesce(edge.lemma = row.lemma, edge.verb IN row.forms) AND coalesce(edge.negated, false) = row.negated
  AND (NOT row.same OR subject = object)
WITH row.goal AS goal, subject.id AS subject, object.id AS object,
     min([edge.id, coalesce(edge.surface, edge.verb)]) AS first
WITH goal, subject, object, first[0] AS edge, first[1] AS surface,
     CASE WHEN subject =~ 'memory-[0-9]{1,18}' THEN toInteger(substring(subject, 7)) END AS subject_number,
     CASE WHEN object =~ 'memory-[0-9]{1,18}' THEN toInteger(substring(object, 7)) END AS object_number
RETURN goal, subject, object, edge, surface
ORDER BY goal, subject_number, subject, object_number, object
LIMIT $limit;
