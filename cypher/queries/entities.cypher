// Entities with observations and relations, as the memory servers of the field know them.
//
//   (:Node:Entity {namespace, id, name, kind, arrival})                    an entity
//   (:Node)-[:EDGE {verb: "observed", place}]->(:Node:Observation {data})  what was observed of it
//   (:Node)-[:EDGE {verb, weight: 1.0, arrival}]->(:Node)                  a relation
//
// Whatever ContextScript declares is an entity too: one without the label and a kind, whose data is an observation. A node
// without a name, to which an EDGE "observed" leads, is an observation even without the label. `arrival` and `place`
// are the revision of the write and the place in it, so that what is read is in the order in which it came. What has no
// `arrival` comes last, at 2^62; an observation without a `place` comes first, by the id of its edge.

// name: begin
// Open a write: take the write lock of the namespace until the commit, count its next revision, and find the
// entities of these names, and which of these ids are taken by a node or an edge. Where no entity has a name, the entity
// that it is an alias of is found. `alike` are the entities whose names or aliases, as `spelt`, may differ in case, in the
// encoding of letters or in outer blanks only from what is spelled, and is no name of an entity: Cypher has no case folding
// that says it exactly. `merged` is the revision that made an alias. An item of a store is no entity: its name is a key, which
// items of other users have too. `applied` is the write itself if it was committed before and only its acknowledgement was
// lost.
// Parameters: namespace, load, names, ids, spelled [{name, spellings, terms}] (see merges/nodes-called).
MERGE (namespace:Namespace {name: $namespace})
  ON CREATE SET namespace.revision = 0, namespace.created_at = datetime(), namespace.parts_stored = true
SET namespace.revision = namespace.revision + 1
WITH namespace.revision AS revision
OPTIONAL MATCH (load:Load {namespace: $namespace, id: $load})
WITH revision, properties(load) AS applied
CALL () {
  UNWIND $names AS name
  MATCH (node:Node {namespace: $namespace, name: name})
  USING INDEX SEEK node:Node(namespace, name)
  WHERE NOT node:Observation AND NOT node:Item
  RETURN collect({name: name, id: node.id, arrival: node.arrival, kind: coalesce(toStringOrNull(node.kind), 'node')}) AS named
}
CALL () {
  UNWIND $names AS name
  MATCH (node:Node {namespace: $namespace, id: name})
  USING INDEX SEEK node:Node(namespace, id)
  WHERE node.name = '' AND NOT node:Observation AND NOT node:Item
    AND NOT EXISTS { (node)<-[:EDGE {verb: 'observed'}]-(:Node) }
  RETURN collect({name: name, id: node.id, arrival: node.arrival, kind: coalesce(toStringOrNull(node.kind), 'node')}) AS called
}
CALL () {
  UNWIND $names AS name
  CALL (name) {
    MATCH (alias:Alias {namespace: $namespace, name: name})
    USING INDEX SEEK alias:Alias(namespace, name)
    RETURN alias
    UNION
    MATCH (alias:Alias {namespace: $namespace, node: name})
    USING INDEX SEEK alias:Alias(namespace, node)
    RETURN alias
  }
  MATCH (alias)-[link:ALIAS_OF]->(node:Node)
  WITH name, node, link.merged AS merged ORDER BY merged DESC
  WITH name, head(collect(node)) AS node
  RETURN collect({name: name, id: node.id, arrival: node.arrival, kind: coalesce(toStringOrNull(node.kind), 'node'),
                  entity: CASE WHEN node.name = '' THEN node.id ELSE node.name END}) AS aliased
}
WITH revision, applied, named + called AS exact, aliased
WITH revision, applied,
     exact + [entity IN aliased WHERE none(other IN exact WHERE other.name = entity.name)] AS found
CALL (found) {
  UNWIND $spelled AS row
  WITH row WHERE none(entity IN found WHERE entity.name = row.name)
  CALL (row) {
    UNWIND row.spellings AS spelling
    MATCH (node:Node {namespace: $namespace, name: spelling})
    USING INDEX SEEK node:Node(namespace, name)
    RETURN node, node.name AS spelt, null AS merged
    UNION
    CALL db.index.fulltext.queryNodes('node_text', row.terms, {limit: 20}) YIELD node
    WHERE node.namespace = $namespace
    RETURN node, node.name AS spelt, null AS merged
    UNION
    UNWIND row.spellings AS spelling
    MATCH (alias:Alias {namespace: $namespace, name: spelling})-[link:ALIAS_OF]->(node:Node)
    USING INDEX SEEK alias:Alias(namespace, name)
    RETURN node, alias.name AS spelt, link.merged AS merged
    UNION
    CALL db.index.fulltext.queryNodes('alias_text', row.terms, {limit: 20}) YIELD node AS alias
    WHERE alias.namespace = $namespace
    MATCH (alias)-[link:ALIAS_OF]->(node:Node)
    RETURN node, alias.name AS spelt, link.merged AS merged
  }
  WITH row, node, toStringOrNull(spelt) AS spelt, merged
  WHERE NOT node:Observation AND NOT node:Item AND node.id IS NOT NULL
    AND toUpper(toLower(normalize(trim(spelt)))) = toUpper(toLower(normalize(trim(row.name))))
  RETURN collect({name: row.name, id: node.id, arrival: node.arrival, spelt: spelt, merged: merged,
                  kind: coalesce(toStringOrNull(node.kind), 'node'),
                  entity: CASE WHEN node.name = '' THEN node.id ELSE node.name END}) AS alike
}
CALL () {
  UNWIND $ids AS id
  MATCH (node:Node {namespace: $namespace, id: id})
  USING INDEX SEEK node:Node(namespace, id)
  RETURN collect(id) AS nodes
}
CALL () {
  UNWIND $ids AS id
  MATCH ()-[edge:EDGE {namespace: $namespace, id: id}]->()
  USING INDEX SEEK edge:EDGE(namespace, id)
  RETURN collect(id) AS edges
}
RETURN revision, applied, found, alike, nodes + edges AS taken;

