"""Adoption of a graph of Graphiti in the same database: its entities and facts, as entities of the memory.

What Graphiti keeps of an entity, its summary and its attributes, becomes observations of it, and so does each fact, of
the entity that it begins at, with the time for which it holds. A fact that holds is a relation, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memorygraph.errors import NotFoundError
from memorygraph.graph.loads import LoadReport
from memorygraph.graph.namespace import Namespace
from memorygraph.library import CYPHER
from memorygraph.memory.transfer import Transfer, adopt_row
from memorygraph.memory.values import Entity, Relation
from memorygraph.memory.writes import Writer
from memorygraph.sentences import count_of

FACTS = "RELATES_TO"
NAMELESS = frozenset({None, ""})
NOT_TAKEN = {"Episodic": "episode", "Community": "cluster", "Saga": "saga"}


def adopt_graphiti(namespace: Namespace, groups: Sequence[str] = ()) -> LoadReport:
    """Read the graph of Graphiti, or some groups of it, into a namespace; the old one stays.

    Raises:
        NotFoundError: there is none.
    """
    given = {"groups": list(groups)}
    found = namespace.read(CYPHER["graphiti/entities"](**given))
    if not found:
        of = f" of the groups {', '.join(groups)}" if groups else ""
        raise NotFoundError(f"this database has no entities{of} as Graphiti makes them, with a uuid and a group_id")
    facts = namespace.read(CYPHER["graphiti/facts"](**given, facts=FACTS))
    # Nodes without a name cannot be entities; facts of them go with them.
    entities = [row for row in found if row["name"] not in NAMELESS]
    facts_of_entities = [row for row in facts if NAMELESS.isdisjoint((row["source"], row["target"]))]
    transfer = Transfer()
    observations: dict[str, list[str]] = {row["name"]: [] for row in entities}
    for row in entities:
        attributes = [f"{key}: {value}" for key, value in row.pop("attributes").items() if value is not None]
        observations[row["name"]] += [*filter(None, [row.pop("summary")]), *attributes]
    for row in facts_of_entities:
        observations.setdefault(row["source"], []).append(f"{row['text'] or row['verb']}{describe_time(row)}")
        if not (row["ended"] or row["begins_later"]):
            ends = {"source": row["source"], "target": row["target"], "relationType": row["verb"]}
            transfer.relations.append((1, adopt_row(Relation, ends)))
    for row in entities:
        transfer.entities.append((1, adopt_row(Entity, row, observations=observations.pop(row["name"], []))))
    losses = [
        (len(found) - len(entities), "left out", "node", " without a name"),
        (len(facts) - len(facts_of_entities), "left out", "fact", " of nodes without a name"),
    ]
    for label, noun in NOT_TAKEN.items():
        [row] = namespace.read(CYPHER["graphiti/count"](**given, label=label))
        losses.append((row["count"], "left out", noun, ""))
    ended = sum(row["ended"] for row in facts_of_entities)
    later = len(facts_of_entities) - len(transfer.relations) - ended
    losses += [
        (ended, "observations, and no relations", "fact", " that held"),
        (later, "observations, and no relations yet", "fact", " that will hold"),
    ]
    for count, what, noun, which in losses:
        if count:
            transfer.leave_out(f"{what}: {count_of(count, noun)}{which}")
    return transfer.store(Writer(namespace))


def describe_time(fact: dict[str, Any]) -> str:
    """For which time a fact holds, behind its text; empty where nobody knows.

    >>> describe_time({"valid_at": "1837-01-01T00:00:00Z", "invalid_at": "1871-10-18T12:00:00Z"})
    ' (from 1837-01-01 to 1871-10-18)'
    """
    begin, end = ((fact[name] or "")[:10] for name in ("valid_at", "invalid_at"))
    held = " ".join(filter(None, [f"from {begin}" if begin else "", f"to {end}" if end else ""]))
    return f" ({held})" if held else ""
