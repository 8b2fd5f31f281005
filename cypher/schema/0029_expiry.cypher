// What expires is found by its time. A node that was deleted before its time keeps it as a Former: its history goes then.

CREATE INDEX node_expiry IF NOT EXISTS
FOR (node:Node) ON (node.namespace, node.expires_at);

CREATE INDEX former_expiry IF NOT EXISTS
FOR (former:Former) ON (former.namespace, former.expires_at);

CREATE INDEX conversation_expiry IF NOT EXISTS
FOR (conversation:Conversation) ON (conversation.namespace, conversation.expires_at);
