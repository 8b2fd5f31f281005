// Forgetting (graph/forgetting.py): what goes for good, with its history, its runs and what was learnt from it alone.
//
//   (:Forgetting {namespace, id, kind, target, name, load, conversations, runs})-[:FORGETS {spread, due}]->(what is to go)
//
// First everything that goes with something on the list is put on the list (`spread`); then the list is deleted, a bounded
// piece in each transaction, under the write lock of the namespace. A message goes when nothing follows it and nothing ends with it, so that what another conversation has stays. What a
// message leads to, but the message that follows it, is its own and goes with it: metadata, passages.

// name: begin
// The list of what is to be forgotten, made unless it is there: a process may have been killed before it was done. Takes
// the write lock of the namespace, which what only raw Cypher or a bundle has made may lack. `named` is the name by which
// a node was asked for, or null. What a conversation says goes up to the last time that it was asked for, because another one
// of its name may have begun since. Parameters: namespace, forgetting, kind, target, named, load.
MERGE (namespace:Namespace {name: $namespace})
SET namespace.revision = coalesce(namespace.revision, 0)
MERGE (forgetting:Forgetting {namespace: $namespace, id: $forgetting})
  ON CREATE SET forgetting.kind = $kind, forgetting.target = $target, forgetting.load = $load,
                forgetting.conversations = [], forgetting.runs = [], forgetting.until = namespace.revision
SET forgetting.name = coalesce($named, forgetting.name),
    forgetting.learnt_until = CASE $kind WHEN 'conversation' THEN namespace.revision ELSE forgetting.until END
RETURN properties(forgetting) AS forgetting;

// name: lock
// The list under the write lock of its namespace, until the commit; no row where it is done. Neo4j would read the value of
// `revision = revision` before it has the lock, and so set back what another write has counted meanwhile; that in a function
// it reads under the lock. Parameters: namespace, forgetting, load.
MATCH (namespace:Namespace {name: $namespace})
SET namespace.revision = coalesce(namespace.revision, 0)
WITH namespace
MATCH (forgetting:Forgetting {namespace: namespace.name, id: $forgetting})
WHERE forgetting.load = $load
RETURN properties(forgetting) AS forgetting;

// name: set-counts
// What has gone so far. Parameters: namespace, forgetting, properties.
MATCH (forgetting:Forgetting {namespace: $namespace, id: $forgetting})
SET forgetting += $properties;

// name: record
// What is left of what was forgotten. Parameters: namespace, load.
MATCH (load:Load {namespace: $namespace, id: $load})
RETURN properties(load) AS load;

// name: known
// What an id is: of a node or an edge, of a run, of a program or of a node graph that was only run, or what of these is on a
// list already; and of which of the first two it was, if only these are left (`present` is false). Parameters: namespace, id.
MATCH (:Node {namespace: $namespace, id: $id})
RETURN 'node' AS kind, true AS present
UNION
MATCH ()-[:EDGE {namespace: $namespace, id: $id}]->()
RETURN 'edge' AS kind, true AS present
UNION
MATCH (former:Former {namespace: $namespace, id: $id})
USING INDEX SEEK former:Former(namespace, id, until)
WHERE former.until IS NOT NULL
RETURN former.of AS kind, false AS present
UNION
MATCH (:Run {namespace: $namespace, id: $id})
RETURN 'run' AS kind, true AS present
UNION
MATCH (:Program {namespace: $namespace, id: $id})
RETURN 'program' AS kind, true AS present
UNION
MATCH (:Graph {namespace: $namespace, id: $id})
RETURN 'program' AS kind, true AS present
UNION
UNWIND ['node', 'edge', 'run', 'program'] AS kind
MATCH (forgetting:Forgetting {namespace: $namespace, id: kind + ' ' + $id})
RETURN forgetting.kind AS kind, true AS present;

// name: begun-by-name
// The nodes that were asked to be forgotten by a name, and are not yet. Parameters: namespace, name.
MATCH (forgetting:Forgetting {namespace: $namespace})
WHERE forgetting.id STARTS WITH 'node ' AND forgetting.name = $name
RETURN forgetting.target AS id
ORDER BY id;

// name: any-conversation
// Whether there is a conversation, or one whose forgetting has begun, or records of what was asked for in one.
// Parameters: namespace, name.
MATCH (conversation:Conversation {namespace: $namespace, name: $name})
RETURN conversation.name AS name
UNION
MATCH (forgetting:Forgetting {namespace: $namespace, id: 'conversation ' + $name})
RETURN forgetting.target AS name
UNION
MATCH (load:Load {namespace: $namespace, conversation: $name})
RETURN load.conversation AS name;

// name: list-target
// Put a node, a run or a program on the list; of a node and of an edge all former states, also those as the other of the
// two. Parameters: namespace, forgetting, kind, id.
MATCH (forgetting:Forgetting {namespace: $namespace, id: $forgetting})
CALL () {
  MATCH (target:Node {namespace: $namespace, id: $id})
  RETURN target, 'node' AS of
  UNION ALL
  MATCH (target:Former {namespace: $namespace, id: $id})
  USING INDEX SEEK target:Former(namespace, id, until)
  WHERE target.until IS NOT NULL
  RETURN target, CASE WHEN $kind IN ['node', 'edge'] THEN $kind END AS of
  UNION ALL
  MATCH (target:Run {namespace: $namespace, id: $id})
  RETURN target, 'run' AS of
  UNION ALL
  MATCH (target:Program {namespace: $namespace, id: $id})
  RETURN target, 'program' AS of
  UNION ALL
  MATCH (target:Graph {namespace: $namespace, id: $id})
  RETURN target, 'program' AS of
}
WITH forgetting, target WHERE of = $kind
MERGE (forgetting)-[:FORGETS]->(target);

// name: delete-edge
// Delete one edge; `ends` are its nodes. Parameters: namespace, id.
MATCH (from_node)-[edge:EDGE {namespace: $namespace, id: $id}]->(to_node)
WITH edge, coalesce(edge.since, 0) AS since, from_node, to_node
DELETE edge
RETURN count(*) AS edges, collect(since) AS revisions, collect(from_node.id) + collect(to_node.id) AS ends;

// name: list-unobserved
// Put on the list, of the nodes that edges have left, the observations that nothing is joined to any more. Parameters:
// namespace, forgetting, ids.
MATCH (forgetting:Forgetting {namespace: $namespace, id: $forgetting})
UNWIND $ids AS id
MATCH (node:Node:Observation {namespace: $namespace, id: id})
USING INDEX SEEK node:Node(namespace, id)
WHERE NOT EXISTS { (node)-[:EDGE]-() } AND NOT EXISTS { (node)-[:SOURCE]->() }
MERGE (forgetting)-[:FORGETS]->(node);

