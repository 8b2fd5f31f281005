"""A node graph as a picture: in Mermaid's language, or as SVG, with the path of a run on it.

Mermaid is what people paste. SVG is what `--open` and notebooks show: a browser draws it without the megabytes of
JavaScript that Mermaid fetches from the network, so it works offline, and no other host learns of it.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from memorygraph.compiler.convo import EXIT, EXIT_NAME, GraphNode, NodeGraph, graph_of
from memorygraph.errors import Source
from memorygraph.languages.convo.syntax import ConvoProgram
from memorygraph.runtime.convo.steps import NO_FURTHER_NODE, fork_of

JUDGED_KINDS = {"auto", "natural language"}

# Sizes in pixels, and of texts in characters.
BOX_WIDTH, LINE_HEIGHT, PADDING = 200, 16, 12
GAP_X, GAP_Y, MARGIN = 60, 90, 40
MAX_LABEL, MAX_ABOUT, ABOUT_WIDTH, MAX_ARROW_LABEL = 60, 80, 30, 34
MAX_SHOWN_STEPS = 4  # of those that took one route
MAX_STRETCH = 60  # by how much a gap can be larger, where the box above has fewer lines than its neighbours
COLORS = {"box": "#eef4fb", "edge": "#7a8ba0", "path": "#d9534f", "text": "#22303f"}
MERMAID_ENTITIES = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;", "\n": "<br/>"}


@dataclass(frozen=True)
class Arrow:
    """A route as it is drawn: `target` is a node or EXIT, `taken` the numbers of the steps that took it."""

    source: str
    target: str
    condition: str
    kind: str
    taken: tuple[int, ...] = ()

    def label(self, separator: str) -> str:
        """The steps and the condition as one text; `3x: 1, 4, 7` was taken three times."""
        count, numbers = len(self.taken), ", ".join(map(str, self.taken[:MAX_SHOWN_STEPS]))
        steps = f"{count}x: {numbers}{', …' * (count > MAX_SHOWN_STEPS)}" if count > 1 else numbers
        return separator.join(filter(None, [steps, textwrap.shorten(self.condition, MAX_LABEL, placeholder=" …")]))


def draw(program: ConvoProgram, format_: str, steps: Sequence[Mapping[str, Any]] = ()) -> str:
    r"""Draw a graph, with the path of a run on it. `steps` are those that the result of a run lists.

    >>> from memorygraph.languages import parse
    >>> print(draw(parse("@to b\n> node a\n> node b\n> goto a", "convo"), "mermaid"))
    flowchart TD
      n0["a"]
      n1["b"]
      n0 --> n1
    """
    graph = graph_of(program.conversation)
    visits = Counter(step["node"] for step in steps)
    arrows = arrows_of(graph, program.source, moves_of(steps))
    return draw_mermaid(graph, arrows, visits) if format_ == "mermaid" else draw_svg(graph, arrows, visits)


@dataclass(frozen=True)
class Move:
    """A move of a run, from a node to a node or EXIT: the route as the source writes it, and the step that made it."""

    source: str
    target: str
    route: str  # empty where it is not known: only the first way that a fork goes has its route stored
    step: int


def moves_of(steps: Sequence[Mapping[str, Any]]) -> Iterator[Move]:
    """List the moves of a run."""
    nodes = {(step["branch"], step["index"]): step["node"] for step in steps}
    for step in steps:
        if step["why"] is not None:
            route = step["why"].removesuffix(NO_FURTHER_NODE)
            yield Move(step["node"], step["route"] or EXIT, route, step["index"] + 1)
        fork = fork_of(step["branch"])
        if fork is not None and fork.index == step["index"] - 1:  # the branch begins here
            before = nodes.get((fork.parent, fork.index))
            if before is not None:
                yield Move(before, step["node"], "", step["index"])


def arrows_of(graph: NodeGraph, source: Source, moves: Iterable[Move]) -> list[Arrow]:
    """List the arrows of all routes, and of what a run did that no route says."""
    routes = [
        (node.id, target, route)
        for node in graph.nodes.values()
        for route in node.routes
        for target in graph.targets(node, route)
    ]
    places: dict[tuple[str, ...], int] = {}
    for place, (id_, target, route) in enumerate(routes):
        places.setdefault((id_, target, route.written), place)
        places.setdefault((id_, target), place)
    taken: dict[int | tuple[str, str], list[int]] = {}
    for move in moves:
        ends = (move.source, move.target)
        # A route that is not known, or that is written like another one, is taken for the first that leads there.
        key = places.get((*ends, move.route), places.get(ends, ends))
        taken.setdefault(key, []).append(move.step)
    arrows = []
    for place, (id_, target, route) in enumerate(routes):
        condition = route.condition_text(source) or ("auto" if route.kind == "auto" else "")
        arrows.append(Arrow(id_, target, condition, route.kind, tuple(taken.pop(place, ()))))
    left = [(ends, numbers) for ends, numbers in taken.items() if isinstance(ends, tuple)]
    return arrows + [Arrow(*ends, "", "always", tuple(numbers)) for ends, numbers in left if ends[0] in graph.nodes]


def label_node(id_: str, visits: Mapping[str, int]) -> str:
    """The id of a node, and how often a run has visited it, if more than once."""
    return f"{id_} · {visits[id_]}x" if visits.get(id_, 0) > 1 else id_


def first_paragraph(node: GraphNode) -> str:
    """The first paragraph of a node's description, on one line."""
    return " ".join(node.description.partition("\n\n")[0].split())


