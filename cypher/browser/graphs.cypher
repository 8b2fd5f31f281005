// Saved queries for Neo4j Browser: node graphs and their runs. `memorygraph browser graphs` opens Browser with one of
// them, with `-p name=value` for what it needs; pasted into Browser, it takes them from `:param name => value`.

// name: graphs
// Every node graph of a namespace, with its nodes and the routes between them. Parameters: namespace.
MATCH (graph:Graph {namespace: $namespace})-[has:HAS_NODE]->(node:GraphNode)
WHERE graph.id IS NOT NULL
OPTIONAL MATCH (node)-[route:ROUTE]->(target:GraphNode)
RETURN graph, has, node, route, target
LIMIT 1000;

// name: graph
// A node graph as it is defined: its nodes, and the routes between them. Parameters: namespace, name.
MATCH (graph:Graph {namespace: $namespace})
WHERE graph.id IS NOT NULL AND graph.name = $name
MATCH (graph)-[has:HAS_NODE]->(node:GraphNode)
OPTIONAL MATCH (node)-[route:ROUTE]->(target:GraphNode)
RETURN graph, has, node, route, target;

// name: run-of-a-graph
// The steps of a run on the nodes of its graph, with what was answered. Parameters: namespace, id (of the run).
MATCH (run:Run {namespace: $namespace, id: $id})
OPTIONAL MATCH (run)-[of:OF]->(graph:Graph)
OPTIONAL MATCH (run)-[has:STEP]->(step:Step)
OPTIONAL MATCH (step)-[then:THEN]->(next:Step)
OPTIONAL MATCH (step)-[at:AT]->(node:GraphNode)
OPTIONAL MATCH (step)-[answered:ANSWERED]->(message:Message)
RETURN run, of, graph, has, step, then, next, at, node, answered, message
ORDER BY has.order;

// name: what-was-said-at-the-nodes
// All that was said in a run, in order, with the steps and the nodes where it was said. Parameters: namespace, id (of
// the run).
MATCH (run:Run {namespace: $namespace, id: $id})-[has:STEP]->(step:Step)-[said:SAID]->(message:Message)
OPTIONAL MATCH (step)-[at:AT]->(node:GraphNode)
OPTIONAL MATCH (message)-[next:NEXT]->(following:Message)
WHERE EXISTS { (following)<-[:SAID]-(:Step) }
RETURN run, has, step, at, node, said, message, next, following
ORDER BY has.order, said.order;

// name: visits-of-a-node
// Every step that visited a node of a graph, whatever the run. Parameters: namespace, graph (its name), node (its name).
MATCH (graph:Graph {namespace: $namespace})
WHERE graph.id IS NOT NULL AND graph.name = $graph
MATCH (graph)-[has:HAS_NODE]->(node:GraphNode {name: $node})<-[at:AT]-(step:Step)<-[of:STEP]-(run:Run)
RETURN graph, has, node, at, step, of, run
LIMIT 300;
