"""Adapters for frameworks: one module for each, behind the extra of its name; each maps values and calls the client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needing_extra(extra: str) -> Iterator[None]:
    """Where an import fails for want of a package, say which extra brings it.

    Raises:
        ModuleNotFoundError: a package is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "more").partition(".")[0]
        message = f"this adapter needs {package}: pip install 'memorygraph[{extra}]'"
        raise ModuleNotFoundError(message, name=error.name, path=error.path) from None