# Mermaid


def draw_mermaid(graph: NodeGraph, arrows: Sequence[Arrow], visits: Mapping[str, int]) -> str:
    """Draw a graph in Mermaid's language."""
    names = {id_: f"n{number}" for number, id_ in enumerate(graph.nodes)}
    lines = ["flowchart TD"]
    for id_, node in graph.nodes.items():
        about = textwrap.shorten(first_paragraph(node), MAX_ABOUT, placeholder=" …")
        label = "\n".join(filter(None, [label_node(id_, visits), about]))
        lines.append(f'  {names[id_]}["{escape_mermaid(label)}"]')
    if any(arrow.target == EXIT for arrow in arrows):
        names[EXIT] = EXIT_NAME
        lines.append(f'  {EXIT_NAME}(("{EXIT_NAME}"))')
    for arrow in arrows:
        line = "-.->" if arrow.kind in JUDGED_KINDS else "-->"
        label = arrow.label(" · ")
        text = f'|"{escape_mermaid(label)}"|' if label else ""
        lines.append(f"  {names[arrow.source]} {line}{text} {names.get(arrow.target, 'missing')}")
    taken = [str(number) for number, arrow in enumerate(arrows) if arrow.taken]
    if taken:
        lines.append(f"  linkStyle {','.join(taken)} stroke:{COLORS['path']},stroke-width:3px")
    visited = [names[id_] for id_ in visits if id_ in names]
    if visited:
        lines.append(f"  classDef visited stroke:{COLORS['path']},stroke-width:3px")
        lines.append(f"  class {','.join(visited)} visited")
    return "\n".join(lines)


def escape_mermaid(text: str) -> str:
    """Escape a text for a label in Mermaid's language."""
    return "".join(MERMAID_ENTITIES.get(sign, sign) for sign in text if sign.isprintable() or sign == "\n")


# SVG


@dataclass(frozen=True)
class NodeBox:
    """Where a node is drawn: the middle of its top, and the lines of its text."""

    x: float
    y: float
    lines: tuple[str, ...]

    @property
    def height(self) -> float:
        """The height in pixels."""
        return PADDING * 2 + LINE_HEIGHT * len(self.lines)


def arrange_rows(graph: NodeGraph, arrows: Sequence[Arrow]) -> list[list[str]]:
    """Arrange the nodes in rows by their distance from the first one; unreachable ones come last."""
    row: dict[str, int] = {}
    for start in graph.nodes:
        if start in row:
            continue
        waiting = [(start, max(row.values(), default=-1) + 1 if row else 0)]
        while waiting:
            id_, depth = waiting.pop(0)
            if id_ not in row and id_ in graph.nodes:
                row[id_] = depth
                waiting += [(arrow.target, depth + 1) for arrow in arrows if arrow.source == id_]
    rows: list[list[str]] = [[] for _ in range(max(row.values(), default=-1) + 1)]
    for id_, depth in row.items():
        rows[depth].append(id_)
    return [ids for ids in rows if ids] + ([[EXIT]] if any(arrow.target == EXIT for arrow in arrows) else [])


