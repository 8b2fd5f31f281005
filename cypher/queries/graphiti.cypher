// The graph of Graphiti in the same database, as adopt reads it; it stays as it is. A database without one does not know its labels and
// properties, of which Neo4j would warn: so they are parameters, and fields of maps.
//
//   (:Entity {uuid, name, group_id, summary, …})-[:RELATES_TO {uuid, name, fact, valid_at, invalid_at, …}]->(:Entity)
//   (:Episodic {uuid, group_id, …})-[:MENTIONS]->(:Entity), (:Community)-[:HAS_MEMBER]->(:Entity)

// name: entities
// The entities of groups, or of all groups where none are named. Our own entities, which have the same label, have a namespace.
// Parameters: groups.
MATCH (node:Entity)
WHERE node.namespace IS NULL
WITH node, properties(node) AS has
WHERE has.uuid IS NOT NULL AND has.group_id IS NOT NULL AND ($groups = [] OR has.group_id IN $groups)
RETURN toStringOrNull(has.name) AS name, coalesce(head([label IN labels(node) WHERE label <> 'Entity']), 'entity') AS type,
       coalesce(has.summary, '') AS summary,
       has {.*, name: null, summary: null, uuid: null, group_id: null, created_at: null, labels: null,
            name_embedding: null} AS attributes
ORDER BY has.created_at, has.uuid;

// name: facts
// The facts of groups, with whether each has ended by now, and whether it has not begun. Graphiti sets expired_at as soon as
// it knows an end, be it one to come: so that decides only where there is no end.
// Parameters: groups, facts (the type of their relationships).
MATCH (source:Entity)-[fact:$($facts)]->(target:Entity)
WITH properties(source) AS source, properties(fact) AS fact, properties(target) AS target
WHERE fact.uuid IS NOT NULL AND fact.group_id IS NOT NULL AND ($groups = [] OR fact.group_id IN $groups)
RETURN toStringOrNull(source.name) AS source, toStringOrNull(target.name) AS target,
       fact.name AS verb, coalesce(fact.fact, '') AS text,
       toString(fact.valid_at) AS valid_at, toString(fact.invalid_at) AS invalid_at,
       CASE WHEN fact.invalid_at IS NULL THEN fact.expired_at IS NOT NULL
            ELSE coalesce(fact.invalid_at <= datetime(), fact.invalid_at <= localdatetime(), true) END AS ended,
       coalesce(fact.valid_at > datetime(), fact.valid_at > localdatetime(), false) AS begins_later
ORDER BY fact.created_at, fact.uuid;

// name: count
// How many other nodes of a label groups have. Parameters: groups, label.
MATCH (node:$($label))
WITH properties(node) AS has
WHERE has.uuid IS NOT NULL AND has.group_id IS NOT NULL AND ($groups = [] OR has.group_id IN $groups)
RETURN count(*) AS count;
