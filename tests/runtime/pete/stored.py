"""What a namespace holds of PETE, as lines."""

from __future__ import annotations

import json
from typing import Any

from memorygraph import MemoryGraph

_FACTS = """
MATCH (subject)-[edge:EDGE {namespace: $namespace}]->(object) WHERE edge.id STARTS WITH 'fact-' OR edge.lemma IS NULL
RETURN subject.name + ' | ' + edge.verb + ' | ' + object.name AS line ORDER BY line
"""
_SAID = """
MATCH (subject)-[edge:EDGE {namespace: $namespace, lemma: ''}]->(object)
RETURN subject.name + ' | ' + edge.verb + coalesce(' ' + toString(edge.index), '') + ' | ' + object.name AS line
ORDER BY line
"""
_NODES = """
MATCH (node:Node {namespace: $namespace}) WHERE NOT node:Context
WITH node, [label IN labels(node) WHERE label <> 'Node'] AS labels
RETURN CASE WHEN node.memory IS NULL THEN coalesce(labels[0], node.id) ELSE 'memory:' + toString(node.memory) END
       + ' | ' + node.name AS line, node.memory AS memory
ORDER BY memory, line
"""
_CONTEXTS = """
MATCH (context:Context {namespace: $namespace})
OPTIONAL MATCH (parent)-[:CONTAINS]->(context)
RETURN 'memory:' + toString(context.memory) + ' ' + context.name + ' '
       + coalesce('memory:' + toString(parent.memory), '-') + ' ' + coalesce(context.tldr, '-') + ' '
       + CASE WHEN context.tail IS NULL THEN 'open' ELSE 'closed' END AS line
ORDER BY context.memory
"""
_ENTRIES = """
MATCH (context:Context {namespace: $namespace})-[states:STATES]->(entry:Entry)
OPTIONAL MATCH (entry)-[:MENTIONS]->(about)
WITH context, states, entry, about ORDER BY about.name
WITH context, states, entry, collect(about.name) AS about
RETURN context.name AS name, states.index AS index, properties(entry) AS entry, about
ORDER BY context.memory, index
"""
_BINDINGS = """
MATCH (context:Context {namespace: $namespace})-[binds:BINDS]->(node)
WITH context, binds.ref AS ref, node.name AS name ORDER BY binds.order
WITH context, ref, collect(name) AS names
RETURN context.name + ' &' + ref + ' = ' + reduce(line = names[0], name IN names[1..] | line + ', ' + name) AS line
ORDER BY context.memory, ref
"""
_FIELDS = """
MATCH (context:Context {namespace: $namespace}) UNWIND keys(context) AS key
WITH context, key WHERE key STARTS WITH 'field_'
RETURN context.name + ' ' + substring(key, 6) + ' = ' + context[key] AS line ORDER BY line
"""
_ELEMENTS = """
MATCH (node {namespace: $namespace}) WHERE NOT node:Load AND NOT node:Namespace
RETURN labels(node) AS labels, properties(node) AS properties,
       COLLECT { MATCH (node)-[edge]->(other)
                 RETURN type(edge) + coalesce(edge.id, edge.ref, '') + coalesce(toString(edge.order), '')
                        + coalesce(toString(other.id), '') AS shown ORDER BY shown } AS edges
ORDER BY properties.id
"""
_ALL = """
MATCH (element {namespace: $namespace}) WHERE element:Node OR element:Entry
RETURN element.id AS id, properties(element) AS value
UNION ALL
MATCH (from_node)-[edge:EDGE {namespace: $namespace}]->(to_node)
RETURN edge.id AS id, edge {.*, from_node: from_node.id, to_node: to_node.id} AS value
"""
TABLES = ("facts", "said", "nodes", "contexts", "entries", "bindings", "fields")
"""The sections of a case that `lines` shows."""

_SHOWN = ("sensor", "value", "faculty", "procedure", "arguments", "address", "mentions", "binds")


def lines(graph: MemoryGraph, section: str) -> str:
    """The lines of a section of a case."""
    if section == "entries":
        return "\n".join(_entry(row) for row in graph.query(_ENTRIES))
    queries = {"facts": _FACTS, "said": _SAID, "nodes": _NODES, "contexts": _CONTEXTS, "bindings": _BINDINGS}
    return "\n".join(row["line"] for row in graph.query(queries.get(section, _FIELDS)))


def _entry(row: dict[str, Any]) -> str:
    entry = row["entry"]
    more = {name: entry[name] for name in _SHOWN if entry.get(name) not in (None, [])}
    about = {"about": row["about"]} if row["about"] else {}
    return f"{row['name']} {row['index']} {entry['kind']} {json.dumps(more | about, ensure_ascii=False)}"


def elements(graph: MemoryGraph) -> str:
    """All that is stored, but for the records of the loads."""
    return "\n".join(json.dumps(row, default=str, sort_keys=True) for row in graph.query(_ELEMENTS))


def all_elements(graph: MemoryGraph) -> dict[str, str]:
    """The nodes, the edges and the statements of contexts, by their ids."""
    return {row["id"]: json.dumps(row["value"], default=str, sort_keys=True) for row in graph.query(_ALL)}