// name: write
// Store a part of a write that is open, and, with its `record`, close it. What is there already stays as it is, be it
// an entity, an observation or a relation. `number` counts those with the text of an observation that come before it.
// `stored` are the indexes of the observations and relations that are new, and `clashes` those of what cannot be stored
// under its id, because what was stored under it has been changed since. The index of a row is its place in the write;
// `most` is how many places each revision has. Parameters: namespace, namespace_token, load, record, most,
// entities [{id, name, kind, index, name_parts}],
// observations [{id, edge, entity, data, number, index, data_parts}], relations [{id, source, target, verb, index}].
MATCH (namespace:Namespace {name: $namespace})
WITH namespace.revision AS revision, namespace.revision * $most AS start, namespace.embedder AS embedder
CALL (revision, start, embedder) {
  UNWIND $entities AS row
  WITH revision, start, embedder, row
  WHERE NOT EXISTS {
    MATCH (node:Node {namespace: $namespace, id: row.id})
    USING INDEX SEEK node:Node(namespace, id)
  }
  CREATE (:Node:Entity {namespace: $namespace, id: row.id, name: row.name, data: '', kind: row.kind, name_parts: row.name_parts,
                        arrival: start + row.index, namespace_token: $namespace_token, since: revision,
                        vector_due: embedder})
  RETURN count(*) AS entities
}
CALL (revision, start, embedder) {
  UNWIND $observations AS row
  MATCH (entity:Node {namespace: $namespace, id: row.entity})
  USING INDEX SEEK entity:Node(namespace, id)
  WHERE row.data = '' OR coalesce(entity.data, '') <> row.data
  WITH entity, row, EXISTS {
    MATCH (node:Node {namespace: $namespace, id: row.id})
    USING INDEX SEEK node:Node(namespace, id)
  } AS known
  // An entity may have a text under another id: by a merge, or by ContextScript. What it has is looked through once, for
  // texts whose ids are new, and not where that would take longer than the write itself: for a few texts of many edges.
  WITH entity, collect([row, known]) AS pairs, collect(CASE WHEN NOT known THEN row.data END) AS texts
  CALL (entity, texts) {
    WITH entity, texts
    WHERE texts <> [] AND COUNT { (entity)-[:EDGE]->() } <= 1000 + 100 * size(texts)
    MATCH (entity)-[:EDGE {verb: 'observed'}]->(observation:Node)
    WHERE observation.data IN texts AND (observation:Observation OR observation.name = '')
    RETURN collect(observation.data) AS said
  }
  UNWIND pairs AS pair
  WITH revision, start, embedder, entity, pair[0] AS row, pair[1] AS known, said
  WHERE known OR NOT row.data IN said
     OR row.number > 0 AND size([text IN said WHERE text = row.data]) <= row.number
  FOREACH (_ IN CASE WHEN known THEN [] ELSE [row] END |
    CREATE (entity)-[:EDGE {namespace: $namespace, id: row.edge, verb: 'observed', weight: 1.0,
                            place: start + row.index, since: revision}]->
           (:Node:Observation {namespace: $namespace, id: row.id, name: '', data: row.data, data_parts: row.data_parts,
                               namespace_token: $namespace_token, since: revision,
                               vector_due: CASE WHEN row.data <> '' THEN embedder END})
  )
  RETURN collect(CASE WHEN NOT known THEN row.index END) AS created, collect(CASE WHEN known THEN row END) AS known
}
CALL (revision, start, known) {
  UNWIND known AS row
  MATCH (entity:Node {namespace: $namespace, id: row.entity})
  USING INDEX SEEK entity:Node(namespace, id)
  MATCH (observation:Node {namespace: $namespace, id: row.id})
  USING INDEX SEEK observation:Node(namespace, id)
  OPTIONAL MATCH (source)-[edge:EDGE {namespace: $namespace, id: row.edge}]->(target)
  USING INDEX SEEK edge:EDGE(namespace, id)
  FOREACH (_ IN CASE WHEN edge IS NULL THEN [row] ELSE [] END |
    CREATE (entity)-[:EDGE {namespace: $namespace, id: row.edge, verb: 'observed', weight: 1.0,
                            place: start + row.index, since: revision}]->(observation)
  )
  RETURN collect(CASE WHEN edge IS NULL OR edge.place = start + row.index THEN row.index END) AS joined,
         collect(CASE WHEN observation.data <> row.data OR source <> entity OR target <> observation
                      THEN row.index END) AS changed
}
WITH revision, start, entities, created + joined AS observed, changed
CALL (revision, start) {
  UNWIND $relations AS row
  MATCH (source:Node {namespace: $namespace, id: row.source})
  USING INDEX SEEK source:Node(namespace, id)
  MATCH (target:Node {namespace: $namespace, id: row.target})
  USING INDEX SEEK target:Node(namespace, id)
  WITH revision, start, row, source, target, EXISTS {
    MATCH ()-[edge:EDGE {namespace: $namespace, id: row.id}]->()
    USING INDEX SEEK edge:EDGE(namespace, id)
  } AS taken
  WHERE NOT EXISTS { (source)-[:EDGE {verb: row.verb}]->(target) }
  FOREACH (_ IN CASE WHEN taken THEN [] ELSE [row] END |
    CREATE (source)-[:EDGE {namespace: $namespace, id: row.id, verb: row.verb, weight: 1.0,
                            arrival: start + row.index, since: revision}]->(target)
  )
  RETURN collect(CASE WHEN NOT taken THEN row.index END) AS related,
         collect(CASE WHEN taken THEN row.index END) AS moved
}
FOREACH (record IN CASE WHEN $record IS NULL THEN [] ELSE [$record] END |
  CREATE (load:Load {namespace: $namespace, id: $load, revision: revision, at: datetime.realtime()})
  SET load += record, load.nodes_created = record.nodes_created + entities + size(observed),
      load.edges_created = record.edges_created + size(observed) + size(related)
)
RETURN observed + related AS stored, changed + moved AS clashes;

