"""Importing a bundle: checked as a whole, then stored in batches, each with a checkpoint from which a rerun goes on."""

from __future__ import annotations

import shlex
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, TextIO

from memorygraph.errors import ConflictError, MemoryGraphError
from memorygraph.graph.bundle_reader import BundleReader
from memorygraph.graph.bundles import (
    KEYLESS,
    KINDS,
    BundleNode,
    BundleRelationship,
    BundleReport,
    NodeKey,
    UnfinishedImport,
    write_bundle,
)
from memorygraph.graph.connection import Abandon
from memorygraph.graph.exports import ALL_SECONDS, IMPORT_PREFIX
from memorygraph.graph.migrations import DATA_MIGRATIONS, PASSAGES_MIGRATION
from memorygraph.graph.namespace import NODES_PER_TRANSACTION, Namespace, NamespaceTransaction, Row
from memorygraph.graph.typed_json import UnreadTime

LINES_PER_BATCH = 2000
CHARACTERS_PER_BATCH = 4_000_000  # of the values, before the batch is closed

Batch = list[BundleNode | BundleRelationship]


def import_bundle(
    namespace: Namespace, file: TextIO, name: str, progress: Callable[[int], None] | None = None
) -> BundleReport:
    """Store a bundle in an empty namespace, or go on with an interrupted import of the same bundle.

    The whole file is checked before anything is stored. `progress` is told the number of lines stored. At the end the
    namespace is read, and compared with the bundle.

    Raises:
        ScriptError: the file is no bundle, or was changed or cut; nothing was stored.
        ConflictError: the namespace is not empty, or was written to during the import; or another process has
            finished this import meanwhile.
    """
    started = time.monotonic()
    namespace = replace(namespace, ungated=True)  # what has expired since the export goes after the comparison
    reader = BundleReader(namespace, file, name)
    has_namespace = False
    for _, element in reader.read():
        has_namespace = has_namespace or (isinstance(element, BundleNode) and element.key.kind == "Namespace")
    report = reader.report
    unfinished = UnfinishedImport(
        IMPORT_PREFIX + report.sha256, has_namespace, names_conversations=PASSAGES_MIGRATION in reader.schema
    )
    done = namespace.write(lambda transaction: begin_import(transaction, unfinished.program))
    lines = report.nodes + report.relationships
    report = replace(report, resumed_after=min(done, lines))
    if progress is not None:
        progress(report.resumed_after)
    if done <= lines:
        _store(reader, unfinished, done, progress)
        verify_import(reader, unfinished)
    namespace.repeat("bundles/forget-keys", limit=NODES_PER_TRANSACTION)
    for migration, migrate in DATA_MIGRATIONS.items():
        if migration not in reader.schema:
            migrate(namespace)
    namespace.write(lambda transaction: end_import(transaction, unfinished))
    return replace(report, elapsed_s=round(time.monotonic() - started, 4))


def _store(
    reader: BundleReader, unfinished: UnfinishedImport, done: int, progress: Callable[[int], None] | None
) -> None:
    """Store what follows the first `done` elements."""
    checked = reader.report.sha256
    for start, batch in read_bundle_batches(reader, done):
        work = partial(store_batch, program=unfinished.program, start=start, batch=batch)
        reader.namespace.write(work, seconds=ALL_SECONDS)
        if progress is not None:
            progress(len(batch))
    if reader.report.sha256 != checked:
        raise ConflictError(f"{reader.name} was changed during the import; import the unchanged file again to go on")


def verify_import(reader: BundleReader, unfinished: UnfinishedImport) -> None:
    """Read what was stored, compare it with the bundle, and remember that it is equal.

    What an older memorygraph exported is brought up to date afterwards, and so is no longer equal to its bundle.
    """
    found = write_bundle(reader.namespace, reader.schema, len, unfinished=unfinished)
    lines = reader.report.nodes + reader.report.relationships

    def work(transaction: NamespaceTransaction) -> None:
        stored = lock_import(transaction, unfinished.program)
        if stored is None or stored < lines:
            raise ConflictError(
                f"another process has finished this import into namespace `{reader.namespace}`, or has dropped it; "
                "`memorygraph namespaces list` shows whether it is there"
            )
        if stored > lines:  # another process has compared it, and may have brought it up to date since
            return
        if found.sha256 != reader.report.sha256:
            raise ConflictError(
                f"namespace `{reader.namespace}` was written to during the import, and is not what the bundle says; "
                "drop the namespace, and import the bundle while nothing else writes to it"
            )
        _save(transaction, unfinished.program, lines + 1)

    reader.namespace.write(work)


def lock_import(transaction: NamespaceTransaction, program: str) -> int | None:
    """Lock the namespace until the commit, and return how many lines are stored: None where no import has begun."""
    [row] = transaction.run("bundles/lock-import", program=program)
    stored: int | None = row["stored"]
    return stored


def begin_import(transaction: NamespaceTransaction, program: str) -> int:
    """Begin an import, or return how many lines an earlier one has stored."""
    stored = lock_import(transaction, program)
    if stored is not None:
        return stored
    for kind in KINDS:
        query = "bundles/any-keyless" if kind == KEYLESS else "bundles/any-node"
        values = {} if kind == KEYLESS else {"kind": kind, "after": ""}
        if kind != "Namespace" and transaction.run(query, **values)[0]["count"]:
            name = transaction.namespace.name
            empty = f"drop this one (`memorygraph namespaces drop {shlex.quote(name)}`)"
            if kind == KEYLESS:
                empty = "delete the nodes of this one with raw Cypher, which made them: a drop leaves them"
            raise ConflictError(
                f"namespace `{name}` is not empty, and a bundle is imported into an empty one: name another with "
                f"--namespace, or {empty}"
            )
    _save(transaction, program, 0)
    return 0


