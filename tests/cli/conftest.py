"""The endpoint that commands ask."""

from tests.memory.endpoints import endpoint

__all__ = ["endpoint"]
