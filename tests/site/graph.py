"""The reference of the graph: labels, relationship types and properties, constraints and indexes, and twenty questions.

    python -m tests.site.graph    # asks the questions of a sample, and writes the page anew

Constraints and indexes are read from the files of the schema. What the labels and properties mean is said here; a test fails
when the library's Cypher or the sample has one that is not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memorygraph import MemoryGraph
from memorygraph.library import CYPHER
from tests.shared_neo4j import new_namespace
from tests.site.drawing import PictureArrow, PictureBox, draw
from tests.site.markdown import table
from tests.site.sample import fill

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "graph.md"

LABELS: Mapping[str, tuple[str, str, str]] = {
    "Node": ("graph", "whatever a user can address: a concept, an entity, an observation, a context", "id name data since kind arrival memory concept expires_at namespace_token name_parts data_parts embedding embedding_model vector_due"),
    "Entity": ("graph", "beside `Node`: what a client of the memory server created", ""),
    "Observation": ("graph", "beside `Node`: one observation; an `EDGE` with the verb `observed` leads to it", ""),
    "Alias": ("graph", "what a merged entity was called", "id name node namespace_token name_parts memory concept"),
    "Item": ("graph", "beside `Node`: a value that a store of LangGraph has under a key", "shelf key value ttl created_at updated_at"),
    "Context": ("PETE", "beside `Node`: a context of a log", "root log at head tail tldr refs index parent size"),
    "Entry": ("PETE", "a statement of a log", "id kind text log context index at mentions binds value sensor faculty procedure arguments edge rule address"),
    "Statement": ("PETE", "beside `Node`: a clause with `that`, which nobody asserts", "lemma surface negated"),
    "Rule": ("PETE", "beside `Node`: a rule", "rule head_lemma head_negated"),
    "Value": ("PETE", "beside `Node`: a JSON value that a fact is about", "value"),
    "FormerEntry": ("history", "a statement of a context that was deleted", "id kind text log context index at mentions binds edge rule value sensor faculty procedure arguments address"),
    "Conversation": ("messages", "a conversation by its name", "name created_at versions operation recalled expires_at"),
    "Version": ("messages", "a version of a conversation: a list of messages by its last one", "id number length operations created_at framed"),
    "Message": ("messages", "a message, immutable: its id is the hash of what it says and of the message before it", "id role content body sampled seal said said_at said_parts speaker home conversations passages operation created_at namespace_token embedding embedding_model vector_due"),
    "UserMessage": ("messages", "beside `Message`: what a user said", ""),
    "AssistantMessage": ("messages", "beside `Message`: what a model answered", ""),
    "ToolMessage": ("messages", "beside `Message`: the result of a tool", ""),
    "SystemMessage": ("messages", "beside `Message`: instructions, of the role `system` or `developer`", ""),
    "OffPolicyMessage": ("messages", "beside `AssistantMessage`: no model sampled it from the messages before it", ""),
    "Passage": ("messages", "a passage of a long message, by which it is found", "id said span namespace_token said_parts embedding embedding_model vector_due role speaker home said_at"),
    "Metadata": ("messages", "what came with an answer of a model: tokens, temperature, latency", "id body call response model at temperature finish_reason finished latency_s input_tokens output_tokens cached_tokens"),
    "Program": ("runs", "a stored program, by the hash of its source; where a file of another name has the same source, by that and the name", "id name language source file created_at loaded_at"),
    "Run": ("runs", "a run of a program", "id program program_hash language file agent function status input input_json value value_json trace started_at ended_at"),
    "Generation": ("runs", "a call of a model in a run of AgentScript", "id agent function model uri instruction system schema attempts ok result seconds prompt_tokens completion_tokens at"),
    "ContextItem": ("runs", "a text that a call saw, shared by all that saw the same", "id source text budget strategy clipped clipped_size original_size origins view"),
    "Graph": ("runs", "a node graph of Convo-Lang, by the hash of its source; it is a program, too", "id name language source file created_at loaded_at"),
    "GraphNode": ("runs", "a node of such a graph", "id name description"),
    "Exit": ("runs", "beside `GraphNode`: the way out of the graph", ""),
    "Step": ("runs", "a visit of a node in a run", "id node branch input output route why state completed"),
    "Thread": ("threads", "a thread of an agent of LangGraph", "id created_at"),
    "State": ("threads", "a state of a thread: a checkpoint", "id thread graph checkpoint parent step source run type body created_at"),
    "ChannelValue": ("threads", "a value of a channel, shared by all states that hold it", "id type data length"),
    "PendingWrite": ("threads", "a write of a task that no state holds yet", "id task place path channel type data"),
    "Namespace": ("history", "a namespace: its counters, and the lock that writers take", "name revision memory created_at parts_stored embedder"),
    "Load": ("history", "a write: who did it, with what, and what it changed", "id revision at language file statements by model conversation message merged nodes_created nodes_updated nodes_deleted edges_created edges_updated edges_deleted"),
    "Former": ("history", "what a node or an edge was before it was changed or deleted; it has all that it had", "id of since until itself labels from_node to_node"),
    "Checkpoint": ("upkeep", "how far a load in batches, or an import, has come", "program file"),
    "Forgetting": ("upkeep", "what is being forgotten; gone when it is done", "id"),
    "BundleKey": ("upkeep", "the number of a node while a bundle is imported", "bundle_key"),
    "Migration": ("upkeep", "a file of the schema that this database has seen; of no namespace", "name"),
    "Memory": ("upkeep", "an entity of mcp-neo4j-memory in the same database, which `adopt` reads and leaves as it is", ""),
}  # fmt: skip
"""Each label: the part that it belongs to, what it is, and the properties that it has beside `namespace`."""

PARTS = {
    "graph": "The knowledge graph",
    "PETE": "Thoughts of PETE",
    "messages": "Conversations",
    "runs": "Programs and their runs",
    "threads": "Threads of agents",
    "history": "History",
    "upkeep": "Upkeep",
}

TEXTS, TIME = "list of texts", "time"
PROPERTIES: Mapping[str, tuple[str, str]] = {
    "namespace": ("text", "the namespace, without which nothing is read"),
    "id": ("text", "found by it in its namespace; of an edge, no node has the same"),
    "name": ("text", "what people call it"),
    "data": ("text", "what there is to say of it"),
    "since": ("integer", "the revision that made it what it is; none: older than all history"),
    "until": ("integer", "the revision that replaced it"),
    "of": ("text", "`node` or `edge`"),
    "itself": ("boolean", "it was deleted, and is itself the former state"),
    "labels": (TEXTS, "the labels that it had beside `Node`"),
    "from_node": ("text", "the id of the node where it began"),
    "to_node": ("text", "the id of the node where it ended"),
    "kind": ("text", "the type of an entity, or of an entry"),
    "arrival": ("integer", "its place in the order in which entities and relations came"),
    "memory": ("integer", "N of the address `memory:N`; of a namespace, the last one given"),
    "concept": ("text", "the text by which PETE finds it, in one case and spacing"),
    "expires_at": (TIME, "from then on nothing finds it"),
    "namespace_token": ("text", "words by which an index stays inside the namespace"),
    "name_parts": ("text", "the parts of words of `name` that the English index does not split"),
    "data_parts": ("text", "the same of `data`"),
    "said_parts": ("text", "the same of `said`"),
    "embedding": ("list of floats", "its vector, of a length of 1"),
    "embedding_model": ("text", "the model that made the vector"),
    "vector_due": ("text", "the model of which it has no vector yet, in a namespace with an `embedder`"),
    "embedder": ("text", "the model by whose vectors it was last recalled"),
    "node": ("text", "the id of the node that it stands for, or that was visited"),
    "verb": ("text", "what the one does to the other"),
    "weight": ("float", "from 0.0 to 1.0"),
    "lemma": ("text", "the ground form of the verb"),
    "surface": ("text", "the verb as it was written"),
    "negated": ("boolean", "that it is not so"),
    "context": ("integer", "the address of the context that states it"),
    "place": ("integer", "its place among what one statement wrote"),
    "root": ("text", "the name of the log, of its outermost context only"),
    "log": ("integer", "the address of the outermost context"),
    "parent": ("integer", "the address of the context around it"),
    "at": (TIME, "when, in UTC"),
    "head": ("text", "its text up to its first statement"),
    "tail": ("text", "its text after the last one; none: it is open"),
    "tldr": ("text", "what abbreviates it"),
    "refs": (TEXTS, "the handles that it was passed"),
    "index": ("integer", "its place in its context"),
    "size": ("integer", "the characters of its text with all that is in it"),
    "text": ("text", "its text, to the character"),
    "mentions": (TEXTS, "the ids of the nodes that it is about"),
    "binds": (TEXTS, "the handles that it binds"),
    "value": ("text", "a value as JSON"),
    "sensor": ("text", "the name of the sensor"),
    "faculty": ("text", "the faculty that is asked"),
    "procedure": ("text", "what it is to do"),
    "arguments": ("text", "with what, as JSON"),
    "edge": ("text", "the id of the fact that it states"),
    "rule": ("text", "the rule, or the id of the rule that it states"),
    "address": ("integer", "the address that it names"),
    "head_lemma": ("text", "the lemma of what the rule derives"),
    "head_negated": ("boolean", "it derives that something is not so"),
    "shelf": ("text", "its namespace in the store, with a dot behind each part"),
    "key": ("text", "its key there"),
    "ttl": ("float", "minutes from the last time that it was written or read until it expires"),
    "updated_at": (TIME, "when it was last written, in UTC"),
    "created_at": (TIME, "when it was stored first, in UTC"),
    "versions": ("integer", "how many versions it has"),
    "operation": ("integer", "the number of its last change"),
    "operations": ("list of integers", "the changes that made it"),
    "framed": ("boolean", "an adapter of a framework writes it, and recorded calls do not continue it"),
    "recalled": ("boolean", "recall finds it"),
    "parts_stored": ("boolean", "all words that need parts to be found have theirs; an earlier release stored some without"),
    "number": ("integer", "from 1"),
    "length": ("integer", "messages"),
    "role": ("text", "`system`, `user`, `assistant`, `tool` and the like"),
    "content": ("text", "its text; a list of parts as JSON"),
    "body": ("text", "all of it, as JSON"),
    "sampled": ("boolean", "a model gave it as the answer to what stands before it"),
    "seal": ("text", "a hash by which a change by others is seen"),
    "said": ("text", "what is looked for in it"),
    "said_at": (TIME, "when it was said, in UTC"),
    "speaker": ("text", "who said it: a name, or else the role"),
    "home": ("text", "the conversation in which it was said first"),
    "conversations": (TEXTS, "the conversations that hold it, or held it before an edit"),
    "passages": ("integer", "how many passages it has"),
    "span": ("list of integers", "where it begins and ends, in characters of the message"),
    "call": ("text", "which call it came from"),
    "response": ("text", "the id that the endpoint gave the response"),
    "model": ("text", "the model"),
    "temperature": ("float", "as it was asked for"),
    "finish_reason": ("text", "why the answer ended: `stop`, `length`, …"),
    "finished": ("boolean", "it came to its end"),
    "latency_s": ("float", "seconds until the answer was there"),
    "input_tokens": ("integer", "tokens of the prompt"),
    "output_tokens": ("integer", "tokens of the answer"),
    "cached_tokens": ("integer", "tokens of the prompt that the endpoint had cached"),
    "language": ("text", "`contextscript`, `agentscript`, `convo`, `pete`, or what wrote: `undo`, `merge`, …"),
    "source": ("text", "the text of a program; of a context item, the expression that was used"),
    "file": ("text", "the name of its file"),
    "loaded_at": (TIME, "when it was last loaded, in UTC"),
    "program": ("text", "the name of the program, or what is loaded"),
    "program_hash": ("text", "the hash of its source"),
    "agent": ("text", "the agent that ran"),
    "function": ("text", "the function that ran"),
    "status": ("text", "`running`, `done`, `failed`, `stopped`, …"),
    "input": ("text", "what it was given"),
    "input_json": ("boolean", "`input` is JSON, and no bare text"),
    "value_json": ("boolean", "`value` is JSON, and no bare text"),
    "trace": ("text", "the events of the run, as JSON"),
    "started_at": (TIME, "in UTC"),
    "ended_at": (TIME, "in UTC"),
    "uri": ("text", "the address of the model"),
    "instruction": ("text", "what the call was asked"),
    "system": ("text", "the message of the system"),
    "schema": ("text", "the schema that the answer had to fit, as JSON"),
    "attempts": ("integer", "how often the model was asked"),
    "ok": ("boolean", "the answer fitted"),
    "result": ("text", "the answer, as JSON"),
    "seconds": ("float", "how long it took"),
    "prompt_tokens": ("integer", "tokens of the prompts of all attempts"),
    "completion_tokens": ("integer", "tokens of the answers of all attempts"),
    "budget": ("text", "the most that it could take"),
    "strategy": ("text", "how it was clipped: `none`, `chars`, `items`, `fields`"),
    "clipped": ("boolean", "it is shorter than what it came from"),
    "clipped_size": ("integer", "characters, as the call saw it"),
    "original_size": ("integer", "characters, before it was clipped"),
    "origins": (TEXTS, "the ids of the nodes that it came from"),
    "view": ("text", "what kind of view it is, as of `.summary`"),
    "description": ("text", "what its source says of it"),
    "branch": ("text", "which of the branches that run side by side"),
    "output": ("text", "what came of it"),
    "route": ("text", "the node that the run went to"),
    "why": ("text", "why it went there"),
    "state": ("text", "its variables, as JSON"),
    "completed": ("boolean", "it came to its end"),
    "revision": ("integer", "counted without gaps, from 1; of a namespace, the last one"),
    "statements": ("integer", "how many there were"),
    "by": ("text", "who asked for it"),
    "conversation": ("text", "the conversation in which somebody asked for it"),
    "message": ("text", "the message that did so"),
    "merged": (TEXTS, "what was joined with what"),
    **{
        f"{what}_{done}": ("integer", f"{what} that were {done}")
        for what in ("nodes", "edges")
        for done in ("created", "updated", "deleted")
    },
    "thread": ("text", "the id of the thread"),
    "graph": ("text", "the graph inside of the thread; empty for the outermost"),
    "checkpoint": ("text", "the id that LangGraph gave it, which grows"),
    "step": ("integer", "of the graph, -1 for the input"),
    "run": ("text", "the run that made it"),
    "type": ("text", "how the bytes of `data` or `body` are to be read"),
    "task": ("text", "the task that wrote it"),
    "path": ("text", "where the task is in the graph"),
    "channel": ("text", "the name of the channel"),
    "bundle_key": ("integer", "from 1"),
    "ref": ("text", "the handle"),
    "passed": ("boolean", "the handle was passed, and not made here"),
    "order": ("integer", "its place among its like; of answers, 0 is the first"),
    "condition": ("text", "the condition of a route"),
}  # fmt: skip
"""What each property holds: its type, and what it means. `field_…` of a context are its annotations."""

RELATIONSHIPS: Mapping[str, tuple[str, str, str]] = {
    "EDGE": ("(:Node)-->(:Node)", "a relation, an observation or a fact; the verb is a property", "id namespace verb weight since arrival place lemma surface negated context at"),
    "ALIAS_OF": ("(:Alias)-->(:Node)", "what the node was called, too", "merged"),
    "SOURCE": ("(:Node)-->(:Message)", "the message that it was learnt from", ""),
    "CONTAINS": ("(:Context)-->(:Context)", "a context in its parent", ""),
    "STATES": ("(:Context)-->(:Entry)", "its statements; of a deleted one, its former statements", "index"),
    "BINDS": ("(:Context)-->(:Node)", "what its handles mean", "ref order passed"),
    "MENTIONS": ("(:Entry)-->(:Node)", "what a statement is about", ""),
    "CONTINUED_BY": ("(:Context)-->(:Message)", "what a model answered when it went on", ""),
    "HEAD": ("(:Conversation)-->(:Version)", "the version that was last written", ""),
    "VERSION": ("(:Conversation)-->(:Version)", "all of its versions", ""),
    "TIP": ("(:Version)-->(:Message)", "its last message", ""),
    "NEXT": ("(:Message)-->(:Message)", "the message that follows: the sequential edge", ""),
    "REPLACES": ("(:Version)-->(:Version)", "an edit before an answer: the parallel edge", "at"),
    "PASSAGE": ("(:Message)-->(:Passage)", "its passages", ""),
    "HAS": ("(:Message)-->(:Metadata)", "what came with it", ""),
    "ASKED_IN": ("(:Load)-->(:Message)", "the message that asked for the write", ""),
    "GENERATED": ("(:Run)-->(:Generation)", "the calls of a run of AgentScript", "order"),
    "USED": ("(:Generation)-->(:ContextItem)", "what a call saw", "index"),
    "FROM": ("(:ContextItem)-->(:Node)", "the nodes that its text came from", ""),
    "ANSWERED": ("(:Generation)-->(:Message), (:Step)-->(:Message)", "the answer of the model; of a call of AgentScript that of each attempt", "order"),
    "READ": ("(:Run)-->(:Node)", "the nodes that a memory gave a run of AgentScript", ""),
    "KEPT": ("(:Run)-->(:Conversation)", "the conversation of the run", ""),
    "OF": ("(:Run)-->(:Graph)", "the graph that was run", ""),
    "STEP": ("(:Run)-->(:Step)", "the steps of a run", "order"),
    "THEN": ("(:Step)-->(:Step)", "the step that follows", ""),
    "AT": ("(:Step)-->(:GraphNode)", "the node that was visited", ""),
    "SAID": ("(:Step)-->(:Message)", "what was said at the step", "order"),
    "HAS_NODE": ("(:Graph)-->(:GraphNode)", "its nodes", "order"),
    "ROUTE": ("(:GraphNode)-->(:GraphNode)", "its routes", "order kind condition"),
    "STATE": ("(:Thread)-->(:State)", "the states of a thread", ""),
    "PARENT": ("(:State)-->(:State)", "the state that it came from", ""),
    "HOLDS": ("(:State)-->(:ChannelValue)", "what its channels hold", "channel"),
    "EXTENDS": ("(:ChannelValue)-->(:ChannelValue)", "the list that is shorter by one", ""),
    "SAYS": ("(:ChannelValue)-->(:Message)", "the message that is the last of a list", ""),
    "PENDING": ("(:State)-->(:PendingWrite)", "what is pending after it", ""),
    "FORGETS": ("(:Forgetting)-->()", "what is to go; gone when it is done", "spread learnt"),
}  # fmt: skip
"""Each type: where it leads, what it means, and its properties."""

OVER = {
    "State.body": ("bytes", "what the framework's serializer gave"),
    "State.parent": ("text", "the checkpoint of the state that it came from, or an empty text"),
    "State.source": ("text", "`input`, `loop`, `update` or `fork`"),
    "ChannelValue.data": ("bytes", "what the framework's serializer gave"),
    "ChannelValue.length": ("integer", "of a list, its items"),
    "PendingWrite.data": ("bytes", "what the framework's serializer gave"),
    "PendingWrite.place": ("integer", "its place among the writes of the task"),
"REPLACES.at": ("integer", "the index of the first message that differs"), "Generation.at": ("text", "when, in UTC, as ISO 8601"),
        "FORGETS.spread": ("boolean", "what hangs on it is on the list, too"),
        "FORGETS.learnt": ("boolean", "a conversation tells of it"), "ALIAS_OF.merged": ("integer", "the revision of the merge"),
        "EDGE.at": (TIME, "when the fact was stated, in UTC")}  # fmt: skip

QUESTIONS: Sequence[tuple[str, str]] = (
    ("Which nodes are there?", "MATCH (n:Node {namespace: $namespace}) RETURN n.id AS id, n.name AS name ORDER BY id LIMIT 5"),
    ("What does Ada have to do with what?", "MATCH (a:Node {namespace: $namespace, id: 'ada'})-[e:EDGE]-(b:Node)\nRETURN startNode(e).name AS from, e.verb AS verb, endNode(e).name AS to ORDER BY verb, to"),
    ("What was observed of her?", "MATCH (:Node {namespace: $namespace, id: 'ada'})-[:EDGE {verb: 'observed'}]->(o:Observation)\nRETURN o.data AS observation ORDER BY observation"),
    ("How does one thing lead to another?", "MATCH (a:Node {namespace: $namespace, id: 'ada'}), (b:Node {namespace: $namespace, id: 'loom'})\nMATCH p = shortestPath((a)-[:EDGE*..6]-(b))\nRETURN [n IN nodes(p) | n.name] AS way"),
    ("Which nodes are the best joined?", "MATCH (n:Node {namespace: $namespace})-[e:EDGE]-()\nRETURN n.name AS name, count(e) AS edges ORDER BY edges DESC, name LIMIT 3"),
    ("Which verbs are there?", "MATCH ()-[e:EDGE {namespace: $namespace}]->() RETURN e.verb AS verb, count(e) AS edges ORDER BY edges DESC, verb"),
    ("What was an entity called before it was merged?", "MATCH (a:Alias {namespace: $namespace})-[:ALIAS_OF]->(n:Node) RETURN a.name AS alias, n.name AS name"),
    ("Which entities of which kind are there?", "MATCH (n:Entity {namespace: $namespace}) RETURN n.kind AS kind, collect(n.name) AS names ORDER BY kind"),
    ("What was a node before?", "MATCH (f:Former {namespace: $namespace, id: 'ada'})\nRETURN f.data AS data, f.since AS since, f.until AS until ORDER BY until"),
    ("What did the last writes change, and who made them?", "MATCH (l:Load {namespace: $namespace})\nRETURN l.revision AS revision, l.language AS language, l.nodes_created AS created ORDER BY revision DESC LIMIT 3"),
    ("What expires?", "MATCH (n:Node {namespace: $namespace}) WHERE n.expires_at > datetime() RETURN n.name AS name"),
    ("Which conversations are there, and how long are they?", "MATCH (c:Conversation {namespace: $namespace})-[:HEAD]->(v:Version)\nWHERE NOT c.name STARTS WITH 'run-'\nRETURN c.name AS name, v.length AS messages, c.versions AS versions ORDER BY name"),
    ("What does a version say?", "MATCH (:Conversation {namespace: $namespace, name: 'greetings'})-[:HEAD]->(v:Version)-[:TIP]->(tip:Message)\nMATCH p = (first:Message)-[:NEXT*0..]->(tip) WHERE NOT EXISTS { ()-[:NEXT]->(first) }\nUNWIND nodes(p) AS m RETURN m.role AS role, m.content AS content"),
    ("Where was a conversation edited?", "MATCH (v:Version {namespace: $namespace})-[r:REPLACES]->(older:Version)\nRETURN v.number AS version, older.number AS replaces, r.at AS at"),
    ("What did the answers of each model cost?", "MATCH (m:Message {namespace: $namespace})-[:HAS]->(d:Metadata)\nRETURN d.model AS model, d.temperature AS temperature, count(DISTINCT m) AS answers ORDER BY temperature"),
    ("What did a model write down, asked by which message?", "MATCH (l:Load {namespace: $namespace})-[:ASKED_IN]->(m:Message)\nRETURN l.revision AS revision, l.model AS model, m.role AS asked_by ORDER BY revision"),
    ("What did a call of a model see?", "MATCH (g:Generation {namespace: $namespace})-[u:USED]->(i:ContextItem)\nRETURN g.instruction AS task, i.source AS source, i.clipped AS clipped ORDER BY u.index"),
    ("Which way did a run of a graph take?", "MATCH (r:Run {namespace: $namespace})-[s:STEP]->(step:Step)-[:AT]->(node:GraphNode)\nRETURN node.name AS node, step.output AS output, step.route AS route ORDER BY s.order"),
    ("Which facts does a thought state?", "MATCH (a:Node)-[e:EDGE {namespace: $namespace}]->(b:Node) WHERE e.context IS NOT NULL\nRETURN a.name AS subject, e.surface AS verb, e.negated AS negated, b.name AS object ORDER BY subject, verb, object"),
    ("What do the handles of a context mean?", "MATCH (c:Context {namespace: $namespace, root: 'study'})-[b:BINDS]->(n:Node)\nRETURN b.ref AS handle, n.name AS means ORDER BY handle"),
)  # fmt: skip
"""Twenty questions that people ask of a graph, each with its query."""

INTRODUCTION = """\
# The graph

