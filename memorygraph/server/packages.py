"""The packages that only the server which starts by itself needs: those of `memorygraph[embedded]`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from memorygraph.errors import ConnectionError


@contextmanager
def embedded_packages() -> Iterator[None]:
    """Have an import in the block that fails say what to install.

    Raises:
        ConnectionError: a package is missing.
    """
    try:
        yield
    except ImportError as error:
        raise ConnectionError(
            "the embedded Neo4j needs more packages: run `pip install 'memorygraph[embedded]'`, "
            "or name another server with NEO4J_URI"
        ) from error
