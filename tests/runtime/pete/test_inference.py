"""Questions about stored facts, and what rules infer from them, in a real Neo4j."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorygraph import MemoryGraph, MemoryGraphError
from memorygraph.compiler.pete.goals import Goal, RuleGoals, Term
from memorygraph.graph.connection import Connection
from memorygraph.graph.namespace import Namespace
from memorygraph.languages.pete.lemmas import spellings
from memorygraph.query import Query
from memorygraph.runtime.pete.inference import Answers, ask, explain_proof
from tests.examples import examples
from tests.shared_neo4j import new_namespace

Fact: TypeAlias = tuple[str, str, str, bool]  # subject, lemma, object, negated

_STORE = """
UNWIND $facts AS fact
MERGE (subject:Node {namespace: $namespace, id: fact.subject}) ON CREATE SET subject.name = fact.subject
MERGE (object:Node {namespace: $namespace, id: fact.object}) ON CREATE SET object.name = fact.object
CREATE (subject)-[edge:EDGE {namespace: $namespace, id: fact.id, verb: fact.verb, weight: 1.0}]->(object)
SET edge += fact.properties
"""
_TEACH = """
UNWIND $rules AS rule
CREATE (:Node:Rule {namespace: $namespace, id: rule.id, name: rule.name, rule: rule.rule,
                    head_lemma: rule.head_lemma, head_negated: rule.head_negated})
"""


class World:
    """A namespace, filled as a log would fill it."""

    def __init__(self, namespace: Namespace) -> None:
        self.namespace = namespace
        self.edges, self.rules, self.queries = itertools.count(1), itertools.count(1), 0

    def write(self, cypher: str, **parameters: Any) -> None:
        query = Query(cypher, {"namespace": self.namespace.name, **parameters})
        self.namespace.write(lambda transaction: transaction.run(query))

    def tell(self, *texts: str) -> None:
        self.tell_facts(*map(fact, texts))

    def tell_facts(self, *facts: Fact) -> None:
        """Edges as PETE writes them."""
        rows = [
            self._edge(s, lemma + "s", o, lemma=lemma, surface=lemma + "s", negated=negated)
            for s, lemma, o, negated in facts
        ]
        self.write(_STORE, facts=rows)

    def declare(self, *texts: str) -> None:
        """Edges as ContextScript writes them."""
        self.write(_STORE, facts=[self._edge(*text.split()) for text in texts])

    def _edge(self, subject: str, verb: str, object_: str, **properties: Any) -> dict[str, Any]:
        edge = f"edge-{next(self.edges)}"
        return {"subject": subject, "verb": verb, "object": object_, "id": edge, "properties": properties}

    def teach(self, *texts: str) -> None:
        self.teach_rules(*map(rule, texts))

    def teach_rules(self, *rules: RuleGoals) -> None:
        rows = [
            {
                "id": f"memory-{900 + next(self.rules)}",
                "name": each.name,
                "rule": each.as_json(),
                "head_lemma": each.head.lemma,
                "head_negated": each.head.negated,
            }
            for each in rules
        ]
        self.write(_TEACH, rules=rows)

    def run(self, query: str | Query, /, **parameters: Any) -> list[dict[str, Any]]:
        self.queries += 1
        return self.namespace.read(query, **parameters)

    def ask(self, question: str | Goal, **bounds: int) -> Answers:
        asked = goal(question) if isinstance(question, str) else question
        self.queries = 0
        return ask(self.run, asked, **bounds)

    def bindings(self, question: str, **bounds: int) -> list[dict[str, str]]:
        answers = self.ask(question, **bounds)
        assert answers.complete, answers.reason
        return [dict(answer.bindings) for answer in answers.answers]

    def values(self, question: str, **bounds: int) -> list[str | tuple[str, ...]]:
        """The bindings without the variables' names."""
        rows = [tuple(row.values()) for row in self.bindings(question, **bounds)]
        return [row[0] if len(row) == 1 else row for row in rows]

    def proof(self, question: str) -> list[str]:
        [answer] = self.ask(question).answers
        return explain_proof(answer.proof, {})


def _term(text: str) -> Term:
    return Term(variable=text[1:]) if text.startswith("_") else Term(text)


