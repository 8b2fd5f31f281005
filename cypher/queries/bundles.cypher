// A namespace as a bundle, completely and back (graph/bundles.py). Whatever has a `namespace` and one of the labels below
// belongs to it; nothing is shared between namespaces. Elements come in the order of their keys, which is that of an index.

// name: in-order
// The nodes of one kind whose key is a text, in the order of their keys, from one on. Parameters: namespace, kind, after (the
// first value of the key: '' for all).
CYPHER 25
WHEN $kind = 'Namespace' THEN {
  MATCH (node:Namespace {name: $namespace})
  RETURN node
}
WHEN $kind = 'Load' THEN {
  MATCH (node:Load {namespace: $namespace})
  USING INDEX node:Load(namespace, id)
  WHERE node.id >= $after
  RETURN node ORDER BY node.namespace, node.id
}
WHEN $kind = 'Checkpoint' THEN {
  MATCH (node:Checkpoint {namespace: $namespace})
  USING INDEX node:Checkpoint(namespace, program)
  WHERE node.program >= $after
  RETURN node ORDER BY node.namespace, node.program
}
WHEN $kind = 'Node' THEN {
  MATCH (node:Node {namespace: $namespace})
  USING INDEX node:Node(namespace, id)
  WHERE node.id >= $after
  RETURN node ORDER BY node.namespace, node.id
}
WHEN $kind = 'Entry' THEN {
  MATCH (node:Entry {namespace: $namespace})
  USING INDEX node:Entry(namespace, id)
  WHERE node.id >= $after
  RETURN node ORDER BY node.namespace, node.id
}
WHEN $kind = 'Former' THEN {
  MATCH (node:Former {namespace: $namespace})
  USING INDEX node:Former(namespace, id, until)
  WHERE node.id >= $after AND node.until IS NOT NULL
  RETURN node ORDER BY node.namespace, node.id, node.until
}
WHEN $kind = 'FormerEntry' THEN {
  MATCH (node:FormerEntry {namespace: $namespace})
  USING INDEX node:FormerEntry(namespace, id)
  WHERE node.id >= $after
  RETURN node ORDER BY node.namespace, node.id
}
WHEN $kind = 'Conversation' THEN {
  MATCH (node:Conversation {namespace: $namespace})
  USING INDEX node:Conversation(namespace, name)
  WHERE node.name >= $after
  RETURN node ORDER BY node.namespace, node.name
}
WHEN $kind = 'Version' THEN {
  MATCH (node:Version {namespace: $namespace})
  USING INDEX node:Version(namespace, id)
  WHERE node.id >= $after
  RETURN node ORDER BY node.namespace, node.id
}
WHEN $kind = 'Message' THEN {
  MATCH (node:Message {namespace: $namespace})
  USING INDEX node:Message(namespace, id)
  WHERE node.id >= $after
  RETURN node ORDER BY node.namespace, node.id
}
WHEN $kind = 'Passage' THEN {
  MATCH (node:Passage {namespace: $namespace})
  USING INDEX node:Passage(namespace, id)
  WHERE node.id >= $after
  RETURN node ORDER BY node.namespace, node.id
}
WHEN $kind = 'Metadata' THEN {
  MATCH (node:Metadata {namespace: $namespace})
  USING INDEX node:Metadata(namespace, id)
  WHERE node.id >= $after
  RETURN node ORDER BY node.namespace, node.id
}
WHEN $kind = 'Run' THEN {
  MATCH (node:Run {namespace: $namespace})
  USING INDEX node:Run(namespace, id)
  WHERE node.id >= $after
  RETURN node ORDER BY node.namespace, node.id
}
WHEN $kind = 'Generation' THEN {
  MATCH (node:Generation {namespace: $namespace})
  USING INDEX node:Generation(namespace, id)
  WHERE node.id >= $after
  RETURN node ORDER BY node.namespace, node.id
}
WHEN $kind = 'ContextItem' THEN {
  MATCH (node:ContextItem {namespace: $namespace})
  USING INDEX node:ContextItem(namespace, id)
  WHERE node.id >= $after
  RETURN node ORDER BY node.namespace, node.id
}
WHEN $kind = 'Graph' THEN {
  MATCH (node:Graph {namespace: $namespace})
  USING INDEX node:Graph(namespace, id)
  WHERE node.id >= $after
  RETURN node ORDER BY node.namespace, node.id
}
WHEN $kind = 'GraphNode' THEN {
  MATCH (node:GraphNode {namespace: $namespace})
  USING INDEX node:GraphNode(namespace, id)
  WHERE node.id >= $after
  RETURN node ORDER BY node.namespace, node.id
}
WHEN $kind = 'Step' THEN {
  MATCH (node:Step {namespace: $namespace})
  USING INDEX node:Step(namespace, id)
  WHERE node.id >= $after
  RETURN node ORDER BY node.namespace, node.id
}
WHEN $kind = 'Program' THEN {
  MATCH (node:Program {namespace: $namespace})
  USING INDEX node:Program(namespace, id)
  WHERE node.id >= $after
  RETURN node ORDER BY node.namespace, node.id
}
WHEN $kind = 'Alias' THEN {
  MATCH (node:Alias {namespace: $namespace})
  USING INDEX node:Alias(namespace, id)
  WHERE node.id >= $after
  RETURN node ORDER BY node.namespace, node.id
}
WHEN $kind = 'Forgetting' THEN {
  MATCH (node:Forgetting {namespace: $namespace})
  USING INDEX node:Forgetting(namespace, id)
  WHERE node.id >= $after
  RETURN node ORDER BY node.namespace, node.id
}
WHEN $kind = 'Thread' THEN {
  MATCH (node:Thread {namespace: $namespace})
  USING INDEX node:Thread(namespace, id)
  WHERE node.id >= $after
  RETURN node ORDER BY node.namespace, node.id
}
WHEN $kind = 'State' THEN {
  MATCH (node:State {namespace: $namespace})
  USING INDEX node:State(namespace, id)
  WHERE node.id >= $after
  RETURN node ORDER BY node.namespace, node.id
}
WHEN $kind = 'ChannelValue' THEN {
  MATCH (node:ChannelValue {namespace: $namespace})
  USING INDEX node:ChannelValue(namespace, id)
  WHERE node.id >= $after
  RETURN node ORDER BY node.namespace, node.id
}
WHEN $kind = 'PendingWrite' THEN {
  MATCH (node:PendingWrite {namespace: $namespace})
  USING INDEX node:PendingWrite(namespace, id)
  WHERE node.id >= $after
  RETURN node ORDER BY node.namespace, node.id
}
WHEN $kind = 'BundleKey' THEN {
  MATCH (node:BundleKey {namespace: $namespace})
  USING INDEX node:BundleKey(namespace, bundle_key)
  WHERE node.bundle_key IS NOT NULL
  RETURN node ORDER BY node.namespace, node.bundle_key
}
ELSE {
  MATCH (node:Namespace)
  WHERE false
  RETURN node
};

