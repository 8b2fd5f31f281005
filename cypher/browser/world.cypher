// Saved queries for Neo4j Browser: nodes and edges. `memorygraph browser world` opens Browser with one of them, with
// `-p name=value` for what it needs; pasted into Browser, it takes them from `:param name => value`.

// name: world
// Every node of a namespace, with its edges. Parameters: namespace.
MATCH (node:Node {namespace: $namespace})
WHERE node.id IS NOT NULL
OPTIONAL MATCH (node)-[edge:EDGE]->(other:Node)
RETURN node, edge, other
LIMIT 1000;

// name: around-a-node
// What is one or two steps from a node. Parameters: namespace, id.
MATCH (node:Node {namespace: $namespace, id: $id})
OPTIONAL MATCH path = (node)-[:EDGE*1..2]-(:Node)
RETURN node, path
LIMIT 300;

// name: ways-between-two-nodes
// The shortest ways from one node to another, along the edges in either direction. Parameters: namespace, a, b (ids).
MATCH (a:Node {namespace: $namespace, id: $a}), (b:Node {namespace: $namespace, id: $b})
MATCH path = allShortestPaths((a)-[:EDGE*1..8]-(b))
RETURN path
LIMIT 100;

// name: verbs
// What edges say, and how often. Parameters: namespace.
MATCH ()-[edge:EDGE {namespace: $namespace}]->()
WHERE edge.id IS NOT NULL
RETURN edge.verb AS verb, count(edge) AS edges, round(avg(edge.weight), 2) AS weight
ORDER BY edges DESC, verb
LIMIT 100;
