// Node graphs: their definitions, and their runs as chains of steps.
//
//   (:Graph {namespace, id, name, source})-[:HAS_NODE {order}]->(:GraphNode {namespace, id, name, description})
//   (:GraphNode)-[:ROUTE {order, kind, condition}]->(:GraphNode)    the way out of the graph leads to an :Exit
//   (:Run)-[:OF]->(:Graph), (:Run)-[:STEP {order}]->(:Step {namespace, id, node, input, output, route, why})
//   (:Step)-[:THEN]->(:Step), (:Step)-[:AT]->(:GraphNode), (:Step)-[:ANSWERED]->(:Message)
//   (:Step)-[:SAID {order}]->(:Message)                             its messages in the conversation of the run

// name: write-graph
// A definition, unless it is there; what is returned counts the nodes and routes that were written. Parameters: namespace, id,
// properties, nodes [{id, order, exit, properties}], routes [{source, target, order, kind, condition}].
MERGE (namespace:Namespace {name: $namespace})
  ON CREATE SET namespace.revision = 0, namespace.created_at = datetime(), namespace.parts_stored = true
MERGE (graph:Graph {namespace: $namespace, id: $id})
  ON CREATE SET graph += $properties, graph.created_at = datetime()
WITH graph, EXISTS { (graph)-[:HAS_NODE]->(:GraphNode) } AS known
CALL (graph, known) {
  UNWIND CASE WHEN known THEN [] ELSE $nodes END AS row
  MERGE (node:GraphNode {namespace: $namespace, id: row.id})
    ON CREATE SET node += row.properties
  FOREACH (exit IN CASE WHEN row.exit THEN [node] ELSE [] END | SET exit:Exit)
  MERGE (graph)-[:HAS_NODE {order: row.order}]->(node)
  RETURN count(*) AS nodes
}
CALL (known, nodes) {
  UNWIND CASE WHEN known THEN [] ELSE $routes END AS row
  MATCH (source:GraphNode {namespace: $namespace, id: row.source})
  USING INDEX SEEK source:GraphNode(namespace, id)
  MATCH (target:GraphNode {namespace: $namespace, id: row.target})
  USING INDEX SEEK target:GraphNode(namespace, id)
  CREATE (source)-[:ROUTE {order: row.order, kind: row.kind, condition: row.condition}]->(target)
  RETURN count(*) AS routes
}
RETURN {nodes_created: nodes, edges_created: routes} AS counts;

// name: join-graph
// A run is one of a graph. Parameters: namespace, run, graph.
MATCH (run:Run {namespace: $namespace, id: $run})
MATCH (graph:Graph {namespace: $namespace, id: $graph})
MERGE (run)-[:OF]->(graph);

// name: write-step
// A step of a run as far as it has come, behind the one before it. Parameters: namespace, run, id, order,
// before (the id of that step, or none), node (the id of the graph's node), properties, messages (the ids of the
// answers), conversation.
MATCH (run:Run {namespace: $namespace, id: $run})
MERGE (step:Step {namespace: $namespace, id: $id})
SET step += $properties
MERGE (run)-[:STEP {order: $order}]->(step)
WITH run, step
CALL (step) {
  MATCH (former:Step {namespace: $namespace, id: $before})
  MERGE (former)-[:THEN]->(step)
}
CALL (step) {
  MATCH (node:GraphNode {namespace: $namespace, id: $node})
  MERGE (step)-[:AT]->(node)
}
CALL (step) {
  UNWIND $messages AS id
  MATCH (message:Message {namespace: $namespace, id: id})
  USING INDEX SEEK message:Message(namespace, id)
  MERGE (step)-[:ANSWERED]->(message)
}
CALL (run) {
  MATCH (conversation:Conversation {namespace: $namespace, name: $conversation})
  MERGE (run)-[:KEPT]->(conversation)
};

// name: join-messages
// What was said in a step, as messages of the one conversation of the run. Parameters: namespace, run, step,
// conversation, messages (their ids, in order).
MATCH (run:Run {namespace: $namespace, id: $run})
CALL (run) {
  MATCH (conversation:Conversation {namespace: $namespace, name: $conversation})
  MERGE (run)-[:KEPT]->(conversation)
}
MATCH (step:Step {namespace: $namespace, id: $step})
UNWIND range(0, size($messages) - 1) AS place
MATCH (message:Message {namespace: $namespace, id: $messages[place]})
USING INDEX SEEK message:Message(namespace, id)
MERGE (step)-[:SAID {order: place}]->(message);

// name: broken-run
// The latest run of a program that has not come to its end. Parameters: namespace, graph (the id of its definition),
// running (the ids of those that still run).
MATCH (:Graph {namespace: $namespace, id: $graph})<-[:OF]-(run:Run)
WHERE run.status <> 'done' AND NOT run.id IN $running
RETURN run.id AS id
ORDER BY run.started_at DESC
LIMIT 1;

// name: broken-run-of-file
// The latest run of a file, in whatever version of it, that has not come to its end. Parameters: namespace, file.
MATCH (run:Run {namespace: $namespace, file: $file, language: 'convo'})
WHERE run.id IS NOT NULL AND run.status <> 'done'
RETURN run.id AS id
ORDER BY run.started_at DESC
LIMIT 1;

// name: latest-run
// The latest run of a program. Parameters: namespace, graph (the id of its definition).
MATCH (:Graph {namespace: $namespace, id: $graph})<-[:OF]-(run:Run)
RETURN run.id AS id
ORDER BY run.started_at DESC
LIMIT 1;

// name: find-run
// A run and its steps in order, to go on from. Parameters: namespace, id.
MATCH (run:Run {namespace: $namespace, id: $id})
OPTIONAL MATCH (run)-[has:STEP]->(step:Step)
WITH run, step ORDER BY has.order
RETURN run.language AS language, run.status AS status, run.program_hash AS program_hash, run.input AS input,
       collect(step.state) AS states;

// name: drop-graphs
// Delete some of a namespace's graphs, programs and steps; run until nothing is left. Parameters: namespace, limit.
CALL () {
  MATCH (part:Graph {namespace: $namespace}) WHERE part.id IS NOT NULL RETURN part
  UNION
  MATCH (part:Program {namespace: $namespace}) WHERE part.id IS NOT NULL RETURN part
  UNION
  MATCH (part:GraphNode {namespace: $namespace}) WHERE part.id IS NOT NULL RETURN part
  UNION
  MATCH (part:Step {namespace: $namespace}) WHERE part.id IS NOT NULL RETURN part
}
WITH part LIMIT $limit
DETACH DELETE part
RETURN count(part) AS deleted;
