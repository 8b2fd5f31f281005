// What recall asks, and what it needs to be stored beforehand.

// name: recall
// All that one recall needs, ranked. Five lists are fused, messages and nodes by words and by vectors, and nodes by what
// they are called beside their names (Alias): the entry at place p of one adds 1 / (constant + p) to what it names. From
// there a part of the score goes on, as rank-hits says. `constant` and the weights are explained in
// memorygraph.memory.recall. What can be null, or a list without texts, is part of a map: Neo4j plans a query anew for each
// type of a parameter, which of this one takes a second or more. Parameters: those of search-words, search-vectors and
// rank-hits, namespace, constant: message_searches, alias_terms, node_searches, vectors, model, depth, message_depth, roles,
// wish, least, near, far, edge, learnt, fan, kinds, limit, owners, filters.
CYPHER 25
CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()
CALL () {
  CALL () {
    RETURN [] AS list, '' AS source, '' AS index // include: recall/search-words
    UNION ALL
    RETURN [] AS list, '' AS source, '' AS index // include: recall/search-vectors
  }
  UNWIND range(0, size(list) - 1) AS place
  WITH list[place][0] AS hit, list[place][1] AS best, source, index, 1.0 / ($constant + place + 1) AS score
  WITH hit, source, index, head(collect(best)) AS best, max(score) AS score
  RETURN hit, sum(score) AS score, {names: collect(DISTINCT source), best: head(collect(best))} AS sources
}
RETURN hit.id AS id, hit:Message AS is_message, score, sources.names AS ways // include: recall/rank-hits
;

// name: recall-filtered
// The same with filters. What a filter leaves out can lead on to what fits: then each index is asked twice, for what fits,
// and for all there is as it would be without; what is in both lists counts once, by its better place. It is a query of its
// own because its searches by vectors take Neo4j as long to plan as all the rest. Parameters: those of recall, and of
// search-fitting-vectors: message_searches, alias_terms, node_searches, vectors, model, depth, message_depth, roles, wish,
// constant, least, near, far, edge, learnt, fan, kinds, limit, owners, filters, vector_filters, verb_depth, times,
// role_range, speaker_range, homes, namespace.
CYPHER 25
CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()
CALL () {
  CALL () {
    RETURN [] AS list, '' AS source, '' AS index // include: recall/search-words
    UNION ALL
    RETURN [] AS list, '' AS source, '' AS index // include: recall/search-fitting-vectors
  }
  UNWIND range(0, size(list) - 1) AS place
  WITH list[place][0] AS hit, list[place][1] AS best, source, index, 1.0 / ($constant + place + 1) AS score
  // The list of what fits is before that of all, and what fits has the better place in it.
  WITH hit, source, index, head(collect(best)) AS best, max(score) AS score
  RETURN hit, sum(score) AS score, {names: collect(DISTINCT source), best: head(collect(best))} AS sources
}
RETURN hit.id AS id, hit:Message AS is_message, score, sources.names AS ways // include: recall/rank-hits
;

