"""The picture of Neo4j Browser in the README, drawn by Browser itself on the embedded server.

python -m tests.browser.picture    # writes cypher/browser/browser.png anew
"""

from __future__ import annotations

from memorygraph import EmbeddedServer, MemoryGraph
from memorygraph.library import cypher_folder
from memorygraph.server.browser import saved_queries
from tests.browser.chromium import neo4j_browser
from tests.conftest import EXAMPLES

PICTURE = cypher_folder() / "browser" / "browser.png"
NAMESPACE = "apollo-11"


def main() -> None:
    """Load the example into a namespace of its own, and photograph the saved query `world` of it."""
    server = EmbeddedServer()
    status = server.up()
    with MemoryGraph.connect(status.bolt_uri, (status.username, server.password()), namespace=NAMESPACE) as graph:
        graph.load_file(EXAMPLES / "apollo11.ctx")
        try:
            with neo4j_browser(status.browser_url or "", server.password()) as browser:
                browser.run(saved_queries()["world"], namespace=NAMESPACE)
                browser.photograph(PICTURE)
        finally:
            graph.drop_namespace(NAMESPACE)


if __name__ == "__main__":
    main()
