"""A query that only reads does nothing else, wherever in its text it would do it.

The texts are in `cypher/`: each place where Cypher admits a subquery, with each deed that a query is refused for. In
the whole check they go to a server without the settings that hold back LOAD CSV, and a canary (a graph, a file and an
address) stays as it was. There it is also shown that the same texts reach the canary where nothing refuses them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import hypothesis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorygraph import EmbeddedServer, MemoryGraph, MemoryGraphError, QueryError
from memorygraph.graph.connection import Connection
from memorygraph.query import Query
from memorygraph.server import settings as server_settings
from tests.examples import amount, every_nth, profile
from tests.shared_neo4j import GiveSchema, new_namespace
from tests.trust.canary import Canary, listening
from tests.trust.chance import seed, seeded

# Ten thousand examples take longer than a test usually may.
pytestmark = [
    pytest.mark.usefixtures("quick_java"),
    pytest.mark.timeout(amount(ordinary=300, whole=300, long=3600)),
]

SEED = seed()
"""Of the random Cypher."""

FOLDER = Path(__file__).with_name("cypher")
PARAMETERS = {"load": 1, "csv": 2, "call": 3, "key": "owned"}
REFUSED = r"^refused: .*(only reads the graph|only computes)"
GAPS = (" ", "\n", "\t", "\u00a0", "\u3000", "/**/", " /* LOAD CSV */ ", " // CALL db.clearQueryCaches()\n", "\\u0020")


def _texts(name: str) -> list[str]:
    lines = (FOLDER / f"{name}.txt").read_text("utf-8").split("\n")
    return [line.replace("⏎", "\n").replace("␣", "\u00a0") for line in lines if line and not line.startswith("#")]


PLACES, DEEDS, WRITES = _texts("places"), _texts("deeds"), _texts("writes")


@pytest.fixture(scope="module")
def reader(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, give_schema: GiveSchema
) -> Iterator[Connection]:
    """The server of the run, and in the whole check one of its own without the settings that hold back LOAD CSV."""
    print(f"random Cypher: MEMORYGRAPH_TEST_SEED={SEED}")
    if profile() == "ordinary":
        uri, auth = request.getfixturevalue("server")
        with Connection(uri, auth) as connection:
            yield connection
        return
    server = give_schema(EmbeddedServer(tmp_path_factory.mktemp("open") / "home", EmbeddedServer().artifacts))
    with pytest.MonkeyPatch.context() as patch:
        held_back = r"^(dbms\.security\.allow_csv|internal\.dbms\.cypher_ip_blocklist).*\n"
        patch.setattr(server_settings, "SETTINGS", re.sub(held_back, "", server_settings.SETTINGS, flags=re.MULTILINE))
        status = server.up()
    try:
        with Connection(status.bolt_uri or "", (status.username, server.password())) as connection:
            yield connection
    finally:
        server.down()


@pytest.fixture(scope="module")
def canary(reader: Connection, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Canary]:
    secret = tmp_path_factory.mktemp("canary") / "secret.csv"
    # On the server of the run, tests beside this one give namespaces any name.
    canary = Canary(MemoryGraph(reader, new_namespace()), secret, whole=profile() != "ordinary")
    with listening(canary):
        canary.settle()
        yield canary
        canary.leave()


@pytest.fixture
def well(canary: Canary) -> Iterator[Canary]:
    """The canary, which is well after the test."""
    yield canary
    canary.is_well()


def _aim(text: str, canary: Canary) -> str:
    return text.replace("URL", canary.url).replace("SECRET", str(canary.secret))


def _query(canary: Canary, text: str) -> None:
    canary.says(canary.graph.query(_aim(text, canary), {**PARAMETERS, "url": canary.url}))


@pytest.mark.parametrize("place", every_nth(PLACES, 6))
def test_no_place_hides_what_is_refused(well: Canary, place: str) -> None:
    for deed in DEEDS:
        with pytest.raises(QueryError, match=REFUSED):
            _query(well, place.replace("BODY", deed))


def test_no_place_hides_a_write(well: Canary) -> None:
    chance = seeded("writes in places")
    drawn = chance.sample(PLACES, amount(ordinary=8, whole=len(PLACES), long=len(PLACES)))
    for text in [*WRITES, *(place.replace("BODY", chance.choice(WRITES)) for place in drawn)]:
        with pytest.raises(QueryError):
            _query(well, text)


@pytest.mark.parametrize(
    "text",
    [
        "CYPHER 25 CALL { RETURN 1 AS y NEXT CREATE (x:Canary2) RETURN x UNION RETURN 1 AS x } RETURN x",
        "CYPHER 25 CALL { RETURN 1 AS y NEXT RETURN 1 AS x UNION RETURN 1 AS x } RETURN x",
    ],
)
def test_what_neo4j_fails_to_plan_is_a_wrong_query(well: Canary, text: str) -> None:
    with pytest.raises(QueryError, match="Neo4j fails to plan this query"):
        _query(well, text)


@pytest.mark.parametrize("text", _texts("commands"))
def test_no_command_is_a_query(well: Canary, text: str) -> None:
    with pytest.raises(MemoryGraphError):
        _query(well, text)


@pytest.mark.parametrize(
    "text", every_nth([place.replace("BODY", "RETURN 1 AS x") for place in PLACES] + _texts("harmless"), 3)
)
def test_what_only_reads_is_answered(well: Canary, text: str) -> None:
    _query(well, text)


@pytest.mark.slow
@pytest.mark.skipif(profile() == "ordinary", reason="needs a server that holds back nothing")
@pytest.mark.parametrize("place", PLACES)
def test_the_deeds_are_done_where_nothing_refuses_them(canary: Canary, place: str) -> None:
    """Without this, the texts above could all be wrong Cypher."""
    deed = place.replace("BODY", f"LOAD CSV FROM '{canary.url}' AS x RETURN x")
    with suppress(QueryError):  # the canary's address answers that there is nothing
        canary.graph.connection.read(Query(deed, {}))
    reached, canary.visits = canary.visits, []
    assert reached


# Random Cypher: the places in one another, in any spelling that Neo4j reads as the same.

# Behind CYPHER 25, Neo4j takes a LET for an option where the space after it is an unusual one.
NESTED = [
    place
    for place in PLACES
    if not re.search(r"^(USE|CYPHER 25 LET|CYPHER (?!25 (?!runtime)))|TRANSACTIONS|YIELD", place)
]
HARMLESS = [
    "RETURN 1 AS x",
    "RETURN 'LOAD CSV' AS x",
    'RETURN "CALL db.clearQueryCaches()" AS x',
    "WITH {load: 1, csv: 2} AS call RETURN call.csv AS x",
    "WITH 1 AS load, 2 AS csv RETURN csv AS x",
    "CALL db.labels() YIELD label RETURN label AS x",
    "MATCH (node:CALL|LOAD) RETURN node.csv AS x",
    "RETURN date.truncate('year', date()) AS x",
    "RETURN {`LOAD CSV`: 2} AS x",
]


@st.composite
def _spelled(draw: st.DrawFn, bodies: list[str]) -> str:
    text = draw(st.sampled_from(bodies))
    newest = False
    for level, place in enumerate(draw(st.lists(st.sampled_from(NESTED), max_size=3))):
        newest |= place.startswith("CYPHER 25")
        # Names of its own for each level: Cypher refuses one that hides another.
        own = re.sub(r"\b(y|n|m|a|b|r|total)\b(?!')", rf"\g<1>{level}", place.removeprefix("CYPHER 25 "))
        text = own.replace("BODY", text)
    chance = random.Random(draw(st.integers(0, 2**32)))
    if draw(st.booleans()):
        text = re.sub(r"(?<!//) (?!/)", lambda _: chance.choice(GAPS), text)
    if draw(st.booleans()):
        parts = re.findall(r"\\u....|\\.|.", text, re.DOTALL)
        text = "".join(_escape(part) if len(part) == 1 and chance.random() < 0.2 else part for part in parts)
    return f"CYPHER 25 {text}" if newest else text


def _escape(character: str) -> str:
    return f"\\u{ord(character):04x}"


@hypothesis.seed(SEED)
@settings(max_examples=amount(ordinary=30, whole=300, long=10_000))
@given(text=_spelled([deed for deed in DEEDS if not re.search(r"/[/*]", deed)]))  # gaps would end its comments
def test_no_spelling_hides_what_is_refused(canary: Canary, text: str) -> None:
    # Neo4j reads a comment whose signs are escaped as no comment.
    with pytest.raises(QueryError, match=rf"{REFUSED}|^the Cypher is wrong"):
        _query(canary, text)
    canary.is_well()


@hypothesis.seed(SEED)
@settings(max_examples=amount(ordinary=10, whole=100, long=5_000))
@given(text=_spelled(WRITES))
def test_no_spelling_hides_a_write(canary: Canary, text: str) -> None:
    with pytest.raises(QueryError):
        _query(canary, text)
    canary.is_well()


@hypothesis.seed(SEED)
@settings(max_examples=amount(ordinary=10, whole=100, long=5_000))
@given(text=_spelled(HARMLESS))
def test_in_any_spelling_what_only_reads_is_not_refused(canary: Canary, text: str) -> None:
    """Places within one another are not always Cypher, which Neo4j then says; the texts above all are."""
    error = ""
    try:
        _query(canary, text)
    except MemoryGraphError as raised:
        error = str(raised)
    assert not re.search(REFUSED, error)


def test_after_all_this_the_canary_is_well(well: Canary) -> None:
    assert well.visits == []
