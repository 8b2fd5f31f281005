// name: answers
// An answer that needs nothing of the graph: who gives it is what is asked. Parameters: none.
RETURN true AS answers;

// name: stop
// Why a database works no more, in the words of Neo4j: asked of the database `system`. In a cluster each member has a row.
// Parameters: database (its name in lower case; null is the user's own).
SHOW DATABASES YIELD name, home, statusMessage
WHERE statusMessage <> '' AND (name = $database OR ($database IS NULL AND home))
RETURN statusMessage AS reason
ORDER BY reason;

// name: node
// Parameters: namespace, id.
MATCH (node:Node {namespace: $namespace, id: $id})
RETURN node.id AS id, node.name AS name, node.data AS data;

// name: edge
// Parameters: namespace, id.
MATCH (from_node:Node)-[edge:EDGE {namespace: $namespace, id: $id}]->(to_node:Node)
RETURN edge.id AS id, from_node.id AS from_node, to_node.id AS to_node, edge.verb AS verb, edge.weight AS weight;

// name: edges-of-nodes
// The nodes at the other ends of edges at any of these nodes, in or out, each once with these edges: the text of a node
// may be long, and its edges many. Parameters: namespace, ids.
UNWIND $ids AS id
MATCH (node:Node {namespace: $namespace, id: id})-[edge:EDGE]-(other:Node)
USING INDEX SEEK node:Node(namespace, id)
WHERE edge.namespace = $namespace
WITH other, edge ORDER BY edge.id
WITH other, collect({id: edge.id, from_node: startNode(edge).id, to_node: endNode(edge).id, verb: edge.verb,
                     weight: edge.weight}) AS edges
RETURN other.id AS other_id, other.name AS other_name, other.data AS other_data, elementId(other) AS other_element, edges
ORDER BY other_id;

// name: edges-within-two
// The nodes at the other ends of edges at a node, in or out, and those at each of these: two steps from it in one answer,
// each node of a step once with its edges. Parameters: namespace, id.
CALL () {
  MATCH (:Node {namespace: $namespace, id: $id})-[edge:EDGE]-(other:Node)
  WHERE edge.namespace = $namespace
  RETURN 1 AS step, edge, other
  UNION ALL
  MATCH (:Node {namespace: $namespace, id: $id})-[first:EDGE]-(near:Node)
  WHERE first.namespace = $namespace
  WITH DISTINCT near
  MATCH (near)-[edge:EDGE]-(other:Node)
  WHERE edge.namespace = $namespace
  RETURN 2 AS step, edge, other
}
WITH step, other, edge ORDER BY edge.id
WITH step, other, collect({id: edge.id, from_node: startNode(edge).id, to_node: endNode(edge).id, verb: edge.verb,
                           weight: edge.weight}) AS edges
RETURN step, other.id AS other_id, other.name AS other_name, other.data AS other_data,
       elementId(other) AS other_element, edges
ORDER BY step, other_id;

// name: search-nodes
// Full text in one namespace, best first, of nodes and of their aliases. The score of a node that only the namespace
// matched is zero. Where no more than a thousand are asked for, the index gives so many and a hundred: a frequent word is in
// most of a large graph. Of equally good nodes it decides then which ones come.
// An observation has no name: `owners` are the names of what it was observed of.
// Parameters: namespace, terms (a Lucene query made by memorygraph.graph.search), limit, owners (how many are named).
CALL () {
  CALL db.index.fulltext.queryNodes('node_text', $terms,
                                     CASE WHEN $limit > 1000 THEN {} ELSE {limit: $limit + 100} END) YIELD node, score
  WHERE score > 0 AND node.namespace = $namespace
  WITH node, score ORDER BY score DESC, node.id LIMIT $limit
  RETURN node, score
  UNION ALL
  CALL db.index.fulltext.queryNodes('alias_text', $terms) YIELD node AS alias, score
  WHERE score > 0 AND alias.namespace = $namespace
  MATCH (alias)-[:ALIAS_OF]->(node:Node)
  WITH node, score ORDER BY score DESC, node.id LIMIT $limit
  RETURN node, score
}
WITH node, max(score) AS score
ORDER BY score DESC, node.id
LIMIT $limit
RETURN node.id AS id, node.name AS name, node.data AS data, score,
       COLLECT {
         MATCH (owner:Node)-[edge:EDGE {verb: 'observed'}]->(node)
         WHERE node.name = ''
         RETURN coalesce(nullIf(toStringOrNull(owner.name), ''), owner.id)
         ORDER BY edge.place, owner.id
         LIMIT $owners
       } AS owners
