// Expiry (graph/expiry.py): `expires_at` of nodes and conversations, a time of the database's own clock. What has expired
// goes as what is forgotten does (forget.cypher), on one list, before anything is read or written.

// name: next
// How many milliseconds are left until something expires: 0 or less where something has, or where a process was killed
// while it removed what had; null where nothing expires, and in a bundle whose import is not done, which is compared with its
// file before anything of it goes. Parameters: namespace.
CALL () {
  MATCH (forgetting:Forgetting {namespace: $namespace, id: 'expired '})
  RETURN datetime({epochMillis: 0}) AS time
  UNION ALL
  MATCH (node:Node {namespace: $namespace})
  USING INDEX SEEK node:Node(namespace, expires_at)
  WHERE node.expires_at > datetime({epochMillis: 0})
  RETURN node.expires_at AS time ORDER BY node.namespace, time LIMIT 1
  UNION ALL
  MATCH (former:Former {namespace: $namespace})
  USING INDEX SEEK former:Former(namespace, expires_at)
  WHERE former.expires_at > datetime({epochMillis: 0})
  RETURN former.expires_at AS time ORDER BY former.namespace, time LIMIT 1
  UNION ALL
  MATCH (conversation:Conversation {namespace: $namespace})
  USING INDEX SEEK conversation:Conversation(namespace, expires_at)
  WHERE conversation.expires_at > datetime({epochMillis: 0})
  RETURN conversation.expires_at AS time ORDER BY conversation.namespace, time LIMIT 1
}
WITH min(time).epochMillis - datetime.realtime().epochMillis AS milliseconds
RETURN CASE WHEN EXISTS { MATCH (checkpoint:Checkpoint {namespace: $namespace}) WHERE checkpoint.program STARTS WITH 'bundle-' }
            THEN null ELSE milliseconds END AS milliseconds;

// name: due-conversations
// Some of the conversations that have expired. Parameters: namespace, limit.
MATCH (conversation:Conversation {namespace: $namespace})
USING INDEX SEEK conversation:Conversation(namespace, expires_at)
WHERE conversation.expires_at > datetime({epochMillis: 0}) AND conversation.expires_at <= datetime.realtime()
RETURN conversation.name AS name
ORDER BY conversation.namespace, conversation.expires_at
LIMIT $limit;

// name: lock-due
// A conversation that has expired, with its write lock, before its time is read: no row where it has got another one since
// it was found to be due. Parameters: namespace, name.
MATCH (conversation:Conversation {namespace: $namespace, name: $name})
SET conversation.operation = 0
WITH conversation
WHERE conversation.expires_at <= datetime.realtime()
RETURN conversation.name AS name;

// name: list-due
// Put some of the nodes that have expired on the list, and some of those that were deleted before they did. Parameters:
// namespace, forgetting, limit.
MATCH (forgetting:Forgetting {namespace: $namespace, id: $forgetting})
CALL () {
  MATCH (due:Node {namespace: $namespace})
  USING INDEX SEEK due:Node(namespace, expires_at)
  WHERE due.expires_at > datetime({epochMillis: 0}) AND due.expires_at <= datetime.realtime()
  RETURN due ORDER BY due.namespace, due.expires_at LIMIT $limit
  UNION ALL
  MATCH (due:Former {namespace: $namespace})
  USING INDEX SEEK due:Former(namespace, expires_at)
  WHERE due.expires_at > datetime({epochMillis: 0}) AND due.expires_at <= datetime.realtime()
  RETURN due ORDER BY due.namespace, due.expires_at LIMIT $limit
}
MERGE (forgetting)-[listed:FORGETS]->(due)
  ON CREATE SET listed.due = true
RETURN count(due) AS due;

// name: keep-renewed
// Take off the list the nodes that have got another time since they were put on it: a write that was let through before they
// were due has waited for the lock of the namespace meanwhile. The label is asked for as in forget/list-messages.
// Parameters: namespace, forgetting.
MATCH (forgetting:Forgetting {namespace: $namespace, id: $forgetting})-[listed:FORGETS]->(node)
USING INDEX SEEK forgetting:Forgetting(namespace, id)
WHERE listed.due AND any(label IN labels(node) WHERE label = 'Node') AND coalesce(node.expires_at > datetime.realtime(), true)
DELETE listed;

// name: set-node
// Have a node expire at a time, or some milliseconds from now, or never where both are null. A time less than $lead
// milliseconds away is now: no process has looked since it was set. No row where there is no such node, or where it has expired
// and is being removed: under the lock of the namespace, as what removes it. Parameters: namespace, id, time, milliseconds, lead.
CALL () {
  MATCH (namespace:Namespace {name: $namespace})
  SET namespace.revision = coalesce(namespace.revision, 0)
  RETURN count(*) AS locked
}
MATCH (node:Node {namespace: $namespace, id: $id})
WHERE NOT EXISTS { (node)<-[:FORGETS]-(:Forgetting {kind: 'expired'}) }
WITH node, datetime.realtime() AS now,
     CASE WHEN $milliseconds IS NULL THEN $time
          ELSE datetime.realtime() + duration({milliseconds: $milliseconds}) END AS wanted
SET node.expires_at = CASE WHEN wanted < now + duration({milliseconds: $lead}) THEN now ELSE wanted END
RETURN node.expires_at AS expires_at;

// name: set-conversation
// The same of a conversation. Parameters: namespace, name, time, milliseconds, lead.
MATCH (conversation:Conversation {namespace: $namespace, name: $name})
WITH conversation, datetime.realtime() AS now,
     CASE WHEN $milliseconds IS NULL THEN $time
          ELSE datetime.realtime() + duration({milliseconds: $milliseconds}) END AS wanted
SET conversation.expires_at = CASE WHEN wanted < now + duration({milliseconds: $lead}) THEN now ELSE wanted END
RETURN conversation.expires_at AS expires_at;

// name: of-node
// When a node expires; no row where there is no such node. Parameters: namespace, id.
MATCH (node:Node {namespace: $namespace, id: $id})
RETURN node.expires_at AS expires_at;

// name: of-conversation
// When a conversation expires; no row where there is no such conversation. Parameters: namespace, name.
MATCH (conversation:Conversation {namespace: $namespace, name: $name})
RETURN conversation.expires_at AS expires_at;

// name: unreported
// The records of what has gone because it expired, since the last purge that said so. Parameters: namespace.
MATCH (namespace:Namespace {name: $namespace})
MATCH (load:Load {namespace: $namespace})
WHERE load.revision > coalesce(namespace.expiry_reported, 0) AND load.language = 'expire'
RETURN load.revision AS revision, load.went AS went, load.stayed AS stayed
ORDER BY load.namespace, load.revision;

// name: set-reported
// What has gone up to a revision was said. Parameters: namespace, revision.
MATCH (namespace:Namespace {name: $namespace})
SET namespace.expiry_reported = $revision;