// name: begin-and-write
// A write in one round trip: begin it, and store all of it, if each name is that of one entity, which has the expected
// id, or of none, and it is to be created under an id that nothing has. Otherwise `stored` is null, and the write has
// only begun. Parameters: those of begin and of write (namespace, namespace_token, load, names, ids, spelled, record, most,
// entities, observations, relations), expected (a map of the names to their ids).
CYPHER 25
RETURN 1 AS revision, null AS applied, [] AS found, [] AS alike, [] AS taken // include: entities/begin
NEXT
CALL (applied, found, alike, taken) {
  WHEN applied IS NULL AND alike = []
    AND all(entity IN found WHERE entity.id = $expected[entity.name])
    AND size(found) + size([row IN $entities WHERE NOT row.id IN taken]) = size(keys($expected))
  THEN {
    RETURN [] AS stored, [] AS clashes // include: entities/write
  }
  ELSE {
    RETURN null AS stored, null AS clashes
  }
}
RETURN revision, applied, found, alike, taken, stored, clashes;

// name: places
// When the edges of these ids were stored. Parameters: namespace, ids.
UNWIND $ids AS id
MATCH ()-[edge:EDGE {namespace: $namespace, id: id}]->()
USING INDEX SEEK edge:EDGE(namespace, id)
RETURN collect(coalesce(edge.place, edge.arrival)) AS places;

// name: find-observations
// What goes with observations: they themselves, or, where an edge is at them that does not go, the edges to them. What
// ContextScript stored as data of an entity is to be emptied. And which observations these are: the id of the entity and
// the text. Parameters: namespace, rows [{entity, texts}].
CALL () {
  UNWIND $rows AS row
  MATCH (entity:Node {namespace: $namespace, id: row.entity})
  USING INDEX SEEK entity:Node(namespace, id)
  MATCH (entity)-[edge:EDGE {verb: 'observed'}]->(observation:Node)
  WHERE observation.data IN row.texts AND (observation:Observation OR observation.name = '')
  WITH observation, collect(DISTINCT edge) AS going
  WITH observation, going, COUNT { (observation)-[:EDGE]-() } = size(going) AS alone
  UNWIND going AS edge
  RETURN collect(DISTINCT CASE WHEN alone THEN observation.id END) AS nodes,
         collect(CASE WHEN NOT alone THEN edge.id END) AS edges,
         collect(DISTINCT [startNode(edge).id, observation.data]) AS observed
}
CALL () {
  UNWIND $rows AS row
  MATCH (entity:Node {namespace: $namespace, id: row.entity})
  USING INDEX SEEK entity:Node(namespace, id)
  WHERE entity.data <> '' AND entity.data IN row.texts
  RETURN collect(DISTINCT row.entity) AS emptied, collect(DISTINCT [row.entity, entity.data]) AS of_data
}
RETURN nodes, edges, emptied, observed + of_data AS found;

