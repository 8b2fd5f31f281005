// What a ContextScript program compiles to. Each block writes one batch and returns what it changed as `counts`, under
// the names of the load report. The compiler knows from begin-load what is stored, so that a row says
// exactly what is to be done with it.
//
// The revision of a load is that of its namespace while the load holds the lock. Every block leaves it as `since` in
// what it writes, and keeps the values that it replaces as a Former, unless they are of the same revision:
//
//   (:Former {namespace, id, of: "node" | "edge", since, until, ...})
//
// beside what the element had, `from_node` and `to_node` of an edge, and the other `labels` of a node. A deleted node
// is not copied: it becomes the Former (`itself`), so that whatever else hangs on it comes back with it. One that has come
// back leaves a copy, whose `itself` is false.

// name: create-nodes
// Parameters: namespace, namespace_token, rows [{id, name, data, parts}]; `parts` are those of words in the texts that
// the full-text index does not split (memorygraph.word_parts), as properties.
MATCH (namespace:Namespace {name: $namespace})
WITH namespace.revision AS revision, namespace.embedder AS embedder
UNWIND $rows AS row
CREATE (node:Node {namespace: $namespace, id: row.id, name: row.name, data: row.data,
                   name_parts: row.parts.name_parts, data_parts: row.parts.data_parts,
                   namespace_token: $namespace_token, since: revision,
                   vector_due: CASE WHEN row.name <> '' OR row.data <> '' THEN embedder END})
RETURN {nodes_created: count(node)} AS counts;

// name: change-nodes
// The given arguments replace, the others stay. Vectors of the former text go.
// Parameters: namespace, rows [{id, set: {name, data}, parts}].
MATCH (namespace:Namespace {name: $namespace})
WITH namespace.revision AS revision, namespace.embedder AS embedder
UNWIND $rows AS row
MATCH (node:Node {namespace: $namespace, id: row.id})
USING INDEX SEEK node:Node(namespace, id)
WHERE any(key IN keys(row.set) WHERE node[key] IS NULL OR node[key] <> row.set[key])
FOREACH (_ IN CASE WHEN coalesce(node.since, 0) < revision THEN [1] ELSE [] END |
  CREATE (former:Former)
  SET former = node {.*, of: 'node', since: coalesce(node.since, 0), until: revision,
               labels: [label IN labels(node) WHERE label <> 'Node'], embedding: null, embedding_model: null, vector_due: null,
               expires_at: null}
)
SET node += row.set, node.since = revision, node.embedding = null, node.embedding_model = null,
    node.name_parts = CASE WHEN row.set.name IS NULL THEN node.name_parts ELSE row.parts.name_parts END,
    node.data_parts = CASE WHEN row.set.data IS NULL THEN node.data_parts ELSE row.parts.data_parts END
SET node.vector_due = CASE WHEN node.name <> '' OR node.data <> '' THEN embedder END
RETURN {nodes_updated: count(node)} AS counts;

// name: create-edges
// Parameters: namespace, rows [{id, from_node, to_node, verb, weight}].
MATCH (namespace:Namespace {name: $namespace})
WITH namespace.revision AS revision
UNWIND $rows AS row
MATCH (from_node:Node {namespace: $namespace, id: row.from_node})
USING INDEX SEEK from_node:Node(namespace, id)
MATCH (to_node:Node {namespace: $namespace, id: row.to_node})
USING INDEX SEEK to_node:Node(namespace, id)
CREATE (from_node)-[edge:EDGE {namespace: $namespace, id: row.id, verb: row.verb, weight: row.weight,
                               since: revision}]->(to_node)
RETURN {edges_created: count(edge)} AS counts;

// name: change-edges
// Parameters: namespace, rows [{id, set: {verb, weight}}].
MATCH (namespace:Namespace {name: $namespace})
WITH namespace.revision AS revision
UNWIND $rows AS row
MATCH (from_node)-[edge:EDGE {namespace: $namespace, id: row.id}]->(to_node)
USING INDEX SEEK edge:EDGE(namespace, id)
WHERE any(key IN keys(row.set) WHERE edge[key] IS NULL OR edge[key] <> row.set[key])
FOREACH (_ IN CASE WHEN coalesce(edge.since, 0) < revision THEN [1] ELSE [] END |
  CREATE (former:Former)
  SET former = edge {.*, of: 'edge', since: coalesce(edge.since, 0), until: revision,
               from_node: from_node.id, to_node: to_node.id}
)
SET edge += row.set, edge.since = revision
RETURN {edges_updated: count(edge)} AS counts;

