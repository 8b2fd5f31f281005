// name: begin-load
// Open a load: take the write lock of the namespace until the commit, count its next revision, and read
// what is stored under the ids that the program mentions. `applied` is the load itself if it was committed
// before and only its acknowledgement was lost. In a namespace without nodes nothing is looked for. (To collect
// `node.id` says that it is not null; on a database without samples the planner then takes all nodes that have one, for
// each id.) Parameters: namespace, load, ids.
MERGE (namespace:Namespace {name: $namespace})
  ON CREATE SET namespace.revision = 0, namespace.created_at = datetime()
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
// What is stored under these ids, without a lock: for a dry run. Parameters: namespace, ids.
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

// name: nodes-named
// The first node that carries each of these names, whatever the case: for "did you mean". Parameters:
// namespace, names (in lower case).
MATCH (node:Node {namespace: $namespace})
WHERE node.id IS NOT NULL AND toLower(node.name) IN $names
WITH node ORDER BY node.id
RETURN toLower(node.name) AS wanted, head(collect([node.id, node.name])) AS found;

// name: record-load
// Close a load: leave its record, which also proves that it was committed. What the load's last query changed is
// added to the counts: that query can take the place of what stands for it here, so that both take one round trip.
// Parameters: namespace, load, record (a map: language, file, statements, the counts of the report so far, and what is
// known of who asked for it: by, model, conversation, and the id of the message).
CYPHER 25
RETURN {} AS counts // stands for the last query
NEXT
MATCH (namespace:Namespace {name: $namespace})
CREATE (load:Load {namespace: $namespace, id: $load, revision: namespace.revision, at: datetime()})
SET load += $record
FOREACH (name IN keys(counts) | SET load[name] = load[name] + counts[name])
RETURN counts;

// name: join-message
// The message in which a load was asked for. Parameters: namespace, load, message.
MATCH (load:Load {namespace: $namespace, id: $load})
MATCH (message:Message {namespace: $namespace, id: $message})
CREATE (load)-[:ASKED_IN]->(message);

// name: foreseen-load
// A load in one round trip: open it, and where what is stored is one of two things that could be foreseen, write its
// only batch for that, with its record. Else `counts` is null, and nothing but the opening was done.
// Parameters: first and second (what is foreseen: maps of nodes and edges as begin-load returns them, or null).
CYPHER 25
RETURN 1 AS revision, null AS applied, [] AS nodes, [] AS edges // stands for begin-load
NEXT
CALL (applied, nodes, edges) {
  WHEN applied IS NULL AND nodes = $first.nodes AND edges = $first.edges THEN {
    RETURN {} AS counts // stands for a batch and its record
  }
  WHEN applied IS NULL AND nodes = $second.nodes AND edges = $second.edges THEN {
    RETURN {} AS counts // stands for a batch and its record
  }
  ELSE {
    RETURN null AS counts
  }
}
RETURN revision, applied, nodes, edges, counts;

// name: checkpoints
// How far the unfinished batched loads of this namespace came. Parameters: namespace.
MATCH (checkpoint:Checkpoint {namespace: $namespace})
WHERE checkpoint.program IS NOT NULL
RETURN checkpoint.program AS program, checkpoint.statements AS statements
ORDER BY statements DESC;

// name: save-checkpoint
// Remember how far a batched load came: `program` is the digest of its first so many statements.
// The former checkpoint of the same load goes. Parameters: namespace, program, former, statements.
OPTIONAL MATCH (former:Checkpoint {namespace: $namespace, program: $former})
DELETE former
WITH count(*) AS former
MERGE (checkpoint:Checkpoint {namespace: $namespace, program: $program})
SET checkpoint.statements = $statements, checkpoint.at = datetime();

// name: forget-checkpoint
// A batched load is complete. Parameters: namespace, program.
MATCH (checkpoint:Checkpoint {namespace: $namespace, program: $program})
DELETE checkpoint;