def goal(text: str) -> Goal:
    """`_x eat _y`, `leo not eat meat`: the predicate in its ground form."""
    words = text.split()
    negated = words[1] == "not"
    lemma = words[-2]
    return Goal(_term(words[0]), lemma, _term(words[-1]), negated, spellings(lemma, lemma + "s"))


def fact(text: str) -> Fact:
    words = text.split()
    return words[0], words[-2], words[-1], words[1] == "not"


def rule(text: str) -> RuleGoals:
    head, _, body = text.partition(" if ")
    goals = re.split(r" (and|or|but) ", body)
    return RuleGoals(goal(head), tuple(map(goal, goals[::2])), tuple(goals[1::2]), name=text)


@contextmanager
def _world(connection: Connection) -> Iterator[World]:
    world = World(Namespace(connection, new_namespace()))
    yield world
    world.write("MATCH (node:Node {namespace: $namespace}) WHERE node.id IS NOT NULL DETACH DELETE node")


@pytest.fixture(scope="module", autouse=True)
def every_name(connection: Connection) -> None:
    """Neo4j warns about names that it has never seen, and its warnings fail a test."""
    with _world(connection) as world:
        world.tell("a like b")
        world.teach("_x like _y if _y like _x")


@pytest.fixture
def world(connection: Connection) -> Iterator[World]:
    with _world(connection) as world:
        yield world


def test_facts_are_found_from_either_end_and_from_none(world: World) -> None:
    world.tell("leo eat meat", "leo eat fish", "ada eat fish", "ada like leo")
    assert world.values("leo eat _x") == ["fish", "meat"]
    assert world.values("_x eat fish") == ["ada", "leo"]
    assert world.bindings("_who eat _what") == [
        {"who": "ada", "what": "fish"},
        {"who": "leo", "what": "fish"},
        {"who": "leo", "what": "meat"},
    ]
    assert world.values("_x eat stone") == []


def test_a_goal_without_variables_is_answered_by_yes_or_by_nothing(world: World) -> None:
    world.tell("leo eat meat")
    assert world.bindings("leo eat meat") == [{}]
    assert world.bindings("meat eat leo") == []
    assert world.bindings("leo eat nothing_known") == []


def test_a_variable_that_stands_twice_is_one_thing(world: World) -> None:
    world.tell("leo like leo", "leo like ada", "ada like leo", "tom like tom")
    assert world.bindings("_x like _x") == [{"x": "leo"}, {"x": "tom"}]


def test_what_is_negated_is_another_fact(world: World) -> None:
    world.tell("leo not eat bread", "leo eat meat")
    assert world.values("leo not eat _x") == ["bread"]
    assert world.values("leo eat _x") == ["meat"]
    assert world.values("ada not eat _x") == []  # that nothing is known is no answer


def test_an_edge_of_contextscript_is_compared_by_its_verb(world: World) -> None:
    world.declare("leo eats meat", "leo eat fish", "leo eaten bread", "leo eater gnu")
    world.tell("leo eat cake")
    assert world.values("leo eat _x") == ["cake", "fish", "meat"]
    assert world.values("_x eat meat") == ["leo"]
    assert world.values("_x eat _y") == [("leo", "cake"), ("leo", "fish"), ("leo", "meat")]
    assert world.values("leo eat meat") == [()]
    assert world.values("leo not eat _x") == []
    assert world.values("leo eaten _x") == ["bread"]


def test_a_lemma_counts_more_than_the_verb(world: World) -> None:
    world.write(_STORE, facts=[world._edge("leo", "eat", "meat", lemma="devour", surface="devours", negated=False)])
    assert world.values("leo eat _x") == []
    assert world.values("_x devour _y") == [("leo", "meat")]


def test_what_is_said_in_an_abstraction_is_no_fact(world: World) -> None:
    world.tell("i know memory-7")
    world.declare("memory-7 part memory-8", "memory-8 subject a", "memory-8 object b")
    assert world.values("_w eat b") == []
    assert world.values("i know _w") == ["memory-7"]


