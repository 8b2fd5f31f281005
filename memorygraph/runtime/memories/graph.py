"""`neo4j://NAMESPACE`: records as nodes of the knowledge graph; `neo4j://` is the client's own namespace.

Another namespace than that has to be allowed by its name.
An object with `id`, or with `name` and `data`, and no other fields than these, is that node, and is added or updated.
Where a model wrote the id, the node is updated only if the program has read or added it by this import in this run.
Any other object becomes a node of its own, with itself as JSON for its data. So `search` finds all of it, and it is
exported as ContextScript.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any, Literal, Protocol
from urllib.parse import unquote

from memorygraph.context.origins import GeneratedText, StoredObject, StoredText, stored
from memorygraph.errors import MemoryGraphError
from memorygraph.graph.connection import Connection
from memorygraph.graph.elements import find_node
from memorygraph.graph.loads import Provenance
from memorygraph.graph.namespace import Namespace
from memorygraph.json_text import HALF_CHARACTER, parse_stored_json
from memorygraph.languages.contextscript import MAX_NAME, NodeDeclaration, is_identifier, print_statement
from memorygraph.limits import require_running
from memorygraph.runtime.memories.memory import (
    DEFAULT_LIMIT,
    Filter,
    ImportedMemory,
    MemoryResult,
    format_timestamp,
    read_limit,
    read_record,
    wrap_record,
)
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.values import require_text

PREFIX = "record-"
PAGE = 1000
MAX_NAME_CHARS = 200

AFTER_ALL = PREFIX + "~"
TIME_FORMAT = "%Y%m%dT%H%M%S%fZ"
RECORD_ID = re.compile(rf"{PREFIX}(\d{{8}}T\d{{12}}Z)-[0-9a-f]+")
NODE_FIELDS = {"id", "name", "data"}
NAMING_FIELDS = ("name", "title", "text", "fact")


class GraphClient(Protocol):
    """What programs need of the client; MemoryGraph is one."""

    connection: Connection
    namespace: str
    scope: Namespace

    def __init__(self, connection: Connection, namespace: str) -> None: ...

    def load(self, source: str, *, provenance: Provenance | None) -> Any:
        """Store a ContextScript program in one transaction."""

    def recall(self, text: str, budget: None = None, *, limit: int, kinds: Sequence[Literal["node"]]) -> Any:
        """Recall by a text: its `hits`, best first, have an id, a name, a text, a score, a source and relations."""


class GraphMemory(ImportedMemory):
    """Records and nodes of one namespace of the knowledge graph."""

    METHODS = ("add", "query", "recall")

    def __init__(
        self,
        name: str,
        uri: str,
        rest: str,
        graph: GraphClient | None,
        permissions: Permissions,
        provenance: Provenance | None,
    ) -> None:
        super().__init__(name, uri)
        if graph is None:
            raise MemoryGraphError("it needs the knowledge graph, and this program runs without one")
        if any(sign in rest for sign in "/?#"):
            raise MemoryGraphError("write `neo4j://NAMESPACE`, with %2F for a slash")
        self._graph = type(graph)(graph.connection, unquote(rest)) if rest else graph
        self._provenance = provenance
        self._before_id = ""
        if self._graph.namespace != graph.namespace:
            permissions.require_namespace(name, self._graph.namespace)
            # A run is kept in the client's namespace, where the ids of another one mean nothing, or something else.
            self._before_id = f"neo4j://{rest}/"
        self._read: set[str] = set()  # the ids that the program was given

    def add(self, record: Any) -> MemoryResult:
        """Keep a record as a node, in one transaction with a load id."""
        by_model = isinstance(record, Mapping) and isinstance(record.get("id"), GeneratedText)
        record, text = read_record(record)
        at = datetime.now(UTC)
        generated = f"{PREFIX}{at.strftime(TIME_FORMAT)}-{secrets.token_hex(4)}"
        node = read_node_arguments(record, generated) or {
            "node_id": generated,
            "name": name_record(record),
            "data": text,
        }
        if by_model:
            self.refuse_unread(node["node_id"])
        self._graph.load(print_statement(NodeDeclaration(**node)), provenance=self._provenance)
        kept = wrap_record(node["node_id"], at, record)
        return MemoryResult(self.with_origin(kept), id=kept["id"], record=record)

    def refuse_unread(self, identifier: str) -> None:
        """Refuse to update a node that the program has not read; its id is of a model, which may obey a text."""
        if identifier in self._read or find_node(self._graph.scope, identifier) is None:
            return
        raise MemoryGraphError(
            f"a model wrote the id `{identifier}`, which is that of a node that `{self.name}` has not read in this "
            "run: find it with its `query` or `recall` before, or add the record under an id of the program's"
        )

    def query(self, filter: Any = None) -> MemoryResult:  # noqa: A002 - the name users read
        """The envelopes of what a filter wants: the records that programs added, newest first, then other nodes."""
        wanted = Filter.read(filter)
        rows = self.read_pages("memories/records", "before", AFTER_ALL, wanted)
        if wanted.kind is None:  # which no other node has
            rows = chain(rows, self.read_pages("memories/other-nodes", "after", "", wanted))
        found = [*islice((kept for kept in map(read_envelope, rows) if wanted.fits(kept["record"])), wanted.limit)]
        return MemoryResult([self.with_origin(kept) for kept in found], count=len(found))

    def recall(self, text: Any, limit: Any = DEFAULT_LIMIT) -> MemoryResult:
        """Recall by a text, as `{id, name, data, score, source}`, best first: the client's recall, of nodes.

        An observation has the name of what was observed. The source is `fulltext`, `vector` or both with a plus;
        `edge:` and the verb for a neighbour of such a node, and `edge` for what was learnt from a message. What other
        hits led here over has its `relations` as sentences: `["Carol manages Project Heron"]`.
        """
        found = self._graph.recall(
            require_text(text, "what is recalled by"), budget=None, limit=read_limit(limit), kinds=("node",)
        )
        entries = [self.read_hit(hit) for hit in found.hits]
        return MemoryResult(entries, count=len(entries))

    def read_hit(self, hit: Any) -> StoredObject:
        """Read a hit of a recall; a relation is from the nodes at both ends, the name of an owner from the owner."""
        entry = {
            "id": hit.id,
            "name": hit.name or " and ".join(hit.about),
            "data": hit.text,
            "score": float(f"{hit.score:.4g}"),  # all 17 digits would cost a prompt more than a relation does
            "source": hit.source if hit.verb is None else f"{hit.source}:{hit.verb}",
        }
        read = self.with_origin(entry)
        ends = [self._before_id + id_ for id_ in (hit.id, *hit.related)]  # what is named goes with each of them
        if hit.about:
            read["name"] = StoredText(read["name"], ends)
        if hit.relations:
            read["relations"] = [StoredText(relation, ends) for relation in hit.relations]
        return read

    def with_origin(self, fields: Mapping[str, Any]) -> StoredObject:
        """Mark a value with the node that it comes from."""
        self._read.add(fields["id"])
        return stored(fields, [self._before_id + fields["id"]])

    def read_pages(self, query: str, side: str, place: str, wanted: Filter) -> Iterator[dict[str, Any]]:
        """Read page by page what stands on one side of an id."""
        rows: list[dict[str, Any]] = [{"id": place}]
        while rows:
            require_running()
            at = {side: rows[-1]["id"]}
            rows = self._graph.scope.read(query, prefix=PREFIX, texts=wanted.written_texts(), limit=PAGE, **at)
            yield from rows
            rows = rows if len(rows) == PAGE else []


def read_node_arguments(record: Mapping[str, Any], generated: str) -> dict[str, str] | None:
    """Read the arguments of the node that a record says it is; None where it is any other object."""
    keys = record.keys()
    if not (keys <= NODE_FIELDS and ("id" in keys or keys >= {"name", "data"})):
        return None
    if not all(isinstance(value, str) for value in record.values()):
        return None
    identifier = record.get("id", generated)
    if not is_identifier(identifier):
        raise MemoryGraphError(
            f"{identifier!r} is no id of a node: it is made of letters, digits, `_` and `-`, "
            "and begins with a letter or digit"
        )
    texts = {key: record[key] for key in ("name", "data") if key in record}
    if any(HALF_CHARACTER.search(text) for text in texts.values()):
        raise MemoryGraphError("a text with half a character cannot be stored as a node")
    if (size := len(texts.get("name", ""))) > MAX_NAME:
        raise MemoryGraphError(
            f"a name of {size:,} characters is too long; {MAX_NAME:,} are the most: put the rest into `data`"
        )
    return {"node_id": identifier, **texts}


def name_record(record: Mapping[str, Any]) -> str:
    """Name a record by what it calls itself, in one short line."""
    for text in candidate_names(record):
        line = "".join(c for c in " ".join(text.split()) if c.isprintable())
        if line:
            return line if len(line) <= MAX_NAME_CHARS else f"{line[: MAX_NAME_CHARS - 1]}…"
    return "record"


def candidate_names(record: Mapping[str, Any]) -> Iterator[str]:
    """The texts that could be its name, the best first; its kind says what it is, and not who."""
    for key in (*NAMING_FIELDS, *(key for key in record if key != "kind")):
        value = record.get(key)
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping) and key in NAMING_FIELDS:
            yield from (inner for inner in value.values() if isinstance(inner, str))


def read_envelope(row: dict[str, Any]) -> dict[str, Any]:
    """Read a node as a record in its envelope."""
    added = read_time_of_id(row["id"])
    record: Any = dict(row)
    if added:
        try:
            value = parse_stored_json(row["data"])
        except ValueError:
            value = None
        # A node that a program has added by its name and data can hold the text of an object, too.
        record = value if isinstance(value, dict) and name_record(value) == row["name"] else record
    at = format_timestamp(added) if added else None
    return {"id": row["id"], "created_at": at, "updated_at": at, "record": record}


def read_time_of_id(identifier: str) -> datetime | None:
    """Read when a program added a record from the id; None for any other node, also where its id only looks so."""
    match = RECORD_ID.fullmatch(identifier)
    try:
        return datetime.strptime(match[1], TIME_FORMAT).replace(tzinfo=UTC) if match else None
    except ValueError:  # a program, or a model, may write any id
        return None