def _save(transaction: NamespaceTransaction, program: str, lines: int) -> None:
    """Remember how many elements are stored; one more says that all of them were compared with the bundle."""
    transaction.run("load/save-checkpoint", program=program, formers=[], file=None, statements=lines)


def end_import(transaction: NamespaceTransaction, unfinished: UnfinishedImport) -> None:
    """End an import: its checkpoint goes, and so does the namespace of which the bundle has nothing.

    Where the checkpoint is gone, it has ended, and others may have written to the namespace since.
    """
    if lock_import(transaction, unfinished.program) is None:
        raise Abandon(None)
    transaction.run("load/forget-checkpoints", programs=[unfinished.program], file=None)
    if not unfinished.has_namespace:
        transaction.run("bundles/forget-namespace")


def read_bundle_batches(reader: BundleReader, done: int) -> Iterator[tuple[int, Batch]]:
    """Yield the elements after the first `done` in batches, each with where it starts."""
    start = done
    left = (element for _, element in islice(reader.read(), done, None))
    for batch in fit_batches(left, lambda element: element.properties.values()):
        yield start, batch
        start += len(batch)


def fit_batches(rows: Iterable[Row], values_of: Callable[[Row], Iterable[Any]]) -> Iterator[list[Row]]:
    """Yield rows in batches that one transaction takes, however long the texts among their values are."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        if len(batch) >= LINES_PER_BATCH or size >= CHARACTERS_PER_BATCH:
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += count_characters(values_of(row))
    if batch:
        yield batch


def count_characters(values: Iterable[Any]) -> int:
    """Return about how much properties add to a transaction: the characters of texts and bytes, the items of lists."""
    size = 0
    for value in values:
        if isinstance(value, list) and value and isinstance(value[0], (str, bytes)):
            size += sum(len(item) if isinstance(item, (str, bytes)) else 1 for item in value)  # of a file, any mixture
        elif isinstance(value, (str, bytes, bytearray, list)):
            size += len(value)
    return size


def store_batch(transaction: NamespaceTransaction, program: str, start: int, batch: Batch) -> None:
    """Store a batch that begins after `start` elements, and remember it, unless that was committed before."""
    stored = lock_import(transaction, program)
    after = start + len(batch)
    if stored == after:
        return
    if stored != start:
        raise ConflictError(
            f"another process imports into namespace `{transaction.namespace}`, or has dropped it; "
            "run the import again when it has ended"
        )
    create_nodes(transaction, [each for each in batch if isinstance(each, BundleNode)])
    create_relationships(transaction, [each for each in batch if isinstance(each, BundleRelationship)])
    _save(transaction, program, after)


def create_nodes(transaction: NamespaceTransaction, nodes: Sequence[BundleNode]) -> None:
    """Create nodes; the namespace itself is there, and gets what it has."""
    rows = []
    for node in nodes:
        labels, properties = node.labels, node.properties
        if node.key.kind == KEYLESS:
            [number] = node.key.values
            labels, properties = [*labels, KEYLESS], {**properties, "bundle_key": number}
        row = {"labels": labels, **stored_values(properties)}
        if node.key.kind == "Namespace":
            transaction.run("bundles/set-namespace", rows=[row])
        else:
            rows.append(row)
    if rows:
        transaction.run("bundles/create-nodes", rows=rows)


def stored_values(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `properties` that the driver sends as they are, and the `times` that Neo4j makes of their texts."""
    times = []
    for key, value in properties.items():
        items = value if isinstance(value, list) else [value]
        if items and isinstance(items[0], UnreadTime):
            texts = [item.text for item in items]
            times.append({"key": key, "type": items[0].type, "texts": texts, "several": items is value})
    if not times:
        return {"properties": properties, "times": times}
    unread = {time["key"] for time in times}
    return {"properties": {key: value for key, value in properties.items() if key not in unread}, "times": times}


def create_relationships(transaction: NamespaceTransaction, relationships: Sequence[BundleRelationship]) -> None:
    """Create relationships between nodes that are there."""
    if not relationships:
        return
    keys: dict[str, set[tuple[Any, ...]]] = defaultdict(set)
    for relationship in relationships:
        for end in (relationship.source, relationship.target):
            keys[end.kind].add(end.values)
    wanted = {kind: sorted(map(list, keys[kind]), key=repr) for kind in KINDS}
    [row] = transaction.run("bundles/find-ends", ends=wanted)
    elements = {NodeKey(kind, tuple(key)): element for kind, key, element in row["found"]}
    rows = []
    for relationship in relationships:
        for end in (relationship.source, relationship.target):
            if end not in elements:
                raise MemoryGraphError(f"the bundle has a relationship {relationship.type} at {end}, and no such node")
        ends = {"source": elements[relationship.source], "target": elements[relationship.target]}
        rows.append({**ends, "type": relationship.type, **stored_values(relationship.properties)})
    transaction.run("bundles/create-relationships", rows=rows)