def test_memories_come_first_by_number_and_then_the_others_by_id(world: World) -> None:
    nodes = ["zoe", "memory-10", "memory-9", "memory-x", "Ada", "memory-99999999999999999999", "memory-1.5"]
    world.tell(*(f"leo like {node}" for node in nodes))
    others = ["Ada", "memory-1.5", "memory-99999999999999999999", "memory-x", "zoe"]
    assert world.values("leo like _x") == ["memory-9", "memory-10", *others]
    answers = world.ask("leo like _x", most=2)
    assert [answer.bindings["x"] for answer in answers.answers] == ["memory-9", "memory-10"]
    assert (answers.complete, answers.reason) == (False, "there are more than 2 answers")
    assert world.ask("leo like _x", most=len(nodes)).complete


def test_each_set_of_bindings_is_one_answer_a_fact_before_what_follows(world: World) -> None:
    world.tell("leo eat meat", "leo eat meat", "leo like meat", "leo like fish", "fish is food", "meat is food")
    world.teach("_x eat _y if _x like _y and _y is food")
    answers = world.ask("leo eat _y").answers
    assert [answer.bindings["y"] for answer in answers] == ["fish", "meat"]
    assert [answer.proof.edge for answer in answers] == [None, "edge-1"]
    assert [answer.proof.rule for answer in answers] == ["memory-901", None]


def test_a_proof_is_shown_in_plain_words(world: World) -> None:
    world.tell("leo is hungry", "meat is food", "leo not like bread")
    world.teach("_x eat _y if _x is hungry and _y is food", "_x grow fat if _x eat meat and _x not like bread")
    assert world.proof("leo grow fat") == [
        'leo grows fat, by the rule "_x grow fat if _x eat meat and _x not like bread", because',
        '  leo eats meat, by the rule "_x eat _y if _x is hungry and _y is food", because',
        "    leo iss hungry (fact)",
        "    meat iss food (fact)",
        "  leo doesn't like bread (fact)",
    ]
    assert world.proof("meat is food") == ["meat iss food (fact)"]


def test_a_node_without_a_name_is_shown_by_its_address(world: World) -> None:
    world.tell("memory-7 like memory-8")
    [answer] = world.ask("_x like memory-8").answers
    assert explain_proof(answer.proof, {"memory-7": "", "memory-8": "the heat"}) == ["memory:7 likes the heat (fact)"]


def test_rules_chain(world: World) -> None:
    world.tell("leo is cat", "tom is dog")
    world.teach("_a hunt mice if _a is cat", "_b need claws if _b hunt mice", "_c have claws if _c need claws")
    assert world.values("_x have claws") == ["leo"]
    assert world.values("leo have _y") == ["claws"]
    assert world.values("leo have claws") == [()]
    assert world.values("tom have _y") == []
    assert len(world.proof("leo have claws")) == 4


def test_the_variables_of_a_rule_are_its_own(world: World) -> None:
    world.tell("ann mother bob", "bob mother cid", "cid mother dan")
    world.teach("_x elder _y if _x mother _z and _z mother _y", "_y old _x if _y elder _z and _z elder _x")
    assert world.bindings("_z elder _x") == [{"z": "ann", "x": "cid"}, {"z": "bob", "x": "dan"}]
    assert world.bindings("_y elder dan") == [{"y": "bob"}]
    assert world.values("_x old _x") == []


def test_a_head_may_name_nodes_and_a_variable_twice(world: World) -> None:
    world.tell("leo is vain", "tom is cat", "tom like mirror", "ada is vain")
    world.teach("_x like _x if _x is vain", "leo see _y if _x like _y", "_x meet _y if _x like _x and _y is cat")
    assert world.values("_x like _x") == ["ada", "leo"]
    assert world.values("ada like _y") == ["ada"]
    assert world.values("leo like ada") == []
    assert world.values("_a see _b") == [("leo", "ada"), ("leo", "leo"), ("leo", "mirror")]
    assert world.values("ada see _b") == []
    assert world.values("_s see _s") == ["leo"]
    assert world.values("_s meet _s") == []


def test_one_variable_for_both_ends_of_a_head_reaches_the_body(world: World) -> None:
    world.tell("a is red", "a is big", "b is red", "c is big", "box hold c", "c hold c")
    world.teach("_x match _y if _x is red and _y is big", "box own _y if box hold _y", "_y own c if _y hold c")
    assert world.values("_n match _n") == ["a"]
    assert world.values("_n own _n") == ["c"]


