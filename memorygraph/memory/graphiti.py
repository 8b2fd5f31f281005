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
NOT_TAKEN = {"Episodic": "episode", "Community": "cluster", "Saga": "saga"}


def adopt_graphiti(namespace: Namespace, groups: Sequence[str] = ()) -> LoadReport:
    """Read the graph of Graphiti, or some groups of it, into a namespace; the old one stays.

    Raises:
        NotFoundError: there is none.
    """
    given = {"groups": list(groups)}
    entities = namespace.read(CYPHER["graphiti/entities"](**given))
    if not entities:
        of = f" of the groups {', '.join(groups)}" if groups else ""
        raise NotFoundError(f"this database has no entities{of} as Graphiti makes them, with a uuid and a group_id")
    transfer = Transfer()
    observations: dict[str, list[str]] = {row["name"]: [] for row in entities}
    for row in entities:
        attributes = [f"{key}: {value}" for key, value in row.pop("attributes").items() if value is not None]
        observations[row["name"]] += [*filter(None, [row.pop("summary")]), *attributes]
    ended = 0
    for row in namespace.read(CYPHER["graphiti/facts"](**given, facts=FACTS)):
        observations.setdefault(row["source"], []).append(f"{row['text'] or row['verb']}{describe_time(row)}")
        if row["invalid_at"] or row["expired"]:
            ended += 1
        else:
            ends = {"source": row["source"], "target": row["target"], "relationType": row["verb"]}
            transfer.relations.append((1, adopt_row(Relation, ends)))
    for row in entities:
        transfer.entities.append((1, adopt_row(Entity, row, observations=observations.pop(row["name"], []))))
    for label, noun in NOT_TAKEN.items():
        [row] = namespace.read(CYPHER["graphiti/count"](**given, label=label))
        if row["count"]:
            transfer.leave_out(f"left out: {count_of(row['count'], noun)}")
    if ended:
        transfer.leave_out(f"observations, and no relations: {count_of(ended, 'fact')} that held")
    return transfer.store(Writer(namespace))


def describe_time(fact: dict[str, Any]) -> str:
    """For which time a fact holds, behind its text; empty where nobody knows.

    >>> describe_time({"valid_at": "1837-01-01T00:00:00Z", "invalid_at": "1871-10-18T12:00:00Z"})
    ' (from 1837-01-01 to 1871-10-18)'
    """
    begin, end = ((fact[name] or "")[:10] for name in ("valid_at", "invalid_at"))
    held = " ".join(filter(None, [f"from {begin}" if begin else "", f"to {end}" if end else ""]))
    return f" ({held})" if held else ""