// name: nodes
// All nodes of one kind, with everything that they have: `properties` are pairs, and `times` the dates and the times among
// them, each with its type and as text. The driver has no years before 1, nor offsets with seconds, makes no difference
// between the offset Z and the zone UTC, and a point in time takes it longer than all the rest of a node. A passage is in the
// `conversations` of its message. Parameters: namespace, kind, after.
CYPHER 25
CALL () {
  RETURN null AS node // include: bundles/in-order
}
RETURN labels(node) AS labels,
       CASE WHEN node:Passage THEN head([(message:Message)-[:PASSAGE]->(node) | message.conversations])
            ELSE node.conversations END AS conversations,
       [key IN keys(node) WHERE NOT valueType(node[key]) =~ '(LIST<)?(DATE|LOCAL DATETIME|ZONED).*' |
        [key, node[key]]] AS properties,
       [key IN keys(node) WHERE valueType(node[key]) =~ '(LIST<)?(DATE|LOCAL DATETIME|ZONED).*' |
        [key, valueType(node[key]),
         CASE WHEN valueType(node[key]) STARTS WITH 'LIST' THEN toStringList(node[key])
              ELSE toString(node[key]) END]] AS times;

// name: relationship-row
// A relationship as a bundle has it, with its type and its properties like those of a node, and with what tells which nodes
// its ends are. Neo4j's own id of an end comes where that may be a node without a key: it takes long to make. Parameters:
// namespace.
CYPHER 25
MATCH (node:Node {namespace: $namespace, id: ''})-[relationship]->(end) // given
RETURN type(relationship) AS type,
       [key IN keys(relationship) WHERE NOT valueType(relationship[key]) =~ '(LIST<)?(DATE|LOCAL DATETIME|ZONED).*' |
        [key, relationship[key]]] AS properties,
       [key IN keys(relationship) WHERE valueType(relationship[key]) =~ '(LIST<)?(DATE|LOCAL DATETIME|ZONED).*' |
        [key, valueType(relationship[key]),
         CASE WHEN valueType(relationship[key]) STARTS WITH 'LIST' THEN toStringList(relationship[key])
              ELSE toString(relationship[key]) END]] AS times,
       labels(node) AS source_labels,
       CASE WHEN node:Node AND node.id > '' AND NOT node:Namespace|Checkpoint THEN node {.namespace, .id}
            ELSE node {.namespace, .id, .name, .until, .program, element: elementId(node)} END AS source,
       labels(end) AS target_labels,
       CASE WHEN end:Node AND end.id > '' AND NOT end:Namespace|Checkpoint THEN end {.namespace, .id}
            ELSE end {.namespace, .id, .name, .until, .program, element: elementId(end)} END AS target;