<!-- made by `python -m tests.site.graph` -->

What memorygraph stores in Neo4j, and how to ask for it. Every stored thing has a `namespace`, and is found by it and its `id`; name
both in a query, so that an index answers it. `memorygraph query`, `mg.query(…)` and Neo4j Browser run what stands here.
Read as much as you like; write through memorygraph, which keeps what the constraints of Neo4j Community cannot.

![How the six parts join: every part meets the others in nodes, messages and loads](../pictures/graph.svg)
"""


class SchemaRow(NamedTuple):
    """A constraint or an index: its kind, its name, and what it is on."""

    kind: str
    name: str
    on: str


def page(answers: Sequence[str]) -> str:
    """The page, with the answers to the questions."""
    sections = [INTRODUCTION, "## Labels\n"]
    for part, title in PARTS.items():
        sections.append(f"### {title}\n")
        for label, (of, about, names) in LABELS.items():
            if of == part:
                sections.append(f"**`{label}`**: {about}.\n")
                if names:
                    sections.append(_properties(label, names.split()))
    sections.append("## Relationship types\n")
    sections.append(
        table(
            ("Type", "Where", "What it means"),
            ((f"`{name}`", f"`{where}`", said) for name, (where, said, _) in RELATIONSHIPS.items()),
        )
    )
    sections += [
        f"**`{name}`** has these properties:\n\n{_properties(name, names.split())}"
        for name, (_, _, names) in RELATIONSHIPS.items()
        if names
    ]
    rows = schema()
    for title, kinds in {
        "Constraints": ("constraint",),
        "Indexes": ("index", "full-text index", "vector index"),
    }.items():
        shown = [(f"`{row.name}`", row.kind, f"`{row.on}`") for row in rows if row.kind in kinds]
        sections.append(f"## {title}\n\n" + table(("Name", "Kind", "On"), shown))
    sections.append(
        "## Twenty questions\n\nEach is asked of a small sample, and the first rows of the answer stand below it.\n"
    )
    for (question, query), answer in zip(QUESTIONS, answers, strict=True):
        sections.append(f"### {question}\n\n```cypher\n{query}\n```\n\n```json\n{answer}\n```\n")
    return "\n".join(sections)


def _properties(owner: str, names: Sequence[str]) -> str:
    rows = [(name, OVER.get(f"{owner}.{name}") or PROPERTIES[name]) for name in names]
    return table(("Property", "Type", "What it holds"), ((f"`{name}`", kind, said) for name, (kind, said) in rows))


def schema() -> list[SchemaRow]:
    """The constraints and indexes as the files of the schema leave them, by name."""
    found: dict[str, SchemaRow] = {}
    for _, commands in CYPHER.migrations():
        for command in commands:
            text = " ".join(command.text.split())
            if dropped := re.search(r"DROP INDEX (\w+)", text):
                found.pop(dropped[1], None)
            if made := re.search(
                r"CREATE (CONSTRAINT|FULLTEXT INDEX|VECTOR INDEX|INDEX) (\w+) IF NOT EXISTS FOR (.*)", text
            ):
                kinds = {"FULLTEXT INDEX": "full-text index", "VECTOR INDEX": "vector index"}
                on = re.sub(r" OPTIONS .*", "", made[3])
                found[made[2]] = SchemaRow(kinds.get(made[1], made[1].lower()), made[2], on)
    return sorted(found.values(), key=lambda row: (row.kind, row.name))


def ask_all(graph: MemoryGraph) -> list[str]:
    """The answers to the questions, of a sample in an empty namespace."""
    fill(graph)
    return [_answer(graph.query(query)) for _, query in QUESTIONS]


def _answer(rows: list[dict[str, Any]]) -> str:
    return "\n".join(json.dumps(row, ensure_ascii=False, default=str) for row in rows)


def picture() -> str:
    """How the parts join, in one picture."""
    places = {
        "Node": (510, 250, ("Node", "concepts, entities,", "observations"), "#dcecdc"),
        "Alias": (770, 330, ("Alias",), "#dcecdc"),
        "Context": (510, 120, ("Context", "a thought of PETE"), "#f3e6f7"),
        "Entry": (770, 120, ("Entry", "its statements"), "#f3e6f7"),
        "Former": (770, 240, ("Former", "what it was before"), "#eeeeee"),
        "Load": (510, 400, ("Load", "a write, a revision"), "#eeeeee"),
        "Namespace": (770, 400, ("Namespace", "counters, and the lock"), "#eeeeee"),
        "Message": (210, 250, ("Message", "immutable"), "#fbeed5"),
        "Metadata": (95, 360, ("Metadata", "tokens, temperature"), "#fbeed5"),
        "Version": (210, 120, ("Version",), "#fbeed5"),
        "Conversation": (210, 30, ("Conversation",), "#fbeed5"),
        "Run": (510, 500, ("Run", "of a program"), "#dfe9f7"),
        "Generation": (250, 500, ("Generation", "a call of a model"), "#dfe9f7"),
        "ContextItem": (250, 610, ("ContextItem", "what it saw"), "#dfe9f7"),
        "Step": (770, 500, ("Step", "a visit of a node"), "#dfe9f7"),
        "Graph": (510, 610, ("Graph", "and other programs"), "#dfe9f7"),
        "GraphNode": (770, 610, ("GraphNode",), "#dfe9f7"),
    }
    boxes = {name: PictureBox(x, y, 150, lines, color) for name, (x, y, lines, color) in places.items()}
    arrows = [
        ("Alias", "Node", "ALIAS_OF"), ("Context", "Entry", "STATES"), ("Context", "Node", "BINDS"), ("Entry", "Node", "MENTIONS"),
        ("Node", "Message", "SOURCE"), ("Load", "Message", "ASKED_IN"), ("Context", "Message", "CONTINUED_BY"),
        ("Conversation", "Version", "HEAD, VERSION"), ("Version", "Message", "TIP"), ("Message", "Metadata", "HAS"),
        ("Run", "Generation", "GENERATED"), ("Generation", "ContextItem", "USED"), ("Generation", "Message", "ANSWERED"),
        ("Run", "Step", "STEP"), ("Run", "Graph", "OF"), ("Step", "GraphNode", "AT"), ("Graph", "GraphNode", "HAS_NODE"),
        ("ContextItem", "Node", "FROM"),
    ]  # fmt: skip
    return draw(boxes, [PictureArrow(*arrow) for arrow in arrows], "How the parts of the graph join")


def labels_of_the_library() -> set[str]:
    """Every label in the Cypher of the library."""
    return {
        label for text in _texts() for group in re.findall(r"\(\w*((?::\w+)+)", text) for label in group[1:].split(":")
    }


def types_of_the_library() -> set[str]:
    """Every relationship type in the Cypher of the library."""
    return {name for text in _texts() for group in re.findall(r"\[\w*:([A-Z_|]+)", text) for name in group.split("|")}


def _texts() -> Iterator[str]:
    for block in CYPHER.values():
        yield re.sub(r"//[^\n]*", "", block.text)


def write_page() -> None:
    """Ask the questions of a sample, and write the page anew."""
    with MemoryGraph.connect(namespace=new_namespace()) as graph:
        PAGE.write_text(page(ask_all(graph)), "utf-8")
        graph.drop_namespace(graph.namespace)


if __name__ == "__main__":
    write_page()
