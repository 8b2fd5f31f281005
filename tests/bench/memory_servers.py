"""Our memory server beside the two that people run: the same work over the same wire, in turns, in one run.

    python tests/bench/memory_servers.py [--entities N] [--relations N] [--batch N] [--rounds N] [--seconds S]
        [--warm S] [--sample N] [--prefill] [--only NAME…] [--server-memory COMMAND] [--neo4j-memory COMMAND]
        [--artifacts FOLDER]

The others are the reference server, `@modelcontextprotocol/server-memory` (npm), and `mcp-neo4j-memory` (PyPI). Both
are installed into a temporary folder, unless a command that starts one is given. Every server is a process of its own,
asked over standard input and output by the same client; the Neo4j of ours and of mcp-neo4j-memory is one embedded
server with data of its own, started for this run.

First the graph is created through the tools, in batches. mcp-neo4j-memory is given a sample of the batches, and its
whole time is worked out from that: of the entities, which take it longer and longer, batches all along the way, between
which the others are written by the quickest road into its store; of the relations, each of which looks through all
entities, the first. `load` writes the same graph as ContextScript through an open client. Then entities are
opened, searched and updated, and batches created in what is there by now. With `--prefill` (for large graphs) the graph
is not created through the tools but by the quickest road into each store, and only the second part is measured.

Before entities are opened, searched or updated, each server does it for some seconds that are not counted, and takes
back what it added: the JVM compiles what it runs often, and a memory is used for longer than a benchmark runs. With
`--warm 0` these are the figures of servers that have just started.

What the servers answer is compared: where they do not find the same, the run fails.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import mcp
from mcp import StdioServerParameters, stdio_client

from memorygraph import EmbeddedServer, MemoryGraph, Query
from memorygraph.languages import parse
from memorygraph.memory.entities import Entities
from memorygraph.memory.values import Entity, Relation

OURS, REFERENCE, NEO4J_MEMORY = "memorygraph", "server-memory", "mcp-neo4j-memory"
REFERENCE_PACKAGE = "@modelcontextprotocol/server-memory@2026.8.31"
NEO4J_MEMORY_PACKAGE = "mcp-neo4j-memory==0.4.5"
HITS = 5  # entities that each search finds
WARMING = 3  # calls of each kind that are not counted; fewer where there are less than three times as many
FEWEST = 3  # calls of each kind, however long they take
ROWS = 10_000

Arguments = dict[str, Any]

MEMORY_NODES = "UNWIND $rows AS row CREATE (m:Memory:person) SET m = row"
MEMORY_ELEMENTS = "MATCH (m:Memory) RETURN m.name AS name, elementId(m) AS element"
MEMORY_EDGES = """
UNWIND $rows AS row
MATCH (source:Memory) WHERE elementId(source) = row.source
MATCH (target:Memory) WHERE elementId(target) = row.target
MERGE (source)-[:knows]->(target)
"""


class Work:
    """The graph: each entity says two things, and one word of it is said by so many entities as a search shall find."""

    def __init__(self, entities: int, relations: int) -> None:
        chance = random.Random(1)
        syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
        words = ("".join(word) for word in itertools.product(syllables, repeat=4))
        common = ["".join(chance.choices(syllables, k=3)) for _ in range(200)]
        rare = list(itertools.islice(words, 0, None, max(1, len(syllables) ** 4 // (entities // HITS + 1))))
        self.words = rare[: entities // HITS]
        self.entities = [
            {
                "name": f"Person {i}",
                "entityType": "person",
                "observations": [
                    f"knows {self.words[i % len(self.words)]} and {' '.join(chance.choices(common, k=4))}",
                    f"was seen on day {i % 365} with {' '.join(chance.choices(common, k=6))}",
                ],
            }
            for i in range(entities)
        ]
        per = -(-relations // entities)
        ends = ((i, (i * 7 + 11 * step + 1) % entities) for i in range(entities) for step in range(per))
        self.relations = [
            {"from": f"Person {source}", "to": f"Person {target}", "relationType": "knows"}
            for source, target in itertools.islice(ends, relations)
        ]

    def script(self) -> str:
        """The same graph in ContextScript."""
        lines = [
            f'Node(node_id="n{i}", name="{each["name"]}", data="{"; ".join(each["observations"])}");'
            for i, each in enumerate(self.entities)
        ]
        lines += [
            f'Edge(edge_id="e{i}", from_node="n{each["from"][7:]}", to_node="n{each["to"][7:]}", verb="knows", '
            f"weight=1.0);"
            for i, each in enumerate(self.relations)
        ]
        return "\n".join(lines)


_NEO4J_TOOLS = {"search_nodes": "search_memories", "open_nodes": "find_memories_by_name"}
_NEO4J_KEYS = {"entityType": "type", "from": "source", "to": "target", "contents": "observations"}


def in_neo4j_words(value: Any) -> Any:
    """Arguments of the reference server as mcp-neo4j-memory calls them."""
    if isinstance(value, list):
        return [in_neo4j_words(each) for each in value]
    if isinstance(value, dict):
        return {_NEO4J_KEYS.get(key, key): in_neo4j_words(each) for key, each in value.items()}
    return value


@dataclass
class Server:
    """A memory server in a process of its own, and the client that asks it."""

    name: str
    command: Sequence[str]
    environment: dict[str, str]
    fill: Callable[[Sequence[Any], Sequence[Any]], None]  # the quickest road in, for entities and relations
    sample: int | None = None
    client: mcp.Client = field(init=False)

    async def connect(self, stack: AsyncExitStack, errors: TextIO) -> None:
        """Start it; what it says of itself goes to `errors`."""
        environment = {**os.environ, **self.environment}
        parameters = StdioServerParameters(command=self.command[0], args=list(self.command[1:]), env=environment)
        self.client = await stack.enter_async_context(mcp.Client(stdio_client(parameters, errlog=errors)))
        await self.client.list_tools()

    async def call(self, tool: str, arguments: Arguments) -> tuple[float, Any]:
        """The seconds of a call, and what it answered.

        Raises:
            RuntimeError: it failed.
        """
        if self.name == NEO4J_MEMORY:
            tool, arguments = _NEO4J_TOOLS.get(tool, tool), in_neo4j_words(arguments)
        started = time.perf_counter()
        result = await self.client.call_tool(tool, arguments)
        seconds = time.perf_counter() - started
        if result.is_error:
            raise RuntimeError(f"{self.name}, {tool}: {result.content}")
        return seconds, result.structured_content


@dataclass(frozen=True)
class Operation:
    """A call that is measured again and again: its tool, and its arguments in each round."""

    title: str
    tool: str
    arguments: Callable[[int], Arguments]
    taken_back: tuple[str, Callable[[int], Arguments]] | None = None  # the tool that undoes it, and its arguments

    @property
    def leaves_nothing(self) -> bool:
        """Whether it can be done again and again without an effect on what comes later."""
        return self.tool in _NEO4J_TOOLS or self.taken_back is not None


def operations(work: Work, batch: int) -> Iterator[Operation]:
    """What is asked of a graph that is there."""
    chance = random.Random(2)
    count = len(work.entities)
    order = [chance.randrange(count) for _ in range(100_000)]

    def name(number: int) -> str:
        return f"Person {order[number % len(order)]}"

    def update(number: int) -> Arguments:
        return {"observations": [{"entityName": name(number), "contents": [f"was updated in round {number}"]}]}

    def former(number: int) -> Arguments:
        [added] = update(number)["observations"]
        return {"deletions": [{"entityName": added["entityName"], "observations": added["contents"]}]}

    def entities(number: int) -> Arguments:
        said = ["came late"]
        new = [{"name": f"Late {number}-{i}", "entityType": "person", "observations": said} for i in range(batch)]
        return {"entities": new}

    def relations(number: int) -> Arguments:
        ends = [(name(number + i), name(number + i + 1)) for i in range(batch)]
        verb = f"met_{number}"
        return {"relations": [{"from": source, "to": target, "relationType": verb} for source, target in ends]}

    yield Operation("open 1 entity", "open_nodes", lambda number: {"names": [name(number)]})
    yield Operation(
        "open 10 entities", "open_nodes", lambda number: {"names": [name(number * 10 + i) for i in range(10)]}
    )
    yield Operation(
        "search a word",
        "search_nodes",
        lambda number: {"query": work.words[order[number] % len(work.words)]},
    )
    yield Operation("update 1 entity", "add_observations", update, ("delete_observations", former))
    yield Operation("open 1 updated entity", "open_nodes", lambda number: {"names": [name(number)]})
    yield Operation(f"create {batch} entities", "create_entities", entities)
    yield Operation(f"create {batch} relations", "create_relations", relations)


def found(answer: Any) -> Any:
    """What a read answered, without the words and the order of the server."""
    entities = {each["name"]: sorted(each["observations"]) for each in answer["entities"]}
    ends = [(each.get("from", each.get("source")), each.get("to", each.get("target"))) for each in answer["relations"]]
    return entities, sorted(set(ends))


async def warm(server: Server, operation: Operation, seconds: float) -> None:
    """Do something for some seconds, with numbers that the measured rounds do not have."""
    until = time.perf_counter() + seconds
    number = -1
    while operation.leaves_nothing and time.perf_counter() < until:
        await server.call(operation.tool, operation.arguments(number))
        if operation.taken_back:
            tool, arguments = operation.taken_back
            await server.call(tool, arguments(number))
        number -= 1


async def repeat(
    servers: Sequence[Server], operation: Operation, rounds: int, seconds: float
) -> dict[str, list[float]]:
    """The seconds of an operation at each server in each round; they take turns in going first.

    Raises:
        RuntimeError: they did not answer the same.
    """
    times: dict[str, list[float]] = {server.name: [] for server in servers}
    until = time.perf_counter() + seconds
    for number in range(rounds + WARMING):
        if time.perf_counter() > until and number >= FEWEST:
            break
        arguments = operation.arguments(number)
        answers = []
        turn = number % len(servers)
        for server in (*servers[turn:], *servers[:turn]):
            taken, answer = await server.call(operation.tool, arguments)
            times[server.name].append(taken)
            if operation.tool in _NEO4J_TOOLS:
                answers.append((server.name, found(answer)))
        for name, answer in answers[1:]:
            if answer != answers[0][1]:
                raise RuntimeError(f"{operation.title} {arguments}: {answers[0]} but {(name, answer)}")
    return {name: taken[min(WARMING, len(taken) // 3) :] for name, taken in times.items()}


def show(title: str, times: dict[str, list[float]]) -> None:
    """Print the median, the 99th percentile, and the ratio to ours, round by round."""
    for name, taken in times.items():
        worst = statistics.quantiles(taken, n=100, method="inclusive")[-1]
        ratio = statistics.median(other / ours for other, ours in zip(taken, times[next(iter(times))], strict=True))
        middle = statistics.median(taken)
        print(
            f"{title:22} {name:17} p50 {middle * 1e3:9.2f} ms  p99 {worst * 1e3:9.2f} ms  {ratio:8.1f}x  n={len(taken)}"
        )


async def create(servers: Sequence[Server], work: Work, batch: int) -> dict[str, float]:
    """Create the graph through the tools, batch by batch in turns; print and return the seconds of each server."""
    totals = dict.fromkeys((server.name for server in servers), 0.0)
    for tool, key, values in (
        ("create_entities", "entities", work.entities),
        ("create_relations", "relations", work.relations),
    ):
        batches = list(pieces(values, batch))
        times: dict[str, list[float]] = {server.name: [] for server in servers}
        for number, part in enumerate(batches):
            turn = number % len(servers)
            for server in (*servers[turn:], *servers[:turn]):
                if is_measured(server, key, number, len(batches), batch):
                    times[server.name].append((await server.call(tool, {key: part}))[0])
                elif key == "entities":
                    server.fill(part, ())
        for server in servers:
            if server.sample is not None and key == "relations":
                server.fill((), values)
        for name, seconds in show_created(f"create {len(values)} {key}", times, len(batches)).items():
            totals[name] += seconds
    return totals


def is_measured(server: Server, key: str, number: int, count: int, batch: int) -> bool:
    """Whether a batch goes through the tool, or is left out of the sample."""
    wanted = count if server.sample is None else min(count, max(1, server.sample // batch))
    return number < wanted if key == "relations" else number * wanted // count != (number + 1) * wanted // count


def show_created(title: str, times: dict[str, list[float]], batches: int) -> dict[str, float]:
    """Print what creating took, and return the seconds of each server."""
    seconds = {name: statistics.mean(taken) * batches for name, taken in times.items()}
    for name, taken in times.items():
        said = "" if len(taken) == batches else f"  (worked out from {len(taken)} of {batches} batches)"
        print(
            f"{title:22} {name:17} {seconds[name]:8.2f} s  p50 of a batch {statistics.median(taken) * 1e3:8.2f} ms  "
            f"{seconds[name] / seconds[next(iter(times))]:8.1f}x{said}",
            flush=True,
        )
    return seconds


def load(graph: MemoryGraph, work: Work, rounds: int) -> float:
    """The seconds of a load of the same graph, parsed from its text, into a namespace that is new each time."""
    script, taken = work.script(), []
    for _ in range(rounds):
        fresh = MemoryGraph(graph.connection, f"bench-{uuid.uuid4().hex}")
        started = time.perf_counter()
        fresh.load(script)
        taken.append(time.perf_counter() - started)
        fresh.drop_namespace(fresh.namespace)
    return statistics.median(taken)


def pieces(values: Sequence[Any], size: int = ROWS) -> Iterator[Sequence[Any]]:
    """The values, some at a time."""
    return (values[start : start + size] for start in range(0, len(values), size))


def fill_ours(graph: MemoryGraph, entities: Sequence[Any], relations: Sequence[Any]) -> None:
    """Write with few large calls of the same functions that the tools call."""
    for part in pieces(entities):
        Entities(graph.scope).create([Entity.model_validate(each) for each in part])
    for part in pieces(relations):
        Entities(graph.scope).relate([Relation.model_validate(each) for each in part])


def fill_reference(file: Path, entities: Sequence[Any], relations: Sequence[Any]) -> None:
    """Write the file that the reference server reads at each call."""
    lines = [{"type": "entity", **each} for each in entities]
    lines += [{"type": "relation", **each} for each in relations]
    file.write_text("\n".join(json.dumps(line) for line in lines), "utf-8")


def fill_neo4j_memory(graph: MemoryGraph, entities: Sequence[Any], relations: Sequence[Any]) -> None:
    """Write nodes as mcp-neo4j-memory keeps them, and those relationships that it has not yet."""

    def run(text: str, rows: Sequence[Any]) -> None:
        for part in pieces(rows):
            graph.connection.write(lambda transaction, part=part: transaction.run(Query(text, {"rows": list(part)})))  # type: ignore[misc]

    if entities:
        run(MEMORY_NODES, in_neo4j_words(list(entities)))
    if relations:
        stored = {row["name"]: row["element"] for row in graph.connection.read(Query(MEMORY_ELEMENTS))}
        run(MEMORY_EDGES, [{"source": stored[each["from"]], "target": stored[each["to"]]} for each in relations])


def install_reference(folder: Path) -> list[str]:
    """Install the reference server, and return what starts it."""
    _install(["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", str(folder), REFERENCE_PACKAGE])
    return [str(folder / "node_modules" / ".bin" / "mcp-server-memory")]


def install_neo4j_memory(folder: Path) -> list[str]:
    """Install mcp-neo4j-memory, and return what starts it."""
    _install([sys.executable, "-m", "venv", str(folder)])
    _install([str(folder / "bin" / "pip"), "install", "--quiet", NEO4J_MEMORY_PACKAGE])
    return [str(folder / "bin" / "mcp-neo4j-memory")]


def _install(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    except FileNotFoundError as error:
        raise RuntimeError(f"there is no {command[0]}") from error
    except subprocess.SubprocessError as error:
        said = str(getattr(error, "stderr", "") or error).strip().splitlines()
        raise RuntimeError(f"{' '.join(command)}: {said[-1] if said else error}") from error


def others(options: argparse.Namespace, folder: Path, graph: MemoryGraph, login: tuple[str, str, str]) -> list[Server]:
    """The servers that ours is compared with; one that can't be had is reported, and left out."""
    file = folder / "memory.jsonl"
    uri, user, password = login
    neo4j = {"NEO4J_URL": uri, "NEO4J_USERNAME": user, "NEO4J_PASSWORD": password, "FASTMCP_SHOW_CLI_BANNER": "false"}
    known: dict[str, tuple[str | None, Callable[[Path], list[str]], Callable[[list[str]], Server]]] = {
        REFERENCE: (
            options.server_memory,
            install_reference,
            lambda command: Server(REFERENCE, command, {"MEMORY_FILE_PATH": str(file)}, partial(fill_reference, file)),
        ),
        NEO4J_MEMORY: (
            options.neo4j_memory,
            install_neo4j_memory,
            lambda command: Server(NEO4J_MEMORY, command, neo4j, partial(fill_neo4j_memory, graph), options.sample),
        ),
    }
    servers = []
    for name in options.only:
        given, install, make = known[name]
        try:
            servers.append(make(shlex.split(given) if given else install(folder / name)))
        except RuntimeError as error:
            print(f"{name} is NOT MEASURED, it cannot be installed: {error}", flush=True)
    return servers


