// Runs of programs, and what each call of a model in them saw.
//
//   (:Run {namespace, id, language, file, status, input, value})-[:GENERATED {order}]->(:Generation)
//   (:Run)-[:READ]->(:Node)                                     the nodes that a memory gave it, which its trace shows whole
//   (:Run)-[:KEPT]->(:Conversation)                             the messages of all its calls
//   (:Generation {namespace, id, agent, function, model, instruction, result, ok})-[:ANSWERED {order}]->(:Message)
//   (:Generation)-[:USED {index}]->(:ContextItem {namespace, id, source, text, budget, clipped, strategy})
//   (:ContextItem)-[:FROM]->(:Node)                             the nodes that its text came from

// name: begin-run
// A run begins, or goes on after it was stopped or has failed. Parameters: namespace, id, properties.
MERGE (namespace:Namespace {name: $namespace})
  ON CREATE SET namespace.revision = 0, namespace.created_at = datetime(), namespace.parts_stored = true
MERGE (run:Run {namespace: $namespace, id: $id})
  ON CREATE SET run += $properties, run.started_at = datetime()
SET run.status = 'running', run.ended_at = null;

// name: record-generation
// What one generation of a run saw and gave, with the messages of its calls where they are stored. Parameters:
// namespace, run, order, id, properties, conversation, items [{id, index, origins, properties}],
// messages (the ids of the answers).
MATCH (run:Run {namespace: $namespace, id: $run})
MERGE (generation:Generation {namespace: $namespace, id: $id})
  ON CREATE SET generation += $properties
MERGE (run)-[:GENERATED {order: $order}]->(generation)
WITH run, generation
CALL (generation) {
  UNWIND $items AS row
  MERGE (item:ContextItem {namespace: $namespace, id: row.id})
    ON CREATE SET item += row.properties
  MERGE (generation)-[:USED {index: row.index}]->(item)
  WITH row, item
  UNWIND row.origins AS origin
  MATCH (node:Node {namespace: $namespace, id: origin})
  USING INDEX SEEK node:Node(namespace, id)
  MERGE (item)-[:FROM]->(node)
}
CALL (generation) {
  UNWIND range(0, size($messages) - 1) AS place
  MATCH (message:Message {namespace: $namespace, id: $messages[place]})
  USING INDEX SEEK message:Message(namespace, id)
  MERGE (generation)-[:ANSWERED {order: place}]->(message)
}
CALL (run) {
  MATCH (conversation:Conversation {namespace: $namespace, name: $conversation})
  MERGE (run)-[:KEPT]->(conversation)
};

// name: record-read
// Nodes that a memory gave a run; of those that are gone meanwhile, nothing. Parameters: namespace, run, ids.
MATCH (run:Run {namespace: $namespace, id: $run})
UNWIND $ids AS id
MATCH (node:Node {namespace: $namespace, id: id})
USING INDEX SEEK node:Node(namespace, id)
MERGE (run)-[:READ]->(node);

// name: stored
// A row where a run is stored. Parameters: namespace, id.
MATCH (run:Run {namespace: $namespace, id: $id})
RETURN run.id AS id;

// name: end-run
// A run ends. Parameters: namespace, id, properties (those that the end adds).
MATCH (run:Run {namespace: $namespace, id: $id})
SET run += $properties, run.ended_at = coalesce(run.ended_at, datetime());

// name: runs
// The latest runs; of properties that none has yet the server would warn. Parameters: namespace, limit.
MATCH (run:Run {namespace: $namespace})
WHERE run.id IS NOT NULL
WITH run ORDER BY run.started_at DESC, run.id LIMIT $limit
OPTIONAL MATCH (run)-[:KEPT]->(conversation:Conversation)
WITH run, conversation, properties(run) AS known
RETURN {id: known.id, file: known.file, program_hash: known.program_hash, agent: known.agent, status: known.status} AS run,
       run.language AS language,
       toString(run.started_at) AS at, toString(run.ended_at) AS ended_at, conversation.name AS conversation
ORDER BY known.started_at DESC, known.id;

// name: run
// One run with all of its properties but the source of its program and its trace. Parameters: namespace, id.
MATCH (run:Run {namespace: $namespace, id: $id})
OPTIONAL MATCH (run)-[:KEPT]->(conversation:Conversation)
RETURN run {.*, program: null, trace: null} AS run,
       run.language AS language, toString(run.started_at) AS at, toString(run.ended_at) AS ended_at,
       conversation.name AS conversation;

// name: generations
// The trace of a run, and its generations in order with the sources of their context, and with what was said in them:
// the prompt and the answer of each attempt. Parameters: namespace, id.
MATCH (run:Run {namespace: $namespace, id: $id})
RETURN properties(run).trace AS trace, COLLECT {
  MATCH (run)-[generated:GENERATED]->(generation:Generation)
  RETURN generation {.*, sources: COLLECT {
                       MATCH (generation)-[used:USED]->(item:ContextItem)
                       RETURN item.source ORDER BY used.index
                     }, said: COLLECT {
                       MATCH (generation)-[answered:ANSWERED]->(answer:Message)<-[:NEXT]-(prompt:Message)
                       RETURN [prompt.content, answer.content] ORDER BY answered.order
                     }}
  ORDER BY generated.order
} AS generations;

// name: run-ids
// The ids of all runs of a namespace, by which files of this machine are found. Parameters: namespace.
MATCH (run:Run {namespace: $namespace})
WHERE run.id IS NOT NULL
RETURN run.id AS id;

// name: drop-runs
// Delete some of a namespace's runs with what they saw; run until nothing is left. Parameters: namespace, limit.
CALL () {
  MATCH (part:Run {namespace: $namespace}) WHERE part.id IS NOT NULL RETURN part
  UNION ALL
  MATCH (part:Generation {namespace: $namespace}) WHERE part.id IS NOT NULL RETURN part
  UNION ALL
  MATCH (part:ContextItem {namespace: $namespace}) WHERE part.id IS NOT NULL RETURN part
}
WITH part LIMIT $limit
DETACH DELETE part
RETURN count(part) AS deleted;
