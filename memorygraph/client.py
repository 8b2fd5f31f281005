"""The Python client: everything that memorygraph does, as methods of one object.

>>> from memorygraph import MemoryGraph
>>> [problem.code for problem in MemoryGraph.check('Node(node_id="a", nmae="A", data="");')]
['unknown-argument']
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

from memorygraph.compiler import compile_program
from memorygraph.errors import MemoryGraphError, NotFoundError, Problem
from memorygraph.graph import elements, exports
from memorygraph.graph.batches import load_batches
from memorygraph.graph.connection import Connection
from memorygraph.graph.elements import Edge, Hit, Neighbour, Node
from memorygraph.graph.embedded import EmbeddedServer
from memorygraph.graph.loads import Loader, LoadReport
from memorygraph.graph.namespaces import NamespaceInfo, drop_namespace, list_namespaces
from memorygraph.graph.readonly import check_nesting, check_reads_only
from memorygraph.graph.schema import apply_schema
from memorygraph.languages import language_of, parse, parse_batches
from memorygraph.languages.contextscript import Deletion, Program, print_statement
from memorygraph.messages.graph import MessageGraph
from memorygraph.messages.record import Client, record
from memorygraph.messages.recorder import Recorder
from memorygraph.messages.store import ConversationInfo, Store, drop_conversations, list_conversations
from memorygraph.query import Query
from memorygraph.scripts import open_script, read_script

LONGEST_NAMESPACE = 200
DEEPEST_NEIGHBOURS = 20

Progress = Callable[[int], None]


class MemoryGraph:
    """One namespace of a knowledge graph in Neo4j. Safe to share between threads.

    Example::

        with MemoryGraph.connect(namespace="people") as mg:
            mg.load('Node(node_id="ada", name="Ada", data="wrote the first program");')
            print(mg.node("ada").name)
    """

    def __init__(self, connection: Connection, namespace: str = "default") -> None:
        if not namespace or len(namespace) > LONGEST_NAMESPACE or not namespace.isprintable():
            raise MemoryGraphError(
                f"a namespace has 1 to {LONGEST_NAMESPACE} printable characters, and this is {namespace!r}"
            )
        self.connection = connection
        self.namespace = namespace
        self._loader = Loader(connection, namespace)

    @classmethod
    def connect(
        cls,
        uri: str | None = None,
        auth: tuple[str, str] | None = None,
        database: str | None = None,
        namespace: str | None = None,
        *,
        server: EmbeddedServer | None = None,
    ) -> Self:
        """Connect to a server, and set up its schema once.

        Without `uri` it is NEO4J_URI, and without that the embedded server, which is started if it is not
        running, and goes on running afterwards. `auth` is a user name and a password, by default
        NEO4J_USERNAME and NEO4J_PASSWORD; `namespace` is by default MEMORYGRAPH_NAMESPACE, then "default".

        Raises:
            ConnectionError: the server cannot be reached or started, or refuses the credentials.
        """
        uri = uri or os.environ.get("NEO4J_URI")
        database = database or os.environ.get("NEO4J_DATABASE")
        namespace = namespace or os.environ.get("MEMORYGRAPH_NAMESPACE") or "default"
        if uri:
            connection = Connection(uri, auth or login(), database)
        else:
            server = server or EmbeddedServer()
            status = server.up()
            connection = Connection(str(status.bolt_uri), auth or (status.username, server.password()), database)
        try:
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
        """Close the connection; an embedded server goes on running."""
        self.connection.close()

    def load(
        self,
        source: str | Program,
        language: str = "contextscript",
        *,
        strict: bool = False,
        dry_run: bool = False,
        file: str | None = None,
        progress: Progress | None = None,
    ) -> LoadReport:
        """Parse, compile and store a script in one transaction: all of it, or nothing.

        A dry run does everything and rolls back, so that its report is exact. `file` names the source in
        errors; `progress` is told the number of rows written, batch by batch.

        Raises:
            ScriptError: the script is wrong; `.problems` says all that was found.
            ConnectionError: the server cannot be reached.
        """
        program = _program(source, language, strict=strict, file=file)
        return self._loader.load(program, dry_run=dry_run, progress=progress)

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
    ) -> LoadReport:
        """Load a script file; the language is told by the extension.

        With `batch` every so many statements are a transaction of their own, and the memory needed does not
        grow with the file. A load that was interrupted goes on behind its last batch when it is run again,
        unless `restart` is true.

        Raises:
            NotFoundError: there is no such file, or no language has this extension.
            ScriptError: the script is wrong.
        """
        name = language_of(path, language).name
        if batch is None:
            text = read_script(path)
            return self.load(text, name, strict=strict, dry_run=dry_run, file=str(path), progress=progress)
        if batch < 1 or dry_run:
            raise MemoryGraphError("a batch has at least one statement, and a dry run has no batches")
        with open_script(path) as stream:

            def programs() -> Iterator[Program]:
                stream.seek(0)
                return parse_batches(stream, name, size=batch, strict=strict, file=str(path))

            return load_batches(self._loader, programs, restart=restart, progress=progress)

    @staticmethod
    def check(
        source: str | Program,
        language: str = "contextscript",
        *,
        strict: bool = False,
        file: str | None = None,
    ) -> list[Problem]:
        """Everything that can be found wrong in a script without a database; empty when all is well.

        An id that the script does not declare may be stored, so it is no problem here.
        """
        program = _program(source, language, strict=strict, file=file)
        return list(compile_program(program, None).problems)

    def compile(self, source: str | Program, language: str = "contextscript", *, strict: bool = False) -> list[Query]:
        """The Cypher that `load` would run for this script on what is stored now.

        Raises:
            ScriptError: the script is wrong.
        """
        return self._loader.queries(_program(source, language, strict=strict))

    def node(self, identifier: str) -> Node:
        """The node with this id.

        Raises:
            NotFoundError: there is none.
        """
        node = elements.find_node(self.connection, self.namespace, identifier)
        if node is None:
            raise self._not_found("node", identifier)
        return node

    def edge(self, identifier: str) -> Edge:
        """The edge with this id.

        Raises:
            NotFoundError: there is none.
        """
        edge = elements.find_edge(self.connection, self.namespace, identifier)
        if edge is None:
            raise self._not_found("edge", identifier)
        return edge

    def element(self, identifier: str) -> Node | Edge:
        """The node or the edge with this id.

        Raises:
            NotFoundError: there is neither.
        """
        found = elements.find_node(self.connection, self.namespace, identifier) or elements.find_edge(
            self.connection, self.namespace, identifier
        )
        if found is None:
            raise self._not_found("node or edge", identifier)
        return found

    def neighbours(self, identifier: str, depth: int = 1) -> list[Neighbour]:
        """The nodes at most `depth` edges away from a node, in or out, nearest first.

        Raises:
            NotFoundError: there is no such node.
        """
        if not 1 <= depth <= DEEPEST_NEIGHBOURS:
            raise MemoryGraphError(f"a depth lies between 1 and {DEEPEST_NEIGHBOURS}, and this is {depth}")
        self.node(identifier)
        return elements.find_neighbours(self.connection, self.namespace, identifier, depth)

    def search(self, text: str, limit: int = 10) -> list[Hit]:
        """The nodes whose name or data hold words of the text, best first. Any text is a valid search."""
        return elements.search(self.connection, self.namespace, text, limit)

    def query(
        self, cypher: str, parameters: dict[str, Any] | None = None, *, write: bool = False
    ) -> list[dict[str, Any]]:
        """The rows of a Cypher query. `$namespace` is always there as a parameter.

        Without `write` the query can only read: it is refused if it writes, loads files, or calls a procedure
        that is not known to be harmless. Cypher sees all namespaces: filter by `$namespace`.

        Raises:
            QueryError: the query is wrong or refused.
        """
        query = Query(cypher, {"namespace": self.namespace, **(parameters or {})})
        if write:
            check_nesting(cypher)
            return self.connection.write(lambda transaction: transaction.run(query), repeatable=False)
        check_reads_only(self.connection, query)
        return self.connection.read(query)

    def delete(self, identifier: str) -> LoadReport:
        """Delete a node with all its edges, or an edge.

        Raises:
            NotFoundError: there is no such id.
        """
        self.element(identifier)
        return self.load(print_statement(Deletion(id=identifier)))

    def export(self, format: str = "contextscript") -> str:  # noqa: A002 - the name users type
        """The whole namespace as `contextscript`, which loads back to the same graph, `jsonl` or `graphml`."""
        return exports.export(self.connection, self.namespace, format)

    def messages(self, name: str) -> MessageGraph:
        """A conversation as a list of messages, kept in Neo4j; its first message creates it.

        Raises:
            MemoryGraphError: the name is empty.
        """
        if not name:
            raise MemoryGraphError("a conversation has a name, and this is empty")
        return MessageGraph(storage=Store(self.connection, self.namespace, name))

    def conversations(self) -> list[ConversationInfo]:
        """Every conversation of the namespace, by name."""
        return list_conversations(self.connection, self.namespace)

    def record(self, client: Client, conversation: str = "recorded") -> Client:
        """A copy of an `openai` client, synchronous or not, whose every call is stored in a conversation.

        Chat completions and responses are recorded, streams too, with parameters, usage and latency beside each
        answer; each call lands on the version that its messages continue. The copy is otherwise the client.
        Recording never breaks a call: what cannot be written is warned of (`RecordWarning`), waits in
        MEMORYGRAPH_HOME, and is written with a later call, or by `client.recorder.flush()`.

        Raises:
            TypeError: it is no such client, or is recorded already.
            MemoryGraphError: the name of the conversation is empty.
        """
        if not conversation:
            raise MemoryGraphError("a conversation has a name, and this is empty")
        return record(client, Recorder(self.connection, self.namespace, conversation))

    def namespaces(self) -> list[NamespaceInfo]:
        """Every namespace of the database, with its revision and the number of its nodes and edges."""
        return list_namespaces(self.connection)

    def drop_namespace(self, name: str) -> NamespaceInfo:
        """Delete a namespace with its graph and its conversations; returns what it held.

        Raises:
            NotFoundError: there is no such namespace.
        """
        drop_conversations(self.connection, name)
        return drop_namespace(self.connection, name)

    def _not_found(self, kind: str, identifier: str) -> NotFoundError:
        return NotFoundError(f"no {kind} `{identifier}` in namespace `{self.namespace}`; `search` finds ids by text")


def _program(source: str | Program, language: str, *, strict: bool, file: str | None = None) -> Program:
    return source if isinstance(source, Program) else parse(source, language, strict=strict, file=file)


def login(user: str | None = None, password: str | None = None) -> tuple[str, str] | None:
    """A user name and a password, from the environment where they are not given; None without a password.

    >>> login("ada", "secret")
    ('ada', 'secret')
    """
    password = password if password is not None else os.environ.get("NEO4J_PASSWORD")
    return (user or os.environ.get("NEO4J_USERNAME") or "neo4j", password) if password is not None else None