// name: search-words
// The lists by words: of messages, of nodes, and of nodes by their aliases. A passage stands for its message: that counts by
// the best of its passages, and the place of it is returned. A message counts as much as its role does, and more where a
// user states a wish. A filter is a part of what an index is asked, so that its first entries fit; only of the verb, and of
// what an alias leads to, each entry is asked, until enough are found: of nodes the best first, and all of them, which the index
// collects before it gives one, only where too few of these fit. Of what very many conversations share, each entry is
// asked whether it is of the conversation. Parameters: namespace, message_searches [{conversation, searches [{terms,
// shared}]}], alias_terms (`terms` are Lucene queries made by memorygraph.memory.words), node_searches [{best (the `terms`
// of those that are asked first), terms, options, kind, verb}], depth, message_depth, roles (`weights`, one for each that
// counts more or less, and `wishes`, how those are worded), wish (how much they count).
CYPHER 25
UNWIND $message_searches AS asked
CALL (asked) {
  UNWIND asked.searches AS search
  CALL db.index.fulltext.queryNodes('message_text', search.terms,
                                     CASE WHEN search.shared THEN {} ELSE {limit: $message_depth} END)
  YIELD node, score
  WHERE score > 0 AND node.namespace = $namespace
  WITH CASE WHEN node:Passage THEN coalesce(head([(message:Message)-[:PASSAGE]->(node) | message]), node)
            ELSE node END AS message, node, score
  WITH message, max(score) AS score, head(collect(node)) AS best
  WHERE asked.conversation IS NULL OR asked.conversation IN message.conversations
  WITH message, best, score, message.role AS role
  // Read once: each CONTAINS of `message.content` would read it again.
  WITH message, best, score, role, CASE WHEN role = 'user' AND $roles.wishes <> [] THEN message.content END AS content
  WITH message, best, score * coalesce($roles.weights[role], 1.0)
                      * CASE WHEN any(wish IN $roles.wishes WHERE content CONTAINS wish) THEN $wish ELSE 1.0 END AS score
  WITH message, best ORDER BY score DESC, message.said_at DESC, message.id LIMIT $message_depth
  RETURN collect([message, best]) AS list
}
RETURN list, 'fulltext' AS source, 'message' AS index
UNION ALL
UNWIND $node_searches AS asked
CALL (asked) {
  WITH asked, 20 * $depth AS best_depth
  CALL (asked, best_depth) {
    WITH asked, best_depth WHERE asked.options.limit IS NULL
    CALL db.index.fulltext.queryNodes('node_text', asked.best, {limit: best_depth}) YIELD node, score
    WHERE score > 0 AND node.namespace = $namespace AND coalesce(node.kind = asked.kind, asked.kind IS NULL)
      AND CASE WHEN asked.verb IS NULL THEN true ELSE EXISTS { (node)-[:EDGE {verb: asked.verb}]-() } END
    WITH node LIMIT $depth
    RETURN count(node) AS fitting
  }
  CALL db.index.fulltext.queryNodes('node_text', CASE WHEN fitting = $depth THEN asked.best ELSE asked.terms END,
                                     CASE WHEN fitting = $depth THEN {limit: best_depth} ELSE asked.options END)
  YIELD node, score
  WHERE score > 0 AND node.namespace = $namespace AND coalesce(node.kind = asked.kind, asked.kind IS NULL)
    AND CASE WHEN asked.verb IS NULL THEN true ELSE EXISTS { (node)-[:EDGE {verb: asked.verb}]-() } END
  WITH node, score LIMIT $depth
  WITH node ORDER BY score DESC, node.id
  RETURN collect([node, node]) AS list
}
RETURN list, 'fulltext' AS source, 'node' AS index
UNION ALL
UNWIND $node_searches AS asked
CALL (asked) {
  CALL db.index.fulltext.queryNodes('alias_text', $alias_terms, asked.options) YIELD node AS alias, score
  WHERE score > 0 AND alias.namespace = $namespace
  MATCH (alias)-[:ALIAS_OF]->(node:Node)
  WHERE coalesce(node.kind = asked.kind, asked.kind IS NULL)
    AND CASE WHEN asked.verb IS NULL THEN true ELSE EXISTS { (node)-[:EDGE {verb: asked.verb}]-() } END
  WITH node, score LIMIT $depth
  WITH node, max(score) AS score
  WITH node ORDER BY score DESC, node.id
  RETURN collect([node, node]) AS list
}
RETURN list, 'fulltext' AS source, 'alias' AS index;

// name: search-vectors
// The lists by vectors, of messages and of nodes; without a vector there are none. Parameters: namespace, vectors (none, or
// one), model (`` without a vector), depth, roles (`near`, the weight of each for nearness).
CYPHER 25
UNWIND $vectors AS vector
CALL (vector) {
  MATCH (element)
  SEARCH element IN (VECTOR INDEX recall_vectors FOR vector
                     WHERE element.namespace = $namespace AND element.embedding_model = $model
                     LIMIT $depth) SCORE AS score
  WITH element, score ORDER BY score DESC, element.id
  WITH CASE WHEN element:Passage THEN coalesce(head([(message:Message)-[:PASSAGE]->(element) | message]), element)
            ELSE element END AS hit, element, score
  WITH hit, max(score) AS score, head(collect(element)) AS best
  WITH hit, best, score * CASE WHEN hit:Message THEN coalesce($roles.near[hit.role], 1.0) ELSE 1.0 END AS score
  WITH hit, best ORDER BY score DESC, hit.id
  RETURN collect([hit, best]) AS elements
}
UNWIND [[pair IN elements WHERE pair[0]:Message], [pair IN elements WHERE pair[0]:Node]] AS list
RETURN list, 'vector' AS source, 'vector' AS index;