// name: find-relations
// The edges that relations are, and the indexes of those relations. Parameters: namespace, rows [{index, sources, targets,
// verb}].
UNWIND $rows AS row
UNWIND row.sources AS source_id
UNWIND row.targets AS target_id
MATCH (source:Node {namespace: $namespace, id: source_id})
USING INDEX SEEK source:Node(namespace, id)
MATCH (target:Node {namespace: $namespace, id: target_id})
USING INDEX SEEK target:Node(namespace, id)
MATCH (source)-[edge:EDGE {verb: row.verb}]->(target)
WITH collect(DISTINCT edge.id) AS edges, collect(DISTINCT row.index) AS found
RETURN [] AS nodes, edges, [] AS emptied, found;

// name: entities
// A page of the entities of a namespace in the order in which they came, from one place on. Parameters: namespace,
// arrival, limit.
MATCH (node:Entity {namespace: $namespace})
USING INDEX SEEK node:Entity(namespace, arrival)
WHERE node.arrival >= $arrival
WITH node ORDER BY node.namespace, node.arrival LIMIT $limit
RETURN node.id AS id, node.arrival AS arrival, CASE WHEN node.name = '' THEN node.id ELSE node.name END AS name,
       coalesce(node.kind, 'node') AS entity_type,
       CASE WHEN node.data = '' THEN [] ELSE [node.data] END + COLLECT {
         MATCH (node)-[edge:EDGE {verb: 'observed'}]->(observation:Node)
         WHERE observation:Observation OR observation.name = ''
         RETURN observation.data ORDER BY coalesce(edge.place, 0), edge.id
       } AS observations
ORDER BY node.namespace, arrival;

// name: other-entities
// A page of what ContextScript declared, in the order of the ids, from one on. Parameters: namespace, id, limit.
MATCH (node:Node {namespace: $namespace})
USING INDEX SEEK node:Node(namespace, id)
WHERE node.id >= $id AND NOT node:Entity AND NOT node:Observation
  AND CASE WHEN node.name <> '' THEN true ELSE NOT EXISTS { (node)<-[:EDGE {verb: 'observed'}]-(:Node) } END
WITH node ORDER BY node.namespace, node.id LIMIT $limit
RETURN node.id AS id, null AS arrival, CASE WHEN node.name = '' THEN node.id ELSE node.name END AS name,
       coalesce(node.kind, 'node') AS entity_type,
       CASE WHEN node.data = '' THEN [] ELSE [node.data] END + COLLECT {
         MATCH (node)-[edge:EDGE {verb: 'observed'}]->(observation:Node)
         WHERE observation:Observation OR observation.name = ''
         RETURN observation.data ORDER BY coalesce(edge.place, 0), edge.id
       } AS observations
ORDER BY node.namespace, id;

// name: observation-places
// Where the observations of an entity stand, in the order in which the blocks above give them: the places and ids of their
// edges, and of its data null. Parameters: namespace, id.
MATCH (node:Node {namespace: $namespace, id: $id})
USING INDEX SEEK node:Node(namespace, id)
RETURN CASE WHEN node.data = '' THEN [] ELSE [null] END + COLLECT {
  MATCH (node)-[edge:EDGE {verb: 'observed'}]->(observation:Node)
  WHERE observation:Observation OR observation.name = ''
  WITH coalesce(edge.place, 0) AS place, edge.id AS id
  RETURN [place, id] ORDER BY place, id
} AS places;

// name: relations
// A page of the relations of a namespace in the order in which they came, from one place on. Parameters: namespace,
// arrival, limit.
MATCH (source:Node)-[edge:EDGE {namespace: $namespace}]->(target:Node)
USING INDEX SEEK edge:EDGE(namespace, arrival)
WHERE edge.arrival >= $arrival
WITH source, edge, target ORDER BY edge.namespace, edge.arrival LIMIT $limit
RETURN edge.id AS id, edge.arrival AS arrival, CASE WHEN source.name = '' THEN source.id ELSE source.name END AS source,
       CASE WHEN target.name = '' THEN target.id ELSE target.name END AS target, edge.verb AS relation_type
ORDER BY edge.namespace, arrival;

// name: other-relations
// A page of the relations that ContextScript declared, in the order of the ids, from one on. Parameters: namespace,
// id, limit.
MATCH (source:Node)-[edge:EDGE {namespace: $namespace}]->(target:Node)
USING INDEX SEEK edge:EDGE(namespace, id)
WHERE edge.id >= $id AND edge.arrival IS NULL AND edge.place IS NULL
  AND CASE WHEN edge.verb = 'observed' THEN NOT target:Observation AND target.name <> '' ELSE true END
