// Every stored thing is found by its namespace and its id, and the database itself keeps that pair unique.
//
// Community Edition has no constraint that spans nodes and relationships. That a node and an edge never
// share an id is kept by the write lock that every load takes on its namespace (queries/load.cypher,
// begin-load): under it, what is stored can be read and then relied on until the commit.

CREATE CONSTRAINT node_id IF NOT EXISTS
FOR (node:Node) REQUIRE (node.namespace, node.id) IS UNIQUE;

CREATE CONSTRAINT edge_id IF NOT EXISTS
FOR ()-[edge:EDGE]-() REQUIRE (edge.namespace, edge.id) IS UNIQUE;