// name: search-fitting-vectors
// The same with filters. Each condition of a vector index costs a pass over all that fulfil it, so each filter has a search
// of its own, and `messages` is for several. Of a verb the `verb_depth` nearest nodes are looked at: what was never said is
// a node. Parameters: namespace, vectors, model, depth, roles, and the filters as memorygraph.memory.filters makes them:
// filters (conversation, kind, verb), vector_filters, verb_depth, times, role_range, speaker_range, homes.
CYPHER 25
UNWIND $vectors AS vector
UNWIND $vector_filters AS fitting
CALL (vector, fitting) {
  CALL (vector, fitting) {
    WITH vector WHERE fitting = 'none'
    MATCH (element)
    SEARCH element IN (VECTOR INDEX recall_vectors FOR vector
                       WHERE element.namespace = $namespace AND element.embedding_model = $model
                       LIMIT $depth) SCORE AS score
    RETURN element, score
    UNION ALL
    WITH vector WHERE fitting = 'kind'
    MATCH (element)
    SEARCH element IN (VECTOR INDEX recall_vectors FOR vector
                       WHERE element.namespace = $namespace AND element.embedding_model = $model
                         AND element.kind = $filters.kind
                       LIMIT $depth) SCORE AS score
    RETURN element, score
    UNION ALL
    WITH vector WHERE fitting = 'time'
    MATCH (element)
    SEARCH element IN (VECTOR INDEX recall_vectors FOR vector
                       WHERE element.namespace = $namespace AND element.embedding_model = $model
                         AND element.said_at >= $times[0] AND element.said_at < $times[1]
                       LIMIT $depth) SCORE AS score
    RETURN element, score
    UNION ALL
    WITH vector WHERE fitting = 'role'
    MATCH (element)
    SEARCH element IN (VECTOR INDEX recall_vectors FOR vector
                       WHERE element.namespace = $namespace AND element.embedding_model = $model
                         AND element.role = $role_range[0]
                       LIMIT $depth) SCORE AS score
    RETURN element, score
    UNION ALL
    WITH vector WHERE fitting = 'speaker'
    MATCH (element)
    SEARCH element IN (VECTOR INDEX recall_vectors FOR vector
                       WHERE element.namespace = $namespace AND element.embedding_model = $model
                         AND element.speaker = $speaker_range[0]
                       LIMIT $depth) SCORE AS score
    RETURN element, score
    UNION ALL
    WITH vector WHERE fitting = 'verb'
    MATCH (element)
    SEARCH element IN (VECTOR INDEX recall_vectors FOR vector
                       WHERE element.namespace = $namespace AND element.embedding_model = $model
                         AND element.said_at IS NULL
                       LIMIT $verb_depth) SCORE AS score
    WHERE coalesce(element.kind = $filters.kind, $filters.kind IS NULL)
      AND COUNT { (element)-[:EDGE {verb: $filters.verb}]-() } > 0
    RETURN element, score LIMIT $depth
    UNION ALL
    UNWIND CASE WHEN fitting = 'conversation' THEN $homes ELSE [] END AS home
    CALL (vector, home) {
      MATCH (element)
      SEARCH element IN (VECTOR INDEX recall_vectors FOR vector
                         WHERE element.namespace = $namespace AND element.embedding_model = $model
                           AND element.home = home[0]
                         LIMIT $depth) SCORE AS score
      RETURN element, score
    }
    RETURN element, score
    UNION ALL
    UNWIND CASE WHEN fitting = 'messages' THEN $homes ELSE [] END AS home
    CALL (vector, home) {
      MATCH (element)
      SEARCH element IN (VECTOR INDEX recall_vectors FOR vector
                         WHERE element.namespace = $namespace AND element.embedding_model = $model
                           AND element.home >= home[0] AND element.home <= home[1]
                           AND element.role >= $role_range[0] AND element.role <= $role_range[1]
                           AND element.speaker >= $speaker_range[0] AND element.speaker <= $speaker_range[1]
                           AND element.said_at >= $times[0] AND element.said_at < $times[1]
                         LIMIT $depth) SCORE AS score
      RETURN element, score
    }
    RETURN element, score
  }
  WITH element, score ORDER BY score DESC, element.id
  WITH CASE WHEN element:Passage THEN coalesce(head([(message:Message)-[:PASSAGE]->(element) | message]), element)
            ELSE element END AS hit, element, score
  WITH hit, max(score) AS score, head(collect(element)) AS best
  WITH hit, best, score * CASE WHEN hit:Message THEN coalesce($roles.near[hit.role], 1.0) ELSE 1.0 END AS score
    WHERE fitting = 'none' OR $filters.conversation IS NULL OR $filters.conversation IN hit.conversations
  WITH hit, best ORDER BY score DESC, hit.id
  RETURN collect([hit, best]) AS elements
}
UNWIND [[pair IN elements WHERE pair[0]:Message], [pair IN elements WHERE pair[0]:Node]] AS list
RETURN list, 'vector' AS source, 'vector' AS index;

