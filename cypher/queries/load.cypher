// name: begin-load
// Open a load: take the write lock of the namespace until the commit, count its next revision, and read
// what is stored under the ids that the program mentions. `applied` is the load itself if it was committed
// before and only its acknowledgement was lost. In a namespace without nodes nothing is looked for. (To collect
// `node.id` says that it is not null; on a database without samples the planner then takes all nodes that have one, for
// each id.) Parameters: namespace, load, ids.
MERGE (namespace:Namespace {name: $namespace})
  ON CREATE SET namespace.revision = 0, namespace.created_at = datetime(), namespace.parts_stored = true
SET namespace.revision = namespace.revision + 1
WITH namespace
OPTIONAL MATCH (load:Load {namespace: $namespace, id: $load})
CALL (namespace) {
  OPTIONAL MATCH (any:Node {namespace: namespace.name})
  USING INDEX SEEK any:Node(namespace, id)
  WHERE any.id IS NOT NULL
  RETURN any LIMIT 1
}
WITH namespace.revision AS revision, properties(load) AS applied, CASE WHEN any IS NULL THEN [] ELSE $ids END AS ids
CALL (ids) {
  UNWIND ids AS id
  MATCH (node:Node {namespace: $namespace, id: id})
  USING INDEX SEEK node:Node(namespace, id)
  RETURN collect(id) AS nodes
}
CALL (ids) {
  UNWIND ids AS id
  MATCH (from_node:Node)-[edge:EDGE {namespace: $namespace, id: id}]->(to_node:Node)
  USING INDEX SEEK edge:EDGE(namespace, id)
  RETURN collect([id, from_node.id, to_node.id]) AS edges
}
RETURN revision, applied, nodes, edges;

// name: stored-elements
// What is stored under these ids: before the lock is taken, or in the middle of a write. Parameters: namespace, ids.
CALL () {
  UNWIND $ids AS id
  MATCH (node:Node {namespace: $namespace, id: id})
  USING INDEX SEEK node:Node(namespace, id)
  RETURN collect(id) AS nodes
}
CALL () {
  UNWIND $ids AS id
  MATCH (from_node:Node)-[edge:EDGE {namespace: $namespace, id: id}]->(to_node:Node)
  USING INDEX SEEK edge:EDGE(namespace, id)
  RETURN collect([id, from_node.id, to_node.id]) AS edges
}
RETURN nodes, edges;

// name: any-taken
// Whether a node has the id of an edge that a program declares, or an edge that of a node that it declares or needs. That
// no node has the id of another, and no edge, the constraints say when it is created. It is asked before anything is
// written: an index is read faster while its transaction has written nothing. In a namespace without edges none is looked
// for. Parameters: namespace, nodes, edges, needed.
CALL () {
  OPTIONAL MATCH ()-[any:EDGE {namespace: $namespace}]->()
  USING INDEX SEEK any:EDGE(namespace, id)
  WHERE any.id IS NOT NULL
  RETURN any LIMIT 1
}
WITH CASE WHEN any IS NULL THEN [] ELSE $nodes + $needed END AS no_edges
RETURN EXISTS {
    UNWIND $edges AS id
    MATCH (node:Node {namespace: $namespace, id: id})
    USING INDEX SEEK node:Node(namespace, id)
    RETURN node
  }
  OR EXISTS {
    UNWIND no_edges AS id
    MATCH ()-[edge:EDGE {namespace: $namespace, id: id}]->()
    USING INDEX SEEK edge:EDGE(namespace, id)
    RETURN edge
  } AS taken;

// name: any-node
// A row if the namespace has a node: without one it has no edge either, and no id is stored. Parameters: namespace.
MATCH (node:Node {namespace: $namespace})
USING INDEX SEEK node:Node(namespace, id)
WHERE node.id IS NOT NULL
RETURN true AS found
LIMIT 1;

// name: count-parts-at
// How much goes with these nodes at most, and the node with the most: the edges at them, of which those between two of them
// are counted twice, and the statements of thoughts, each of which may have stated a fact. Parameters: namespace, ids.
UNWIND $ids AS id
MATCH (node:Node {namespace: $namespace, id: id})
USING INDEX SEEK node:Node(namespace, id)
WITH node.id AS id, toStringOrNull(node.name) AS name, COUNT { (node)-[:EDGE]-() } AS edges,
     COUNT { (node:Context)-[:CONTAINS*0..]->()-[:STATES]->() } AS statements
