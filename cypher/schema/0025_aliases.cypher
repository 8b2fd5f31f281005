// What merged entities were called: an Alias is found by the name, the id, the address and the concept of the node that was
// merged, and leads to the node that it stands for now. Nodes themselves keep no list of their aliases: a merge then
// changes no text of theirs, and writing and searching nodes costs what it did.

CREATE CONSTRAINT alias_id IF NOT EXISTS
FOR (alias:Alias) REQUIRE (alias.namespace, alias.id) IS UNIQUE;

CREATE INDEX alias_name IF NOT EXISTS
FOR (alias:Alias) ON (alias.namespace, alias.name);

CREATE INDEX alias_node IF NOT EXISTS
FOR (alias:Alias) ON (alias.namespace, alias.node);

CREATE INDEX alias_memory IF NOT EXISTS
FOR (alias:Alias) ON (alias.namespace, alias.memory);

CREATE INDEX alias_concept IF NOT EXISTS
FOR (alias:Alias) ON (alias.namespace, alias.concept);

CREATE FULLTEXT INDEX alias_text IF NOT EXISTS
FOR (alias:Alias) ON EACH [alias.name, alias.namespace_token]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english'}};
