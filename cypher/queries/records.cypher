// Recorded calls of models. What is known of an answer is a Metadata beside its message (messages.cypher); the
// id that an endpoint gave to a response is kept there as `response`, because a later call may continue it.

// name: find-response
// The message that a response ended with, and what was kept beside it; the newest, because the ids of small
// endpoints begin anew when they are started anew. Parameters: namespace, response.
MATCH (metadata:Metadata {namespace: $namespace, response: $response})<-[:HAS]-(message:Message)
USING INDEX SEEK metadata:Metadata(namespace, response)
RETURN message.id AS message, metadata.body AS body
ORDER BY metadata.at DESC
LIMIT 1;

// name: find-conversation
// The conversation in which a model's answer was recorded, by the first of these messages that is one; of several, the
// one that got it last. Parameters: namespace, ids (the last message of a prompt first).
UNWIND range(0, size($ids) - 1) AS place
MATCH (message:Message {namespace: $namespace, id: $ids[place]})
USING INDEX SEEK message:Message(namespace, id)
WHERE message.sampled AND size(message.conversations) > 0
RETURN message.conversations[-1] AS conversation
ORDER BY place
LIMIT 1;

// name: database-id
// The identity of this database, which stays when its address changes. Parameters: none.
CALL db.info() YIELD id
RETURN id;
