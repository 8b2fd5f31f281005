"""Recall: the nodes and messages that a text brings to mind, in one query to the database.

Messages and nodes are found by their words and, with an embedder, by their meaning; the lists are fused, and each hit
leads on to its neighbours. The namespace is a wall inside each index, so that no hit of
another namespace is found, or takes the place of one.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from threading import Lock, Thread
from typing import Any, Unpack

from memorygraph.budget import Budget
from memorygraph.context.labels import one_line
from memorygraph.context.prompt import ContextItem
from memorygraph.errors import MemoryGraphError
from memorygraph.graph.bad_elements import naming_bad_elements
from memorygraph.graph.elements import OWNERS, as_text
from memorygraph.graph.namespace import Namespace
from memorygraph.graph.search import NODE_FIELDS
from memorygraph.graph.stored_parts import store_missing_parts
from memorygraph.memory.filters import FilterOptions, Kind, RecallFilter, can_lead_on, check_filter
from memorygraph.memory.intent import WISHES, find_intent, topic_words
from memorygraph.memory.prompt_texts import PromptText, fit_texts, render_items
from memorygraph.memory.vectors import Embedder, configured_embedder, embed_all, embed_missing, vector_parameters
from memorygraph.memory.words import asks_assistant, times_meant, words_of, words_query
from memorygraph.messages.indexing import index_messages
from memorygraph.messages.message import Message
from memorygraph.messages.passages import Passage, find_passages
from memorygraph.query import Query

KINDS: tuple[Kind, ...] = ("node", "message")
LABELS = {"node": "Node", "message": "Message"}
MAX_HITS = 20

# Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009): place p of a list gives 1 / (RANK_CONSTANT + p).
# Their constant of 60 makes the places of a list almost equal; with a small one the first places decide. The answer to
# a message is in the next one, and the meaning of `it` in the one before: so a message gives shares of its score to its
# neighbours, and a node to the messages that it was learnt from and over its edges.
#
# An assistant repeats at length what it was asked, so its messages have most of the words and a quarter of the
# evidence: what the user said counts twice, and as a fifth nearer, and an assistant's message gives a share to what it
# was asked only. A wish that a user stated (`Always name versions when I ask of libraries`) has few words of the
# questions that it governs. A summary wants what both sides said, and like an order some of each session; the order of
# what a user brought up is in what the user said. How to answer is no meaning.
#
# Chosen on the conversations 26, 30 and 41 of LoCoMo and the chats 1 to 5 of BEAM's 100K; docs/recall.md has the
# figures, and what else was tried.
RANK_CONSTANT = 2
DEPTH = 50  # entries of each list that count, unless more hits are asked for
MESSAGE_DEPTH = 100  # messages by words: who said them moves them up and down
NEAR = 0.4  # the share of a message's score for the one before it and the one after it
FAR = 0.3  # the share for the next but one
EDGE = 0.5  # the share of a node's score over an edge of the weight one
LEARNT = 1.0  # the share for the message that a node was learnt from
REACH = 20  # a hit after this place in all of its lists goes no steps: its shares would be too small to matter
FAN = 20  # steps of all kinds from one hit, the heaviest: each edge of a node with a thousand says little
NEVER = 1000.0  # a score that no hit reaches
# How much a message counts by its role, and its nearness; others count once. `asked` is the share of a message of an
# assistant for what it was asked.
ROLES: dict[str, Any] = {"weights": {"user": 2.0}, "near": {"user": 1.2}, "asked": 0.5}
NO_ROLES: dict[str, Any] = {"weights": {}, "near": {}, "asked": None}
SEARCHES = ("message_searches", "node_searches", "vector_filters")  # parameters: what each index is asked
WISH = 1.5  # how much a message counts by its words where a user states a wish
CHOICE = 5  # how many times as many hits are read as are asked for, where they are spread over sessions
ANSWERED = 0.5  # how much a message of an assistant counts for an order
SPREAD = 0.9  # what each hit leaves to the next of its session: the day of a conversation
RELATIONS = 3  # sentences that are said of a node
COPIES = (1, 4, 16)  # how many times as many hits are read, where edits have made copies of some
MAX_REWRITES = 5  # of a vector, for one recall: one is enough, but others may go on deleting
INDEX_SECONDS = 3.0  # how long the first recall waits for messages of an earlier release to be indexed
OBSERVED = "observed"  # the verb of the edge from an entity to an observation of it

# An id that was made from what it names says nothing to a reader, and takes two dozen tokens.
_MADE_ID = re.compile(r"\w+-[0-9a-f]{32}")


@dataclass(frozen=True)
class RecallHit:
    """A node or a message that was recalled; a higher score is better.

    `source` is `fulltext`, `vector` or both with a plus for a hit by its own words or meaning, `edge` for one that is
    an edge away from such a hit or is the message that a node was learnt from, and `neighbour` for a message near one.
    The `text` of a long message is the passage that fits best, the characters `start` to `end` of its `whole` text.
    A hit over an edge has the `verb` of the heaviest. A node has a `name`; an observation has the names of what it is
    `about`; `relations` are the edges over which other hits led here, as sentences. The ids of the nodes that these
    name are `related`. A message has a `role`, the `name` of its speaker where there is one, the `conversation` and
    the time.

    >>> RecallHit("o1", "node", 0.3, "fulltext", "likes tea", about=("Ada Lovelace",)).content
    'Ada Lovelace: likes tea'
    """

    id: str
    kind: Kind
    score: float
    source: str
    text: str
    name: str | None = None
    role: str | None = None
    conversation: str | None = None
    at: str | None = None
    verb: str | None = None
    about: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    start: int | None = None
    end: int | None = None
    whole: str | None = field(default=None, repr=False)
    related: tuple[str, ...] = field(default=(), repr=False)

    @property
    def label(self) -> str:
        """The label of the hit in a prompt."""
        if self.kind == "node":
            return "node" if _MADE_ID.fullmatch(str(self.id)) else f"node {self.id}"
        speaker = f"{self.name or self.role}" + (f" on {self.at[:10]}" if self.at else "")
        return f"message of {speaker}" + (f" in {self.conversation}" if self.conversation else "")

    @property
    def content(self) -> str:
        """The text of the hit in a prompt: what it says, and whose it is."""
        return "\n".join(self.sentences)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the hit says: its text and whose it is, and each of its relations."""
        if self.kind == "message":
            return (self.text,)
        whose = one_line(self.name or " and ".join(self.about))
        return (": ".join(filter(None, [whose, self.text])), *self.relations)

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it, without the `whole` text and the ids of what is `related`."""
        said = replace(self, whole=None, related=())
        return {key: value for key, value in asdict(said).items() if value is not None and value != ()}

    @classmethod
    def of(cls, row: dict[str, Any]) -> RecallHit:
        """Read a row of the query."""
        source = "+".join(sorted(row["ways"] or ())) or ("edge" if row["edges"] else "neighbour")
        verb = heaviest_verb(row["edges"]) if source == "edge" else None
        found = {"id": row["id"], "score": row["score"], "source": source, "verb": verb}
        if not row["is_message"]:
            owners, edges = row["owners"], row["edges"]
            ends = [*(owner["id"] for owner in owners), *(id_ for edge in edges for id_ in edge["ends"])]
            named = dict.fromkeys(id_ for id_ in ends if isinstance(id_, str))
            return cls(
                kind="node",
                text=as_text(row["data"]),
                name=as_text(row["name"]),
                about=tuple(as_text(owner["name"]) for owner in owners),
                relations=say_relations(edges),
                related=tuple(id_ for id_ in named if id_ != row["id"]),
                **found,
            )
        message = Message(row["body"])
        place = {"conversation": row["conversation"], "at": row["at"]}
        excerpt = choose_excerpt(message.text, row["span"])
        return cls(kind="message", name=message.name, role=message.role, **excerpt, **place, **found)


@dataclass(frozen=True)
class Recalled:
    """The hits of a recall, best first; as a text they are those that a prompt gets, within its budget."""

    hits: tuple[RecallHit, ...]
    budget: Budget | None = None

    @cached_property
    def context(self) -> tuple[ContextItem, ...]:
        """As many hits as fit the budget, as labelled items of a prompt; the last may be clipped."""
        return fit_texts(self.texts, self.budget)

    @cached_property
    def texts(self) -> tuple[PromptText, ...]:
        """What each hit says that none before it has said; a name alone says nothing once it has been mentioned."""
        texts: list[PromptText] = []
        said: set[str] = set()  # sentences, and the lines of texts
        mentioned = ""
        for hit in self.hits:
            new = [each for each in hit.sentences if hit.kind == "message" or each not in said]
            if hit.name and new == [hit.name] and re.search(rf"(?<!\w){re.escape(hit.name)}(?!\w)", mentioned):
                new = []
            if new:
                texts.append(PromptText(hit.id, hit.label, "\n".join(new)))
                said.update(new, texts[-1].text.split("\n"))
                mentioned += f"\n{texts[-1].text}\n"
        return tuple(texts)

    @property
    def shown(self) -> tuple[RecallHit, ...]:
        """The hits that the context has room for, with those that say nothing of their own."""
        left_out = {as_text(text.id) for text in self.texts[len(self.context) :]}
        return tuple(hit for hit in self.hits if as_text(hit.id) not in left_out)

    def __str__(self) -> str:
        return render_items(self.context)

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {
            "hits": [hit.as_dict() for hit in self.hits],
            "context": [item.as_dict() for item in self.context],
            "text": str(self),
        }


class RecallOptions(FilterOptions, total=False):
    """The options of a recall, and its filters."""

    limit: int
    at: datetime | None  # the time of the question, for words such as `last week`
    kinds: Sequence[Kind]
    steps: bool  # whether hits lead on to their neighbours
    roles: bool  # whether it counts who said it: the user or an assistant
    intent: bool  # whether it counts what the text asks for: a fact, an order or a summary


def recall_hits(
    namespace: Namespace,
    text: str,
    *,
    budget: Budget | None = None,
    embedder: Embedder | None = None,
    **options: Unpack[RecallOptions],
) -> Recalled:
    """The nodes and messages of a namespace that a text brings to mind; any text is a valid question."""
    rows = find_rows(namespace, text, embedder, options)
    found: list[RecallHit] = []
    with naming_bad_elements() as check:
        for row in rows:
            if row["is_message"]:
                is_right = check("message", row["id"], body=row["body"])
            else:
                check("node", row["id"], name=row["name"], data=row["data"])
            for edge in filter(None, (step["stored"] for step in row["edges"])):
                check("edge", edge["id"], verb=edge["verb"], weight=edge["weight"])
            if not row["is_message"] or is_right:  # what is no message has nothing to show
                found.append(RecallHit.of(row))
    hits = tuple(found)
    wanted = find_intent(text) if options.get("intent", True) else "fact"
    if wanted != "fact":
        of_users = wanted == "order" and options.get("roles", True) and not asks_assistant(text)
        spread = spread_hits(hits, answered=ANSWERED if of_users else 1.0)
        hits = spread[: options.get("limit", MAX_HITS)]
    return Recalled(hits, budget)


def find_rows(
    namespace: Namespace, text: str, embedder: Embedder | None, options: RecallOptions
) -> list[dict[str, Any]]:
    """The rows of a recall: of one query or, where a filter leaves few that are found by themselves, of a second one.

    To look for what leads on takes half as long again, so that is done where it is needed, and something fits.
    """
    query = recall_query(namespace, text, embedder=embedder, **options)
    if query is None:
        return []
    rows = read_once_each(namespace, query)
    if "vector_filters" not in query.parameters or not options.get("steps", True):
        return rows  # all there is was looked through, or nothing is to lead on
    if len(rows) >= query.parameters["limit"] or not (rows or can_lead_on(namespace, options)):
        return rows
    if leading := recall_query(namespace, text, leads=True, **options):
        searches = {name: leading.parameters[name] for name in SEARCHES}
        rows = read_once_each(namespace, replace(query, parameters={**query.parameters, **searches}))
    return rows


def read_once_each(namespace: Namespace, query: Query) -> list[dict[str, Any]]:
    """Run a query so that each message is one hit, the best of its copies; more is read where copies take places.

    An edit stores all that stands behind it again, in a version of its own.
    """
    wanted = query.parameters["limit"]
    for limit in (times * wanted for times in COPIES):
        deeper = {name: max(limit, query.parameters[name]) for name in ("depth", "message_depth")}
        found = read_rows(namespace, replace(query, parameters={**query.parameters, **deeper, "limit": limit}))
        once: dict[Any, dict[str, Any]] = {}
        for row in found:  # an id or a body that raw Cypher has made can be anything
            is_said = row["is_message"] and isinstance(row["body"], str)
            once.setdefault((row["conversation"], row["at"], row["body"]) if is_said else as_text(row["id"]), row)
        if len(once) >= wanted or len(found) < limit:
            break
    return list(once.values())[:wanted]


class IndexingWarning(UserWarning):
    """What an earlier release stored is still being indexed, and a recall does not find all of it yet."""


class VectorWarning(UserWarning):
    """The vector index failed and could not be mended, as by a user who may only read, and a recall did without it."""


def read_rows(namespace: Namespace, query: Query) -> list[dict[str, Any]]:
    """Run a query by words and vectors; where Neo4j's vector index fails, mend that, or go by words alone.

    Lucene fails in a part of the index in which something was deleted and nothing is in the filter: it looks for what
    comes after the last document. So a deletion in one namespace breaks the vectors of others, until the next vector is
    written: with that it joins its parts, and leaves out what was deleted.
    """
    words = replace(query, parameters={**query.parameters, "vectors": []})
    for _ in range(MAX_REWRITES):
        try:
            return namespace.read(query)
        except MemoryGraphError as error:
            if not query.parameters["vectors"] or "out of bounds" not in str(error):
                raise
            failure = error
        try:
            [row] = namespace.write_query("recall/rewrite-vector", model=query.parameters["model"])
        except MemoryGraphError:  # of a user who may only read, or a member of a cluster that does
            break
        if not row["rewritten"]:
            return namespace.read(words)  # there are no vectors to be found
    told = f"the vector index of Neo4j failed, and this recall went by words alone ({failure})"
    warnings.warn(told, VectorWarning, stacklevel=2)
    return namespace.read(words)


def recall_query(
    namespace: Namespace,
    text: str,
    *,
    embedder: Embedder | None = None,
    limit: int = MAX_HITS,
    at: datetime | None = None,
    kinds: Sequence[Kind] = KINDS,
    steps: bool = True,
    roles: bool = True,
    intent: bool = True,
    leads: bool = False,
    **filters: Unpack[FilterOptions],
) -> Query | None:
    """The query of a recall, or None for a text without words; with `leads` a filter keeps nothing from leading on."""
    filtered = RecallFilter.of(filters)
    words = words_of(text)
    wanted = find_intent(text) if intent else None
    roles = roles and not asks_assistant(text) and wanted != "summary"
    meant = text
    if wanted in {"order", "summary"}:
        words = topic_words(words)
        meant = " ".join(words)
    if isinstance(kinds, str) or any(kind not in KINDS for kind in kinds):
        raise MemoryGraphError(f"invalid `kinds` {kinds!r}: give a list of {' and '.join(map(repr, KINDS))}, or of one")
    kinds = filtered.kinds_left(kinds)
    if not words or limit < 1 or not kinds:
        return None
    message_terms = words_query(words, times_meant(text, at), [namespace.token], {"said": 1})
    node_terms = words_query(words, (), [namespace.token], NODE_FIELDS)
    all_node_terms = words_query(words, (), [namespace.token], NODE_FIELDS, of_all=True) if filtered.of_nodes else ""
    depth = max(DEPTH, limit)
    return namespace.query(
        "recall/recall" if filtered.leaves_all else "recall/recall-filtered",
        alias_terms=node_terms,
        kinds=[LABELS[kind] for kind in kinds],
        limit=limit * CHOICE if wanted in {"order", "summary"} else limit,
        roles={**(ROLES if roles else NO_ROLES), "wishes": WISHES if roles and wanted == "fact" else []},
        wish=WISH,
        **vector_parameters(embedder, meant),
        **fusion_parameters(limit, steps=steps),
        filters=filtered.conditions(),
        **filtered.searches(namespace.name, message_terms, node_terms, all_node_terms, depth, leads=leads and steps),
    )


def fusion_parameters(limit: int, *, steps: bool) -> dict[str, Any]:
    """The parameters of the query; without steps, only hits by their own words or meaning count."""
    return {
        "constant": RANK_CONSTANT,
        "depth": max(DEPTH, limit),
        "message_depth": max(MESSAGE_DEPTH, limit),
        "least": 1 / (RANK_CONSTANT + REACH) if steps else NEVER,
        "near": NEAR,
        "far": FAR,
        "edge": EDGE,
        "learnt": LEARNT,
        "fan": FAN,
        "owners": OWNERS,
    }


def spread_hits(hits: Sequence[RecallHit], *, answered: float = 1.0) -> tuple[RecallHit, ...]:
    """Sort hits so that each session has some among the first: a hit counts less for each before it of its session.

    A session is a day of a conversation; all nodes are one. A message of an assistant counts `answered` times as much.
    """
    places: Counter[tuple[str | None, str | None]] = Counter()
    spread: list[RecallHit] = []
    for hit in hits:
        session = (hit.conversation, hit.at and hit.at[:10])
        share = SPREAD ** places[session] * (answered if hit.role == "assistant" else 1.0)
        spread.append(replace(hit, score=hit.score * share))
        places[session] += 1
    return tuple(sorted(spread, key=lambda hit: -hit.score))


def choose_excerpt(whole: str, span: Sequence[int] | None) -> dict[str, Any]:
    """The text of a message as a hit has it: a passage where there are any, and the first of a neighbour."""
    passages = find_passages(whole) if span is None else [Passage(*span)]
    if not passages:
        return {"text": whole}
    start, end = passages[0]
    return {"text": whole[start:end].strip(), "start": start, "end": end, "whole": whole}


def heaviest_verb(edges: Sequence[Mapping[str, Any]]) -> str | None:
    """The verb of the heaviest edge, or None for a message that a node was learnt from."""
    named = [(edge["weight"], as_text(edge["verb"])) for edge in edges if edge["verb"] is not None]
    return max(named)[1] if named else None


def say_relations(edges: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Say the heaviest edges as sentences; whose an observation is, is said by `about`."""
    related = [edge for edge in edges if edge["verb"] is not None and edge["verb"] != OBSERVED]
    related.sort(key=lambda edge: (-edge["weight"], as_text(edge["verb"])))
    sentences = (one_line(f"{edge['source']} {as_text(edge['verb'])} {edge['target']}") for edge in related)
    return tuple(islice(dict.fromkeys(sentences), RELATIONS))


