// Which edges have a verb: a recall that is limited to one begins with its nodes, where they are few.

CREATE INDEX edge_verb IF NOT EXISTS
FOR ()-[edge:EDGE]-() ON (edge.namespace, edge.verb);
