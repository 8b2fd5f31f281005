"""Comparisons with other implementations of what memorygraph implements, which anybody can repeat."""