def test_or_has_no_precedence_and_but_means_and(world: World) -> None:
    world.tell("a is p", "b is q", "b is r", "c is r", "a is r", "d is q")
    world.teach("_x be one if _x is p or _x is q and _x is r")
    world.teach("_x be two if _x is p but _x is q or _x is r", "_x be three if _x is p or _x is q or _x is r")
    assert world.values("_x be one") == ["a", "b"]  # (p or q) and r
    assert world.values("_x be two") == ["a", "b", "c"]  # (p and q) or r
    assert world.values("_x be three") == ["a", "b", "c", "d"]


def test_a_negated_head_and_a_negated_body(world: World) -> None:
    world.tell("leo not like bread", "ada like bread")
    world.teach("_x not eat _y if _x not like _y", "_x thin yes if _x not eat bread")
    assert world.values("_x not eat _y") == [("leo", "bread")]
    assert world.values("_x eat _y") == []
    assert world.values("_x thin yes") == ["leo"]


CYCLE = [f"n{i}" for i in range(50)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "recursive",
    [
        pytest.param("_x reach _z if _x reach _y and _y reach _z", id="doubling"),
        pytest.param("_x reach _z if _x reach _y and _y next _z", id="left"),
        pytest.param("_x reach _z if _y next _z and _x reach _y", id="left-reordered"),
        pytest.param("_x reach _z if _x next _y and _y reach _z", id="right"),
    ],
)
def test_recursion_over_a_cycle_reaches_everything_and_ends(world: World, recursive: str) -> None:
    world.tell(*(f"{a} next {b}" for a, b in itertools.pairwise([*CYCLE, CYCLE[0]])))
    world.teach("_x reach _y if _x next _y", recursive)
    assert set(world.values("n0 reach _z", depth=60)) == set(CYCLE)
    assert set(world.values("_a reach n7", depth=60)) == set(CYCLE)
    assert world.values("n3 reach n2", depth=60) == [()]


@pytest.mark.slow
def test_all_pairs_of_a_cycle(world: World) -> None:
    world.tell(*(f"{a} above {b}" for a, b in itertools.pairwise([*CYCLE, CYCLE[0]])))
    world.teach("_x above _z if _x above _y and _y above _z")
    pairs = world.values("_x above _z", most=5_000)
    assert set(pairs) == set(itertools.product(CYCLE, CYCLE))
    assert len(pairs) == 2_500
    assert world.queries <= 5
    assert set(world.values("_x above _x", most=5_000)) == set(CYCLE)


def test_mutual_recursion(world: World) -> None:
    world.tell(*(f"n{i} next n{i + 1}" for i in range(12)))
    world.teach(
        "_x odd _y if _x next _y",
        "_x even _z if _x odd _y and _y next _z",
        "_x odd _z if _x even _y and _y next _z",
    )
    assert set(world.values("n0 even _x", depth=20)) == {f"n{i}" for i in range(2, 13, 2)}
    assert set(world.values("n0 odd _x", depth=20)) == {f"n{i}" for i in range(1, 13, 2)}
    world.teach("_x egg _y if _x hen _y", "_x hen _y if _x egg _y")
    assert world.values("_x egg _y") == []
    world.tell("e hen f")
    assert world.values("_x egg _y") == [("e", "f")]


def test_a_round_is_one_query_for_all_its_goals(world: World) -> None:
    world.tell(*(f"n{i} like m{i}" for i in range(200)), *(f"m{i} is good" for i in range(0, 200, 2)))
    world.teach("_x praise _y if _x like _y and _y is good")
    assert len(world.values("_x praise _y", most=1_000)) == 100
    assert world.queries <= 7  # two of rules, four of facts, one of names


def test_the_bound_on_depth_is_said(world: World) -> None:
    world.tell(*(f"n{i} next n{i + 1}" for i in range(9)))
    world.teach("_x reach _y if _x next _y", "_x reach _z if _x reach _y and _y next _z")
    answers = world.ask("n0 reach _z", depth=3)
    assert [answer.bindings["z"] for answer in answers.answers] == ["n1", "n2", "n3"]
    assert (answers.complete, answers.reason) == (False, "proofs in which more than 3 rules nest were not tried")
    none = world.ask("n0 reach _z", depth=0)
    assert (none.answers, none.complete) == ((), False)
    assert world.ask("n0 next _z", depth=0).complete
    assert not world.ask("n0 reach n9", depth=3).complete
    assert world.ask("n0 reach n3", depth=3).complete  # yes is all that there is to say
    assert len(world.bindings("n0 reach _z", depth=10)) == 9


