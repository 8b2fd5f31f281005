"""A node graph as a picture: every node and route is there, and nothing of a text becomes part of the drawing."""

from __future__ import annotations

from xml.etree import ElementTree

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


def test_the_path_of_a_run_is_drawn_on_it() -> None:
    taken = draw(REVIEW, "mermaid", ["screenInput", "categorize", "reward"])
    assert 'n0 -->|"1"| n1' in taken
    assert "class n0,n1,n2 visited" in taken
    assert "linkStyle 1,2,4 " in taken
    root = ElementTree.fromstring(draw(REVIEW, "svg", ["screenInput", "categorize", "reward"]))
    thick = [path for path in root.iter(f"{SVG}path") if path.get("stroke-width") == "3"]
    assert len(thick) == 3


def test_a_loop_is_drawn_with_every_visit() -> None:
    loop = graph("@to b\n> node a\n@to a = eq(1 1)\n@exit\n> node b\n> goto a")
    assert '|"1, 3"|' in draw(loop, "mermaid", ["a", "b", "a", "b"])
    ElementTree.fromstring(draw(loop, "svg", ["a", "b", "a", "b"]))


def test_text_stays_text() -> None:
    nasty = graph(
        '@to b "]; click n0 href "javascript:alert(1)" <script>\n> node a\n</text><script>"`#&\n> node b\n> goto a'
    )
    mermaid, svg = draw(nasty, "mermaid"), draw(nasty, "svg")
    assert "<script>" not in mermaid + svg
    assert mermaid.count('"') == 6
    root = ElementTree.fromstring(svg)
    assert not [element for element in root.iter() if element.tag.endswith("script")]
