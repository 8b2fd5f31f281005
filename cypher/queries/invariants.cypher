// What holds of every stored graph, as queries for what breaks it: memorygraph can break none of this, raw Cypher can
// (Community Edition has no constraint for the existence, the type or the range of a property, nor one for nodes and
// relationships together). Each block is one invariant; memorygraph.graph.invariants says what is expected and how it is
// mended. Each is one scan, or one scan with an index seek for each row. `count` and `first` read them, so that neither
// the time nor the memory of an examination grows with how much is broken.
//
// Every block returns `kind`, `namespace`, `id`, `element` (Neo4j's own id of it) and `found` (the values that are
// wrong). Parameters: namespace, or null for all of them; what has no namespace is only found with null.

// name: node-key
// A node has a namespace and an id, both text. Parameters: namespace.
MATCH (node:Node)
WHERE ($namespace IS NULL OR node.namespace = $namespace)
  AND NOT (node.namespace IS :: STRING NOT NULL AND node.id IS :: STRING NOT NULL)
RETURN 'node' AS kind, node.namespace AS namespace, node.id AS id, elementId(node) AS element,
       {namespace: node.namespace, id: node.id} AS found;

// name: node-values
// The name and the data of a node are text. Parameters: namespace.
MATCH (node:Node)
WHERE ($namespace IS NULL OR node.namespace = $namespace)
  AND NOT (node.name IS :: STRING NOT NULL AND node.data IS :: STRING NOT NULL)
RETURN 'node' AS kind, node.namespace AS namespace, node.id AS id, elementId(node) AS element,
       {name: node.name, data: node.data} AS found;

// name: node-search
// A node is found by a search, because it has the word of its namespace. Parameters: namespace, tokens (those words, by
// the names of the namespaces).
MATCH (node:Node)
WHERE ($namespace IS NULL OR node.namespace = $namespace)
  AND node.namespace IS :: STRING NOT NULL AND $tokens[node.namespace] IS NOT NULL
  AND coalesce(node.namespace_token <> $tokens[node.namespace], true)
RETURN 'node' AS kind, node.namespace AS namespace, node.id AS id, elementId(node) AS element,
       {namespace_token: node.namespace_token} AS found;

// name: edge-key
// An edge has a namespace and an id, both text. Parameters: namespace.
MATCH ()-[edge:EDGE]->()
WHERE ($namespace IS NULL OR edge.namespace = $namespace)
  AND NOT (edge.namespace IS :: STRING NOT NULL AND edge.id IS :: STRING NOT NULL)
RETURN 'edge' AS kind, edge.namespace AS namespace, edge.id AS id, elementId(edge) AS element,
       {namespace: edge.namespace, id: edge.id} AS found;

// name: edge-verb
// The verb of an edge is text, which a relation over MCP may leave empty. Parameters: namespace.
MATCH ()-[edge:EDGE]->()
WHERE ($namespace IS NULL OR edge.namespace = $namespace)
  AND NOT edge.verb IS :: STRING NOT NULL
RETURN 'edge' AS kind, edge.namespace AS namespace, edge.id AS id, elementId(edge) AS element,
       {verb: edge.verb} AS found;

// name: edge-weight
// The weight of an edge is a number from 0.0 to 1.0. Parameters: namespace.
MATCH ()-[edge:EDGE]->()
WHERE ($namespace IS NULL OR edge.namespace = $namespace)
  AND NOT CASE WHEN edge.weight IS :: FLOAT NOT NULL OR edge.weight IS :: INTEGER NOT NULL
          THEN 0.0 <= edge.weight <= 1.0 ELSE false END
RETURN 'edge' AS kind, edge.namespace AS namespace, edge.id AS id, elementId(edge) AS element,
       {weight: edge.weight} AS found;

// name: edge-ends
// Both ends of an edge are nodes of its namespace. Parameters: namespace.
MATCH (from_node)-[edge:EDGE]->(to_node)
WHERE ($namespace IS NULL OR $namespace IN [edge.namespace, from_node.namespace, to_node.namespace])
  AND NOT coalesce(from_node:Node AND to_node:Node AND from_node.namespace = edge.namespace
                   AND to_node.namespace = edge.namespace, false)
RETURN 'edge' AS kind, edge.namespace AS namespace, edge.id AS id, elementId(edge) AS element,
       {from_node: from_node.id, to_node: to_node.id, from_namespace: from_node.namespace,
        to_namespace: to_node.namespace} AS found;