def test_the_bounds_on_answers_and_goals_are_said(world: World) -> None:
    world.tell(*(f"a{i} like b{j}" for i in range(6) for j in range(6)))
    world.teach("_x know _y if _x like _z and _y like _z")
    answers = world.ask("_x know _y", most=7)
    assert [tuple(answer.bindings.values()) for answer in answers.answers] == [
        *(("a0", f"a{i}") for i in range(6)),
        ("a1", "a0"),
    ]
    assert (answers.complete, answers.reason) == (False, "there are more than 7 answers")
    few = world.ask("_x know _y", most_goals=5)
    assert (few.complete, few.reason) == (False, "more than 5 goals were to be asked")
    assert world.ask("_x like _y", most_goals=0).complete


def test_the_bound_on_facts_is_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from memorygraph.runtime.pete import inference

    monkeypatch.setattr(inference, "MAX_FACTS", 10)
    monkeypatch.setattr(inference, "STEPS_PER_GOAL", 1)
    world.tell(*(f"a{i} like b" for i in range(20)))
    world.teach("_x know _y if _x like _y")
    answers = world.ask("_x know _y")
    assert (answers.complete, answers.reason) == (False, "more than 10 facts were to be read")
    assert [a.bindings["x"] for a in world.ask("_x like b", most=5).answers] == ["a0", "a1", "a10", "a11", "a12"]
    monkeypatch.setattr(inference, "MAX_FACTS", 100)
    answers = world.ask("_x know _y", most_goals=4)
    assert (answers.complete, answers.reason) == (False, "more than 4 steps were to be taken")


def test_the_bound_on_rules_is_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from memorygraph.runtime.pete import rules

    monkeypatch.setattr(rules, "MAX_RULES", 2)
    world.tell("a is q", "b is r", "c is s")
    world.teach("_x is p if _x is q", "_x be p if _x is p", "_x be p if _x is r", "_x be p if _x is s")
    answers = world.ask("_x be p")
    assert [answer.bindings["x"] for answer in answers.answers] == ["b"]
    assert not answers.complete
    assert "rules to try" in str(answers.reason)


def test_a_rule_that_leaves_its_head_open_answers_only_what_is_closed(world: World) -> None:
    world.tell("leo is hungry", "meat is food")
    world.teach("_x eat _y if _x is hungry or _y is food")
    assert world.values("leo eat stone") == [()]
    answers = world.ask("_x eat _y")
    assert (answers.answers, answers.complete) == ((), False)
    assert "does not say what a variable of its head is" in str(answers.reason)


def test_a_rule_of_another_predicate_or_namespace_is_not_used(world: World, connection: Connection) -> None:
    with _world(connection) as other:
        world.tell("leo is cat")
        other.tell("tom is cat", "leo eat meat", "leo eat gnu")
        other.teach("_x eat mice if _x is cat")
        assert world.values("_x eat _y") == []
        assert world.values("leo eat _y") == []
        assert world.values("_x is cat") == ["leo"]
        assert other.values("_x eat _y") == [("leo", "gnu"), ("leo", "meat"), ("tom", "mice")]
        world.teach("_x not eat mice if _x is cat", "_x hunt mice if _x is cat")
        assert world.values("_x eat _y") == []


