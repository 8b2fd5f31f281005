"""Runs Convo-Lang: its expressions, and its graphs of prompts with the routes between them."""
