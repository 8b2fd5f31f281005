// One thing under several names: entities that are merged, and the aliases that are left of them.
//
//   (:Alias {namespace, id, node, name, name_parts, memory, concept})-[:ALIAS_OF {merged}]->(:Node)
//
// `node`, `memory` and `concept` are what the merged node was found by, and `name` what it was called. `merged` is the
// revision of the merge. The merged node itself is deleted as any node is: it becomes a Former, with all that hung on it
// beside its edges. The node that it was merged into gets the same relationships once more, with `merged`: so an undo
// deletes these, and nothing has to be moved back. The aliases of the merged node come along in the same way, so that an
// alias is always one step from its node, and is gone with it.

// name: find-named
// The nodes that a text may name: by their id, as an alias, or by their name, with the lower `rank` first. An alias that
// was merged last comes first. No name stands for an item of a store, whose name is its key. Parameters: namespace, names.
UNWIND $names AS text
CALL (text) {
  MATCH (node:Node {namespace: $namespace, id: text})
  USING INDEX SEEK node:Node(namespace, id)
  RETURN node, 1 AS rank, 0 AS merged
  UNION ALL
  MATCH (node:Node {namespace: $namespace, name: text})
  USING INDEX SEEK node:Node(namespace, name)
  WHERE NOT node:Observation AND NOT node:Item
  RETURN node, 2 AS rank, 0 AS merged
  UNION ALL
  MATCH (alias:Alias {namespace: $namespace, node: text})-[link:ALIAS_OF]->(node:Node)
  USING INDEX SEEK alias:Alias(namespace, node)
  RETURN node, 3 AS rank, link.merged AS merged
  UNION ALL
  MATCH (alias:Alias {namespace: $namespace, name: text})-[link:ALIAS_OF]->(node:Node)
  USING INDEX SEEK alias:Alias(namespace, name)
  RETURN node, 4 AS rank, link.merged AS merged
}
RETURN text, rank, merged, node.id AS id, coalesce(node.name, '') AS name, coalesce(node.data, '') AS data,
       node.kind AS kind,
       CASE WHEN node:Context THEN 'a context of PETE'
            WHEN any(label IN labels(node) WHERE label IN ['Statement', 'Rule', 'Value'])
              THEN 'a statement, a rule or a value of PETE'
            WHEN node:Item THEN 'an item of a store'
            WHEN node:Observation OR (node.name = '' AND EXISTS { (node)<-[:EDGE {verb: 'observed'}]-(:Node) })
              THEN 'an observation' END AS other_than_entity
ORDER BY text, rank, merged DESC, id;

// name: find-merged
// The node that one with this id was merged into. Parameters: namespace, id.
MATCH (alias:Alias {namespace: $namespace, node: $id})-[link:ALIAS_OF]->(node:Node)
USING INDEX SEEK alias:Alias(namespace, node)
RETURN node.id AS id, node.name AS name, node.data AS data
ORDER BY link.merged DESC LIMIT 1;

// name: entities-of-aliases
// What the entities are called that these names are aliases of; a name that a node has itself is none, unless that is an
// item of a store. Parameters: namespace, names.
UNWIND $names AS name
CALL (name) {
  MATCH (alias:Alias {namespace: $namespace, name: name})-[link:ALIAS_OF]->(node:Node)
  USING INDEX SEEK alias:Alias(namespace, name)
  RETURN node, link.merged AS merged
  UNION ALL
  MATCH (alias:Alias {namespace: $namespace, node: name})-[link:ALIAS_OF]->(node:Node)
  USING INDEX SEEK alias:Alias(namespace, node)
  RETURN node, link.merged AS merged
}
WITH name, node, merged
WHERE NOT EXISTS {
  MATCH (named:Node {namespace: $namespace, name: name})
  USING INDEX SEEK named:Node(namespace, name)
  WHERE NOT named:Item
}
  AND NOT EXISTS {
    MATCH (nameless:Node {namespace: $namespace, id: name})
    USING INDEX SEEK nameless:Node(namespace, id)
    WHERE nameless.name = '' AND NOT nameless:Item
  }
WITH name, node ORDER BY merged DESC
WITH name, head(collect(node)) AS node
RETURN name AS alias, CASE WHEN node.name = '' THEN node.id ELSE node.name END AS entity;

// name: aliases-of
// What a node is called beside its name, by the merges that made it so. Parameters: namespace, ids.
UNWIND $ids AS id
MATCH (node:Node {namespace: $namespace, id: id})<-[:ALIAS_OF]-(alias:Alias)
USING INDEX SEEK node:Node(namespace, id)
RETURN node.id AS id, alias.name AS name, alias.node AS node
ORDER BY id, name, node;

