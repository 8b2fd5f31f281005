"""A node graph as a picture: in Mermaid's language, or as SVG, with the path of a run on it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from memorygraph.errors import Source
from memorygraph.languages.convo.syntax import Program
from memorygraph.runtime.convo.conditions import EXIT, condition_of, kind_of, targets_of
from memorygraph.runtime.convo.graph import Graph, Node, graph_of

_JUDGED = {"auto", "natural language"}

_WIDTH, _LINE, _PADDING = 200, 16, 12
_GAP_X, _GAP_Y, _MARGIN = 60, 90, 40
_LABEL, _DESCRIPTION = 28, 30
_STRETCH = 60  # by how much a gap can be larger, because the box above is lower than its neighbours
_COLORS = {"box": "#eef4fb", "edge": "#7a8ba0", "path": "#d9534f", "text": "#22303f"}
_MERMAID = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;", "\n": "<br/>"}


@dataclass(frozen=True)
class Arrow:
    """A route as it is drawn: `target` is a node or the exit, `label` its condition, `taken` the steps that took it."""

    source: str
    target: str
    label: str
    kind: str
    taken: tuple[int, ...] = ()


def draw(program: Program, format_: str, path: Sequence[str] = (), *, exited: bool = True) -> str:
    r"""The picture of a graph. `path` are the nodes that a run went through, and `exited` says that it has ended.

    >>> from memorygraph.languages import parse
    >>> print(draw(parse("@to b\n> node a\n> node b\n> goto a", "convo"), "mermaid"))
    flowchart TD
      n0["a"]
      n1["b"]
      n0 --> n1
    """
    steps = list(zip(path, [*path[1:], *([EXIT] if exited and path else [])], strict=False))
    graph = graph_of(program.conversation)
    arrows = _arrows(graph, program.source, steps)
    return _mermaid(graph, arrows, path) if format_ == "mermaid" else _svg(graph, arrows, path)


def _arrows(graph: Graph, source: Source, steps: Sequence[tuple[str, str]]) -> list[Arrow]:
    """The arrows of all routes; what a run did that no route says is drawn, too."""
    arrows = [arrow for node in graph.nodes.values() for arrow in _of_node(graph, node, source)]
    taken: dict[tuple[str, str], list[int]] = {}
    for number, pair in enumerate(steps, start=1):
        taken.setdefault(pair, []).append(number)
    drawn = []
    for arrow in arrows:
        numbers = taken.pop((arrow.source, arrow.target), [])
        drawn.append(Arrow(arrow.source, arrow.target, arrow.label, arrow.kind, tuple(numbers)))
    return drawn + [Arrow(a, b, "", "always", tuple(numbers)) for (a, b), numbers in taken.items()]


def _of_node(graph: Graph, node: Node, source: Source) -> Iterator[Arrow]:
    for route in node.routes:
        kind = kind_of(route)
        label = condition_of(route, source) or ("auto" if kind == "auto" else "")
        for target in targets_of(graph, node, route):
            yield Arrow(node.id, target, label, kind)


def _about(node: Node) -> str:
    """The first paragraph of a node's description."""
    text = "".join(part for part in node.message.content.parts if isinstance(part, str))
    return " ".join(text.strip().partition("\n\n")[0].split())


def _mermaid(graph: Graph, arrows: Sequence[Arrow], path: Sequence[str]) -> str:
    names = {id_: f"n{number}" for number, id_ in enumerate(graph.nodes)}
    lines = ["flowchart TD"]
    for id_, node in graph.nodes.items():
        label = "\n".join(filter(None, [id_, textwrap.shorten(_about(node), 80, placeholder=" …")]))
        lines.append(f'  {names[id_]}["{_quoted(label)}"]')
    if any(arrow.target == EXIT for arrow in arrows):
        names[EXIT] = "exit"
        lines.append('  exit(("exit"))')
    for arrow in arrows:
        line = "-.->" if arrow.kind in _JUDGED else "-->"
        label = _label(arrow, " · ")
        text = f'|"{_quoted(label)}"|' if label else ""
        lines.append(f"  {names[arrow.source]} {line}{text} {names.get(arrow.target, 'missing')}")
    taken = [str(number) for number, arrow in enumerate(arrows) if arrow.taken]
    if taken:
        lines.append(f"  linkStyle {','.join(taken)} stroke:{_COLORS['path']},stroke-width:3px")
        visited = dict.fromkeys(names[id_] for id_ in path if id_ in names)
        lines.append(f"  classDef visited stroke:{_COLORS['path']},stroke-width:3px")
        lines.append(f"  class {','.join(visited)} visited")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return "".join(_MERMAID.get(sign, sign) for sign in text if sign.isprintable() or sign == "\n")


def _label(arrow: Arrow, separator: str) -> str:
    numbers = ", ".join(map(str, arrow.taken))
    return separator.join(filter(None, [numbers, textwrap.shorten(arrow.label, 60, placeholder=" …")]))


