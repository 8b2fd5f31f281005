"""Filters of a recall: the result is what fits of the whole ranking, however little of it fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorygraph import MemoryGraph, MemoryGraphError, NotFoundError
from memorygraph.graph.namespace import Namespace
from memorygraph.graph.search import NODE_FIELDS
from memorygraph.memory import recall as recall_module
from memorygraph.memory.filters import LAST_TIME, parse_bound
from memorygraph.memory.recall import MESSAGE_DEPTH, RecallHit, recall_hits, recall_query
from memorygraph.memory.values import Entity
from memorygraph.memory.vectors import Embedder, embed_missing
from memorygraph.memory.words import words_of, words_query
from memorygraph.messages.indexing import date_messages
from memorygraph.query import Query
from tests.examples import FEWEST_GRAPHS, examples, mostly_slow
from tests.memory.recalling import crowd, say

START = datetime(2024, 4, 28, 22, 30, tzinfo=UTC)
SPEAKERS = ("Ada", "Émile", "user", "assistant")
ALL = 10_000


@pytest.fixture(scope="module")
def talk(module_graph: MemoryGraph) -> MemoryGraph:
    """Two conversations over some days, with long messages and equal ones, and some nodes."""
    for name in ("first", "second"):
        turns = [
            (
                SPEAKERS[i % 4],
                f"Tea number {i} of {name}. " + "More tea follows, as it does. " * (40 if i % 5 == 0 else 1),
            )
            for i in range(40)
        ]
        ids = say(module_graph, name, ("Ada", "We share this tea."), *turns)
        times = {id_: START + timedelta(hours=7 * i, microseconds=i) for i, id_ in enumerate(ids)}
        date_messages(module_graph.scope, name, times)
    for i in range(12):
        kind = ("person", "green tea", "persons")[i % 3]
        module_graph.entities.create([Entity(name=f"Tea {i}", entity_type=kind, observations=[])])
    return module_graph


@pytest.fixture(scope="module")
def module_graph(request: pytest.FixtureRequest, connection: Any) -> MemoryGraph:
    """A namespace for all tests of this file."""
    from tests.shared_neo4j import new_namespace

    graph = MemoryGraph(connection, new_namespace())
    graph.load("")
    return graph


FITS: dict[str, Callable[[RecallHit, Any], bool]] = {
    "since": lambda hit, value: hit.at is not None and datetime.fromisoformat(hit.at) >= value,
    "until": lambda hit, value: hit.at is not None and datetime.fromisoformat(hit.at) <= value,
    "role": lambda hit, value: hit.role == value,
    "speaker": lambda hit, value: hit.kind == "message" and (hit.name or hit.role or "").casefold() == value.casefold(),
}
TIMES = st.integers(-10, 300).map(lambda hours: START + timedelta(hours=hours)) | st.integers(0, 41).map(
    lambda i: START + timedelta(hours=7 * i, microseconds=i)
)


def can_fit(filters: dict[str, Any]) -> bool:
    """Whether there are filters, and the times are in their order."""
    return bool(filters) and not ("since" in filters and "until" in filters and filters["since"] > filters["until"])


FILTERS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "since": TIMES,
        "until": TIMES,
        "role": st.sampled_from(["user", "assistant", "tool"]),
        "speaker": st.sampled_from(["ada", "ÉMILE", "User", "nobody"]),
    },
)


def recall_both(
    graph: MemoryGraph, question: str, filters: dict[str, Any], **options: Any
) -> tuple[Sequence[RecallHit], Sequence[RecallHit]]:
    """The hits without and with filters; again where other tests have changed meanwhile how much a word weighs."""
    whole = recall_hits(graph.scope, question, **options).hits
    for _ in range(100):
        found = recall_hits(graph.scope, question, **options, **filters).hits
        before, whole = whole, recall_hits(graph.scope, question, **options).hits
        if [hit.id for hit in whole] == [hit.id for hit in before]:
            return whole, found
    pytest.fail("the whole ranking was never the same before and after the filtered one")


@pytest.mark.slow
@settings(max_examples=examples(100, FEWEST_GRAPHS), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(filters=FILTERS.filter(can_fit), question=st.sampled_from(["tea", "more tea of the second", "number 7"]))
def test_a_filter_leaves_what_fits_of_the_whole_ranking_by_words(
    talk: MemoryGraph, filters: dict[str, Any], question: str
) -> None:
    whole, found = recall_both(talk, question, filters, limit=ALL, steps=False)
    fitting = [hit.id for hit in whole if fits(hit, filters)]
    assert [hit.id for hit in found] == fitting


def fits(hit: RecallHit, filters: dict[str, Any]) -> bool:
    """Whether a hit is what these filters leave."""
    return all(FITS[name](hit, value) for name, value in filters.items())


@pytest.mark.slow
@settings(max_examples=examples(100, FEWEST_GRAPHS), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    filters=FILTERS.filter(can_fit),
    question=st.sampled_from(["second", "number 7 or 8", "share", "first 12"]),
    near=st.booleans(),
)
def test_with_steps_a_filter_leaves_all_that_fits_of_the_whole_ranking(
    talk: MemoryGraph, embedder: Embedder, filters: dict[str, Any], question: str, near: bool
) -> None:
    options: dict[str, Any] = {"limit": ALL, "embedder": embedder if near else None}
    embed_missing(talk.scope, embedder)
    whole, found = recall_both(talk, question, filters, **options)
    assert {hit.id for hit in whole if fits(hit, filters)} <= {hit.id for hit in found}
    assert all(fits(hit, filters) for hit in found)


@pytest.mark.parametrize("name", ["first", "second"])
def test_a_conversation_leaves_its_messages_and_those_that_it_shares(talk: MemoryGraph, name: str) -> None:
    found = recall_hits(talk.scope, "tea", limit=ALL, conversation=name).hits
    assert len(found) == 41
    assert {hit.conversation for hit in found} == {name}


@pytest.mark.parametrize(("kind", "count"), [("person", 4), ("persons", 4), ("green tea", 4)])
def test_a_kind_leaves_its_nodes(talk: MemoryGraph, kind: str, count: int) -> None:
    found = recall_hits(talk.scope, "tea", kind=kind).hits
    assert len(found) == count
    stored = {
        row["id"]: row["kind"]
        for row in talk.query("MATCH (n:Node {namespace: $namespace}) RETURN n.id AS id, n.kind AS kind")
    }
    assert {stored[hit.id] for hit in found} == {kind}


KINDS = [
    *(
        "node.js",
        "schema:Person",
        "IT회사",
        "회사",
        "東京の店",
        "Zoë",
        "C++",
        "C",
        "++",
        "the",
        "of the",
        "😀",
        "x" * 300,
    ),
    *('a "b"', "a\\b", "a AND b", "*", "O'Brien", "3.5", "Node.JS", "nodes", " padded "),
]


def test_any_kind_leaves_its_nodes_and_no_others(graph: MemoryGraph) -> None:
    for i, kind in enumerate(KINDS):
        graph.entities.create([Entity(name=f"tea {i}", entity_type=kind, observations=[])])
    for i, kind in enumerate(KINDS):
        assert [hit.name for hit in graph.recall("tea", kind=kind).hits] == [f"tea {i}"]


def test_a_kind_is_known_by_its_exact_text_also_where_no_node_of_it_fits(graph: MemoryGraph) -> None:
    for i, kind in enumerate(KINDS):
        graph.entities.create([Entity(name=f"tea {i}", entity_type=kind, observations=[])])
    for kind in KINDS:
        assert not graph.recall("zebra", kind=kind).hits
    for kind in ("node.jS", "node", "The", "of", "+", "c", "a b", "東京", "padded", "x" * 299, "persons", "?"):
        with pytest.raises(NotFoundError, match="no node of the kind"):
            graph.recall("zebra", kind=kind)


@pytest.mark.alone  # what others store changes how rare a word is
def test_a_query_for_all_hits_has_those_with_a_word_and_their_scores(graph: MemoryGraph) -> None:
    for i, text in enumerate(KINDS):
        graph.entities.create([Entity(name=f"{i} {text}", entity_type="tea", observations=[f"tea or {text} is liked"])])
    for text in (*KINDS, "tea", "teas", "or", "tea or zebra", "zebra", "tea is liked " + " ".join(KINDS)):
        plain, of_all = (
            graph.query(
                "CALL db.index.fulltext.queryNodes('node_text', $terms) YIELD node, score "
                "WITH node, score WHERE node.namespace = $namespace RETURN node.id AS id, score",
                {"terms": words_query(words_of(text), (), [graph.scope.token], NODE_FIELDS, of_all=of_all)},
            )
            for of_all in (False, True)
        )
        scores = {row["id"]: row["score"] for row in plain if row["score"] > 0}
        assert {row["id"]: row["score"] for row in of_all if row["score"] > 0} == scores
        assert len(plain) == 2 * len(KINDS)
        assert len(of_all) == len(scores) or not scores  # what has no word for the index is not a condition


def test_the_best_nodes_are_asked_for_by_other_terms_than_all(graph: MemoryGraph) -> None:
    query = recall_query(graph.scope, "tea", verb="visits")
    assert query is not None
    [asked] = query.parameters["node_searches"]
    best, of_all = (words_query(["tea"], (), [graph.scope.token], NODE_FIELDS, of_all=each) for each in (False, True))
    assert (asked["best"], asked["terms"]) == (best, of_all)


def test_a_verb_leaves_nodes_at_either_end_of_it(graph: MemoryGraph) -> None:
    for i in range(60):
        graph.load(f'Node(node_id="n{i}", name="tea tea", data="tea {i}");')
    graph.load(
        'Node(node_id="a", name="Ada", data="drinks her tea with milk"); Node(node_id="b", name="Tea shop", data="");'
        'Edge(edge_id="e", from_node="a", to_node="b", verb="visits", weight=1.0);'
        'Edge(edge_id="f", from_node="a", to_node="n1", verb="knows", weight=1.0);'
    )
    assert {hit.id for hit in recall_hits(graph.scope, "tea", verb="visits", limit=5).hits} == {"a", "b"}


@pytest.mark.parametrize(
    ("filters", "queries"),
    [
        ({"speaker": "Ben"}, 2),
        ({"role": "user", "speaker": "Ben", "until": "2100-01-01"}, 2),
        ({"speaker": "Zoe"}, 1),
        ({"until": "2000-01-01"}, 1),
        ({"conversation": "other", "role": "user"}, 1),
        ({"verb": "visits"}, 2),
    ],
)
def test_what_leads_on_is_looked_for_only_where_there_is_something_to_lead_to(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, filters: dict[str, Any], queries: int
) -> None:
    say(graph, "talk", ("Ada", "I planted a quince."), ("Ben", "Well done!"))
    graph.load(
        'Node(node_id="a", name="Ada", data=""); Node(node_id="b", name="Quince shop", data="");'
        'Edge(edge_id="e", from_node="a", to_node="b", verb="visits", weight=1.0);'
    )
    asked: list[Query] = []

    def read_rows(namespace: Namespace, query: Query) -> list[dict[str, Any]]:
        asked.append(query)
        return read(namespace, query)

    read = recall_module.read_rows
    monkeypatch.setattr(recall_module, "read_rows", read_rows)
    recall_hits(graph.scope, "quince", **filters)
    assert len(asked) == queries


def test_few_that_fit_are_found_among_many_that_do_not(graph: MemoryGraph) -> None:
    others = [("assistant", f"tea tea tea {i}") for i in range(2 * MESSAGE_DEPTH)]
    say(graph, "talk", ("Zoe", "A long story in which tea is mentioned once, and then never again, by me."), *others)
    assert [hit.name for hit in recall_hits(graph.scope, "tea", speaker="zoe", limit=3).hits] == ["Zoe"]
    assert [hit.name for hit in recall_hits(graph.scope, "tea", role="user", limit=3).hits] == ["Zoe"]


@pytest.mark.parametrize(
    "filters",
    mostly_slow(
        [
            {"role": "user"},
            {"speaker": "zoe"},
            {"until": "2024-05-01"},
            {"conversation": "other"},
            {"conversation": "both"},
        ],
        ordinary=2,
    ),
)
def test_vectors_are_searched_in_the_filter(graph: MemoryGraph, embedder: Embedder, filters: dict[str, Any]) -> None:
    long = "Nothing of the kind is said in this sentence. " * 30 + "The harpsichord arrived by train."
    [first] = say(graph, "other", ("Zoe", long))
    date_messages(graph.scope, "other", {first: datetime(2024, 5, 1, 23, 59, tzinfo=UTC)})
    say(graph, "both", ("Zoe", long))
    say(graph, "talk", *(("assistant", f"The harpsichord arrived {i}.") for i in range(120)))
    embed_missing(graph.scope, embedder)
    found = recall_hits(graph.scope, "harpsichord train", embedder=embedder, limit=3, steps=False, **filters).hits
    assert [(hit.id, hit.source) for hit in found] == [(first, "fulltext+vector")]
    assert "harpsichord" in found[0].text


def test_a_node_of_the_verb_is_found_behind_all_that_the_index_is_asked_for_at_first(graph: MemoryGraph) -> None:
    crowd(graph, "tea tea")
    graph.query(
        "CREATE (:Node {namespace: $namespace, id: 'found', name: '', data: 'A lady of whom all in town say: tea.', "
        "namespace_token: $token})"
        "-[:EDGE {namespace: $namespace, id: 'e', verb: 'knows', lemma: '', weight: 1.0}]->"
        "(:Node {namespace: $namespace, id: 'other', name: 'Ada', data: '', namespace_token: $token})",
        {"token": graph.scope.token},
        write=True,
    )
    assert [hit.id for hit in graph.recall("tea", verb="knows").hits][:1] == ["found"]


def test_an_alias_of_the_kind_is_found_among_many_of_others(graph: MemoryGraph) -> None:
    others = [{"id": f"n{i}", "kind": "thing", "alias": "tea tea tea"} for i in range(60)]
    rows = [*others, {"id": "found", "kind": "person", "alias": "a lady who is called after her tea, by all in town"}]
    graph.load('Node(node_id="other", name="Ada", data="");')
    graph.query(
        "UNWIND $rows AS row CREATE (:Alias {namespace: $namespace, id: row.id, name: row.alias, "
        "namespace_token: $token})-[:ALIAS_OF]->(node:Node {namespace: $namespace, id: row.id, name: row.id, "
        "data: '', kind: row.kind, namespace_token: $token}) "
        "WITH node WHERE node.id = 'found' MATCH (other:Node {namespace: $namespace, id: 'other'}) "
        "CREATE (node)-[:EDGE {namespace: $namespace, id: 'e', verb: 'knows', lemma: '', weight: 1.0}]->(other)",
        {"rows": rows, "token": graph.scope.token},
        write=True,
    )
    assert [hit.id for hit in graph.recall("tea", kind="person").hits] == ["found"]
    assert [hit.id for hit in graph.recall("tea", verb="knows").hits][:1] == ["found"]


def test_neighbours_are_in_the_filter_too(graph: MemoryGraph) -> None:
    say(graph, "talk", ("Ada", "I planted a quince."), ("Ben", "Why?"), ("Ada", "For the jelly."))
    assert [hit.name for hit in recall_hits(graph.scope, "quince").hits] == ["Ada", "Ben", "Ada"]
    assert [hit.name for hit in recall_hits(graph.scope, "quince", speaker="Ada").hits] == ["Ada", "Ada"]


NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "filters",
    [
        {"speaker": "Ben"},
        {"role": "user", "speaker": "ben"},
        {"since": NOON},
        {"since": NOON, "until": "2024-05-01"},
        {"speaker": "Ben", "conversation": "talk"},
    ],
)
def test_what_does_not_fit_leads_on_to_what_does(
    graph: MemoryGraph, embedder: Embedder, filters: dict[str, Any]
) -> None:
    asked, answer = say(graph, "talk", ("Ada", "I planted a quince."), ("Ben", "Well done!"))
    date_messages(graph.scope, "talk", {asked: NOON - timedelta(hours=1), answer: NOON})
    embed_missing(graph.scope, embedder)
    for by in (None, embedder):
        found = recall_hits(graph.scope, "quince", embedder=by, **filters).hits
        assert [hit.id for hit in found] == [answer]
    assert recall_hits(graph.scope, "quince", steps=False, **filters).hits == ()


def test_the_messages_of_others_lead_on_to_those_of_a_role(graph: MemoryGraph) -> None:
    ids = say(graph, "talk", ("user", "What shall I plant?"), ("assistant", "A quince."))
    assert [hit.id for hit in recall_hits(graph.scope, "quince", role="user").hits] == [ids[0]]


def test_what_is_said_of_an_entity_leads_on_to_the_entity(graph: MemoryGraph, embedder: Embedder) -> None:
    said = Entity(name="Ada", entity_type="person", observations=["likes tea"])
    graph.entities.create([said, Entity(name="Tea house", entity_type="place", observations=[])])
    graph.load(
        'Node(node_id="shop", name="Shop", data="");'
        'Edge(edge_id="e", from_node="shop", to_node="Ada", verb="serves", weight=1.0);'
    )
    embed_missing(graph.scope, embedder)
    each: list[dict[str, Any]] = [{"kind": "person"}, {"kind": "person", "verb": "serves"}]
    for by in (None, embedder):
        for filters in each:
            found = recall_hits(graph.scope, "likes tea", embedder=by, **filters).hits
            assert [hit.name for hit in found] == ["Ada"], filters
    assert [hit.name for hit in recall_hits(graph.scope, "serves Ada", verb="serves").hits] == ["Ada", "Shop"]


def test_an_alias_of_another_kind_leads_on_to_what_fits(graph: MemoryGraph) -> None:
    graph.load(
        'Node(node_id="ada", name="Ada", data=""); Node(node_id="cup", name="Cup", data="");'
        'Edge(edge_id="e", from_node="ada", to_node="cup", verb="holds", weight=1.0);'
    )
    graph.query(
        "MATCH (node:Node {namespace: $namespace}) WHERE node.id IN ['ada', 'cup'] "
        "SET node.kind = CASE node.id WHEN 'ada' THEN 'person' ELSE 'thing' END "
        "WITH node WHERE node.id = 'ada' CREATE (:Alias {namespace: $namespace, id: 'ada', name: 'Countess', "
        "namespace_token: $token})-[:ALIAS_OF]->(node)",
        {"token": graph.scope.token},
        write=True,
    )
    assert [hit.id for hit in graph.recall("countess", kind="thing").hits] == ["cup"]


@pytest.mark.parametrize(
    ("name", "value", "bound"),
    [
        ("since", "2024-05-01", datetime(2024, 5, 1, tzinfo=UTC)),
        ("until", "2024-05-01", datetime(2024, 5, 2, tzinfo=UTC)),
        ("until", date(2024, 5, 1), datetime(2024, 5, 2, tzinfo=UTC)),
        ("since", "2024-05-01T13:30:00+02:00", datetime(2024, 5, 1, 11, 30, tzinfo=UTC)),
        ("until", datetime(2024, 5, 1, 8), datetime(2024, 5, 1, 8, microsecond=1, tzinfo=UTC)),
        ("until", "9999-12-31", LAST_TIME),
        ("until", datetime(9999, 12, 31, 8), datetime(9999, 12, 31, 8, microsecond=1, tzinfo=UTC)),
    ],
)
def test_a_bound_is_a_time_or_a_whole_day(name: str, value: Any, bound: datetime) -> None:
    assert parse_bound(name, value) == bound


WRONG: list[tuple[dict[str, Any], type[MemoryGraphError], str]] = [
    ({"since": "yesterday"}, MemoryGraphError, "invalid `since`: 'yesterday' is no time such as 2024-05-01"),
    ({"until": "2024-13-01"}, MemoryGraphError, "invalid `until`"),
    ({"since": 7}, MemoryGraphError, "invalid `since`: '7' is no time"),
    ({"since": "2024-05-02", "until": "2024-05-01"}, MemoryGraphError, "`since` is the earlier time"),
    ({"role": "boss"}, MemoryGraphError, "no role `boss`: a role is one of assistant,"),
    ({"speaker": ""}, MemoryGraphError, "`speaker` is empty"),
    ({"role": "user", "kind": "person"}, MemoryGraphError, "nothing can fit"),
    ({"kind": "unicorn"}, NotFoundError, "no node of the kind `unicorn` in namespace `.*`; names are matched exactly"),
    ({"kind": "node"}, NotFoundError, "no node of the kind `node` .*; entities that are shown as `node` have no kind"),
    ({"verb": "rides"}, NotFoundError, "no edge with the verb `rides`"),
    ({"conversation": "none"}, NotFoundError, "no conversation `none`"),
]


@pytest.mark.parametrize(("filters", "error", "message"), WRONG)
def test_a_wrong_filter_is_a_clear_error(
    talk: MemoryGraph, filters: dict[str, Any], error: type[MemoryGraphError], message: str
) -> None:
    with pytest.raises(error, match=message.replace("(", r"\(")):
        talk.recall("tea", **filters)
