// What was: who changed an element, when and from what; the graph as of a revision; what an undo needs; and how the
// past is forgotten. How it is written down stands in contextscript.cypher.

// name: versions
// All that an id ever was, the oldest first, each with the records of the loads that began and ended it.
// Parameters: namespace, id.
CALL () {
  MATCH (node:Node {namespace: $namespace, id: $id})
  RETURN 'node' AS of, coalesce(node.since, 0) AS since, null AS until,
         {name: node.name, data: node.data, kind: node.kind, value: CASE WHEN node:Item THEN node.value END} AS values
  UNION ALL
  MATCH (from_node:Node)-[edge:EDGE {namespace: $namespace, id: $id}]->(to_node:Node)
  RETURN 'edge' AS of, coalesce(edge.since, 0) AS since, null AS until,
         {from_node: from_node.id, to_node: to_node.id, verb: edge.verb, weight: edge.weight} AS values
  UNION ALL
  MATCH (former:Former {namespace: $namespace, id: $id})
  USING INDEX SEEK former:Former(namespace, id, until)
  WHERE former.until IS NOT NULL
  RETURN former.of AS of, former.since AS since, former.until AS until,
         CASE former.of
         WHEN 'node' THEN {name: former.name, data: former.data, kind: former.kind,
                           value: CASE WHEN 'Item' IN former.labels THEN former.value END}
         ELSE {from_node: former.from_node, to_node: former.to_node, verb: former.verb, weight: former.weight}
         END AS values
}
OPTIONAL MATCH (began:Load {namespace: $namespace, revision: since})
OPTIONAL MATCH (ended:Load {namespace: $namespace, revision: until})
RETURN of, since, until, values, properties(began) AS began, properties(ended) AS ended
ORDER BY since, until;

// name: revisions
// The loads of a namespace, the newest first. Parameters: namespace, limit.
MATCH (load:Load {namespace: $namespace})
USING INDEX SEEK load:Load(namespace, revision)
WHERE load.revision >= 0
WITH load ORDER BY load.namespace DESC, load.revision DESC LIMIT $limit
RETURN properties(load) AS load;

// name: load
// The record of one load. Parameters: namespace, revision.
MATCH (load:Load {namespace: $namespace, revision: $revision})
RETURN properties(load) AS load;

// name: reach
// The last revision of a namespace, and the one that its history goes back to. Parameters: namespace.
MATCH (namespace:Namespace {name: $namespace})
RETURN namespace.revision AS last, coalesce(namespace.purged, 0) AS first;

// name: revision-at
// The last load that was stored at a time or before it. Parameters: namespace, time.
MATCH (load:Load {namespace: $namespace})
USING INDEX SEEK load:Load(namespace, revision)
WHERE load.revision IS NOT NULL AND load.at <= $time
WITH load.revision AS revision
ORDER BY load.namespace DESC, revision DESC
LIMIT 1
RETURN coalesce(max(revision), 0) AS revision;

// name: element-at
// What an id was as of a revision; of two, the former state is right: what is present may be read while a load commits.
// Parameters: namespace, id, revision.
CALL () {
  MATCH (node:Node {namespace: $namespace, id: $id})
  WHERE coalesce(node.since, 0) <= $revision
  RETURN false AS past, 'node' AS of, node.name AS name, node.data AS data,
         null AS from_node, null AS to_node, null AS verb, null AS weight
  UNION ALL
  MATCH (from_node:Node)-[edge:EDGE {namespace: $namespace, id: $id}]->(to_node:Node)
  WHERE coalesce(edge.since, 0) <= $revision
  RETURN false AS past, 'edge' AS of, null AS name, null AS data,
         from_node.id AS from_node, to_node.id AS to_node, edge.verb AS verb, edge.weight AS weight
  UNION ALL
  MATCH (former:Former {namespace: $namespace, id: $id})
  USING INDEX SEEK former:Former(namespace, id, until)
  WHERE former.until > $revision AND former.since <= $revision
  RETURN true AS past, former.of AS of, former.name AS name, former.data AS data,
         former.from_node AS from_node, former.to_node AS to_node, former.verb AS verb, former.weight AS weight
}
RETURN of, name, data, from_node, to_node, verb, weight
ORDER BY past DESC
LIMIT 1;

