// What is being forgotten, and what is found by whom it came from. A Forgetting is the list of what still has to go, so
// that it goes on where a process was killed; nothing of it stays when it is done but a load without content.

CREATE CONSTRAINT forgetting_id IF NOT EXISTS
FOR (forgetting:Forgetting) REQUIRE (forgetting.namespace, forgetting.id) IS UNIQUE;

CREATE INDEX load_conversation IF NOT EXISTS
FOR (load:Load) ON (load.namespace, load.conversation);

CREATE INDEX former_source IF NOT EXISTS
FOR (former:Former) ON (former.namespace, former.from_node);

CREATE INDEX former_target IF NOT EXISTS
FOR (former:Former) ON (former.namespace, former.to_node);