// name: relationships
// All relationships that begin at nodes of one kind, but for the edges below. Parameters: namespace, kind, after.
CYPHER 25
CALL () {
  RETURN null AS node // include: bundles/in-order
}
MATCH (node)-[relationship]->(end)
WHERE NOT (type(relationship) = "EDGE" AND relationship.namespace = $namespace AND relationship.id IS NOT NULL)
RETURN '' AS type, [] AS properties, [] AS times, {} AS source, {} AS target // include: bundles/relationship-row
;

// name: edges
// All edges, in the order of their ids. Parameters: namespace.
MATCH (node)-[relationship:EDGE {namespace: $namespace}]->(end)
USING INDEX relationship:EDGE(namespace, id)
WHERE relationship.id IS NOT NULL
RETURN '' AS type, [] AS properties, [] AS times, {} AS source, {} AS target // include: bundles/relationship-row
ORDER BY relationship.namespace, relationship.id;

// name: later-edges
// The edges from an id on, of those whose ids are of its type. Parameters: namespace, after.
MATCH (node)-[relationship:EDGE {namespace: $namespace}]->(end)
USING INDEX relationship:EDGE(namespace, id)
WHERE relationship.id >= $after
RETURN '' AS type, [] AS properties, [] AS times, {} AS source, {} AS target // include: bundles/relationship-row
ORDER BY relationship.namespace, relationship.id;

// name: each-keyless
// Nodes of this namespace that none of the keys addresses: of other labels, or with a key that is no text. Every node of the
// database is looked at. Parameters: namespace.
CYPHER 25
MATCH (node)
WHERE node.namespace = $namespace
  AND NOT (node:Node|Load|Entry|FormerEntry|Version|Message|Passage|Metadata|Run|Generation|ContextItem|Graph|GraphNode
                |Step|Program|Alias|Forgetting|Thread|State|ChannelValue|PendingWrite AND node.id IS :: STRING NOT NULL)
  AND NOT (node:Former AND node.id IS :: STRING NOT NULL AND node.until IS :: INTEGER NOT NULL)
  AND NOT (node:Conversation AND node.name IS :: STRING NOT NULL)
  AND NOT (node:Checkpoint AND node.program IS :: STRING NOT NULL)
  AND NOT (node:Namespace AND node.name IS NOT NULL)
RETURN node;

// name: keyless
// The nodes without a key, with everything that they have, and how many relationships. Parameters: namespace.
CYPHER 25
CALL () {
  RETURN null AS node // include: bundles/each-keyless
}
RETURN elementId(node) AS element, labels(node) AS labels,
       [key IN keys(node) WHERE NOT valueType(node[key]) =~ '(LIST<)?(DATE|LOCAL DATETIME|ZONED).*' |
        [key, node[key]]] AS properties,
       [key IN keys(node) WHERE valueType(node[key]) =~ '(LIST<)?(DATE|LOCAL DATETIME|ZONED).*' |
        [key, valueType(node[key]),
         CASE WHEN valueType(node[key]) STARTS WITH 'LIST' THEN toStringList(node[key])
              ELSE toString(node[key]) END]] AS times,
       COUNT { (node)--() } AS degree;

// name: keyless-relationships
// All relationships that begin at nodes without a key, but for the edges above. Parameters: namespace.
CYPHER 25
CALL () {
  RETURN null AS node // include: bundles/each-keyless
}
MATCH (node)-[relationship]->(end)
WHERE NOT (type(relationship) = "EDGE" AND relationship.namespace = $namespace AND relationship.id IS NOT NULL)
RETURN '' AS type, [] AS properties, [] AS times, {} AS source, {} AS target // include: bundles/relationship-row
;

// name: any-keyless
// Whether there is a node without a key. Parameters: namespace.
CYPHER 25
CALL () {
  RETURN null AS node // include: bundles/each-keyless
}
WITH node LIMIT 1
RETURN count(node) AS count;