// name: shared-id
// An id belongs to a node or to an edge: an index seek for each of those of which there are fewer. Parameters: namespace.
CALL () {
  MATCH (node:Node)
  RETURN count(node) AS nodes
}
CALL () {
  MATCH ()-[edge:EDGE]->()
  RETURN count(edge) AS edges
}
CALL (nodes, edges) {
  WITH nodes, edges WHERE nodes <= edges
  MATCH (node:Node)
  WHERE ($namespace IS NULL OR node.namespace = $namespace) AND node.id IS NOT NULL AND node.namespace IS NOT NULL
  CALL (node) {
    MATCH ()-[edge:EDGE {namespace: node.namespace, id: node.id}]->()
    USING INDEX SEEK edge:EDGE(namespace, id)
    RETURN edge
  }
  RETURN node, edge
  UNION ALL
  WITH nodes, edges WHERE edges < nodes
  MATCH ()-[edge:EDGE]->()
  WHERE ($namespace IS NULL OR edge.namespace = $namespace) AND edge.id IS NOT NULL AND edge.namespace IS NOT NULL
  CALL (edge) {
    MATCH (node:Node {namespace: edge.namespace, id: edge.id})
    USING INDEX SEEK node:Node(namespace, id)
    RETURN node
  }
  RETURN node, edge
}
RETURN 'edge' AS kind, node.namespace AS namespace, node.id AS id, elementId(edge) AS element,
       {name: node.name, from_node: startNode(edge).id, verb: edge.verb, to_node: endNode(edge).id} AS found;

// name: unknown-namespace
// What is in a namespace is in one that has a record, by which it is listed and locked. Parameters: namespace.
MATCH (node:Node)
WHERE ($namespace IS NULL OR node.namespace = $namespace) AND node.namespace IS :: STRING NOT NULL
WITH node.namespace AS name, count(*) AS nodes, min(node.id) AS id
WHERE NOT EXISTS { (:Namespace {name: name}) }
RETURN 'namespace' AS kind, name AS namespace, id, null AS element, {nodes: nodes} AS found;

// name: future
// No element and no load is of a revision that its namespace has not reached. Parameters: namespace.
MATCH (namespace:Namespace)
WHERE $namespace IS NULL OR namespace.name = $namespace
CALL (namespace) {
  MATCH (node:Node {namespace: namespace.name})
  WHERE node.id IS NOT NULL AND node.since > namespace.revision
  RETURN 'node' AS kind, node.id AS id, elementId(node) AS element, node.since AS since
  UNION ALL
  MATCH ()-[edge:EDGE {namespace: namespace.name}]->()
  WHERE edge.id IS NOT NULL AND edge.since > namespace.revision
  RETURN 'edge' AS kind, edge.id AS id, elementId(edge) AS element, edge.since AS since
  UNION ALL
  MATCH (load:Load {namespace: namespace.name})
  USING INDEX SEEK load:Load(namespace, revision)
  WHERE load.revision > namespace.revision
  RETURN 'record' AS kind, load.id AS id, elementId(load) AS element, load.revision AS since
}
RETURN kind, namespace.name AS namespace, id, element, {since: since, revision: namespace.revision} AS found;

// name: history
// A former state is one of a node or an edge with an id, and was so from a revision to a later one that its namespace
// has reached; what an edge led to is known. Parameters: namespace.
MATCH (former:Former)
WHERE $namespace IS NULL OR former.namespace = $namespace
OPTIONAL MATCH (namespace:Namespace {name: former.namespace})
WITH former, namespace
WHERE NOT coalesce(former.id IS :: STRING NOT NULL AND former.of IN ['node', 'edge'] AND former.since < former.until
                   AND former.until <= namespace.revision
                   AND (former.of = 'node' OR former.from_node IS NOT NULL AND former.to_node IS NOT NULL), false)
RETURN 'history record' AS kind, former.namespace AS namespace, former.id AS id, elementId(former) AS element,
       former {.of, .since, .until, revision: namespace.revision} AS found;

// name: aliases
// An alias has a name, and stands for a node, or for one that is deleted and can come back. Parameters: namespace.
MATCH (alias:Alias)
WHERE ($namespace IS NULL OR alias.namespace = $namespace)
  AND NOT (alias.name IS :: STRING NOT NULL AND EXISTS {
    MATCH (alias)-[:ALIAS_OF]->(node)
    WHERE node.namespace = alias.namespace AND any(label IN labels(node) WHERE label IN ['Node', 'Former'])
  })
