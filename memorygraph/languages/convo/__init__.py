"""Convo-Lang: conversations as programs, and node graphs of prompts with routes between them."""

from memorygraph.languages.convo.syntax import Program

__all__ = ["Program"]
