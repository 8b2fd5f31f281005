// Saved queries for Neo4j Browser: what was changed, when, by whom and from what. `memorygraph browser revisions`
// opens Browser with one of them, with `-p name=value` for what it needs; pasted into Browser, it takes them from
// `:param name => value`.

// name: revisions
// The latest revisions of a namespace. Parameters: namespace.
MATCH (load:Load {namespace: $namespace})
WHERE load.revision >= 0
RETURN load.revision AS revision, load.at AS at, load.language AS language, load.by AS by,
       load.nodes_created AS nodes_created, load.nodes_updated AS nodes_updated, load.nodes_deleted AS nodes_deleted,
       load.edges_created AS edges_created, load.edges_updated AS edges_updated, load.edges_deleted AS edges_deleted
ORDER BY revision DESC
LIMIT 100;

// name: former-states
// What a node or an edge was before it was changed or deleted, the oldest first. Parameters: namespace, id.
MATCH (former:Former {namespace: $namespace, id: $id})
WHERE former.until IS NOT NULL
RETURN former
ORDER BY former.until
LIMIT 100;

// name: what-a-revision-replaced
// What a revision changed or deleted, as it was before. Parameters: namespace, revision.
MATCH (former:Former {namespace: $namespace, until: $revision})
RETURN former
LIMIT 300;

// name: asked-in
// The revisions that somebody asked for in a conversation, with the message that did so. Parameters: namespace.
MATCH (load:Load {namespace: $namespace})-[asked:ASKED_IN]->(message:Message)
WHERE load.revision >= 0
RETURN load, asked, message
LIMIT 300;