// name: rank-hits
// From each hit a part of its score goes one step on: along EDGE by the weight of the edge, from a node to the message that
// it was learnt from (SOURCE), and along NEXT to the messages one and two places before and behind; where an assistant
// speaks, only from its message to what it was asked. Everything found on the way adds up, and only of what comes out first
// is it asked what it is, and whose: sorted by the score alone, the rest is never read. Of the steps of a hit with many of
// them, the heaviest count. Of a message that was said in other conversations too, the one that was asked for is named, or
// the first. What raw Cypher has stored as a weight, and is none, counts as 1.0. Parameters: namespace, roles (`asked`, null
// where roles do not count), least, near, far, edge, learnt, fan, kinds, limit, owners (how many are named of an
// observation), filters (conversation, since, until, facets, kind, verb).
CYPHER 25
MATCH (hit:Message {namespace: $namespace, id: ''}) WITH hit, 0.0 AS score, {names: [''], best: hit} AS sources // given
CALL (hit, score, sources) {
  RETURN hit AS found, score AS part, sources AS ways, null AS step
  UNION ALL
  WITH hit, score WHERE score >= $least
  CALL (hit, score) {
    MATCH (hit)-[step:NEXT|EDGE|SOURCE]-(found)
    WHERE found <> hit
    // By what each has as its own: the order in which they are stored is another one in a copy of the graph.
    WITH found, step, score, toFloatOrNull(step.weight) AS weight
    WITH found, step, score, CASE WHEN 0.0 <= weight <= 1.0 THEN weight ELSE 1.0 END AS weight
    ORDER BY weight DESC, coalesce(step.id, found.id)
    LIMIT $fan
    RETURN found,
           score * CASE WHEN step:NEXT AND ($roles.asked IS NULL OR NOT 'assistant' IN [hit.role, found.role]) THEN $near
                        WHEN step:NEXT AND hit.role = 'assistant' AND found.role = 'user' AND endNode(step) = hit
                          THEN $roles.asked
                        WHEN step:NEXT THEN 0.0
                        WHEN step:SOURCE AND found:Message THEN $learnt
                        ELSE $edge * weight END AS part, step
    UNION ALL
    WITH hit, score WHERE hit:Message AND ($roles.asked IS NULL OR hit.role <> 'assistant')
    MATCH (hit)-[:NEXT]->(between)
    WHERE $roles.asked IS NULL OR between.role <> 'assistant'
    MATCH (between)-[:NEXT]->(found)
    WHERE $roles.asked IS NULL OR found.role <> 'assistant'
    WITH found, score ORDER BY found.id LIMIT $fan
    RETURN found, score * $far AS part, null AS step
    UNION ALL
    WITH hit, score WHERE hit:Message AND ($roles.asked IS NULL OR hit.role <> 'assistant')
    MATCH (hit)<-[:NEXT]-(between)
    WHERE $roles.asked IS NULL OR between.role <> 'assistant'
    MATCH (between)<-[:NEXT]-(found)
    WHERE $roles.asked IS NULL OR found.role <> 'assistant'
    RETURN found, score * $far AS part, null AS step
  }
  RETURN found, part, null AS ways, step
}
WITH found, sum(part) AS score, collect(ways) AS ways, collect(step) AS steps
ORDER BY score DESC
WITH found, score, ways, steps
WHERE score > 0 AND found.namespace = $namespace AND any(kind IN $kinds WHERE kind IN labels(found))
  AND CASE WHEN found:Message  // one of no conversation is of a thread or a run, or is hidden
      THEN size(coalesce(found.conversations, [])) > 0
        AND ($filters.conversation IS NULL OR $filters.conversation IN found.conversations)
        AND ($filters.since IS NULL OR found.said_at >= $filters.since)
        AND ($filters.until IS NULL OR found.said_at < $filters.until)
        AND all(facet IN $filters.facets WHERE facet IN split(found.namespace_token, ' '))
      WHEN $filters.verb IS NULL THEN coalesce(found.kind = $filters.kind, $filters.kind IS NULL)
      ELSE coalesce(found.kind = $filters.kind, $filters.kind IS NULL)
        AND EXISTS { (found)-[:EDGE {verb: $filters.verb}]-() } END
ORDER BY score DESC, found.said_at DESC, found.id
LIMIT $limit
RETURN found.id AS id, found:Message AS is_message, score, head(ways).names AS ways,
       head(ways).best.span AS span,
       [step IN steps WHERE NOT step:NEXT | {
         verb: step.verb,
         stored: CASE WHEN step:EDGE THEN step {.id, .verb, .weight} END,
         weight: CASE WHEN 0.0 <= toFloatOrNull(step.weight) <= 1.0 THEN toFloat(step.weight) ELSE 1.0 END,
         ends: CASE WHEN step:EDGE THEN [startNode(step).id, endNode(step).id] ELSE [] END,
         source: coalesce(nullIf(toStringOrNull(startNode(step).name), ''), startNode(step).id),
         target: coalesce(nullIf(toStringOrNull(endNode(step).name), ''), endNode(step).id)
       }] AS edges,
       COLLECT {
         MATCH (owner:Node)-[edge:EDGE {verb: 'observed'}]->(found)
         WHERE found.name = ''
         RETURN {id: owner.id, name: coalesce(nullIf(toStringOrNull(owner.name), ''), owner.id)}
         ORDER BY edge.place, owner.id
         LIMIT $owners
       } AS owners,
       found.name AS name, found.data AS data, found.body AS body,
       coalesce($filters.conversation, head(found.conversations)) AS conversation, toString(found.said_at) AS at;

// name: unindexed-messages
// The messages of one conversation that are not indexed as recall finds them now, the oldest first, and each once: those
// between the tip of a version and the last before it that is. Parameters: namespace, limit (of tips).
MATCH (conversation:Conversation {namespace: $namespace})
USING INDEX SEEK conversation:Conversation(namespace, name)
WHERE conversation.name IS NOT NULL AND conversation.name IS :: STRING AND coalesce(conversation.recalled, true)
MATCH (conversation)-[:VERSION]->(:Version)-[:TIP]->(tip:Message)
WHERE tip.passages IS NULL OR NOT conversation.name IN tip.conversations
WITH DISTINCT conversation, tip
LIMIT $limit
MATCH path = (tip) (()<-[:NEXT]-(before WHERE before.passages IS NULL
                                       OR NOT conversation.name IN before.conversations))* (first)