// name: nodes-since
// A page of the nodes that are what they were at a revision, in the order of their ids. Parameters: namespace,
// revision, after, limit.
MATCH (node:Node {namespace: $namespace})
USING INDEX SEEK node:Node(namespace, id)
WHERE node.id > $after AND coalesce(node.since, 0) <= $revision
RETURN node.id AS id, node.name AS name, node.data AS data
ORDER BY node.namespace, id
LIMIT $limit;

// name: edges-since
// A page of the edges that are what they were at a revision, in the order of their ids. Parameters: namespace,
// revision, after, limit.
MATCH (from_node:Node)-[edge:EDGE {namespace: $namespace}]->(to_node:Node)
USING INDEX SEEK edge:EDGE(namespace, id)
WHERE edge.id > $after AND coalesce(edge.since, 0) <= $revision
RETURN edge.id AS id, from_node.id AS from_node, to_node.id AS to_node, edge.verb AS verb, edge.weight AS weight
ORDER BY edge.namespace, id
LIMIT $limit;

// name: former-nodes
// A page of the nodes as of a revision that have been changed or deleted since, up to the id `last` if there is one.
// Parameters: namespace, revision, after, last, limit.
MATCH (former:Former {namespace: $namespace})
USING INDEX SEEK former:Former(namespace, id, until)
WHERE former.id > $after AND coalesce(former.id <= $last, true)
  AND former.since <= $revision AND former.until > $revision AND former.of = 'node'
RETURN former.id AS id, former.name AS name, former.data AS data
ORDER BY former.namespace, id
LIMIT $limit;

// name: former-edges
// A page of the edges as of a revision that have been changed or deleted since, up to the id `last` if there is one.
// Parameters: namespace, revision, after, last, limit.
MATCH (former:Former {namespace: $namespace})
USING INDEX SEEK former:Former(namespace, id, until)
WHERE former.id > $after AND coalesce(former.id <= $last, true)
  AND former.since <= $revision AND former.until > $revision AND former.of = 'edge'
RETURN former.id AS id, former.from_node AS from_node, former.to_node AS to_node, former.verb AS verb,
       former.weight AS weight
ORDER BY former.namespace, id
LIMIT $limit;

// name: changed-by
// What a revision changed: what it left and nobody has changed since (no `until`), what it left and was changed
// later, and what it replaced. `whole` is a node that it deleted: what it left under that id is another one. `log` is a
// context of PETE with its statements. `more` is how many properties an edge has beside its values, by which one that was
// created anew with the same values is told from it. Only what it created has replaced nothing: where it created no node, or
// no edge, those that it left have the ids of what it replaced, and the others are not walked through. Parameters: namespace,
// revision, nodes_created, edges_created (whether it created any).
CALL () {
  WITH $nodes_created AS created WHERE created
  MATCH (node:Node {namespace: $namespace})
  USING INDEX SEEK node:Node(namespace, id)
  WHERE node.id IS NOT NULL AND node.since = $revision
  RETURN node
  UNION ALL
  WITH $nodes_created AS created WHERE NOT created
  MATCH (replaced:Former {namespace: $namespace, until: $revision})
  USING INDEX SEEK replaced:Former(namespace, until)
  WITH replaced.id AS id
  MATCH (node:Node {namespace: $namespace, id: id})
  USING INDEX SEEK node:Node(namespace, id)
  WHERE node.since = $revision
  RETURN node
}
RETURN 'node' AS of, node.id AS id, null AS until,
       [node.name, node.data, node.kind, CASE WHEN node:Item THEN [node.value, node.ttl] END] AS values,
       false AS whole, false AS log, 0 AS more
