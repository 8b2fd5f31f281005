// Saved queries for Neo4j Browser: runs of programs. `memorygraph browser runs` opens Browser with one of them, with
// `-p name=value` for what it needs; pasted into Browser, it takes them from `:param name => value`.

// name: prompts-that-saw-a-node
// Which prompts ever saw this node? Parameters: namespace, id (of the node).
MATCH (node:Node {namespace: $namespace, id: $id})<-[from:FROM]-(item:ContextItem)
MATCH (item)<-[used:USED]-(generation:Generation)<-[generated:GENERATED]-(run:Run)
RETURN node, from, item, used, generation, generated, run;

// name: what-a-call-saw
// What did this call actually see? Its context, the nodes that it came from, and the answers. Parameters:
// namespace, id (of the generation).
MATCH (run:Run)-[generated:GENERATED]->(generation:Generation {namespace: $namespace, id: $id})
OPTIONAL MATCH (generation)-[used:USED]->(item:ContextItem)
OPTIONAL MATCH (item)-[from:FROM]->(node:Node)
OPTIONAL MATCH (generation)-[answered:ANSWERED]->(message:Message)
RETURN run, generated, generation, used, item, from, node, answered, message
ORDER BY used.index;

// name: run
// One run: its generations in order, what each saw, and what it answered. Parameters: namespace, id (of the run).
MATCH (run:Run {namespace: $namespace, id: $id})
OPTIONAL MATCH (run)-[generated:GENERATED]->(generation:Generation)
OPTIONAL MATCH (generation)-[used:USED]->(item:ContextItem)
OPTIONAL MATCH (generation)-[answered:ANSWERED]->(message:Message)
RETURN run, generated, generation, used, item, answered, message
ORDER BY generated.order, used.index;

// name: runs
// The latest runs of a namespace. Parameters: namespace.
MATCH (run:Run {namespace: $namespace})
WHERE run.id IS NOT NULL
RETURN run
ORDER BY run.started_at DESC
LIMIT 100;

// name: clipped-context
// The context that did not fit its budget, and the calls that had to do without the rest. Parameters: namespace.
MATCH (item:ContextItem {namespace: $namespace})<-[used:USED]-(generation:Generation)
WHERE item.id IS NOT NULL AND item.clipped
RETURN item, used, generation
LIMIT 300;

// name: programs
// The programs that can be run by their names. Parameters: namespace.
MATCH (program:Program {namespace: $namespace})
WHERE program.name > ''
RETURN program.name AS name, program.language AS language, program.file AS file, program.loaded_at AS loaded_at
ORDER BY name, loaded_at DESC
LIMIT 100;