WITH source, edge, target ORDER BY edge.namespace, edge.id LIMIT $limit
RETURN edge.id AS id, null AS arrival, CASE WHEN source.name = '' THEN source.id ELSE source.name END AS source,
       CASE WHEN target.name = '' THEN target.id ELSE target.name END AS target, edge.verb AS relation_type
ORDER BY edge.namespace, id;

// name: missing-names
// Those of these names that no entity has, and that are no alias of one. Parameters: namespace, names.
UNWIND $names AS name
WITH DISTINCT name
WHERE NOT EXISTS {
    MATCH (node:Node {namespace: $namespace, name: name})
    USING INDEX SEEK node:Node(namespace, name)
    WHERE NOT node:Observation AND NOT node:Item
  }
  AND NOT EXISTS {
    MATCH (node:Node {namespace: $namespace, id: name})
    USING INDEX SEEK node:Node(namespace, id)
    WHERE node.name = '' AND NOT node:Observation AND NOT node:Item
  }
  AND NOT EXISTS {
    MATCH (alias:Alias {namespace: $namespace, name: name})-[:ALIAS_OF]->(:Node)
    USING INDEX SEEK alias:Alias(namespace, name)
  }
  AND NOT EXISTS {
    MATCH (alias:Alias {namespace: $namespace, node: name})-[:ALIAS_OF]->(:Node)
    USING INDEX SEEK alias:Alias(namespace, node)
  }
RETURN name;

// name: names-beginning
// The names of entities that begin with a text, in their order, which is that of the index: no more is read than is
// returned. Observations, which have an empty name, are many and come first: where the text is empty, too, they are passed
// over. Parameters: namespace, text, limit.
CYPHER 25
WHEN $text = '' THEN {
  MATCH (node:Node {namespace: $namespace})
  USING INDEX SEEK node:Node(namespace, name)
  WHERE node.name > '' AND NOT node:Observation AND NOT node:Item
  WITH DISTINCT node.namespace AS namespace, node.name AS name
  ORDER BY namespace, name
  LIMIT $limit
  RETURN name
}
ELSE {
  MATCH (node:Node {namespace: $namespace})
  USING INDEX SEEK node:Node(namespace, name)
  WHERE node.name STARTS WITH $text AND NOT node:Observation AND NOT node:Item
  WITH DISTINCT node.namespace AS namespace, node.name AS name
  ORDER BY namespace, name
  LIMIT $limit
  RETURN name
};

// name: left-out
// How many entities and relations come from these places on. Parameters: namespace, entity_arrival, entity_id,
// relation_arrival, relation_id.
RETURN COUNT { MATCH (node:Entity {namespace: $namespace}) WHERE node.arrival >= $entity_arrival }
     + COUNT {
         MATCH (node:Node {namespace: $namespace})
         WHERE node.id >= $entity_id AND NOT node:Entity AND NOT node:Observation
           AND (node.name <> '' OR NOT EXISTS { (node)<-[:EDGE {verb: 'observed'}]-(:Node) })
       } AS entities,
       COUNT {
         MATCH ()-[edge:EDGE {namespace: $namespace}]->()
         USING INDEX SEEK edge:EDGE(namespace, arrival)
         WHERE edge.arrival >= $relation_arrival
       }
     + COUNT {
         MATCH ()-[edge:EDGE {namespace: $namespace}]->(target:Node)
         WHERE edge.id >= $relation_id AND edge.arrival IS NULL AND edge.place IS NULL
           AND NOT (edge.verb = 'observed' AND (target:Observation OR target.name = ''))
       } AS relations;

