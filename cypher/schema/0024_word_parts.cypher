// Words in scripts that the English analyzer does not split are found by their parts, which are stored beside the text
// as properties of their own (memorygraph.word_parts): a text without such words has none, and takes no more room. What
// is stored without them gets them from graph/stored_parts.py.
DROP INDEX node_text IF EXISTS;

CREATE FULLTEXT INDEX node_text IF NOT EXISTS
FOR (node:Node) ON EACH [node.name, node.data, node.namespace_token, node.name_parts, node.data_parts, node.kind]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english'}};

DROP INDEX message_text IF EXISTS;

CREATE FULLTEXT INDEX message_text IF NOT EXISTS
FOR (element:Message|Passage) ON EACH [element.said, element.namespace_token, element.said_parts]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english', `fulltext.eventually_consistent`: true}};
