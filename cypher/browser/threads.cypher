// Saved queries for Neo4j Browser: threads of agents. `memorygraph browser threads` opens Browser with one of them, with
// `-p name=value` for what it needs; pasted into Browser, it takes them from `:param name => value`.

// name: threads
// The threads of a namespace, each with its last state. Parameters: namespace.
MATCH (thread:Thread {namespace: $namespace})
WHERE thread.id IS NOT NULL
WITH thread LIMIT 100
CALL (thread) {
  MATCH (thread)-[has:STATE]->(state:State)
  WHERE state.body IS NOT NULL
  RETURN has, state ORDER BY state.checkpoint DESC LIMIT 1
}
RETURN thread, has, state;

// name: thread-with-forks
// A thread as the tree of its states: where two states have one parent, it was forked. Parameters: namespace, thread.
MATCH (thread:Thread {namespace: $namespace, id: $thread})-[has:STATE]->(state:State)
WHERE state.body IS NOT NULL
OPTIONAL MATCH (state)-[came_from:PARENT]->(parent:State)
RETURN thread, has, state, came_from, parent
ORDER BY state.id
LIMIT 300;

// name: state-of-a-thread
// What one step of a thread holds, with its messages, and what is pending after it. Parameters: namespace, thread,
// checkpoint (its id, which ends that of the state).
MATCH (thread:Thread {namespace: $namespace, id: $thread})-[has:STATE]->(state:State {checkpoint: $checkpoint})
OPTIONAL MATCH (state)-[pending:PENDING]->(write:PendingWrite)
OPTIONAL MATCH (state)-[holds:HOLDS]->(value:ChannelValue)
OPTIONAL MATCH (value)-[says:SAYS]->(last:Message)
OPTIONAL MATCH messages = (last)<-[:NEXT*0..]-(first:Message)
WHERE NOT EXISTS { (first)<-[:NEXT]-(:Message) }
RETURN thread, has, state, pending, write, holds, value, says, messages;

// name: steps-that-held-a-message
// The steps of threads in which this message was among what they held. Parameters: namespace, id (of the message).
MATCH (message:Message {namespace: $namespace, id: $id})<-[:SAYS]-(said:ChannelValue)
MATCH (said)<-[:EXTENDS*0..]-(value:ChannelValue)<-[holds:HOLDS]-(state:State)
RETURN message, value, holds, state
LIMIT 300;