// name: move-edges
// An edge gets other ends: Neo4j can't move a relationship, so it is made anew with all it had.
// Parameters: namespace, rows [{id, from_node, to_node, set: {verb, weight}}].
MATCH (namespace:Namespace {name: $namespace})
WITH namespace.revision AS revision
UNWIND $rows AS row
MATCH (left)-[moved:EDGE {namespace: $namespace, id: row.id}]->(reached)
USING INDEX SEEK moved:EDGE(namespace, id)
MATCH (from_node:Node {namespace: $namespace, id: row.from_node})
USING INDEX SEEK from_node:Node(namespace, id)
MATCH (to_node:Node {namespace: $namespace, id: row.to_node})
USING INDEX SEEK to_node:Node(namespace, id)
WITH row, revision, moved, properties(moved) AS kept, left.id AS left, reached.id AS reached, from_node, to_node
FOREACH (_ IN CASE WHEN coalesce(kept.since, 0) < revision THEN [1] ELSE [] END |
  CREATE (former:Former)
  SET former = kept {.*, of: 'edge', since: coalesce(kept.since, 0), until: revision,
               from_node: left, to_node: reached}
)
DELETE moved
CREATE (from_node)-[edge:EDGE]->(to_node)
SET edge = kept, edge += row.set, edge.since = revision
RETURN {edges_updated: count(edge)} AS counts;

// name: delete-edges
// Parameters: namespace, ids.
MATCH (namespace:Namespace {name: $namespace})
WITH namespace.revision AS revision
UNWIND $ids AS id
MATCH (from_node)-[edge:EDGE {namespace: $namespace, id: id}]->(to_node)
USING INDEX SEEK edge:EDGE(namespace, id)
FOREACH (_ IN CASE WHEN coalesce(edge.since, 0) < revision THEN [1] ELSE [] END |
  CREATE (former:Former)
  SET former = edge {.*, of: 'edge', since: coalesce(edge.since, 0), until: revision,
               from_node: from_node.id, to_node: to_node.id}
)
DELETE edge
RETURN {edges_deleted: count(edge)} AS counts;

// name: delete-unobserved
// Of the nodes that edges have left, the observations that nothing is joined to any more. It is asked at the end of a
// program, which may have given them to another entity, and of an undo. Parameters: namespace, ids.
MATCH (namespace:Namespace {name: $namespace})
WITH namespace.revision AS revision
UNWIND $ids AS id
MATCH (node:Node {namespace: $namespace, id: id})
USING INDEX SEEK node:Node(namespace, id)
WHERE node:Observation AND coalesce(node.since, 0) < revision
  AND NOT EXISTS { (node)-[:EDGE]-() } AND NOT EXISTS { (node)-[:SOURCE]->() }
WITH node, revision, [label IN labels(node) WHERE label <> 'Node'] AS labels
REMOVE node:$(labels(node))
SET node:Former, node.of = 'node', node.since = coalesce(node.since, 0), node.until = revision, node.labels = labels,
    node.itself = true
RETURN {nodes_deleted: count(node)} AS counts;

