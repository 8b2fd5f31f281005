// Saved queries for Neo4j Browser: what clients of the memory server remember. `memorygraph browser memory` opens
// Browser with one of them, with `-p name=value` for what it needs; pasted into Browser, it takes them from
// `:param name => value`.

// name: memory
// Every entity, with what was observed of it and with its relations. Parameters: namespace.
MATCH (entity:Entity {namespace: $namespace})
WHERE entity.arrival IS NOT NULL
OPTIONAL MATCH (entity)-[edge:EDGE]->(other:Node)
RETURN entity, edge, other
LIMIT 1000;

// name: entity
// All that is known of one entity. Parameters: namespace, name.
MATCH (entity:Node {namespace: $namespace, name: $name})
OPTIONAL MATCH (entity)-[edge:EDGE]-(other:Node)
RETURN entity, edge, other
LIMIT 300;

// name: kinds
// Which kinds of entities there are, and how many of each. Parameters: namespace.
MATCH (entity:Entity {namespace: $namespace})
WHERE entity.arrival IS NOT NULL
RETURN entity.kind AS kind, count(entity) AS entities, collect(entity.name)[..5] AS among_them
ORDER BY entities DESC, kind
LIMIT 100;

// name: learnt-from
// The nodes and edges that a model wrote down, and the messages that it learnt them from: those of remember and chat are
// joined to their message by the load that stored them last. Parameters: namespace.
CALL () {
  MATCH (message:Message {namespace: $namespace})<-[source:SOURCE]-(node:Node)
  USING INDEX SEEK message:Message(namespace, id)
  WHERE message.id IS NOT NULL
  RETURN message, source, null AS load, node, null AS edge, null AS other
  UNION
  MATCH (asked:Load {namespace: $namespace})-[:ASKED_IN]->(:Message)
  WHERE asked.revision >= 0
  WITH collect(DISTINCT asked.revision) AS revisions
  CALL (revisions) {
    MATCH (node:Node {namespace: $namespace})
    USING INDEX SEEK node:Node(namespace, id)
    WHERE node.id IS NOT NULL AND node.since IN revisions
    RETURN node, null AS edge, null AS other, node.since AS revision
    UNION ALL
    MATCH (node:Node)-[edge:EDGE {namespace: $namespace}]->(other:Node)
    USING INDEX SEEK edge:EDGE(namespace, id)
    WHERE edge.id IS NOT NULL AND edge.since IN revisions
    RETURN node, edge, other, edge.since AS revision
  }
  MATCH (load:Load {namespace: $namespace, revision: revision})-[source:ASKED_IN]->(message:Message)
  RETURN message, source, load, node, edge, other
}
RETURN message, source, load, node, edge, other
LIMIT 300;
