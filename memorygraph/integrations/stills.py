"""Pictures of a graph that stand still, for notebooks, pages and files (extra `notebooks`).

What neo4j-viz renders can be dragged and searched; it needs a browser that runs its program, which GitHub does not do,
and it cuts long names. The layout is that of networkx, the drawing that of matplotlib.
"""

from __future__ import annotations

from io import BytesIO
from textwrap import fill
from typing import Any

import networkx
from IPython.display import Image
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from neo4j_viz import Node, Relationship, VisualizationGraph
from pydantic_extra_types.color import Color

DOTS_PER_INCH = 110
NAME_WIDTH = 24
"""Characters of a name on a line."""

Places = dict[Any, tuple[float, float]]


def still(picture: VisualizationGraph, *, width: float = 11, height: float = 6.5) -> Image:
    """Draw a picture of `draw_query` or `draw_graph` as a PNG of about so many inches, with every name whole.

    Its `data` are the bytes, for a file.

    Example::

        still(draw_query(mg, "MATCH (n:Node {namespace: $namespace})-[e:EDGE]->(m) RETURN n, e, m"))

    Raises:
        ValueError: the picture has no nodes.
    """
    if not picture.nodes:
        raise ValueError("a picture without nodes cannot be drawn")
    places = find_places(picture)
    figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH)
    axes = figure.add_subplot()
    axes.margins(0.1)
    axes.axis("off")
    radii = {node.id: (node.size or 20) / 2.6 for node in picture.nodes}
    for relationship in picture.relationships:
        draw_relationship(axes, relationship, places, radii)
    for node in picture.nodes:
        draw_node(axes, node, places, radii[node.id])
    written = BytesIO()
    figure.savefig(written, format="png", bbox_inches="tight", pad_inches=0.1, metadata={"Software": None})
    return Image(data=written.getvalue(), format="png")  # type: ignore[no-untyped-call]


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


def draw_relationship(axes: Axes, relationship: Relationship, places: Places, radii: dict[Any, float]) -> None:
    """Draw an arrow with its verb in the middle."""
    start, end = places[relationship.source], places[relationship.target]
    arrow = {
        "arrowstyle": "-|>",
        "color": "#9AA5B1",
        "linewidth": (relationship.width or 1) / 1.6,
        "shrinkA": radii[relationship.source] + 1,
        "shrinkB": radii[relationship.target] + 1,
        "connectionstyle": "arc3,rad=0.06",
    }
    axes.annotate("", xy=end, xytext=start, arrowprops=arrow)
    label = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}
    middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    caption = relationship.caption or ""
    axes.text(*middle, caption, fontsize=8.5, color="#4A5462", ha="center", va="center", bbox=label)


def draw_node(axes: Axes, node: Node, places: Places, radius: float) -> None:
    """Draw a node with its name below it."""
    color = node.color.as_hex("long") if isinstance(node.color, Color) else "#A5ABB6"
    place = places[node.id]
    axes.scatter(*place, s=(2 * radius) ** 2, c=color, edgecolors="white", linewidths=1.5, zorder=3)
    label = {"boxstyle": "round,pad=0.08", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
    axes.annotate(
        fill(str(node.caption or ""), NAME_WIDTH, break_long_words=False),
        place,
        xytext=(0, -radius - 2),
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=10.5,
        fontweight="bold",
        color="#1F2733",
        zorder=4,
        bbox=label,
    )