// name: find-going
// What goes with nodes that are deleted, each with the id that takes it along:
//
// - the node itself, and of a context of PETE the contexts in it;
// - what speaks of any of these ("that a likes bread"), and what speaks of that;
// - the observations that any of these are joined to, and nothing that stays: those that belong to a message, and not to
//   these, stay;
// - the rules that only these contexts state, and what only they say of something ("carl says that a likes bread"). The
//   facts that only they state are edges: delete-nodes looks for them.
//
// Every way of deleting a node asks here. Parameters: namespace, ids.
UNWIND $ids AS id
MATCH (named:Node {namespace: $namespace, id: id})
USING INDEX SEEK named:Node(namespace, id)
MATCH (named)-[:CONTAINS*0..]->(inner:Node)
MATCH (part:Node)-[:EDGE*0.. {lemma: ''}]->(inner)
WITH collect(DISTINCT {id: id, node: part}) AS parts, collect(DISTINCT part) AS going
CALL (parts, going) {
  UNWIND parts AS part
  WITH part.id AS id, part.node AS owner
  MATCH (owner)-[edge:EDGE]-(observation:Node)
  WHERE (edge.verb = 'observed' AND startNode(edge) = owner AND (observation:Observation OR observation.name = '')
         OR observation:Observation AND NOT EXISTS { (observation)-[:SOURCE]->() })
  WITH collect(DISTINCT {id: id, node: observation}) AS candidates
  // Only of these is it asked who else has them: of each observation of a node with thousands, that node would be.
  UNWIND candidates AS candidate
  WITH candidate, candidate.node AS observation
  WHERE NOT EXISTS { MATCH (observation)-[:EDGE]-(other:Node) WHERE NOT other IN going }
  RETURN collect(candidate) AS observed
}
CALL (parts, going) {
  UNWIND parts AS part
  WITH going, part.id AS id, part.node AS context
  MATCH (context:Context)-[:STATES]->(entry:Entry)-[:MENTIONS]->(rule:Rule {id: entry.rule})
  WHERE NOT EXISTS {
      MATCH (other:Entry {namespace: $namespace, rule: entry.rule})<-[:STATES]-(owner:Context)
      USING INDEX SEEK other:Entry(namespace, rule)
      WHERE NOT owner IN going
    }
    AND NOT EXISTS { MATCH (rule)-[:EDGE|BINDS]-(other) WHERE NOT other IN going }
  RETURN collect(DISTINCT {id: id, node: rule}) AS rules
}
CALL (parts, going) {
  UNWIND parts AS part
  WITH going, part.id AS id, part.node AS context
  MATCH (context:Context)-[:STATES]->(:Entry)-[:MENTIONS]->(outer:Statement)-[:EDGE*0.. {lemma: ''}]->(inner:Statement)
  WITH id, collect(DISTINCT inner) AS said
  CALL (going, said) {
    UNWIND said AS each
    WITH going, said, each
    WHERE EXISTS { MATCH (each)<-[:MENTIONS]-(:Entry)<-[:STATES]-(other:Context) WHERE NOT other IN going }
      OR EXISTS { MATCH (each)<-[:BINDS]-(other:Context) WHERE NOT other IN going }
      OR EXISTS {
        MATCH (each)-[edge:EDGE]-(other:Node)
        WHERE NOT other IN going AND NOT other IN said AND NOT (edge.lemma = '' AND startNode(edge) = each)
          AND NOT (edge.context IS NOT NULL AND NOT EXISTS {
            MATCH (entry:Entry {namespace: $namespace, edge: edge.id})<-[:STATES]-(context:Context)
            USING INDEX SEEK entry:Entry(namespace, edge)
            WHERE NOT context IN going
          })
      }
    MATCH (each)-[:EDGE*0.. {lemma: ''}]->(kept:Statement)
    RETURN collect(DISTINCT kept) AS kept
  }
  UNWIND said AS node
  WITH id, node, kept WHERE NOT node IN kept
  RETURN collect({id: id, node: node}) AS statements
}
UNWIND parts + observed + rules + statements AS part
RETURN DISTINCT part.id AS id, part.node AS node;

// name: find-edges
// The edges that go with nodes: all edges at any of them, and the facts that no context states that stays. Parameters:
// namespace.
MATCH (node:Node {namespace: $namespace, id: ''}) WITH collect(node) AS nodes // given
CALL (nodes) {
  UNWIND nodes AS node
  MATCH (node)-[edge:EDGE]-()
  RETURN edge
  UNION ALL
  WITH nodes
  UNWIND nodes AS node
  MATCH (node:Context)-[:STATES]->(entry:Entry)
  WHERE entry.edge IS NOT NULL AND NOT EXISTS {
    MATCH (other:Entry {namespace: $namespace, edge: entry.edge})<-[:STATES]-(context:Context)
    USING INDEX SEEK other:Entry(namespace, edge)
    WHERE NOT context IN nodes
  }
  WITH DISTINCT entry.edge AS fact
  MATCH ()-[edge:EDGE {namespace: $namespace, id: fact}]->()
  USING INDEX SEEK edge:EDGE(namespace, id)
  RETURN edge
}
RETURN collect(DISTINCT edge) AS edges;

// name: find-parts
// The nodes that go with nodes that are deleted, themselves included, and the edges that go with these. Parameters:
// namespace, ids.
CALL () {
  RETURN null AS id, null AS node // include: contextscript/find-going
}
WITH collect(DISTINCT node) AS nodes
CALL (nodes) {
  RETURN [] AS edges // include: contextscript/find-edges
}
RETURN nodes, edges;

