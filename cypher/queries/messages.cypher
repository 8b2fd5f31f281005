// Conversations as an immutable message graph.
//
//   (:Conversation {namespace, name})-[:HEAD]->(:Version)       the version that was last written
//   (:Conversation)-[:VERSION]->(:Version {namespace, id, number, length})-[:TIP]->(:Message)
//   (:Version)-[:REPLACES {at}]->(:Version)                     an edit broke a prefix at this index
//   (:Message {namespace, id, body, role, content, sampled, seal})-[:NEXT]->(:Message)
//   (:Message)-[:HAS]->(:Metadata {namespace, id, body, model, length})-[:CONTAINS]->(:Message)
//   (:Message)-[:PASSAGE]->(:Passage {namespace, id, span, said})   characters `span` of it
//
// `body` is the canonical JSON whose hash the id is; role and content are there to be read. `sampled` is no part
// of it, so that a `seal` of its own goes with it; messages of earlier releases have none. CONTAINS leads to the
// last message of a subagent's conversation. Who writes to a conversation takes its write lock first, by setting
// a property, and only then reads what it relies on. (Setting it to what it is already writes nothing.) `vector_due` is of
// recall/set-embedder.

// name: create-conversation
// The conversation with an empty first version, unless it is there. Parameters: namespace, name, recalled, version.
MERGE (namespace:Namespace {name: $namespace})
  ON CREATE SET namespace.revision = 0, namespace.created_at = datetime(), namespace.parts_stored = true
MERGE (conversation:Conversation {namespace: $namespace, name: $name})
  ON CREATE SET conversation.created_at = datetime(), conversation.versions = 0, conversation.recalled = $recalled
SET conversation.operation = 0
WITH conversation
WHERE conversation.versions = 0
CREATE (version:Version {namespace: $namespace, id: $version, number: 1, length: 0, created_at: datetime(),
                         operations: []})
CREATE (conversation)-[:VERSION]->(version)
CREATE (conversation)-[:HEAD]->(version)
SET conversation.versions = 1;

// name: head
// The version that was last written. Parameters: namespace, name.
MATCH (:Conversation {namespace: $namespace, name: $name})-[:HEAD]->(version:Version)
OPTIONAL MATCH (version)-[:TIP]->(tip:Message)
OPTIONAL MATCH (version)-[replaces:REPLACES]->(older:Version)
RETURN version.id AS id, version.number AS number, coalesce(tip.id, '') AS tip, version.length AS length,
       older.number AS replaces, replaces.at AS at, EXISTS { (version)<-[:REPLACES]-(:Version) } AS replaced,
       coalesce(version.framed, false) AS framed;

// name: versions
// Every version by its number. Parameters: namespace, name.
MATCH (:Conversation {namespace: $namespace, name: $name})-[:VERSION]->(version:Version)
OPTIONAL MATCH (version)-[:TIP]->(tip:Message)
OPTIONAL MATCH (version)-[replaces:REPLACES]->(older:Version)
RETURN version.id AS id, version.number AS number, coalesce(tip.id, '') AS tip, version.length AS length,
       older.number AS replaces, replaces.at AS at, EXISTS { (version)<-[:REPLACES]-(:Version) } AS replaced,
       coalesce(version.framed, false) AS framed
ORDER BY number;

// name: version
// One version by its id. Parameters: namespace, id.
MATCH (version:Version {namespace: $namespace, id: $id})
OPTIONAL MATCH (version)-[:TIP]->(tip:Message)
OPTIONAL MATCH (version)-[replaces:REPLACES]->(older:Version)
RETURN version.id AS id, version.number AS number, coalesce(tip.id, '') AS tip, version.length AS length,
       older.number AS replaces, replaces.at AS at, EXISTS { (version)<-[:REPLACES]-(:Version) } AS replaced,
       coalesce(version.framed, false) AS framed;