// name: take-conversation
// Put a conversation on the list: from now on it is not there any more, and what is appended to it begins another one of
// this name. The loads of a chat are asked for in the conversation of its prompts. Parameters: namespace, forgetting, name.
MATCH (conversation:Conversation {namespace: $namespace, name: $name})
SET conversation.operation = 0
WITH conversation
MATCH (forgetting:Forgetting {namespace: $namespace, id: $forgetting})
CALL (conversation, forgetting) {
  MATCH (conversation)-[:VERSION]->(version:Version)
  MERGE (forgetting)-[:FORGETS]->(version)
}
CALL (conversation, forgetting) {
  MATCH (conversation)<-[:KEPT]-(run:Run)
  MERGE (forgetting)-[:FORGETS]->(run)
}
SET forgetting.conversations = forgetting.conversations + [$name] + COLLECT {
      MATCH (load:Load {namespace: $namespace, conversation: $name + '-calls'})
      WHERE load.by = 'chat'
      RETURN DISTINCT load.conversation
    },
    forgetting.learnt = false
DETACH DELETE conversation
RETURN count(*) AS conversations;

// name: calls-of
// The conversation of the prompts and replies of a chat; a user's own of this name is recalled. Parameters: namespace, name.
MATCH (conversation:Conversation {namespace: $namespace, name: $name + '-calls'})
WHERE conversation.recalled = false
RETURN conversation.name AS name;

