// Every stored thing is found by its namespace and its id, and the database itself keeps that pair unique.
//
// Community Edition has no constraint that spans nodes and relationships. That a node and an edge never
// share an id is kept by the write lock that every load takes on its namespace (queries/load.cypher,
// begin-load): under it, what is stored can be read and then relied on until the commit.
//
// A registry would not add to this (docs/ids.md has the figures of three). A load takes a third longer or more, and a
// registry of any shape, however cheap, binds only those who write to it as well: raw Cypher that creates an edge alone
// still breaks the rule, and what memorygraph writes is kept by the lock already. So the database keeps each kind
// unique, the lock keeps the kinds apart, and what raw Cypher makes is found afterwards by `doctor --graph`
// (queries/invariants.cypher, shared-id: an index seek for each node), and refused by every statement about that id.

CREATE CONSTRAINT node_id IF NOT EXISTS
FOR (node:Node) REQUIRE (node.namespace, node.id) IS UNIQUE;

CREATE CONSTRAINT edge_id IF NOT EXISTS
FOR ()-[edge:EDGE]-() REQUIRE (edge.namespace, edge.id) IS UNIQUE;
