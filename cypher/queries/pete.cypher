// Logs of PETE: what a model thought, to the character, and what it said about the world.
//
//   (:Node:Context {namespace, id: "memory-5", memory: 5, name, head, tail, tldr, log, parent, index, root})
//   (:Context)-[:CONTAINS]->(:Context)                          a context in its parent
//   (:Context)-[:STATES {index}]->(:Entry {kind, text, at})     its statements, in their order
//   (:Context)-[:BINDS {ref, order}]->(:Node)                   what its handles mean; others than 0 are more answers
//   (:Entry)-[:MENTIONS]->(:Node)                               what a statement is about
//   (:Context)-[:CONTINUED_BY]->(:Message)                      what a model answered when it went on
//   (:Node)-[:EDGE {lemma, surface, negated, context}]->(:Node) a fact
//   (:Node:Statement {lemma, surface, negated})                 "that …", not asserted; EDGEs lead to what it is about
//                                                             (subject, object, part; their lemma is "")
//   (:Node:Rule {rule, head_lemma})                             a rule
//
// The address memory:N of a node is its `memory`. What PETE makes has it from the beginning, and the id memory-N; any other
// node gets it when it is first named by it. Without one, the id memory-N is an address, too, unless a node has that N.
//
// `head` and `tail` of a context and the `text` of its entries, in their order, are the text of the log.

// name: find-root
// The outermost context of a log by its name. Parameters: namespace, name.
MATCH (context:Context {namespace: $namespace, root: $name})
RETURN context.memory AS address;

// name: find-context
// The log that a context is in, by its address. Parameters: namespace, id.
MATCH (context:Node:Context {namespace: $namespace, id: $id})
RETURN context.log AS log;

// name: list-logs
// The logs of a namespace. Parameters: namespace.
MATCH (context:Context {namespace: $namespace})
WHERE context.root IS NOT NULL
RETURN context.root AS name, context.memory AS address, context.tail IS NULL AS open, context.tldr AS tldr
ORDER BY name;

// name: read-log
// All of a log in one query: its contexts, and then its entries, which others may have added to meanwhile.
// Parameters: namespace, log.
MATCH (context:Context {namespace: $namespace, log: $log})
RETURN "context" AS part, context.memory AS context, context.index AS index, context.parent AS parent,
       context.name AS name, context.head AS text, context.tail AS tail, context.tldr AS tldr,
       context.refs AS mentions, null AS binds, context.size AS size
UNION ALL
MATCH (entry:Entry {namespace: $namespace, log: $log})
RETURN "entry" AS part, entry.context AS context, entry.index AS index, null AS parent,
       entry.kind AS name, entry.text AS text, null AS tail, null AS tldr,
       entry.mentions AS mentions, entry.binds AS binds, null AS size;

// name: find-end
// Where a log goes on: its name, and how many contexts are open there. Parameters: namespace, id (of the outermost).
MATCH (root:Node:Context {namespace: $namespace, id: $id})
USING INDEX SEEK root:Node(namespace, id)
RETURN root.name AS name, COUNT {
  MATCH (context:Context {namespace: $namespace, log: root.log})
  USING INDEX SEEK context:Context(namespace, log)
  WHERE context.tail IS NULL
} AS depth;

// name: open-contexts
// Where a log can be continued: its open contexts, outermost first, with what their handles mean.
// Parameters: namespace, log.
MATCH (context:Context {namespace: $namespace, log: $log})
WHERE context.tail IS NULL
WITH context ORDER BY context.memory
RETURN context.memory AS address, context.name AS name, context.size AS size, context.tldr IS NOT NULL AS has_tldr,
       COLLECT {
         MATCH (context)-[binds:BINDS {order: 0}]->(node:Node)
         RETURN [binds.ref, node.id, node.name]
       } AS bindings;

// name: called-faculties
// The faculties that a log has called, by their names. Parameters: namespace, log.
MATCH (entry:Entry {namespace: $namespace, log: $log})
WHERE entry.faculty IS NOT NULL
RETURN collect(DISTINCT entry.faculty) AS faculties;

// name: last-address
// The highest address that was given out. Parameters: namespace.
MATCH (namespace:Namespace {name: $namespace})
RETURN coalesce(namespace.memory, 0) AS last;

// name: lock-addresses
// Take the write lock of the namespace, under which addresses are given out. Parameters: namespace.
MERGE (namespace:Namespace {name: $namespace})
  ON CREATE SET namespace.revision = 0, namespace.created_at = datetime(), namespace.parts_stored = true
SET namespace.memory = coalesce(namespace.memory, 0);

// name: addresses-of
// These nodes with their addresses; null where none was given out yet. Parameters: namespace, ids.
UNWIND $ids AS id
MATCH (node:Node {namespace: $namespace, id: id})
USING INDEX SEEK node:Node(namespace, id)
WITH node, CASE WHEN node.memory IS NULL AND node.id =~ "memory-(0|[1-9][0-9]{0,17})"
           THEN toInteger(substring(node.id, 7)) END AS number