// name: spread
// Put on the list what goes with some of it, and say how much was looked at, how much is new, and which conversations go
// with it, those of runs and of thoughts. One node can have had millions of edges: where more is new than is listed at once,
// the same is looked at again. What goes:
//
// - of a node what is its alone, as when it is deleted (contextscript/find-going), its former states, those of the edges
//   at it, and the runs that were given it or shown it;
// - the alias that it has left where it was merged into another, and those that nothing else has, with the former states of
//   what was merged into it;
// - of a former state the other ones of the same node, and the former observations of it; where it has expired, only those
//   before it, because another node may have its id since, and of what a conversation tells of (in what has expired:
//   `learnt`) also none of a node that had the id before and was deleted (`began`): that one others may have told of;
// - of a context of PETE, and of what it speaks of, what only it and others on the list speak of, and that it made; and the
//   former states of the facts that no other one states;
// - of a run what it saw and did, and the node graph that no other run is of and nobody has loaded; and of a program its runs,
//   of which earlier versions have stored the whole hash of the source.
//
// Who a former edge was of is found by the id, and then looked for on the list: this can be long.
//
// Parameters: namespace, forgetting, limit (of what is looked at), most (that is listed at once).
MATCH (forgetting:Forgetting {namespace: $namespace, id: $forgetting})-[listed:FORGETS]->(going)
WHERE listed.spread IS NULL AND NOT going:Message AND NOT going:Version
WITH forgetting, listed, going LIMIT $limit
WITH forgetting, collect(listed) AS looked_at, collect(going) AS taken
CALL (forgetting, taken) {
  UNWIND taken AS going
  CALL (forgetting, going) {
    RETURN EXISTS { (forgetting)-[:FORGETS {learnt: true}]->(going) } AS learnt
  }
  CALL (forgetting, going, learnt) {
    WITH going WHERE going.id IS NOT NULL AND (forgetting.kind = 'conversation' OR learnt)
    MATCH (deleted:Former {namespace: $namespace, id: going.id})
    USING INDEX SEEK deleted:Former(namespace, id, until)
    WHERE deleted.until IS NOT NULL AND deleted.of = 'node' AND deleted.itself AND coalesce(deleted.until < going.until, true)
    RETURN coalesce(max(deleted.until), -1) AS began
  }
  CALL (forgetting, going, began) {
    MATCH (going:Node)-[:CONTAINS]->(part:Node)
    RETURN part
    UNION
    MATCH (part:Node)-[:EDGE {lemma: ''}]->(going)
    RETURN part
    UNION
    MATCH (going:Node)-[edge:EDGE]-(part:Node)
    WHERE (edge.verb = 'observed' AND startNode(edge) = going AND (part:Observation OR part.name = '')
           OR part:Observation AND NOT EXISTS { (part)-[:SOURCE]->() })
    // Only of these is it asked who else has them: of each observation of a node with thousands, that node would be.
    WITH DISTINCT forgetting, going, part
    WHERE NOT EXISTS {
      MATCH (part)-[:EDGE]-(other:Node)
      WHERE other <> going AND NOT EXISTS { (forgetting)-[:FORGETS]->(other) }
    }
    RETURN part
    UNION
    WITH forgetting, going, began WHERE going:Node OR (going:Former AND going.of = 'node')
    MATCH (part:Former {namespace: $namespace, id: going.id})
    USING INDEX SEEK part:Former(namespace, id, until)
    WHERE part.until IS NOT NULL AND part.of = 'node' AND part.until > began
      AND (NOT forgetting.kind IN ['expired', 'conversation'] OR going:Node OR part.until <= going.until)
    RETURN part
    UNION
    WITH forgetting, going, began WHERE going:Node OR (going:Former AND going.of = 'node')
    MATCH (part:Former {namespace: $namespace, from_node: going.id})
    USING INDEX SEEK part:Former(namespace, from_node)
    WHERE part.until > began
      AND (NOT forgetting.kind IN ['expired', 'conversation'] OR going:Node OR part.until <= going.until)
    RETURN part
    UNION
    WITH forgetting, going, began WHERE going:Node OR (going:Former AND going.of = 'node')
    MATCH (part:Former {namespace: $namespace, to_node: going.id})
    USING INDEX SEEK part:Former(namespace, to_node)
    WHERE part.until > began
      AND (NOT forgetting.kind IN ['expired', 'conversation'] OR going:Node OR part.until <= going.until)
    RETURN part
    UNION
    WITH forgetting, going WHERE going:Former AND going.of = 'edge' AND going.verb = 'observed'
      AND EXISTS {
        MATCH (forgetting)-[:FORGETS]->(owner:Node {namespace: $namespace, id: going.from_node})
        USING INDEX SEEK owner:Node(namespace, id)
        RETURN owner
        UNION ALL
        MATCH (forgetting)-[:FORGETS]->(owner:Former {namespace: $namespace, id: going.from_node})
        USING INDEX SEEK owner:Former(namespace, id, until)
        WHERE owner.until IS NOT NULL
        RETURN owner
      }
      AND NOT EXISTS { (:Node {namespace: $namespace, id: going.to_node}) }
    MATCH (part:Former {namespace: $namespace, id: going.to_node})
    USING INDEX SEEK part:Former(namespace, id, until)
    WHERE part.until IS NOT NULL AND part.of = 'node' AND any(fits IN ['Observation' IN part.labels, part.name = ''] WHERE fits)
      AND NOT EXISTS {
        MATCH (other:Former {namespace: $namespace, to_node: part.id})
        USING INDEX SEEK other:Former(namespace, to_node)
        WHERE other.from_node <> going.from_node
          AND NOT EXISTS {
            MATCH (forgetting)-[:FORGETS]->(owner:Node {namespace: $namespace, id: other.from_node})
            USING INDEX SEEK owner:Node(namespace, id)
            RETURN owner
            UNION ALL
            MATCH (forgetting)-[:FORGETS]->(owner:Former {namespace: $namespace, id: other.from_node})
            USING INDEX SEEK owner:Former(namespace, id, until)
            WHERE owner.until IS NOT NULL
            RETURN owner
          }
      }
    RETURN part
    UNION
    MATCH (going:Former)-[:CONTAINS]->(part:Former)
    RETURN part
    UNION
    WITH going WHERE going:Node OR (going:Former AND going.of = 'node')
    MATCH (part:Alias {namespace: $namespace, node: going.id})
    USING INDEX SEEK part:Alias(namespace, node)
    RETURN part
    UNION
    WITH forgetting, going WHERE any(label IN labels(going) WHERE label IN ['Node', 'Former'])
    MATCH (going)<-[:ALIAS_OF]-(part:Alias)
    WHERE NOT EXISTS {
      MATCH (part)-[:ALIAS_OF]->(other)
      WHERE NOT EXISTS { (forgetting)-[:FORGETS]->(other) }
    }
    RETURN part
    UNION
    MATCH (going:Alias)
    MATCH (part:Former {namespace: $namespace, id: going.node})
    USING INDEX SEEK part:Former(namespace, id, until)
    WHERE part.until IS NOT NULL AND part.of = 'node'
    RETURN part
    UNION
    WITH going WHERE any(label IN labels(going) WHERE label IN ['Node', 'Former'])
    MATCH (going)<-[:FROM]-(:ContextItem)<-[:USED]-(:Generation)<-[:GENERATED]-(part:Run)
    RETURN part
    UNION
    WITH going WHERE any(label IN labels(going) WHERE label IN ['Node', 'Former'])
    MATCH (going)<-[:READ]-(part:Run)
    RETURN part
    UNION
    CALL (forgetting, going) {
      MATCH (going)-[:STATES]->()-[:MENTIONS]->(part)
      RETURN part
      UNION
      MATCH (going)-[:BINDS]->(part)
      RETURN part
      UNION
      MATCH (going:Statement)-[:EDGE {lemma: ''}]->(part:Node)
      RETURN part
      UNION
      WITH going WHERE going:Former AND going.of = 'edge' AND going.lemma = ''
      MATCH (part:Node {namespace: $namespace, id: going.to_node})
      RETURN part
      UNION
      WITH forgetting, going WHERE going:Former AND going.of = 'edge' AND going.lemma = ''
      MATCH (part:Former {namespace: $namespace, id: going.to_node})
      USING INDEX SEEK part:Former(namespace, id, until)
      WHERE part.until IS NOT NULL AND part.itself AND NOT EXISTS {
        MATCH (other:Former {namespace: $namespace, to_node: part.id})
        USING INDEX SEEK other:Former(namespace, to_node)
        WHERE other.lemma = '' AND NOT EXISTS {
          MATCH (forgetting)-[:FORGETS]->(owner:Node {namespace: $namespace, id: other.from_node})
          USING INDEX SEEK owner:Node(namespace, id)
          RETURN owner
          UNION ALL
          MATCH (forgetting)-[:FORGETS]->(owner:Former {namespace: $namespace, id: other.from_node})
          USING INDEX SEEK owner:Former(namespace, id, until)
          WHERE owner.until IS NOT NULL
          RETURN owner
        }
      }
      RETURN part
    }
    WITH forgetting, part
    WHERE (part.concept IS NOT NULL
           OR any(label IN labels(part) + coalesce(part.labels, []) WHERE label IN ['Statement', 'Rule', 'Value']))
      AND NOT EXISTS {
        MATCH (part)<-[:MENTIONS]-()<-[:STATES]-(other)
        WHERE NOT EXISTS { (forgetting)-[:FORGETS]->(other) }
          AND (part.concept IS NOT NULL OR part:Former OR other:Context)
      }
      AND NOT EXISTS { MATCH (part)<-[:BINDS]-(other) WHERE NOT EXISTS { (forgetting)-[:FORGETS]->(other) } }
      AND NOT EXISTS {
        MATCH (part)-[edge:EDGE]-(other:Node)
        WHERE NOT EXISTS { (forgetting)-[:FORGETS]->(other) } AND NOT (edge.lemma = '' AND startNode(edge) = part)
          AND NOT (edge.context IS NOT NULL AND NOT EXISTS {
            MATCH (entry:Entry {namespace: $namespace, edge: edge.id})<-[:STATES]-(context)
            USING INDEX SEEK entry:Entry(namespace, edge)
            WHERE NOT EXISTS { (forgetting)-[:FORGETS]->(context) }
          })
      }
    RETURN part
    UNION
    MATCH (going)-[:STATES]->(entry)
    WHERE entry.edge IS NOT NULL
      AND NOT EXISTS {
        MATCH (same:Entry {namespace: $namespace, edge: entry.edge})<-[:STATES]-(other)
        USING INDEX SEEK same:Entry(namespace, edge)
        WHERE NOT EXISTS { (forgetting)-[:FORGETS]->(other) }
      }
      AND NOT EXISTS {
        MATCH (same:FormerEntry {namespace: $namespace, edge: entry.edge})<-[:STATES]-(other)
        USING INDEX SEEK same:FormerEntry(namespace, edge)
        WHERE NOT EXISTS { (forgetting)-[:FORGETS]->(other) }
      }
    WITH DISTINCT entry.edge AS fact
    MATCH (part:Former {namespace: $namespace, id: fact})
    USING INDEX SEEK part:Former(namespace, id, until)
    WHERE part.until IS NOT NULL AND part.of = 'edge'
    RETURN part
    UNION
    MATCH (going:Run)-[:GENERATED|STEP]->(part)
    RETURN part
    UNION
    MATCH (going:Generation)-[:USED]->(part:ContextItem)
    WHERE NOT EXISTS {
      MATCH (part)<-[:USED]-(other:Generation) WHERE NOT EXISTS { (forgetting)-[:FORGETS]->(other) }
    }
    RETURN part
    UNION
    MATCH (going:Run)-[:OF]->(part:Graph)
    WHERE NOT part:Program AND NOT EXISTS { (forgetting)-[:FORGETS]->(part) }
      AND NOT EXISTS { MATCH (part)<-[:OF]-(other:Run) WHERE NOT EXISTS { (forgetting)-[:FORGETS]->(other) } }
    RETURN part
    UNION
    MATCH (going:Graph)-[:HAS_NODE]->(part)
    RETURN part
    UNION
    WITH forgetting, going WHERE forgetting.kind = 'program' AND any(label IN labels(going) WHERE label IN ['Program', 'Graph'])
    MATCH (part:Run {namespace: $namespace})
    WHERE part.id IS NOT NULL AND left(toStringOrNull(part.program_hash), 32) = going.id
    RETURN part
  }
  WITH forgetting, part, learnt
  WHERE NOT EXISTS { (forgetting)-[:FORGETS]->(part) }
  WITH forgetting, part, min(learnt) AS learnt LIMIT $most // true where all are
  MERGE (forgetting)-[listed:FORGETS]->(part)
    ON CREATE SET listed.learnt = CASE WHEN learnt THEN true END
  RETURN count(*) AS added
}
FOREACH (listed IN CASE WHEN added < $most THEN looked_at ELSE [] END | SET listed.spread = true)
RETURN size(taken) AS looked_at, added, COLLECT {
  UNWIND taken AS going
  MATCH (going:Run)-[:KEPT]->(conversation:Conversation)
  RETURN conversation.name
  UNION ALL
  UNWIND taken AS going
  WITH going WHERE going.root IS NOT NULL
  MATCH (conversation:Conversation {namespace: $namespace, name: 'pete-' + going.root})
  RETURN conversation.name
} AS conversations;