@dataclass(frozen=True)
class _Box:
    """Where a node is drawn: the middle of its top, and the lines of its text."""

    x: float
    y: float
    lines: tuple[str, ...]

    @property
    def height(self) -> float:
        return _PADDING * 2 + _LINE * len(self.lines)


def _ranks(graph: Graph, arrows: Sequence[Arrow]) -> list[list[str]]:
    """The nodes in rows: how far each is from the first one; what cannot be reached comes last."""
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


def _boxes(graph: Graph, rows: Sequence[Sequence[str]]) -> dict[str, _Box]:
    width = max((len(row) for row in rows), default=1) * (_WIDTH + _GAP_X)
    boxes: dict[str, _Box] = {}
    y: float = _MARGIN
    for row in rows:
        step = width / len(row)
        for place, id_ in enumerate(row):
            about = textwrap.wrap(_about(graph.nodes[id_]), _DESCRIPTION)[:3] if id_ in graph.nodes else []
            boxes[id_] = _Box(_MARGIN + step * (place + 0.5), y, (id_, *about))
        y += max(boxes[id_].height for id_ in row) + _GAP_Y
    return boxes


def _svg(graph: Graph, arrows: Sequence[Arrow], path: Sequence[str]) -> str:
    boxes = _boxes(graph, _ranks(graph, arrows))
    width = max((box.x for box in boxes.values()), default=0) + _WIDTH / 2 + _MARGIN * 4
    height = max((box.y + box.height for box in boxes.values()), default=0) + _MARGIN
    pieces = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="12">',
        '<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="10" markerHeight="10" '
        'markerUnits="userSpaceOnUse" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="context-stroke"/></marker></defs>',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    pieces += [_line(arrow, boxes) for arrow in arrows if arrow.target in boxes]
    pieces += [_drawn(id_, box, visited=id_ in path or (id_ == EXIT and _left(arrows))) for id_, box in boxes.items()]
    return "\n".join([*pieces, "</svg>"])


def _left(arrows: Sequence[Arrow]) -> bool:
    return any(arrow.target == EXIT and arrow.taken for arrow in arrows)


def _drawn(id_: str, box: _Box, *, visited: bool) -> str:
    color, thick = (_COLORS["path"], 3) if visited else (_COLORS["edge"], 1)
    radius = box.height / 2 if id_ == EXIT else 8
    half = box.height if id_ == EXIT else _WIDTH / 2
    texts = "".join(
        f'<text x="{box.x:.0f}" y="{box.y + _PADDING + _LINE * (number + 0.75):.0f}" text-anchor="middle" '
        f'fill="{_COLORS["text"]}"{" font-weight=" + chr(34) + "bold" + chr(34) if number == 0 else ""}>'
        f"{_xml(line)}</text>"
        for number, line in enumerate(box.lines)
    )
    return (
        f'<rect x="{box.x - half:.0f}" y="{box.y:.0f}" width="{half * 2:.0f}" height="{box.height:.0f}" '
        f'rx="{radius:.0f}" fill="{_COLORS["box"]}" stroke="{color}" stroke-width="{thick}"/>{texts}'
    )


def _line(arrow: Arrow, boxes: dict[str, _Box]) -> str:
    """A curve from box to box: downwards to the next row, and around the side where it goes back, or far."""
    source, target = boxes[arrow.source], boxes[arrow.target]
    color, thick = (_COLORS["path"], 3) if arrow.taken else (_COLORS["edge"], 1.5)
    dashes = ' stroke-dasharray="5 4"' if arrow.kind in _JUDGED else ""
    bottom = source.y + source.height
    if 0 < target.y - bottom < _GAP_Y + _STRETCH:
        bend = (target.y - bottom) / 2
        curve = f"M{source.x:.0f},{bottom:.0f} C{source.x:.0f},{bottom + bend:.0f} "
        curve += f"{target.x:.0f},{target.y - bend:.0f} {target.x:.0f},{target.y:.0f}"
        x, y = source.x + (target.x - source.x) * 0.8, bottom + (target.y - bottom) * 0.65
    else:
        side = max(box.x for box in boxes.values()) + _WIDTH / 2 + _MARGIN * 2
        start, end = source.y + source.height / 2, target.y + target.height / 2
        reached = target.x + (target.height if arrow.target == EXIT else _WIDTH / 2)
        curve = f"M{source.x + _WIDTH / 2:.0f},{start:.0f} C{side:.0f},{start:.0f} {side:.0f},{end:.0f} "
        curve += f"{reached:.0f},{end:.0f}"
        x, y = side - _MARGIN, (start + end) / 2
    label = textwrap.shorten(_label(arrow, ": "), _LABEL, placeholder=" …")
    text = (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="middle" fill="{color}" stroke="#ffffff" stroke-width="4" '
        f'paint-order="stroke">{_xml(label)}</text>'
    )
    return (
        f'<path d="{curve}" fill="none" stroke="{color}" stroke-width="{thick}"{dashes} marker-end="url(#end)"/>'
        f"{text if label else ''}"
    )


def _xml(text: str) -> str:
    """A text in SVG: what is no character of XML is left out."""
    return escape("".join(sign for sign in text if sign.isprintable()), quote=True)