async def compare(servers: list[Server], graph: MemoryGraph, work: Work, options: argparse.Namespace) -> None:
    """Start all servers and measure them."""
    with tempfile.TemporaryFile("w+") as errors:
        async with AsyncExitStack() as stack:
            for server in servers:
                await server.connect(stack, errors)
            await measure(servers, graph, work, options)


async def measure(servers: list[Server], graph: MemoryGraph, work: Work, options: argparse.Namespace) -> None:
    """Run both parts."""
    if options.prefill:
        for server in servers:
            server.fill(work.entities, work.relations)
    else:
        totals = await create(servers, work, options.batch)
        if options.load_rounds:
            loaded = load(graph, work, options.load_rounds)
            print(f"load of the same as ContextScript: {loaded:.2f} s (median of {options.load_rounds})")
            for name, seconds in totals.items():
                print(f"    created through {name:17} {seconds:8.2f} s  {seconds / loaded:8.1f}x")
    graph.connection.read(Query("CALL db.awaitIndexes(300)"), seconds=300)
    for operation in operations(work, options.batch):
        for server in servers:
            await warm(server, operation, options.warm)
        show(operation.title, await repeat(servers, operation, options.rounds, options.seconds))


def main() -> None:
    """Start an embedded server, measure, and stop it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=10_000)
    parser.add_argument("--relations", type=int, help="default: three for each entity")
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=100, help="calls of each kind at each server")
    parser.add_argument("--seconds", type=float, default=60.0, help="the rounds of one kind of call end then")
    parser.add_argument(
        "--sample", type=int, default=1000, help="entities, and relations, that mcp-neo4j-memory creates"
    )
    parser.add_argument("--warm", type=float, default=5.0, help="seconds of each kind of call that are not counted")
    parser.add_argument("--load-rounds", type=int, default=3)
    parser.add_argument("--prefill", action="store_true")
    parser.add_argument("--only", nargs="*", choices=(REFERENCE, NEO4J_MEMORY), default=[REFERENCE, NEO4J_MEMORY])
    parser.add_argument("--server-memory", metavar="COMMAND")
    parser.add_argument("--neo4j-memory", metavar="COMMAND")
    parser.add_argument("--artifacts", type=Path, default=EmbeddedServer().artifacts)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the embedded server is stopped then too
    work = Work(options.entities, options.relations or 3 * options.entities)
    parse(work.script()[:1000].rpartition("\n")[0], "contextscript")  # the parser is made before anything is measured
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        embedded = EmbeddedServer(folder / "neo4j", options.artifacts)
        try:
            status = embedded.up()
            assert status.bolt_uri
            login = (status.bolt_uri, status.username, embedded.password())
            namespace = f"bench-{uuid.uuid4().hex}"
            with closing(MemoryGraph.connect(login[0], login[1:], namespace=namespace)) as graph:
                graph.load("")
                environment = dict(zip(("NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD"), login, strict=True))
                command = [sys.executable, "-m", "memorygraph", "--namespace", namespace, "serve"]
                ours = Server(OURS, command, environment, partial(fill_ours, graph))
                print(f"{len(work.entities)} entities, {len(work.relations)} relations; ratios are to {OURS}")
                asyncio.run(compare([ours, *others(options, folder, graph, login)], graph, work, options))
        finally:
            embedded.down()


if __name__ == "__main__":
    main()
