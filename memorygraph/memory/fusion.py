"""Fusing the lists of recall into one: reciprocal rank fusion, and steps along the graph.

Place p of a list gives the score 1 / (CONSTANT + p) (Cormack, Clarke and Büttcher, 2009). Their constant of 60 makes
the places of a list almost equal: a hit anywhere in two lists beats the first of one. On the questions of LoCoMo that
is worse than words alone. With a small constant the first places decide.

The answer to a message is in the next one, and the meaning of `it` in the one before: so a message gives a part of its
score to its neighbours. A node gives all of its score to the message that it was learnt from, and half of it over an
edge, by the weight of the edge.

All of these were chosen on three conversations (26, 30 and 41) and measured on the seven others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

CONSTANT = 2
"""The constant of reciprocal rank fusion."""

DEPTH = 50
"""The number of entries of each list that count, unless more hits are asked for."""

NEAR = 0.4
"""The share of a message's score for the one before it and the one after it."""

FAR = 0.3
"""The share for the next but one."""

EDGE = 0.5
"""The share of a node's score over an edge of the weight one."""

LEARNT = 1.0
"""The share for the message that a node was learnt from."""

REACH = 50
"""A hit after this place in all of its lists goes no steps: its shares would be too small to matter."""

FAN = 20
"""The number of steps of a kind from one hit: each edge of a node with a thousand says little."""

NEVER = 1000.0
"""A score that no hit reaches."""


def fusion_parameters(limit: int, *, steps: bool) -> dict[str, Any]:
    """The parameters of the query; without steps, only hits by their own words or meaning count.

    >>> fusion_parameters(20, steps=False)["least"] > 4 / (CONSTANT + 1)
    True
    """
    return {
        "constant": CONSTANT,
        "depth": max(DEPTH, limit),
        "least": 1 / (CONSTANT + REACH) if steps else NEVER,
        "near": NEAR,
        "far": FAR,
        "edge": EDGE,
        "learnt": LEARNT,
        "fan": FAN,
    }


def source_of(ways: Sequence[str] | None, edges: Sequence[Mapping[str, Any]]) -> str:
    """The source of a hit: its own words or vector if any, else an edge, else a neighbouring message.

    >>> source_of(["vector", "fulltext"], [{"verb": "is"}]), source_of(None, [{"verb": "is"}]), source_of(None, [])
    ('fulltext+vector', 'edge', 'neighbour')
    """
    return "+".join(sorted(ways or ())) or ("edge" if edges else "neighbour")


def heaviest_verb(edges: Sequence[Mapping[str, Any]]) -> str | None:
    """The verb of the heaviest edge, or None for a message that a node was learnt from.

    >>> heaviest_verb([{"verb": "saw", "weight": 0.1}, {"verb": "wrote", "weight": 0.9}])
    'wrote'
    >>> heaviest_verb([{"verb": None, "weight": None}])
    """
    named = [edge for edge in edges if edge["verb"] is not None]
    return max(named, key=lambda edge: (edge["weight"], edge["verb"]))["verb"] if named else None