// name: revisions-of
// The loads that were asked for in conversations, up to a revision. Parameters: namespace, names, until.
UNWIND $names AS name
MATCH (load:Load {namespace: $namespace, conversation: name})
USING INDEX SEEK load:Load(namespace, conversation)
WHERE load.revision <= $until
RETURN collect(load.revision) AS revisions;

// name: join-brought-back
// What these revisions say and another one deleted, and an undo of that brought back, is theirs as it was before: as if it had
// not been deleted in between. Parameters: namespace, revisions.
MATCH (undo:Load {namespace: $namespace})
USING INDEX SEEK undo:Load(namespace, revision)
WHERE undo.revision >= 0 AND undo.undoes IS NOT NULL
WITH undo.undoes AS undone, collect(undo.revision) AS undos
MATCH (said:Former {namespace: $namespace, until: undone})
USING INDEX SEEK said:Former(namespace, until)
WHERE said.since IN $revisions AND NOT coalesce(said.itself, false)
WITH said, [undo IN undos WHERE NOT EXISTS {
  MATCH (changed:Former {namespace: $namespace, id: said.id, until: undo})
  USING INDEX SEEK changed:Former(namespace, id, until)
  WHERE changed.of = said.of
}] AS undos
CALL (said, undos) {
  MATCH (node:Node {namespace: $namespace, id: said.id})
  USING INDEX SEEK node:Node(namespace, id)
  WHERE said.of = 'node' AND node.since IN undos
  SET node.since = said.since
  RETURN count(*) AS nodes
}
CALL (said, undos) {
  MATCH ()-[edge:EDGE {namespace: $namespace, id: said.id}]->()
  USING INDEX SEEK edge:EDGE(namespace, id)
  WHERE said.of = 'edge' AND edge.since IN undos
  SET edge.since = said.since
  RETURN count(*) AS edges
}
CALL (said, undos) {
  MATCH (former:Former {namespace: $namespace, id: said.id})
  USING INDEX SEEK former:Former(namespace, id, until)
  WHERE former.until IS NOT NULL AND former.of = said.of AND former.since IN undos
  SET former.since = said.since
  RETURN count(*) AS formers
}
WITH said, said.until AS deleted, undos WHERE nodes + edges + formers > 0
DETACH DELETE said
RETURN count(*) AS joined, reduce(all = collect(DISTINCT deleted), each IN collect(undos) | all + each) AS revisions;

// name: brought-back
// The states of the elements of which these revisions made one that another load ended, and that was undone since: each with
// the revisions that began and ended it, and with the one that the first of them undoes. `whole` is a node that was deleted: what
// has its id after it is another one. Parameters: namespace, revisions.
MATCH (undo:Load {namespace: $namespace})
USING INDEX SEEK undo:Load(namespace, revision)
WHERE undo.revision >= 0 AND undo.undoes IS NOT NULL
WITH DISTINCT undo.undoes AS undone
MATCH (said:Former {namespace: $namespace, until: undone})
USING INDEX SEEK said:Former(namespace, until)
WHERE said.since IN $revisions
WITH DISTINCT said.of AS of, said.id AS id
CALL (of, id) {
  MATCH (node:Node {namespace: $namespace, id: id})
  USING INDEX SEEK node:Node(namespace, id)
  WHERE of = 'node'
  RETURN coalesce(node.since, 0) AS since, null AS until, false AS whole
  UNION ALL
  MATCH ()-[edge:EDGE {namespace: $namespace, id: id}]->()
  USING INDEX SEEK edge:EDGE(namespace, id)
  WHERE of = 'edge'
  RETURN coalesce(edge.since, 0) AS since, null AS until, false AS whole
  UNION ALL
  MATCH (former:Former {namespace: $namespace, id: id})
  USING INDEX SEEK former:Former(namespace, id, until)
  WHERE former.until IS NOT NULL AND former.of = of
  RETURN former.since AS since, former.until AS until, coalesce(former.itself, false) AS whole
}
OPTIONAL MATCH (began:Load {namespace: $namespace, revision: since})
USING INDEX SEEK began:Load(namespace, revision)
RETURN of, id, since, until, whole, began.undoes AS undoes;

// name: fold-brought-back
// What is there again of what these elements were first, since a revision, is so from that on: what was changed in between,
// and changed back, goes. Parameters: namespace, rows [{of, id, since}].
UNWIND $rows AS row
CALL (row) {
  MATCH (node:Node {namespace: $namespace, id: row.id})
  USING INDEX SEEK node:Node(namespace, id)
  WHERE row.of = 'node'
  SET node.since = row.since
}
CALL (row) {
  MATCH ()-[edge:EDGE {namespace: $namespace, id: row.id}]->()
  USING INDEX SEEK edge:EDGE(namespace, id)
  WHERE row.of = 'edge'
  SET edge.since = row.since
}
MATCH (former:Former {namespace: $namespace, id: row.id})
USING INDEX SEEK former:Former(namespace, id, until)
WHERE former.until > row.since AND former.since >= row.since AND former.of = row.of AND NOT coalesce(former.itself, false)
WITH former, [former.since, former.until] AS lasted
DETACH DELETE former
RETURN reduce(all = [], each IN collect(lasted) | all + each) AS revisions;

// name: part-brought-back
// Have states that undos have begun be taken back, as those of a forgotten conversation are (take-back-nodes, -edges and
// -formers), to what they were before, if that is known: the state that ended at `before`. Until then they have the negative of
// the revision that began them, and what they become has it as its end. Parameters: namespace, rows [{of, id, since, until,
// before}].
UNWIND $rows AS row
CALL (row) {
  MATCH (node:Node {namespace: $namespace, id: row.id})
  USING INDEX SEEK node:Node(namespace, id)
  WHERE row.of = 'node' AND row.until IS NULL
  SET node.since = -row.since
}
CALL (row) {
  MATCH ()-[edge:EDGE {namespace: $namespace, id: row.id}]->()
  USING INDEX SEEK edge:EDGE(namespace, id)
  WHERE row.of = 'edge' AND row.until IS NULL
  SET edge.since = -row.since
}
CALL (row) {
  MATCH (former:Former {namespace: $namespace, id: row.id, until: row.until})
  USING INDEX SEEK former:Former(namespace, id, until)
  WHERE former.of = row.of
  SET former.since = -row.since
}
MATCH (said:Former {namespace: $namespace, id: row.id, until: row.before})
USING INDEX SEEK said:Former(namespace, id, until)
WHERE said.of = row.of
CREATE (before:Former)
SET before = said {.*, since: row.since, until: -row.since, itself: null, expires_at: null,
            embedding: null, embedding_model: null, vector_due: null};

