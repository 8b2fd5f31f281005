// What nodes and edges were before they were changed or deleted. A Former is one of those states: it was true from the
// revision `since` on, and before the revision `until`. So creating something costs one property, `since`, and only a
// change costs a copy. What a present element is goes by `since` too; without one it is older than all history.

CREATE CONSTRAINT former_id IF NOT EXISTS
FOR (former:Former) REQUIRE (former.namespace, former.id, former.until) IS UNIQUE;

CREATE INDEX former_until IF NOT EXISTS
FOR (former:Former) ON (former.namespace, former.until);

CREATE INDEX load_at IF NOT EXISTS
FOR (load:Load) ON (load.namespace, load.at);
