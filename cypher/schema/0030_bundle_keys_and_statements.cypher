// The number of a node without a key of its own, as a bundle gives it: only while the bundle is imported, by which its
// relationships find it and an import that was interrupted can go on. Such a node has it as a label and a property.

CREATE CONSTRAINT bundle_key IF NOT EXISTS
FOR (node:BundleKey) REQUIRE (node.namespace, node.bundle_key) IS UNIQUE;

// Which statements of PETE state a fact or a rule: it goes with the last of them. Statements of other kinds have neither
// property, and are in none of these indexes.

CREATE INDEX entry_edge IF NOT EXISTS
FOR (entry:Entry) ON (entry.namespace, entry.edge);

CREATE INDEX entry_rule IF NOT EXISTS
FOR (entry:Entry) ON (entry.namespace, entry.rule);
