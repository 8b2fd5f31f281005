"""Bundles: a namespace completely, as one file of JSON lines. docs/bundle.md describes the format.

The lines come in one order only, that of their keys, and each line has a hash of all lines up to it. So two namespaces
are equal when the hashes of their last lines are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, TextIO

from memorygraph.errors import MemoryGraphError
from memorygraph.graph.disk_sort import NumberedNodes, sort_lines
from memorygraph.graph.exports import ALL_SECONDS, IMPORT_PREFIX, MAX_TRIES, unfinished_import
from memorygraph.graph.losses import Losses
from memorygraph.graph.namespace import Namespace
from memorygraph.graph.schema import list_applied
from memorygraph.graph.search import conversation_token
from memorygraph.graph.typed_json import UnreadTime, decode_value, encode_time, encode_value
from memorygraph.sentences import Sentence, count_of

FORMAT = "memorygraph-bundle"
VERSION = 1
HASH_DIGITS = 16  # of the hash on a line; the last line has all 64

KINDS: Mapping[str, tuple[str, ...]] = {
    "Namespace": (),
    "Load": ("id",),
    "Checkpoint": ("program",),
    "Node": ("id",),
    "Entry": ("id",),
    "Former": ("id", "until"),
    "FormerEntry": ("id",),
    "Conversation": ("name",),
    "Version": ("id",),
    "Message": ("id",),
    "Passage": ("id",),
    "Metadata": ("id",),
    "Run": ("id",),
    "Generation": ("id",),
    "ContextItem": ("id",),
    "Graph": ("id",),
    "GraphNode": ("id",),
    "Step": ("id",),
    "Program": ("id",),
    "Alias": ("id",),
    "Forgetting": ("id",),
    "Thread": ("id",),
    "State": ("id",),
    "ChannelValue": ("id",),
    "PendingWrite": ("id",),
    "BundleKey": ("bundle_key",),
}
"""The kinds of nodes in the order in which a bundle has them, each with the properties by which it is found.

