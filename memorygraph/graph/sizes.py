"""How much of a transaction's memory a change takes, told before anything is written.

Neo4j holds all that a transaction changes in memory, and ends one that passes its share: after minutes, of what could
have been known at once. Each element takes some kilobytes, indexes and history included, and a long text some times its
length: at these sizes, a change passes the 600 MiB of the embedded server. A little less may pass them too, because
Neo4j's tables grow in leaps; that is left to Neo4j, so that nothing is refused which fits, but for texts that can end
the server.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from memorygraph.compiler import Stored
from memorygraph.errors import MemoryGraphError, TooLargeError, printable
from memorygraph.graph.connection import Connection
from memorygraph.graph.namespace import Namespace, NamespaceTransaction, pages_of
from memorygraph.languages.contextscript import (
    ContextScriptProgram,
    Deletion,
    EdgeDeclaration,
    GraphStatement,
    NodeDeclaration,
)
from memorygraph.library import CYPHER
from memorygraph.sentences import count_of

MIN_LARGE_STATEMENTS = 20_000
MIN_LARGE_CHARACTERS = 1_000_000  # in the texts of fewer statements: with less they fit into any transaction
MIN_LARGE_PARTS = 1_000  # that go with the nodes that a change deletes: fewer fit into any transaction
MIN_LARGE_BYTES = 10_000_000  # of a change: less fits into any transaction
MAX_SHORT_CHARACTERS = 100  # of a text that is counted with its element
ROWS_PER_LOOK = 20_000
ROOM = 0.6  # of the memory is what a batch should take

NEW_NODE_BYTES = 3_500
NEW_EDGE_BYTES = 4_700
CHANGED_NODE_BYTES = 8_400
CHANGED_EDGE_BYTES = 8_400
MOVED_EDGE_BYTES = 12_600
DELETED_NODE_BYTES = 9_200
DELETED_EDGE_BYTES = 9_500  # 60,200 that go with their node fit into 600 MiB, and 66,000 do not
DELETED_PART_BYTES = DELETED_NODE_BYTES + DELETED_EDGE_BYTES  # an edge with the observation that it leads to
DELETED_STATEMENT_BYTES = 3_600  # of a thought, beside its fact

# Of each byte of a long text in UTF-8. Neo4j ends a transaction of 600 MiB with more than 168 MB of letters, but 168 MB
# of Kana can end the server: full-text indexes need memory that Neo4j does not count, at the next start again. So these
# texts are refused earlier than they surely have no room.
TEXT_BYTE_BYTES = 5
KEPT_CHARACTER_BYTES = 3  # of a text that no full-text index has
FORMER_CHARACTER_BYTES = 4.6  # of what a changed node said, which its history keeps

_SIZE = re.compile(r"(?P<number>[\d.]+)(?P<unit>[KMGT]?)i?B")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Changes(NamedTuple):
    """What a load writes: certain bytes, declarations of stored elements, which may change nothing, and deletions.

    The bytes of long texts are not among those of their elements.
    """

    certain: int
    texts: int
    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]
    deleted_nodes: list[str]
    deleted_edges: list[str]


class Deleted(NamedTuple):
    """What goes with deleted nodes: nodes, themselves included, edges, and statements of thoughts."""

    nodes: int = 0
    edges: int = 0
    statements: int = 0

    @property
    def size(self) -> int:
        """The bytes that this takes at least."""
        size = self.nodes * DELETED_NODE_BYTES + self.edges * DELETED_EDGE_BYTES
        return size + self.statements * DELETED_STATEMENT_BYTES

    def __str__(self) -> str:
        nouns = (("node", self.nodes), ("edge", self.edges), ("statement", self.statements))
        return " and ".join(count_of(count, noun) for noun, count in nouns if count)


class Hub(NamedTuple):
    """The node with the most edges and statements among those that a change deletes."""

    id: str = ""
    name: str = ""
    edges: int = 0
    statements: int = 0

    def __str__(self) -> str:
        told = self.name and self.name != self.id and len(self.name) <= MAX_SHORT_CHARACTERS
        return f"`{self.id}` ({printable(self.name)})" if told else f"`{self.id}`"


def read_memory_limit(connection: Connection) -> int | None:
    """The bytes that one transaction may take; None where there is no limit, or nobody tells."""
    try:
        rows = connection.read(CYPHER["schema/memory-settings"]())
    except MemoryGraphError:  # a user who may not see settings
        return None
    limits = [parse_size(row["value"]) for row in rows]
    return min((limit for limit in limits if limit), default=None)


def parse_size(text: str | None) -> int:
    """The bytes of a size as Neo4j writes it; 0 is one without a limit.

    >>> parse_size("600.00MiB"), parse_size("0B"), parse_size(None)
    (629145600, 0, 0)
    """
    found = _SIZE.fullmatch(text or "")
    return int(float(found["number"]) * _UNITS[found["unit"]]) if found else 0


def refuse_too_large(
    transaction: NamespaceTransaction, program: ContextScriptProgram, stored: Stored, limit: int
) -> None:
    """Refuse a program that surely takes more than this limit, with the number of statements that a batch can have."""
    changes = find_changes(program, stored)
    parts, hub = count_parts_at(transaction, changes.deleted_nodes)
    if find_most(changes, parts) <= limit:
        return
    # What is certain is looked for only here: most loads are small enough in any case.
    refuse_hub(hub, Deleted(1, hub.edges), limit)
    elements, texts = changes.certain, changes.texts
    if changes.deleted_nodes or changes.deleted_edges:
        elements += count_deleted(transaction, changes.deleted_nodes, changes.deleted_edges).size
    for page in pages_of(changes.nodes, ROWS_PER_LOOK):
        [row] = transaction.run("load/count-changed-nodes", rows=page)
        elements += len(row["changed"]) * CHANGED_NODE_BYTES
        changed = set(row["changed"])
        texts += sum(size_of_texts(each["set"].values()) for each in page if each["id"] in changed)
        former = row["former_characters"] - 2 * MAX_SHORT_CHARACTERS * len(changed)
        texts += int(max(0, former) * FORMER_CHARACTER_BYTES)
    for page in pages_of(changes.edges, ROWS_PER_LOOK):
        [row] = transaction.run("load/count-changed-edges", rows=page)
        elements += row["changed"] * CHANGED_EDGE_BYTES
    size = elements + texts
    if size <= limit:
        return
    refuse_hub(hub, count_deleted(transaction, [hub.id]), limit)
    count = len(program.statements)
    batch = find_batch(program, elements, texts, limit)
    raise TooLargeError(
        f"{'this statement changes' if count == 1 else f'these {count} statements change'} "
        f"{describe_lack(size, limit)}: `load --batch {batch}` stores them in parts "
        f"(in Python: load_file with batch={batch})"
    )


def refuse_deletion(transaction: NamespaceTransaction, nodes: Sequence[str], edges: Sequence[str] = ()) -> None:
    """Refuse to delete nodes, with all that goes with them, and edges, where one transaction surely has no room."""
    at_nodes, hub = count_parts_at(transaction, nodes)
    parts = at_nodes + len(nodes) + len(edges)
    if parts < MIN_LARGE_PARTS:
        return
    limit = find_passed_limit(transaction.namespace, parts * DELETED_PART_BYTES)
    if limit is None:
        return
    refuse_hub(hub, Deleted(1, hub.edges), limit)
    going = count_deleted(transaction, nodes, edges)
    if going.size > limit:
        refuse_hub(hub, count_deleted(transaction, [hub.id]), limit)
        raise TooLargeError(
            f"with this go {going}, which is {describe_lack(going.size, limit)}: delete fewer at a time"
        )


def refuse_merge(transaction: NamespaceTransaction, merged: str) -> None:
    """Refuse to merge a node whose edges surely take more than a transaction has, be they moved or deleted."""
    _, node = count_parts_at(transaction, [merged])
    size = node.edges * DELETED_EDGE_BYTES
    if limit := find_passed_limit(transaction.namespace, size):
        batch = round_down(int(ROOM * limit / MOVED_EDGE_BYTES))
        raise TooLargeError(
            f"with {node} go its {node.edges} edges, which is {describe_lack(size, limit)}. Merge the entity that has "
            "fewer edges into the other; or first move the edges, with a script of `Edge(edge_id=…, from_node=…);`: "
            f"`load --batch {batch}` stores them in parts (in Python: load_file with batch={batch})"
        )


def refuse_undo(transaction: NamespaceTransaction, revision: int, created: int, former: int, size: int) -> None:
    """Refuse to undo a revision, by the elements it created and the former ones, where a transaction has no room."""
    limit = find_passed_limit(transaction.namespace, size)
    if limit is None:
        return
    ways = []
    if created:
        ways.append(f"`del(id=…);` for what it created, which has `since: {revision}` in the graph")
    if former:
        ways.append(f"declarations of what it changed or deleted, as `export --at {revision - 1}` writes them")
    batch = round_down(int((created + former) * ROOM * limit / size))
    raise TooLargeError(
        f"undoing revision {revision} changes {describe_lack(size, limit)}. Take it back with a script, which has "
        f"{' and '.join(ways)}: `load --batch {batch}` stores them in parts (in Python: load_file with batch={batch})"
    )


def refuse_hub(hub: Hub, going: Deleted, limit: int) -> None:
    """Refuse what deletes a node with which so much goes that no part of it which has the node is small enough."""
    if going.size <= limit or not (going.edges or going.statements):
        return
    batch = round_down(int(ROOM * limit / DELETED_PART_BYTES))
    raise TooLargeError(
        f"with {hub} go {going._replace(nodes=going.nodes - 1)}, which is {describe_lack(going.size, limit)}: "
        f"`delete {shlex.quote(hub.id)} --batch {batch}` deletes it in parts (in Python: delete with batch={batch})"
    )


def refuse_texts(
    namespace: Namespace, indexed: Sequence[str], kept: Sequence[str] = (), *, other_bytes: int = 0
) -> None:
    """Refuse to write these texts where one transaction surely has no room for them.

    `kept` are those that no full-text index has. It costs next to nothing where they are short, and is to be called
    before any of them is written.
    """
    if not are_long((*indexed, *kept)):
        return
    size = size_of_texts(indexed) + KEPT_CHARACTER_BYTES * sum(map(len, kept)) + other_bytes
    if limit := find_passed_limit(namespace, size):
        raise TooLargeError(
            f"this writes texts that are {describe_lack(size, limit)}: store fewer at a time, or a long text in parts"
        )


def find_passed_limit(namespace: Namespace, size: int) -> int | None:
    """The bytes that one transaction may take, where a change of this size takes more."""
    limit = read_memory_limit(namespace.connection) if size >= MIN_LARGE_BYTES else None
    return limit if limit is not None and size > limit else None


def describe_lack(size: int, limit: int) -> str:
    """Say how much larger a change is than a transaction may be."""
    taken = f"some {size >> 20} MiB of {limit >> 20}"
    return f"more than one transaction has room for ({taken}), and nothing was changed by it"


def find_batch(program: ContextScriptProgram, elements: int, texts: int, limit: int) -> int:
    """How many statements a batch should have: so many that those with the longest texts have room."""
    statements = program.statements
    sizes = [size_of_texts(texts_of(statement)) for statement in statements]
    share = texts / max(1, sum(sizes))  # of those that change something, and with what is kept of the former ones
    longest = accumulate(elements / len(statements) + size * share for size in sorted(sizes, reverse=True))
    return round_down(sum(size <= ROOM * limit for size in longest))


def texts_of(statement: GraphStatement) -> list[str]:
    """The texts of a declaration of a node."""
    return [text for text in (statement.name, statement.data) if text] if isinstance(statement, NodeDeclaration) else []


def are_long(texts: Iterable[str]) -> bool:
    """Whether texts are so long together that they may not fit into one transaction."""
    return sum(map(len, texts)) >= MIN_LARGE_CHARACTERS


def size_of_texts(texts: Iterable[str]) -> int:
    """The bytes that texts take in a transaction, beside those of their elements and of short texts.

    >>> size_of_texts(["short"]), size_of_texts(["a" * 1000]), size_of_texts(["\u3042" * 1000])
    (0, 5000, 15000)
    """
    long = (text for text in texts if len(text) > MAX_SHORT_CHARACTERS)
    return TEXT_BYTE_BYTES * sum(len(text.encode(errors="surrogatepass")) for text in long)


def count_deleted(transaction: NamespaceTransaction, nodes: Sequence[str], edges: Sequence[str] = ()) -> Deleted:
    """Count what goes with these nodes and edges, each once."""
    [row] = transaction.run("load/count-deleted", ids=nodes, edges=edges)
    return Deleted(**row)


def count_parts_at(transaction: NamespaceTransaction, nodes: Sequence[str]) -> tuple[int, Hub]:
    """Count the edges and statements at nodes, and find the one with the most; edges between two count twice."""
    if nodes:
        [row] = transaction.run("load/count-parts-at", ids=nodes)
        if row["most"]:
            return row["edges"] + row["statements"], Hub(**row["most"])
    return 0, Hub()


def find_most(changes: Changes, parts: int) -> int:
    """The most bytes that changes can take: where each changes something, and all these parts of deleted nodes go.

    What the changed nodes said is taken for as long as what they are to say.
    """
    changed = len(changes.nodes) * CHANGED_NODE_BYTES + len(changes.edges) * CHANGED_EDGE_BYTES
    texts = [text for row in changes.nodes for text in row["set"].values()]
    former = int(FORMER_CHARACTER_BYTES * sum(map(len, texts)))
    deleted = len(changes.deleted_nodes) * DELETED_NODE_BYTES + len(changes.deleted_edges) * DELETED_EDGE_BYTES
    deleted += parts * DELETED_PART_BYTES
    return changes.certain + changes.texts + changed + size_of_texts(texts) + former + deleted


def find_changes(program: ContextScriptProgram, stored: Stored) -> Changes:
    """Find what a program writes, given what is stored of its ids."""
    changes = Changes(0, 0, [], [], [], [])
    certain = texts = 0
    declared: set[str] = set()
    for statement in program.statements:
        match statement:
            case NodeDeclaration(node_id=identifier) | EdgeDeclaration(edge_id=identifier) if identifier in declared:
                continue
            case NodeDeclaration(node_id=node):
                declared.add(node)
                if node in stored.nodes:
                    changes.nodes.append(row_of(statement, node, "name", "data"))
                else:
                    certain += NEW_NODE_BYTES
                    texts += size_of_texts(texts_of(statement))
            case EdgeDeclaration(edge_id=edge):
                declared.add(edge)
                ends = stored.edges.get(edge)
                if ends is not None and (statement.from_node or ends[0], statement.to_node or ends[1]) == ends:
                    changes.edges.append(row_of(statement, edge, "verb", "weight"))
                else:
                    certain += NEW_EDGE_BYTES if ends is None else MOVED_EDGE_BYTES
            case Deletion(id=identifier) if identifier in stored.edges:
                changes.deleted_edges.append(identifier)
            case Deletion(id=identifier) if identifier in stored.nodes:
                changes.deleted_nodes.append(identifier)
            case Deletion():
                pass
            case _:  # a kind of statement that is not known here counts as the smallest change
                certain += NEW_NODE_BYTES
    return changes._replace(certain=certain, texts=texts)


def row_of(statement: GraphStatement, identifier: str, *names: str) -> dict[str, Any]:
    """The row of a declaration of a stored element, with the arguments of these names that it gives."""
    given = {name: value for name in names if (value := getattr(statement, name)) is not None}
    return {"id": identifier, "set": given}


def round_down(number: int) -> int:
    """A number with one digit that counts, at least 1.

    >>> round_down(57_321), round_down(12), round_down(0)
    (50000, 10, 1)
    """
    digits: int = 10 ** (len(str(number)) - 1)
    return max(1, number // digits * digits)