// name: forget-keys
// Take the numbers from nodes without a key of their own, by which an import knew them; run until none is left.
// Parameters: namespace, limit.
MATCH (node:BundleKey {namespace: $namespace})
USING INDEX node:BundleKey(namespace, bundle_key)
WHERE node.bundle_key IS NOT NULL
WITH node LIMIT $limit
REMOVE node:BundleKey, node.bundle_key
RETURN count(node) AS forgotten;

// name: any-node
// Whether there is a node of one kind. Parameters: namespace, kind, after ('').
CYPHER 25
CALL () {
  RETURN null AS node // include: bundles/in-order
}
WITH node LIMIT 1
RETURN count(node) AS count;

// name: lock-import
// Take the write lock of the namespace until the commit, and find out how much of a bundle is stored there: null, if the
// import has not begun. Parameters: namespace, program (the checkpoint's, made of the hash of the bundle).
MERGE (namespace:Namespace {name: $namespace})
SET namespace.revision = coalesce(namespace.revision, 0)
WITH namespace
OPTIONAL MATCH (checkpoint:Checkpoint {namespace: $namespace, program: $program})
RETURN checkpoint.statements AS stored;

// name: set-namespace
// What the namespace itself has. Parameters: namespace, rows (one, as of create-nodes).
UNWIND $rows AS row
MATCH (namespace:Namespace {name: $namespace})
SET namespace = row.properties, namespace:$(row.labels)
FOREACH (time IN row.times |
  FOREACH (values IN [CASE time.type
      WHEN 'date' THEN [text IN time.texts | date(text)]
      WHEN 'time' THEN [text IN time.texts | time(text)]
      WHEN 'localdatetime' THEN [text IN time.texts | localdatetime(text)]
      ELSE [text IN time.texts | datetime(text)] END] |
    SET namespace[time.key] = CASE WHEN time.several THEN values ELSE values[0] END));

// name: create-nodes
// `times` are those that the driver has no values for, as texts. Parameters: namespace, rows [{labels, properties, times
// [{key, type, texts, several (whether the property is a list)}]}].
UNWIND $rows AS row
CREATE (node)
SET node = row.properties, node.namespace = $namespace, node:$(row.labels)
FOREACH (time IN row.times |
  FOREACH (values IN [CASE time.type
      WHEN 'date' THEN [text IN time.texts | date(text)]
      WHEN 'time' THEN [text IN time.texts | time(text)]
      WHEN 'localdatetime' THEN [text IN time.texts | localdatetime(text)]
      ELSE [text IN time.texts | datetime(text)] END] |
    SET node[time.key] = CASE WHEN time.several THEN values ELSE values[0] END));

