// PETE: contexts, which are nodes, and the entries in them. Only the outermost context of a log has a `root`, its
// name; a concept is found by its text in one form (`concept`).

CREATE CONSTRAINT node_concept IF NOT EXISTS
FOR (node:Node) REQUIRE (node.namespace, node.concept) IS UNIQUE;

CREATE CONSTRAINT context_root IF NOT EXISTS
FOR (context:Context) REQUIRE (context.namespace, context.root) IS UNIQUE;

CREATE CONSTRAINT entry_id IF NOT EXISTS
FOR (entry:Entry) REQUIRE (entry.namespace, entry.id) IS UNIQUE;

CREATE INDEX context_log IF NOT EXISTS
FOR (context:Context) ON (context.namespace, context.log);

CREATE INDEX entry_log IF NOT EXISTS
FOR (entry:Entry) ON (entry.namespace, entry.log);

// Questions look for facts by their predicate, and for the rules that could derive them.

CREATE INDEX edge_lemma IF NOT EXISTS
FOR ()-[edge:EDGE]-() ON (edge.namespace, edge.lemma);

CREATE INDEX rule_head IF NOT EXISTS
FOR (rule:Rule) ON (rule.namespace, rule.head_lemma);