The last one is a number, from 1, of a node without a key of its own. A stored node has it only during an import.
"""

KEYLESS = "BundleKey"
_KEY_TYPES: Mapping[str, type] = {"until": int, "bundle_key": int}  # all others are texts

CHANGED_SINCE = "the namespace has changed since"

OWN_NAMESPACE = {"type": "namespace"}
_SEARCH_WORDS = "tokens"
_ENCODER = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":")
)  # one for all lines: it is faster


class NodeKey(NamedTuple):
    """The address of a node in its namespace: its kind, and the values of the properties in `KINDS`."""

    kind: str
    values: tuple[Any, ...]


class BundleNode(NamedTuple):
    """A node as a line of a bundle says it."""

    key: NodeKey
    labels: Sequence[str]
    properties: Mapping[str, Any]


class BundleRelationship(NamedTuple):
    """A relationship as a line of a bundle says it."""

    type: str
    source: NodeKey
    target: NodeKey
    properties: Mapping[str, Any]


class UnfinishedImport(NamedTuple):
    """An import that is stored and not yet done: its checkpoint, and whether the bundle has the namespace itself.

    `names_conversations` is whether the bundle says which conversations a passage is in; earlier versions did not.
    """

    program: str
    has_namespace: bool
    names_conversations: bool = True


@dataclass
class BundleReport(Sentence):
    """What a bundle holds: how many nodes and relationships, its hash, and what was left out of it.

    `resumed_after` is the number of lines that an earlier, interrupted import had stored already, or an earlier export
    written; `began_again` says why an export did not go on with what an earlier one had written.
    """

    namespace: str
    nodes: int = 0
    relationships: int = 0
    sha256: str = ""
    left_out: Losses = field(default_factory=Losses)
    resumed_after: int = 0
    began_again: str = ""
    elapsed_s: float = 0.0

    def __str__(self) -> str:
        return (
            f"{count_of(self.nodes, 'node')} and {count_of(self.relationships, 'relationship')} "
            f"of namespace {self.namespace}"
        )

    def as_dict(self) -> dict[str, Any]:
        """The report as `--json` prints it."""
        return {**vars(self), "left_out": self.left_out.as_dict()}


class BundlePart(NamedTuple):
    """A part of a bundle: the nodes of one kind, the edges, or the relationships that begin at nodes of one kind."""

    element: str
    kind: str = ""


EDGES = BundlePart("edge")
PARTS = (
    *(BundlePart("node", kind) for kind in KINDS),
    EDGES,
    *(BundlePart("relationship", kind) for kind in KINDS),
)
"""The parts in the order in which a bundle has them."""


class BundlePlace(NamedTuple):
    """A place in a bundle: after the node or the edge of this key, or before the relationships of this node.

    Those of all nodes without a key have one place: they come in an order of their own.
    """

    part: BundlePart
    key: tuple[Any, ...]


@dataclass
class BegunBundle:
    """What is written of a bundle: its counts, the chain of its hashes, and where it goes on; `sha256` if whole."""

    chain: HashChain
    nodes: int = 0
    relationships: int = 0
    place: BundlePlace | None = None
    sha256: str = ""


def export_bundle(namespace: Namespace, file: TextIO, begun: BegunBundle | None = None) -> BundleReport:
    """Write a namespace into an empty file, or after what is `begun` there, as of one moment.

    It is read a second time: where both readings say the same, all of it was so when the second one began. A namespace
    that is written to meanwhile is read again, and so is one that has changed since the bundle was begun.

    Raises:
        MemoryGraphError: the namespace changed during each of `MAX_TRIES` exports, or an import into it is unfinished.
    """
    schema = list_applied(namespace.connection)
    resumed_after = 0 if begun is None else begun.nodes + begun.relationships
    for _ in range(MAX_TRIES):
        sha256 = begun.sha256 if begun is not None else ""
        sha256 = sha256 or write_bundle(namespace, schema, file.write, begun=begun).sha256
        report = write_bundle(namespace, schema, len)  # also of what was begun it knows what is left out
        if report.sha256 == sha256:
            if begun is not None:
                report.resumed_after = resumed_after
            elif resumed_after:
                report.began_again = CHANGED_SINCE
            return report
        begun = None
        file.seek(0)
        file.truncate()
    raise MemoryGraphError(f"namespace `{namespace}` changed during each of {MAX_TRIES} exports; try again later")


def write_bundle(
    namespace: Namespace,
    schema: Sequence[str],
    write: Callable[[str], object],
    *,
    begun: BegunBundle | None = None,
    unfinished: UnfinishedImport | None = None,
) -> BundleReport:
    """Read a namespace once, and write its bundle, line by line, or what of it comes after what is `begun`.

    Of an `unfinished` import it is what that will be.
    """
    report = BundleReport(namespace.name)
    place = None
    if begun is None:
        chain = HashChain()
        write(header_line(namespace, schema, chain))
    else:
        report.nodes, report.relationships = begun.nodes, begun.relationships
        chain, place = begun.chain, begun.place
    first = 0 if place is None else PARTS.index(place.part)
    with closing(find_keyless(namespace)) as keyless:
        for part in PARTS[first:]:
            after = place.key if place is not None and part == place.part else ()
            for line in _part_lines(namespace, part, after, keyless, report.left_out, unfinished):
                write(chain.line(line))
                if part.element == "node":
                    report.nodes += 1
                else:
                    report.relationships += 1
    last, report.sha256 = end_line(report.nodes, report.relationships, chain)
    write(last)
    return report


def header_line(namespace: Namespace, schema: Sequence[str], chain: HashChain) -> str:
    """Return the first line, and begin the chain of hashes with it."""
    header = {"format": FORMAT, "version": VERSION, "schema": list(schema)}
    return chain.line(to_line(header), to_line({**header, "namespace": namespace.name}))


def end_line(nodes: int, relationships: int, chain: HashChain) -> tuple[str, str]:
    """Return the last line, which has the counts and the whole hash, and that hash; the chain ends with it."""
    line = to_line({"end": {"nodes": nodes, "relationships": relationships}})
    sha256 = chain.extend(line)
    return f'{line[:-1]},"sha256":"{sha256}"}}\n', sha256


class HashChain:
    """A hash of all lines up to each of them."""

    def __init__(self) -> None:
        self._hash = sha256()

    def copy(self) -> HashChain:
        """Return a chain of the same lines."""
        copy = HashChain()
        copy._hash = self._hash.copy()
        return copy

    def extend(self, line: str) -> str:
        """Add a line, and return the hash of everything up to it."""
        self._hash.update(line.encode("utf-8", "surrogateescape") + b"\n")
        return self._hash.hexdigest()

    def line(self, line: str, shown: str | None = None) -> str:
        """Return a line with its hash, or another one with the hash of the first."""
        return f'{(shown or line)[:-1]},"hash":"{self.extend(line)[:HASH_DIGITS]}"}}\n'


def to_line(document: Mapping[str, Any]) -> str:
    """Return the one text of a JSON document."""
    return _ENCODER.encode(document)


def _part_lines(
    namespace: Namespace,
    part: BundlePart,
    after: tuple[Any, ...],
    keyless: NumberedNodes,
    left_out: Losses,
    unfinished: UnfinishedImport | None,
) -> Iterator[str]:
    """Yield the lines of a part from a place on: see `BundlePlace`."""
    if part.element != "node":
        yield from RelationshipLines(namespace, keyless, left_out).of_part(part, after)
    elif part.kind == KEYLESS:
        yield from keyless_lines(keyless, *after)
    elif part.kind != "Namespace" or unfinished is None or unfinished.has_namespace:
        yield from node_lines(namespace, part.kind, after, unfinished)


def _stream(namespace: Namespace, query: str, **parameters: Any) -> Generator[dict[str, Any], None, None]:
    """Yield the rows of a query with their properties, but for dates and times, which it has as texts."""
    with closing(namespace.stream(query, seconds=ALL_SECONDS, typed=True, **parameters)) as rows:
        for row in rows:
            row["properties"] = dict(row["properties"])
            yield row


def node_lines(
    namespace: Namespace, kind: str, after: tuple[Any, ...] = (), unfinished: UnfinishedImport | None = None
) -> Iterator[str]:
    """Yield the lines of the nodes of one kind, or of those after one key."""
    least = after[0] if after else ""
    with closing(_stream(namespace, "bundles/nodes", kind=kind, after=least)) as rows:
        for row in rows:
            # A node of two kinds comes with the first one.
            if (key := node_key_of(namespace, row["labels"], row["properties"])) is None or key.kind != kind:
                continue
            if (
                after and key.values[0] == after[0] and key.values <= after
            ):  # the database begins at the first value of a key
                continue
            if unfinished is not None and key == NodeKey("Checkpoint", (unfinished.program,)):
                continue
            if kind == "Checkpoint" and str(key.values[0]).startswith(IMPORT_PREFIX):
                raise unfinished_import(namespace)
            named = kind != "Passage" or unfinished is None or unfinished.names_conversations
            conversations = row["conversations"] if named else None
            properties = encode_properties(namespace, row["properties"], row["times"], conversations)
            if kind == "Namespace":
                properties["name"] = OWN_NAMESPACE
            yield to_line({"node": encode_key(key), "labels": sorted(row["labels"]), "properties": properties})


def find_keyless(namespace: Namespace) -> NumberedNodes:
    """Find the nodes without a key of their own, and number them in the order of what they have."""

    def content(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str, int, int | None]]:
        for row in rows:
            number = row["properties"].get("bundle_key") if KEYLESS in row["labels"] else None
            labels, properties = set(row["labels"]), encode_properties(namespace, row["properties"], row["times"])
            if isinstance(number, int):
                labels.remove(KEYLESS)
                del properties["bundle_key"]
            yield row["element"], to_line({"labels": sorted(labels), "properties": properties}), row["degree"], number

    with closing(_stream(namespace, "bundles/keyless")) as rows:
        return NumberedNodes(content(rows))


def keyless_lines(keyless: NumberedNodes, after: int = 0) -> Iterator[str]:
    """Yield the lines of the nodes without a key, by their numbers, or of those after one number."""
    for number, line in keyless:
        if number <= after:
            continue
        labels, properties = line.split(',"properties":', 1)
        yield f'{labels},"node":{json.dumps([KEYLESS, number], separators=(",", ":"))},"properties":{properties}'


class RelationshipLines:
    """The lines of the relationships of a namespace. `left_out` is told of those that lead out of it."""

    def __init__(self, namespace: Namespace, keyless: NumberedNodes, left_out: Losses) -> None:
        self.namespace = namespace
        self.keyless = keyless
        self.left_out = left_out

    def of_part(self, part: BundlePart, after: tuple[Any, ...] = ()) -> Iterator[str]:
        """Yield the edges by their ids, or what begins at each node of a kind, from a place on."""
        if part == EDGES:
            yield from self._edges(after)
        elif part.kind == KEYLESS:
            with closing(_stream(self.namespace, "bundles/keyless-relationships")) as rows:
                yield from sort_lines(line for row in rows for line in self._line(row, KEYLESS))
        else:
            least = after[0] if after else ""
            with closing(_stream(self.namespace, "bundles/relationships", kind=part.kind, after=least)) as rows:
                for _, group in groupby(rows, key=itemgetter("source")):
                    yield from sort_lines(line for row in group for line in self._line(row, part.kind, after))

    def _edges(self, after: tuple[Any, ...]) -> Iterator[str]:
        # Raw Cypher makes ids that are no texts. Truth values and numbers come after these, and each is compared with
        # its like only.
        streams = [("bundles/later-edges", {"after": least}) for least in (*after, False, -math.inf)]
        for query, parameters in streams if after else [("bundles/edges", {})]:
            with closing(_stream(self.namespace, query, **parameters)) as rows:
                for row in rows:
                    if (row["properties"].get("id"),) != after:
                        yield from self._line(row)

    def _line(self, row: Mapping[str, Any], kind: str | None = None, after: tuple[Any, ...] = ()) -> Iterable[str]:
        """Return the line of a relationship; or nothing where it comes elsewhere, or is left out."""
        source, target = self._key(row, "source"), self._key(row, "target")
        own = self.namespace.name
        owner = row["properties"].get("namespace", own) if row["type"] == "EDGE" else own
        if source is None or target is None or owner != own:
            self.left_out.add("relationships that leave the namespace", row["type"])
        elif kind in (None, source.kind) and not (after and source.values[0] == after[0] and source.values < after):
            yield to_line(
                {
                    "relationship": row["type"],
                    "from": encode_key(source),
                    "to": encode_key(target),
                    "properties": encode_properties(self.namespace, row["properties"], row["times"]),
                }
            )

    def _key(self, row: Mapping[str, Any], end: str) -> NodeKey | None:
        if (key := node_key_of(self.namespace, row[f"{end}_labels"], row[end])) is not None:
            return key
        element = row[end].get("element")
        number = None if element is None else self.keyless.number(element)
        return None if number is None else NodeKey(KEYLESS, (number,))


def node_key_of(namespace: Namespace, labels: Sequence[str], properties: Mapping[str, Any]) -> NodeKey | None:
    """Return the key of a node by its first kind, or None where it has none or is of another namespace.

    A key is of texts, and `until` of a whole number: of other values some are equal and not the same, as 1 and 1.0.
    """
    if "Namespace" in labels and properties.get("name") == namespace.name:
        return NodeKey("Namespace", ())
    if properties.get("namespace") != namespace.name:
        return None
    for kind, names in KINDS.items():
        if names and kind in labels and all(type(properties.get(name)) is _KEY_TYPES.get(name, str) for name in names):
            return NodeKey(kind, tuple(properties[name] for name in names))
    return None


def encode_key(key: NodeKey) -> list[Any]:
    """Return a key as JSON: `["Node", "ada"]`."""
    return [key.kind, *map(encode_value, key.values)]


def decode_key(value: Any) -> NodeKey:
    """Return the key that `encode_key` made JSON of; anything else is a `ValueError`."""
    if not isinstance(value, list) or not value or len(value) != 1 + len(KINDS.get(str(value[0]), ())):
        raise ValueError(f"not the key of a node: {value!r:.100}")
    kind, *values = value
    if kind not in KINDS:
        raise ValueError(f"no kind of nodes: {kind!r:.100}")
    if any(type(each) is not _KEY_TYPES.get(name, str) for name, each in zip(KINDS[kind], values, strict=True)):
        raise ValueError(f"not the key of a node: {value!r:.100}")
    return NodeKey(kind, tuple(values))


def encode_properties(
    namespace: Namespace, properties: Mapping[str, Any], times: Iterable[Sequence[Any]], conversations: Any = None
) -> dict[str, Any]:
    """Return properties as JSON in which nothing depends on the name of the namespace; `conversations` are its own."""
    encoded: dict[str, Any] = {
        key: [encode_time(kind, each) for each in text] if isinstance(text, list) else encode_time(kind, text)
        for key, kind, text in times
    }
    for key, value in properties.items():
        if key == "namespace" and value == namespace.name:
            encoded[key] = OWN_NAMESPACE
        elif key == "namespace_token" and isinstance(value, str):
            encoded[key] = {"type": _SEARCH_WORDS, "value": _name_tokens(namespace, value, conversations)}
        elif key not in encoded:
            encoded[key] = encode_value(value)
    return encoded


def _name_tokens(namespace: Namespace, tokens: str, conversations: Any) -> list[Any]:
    """Return what each word stands for: the namespace (null), a conversation of it, or nothing known (a list)."""
    known: dict[str, str | None] = {}
    for name in conversations if isinstance(conversations, list) else ():
        known[conversation_token(namespace.name, name)] = name
    known[namespace.token] = None
    return [known.get(word, [word]) for word in tokens.split(" ")]


def decode_properties(namespace: Namespace, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties in a namespace that JSON of a bundle stands for; a `ValueError` says what is wrong."""
    decoded: dict[str, Any] = {}
    for key, value in properties.items():
        if value == OWN_NAMESPACE:
            decoded[key] = namespace.name
        elif isinstance(value, dict) and value.get("type") == _SEARCH_WORDS:
            decoded[key] = " ".join(_make_token(namespace, name) for name in value["value"])
        else:
            decoded[key] = decode_value(value)
        items = decoded[key] if isinstance(decoded[key], list) else ()
        if decoded[key] is None or any(isinstance(item, (list, type(None))) for item in items):
            raise ValueError(f"no value of a property: {value!r:.100}")
        if len({item.type for item in items if isinstance(item, UnreadTime)}) > 1:
            raise ValueError(f"a list of several types: {value!r:.100}")
    return decoded


def _make_token(namespace: Namespace, name: str | list[str] | None) -> str:
    if name is None:
        return namespace.token
    return name[0] if isinstance(name, list) else conversation_token(namespace.name, name)


def hash_suffix(document: Mapping[str, Any]) -> str:
    """Return how the line of a document ends, with its hash."""
    return f',"hash":"{document.get("hash")}"}}\n'