WHERE NOT EXISTS { (first)<-[:NEXT]-(parent:Message)
                   WHERE parent.passages IS NULL OR NOT conversation.name IN parent.conversations }
RETURN conversation.name AS conversation, [message IN reverse(nodes(path)) | message.id] AS ids;

// name: count-unindexed
// How many messages of all conversations that recall reads are not divided into passages yet. Parameters: namespace.
MATCH (message:Message {namespace: $namespace})
WHERE message.id IS NOT NULL AND message.passages IS NULL AND message.conversations IS NOT NULL
RETURN count(message) AS count;

// name: bodies
// What these messages are, and when they were said; one that raw Cypher has made is said now. Parameters: namespace, ids.
UNWIND $ids AS id
MATCH (message:Message {namespace: $namespace, id: id})
USING INDEX SEEK message:Message(namespace, id)
RETURN id, message.body AS body, coalesce(message.said_at, message.created_at, datetime()) AS at;

// name: said-later
// Those of these messages that are stored with a later time than the one given. Parameters: namespace, rows [{id, at}].
UNWIND $rows AS row
MATCH (message:Message {namespace: $namespace, id: row.id})
USING INDEX SEEK message:Message(namespace, id)
WHERE coalesce(message.said_at, message.created_at) > row.at
RETURN message.id AS id;

// name: index-messages
// What each message says, as recall finds it: its text, or that of its passages. It is written anew where it was said at
// a time that is now known (`dated`), or stored by an earlier release; a vector of another text goes. A message that several
// conversations have is found in each, and so are its passages; where very many have it, by the word of all that follow the
// first `max_named`. Parameters: namespace, namespace_token, conversation, conversation_token, shared_token, max_named, dated,
// rows [{id, at, said, said_parts, passages [[id, start, end, said, said_parts]], speaker, terms}].
OPTIONAL MATCH (namespace:Namespace {name: $namespace})
WITH namespace.embedder AS embedder
UNWIND $rows AS row
MATCH (message:Message {namespace: $namespace, id: row.id})
USING INDEX SEEK message:Message(namespace, id)
SET message.role = message.role // its lock, before the names of others are read
WITH embedder, message, row, coalesce(message.conversations, []) AS conversations,
     $dated OR message.passages IS NULL AS anew
WITH embedder, message, row, conversations, anew, anew AND coalesce(message.said <> row.said, true) AS changes,
     conversations + CASE WHEN $conversation IN conversations THEN [] ELSE [$conversation] END AS every,
     // The words of namespaces and conversations are numbers; those of the role, the speaker and the time are none.
     [word IN split(coalesce(message.namespace_token, $namespace_token), ' ') WHERE NOT anew OR word < 'a']
       + CASE WHEN anew THEN row.terms ELSE [] END AS words,
     CASE WHEN $conversation IN conversations THEN null
          WHEN size(conversations) < $max_named THEN $conversation_token
          ELSE $shared_token END AS word_of_conversation
SET message.said = CASE WHEN anew THEN row.said ELSE message.said END,
    message.said_parts = CASE WHEN anew THEN row.said_parts ELSE message.said_parts END,
    message.embedding = CASE WHEN changes THEN null ELSE message.embedding END,
    message.embedding_model = CASE WHEN changes THEN null ELSE message.embedding_model END,
    message.said_at = CASE WHEN anew THEN row.at ELSE message.said_at END,
    message.passages = CASE WHEN anew THEN size(row.passages) ELSE message.passages END,
    message.conversations = every,
    message.speaker = CASE WHEN anew THEN row.speaker ELSE message.speaker END,
    message.namespace_token = reduce(
      tokens = head(words),
      word IN tail(words) + CASE WHEN coalesce(word_of_conversation IN words, true) THEN []
                                 ELSE [word_of_conversation] END |
      tokens + ' ' + word),
    message.home = CASE WHEN size(every) = 1 THEN every[0] ELSE '' END
SET message.vector_due = CASE WHEN message.said IS NULL OR message.embedding_model = embedder THEN null ELSE embedder END
FOREACH (passage IN CASE WHEN anew THEN row.passages ELSE [] END |
  MERGE (part:Passage {namespace: $namespace, id: passage[0]})
  SET part.span = [passage[1], passage[2]], // and so its lock, before its text is read
      part.embedding = CASE WHEN part.said = passage[3] THEN part.embedding END,
      part.embedding_model = CASE WHEN part.said = passage[3] THEN part.embedding_model END,
      part.vector_due = CASE WHEN part.said = passage[3] AND part.embedding_model = embedder THEN null ELSE embedder END,
      part.said = passage[3], part.said_parts = passage[4]
  MERGE (message)-[:PASSAGE]->(part))