class Recaller:
    """Recalls from one namespace, by words and, where an embedding model is configured, by meaning."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._indexing: IndexingThread | None = None
        self._lock = Lock()

    @cached_property
    def embedder(self) -> Embedder | None:
        """The embedder that MEMORYGRAPH_EMBEDDING_MODEL names, if it is set."""
        return configured_embedder()

    def embed(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Give vectors to what lacks them, and return how many those were; 0 without an embedder."""
        index_messages(self._namespace)
        return 0 if self.embedder is None else embed_all(self._namespace, self.embedder, progress)

    def __call__(self, text: str, *, budget: Budget | None, at: datetime | None, **options: Any) -> Recalled:
        """Recall by a text; `at` is by default now."""
        self.index()
        if self.embedder is not None:
            embed_missing(self._namespace, self.embedder)
        at = at or datetime.now(UTC)
        found = recall_hits(self._namespace, text, budget=budget, embedder=self.embedder, at=at, **options)
        if not found.hits:
            check_filter(self._namespace, options)
        return found

    def index(self) -> None:
        """Have what an earlier release stored be indexed; what is stored from now on is indexed as it is stored."""
        with self._lock:  # several threads may recall at once
            is_first = self._indexing is None
            indexing = self._indexing = self._indexing or IndexingThread(self._namespace)
            if is_first:
                indexing.start()
        if is_first:
            indexing.join(INDEX_SECONDS)
            if indexing.is_alive():
                self.tell_unindexed()
        if indexing.failure is not None:
            with self._lock:
                if self._indexing is indexing:
                    self._indexing = None
            raise indexing.failure

    def tell_unindexed(self) -> None:
        """Warn of how many messages are not indexed yet; the next process that recalls says so again."""
        if left := self._namespace.read("recall/count-unindexed")[0]["count"]:
            told = (
                f"messages of an earlier release are still being indexed ({left:,} are left), and are found less well "
                f"until then; `memorygraph{self._namespace.option} messages index` shows how far it is"
            )
            warnings.warn(told, IndexingWarning, stacklevel=2)


class IndexingThread(Thread):
    """Indexes what an earlier release stored, behind the recalls; stopped with the process, the next one goes on."""

    def __init__(self, namespace: Namespace) -> None:
        super().__init__(name=f"index {namespace}", daemon=True)
        self._namespace = namespace
        self.failure: Exception | None = None

    def run(self) -> None:
        """Index until nothing is left, and keep the error that ended it."""
        try:
            index_stored(self._namespace)
        except Exception as error:  # noqa: BLE001 - the next recall raises it
            self.failure = error


def index_stored(namespace: Namespace, progress: Callable[[int, int], None] | None = None) -> int:
    """Index what an earlier release stored, and return how many messages, nodes and aliases that were."""
    [left] = namespace.read("recall/left-to-index")
    indexed = index_messages(namespace, progress) if left["messages"] else 0

    def go_on(done: int, total: int) -> None:
        if progress is not None:
            progress(indexed + done, indexed + total)

    told = None if progress is None else go_on
    return indexed + (store_missing_parts(namespace, told) if left["parts"] else 0)
