// What a recall can be limited to is in the indexes: the kind of a node in the full text (0024), and of what has a vector its
// role, speaker, conversation and time, or its kind. (A message has its own as words of namespace_token, which
// messages/indexing.py writes.) So the first entries of a search are those that the limits leave.

DROP INDEX recall_vectors IF EXISTS;

CYPHER 25
CREATE VECTOR INDEX recall_vectors IF NOT EXISTS
FOR (element:Node|Message|Passage) ON element.embedding
WITH [element.namespace, element.embedding_model, element.role, element.speaker, element.home, element.said_at,
      element.kind]
OPTIONS {indexConfig: {`vector.similarity_function`: 'cosine'}};
