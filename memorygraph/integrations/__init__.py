"""Adapters for other frameworks: each maps their names and values to the client's, and is an extra of its own."""
