"""Pictures of a graph that stand still, for notebooks, pages and files (extra `notebooks`).

What neo4j-viz renders can be dragged and searched; it needs a browser that runs its program, which GitHub does not do,
and it cuts long names. The layout is that of networkx, moved apart until no text covers another; matplotlib draws it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from itertools import combinations
from math import dist
from textwrap import fill
from typing import Any

from memorygraph.integrations import needing_extra

with needing_extra("notebooks"):
    import networkx
    from IPython.display import Image
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.textpath import TextPath
    from neo4j_viz import Node, Relationship, VisualizationGraph
    from pydantic_extra_types.color import Color

DOTS_PER_INCH = 110
POINTS_PER_INCH = 72
NAME_WIDTH = 24
"""Characters of a name on a line."""

NAME_FONT = FontProperties(size=10.5, weight="bold")
VERB_FONT = FontProperties(size=8.5)
LINE_SPACING = 1.25
GAP = 3.0
"""Points between two texts."""

BEND = 0.06
"""Of an arrow, as a part of its length; further ones between the same two nodes bend more."""

ALONG = tuple(0.5 + side * step / 40 for step in range(16) for side in ((1, -1) if step else (1,)))
"""Where on its arrow a verb may stand, as a part of its length, the best place first."""

BESIDE = (0.0, 6.0, -6.0, 11.0, -11.0)
"""How many points above its arrow a verb may stand where there is no room on it."""

MAX_SPREAD = 2.2
"""How many times as wide and as high as asked for a picture may become, so that its texts have room."""

Places = dict[Any, tuple[float, float]]


@dataclass(frozen=True)
class Box:
    """A rectangle of a picture, in points; y grows upwards."""

    left: float
    bottom: float
    right: float
    top: float

    def overlap(self, other: Box) -> tuple[float, float]:
        """How far two boxes reach into each other, across and up; both are positive where they do."""
        across = min(self.right, other.right) - max(self.left, other.left)
        return across, min(self.top, other.top) - max(self.bottom, other.bottom)

    def covers(self, other: Box) -> float:
        """The area that two boxes share."""
        across, up = self.overlap(other)
        return max(0.0, across) * max(0.0, up)


@dataclass(frozen=True)
class PlacedRelationship:
    """A relationship with the place of its verb."""

    relationship: Relationship
    bend: float
    verb: str
    box: Box


@dataclass(frozen=True)
class Arrangement:
    """Where everything of a picture is: the middles of the nodes, their circles, their names, and the arrows."""

    places: Places
    radii: dict[Any, float]
    circles: dict[Any, Box]
    names: dict[Any, Box]
    arrows: list[PlacedRelationship]

    @property
    def covered(self) -> float:
        """The area of names and verbs that something else covers, in square points."""
        verbs = [arrow.box for arrow in self.arrows]
        of_texts = sum(one.covers(other) for one, other in combinations([*self.names.values(), *verbs], 2))
        return of_texts + sum(text.covers(circle) for text in verbs for circle in self.circles.values())


def still(picture: VisualizationGraph, *, width: float = 11, height: float = 6.5) -> Image:
    """Draw a picture of `draw_query` or `draw_graph` as a PNG of about so many inches, with every name and verb whole.

    It becomes larger where its texts would cover each other. Its `data` are the bytes, for a file.

    Example::

        still(draw_query(mg, "MATCH (n:Node {namespace: $namespace})-[e:EDGE]->(m) RETURN n, e, m"))

    Raises:
        ValueError: the picture has no nodes.
    """
    if not picture.nodes:
        raise ValueError("a picture without nodes cannot be drawn")
    arrangement = arrange(picture, width * POINTS_PER_INCH, height * POINTS_PER_INCH)
    boxes = [*arrangement.names.values(), *arrangement.circles.values(), *(arrow.box for arrow in arrangement.arrows)]
    left, right = min(box.left for box in boxes) - GAP, max(box.right for box in boxes) + GAP
    bottom, top = min(box.bottom for box in boxes) - GAP, max(box.top for box in boxes) + GAP
    figure = Figure(figsize=((right - left) / POINTS_PER_INCH, (top - bottom) / POINTS_PER_INCH), dpi=DOTS_PER_INCH)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(left, right), ylim=(bottom, top))
    axes.axis("off")
    for arrow in arrangement.arrows:
        draw_relationship(axes, arrow, arrangement)
    for node in picture.nodes:
        draw_node(axes, node, arrangement)
    written = BytesIO()
    figure.savefig(written, format="png", metadata={"Software": None})
    return Image(data=written.getvalue(), format="png")  # type: ignore[no-untyped-call]


def arrange(picture: VisualizationGraph, width: float, height: float) -> Arrangement:
    """Find the places of a picture of so many points, spread until no text is covered, `MAX_SPREAD` times at most."""
    found = find_places(picture)
    spread = 1.0
    while True:
        arrangement = try_arrangement(picture, stretch(found, width * spread, height * spread))
        if not arrangement.covered or spread >= MAX_SPREAD:
            return arrangement
        spread *= 1.1


def try_arrangement(picture: VisualizationGraph, places: Places) -> Arrangement:
    """Move nodes apart until they and their names have room, and put each verb where on its arrow it covers least."""
    places = move_apart(picture, places)
    radii = {node.id: radius_of(node) for node in picture.nodes}
    names = {node.id: name_box(node, places[node.id]) for node in picture.nodes}
    circles = {node.id: circle_box(node, places[node.id]) for node in picture.nodes}
    taken = [*names.values(), *circles.values()]
    arrows = []
    drawn: Counter[tuple[Any, Any]] = Counter()
    # A verb on a short arrow has the fewest places, and chooses first.
    for relationship in sorted(picture.relationships, key=lambda edge: dist(places[edge.source], places[edge.target])):
        ends = (relationship.source, relationship.target)
        drawn[ends] += 1
        bend = BEND * (4 * drawn[ends] - 3)
        verb = str(relationship.caption or "")
        points = [point_of(relationship, bend, places, along, radii[ends[0]]) for along in ALONG]
        boxes = [verb_box(verb, (x, y + above)) for above in BESIDE for x, y in points]
        box = min(boxes, key=lambda box: sum(box.covers(other) for other in taken))
        taken.append(box)
        arrows.append(PlacedRelationship(relationship, bend, verb, box))
    return Arrangement(places, radii, circles, names, arrows)


def find_places(picture: VisualizationGraph) -> Places:
    """Find a place for each node: near what it is joined to, the parts of the picture beside each other."""
    graph: networkx.Graph[Any] = networkx.Graph()
    graph.add_nodes_from(node.id for node in picture.nodes)
    graph.add_edges_from((edge.source, edge.target) for edge in picture.relationships)
    places: Places = {}
    left = 0.0
    for part in sorted(networkx.connected_components(graph), key=len, reverse=True):
        size = len(part) ** 0.5
        found = networkx.kamada_kawai_layout(graph.subgraph(sorted(part, key=str)), scale=size)
        places |= {node: (left + size + x, y) for node, (x, y) in found.items()}
        left += 2 * size + 1
    return places


def stretch(places: Places, width: float, height: float) -> Places:
    """Have places fill a rectangle of so many points."""
    across, up = zip(*places.values(), strict=True)
    wide, high = max(across) - min(across) or 1, max(up) - min(up) or 1
    return {
        node: ((x - min(across)) / wide * (width - 120), (y - min(up)) / high * (height - 60))
        for node, (x, y) in places.items()
    }


def move_apart(picture: VisualizationGraph, places: Places) -> Places:
    """Move nodes that cover each other, or each other's names, by half of what they share, until none do."""
    moved = dict(places)
    for _ in range(300):
        still_covered = False
        for one, other in combinations(picture.nodes, 2):
            across, up = whole_box(one, moved[one.id]).overlap(whole_box(other, moved[other.id]))
            if across > 0 and up > 0:
                still_covered = True
                (x, y), (a, b) = moved[one.id], moved[other.id]
                step_x, step_y = (across / 2 + 0.5, 0.0) if across < up else (0.0, up / 2 + 0.5)
                sign_x, sign_y = (1 if x >= a else -1), (1 if y >= b else -1)
                moved[one.id] = (x + sign_x * step_x, y + sign_y * step_y)
                moved[other.id] = (a - sign_x * step_x, b - sign_y * step_y)
        if not still_covered:
            break
    return moved


