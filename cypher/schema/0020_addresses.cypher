// Every node of a namespace can have an address, memory:N, and no two have the same. Nodes that PETE has not named have
// none yet, and are not in this index: they cost nothing.

CREATE CONSTRAINT node_memory IF NOT EXISTS
FOR (node:Node) REQUIRE (node.namespace, node.memory) IS UNIQUE;
