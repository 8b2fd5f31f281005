// name: applied-migrations
// The names of the files of cypher/schema that this database has seen.
MATCH (migration:Migration)
RETURN collect(migration.name) AS names;

// name: record-migrations
// Remember that files of cypher/schema were applied. Parameters: names.
UNWIND $names AS name
MERGE (migration:Migration {name: name})
ON CREATE SET migration.at = datetime();

// name: forget-migration
// Have a file of cypher/schema applied once more, the next time that a client connects. Parameters: name.
MATCH (migration:Migration {name: $name}) DELETE migration;

// name: await-indexes
// Wait until every index is online. Parameters: seconds.
CALL db.awaitIndexes($seconds);

// name: search-indexes
// What the full-text and vector indexes of the database really are: IF NOT EXISTS keeps an older one silently.
SHOW INDEXES YIELD name, type, labelsOrTypes, properties, options
WHERE type IN ['FULLTEXT', 'VECTOR']
RETURN name, type, labelsOrTypes AS labels, properties, options
ORDER BY name;

// name: memory-settings
// The settings that limit the memory of a transaction, as they are for this server. Parameters: none.
SHOW SETTINGS YIELD name, value
WHERE name IN ['db.memory.transaction.max', 'dbms.memory.transaction.total.max']
RETURN name, value;

// name: sampled-node-properties
// The properties of each label, with one type of each, of some nodes of the label. Parameters: sample.
CALL db.labels() YIELD label
CALL (label) {
  MATCH (node:$(label))
  WITH node LIMIT $sample
  UNWIND keys(node) AS property
  RETURN property, min(valueType(node[property])) AS type
}
RETURN label, property, type
ORDER BY label, property;

// name: sampled-edge-properties
// The properties of each type of relationships, with one type of each, of some of these. Parameters: sample.
CALL db.relationshipTypes() YIELD relationshipType AS label
CALL (label) {
  MATCH ()-[edge:$(label)]->()
  WITH edge LIMIT $sample
  UNWIND keys(edge) AS property
  RETURN property, min(valueType(edge[property])) AS type
}
RETURN label, property, type
ORDER BY label, property;

// name: sampled-patterns
// Which labels relationships join: of some of each type, and of ten of each of some nodes of each label, so that what is
// rare in a type is seen too. Parameters: sample.
CALL () {
  CALL db.relationshipTypes() YIELD relationshipType
  CALL (relationshipType) {
    MATCH (from)-[edge:$(relationshipType)]->(to)
    RETURN labels(from) AS starts, type(edge) AS type, labels(to) AS ends LIMIT $sample
  }
  RETURN DISTINCT starts, type, ends
  UNION
  CALL db.labels() YIELD label
  CALL (label) {
    MATCH (from:$(label))
    WITH from LIMIT $sample
    CALL (from) {
      MATCH (from)-[edge]->(to)
      RETURN edge, to LIMIT 10
    }
    RETURN labels(from) AS starts, type(edge) AS type, labels(to) AS ends
  }
  RETURN DISTINCT starts, type, ends
}
UNWIND starts AS start
UNWIND ends AS end
RETURN DISTINCT start, type, end
ORDER BY start, type, end;
