// Threads of agents and their states. The id of a state begins with those of its thread and of the graph inside it, and
// ends with its own, which grows: so the index is also the order of a thread's states. A value of a channel is named by the
// hash of what it is and of the value that it extends, so that the states of a thread share what they have in common.

CREATE CONSTRAINT thread_id IF NOT EXISTS
FOR (thread:Thread) REQUIRE (thread.namespace, thread.id) IS UNIQUE;

CREATE CONSTRAINT state_id IF NOT EXISTS
FOR (state:State) REQUIRE (state.namespace, state.id) IS UNIQUE;

CREATE CONSTRAINT channel_value_id IF NOT EXISTS
FOR (value:ChannelValue) REQUIRE (value.namespace, value.id) IS UNIQUE;

CREATE CONSTRAINT pending_write_id IF NOT EXISTS
FOR (write:PendingWrite) REQUIRE (write.namespace, write.id) IS UNIQUE;

// States are deleted by the run that made them.

CREATE INDEX state_run IF NOT EXISTS
FOR (state:State) ON (state.namespace, state.run);
