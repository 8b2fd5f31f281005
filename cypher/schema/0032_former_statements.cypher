// Which statements of deleted contexts stated a fact: they state it again once that is undone, so that the history keeps it
// when another context that states it is forgotten.

CREATE INDEX former_entry_edge IF NOT EXISTS
FOR (entry:FormerEntry) ON (entry.namespace, entry.edge);