// name: conversations
// The conversations of a namespace after a name, in the order of their names, whose name has a text in it, whatever the
// case, each with the version that was last written. Parameters: namespace, after, containing, limit.
MATCH (conversation:Conversation {namespace: $namespace})
USING INDEX SEEK conversation:Conversation(namespace, name)
WHERE conversation.name > $after AND toLower(conversation.name) CONTAINS toLower($containing)
  AND EXISTS { (conversation)-[:HEAD]->(:Version) }
WITH conversation ORDER BY conversation.namespace, conversation.name LIMIT $limit
MATCH (conversation)-[:HEAD]->(version:Version)
RETURN conversation.name AS name, conversation.versions AS versions, version.number AS version,
       version.length AS messages
ORDER BY name;

// name: count-conversations
// How many those are. Parameters: namespace, after, containing.
MATCH (conversation:Conversation {namespace: $namespace})
WHERE conversation.name > $after AND toLower(conversation.name) CONTAINS toLower($containing)
  AND EXISTS { (conversation)-[:HEAD]->(:Version) }
RETURN count(conversation) AS conversations;

// name: path
// The messages of a version from its last back to its first, as two lists: one record costs a third of a record
// for each message. The ids are left out, because they follow from the bodies. Parameters: namespace, id.
MATCH (tip:Message {namespace: $namespace, id: $id})
MATCH path = (tip)<-[:NEXT*0..]-(first:Message)
WHERE NOT EXISTS { (first)<-[:NEXT]-(:Message) }
WITH nodes(path) AS messages
RETURN [message IN messages | message.body] AS bodies, [message IN messages | message.sampled] AS sampled;

// name: said-behind
// What stands behind a message, from the tip of a version back: the bodies, and when each was said. Parameters: namespace,
// tip, parent (`` for all of it).
MATCH (tip:Message {namespace: $namespace, id: $tip})
MATCH path = (tip) (()<-[:NEXT]-(before WHERE before.id <> $parent))* (first)
WHERE NOT EXISTS { (first)<-[:NEXT]-(parent:Message) WHERE parent.id <> $parent }
UNWIND nodes(path) AS message
WITH message
WHERE message.said_at IS :: ZONED DATETIME
RETURN message.body AS body, message.said_at AS at;

// name: newest-tips
// The last messages of the newest versions of a conversation, the newest first. Parameters: namespace, name, limit.
MATCH (conversation:Conversation {namespace: $namespace, name: $name})-[:VERSION]->(version:Version)-[:TIP]->(tip:Message)
RETURN tip.id AS tip ORDER BY version.number DESC LIMIT $limit;

// name: audit
// The same with all that is stored of each message, to be checked. Parameters: namespace, id.
MATCH (tip:Message {namespace: $namespace, id: $id})
MATCH path = (tip)<-[:NEXT*0..]-(first:Message)
WHERE NOT EXISTS { (first)<-[:NEXT]-(:Message) }
RETURN [message IN nodes(path) | [message.id, message.body, message.role, message.content, message.sampled,
        message.seal, COLLECT { MATCH (message)-[:HAS]->(metadata:Metadata) RETURN [metadata.id, metadata.body] }]] AS messages;