// name: open
// A page of the entities of these names, in the order in which they came, or of those that a search finds, in its order,
// with the relations at any of them: from one entity and one relation on. `place` is where the first entity arrived, and
// `first` its id: what came before it may be gone since the last page. In the order of a search by words it is the
// entity with the id `first`, or, where that is gone, the one at the index `place`. `ids` are all the entities, and
// `more` says whether words may find others. Where these are more than `most_ends`, their relations are not looked for.
// Parameters: namespace, wanted (names; or search, the name of the block below that searches, and what that takes), place,
// first, arrival, id, limit, most_ends, most_nodes, most_hits, most_found. What can be missing is in the map `wanted`:
// else Neo4j plans this query anew for each kind of a request, for seconds after a start.
CYPHER 25
CALL () {
  WHEN $wanted.search = 'ids-containing' THEN {
    RETURN [] AS ids, false AS more // include: entities/ids-containing
  }
  WHEN $wanted.search = 'ids-with-words' THEN {
    RETURN [] AS ids, false AS more // include: entities/ids-with-words
  }
  ELSE {
    RETURN [] AS ids, false AS more
  }
}
CALL () {
  UNWIND $wanted.names AS name
  CALL (name) {
    MATCH (node:Node {namespace: $namespace, name: name})
    USING INDEX SEEK node:Node(namespace, name)
    RETURN node
    UNION ALL
    MATCH (node:Node {namespace: $namespace, id: name})
    USING INDEX SEEK node:Node(namespace, id)
    WHERE node.name = '' AND NOT EXISTS { (node)<-[:EDGE {verb: 'observed'}]-(:Node) }
    RETURN node
    UNION ALL
    MATCH (alias:Alias {namespace: $namespace, name: name})-[:ALIAS_OF]->(node:Node)
    USING INDEX SEEK alias:Alias(namespace, name)
    WHERE NOT EXISTS {
      MATCH (named:Node {namespace: $namespace, name: name})
      USING INDEX SEEK named:Node(namespace, name)
      WHERE NOT named:Item
    }
    RETURN node
    UNION ALL
    MATCH (alias:Alias {namespace: $namespace, node: name})-[:ALIAS_OF]->(node:Node)
    USING INDEX SEEK alias:Alias(namespace, node)
    WHERE NOT EXISTS {
      MATCH (named:Node {namespace: $namespace, name: name})
      USING INDEX SEEK named:Node(namespace, name)
      WHERE NOT named:Item
    }
    RETURN node
  }
  WITH DISTINCT node
  WHERE NOT node:Observation
  WITH node ORDER BY coalesce(node.arrival, 4611686018427387904), node.id
  RETURN collect(node) AS named
}
CALL (ids) {
  UNWIND range(0, size(ids) - 1) AS place
  MATCH (node:Node {namespace: $namespace, id: ids[place]})
  USING INDEX SEEK node:Node(namespace, id)
  WITH node ORDER BY place
  RETURN collect(node) AS given
}
WITH named + given AS nodes, more
WITH nodes, more, CASE
  WHEN $wanted.search = 'ids-with-words'
  THEN coalesce(head([place IN range(0, size(nodes) - 1) WHERE nodes[place].id = $first]), $place)
  ELSE size([
    node IN nodes
    WHERE coalesce(node.arrival, 4611686018427387904) < $place
      OR (coalesce(node.arrival, 4611686018427387904) = $place AND coalesce(node.id, '\U0010ffff') < $first)
  ])
END AS start
CALL (nodes, start) {
  // No LIMIT: each row that it sorts counts as long as the list `nodes`, and many hits as too many.
  UNWIND range(start, CASE WHEN size(nodes) < start + $limit THEN size(nodes) ELSE start + $limit END - 1) AS place
  WITH place, nodes[place] AS node
  WITH place, {
    id: coalesce(node.id, '\U0010ffff'), index: place,
    arrival: CASE WHEN $wanted.search = 'ids-with-words' THEN place ELSE coalesce(node.arrival, 4611686018427387904) END,
    name: CASE WHEN node.name = '' THEN node.id ELSE node.name END,
    entity_type: coalesce(node.kind, 'node'),
    observations: CASE WHEN node.data = '' THEN [] ELSE [node.data] END + COLLECT {
      MATCH (node)-[edge:EDGE {verb: 'observed'}]->(observation:Node)
      WHERE observation:Observation OR observation.name = ''
      RETURN observation.data ORDER BY coalesce(edge.place, 0), edge.id
    }
  } AS entity
  ORDER BY place
  RETURN collect(entity) AS entities
}
CALL (nodes) {
  UNWIND CASE WHEN size(nodes) <= $most_ends THEN nodes ELSE [] END AS node
  MATCH (node)-[edge:EDGE]-(:Node)
  WHERE edge.place IS NULL AND edge.namespace = $namespace
  WITH DISTINCT edge, coalesce(edge.arrival, 4611686018427387904) AS arrival
  WHERE arrival > $arrival OR (arrival = $arrival AND edge.id >= $id)
  WITH startNode(edge) AS source, edge, endNode(edge) AS target, arrival
  WHERE NOT (edge.verb = 'observed' AND (target:Observation OR target.name = ''))
  WITH source, edge, target, arrival ORDER BY arrival, edge.id LIMIT $limit
  WITH {
    id: edge.id, arrival: arrival, source: CASE WHEN source.name = '' THEN source.id ELSE source.name END,
    target: CASE WHEN target.name = '' THEN target.id ELSE target.name END, relation_type: edge.verb
  } AS relation
  ORDER BY relation.arrival, relation.id
  RETURN collect(relation) AS relations
}
RETURN [node IN nodes | node.id] AS ids, more, entities, relations;

