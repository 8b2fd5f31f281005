"""Neo4j: the connection, the schema, loads and reads, history, search, exports and bundles."""