// name: write-messages
// Messages that follow one another, as far as they are not there yet. A message that was sampled once stays
// sampled; `sampled` are those. One that is there already is found in this conversation too, also if
// recall did not find it before; its passages, where it is new or new in this conversation. The prompt of a system is in
// every conversation: its index has a word for each of the first `max_named`, and then one word for all that follow, so that
// its passages are written anew no more. Parameters: namespace, conversations, home, conversation_token, shared_token,
// max_named, and rows [{id, parent, sampled, seal, body, role, labels, content, at, said, said_parts, passages, speaker,
// namespace_token}]; `said`, `passages` and `conversations` are null where recall shall not find them. A passage is a
// list, which the driver sends faster than a map: its id, where it begins and ends, said, said_parts.
OPTIONAL MATCH (namespace:Namespace {name: $namespace}) // given
WITH namespace.embedder AS embedder // given
UNWIND $rows AS row // given
MERGE (message:Message {namespace: $namespace, id: row.id})
  ON CREATE SET message:$(row.labels), message.body = row.body, message.role = row.role, message.content = row.content,
                message.sampled = row.sampled, message.seal = row.seal, message.created_at = datetime(),
                message.said = row.said, message.said_parts = row.said_parts, message.said_at = row.at,
                message.conversations = $conversations,
                message.speaker = row.speaker, message.home = $home,
                message.namespace_token = row.namespace_token,
                message.passages = size(row.passages)
  ON MATCH SET message.seal = CASE WHEN row.sampled THEN row.seal ELSE message.seal END,
               message.sampled = message.sampled OR row.sampled,
               message.said = coalesce(message.said, row.said),
               message.said_parts = coalesce(message.said_parts, row.said_parts),
               message.said_at = coalesce(message.said_at, row.at),
               message.speaker = coalesce(message.speaker, row.speaker),
               message.passages = coalesce(message.passages, size(row.passages)),
               message.home = CASE WHEN message.conversations IS NULL THEN $home
                                   WHEN all(name IN coalesce($conversations, []) WHERE name IN message.conversations)
                                   THEN message.home ELSE '' END,
               message.namespace_token =
                 CASE WHEN message.conversations IS NULL THEN row.namespace_token
                      WHEN all(name IN coalesce($conversations, []) WHERE name IN message.conversations)
                      THEN message.namespace_token
                      WHEN size(message.conversations) < $max_named THEN message.namespace_token + ' ' + $conversation_token
                      WHEN message.namespace_token CONTAINS $shared_token THEN message.namespace_token
                      ELSE message.namespace_token + ' ' + $shared_token END,
               message.conversations =
                 CASE WHEN message.conversations IS NULL THEN $conversations
                      ELSE message.conversations + [name IN coalesce($conversations, [])
                                                    WHERE NOT name IN message.conversations] END
SET message.vector_due = CASE WHEN message.said IS NULL OR message.embedding_model = embedder THEN null ELSE embedder END
FOREACH (sampled IN CASE WHEN row.sampled THEN [message] ELSE [] END | REMOVE sampled:OffPolicyMessage)
FOREACH (passage IN CASE
    WHEN row.passages IS NULL OR row.passages = [] THEN []
    WHEN EXISTS { (message)-[:PASSAGE]->(:Passage {namespace_token: message.namespace_token}) } THEN []
    ELSE row.passages END |
  MERGE (part:Passage {namespace: $namespace, id: passage[0]})
    ON CREATE SET part.span = [passage[1], passage[2]], part.said = passage[3], part.said_parts = passage[4],
                  part.vector_due = embedder
  SET part.namespace_token = message.namespace_token, part.home = message.home
  MERGE (message)-[:PASSAGE]->(part))
WITH row, message
OPTIONAL MATCH (parent:Message {namespace: $namespace, id: row.parent})
USING INDEX SEEK parent:Message(namespace, id)
FOREACH (parent IN CASE WHEN parent IS NULL THEN [] ELSE [parent] END | MERGE (parent)-[:NEXT]->(message))
RETURN collect(CASE WHEN message.sampled THEN message.id END) AS sampled;

// name: mark-sampled
// A model gave these messages as answers to what stands before them. Parameters: namespace, rows [{id, seal}].
UNWIND $rows AS row
MATCH (message:Message {namespace: $namespace, id: row.id})
USING INDEX SEEK message:Message(namespace, id)
SET message.sampled = true, message.seal = row.seal
REMOVE message:OffPolicyMessage;

// name: roles-page
// Who said a message, and whether a model gave it there, a page by id. Parameters: namespace, after, limit.
MATCH (message:Message {namespace: $namespace})
USING INDEX SEEK message:Message(namespace, id)
WHERE message.id > $after
WITH message ORDER BY message.namespace, message.id LIMIT $limit
RETURN message.id AS id, message.role AS role, coalesce(message.sampled, false) AS sampled
ORDER BY message.namespace, id;

// name: set-labels
// Give messages the labels of their roles. Parameters: namespace, rows [{id, labels}].
UNWIND $rows AS row
MATCH (message:Message {namespace: $namespace, id: row.id})
USING INDEX SEEK message:Message(namespace, id)
SET message:$(row.labels);

