// Entities are addressed by their names, and several nodes may have one name.

CREATE INDEX node_name IF NOT EXISTS
FOR (node:Node) ON (node.namespace, node.name);

// What entities and observations say, word for word: for a search that finds any part of a text. (node_text knows
// words by their stems, which begin as they do, and end differently.)

CREATE FULLTEXT INDEX entity_text IF NOT EXISTS
FOR (node:Entity|Observation) ON EACH [node.name, node.kind, node.data, node.namespace_token]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'standard-no-stop-words'}};

// What is read comes in the order in which it was stored.

CREATE INDEX entity_arrival IF NOT EXISTS
FOR (node:Entity) ON (node.namespace, node.arrival);

CREATE INDEX edge_arrival IF NOT EXISTS
FOR ()-[edge:EDGE]-() ON (edge.namespace, edge.arrival);
