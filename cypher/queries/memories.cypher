// What a program's `neo4j://` memory reads. A record that a program added is a node whose id begins with
// `record-` and the time, so that the order of these ids is the order of their age.

// name: records
// A page of the records of a namespace, newest first, behind the record `before`: its id, or a text between the ids of all
// records and those behind them. `prefix` is how the ids of records begin. One of the `texts` is somewhere in the name or the
// data, whatever the case.
// Parameters: namespace, prefix, before, texts, limit.
MATCH (node:Node {namespace: $namespace})
USING INDEX SEEK node:Node(namespace, id)
WHERE node.id >= $prefix AND node.id < $before
  AND any(told IN [node.name, node.data]
    WHERE any(text IN $texts WHERE toLower(toStringOrNull(told)) CONTAINS toLower(text)))
RETURN node.id AS id, node.name AS name, node.data AS data
ORDER BY node.namespace DESC, id DESC
LIMIT $limit;

// name: other-nodes
// A page of the nodes of a namespace that no program's memory added, by their ids, behind the id `after`.
// `texts` are as for records. Parameters: namespace, prefix, after, texts, limit.
MATCH (node:Node {namespace: $namespace})
USING INDEX SEEK node:Node(namespace, id)
WHERE node.id > $after AND NOT node.id STARTS WITH $prefix
  AND any(told IN [node.name, node.data]
    WHERE any(text IN $texts WHERE toLower(toStringOrNull(told)) CONTAINS toLower(text)))
RETURN node.id AS id, node.name AS name, node.data AS data
ORDER BY node.namespace, id
LIMIT $limit;
