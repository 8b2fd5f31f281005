// What a ContextScript program compiles to. Each block writes one batch and returns what it changed, under
// the names of the load report. The compiler knows from begin-load what is stored, so that a row says
// exactly what is to be done with it.

// name: create-nodes
// Parameters: namespace, namespace_token, rows [{id, name, data}].
UNWIND $rows AS row
CREATE (node:Node {namespace: $namespace, id: row.id, name: row.name, data: row.data,
                   namespace_token: $namespace_token})
RETURN count(node) AS nodes_created;

// name: change-nodes
// The given arguments replace, the others stay. Parameters: namespace, rows [{id, set: {name, data}}].
UNWIND $rows AS row
MATCH (node:Node {namespace: $namespace, id: row.id})
WHERE any(key IN keys(row.set) WHERE node[key] IS NULL OR node[key] <> row.set[key])
SET node += row.set
RETURN count(node) AS nodes_updated;

// name: create-edges
// Parameters: namespace, rows [{id, from_node, to_node, verb, weight}].
UNWIND $rows AS row
MATCH (from_node:Node {namespace: $namespace, id: row.from_node})
MATCH (to_node:Node {namespace: $namespace, id: row.to_node})
CREATE (from_node)-[edge:EDGE {namespace: $namespace, id: row.id, verb: row.verb, weight: row.weight}]->(to_node)
RETURN count(edge) AS edges_created;

// name: change-edges
// Parameters: namespace, rows [{id, set: {verb, weight}}].
UNWIND $rows AS row
MATCH ()-[edge:EDGE {namespace: $namespace, id: row.id}]->()
WHERE any(key IN keys(row.set) WHERE edge[key] IS NULL OR edge[key] <> row.set[key])
SET edge += row.set
RETURN count(edge) AS edges_updated;

// name: move-edges
// An edge gets other ends: Neo4j can't move a relationship, so it is made anew with all it had.
// Parameters: namespace, rows [{id, from_node, to_node, set: {verb, weight}}].
UNWIND $rows AS row
MATCH ()-[former:EDGE {namespace: $namespace, id: row.id}]->()
MATCH (from_node:Node {namespace: $namespace, id: row.from_node})
MATCH (to_node:Node {namespace: $namespace, id: row.to_node})
WITH row, former, properties(former) AS kept, from_node, to_node
DELETE former
CREATE (from_node)-[edge:EDGE]->(to_node)
SET edge = kept, edge += row.set
RETURN count(edge) AS edges_updated;

// name: delete-edges
// Parameters: namespace, ids.
UNWIND $ids AS id
MATCH ()-[edge:EDGE {namespace: $namespace, id: id}]->()
DELETE edge
RETURN count(edge) AS edges_deleted;

// name: delete-nodes
// A node goes with all its edges, in and out, whoever declared them. Parameters: namespace, ids.
UNWIND $ids AS id
MATCH (node:Node {namespace: $namespace, id: id})
OPTIONAL MATCH (node)-[edge:EDGE]-()
WITH collect(DISTINCT node) AS nodes, count(DISTINCT node) AS nodes_deleted, count(DISTINCT edge) AS edges_deleted
FOREACH (node IN nodes | DETACH DELETE node)
RETURN nodes_deleted, edges_deleted;
