"""The graph in a conversation: where nodes end, what belongs to them, and their routes in order."""

from __future__ import annotations

import pytest

from memorygraph.compiler.convo import NodeGraph, graph_of
from memorygraph.languages import parse
from memorygraph.languages.convo.syntax import FunctionMessage, Template, message_role


def graph(source: str) -> NodeGraph:
    """The graph in a source, whatever else is wrong with it."""
    return graph_of(parse(source, "convo").conversation)


def test_a_node_ends_where_another_begins_also_an_indented_one() -> None:
    found = graph(
        "> user\n1\n> node a\nA\n  > user\n  2\n    > node b\n    > f()\n    > user\n    3\n"
        "> nodeEnd\n> user\n4\n> node c\n> user\n5\n> goto a\n> user\n6\n> exitGraph\n> user\n7"
    )
    assert {id_: [message_role(m) for m in node.children] for id_, node in found.nodes.items()} == {
        "a": ["user"],
        "b": ["", "user"],
        "c": ["user"],
    }
    assert [message_role(m) for m in found.outside] == ["user", "user", "goto", "user", "exitGraph", "user"]
    assert [f.name for f in found.nodes["b"].functions] == ["f"]
    assert isinstance(found.nodes["b"].children[0], FunctionMessage)


def test_routes_stand_in_the_order_of_the_source() -> None:
    found = graph(
        "@from b It is so\n> node a\n@exit = eq(1 2)\n@to a\n@to next Maybe\n> node b\n> to! a\neq(1 2)\n> exit\nSo\n"
        "> from a\nWhen\n@from b\n> node c"
    )
    assert [(route.target, type(route.condition), route.written) for route in found.nodes["b"].routes] == [
        ("a", Template, "@from b It is so"),
        (None, tuple, "@exit = …"),
        ("a", type(None), "@to a"),
        ("next", Template, "@to next Maybe"),
        ("a", tuple, "> to! a"),
        (None, Template, "> exit"),
        ("c", type(None), "@from b"),
    ]
    assert [(route.target, route.condition) for route in found.nodes["a"].routes] == [("b", Template(("When",)))]
    assert found.nodes["c"].routes == ()


@pytest.mark.parametrize(
    ("written", "candidates", "condition"),
    [
        ("auto", (), None),
        ("auto b c", ("b", "c"), None),
        ("auto b, c", ("b", "c"), None),
        ("auto b if it is so", (), Template(("b if it is so",))),
    ],
)
def test_auto_can_name_its_candidates(written: str, candidates: tuple[str, ...], condition: object) -> None:
    [route] = graph(f"@to {written}\n> node a\n> node b\n> node c").nodes["a"].routes
    assert (route.target, route.candidates, route.condition) == ("auto", candidates, condition)


@pytest.mark.parametrize(
    ("written", "target", "candidates", "words"),
    [
        ("> to my node", "my node", (), None),
        ("> to my node\nSo", "my node", (), "So"),
        ("> to auto b, my", "auto", ("b", "my"), None),
        ("> to auto b my\nSo", "auto", ("b", "my"), "So"),
        ("> to auto b is better", "auto", (), "b is better"),
        ("> to auto it is so\nand {{x}}", "auto", (), "it is so\nand "),
        ("> to next b", "next", (), "b"),
        ("> to next else", "next", (), None),
    ],
)
def test_the_head_of_a_routing_message_is_an_id_with_blanks_or_goes_on_as_a_tag_does(
    written: str, target: str, candidates: tuple[str, ...], words: str | None
) -> None:
    [route] = graph(f"> node a\n{written}\n> node b\n> node my\n> node my node").nodes["a"].routes
    parts = route.condition.parts if isinstance(route.condition, Template) else None
    assert (route.target, route.candidates) == (target, candidates)
    assert words == (None if parts is None else "".join(part for part in parts if isinstance(part, str)))


def test_a_node_with_blanks_in_its_id_can_be_a_source_of_a_route() -> None:
    found = graph("> node my node\n> node b\n> from my node\n> from auto it is so")
    assert [(route.target, route.condition) for route in found.nodes["my node"].routes] == [
        ("b", None),
        ("b", Template(("it is so",))),
    ]


def test_a_node_can_be_reached_from_the_next_one_and_from_all() -> None:
    found = graph("@from next\n> node a\n> node b\n@from auto\n@from next\n> node c")
    assert {id_: [route.target for route in node.routes] for id_, node in found.nodes.items()} == {
        "a": ["c"],
        "b": ["a", "c"],
        "c": [],
    }


def test_a_route_has_the_model_that_judges_it() -> None:
    found = graph("@routingModel small\n@to b So\n> node a\n@routingModel large\n> to b\nSo\n> node b")
    assert [route.model for route in found.nodes["a"].routes] == ["small", "large"]
