// The full text of entities is brought up to date behind the commit, as that of messages is: in it, each update of an
// entity would wait for a second index. A search waits for what is still to come.
DROP INDEX entity_text IF EXISTS;

CREATE FULLTEXT INDEX entity_text IF NOT EXISTS
FOR (node:Entity|Observation) ON EACH [node.name, node.kind, node.data, node.namespace_token]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'standard-no-stop-words', `fulltext.eventually_consistent`: true}};
