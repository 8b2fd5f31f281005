// Conversations. A message is named by the hash of its content and of the message before it, so that its
// constraint is also what lets versions and conversations share what they have in common.

CREATE CONSTRAINT message_id IF NOT EXISTS
FOR (message:Message) REQUIRE (message.namespace, message.id) IS UNIQUE;

CREATE CONSTRAINT metadata_id IF NOT EXISTS
FOR (metadata:Metadata) REQUIRE (metadata.namespace, metadata.id) IS UNIQUE;

CREATE CONSTRAINT conversation_name IF NOT EXISTS
FOR (conversation:Conversation) REQUIRE (conversation.namespace, conversation.name) IS UNIQUE;

CREATE CONSTRAINT version_id IF NOT EXISTS
FOR (version:Version) REQUIRE (version.namespace, version.id) IS UNIQUE;