def place_boxes(graph: NodeGraph, rows: Sequence[Sequence[str]], visits: Mapping[str, int]) -> dict[str, NodeBox]:
    """Place the nodes of each row side by side."""
    width = max((len(row) for row in rows), default=1) * (BOX_WIDTH + GAP_X)
    boxes: dict[str, NodeBox] = {}
    y: float = MARGIN
    for row in rows:
        step = width / len(row)
        for place, id_ in enumerate(row):
            about = textwrap.wrap(first_paragraph(graph.nodes[id_]), ABOUT_WIDTH)[:3] if id_ in graph.nodes else []
            name = EXIT_NAME if id_ == EXIT else label_node(id_, visits)
            boxes[id_] = NodeBox(MARGIN + step * (place + 0.5), y, (name, *about))
        y += max(boxes[id_].height for id_ in row) + GAP_Y
    return boxes


def draw_svg(graph: NodeGraph, arrows: Sequence[Arrow], visits: Mapping[str, int]) -> str:
    """Draw a graph as SVG."""
    boxes = place_boxes(graph, arrange_rows(graph, arrows), visits)
    visited = {*visits, *(EXIT for arrow in arrows if arrow.target == EXIT and arrow.taken)}
    width = max((box.x for box in boxes.values()), default=0) + BOX_WIDTH / 2 + MARGIN * 4
    height = max((box.y + box.height for box in boxes.values()), default=0) + MARGIN
    pieces = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="12">',
        '<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="10" markerHeight="10" '
        'markerUnits="userSpaceOnUse" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="context-stroke"/></marker></defs>',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    drawn = [draw_arrow(arrow, boxes) for arrow in arrows if arrow.target in boxes]
    pieces += [curve for curve, _ in drawn]
    pieces += [draw_box(id_, box, visited=id_ in visited) for id_, box in boxes.items()]
    pieces += [label for _, label in drawn if label]  # last, so that no box hides one
    return "\n".join([*pieces, "</svg>"])


def draw_box(id_: str, box: NodeBox, *, visited: bool) -> str:
    """Draw a node, or the exit, which is round."""
    color, thick = (COLORS["path"], 3) if visited else (COLORS["edge"], 1)
    radius = box.height / 2 if id_ == EXIT else 8
    half = box.height if id_ == EXIT else BOX_WIDTH / 2
    texts = "".join(
        f'<text x="{box.x:.0f}" y="{box.y + PADDING + LINE_HEIGHT * (number + 0.75):.0f}" text-anchor="middle" '
        f'fill="{COLORS["text"]}"{" font-weight=" + chr(34) + "bold" + chr(34) if number == 0 else ""}>'
        f"{escape_xml(line)}</text>"
        for number, line in enumerate(box.lines)
    )
    return (
        f'<rect x="{box.x - half:.0f}" y="{box.y:.0f}" width="{half * 2:.0f}" height="{box.height:.0f}" '
        f'rx="{radius:.0f}" fill="{COLORS["box"]}" stroke="{color}" stroke-width="{thick}"/>{texts}'
    )


def draw_arrow(arrow: Arrow, boxes: dict[str, NodeBox]) -> tuple[str, str]:
    """Draw a curve from box to box, down to the next row or around the side, and its label."""
    source, target = boxes[arrow.source], boxes[arrow.target]
    color, thick = (COLORS["path"], 3) if arrow.taken else (COLORS["edge"], 1.5)
    dashes = ' stroke-dasharray="5 4"' if arrow.kind in JUDGED_KINDS else ""
    bottom = source.y + source.height
    if 0 < target.y - bottom < GAP_Y + MAX_STRETCH:
        bend = (target.y - bottom) / 2
        curve = f"M{source.x:.0f},{bottom:.0f} C{source.x:.0f},{bottom + bend:.0f} "
        curve += f"{target.x:.0f},{target.y - bend:.0f} {target.x:.0f},{target.y:.0f}"
        x, y = source.x + (target.x - source.x) * 0.8, bottom + (target.y - bottom) * 0.65
    elif target.y == source.y:
        curve, x, y = draw_beside(source, target, boxes)
    else:
        curve, x, y = draw_around(source, target, boxes)
    label = textwrap.shorten(arrow.label(": "), MAX_ARROW_LABEL, placeholder=" …")
    text = (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="middle" fill="{color}" stroke="#ffffff" stroke-width="4" '
        f'paint-order="stroke">{escape_xml(label)}</text>'
    )
    path = f'<path d="{curve}" fill="none" stroke="{color}" stroke-width="{thick}"{dashes} marker-end="url(#end)"/>'
    return path, text if label else ""