// name: find-ends
// Which nodes have these keys, in one row: [[kind, key, element]]. Parameters: namespace, ends (of each kind a list of keys).
CALL () {
  UNWIND $ends.Namespace AS key
  MATCH (node:Namespace {name: $namespace})
  RETURN 'Namespace' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.Load AS key
  MATCH (node:Load {namespace: $namespace, id: key[0]})
  USING INDEX SEEK node:Load(namespace, id)
  RETURN 'Load' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.Checkpoint AS key
  MATCH (node:Checkpoint {namespace: $namespace, program: key[0]})
  USING INDEX SEEK node:Checkpoint(namespace, program)
  RETURN 'Checkpoint' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.Node AS key
  MATCH (node:Node {namespace: $namespace, id: key[0]})
  USING INDEX SEEK node:Node(namespace, id)
  RETURN 'Node' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.Entry AS key
  MATCH (node:Entry {namespace: $namespace, id: key[0]})
  USING INDEX SEEK node:Entry(namespace, id)
  RETURN 'Entry' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.Former AS key
  MATCH (node:Former {namespace: $namespace, id: key[0], until: key[1]})
  USING INDEX SEEK node:Former(namespace, id, until)
  RETURN 'Former' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.FormerEntry AS key
  MATCH (node:FormerEntry {namespace: $namespace, id: key[0]})
  USING INDEX SEEK node:FormerEntry(namespace, id)
  RETURN 'FormerEntry' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.Conversation AS key
  MATCH (node:Conversation {namespace: $namespace, name: key[0]})
  USING INDEX SEEK node:Conversation(namespace, name)
  RETURN 'Conversation' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.Version AS key
  MATCH (node:Version {namespace: $namespace, id: key[0]})
  USING INDEX SEEK node:Version(namespace, id)
  RETURN 'Version' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.Message AS key
  MATCH (node:Message {namespace: $namespace, id: key[0]})
  USING INDEX SEEK node:Message(namespace, id)
  RETURN 'Message' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.Passage AS key
  MATCH (node:Passage {namespace: $namespace, id: key[0]})
  USING INDEX SEEK node:Passage(namespace, id)
  RETURN 'Passage' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.Metadata AS key
  MATCH (node:Metadata {namespace: $namespace, id: key[0]})
  USING INDEX SEEK node:Metadata(namespace, id)
  RETURN 'Metadata' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.Run AS key
  MATCH (node:Run {namespace: $namespace, id: key[0]})
  USING INDEX SEEK node:Run(namespace, id)
  RETURN 'Run' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.Generation AS key
  MATCH (node:Generation {namespace: $namespace, id: key[0]})
  USING INDEX SEEK node:Generation(namespace, id)
  RETURN 'Generation' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.ContextItem AS key
  MATCH (node:ContextItem {namespace: $namespace, id: key[0]})
  USING INDEX SEEK node:ContextItem(namespace, id)
  RETURN 'ContextItem' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.Graph AS key
  MATCH (node:Graph {namespace: $namespace, id: key[0]})
  USING INDEX SEEK node:Graph(namespace, id)
  RETURN 'Graph' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.GraphNode AS key
  MATCH (node:GraphNode {namespace: $namespace, id: key[0]})
  USING INDEX SEEK node:GraphNode(namespace, id)
  RETURN 'GraphNode' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.Step AS key
  MATCH (node:Step {namespace: $namespace, id: key[0]})
  USING INDEX SEEK node:Step(namespace, id)
  RETURN 'Step' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.Program AS key
  MATCH (node:Program {namespace: $namespace, id: key[0]})
  USING INDEX SEEK node:Program(namespace, id)
  RETURN 'Program' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.Alias AS key
  MATCH (node:Alias {namespace: $namespace, id: key[0]})
  USING INDEX SEEK node:Alias(namespace, id)
  RETURN 'Alias' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.Forgetting AS key
  MATCH (node:Forgetting {namespace: $namespace, id: key[0]})
  USING INDEX SEEK node:Forgetting(namespace, id)
  RETURN 'Forgetting' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.Thread AS key
  MATCH (node:Thread {namespace: $namespace, id: key[0]})
  USING INDEX SEEK node:Thread(namespace, id)
  RETURN 'Thread' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.State AS key
  MATCH (node:State {namespace: $namespace, id: key[0]})
  USING INDEX SEEK node:State(namespace, id)
  RETURN 'State' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.ChannelValue AS key
  MATCH (node:ChannelValue {namespace: $namespace, id: key[0]})
  USING INDEX SEEK node:ChannelValue(namespace, id)
  RETURN 'ChannelValue' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.PendingWrite AS key
  MATCH (node:PendingWrite {namespace: $namespace, id: key[0]})
  USING INDEX SEEK node:PendingWrite(namespace, id)
  RETURN 'PendingWrite' AS kind, key, elementId(node) AS element
  UNION ALL
  UNWIND $ends.BundleKey AS key
  MATCH (node:BundleKey {namespace: $namespace, bundle_key: key[0]})
  USING INDEX SEEK node:BundleKey(namespace, bundle_key)
  RETURN 'BundleKey' AS kind, key, elementId(node) AS element
}
RETURN collect([kind, key, element]) AS found;

// name: create-relationships
// Parameters: namespace, rows [{source, target (elements, as find-ends returns them), type, properties, times (as
// of create-nodes)}].
UNWIND $rows AS row
MATCH (source) WHERE elementId(source) = row.source AND $namespace IN [source.namespace, source.name]
MATCH (target) WHERE elementId(target) = row.target AND $namespace IN [target.namespace, target.name]
CREATE (source)-[relationship:$(row.type)]->(target)
SET relationship = row.properties
FOREACH (time IN row.times |
  FOREACH (values IN [CASE time.type
      WHEN 'date' THEN [text IN time.texts | date(text)]
      WHEN 'time' THEN [text IN time.texts | time(text)]
      WHEN 'localdatetime' THEN [text IN time.texts | localdatetime(text)]
      ELSE [text IN time.texts | datetime(text)] END] |
    SET relationship[time.key] = CASE WHEN time.several THEN values ELSE values[0] END));

// name: forget-namespace
// A bundle of a namespace that was never written to leaves no trace. Parameters: namespace.
MATCH (namespace:Namespace {name: $namespace})
DELETE namespace;