RETURN 'alias' AS kind, alias.namespace AS namespace, alias.id AS id, elementId(alias) AS element,
       {name: alias.name} AS found;

// name: entries
// A statement of a log stands in a context, or, where that is deleted, in its former state. Parameters: namespace.
MATCH (entry:Entry|FormerEntry)
WHERE ($namespace IS NULL OR entry.namespace = $namespace)
  AND CASE WHEN entry:Entry THEN NOT EXISTS { (entry)<-[:STATES]-(:Context) }
      ELSE NOT EXISTS { (entry)<-[:STATES]-(:Former) } END
RETURN 'log entry' AS kind, entry.namespace AS namespace, entry.id AS id, elementId(entry) AS element,
       entry {.log, .context, .index} AS found;

// name: records
// What is kept beside the graph has the values by which it is read: a load its revision and its time, a run its status, a
// program its source, and a statement of a log its text. Parameters: namespace.
MATCH (record:Load|Run|Program|Entry|FormerEntry)
WHERE ($namespace IS NULL OR record.namespace = $namespace)
  AND NOT CASE WHEN record:Load THEN record.revision IS :: INTEGER NOT NULL AND record.at IS :: ZONED DATETIME NOT NULL
               WHEN record:Run THEN record.status IS :: STRING NOT NULL
               WHEN record:Program THEN record.source IS :: STRING NOT NULL
               ELSE record.text IS :: STRING NOT NULL END
RETURN 'record' AS kind, record.namespace AS namespace, record.id AS id, elementId(record) AS element,
       record {.revision, .at, .status, of: labels(record)} AS found;

// name: messages
// A message has an id and a body, which says its role, follows at most one other, and both are of one namespace.
// Parameters: namespace.
MATCH (message:Message)
WHERE ($namespace IS NULL OR message.namespace = $namespace)
  AND NOT (message.namespace IS :: STRING NOT NULL AND message.id IS :: STRING NOT NULL
           AND message.body IS :: STRING NOT NULL AND message.body CONTAINS '"role":"'
           AND COUNT { (message)<-[:NEXT]-() } <= 1
           AND NOT EXISTS { (message)<-[:NEXT]-(parent) WHERE coalesce(parent.namespace <> message.namespace, true) })
RETURN 'message' AS kind, message.namespace AS namespace, message.id AS id, elementId(message) AS element,
       {after: COUNT { (message)<-[:NEXT]-() }, role: message.role} AS found;

// name: passages
// A passage is a part of one message of its namespace, and a message has as many as it says. Parameters: namespace.
CALL () {
  MATCH (passage:Passage)
  WHERE ($namespace IS NULL OR passage.namespace = $namespace)
    AND NOT (passage.namespace IS :: STRING NOT NULL AND passage.id IS :: STRING NOT NULL
             AND passage.said IS :: STRING NOT NULL AND coalesce(0 <= passage.span[0] < passage.span[1], false)
             AND COUNT { (passage)<-[:PASSAGE]-() } = 1
             AND EXISTS { (passage)<-[:PASSAGE]-(message:Message {namespace: passage.namespace})
                          WHERE passage.id STARTS WITH message.id + '-' })
  RETURN 'passage' AS kind, passage AS broken,
         passage {.span, messages: COUNT { (passage)<-[:PASSAGE]-() }} AS found
  UNION ALL
  MATCH (message:Message)
  WHERE ($namespace IS NULL OR message.namespace = $namespace)
    AND COUNT { (message)-[:PASSAGE]->(:Passage) } <> message.passages
  RETURN 'message' AS kind, message AS broken,
         message {.passages, parts: COUNT { (message)-[:PASSAGE]->(:Passage) }} AS found
}
RETURN kind, broken.namespace AS namespace, broken.id AS id, elementId(broken) AS element, found;

// name: versions
// A version belongs to one conversation of its namespace, and leads to one message where it has any. Parameters:
// namespace.
MATCH (version:Version)
WHERE ($namespace IS NULL OR version.namespace = $namespace)
  AND NOT EXISTS { (version)<-[:FORGETS]-(:Forgetting) }
  AND NOT (COUNT { (version)<-[:VERSION]-(:Conversation {namespace: version.namespace}) } = 1
           AND COUNT { (version)-[:TIP]->(:Message {namespace: version.namespace}) }
               = CASE WHEN version.length > 0 THEN 1 ELSE 0 END)
