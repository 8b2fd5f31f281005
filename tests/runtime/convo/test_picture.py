"""A node graph as a picture: every node and route is there, and nothing of a text becomes part of the drawing."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from memorygraph.languages import parse
from memorygraph.languages.convo.syntax import ConvoProgram
from memorygraph.runtime.convo.picture import draw
from tests.conftest import EXAMPLES

SVG = "{http://www.w3.org/2000/svg}"


def graph(source: str) -> ConvoProgram:
    program = parse(source, "convo")
    assert program.problems == ()
    return program


REVIEW = graph((EXAMPLES / "product-review.convo").read_text("utf-8"))


def test_mermaid_has_every_node_and_route() -> None:
    lines = draw(REVIEW, "mermaid").splitlines()
    assert lines[0] == "flowchart TD"
    assert [line.strip().partition("[")[0] for line in lines[1:5]] == ["n0", "n1", "n2", "n3"]
    arrows = [line.split() for line in lines if "-->" in line or "-.->" in line]
    assert [(arrow[0], arrow[-1]) for arrow in arrows] == [("n0", "exit"), ("n0", "n1"), ("n1", "n2"), ("n1", "n3")]


def test_svg_is_xml_with_every_node() -> None:
    root = ElementTree.fromstring(draw(REVIEW, "svg"))
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"screenInput", "categorize", "reward", "refund", "exit"} <= set(texts)
    assert len([path for path in root.iter(f"{SVG}path") if path.get("marker-end")]) == 4


def path(*nodes: str, exited: bool = True, branch: str = "", first: int = 0) -> list[dict[str, Any]]:
    """The steps of a run that went through some nodes, as its result lists them."""
    routes = [*nodes[1:], None]
    return [
        {
            "index": first + number,
            "branch": branch,
            "node": node,
            "route": route,
            "why": "a route" if route or exited else None,
        }
        for number, (node, route) in enumerate(zip(nodes, routes, strict=True))
    ]


def test_the_path_of_a_run_is_drawn_on_it() -> None:
    taken = draw(REVIEW, "mermaid", path("screenInput", "categorize", "reward"))
    assert 'n0 -->|"1"| n1' in taken
    assert "class n0,n1,n2 visited" in taken
    assert "linkStyle 1,2,4 " in taken
    root = ElementTree.fromstring(draw(REVIEW, "svg", path("screenInput", "categorize", "reward")))
    thick = [path for path in root.iter(f"{SVG}path") if path.get("stroke-width") == "3"]
    assert len(thick) == 3


LOOP = graph("@to b\n> node a\n@to a = eq(output 1)\n@exit\n> node b\n> goto a")


def test_a_loop_has_how_often_each_way_was_taken_and_each_node_visited() -> None:
    drawn = draw(LOOP, "mermaid", path("a", "b", "a", "b"))
    assert 'n0["a · 2x"]' in drawn
    assert 'n0 -->|"2x: 1, 3"| n1' in drawn
    assert 'n1 -->|"2 · eq(output 1)"| n0' in drawn
    assert 'n1 -->|"4"| exit' in drawn
    long = draw(LOOP, "mermaid", path(*["a", "b"] * 9))
    assert 'n0 -->|"9x: 1, 3, 5, 7, …"| n1' in long
    texts = [
        text.text for text in ElementTree.fromstring(draw(LOOP, "svg", path("a", "b", "a", "b"))).iter(f"{SVG}text")
    ]
    assert {"a · 2x", "2x: 1, 3"} <= set(texts)


def test_of_several_routes_to_one_node_those_are_marked_that_the_run_took() -> None:
    several = graph(
        "@to b = eq(output 1)\n@to b It is so\n@to b\n> node a\n@exit = eq(output 1)\n@to next\n> node b\n> goto a"
    )
    ends = [
        {"index": 0, "branch": "", "node": "a", "route": "b", "why": "@to b It is so"},
        {"index": 1, "branch": "", "node": "b", "route": None, "why": "@to next (there is no further node)"},
    ]
    lines = [line.strip() for line in draw(several, "mermaid", ends).splitlines() if "-->" in line or "-.->" in line]
    assert lines == [
        'n0 -->|"eq(output 1)"| n1',
        'n0 -.->|"1 · It is so"| n1',
        "n0 --> n1",
        'n1 -->|"eq(output 1)"| exit',
        'n1 -->|"2"| exit',
    ]


def test_a_run_that_was_broken_off_has_not_left_its_last_node() -> None:
    drawn = draw(LOOP, "mermaid", path("a", "b", exited=False))
    assert "class n0,n1 visited" in drawn
    assert "n1 --> exit" in drawn


def test_the_ways_of_forks_are_marked_too() -> None:
    forked = graph("@fork\n@to b\n@to c\n> node a\n@to c\n> node b\n> node c\n> goto a")
    steps = [*path("a", "b", "c"), *path("c", branch="0.1", first=1)]
    drawn = draw(forked, "mermaid", steps)
    assert [line.strip() for line in drawn.splitlines() if "-->" in line and "exit" not in line] == [
        'n0 -->|"1"| n1',
        'n0 -->|"1"| n2',
        'n1 -->|"2"| n2',
    ]
    assert 'n2 -->|"2x: 3, 2"| exit' in drawn


def test_a_node_that_is_called_exit_is_not_the_way_out() -> None:
    left = graph("@to exit = eq(output 1)\n@exit\n> node a\n@exit\n> node exit\n> goto a")
    lines = [line.strip() for line in draw(left, "mermaid", path("a", "exit")).splitlines()]
    assert lines[1:7] == [
        'n0["a"]',
        'n1["exit"]',
        'exit(("exit"))',
        'n0 -->|"1 · eq(output 1)"| n1',
        "n0 --> exit",
        'n1 -->|"2"| exit',
    ]
    texts = [text.text for text in ElementTree.fromstring(draw(left, "svg")).iter(f"{SVG}text")]
    assert texts.count("exit") == 2


def test_text_stays_text() -> None:
    nasty = graph(
        '@to b "]; click n0 href "javascript:alert(1)" <script>\n> node a\n</text><script>"`#&\n> node b\n> goto a'
    )
    mermaid, svg = draw(nasty, "mermaid"), draw(nasty, "svg")
    assert "<script>" not in mermaid + svg
    assert mermaid.count('"') == 6
    root = ElementTree.fromstring(svg)
    assert not [element for element in root.iter() if element.tag.endswith("script")]


SIBLINGS = (
    "@to b = eq(input 1)\n@to c = eq(input 2)\n@to d\n> node a\n"
    "@to a = eq(input 0)\n@to d = eq(input 1)\n@to e\n> node b\n@to d = eq(input 1)\n@to a\n> node c\n{}"
    "@to b = eq(input 1)\n@to c = eq(input 2)\n@to d\n> node d\n@to f\n> node e\n@to b\n> node f\n> goto a"
)


def sample_curve(path: str) -> list[tuple[float, float]]:
    """Points of a path of straight lines and cubic curves."""
    numbers = [float(number) for number in re.findall(r"[\d.]+", path)]
    points = list(zip(numbers[::2], numbers[1::2], strict=True))
    if "L" in path:
        points = [points[0], *points, points[-1]]
    sampled = []
    for first in range(0, len(points) - 1, 3):
        four = points[first : first + 4]
        for t in (step / 50 for step in range(51)):
            weights = ((1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3)
            x, y = (sum(w * point[axis] for w, point in zip(weights, four, strict=True)) for axis in (0, 1))
            sampled.append((x, y))
    return sampled


@pytest.mark.parametrize("text", ["", "Tall. " * 20 + "\n\n"])
def test_a_route_is_drawn_from_box_to_box_and_through_none(text: str) -> None:
    program = graph(SIBLINGS.format(text))
    root = ElementTree.fromstring(draw(program, "svg"))
    rects = [rect for rect in root.iter(f"{SVG}rect") if rect.get("rx") == "8"]
    boxes = {
        name: [float(box.get(key, "0")) for key in ("x", "y", "width", "height")]
        for name, box in zip("abcdef", rects, strict=True)
    }

    def touched(x: float, y: float, room: float) -> list[str]:
        return [
            name
            for name, (left, top, width, height) in boxes.items()
            if left - room <= x <= left + width + room and top - room <= y <= top + height + room
        ]

    curves: dict[str, list[tuple[float, float]]] = {}
    for path in root.iter(f"{SVG}path"):
        if path.get("marker-end"):
            points = sample_curve(path.get("d", ""))
            route = "".join(touched(*points[0], 1) + touched(*points[-1], 1))
            assert route not in curves
            curves[route] = points
            assert [point for point in points if touched(*point, -2)] == [], route
    assert set(curves) == {"ab", "ac", "ad", "ba", "bd", "be", "cd", "ca", "db", "dc", "dd", "ef", "fb"}
    right, left = curves["cd"], curves["dc"]
    assert right[0][0] == left[-1][0] == boxes["c"][0] + boxes["c"][2]
    assert right[-1][0] == left[0][0] == boxes["d"][0]
    assert right[0][1] < left[0][1]
    assert min(y for _, y in curves["bd"]) < boxes["c"][1]
    assert max(y for _, y in curves["db"]) > boxes["c"][1] + boxes["c"][3]
