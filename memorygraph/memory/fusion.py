"""Fusing the lists of recall into one: reciprocal rank fusion, and steps along the graph.

Place p of a list gives the score 1 / (CONSTANT + p) (Cormack, Clarke and Büttcher, 2009). Their constant of 60 makes
the places of a list almost equal: a hit anywhere in two lists beats the first of one. On the questions of LoCoMo that
is worse than words alone. With a small constant the first places decide.

The answer to what a message asks stands in the next one, and what `it` means in the one before: so a message gives a
part of its score to those around it. A node gives all of it to the message that it was learnt from, and half to what
is one edge away, by the weight of the edge.

All of these were chosen on three conversations (26, 30 and 41) and measured on the seven others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

CONSTANT = 2
"""Of reciprocal rank fusion."""

DEPTH = 50
"""How many entries of each list count, if no more are wanted."""

NEAR = 0.4
"""What a message gives to the one before it and the one behind it."""

FAR = 0.3
"""What it gives to the next but one."""

EDGE = 0.5
"""What a node gives over an edge of the weight one."""

LEARNT = 1.0
"""What a node gives to the message that it was learnt from."""

REACH = 50
"""What stands behind this place in all of its lists goes no steps: it would give too little to be seen."""

FAN = 20
"""From one hit at most so many steps of a kind are taken: a node with a thousand edges says little by each."""


NEVER = 1000.0
"""A score that nothing has."""


def weights(limit: int, *, steps: bool) -> dict[str, Any]:
    """The parameters of the query; without steps only what was found itself counts.

    >>> weights(20, steps=False)["least"] > 4 / (CONSTANT + 1)
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
    """How something was found: by its own words or vector if at all, else over an edge, else beside a message.

    >>> source_of(["vector", "fulltext"], [{"verb": "is"}]), source_of(None, [{"verb": "is"}]), source_of(None, [])
    ('fulltext+vector', 'edge', 'neighbour')
    """
    return "+".join(sorted(ways or ())) or ("edge" if edges else "neighbour")


def heaviest_verb(edges: Sequence[Mapping[str, Any]]) -> str | None:
    """The verb of the edge of the greatest weight; none where something was learnt from what led to it.

    >>> heaviest_verb([{"verb": "saw", "weight": 0.1}, {"verb": "wrote", "weight": 0.9}])
    'wrote'
    >>> heaviest_verb([{"verb": None, "weight": None}])
    """
    named = [edge for edge in edges if edge["verb"] is not None]
    return max(named, key=lambda edge: (edge["weight"], edge["verb"]))["verb"] if named else None