// name: ids-containing
// The entities whose name, alias, type or observations contain a text, whatever the case, in the order in which they came,
// and the one without a name whose id the text is: it is called by that.
// In a namespace of no more than `most_nodes` these are all: `parts` lead to what may contain the text, by a walk over all
// terms of the index; where that holds more nodes than these, of other namespaces, or the text has no parts, every text
// of the namespace is looked at, once: of alternatives with OR, each may be planned as a walk of its own. In a larger
// namespace `seek` is looked up first. What it finds is all there is where it is `complete`; otherwise it is what has the
// text at the beginning of a word, and only where nothing has is there a walk. There, the first `most_found` are enough,
// and `more` says whether others may contain the text. Parameters: namespace, wanted (text, parts and seek: Lucene queries
// made by memorygraph.memory.pages, or null, complete), most_nodes, most_hits (how many of `seek` are looked at), most_found.
CYPHER 25
CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()
CALL () {
  MATCH (any:Node)
  RETURN count(any) <= $most_nodes AS quickly_walked
}
CALL (quickly_walked) {
  WHEN quickly_walked THEN {
    RETURN false AS large
  }
  ELSE {
    MATCH (counted:Node {namespace: $namespace})
    USING INDEX SEEK counted:Node(namespace, id)
    WHERE counted.id IS NOT NULL
    WITH counted LIMIT $most_nodes + 1
    RETURN count(counted) > $most_nodes AS large
  }
}
CALL (large) {
  WHEN large AND $wanted.seek IS NOT NULL THEN {
    CALL db.index.fulltext.queryNodes('entity_text', $wanted.seek,
                                       CASE WHEN $most_hits > 1000000 THEN {} ELSE {limit: $most_hits} END) YIELD node
    RETURN collect(node) AS hits
  }
  ELSE {
    RETURN [] AS hits
  }
}
CALL (hits) {
  UNWIND hits AS hit
  WITH hit
  WHERE hit.namespace = $namespace AND (toLower(toStringOrNull(hit.name)) CONTAINS toLower($wanted.text)
    OR toLower(toStringOrNull(hit.data)) CONTAINS toLower($wanted.text)
    OR toLower(toStringOrNull(hit.kind)) CONTAINS toLower($wanted.text))
  LIMIT $most_found
  RETURN collect(hit) AS found
}
WITH quickly_walked, large, found, found <> [] AND size(hits) = $most_hits AS cut,
     found <> [] OR (large AND $wanted.seek IS NOT NULL AND $wanted.complete AND size(hits) < $most_hits) AS enough
CALL (quickly_walked, large, found, enough) {
  WHEN enough THEN {
    RETURN found AS nodes
  }
  WHEN large AND $wanted.parts IS NOT NULL THEN {
    CALL db.index.fulltext.queryNodes('entity_text', $wanted.parts) YIELD node
    WITH node
    WHERE node.namespace = $namespace AND (toLower(toStringOrNull(node.name)) CONTAINS toLower($wanted.text)
      OR toLower(toStringOrNull(node.data)) CONTAINS toLower($wanted.text)
      OR toLower(toStringOrNull(node.kind)) CONTAINS toLower($wanted.text))
    LIMIT $most_found
    RETURN collect(node) AS nodes
  }
  WHEN quickly_walked AND $wanted.parts IS NOT NULL THEN {
    CALL db.index.fulltext.queryNodes('entity_text', $wanted.parts) YIELD node
    WITH node
    WHERE node.namespace = $namespace AND (toLower(toStringOrNull(node.name)) CONTAINS toLower($wanted.text)
      OR toLower(toStringOrNull(node.data)) CONTAINS toLower($wanted.text)
      OR toLower(toStringOrNull(node.kind)) CONTAINS toLower($wanted.text))
    RETURN collect(node) AS nodes
  }
  ELSE {
    MATCH (node:Node {namespace: $namespace})
    WHERE node.id IS NOT NULL AND any(
      said IN [node.name, node.data, node.kind,
               CASE WHEN $wanted.parts IS NULL AND node.name = '' AND NOT node:Observation THEN node.id END]
      WHERE toLower(toStringOrNull(said)) CONTAINS toLower($wanted.text)
    )
    RETURN collect(node) AS nodes
  }
}
CALL (nodes) {
  CALL (nodes) {
    UNWIND nodes AS node
    RETURN node
    UNION ALL
    MATCH (alias:Alias {namespace: $namespace})
    USING INDEX alias:Alias(namespace, name)
    WHERE alias.name IS NOT NULL AND toLower(alias.name) CONTAINS toLower($wanted.text)
    MATCH (alias)-[:ALIAS_OF]->(node:Node)
    RETURN node
    UNION ALL
    MATCH (node:Node {namespace: $namespace, id: $wanted.text})
    USING INDEX SEEK node:Node(namespace, id)
    WHERE node.name = ''
    RETURN node
  }
  CALL (node) {
    WITH node
    WHERE NOT node:Observation AND (node.name <> '' OR NOT EXISTS { (node)<-[:EDGE {verb: 'observed'}]-(:Node) })
    RETURN node AS entity
    UNION ALL
    WITH node
    MATCH (entity:Node)-[:EDGE {verb: 'observed'}]->(node)
    WHERE (node:Observation OR node.name = '') AND toLower(toStringOrNull(node.data)) CONTAINS toLower($wanted.text)
    RETURN entity
  }
  WITH DISTINCT entity.id AS id, coalesce(entity.arrival, 4611686018427387904) AS arrival
  ORDER BY arrival, id
  RETURN collect(id) AS ids
}
RETURN ids, cut OR (large AND size(nodes) >= $most_found) AS more;

