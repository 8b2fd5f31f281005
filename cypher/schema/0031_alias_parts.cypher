// What merged entities were called is found by the parts of its words too, as names are (0024).

DROP INDEX alias_text IF EXISTS;

CREATE FULLTEXT INDEX alias_text IF NOT EXISTS
FOR (alias:Alias) ON EACH [alias.name, alias.namespace_token, alias.name_parts]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english'}};
