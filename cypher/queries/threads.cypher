// The states of agents' threads (messages/threads.py), as an immutable graph.
//
//   (:Thread {namespace, id})-[:STATE]->(:State {namespace, id, thread, graph, checkpoint, step, source, run, body})
//   (:State)-[:PARENT]->(:State)                                        the state that it came from
//   (:State)-[:HOLDS {channel}]->(:ChannelValue {namespace, id, type, data, length})
//   (:ChannelValue)-[:EXTENDS]->(:ChannelValue)                         a list, and the list that is shorter by one
//   (:ChannelValue)-[:SAYS]->(:Message)                                 the message that is the last of a list
//   (:State)-[:PENDING]->(:PendingWrite {namespace, id, task, place, path, channel, type, data})
//
// `body`, `data` and their types are what the framework's serializer gave, byte for byte. A list of messages is the chain of
// its ChannelValues, each with the exact form of one message, which the message graph has as a Message: so states and forks
// share the beginnings of their lists, as conversations do. A state that has only pending writes so far has no body,
// and one that is being deleted has none any more.

// name: put
// Store a state with the values of its channels, as far as they are not there yet; stored again, it holds what it is given
// now. `held` and `missing` say how much of what it refers to is there. Parameters: namespace, thread, id, properties, parent
// (the id of a state, or ''), messages [{id, parent, body, role, labels, content, seal}], values [{id, after, type, data, length,
// message}], holds [{channel, value}].
MERGE (namespace:Namespace {name: $namespace})
  ON CREATE SET namespace.revision = 0, namespace.created_at = datetime(), namespace.parts_stored = true
MERGE (thread:Thread {namespace: $namespace, id: $thread})
  ON CREATE SET thread.created_at = datetime()
MERGE (state:State {namespace: $namespace, id: $id})
  ON CREATE SET state.created_at = datetime()
SET state += $properties
MERGE (thread)-[:STATE]->(state)
WITH state
CALL (state) {
  MATCH (parent:State {namespace: $namespace, id: $parent})
  USING INDEX SEEK parent:State(namespace, id)
  MERGE (state)-[:PARENT]->(parent)
}
CALL (state) {
  MATCH (state)-[old:HOLDS]->()
  DELETE old
}
CALL () {
  RETURN 0 AS missing // include: threads/put-values
}
CALL (state) {
  UNWIND $holds AS row
  MATCH (value:ChannelValue {namespace: $namespace, id: row.value})
  USING INDEX SEEK value:ChannelValue(namespace, id)
  MERGE (state)-[:HOLDS {channel: row.channel}]->(value)
  RETURN count(*) AS held
}
RETURN held, missing;

// name: put-values
// Store values and messages, as far as they are not there yet. `missing` says how many of those that they extend are not
// there. Parameters: namespace, messages, values (as of `put`).
CALL () {
  UNWIND $messages AS row
  MERGE (message:Message {namespace: $namespace, id: row.id})
    ON CREATE SET message:$(row.labels), message.body = row.body, message.role = row.role, message.content = row.content,
                  message.sampled = false, message.seal = row.seal, message.created_at = datetime()
  WITH row, message
  MATCH (parent:Message {namespace: $namespace, id: row.parent})
  USING INDEX SEEK parent:Message(namespace, id)
  MERGE (parent)-[:NEXT]->(message)
}
CALL () {
  UNWIND $values AS row
  MERGE (value:ChannelValue {namespace: $namespace, id: row.id})
    ON CREATE SET value.type = row.type, value.data = row.data, value.length = row.length
  WITH row, value
  OPTIONAL MATCH (after:ChannelValue {namespace: $namespace, id: row.after})
  USING INDEX SEEK after:ChannelValue(namespace, id)
  OPTIONAL MATCH (message:Message {namespace: $namespace, id: row.message})
  USING INDEX SEEK message:Message(namespace, id)
  FOREACH (after IN CASE WHEN after IS NULL THEN [] ELSE [after] END | MERGE (value)-[:EXTENDS]->(after))
  FOREACH (message IN CASE WHEN message IS NULL THEN [] ELSE [message] END | MERGE (value)-[:SAYS]->(message))
  RETURN sum(CASE WHEN row.after <> '' AND after IS NULL THEN 1 ELSE 0 END) AS missing
}
RETURN missing;