ORDER BY edges + statements DESC, id
RETURN sum(edges) AS edges, sum(statements) AS statements,
       head(collect({id: id, name: coalesce(name, ''), edges: edges, statements: statements})) AS most;

// name: count-deleted
// What goes with these nodes and edges, each once: nodes, edges, and the statements of thoughts. Parameters: namespace, ids
// (of nodes), edges (their ids).
CALL () {
  RETURN [] AS nodes, [] AS edges // include: contextscript/find-parts
}
CALL (nodes) {
  UNWIND nodes AS node
  MATCH (node)-[:STATES]->(entry)
  RETURN count(entry) AS statements
}
CALL (edges) {
  UNWIND $edges AS id
  MATCH ()-[edge:EDGE {namespace: $namespace, id: id}]->()
  USING INDEX SEEK edge:EDGE(namespace, id)
  WHERE NOT edge IN edges
  RETURN count(edge) AS others
}
RETURN size(nodes) AS nodes, size(edges) + others AS edges, statements;

// name: count-changed-nodes
// Which of these nodes contextscript/change-nodes would change, and how many characters these say now, which their history
// then keeps. Parameters: namespace, rows [{id, set: {name, data}}].
UNWIND $rows AS row
MATCH (node:Node {namespace: $namespace, id: row.id})
USING INDEX SEEK node:Node(namespace, id)
WHERE any(key IN keys(row.set) WHERE node[key] IS NULL OR node[key] <> row.set[key])
RETURN collect(row.id) AS changed,
       sum(reduce(size = 0, key IN ['name', 'data'] | size + coalesce(size(toStringOrNull(node[key])), 0)))
         AS former_characters;

// name: count-changed-edges
// How many of these edges contextscript/change-edges would change. Parameters: namespace, rows [{id, set: {verb, weight}}].
UNWIND $rows AS row
MATCH ()-[edge:EDGE {namespace: $namespace, id: row.id}]->()
USING INDEX SEEK edge:EDGE(namespace, id)
WHERE any(key IN keys(row.set) WHERE edge[key] IS NULL OR edge[key] <> row.set[key])
RETURN count(edge) AS changed;

// name: nodes-named
// What carries the names of many new entities, or has them as aliases: once for each way in which a name is written, and what
// comes first for it first. All nodes are looked through; few names are looked up by merges/nodes-called. An item of a store
// has a key and no name. Parameters: namespace, folded (names, by memorygraph.graph.search).
CALL () {
  MATCH (node:Node {namespace: $namespace})
  WHERE node.id IS NOT NULL AND toUpper(toLower(normalize(trim(toStringOrNull(node.name))))) IN $folded AND NOT node:Item
  WITH node ORDER BY node.arrival IS NULL, node.arrival, node.id
  WITH toStringOrNull(node.name) AS called, head(collect(node)) AS node
  RETURN called, node, 0 AS merged
  UNION ALL
  MATCH (alias:Alias {namespace: $namespace})
  USING INDEX alias:Alias(namespace, name)
  WHERE alias.name IS NOT NULL AND toUpper(toLower(normalize(trim(toStringOrNull(alias.name))))) IN $folded
  MATCH (alias)-[link:ALIAS_OF]->(node:Node)
  WITH alias, link, node ORDER BY link.merged DESC
  WITH toStringOrNull(alias.name) AS called, head(collect([node, link.merged])) AS found
  RETURN called, found[0] AS node, found[1] AS merged
}
RETURN called, node.id AS id, CASE WHEN node.name = '' THEN node.id ELSE node.name END AS entity,
       coalesce(toStringOrNull(node.kind), 'node') AS kind
ORDER BY merged > 0, merged DESC, node.arrival IS NULL, node.arrival, id;

// name: record-load
// Close a load: leave its record, which also proves that it was committed. Parameters: namespace, load, record (a map:
// language, file, statements, the counts of the report, and who asked for it: by, model, conversation, and the id of
// the message).
MATCH (namespace:Namespace {name: $namespace})
CREATE (load:Load {namespace: $namespace, id: $load, revision: namespace.revision, at: datetime()})
SET load += $record;

