// Node graphs and the steps of their runs. A definition is named by the hash of its source, and never changes.

CREATE CONSTRAINT graph_id IF NOT EXISTS
FOR (graph:Graph) REQUIRE (graph.namespace, graph.id) IS UNIQUE;

CREATE CONSTRAINT graph_node_id IF NOT EXISTS
FOR (node:GraphNode) REQUIRE (node.namespace, node.id) IS UNIQUE;

CREATE CONSTRAINT step_id IF NOT EXISTS
FOR (step:Step) REQUIRE (step.namespace, step.id) IS UNIQUE;
