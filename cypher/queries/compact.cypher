// All of a database, to be copied into a new one (server/compacting.py), whose files then hold nothing that was deleted.

// name: nodes
// Every node. `properties` are pairs, and `times` the points in time among them, as texts: the driver makes no difference
// between the offset Z and the zone UTC. Parameters: none.
MATCH (node)
RETURN elementId(node) AS element, labels(node) AS labels,
       [key IN keys(node) WHERE NOT valueType(node[key]) CONTAINS 'ZONED DATETIME' |
        [key, node[key]]] AS properties,
       [key IN keys(node) WHERE valueType(node[key]) CONTAINS 'ZONED DATETIME' |
        [key, CASE WHEN valueType(node[key]) STARTS WITH 'LIST' THEN [time IN node[key] | toString(time)]
              ELSE toString(node[key]) END]] AS times;

// name: relationships
// Every relationship. Parameters: none.
MATCH (source)-[relationship]->(target)
RETURN elementId(source) AS source, elementId(target) AS target, type(relationship) AS type,
       [key IN keys(relationship) WHERE NOT valueType(relationship[key]) CONTAINS 'ZONED DATETIME' |
        [key, relationship[key]]] AS properties,
       [key IN keys(relationship) WHERE valueType(relationship[key]) CONTAINS 'ZONED DATETIME' |
        [key, CASE WHEN valueType(relationship[key]) STARTS WITH 'LIST' THEN [time IN relationship[key] | toString(time)]
              ELSE toString(relationship[key]) END]] AS times;

// name: create-nodes
// Parameters: rows [{labels, properties}].
UNWIND range(0, size($rows) - 1) AS place
CREATE (node)
SET node = $rows[place].properties, node:$($rows[place].labels)
RETURN elementId(node) AS element
ORDER BY place;

// name: create-relationships
// Parameters: rows [{source, target, type, properties}].
UNWIND $rows AS row
MATCH (source) WHERE elementId(source) = row.source
MATCH (target) WHERE elementId(target) = row.target
CREATE (source)-[relationship:$(row.type)]->(target)
SET relationship = row.properties;

// name: constraints
// What makes each constraint. Parameters: none.
SHOW CONSTRAINTS YIELD name, createStatement
WHERE createStatement IS NOT NULL
RETURN createStatement AS statement
ORDER BY name;

// name: indexes
// What makes each index that no constraint makes; Neo4j has no text of some. Parameters: none.
SHOW INDEXES YIELD name, type, owningConstraint, createStatement
WHERE owningConstraint IS NULL AND type <> 'LOOKUP' AND createStatement IS NOT NULL
RETURN createStatement AS statement
ORDER BY name;