// name: clear-parted
// Delete what elements were to become that went instead, as an edge without its ends does. Parameters: namespace, rows (as
// above).
UNWIND $rows AS row
MATCH (before:Former {namespace: $namespace, id: row.id, until: -row.since})
USING INDEX SEEK before:Former(namespace, id, until)
DETACH DELETE before;

// name: list-learnt
// Put on the list the nodes that only these revisions tell of, and what was deleted of them; `others` are those that
// somebody else changed too, or joined to something. What had the id of a node before that was deleted (`itself`), or has it
// after, is another one. Parameters: namespace, forgetting, revisions.
MATCH (forgetting:Forgetting {namespace: $namespace, id: $forgetting})
CALL () {
  MATCH (node:Node {namespace: $namespace})
  USING INDEX SEEK node:Node(namespace, id)
  WHERE node.id IS NOT NULL AND node.since IN $revisions
  RETURN node
  UNION ALL
  MATCH (node:Former {namespace: $namespace})
  USING INDEX SEEK node:Former(namespace, id, until)
  WHERE node.id IS NOT NULL AND node.until IS NOT NULL AND node.since IN $revisions AND node.itself
  RETURN node
}
WITH forgetting, node, NOT EXISTS {
  MATCH (former:Former {namespace: $namespace, id: node.id})
  USING INDEX SEEK former:Former(namespace, id, until)
  WHERE former.until IS NOT NULL AND former.of = 'node' AND NOT former.since IN $revisions
    AND coalesce(former.until <= node.until, true)
    AND NOT EXISTS {
      MATCH (deleted:Former {namespace: $namespace, id: node.id})
      USING INDEX SEEK deleted:Former(namespace, id, until)
      WHERE deleted.until >= former.until AND deleted.of = 'node' AND deleted.itself
        AND coalesce(deleted.until < node.until, true)
    }
} AND NOT EXISTS {
  MATCH (node)-[edge:EDGE]-(other:Node)
  WHERE NOT coalesce(edge.since, 0) IN $revisions AND NOT coalesce(other.since, 0) IN $revisions
} AS alone
FOREACH (going IN CASE WHEN alone THEN [node] ELSE [] END |
  MERGE (forgetting)-[listed:FORGETS]->(going)
    ON CREATE SET listed.learnt = true)
RETURN sum(CASE WHEN alone THEN 0 ELSE 1 END) AS others;

// name: delete-learnt-edges
// Delete edges that only these revisions tell of; `ends` are their nodes. What had the id of an edge before one was deleted
// (nothing begins where it ended) is another one, unless it said the same: then an undo may have brought it back.
// Parameters: namespace, revisions, limit.
MATCH (from_node)-[edge:EDGE {namespace: $namespace}]->(to_node)
WHERE edge.id IS NOT NULL AND edge.since IN $revisions AND NOT EXISTS {
  MATCH (former:Former {namespace: $namespace, id: edge.id})
  USING INDEX SEEK former:Former(namespace, id, until)
  WHERE former.until IS NOT NULL AND former.of = 'edge' AND NOT former.since IN $revisions
    AND (former.verb = edge.verb AND former.from_node = from_node.id AND former.to_node = to_node.id
         OR NOT EXISTS {
           MATCH (deleted:Former {namespace: $namespace, id: edge.id})
           USING INDEX SEEK deleted:Former(namespace, id, until)
           WHERE deleted.until >= former.until AND deleted.of = 'edge' AND deleted.until <> edge.since
             AND NOT EXISTS {
               MATCH (next:Former {namespace: $namespace, id: edge.id})
               USING INDEX SEEK next:Former(namespace, id, until)
               WHERE next.until > deleted.until AND next.of = 'edge' AND next.since = deleted.until
             }
         })
}
WITH edge, from_node, to_node LIMIT $limit
DELETE edge
RETURN count(edge) AS edges, collect(DISTINCT from_node.id) + collect(DISTINCT to_node.id) AS ends;

// name: take-back-nodes
// Nodes that these revisions changed become what they were before. Parameters: namespace, revisions, limit.
MATCH (node:Node {namespace: $namespace})
USING INDEX SEEK node:Node(namespace, id)
WHERE node.id IS NOT NULL AND node.since IN $revisions
CALL (node) {
  MATCH (before:Former {namespace: $namespace, id: node.id})
  USING INDEX SEEK before:Former(namespace, id, until)
  WHERE before.until = node.since AND before.of = 'node' AND NOT coalesce(before.itself, false)
  RETURN before
}
WITH node, before LIMIT $limit
OPTIONAL MATCH (namespace:Namespace {name: $namespace})
SET node.name = before.name, node.data = before.data, node.kind = before.kind, node.since = before.since,
    node.name_parts = before.name_parts, node.data_parts = before.data_parts,
    node.embedding = null, node.embedding_model = null,
    node.vector_due = CASE WHEN before.name <> '' OR before.data <> '' THEN namespace.embedder END
DETACH DELETE before
RETURN count(*) AS changed;

// name: take-back-edges
// Edges that these revisions changed become what they were before, and go where an end that they had is gone and was merged
// into nothing; `ends` are the nodes that they had. Parameters: namespace, revisions, limit.
MATCH (left)-[edge:EDGE {namespace: $namespace}]->(reached)
WHERE edge.id IS NOT NULL AND edge.since IN $revisions
CALL (edge) {
  MATCH (before:Former {namespace: $namespace, id: edge.id})
  USING INDEX SEEK before:Former(namespace, id, until)
  WHERE before.until = edge.since AND before.of = 'edge'
  RETURN before
}
WITH edge, properties(edge) AS kept, before, left, reached LIMIT $limit
WITH edge, kept, before, left, reached, [end IN [before.from_node, before.to_node] | head(COLLECT {
  MATCH (node:Node {namespace: $namespace, id: end}) RETURN node
  UNION ALL
  MATCH (:Alias {namespace: $namespace, node: end})-[:ALIAS_OF]->(node:Node) RETURN node
})] AS nodes
DELETE edge
WITH kept, before, left, reached, nodes[0] AS from_node, nodes[1] AS to_node
FOREACH (_ IN CASE WHEN from_node IS NULL OR to_node IS NULL THEN [] ELSE [1] END |
  CREATE (from_node)-[back:EDGE]->(to_node)
  SET back = kept, back.verb = before.verb, back.weight = before.weight, back.since = before.since
  DETACH DELETE before
)
RETURN count(*) AS changed, collect(DISTINCT left.id) + collect(DISTINCT reached.id) AS ends;

// name: take-back-formers
// Former states that these revisions made: each becomes the one before it, or goes where there is none. Parameters:
// namespace, revisions, limit.
MATCH (former:Former {namespace: $namespace})
USING INDEX SEEK former:Former(namespace, until)
WHERE former.until IS NOT NULL AND former.since IN $revisions
  AND NOT EXISTS { (:Forgetting)-[:FORGETS]->(former) }
