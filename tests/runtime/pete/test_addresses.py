"""Every node of a namespace has an address, memory:N: whoever declared it, PETE can name it, and an answer shows it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from memorygraph import MemoryGraph, NotFoundError
from memorygraph.graph.connection import Connection
from memorygraph.memory.values import Entity
from tests.conftest import empty_namespace
from tests.runtime.pete.minds import Mind
from tests.runtime.pete.stored import lines

WORLD = """
Node(node_id="ada", name="Ada", data="A mathematician.");
Node(node_id="tea", name="tea", data="");
Edge(edge_id="e1", from_node="ada", to_node="tea", verb="likes", weight=1.0);
"""


def addresses(graph: MemoryGraph) -> dict[str, int]:
    """The addresses that were given out, by the ids of the nodes."""
    rows = graph.query("MATCH (n:Node {namespace: $namespace}) WHERE n.memory > 0 RETURN n.id AS id, n.memory AS at")
    return {row["id"]: row["at"] for row in rows}


def test_an_answer_and_its_proof_name_nodes_that_contextscript_declared(mind: Mind) -> None:
    mind.graph.load(WORLD)
    thought = mind.thinks(
        "_a enjoys _b if _a likes _b.\n_who enjoys _what?", "&again = memory:2\n&again is 7.\nmemory:2 knows memory:3."
    )
    step = thought.step()
    assert step.feedback == {
        "answers": [{"who": "memory:2 Ada", "what": "memory:3 tea"}],
        "proof": [
            'memory:2 Ada enjoys memory:3 tea, by the rule "_a enjoys _b if _a likes _b.", because',
            "  memory:2 Ada likes memory:3 tea (fact)",
        ],
    }
    assert '{"who": "memory:2 Ada", "what": "memory:3 tea"}' in thought.text
    named = thought.step()
    assert (named.warnings, named.problems) == ((), ())
    assert addresses(mind.graph) == {"memory-1": 1, "ada": 2, "tea": 3}
    assert "Ada | knows | tea" in lines(mind.graph, "facts")
    assert "Ada | is | 7" in lines(mind.graph, "facts")


def test_what_is_asked_and_is_so_is_proved_by_addresses(mind: Mind) -> None:
    mind.graph.load(WORLD)
    step = mind.thinks("&a = /* Ada */ &t = /* tea */\n&a likes &t?").step()
    assert step.feedback == {"answer": "yes", "proof": ["memory:2 Ada likes memory:3 tea (fact)"]}
    assert addresses(mind.graph) == {"memory-1": 1, "ada": 2, "tea": 3}


def test_values_and_statements_have_addresses_in_an_answer(mind: Mind) -> None:
    step = mind.thinks('&I likes 3. &I says that &I likes "x". _what likes 3?').step()
    [answer] = step.feedback["answers"]
    assert answer["what"].endswith(" I")
    step = mind.thinks("_who likes _what?").step()
    [answer] = step.feedback["answers"]
    assert mind.graph.node(answer["what"].split()[0]).name == "3"


def test_an_entity_of_the_memory_server_has_an_address(mind: Mind) -> None:
    mind.graph.entities.create(
        [Entity.model_validate({"name": "Bob", "type": "person", "observations": ["likes bread"]})]
    )
    step = mind.thinks("&b = /* Bob */\n&b observed _what?").step()
    [answer] = step.feedback["answers"]
    assert step.feedback["proof"] == [f"memory:3 Bob observed {answer['what']} (fact)"]
    assert mind.graph.node(answer["what"].split()[0]).data == "likes bread"


def test_a_log_names_any_node_by_its_address(graph: MemoryGraph) -> None:
    graph.load(WORLD)
    at = graph.address("ada")
    graph.load(f"context main() {{ &a = {at} &a has 3. {at} knows &a. &b = /* Ada */ &b is &a. }}", "pete")
    assert {"Ada | has | 3", "Ada | knows | Ada", "Ada | is | Ada"} <= set(lines(graph, "facts").splitlines())


def test_a_load_of_contextscript_gives_no_addresses_and_a_question_only_those_it_shows(mind: Mind) -> None:
    many = "".join(
        f'Node(node_id="n{n}", name="N{n}", data=""); Edge(edge_id="e{n}", from_node="n{n}", to_node="n0", '
        'verb="likes", weight=1.0);'
        for n in range(30)
    )
    mind.graph.load(many)
    assert addresses(mind.graph) == {}
    step = mind.thinks("_who likes _what?").step()
    assert (len(step.feedback["answers"]), step.feedback["more"]) == (10, 20)
    assert len(addresses(mind.graph)) == 1 + 10
    mind.thinks("&x = /* new */").step()
    assert len(set(addresses(mind.graph).values())) == len(addresses(mind.graph))


def test_an_address_is_stable_and_found_both_ways(graph: MemoryGraph) -> None:
    graph.load(WORLD)
    assert [graph.address("tea"), graph.address("ada"), graph.address("tea")] == ["memory:1", "memory:2", "memory:1"]
    assert graph.node("memory:2") == graph.node("ada")
    graph.load("context main() { &a = /* a */", "pete")
    assert (graph.address("memory-3"), graph.element("memory:3").id) == ("memory:3", "memory-3")
    for wrong in ("memory:99", "memory:" + "9" * 30, "memory:", "memory:x"):
        with pytest.raises(NotFoundError, match="no node"):
            graph.node(wrong)
    with pytest.raises(NotFoundError, match="no node `nobody`"):
        graph.address("nobody")


def test_an_id_like_an_address_is_that_address_unless_another_node_has_it(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="memory-1", name="one", data=""); Node(node_id="ada", name="Ada", data="");')
    assert (graph.address("memory-1"), graph.address("ada")) == ("memory:1", "memory:2")
    graph.load('Node(node_id="memory-2", name="two", data=""); Node(node_id="memory-007", name="seven", data="");')
    assert graph.address("memory-2") == "memory:3"
    assert graph.address("memory-007") == "memory:4"
    assert [graph.node(f"memory:{n}").name for n in (1, 2, 3, 4)] == ["one", "Ada", "two", "seven"]


def test_an_address_survives_a_change_its_undo_and_a_deletion(graph: MemoryGraph) -> None:
    graph.load(WORLD)
    graph.load('Node(node_id="ada", name="Ada Lovelace");')
    at = graph.address("ada")
    assert [revision.revision for revision in graph.revisions()] == [2, 1]  # giving it is no revision
    graph.undo(2)
    assert (graph.node("ada").name, graph.address("ada"), graph.node(at).id) == ("Ada", at, "ada")
    deleted = graph.delete("ada")
    assert graph.address("tea") != at
    with pytest.raises(NotFoundError):
        graph.node(at)
    graph.undo(deleted.revision)
    assert (graph.node(at).id, graph.address("ada")) == ("ada", at)


def test_the_address_of_what_was_deleted_is_not_given_to_another_node(graph: MemoryGraph) -> None:
    graph.load(WORLD)
    at = graph.address("ada")
    deleted = graph.delete("ada")
    graph.load('Node(node_id="bob", name="Bob", data="");')
    assert graph.address("bob") != at
    graph.load('Node(node_id="ada", name="another Ada", data="");')
    assert graph.address("ada") not in {at, graph.address("bob")}
    graph.undo(deleted.revision + 2)
    graph.undo(deleted.revision)
    assert graph.address("ada") == at


def test_nodes_that_are_named_at_the_same_time_have_different_addresses(graph: MemoryGraph) -> None:
    ids = [f"n{number}" for number in range(12)]
    graph.load("".join(f'Node(node_id="{id_}", name="N", data="");' for id_ in ids))

    def name(number: int) -> Any:
        if number % 3:
            return graph.address(ids[number])
        return graph.load(f"context c{number}() {{ &a = /* a{number} */ }}", "pete")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(name, range(12)))
    given = [graph.address(id_) for id_ in ids]
    assert len(set(given)) == len(ids)
    assert len(set(addresses(graph).values())) == len(addresses(graph)) == len(ids) + 4 * 2


def test_addresses_do_not_leave_their_namespace(connection: Connection) -> None:
    one, two = empty_namespace(connection), empty_namespace(connection)
    one.load(WORLD)
    two.load('Node(node_id="bob", name="Bob", data="");')
    assert one.address("ada") == two.address("bob") == "memory:1"
    assert (one.node("memory:1").id, two.node("memory:1").id) == ("ada", "bob")


def test_a_model_can_look_at_any_node_by_its_address(mind: Mind) -> None:
    mind.graph.load(WORLD)
    at = mind.graph.address("ada").partition(":")[2]
    thought = mind.thinks(f'@view, unfold {{"address": {at}}}', "// I see.", '@view, unfold {"address": 99}')
    assert thought.step().feedback == {"name": "Ada", "data": "A mathematician."}
    assert thought.step().problems == ()
    assert "there is no context memory:99" in thought.step().feedback["error"]