// name: edges-to-merge
// The edges at a node that is merged, with the ends that they get: `between` are those between the two nodes, and `twin` is
// an edge that says the same already, of which the strongest is named. Of an edge that leads to an observation,
// `observed` is its text, and `alone` tells that nothing else is joined to it. Facts of PETE have no twins: a statement
// of a log tells of each. Parameters: namespace, from, into.
MATCH (merged:Node {namespace: $namespace, id: $from})
USING INDEX SEEK merged:Node(namespace, id)
MATCH (into:Node {namespace: $namespace, id: $into})
USING INDEX SEEK into:Node(namespace, id)
MATCH (merged)-[edge:EDGE]-()
WITH DISTINCT merged, into, edge
WITH merged, into, edge, startNode(edge) AS source, endNode(edge) AS target
WITH into, edge, target, (source = merged AND target = into) OR (source = into AND target = merged) AS between,
     CASE WHEN source = merged THEN into ELSE source END AS left,
     CASE WHEN target = merged THEN into ELSE target END AS reached
WITH edge, target, between, left, reached, head(COLLECT {
  MATCH (left)-[twin:EDGE {verb: edge.verb}]->(reached)
  WHERE NOT between AND twin <> edge AND twin.lemma IS NULL AND edge.lemma IS NULL
  RETURN twin ORDER BY coalesce(toFloatOrNull(twin.weight), 0.0) DESC, twin.id LIMIT 1
}) AS twin
RETURN edge.id AS id, left.id AS from_node, reached.id AS to_node, edge.weight AS weight, between,
       twin.id AS twin, twin.weight AS twin_weight, target.id AS target,
       CASE WHEN edge.verb = 'observed' AND (target:Observation OR target.name = '') THEN target.data END AS observed,
       COUNT { (target)-[:EDGE]-() } < 2 AS alone
ORDER BY id;

// name: observed-texts
// What was observed of an entity, and by which node it is said: its data, or an observation. Parameters: namespace, id.
MATCH (node:Node {namespace: $namespace, id: $id})
USING INDEX SEEK node:Node(namespace, id)
RETURN node.id AS id, node.data AS data
UNION ALL
MATCH (node:Node {namespace: $namespace, id: $id})-[:EDGE {verb: 'observed'}]->(observation:Node)
USING INDEX SEEK node:Node(namespace, id)
WHERE observation:Observation OR observation.name = ''
RETURN observation.id AS id, observation.data AS data;

// name: observe
// Text that a merged node said of itself becomes an observation of the other. Parameters: namespace, namespace_token,
// rows [{id, edge, entity, data, data_parts}].
MATCH (namespace:Namespace {name: $namespace})
WITH namespace.revision AS revision, namespace.embedder AS embedder
UNWIND $rows AS row
MATCH (entity:Node {namespace: $namespace, id: row.entity})
USING INDEX SEEK entity:Node(namespace, id)
CREATE (entity)-[:EDGE {namespace: $namespace, id: row.edge, verb: 'observed', weight: 1.0, since: revision}]->
       (observation:Node:Observation {namespace: $namespace, id: row.id, name: '', data: row.data, data_parts: row.data_parts,
                                      namespace_token: $namespace_token, since: revision, vector_due: embedder})
RETURN {nodes_created: count(observation), edges_created: count(observation)} AS counts;

// name: link
// What hung on merged nodes beside their edges hangs on those that they were merged into as well, and the first of them
// leaves its alias. It is run after this revision has deleted them. `pairs` are the merged node, and observations of it
// that the other node has too, each as [from, into]. Parameters: namespace, namespace_token, pairs.
MATCH (namespace:Namespace {name: $namespace})
WITH namespace.revision AS revision
CALL (revision) {
  WITH revision, $pairs[0] AS pair
  MATCH (merged:Former {namespace: $namespace, id: pair[0], until: revision})
  USING INDEX SEEK merged:Former(namespace, id, until)
  MATCH (into:Node {namespace: $namespace, id: pair[1]})
  USING INDEX SEEK into:Node(namespace, id)
  CREATE (alias:Alias {namespace: $namespace, id: 'alias-' + toString(revision), node: merged.id,
                       name: CASE WHEN merged.name = '' THEN merged.id ELSE merged.name END,
                       namespace_token: $namespace_token})
  SET alias.concept = merged.concept,
      alias.name_parts = merged.name_parts,
      alias.memory = coalesce(merged.memory, CASE WHEN merged.id =~ 'memory-(0|[1-9][0-9]{0,17})'
                                             THEN toInteger(substring(merged.id, 7)) END)
  CREATE (alias)-[:ALIAS_OF {merged: revision}]->(into)
}
CALL (revision) {
  UNWIND $pairs AS pair
  MATCH (merged:Former {namespace: $namespace, id: pair[0], until: revision})
  USING INDEX SEEK merged:Former(namespace, id, until)
  MATCH (into:Node {namespace: $namespace, id: pair[1]})
  USING INDEX SEEK into:Node(namespace, id)
  CALL (merged, into, revision) {
    MATCH (alias:Alias)-[:ALIAS_OF]->(merged)
    CREATE (alias)-[:ALIAS_OF {merged: revision}]->(into)
    RETURN 'alias' AS what
    UNION ALL
    MATCH (merged)-[:SOURCE]->(message)
    WITH DISTINCT into, message, revision
    WHERE NOT EXISTS { (into)-[:SOURCE]->(message) }
    CREATE (into)-[:SOURCE {merged: revision}]->(message)
    RETURN 'message' AS what
    UNION ALL
    MATCH (entry)-[:MENTIONS]->(merged)
    WITH DISTINCT into, entry, revision
    WHERE NOT EXISTS { (entry)-[:MENTIONS]->(into) }
    CREATE (entry)-[:MENTIONS {merged: revision}]->(into)
    RETURN 'mention' AS what
    UNION ALL
    MATCH (context)-[binds:BINDS]->(merged)
    CREATE (context)-[again:BINDS]->(into)
    SET again = properties(binds), again.merged = revision
    RETURN 'mention' AS what
  }
  RETURN collect(what) AS linked
}
RETURN size([what IN linked WHERE what = 'message']) AS messages,
       size([what IN linked WHERE what = 'mention']) AS mentions,
       size([what IN linked WHERE what = 'alias']) + 1 AS aliases;