// name: put-writes
// Keep what tasks wrote after a state, which may be stored later; what is there already stays, unless it is `replaced`.
// Parameters: namespace, thread, id, rows [{id, replaced, properties}].
MERGE (namespace:Namespace {name: $namespace})
  ON CREATE SET namespace.revision = 0, namespace.created_at = datetime(), namespace.parts_stored = true
MERGE (thread:Thread {namespace: $namespace, id: $thread})
  ON CREATE SET thread.created_at = datetime()
MERGE (state:State {namespace: $namespace, id: $id})
  ON CREATE SET state.created_at = datetime()
MERGE (thread)-[:STATE]->(state)
WITH state
UNWIND $rows AS row
MERGE (write:PendingWrite {namespace: $namespace, id: row.id})
  ON CREATE SET write += row.properties
  ON MATCH SET write += CASE WHEN row.replaced THEN row.properties ELSE {} END
MERGE (state)-[:PENDING]->(write);

// name: states
// Some states between two ids, the newest of each thread and graph first, with what they hold and what is pending after
// them. Parameters: namespace, begin (the first id), end (the id behind the last), limit.
MATCH (state:State {namespace: $namespace})
USING INDEX SEEK state:State(namespace, id)
WHERE state.id >= $begin AND state.id < $end AND state.body IS NOT NULL
WITH state ORDER BY state.namespace DESC, state.id DESC LIMIT $limit
RETURN state.id AS id, state.thread AS thread, coalesce(state.graph, '') AS graph, state.checkpoint AS checkpoint,
       coalesce(state.parent, '') AS parent, state.type AS type, state.body AS body,
       COLLECT {
         MATCH (state)-[holds:HOLDS]->(value:ChannelValue)
         RETURN [holds.channel, value.id, value.length, value.type, CASE WHEN value.length IS NULL THEN value.data END]
       } AS held,
       COLLECT {
         MATCH (state)-[:PENDING]->(write:PendingWrite)
         RETURN [write.path, write.task, write.place, write.channel, write.type, write.data]
       } AS pending
ORDER BY state.namespace DESC, state.id DESC;

// name: lists
// The elements of lists, from the last of each to the first. Parameters: namespace, ids (of the lists).
UNWIND $ids AS id
MATCH (list:ChannelValue {namespace: $namespace, id: id})
USING INDEX SEEK list:ChannelValue(namespace, id)
RETURN id, COLLECT {
  MATCH (list)-[:EXTENDS*0..]->(part:ChannelValue)
  RETURN [part.id, part.length, part.type, part.data, head([(part)-[:SAYS]->(message:Message) | message.id])]
} AS parts;

// name: threads
// The threads of a namespace by id, with the number of their states. Parameters: namespace, after, limit.
MATCH (thread:Thread {namespace: $namespace})
USING INDEX SEEK thread:Thread(namespace, id)
WHERE thread.id > $after
WITH thread ORDER BY thread.namespace, thread.id LIMIT $limit
RETURN thread.id AS id, COUNT { (thread)-[:STATE]->() } AS states
ORDER BY thread.namespace, id;

// name: copy
// Copy the states of a thread, which share its values, with what is pending after them; one that was copied before holds
// what it is given now, and one that is being deleted is not copied. Parameters: namespace, target,
// prefix and new_prefix (with which the ids of their states begin), rows [{id, new_id, writes [{id, new_id}]}].
UNWIND $rows AS row
MATCH (state:State {namespace: $namespace, id: row.id})
USING INDEX SEEK state:State(namespace, id)
WHERE state.body IS NOT NULL OR state.checkpoint IS NULL
MERGE (thread:Thread {namespace: $namespace, id: $target})
  ON CREATE SET thread.created_at = datetime()