// name: find-passages-as-messages
// Have a page of passages, by id, be found by the words of their messages. Returns the last id. Parameters: namespace, after,
// limit.
MATCH (passage:Passage {namespace: $namespace})
USING INDEX SEEK passage:Passage(namespace, id)
WHERE passage.id > $after
WITH passage ORDER BY passage.namespace, passage.id LIMIT $limit
OPTIONAL MATCH (passage)<-[:PASSAGE]-(message:Message)
FOREACH (lost IN CASE WHEN passage.namespace_token <> message.namespace_token THEN [passage] ELSE [] END |
  SET lost.namespace_token = message.namespace_token)
RETURN max(passage.id) AS last;

// name: append-message
// Put one new message behind the tip of the version that was last written, which is what happens most: this is
// change-version without all that then need not be asked, and saves a third of what that costs beyond a bare
// write. Nothing is done, and nothing returned, where the version is another (one that was replaced always is),
// its tip has moved, or the message is stored already: change-version goes on from there. Who looks for the message waits for
// who stores it just now, as the index of a constraint is locked by a query that writes. The message remembers the
// operation, by which change-version knows what was applied already. Parameters: namespace, name, operation, version, length,
// conversations, home, and the row as above: id, parent (the tip), sampled, seal, body, role, labels, content, at, said,
// said_parts, passages, speaker, namespace_token.
MATCH (conversation:Conversation {namespace: $namespace, name: $name})
SET conversation.operation = 0
WITH conversation
MATCH (conversation)-[:HEAD]->(version {id: $version})-[pointer:TIP]->(tip {id: $parent})
WHERE NOT EXISTS { MATCH (:Message {namespace: $namespace, id: $id}) }
OPTIONAL MATCH (namespace:Namespace {name: $namespace})
DELETE pointer
CREATE (tip)-[:NEXT]->(message:Message:$($labels) {namespace: $namespace, id: $id, body: $body, role: $role,
                                        content: $content, sampled: $sampled, seal: $seal,
                                        created_at: datetime(), operation: $operation, said: $said, said_parts: $said_parts,
                                        said_at: $at, speaker: $speaker,
                                        conversations: $conversations, home: $home,
                                        namespace_token: $namespace_token,
                                        vector_due: CASE WHEN $said IS NOT NULL THEN namespace.embedder END,
                                        passages: size($passages)})<-[:TIP]-(version)
FOREACH (passage IN coalesce($passages, []) |
  CREATE (message)-[:PASSAGE]->(:Passage {namespace: $namespace, id: passage[0], span: [passage[1], passage[2]],
                                          said: passage[3], said_parts: passage[4],
                                          vector_due: namespace.embedder,
                                          namespace_token: message.namespace_token}))
SET version.length = $length
RETURN version.number AS number, CASE WHEN message.sampled THEN [message.id] ELSE [] END AS sampled;

// name: change-version
// Move the tip of a version behind new messages; what was edited away stays in the graph. Nothing is done if
// the version was changed or replaced since `tip` was read (`fits` is false), or if this operation was
// already applied. Parameters: namespace, name, operation, version, tip, new_tip, length, conversations,
// home, conversation_token, shared_token, max_named, rows (as above).
MATCH (conversation:Conversation {namespace: $namespace, name: $name})
SET conversation.operation = 0
WITH conversation
MATCH (version:Version {namespace: $namespace, id: $version})
OPTIONAL MATCH (version)-[pointer:TIP]->(tip:Message)
WITH conversation, version, pointer, EXISTS { (version)<-[:REPLACES]-(:Version) } AS replaced,
     coalesce(tip.id, '') = $tip AS unchanged,
     $operation IN version.operations
       OR EXISTS { MATCH (:Message {namespace: $namespace, id: $new_tip, operation: $operation}) } AS applied
WITH conversation, version, pointer, replaced, applied OR (unchanged AND NOT replaced) AS fits,
     unchanged AND NOT replaced AND NOT applied AS writes
