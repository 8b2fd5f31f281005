// name: applied-migrations
// The names of the files of cypher/schema that this database has seen.
MATCH (migration:Migration)
RETURN collect(migration.name) AS names;

// name: record-migration
// Remember that a file of cypher/schema was applied. Parameters: name.
MERGE (migration:Migration {name: $name})
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