OPTIONAL MATCH (before:Former {namespace: $namespace, id: former.id})
USING INDEX SEEK before:Former(namespace, id, until)
WHERE before.until = former.since AND before.of = former.of
WITH former, before
WHERE before IS NULL OR NOT before.since IN $revisions
WITH former, before, CASE WHEN before IS NULL THEN former.until END AS marked LIMIT $limit
FOREACH (_ IN CASE WHEN before IS NULL THEN [] ELSE [1] END |
  SET former.name = before.name, former.data = before.data, former.kind = before.kind, former.verb = before.verb,
      former.name_parts = before.name_parts, former.data_parts = before.data_parts,
      former.weight = before.weight, former.from_node = before.from_node, former.to_node = before.to_node,
      former.since = before.since, former.embedding = null, former.embedding_model = null
  DETACH DELETE before
)
FOREACH (_ IN CASE WHEN before IS NULL THEN [1] ELSE [] END | DETACH DELETE former)
RETURN count(*) AS changed, collect(DISTINCT marked) AS revisions;

// name: clear-loads
// What is known of loads that were asked for in a forgotten conversation: that there was one, and that it can't be
// undone. Parameters: namespace, names, until, limit.
UNWIND $names AS name
MATCH (load:Load {namespace: $namespace, conversation: name})
USING INDEX SEEK load:Load(namespace, conversation)
WHERE load.revision <= $until
WITH load LIMIT $limit
SET load.conversation = null, load.message = null, load.file = null, load.forgotten = true
WITH load
OPTIONAL MATCH (load)-[asked:ASKED_IN]->()
DELETE asked
RETURN count(DISTINCT load) AS cleared;

// name: mark-loads
// Loads that told of something forgotten can't be undone, and name no file and no merged node any more. Parameters: namespace, revisions.
UNWIND $revisions AS revision
MATCH (load:Load {namespace: $namespace, revision: revision})
USING INDEX SEEK load:Load(namespace, revision)
SET load.forgotten = true, load.file = null, load.merged = null, load.parted = null;

// name: clear-files
// Loads of these files, which held forgotten programs, do not name them any more. Parameters: namespace, files.
MATCH (load:Load {namespace: $namespace})
USING INDEX load:Load(namespace, id)
WHERE load.id IS NOT NULL AND load.file IN $files
SET load.file = null;

// name: list-messages
// Put the ends of versions on the list, and delete these versions. Here and below a label is asked for by `any`: a planner
// that knows of long lists and few versions would begin with all versions. Parameters: namespace, forgetting, limit.
MATCH (forgetting:Forgetting {namespace: $namespace, id: $forgetting})-[:FORGETS]->(version)
USING INDEX SEEK forgetting:Forgetting(namespace, id)
WHERE any(label IN labels(version) WHERE label = 'Version')
WITH forgetting, version LIMIT $limit
CALL (forgetting, version) {
  MATCH (version)-[:TIP]->(tip:Message)
  MERGE (forgetting)-[:FORGETS]->(tip)
}
DETACH DELETE version
RETURN count(version) AS versions;

// name: list-edited
// Put on the list the messages that a conversation has stored and edited away since, where nothing of its own follows them:
// where another conversation goes on from one, it stays, and is that one's alone. Parameters: namespace, forgetting, name,
// searches (Lucene queries: for the word of the conversation, and for that of what very many conversations share).
CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()
UNWIND $searches AS terms
CALL db.index.fulltext.queryNodes('message_text', terms) YIELD node AS found
WITH DISTINCT coalesce(head([(message:Message)-[:PASSAGE]->(found) | message]), found) AS node
WHERE node.namespace = $namespace AND coalesce($name IN node.conversations, true) AND NOT EXISTS {
  MATCH (node)-[:NEXT]->(next)
  WHERE coalesce($name IN next.conversations, node.conversations IS NULL)
}
MATCH (forgetting:Forgetting {namespace: $namespace, id: $forgetting})
MERGE (forgetting)-[:FORGETS]->(node);

// name: lock-messages
// Messages that one on the list follows, from it backwards, each with its write lock, so that nobody attaches anything to
// them before the commit. Parameters: namespace, forgetting.
MATCH (forgetting:Forgetting {namespace: $namespace, id: $forgetting})-[listed:FORGETS]->(last)
USING INDEX SEEK forgetting:Forgetting(namespace, id)
WHERE listed.kept IS NULL AND any(label IN labels(last) WHERE label = 'Message')
WITH last LIMIT 1
MATCH path = (last) (()<-[:NEXT]-(:Message)){0,500}
WITH path ORDER BY length(path) DESC LIMIT 1
UNWIND nodes(path) AS message
SET message.role = message.role
RETURN collect(message.id) AS ids;

// name: needed-messages
// Which of these messages, each before the one in front of it, something else needs: another message that follows, a
// version, the conversation of a subagent, or the thread of an agent. Parameters: namespace, ids.
UNWIND range(0, size($ids) - 1) AS place
MATCH (message:Message {namespace: $namespace, id: $ids[place]})
USING INDEX SEEK message:Message(namespace, id)
WITH place, message
WHERE EXISTS { (message)<-[:TIP]-() } OR EXISTS { (message)<-[:CONTAINS|SAYS]-() }
   OR EXISTS { MATCH (message)-[:NEXT]->(next) WHERE place = 0 OR next.id <> $ids[place - 1] }
RETURN min(place) AS place;

// name: delete-parts
// Delete what is of these messages and is no message: metadata, passages. Messages of subagents come on the list, and so does
// what was learnt from nothing else; `others` is what was. Parameters: namespace, forgetting, ids.
MATCH (forgetting:Forgetting {namespace: $namespace, id: $forgetting})
UNWIND $ids AS id
MATCH (message:Message {namespace: $namespace, id: id})
USING INDEX SEEK message:Message(namespace, id)
WITH forgetting, collect(message) AS messages
CALL (messages) {
  UNWIND messages AS message
  MATCH (message)<-[source:SOURCE]-(node)
  DELETE source
  RETURN collect(DISTINCT CASE WHEN node:Node THEN node END) AS learnt
}
CALL (messages) {
  UNWIND messages AS message
  MATCH (message)-[hangs]->(part)
  WHERE type(hangs) <> 'NEXT'
  RETURN collect(DISTINCT part) AS parts
}
CALL (parts) {
  UNWIND parts AS part
  MATCH (part)-[:CONTAINS]->(inner:Message)
  RETURN collect(DISTINCT inner) AS inner_tips
}
FOREACH (tip IN inner_tips | MERGE (forgetting)-[listed:FORGETS]->(tip) SET listed.kept = null)
FOREACH (part IN parts | DETACH DELETE part)
WITH forgetting, learnt, size(parts) AS parts
CALL (forgetting, learnt) {
  UNWIND learnt AS node
  WITH forgetting, node, node.since IS NULL AND NOT EXISTS { (node)-[:SOURCE]->() } AS alone
  FOREACH (going IN CASE WHEN alone THEN [node] ELSE [] END | MERGE (forgetting)-[:FORGETS]->(going))
  RETURN sum(CASE WHEN alone THEN 0 ELSE 1 END) AS others
}
RETURN parts, others;

