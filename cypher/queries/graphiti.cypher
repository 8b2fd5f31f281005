// The graph of Graphiti in the same database, as adopt reads it; it stays as it is.
//
//   (:Entity {uuid, name, group_id, summary, …})-[:RELATES_TO {uuid, name, fact, valid_at, invalid_at, …}]->(:Entity)
//   (:Episodic {uuid, group_id, …})-[:MENTIONS]->(:Entity), (:Community)-[:HAS_MEMBER]->(:Entity)

// name: entities
// The entities of groups, or of all groups where none are named. Our own entities, which have the same label, have a namespace.
// Parameters: groups.
MATCH (node:Entity)
WHERE node.uuid IS NOT NULL AND node.namespace IS NULL AND ($groups = [] OR node.group_id IN $groups)
RETURN node.name AS name, coalesce(head([label IN labels(node) WHERE label <> 'Entity']), 'entity') AS type,
       coalesce(node.summary, '') AS summary,
       node {.*, name: null, summary: null, uuid: null, group_id: null, created_at: null, labels: null,
             name_embedding: null} AS attributes
ORDER BY node.created_at, node.uuid;

// name: facts
// The facts of groups. Parameters: groups.
MATCH (source:Entity)-[fact:RELATES_TO]->(target:Entity)
WHERE fact.uuid IS NOT NULL AND ($groups = [] OR fact.group_id IN $groups)
RETURN source.name AS source, target.name AS target, fact.name AS verb, coalesce(fact.fact, '') AS text,
       toString(fact.valid_at) AS valid_at, toString(fact.invalid_at) AS invalid_at, fact.expired_at IS NOT NULL AS expired
ORDER BY fact.created_at, fact.uuid;

// name: others
// What else groups have, and how many. Parameters: groups.
MATCH (node:Episodic|Community|Saga)
WHERE node.uuid IS NOT NULL AND ($groups = [] OR node.group_id IN $groups)
RETURN head([label IN labels(node) WHERE label IN ['Episodic', 'Community', 'Saga']]) AS label, count(*) AS count
ORDER BY label;
