// The one thing that is written into the middle of a log: the feedback of a command, directly behind it.

// name: pending
// The commands without feedback in the open contexts of a log, in their order. Parameters: namespace, log.
MATCH (context:Context {namespace: $namespace, log: $log})
USING INDEX SEEK context:Context(namespace, log)
WHERE context.tail IS NULL
MATCH (context)-[:STATES]->(entry:Entry)
WHERE entry.kind IN ["command", "feedback"]
// What a command was answered stands directly behind it. One grouping finds all such pairs: a search for the answer of
// each command would go through all statements of its context each time.
WITH context, entry.index - CASE entry.kind WHEN "feedback" THEN 1 ELSE 0 END AS place, collect(entry) AS found
WHERE size(found) = 1 AND head(found).kind = "command"
WITH context, head(found) AS command
RETURN command.id AS id, command.text AS text
ORDER BY command.at, context.memory, command.index;

// name: answer
// Write the feedback of a command, and move what came behind it meanwhile; nothing, if it has some already.
// Parameters: namespace, id (of the command), text, value.
MATCH (command:Entry {namespace: $namespace, id: $id})<-[:STATES]-(context:Node:Context)
USING INDEX SEEK command:Entry(namespace, id)
WHERE NOT EXISTS {
  MATCH (context)-[:STATES]->(answer:Entry {kind: "feedback"})
  WHERE answer.index = command.index + 1
}
CALL (command, context) {
  MATCH (context)-[states:STATES]->(later:Entry)
  WHERE later.index > command.index
  SET later.index = later.index + 1, states.index = later.index
}
CALL (command, context) {
  MATCH (context)-[:CONTAINS]->(child:Context)
  WHERE child.index > command.index
  SET child.index = child.index + 1
}
CREATE (context)-[:STATES {index: command.index + 1}]->(:Entry {
  namespace: $namespace, id: toString(context.memory) + "/" + toString(context.size), log: command.log,
  context: command.context, index: command.index + 1, kind: "feedback", text: $text, value: $value,
  mentions: [], binds: [], at: datetime()})
SET context.size = context.size + 1
RETURN {nodes_updated: 1} AS counts;
