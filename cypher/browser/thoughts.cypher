// Saved queries for Neo4j Browser: thoughts in PETE. `memorygraph browser thoughts` opens Browser with one of them,
// with `-p name=value` for what it needs; pasted into Browser, it takes them from `:param name => value`.

// name: thoughts
// The contexts of every log in each other. Parameters: namespace.
MATCH (context:Context {namespace: $namespace})
WHERE context.log IS NOT NULL
OPTIONAL MATCH path = (context)-[:CONTAINS]->(:Context)
RETURN context, path
LIMIT 200;

// name: knowledge-of-a-thought
// What a log knows: its facts, and the concepts they are about. Parameters: namespace, context (the number of its
// address).
MATCH (context:Node:Context {namespace: $namespace, id: "memory-" + $context})-[:CONTAINS*0..]->(inner:Context)
MATCH (inner)-[:STATES]->(:Entry {kind: "fact"})-[:MENTIONS]->(concept:Node)
OPTIONAL MATCH path = (concept)-[fact:EDGE]-(:Node)
RETURN concept, path
LIMIT 200;

// name: log-of-a-context
// What stands in a context, in its order. Parameters: namespace, context.
MATCH (context:Node:Context {namespace: $namespace, id: "memory-" + $context})-[states:STATES]->(entry:Entry)
RETURN states.index AS index, entry.kind AS kind, trim(entry.text) AS text, entry.at AS at
ORDER BY index;

// name: thoughts-about
// Which statements of which contexts are about a node. Parameters: namespace, id.
MATCH (node:Node {namespace: $namespace, id: $id})<-[:MENTIONS]-(entry:Entry)<-[:STATES]-(context:Context)
RETURN context.name AS context, context.id AS address, trim(entry.text) AS statement, entry.at AS at
ORDER BY at;

// name: calls-of-a-context
// What a model was asked when it continued a context, and what it wrote. Parameters: namespace, context.
MATCH (context:Node:Context {namespace: $namespace, id: "memory-" + $context})-[continued:CONTINUED_BY]->(answer:Message)
OPTIONAL MATCH (prompt:Message)-[:NEXT]->(answer)
RETURN continued.at AS at, prompt.content AS prompt, answer.content AS answer
ORDER BY at;

// name: what-is-said-without-asserting-it
// Statements that somebody speaks of (`that …`), and what they are about. Parameters: namespace.
MATCH (statement:Node:Statement {namespace: $namespace})
USING INDEX SEEK statement:Node(namespace, id)
WHERE statement.id IS NOT NULL
MATCH path = (speaker:Node)-[said:EDGE]->(statement)-[:EDGE*1..2]->(about:Node)
RETURN path
LIMIT 100;

// name: rules
// The rules of a namespace. Parameters: namespace.
MATCH (rule:Rule {namespace: $namespace})
WHERE rule.head_lemma IS NOT NULL
RETURN rule.name AS rule, rule.head_lemma AS concludes;