// name: ids-with-words
// The entities that words lead to, in their own text, their aliases or their observations, best first: those of the best
// hits, and `more` says whether these were all that are taken. A frequent word is in most of a large graph. Parameters:
// namespace, wanted (terms: a Lucene query made by memorygraph.graph.search), most_found.
CALL () {
  CALL db.index.fulltext.queryNodes('node_text', $wanted.terms,
                                     CASE WHEN $most_found > 1000000 THEN {} ELSE {limit: $most_found + 100} END)
    YIELD node AS hit, score
  WHERE score > 0 AND hit.namespace = $namespace
  RETURN hit, score
  UNION ALL
  CALL db.index.fulltext.queryNodes('alias_text', $wanted.terms) YIELD node AS alias, score
  WHERE score > 0 AND alias.namespace = $namespace
  MATCH (alias)-[:ALIAS_OF]->(hit:Node)
  RETURN hit, score
}
WITH hit, score ORDER BY score DESC, hit.id LIMIT $most_found
CALL (hit) {
  WITH hit
  WHERE NOT hit:Observation AND (hit.name <> '' OR NOT EXISTS { (hit)<-[:EDGE {verb: 'observed'}]-(:Node) })
  RETURN hit AS entity
  UNION ALL
  WITH hit
  MATCH (entity:Node)-[:EDGE {verb: 'observed'}]->(hit)
  WHERE hit:Observation OR hit.name = ''
  RETURN entity
  UNION ALL
  RETURN null AS entity // which counts the hit
}
WITH entity.id AS id, sum(score) AS score, count(*) AS number
ORDER BY score DESC, id
RETURN collect(id) AS ids, sum(CASE WHEN id IS NULL THEN number ELSE 0 END) >= $most_found AS more;

// name: relations-of
// The relations at any of these entities, in or out, in the order in which they came, from one of them on.
// Parameters: namespace, ids, arrival, id, limit.
CALL () {
  UNWIND $ids AS entity_id
  MATCH (node:Node {namespace: $namespace, id: entity_id})-[edge:EDGE]-(:Node)
  USING INDEX SEEK node:Node(namespace, id)
  WHERE edge.place IS NULL AND edge.namespace = $namespace
  WITH DISTINCT edge, coalesce(edge.arrival, 4611686018427387904) AS arrival
  WHERE arrival > $arrival OR (arrival = $arrival AND edge.id >= $id)
  RETURN edge, arrival
}
WITH startNode(edge) AS source, edge, endNode(edge) AS target, arrival
WHERE NOT (edge.verb = 'observed' AND (target:Observation OR target.name = ''))
WITH source, edge, target, arrival ORDER BY arrival, edge.id LIMIT $limit
RETURN edge.id AS id, arrival, CASE WHEN source.name = '' THEN source.id ELSE source.name END AS source,
       CASE WHEN target.name = '' THEN target.id ELSE target.name END AS target, edge.verb AS relation_type
ORDER BY arrival, id;

// name: count-relations-of
// How many relations are at any of these entities, from one of them on. Parameters: namespace, ids, arrival, id.
UNWIND $ids AS entity_id
MATCH (node:Node {namespace: $namespace, id: entity_id})-[edge:EDGE]-(:Node)
USING INDEX SEEK node:Node(namespace, id)
WHERE edge.place IS NULL AND edge.namespace = $namespace
WITH DISTINCT edge, coalesce(edge.arrival, 4611686018427387904) AS arrival
WHERE arrival > $arrival OR (arrival = $arrival AND edge.id >= $id)
WITH edge, endNode(edge) AS target
WHERE NOT (edge.verb = 'observed' AND (target:Observation OR target.name = ''))
RETURN count(edge) AS relations;

// name: neo4j-memory-entities
// The entities of an mcp-neo4j-memory graph in the same database, which knows no namespaces. A type that is missing
// is what their other label says; of several nodes of one name, the first is one that has a type. Parameters: none.
MATCH (memory:Memory)
RETURN toStringOrNull(memory.name) AS name,
       coalesce(memory.type, head([label IN labels(memory) WHERE label <> 'Memory']), 'node') AS type,
       coalesce(memory.observations, []) AS observations,
       [key IN keys(memory) WHERE NOT key IN ['name', 'type', 'observations']] AS others
ORDER BY memory.type IS NULL, memory.name, size(elementId(memory)), elementId(memory);

// name: neo4j-memory-relations
// The relations of an mcp-neo4j-memory graph in the same database. Parameters: none.
MATCH (source:Memory)-[relation]->(target:Memory)
RETURN toStringOrNull(source.name) AS source, toStringOrNull(target.name) AS target,
       type(relation) AS relation_type, keys(relation) AS others
ORDER BY size(elementId(relation)), elementId(relation);