WITH message
CALL (message) {
  MATCH (message)-[:PASSAGE]->(part)
  WHERE coalesce(part.namespace_token <> message.namespace_token OR part.home <> message.home
                 OR part.said_at <> message.said_at, true)
  SET part.namespace_token = message.namespace_token, part.home = message.home, part.said_at = message.said_at
}
RETURN count(message) AS indexed;

// name: nodes-without-parts
// Nodes with words that are found by their parts, which are not stored yet, in the order of their ids. Parameters:
// namespace, scripts (a pattern for texts with such words), after, limit.
MATCH (node:Node {namespace: $namespace})
USING INDEX SEEK node:Node(namespace, id)
WHERE node.id > $after AND coalesce(node.name_parts, node.data_parts) IS NULL
  AND any(text IN [node.name, node.data] WHERE toStringOrNull(text) =~ $scripts)
RETURN node.id AS id, node.name AS name, node.data AS data
ORDER BY node.namespace, id
LIMIT $limit;

// name: messages-without-parts
// The same of messages. Parameters: namespace, scripts, after, limit.
MATCH (message:Message {namespace: $namespace})
USING INDEX SEEK message:Message(namespace, id)
WHERE message.id > $after AND message.said_parts IS NULL AND message.said =~ $scripts
RETURN message.id AS id, message.said AS said
ORDER BY message.namespace, id
LIMIT $limit;

// name: aliases-without-parts
// The same of aliases. Parameters: namespace, scripts, after, limit.
MATCH (alias:Alias {namespace: $namespace})
USING INDEX SEEK alias:Alias(namespace, id)
WHERE alias.id > $after AND alias.name_parts IS NULL AND alias.name =~ $scripts
RETURN alias.id AS id, alias.name AS name
ORDER BY alias.namespace, id
LIMIT $limit;

// name: count-without-parts
// How many nodes, messages and aliases have words that are found by their parts, and no parts. Parameters: namespace,
// scripts.
RETURN COUNT {
         MATCH (node:Node {namespace: $namespace})
         USING INDEX SEEK node:Node(namespace, id)
         WHERE node.id IS NOT NULL AND coalesce(node.name_parts, node.data_parts) IS NULL
           AND any(text IN [node.name, node.data] WHERE toStringOrNull(text) =~ $scripts)
       } + COUNT {
         MATCH (message:Message {namespace: $namespace})
         USING INDEX SEEK message:Message(namespace, id)
         WHERE message.id IS NOT NULL AND message.said_parts IS NULL AND message.said =~ $scripts
       } + COUNT {
         MATCH (alias:Alias {namespace: $namespace})
         USING INDEX SEEK alias:Alias(namespace, id)
         WHERE alias.id IS NOT NULL AND alias.name_parts IS NULL AND alias.name =~ $scripts
       } AS count;

// name: left-to-index
// Whether an earlier release has stored messages that are not indexed as recall finds them now, and words without their
// parts: what is stored from now on has both. It is asked before the first recall of a process, and so is a small query, which
// a server that has just started plans soon. Parameters: namespace.
OPTIONAL MATCH (namespace:Namespace {name: $namespace})
RETURN namespace.parts_stored IS NULL AS parts, EXISTS {
         MATCH (conversation:Conversation {namespace: $namespace})
         USING INDEX SEEK conversation:Conversation(namespace, name)
         WHERE conversation.name IS NOT NULL AND conversation.name IS :: STRING AND coalesce(conversation.recalled, true)
         MATCH (conversation)-[:VERSION]->(:Version)-[:TIP]->(tip:Message)
         WHERE tip.passages IS NULL OR NOT conversation.name IN tip.conversations
       } AS messages;

// name: mark-parts-stored
// Parameters: namespace.
MATCH (namespace:Namespace {name: $namespace})
SET namespace.parts_stored = true;

// name: add-parts-to-nodes
// A node that has changed since it was read has its parts already. Parameters: namespace, rows [{id, name, data, parts}].
UNWIND $rows AS row
MATCH (node:Node {namespace: $namespace, id: row.id})
USING INDEX SEEK node:Node(namespace, id)
SET node.namespace = $namespace // its lock, before its texts are read
WITH node, row
WHERE node.name = row.name AND node.data = row.data
SET node += row.parts;

// name: add-parts-to-messages
// Parameters: namespace, rows [{id, said, parts}].
UNWIND $rows AS row
MATCH (message:Message {namespace: $namespace, id: row.id})
USING INDEX SEEK message:Message(namespace, id)
SET message.role = message.role // its lock, before its text is read
WITH message, row
WHERE message.said = row.said
SET message += row.parts;