def point_of(
    relationship: Relationship, bend: float, places: Places, along: float, radius: float
) -> tuple[float, float]:
    """The point of an arrow at a part of its length; matplotlib bends it by one point beside its middle."""
    (x, y), (a, b) = places[relationship.source], places[relationship.target]
    if relationship.source == relationship.target:
        return x, y + 2.6 * radius
    control = ((x + a) / 2 + bend * (b - y), (y + b) / 2 - bend * (a - x))
    before, middle, after = (1 - along) ** 2, 2 * along * (1 - along), along**2
    return before * x + middle * control[0] + after * a, before * y + middle * control[1] + after * b


def draw_relationship(axes: Axes, arrow: PlacedRelationship, arrangement: Arrangement) -> None:
    """Draw an arrow and its verb; one from a node to itself is a loop above it."""
    source, target = arrow.relationship.source, arrow.relationship.target
    (x, y), radius = arrangement.places[source], arrangement.radii[source]
    if source == target:
        start, end = (x - radius / 2, y + radius), (x + radius / 2, y + radius)
        bend, free = -1.8, (0.0, 0.0)
    else:
        start, end = (x, y), arrangement.places[target]
        bend, free = arrow.bend, (radius + 1, arrangement.radii[target] + 1)
    axes.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            color="#9AA5B1",
            linewidth=(arrow.relationship.width or 1) / 1.6,
            connectionstyle=f"arc3,rad={bend}",
            shrinkA=free[0],
            shrinkB=free[1],
            mutation_scale=10,
        )
    )
    backing = {"boxstyle": "square,pad=0.08", "facecolor": "white", "edgecolor": "none"}
    middle = ((arrow.box.left + arrow.box.right) / 2, (arrow.box.bottom + arrow.box.top) / 2)
    axes.text(
        *middle, arrow.verb, font=VERB_FONT, color="#4A5462", ha="center", va="center", bbox=backing, parse_math=False
    )


