// A search finds any part of what is said, word for word, whoever stored it: what ContextScript declares is an entity
// too. Looked for in node_text, its words would be known by their stems alone, and the terms of two indexes be gone
// through.
DROP INDEX entity_text IF EXISTS;

CREATE FULLTEXT INDEX entity_text IF NOT EXISTS
FOR (node:Node) ON EACH [node.name, node.kind, node.data, node.namespace_token]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'standard-no-stop-words', `fulltext.eventually_consistent`: true}};