CALL (fits) {
  OPTIONAL MATCH (namespace:Namespace {name: $namespace})
  WITH fits, namespace.embedder AS embedder
  UNWIND CASE WHEN fits THEN $rows ELSE [] END AS row
  RETURN [] AS sampled // include: messages/write-messages
}
CALL (conversation, version, pointer, writes) {
  WITH conversation, version, pointer, writes
  WHERE writes
  DELETE pointer
  WITH conversation, version
  OPTIONAL MATCH (tip:Message {namespace: $namespace, id: $new_tip})
  USING INDEX SEEK tip:Message(namespace, id)
  FOREACH (tip IN CASE WHEN tip IS NULL THEN [] ELSE [tip] END | CREATE (version)-[:TIP]->(tip))
  SET version.length = $length, version.operations = version.operations[-31..] + [$operation]
  WITH conversation, version
  WHERE NOT EXISTS { (conversation)-[:HEAD]->(version) }
  OPTIONAL MATCH (conversation)-[head:HEAD]->(:Version)
  DELETE head
  CREATE (conversation)-[:HEAD]->(version)
  RETURN count(*) AS moved
}
RETURN fits, replaced, version.number AS number, sampled;

// name: replace-version
// A new version in the place of another, with the same tip for now; change-version then moves it. Nothing is
// done if the old one was changed or replaced since `tip` was read (`fits` is false), or if the new one is
// there already. Parameters: namespace, name, version, tip, new_version, at.
MATCH (conversation:Conversation {namespace: $namespace, name: $name})
SET conversation.operation = 0
WITH conversation
MATCH (version:Version {namespace: $namespace, id: $version})
OPTIONAL MATCH (version)-[:TIP]->(tip:Message)
OPTIONAL MATCH (made:Version {namespace: $namespace, id: $new_version})
WITH conversation, version, tip, made, EXISTS { (version)<-[:REPLACES]-(:Version) } AS replaced,
     coalesce(tip.id, '') = $tip AS unchanged
CALL (conversation, version, tip, made, replaced, unchanged) {
  WITH conversation, version, tip
  WHERE made IS NULL AND unchanged AND NOT replaced
  SET conversation.versions = conversation.versions + 1
  CREATE (new:Version {namespace: $namespace, id: $new_version, number: conversation.versions,
                       length: version.length, created_at: datetime(), operations: []})
  CREATE (conversation)-[:VERSION]->(new)
  CREATE (new)-[:REPLACES {at: $at}]->(version)
  CREATE (new)-[:TIP]->(tip)
  RETURN count(*) AS created
}
RETURN made IS NOT NULL OR created > 0 AS fits, replaced, version.number AS number;

// name: frame-version
// Say that an adapter of a framework writes a version. Parameters: namespace, version.
MATCH (version:Version {namespace: $namespace, id: $version})
SET version.framed = true;

// name: branch-version
// A new version that ends with a stored message and replaces nothing. Parameters: namespace, name, version,
// tip, length.
MATCH (conversation:Conversation {namespace: $namespace, name: $name})
SET conversation.operation = 0
WITH conversation
WHERE NOT EXISTS { MATCH (:Version {namespace: $namespace, id: $version}) }
MATCH (conversation)-[head:HEAD]->(:Version)
DELETE head
SET conversation.versions = conversation.versions + 1
CREATE (version:Version {namespace: $namespace, id: $version, number: conversation.versions, length: $length,
                         created_at: datetime(), operations: []})
CREATE (conversation)-[:VERSION]->(version)
CREATE (conversation)-[:HEAD]->(version)
WITH version
MATCH (tip:Message {namespace: $namespace, id: $tip})
CREATE (version)-[:TIP]->(tip);

// name: find-place
// Where a path of messages belongs, under the write lock of its conversation, which is created if it is not
// there: the last of them that is `stored` as one of this conversation, the version that holds all of them, or else the
// longest version that they continue, or else a new one. What an adapter writes (`framed`) is not continued: it adds the
// same messages itself. The ids come from the last to the first, so that little is looked at where little is new; what is
// found first is only the quickest answer, and any answer loses nothing. Parameters: namespace, name, recalled, ids, tip,
// new_version.
MERGE (namespace:Namespace {name: $namespace})
  ON CREATE SET namespace.revision = 0, namespace.created_at = datetime(), namespace.parts_stored = true
