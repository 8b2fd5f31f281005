// Full text over what a node says. namespace_token is a number derived from the namespace: the analyzer
// leaves it whole, so that a search stays inside its namespace in the index, and not after it.

CREATE FULLTEXT INDEX node_text IF NOT EXISTS
FOR (node:Node) ON EACH [node.name, node.data, node.namespace_token]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english'}};
