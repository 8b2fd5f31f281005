"""Vectors made on this machine, by the sentence model in a folder."""

from memorygraph.memory.local.embedder import LocalEmbedder

__all__ = ["LocalEmbedder"]
