// Saved queries for Neo4j Browser: runs of programs. Set the parameters first, for example
//   :params {namespace: "default", id: "agc"}
// Each returns nodes and relationships, so that Browser draws them.

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