ORDER BY score DESC, id;

// name: all-nodes
// A namespace's nodes in the order of their ids, which is that of the index. Parameters: namespace.
MATCH (node:Node {namespace: $namespace})
WHERE node.id > ''
RETURN node.id AS id, node.name AS name, node.data AS data
ORDER BY node.namespace, id;

// name: all-edges
// A namespace's edges in the order of their ids, which is that of the index. Parameters: namespace.
MATCH (from_node:Node)-[edge:EDGE {namespace: $namespace}]->(to_node:Node)
WHERE edge.id > ''
RETURN edge.id AS id, from_node.id AS from_node, to_node.id AS to_node, edge.verb AS verb, edge.weight AS weight
ORDER BY edge.namespace, id;

// name: all-edges-for-a-script
// The same, each with why no script can declare it, or null: as raw Cypher makes edges. Parameters: namespace.
MATCH (from_node)-[edge:EDGE {namespace: $namespace}]->(to_node)
USING INDEX edge:EDGE(namespace, id)
WHERE edge.id > ''
RETURN edge.id AS id, from_node.id AS from_node, to_node.id AS to_node, edge.verb AS verb, edge.weight AS weight,
       CASE WHEN EXISTS { (:Node {namespace: $namespace, id: edge.id}) } THEN 'edges with the id of a node'
            WHEN NOT coalesce(from_node:Node AND to_node:Node AND from_node.namespace = $namespace
                              AND to_node.namespace = $namespace, false) THEN 'edges that leave the namespace'
       END AS unsayable
ORDER BY edge.namespace, id;

// name: namespaces
// Every namespace with its revision and what it holds, or that of one name. A record without a name is passed over, as in
// `invariants/namespace-names`. Parameters: name (or null).
MATCH (namespace:Namespace)
WHERE namespace.name IS :: STRING NOT NULL AND ($name IS NULL OR namespace.name = $name)
RETURN namespace.name AS name, coalesce(namespace.revision, 0) AS revision,
       COUNT { MATCH (node:Node {namespace: namespace.name}) WHERE node.id IS NOT NULL } AS nodes,
       COUNT { MATCH ()-[edge:EDGE {namespace: namespace.name}]->() WHERE edge.id IS NOT NULL } AS edges,
       COUNT { MATCH (c:Conversation {namespace: namespace.name}) WHERE c.name IS NOT NULL } AS conversations,
       COUNT { MATCH (message:Message {namespace: namespace.name}) WHERE message.id IS NOT NULL } AS messages,
       COUNT { MATCH (program:Program {namespace: namespace.name}) WHERE program.name IS NOT NULL } AS programs,
       COUNT { MATCH (run:Run {namespace: namespace.name}) WHERE run.id IS NOT NULL } AS runs,
       COUNT { MATCH (former:Former {namespace: namespace.name}) WHERE former.until IS NOT NULL } AS former,
       coalesce(namespace.dropping, false) AS dropping
ORDER BY name;

// name: revision
// The number of a namespace's last load. Parameters: namespace.
MATCH (namespace:Namespace {name: $namespace})
RETURN namespace.revision AS revision;

// name: moment
// What each change of nodes and edges changes: the number of a namespace's last load, and how much has gone of what is
// being forgotten. Parameters: namespace.
OPTIONAL MATCH (namespace:Namespace {name: $namespace})
OPTIONAL MATCH (forgetting:Forgetting {namespace: $namespace})
WHERE forgetting.id IS NOT NULL
RETURN namespace.revision AS revision, forgetting.id AS forgetting, forgetting.went AS went
ORDER BY forgetting;