HOSTILE = [
    "') RETURN 1 //",
    "x]->() DETACH DELETE n",
    "`; MATCH (n) DETACH DELETE n",
    '{"$ne": 1}',
    "\\u0027 OR 1=1",
    "$namespace",
    "*:* OR name:[* TO *]",
    "\u202e\x07 \U0001f600",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_of_any_kind_stay_data(world: World, name: str) -> None:
    world.tell_facts(("canary", "sing", "song", False), (name, name, name, False))
    x = Term(variable=name)
    asked = Goal(x, name, Term(name), forms=(name,))
    [answer] = world.ask(asked).answers
    assert answer.bindings == {name: name}
    world.teach_rules(RuleGoals(Goal(x, name, Term("canary"), True), (asked,), (), name=name))
    [inferred] = world.ask(Goal(x, name, Term(variable="y"), negated=True)).answers
    assert inferred.bindings == {name: name, "y": "canary"}
    assert name in explain_proof(inferred.proof, {})[0]
    assert world.values("canary sing _x") == ["song"]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"head": 3, "body": [], "conjunctions": []}', '"x"', "null"])
def test_a_stored_rule_that_is_none_is_a_clear_error(world: World, text: str) -> None:
    row = {"id": "memory-5", "name": "", "rule": text, "head_lemma": "eat", "head_negated": False}
    world.write(_TEACH, rules=[row])
    with pytest.raises(MemoryGraphError, match="the rule memory-5 cannot be read"):
        world.ask("_x eat _y")


def test_long_and_wide_rules_need_no_recursion(world: World) -> None:
    body = " and ".join("_x is cat" for _ in range(2_000))
    world.tell("leo is cat")
    world.teach_rules(dataclasses.replace(rule(f"_x be cat if {body}"), name="of many"))
    world.teach(*(f"_x p{i + 1} yes if _x p{i} yes" for i in range(400)), "_x p0 yes if _x is cat")
    assert world.values("_x be cat") == ["leo"]
    assert world.values("_x p40 yes", depth=1_000) == ["leo"]
    assert len(world.proof("leo be cat")) == 2_001


def test_shared_parts_of_a_proof_are_shown_once(world: World) -> None:
    world.tell("leo p0 yes")
    world.teach(*(f"_x p{i + 1} yes if _x p{i} yes and _x p{i} yes and _x p{i} yes" for i in range(20)))
    [answer] = world.ask("leo p20 yes", depth=20).answers
    assert len(explain_proof(answer.proof, {})) == 1 + 3 * 20
    assert len(repr(answer.proof)) < 1_000


def test_a_transaction_can_ask_about_what_it_wrote(world: World) -> None:
    world.tell("leo eat meat")

    def work(transaction: Any) -> Answers:
        told = [world._edge("leo", "eats", "fish")]
        transaction.run(Query(_STORE, {"namespace": world.namespace.name, "facts": told}))
        return ask(transaction.run, goal("leo eat _x"))

    assert [dict(answer.bindings) for answer in world.namespace.write(work).answers] == [{"x": "fish"}, {"x": "meat"}]


def test_contextscript_itself_declares_facts(graph: MemoryGraph) -> None:
    graph.load(
        'Node(node_id="leo", name="Leo", data=""); Node(node_id="meat", name="meat", data="");'
        'Edge(edge_id="e", from_node="leo", to_node="meat", verb="eats", weight=1.0);'
    )
    [answer] = ask(graph.scope.read, goal("_x eat meat")).answers
    assert (answer.bindings, answer.proof.edge) == ({"x": "leo"}, "e")


# What a question means, in the plainest way: all that holds, worked out for all nodes, one nesting after another.

NODES = ["memory-1", "memory-2", "c"]
LEMMAS = ["p", "q", "r"]


def _instances(rules: list[RuleGoals]) -> list[tuple[Fact, list[Fact], tuple[str, ...]]]:
    found = []
    for each in rules:
        names = sorted({name for part in (each.head, *each.body) for name in part.variables})
        for nodes in itertools.product(NODES, repeat=len(names)):
            known = dict(zip(names, nodes, strict=True))
            ground = [_ground(part, known) for part in (each.head, *each.body)]
            found.append((ground[0], ground[1:], each.conjunctions))
    return found


def _ground(goal: Goal, known: dict[str, str]) -> Fact:
    subject, object_ = (term.node or known[str(term.variable)] for term in (goal.subject, goal.object))
    return subject, goal.lemma, object_, goal.negated


def _holds(body: list[Fact], conjunctions: tuple[str, ...], known: set[Fact]) -> bool:
    holds = body[0] in known
    for word, part in zip(conjunctions, body[1:], strict=True):
        holds = holds or part in known if word == "or" else holds and part in known
    return holds