// name: filter-values
// Whether a filter can fit anything: the kinds of nodes, a conversation and a verb. A kind is looked up in the index that
// recall asks for it, which knows its words by their stems. Parameters: namespace, kind, terms (a Lucene query for the kind,
// made by memorygraph.memory.filters), conversation, verb.
CYPHER 25
WHEN $kind IS NOT NULL THEN {
  CALL db.index.fulltext.queryNodes('node_text', $terms) YIELD node
  WHERE node.namespace = $namespace AND node.kind = $kind
  RETURN 1 AS found LIMIT 1
}
WHEN $verb IS NOT NULL THEN {
  MATCH ()-[edge:EDGE {namespace: $namespace}]->()
  WHERE edge.id IS NOT NULL AND edge.verb = $verb
  RETURN 1 AS found LIMIT 1
}
ELSE {
  MATCH (conversation:Conversation {namespace: $namespace, name: $conversation})
  RETURN 1 AS found LIMIT 1
};

// name: any-message
// A row where any message is what the filters of a recall ask for. Parameters: namespace, searches (Lucene
// queries of the namespace and the filters alone).
UNWIND $searches AS terms
CALL db.index.fulltext.queryNodes('message_text', terms, {limit: 1}) YIELD node
WHERE node.namespace = $namespace
RETURN 1 AS found;

// name: add-parts-to-aliases
// Parameters: namespace, rows [{id, name, parts}].
UNWIND $rows AS row
MATCH (alias:Alias {namespace: $namespace, id: row.id})
USING INDEX SEEK alias:Alias(namespace, id)
SET alias.namespace = $namespace // its lock, before its name is read
WITH alias, row
WHERE alias.name = row.name
SET alias += row.parts;

// name: learn
// Nodes for what was said, each joined to the messages that it was learnt from. Parameters: namespace,
// namespace_token, rows [{id, data, data_parts, messages}].
UNWIND $rows AS row
MERGE (node:Node {namespace: $namespace, id: row.id})
  ON CREATE SET node:Observation, node.name = '', node.data = row.data, node.data_parts = row.data_parts,
                node.namespace_token = $namespace_token
WITH node, row
UNWIND row.messages AS id
MATCH (message:Message {namespace: $namespace, id: id})
USING INDEX SEEK message:Message(namespace, id)
MERGE (node)-[:SOURCE]->(message);

// name: count-without-vector
// How many messages, passages and nodes have no vector of a model yet. Parameters: namespace, model.
RETURN COUNT {
         MATCH (message:Message {namespace: $namespace})
         WHERE message.id > '' AND message.said IS NOT NULL
           AND coalesce(message.embedding_model <> $model, true)
       } + COUNT {
         MATCH (passage:Passage {namespace: $namespace})
         WHERE passage.id > '' AND coalesce(passage.embedding_model <> $model, true)
       } + COUNT {
         MATCH (node:Node {namespace: $namespace})
         WHERE node.id > '' AND coalesce(node.embedding_model <> $model, true)
           AND any(told IN [node.name, node.data] WHERE told <> '')
       } AS texts;

// name: messages-without-vector
// Messages without passages that have no vector of a model yet, and what they say. Parameters: namespace, model, after, limit.
MATCH (message:Message {namespace: $namespace})
USING INDEX SEEK message:Message(namespace, id)
WHERE message.id > $after AND message.said IS NOT NULL
  AND coalesce(message.embedding_model <> $model, true)
RETURN message.id AS id, message.said AS said
ORDER BY message.namespace, id
LIMIT $limit;

// name: messages-due
// Messages that are marked as being without a vector of a model, and what they say. Parameters: namespace, model, after, limit.
MATCH (message:Message {namespace: $namespace, vector_due: $model})
USING INDEX SEEK message:Message(namespace, vector_due, id)
WHERE message.id > $after AND message.said IS NOT NULL
RETURN message.id AS id, message.said AS said
ORDER BY message.namespace, message.vector_due, id
LIMIT $limit;

// name: passages-without-vector
// Passages that have no vector of a model yet, and what they say. Parameters: namespace, model, after, limit.
MATCH (passage:Passage {namespace: $namespace})
USING INDEX SEEK passage:Passage(namespace, id)
WHERE passage.id > $after AND passage.said IS NOT NULL
  AND coalesce(passage.embedding_model <> $model, true)
RETURN passage.id AS id, passage.said AS said
ORDER BY passage.namespace, id
LIMIT $limit;

// name: passages-due
// Passages that are marked as being without a vector of a model, and what they say. Parameters: namespace, model, after, limit.
MATCH (passage:Passage {namespace: $namespace, vector_due: $model})
USING INDEX SEEK passage:Passage(namespace, vector_due, id)
WHERE passage.id > $after AND passage.said IS NOT NULL
RETURN passage.id AS id, passage.said AS said
ORDER BY passage.namespace, passage.vector_due, id
LIMIT $limit;

// name: nodes-without-vector
// Nodes that have no vector of a model yet, or whose text has changed since. Parameters: namespace, model, after,
// limit.
MATCH (node:Node {namespace: $namespace})
USING INDEX SEEK node:Node(namespace, id)
WHERE node.id > $after AND coalesce(node.embedding_model <> $model, true)
  AND any(told IN [node.name, node.data] WHERE told <> '')