def draw_beside(source: NodeBox, target: NodeBox, boxes: dict[str, NodeBox]) -> tuple[str, float, float]:
    """Draw a curve within a row, and say where its label stands: what leads to the right is above what leads back."""
    way = 1 if target.x >= source.x else -1
    left, right = sorted([source.x, target.x])
    between = [box for box in boxes.values() if box.y == source.y and left <= box.x <= right]
    level = source.y if way > 0 else max(box.y + box.height for box in between)
    if source is target:
        start, end = source.y + PADDING, source.y + PADDING + LINE_HEIGHT
        side = right + BOX_WIDTH / 2
        curve = f"M{side:.0f},{start} C{side + GAP_X:.0f},{start} {side + GAP_X:.0f},{end} {side:.0f},{end}"
        return curve, side + GAP_X / 2, level - LINE_HEIGHT * 1.5
    if len(between) == 2:  # neighbours: from the side that faces the other
        height = source.y + PADDING + (0 if way > 0 else LINE_HEIGHT)
        half = way * BOX_WIDTH / 2
        curve = f"M{source.x + half:.0f},{height} L{target.x - half:.0f},{height}"
        return curve, (left + right) / 2, level - PADDING / 2 if way > 0 else level + LINE_HEIGHT
    bend = level - GAP_Y if way > 0 else level + MARGIN
    start, end = (source.y, target.y) if way > 0 else (source.y + source.height, target.y + target.height)
    indent = way * PADDING * 2  # beside the arrows of other rows
    curve = f"M{source.x + indent:.0f},{start} C{source.x + indent:.0f},{bend} "
    curve += f"{target.x - indent:.0f},{bend} {target.x - indent:.0f},{end}"
    return curve, (left + right) / 2, (level + bend * 3) / 4


def draw_around(source: NodeBox, target: NodeBox, boxes: dict[str, NodeBox]) -> tuple[str, float, float]:
    """Draw a curve around the right side of all boxes, and say where its label stands."""
    side = max(box.x for box in boxes.values()) + BOX_WIDTH / 2 + MARGIN * 2

    def leave(box: NodeBox, *, above: bool) -> tuple[str, str, float]:
        """Where the curve leaves a box, in which direction, and at which height it goes to the side."""
        row = [other for other in boxes.values() if other.y == box.y]
        if box.x == max(other.x for other in row):
            right = box.x + (box.height if box is boxes.get(EXIT) else BOX_WIDTH / 2)
            height = box.y + box.height / 2
            return f"{right:.0f},{height:.0f}", f"{side:.0f},{height:.0f}", height
        x, edge = box.x + PADDING * 4, box.y if above else box.y + box.height
        height = box.y - MARGIN if above else max(other.y + other.height for other in row) + MARGIN
        return f"{x:.0f},{edge:.0f}", f"{x:.0f},{height:.0f}", height

    is_up = target.y < source.y
    start, away, high = leave(source, above=is_up)
    end, back, low = leave(target, above=not is_up)
    middle = (high + low) / 2
    curve = f"M{start} C{away} {side:.0f},{high:.0f} {side:.0f},{middle:.0f} C{side:.0f},{low:.0f} {back} {end}"
    return curve, side - MARGIN, middle


def escape_xml(text: str) -> str:
    """Escape a text for SVG, without the characters that XML does not allow."""
    return escape("".join(sign for sign in text if sign.isprintable()), quote=True)
