// name: applied-migrations
// The names of the files of cypher/schema that this database has seen.
MATCH (migration:Migration)
RETURN collect(migration.name) AS names;

// name: record-migration
// Remember that a file of cypher/schema was applied. Parameters: name.
MERGE (migration:Migration {name: $name})
ON CREATE SET migration.at = datetime();

// name: await-indexes
// Wait until every index is online. Parameters: seconds.
CALL db.awaitIndexes($seconds);

// name: index-analyzer
// The analyzer that a full-text index really has: IF NOT EXISTS keeps an older one silently. Parameters: index.
SHOW FULLTEXT INDEXES YIELD name, options WHERE name = $index
RETURN options.indexConfig['fulltext.analyzer'] AS analyzer;