RETURN node.id AS id, node.name AS name, node.data AS data
ORDER BY node.namespace, id
LIMIT $limit;

// name: nodes-due
// Nodes that are marked as being without a vector of a model, also for a text that has changed. Parameters: namespace, model,
// after, limit.
MATCH (node:Node {namespace: $namespace, vector_due: $model})
USING INDEX SEEK node:Node(namespace, vector_due, id)
WHERE node.id > $after AND any(told IN [node.name, node.data] WHERE told <> '')
RETURN node.id AS id, node.name AS name, node.data AS data
ORDER BY node.namespace, node.vector_due, id
LIMIT $limit;

// name: due-vectors
// Which model the texts of a namespace have vectors of, and which kinds of texts are marked as being without one. Parameters:
// namespace, model.
OPTIONAL MATCH (namespace:Namespace {name: $namespace})
RETURN namespace.embedder AS embedder,
       CASE WHEN EXISTS {
         MATCH (message:Message {namespace: $namespace, vector_due: $model}) WHERE message.id IS NOT NULL
       } THEN ['messages'] ELSE [] END +
       CASE WHEN EXISTS {
         MATCH (passage:Passage {namespace: $namespace, vector_due: $model}) WHERE passage.id IS NOT NULL
       } THEN ['passages'] ELSE [] END +
       CASE WHEN EXISTS {
         MATCH (node:Node {namespace: $namespace, vector_due: $model}) WHERE node.id IS NOT NULL
       } THEN ['nodes'] ELSE [] END AS kinds;

// name: set-embedder
// From now on who stores a text marks it as being without a vector of this model (`vector_due`); what is stored already is
// looked through after this. Parameters: namespace, model.
MATCH (namespace:Namespace {name: $namespace})
WHERE coalesce(namespace.embedder <> $model, true) // who waits for a load does so once
SET namespace.embedder = $model;

// name: rewrite-vector
// One vector is written anew as it is: with it Lucene joins the parts of the index in which something was deleted, where its
// searches can fail (read_rows in memorygraph.memory.recall). Parameters: namespace, model.
CALL () {
  MATCH (element:Message {namespace: $namespace})
  USING INDEX SEEK element:Message(namespace, id)
  WHERE element.id > '' AND element.embedding_model = $model
  RETURN element
  UNION ALL
  MATCH (element:Passage {namespace: $namespace})
  USING INDEX SEEK element:Passage(namespace, id)
  WHERE element.id > '' AND element.embedding_model = $model
  RETURN element
  UNION ALL
  MATCH (element:Node {namespace: $namespace})
  USING INDEX SEEK element:Node(namespace, id)
  WHERE element.id > '' AND element.embedding_model = $model
  RETURN element
}
WITH element LIMIT 1
SET element.namespace = $namespace // its lock, before its vector is read
WITH element, element.embedding AS vector
SET element.embedding = vector
RETURN count(*) AS rewritten;

// name: embed-messages
// A message that has changed since it was read, as where it is hidden (forget/hide-messages) or dated, is left for the
// next time; `embedded` are the others. Parameters: namespace, model, rows [{id, said, vector}].
UNWIND $rows AS row
MATCH (message:Message {namespace: $namespace, id: row.id})
USING INDEX SEEK message:Message(namespace, id)
SET message.namespace = $namespace // its lock, before its text is read
WITH message, row
WHERE message.said = row.said
SET message.embedding = row.vector, message.embedding_model = $model, message.vector_due = null
RETURN count(*) AS embedded;

// name: embed-passages
// The same of passages. Parameters: namespace, model, rows [{id, said, vector}].
UNWIND $rows AS row
MATCH (passage:Passage {namespace: $namespace, id: row.id})
USING INDEX SEEK passage:Passage(namespace, id)
SET passage.namespace = $namespace // its lock, before its text is read
WITH passage, row
WHERE passage.said = row.said
MATCH (passage)<-[:PASSAGE]-(message)
SET passage.embedding = row.vector, passage.embedding_model = $model, passage.vector_due = null, passage.role = message.role,
    passage.speaker = message.speaker, passage.home = message.home, passage.said_at = message.said_at
RETURN count(DISTINCT passage) AS embedded;

// name: embed-nodes
// A node that has changed since it was read is left for the next time. An item of a store (items.cypher) is at home on its
// shelf, by which the vector index finds it. Parameters: namespace, model, rows [{id, name, data, vector}].
UNWIND $rows AS row
MATCH (node:Node {namespace: $namespace, id: row.id})
USING INDEX SEEK node:Node(namespace, id)
SET node.namespace = $namespace // its lock, before its texts are read
WITH node, row
WHERE coalesce(node.name, '') = coalesce(row.name, '') AND coalesce(node.data, '') = coalesce(row.data, '')
SET node.embedding = row.vector, node.embedding_model = $model, node.vector_due = null,
    node.home = CASE WHEN node:Item THEN node.shelf ELSE node.home END
RETURN count(*) AS embedded;
