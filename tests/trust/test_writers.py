"""Writers of every kind at once in one namespace: none fails for another's sake, and what is left is whole."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from memorygraph import ConflictError, MemoryGraph, NotFoundError, ScriptError
from memorygraph.memory.values import Entity, ObservationDeletion, Observations, Relation
from tests.examples import amount
from tests.trust.chance import seeded

NAMES = ("Ada", "Countess", "Bob", "Carl")
ROUNDS = amount(ordinary=5, whole=25, long=500)
NOW = timedelta(0)
COUNTING = "> node first\n > do\n  add(1 1)\n> nodeEnd\n> user\nHi\n> goto first\n"
RIGHTLY = ("was changed by another writer", "can't be undone", "are one entity already")
"""What a write is rightly refused for that comes after another one."""

Writer = Callable[[MemoryGraph, random.Random], object]


def load(graph: MemoryGraph, chance: random.Random) -> None:
    """Store or change nodes, and an edge between them."""
    ids = [f"n{number}" for number in chance.sample(range(6), 3)]
    text = "".join(f'Node(node_id="{each}", name="tea", data="{chance.random()}");' for each in ids)
    graph.load(f'{text}Edge(edge_id="e{ids[0]}", from_node="{ids[0]}", to_node="{ids[1]}", verb="v", weight=1.0);')


def undo(graph: MemoryGraph, chance: random.Random) -> None:
    """Undo one of the last loads."""
    if revisions := graph.revisions(5):
        graph.undo(chance.choice(revisions).revision)


def create(graph: MemoryGraph, chance: random.Random) -> None:
    """Create entities, some of which are there or are names of one, and relate two."""
    texts = [f"likes {chance.randrange(5)}"]
    graph.entities.create([Entity(name=name, entity_type="person", observations=texts) for name in entities(chance, 2)])
    source, target = entities(chance, 2)
    graph.entities.relate([Relation(source=source, target=target, relation_type="knows")])


def observe(graph: MemoryGraph, chance: random.Random) -> None:
    """Add observations to entities, and take one away."""
    contents = [f"likes {chance.randrange(5)}", f"hates {chance.randrange(5)}"]
    graph.entities.observe([Observations(entity_name=name, contents=contents) for name in entities(chance, 2)])
    graph.entities.delete_observations(
        [ObservationDeletion(entity_name=entities(chance, 1)[0], observations=contents[:1])]
    )


def merge(graph: MemoryGraph, chance: random.Random) -> None:
    """Merge two entities."""
    one, other = entities(chance, 2)
    graph.merge(one, into=other)


def talk(graph: MemoryGraph, chance: random.Random) -> None:
    """Say something in one of the conversations, and edit it."""
    messages = graph.messages(f"talk{chance.randrange(2)}")
    messages.append({"role": "user", "content": f"I like tea {chance.random()}"})
    messages[-1]["content"] = f"I like jam {chance.random()}"


WRITERS: Mapping[str, Writer] = {
    "load": load,
    "load as well": load,
    "delete": lambda graph, chance: graph.delete(f"n{chance.randrange(6)}"),
    "forget a node": lambda graph, chance: graph.forget(f"n{chance.randrange(6)}"),
    "expire a node": lambda graph, chance: graph.expire(f"n{chance.randrange(6)}", after=NOW),
    "undo": undo,
    "create": create,
    "observe": observe,
    "merge": merge,
    "delete an entity": lambda graph, chance: graph.entities.delete(entities(chance, 1)),
    "talk": talk,
    "talk as well": talk,
    "forget a conversation": lambda graph, chance: graph.forget_conversation(f"talk{chance.randrange(2)}"),
    "expire a conversation": lambda graph, chance: graph.expire_conversation(f"talk{chance.randrange(2)}", after=NOW),
    "run": lambda graph, _chance: graph.run(COUNTING, language="convo"),
}


def entities(chance: random.Random, number: int) -> list[str]:
    """The names of some entities."""
    return chance.sample(NAMES, number)


def write(graph: MemoryGraph, writer: Writer, chance: random.Random) -> int:
    """Write again and again, and count what was not refused."""
    done = 0
    for _ in range(ROUNDS):
        try:
            writer(graph, chance)
            done += 1
        except (NotFoundError, IndexError):  # of a conversation that is empty again
            pass
        except ScriptError as error:
            if {problem.code for problem in error.problems} != {"unknown-id"}:
                raise
        except ConflictError as error:
            if not any(words in str(error) for words in RIGHTLY):
                raise
    return done


@pytest.mark.slow
def test_no_writer_fails_for_the_sake_of_another_and_what_is_left_is_whole(graph: MemoryGraph) -> None:
    chance = seeded("writers")
    graph.load("".join(f'Node(node_id="n{number}", name="tea", data="");' for number in range(6)))
    graph.entities.create([Entity(name=name, entity_type="person", observations=[]) for name in NAMES])
    for number in range(2):
        graph.messages(f"talk{number}").append({"role": "user", "content": "Hello"})
    with ThreadPoolExecutor(len(WRITERS)) as pool:
        running = {
            name: pool.submit(
                write, MemoryGraph(graph.connection, graph.namespace), writer, random.Random(chance.random())
            )
            for name, writer in WRITERS.items()
        }
        done = {name: each.result() for name, each in running.items()}
    print(done)
    assert done["load"] == done["load as well"] == done["run"] == ROUNDS
    assert graph.broken_invariants() == []
    graph.load('Node(node_id="last", name="L", data="");')