UNION ALL
CALL () {
  WITH $edges_created AS created WHERE created
  MATCH (from_node)-[edge:EDGE {namespace: $namespace}]->(to_node)
  USING INDEX SEEK edge:EDGE(namespace, id)
  WHERE edge.id IS NOT NULL AND edge.since = $revision
  RETURN from_node, edge, to_node
  UNION ALL
  WITH $edges_created AS created WHERE NOT created
  MATCH (replaced:Former {namespace: $namespace, until: $revision})
  USING INDEX SEEK replaced:Former(namespace, until)
  WITH replaced.id AS id
  MATCH (from_node)-[edge:EDGE {namespace: $namespace, id: id}]->(to_node)
  USING INDEX SEEK edge:EDGE(namespace, id)
  WHERE edge.since = $revision
  RETURN from_node, edge, to_node
}
RETURN 'edge' AS of, edge.id AS id, null AS until,
       [from_node.id, to_node.id, edge.verb, edge.weight] AS values,
       false AS whole, false AS log, size(keys(edge)) AS more
UNION ALL
CALL () {
  WITH $nodes_created OR $edges_created AS created WHERE created
  MATCH (former:Former {namespace: $namespace})
  USING INDEX SEEK former:Former(namespace, until)
  WHERE former.until >= $revision AND (former.until = $revision OR former.since = $revision)
  RETURN former
  UNION ALL
  WITH $nodes_created OR $edges_created AS created WHERE NOT created
  MATCH (replaced:Former {namespace: $namespace, until: $revision})
  USING INDEX SEEK replaced:Former(namespace, until)
  WITH replaced.id AS id
  MATCH (former:Former {namespace: $namespace, id: id})
  USING INDEX SEEK former:Former(namespace, id, until)
  WHERE former.until >= $revision AND (former.until = $revision OR former.since = $revision)
  RETURN former
}
RETURN former.of AS of, former.id AS id, former.until AS until,
       CASE former.of
       WHEN 'node' THEN [former.name, former.data, former.kind,
                         CASE WHEN 'Item' IN former.labels THEN [former.value, former.ttl] END]
       ELSE [former.from_node, former.to_node, former.verb, former.weight] END AS values,
       former.itself IS NOT NULL AS whole, coalesce(former.itself AND 'Context' IN former.labels, false) AS log,
       CASE former.of WHEN 'node' THEN 0
       ELSE size([key IN keys(former) WHERE NOT key IN ['of', 'until', 'from_node', 'to_node']]) END AS more;

// name: now
// What these ids are now, and the revision that made them so, by which they may also be gone. Parameters: namespace,
// ids.
UNWIND $ids AS id
MATCH (node:Node {namespace: $namespace, id: id})
USING INDEX SEEK node:Node(namespace, id)
RETURN 'node' AS of, node.id AS id, coalesce(node.since, 0) AS since,
       [node.name, node.data, node.kind, CASE WHEN node:Item THEN [node.value, node.ttl] END] AS values
UNION ALL
UNWIND $ids AS id
MATCH (from_node:Node)-[edge:EDGE {namespace: $namespace, id: id}]->(to_node:Node)
USING INDEX SEEK edge:EDGE(namespace, id)
RETURN 'edge' AS of, edge.id AS id, coalesce(edge.since, 0) AS since,
       [from_node.id, to_node.id, edge.verb, edge.weight] AS values
UNION ALL
UNWIND $ids AS id
MATCH (former:Former {namespace: $namespace, id: id})
USING INDEX SEEK former:Former(namespace, id, until)
WHERE former.until IS NOT NULL
RETURN former.of AS of, former.id AS id, max(former.until) AS since, null AS values;

// name: hanging-on
// What would go with these nodes: their edges, and the contexts in them. Parameters: namespace, ids.
UNWIND $ids AS id
MATCH (node:Node {namespace: $namespace, id: id})
USING INDEX SEEK node:Node(namespace, id)
CALL (node) {
  MATCH (node)-[edge:EDGE]-()
  RETURN 'edge' AS of, edge AS other
  UNION ALL
  MATCH (node)-[:CONTAINS]->(child:Node)
  RETURN 'node' AS of, child AS other
}
RETURN DISTINCT of, other.id AS id, coalesce(other.since, 0) AS since, id AS node;

