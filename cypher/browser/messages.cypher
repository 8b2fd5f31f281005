// Saved queries for Neo4j Browser: conversations. `memorygraph browser conversations` opens Browser with one of them,
// with `-p name=value` for what it needs; pasted into Browser, it takes them from `:param name => value`.

// name: conversations
// Every conversation of a namespace with its versions, and what each of them replaced. Parameters: namespace.
MATCH (conversation:Conversation {namespace: $namespace})-[has:VERSION]->(version:Version)
USING INDEX conversation:Conversation(namespace, name)
WHERE conversation.name IS NOT NULL
OPTIONAL MATCH (version)-[replaces:REPLACES]->(older:Version)
RETURN conversation, has, version, replaces, older
LIMIT 300;

// name: conversation-versions
// The versions of one conversation, what each of them replaced and at which index, and the last message of
// each. Parameters: namespace, name.
MATCH (conversation:Conversation {namespace: $namespace, name: $name})-[has:VERSION]->(version:Version)
OPTIONAL MATCH (version)-[at:TIP]->(tip:Message)
OPTIONAL MATCH (version)-[replaces:REPLACES]->(older:Version)
RETURN conversation, has, version, at, tip, replaces, older
ORDER BY version.number;

// name: conversation-messages
// All messages of all versions of one conversation, as the tree that they are. Parameters: namespace, name.
MATCH (:Conversation {namespace: $namespace, name: $name})-[:VERSION]->(:Version)-[:TIP]->(tip:Message)
MATCH path = (tip)<-[:NEXT*0..]-(first:Message)
WHERE NOT EXISTS { (first)<-[:NEXT]-(:Message) }
RETURN path;

// name: where-two-versions-part
// The last message that two versions have in common, and the ways that they go from there. Parameters:
// namespace, name, a, b (the numbers of the versions).
MATCH (conversation:Conversation {namespace: $namespace, name: $name})
MATCH (conversation)-[:VERSION]->(:Version {number: $a})-[:TIP]->(tip_a:Message)
MATCH (conversation)-[:VERSION]->(:Version {number: $b})-[:TIP]->(tip_b:Message)
MATCH way_a = (tip_a)<-[:NEXT*0..]-(fork:Message)
WHERE EXISTS { (fork)-[:NEXT*0..]->(tip_b) }
WITH tip_b, way_a, fork ORDER BY length(way_a) LIMIT 1
MATCH way_b = (tip_b)<-[:NEXT*0..]-(fork)
RETURN fork, way_a, way_b;

// name: messages-of-a-model
// The messages that came from one model, with what is kept beside them. Parameters: namespace, model.
MATCH (message:Message {namespace: $namespace})-[has:HAS]->(metadata:Metadata)
USING INDEX message:Message(namespace, id)
WHERE message.id IS NOT NULL AND message.sampled AND metadata.model = $model
RETURN message, has, metadata
LIMIT 300;

// name: models-of-a-conversation
// How many of a conversation's messages came from which model. Parameters: namespace, name.
MATCH (:Conversation {namespace: $namespace, name: $name})-[:VERSION]->(:Version)-[:TIP]->(tip:Message)
MATCH (tip)<-[:NEXT*0..]-(message:Message)-[:HAS]->(metadata:Metadata)
WHERE message.sampled
RETURN metadata.model AS model, count(DISTINCT message) AS messages
ORDER BY messages DESC;

// name: subagents-of-a-conversation
// The tool responses that hold the conversation of a subagent, with that conversation inside. Parameters:
// namespace, name.
MATCH (:Conversation {namespace: $namespace, name: $name})-[:VERSION]->(:Version)-[:TIP]->(tip:Message)
MATCH (tip)<-[:NEXT*0..]-(response:Message)-[has:HAS]->(metadata:Metadata)-[contains:CONTAINS]->(last:Message)
MATCH inside = (last)<-[:NEXT*0..]-(first:Message)
WHERE NOT EXISTS { (first)<-[:NEXT]-(:Message) }
RETURN DISTINCT response, has, metadata, contains, inside;

// name: cost-by-model
// The calls, tokens and seconds of each model; a call with several answers counts once. With prices, in money:
// `memorygraph messages cost --prices FILE`. Parameters: namespace.
MATCH (metadata:Metadata {namespace: $namespace})
USING INDEX metadata:Metadata(namespace, id)
WHERE metadata.id IS NOT NULL AND metadata.model IS NOT NULL
      AND (metadata.latency_s IS NOT NULL OR metadata.output_tokens IS NOT NULL)
WITH metadata.model AS model, coalesce(metadata.call, metadata.id) AS call, max(metadata.input_tokens) AS given,
     max(metadata.output_tokens) AS answered, max(metadata.latency_s) AS seconds
RETURN model, count(*) AS calls, sum(given) AS input_tokens, sum(answered) AS output_tokens,
       round(sum(seconds), 3) AS latency_s, round(avg(seconds), 3) AS latency_s_of_a_call
ORDER BY output_tokens DESC;

// name: answers-cut-off
// The answers that ended before the model was done, by a limit of tokens, by a filter, or because the stream broke; of a
// broken stream the message is the last one of its prompt. Parameters: namespace.
MATCH (message:Message {namespace: $namespace})-[has:HAS]->(metadata:Metadata)
USING INDEX message:Message(namespace, id)
WHERE message.id IS NOT NULL
      AND (metadata.finish_reason IN ['length', 'max_output_tokens', 'content_filter'] OR metadata.finished = false)
RETURN message, has, metadata
LIMIT 300;

// name: temperature-of-training-data
// At which temperatures the answers were sampled that training data is made of, by model. Parameters: namespace.
MATCH (message:Message {namespace: $namespace})-[:HAS]->(metadata:Metadata)
USING INDEX message:Message(namespace, id)
WHERE message.id IS NOT NULL AND message.sampled AND message.role = 'assistant'
RETURN metadata.temperature AS temperature, metadata.model AS model, count(DISTINCT message) AS answers
ORDER BY temperature, model;