def draw_node(axes: Axes, node: Node, arrangement: Arrangement) -> None:
    """Draw a node with its name below it."""
    color = node.color.as_hex("long") if isinstance(node.color, Color) else "#A5ABB6"
    area = (2 * arrangement.radii[node.id]) ** 2
    axes.scatter(*arrangement.places[node.id], s=area, c=color, edgecolors="#5A6472", linewidths=0.8, zorder=3)
    box = arrangement.names[node.id]
    axes.text(
        (box.left + box.right) / 2,
        box.top,
        name_of(node),
        font=NAME_FONT,
        color="#1F2733",
        ha="center",
        va="top",
        linespacing=LINE_SPACING,
        zorder=4,
        parse_math=False,
        bbox={"boxstyle": "square,pad=0.04", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
    )


def radius_of(node: Node) -> float:
    """The radius of a node, in points."""
    return float(node.size or 20) / 2.6


def name_of(node: Node) -> str:
    """The name of a node, on as many lines as it needs."""
    return fill(str(node.caption or ""), NAME_WIDTH, break_long_words=False)


@lru_cache(4096)
def size_of(text: str, font: FontProperties) -> tuple[float, float]:
    """The width and the height of a text, in points."""
    lines = text.replace("$", r"\$").splitlines() or [""]  # else what is between two of them is taken for mathematics
    widths = [TextPath((0, 0), line, prop=font).get_extents().width if line.strip() else 0.0 for line in lines]
    return max(widths), len(lines) * font.get_size_in_points() * LINE_SPACING


def name_box(node: Node, place: tuple[float, float]) -> Box:
    """Where the name of a node stands: below it."""
    wide, high = size_of(name_of(node), NAME_FONT)
    top = place[1] - radius_of(node) - 2
    return Box(place[0] - wide / 2, top - high, place[0] + wide / 2, top)


def circle_box(node: Node, place: tuple[float, float]) -> Box:
    """The square around a node."""
    radius = radius_of(node)
    return Box(place[0] - radius, place[1] - radius, place[0] + radius, place[1] + radius)


def whole_box(node: Node, place: tuple[float, float]) -> Box:
    """A node with its name, and room around both."""
    circle, name = circle_box(node, place), name_box(node, place)
    left, right = min(circle.left, name.left) - GAP, max(circle.right, name.right) + GAP
    return Box(left, name.bottom - GAP, right, circle.top + GAP)


def verb_box(verb: str, middle: tuple[float, float]) -> Box:
    """Where a verb stands around a point of its arrow, with room beside it."""
    wide, high = size_of(verb, VERB_FONT)
    wide += 2 * GAP
    return Box(middle[0] - wide / 2, middle[1] - high / 2, middle[0] + wide / 2, middle[1] + high / 2)