// name: said-of-new
// What is said of nodes that a revision created anew by later ones, and can't be said of the former nodes: facts and
// statements of PETE, and aliases. Other edges can lead to either. Parameters: namespace, until (the revision), ids.
UNWIND $ids AS id
MATCH (node:Node {namespace: $namespace, id: id})
USING INDEX SEEK node:Node(namespace, id)
CALL (node) {
  MATCH (node)-[edge:EDGE]-()
  WHERE edge.lemma IS NOT NULL AND edge.since > $until
  RETURN 'edge' AS of, edge.id AS other, edge.since AS since
  UNION ALL
  MATCH (node)<-[link:ALIAS_OF]-(alias:Alias)
  WHERE link.merged > $until
  RETURN 'alias' AS of, alias.name AS other, link.merged AS since
}
RETURN DISTINCT of, other AS id, since, id AS node;

// name: lost-ends
// The ends that edges had before a revision and that are no nodes now, and the revision that deleted each.
// Parameters: namespace, until (the revision), ids.
UNWIND $ids AS id
MATCH (former:Former {namespace: $namespace, id: id, until: $until, of: 'edge'})
USING INDEX SEEK former:Former(namespace, id, until)
UNWIND [former.from_node, former.to_node] AS end
WITH DISTINCT id, end
WHERE NOT EXISTS { (:Node {namespace: $namespace, id: end}) }
OPTIONAL MATCH (gone:Former {namespace: $namespace, id: end})
USING INDEX SEEK gone:Former(namespace, id, until)
WHERE gone.until IS NOT NULL AND gone.of = 'node'
RETURN id, end, coalesce(max(gone.until), 0) AS since;

// name: in-the-way
// Why nodes that were deleted can't come back: another one is found by what they were found by, or what they were in
// is gone. Parameters: namespace, until, ids.
UNWIND $ids AS id
MATCH (former:Former {namespace: $namespace, id: id, until: $until, of: 'node'})
USING INDEX SEEK former:Former(namespace, id, until)
CALL (former) {
  MATCH (other:Node {namespace: $namespace, concept: former.concept})
  RETURN other
  UNION
  MATCH (other:Context {namespace: $namespace, root: former.root})
  RETURN other
  UNION
  MATCH (own:Former {namespace: $namespace, id: former.id})
  USING INDEX SEEK own:Former(namespace, id, until)
  WHERE own.until IS NOT NULL AND own.itself
  MATCH (own)<-[:CONTAINS]-(other:Former)
  RETURN other
}
RETURN former.id AS id, other.id AS other, coalesce(other.until, other.since, 0) AS since;

// name: lost-statements
// What contexts that a revision deleted have stated, and a later one deleted with another context that stated it, too: facts,
// rules, and what was said of something. Parameters: namespace, until (the revision), ids.
UNWIND $ids AS id
MATCH (context:Former {namespace: $namespace, id: id, until: $until, of: 'node'})-[:STATES]->(entry:FormerEntry)
USING INDEX SEEK context:Former(namespace, id, until)
CALL (entry) {
  WITH entry WHERE entry.edge IS NOT NULL AND NOT EXISTS { ()-[:EDGE {namespace: $namespace, id: entry.edge}]->() }
  MATCH (fact:Former {namespace: $namespace, id: entry.edge})
  USING INDEX SEEK fact:Former(namespace, id, until)
  WHERE fact.until IS NOT NULL AND fact.of = 'edge'
  RETURN entry.edge AS stated, max(fact.until) AS since
  UNION ALL
  MATCH (entry)-[:MENTIONS]->(said:Former)
  WHERE said.itself AND any(label IN said.labels WHERE label IN ['Rule', 'Statement'])
  RETURN said.id AS stated, said.until AS since
}
WITH id, stated, since WHERE since > $until
RETURN DISTINCT id, stated, since;