MERGE (conversation:Conversation {namespace: $namespace, name: $name})
  ON CREATE SET conversation.created_at = datetime(), conversation.versions = 0, conversation.recalled = $recalled
SET conversation.operation = 0
WITH conversation
CALL () {
  UNWIND $ids AS id
  MATCH (message:Message {namespace: $namespace, id: id})
  USING INDEX SEEK message:Message(namespace, id)
  WHERE $name IN message.conversations OR $recalled = false
  WITH id, message LIMIT 1
  SET message.role = message.role // its lock: a conversation that has it, or had this name, may be forgotten just now
  WITH id, message
  WHERE $name IN message.conversations OR $recalled = false
  RETURN collect(id) AS stored
}
CALL (conversation) {
  MATCH (last:Message {namespace: $namespace, id: $tip})-[:NEXT*0..]->(:Message)<-[:TIP]-(version:Version)
  USING INDEX SEEK last:Message(namespace, id)
  WHERE EXISTS { (conversation)-[:VERSION]->(version) }
  WITH version LIMIT 1
  RETURN collect(version) AS holding
}
CALL (conversation, holding) {
  UNWIND CASE WHEN holding = [] THEN $ids ELSE [] END AS id
  MATCH (message:Message {namespace: $namespace, id: id})<-[:TIP]-(version:Version)<-[:VERSION]-(conversation)
  USING INDEX SEEK message:Message(namespace, id)
  WHERE version.framed IS NULL AND NOT EXISTS { (version)<-[:REPLACES]-(:Version) }
  WITH version LIMIT 1
  RETURN collect(version) AS continued
}
CALL (conversation, holding, continued) {
  WITH conversation, holding, continued
  WHERE holding = [] AND continued = []
  MATCH (conversation)-[:VERSION]->(version:Version)
  WHERE version.framed IS NULL
    AND NOT EXISTS { (version)-[:TIP]->(:Message) } AND NOT EXISTS { (version)<-[:REPLACES]-(:Version) }
  WITH version LIMIT 1
  RETURN collect(version) AS empty
}
CALL (conversation, holding, continued, empty) {
  WITH conversation, holding, continued, empty
  WHERE holding = [] AND continued = [] AND empty = []
  SET conversation.versions = conversation.versions + 1
  CREATE (version:Version {namespace: $namespace, id: $new_version, number: conversation.versions, length: 0,
                           created_at: datetime(), operations: []})
  CREATE (conversation)-[:VERSION]->(version)
  RETURN collect(version) AS made
}
WITH stored, holding <> [] AS holds, head(holding + continued + empty + made) AS version
OPTIONAL MATCH (version)-[:TIP]->(tip:Message)
OPTIONAL MATCH (version)-[replaces:REPLACES]->(older:Version)
RETURN head(stored) AS stored, holds, version.id AS id, version.number AS number, coalesce(tip.id, '') AS tip,
       version.length AS length, older.number AS replaces, replaces.at AS at,
       EXISTS { (version)<-[:REPLACES]-(:Version) } AS replaced, coalesce(version.framed, false) AS framed;

// name: attach
// Keep metadata beside messages, with the conversation of a subagent inside it; a `response` can be found by the
// endpoint's id of it. What is there already becomes the last one if it is attached `again`, and else stays where it is.
// Parameters: namespace, again, rows [{id, message, body, model, length, properties, subgraph, response, place}];
// `properties` are what its answer cost, and `place` is the number of the row, since all have one time.
UNWIND $rows AS row
MATCH (message:Message {namespace: $namespace, id: row.message})
USING INDEX SEEK message:Message(namespace, id)
MERGE (metadata:Metadata {namespace: $namespace, id: row.id})
  ON CREATE SET metadata.body = row.body, metadata.model = row.model, metadata.length = row.length,
                metadata.at = datetime() + duration({nanoseconds: row.place})
  ON MATCH SET metadata.at = CASE WHEN $again THEN datetime() + duration({nanoseconds: row.place}) ELSE metadata.at END
