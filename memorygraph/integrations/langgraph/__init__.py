"""LangGraph: a checkpointer and a store in the graph. `pip install memorygraph[langgraph]`."""

from __future__ import annotations

from memorygraph.integrations import needing_extra

with needing_extra("langgraph"):
    from memorygraph.integrations.langgraph.saver import MemoryGraphSaver
    from memorygraph.integrations.langgraph.store import MemoryGraphStore

__all__ = ["MemoryGraphSaver", "MemoryGraphStore"]