// name: delete-messages
// Delete messages, after their parts. The message before them comes on the list. Parameters: namespace, forgetting, ids,
// before.
MATCH (forgetting:Forgetting {namespace: $namespace, id: $forgetting})
CALL (forgetting) {
  MATCH (message:Message {namespace: $namespace, id: $before})
  MERGE (forgetting)-[listed:FORGETS]->(message)
  SET listed.kept = null
}
UNWIND $ids AS id
MATCH (message:Message {namespace: $namespace, id: id})
USING INDEX SEEK message:Message(namespace, id)
DETACH DELETE message
RETURN count(*) AS deleted;

// name: keep-message
// Leave a message on the list, because something else needs it, until that goes. Parameters: namespace, forgetting, id.
MATCH (message:Message {namespace: $namespace, id: $id})
USING INDEX SEEK message:Message(namespace, id)
MATCH (message)<-[listed:FORGETS]-(:Forgetting {namespace: $namespace, id: $forgetting})
SET listed.kept = true;

// name: kept-messages
// How many messages of what is forgotten something else has, too. Parameters: namespace, forgetting.
MATCH (forgetting:Forgetting {namespace: $namespace, id: $forgetting})-[listed:FORGETS]->(last)
USING INDEX SEEK forgetting:Forgetting(namespace, id)
WHERE listed.kept AND any(label IN labels(last) WHERE label = 'Message')
MATCH (last)<-[:NEXT*0..]-(message)
RETURN count(DISTINCT message) AS messages;

// name: recorded-since
// What conversations of forgotten names have recorded since: the id of each message with the name, as one list. It is short
// where nobody goes on recording in one. Parameters: namespace, names.
MATCH (conversation:Conversation {namespace: $namespace})-[:VERSION]->()-[:TIP]->(tip)
USING INDEX SEEK conversation:Conversation(namespace, name)
WHERE conversation.name IN $names AND coalesce(conversation.recalled, true)
MATCH (tip)<-[:NEXT*0..]-(message)
RETURN collect(DISTINCT message.id + conversation.name) AS recorded;

// name: lock-named
// Messages that stay and still name a forgotten conversation, each with its write lock, so that nobody has them be of another
// one before the commit. What a conversation of the same name has recorded since names that one, and so is not returned
// unless it names another forgotten one. Parameters: namespace, forgetting, names, limit.
CALL () {
  RETURN [] AS recorded // include: forget/recorded-since
}
CALL () {
  MATCH (forgetting:Forgetting {namespace: $namespace, id: $forgetting})-[listed:FORGETS]->(last)
  USING INDEX SEEK forgetting:Forgetting(namespace, id)
  WHERE listed.kept AND any(label IN labels(last) WHERE label = 'Message')
  MATCH (last)<-[:NEXT*0..]-(message)
  WHERE any(name IN message.conversations WHERE name IN $names)
  RETURN DISTINCT message
}
WITH message, recorded
WHERE any(name IN message.conversations WHERE name IN $names AND NOT message.id + name IN recorded)
WITH message LIMIT $limit
SET message.role = message.role
RETURN collect(message.id) AS ids;

// name: named-messages
// Of these messages, those that name a forgotten conversation, with the others that have them: those that they name, or
// else one that leads to them. It is null where recall does not look at that one, or where a subagent said them; and none
// where only the threads of agents have them. Parameters: namespace, names, ids.
CALL () {
  RETURN [] AS recorded // include: forget/recorded-since
}
UNWIND $ids AS id
MATCH (message:Message {namespace: $namespace, id: id})
USING INDEX SEEK message:Message(namespace, id)
WITH message, [name IN message.conversations WHERE NOT name IN $names OR message.id + name IN recorded] AS others
WHERE others <> message.conversations
RETURN message.id AS id, CASE WHEN others <> [] THEN others ELSE COLLECT {
  MATCH (message)-[:NEXT*0..]->(:Message)<-[:TIP|CONTAINS]-(holder)
  RETURN head([(holder)<-[:VERSION]-(conversation:Conversation) WHERE coalesce(conversation.recalled, true) |
               conversation.name]) AS name
  LIMIT 1
} END AS others;

// name: named-metadata
// What is beside messages and may name a conversation, which the caller then reads. Parameters: namespace, ids, names (as
// the JSON of it says them).
UNWIND $ids AS id
MATCH (message:Message {namespace: $namespace, id: id})-[:HAS]->(metadata:Metadata)
USING INDEX SEEK message:Message(namespace, id)
WHERE any(name IN $names WHERE metadata.body CONTAINS name)
RETURN metadata.id AS id, metadata.body AS body;

// name: delete-metadata
// Delete metadata; messages of subagents in it come on the list. Parameters: namespace, forgetting, ids.
MATCH (forgetting:Forgetting {namespace: $namespace, id: $forgetting})
UNWIND $ids AS id
MATCH (metadata:Metadata {namespace: $namespace, id: id})
USING INDEX SEEK metadata:Metadata(namespace, id)
CALL (forgetting, metadata) {
  MATCH (metadata)-[:CONTAINS]->(tip:Message)
  MERGE (forgetting)-[listed:FORGETS]->(tip)
  SET listed.kept = null
}
DETACH DELETE metadata
RETURN count(*) AS parts;

// name: rename-messages
// The words of namespaces and conversations are numbers; those of the role, the speaker and the time are none, and stay.
// Passages are found as their message is. Parameters: namespace, rows [{id, conversations, namespace_token}].
UNWIND $rows AS row
MATCH (message:Message {namespace: $namespace, id: row.id})
USING INDEX SEEK message:Message(namespace, id)
SET message.conversations = row.conversations,
    message.home = CASE WHEN size(row.conversations) = 1 THEN row.conversations[0] ELSE '' END,
    message.namespace_token = reduce(tokens = row.namespace_token,
      word IN [word IN split(message.namespace_token, ' ') WHERE word > 'a'] | tokens + ' ' + word)
WITH message
MATCH (message)-[:PASSAGE]->(passage:Passage)
SET passage.namespace_token = message.namespace_token, passage.home = message.home;

// name: hide-messages
// Messages that stay, and that no conversation has any more which recall looks at: they are as they would be had there been
// none. Parameters: namespace, ids.
UNWIND $ids AS id
MATCH (message:Message {namespace: $namespace, id: id})
USING INDEX SEEK message:Message(namespace, id)
SET message.conversations = null, message.home = null, message.namespace_token = null, message.said = null,
    message.said_parts = null, message.said_at = null, message.speaker = null, message.passages = null,
    message.embedding = null, message.embedding_model = null, message.vector_due = null
WITH message
MATCH (message)-[:PASSAGE]->(passage:Passage)
DETACH DELETE passage;

