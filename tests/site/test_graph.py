"""The reference of the graph knows every label, type and property that there is, and its questions have these answers."""

from __future__ import annotations

import re

import pytest

from memorygraph import MemoryGraph
from memorygraph.graph.connection import Connection
from memorygraph.graph.message_labels import OFF_POLICY_LABEL, ROLE_LABELS
from tests.conftest import empty_namespace
from tests.site import graph as reference
from tests.site.graph import LABELS, OVER, PROPERTIES, RELATIONSHIPS

KINDS = {
    "STRING": "text",
    "INTEGER": "integer",
    "FLOAT": "float",
    "BOOLEAN": "boolean",
    "ZONED DATETIME": "time",
    "LIST<STRING NOT NULL>": "list of texts",
    "LIST<INTEGER NOT NULL>": "list of integers",
}
OF_EDGES = set(RELATIONSHIPS["EDGE"][2].split())
SUBLABELS = {"Entity", "Observation", "Item", "Context", "Statement", "Rule", "Value"}


@pytest.fixture(scope="module")
def sample(connection: Connection) -> tuple[MemoryGraph, list[str]]:
    """A namespace with something of every part, and what it answers."""
    graph = empty_namespace(connection)
    return graph, reference.ask_all(graph)


def test_the_page_says_what_the_schema_and_the_sample_say(sample: tuple[MemoryGraph, list[str]]) -> None:
    assert len(reference.QUESTIONS) == 20
    assert all(sample[1])
    assert reference.PAGE.read_text("utf-8") == reference.page(sample[1]), "write it anew: python -m tests.site.graph"


def test_every_label_and_type_of_the_library_is_described() -> None:
    named = {label for text in reference._texts() for label in re.findall(r"\b\w+:([A-Z]\w+)\b", text)}
    assert reference.labels_of_the_library() - LABELS.keys() == set()
    by_role = {OFF_POLICY_LABEL}.union(*ROLE_LABELS.values())
    assert LABELS.keys() - reference.labels_of_the_library() - named - by_role == set()
    assert reference.types_of_the_library() == RELATIONSHIPS.keys()


def test_every_property_of_the_schema_is_described() -> None:
    for row in reference.schema():
        labels = re.findall(r"\(\w+:([\w|]+)\)", row.on)
        described = {
            name for group in labels for label in group.split("|") for name in properties_of({label})
        } | OF_EDGES
        assert set(re.findall(r"\.(\w+)", row.on)) - described == set(), row


def properties_of(labels: set[str]) -> set[str]:
    """The properties that nodes with these labels can have."""
    names = {"namespace"}.union(*(LABELS[label][2].split() for label in labels))
    if "Former" in labels:  # it has what the element had
        names |= OF_EDGES | properties_of({"Node", *SUBLABELS})
    return names | (properties_of({"Node"}) if labels & SUBLABELS else set())


def test_every_node_of_the_sample_has_only_properties_that_are_described_with_their_types(
    sample: tuple[MemoryGraph, list[str]],
) -> None:
    rows = sample[0].query(
        "MATCH (n) WHERE n.namespace = $namespace OR n:Namespace AND n.name = $namespace UNWIND keys(n) AS key "
        "RETURN DISTINCT labels(n) AS labels, key, valueType(n[key]) AS kind"
    )
    assert {label for row in rows for label in row["labels"]} >= LABELS.keys() - {
        *(label for label, (part, _, _) in LABELS.items() if part == "upkeep")
    }
    for row in rows:
        labels, key = set(row["labels"]), row["key"]
        assert labels <= LABELS.keys()
        if not key.startswith("field_"):
            assert key in properties_of(labels), (labels, key)
            wanted = [OVER[f"{label}.{key}"] for label in labels if f"{label}.{key}" in OVER] or [PROPERTIES[key]]
            assert is_kind(row["kind"], wanted[0][0]), row


def test_every_relationship_of_the_sample_has_only_properties_that_are_described_with_their_types(
    sample: tuple[MemoryGraph, list[str]],
) -> None:
    rows = sample[0].query(
        "MATCH (a)-[r]->() WHERE a.namespace = $namespace UNWIND keys(r) AS key "
        "RETURN DISTINCT type(r) AS type, key, valueType(r[key]) AS kind"
    )
    assert len({row["type"] for row in rows}) > 8
    for row in rows:
        assert row["key"] in RELATIONSHIPS[row["type"]][2].split(), row
        wanted = OVER.get(f"{row['type']}.{row['key']}") or PROPERTIES[row["key"]]
        assert is_kind(row["kind"], wanted[0]), row


def is_kind(stored: str, described: str) -> bool:
    """Whether the type of a stored value is the one that is described; an empty list is one of anything."""
    kind = stored.removesuffix(" NOT NULL")
    if described == "bytes":  # Neo4j calls them a list
        return kind == "LIST<INTEGER NOT NULL>"
    return KINDS.get(kind, kind) == described or (kind == "LIST<NOTHING>" and described.startswith("list"))


def test_the_type_of_each_property_is_one_that_neo4j_has() -> None:
    assert {kind for kind, _ in [*PROPERTIES.values(), *OVER.values()]} <= {*KINDS.values(), "bytes", "list of floats"}
