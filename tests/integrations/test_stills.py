"""A picture that stands still is a PNG with everything in it."""

from __future__ import annotations

import struct

import pytest
from neo4j_viz import Node, Relationship, VisualizationGraph

from memorygraph import MemoryGraph
from memorygraph.integrations.neo4j_viz import draw_query
from memorygraph.integrations.stills import NAME_FONT, arrange, find_places, still
from memorygraph.integrations.stills import size_of as text_size
from tests.conftest import EXAMPLES


def size_of(png: bytes) -> tuple[int, int]:
    """The width and the height that the head of a PNG says."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def picture(*edges: tuple[str, str], alone: tuple[str, ...] = ()) -> VisualizationGraph:
    names = sorted({*(end for edge in edges for end in edge), *alone})
    nodes = [Node(id=name, caption=name, size=40) for name in names]
    return VisualizationGraph(
        nodes=nodes, relationships=[Relationship(source=a, target=b, caption="v") for a, b in edges]
    )


def test_it_is_a_png_of_about_the_size_that_was_asked_for_and_no_name_is_cut() -> None:
    width, height = size_of(still(picture(("a", "b"), ("b", "c")), width=4, height=3).data)
    assert 300 < width < 500
    assert 200 < height < 400
    wide, _ = size_of(still(picture(("a long name " * 4, "b" * 80)), width=4, height=3).data)
    assert wide > 500


def test_a_dollar_is_a_dollar_and_no_mathematics() -> None:
    for name in ("costs $5 or $10", "a $x_$ b", "paid $\\oops$ now"):
        graph = picture((name, "b"))
        graph.relationships[0].caption = name
        assert still(graph).data
    assert text_size("$5 $6", NAME_FONT)[0] > text_size("5 6", NAME_FONT)[0] * 1.2


def test_the_same_picture_is_drawn_the_same() -> None:
    one, other = (still(picture(("a", "b"), ("b", "a"), ("c", "c"), alone=("d",))).data for _ in range(2))
    assert one == other


def test_every_node_has_a_place_of_its_own_and_parts_lie_beside_each_other() -> None:
    places = find_places(picture(("a", "b"), ("c", "d"), alone=("e",)))
    assert len({(round(x, 3), round(y, 3)) for x, y in places.values()}) == 5
    assert max(places["a"][0], places["b"][0]) < min(places["c"][0], places["d"][0]) < places["e"][0]


@pytest.mark.slow
def test_no_name_and_no_verb_is_covered_where_many_nodes_are_joined(graph: MemoryGraph) -> None:
    graph.load_file(EXAMPLES / "apollo11.ctx")
    drawn = draw_query(graph, "MATCH (n:Node {namespace: $namespace})-[e:EDGE]->(m) RETURN n, e, m")
    arrangement = arrange(drawn, 800, 480)
    assert (len(arrangement.names), len(arrangement.arrows)) == (22, 31)
    assert arrangement.covered == 0


@pytest.mark.slow
def test_a_picture_becomes_larger_only_where_its_texts_need_it() -> None:
    roomy, crowded = picture(("a", "b")), picture(*((f"a long name {n}", "the middle") for n in range(40)))
    small, large = (size_of(still(drawn, width=4, height=3).data) for drawn in (roomy, crowded))
    assert small[0] <= 4 * 110
    assert large[0] > 1.3 * small[0]


def test_what_joins_the_same_two_nodes_has_a_place_of_its_own_for_each_verb() -> None:
    arrows = arrange(picture(*[("a", "b")] * 3, ("b", "a"), ("a", "a")), 400, 300).arrows
    assert len({arrow.box for arrow in arrows}) == 5


def test_a_picture_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="without nodes"):
        still(VisualizationGraph(nodes=[], relationships=[]))