// name: delete-facts
// Delete what only contexts of PETE on the list state as facts. Parameters: namespace, forgetting, limit.
MATCH (forgetting:Forgetting {namespace: $namespace, id: $forgetting})-[:FORGETS]->(going)-[:STATES]->(entry:Entry)
USING INDEX SEEK forgetting:Forgetting(namespace, id)
WHERE any(label IN labels(going) WHERE label = 'Context') AND entry.edge IS NOT NULL AND NOT EXISTS {
  MATCH (same:Entry {namespace: $namespace, edge: entry.edge})<-[:STATES]-(context)
  USING INDEX SEEK same:Entry(namespace, edge)
  WHERE NOT EXISTS { (forgetting)-[:FORGETS]->(context) }
}
WITH DISTINCT entry.edge AS fact
MATCH ()-[edge:EDGE {namespace: $namespace, id: fact}]->()
USING INDEX SEEK edge:EDGE(namespace, id)
WITH edge LIMIT $limit
WITH edge, edge.id AS id, coalesce(edge.since, 0) AS since
DELETE edge
WITH collect(id) AS ids, collect(DISTINCT since) AS revisions
RETURN size(ids) AS edges, revisions;

// name: delete-edges
// Delete edges at nodes on the list, with their former states; `ends` are their nodes. Parameters: namespace, forgetting,
// limit.
MATCH (forgetting:Forgetting {namespace: $namespace, id: $forgetting})-[:FORGETS]->(going)-[edge:EDGE]-()
USING INDEX SEEK forgetting:Forgetting(namespace, id)
WHERE any(label IN labels(going) WHERE label = 'Node')
WITH DISTINCT edge LIMIT $limit
WITH edge, edge.id AS id, coalesce(edge.since, 0) AS since, startNode(edge).id AS from_id, endNode(edge).id AS to_id
DELETE edge
WITH collect(id) AS ids, collect(DISTINCT since) AS revisions, collect(DISTINCT from_id) + collect(DISTINCT to_id) AS ends
CALL (ids) {
  UNWIND ids AS id
  MATCH (former:Former {namespace: $namespace, id: id})
  USING INDEX SEEK former:Former(namespace, id, until)
  WHERE former.until IS NOT NULL AND former.of = 'edge'
  WITH former, [former.since, former.until] AS lasted
  DETACH DELETE former
  RETURN count(*) AS formers, collect(lasted) AS lasted
}
RETURN size(ids) AS edges, formers, ends, revisions + reduce(all = [], each IN lasted | all + each) AS revisions;

// name: delete-entries
// Delete statements of contexts on the list. Parameters: namespace, forgetting, limit.
MATCH (forgetting:Forgetting {namespace: $namespace, id: $forgetting})-[:FORGETS]->()-[:STATES]->(entry)
USING INDEX SEEK forgetting:Forgetting(namespace, id)
WITH DISTINCT entry LIMIT $limit
DETACH DELETE entry
RETURN count(entry) AS entries;

// name: delete-listed
// Delete some of what is on the list, but messages. What others have changed of a node since the list was begun comes on it
// with its former states, in the transaction that deletes the node: also where they have deleted it, or an undo of theirs has
// brought it back, which leaves a copy of what was deleted; and the aliases that a merge into it has left, and that nothing else
// has. The `others` are entities that stay, into which one was merged that goes. Parameters: namespace, forgetting, limit.
MATCH (forgetting:Forgetting {namespace: $namespace, id: $forgetting})-[:FORGETS]->(going)
WHERE NOT going:Message AND NOT going:Version
WITH forgetting, going LIMIT $limit
CALL (forgetting, going) {
  WITH forgetting, going WHERE going:Node OR (going:Former AND going.of = 'node' AND going.until > forgetting.until)
  CALL (forgetting, going) {
    MATCH (part:Former {namespace: $namespace, id: going.id})
    USING INDEX SEEK part:Former(namespace, id, until)
    WHERE part.until IS NOT NULL AND part.of = 'node' AND coalesce(part.until <= going.until, true)
      AND (part.until > forgetting.until OR (going.since > forgetting.until AND NOT part.itself))
    RETURN part
    UNION ALL
    MATCH (part:Former {namespace: $namespace, from_node: going.id})
    USING INDEX SEEK part:Former(namespace, from_node)
    WHERE part.until > forgetting.until AND coalesce(part.until <= going.until, true)
    RETURN part
    UNION ALL
    MATCH (part:Former {namespace: $namespace, to_node: going.id})
    USING INDEX SEEK part:Former(namespace, to_node)
    WHERE part.until > forgetting.until AND coalesce(part.until <= going.until, true)
    RETURN part
    UNION ALL
    MATCH (going)<-[:ALIAS_OF]-(part:Alias)
    WHERE NOT EXISTS {
      MATCH (part)-[:ALIAS_OF]->(other)
      WHERE NOT EXISTS { (forgetting)-[:FORGETS]->(other) }
    }
    RETURN part
  }
  MERGE (forgetting)-[:FORGETS]->(part)
  RETURN count(*) AS changed
}
WITH forgetting, going, labels(going) AS labels, coalesce(going.since, 0) AS since, going.until AS until,
     [(going)<-[alias:ALIAS_OF]-() | alias.merged] AS merged,
     [(going)-[:ALIAS_OF]->(entity) WHERE NOT EXISTS { (forgetting)-[:FORGETS]->(entity) } | elementId(entity)] AS others,
     CASE WHEN going:Run THEN going.id END AS run,
     CASE WHEN any(label IN labels(going) WHERE label IN ['Program', 'Graph']) THEN going.file END AS file
DETACH DELETE going
WITH forgetting, collect(labels) AS labels,
     reduce(all = collect(DISTINCT since) + collect(DISTINCT until), each IN collect(merged) | all + each) AS revisions,
     reduce(all = [], each IN collect(others) | all + each) AS others, collect(run) AS runs, collect(file) AS files
SET forgetting.runs = forgetting.runs + runs
RETURN labels, revisions, others, files;

// name: finish
// The list is done: what is left of it is a load without content. Parameters: namespace, forgetting, load, record.
MATCH (namespace:Namespace {name: $namespace})
MATCH (forgetting:Forgetting {namespace: $namespace, id: $forgetting})
SET namespace.revision = namespace.revision + 1
CREATE (load:Load {namespace: $namespace, id: $load, revision: namespace.revision, at: datetime()})
SET load += $record
DETACH DELETE forgetting
RETURN load.revision AS revision;

// name: transcript-forgotten
// When a conversation that hooks keep was last forgotten, by the hash of its name in the records of this, or now while it is
// on a list; null if not since a time. Parameters: namespace, name, transcripts (their hashes), since.
CALL () {
  MATCH (load:Load {namespace: $namespace})
  USING INDEX load:Load(namespace, at)
  WHERE load.at >= $since AND any(transcript IN $transcripts WHERE transcript IN load.transcripts)
  RETURN load.at AS at
  UNION ALL
  MATCH (forgetting:Forgetting {namespace: $namespace})
  WHERE forgetting.id IS NOT NULL AND $name IN forgetting.conversations
  RETURN datetime() AS at
}
RETURN max(at) AS at;