// name: join-message
// The message in which a load was asked for. Parameters: namespace, load, message.
MATCH (load:Load {namespace: $namespace, id: $load})
MATCH (message:Message {namespace: $namespace, id: $message})
CREATE (load)-[:ASKED_IN]->(message);

// name: load-node
// A load of one node in one round trip: begin it, and where what is stored is as in one of two cases, write the node and
// the record. Otherwise `counts` is null, and the load has only begun. Parameters: namespace, namespace_token, load, ids,
// rows, record (its counts are 0), absent and present (what begin-load returns in each case: maps of nodes and edges, or
// null where the program does not fit the case). Its time is that of its record: the query may have begun long before it got
// the lock, and a later revision has a later time.
CYPHER 25
RETURN 1 AS revision, null AS applied, [] AS nodes, [] AS edges // include: load/begin-load
NEXT
CALL (applied, nodes, edges) {
  WHEN applied IS NULL AND nodes = $absent.nodes AND edges = $absent.edges THEN {
    RETURN {} AS counts // include: contextscript/create-nodes
  }
  WHEN applied IS NULL AND nodes = $present.nodes AND edges = $present.edges THEN {
    RETURN {} AS counts // include: contextscript/change-nodes
  }
  ELSE {
    RETURN null AS counts
  }
}
FOREACH (counted IN CASE WHEN counts IS NULL THEN [] ELSE [counts] END |
  CREATE (load:Load {namespace: $namespace, id: $load, revision: revision, at: datetime.realtime()})
  SET load += $record
  SET load += counted
)
RETURN revision, applied, nodes, edges, counts;

// name: load-edge
// The same for one edge. Parameters: namespace, load, ids, rows, record, absent, present.
CYPHER 25
RETURN 1 AS revision, null AS applied, [] AS nodes, [] AS edges // include: load/begin-load
NEXT
CALL (applied, nodes, edges) {
  WHEN applied IS NULL AND nodes = $absent.nodes AND edges = $absent.edges THEN {
    RETURN {} AS counts // include: contextscript/create-edges
  }
  WHEN applied IS NULL AND nodes = $present.nodes AND edges = $present.edges THEN {
    RETURN {} AS counts // include: contextscript/change-edges
  }
  ELSE {
    RETURN null AS counts
  }
}
FOREACH (counted IN CASE WHEN counts IS NULL THEN [] ELSE [counts] END |
  CREATE (load:Load {namespace: $namespace, id: $load, revision: revision, at: datetime.realtime()})
  SET load += $record
  SET load += counted
)
RETURN revision, applied, nodes, edges, counts;

// name: checkpoints
// How far the unfinished batched loads of this namespace came. Parameters: namespace.
MATCH (checkpoint:Checkpoint {namespace: $namespace})
WHERE checkpoint.program IS NOT NULL
RETURN checkpoint.program AS program, checkpoint.statements AS statements
ORDER BY statements DESC;

// name: save-checkpoint
// Remember how far a batched load came: `program` is the digest of the statements up to there.
// Those of the same file go, also of what it was before it was edited: this load writes over what they say is stored.
// Parameters: namespace, program, formers, file (or null), statements.
OPTIONAL MATCH (former:Checkpoint {namespace: $namespace})
USING INDEX SEEK former:Checkpoint(namespace, program)
WHERE former.program IS NOT NULL AND (former.program IN $formers OR former.file = $file) AND former.program <> $program
DELETE former
WITH count(*) AS former
MERGE (checkpoint:Checkpoint {namespace: $namespace, program: $program})
SET checkpoint.file = $file, checkpoint.statements = $statements, checkpoint.at = datetime();

// name: forget-stops
// After an undo, batched loads that were interrupted begin anew: a part of them may be gone. Those of imports (`bundle-`) stay.
// Parameters: namespace.
MATCH (checkpoint:Checkpoint {namespace: $namespace})
WHERE NOT checkpoint.program STARTS WITH 'bundle-'
DELETE checkpoint;

// name: forget-checkpoints
// A batched load is complete, and nothing of its file has to go on. An OR may be planned as two walks over the index.
// Parameters: namespace, programs, file (or null).
MATCH (checkpoint:Checkpoint {namespace: $namespace})
USING INDEX SEEK checkpoint:Checkpoint(namespace, program)
WHERE checkpoint.program IS NOT NULL
  AND any(met IN [checkpoint.program IN $programs, checkpoint.file = $file] WHERE met)
DELETE checkpoint;
