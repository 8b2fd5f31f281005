// Stored programs: what can be run by its name.
//
//   (:Program {namespace, id, name, language, file, source, loaded_at})     an AgentScript program
//   (:Program:Graph …)                                                      a node graph, with its nodes and routes

// name: store-program
// A program under its name; the last one that was loaded under a name is the one that runs. Parameters: namespace, id,
// properties {name, language, file, source}.
MERGE (namespace:Namespace {name: $namespace})
  ON CREATE SET namespace.revision = 0, namespace.created_at = datetime(), namespace.parts_stored = true
MERGE (program:Program {namespace: $namespace, id: $id})
SET program += $properties, program.loaded_at = datetime()
RETURN {} AS counts;

// name: offer-graph
// Let a node graph be run by its name. Parameters: namespace, id, properties {name, language, file}.
MATCH (graph:Graph {namespace: $namespace, id: $id})
SET graph:Program, graph += $properties, graph.loaded_at = datetime()
RETURN {} AS counts;

// name: programs
// The programs of a namespace, of each name the one that was loaded last. Parameters: namespace.
MATCH (program:Program {namespace: $namespace})
WHERE program.name > ''
WITH program ORDER BY program.name, program.loaded_at DESC
WITH program.name AS name, head(collect(program)) AS program
RETURN name, program.language AS language, program.id AS id, program.file AS file,
       toString(program.loaded_at) AS loaded_at
ORDER BY name;

// name: program
// The program that was last loaded under a name. Parameters: namespace, name.
MATCH (program:Program {namespace: $namespace, name: $name})
RETURN program.language AS language, program.source AS source
ORDER BY program.loaded_at DESC
LIMIT 1;

// name: forget-program
// No program of this name can be run any more; what its runs refer to stays, until the last of them is forgotten. Parameters:
// namespace, name.
MATCH (program:Program {namespace: $namespace, name: $name})
REMOVE program:Program
WITH program, CASE WHEN EXISTS { (program)<-[:OF]-(:Run) } THEN []
                   ELSE [program] + COLLECT { MATCH (program)-[:HAS_NODE]->(part) RETURN part } END AS alone
FOREACH (part IN alone | DETACH DELETE part)
RETURN count(*) AS forgotten;