RETURN 'version' AS kind, version.namespace AS namespace, version.id AS id, elementId(version) AS element,
       {number: version.number, length: version.length, tips: COUNT { (version)-[:TIP]->() },
        conversations: COUNT { (version)<-[:VERSION]-() }} AS found;

// name: forgetting
// What was begun to be forgotten is forgotten. Parameters: namespace.
MATCH (forgetting:Forgetting)
WHERE $namespace IS NULL OR forgetting.namespace = $namespace
RETURN forgetting.kind AS kind, forgetting.namespace AS namespace, forgetting.target AS id,
       elementId(forgetting) AS element, {forgotten: false} AS found;

// name: conversations
// A conversation has a name and one last version, which is one of its own. Parameters: namespace.
MATCH (conversation:Conversation)
WHERE ($namespace IS NULL OR conversation.namespace = $namespace)
  AND NOT (conversation.namespace IS :: STRING NOT NULL AND conversation.name IS :: STRING NOT NULL
           AND COUNT { (conversation)-[:HEAD]->() } = 1
           AND EXISTS { (conversation)-[:HEAD]->(:Version)<-[:VERSION]-(conversation) })
RETURN 'conversation' AS kind, conversation.namespace AS namespace, conversation.name AS id,
       elementId(conversation) AS element, {heads: COUNT { (conversation)-[:HEAD]->() }} AS found;


// name: threads
// A state is of one thread, a value is held by a state or extended by another, extends at most one, and a list of it is
// longer by one, and what is pending is so after one state; all of one namespace. Parameters: namespace.
MATCH (part:State|ChannelValue|PendingWrite)
WHERE ($namespace IS NULL OR part.namespace = $namespace)
  AND NOT (part.namespace IS :: STRING NOT NULL AND part.id IS :: STRING NOT NULL
           AND CASE WHEN part:State THEN COUNT { (part)<-[:STATE]-(:Thread {namespace: part.namespace}) } = 1
                    WHEN part:PendingWrite THEN COUNT { (part)<-[:PENDING]-(:State {namespace: part.namespace}) } = 1
                    ELSE EXISTS { (part)<-[:HOLDS|EXTENDS]-({namespace: part.namespace})  }
                      AND COUNT { (part)-[:EXTENDS]->(:ChannelValue {namespace: part.namespace, length: part.length - 1}) }
                          = CASE WHEN part.length > 1 THEN 1 ELSE 0 END
                      AND COUNT { (part)-[:EXTENDS]->() } <= 1 END)
RETURN 'part of a thread' AS kind, part.namespace AS namespace, part.id AS id, elementId(part) AS element,
       part {.length, of: labels(part), states: COUNT { (part)<-[:HOLDS|PENDING]-() }, threads: COUNT { (part)<-[:STATE]-() }}
         AS found;

// name: violations
// What breaks one invariant. Parameters: invariant (its name), namespace, tokens (as of `node-search`).
CYPHER 25
WHEN $invariant = 'node-key' THEN {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/node-key
}
WHEN $invariant = 'node-values' THEN {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/node-values
}
WHEN $invariant = 'node-search' THEN {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/node-search
}
WHEN $invariant = 'edge-key' THEN {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/edge-key
}
WHEN $invariant = 'edge-verb' THEN {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/edge-verb
}
WHEN $invariant = 'edge-weight' THEN {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/edge-weight
}
WHEN $invariant = 'edge-ends' THEN {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/edge-ends
}
WHEN $invariant = 'shared-id' THEN {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/shared-id
}
WHEN $invariant = 'unknown-namespace' THEN {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/unknown-namespace
}
WHEN $invariant = 'future' THEN {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/future
}
WHEN $invariant = 'history' THEN {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/history
}
WHEN $invariant = 'aliases' THEN {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/aliases
}
WHEN $invariant = 'entries' THEN {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/entries
}
WHEN $invariant = 'records' THEN {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/records
}
WHEN $invariant = 'messages' THEN {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/messages
}
WHEN $invariant = 'passages' THEN {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/passages
}
WHEN $invariant = 'versions' THEN {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/versions
}
WHEN $invariant = 'forgetting' THEN {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/forgetting
}
WHEN $invariant = 'conversations' THEN {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/conversations
}
WHEN $invariant = 'threads' THEN {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/threads
}
ELSE {
  MATCH (node:Namespace)
  WHERE false
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found
};

