"""The pages of the Python API: every public name, whose signature and docstring mkdocstrings reads from the code."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import griffe

import memorygraph
from memorygraph import MemoryGraph

ROOT = Path(__file__).parents[2]
INTRODUCTION = """\
# Python

<!-- made by `python -m tests.site` -->

Everything that memorygraph does is a method of [`MemoryGraph`][memorygraph.client.MemoryGraph]; commands and tools of the memory
server call it. It is a context manager, and threads can share it. [`AsyncMemoryGraph`](async.md) has the same methods for
asyncio. Every error derives from [`MemoryGraphError`][memorygraph.errors.MemoryGraphError] and says what to do, but for what
Python has an error for: a value of a type that a signature does not allow (`TypeError`, or `AttributeError` of what it lacks), a
message or an item that cannot be JSON, as one with NaN (`ValueError`, `TypeError`), an `Entity` without a name (`ValidationError` of
pydantic, a `ValueError`), and a place that a conversation does not have (`IndexError`). Ctrl-C in a run is a `KeyboardInterrupt`. An
example in a docstring is run by the tests.

```python
from memorygraph import MemoryGraph

with MemoryGraph.connect() as mg:  # NEO4J_URI, or the Neo4j that starts by itself
    mg.load('Node(node_id="ada", name="Ada Lovelace", data="Wrote the first program.");')
    print(mg.node("ada").data)
```
"""

ASYNC = """\
# Python with asyncio

<!-- made by `python -m tests.site` -->

The methods of [`MemoryGraph`](python.md), each awaited; what a method returns, and which errors it raises, is said there. Methods
that give rows as they come are read with `async for`. Each call runs in a thread, in one generic place, so that no method is
written twice. What comes back is what `MemoryGraph` gives: a conversation, a thought, a chat, a snapshot and a controller ask the
database by methods that are not awaited, and hold up the loop. Give these a thread: `await asyncio.to_thread(history.append, message)`.

```python
import asyncio

from memorygraph import AsyncMemoryGraph


async def main():
    async with await AsyncMemoryGraph.connect() as mg:
        await mg.load('Node(node_id="ada", name="Ada Lovelace", data="Wrote the first program.");')
        print((await mg.node("ada")).data)


asyncio.run(main())
```
"""

WARNINGS = "Warnings"
RETURNED = """\
## What methods return

The classes that the methods above return, and those that are in them.
"""
INTERNAL = (
    "memorygraph.aio.",
    "memorygraph.languages.",
    "memorygraph.graph.connection.",
    "memorygraph.graph.namespace.Namespace.",
    "memorygraph.server.aot_cache.",
)
"""What methods return for the package itself, what stands on the page for asyncio, and parsed programs."""

GROUPS = {
    "The client": ("MemoryGraph",),
    "Conversations": ("MessageGraph", "Message", "Recorded"),
    "Node graphs of Convo-Lang": ("convo_graph", "execute_convo_graph", "ConvoGraphController", "Conversation"),
    "The server that starts by itself": ("EmbeddedServer",),
}
"""The sections of the page that are no values, no errors and no warnings."""


def page() -> str:
    """The page of everything but `AsyncMemoryGraph`."""
    grouped = {name for names in GROUPS.values() for name in names}
    rest = [name for name in memorygraph.__all__ if name not in grouped and name != "AsyncMemoryGraph"]
    errors = [name for name in rest if _is(name, Exception) and not _is(name, Warning)]
    warnings = [name for name in rest if _is(name, Warning)]
    values = [name for name in rest if name not in {*errors, *warnings}]
    sections = [INTRODUCTION]
    for title, names in {**GROUPS, "Values": values, "Errors": errors, WARNINGS: warnings}.items():
        sections += [f"## {title}\n", *(f"::: {_home(name)}\n" for name in names)]
        sections += [
            f"### `mg.{facet}`\n\n::: {home}\n    options:\n      heading_level: 4\n" for facet, home in facets()
        ] * (title == "The client")
    return "\n".join([*sections, RETURNED, *(f"::: {home}\n" for home in sorted(find_returned()))])


def async_page() -> str:
    """The page of `AsyncMemoryGraph`, whose signatures are those of its stub."""
    parts = [f"::: memorygraph.aio.Async{home.rpartition('.')[2]}\n" for _, home in facets()]
    return "\n".join([ASYNC, "## Its methods\n", "::: memorygraph.aio.AsyncMemoryGraph\n", *parts])


def facets() -> Iterator[tuple[str, str]]:
    """The parts of the client that have methods of their own (`entities`), each with its class."""
    for name, member in vars(MemoryGraph).items():
        if isinstance(member, cached_property) and not name.startswith("_"):
            made = inspect.get_annotations(member.func)["return"]
            [home] = [line for line in inspect.getsource(member.func).splitlines() if "import" in line]
            yield name, f"{home.split()[1]}.{made}"


def find_returned() -> set[str]:
    """The classes that methods on the page return, or that fields on it are, and so on from these."""
    package = griffe.load(memorygraph.__name__, search_paths=[ROOT])
    shown = {*(_home(name) for name in memorygraph.__all__), *(home for _, home in facets())}
    found: set[str] = set()
    left = list(shown)
    while left:
        for member in package[_below_package(left.pop())].members.values():
            said = member.returns if member.is_function else member.annotation if member.is_attribute else None
            if member.is_private or not isinstance(said, griffe.Expr):
                continue
            homes = {part.canonical_path for part in said.iterate() if isinstance(part, griffe.ExprName)}
            of_package = {
                home for home in homes if home.startswith("memorygraph.") and not f"{home}.".startswith(INTERNAL)
            }
            new = {home for home in of_package - shown - found if package[_below_package(home)].is_class}
            found |= new
            left += new
    return found


def _below_package(home: str) -> str:
    return home.removeprefix("memorygraph.")


def _home(name: str) -> str:
    found = getattr(memorygraph, name)
    return f"{found.__module__}.{found.__qualname__}"


def _is(name: str, kind: type) -> bool:
    found = getattr(memorygraph, name)
    return isinstance(found, type) and issubclass(found, kind)