MERGE (copy:State {namespace: $namespace, id: row.new_id})
SET copy = state {.*, id: row.new_id, thread: $target}
MERGE (thread)-[:STATE]->(copy)
WITH row, state, copy
CALL (copy) {
  MATCH (copy)-[old:HOLDS]->()
  DELETE old
}
CALL (state, copy) {
  MATCH (state)-[holds:HOLDS]->(value)
  MERGE (copy)-[:HOLDS {channel: holds.channel}]->(value)
}
CALL (row, copy) {
  UNWIND row.writes AS pair
  MATCH (write:PendingWrite {namespace: $namespace, id: pair.id})
  USING INDEX SEEK write:PendingWrite(namespace, id)
  MERGE (written:PendingWrite {namespace: $namespace, id: pair.new_id})
  SET written = write {.*, id: pair.new_id}
  MERGE (copy)-[:PENDING]->(written)
}
CALL (state, copy) {
  MATCH (state)-[:PARENT]->(parent:State)
  MATCH (other:State {namespace: $namespace, id: $new_prefix + substring(parent.id, size($prefix))})
  USING INDEX SEEK other:State(namespace, id)
  MERGE (copy)-[:PARENT]->(other)
}
RETURN count(*) AS copied;

// name: keys
// The states between two ids, the oldest first, with the ids of what is pending after each, and whether each was `stored`: else
// it has only pending writes so far. One that was, and is not `shown`, is being deleted. Parameters: namespace, begin, end.
MATCH (state:State {namespace: $namespace})
USING INDEX SEEK state:State(namespace, id)
WHERE state.id >= $begin AND state.id < $end
RETURN state.id AS id, coalesce(state.graph, '') AS graph, coalesce(state.parent, '') AS parent,
       state.checkpoint IS NOT NULL AS stored, state.body IS NOT NULL AS shown,
       COLLECT { MATCH (state)-[:HOLDS]->(value) RETURN value.id } AS values,
       COLLECT { MATCH (state)-[:PENDING]->(write) RETURN [write.id, write.task, write.place] } AS writes
ORDER BY state.namespace, id;

// name: states-of-runs
// The states that runs made. Parameters: namespace, ids (of the runs).
UNWIND $ids AS run
MATCH (state:State {namespace: $namespace, run: run})
USING INDEX SEEK state:State(namespace, run)
RETURN state.id AS id;

// name: hide-states
// Have nobody read some states any more, before what they hold is deleted. Parameters: namespace, ids, limit.
UNWIND $ids AS id
MATCH (state:State {namespace: $namespace, id: id})
USING INDEX SEEK state:State(namespace, id)
WHERE state.body IS NOT NULL
WITH state LIMIT $limit
SET state.body = null
RETURN count(*) AS hidden;

// name: free-values
// Some of the values that states hold, and of those before them, which nothing else holds or extends: each with the message
// that it says, and the one that it extends. A list comes from its last element on, so that what a limit leaves of it is a
// list. Parameters: namespace, ids (of states), limit.
UNWIND $ids AS id
MATCH (state:State {namespace: $namespace, id: id})
USING INDEX SEEK state:State(namespace, id)
MATCH (state)-[:HOLDS]->(last:ChannelValue)
WHERE NOT EXISTS { (last)<-[:EXTENDS]-() }
WITH last, min(id) AS state
WHERE NOT EXISTS { (last)<-[:HOLDS]-(other:State) WHERE NOT other.id IN $ids }
MATCH (last) (()-[:EXTENDS]->(part WHERE COUNT { (part)<-[:EXTENDS]-() } = 1
                              AND NOT EXISTS { (part)<-[:HOLDS]-(other:State) WHERE NOT other.id IN $ids }))* (value)
WITH state, value LIMIT $limit
RETURN state, value.id AS id, head([(value)-[:EXTENDS]->(before) | before.id]) AS before,
       head([(value)-[:SAYS]->(message:Message) | message.id]) AS message;

