"""The Python client: everything that memorygraph does, as methods of one object.

>>> from memorygraph import MemoryGraph
>>> [problem.code for problem in MemoryGraph.check('Node(node_id="a", nmae="A", data="");')]
['unknown-argument']
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TextIO, TypeVar

from memorygraph.budget import Budget
from memorygraph.errors import MemoryGraphError, NotFoundError, Problem, QueryError, RestartNeededError
from memorygraph.graph import bundles, elements, exports
from memorygraph.graph.aliases import find_merged
from memorygraph.graph.batches import delete_in_batches, load_batches
from memorygraph.graph.bundle_exports import export_bundle_file
from memorygraph.graph.bundle_imports import import_bundle
from memorygraph.graph.bundles import BundleReport
from memorygraph.graph.connection import READ_SECONDS, Connection, Driver
from memorygraph.graph.cypher_limits import check_nesting
from memorygraph.graph.driver_errors import ran_out_of_time
from memorygraph.graph.elements import Edge, Hit, Neighbour, Node
from memorygraph.graph.expiry import ExpiringKind, Expiry, ExpiryGate, get_expiry, purge_expired, set_expiry
from memorygraph.graph.forgetting import Forgotten, find_target, forget_for_good
from memorygraph.graph.history import Change, Revision, Snapshot, history_of, list_revisions, purge, snapshot
from memorygraph.graph.invariants import BrokenInvariant, Examination, Mended
from memorygraph.graph.loads import Loader, LoadReport, Provenance
from memorygraph.graph.losses import Losses
from memorygraph.graph.namespace import (
    Namespace,
    NamespaceInfo,
    begin_drop,
    drop_namespace,
    find_namespace,
    list_namespaces,
)
from memorygraph.graph.readonly import check_reads_only
from memorygraph.graph.schema import apply_schema
from memorygraph.graph.undo import undo_revision
from memorygraph.home import check_namespace, chosen_namespace, is_own_home, remove_pages
from memorygraph.languages import LANGUAGES, Script, language_of, parse, parse_batches
from memorygraph.languages.contextscript import ContextScriptProgram
from memorygraph.limits import MAX_READ_SECONDS, require_one
from memorygraph.messages.costs import ModelCost, Prices, list_costs
from memorygraph.messages.graph import MessageGraph
from memorygraph.messages.neo4j_storage import (
    MAX_CONVERSATIONS,
    ConversationInfo,
    check_conversation_name,
    count_stored_conversations,
    list_stored_conversations,
)
from memorygraph.messages.record import Client, record
from memorygraph.messages.recorder import Recorder
from memorygraph.messages.spool import Spool
from memorygraph.messages.stored_conversations import (
    find_stored_conversation,
    missing_conversation,
    open_conversation,
)
from memorygraph.query import Query
from memorygraph.scripts import open_script, read_script
from memorygraph.server.embedded import EmbeddedServer, require_uri

if TYPE_CHECKING:
    from datetime import date, datetime, timedelta

    from memorygraph.languages.agentscript.syntax import Field
    from memorygraph.limits import RunLimits
    from memorygraph.memory.chat import Chat
    from memorygraph.memory.datasets import DatasetName
    from memorygraph.memory.duplicates import Duplicates
    from memorygraph.memory.entities import Entities
    from memorygraph.memory.evaluation import Evaluation
    from memorygraph.memory.filters import Kind
    from memorygraph.memory.items import Items
    from memorygraph.memory.merging import MergeReport
    from memorygraph.memory.recall import Recalled, Recaller
    from memorygraph.memory.remember import Remembered
    from memorygraph.messages.threads import Threads
    from memorygraph.runtime.convo.controller import ConvoGraphController
    from memorygraph.runtime.convo.engine import RunListener
    from memorygraph.runtime.pete.store import LogInfo
    from memorygraph.runtime.pete.thought import Thought
    from memorygraph.runtime.programs import ProgramInfo, StoredProgram
    from memorygraph.runtime.runs import Listener, RunInfo, RunResult, StoredRun

MAX_NEIGHBOURS = 20

Progress = Callable[[int], None]
Found = TypeVar("Found")


class MemoryGraph:
    """One namespace of a knowledge graph in Neo4j. Safe to share between threads.

    Example::

        with MemoryGraph.connect(namespace="people") as mg:
            mg.load('Node(node_id="ada", name="Ada", data="wrote the first program");')
            print(mg.node("ada").name)

    Given a `neo4j.Driver` that you made, it works through that, and leaves it open: `MemoryGraph(driver)`.
    """

    def __init__(
        self, connection: Connection | Driver, namespace: str = "default", *, database: str | None = None
    ) -> None:
        """Take a connection as it is; through a driver, look for the schema and set it up, as `connect` does."""
        self.namespace = check_namespace(namespace)
        if not isinstance(connection, Connection):
            connection = Connection(connection, database=database)
            apply_schema(connection)
        elif database:
            raise MemoryGraphError("a connection is one to a database already: name that where the connection is made")
        self.connection = connection
        self.scope = Namespace(connection, namespace)
        if connection.before_use is None:
            connection.before_use = ExpiryGate(clear_files)
        self._loader = Loader(self.scope)

    @classmethod
    def connect(
        cls,
        uri: str | None = None,
        auth: tuple[str, str] | None = None,
        database: str | None = None,
        namespace: str | None = None,
        *,
        server: EmbeddedServer | None = None,
        driver: Driver | None = None,
    ) -> Self:
        """Connect to a server, and set up its schema once.

        Without `uri` it is NEO4J_URI, and without that the embedded server, which is started if it is not
        running, and goes on running afterwards. `auth` is a user name and a password, by default
        NEO4J_USERNAME and NEO4J_PASSWORD; `namespace` is by default MEMORYGRAPH_NAMESPACE, then "default".

        With a `driver` of yours that is used, with the address, the login and the limits that you gave it, and left
        open at the end; of the environment only MEMORYGRAPH_NAMESPACE counts then.

        Raises:
            ConnectionError: the server cannot be reached or started, or refuses the credentials.
        """
        if driver is not None:
            if uri or auth or server:
                raise MemoryGraphError("a driver has its address and login: give it without `uri`, `auth` and `server`")
            return cls(driver, chosen_namespace(namespace), database=database)
        uri = uri or os.environ.get("NEO4J_URI")
        database = database or os.environ.get("NEO4J_DATABASE") or None
        namespace = chosen_namespace(namespace)
        if uri:
            return cls._prepared(Connection(uri, auth or login(), database), namespace)
        server = server or EmbeddedServer()
        try:
            return cls._prepared(connect_embedded(server, auth, database), namespace)
        except RestartNeededError:
            server.up()
            return cls._prepared(connect_embedded(server, auth, database), namespace)

    @classmethod
    def _prepared(cls, connection: Connection, namespace: str) -> Self:
        """Set up the schema; the connection is closed where that fails."""
        try:
            # Asked also where the schema is known: that is how a server is found whose database works no more.
            apply_schema(connection)
            return cls(connection, namespace)
        except MemoryGraphError:
            connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; an embedded server goes on running, and a driver of yours stays open."""
        self.connection.close()

    def load(
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
        """Parse, compile and store a script in one transaction: all of it, or nothing.

        A program of AgentScript or a node graph is stored under the name of its file, and run by it: `program`.

        A dry run does everything and rolls back, so that its report is exact, but names no revision. `file` names the
        source in errors; `progress` is told the number of rows written, batch by batch. `provenance` says who asked
        for it.

        Raises:
            ScriptError: the script is wrong; `.problems` says all that was found.
            ConnectionError: the server cannot be reached.
        """
        script = _script(source, language, strict=strict, file=file)
        options = {"dry_run": dry_run, "progress": progress, "provenance": provenance}
        report: LoadReport = LANGUAGES[script.language].load(self.scope, script, **options)
        return report

    def load_file(
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
        """Load a script file; the language is told by the extension.

        With `batch`, every `batch` statements are a transaction of their own, and the memory needed does not
        grow with the file, but that a log of PETE is read as a whole. A load that was interrupted goes on after its
        last batch when it is run again, unless `restart` is true. `checked` is told the number of its statements when
        all of it was read once.

        Raises:
            NotFoundError: there is no such file, or no language has this extension.
            ScriptError: the script is wrong.
        """
        name = language_of(path, language).name
        if batch is None:
            text = read_script(path)
            return self.load(
                text, name, strict=strict, dry_run=dry_run, file=str(path), progress=progress, provenance=provenance
            )
        if batch < 1 or dry_run:
            raise MemoryGraphError("a batch has at least one statement, and a dry run has no batches")
        told = {"progress": progress, "checked": checked}
        if LANGUAGES[name].batched_store:
            script = parse(read_script(path), name, strict=strict, file=str(path))
            options = {"restart": restart, "provenance": provenance, **told}
            report: LoadReport = LANGUAGES[name].load_batches(self.scope, script, batch, **options)
            return report
        with open_script(path) as stream:

            def programs() -> Iterator[ContextScriptProgram]:
                stream.seek(0)  # it is read twice: checked as a whole, then stored
                return parse_batches(stream, name, size=batch, strict=strict, file=str(path))

            return load_batches(self._loader, programs, restart=restart, provenance=provenance, **told)

    @staticmethod
    def check(
        source: str | Script, language: str = "contextscript", *, strict: bool = False, file: str | None = None
    ) -> list[Problem]:
        """Everything that can be found wrong in a script without a database; empty when all is well.

        An id that the script does not declare may be stored, so it is no problem here.
        """
        script = _script(source, language, strict=strict, file=file)
        return LANGUAGES[script.language].check(script)

    @staticmethod
    def find_warnings(
        source: str | Script, language: str = "contextscript", *, strict: bool = False, file: str | None = None
    ) -> list[Problem]:
        r"""What is suspicious in a script, and keeps it from nothing: in a node graph, a route that is never taken.

        >>> [warning.code for warning in MemoryGraph.find_warnings("@exit\n@to a\n> node a\n> goto a", "convo")]
        ['dead-route']
        """
        script = _script(source, language, strict=strict, file=file)
        return LANGUAGES[script.language].find_warnings(script)

    def run(
        self,
        source: str | Script,
        input: Any = None,  # noqa: A002 - the name users type
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
        """Run a program and keep the record of the run: what each call of a model saw, and what it answered.

        `input` is a JSON value. The program's files lie in `folder`, and it reads no other, but a node graph imports
        from anywhere in `import_folder`, which holds `folder`; its tools do nothing unless their scheme is in
        `allow_tools`, or their host in `allow_hosts`; nor is a model asked at a host that the program names. `model` is
        asked in place of the program's own, and with `mock` none is: every answer is the smallest of its shape. With
        `allow_models` only these are asked. Its memories are this namespace, those in `allow_namespaces`, and files in
        `folder`; with `own_memory` only the first. `listener` hears each event as it happens, `ask` is asked for what
        the input lacks. A node graph (`language="convo"`) can `resume` the run of this id, or the `last` one, that was
        broken off: it keeps its input, and repeats no completed call of a model or a function. `max_steps` is how many
        generations or nodes, and `limits` bounds the work, the seconds and the bytes. With `summary` a node graph ends
        with a model's summary for people, `.summary`. `provenance` is whose the writes of its memories are.

        Raises:
            ScriptError: the program is wrong, or something in it cannot be done.
            ModelError: a model endpoint failed.
            Cancelled: what the run was a part of has been cancelled.
        """
        from memorygraph.runtime.permissions import Permissions
        from memorygraph.runtime.runs import RunRequest

        program = _script(source, language)
        allowed = Permissions.of(allow_tools, allow_hosts, allow_models, allow_namespaces, own_memory=own_memory)
        request = RunRequest(
            input,
            model,
            Path(folder),
            Path(import_folder) if import_folder is not None else None,
            agent,
            function,
            allowed,
            max_steps,
            mock,
            listener,
            ask,
            resume,
            limits,
            summary,
            provenance,
        )
        result: RunResult = LANGUAGES[program.language].run(self, program, request)
        return result

    def run_file(
        self,
        path: str | Path,
        input: Any = None,  # noqa: A002 - the name users type
        model: str | None = None,
        *,
        language: str | None = None,
        **options: Any,
    ) -> RunResult:
        """Run a program file, from its own folder; the options are those of `run`.

        Raises:
            NotFoundError: there is no such file, or no language has this extension.
            ScriptError: the program is wrong, or something in it cannot be done.
            ModelError: a model endpoint failed.
        """
        program = parse(read_script(path), language_of(path, language).name, file=str(path))
        return self.run(program, input, model, folder=Path(path).parent, **options)

    def convo(
        self,
        source: str | Script,
        input: Any = None,  # noqa: A002 - the name users type
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
        """A controller of a node graph whose run is stored here, as `run` stores it.

        Its `run` runs the graph, its `steps` give each step, and its `conversation` takes one at each `complete`; the
        result says as which `run` and in which `conversation` it is stored. The options are those of `run`, and
        `folder` is that of the `file` where only this is given; `listener` hears of the events that it overrides.
        `convo_graph`, `execute_convo_graph` and `Conversation` store their runs with `graph=mg`.

        Example::

            for step in mg.convo(text, input="A review").steps():
                print(step.node, step.output)

        Raises:
            ScriptError: the source is wrong.
            ConflictError, NotFoundError: the run to resume is done, of another program, or not there.
        """
        from memorygraph.runtime.convo.controller import ConvoGraphController
        from memorygraph.runtime.permissions import Permissions

        program: Any = _script(source, "convo", file=file)
        if program.language != "convo":
            raise MemoryGraphError(f"a controller runs a node graph, and this is a program in {program.language}")
        return ConvoGraphController(
            program,
            graph=self,
            input=input,
            model=model,
            permissions=Permissions.of((), allow_hosts, allow_models),
            max_steps=max_steps,
            listener=listener,
            resume=resume or (),
            limits=limits,
            summary=summary,
            folder=folder or (Path(file).parent if file else None),
            import_folder=import_folder,
        )

    def runs(self, limit: int = 100) -> list[RunInfo]:
        """The latest stored runs of programs, the newest first.

        Example::

            for run in mg.runs():
                print(run.id, run.language, run.program, run.status)
        """
        from memorygraph.runtime.stored_runs import list_runs

        require_one(limit, "run")
        return list_runs(self.scope, limit)

    def stored_run(self, id: str) -> StoredRun:  # noqa: A002 - the name users type
        """A stored run, of whatever language: its value, its steps and its trace as `run` gave them.

        `id` is its id, or `last` for the latest of the namespace. Its `.transcript` is what was said in it; for a node
        graph that is Convo.

        Raises:
            NotFoundError: there is no run of this id.
        """
        from memorygraph.runtime.stored_runs import find_stored_run

        return find_stored_run(self.scope, id)

    def view_run(self, id: str) -> str:  # noqa: A002 - the name users type
        """One HTML page of a stored run: its steps, and the prompts with their sources and budgets.

        Raises:
            NotFoundError: there is no run of this id.
        """
        from memorygraph.viewing.run import render_run

        return render_run(self.stored_run(id))

    def programs(self) -> list[ProgramInfo]:
        """The stored programs, by name: what `load` has stored of AgentScript and node graphs."""
        from memorygraph.runtime.programs import list_stored_programs

        return list_stored_programs(self.scope)

    def program(self, name: str) -> StoredProgram:
        """The program that was last loaded under a name, ready for `run`.

        Raises:
            NotFoundError: there is no stored program of this name.
        """
        from memorygraph.runtime.programs import find_program

        return find_program(self.scope, name)

    def forget_program(self, name: str) -> None:
        """Let a stored program be run by its name no longer; the records of its runs stay.

        Raises:
            NotFoundError: there is no stored program of this name.
        """
        from memorygraph.runtime.programs import forget_program

        forget_program(self.scope, name)

    def compile(self, source: str | Script, language: str = "contextscript", *, strict: bool = False) -> list[Query]:
        """The Cypher that `load` would run for this script on what is stored now.

        Raises:
            ScriptError: the script is wrong.
        """
        script = _script(source, language, strict=strict)
        return LANGUAGES[script.language].compile(self.scope, script)

    def node(self, identifier: str) -> Node:
        """The node with this id, or at this address, `memory:N`; of a node that was merged, the one that it is now.

        Raises:
            NotFoundError: there is no such node.
        """
        return self._require(self._find_node(identifier), "node", identifier)

    def address(self, identifier: str) -> str:
        """The address `memory:N` by which PETE names the node with this id; it gets one if it has none yet.

        An address is that of one node for good: it stays when the node changes, or is deleted and brought back by an
        undo, and no other node of the namespace ever gets it.

        Example::

            mg.load('Node(node_id="ada", name="Ada", data="");')
            mg.address("ada")  # "memory:1", which PETE can write
            mg.node("memory:1").name  # "Ada"

        Raises:
            NotFoundError: there is no node of this id.
        """
        from memorygraph.runtime.pete.addresses import assign_address

        return f"memory:{self._require(assign_address(self.scope, identifier), 'node', identifier)}"

    def edge(self, identifier: str) -> Edge:
        """The edge with this id.

        Raises:
            NotFoundError: there is no edge of this id.
        """
        return self._require(elements.find_edge(self.scope, identifier), "edge", identifier)

    def element(self, identifier: str) -> Node | Edge:
        """The node or the edge with this id, or the node at this address, `memory:N`.

        Raises:
            NotFoundError: there is neither.
            ConflictError: there are both, which raw Cypher can make.
        """
        edge = elements.find_edge(self.scope, identifier)
        node = self._find_node(identifier, former=edge is None)
        if node and edge:
            raise elements.ambiguity_of(identifier, node, edge)
        return node or self._require(edge, "node or edge", identifier)

    def ids(self, beginning: str = "", limit: int = 100) -> list[str]:
        """The ids of nodes that begin with a text, in their order, and at most so many."""
        require_one(limit, "id")
        return [row["id"] for row in self.scope.read("read/ids-beginning", text=beginning, limit=limit)]

    def neighbours(self, identifier: str, depth: int = 1) -> list[Neighbour]:
        """The nodes at most `depth` edges away from a node, in or out, nearest first.

        Raises:
            NotFoundError: there is no such node.
        """
        if not 1 <= depth <= MAX_NEIGHBOURS:
            raise MemoryGraphError(f"a depth lies between 1 and {MAX_NEIGHBOURS}, and this is {depth}")
        found = elements.find_neighbours(self.scope, identifier, depth)
        if not found and (node := self.node(identifier)).id != identifier:
            found = elements.find_neighbours(self.scope, node.id, depth)
        return found

    def search(self, text: str, limit: int = 10, *, fuzzy: bool = False) -> list[Hit]:
        """The nodes whose name or data hold words of the text, best first. Any text is a valid search.

        With `fuzzy` a word may be one letter off, and one of eight letters or more two.

        >>> mg.search("Armstong", fuzzy=True)  # doctest: +SKIP
        """
        require_one(limit, "node")
        return elements.search(self.scope, text, limit, fuzzy=fuzzy)

    def suggest(self, text: str, limit: int = 3) -> list[str]:
        """Names spelled almost like the words of a text, where no node has any of these: what may have been meant.

        >>> mg.suggest("Armstong")  # doctest: +SKIP
        ['Neil Armstrong']
        """
        from memorygraph.memory.words import words_of

        require_one(limit, "name")
        return elements.suggest(self.scope, " ".join(words_of(text)), limit)

    def recall(
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
        """What a text brings to mind: nodes and messages by their words, and what stands beside them, best first.

        With MEMORYGRAPH_EMBEDDING_MODEL set, by their meaning too. As a text it is what a prompt gets: each hit with
        its source, within the budget. `at` is when it is asked, for what it says of time; `kinds` leaves only nodes or
        messages; without `steps` there is only what fits by itself. With `roles`, what the user said counts more than
        what an assistant said. With `intent`, it counts what the text asks for: an order and a summary get hits of each
        session, and wishes that a user stated count more otherwise.

        Filters are parts of the search: `since` and `until` (a time, or a day with all of it, of UTC), `role`,
        `speaker` and `conversation` leave messages only, `kind` and `verb` (of an edge at either end) nodes only.

        >>> mg.recall("where do I live", since="2024-05-01", role="user")  # doctest: +SKIP

        Raises:
            MemoryGraphError: the budget, the limit or a filter is invalid, or nothing can be what is asked for.
            NotFoundError: nothing was found, and there is no such conversation, kind or verb.
            ModelError: the embedding model failed.
        """
        require_one(limit, "hit")
        of = None if budget is None else Budget.of(budget)
        return self._recaller(
            text,
            budget=of,
            limit=limit,
            at=at,
            kinds=kinds,
            steps=steps,
            roles=roles,
            intent=intent,
            since=since,
            until=until,
            role=role,
            speaker=speaker,
            conversation=conversation,
            kind=kind,
            verb=verb,
        )

    def embed(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Give vectors to messages and nodes that lack them, as `recall` does before it asks; returns how many.

        Without MEMORYGRAPH_EMBEDDING_MODEL there is nothing to do. `progress` is told how many are done, and of how
        many. What is done stays: interrupted, it goes on from there when it is called again.

        Raises:
            ModelError: the embedding model failed.
        """
        return self._recaller.embed(progress)

    def index_messages(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Index what an earlier release stored, and return how much that was; recall does it by itself.

        What is stored is indexed at once; this is for a long message of an earlier release to be found by each of its
        passages, and for words in scripts such as Korean to be found by their parts. It can be stopped and run again.
        `progress` is called with the number of messages and nodes done, and of all.
        """
        from memorygraph.memory.recall import index_stored

        return index_stored(self.scope, progress)

    @cached_property
    def _recaller(self) -> Recaller:
        from memorygraph.memory.recall import Recaller

        return Recaller(self.scope)

    def evaluate(
        self,
        folder: str | Path,
        *,
        format: DatasetName = "locomo",  # noqa: A002 - the name of the option
        k: Sequence[int] = (5, 10, 20),
        facts: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Evaluation:
        """How much of the evidence recall finds among the first `k` hits, on a folder of conversations.

        They are stored in namespaces of their own, which are deleted again; with `facts`, what speakers said is stored
        as one-sentence facts too. Neither answers nor evidence is read before all questions are ranked. The formats
        are those of the data sets LoCoMo and BEAM, as `memorygraph.memory.datasets` describes them.

        Raises:
            MemoryGraphError: the folder has no conversations, a file holds no conversation, the format is another, or
                `k` has no number of hits.
            ModelError: the embedding model failed.
        """
        from memorygraph.memory.datasets import DATASETS
        from memorygraph.memory.evaluation import RecallEvaluator

        if format not in DATASETS:
            raise MemoryGraphError(f"there is no format `{format}` to evaluate; there are: {', '.join(DATASETS)}")
        if not k or any(type(number) is not int or number < 1 for number in k):
            raise MemoryGraphError(f"`k` is whole numbers of hits, such as (5, 10, 20), and not {k!r}")
        evaluator = RecallEvaluator(self.connection, DATASETS[format], k, facts, self._recaller.embedder)
        return evaluator.run(Path(folder), progress)

    def query(
        self,
        cypher: str,
        parameters: dict[str, Any] | None = None,
        *,
        write: bool = False,
        changed: Callable[[dict[str, int]], object] | None = None,
    ) -> list[dict[str, Any]]:
        """The rows of a Cypher query. `$namespace` is always there as a parameter.

        Without `write` the query can only read: it is refused if it writes, loads files, or calls a procedure or a
        function that is not known to be harmless. Cypher sees all namespaces: filter by `$namespace`. A query that
        reads ends after 30 seconds, and `stream` may take longer; one that writes ends after an hour, and `changed` is
        called with what it has changed, such as `{"nodes_created": 2}`.
        Dates, times, durations and points are values of Neo4j's driver, and can be given back as parameters; of nodes
        and relationships there are their properties.

        Raises:
            QueryError: the query is wrong or refused.
        """
        query = Query(cypher, {"namespace": self.namespace, **(parameters or {})})
        self.scope.prepare()
        if write:
            check_nesting(cypher)
            try:
                rows, counts = self.connection.write(
                    lambda transaction: transaction.run_counted(query), repeatable=False
                )
            finally:  # a recall that looks through all texts meanwhile does not see what is not committed yet
                self.connection.raw_writes += 1
            if changed is not None:
                changed(counts)
            return rows
        check_reads_only(self.connection, query)
        with _naming_seconds():
            return self.connection.read(query, repeatable=False)

    def stream(
        self, cypher: str, parameters: dict[str, Any] | None = None, *, seconds: float = READ_SECONDS
    ) -> Generator[dict[str, Any], None, None]:
        """The rows of a Cypher query that only reads, as they come: no more than a page of them is held in memory.

        Reading all rows may take `seconds`, at most a million of them; the rest is as for `query`.

        Raises:
            QueryError: the query is wrong, refused, or took too long.
        """
        if not 0 < seconds <= MAX_READ_SECONDS:
            raise QueryError(f"`seconds` is a number above 0 and up to {MAX_READ_SECONDS:,.0f}, and not {seconds}")
        query = Query(cypher, {"namespace": self.namespace, **(parameters or {})})
        self.scope.prepare()
        check_reads_only(self.connection, query)
        with _naming_seconds():
            yield from self.connection.stream(query, seconds=seconds)

    def delete(self, identifier: str, *, batch: int | None = None) -> LoadReport:
        """Delete a node with its edges and what is its alone, as its observations, or an edge.

        A node with tens of thousands of observations, edges or facts is too large for one transaction: with `batch`,
        these go first, so many in each revision. If that is interrupted, the node is still there, and the same call
        goes on.

        Raises:
            NotFoundError: there is no such id, or none any more.
            ConflictError: a node and an edge have this id, which raw Cypher can make.
            TooLargeError: it is too large for one transaction; nothing was changed.
        """
        if batch is not None and batch < 1:
            raise MemoryGraphError(f"a batch holds at least one edge, and this is {batch}")
        deleted = self.element(identifier)
        if isinstance(deleted, Node) and batch is not None:
            return delete_in_batches(self._loader, deleted.id, batch)
        return self._loader.delete([deleted.id])

    def duplicates(self, limit: int = 100) -> list[Duplicates]:
        """Entities that are likely one, the likeliest first: by their names, by one edit, and by equal neighbours.

        Nothing is changed: `merge` joins two of them. One entity may be in several groups, so ask again after a merge.
        Time and memory grow with the number of entities and edges, and never with their pairs.

        Example::

            for found in mg.duplicates():
                print(found.reason, [entity.name for entity in found.entities])
            mg.merge("ada_2", into="ada")
        """
        from memorygraph.memory.duplicates import list_duplicates

        require_one(limit, "group")
        return list_duplicates(self.scope, limit)

    def merge(
        self, merged: str, into: str, *, dry_run: bool = False, provenance: Provenance | None = None
    ) -> MergeReport:
        """Join an entity with another one, in one load that `undo` takes back.

        Both are named by an id, an address `memory:N`, a name that is no other's, or an alias. The second keeps its
        name and id, and gets the edges, the observations and the messages of the first, whose name, id and address are
        its aliases then. A dry run does everything and rolls back.

        Example::

            mg.merge("ada_2", into="ada")
            mg.node("ada_2").id  # "ada"

        Raises:
            NotFoundError: there is no such entity.
            ConflictError: they are one already, a name is that of several, or one is no entity.
            TooLargeError: it is too large for one transaction; nothing was changed.
        """
        from memorygraph.memory.merging import merge_into

        def find(text: str) -> str:
            node = self._find_node(text) if text.startswith("memory:") else None
            return node.id if node else text

        return merge_into(self.scope, find(merged), find(into), dry_run=dry_run, provenance=provenance)

    def aliases(self, identifier: str) -> list[str]:
        """What a node is called beside its name: the names of the entities that were merged into it.

        Raises:
            NotFoundError: there is no such node.
        """
        return elements.list_aliases(self.scope, self.node(identifier).id)

    def forget(self, identifier: str, *, dry_run: bool = False) -> Forgotten:
        """Forget a node or an edge, a thought of PETE, a run or a program, with its history and what is its alone.

        It is named by its id; a node also by its name or an alias, where nothing has that as its id.
        It cannot be undone: nothing of it is left in the history or in an export, and reading as of an earlier
        revision does not find it. With a node go the runs of AgentScript that read it; of an edge, its verb stays in
        the records of those that went along it. What something else says too stays, and is counted. A node that is
        deleted already can be forgotten, too. Killed half way, it goes on when it is called again. A dry run only
        reports what would go.

        Example::

            print(mg.forget("ada", dry_run=True).went)  # {'edges': 2, 'former states': 1, 'nodes': 3}
            mg.forget("Ada Lovelace")

        Raises:
            NotFoundError: nothing has or had this id, and no node has this name.
            ConflictError: several things have it.
        """
        from memorygraph.compiler.pete.state import id_of
        from memorygraph.runtime.pete.addresses import find_addressed, parse_address

        given = identifier
        address = parse_address(identifier) if identifier.startswith("memory:") else None
        if address is not None:  # what PETE made is found by it also where it is deleted
            addressed = find_addressed(self.scope.read, [address])
            identifier = addressed[0].id if addressed else id_of(address)
        kind, target = find_target(self.scope, identifier, given)
        return forget_for_good(
            self.scope,
            kind,
            target,
            named=None if target == identifier else identifier,
            dry_run=dry_run,
            clear=partial(clear_files, self.scope),
        )

    def forget_conversation(self, name: str, *, dry_run: bool = False) -> Forgotten:
        """Forget a conversation with all of its versions, and what was learnt from it alone.

        It cannot be undone. Messages that another conversation has too stay, and so do facts that something else says;
        what the conversation changed becomes what it was before. What is appended to it meanwhile is refused, or
        begins another conversation of this name. Killed half way, it goes on when it is called again. A dry run only
        reports what would go.

        Raises:
            NotFoundError: there is no conversation of this name.
        """
        if not dry_run:
            Recorder(self.scope, "").flush()  # a call that names no conversation may continue this one
        if self.scope.read("forget/any-conversation", name=name) == []:
            raise missing_conversation(self.scope, name)
        return forget_for_good(
            self.scope, "conversation", name, dry_run=dry_run, clear=partial(clear_files, self.scope)
        )

    def expire(self, identifier: str, *, at: datetime | None = None, after: timedelta | None = None) -> Expiry:
        """Have a node expire at a time, or after one, or never again without either.

        From then on no read finds it, nor its edges, its observations, its history and what else `forget` takes: it is
        forgotten with the first read or write of its namespace after its time, or by `purge_expired`. Times are those
        of the database's clock; a time without a zone is local, and one less than a second away is now.

        Example::

            mg.expire("ada", after=timedelta(days=30))
            mg.expiry("ada").expires_at
            mg.expire("ada")  # never

        Raises:
            NotFoundError: there is no such node, or it has expired.
            MemoryGraphError: both are given.
        """
        return self._set_expiry("node", self.node(identifier).id, at, after)

    def expire_conversation(self, name: str, *, at: datetime | None = None, after: timedelta | None = None) -> Expiry:
        """Have a conversation expire, with what was learnt from it alone: see `expire` and `forget_conversation`.

        Raises:
            NotFoundError: there is no such conversation, or it has expired.
            MemoryGraphError: both are given.
        """
        return self._set_expiry("conversation", name, at, after)

    def _set_expiry(self, kind: ExpiringKind, of: str, at: datetime | None, after: timedelta | None) -> Expiry:
        expiry = set_expiry(self.scope, kind, of, at, after)
        self._remove_expired()  # it may be due already
        return expiry

    def _remove_expired(self) -> None:
        """Remove what has expired, without waiting for the next look at it."""
        if isinstance(self.connection.before_use, ExpiryGate):
            self.connection.before_use.look(self.scope)

    def expiry(self, identifier: str) -> Expiry:
        """When a node expires.

        Raises:
            NotFoundError: there is no such node, or it has expired.
        """
        return get_expiry(self.scope, "node", self.node(identifier).id)

    def conversation_expiry(self, name: str) -> Expiry:
        """When a conversation expires.

        Raises:
            NotFoundError: there is no such conversation, or it has expired.
        """
        return get_expiry(self.scope, "conversation", name)

    def purge_expired(self, *, dry_run: bool = False) -> Forgotten:
        """Forget what has expired, and report all that has gone because it had, since the last purge.

        A read after its time forgets it, too, so that most of the report may be of what is gone already. A dry run
        changes nothing, and does not count as a purge.
        """
        return purge_expired(self.scope, clear_files, dry_run=dry_run)

    def export(self, format: str = "contextscript") -> str:  # noqa: A002 - the name users type
        """The namespace as `contextscript`, `jsonl` or `graphml`: its nodes and edges; or as a `bundle`: all of it.

        `server-memory` is the file of the reference MCP memory server. `export_to` writes a graph of any size, and says
        what the format could not say.
        """
        text = io.StringIO()
        self.export_to(text, format)
        return text.getvalue()

    def export_to(self, file: TextIO, format: str = "contextscript") -> Losses:  # noqa: A002 - the name users type
        """Write the namespace into an empty file, holding no more than a page of it in memory.

        Returns what is not in the file: what the format cannot say, and what else the namespace holds.

        Raises:
            NotFoundError: there is no such format.
            MemoryGraphError: the namespace changed during the export, repeatedly.
        """
        if format == "bundle":
            return bundles.export_bundle(self.scope, file).left_out
        if format == "server-memory":
            from memorygraph.memory.transfer import export_server_memory, find_server_memory_losses

            left_out = find_server_memory_losses(self.scope)
            file.writelines(export_server_memory(self.scope, left_out))
            return left_out
        return exports.export(self.scope, file, format)

    def export_bundle(self, path: str | Path, *, progress: Progress | None = None) -> BundleReport:
        """Write the whole namespace into a file, which `import_bundle` makes the same namespace of.

        A file that is there is replaced when the export is complete. What is written by then is in a file beside it,
        whose name ends in `.partial`; the same call goes on with it after an interruption, or begins again where the
        namespace has changed since. The report says which. `progress` is told the number of lines written.

        Example::

            mg.export_bundle("people.jsonl")
            MemoryGraph.connect(namespace="copy").import_bundle("people.jsonl")

        Raises:
            NotFoundError: no file is named.
            ConflictError: another process exports into the same file, or something stands there that is no file.
            MemoryGraphError: the namespace changed during the export, repeatedly, or the file cannot be written.
        """
        if not str(path):
            raise NotFoundError("no file is named")
        try:
            return export_bundle_file(self.scope, Path(path), progress)
        except OSError as error:
            raise MemoryGraphError(f"cannot write {path}: {error.strerror}") from None

    def import_bundle(self, path: str | Path, *, progress: Progress | None = None) -> BundleReport:
        """Store a bundle in this namespace, which has to be empty, or to have an interrupted import of the same bundle.

        The file is checked as a whole before anything is stored. `progress` is told the number of its lines, batch by
        batch.

        Raises:
            NotFoundError: there is no such file.
            ScriptError: the file is no bundle, or was changed or cut; nothing was stored.
            ConflictError: the namespace is not empty, or was written to during the import.
        """
        with open_script(path) as file:
            imported = import_bundle(self.scope, file, str(path), progress)
        self._remove_expired()
        return imported

    def history(self, identifier: str) -> list[Change]:
        """All that happened to a node or an edge, the oldest first: what it was before and after, by whose load, when.

        What is deleted has a history too, until it is purged.

        Raises:
            NotFoundError: nothing ever had this id, or its history was purged.
        """
        return history_of(self.scope, identifier)

    def revisions(self, limit: int = 20) -> list[Revision]:
        """The last loads of the namespace, the newest first."""
        require_one(limit, "revision")
        return list_revisions(self.scope, limit)

    def undo(self, revision: int, *, dry_run: bool = False, provenance: Provenance | None = None) -> LoadReport:
        """Take back what a revision did, by a new load: what it changed or deleted becomes what it was before.

        An undo can be undone, too.

        Raises:
            NotFoundError: there is no such revision, or what was before it was purged.
            ConflictError: a later revision has changed what this one did, or needs it, or it is one that can't be
                undone, as a load of a program; nothing was changed.
            TooLargeError: it is too large for one transaction; nothing was changed.
        """
        return undo_revision(self.scope, revision, dry_run=dry_run, provenance=provenance)

    def at(self, revision: int | None = None, time: datetime | None = None) -> Snapshot:
        """The graph as it was at a revision, or at a time; a time without a zone is local.

        Raises:
            MemoryGraphError: there is neither a revision nor a time, or both.
            NotFoundError: there is no such revision yet, or the history that far back was purged.
        """
        return snapshot(self.scope, revision, time)

    def purge(self, before: int | None = None) -> int:
        """Forget what was deleted or changed: all of it, or what was so before a revision.

        Returns how many former states were forgotten. The present stays, and so do the records of the loads.
        """
        return purge(self.scope, before)

    def broken_invariants(self, *, everywhere: bool = False) -> list[BrokenInvariant]:
        """The rules of every stored graph that do not hold here, or anywhere in the database, with what breaks each.

        Memorygraph itself breaks none; raw Cypher can, and earlier versions left some broken.
        """
        return list(Examination(self.scope, everywhere=everywhere).find_broken())

    def mend(self, *, everywhere: bool = False) -> Mended:
        """Remove what earlier versions left, in revisions that can be undone, and have searches find all nodes."""
        return Examination(self.scope, everywhere=everywhere).mend()

    def import_memory(self, path: str | Path, format: str = "server-memory") -> LoadReport:  # noqa: A002 - what users type
        """Bring along the memory of another server or library, in one transaction.

        `server-memory` is the JSONL file of the reference MCP memory server; `mem0` what `Memory.get_all()` gives, as
        JSON; `langgraph-store` the items of a store of LangGraph, as lines of JSON or a list; `basic-memory` a folder
        of its notes. Ask mem0 and LangGraph for all of it: by themselves they give twenty memories and ten items. What
        is here of it already stays as it is, but for an item of which the file says something else with a later
        `updated_at`; `warnings` say what was not taken.

        Raises:
            NotFoundError: there is no such file or folder.
            ScriptError: what is there is wrong, with its place; nothing was stored.
            MemoryGraphError: the format is another.
        """
        from memorygraph.memory.imports import import_foreign

        return import_foreign(self.scope, path, format)

    def adopt_memory(self, source: str = "mcp-neo4j-memory", groups: Sequence[str] = ()) -> LoadReport:
        """Bring along what another memory keeps in the same database; the old graph stays as it is.

        That is an mcp-neo4j-memory server, or `graphiti`, all of it or these groups; `warnings` say what was not taken.

        Raises:
            NotFoundError: there is no such graph.
            MemoryGraphError: the source is another.
        """
        from memorygraph.memory.imports import adopt_foreign

        return adopt_foreign(self.scope, source, groups)

    @cached_property
    def entities(self) -> Entities:
        """Entities with observations and relations by their names, as the tools of the memory server have them."""
        from memorygraph.memory.entities import Entities

        return Entities(self.scope)

    @cached_property
    def items(self) -> Items:
        """Values by namespaces and keys, as the store of `memorygraph.integrations.langgraph` keeps them."""
        from memorygraph.memory.items import Items

        return Items(self.scope, lambda: self._recaller.embedder)

    @cached_property
    def threads(self) -> Threads:
        """The threads of agents with their states, as the checkpointer of `memorygraph.integrations` keeps them."""
        from memorygraph.messages.threads import Threads

        return Threads(self.scope)

    def messages(self, name: str) -> MessageGraph:
        """A conversation as a list of messages, kept in Neo4j; its first message creates it.

        Raises:
            MemoryGraphError: the name is empty.
        """
        return open_conversation(self.scope, name)

    def conversations(
        self, limit: int = MAX_CONVERSATIONS, *, after: str = "", containing: str = ""
    ) -> list[ConversationInfo]:
        """The conversations of the namespace by name: all, or so many that come `after` a name.

        `containing` leaves those whose name has this text in it, whatever the case.
        """
        require_one(limit, "conversation")
        return list_stored_conversations(self.scope, limit, after=after, containing=containing)

    def count_conversations(self, *, after: str = "", containing: str = "") -> int:
        """How many conversations come after a name, with a text in theirs."""
        return count_stored_conversations(self.scope, after=after, containing=containing)

    def view_conversation(self, name: str) -> str:
        """One HTML page of a conversation: versions side by side, edits, what is trained on, subagents inside.

        The page needs no server and no network, and nothing in a message can run in it.

        Example::

            Path("support-42.html").write_text(mg.view_conversation("support-42"), "utf-8")

        Raises:
            NotFoundError: there is no such conversation.
        """
        from memorygraph.viewing.conversation import render_conversation

        return render_conversation(find_stored_conversation(self.scope, name))

    def costs(self, prices: Prices | str | Path | None = None) -> list[ModelCost]:
        """What the recorded answers of each model used: calls, tokens, seconds, and money where it has a price.

        `prices` are those of a million tokens, `{"gpt-5-mini": {"input": 0.25, "output": 2.0, "cached_input": 0.025}}`,
        or a TOML or JSON file of them.

        Raises:
            MemoryGraphError: the prices cannot be read.
        """
        return list_costs(self.scope, prices)

    def record(self, client: Client, conversation: str = "recorded") -> Client:
        """A copy of an `openai` client, synchronous or not, whose every call is stored in a conversation.

        Chat completions and responses are recorded, streams too, with parameters, usage and latency beside each
        answer; each call lands on the version that its messages continue. The copy is otherwise the client.
        Recording never breaks a call: what cannot be written is warned of (`RecordWarning`), waits in
        MEMORYGRAPH_HOME, and is written with a later call, or by `client.recorder.flush()`. What no database can hold
        is set aside there; where the disk takes nothing, the record is lost.

        Raises:
            TypeError: it is no such client, or is recorded already.
            MemoryGraphError: the name of the conversation is empty, or too long.
        """
        if not conversation:
            raise MemoryGraphError("a conversation has a name, and this is empty")
        check_conversation_name(conversation)
        return record(client, Recorder(self.scope, conversation))

    def pete(self, name: str, model: str | None = None) -> Thought:
        """A thought: the context of this name that a model continues, or any context by its address, `memory:N`.

        It begins with its first step or sensor report. `model` is a name or an address, by default MEMORYGRAPH_MODEL.

        Raises:
            NotFoundError: there is no context at this address.
            MemoryGraphError: a context can't have this name.
        """
        from memorygraph.runtime.pete.thought import Thought

        return Thought(self.scope, name, model)

    def remember(
        self, text: str, model: str | None = None, *, attempts: int = 3, budget: str | Budget = "2k"
    ) -> Remembered:
        """Let a model write down what a text says, in ContextScript, and load that in one transaction.

        The model is shown what the memory holds about it, within the budget. A program that is wrong goes back with
        its located errors; the model has `attempts` attempts. `model` is a name or an address, by default
        MEMORYGRAPH_MODEL. The load says which message of which model it is from. Prompts and replies are kept in the
        conversation `remember`, also of programs that were wrong; `forget` leaves it.

        Raises:
            ScriptError: no program was right; `.problems` are those of the last. No node or edge was stored.
            ModelError: no model is configured, or its endpoint failed; no node or edge was stored.
        """
        from memorygraph.memory.remember import remember_text

        embedder = self._recaller.embedder
        return remember_text(self.scope, text, model, attempts=attempts, budget=budget, embedder=embedder)

    def chat(
        self,
        conversation: str = "chat",
        model: str | None = None,
        *,
        attempts: int = 3,
        budget: str | Budget = "2k",
        history: str | Budget = "12k",
    ) -> Chat:
        """A conversation with a model that has a memory: `say` gives its answer, and what it has remembered.

        The conversation goes on where it was left. `budget` is for what is recalled, `history` for what was said
        before; the rest is as for `remember`.

        Raises:
            MemoryGraphError: the name of the conversation is empty, or a budget is invalid.
        """
        from memorygraph.memory.chat import Chat

        embedder = self._recaller.embedder
        chat = Chat(
            self.scope, conversation, model, attempts=attempts, budget=budget, history=history, embedder=embedder
        )
        self._recaller.index()
        return chat

    def view_thought(self, name: str) -> str:
        """One HTML page of a thought, or of one of its contexts by its address: contexts that fold, and their entries.

        Raises:
            NotFoundError: there is no such context.
        """
        from memorygraph.viewing.thought import render_thought

        return render_thought(self.pete(name).frame())

    def thoughts(self) -> list[LogInfo]:
        """The outermost context of every thought, by name."""
        from memorygraph.runtime.pete.store import LogStore

        return LogStore(self.scope).logs()

    def namespaces(self) -> list[NamespaceInfo]:
        """Every namespace of the database, with its revision and how much it holds."""
        return list_namespaces(self.connection)

    def drop_namespace(self, name: str, *, dry_run: bool = False) -> NamespaceInfo:
        """Delete a namespace with its graph, its history, conversations, programs and runs; returns what it held.

        A large one takes several transactions. A drop that was interrupted is finished by dropping again; until then
        the namespace is listed as `dropping`. What files of this machine hold of it goes as well: journals of runs,
        records and transcripts that wait to be written, and opened pages. A dry run only returns what would go.

        Raises:
            NotFoundError: there is no such namespace.
        """
        from memorygraph.messages.pending import PendingTranscripts

        dropped = Namespace(self.connection, name)
        held = find_namespace(dropped)
        if dry_run:
            return held
        recorder = Recorder(dropped, "")  # refuses the home of another user, before anything goes
        begin_drop(dropped)
        transcripts = [ref.conversation for ref in PendingTranscripts(name).waiting()]
        clear_files(dropped, transcripts, [row["id"] for row in dropped.read("runs/run-ids")])
        recorder.forget_waiting()
        drop_namespace(dropped)
        return held

    def _find_node(self, identifier: str, *, former: bool = True) -> Node | None:
        found = elements.find_node(self.scope, identifier)
        if found is None and identifier.startswith("memory:"):
            from memorygraph.runtime.pete.addresses import find_addressed, parse_address

            address = parse_address(identifier)
            addressed = [] if address is None else find_addressed(self.scope.read, [address])
            found = next((Node(node.id, node.name, node.data) for node in addressed), None)
        return found or (find_merged(self.scope, identifier) if former else None)

    def _require(self, found: Found | None, kind: str, identifier: str) -> Found:
        if found is None:
            raise NotFoundError(f"no {kind} `{identifier}` in namespace `{self.namespace}`; `search` finds ids by text")
        return found


def _script(source: str | Script, language: str, *, strict: bool = False, file: str | None = None) -> Script:
    if isinstance(source, str):
        return parse(source, language, strict=strict, file=file)
    if not hasattr(source, "statements"):
        told = f"a script is its text, and this is a {type(source).__name__}"
        raise TypeError(f"{told}: `load_file`, `run_file` and `Path.read_text` take a path")
    return source


@contextmanager
def _naming_seconds() -> Iterator[None]:
    """Have the error of a read whose time was up say what gives it more."""
    try:
        yield
    except QueryError as error:
        if not ran_out_of_time(error.__cause__):
            raise
        more = "--seconds gives reading more time (in Python: seconds= of `stream`)"
        raise QueryError(f"{error}; {more}") from error.__cause__


def clear_files(namespace: Namespace, conversations: Sequence[str], runs: Sequence[str]) -> int:
    """Delete what files of this machine hold of conversations and runs, and return how many these were."""
    from memorygraph.messages.pending import PendingTranscripts
    from memorygraph.runtime.convo.journal import Journal

    if not is_own_home():  # a read must not fail for the home of somebody else, which has none of these files
        return 0
    calls = Spool(namespace.name).forget(conversations, namespace.connection.find_database())
    transcripts = PendingTranscripts(namespace.name).forget(conversations)
    return calls + transcripts + sum(Journal(run).forget() for run in runs) + remove_pages()


def connect_embedded(server: EmbeddedServer, auth: tuple[str, str] | None, database: str | None) -> Connection:
    """Connect to an embedded server, and start it where it does not run."""
    status = server.find()
    if not status.running:
        status = server.up()
    auth = auth or (status.username, server.password())
    return Connection(require_uri(status), auth, database, certificate=status.certificate_file)


def login(user: str | None = None, password: str | None = None) -> tuple[str, str] | None:
    """A user name and a password, from the environment where they are not given; None without a password.

    >>> login("ada", "secret")
    ('ada', 'secret')
    """
    password = password if password is not None else os.environ.get("NEO4J_PASSWORD")
    return (user or os.environ.get("NEO4J_USERNAME") or "neo4j", password) if password is not None else None
