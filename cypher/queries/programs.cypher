// Stored programs: what can be run by its name.
//
//   (:Program {namespace, id, name, language, file, source, loaded_at})     an AgentScript program
//   (:Program:Graph …)                                                      a node graph, with its nodes and routes

// name: store-program
// A program under its name; the last one that was loaded under a name is the one that runs. Without a file it keeps the name
// that its file has given it. The same text in a file of another name is another program, `named_id`. Parameters: namespace,
// id, named_id, properties {name, language, file, source}.
WITH $properties AS properties
MERGE (namespace:Namespace {name: $namespace})
  ON CREATE SET namespace.revision = 0, namespace.created_at = datetime(), namespace.parts_stored = true
WITH properties
OPTIONAL MATCH (other:Program {namespace: $namespace, id: $id})
WHERE other.file IS NOT NULL AND properties.file IS NOT NULL AND other.name <> properties.name
WITH properties, CASE WHEN other IS NULL THEN $id ELSE $named_id END AS id
MERGE (program:Program {namespace: $namespace, id: id})
SET program += CASE WHEN properties.file IS NULL AND program.file IS NOT NULL
                    THEN properties {.*, name: program.name, file: program.file} ELSE properties END,
    program.loaded_at = datetime()
RETURN {} AS counts;

// name: offer-graph
// Let a node graph be run by its name, as store-program has it. Parameters: namespace, id, named_id, properties {name,
// language, file}.
WITH $properties AS properties
MATCH (graph:Graph {namespace: $namespace, id: $id})
WITH graph, properties,
     graph:Program AND graph.file IS NOT NULL AND properties.file IS NOT NULL AND graph.name <> properties.name AS is_other
FOREACH (_ IN CASE WHEN is_other THEN [] ELSE [1] END |
  SET graph += CASE WHEN properties.file IS NULL AND graph:Program AND graph.file IS NOT NULL
                    THEN properties {.*, name: graph.name, file: graph.file} ELSE properties END,
      graph:Program, graph.loaded_at = datetime())
FOREACH (_ IN CASE WHEN is_other THEN [1] ELSE [] END |
  MERGE (program:Program {namespace: $namespace, id: $named_id})
  SET program += properties {.*, source: graph.source}, program.loaded_at = datetime())
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
// No program of this name can be run any more; what its runs refer to stays, until the last of them is forgotten. Where
// something goes, the files of the server still hold it, and the nodes of no namespace keep the mark of that, as of
// namespaces/keep-mark. Parameters: namespace, name, mark.
MATCH (program:Program {namespace: $namespace, name: $name})
REMOVE program:Program
WITH program, CASE WHEN EXISTS { (program)<-[:OF]-(:Run) } THEN []
                   ELSE [program] + COLLECT { MATCH (program)-[:HAS_NODE]->(part) RETURN part } END AS alone
FOREACH (part IN alone | DETACH DELETE part)
WITH count(*) AS forgotten, sum(size(alone)) AS deleted
CALL (deleted) {
  MATCH (migration:Migration)
  WHERE deleted > 0 AND migration.files IS NULL
  SET migration.files = $mark
}
RETURN forgotten;
