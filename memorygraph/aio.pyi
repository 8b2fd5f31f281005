"""The client for asyncio. Made by `python -m tests.async_stub` from memorygraph/client.py."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Self, TextIO

from memorygraph.budget import Budget
from memorygraph.client import MemoryGraph, Progress
from memorygraph.errors import Problem
from memorygraph.graph.bundles import BundleReport
from memorygraph.graph.connection import READ_SECONDS, Connection, Driver
from memorygraph.graph.elements import Edge, Hit, Neighbour, Node
from memorygraph.graph.expiry import Expiry
from memorygraph.graph.forgetting import Forgotten
from memorygraph.graph.history import Change, Revision, Snapshot
from memorygraph.graph.invariants import BrokenInvariant, Mended
from memorygraph.graph.loads import LoadReport, Provenance
from memorygraph.graph.losses import Losses
from memorygraph.graph.namespace import Namespace, NamespaceInfo
from memorygraph.languages import Script
from memorygraph.languages.agentscript.syntax import Field
from memorygraph.limits import RunLimits
from memorygraph.memory.chat import Chat
from memorygraph.memory.datasets import DatasetName
from memorygraph.memory.duplicates import Duplicates
from memorygraph.memory.entities import CreatedEntities, CreatedRelations, Entities
from memorygraph.memory.evaluation import Evaluation
from memorygraph.memory.filters import Kind
from memorygraph.memory.items import ItemKey, ItemWrites, StoredItem
from memorygraph.memory.merging import MergeReport
from memorygraph.memory.pages import EntityGraph
from memorygraph.memory.recall import Recalled
from memorygraph.memory.remember import Remembered
from memorygraph.memory.values import (
    AddedObservations,
    AnyRelation,
    Entity,
    ObservationDeletion,
    Observations,
    Relation,
)
from memorygraph.messages.costs import ModelCost, Prices
from memorygraph.messages.graph import MessageGraph
from memorygraph.messages.neo4j_storage import MAX_CONVERSATIONS, ConversationInfo
from memorygraph.messages.record import Client
from memorygraph.messages.threads import (
    MAX_STATES_PER_QUERY,
    MAX_THREADS,
    NewValues,
    StateKey,
    StoredPart,
    ThreadInfo,
    ThreadState,
    ThreadWrite,
)
from memorygraph.query import Query
from memorygraph.runtime.convo.controller import ConvoGraphController
from memorygraph.runtime.convo.engine import RunListener
from memorygraph.runtime.pete.store import LogInfo
from memorygraph.runtime.pete.thought import Thought
from memorygraph.runtime.programs import ProgramInfo, StoredProgram
from memorygraph.runtime.runs import Listener, RunInfo, RunResult, StoredRun
from memorygraph.server.embedded import EmbeddedServer

class AsyncMemoryGraph:
    """`MemoryGraph` for asyncio: every method is awaited, and is otherwise the same."""

    connection: Connection
    namespace: str
    scope: Namespace

    def __init__(
        self, graph: MemoryGraph | Driver, namespace: str = "default", *, database: str | None = None
    ) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *_: object) -> None: ...
    @classmethod
    async def connect(
        cls,
        uri: str | None = None,
        auth: tuple[str, str] | None = None,
        database: str | None = None,
        namespace: str | None = None,
        *,
        server: EmbeddedServer | None = None,
        driver: Driver | None = None,
    ) -> Self:
        """Connect to a server, and set up its schema once."""
    async def close(self) -> None:
        """Close the connection; an embedded server goes on running, and a driver of yours stays open."""
    async def load(
        self,
        source: str | Script,
        language: str = "contextscript",
        *,
        strict: bool = False,
        dry_run: bool = False,
        file: str | None = None,
        progress: Progress | None = None,
        provenance: Provenance | None = None,
    ) -> LoadReport:
        """Parse, compile and store a script in one transaction: all of it, or nothing."""
    async def load_file(
        self,
        path: str | Path,
        language: str | None = None,
        *,
        strict: bool = False,
        dry_run: bool = False,
        batch: int | None = None,
        restart: bool = False,
        progress: Progress | None = None,
        checked: Progress | None = None,
        provenance: Provenance | None = None,
    ) -> LoadReport:
        """Load a script file; the language is told by the extension."""
    @staticmethod
    async def check(
        source: str | Script, language: str = "contextscript", *, strict: bool = False, file: str | None = None
    ) -> list[Problem]:
        """Everything that can be found wrong in a script without a database; empty when all is well."""
    @staticmethod
    async def find_warnings(
        source: str | Script, language: str = "contextscript", *, strict: bool = False, file: str | None = None
    ) -> list[Problem]:
        """What is suspicious in a script, and keeps it from nothing: in a node graph, a route that is never taken."""
    async def run(
        self,
        source: str | Script,
        input: Any = None,
        model: str | None = None,
        *,
        language: str = "agentscript",
        folder: str | Path = ".",
        import_folder: str | Path | None = None,
        agent: str | None = None,
        function: str | None = None,
        allow_tools: Iterable[str] = (),
        allow_hosts: Iterable[str] = (),
        allow_models: Iterable[str] | None = None,
        allow_namespaces: Iterable[str] = (),
        own_memory: bool = False,
        max_steps: int = 100,
        mock: bool = False,
        listener: Listener | None = None,
        ask: Callable[[Field], Any] | None = None,
        resume: str | None = None,
        limits: RunLimits | None = None,
        summary: bool = False,
        provenance: Provenance | None = None,
    ) -> RunResult:
        """Run a program and keep the record of the run: what each call of a model saw, and what it answered."""
    async def run_file(
        self,
        path: str | Path,
        input: Any = None,
        model: str | None = None,
        *,
        language: str | None = None,
        **options: Any,
    ) -> RunResult:
        """Run a program file, from its own folder; the options are those of `run`."""
    async def convo(
        self,
        source: str | Script,
        input: Any = None,
        model: str | None = None,
        *,
        allow_hosts: Iterable[str] = (),
        allow_models: Iterable[str] | None = None,
        max_steps: int = 100,
        listener: RunListener | None = None,
        resume: str | None = None,
        limits: RunLimits | None = None,
        summary: bool = False,
        file: str | None = None,
        folder: str | Path | None = None,
        import_folder: str | Path | None = None,
    ) -> ConvoGraphController:
        """A controller of a node graph whose run is stored here, as `run` stores it."""
    async def runs(self, limit: int = 100) -> list[RunInfo]:
        """The latest stored runs of programs, the newest first."""
    async def stored_run(self, id: str) -> StoredRun:
        """A stored run, of whatever language: its value, its steps and its trace as `run` gave them."""
    async def view_run(self, id: str) -> str:
        """One HTML page of a stored run: its steps, and the prompts with their sources and budgets."""
    async def programs(self) -> list[ProgramInfo]:
        """The stored programs, by name: what `load` has stored of AgentScript and node graphs."""
    async def program(self, name: str) -> StoredProgram:
        """The program that was last loaded under a name, ready for `run`."""
    async def forget_program(self, name: str) -> None:
        """Let a stored program be run by its name no longer; the records of its runs stay."""
    async def compile(
        self, source: str | Script, language: str = "contextscript", *, strict: bool = False
    ) -> list[Query]:
        """The Cypher that `load` would run for this script on what is stored now."""
    async def node(self, identifier: str) -> Node:
        """The node with this id, or at this address, `memory:N`; of a node that was merged, the one that it is now."""
    async def address(self, identifier: str) -> str:
        """The address `memory:N` by which PETE names the node with this id; it gets one if it has none yet."""
    async def edge(self, identifier: str) -> Edge:
        """The edge with this id."""
    async def element(self, identifier: str) -> Node | Edge:
        """The node or the edge with this id, or the node at this address, `memory:N`."""
    async def ids(self, beginning: str = "", limit: int = 100) -> list[str]:
        """The ids of nodes that begin with a text, in their order, and at most so many."""
    async def neighbours(self, identifier: str, depth: int = 1) -> list[Neighbour]:
        """The nodes at most `depth` edges away from a node, in or out, nearest first."""
    async def search(self, text: str, limit: int = 10, *, fuzzy: bool = False) -> list[Hit]:
        """The nodes whose name or data hold words of the text, best first. Any text is a valid search."""
    async def suggest(self, text: str, limit: int = 3) -> list[str]:
        """Names spelled almost like the words of a text, where no node has any of these: what may have been meant."""
    async def recall(
        self,
        text: str,
        budget: str | Budget | None = "2k",
        *,
        limit: int = 20,
        at: datetime | None = None,
        kinds: Sequence[Kind] = ("node", "message"),
        steps: bool = True,
        roles: bool = True,
        intent: bool = True,
        since: str | date | datetime | None = None,
        until: str | date | datetime | None = None,
        role: str | None = None,
        speaker: str | None = None,
        conversation: str | None = None,
        kind: str | None = None,
        verb: str | None = None,
    ) -> Recalled:
        """What a text brings to mind: nodes and messages by their words, and what stands beside them, best first."""
    async def embed(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Give vectors to messages and nodes that lack them, as `recall` does before it asks; returns how many."""
    async def index_messages(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Index what an earlier release stored, and return how much that was; recall does it by itself."""
    async def evaluate(
        self,
        folder: str | Path,
        *,
        format: DatasetName = "locomo",
        k: Sequence[int] = (5, 10, 20),
        facts: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Evaluation:
        """How much of the evidence recall finds among the first `k` hits, on a folder of conversations."""
    async def query(
        self,
        cypher: str,
        parameters: dict[str, Any] | None = None,
        *,
        write: bool = False,
        changed: Callable[[dict[str, int]], object] | None = None,
    ) -> list[dict[str, Any]]:
        """The rows of a Cypher query. `$namespace` is always there as a parameter."""
    def stream(
        self, cypher: str, parameters: dict[str, Any] | None = None, *, seconds: float = READ_SECONDS
    ) -> AsyncGenerator[dict[str, Any]]:
        """The rows of a Cypher query that only reads, as they come: no more than a page of them is held in memory."""
    async def delete(self, identifier: str, *, batch: int | None = None) -> LoadReport:
        """Delete a node with its edges and what is its alone, as its observations, or an edge."""
    async def duplicates(self, limit: int = 100) -> list[Duplicates]:
        """Entities that are likely one, the likeliest first: by their names, by one edit, and by equal neighbours."""
    async def merge(
        self, merged: str, into: str, *, dry_run: bool = False, provenance: Provenance | None = None
    ) -> MergeReport:
        """Join an entity with another one, in one load that `undo` takes back."""
    async def aliases(self, identifier: str) -> list[str]:
        """What a node is called beside its name: the names of the entities that were merged into it."""
    async def forget(self, identifier: str, *, dry_run: bool = False) -> Forgotten:
        """Forget a node or an edge, a thought of PETE, a run or a program, with its history and what is its alone."""
    async def forget_conversation(self, name: str, *, dry_run: bool = False) -> Forgotten:
        """Forget a conversation with all of its versions, and what was learnt from it alone."""
    async def expire(self, identifier: str, *, at: datetime | None = None, after: timedelta | None = None) -> Expiry:
        """Have a node expire at a time, or after one, or never again without either."""
    async def expire_conversation(
        self, name: str, *, at: datetime | None = None, after: timedelta | None = None
    ) -> Expiry:
        """Have a conversation expire, with what was learnt from it alone: see `expire` and `forget_conversation`."""
    async def expiry(self, identifier: str) -> Expiry:
        """When a node expires."""
    async def conversation_expiry(self, name: str) -> Expiry:
        """When a conversation expires."""
    async def purge_expired(self, *, dry_run: bool = False) -> Forgotten:
        """Forget what has expired, and report all that has gone because it had, since the last purge."""
    async def export(self, format: str = "contextscript") -> str:
        """The namespace as `contextscript`, `jsonl` or `graphml`: its nodes and edges; or as a `bundle`: all of it."""
    async def export_to(self, file: TextIO, format: str = "contextscript") -> Losses:
        """Write the namespace into an empty file, holding no more than a page of it in memory."""
    async def export_bundle(self, path: str | Path, *, progress: Progress | None = None) -> BundleReport:
        """Write the whole namespace into a file, which `import_bundle` makes the same namespace of."""
    async def import_bundle(self, path: str | Path, *, progress: Progress | None = None) -> BundleReport:
        """Store a bundle in this namespace, which has to be empty, or to have an interrupted import of the same bundle."""
    async def history(self, identifier: str) -> list[Change]:
        """All that happened to a node or an edge, the oldest first: what it was before and after, by whose load, when."""
    async def revisions(self, limit: int = 20) -> list[Revision]:
        """The last loads of the namespace, the newest first."""
    async def undo(self, revision: int, *, dry_run: bool = False, provenance: Provenance | None = None) -> LoadReport:
        """Take back what a revision did, by a new load: what it changed or deleted becomes what it was before."""
    async def at(self, revision: int | None = None, time: datetime | None = None) -> Snapshot:
        """The graph as it was at a revision, or at a time; a time without a zone is local."""
    async def purge(self, before: int | None = None) -> int:
        """Forget what was deleted or changed: all of it, or what was so before a revision."""
    async def broken_invariants(self, *, everywhere: bool = False) -> list[BrokenInvariant]:
        """The rules of every stored graph that do not hold here, or anywhere in the database, with what breaks each."""
    async def mend(self, *, everywhere: bool = False) -> Mended:
        """Remove what earlier versions left, in revisions that can be undone, and have searches find all nodes."""
    async def import_memory(self, path: str | Path, format: str = "server-memory") -> LoadReport:
        """Bring along the memory of another server or library, in one transaction."""
    async def adopt_memory(self, source: str = "mcp-neo4j-memory", groups: Sequence[str] = ()) -> LoadReport:
        """Bring along what another memory keeps in the same database; the old graph stays as it is."""
    @property
    def entities(self) -> AsyncEntities: ...
    @property
    def items(self) -> AsyncItems: ...
    @property
    def threads(self) -> AsyncThreads: ...
    async def messages(self, name: str) -> MessageGraph:
        """A conversation as a list of messages, kept in Neo4j; its first message creates it."""
    async def conversations(
        self, limit: int = MAX_CONVERSATIONS, *, after: str = "", containing: str = ""
    ) -> list[ConversationInfo]:
        """The conversations of the namespace by name: all, or so many that come `after` a name."""
    async def count_conversations(self, *, after: str = "", containing: str = "") -> int:
        """How many conversations come after a name, with a text in theirs."""
    async def view_conversation(self, name: str) -> str:
        """One HTML page of a conversation: versions side by side, edits, what is trained on, subagents inside."""
    async def costs(self, prices: Prices | str | Path | None = None) -> list[ModelCost]:
        """What the recorded answers of each model used: calls, tokens, seconds, and money where it has a price."""
    async def record(self, client: Client, conversation: str = "recorded") -> Client:
        """A copy of an `openai` client, synchronous or not, whose every call is stored in a conversation."""
    async def pete(self, name: str, model: str | None = None) -> Thought:
        """A thought: the context of this name that a model continues, or any context by its address, `memory:N`."""
    async def remember(
        self, text: str, model: str | None = None, *, attempts: int = 3, budget: str | Budget = "2k"
    ) -> Remembered:
        """Let a model write down what a text says, in ContextScript, and load that in one transaction."""
    async def chat(
        self,
        conversation: str = "chat",
        model: str | None = None,
        *,
        attempts: int = 3,
        budget: str | Budget = "2k",
        history: str | Budget = "12k",
    ) -> Chat:
        """A conversation with a model that has a memory: `say` gives its answer, and what it has remembered."""
    async def view_thought(self, name: str) -> str:
        """One HTML page of a thought, or of one of its contexts by its address: contexts that fold, and their entries."""
    async def thoughts(self) -> list[LogInfo]:
        """The outermost context of every thought, by name."""
    async def namespaces(self) -> list[NamespaceInfo]:
        """Every namespace of the database, with its revision and how much it holds."""
    async def drop_namespace(self, name: str, *, dry_run: bool = False) -> NamespaceInfo:
        """Delete a namespace with its graph, its history, conversations, programs and runs; returns what it held."""

class AsyncEntities:
    """`Entities` for asyncio."""

    async def attributed_to(self, provenance: Provenance | None) -> Entities:
        """The same entities, with writes whose records name another author."""
    async def create(
        self, entities: Sequence[Entity | Mapping[str, Any]], *, distinguish_case: bool = False
    ) -> CreatedEntities:
        """Create entities; the observations of one that exists are added to it."""
    async def relate(self, relations: Sequence[Relation | Mapping[str, Any]]) -> CreatedRelations:
        """Create relations between entities that exist; a `NotFoundError` names missing ends, and nothing is stored."""
    async def observe(self, observations: Sequence[Observations | Mapping[str, Any]]) -> list[AddedObservations]:
        """Add observations to entities that exist; returns the new ones, in the order of the request."""
    async def delete(self, names: Sequence[str]) -> dict[str, int]:
        """Delete entities with their observations and relations; missing ones are ignored. Returns the counts."""
    async def delete_observations(self, deletions: Sequence[ObservationDeletion | Mapping[str, Any]]) -> dict[str, int]:
        """Delete observations by their texts; missing ones are ignored."""
    async def delete_relations(self, relations: Sequence[AnyRelation | Mapping[str, Any]]) -> dict[str, int]:
        """Delete relations; missing ones are ignored."""
    async def aliases(self, names: Iterable[str]) -> dict[str, str]:
        """Those of these names that are aliases, each with the name of the entity that it stands for."""
    async def names(self, beginning: str = "", limit: int = 100) -> list[str]:
        """The names of entities that begin with a text, in their order, and at most so many."""
    async def missing(self, names: Iterable[str]) -> list[str]:
        """Those of these names that no entity has, as a name or an alias."""
    async def alike(self, names: Iterable[str]) -> dict[str, str]:
        """Those of these names that no entity has, the first ones, each with the entity that has it in another case."""
    async def read_graph(
        self, *, max_tokens: int | None = None, cursor: str | None = None, names_only: bool = False
    ) -> EntityGraph:
        """All entities and relations, or a page of them; with `names_only` just the names and types of entities."""
    async def open(
        self,
        names: Sequence[str],
        *,
        max_tokens: int | None = None,
        cursor: str | None = None,
        names_only: bool = False,
    ) -> EntityGraph:
        """The entities of these names or aliases, and the relations that begin or end at one of them."""
    async def search(
        self, text: str, *, max_tokens: int | None = None, cursor: str | None = None, names_only: bool = False
    ) -> EntityGraph:
        """The entities whose name, type or observations contain the text in any case, and the relations at them."""

class AsyncItems:
    """`Items` for asyncio."""

    async def get(self, addresses: Iterable[ItemKey]) -> dict[ItemKey, StoredItem]:
        """Fetch items; those that are not there are left out."""
    def list_under(self, prefix: str, *, skip: int = 0, limit: int | None = None) -> AsyncGenerator[StoredItem]:
        """Yield the items of a shelf and of those inside it, in the order of their shelves and keys."""
    async def find(self, text: str, prefix: str = "", *, limit: int) -> list[tuple[StoredItem, float]]:
        """Find the items of a shelf and of those inside it that a text brings to mind, best first, with their scores."""
    async def list_shelves(self, prefix: str = "") -> list[str]:
        """List the shelves that begin so and have items."""
    async def renew(self, items: Iterable[StoredItem]) -> None:
        """Have items that were read live as long again as when they were stored."""
    async def write(self, writes: ItemWrites, *, file: str | None = None) -> LoadReport | None:
        """Store and delete items in one transaction, which is one revision; None where nothing is done."""

class AsyncThreads:
    """`Threads` for asyncio."""

    async def list_threads(self, limit: int = MAX_THREADS, *, after: str = "") -> list[ThreadInfo]:
        """The threads by id: all, or so many that come `after` one."""
    async def put(
        self,
        key: StateKey,
        properties: Mapping[str, Any],
        *,
        parent: str | None,
        values: NewValues,
        holds: Mapping[str, str],
    ) -> bool:
        """Store a state with its values, in one transaction; False if a value that it refers to is not there."""
    async def put_writes(self, key: StateKey, writes: Sequence[ThreadWrite]) -> None:
        """Keep what a task wrote after a state, in one transaction; what is there already stays."""
    async def state(self, thread: str, graph: str = "", checkpoint: str | None = None) -> ThreadState | None:
        """The state with an id, or the last one of a thread; None if there is none."""
    def states(
        self,
        thread: str | None = None,
        graph: str | None = None,
        *,
        before: str | None = None,
        limit: int = MAX_STATES_PER_QUERY,
    ) -> AsyncGenerator[ThreadState]:
        """Yield the states of a thread, of one graph of it, or of all threads, the newest first."""
    async def read_lists(self, tips: Mapping[str, int]) -> dict[str, list[StoredPart]]:
        """Read lists by the ids of their last values, given with their lengths: each from its first element on."""
    async def delete(self, thread: str) -> None:
        """Delete a thread with all its states, and of its messages those that nothing else has."""
    async def delete_runs(self, runs: Sequence[str]) -> None:
        """Delete the states that these runs made."""
    async def delete_states(self, keys: Iterable[StateKey]) -> None:
        """Delete states."""
    async def keys(self, thread: str) -> list[tuple[StateKey, str | None]]:
        """The states of a thread, the oldest of each graph first, each with the id of its parent, or ''."""
    async def copy(self, source: str, target: str) -> None:
        """Copy all states of a thread to another, which shares their values, in one transaction."""
