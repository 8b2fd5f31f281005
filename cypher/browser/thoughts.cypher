// Thoughts in PETE. Paste a block into Neo4j Browser, after `:param namespace => "default"`.

// name: thoughts
// The contexts of every log in each other.
MATCH (context:Context {namespace: $namespace})
OPTIONAL MATCH path = (context)-[:CONTAINS]->(:Context)
RETURN context, path
LIMIT 200;

// name: knowledge-of-a-thought
// What a log knows: its facts, and the concepts they are about. `:param context => 3` is the number of its address.
MATCH (context:Context {namespace: $namespace, memory: $context})-[:CONTAINS*0..]->(inner:Context)
MATCH (inner)-[:STATES]->(:Entry {kind: "fact"})-[:MENTIONS]->(concept:Node)
OPTIONAL MATCH path = (concept)-[fact:EDGE]-(:Node)
RETURN concept, path
LIMIT 200;

// name: log-of-a-context
// What stands in a context, in its order.
MATCH (context:Context {namespace: $namespace, memory: $context})-[states:STATES]->(entry:Entry)
RETURN states.index AS index, entry.kind AS kind, trim(entry.text) AS text, entry.at AS at
ORDER BY index;

// name: thoughts-about
// Which statements of which contexts are about a node. `:param id => "memory-2"`.
MATCH (node:Node {namespace: $namespace, id: $id})<-[:MENTIONS]-(entry:Entry)<-[:STATES]-(context:Context)
RETURN context.name AS context, context.id AS address, trim(entry.text) AS statement, entry.at AS at
ORDER BY at;

// name: calls-of-a-context
// What a model was asked when it continued a context, and what it wrote.
MATCH (context:Context {namespace: $namespace, memory: $context})-[continued:CONTINUED_BY]->(answer:Message)
OPTIONAL MATCH (prompt:Message)-[:NEXT]->(answer)
RETURN continued.at AS at, prompt.content AS prompt, answer.content AS answer
ORDER BY at;

// name: what-is-said-without-asserting-it
// Statements that somebody speaks of (`that …`), and what they are about.
MATCH path = (speaker:Node)-[said:EDGE]->(statement:Statement {namespace: $namespace})-[:EDGE*1..2]->(about:Node)
RETURN path
LIMIT 100;

// name: rules
// The rules of a namespace.
MATCH (rule:Rule {namespace: $namespace})
RETURN rule.name AS rule, rule.head_lemma AS concludes;
