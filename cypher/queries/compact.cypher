// All of a database, to be copied into a new one (server/compacting.py), whose files then hold nothing that was deleted.

// name: nodes
// Every node. `properties` are pairs, and `times` the dates and the times among them, as texts: the driver has no years
// before 1, nor offsets with seconds, and makes no difference between the offset Z and the zone UTC. Parameters: none.
MATCH (node)
RETURN elementId(node) AS element, labels(node) AS labels,
       [key IN keys(node) WHERE NOT valueType(node[key]) =~ '.*(DATE|ZONED TIME).*' | [key, node[key]]] AS properties,
       [key IN keys(node) WHERE valueType(node[key]) =~ '.*(DATE|ZONED TIME).*' |
        {key: key, type: valueType(node[key]), texts: toStringList(
          CASE WHEN valueType(node[key]) STARTS WITH 'LIST' THEN node[key] ELSE [node[key]] END)}] AS times;

// name: relationships
// Every relationship, with its properties like those of a node. Parameters: none.
MATCH (source)-[relationship]->(target)
RETURN elementId(source) AS source, elementId(target) AS target, type(relationship) AS type,
       [key IN keys(relationship) WHERE NOT valueType(relationship[key]) =~ '.*(DATE|ZONED TIME).*' |
        [key, relationship[key]]] AS properties,
       [key IN keys(relationship) WHERE valueType(relationship[key]) =~ '.*(DATE|ZONED TIME).*' |
        {key: key, type: valueType(relationship[key]), texts: toStringList(
          CASE WHEN valueType(relationship[key]) STARTS WITH 'LIST' THEN relationship[key]
               ELSE [relationship[key]] END)}] AS times;

// name: create-nodes
// Parameters: rows [{labels, properties, times}].
UNWIND range(0, size($rows) - 1) AS place
CREATE (node)
SET node = $rows[place].properties, node:$($rows[place].labels)
FOREACH (time IN $rows[place].times |
  FOREACH (values IN [CASE
      WHEN time.type CONTAINS 'ZONED TIME' THEN [text IN time.texts | time(text)]
      WHEN time.type CONTAINS 'ZONED' THEN [text IN time.texts | datetime(text)]
      WHEN time.type CONTAINS 'LOCAL' THEN [text IN time.texts | localdatetime(text)]
      ELSE [text IN time.texts | date(text)] END] |
    SET node[time.key] = CASE WHEN time.type STARTS WITH 'LIST' THEN values ELSE values[0] END))
RETURN elementId(node) AS element
ORDER BY place;

// name: create-relationships
// Parameters: rows [{source, target, type, properties, times}].
UNWIND $rows AS row
MATCH (source) WHERE elementId(source) = row.source
MATCH (target) WHERE elementId(target) = row.target
CREATE (source)-[relationship:$(row.type)]->(target)
SET relationship = row.properties
FOREACH (time IN row.times |
  FOREACH (values IN [CASE
      WHEN time.type CONTAINS 'ZONED TIME' THEN [text IN time.texts | time(text)]
      WHEN time.type CONTAINS 'ZONED' THEN [text IN time.texts | datetime(text)]
      WHEN time.type CONTAINS 'LOCAL' THEN [text IN time.texts | localdatetime(text)]
      ELSE [text IN time.texts | date(text)] END] |
    SET relationship[time.key] = CASE WHEN time.type STARTS WITH 'LIST' THEN values ELSE values[0] END));

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