OPTIONAL MATCH (other:Node {namespace: $namespace, memory: number})
USING INDEX SEEK other:Node(namespace, memory)
RETURN node.id AS id, node.name AS name, coalesce(node.memory, CASE WHEN other IS NULL THEN number END) AS address;

// name: assign-addresses
// Nodes get addresses; this is no change of what they say, and no history tells of it. Parameters: namespace,
// rows [{id, address}].
UNWIND $rows AS row
MATCH (node:Node {namespace: $namespace, id: row.id})
USING INDEX SEEK node:Node(namespace, id)
SET node.memory = row.address;

// name: taken-ids
// Which of these ids belong to a node or an edge already. Parameters: namespace, ids.
UNWIND $ids AS id
OPTIONAL MATCH (node:Node {namespace: $namespace, id: id})
USING INDEX SEEK node:Node(namespace, id)
OPTIONAL MATCH ()-[edge:EDGE {namespace: $namespace, id: id}]->()
USING INDEX SEEK edge:EDGE(namespace, id)
WITH id WHERE node IS NOT NULL OR edge IS NOT NULL
RETURN id;

// name: give-out-addresses
// Remember the highest address that was given out. Parameters: namespace, last.
MATCH (namespace:Namespace {name: $namespace})
SET namespace.memory = $last
RETURN {nodes_created: 0 * count(*)} AS counts;

// name: find-concepts
// The nodes that stand for these texts, or that were merged with one that did. Parameters: namespace, keys (texts in the one form).
UNWIND $keys AS key
CALL (key) {
  MATCH (node:Node {namespace: $namespace, concept: key})
  RETURN node
  UNION ALL
  MATCH (alias:Alias {namespace: $namespace, concept: key})-[:ALIAS_OF]->(node:Node)
  USING INDEX SEEK alias:Alias(namespace, concept)
  WHERE NOT EXISTS { (:Node {namespace: $namespace, concept: key}) }
  RETURN node
}
RETURN key, node.id AS id, node.name AS name;

// name: find-names
// Nodes whose name or alias is a text, or whose name has its words: some of these may be just that (`called`). What PETE made, whose id is its
// address, is found by its concept, or has no text. Parameters: namespace, rows [{key, names, terms}].
UNWIND $rows AS row
CALL (row) {
  UNWIND row.names AS name
  MATCH (node:Node {namespace: $namespace, name: name})
  RETURN node, node.name AS called, false AS alias
  UNION
  CALL db.index.fulltext.queryNodes("node_text", row.terms, {limit: 20}) YIELD node
  WHERE node.namespace = $namespace
  RETURN node, node.name AS called, false AS alias
  UNION
  UNWIND row.names AS name
  MATCH (other:Alias {namespace: $namespace, name: name})-[:ALIAS_OF]->(node:Node)
  USING INDEX SEEK other:Alias(namespace, name)
  RETURN node, name AS called, true AS alias
}
WITH row, node, called, alias
WHERE node.id IS NOT NULL AND coalesce(node.id <> "memory-" + toString(node.memory), true) AND NOT node:Value AND NOT node:Statement AND NOT node:Rule
RETURN row.key AS key, node.id AS id, node.name AS name, called
ORDER BY alias, id;

// name: find-addresses
// The nodes at these addresses, or that were merged with one; the first of several at one is meant. Parameters: namespace, addresses.
UNWIND $addresses AS address
CALL (address) {
  MATCH (node:Node {namespace: $namespace, memory: address})
  USING INDEX SEEK node:Node(namespace, memory)
  RETURN node
  UNION ALL
  MATCH (node:Node {namespace: $namespace, id: "memory-" + toString(address)})
  USING INDEX SEEK node:Node(namespace, id)
  WHERE node.memory IS NULL
  RETURN node
  UNION ALL
  MATCH (alias:Alias {namespace: $namespace, memory: address})-[:ALIAS_OF]->(node:Node)
  USING INDEX SEEK alias:Alias(namespace, memory)
  WHERE NOT EXISTS { (:Node {namespace: $namespace, memory: address}) }
  RETURN node
}
RETURN address, node.id AS id, node.name AS name, node.data AS data, node:Context AS context
ORDER BY address, node.memory IS NULL;

// name: add-nodes
// Concepts, values, abstractions and rules. Parameters: namespace, namespace_token,
// rows [{id, labels, properties}].
MATCH (namespace:Namespace {name: $namespace})
WITH namespace.revision AS revision, namespace.embedder AS embedder
UNWIND $rows AS row
OPTIONAL MATCH (known:Node {namespace: $namespace, id: row.id})
USING INDEX SEEK known:Node(namespace, id)
WITH row, known, revision, embedder WHERE known IS NULL
CREATE (node:Node {namespace: $namespace, id: row.id, namespace_token: $namespace_token, since: revision})
SET node += row.properties, node:$(row.labels)
SET node.vector_due = CASE WHEN node.name <> '' OR node.data <> '' THEN embedder END
RETURN {nodes_created: count(node)} AS counts;

