"""Pictures of boxes and arrows, as SVG that is sharp at every size and needs no script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

FONT = "font-family='DejaVu Sans, Verdana, sans-serif'"
BOX_HEIGHT, GAP_X, GAP_Y, MARGIN, LETTER = 34, 22, 54, 16, 8.2


class PictureBox(NamedTuple):
    """A box: where its middle is, how large it is, and the lines of text in it."""

    x: float
    y: float
    width: float
    lines: tuple[str, ...]
    color: str = "#eef4fb"

    @property
    def height(self) -> float:
        """A line more makes it higher."""
        return BOX_HEIGHT + 16 * (len(self.lines) - 1)


class PictureArrow(NamedTuple):
    """An arrow between two boxes, and what stands beside it."""

    source: str
    target: str
    label: str = ""


def draw(boxes: Mapping[str, PictureBox], arrows: Sequence[PictureArrow], title: str) -> str:
    """The picture, with as much room as the boxes take."""
    width = max(box.x + box.width / 2 for box in boxes.values()) + MARGIN
    height = max(box.y + box.height / 2 for box in boxes.values()) + MARGIN
    lines = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:g} {height:g}' width='{width:g}' height='{height:g}'>",
        f"<title>{escape(title)}</title>",
        "<defs><marker id='head' viewBox='0 0 8 8' refX='8' refY='4' markerWidth='8' markerHeight='8' orient='auto'>"
        "<path d='M0 0 L8 4 L0 8 z' fill='#7a8ba0'/></marker></defs>",
        f"<rect width='{width:g}' height='{height:g}' fill='#ffffff'/>",
        *(_arrow(boxes[arrow.source], boxes[arrow.target], arrow.label) for arrow in arrows),
        *(_box(box) for box in boxes.values()),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _box(box: PictureBox) -> str:
    left, top = box.x - box.width / 2, box.y - box.height / 2
    texts = [
        f"<text x='{box.x:g}' y='{top + 22 + 16 * place:g}' text-anchor='middle' {FONT} "
        f"font-size='{13 if place == 0 else 11}' fill='{'#22303f' if place == 0 else '#526072'}'>{escape(line)}</text>"
        for place, line in enumerate(box.lines)
    ]
    shape = (
        f"<rect x='{left:g}' y='{top:g}' width='{box.width:g}' height='{box.height:g}' rx='6' fill='{box.color}' "
        "stroke='#7a8ba0'/>"
    )
    return "\n".join([shape, *texts])


def _arrow(source: PictureBox, target: PictureBox, label: str) -> str:
    (x1, y1), (x2, y2) = _edge(source, target), _edge(target, source)
    line = f"<path d='M{x1:g} {y1:g} L{x2:g} {y2:g}' fill='none' stroke='#7a8ba0' marker-end='url(#head)'/>"
    if not label:
        return line
    x, y = (x1 + x2) / 2, (y1 + y2) / 2
    room = LETTER * 0.85 * len(label)
    return (
        f"{line}\n<rect x='{x - room / 2:g}' y='{y - 9:g}' width='{room:g}' height='15' fill='#ffffff'/>\n"
        f"<text x='{x:g}' y='{y + 3:g}' text-anchor='middle' {FONT} font-size='10.5' fill='#2a6ebb'>{escape(label)}</text>"
    )


def _edge(box: PictureBox, other: PictureBox) -> tuple[float, float]:
    """Where the line from the middle of a box to that of another leaves it."""
    dx, dy = other.x - box.x, other.y - box.y
    scale = min(
        (box.width / 2 / abs(dx)) if dx else float("inf"),
        (box.height / 2 / abs(dy)) if dy else float("inf"),
    )
    return round(box.x + dx * scale, 1), round(box.y + dy * scale, 1)


def layered(layers: Sequence[Sequence[str]]) -> dict[str, PictureBox]:
    """Boxes in rows, each in the middle of the widest."""
    widths = {name: max(60.0, LETTER * len(name) + 20) for layer in layers for name in layer}
    rooms = [sum(widths[name] + GAP_X for name in layer) - GAP_X for layer in layers]
    boxes: dict[str, PictureBox] = {}
    for row, (layer, room) in enumerate(zip(layers, rooms, strict=True)):
        left = MARGIN + (max(rooms) - room) / 2
        for name in layer:
            boxes[name] = PictureBox(
                left + widths[name] / 2, MARGIN + BOX_HEIGHT / 2 + row * (BOX_HEIGHT + GAP_Y), widths[name], (name,)
            )
            left += widths[name] + GAP_X
    return boxes
