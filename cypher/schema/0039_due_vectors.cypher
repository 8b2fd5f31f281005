// What has no vector yet, in a namespace that an embedding model has looked through: `vector_due` names the model, and goes when
// the vector comes. So a recall need not look at all texts for those that lack one.

CREATE INDEX node_vector_due IF NOT EXISTS
FOR (node:Node) ON (node.namespace, node.vector_due, node.id);

CREATE INDEX message_vector_due IF NOT EXISTS
FOR (message:Message) ON (message.namespace, message.vector_due, message.id);

CREATE INDEX passage_vector_due IF NOT EXISTS
FOR (passage:Passage) ON (passage.namespace, passage.vector_due, passage.id);
