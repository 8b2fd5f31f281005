"""The colours of pictures and of Neo4j Browser differ for all eyes, and what is written on them can be read."""

from __future__ import annotations

from itertools import combinations

import pytest

from memorygraph.graph.message_labels import OFF_POLICY_LABEL, ROLE_LABELS
from memorygraph.server.browser import style

# Linear RGB as it is seen without one of the three kinds of cones (Machado, Oliveira and Fernandes, 2009).
EYES = {
    "all three": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}
XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.072175), (0.0193339, 0.119192, 0.9503041))
WHITE = (0.95047, 1.0, 1.08883)
MESSAGES = sorted({label for labels in ROLE_LABELS.values() for label in labels} | {OFF_POLICY_LABEL})
KINDS = (
    *MESSAGES,
    "Node",
    "Entity",
    "Observation",
    "Context",
    "Conversation",
    "Version",
    "Step",
    "Run",
    "GraphNode",
    "Graph",
)
MIN_DIFFERENCE = 12.0  # in CIELAB, where 2.3 is just noticed
MIN_CONTRAST = 4.5  # WCAG 2, level AA

Vector = tuple[float, ...]


def times(matrix: tuple[Vector, ...], vector: Vector) -> Vector:
    return tuple(sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix)


def linear(color: str) -> Vector:
    parts = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return tuple(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)


def lab(color: str, eyes: str) -> Vector:
    seen = tuple(min(1.0, max(0.0, part)) for part in times(EYES[eyes], linear(color)))
    x, y, z = (
        (part / white) ** (1 / 3) if part / white > 216 / 24389 else (24389 / 27 * part / white + 16) / 116
        for part, white in zip(times(XYZ, seen), WHITE, strict=True)
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted(times(XYZ, linear(color))[1] for color in (one, other))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("eyes", EYES)
def test_kinds_and_roles_differ_for_all_eyes(eyes: str) -> None:
    rules = style()
    colors = {kind: rules[f"node.{kind}"]["color"] for kind in KINDS}
    alike = [
        (one, other)
        for one, other in combinations(colors, 2)
        if sum((a - b) ** 2 for a, b in zip(lab(colors[one], eyes), lab(colors[other], eyes), strict=True)) ** 0.5
        < MIN_DIFFERENCE
    ]
    assert alike == []


def test_what_is_written_on_a_colour_can_be_read() -> None:
    rules = {selector: rule for selector, rule in style().items() if selector.startswith("node")}
    assert [s for s, r in rules.items() if contrast(r["color"], r["text-color-internal"]) < MIN_CONTRAST] == []
