"""Adapters for frameworks: one module for each, behind the extra of its name; each maps values and calls the client."""