// name: restore-nodes
// Nodes that a revision deleted come back as they were before it. Parameters: namespace, until (the revision), ids.
MATCH (namespace:Namespace {name: $namespace})
WITH namespace.revision AS revision, namespace.embedder AS embedder
UNWIND $ids AS id
MATCH (former:Former {namespace: $namespace, id: id, until: $until, of: 'node'})
USING INDEX SEEK former:Former(namespace, id, until)
WITH revision, embedder, properties(former) AS values, CASE WHEN former.itself THEN former ELSE head(COLLECT {
  MATCH (deleted:Former {namespace: $namespace, id: id})
  USING INDEX SEEK deleted:Former(namespace, id, until)
  WHERE deleted.until IS NOT NULL AND deleted.itself
  RETURN deleted ORDER BY deleted.until DESC
}) END AS own
CALL (revision, values, own) {
  WITH own, values, revision WHERE own IS NULL
  CREATE (node:Node)
  SET node:$(values.labels), node = values, node.since = revision, node.of = null, node.until = null,
      node.labels = null
  RETURN node
  UNION ALL
  WITH own AS node, values, revision, properties(own) AS kept WHERE own IS NOT NULL
  REMOVE node:Former
  SET node:Node, node:$(kept.labels)
  CREATE (copy:Former)
  SET copy = kept {.*, itself: false, embedding: null, embedding_model: null, vector_due: null, expires_at: null}
  SET node = CASE WHEN node:Context
                  THEN kept {.*, name: values.name, data: values.data,
                             name_parts: values.name_parts, data_parts: values.data_parts}
                  ELSE values END,
      node.since = revision, node.of = null, node.until = null, node.labels = null, node.itself = null,
      node.expires_at = kept.expires_at
  RETURN node
}
SET node.vector_due = CASE WHEN node.embedding_model = embedder THEN null
                           WHEN node.name <> '' OR node.data <> '' THEN embedder END
WITH node
CALL (node) {
  MATCH (node)-[:STATES]->(entry:FormerEntry)
  REMOVE entry:FormerEntry
  SET entry:Entry
}
RETURN {nodes_created: count(node)} AS counts;

// name: exchange-nodes
// Nodes that a revision deleted come back as they were before it, with all that hung on them, in place of those that it
// created anew under their ids: these are deleted, and edges that stay lead to the former ones. An address stays.
// Parameters: namespace, until (the revision), ids.
MATCH (namespace:Namespace {name: $namespace})
WITH namespace.revision AS revision, namespace.embedder AS embedder
UNWIND $ids AS id
MATCH (wanted:Former {namespace: $namespace, id: id, until: $until})
USING INDEX SEEK wanted:Former(namespace, id, until)
WHERE wanted.of = 'node' AND wanted.itself IS NOT NULL
MATCH (anew:Node {namespace: $namespace, id: id})
USING INDEX SEEK anew:Node(namespace, id)
WITH revision, embedder, anew, properties(wanted) AS values, CASE WHEN wanted.itself THEN wanted ELSE head(COLLECT {
  MATCH (deleted:Former {namespace: $namespace, id: id})
  USING INDEX SEEK deleted:Former(namespace, id, until)
  WHERE deleted.until IS NOT NULL AND deleted.itself
  RETURN deleted ORDER BY deleted.until DESC
}) END AS node
WHERE node IS NOT NULL
CALL (anew, node) {
  MATCH (anew)-[edge:EDGE]-()
  WITH DISTINCT edge, properties(edge) AS kept,
       CASE WHEN startNode(edge) = anew THEN node ELSE startNode(edge) END AS from_node,
       CASE WHEN endNode(edge) = anew THEN node ELSE endNode(edge) END AS to_node
  DELETE edge
  CREATE (from_node)-[moved:EDGE]->(to_node)
  SET moved = kept
}
CALL (anew, node, values, revision, embedder) {
  WITH anew, node, values, revision, embedder, properties(node) AS kept, anew.memory AS memory,
       [label IN labels(anew) WHERE label <> 'Node'] AS labels
  REMOVE anew:$(labels(anew))
  SET anew:Former, anew.of = 'node', anew.since = coalesce(anew.since, 0), anew.until = revision,
      anew.labels = labels, anew.itself = true
  REMOVE node:Former
  SET node:Node, node:$(kept.labels)
  CREATE (copy:Former)
  SET copy = kept {.*, itself: false, embedding: null, embedding_model: null, vector_due: null, expires_at: null}
  SET node = values, node.since = revision, node.of = null, node.until = null, node.labels = null, node.itself = null,
      node.memory = coalesce(kept.memory, memory), node.expires_at = kept.expires_at,
      node.vector_due = CASE WHEN values.embedding_model = embedder THEN null
                             WHEN values.name <> '' OR values.data <> '' THEN embedder END
}
RETURN {nodes_updated: count(node)} AS counts;

