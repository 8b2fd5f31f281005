// The statements of deleted contexts of PETE: an export finds them in their order, and an import by their keys.

CREATE INDEX former_entry_id IF NOT EXISTS
FOR (entry:FormerEntry) ON (entry.namespace, entry.id);
