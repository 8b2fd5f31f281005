"""What an MCP client that waits five seconds for a tool hears while Neo4j starts, and what of it is stored.

Each round stops the embedded Neo4j of this home, starts a memory server, and asks it at once, as an agent does that
does not ask for progress: a write, a search and a recall in turns, each with five seconds of patience, as the Agents
SDK has, until six calls are answered; the first of each round is another. At the end stands how many writes were
refused or given up, and stored all the same.

    python -m tests.bench.patience [--rounds N] [--calls N]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
import uuid
from typing import Any

import mcp
from mcp import MCPError

from memorygraph import EmbeddedServer, MemoryGraph
from tests.mcp_server.clients import started_in, text_of

PATIENCE_S = 5.0
WRITE = "create_entities"
TOOLS = (WRITE, "search_nodes", "recall")


async def ask(client: mcp.Client, tool: str, name: str) -> tuple[bool, str]:
    """Write an entity of this name, or look for it: whether that was done, and in words."""
    entities = [{"name": name, "entityType": "bench", "observations": list[str]()}]
    arguments: dict[str, Any] = {"entities": entities} if tool == WRITE else {"query": name}
    began = time.perf_counter()
    try:
        result = await client.call_tool(tool, arguments, read_timeout_seconds=PATIENCE_S)
        done, said = not result.is_error, text_of(result).splitlines()[0] if result.is_error else "done"
    except MCPError as error:
        done, said = False, f"given up: {error}"
    return done, f"{time.perf_counter() - began:4.1f} s {tool}: {said}"


async def measure(namespace: str, number: int, calls: int) -> list[str]:
    """Ask a server that has just begun, until so many calls are done, and return the names that it did not store."""
    refused, done = [], 0
    began = time.perf_counter()
    async with started_in(dict(os.environ), namespace) as client:
        print(f"connected after {time.perf_counter() - began:.1f} s")
        while done < calls:
            tool, name = TOOLS[(number + done) % len(TOOLS)], uuid.uuid4().hex
            was_done, said = await ask(client, tool, name)
            print(f"  {said}", flush=True)
            done += was_done
            if tool == WRITE and not was_done:
                refused.append(name)
            await asyncio.sleep(0 if was_done else 1)
    print(f"  {calls} calls were done {time.perf_counter() - began:.1f} s after the server was started")
    return refused


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=6)
    options = parser.parse_args()
    namespace = f"bench-{uuid.uuid4().hex[:8]}"
    refused = []
    for number in range(options.rounds):
        EmbeddedServer().down()
        refused += asyncio.run(measure(namespace, number, options.calls))
    with MemoryGraph.connect(namespace=namespace) as graph:
        stored = [
            name
            for name in refused
            if graph.query("MATCH (n:Node {namespace: $namespace, name: $name}) RETURN n", {"name": name})
        ]
        graph.drop_namespace(namespace)
    print(f"{len(refused)} writes were refused or given up, {len(stored)} of them are stored")


if __name__ == "__main__":
    main()