SET metadata += row.properties
SET metadata.response = coalesce(row.response, metadata.response)
MERGE (message)-[:HAS]->(metadata)
WITH row, metadata
MATCH (subgraph:Message {namespace: $namespace, id: row.subgraph})
USING INDEX SEEK subgraph:Message(namespace, id)
MERGE (metadata)-[:CONTAINS]->(subgraph);

// name: attachments
// What is kept beside messages, in the order in which it was stored. Parameters: namespace, ids.
UNWIND $ids AS id
MATCH (message:Message {namespace: $namespace, id: id})-[:HAS]->(metadata:Metadata)
RETURN message.id AS message, metadata.body AS body, toString(metadata.at) AS at
ORDER BY metadata.at;

// name: times
// When messages were stored, of those of which it is known. Parameters: namespace, ids.
UNWIND $ids AS id
MATCH (message:Message {namespace: $namespace, id: id})
WITH message, coalesce(message.said_at, message.created_at) AS at
WHERE at IS NOT NULL
RETURN message.id AS id, toString(at) AS at;

// name: metadata-page
// Metadata as it was stored, a page by id. Parameters: namespace, after, limit.
MATCH (metadata:Metadata {namespace: $namespace})
USING INDEX SEEK metadata:Metadata(namespace, id)
WHERE metadata.id > $after
WITH metadata ORDER BY metadata.namespace, metadata.id LIMIT $limit
RETURN metadata.id AS id, metadata.body AS body
ORDER BY metadata.namespace, id;

// name: set-metadata
// Add what answers cost to the Metadata beside them. Parameters: namespace, rows [{id, properties}].
UNWIND $rows AS row
MATCH (metadata:Metadata {namespace: $namespace, id: row.id})
USING INDEX SEEK metadata:Metadata(namespace, id)
SET metadata += row.properties;

// name: costs
// The calls, tokens and seconds of each model. Several answers of one call share its tokens, so a call counts once; the
// `unmeasured` came without tokens. Parameters: namespace.
MATCH (metadata:Metadata {namespace: $namespace})
WHERE metadata.id IS NOT NULL AND metadata.model IS NOT NULL
      AND coalesce(metadata.latency_s, metadata.output_tokens) IS NOT NULL
WITH metadata.model AS model, coalesce(metadata.call, metadata.id) AS call, max(metadata.input_tokens) AS given,
     max(metadata.cached_tokens) AS cached, max(metadata.output_tokens) AS answered, max(metadata.latency_s) AS seconds
RETURN model, count(*) AS calls, sum(given) AS input_tokens, sum(cached) AS cached_tokens,
       sum(answered) AS output_tokens, round(sum(seconds), 3) AS latency_s,
       sum(CASE WHEN answered IS NULL THEN 1 ELSE 0 END) AS unmeasured
ORDER BY model;

// name: drop-conversations
// Delete some of the conversations, messages, passages and metadata of a namespace; run until nothing is left.
// Parameters: namespace, limit.
CALL () {
  MATCH (part:Forgetting {namespace: $namespace}) WHERE part.id IS NOT NULL RETURN part
  UNION ALL
  MATCH (part:Conversation {namespace: $namespace}) WHERE part.name IS NOT NULL RETURN part
  UNION ALL
  MATCH (part:Version {namespace: $namespace}) WHERE part.id IS NOT NULL RETURN part
  UNION ALL
  MATCH (part:Message {namespace: $namespace}) WHERE part.id IS NOT NULL RETURN part
  UNION ALL
  MATCH (part:Metadata {namespace: $namespace}) WHERE part.id IS NOT NULL RETURN part
  UNION ALL
  MATCH (part:Passage {namespace: $namespace}) WHERE part.id IS NOT NULL RETURN part
}
WITH part LIMIT $limit
DETACH DELETE part
RETURN count(part) AS deleted;