// name: revert-nodes
// Nodes that a revision changed become what they were before it; of a context of PETE this is only what ContextScript
// says of it, because its log has gone on. An address stays, whenever it was given. An item that gets its former `ttl` back lives
// as long again from now on, or for good (items/put); what was no item before is none again. Parameters: namespace, until (the
// revision), ids.
MATCH (namespace:Namespace {name: $namespace})
WITH namespace.revision AS revision, namespace.embedder AS embedder
UNWIND $ids AS id
MATCH (wanted:Former {namespace: $namespace, id: id, until: $until, of: 'node'})
USING INDEX SEEK wanted:Former(namespace, id, until)
MATCH (node:Node {namespace: $namespace, id: id})
USING INDEX SEEK node:Node(namespace, id)
WITH revision, embedder, wanted, node, properties(node) AS kept
CREATE (former:Former)
SET former = kept {.*, of: 'node', since: coalesce(kept.since, 0), until: revision,
             labels: [label IN labels(node) WHERE label <> 'Node'], embedding: null, embedding_model: null, vector_due: null,
             expires_at: null}
SET node:$([label IN wanted.labels WHERE label = 'Item'])
SET node = CASE WHEN node:Context
                THEN kept {.*, name: wanted.name, data: wanted.data,
                           name_parts: wanted.name_parts, data_parts: wanted.data_parts}
                ELSE properties(wanted) END,
    node.since = revision, node.of = null, node.until = null, node.labels = null, node.itself = null,
    node.memory = kept.memory, node.embedding = null, node.embedding_model = null,
    node.vector_due = CASE WHEN wanted.name <> '' OR wanted.data <> '' THEN embedder END,
    node.expires_at = CASE WHEN NOT node:Item OR coalesce(wanted.ttl, -1) = coalesce(kept.ttl, -1) THEN kept.expires_at
                      WHEN wanted.ttl IS NULL THEN null
                      ELSE datetime.realtime() + duration({milliseconds: toInteger(wanted.ttl * 60000)}) END
REMOVE node:$([label IN labels(node) WHERE label = 'Item' AND NOT label IN wanted.labels])
RETURN {nodes_updated: count(node)} AS counts;

// name: restore-edges
// Edges that a revision changed or deleted become what they were before it. Parameters: namespace, until (the
// revision), ids.
MATCH (namespace:Namespace {name: $namespace})
WITH namespace.revision AS revision
UNWIND $ids AS id
MATCH (wanted:Former {namespace: $namespace, id: id, until: $until, of: 'edge'})
USING INDEX SEEK wanted:Former(namespace, id, until)
WITH revision, id, wanted, wanted.from_node AS from_id, wanted.to_node AS to_id
MATCH (from_node:Node {namespace: $namespace, id: from_id})
USING INDEX SEEK from_node:Node(namespace, id)
MATCH (to_node:Node {namespace: $namespace, id: to_id})
USING INDEX SEEK to_node:Node(namespace, id)
WITH revision, properties(wanted) AS values, from_node, to_node, id
OPTIONAL MATCH (left)-[present:EDGE {namespace: $namespace, id: id}]->(reached)
USING INDEX SEEK present:EDGE(namespace, id)
WITH revision, values, from_node, to_node, present, present IS NOT NULL AS changed, properties(present) AS kept,
     left.id AS left, reached.id AS reached
