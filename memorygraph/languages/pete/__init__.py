"""PETE: contexts that a model continues, its running thought."""

from memorygraph.languages.pete.syntax import PeteProgram

__all__ = ["PeteProgram"]
