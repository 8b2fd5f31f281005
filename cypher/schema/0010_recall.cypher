// What recall finds messages and nodes by.
//
// The full text of messages is brought up to date behind the commit, because doing so in it would make an append
// take one and a half times as long; recall waits for what is still to come. The vectors of all models share one
// index, which takes any dimensions: the model is a part of each search, as the namespace is.

CREATE FULLTEXT INDEX message_text IF NOT EXISTS
FOR (message:Message) ON EACH [message.said, message.namespace_token]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english', `fulltext.eventually_consistent`: true}};

CYPHER 25
CREATE VECTOR INDEX recall_vectors IF NOT EXISTS
FOR (element:Node|Message) ON element.embedding
WITH [element.namespace, element.embedding_model]
OPTIONS {indexConfig: {`vector.similarity_function`: 'cosine'}};