// name: beyond-nodes-and-edges
// What a namespace holds beside the ids, texts, verbs and weights of its nodes and edges: how much, and the first of it.
// One walk counts what nodes have, and one what edges have; examples of these are looked for only where there are any. Facts,
// aliases, times of expiry and conversations are counted and looked for by themselves. Parameters: namespace, limit (of the
// examples).
CYPHER 25
CALL () {
  MATCH (node:Node {namespace: $namespace})
  USING INDEX SEEK node:Node(namespace, id)
  WHERE node.id IS NOT NULL
  RETURN {
    kinds: count(node.kind),
    observations: count(CASE WHEN node:Observation THEN 1 END),
    logs: count(CASE WHEN node:Context THEN 1 END),
    parts: count(CASE WHEN node:Statement OR node:Rule OR node:Value THEN 1 END),
    concepts: count(node.concept),
    unnamed: count(CASE WHEN NOT coalesce(node.id > '', false) THEN 1 END)
  } AS nodes
}
CALL () {
  MATCH ()-[edge:EDGE {namespace: $namespace}]->()
  USING INDEX SEEK edge:EDGE(namespace, id)
  WHERE edge.id IS NOT NULL
  RETURN {unnamed: count(CASE WHEN NOT coalesce(edge.id > '', false) THEN 1 END)} AS edges
}
CALL (nodes, edges) {
  RETURN 'types of entities' AS what,
         nodes.kinds AS count,
         COLLECT {
           WITH * WHERE nodes.kinds > 0
           CALL () {
             MATCH (node:Node {namespace: $namespace})
             USING INDEX SEEK node:Node(namespace, id)
             WHERE node.id IS NOT NULL AND node.kind IS NOT NULL
             RETURN node.id AS example ORDER BY node.namespace, node.id LIMIT $limit
           }
           RETURN example
         } AS examples
  UNION ALL
  RETURN 'observations as such: they come back as nodes, joined by `observed`' AS what,
         nodes.observations AS count,
         COLLECT {
           WITH * WHERE nodes.observations > 0
           CALL () {
             MATCH (node:Node {namespace: $namespace})
             USING INDEX SEEK node:Node(namespace, id)
             WHERE node.id IS NOT NULL AND node:Observation
             RETURN node.id AS example ORDER BY node.namespace, node.id LIMIT $limit
           }
           RETURN example
         } AS examples
  UNION ALL
  RETURN 'logs of PETE: their contexts come back as bare nodes' AS what,
         nodes.logs AS count,
         COLLECT {
           WITH * WHERE nodes.logs > 0
           CALL () {
             MATCH (node:Node {namespace: $namespace})
             USING INDEX SEEK node:Node(namespace, id)
             WHERE node.id IS NOT NULL AND node:Context
             RETURN node.id AS example ORDER BY node.namespace, node.id LIMIT $limit
           }
           RETURN example
         } AS examples
  UNION ALL
  RETURN 'statements, rules and values of PETE: they come back as bare nodes' AS what,
         nodes.parts AS count,
         COLLECT {
           WITH * WHERE nodes.parts > 0
           CALL () {
             MATCH (node:Node {namespace: $namespace})
             USING INDEX SEEK node:Node(namespace, id)
             WHERE node.id IS NOT NULL AND (node:Statement OR node:Rule OR node:Value)
             RETURN node.id AS example ORDER BY node.namespace, node.id LIMIT $limit
           }
           RETURN example
         } AS examples
  UNION ALL
  RETURN 'concepts of PETE: they come back without their addresses' AS what,
         nodes.concepts AS count,
         COLLECT {
           WITH * WHERE nodes.concepts > 0
           CALL () {
             MATCH (node:Node {namespace: $namespace})
             USING INDEX SEEK node:Node(namespace, id)
             WHERE node.id IS NOT NULL AND node.concept IS NOT NULL
             RETURN node.id AS example ORDER BY node.namespace, node.id LIMIT $limit
           }
           RETURN example
         } AS examples
  UNION ALL
  RETURN 'facts of PETE: they come back as bare edges' AS what,
         COUNT { MATCH ()-[edge:EDGE {namespace: $namespace}]->() WHERE edge.lemma IS NOT NULL } AS count,
         COLLECT {
           MATCH ()-[edge:EDGE {namespace: $namespace}]->()
           WHERE edge.lemma IS NOT NULL
           RETURN edge.id ORDER BY edge.namespace, edge.lemma LIMIT $limit
         } AS examples
  UNION ALL
  RETURN 'aliases: what merged entities were called' AS what,
         COUNT { MATCH (part:Alias {namespace: $namespace}) WHERE part.id IS NOT NULL } AS count,
         COLLECT {
           MATCH (part:Alias {namespace: $namespace})
           WHERE part.name IS NOT NULL
           RETURN part.name ORDER BY part.namespace, part.name LIMIT $limit
         } AS examples
  UNION ALL
  RETURN 'nodes whose id is no text, or an empty one' AS what,
         nodes.unnamed AS count,
         COLLECT {
           WITH * WHERE nodes.unnamed > 0
           CALL () {
             MATCH (node:Node {namespace: $namespace})
             USING INDEX SEEK node:Node(namespace, id)
             WHERE node.id IS NOT NULL AND NOT coalesce(node.id > '', false)
             RETURN toStringOrNull(node.id) AS example ORDER BY node.namespace, node.id LIMIT $limit
           }
           RETURN example
         } AS examples
  UNION ALL
  RETURN 'edges whose id is no text, or an empty one' AS what,
         edges.unnamed AS count,
         COLLECT {
           WITH * WHERE edges.unnamed > 0
           CALL () {
             MATCH ()-[edge:EDGE {namespace: $namespace}]->()
             USING INDEX SEEK edge:EDGE(namespace, id)
             WHERE edge.id IS NOT NULL AND NOT coalesce(edge.id > '', false)
             RETURN toStringOrNull(edge.id) AS example ORDER BY edge.namespace, edge.id LIMIT $limit
           }
           RETURN example
         } AS examples
  UNION ALL
  RETURN 'times at which nodes expire' AS what,
         COUNT {
           MATCH (node:Node {namespace: $namespace})
           USING INDEX SEEK node:Node(namespace, expires_at)
           WHERE node.expires_at > datetime({epochMillis: 0})
         } AS count,
         COLLECT {
           MATCH (node:Node {namespace: $namespace})
           USING INDEX SEEK node:Node(namespace, expires_at)
           WHERE node.expires_at > datetime({epochMillis: 0})
           RETURN node.id ORDER BY node.namespace, node.expires_at LIMIT $limit
         } AS examples
  UNION ALL
  RETURN 'conversations' AS what,
         COUNT { MATCH (part:Conversation {namespace: $namespace}) WHERE part.name IS NOT NULL } AS count,
         COLLECT {
           MATCH (part:Conversation {namespace: $namespace})
           WHERE part.name IS NOT NULL
           RETURN part.name ORDER BY part.namespace, part.name LIMIT $limit
         } AS examples
  UNION ALL
  RETURN 'messages' AS what,
         COUNT { MATCH (part:Message {namespace: $namespace}) WHERE part.id IS NOT NULL } AS count,
         [] AS examples
  UNION ALL
  RETURN 'runs' AS what,
         COUNT { MATCH (part:Run {namespace: $namespace}) WHERE part.id IS NOT NULL } AS count,
         [] AS examples
  UNION ALL
  RETURN 'programs' AS what,
         COUNT { MATCH (part:Program {namespace: $namespace}) WHERE part.id IS NOT NULL } AS count,
         [] AS examples
  UNION ALL
  RETURN 'node graphs' AS what,
         COUNT { MATCH (part:Graph {namespace: $namespace}) WHERE part.id IS NOT NULL } AS count,
         [] AS examples
}
RETURN what, count, examples;

// name: weights-of-their-own
// How many edges have a weight that those of entities do not have, and the first of them. Parameters: namespace, limit.
RETURN COUNT {
         MATCH ()-[edge:EDGE {namespace: $namespace}]->()
         USING INDEX SEEK edge:EDGE(namespace, id)
         WHERE edge.id IS NOT NULL AND edge.weight <> 1.0
       } AS count,
       COLLECT {
         MATCH ()-[edge:EDGE {namespace: $namespace}]->()
         USING INDEX SEEK edge:EDGE(namespace, id)
         WHERE edge.id IS NOT NULL AND edge.weight <> 1.0
         RETURN edge.id ORDER BY edge.namespace, edge.id LIMIT $limit
       } AS examples;

// name: ids-beginning
// The ids of nodes that begin with a text, in their order, which is that of the index. Parameters: namespace, text, limit.
MATCH (node:Node {namespace: $namespace})
USING INDEX SEEK node:Node(namespace, id)
WHERE node.id STARTS WITH $text
RETURN node.id AS id
ORDER BY node.namespace, id
LIMIT $limit;
