// Runs of programs. A context item is named by the hash of what was seen, so that generations that saw the same
// share it.

CREATE CONSTRAINT run_id IF NOT EXISTS
FOR (run:Run) REQUIRE (run.namespace, run.id) IS UNIQUE;

CREATE CONSTRAINT generation_id IF NOT EXISTS
FOR (generation:Generation) REQUIRE (generation.namespace, generation.id) IS UNIQUE;

CREATE CONSTRAINT context_item_id IF NOT EXISTS
FOR (item:ContextItem) REQUIRE (item.namespace, item.id) IS UNIQUE;
