// A namespace counts its revisions; each load is one of them. The revision's constraint proves that the
// lock on the namespace works: two loads can never take the same number.

CREATE CONSTRAINT namespace_name IF NOT EXISTS
FOR (namespace:Namespace) REQUIRE namespace.name IS UNIQUE;

CREATE CONSTRAINT load_id IF NOT EXISTS
FOR (load:Load) REQUIRE (load.namespace, load.id) IS UNIQUE;

CREATE CONSTRAINT load_revision IF NOT EXISTS
FOR (load:Load) REQUIRE (load.namespace, load.revision) IS UNIQUE;

CREATE CONSTRAINT checkpoint_program IF NOT EXISTS
FOR (checkpoint:Checkpoint) REQUIRE (checkpoint.namespace, checkpoint.program) IS UNIQUE;