// name: lock-values
// Values with their write locks, so that nothing holds or extends them anew before the commit. Parameters: namespace, ids.
UNWIND $ids AS id
MATCH (value:ChannelValue {namespace: $namespace, id: id})
USING INDEX SEEK value:ChannelValue(namespace, id)
SET value.namespace = $namespace;

// name: delete-values
// Delete values. A hidden state holds what is left of a list, by which it is found again. Parameters: namespace, ids,
// left [{state, value}].
CALL () {
  UNWIND $left AS row
  MATCH (state:State {namespace: $namespace, id: row.state})
  USING INDEX SEEK state:State(namespace, id)
  MATCH (value:ChannelValue {namespace: $namespace, id: row.value})
  USING INDEX SEEK value:ChannelValue(namespace, id)
  MERGE (state)-[:HOLDS {channel: ''}]->(value)
}
UNWIND $ids AS id
MATCH (value:ChannelValue {namespace: $namespace, id: id})
USING INDEX SEEK value:ChannelValue(namespace, id)
DETACH DELETE value;

// name: delete-states
// Delete states with what is pending after them, and threads without any state. Parameters: namespace, ids, limit.
UNWIND $ids AS id
MATCH (state:State {namespace: $namespace, id: id})
USING INDEX SEEK state:State(namespace, id)
WITH state LIMIT $limit
SET state.namespace = $namespace // its lock: what a task writes after it just now is pending too
WITH collect(state) AS states
WITH states, COLLECT { UNWIND states AS state MATCH (state)<-[:STATE]-(thread:Thread) RETURN DISTINCT thread } AS threads,
     COLLECT { UNWIND states AS state MATCH (state)-[:PENDING]->(write) RETURN DISTINCT write } AS writes
FOREACH (write IN writes | DETACH DELETE write)
FOREACH (state IN states | DETACH DELETE state)
WITH states, threads
CALL (threads) {
  UNWIND threads AS thread
  WITH thread WHERE NOT EXISTS { (thread)-[:STATE]->() }
  DETACH DELETE thread
}
RETURN size(states) AS deleted;

// name: said-messages
// What needs the messages that deleted values said: a conversation, what is kept beside them, or another value; and which
// messages follow. `conversations` are empty where an earlier version has forgotten them, and left what it kept beside.
// Parameters: namespace, ids (of messages).
UNWIND $ids AS id
MATCH (message:Message {namespace: $namespace, id: id})
USING INDEX SEEK message:Message(namespace, id)
SET message.role = message.role // its lock, until the commit
RETURN id, coalesce(message.conversations, []) <> []
           OR EXISTS { (message)<-[:TIP|CONTAINS|SAYS|SOURCE]-() }
           OR (message.conversations IS NULL AND EXISTS { (message)-[:HAS]->() })
           OR EXISTS { (message)-[:HAS]->()-[:CONTAINS]->() } AS needed,
       head([(parent:Message)-[:NEXT]->(message) | parent.id]) AS parent,
       [(message)-[:NEXT]->(next:Message) | next.id] AS following;

// name: delete-messages
// Delete messages with what is theirs. Parameters: namespace, ids.
UNWIND $ids AS id
MATCH (message:Message {namespace: $namespace, id: id})
USING INDEX SEEK message:Message(namespace, id)
CALL (message) {
  MATCH (message)-[:PASSAGE|HAS]->(part)
  DETACH DELETE part
}
DETACH DELETE message;

// name: drop
// Delete some of the threads, states, values and pending writes of a namespace; run until nothing is left.
// Parameters: namespace, limit.
CALL () {
  MATCH (part:PendingWrite {namespace: $namespace}) WHERE part.id IS NOT NULL RETURN part
  UNION ALL
  MATCH (part:State {namespace: $namespace}) WHERE part.id IS NOT NULL RETURN part
  UNION ALL
  MATCH (part:ChannelValue {namespace: $namespace}) WHERE part.id IS NOT NULL RETURN part
  UNION ALL
  MATCH (part:Thread {namespace: $namespace}) WHERE part.id IS NOT NULL RETURN part
}
WITH part LIMIT $limit
DETACH DELETE part
RETURN count(part) AS deleted;
