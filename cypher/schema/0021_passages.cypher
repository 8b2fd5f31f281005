// A long message is found by its passages: each has a text and a vector of its own, and the message has neither. Both
// indexes hold passages beside messages, so that one search ranks them together. Messages of earlier releases are still
// found by their whole text until messages/indexing.py has divided them, which goes on behind the first recalls.

CREATE CONSTRAINT passage_id IF NOT EXISTS
FOR (passage:Passage) REQUIRE (passage.namespace, passage.id) IS UNIQUE;

DROP INDEX message_text IF EXISTS;

CREATE FULLTEXT INDEX message_text IF NOT EXISTS
FOR (element:Message|Passage) ON EACH [element.said, element.namespace_token]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english', `fulltext.eventually_consistent`: true}};

DROP INDEX recall_vectors IF EXISTS;

CYPHER 25
CREATE VECTOR INDEX recall_vectors IF NOT EXISTS
FOR (element:Node|Message|Passage) ON element.embedding
WITH [element.namespace, element.embedding_model]
OPTIONS {indexConfig: {`vector.similarity_function`: 'cosine'}};