FOREACH (_ IN CASE WHEN changed THEN [1] ELSE [] END |
  CREATE (former:Former)
  SET former = kept {.*, of: 'edge', since: coalesce(kept.since, 0), until: revision,
               from_node: left, to_node: reached}
  DELETE present
)
CREATE (from_node)-[edge:EDGE]->(to_node)
SET edge = values, edge.since = revision, edge.of = null, edge.until = null, edge.from_node = null,
    edge.to_node = null
RETURN {edges_updated: sum(CASE WHEN changed THEN 1 ELSE 0 END),
        edges_created: sum(CASE WHEN changed THEN 0 ELSE 1 END)} AS counts;

// name: record-undo
// What the load that is being closed undoes. Parameters: namespace, revision.
MATCH (namespace:Namespace {name: $namespace})
MATCH (load:Load {namespace: $namespace, revision: namespace.revision})
SET load.undoes = $revision;

// name: forget
// Forget some of what was before a revision, under the namespace's write lock; run until none is left. Aliases go with the
// last node that they stood for. The history then goes back to that revision. Parameters: namespace, before, limit.
MATCH (namespace:Namespace {name: $namespace})
SET namespace.purged = reduce(first = coalesce(namespace.purged, 0), before IN
      [CASE WHEN $before < namespace.revision THEN $before ELSE namespace.revision END] |
      CASE WHEN before > first THEN before ELSE first END)
WITH namespace
OPTIONAL MATCH (former:Former {namespace: $namespace})
WHERE former.until <= $before
WITH former LIMIT $limit
OPTIONAL MATCH (former)-[:STATES]->(entry:FormerEntry)
WITH collect(DISTINCT former) AS formers, collect(entry) AS entries
FOREACH (entry IN entries | DETACH DELETE entry)
WITH formers, size(formers) AS forgotten,
     COLLECT { UNWIND formers AS former MATCH (former)<-[:ALIAS_OF]-(alias:Alias) RETURN DISTINCT alias } AS aliases
FOREACH (former IN formers | DETACH DELETE former)
WITH forgotten, aliases
CALL (aliases) {
  UNWIND aliases AS alias
  WITH alias WHERE NOT EXISTS { (alias)-[:ALIAS_OF]->() }
  DELETE alias
}
RETURN forgotten;

// name: leftovers
// What belonged to a node alone that is gone: observations of nothing, and statements of PETE that lack what they speak
// of. What was learnt from a message belongs to that. In the order of their ids. Parameters: namespace, after (the last
// id that is not wanted any more, '' for all).
MATCH (node:Node {namespace: $namespace})
USING INDEX SEEK node:Node(namespace, id)
WHERE node.id > $after
  AND CASE WHEN node:Observation THEN NOT EXISTS { (node)-[:EDGE]-() } AND NOT EXISTS { (node)-[:SOURCE]->() }
      WHEN node:Statement
      THEN COUNT { (node)-[:EDGE {lemma: ''}]->(:Node) } < coalesce(size(node.conjunctions) + 1, 2)
      ELSE false END
RETURN node.id AS id, elementId(node) AS element,
       CASE WHEN node:Observation THEN 'an observation of nothing' ELSE 'a statement that lacks what it speaks of' END
       AS what
ORDER BY node.namespace, node.id;

// name: count-leftovers
// How many leftovers there are. Parameters: namespace, after.
CALL () {
  RETURN null AS id, null AS element, null AS what // include: history/leftovers
}
RETURN count(*) AS count;

// name: first-leftovers
// The first leftovers by their ids. Parameters: namespace, after, limit.
CALL () {
  RETURN null AS id, null AS element, null AS what // include: history/leftovers
}
RETURN id, element, what
LIMIT $limit;
