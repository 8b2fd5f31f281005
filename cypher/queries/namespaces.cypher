// name: begin-drop
// Mark a namespace as one whose drop has begun: it is gone when the last transaction of the drop is committed.
// Parameters: namespace.
MATCH (namespace:Namespace {name: $namespace})
SET namespace.dropping = true;

// name: catch-up
// Have a namespace be at the revision of its last load: an earlier version set it back when something was forgotten while
// something else was stored, and no write could begin any more. Parameters: namespace.
MATCH (namespace:Namespace {name: $namespace})
SET namespace.revision = coalesce(namespace.revision, 0)
WITH namespace
MATCH (load:Load {namespace: $namespace})
USING INDEX SEEK load:Load(namespace, revision)
WHERE load.revision > namespace.revision
WITH namespace, max(load.revision) AS last
SET namespace.revision = last;

// name: drop-namespace-elements
// Delete some of a namespace's nodes with what joins them, under the namespace's write lock; run until it takes none. Where
// that is more than one transaction has room for, some of it goes alone. Parameters: namespace, limit, joined (how much of
// what joins them goes at most).
MATCH (namespace:Namespace {name: $namespace})
SET namespace.revision = namespace.revision + 1
WITH namespace
OPTIONAL MATCH (node:Node {namespace: $namespace})
WHERE node.id IS NOT NULL
WITH node LIMIT $limit
WITH collect(node) AS nodes
CALL (nodes) {
  UNWIND nodes AS node
  MATCH (node)-[joined]-()
  WITH DISTINCT joined LIMIT $joined
  DELETE joined
  RETURN count(joined) AS freed
}
FOREACH (node IN CASE WHEN freed < $joined THEN nodes ELSE [] END | DETACH DELETE node)
RETURN CASE WHEN freed < $joined THEN size(nodes) ELSE freed END AS deleted;

// name: drop-namespace-entries
// Delete some of the statements of PETE, whose contexts are gone; of the aliases; and of the nodes without a key that an
// import made that was interrupted. Parameters: namespace, limit.
CALL () {
  MATCH (entry:Entry {namespace: $namespace})
  USING INDEX entry:Entry(namespace, id)
  WHERE entry.id IS NOT NULL
  RETURN entry
  UNION ALL
  MATCH (entry:FormerEntry {namespace: $namespace})
  USING INDEX entry:FormerEntry(namespace, id)
  WHERE entry.id IS NOT NULL
  RETURN entry
  UNION ALL
  MATCH (entry:Alias {namespace: $namespace})
  USING INDEX entry:Alias(namespace, id)
  WHERE entry.id IS NOT NULL
  RETURN entry
  UNION ALL
  MATCH (entry:BundleKey {namespace: $namespace})
  USING INDEX entry:BundleKey(namespace, bundle_key)
  WHERE entry.bundle_key IS NOT NULL
  RETURN entry
}
WITH entry LIMIT $limit
DETACH DELETE entry
RETURN count(entry) AS deleted;

// name: keep-mark
// Keep the mark of what was forgotten, or is being forgotten, in a namespace that goes: the files of the server still hold
// it. The nodes of no namespace keep it, once. Parameters: namespace, mark.
MATCH (namespace:Namespace {name: $namespace})
WHERE EXISTS { MATCH (list:Forgetting {namespace: $namespace}) WHERE list.id IS NOT NULL }
      OR EXISTS { MATCH (load:Load {namespace: $namespace}) WHERE load.id IS NOT NULL AND load.files = $mark }
MATCH (migration:Migration)
WHERE migration.files IS NULL
SET migration.files = $mark;

// name: renew-record
// Put another record in the place of a namespace's. A transaction that began something in the namespace without its lock, as
// the first message of a conversation does, holds a shared lock on the name until its commit, by its MERGE: what makes a record
// of this name waits for it, and then finds what it has stored. Parameters: namespace.
MATCH (namespace:Namespace {name: $namespace})
WITH namespace, properties(namespace) AS kept
DETACH DELETE namespace
CREATE (record:Namespace)
SET record = kept;

// name: drop-loads
// Delete some of the records of a namespace's loads: a long life has hundreds of thousands. Parameters: namespace, limit.
MATCH (load:Load {namespace: $namespace})
WHERE load.id IS NOT NULL
WITH load LIMIT $limit
DETACH DELETE load
RETURN count(load) AS deleted;

// name: drop-namespace-records
// Delete the namespace itself and its checkpoints. Parameters: namespace.
MATCH (namespace:Namespace {name: $namespace})
CALL () {
  MATCH (checkpoint:Checkpoint {namespace: $namespace}) WHERE checkpoint.program IS NOT NULL
  DETACH DELETE checkpoint
}
DETACH DELETE namespace;
