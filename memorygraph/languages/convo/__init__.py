"""Convo-Lang: conversations as programs, and node graphs of prompts with routes between them."""

from memorygraph.languages.convo.syntax import ConvoProgram

__all__ = ["ConvoProgram"]