def _closed(facts: set[Fact], rules: list[RuleGoals], depth: int) -> dict[Fact, int]:
    """All that follows with so many rules nested, and how many it needs."""
    heights = dict.fromkeys(facts, 0)
    instances = _instances(rules)
    for height in range(1, depth + 1):
        new = {head for head, body, words in instances if _holds(body, words, set(heights))} - heights.keys()
        if not new:
            break
        heights |= dict.fromkeys(new, height)
    return heights


def _answers(goal: Goal, heights: dict[Fact, int]) -> dict[tuple[str, ...], int]:
    found = {}
    for nodes in itertools.product(NODES, repeat=len(goal.variables)):
        wanted = _ground(goal, dict(zip(goal.variables, nodes, strict=True)))
        if wanted in heights:
            found[nodes] = heights[wanted]
    return found


_terms = st.one_of(st.sampled_from(NODES).map(Term), *[st.sampled_from("xyz").map(lambda v: Term(variable=v))] * 3)
_goals = st.builds(
    lambda s, lemma, o, negated: Goal(s, lemma, o, negated, (lemma,)),
    _terms, st.sampled_from(LEMMAS), _terms, st.sampled_from([False, False, False, True]),
)  # fmt: skip
_facts = st.tuples(
    st.sampled_from(NODES), st.sampled_from(LEMMAS), st.sampled_from(NODES), st.sampled_from([False, False, True])
)


@st.composite
def _rules(draw: st.DrawFn) -> RuleGoals:
    body = draw(st.lists(_goals, min_size=1, max_size=3))
    words = draw(st.lists(st.sampled_from(["and", "and", "but", "or"]), min_size=len(body) - 1, max_size=len(body) - 1))
    return RuleGoals(draw(_goals), tuple(body), tuple(words))


def _height(proof: Any) -> int:
    return 0 if proof.rule is None else 1 + max(map(_height, proof.because))


@settings(max_examples=examples(25), deadline=None)
@given(
    facts=st.sets(_facts, max_size=8),
    rules=st.lists(_rules(), max_size=5),
    questions=st.lists(_goals, min_size=1, max_size=4),
    depth=st.integers(0, 4),
)
def test_a_question_means_what_its_model_says(
    connection: Connection, facts: set[Fact], rules: list[RuleGoals], questions: list[Goal], depth: int
) -> None:
    with _world(connection) as world:
        world.tell_facts(*facts)
        world.teach_rules(*rules)
        for question in questions:
            for bound in (depth, 40):
                _compare(world.ask(question, depth=bound), question, _closed(facts, rules, bound))
        _compare(world.ask(questions[0], depth=depth, most_goals=3), questions[0], _closed(facts, rules, depth))


def _compare(answers: Answers, question: Goal, heights: dict[Fact, int]) -> None:
    expected = _answers(question, heights)
    found = [tuple(answer.bindings.values()) for answer in answers.answers]
    assert found == sorted(found, key=lambda nodes: [(not n.startswith("memory-"), n) for n in nodes])
    assert len(set(found)) == len(found)
    cut = answers.reason is not None and ("variable of its head" in answers.reason or "goals were" in answers.reason)
    if cut:
        assert set(found) <= expected.keys()
    else:
        measured = {nodes: _height(answer.proof) for nodes, answer in zip(found, answers.answers, strict=True)}
        assert measured == expected
    if answers.complete and question.variables:
        assert set(found) == expected.keys()


def test_the_json_of_a_rule_is_as_documented() -> None:
    made = rule("_x eat memory-7 if _x like memory-7 or _x not is full")
    data = json.loads(made.as_json())
    assert data["head"] == {
        "subject": {"variable": "x"},
        "lemma": "eat",
        "forms": ["eat", "eates", "eats"],
        "negated": False,
        "object": {"node": "memory-7"},
    }
    assert data["conjunctions"] == ["or"]
    assert RuleGoals.from_json(made.as_json(), made.id, made.name) == made


@pytest.mark.parametrize("make", [Term, lambda: Term("a", "b"), lambda: RuleGoals(goal("a b c"), (), ())])
def test_what_is_no_term_or_rule_cannot_be_made(make: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"either a node or a variable|one conjunction less"):
        make()