// name: count
// How much breaks one invariant. Parameters: invariant, namespace, tokens.
CYPHER 25
CALL () {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/violations
}
RETURN count(*) AS count;

// name: first
// The first of what breaks one invariant, by its namespace and id. Parameters: invariant, namespace, tokens, limit.
CYPHER 25
CALL () {
  RETURN '' AS kind, null AS namespace, null AS id, null AS element, {} AS found // include: invariants/violations
}
RETURN kind, namespace, id, element, found
ORDER BY namespace, id, element
LIMIT $limit;

// name: namespace-names
// The names of all namespaces. A record that is being deleted meanwhile has none, nor has one that raw Cypher made so.
// Parameters: none.
MATCH (namespace:Namespace)
WHERE namespace.name IS :: STRING NOT NULL
RETURN namespace.name AS name
ORDER BY name;

// name: index-page
// Give a page of nodes, in the order of their ids, the word of their namespace, so that a search finds them. Parameters:
// namespace, namespace_token, after (the last id of the page before), limit.
MATCH (node:Node {namespace: $namespace})
USING INDEX SEEK node:Node(namespace, id)
WHERE node.id > $after
WITH node ORDER BY node.namespace, node.id LIMIT $limit
WITH collect(node) AS page, max(node.id) AS last
WITH [node IN page WHERE coalesce(node.namespace_token <> $namespace_token, true)] AS unfound, last
FOREACH (node IN unfound | SET node.namespace_token = $namespace_token)
RETURN size(unfound) AS indexed, last;

// name: index-strangers
// The same for nodes whose ids are no text, or that have none, which no index lists: one look at all nodes, for all
// namespaces. Parameters: tokens (as of `node-search`), limit.
MATCH (node:Node)
WHERE NOT coalesce(node.id IS :: STRING NOT NULL AND node.id <> '', false)
  AND node.namespace IS :: STRING NOT NULL AND $tokens[node.namespace] IS NOT NULL
  AND coalesce(node.namespace_token <> $tokens[node.namespace], true)
WITH node LIMIT $limit
SET node.namespace_token = $tokens[node.namespace]
RETURN count(node) AS indexed;

// name: set-node-id
// How a node without a namespace or an id is mended by hand. Parameters: element, namespace, id.
MATCH (node) WHERE elementId(node) = $element
SET node.namespace = $namespace, node.id = $id;

// name: set-edge-id
// How an edge without a namespace or an id, or with that of a node, is mended by hand. Parameters: element, namespace,
// id.
MATCH ()-[edge:EDGE]->() WHERE elementId(edge) = $element
SET edge.namespace = $namespace, edge.id = $id;

// name: divide-anew
// How a message is mended by hand that lacks a passage, or has too many: it is divided anew by `messages index`.
// Parameters: element.
MATCH (message:Message) WHERE elementId(message) = $element
SET message.passages = null
WITH message
MATCH (message)-[:PASSAGE]->(passage)
DETACH DELETE passage;

// name: remove-edge
// How an edge that should not be there is removed by hand. Parameters: element.
MATCH ()-[edge:EDGE]->() WHERE elementId(edge) = $element
DELETE edge;

// name: remove-record
// How a record that should not be there is removed by hand. Parameters: element.
MATCH (record) WHERE elementId(record) = $element
DETACH DELETE record;

// name: reach-revision
// How a namespace is mended by hand that has no record, or that something is from the future of: it gets the highest
// revision that is found in it, under its lock. Parameters: namespace.
MERGE (namespace:Namespace {name: $namespace})
  ON CREATE SET namespace.created_at = datetime()
SET namespace.revision = coalesce(namespace.revision, 0)
WITH namespace
CALL (namespace) {
  RETURN namespace.revision AS revision
  UNION ALL
  MATCH (load:Load {namespace: $namespace})
  RETURN load.revision AS revision
  UNION ALL
  MATCH (node:Node {namespace: $namespace})
  RETURN node.since AS revision
  UNION ALL
  MATCH ()-[edge:EDGE {namespace: $namespace}]->()
  RETURN edge.since AS revision
  UNION ALL
  MATCH (former:Former {namespace: $namespace})
  RETURN former.until AS revision
}
WITH namespace, revision WHERE revision IS :: INTEGER NOT NULL
WITH namespace, max(revision) AS reached
SET namespace.revision = reached;