// name: open-new-contexts
// Contexts begin, each in its parent if it has one. Parameters: namespace, namespace_token, log,
// rows [{id, owner, properties}].
MATCH (namespace:Namespace {name: $namespace})
WITH namespace.revision AS revision, namespace.embedder AS embedder
UNWIND $rows AS row
CREATE (context:Node:Context {namespace: $namespace, id: row.id, namespace_token: $namespace_token, log: $log,
                              data: "", at: datetime(), since: revision})
SET context += row.properties
SET context.vector_due = CASE WHEN context.name <> '' OR context.data <> '' THEN embedder END
WITH row, context
CALL (row, context) {
  MATCH (parent:Node:Context {namespace: $namespace, id: row.owner})
  USING INDEX SEEK parent:Node(namespace, id)
  CREATE (parent)-[:CONTAINS]->(context)
}
RETURN {nodes_created: count(context)} AS counts;

// name: change-contexts
// Contexts go on, or end; the log itself is the history of that. Parameters: namespace, rows [{id, properties}].
UNWIND $rows AS row
MATCH (context:Node:Context {namespace: $namespace, id: row.id})
USING INDEX SEEK context:Node(namespace, id)
SET context += row.properties
RETURN {nodes_updated: count(context)} AS counts;

// name: add-facts
// Facts, and the edges that lead from a node to what it is about. Parameters: namespace,
// rows [{id, from_node, to_node, properties}].
MATCH (namespace:Namespace {name: $namespace})
WITH namespace.revision AS revision
UNWIND $rows AS row
OPTIONAL MATCH ()-[known:EDGE {namespace: $namespace, id: row.id}]->()
USING INDEX SEEK known:EDGE(namespace, id)
WITH row, known, revision WHERE known IS NULL
MATCH (from_node:Node {namespace: $namespace, id: row.from_node})
USING INDEX SEEK from_node:Node(namespace, id)
MATCH (to_node:Node {namespace: $namespace, id: row.to_node})
USING INDEX SEEK to_node:Node(namespace, id)
CREATE (from_node)-[edge:EDGE {namespace: $namespace, id: row.id, since: revision}]->(to_node)
SET edge += row.properties, edge.at = datetime()
RETURN {edges_created: count(edge)} AS counts;

// name: add-entries
// Statements of contexts. Parameters: namespace, log, rows [{context, index, kind, text, mentions, binds, address,
// about, properties}]; a row lacks what there is none of.
UNWIND $rows AS row
MATCH (context:Node:Context {namespace: $namespace, id: "memory-" + toString(row.context)})
USING INDEX SEEK context:Node(namespace, id)
CREATE (context)-[:STATES {index: row.index}]->(entry:Entry {
  namespace: $namespace, id: toString(row.context) + "/" + toString(row.index), log: $log, context: row.context,
  index: row.index, kind: row.kind, text: row.text, mentions: coalesce(row.mentions, []),
  binds: coalesce(row.binds, []), address: row.address, at: datetime()})
SET entry += coalesce(row.properties, {})
WITH row, entry
CALL (row, entry) {
  UNWIND row.about AS about
  MATCH (node:Node {namespace: $namespace, id: about})
  USING INDEX SEEK node:Node(namespace, id)
  CREATE (entry)-[:MENTIONS]->(node)
}
RETURN {nodes_created: 0 * count(*)} AS counts;

// name: bind
// What handles mean from now on. Parameters: namespace, rows [{owner, ref, nodes, passed}].
UNWIND $rows AS row
WITH row.owner AS owner, collect(row.ref) AS refs
MATCH (context:Node:Context {namespace: $namespace, id: owner})
USING INDEX SEEK context:Node(namespace, id)
// One look at all handles of a context: a look for each new one would take a time that grows as the square.
CALL (context, refs) {
  MATCH (context)-[former:BINDS]->()
  WHERE former.ref IN refs
  DELETE former
}
WITH count(*) AS contexts
UNWIND $rows AS row
MATCH (context:Node:Context {namespace: $namespace, id: row.owner})
USING INDEX SEEK context:Node(namespace, id)
UNWIND range(0, size(row.nodes) - 1) AS order
MATCH (node:Node {namespace: $namespace, id: row.nodes[order]})
USING INDEX SEEK node:Node(namespace, id)
CREATE (context)-[:BINDS {ref: row.ref, order: order, passed: row.passed}]->(node)
RETURN {nodes_created: 0 * count(*)} AS counts;

// name: join-message
// A model's answer that continued a context. Parameters: namespace, id, messages (the ids of the answers).
MATCH (context:Node:Context {namespace: $namespace, id: $id})
UNWIND $messages AS message_id
MATCH (message:Message {namespace: $namespace, id: message_id})
USING INDEX SEEK message:Message(namespace, id)
MERGE (context)-[joined:CONTINUED_BY]->(message)
  ON CREATE SET joined.at = datetime();