// name: unlink
// Take back what `link` did in a revision. Parameters: namespace, revision, into (the node that was merged into).
OPTIONAL MATCH (alias:Alias {namespace: $namespace, id: 'alias-' + toString($revision)})
DETACH DELETE alias
WITH count(*) AS aliases
MATCH (into:Node {namespace: $namespace, id: $into})
USING INDEX SEEK into:Node(namespace, id)
CALL (into) {
  RETURN into AS node
  UNION
  MATCH (into)-[:EDGE {verb: 'observed'}]->(node:Node)
  RETURN node
}
MATCH (node)-[link:SOURCE|MENTIONS|BINDS|ALIAS_OF]-()
WHERE link.merged = $revision
WITH DISTINCT link
DELETE link;

// name: nodes-called
// The entities whose names may differ from these in case, in the encoding of letters or in outer blanks only, or not at
// all: Cypher has no case folding that says it exactly. Parameters: namespace, rows [{name, spellings,
// terms}]: spellings that an index knows at once, and a Lucene query for others made by memorygraph.graph.search.
UNWIND $rows AS row
CALL (row) {
  UNWIND row.spellings AS spelling
  MATCH (node:Node {namespace: $namespace, name: spelling})
  USING INDEX SEEK node:Node(namespace, name)
  RETURN node
  UNION
  CALL db.index.fulltext.queryNodes('node_text', row.terms, {limit: 20}) YIELD node
  WHERE node.namespace = $namespace
  RETURN node
}
WITH row.name AS wanted, node
WHERE NOT node:Observation AND NOT node:Item AND node.id IS NOT NULL
  AND toUpper(toLower(normalize(trim(toStringOrNull(node.name))))) = toUpper(toLower(normalize(trim(wanted))))
RETURN wanted, node.id AS id, node.name AS name, node.arrival AS arrival
ORDER BY wanted, arrival IS NULL, arrival, id;

// name: entities-to-compare
// All that is an entity, with its aliases, in the order of the ids. Ids and names of aliases that no text can be made of,
// such as lists, which raw Cypher can store, are left out. Parameters: namespace.
MATCH (node:Node {namespace: $namespace})
USING INDEX SEEK node:Node(namespace, id)
WHERE node.id IS NOT NULL AND toStringOrNull(node.id) IS NOT NULL
  AND none(label IN labels(node) WHERE label IN ['Observation', 'Item', 'Context', 'Statement', 'Rule', 'Value'])
  AND (node.name <> '' OR NOT EXISTS { (node)<-[:EDGE {verb: 'observed'}]-(:Node) })
WITH node, toStringOrNull(node.id) AS id
RETURN id, coalesce(nullIf(toStringOrNull(node.name), ''), id) AS name,
       toStringOrNull(node.kind) AS kind, COUNT { (node)-[:EDGE]-() } AS edges,
       COLLECT {
         MATCH (node)<-[:ALIAS_OF]-(alias:Alias)
         WHERE toStringOrNull(alias.name) IS NOT NULL
         RETURN toStringOrNull(alias.name)
       } AS aliases;

// name: edges-to-compare
// All edges between entities, by their ends, but those at such ids. Parameters: namespace.
MATCH (source:Node)-[edge:EDGE {namespace: $namespace}]->(target:Node)
USING INDEX edge:EDGE(namespace, id)
WHERE edge.id IS NOT NULL AND edge.place IS NULL AND NOT target:Observation
  AND toStringOrNull(source.id) IS NOT NULL AND toStringOrNull(target.id) IS NOT NULL
RETURN toStringOrNull(source.id) AS source, toStringOrNull(edge.verb) AS verb, toStringOrNull(target.id) AS target;
