// A long message is found by its passages: each has a text and a vector of its own, and the message has neither. The
// indexes (0022, 0024) hold passages beside messages, so that one search ranks them together. Messages of earlier releases are still
// found by their whole text until messages/indexing.py has divided them, which goes on behind the first recalls.

CREATE CONSTRAINT passage_id IF NOT EXISTS
FOR (passage:Passage) REQUIRE (passage.namespace, passage.id) IS UNIQUE;
