// Items of a store of values by namespaces and keys (memory/items.py): nodes with the label `Item`, a value as JSON, and what
// of it recall looks at as `data`. They are deleted as nodes are (contextscript/delete-nodes).

// name: put
// Store items inside a load: new ones, or new values of those that are stored, whose former values are kept. `ttl` is minutes, or
// null for an item that never expires; a time less than $lead milliseconds away is now. Parameters: namespace, namespace_token,
// kind, lead, rows [{id, created_at, updated_at, set: {shelf, key, value, name, data, name_parts, data_parts, ttl}}]; without
// times it is now.
MATCH (namespace:Namespace {name: $namespace})
WITH namespace.revision AS revision, namespace.embedder AS embedder, datetime.realtime() AS now
UNWIND $rows AS row
OPTIONAL MATCH (stored:Node {namespace: $namespace, id: row.id})
USING INDEX SEEK stored:Node(namespace, id)
FOREACH (_ IN CASE WHEN stored IS NOT NULL AND coalesce(stored.since, 0) < revision THEN [1] ELSE [] END |
  CREATE (former:Former)
  SET former = stored {.*, of: 'node', since: coalesce(stored.since, 0), until: revision,
               labels: [label IN labels(stored) WHERE label <> 'Node'], embedding: null, embedding_model: null, vector_due: null,
               expires_at: null}
)
WITH revision, embedder, now, row, stored IS NULL AS is_new
MERGE (item:Node {namespace: $namespace, id: row.id})
SET item:Item, item += row.set, item.kind = $kind, item.namespace_token = $namespace_token, item.since = revision,
    item.embedding = null, item.embedding_model = null,
    item.created_at = coalesce(item.created_at, row.created_at, now), item.updated_at = coalesce(row.updated_at, now),
    item.expires_at = CASE WHEN row.set.ttl IS NULL THEN null WHEN row.set.ttl * 60000 < $lead THEN now
                      ELSE now + duration({milliseconds: toInteger(row.set.ttl * 60000)}) END
SET item.vector_due = CASE WHEN item.name <> '' OR item.data <> '' THEN embedder END
RETURN {nodes_created: sum(CASE WHEN is_new THEN 1 ELSE 0 END),
        nodes_updated: sum(CASE WHEN is_new THEN 0 ELSE 1 END)} AS counts;

// name: get
// Items by their ids. Parameters: namespace, ids.
UNWIND $ids AS id
MATCH (item:Node {namespace: $namespace, id: id})
USING INDEX SEEK item:Node(namespace, id)
WHERE item:Item
RETURN item {.id, .shelf, .key, .value, .created_at, .updated_at, .ttl} AS item;

// name: under
// A page of the items of the shelves from one on and before another, in the order of their shelves and keys, behind the item of
// the first shelf with a key. Parameters: namespace, shelf, end, key (null for the first page), skip, limit.
MATCH (node:Item {namespace: $namespace})
USING INDEX node:Item(namespace, shelf, key)
WHERE node.shelf >= $shelf AND node.shelf < $end AND node.key IS NOT NULL
  AND CASE WHEN node.shelf = $shelf THEN coalesce(node.key > $key, true) ELSE true END
RETURN node {.id, .shelf, .key, .value, .created_at, .updated_at, .ttl} AS item
ORDER BY node.namespace, node.shelf, node.key
SKIP $skip
LIMIT $limit;

// name: shelves
// The shelves that begin so and have items, in their order. Parameters: namespace, prefix.
MATCH (item:Item {namespace: $namespace})
USING INDEX item:Item(namespace, shelf, key)
WHERE item.shelf STARTS WITH $prefix AND item.key IS NOT NULL
RETURN DISTINCT item.shelf AS shelf
ORDER BY shelf;

// name: find
// The items of the shelves from one on and before another that a text brings to mind, best first: those that have its words,
// and those whose vectors are near, two lists that are fused as recall fuses its own. All that has the words, which the index
// collects before it gives one, is asked for only where too few of the best are such items. Parameters: namespace, terms and
// all_terms (Lucene queries made by memorygraph.memory.words, for the best and for all), vectors (none, or one), model (``
// without a vector), kind, shelf, end, depth (the entries of each list that count), constant, limit.
CYPHER 25
CALL () {
  WITH 20 * $depth AS best_depth
  CALL (best_depth) {
    CALL db.index.fulltext.queryNodes('node_text', $terms, {limit: best_depth}) YIELD node AS item, score
    WHERE score > 0 AND item:Item AND item.namespace = $namespace AND item.shelf >= $shelf AND item.shelf < $end
    WITH item LIMIT $depth
    RETURN count(item) AS fitting
  }
  CALL db.index.fulltext.queryNodes('node_text', CASE WHEN fitting = $depth THEN $terms ELSE $all_terms END,
                                     CASE WHEN fitting = $depth THEN {limit: best_depth} ELSE {} END)
  YIELD node AS item, score
  WHERE score > 0 AND item:Item AND item.namespace = $namespace AND item.shelf >= $shelf AND item.shelf < $end
  WITH item, score LIMIT $depth
  WITH item ORDER BY score DESC, item.id
  RETURN collect(item) AS list
  UNION ALL
  UNWIND $vectors AS vector
  CALL (vector) {
    MATCH (item)
    SEARCH item IN (VECTOR INDEX recall_vectors FOR vector
                    WHERE item.namespace = $namespace AND item.embedding_model = $model AND item.kind = $kind
                      AND item.home >= $shelf AND item.home < $end
                    LIMIT $depth) SCORE AS score
    RETURN item, score
  }
  WITH item ORDER BY score DESC, item.id
  RETURN collect(item) AS list
}
UNWIND range(0, size(list) - 1) AS place
WITH list[place] AS item, sum(1.0 / ($constant + place + 1)) AS score
ORDER BY score DESC, item.id
LIMIT $limit
RETURN item {.id, .shelf, .key, .value, .created_at, .updated_at, .ttl} AS item, score;

// name: add-homes
// Some of the items with a vector that an earlier version stored are at home on their shelves from now on, as others are from
// the moment they have one (recall/embed-nodes). Parameters: namespace, limit.
MATCH (item:Item {namespace: $namespace})
USING INDEX item:Item(namespace, shelf, key)
WHERE item.shelf >= '' AND item.key IS NOT NULL AND item.embedding IS NOT NULL AND item.home IS NULL
WITH item LIMIT $limit
SET item.home = item.shelf
RETURN count(*) AS items;

// name: renew
// Items that were read live as long again as when they were stored. Parameters: namespace, ids, lead.
UNWIND $ids AS id
MATCH (item:Node {namespace: $namespace, id: id})
USING INDEX SEEK item:Node(namespace, id)
WHERE item:Item
SET item.namespace = $namespace // its lock, before its time is read
WITH item, datetime.realtime() AS now
WHERE item.ttl IS NOT NULL
SET item.expires_at = CASE WHEN item.ttl * 60000 < $lead THEN now
                      ELSE now + duration({milliseconds: toInteger(item.ttl * 60000)}) END;
