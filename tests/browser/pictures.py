"""The pictures in the README and in the pages that a real browser draws, from the examples, on the embedded server.

python -m tests.browser.pictures [NAME…]   # draws them anew: world, conversation, run, memory, thought

All but the last are Neo4j Browser with a saved query; the thought is its page, as `memorygraph pete view` makes it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from memorygraph import EmbeddedServer, MemoryGraph
from memorygraph.library import cypher_folder
from memorygraph.server.browser import saved_queries
from tests.browser.chromium import neo4j_browser, open_chromium
from tests.conftest import EXAMPLES
from tests.runtime.convo.model import scripted

PAGES = Path(__file__).parents[2] / "docs" / "pictures"
NAMESPACE = "browser-pictures"
THOUGHT = PAGES / "browser-thought.png"
PAGE_WIDTH = 800  # pixels


def world(graph: MemoryGraph) -> Mapping[str, Any]:
    """Load the example of ContextScript."""
    graph.load_file(EXAMPLES / "apollo11.ctx")
    return {}


def conversation(graph: MemoryGraph) -> Mapping[str, Any]:
    """Edit the question of an answered conversation, and have it answered again."""
    history = graph.messages("lunch")
    history.append({"role": "system", "content": "You cook."})
    history.append({"role": "user", "content": "I like soup."})
    history.append({"role": "assistant", "content": "Lentil soup."})
    history[1]["content"] = "I like pizza."
    history[2]["content"] = "A margherita."
    return {"name": "lunch", "a": 1, "b": history.versions()[-1].number}


def run(graph: MemoryGraph) -> Mapping[str, Any]:
    """Run the example of a node graph with the model that invents its answers."""
    result = graph.run_file(EXAMPLES / "product-review.convo", "The kettle broke after a day.", mock=True)
    return {"id": result.run}


def memory(graph: MemoryGraph) -> Mapping[str, Any]:
    """Run the tutorial whose prompt holds what the memory knows, each part with the node that it came from."""
    graph.load_file(EXAMPLES / "apollo11.ctx")
    learned = {"learned": "Ada asks about the software.", "question": "Who is Margaret Hamilton?"}
    with scripted([json.dumps({"text": "She programmed the computer."})]):
        graph.run_file(EXAMPLES / "tutorials" / "memory.as", learned)
    [call] = graph.query("MATCH (call:Generation {namespace: $namespace}) RETURN call.id AS id")
    return call


class BrowserPicture(NamedTuple):
    """A picture: what fills the namespace and gives the values of a query, the saved query, and the file."""

    fill: Callable[[MemoryGraph], Mapping[str, Any]]
    query: str
    file: Path


PICTURES = (
    BrowserPicture(world, "world", cypher_folder() / "browser" / "browser.png"),
    BrowserPicture(conversation, "where-two-versions-part", PAGES / "browser-conversation.png"),
    BrowserPicture(run, "run-of-a-graph", PAGES / "browser-run.png"),
    BrowserPicture(memory, "what-a-call-saw", PAGES / "browser-memory.png"),
)


def draw_saved_query(picture: BrowserPicture, graph: MemoryGraph, server: EmbeddedServer) -> None:
    """Photograph a saved query in Neo4j Browser."""
    values = picture.fill(graph)
    with neo4j_browser(server.status().browser_url or "", server.password()) as browser:
        browser.run(saved_queries()[picture.query], namespace=graph.namespace, **values)
        browser.photograph(picture.file)


def draw_thought(graph: MemoryGraph) -> None:
    """Photograph the page of the example of PETE, whose closed contexts are folded to their results."""
    graph.load_file(EXAMPLES / "lab.pete")
    with TemporaryDirectory() as folder, open_chromium() as driver:
        page = Path(folder) / "lab.html"
        page.write_text(graph.view_thought("lab"), "utf-8")
        driver.set_window_size(PAGE_WIDTH, PAGE_WIDTH)
        driver.get(page.as_uri())
        height = driver.execute_script("return document.documentElement.scrollHeight - innerHeight + outerHeight")
        driver.set_window_size(PAGE_WIDTH, height)
        driver.execute_script("scrollTo(0, 0)")
        driver.save_screenshot(str(THOUGHT))


def main(names: list[str]) -> None:
    """Draw the pictures of these names, or all, each from a namespace of its own."""
    server = EmbeddedServer()
    status = server.up()
    draw: dict[str, Callable[[MemoryGraph], None]] = {
        each.fill.__name__: partial(draw_saved_query, each, server=server) for each in PICTURES
    }
    for name, drawer in {**draw, "thought": draw_thought}.items():
        if names and name not in names:
            continue
        login = (status.username, server.password())
        with MemoryGraph.connect(status.bolt_uri, login, namespace=f"{NAMESPACE}-{name}") as graph:
            try:
                drawer(graph)
            finally:
                graph.drop_namespace(graph.namespace)
        print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
