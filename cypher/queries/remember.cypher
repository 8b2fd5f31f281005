// What a model that writes programs is shown of the graph, and what its programs are held against.

// name: elements
// What these ids stand for now. Parameters: namespace, ids.
UNWIND $ids AS id
MATCH (node:Node {namespace: $namespace, id: id})
USING INDEX SEEK node:Node(namespace, id)
RETURN id, "node" AS kind, node.name AS name, node.data AS data,
       null AS from_node, null AS to_node, null AS verb, null AS weight
UNION ALL
UNWIND $ids AS id
MATCH (from_node:Node)-[edge:EDGE {namespace: $namespace, id: id}]->(to_node:Node)
USING INDEX SEEK edge:EDGE(namespace, id)
RETURN id, "edge" AS kind, null AS name, null AS data,
       from_node.id AS from_node, to_node.id AS to_node, edge.verb AS verb, edge.weight AS weight;

// name: edges-at
// The strongest edges at each of these nodes, in or out, at most `fan` of each, with the names of their ends. Those that lead
// from an entity to an observation of it count for the observation, which says whose it is. Parameters: namespace, ids, fan.
UNWIND $ids AS id
MATCH (node:Node {namespace: $namespace, id: id})
USING INDEX SEEK node:Node(namespace, id)
CALL (node) {
  MATCH (node)-[edge:EDGE {namespace: $namespace}]-(other:Node)
  WHERE coalesce(edge.id, '') <> '' // IS NOT NULL would be a walk through all edges, where the planner knows of none
    AND NOT coalesce(edge.verb = 'observed' AND endNode(edge) = other AND other.name = '' AND edge.weight = 1.0, false)
  WITH edge ORDER BY coalesce(edge.weight, 0.0) DESC, edge.id
  LIMIT $fan
  RETURN edge
}
WITH DISTINCT edge
RETURN edge.id AS id, startNode(edge).id AS from_node, endNode(edge).id AS to_node, edge.verb AS verb,
       edge.weight AS weight, startNode(edge).name AS from_name, endNode(edge).name AS to_name
ORDER BY id;

// name: lost-with
// What the deletion of each of these nodes takes along: of that, the ids that were `recalled`, how many `others`, and the
// id of one of these. Parameters: namespace, ids, recalled.
CALL () {
  RETURN null AS id, null AS node // include: contextscript/find-going
}
WITH id, collect(node) AS nodes
CALL (nodes) {
  RETURN [] AS edges // include: contextscript/find-edges
}
CALL (nodes) {
  UNWIND nodes AS node
  MATCH (node)-[:STATES]->(entry)
  RETURN count(entry) AS entry_count
}
WITH id, [each IN [node IN nodes | node.id] + [edge IN edges | edge.id] WHERE each <> id] AS lost,
     size(nodes) - 1 + size(edges) + entry_count AS size
WITH id, size, [each IN lost WHERE each IN $recalled] AS recalled, [each IN lost WHERE NOT each IN $recalled] AS rest
RETURN id, recalled, size - size(recalled) AS others, head(rest) AS example;