// name: some-parts-at
// The ids of some edges at a node that is to be deleted in parts, in or out; where the node at the other end is an
// observation of this one alone, or speaks of it, it takes its edges along, and is named instead. What the node itself
// speaks of stays joined to it: a statement that lacks that would be a leftover. An edge of raw Cypher that no id names alone
// goes with the node, and is left out. Parameters: namespace, ids (one), limit.
UNWIND $ids AS id
MATCH (node:Node {namespace: $namespace, id: id})-[edge:EDGE]-(other)
USING INDEX SEEK node:Node(namespace, id)
WHERE edge.namespace = $namespace AND edge.id IS :: STRING NOT NULL AND other:Node
  AND NOT EXISTS {
    MATCH (same:Node {namespace: $namespace, id: edge.id})
    USING INDEX SEEK same:Node(namespace, id)
  }
  AND NOT coalesce(edge.lemma = '' AND startNode(edge) = node, false)
WITH node, edge, other, coalesce(
  other.namespace = $namespace AND other.id IS :: STRING NOT NULL AND other <> node AND (
    edge.lemma = ''
    OR (edge.verb = 'observed' AND startNode(edge) = node AND (other:Observation OR other.name = '')
        OR other:Observation AND NOT EXISTS { (other)-[:SOURCE]->() })
      AND NOT EXISTS { MATCH (other)-[:EDGE]-(third:Node) WHERE third <> node }), false) AS goes
RETURN DISTINCT CASE WHEN goes THEN other.id ELSE edge.id END AS id
LIMIT $limit;

// name: some-parts
// The ids of some of what goes with a node, and is deleted before it in parts: edges first, then the contexts in it. What only
// these say of something is found by what they state alone, and goes with the last of them. Parameters: namespace, ids (one),
// limit.
CALL () {
  RETURN [] AS nodes, [] AS edges // include: contextscript/find-parts
}
CALL (nodes, edges) {
  UNWIND edges AS edge
  WITH edge
  WHERE edge.namespace = $namespace AND edge.id IS :: STRING NOT NULL AND coalesce(edge.lemma <> '', true)
  RETURN edge.id AS id
  UNION ALL
  UNWIND nodes AS node
  WITH node WHERE node:Context AND node.id IS :: STRING NOT NULL AND NOT node.id IN $ids
  RETURN node.id AS id
}
RETURN id
LIMIT $limit;

// name: delete-nodes
// A node goes with what is its own, and with all edges at any of it, in and out, whoever declared them; a context of
// PETE with its statements, and with the facts that no context states that stays. One that this revision has changed
// becomes the Former that it left, as it was before. Parameters: namespace, ids.
MATCH (namespace:Namespace {name: $namespace})
WITH namespace.revision AS revision
CALL () {
  RETURN [] AS nodes, [] AS edges // include: contextscript/find-parts
}
CALL (edges, revision) {
  UNWIND edges AS edge
  FOREACH (_ IN CASE WHEN coalesce(edge.since, 0) < revision THEN [1] ELSE [] END |
    CREATE (former:Former)
    SET former = edge {.*, of: 'edge', since: coalesce(edge.since, 0), until: revision,
                 from_node: startNode(edge).id, to_node: endNode(edge).id}
  )
  DELETE edge
}
WITH nodes, size(nodes) AS nodes_deleted, size(edges) AS edges_deleted, revision
CALL (nodes, revision) {
  UNWIND nodes AS node
  WITH node, revision, properties(node) AS kept, [label IN labels(node) WHERE label <> 'Node'] AS labels
  WHERE coalesce(node.since, 0) < revision
  REMOVE node:$(labels(node))
  SET node:Former, node.of = 'node', node.since = coalesce(kept.since, 0), node.until = revision,
      node.labels = labels, node.itself = true
}
CALL (nodes, revision) {
  UNWIND nodes AS node
  WITH node, revision WHERE node:Node
  MATCH (former:Former {namespace: $namespace, id: node.id, until: revision})
  USING INDEX SEEK former:Former(namespace, id, until)
  WHERE former.of = 'node' AND former.itself IS NULL
  WITH node, former, properties(former) AS changed, node.expires_at AS expires_at
  DELETE former
  REMOVE node:$(labels(node))
  SET node:Former, node = changed, node.itself = true, node.expires_at = expires_at
}
CALL (nodes) {
  UNWIND nodes AS node
  WITH node WHERE node:Former
  MATCH (node)-[:STATES]->(entry:Entry)
  REMOVE entry:Entry
  SET entry:FormerEntry
}
CALL (nodes) {
  UNWIND nodes AS node
  WITH node WHERE node:Node
  OPTIONAL MATCH (node)-[:STATES]->(entry:Entry)
  DETACH DELETE entry, node
}
RETURN {nodes_deleted: nodes_deleted, edges_deleted: edges_deleted} AS counts;
