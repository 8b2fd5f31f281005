"""Neo4j: the connection, the schema, loads and reads, and the server that starts by itself."""
