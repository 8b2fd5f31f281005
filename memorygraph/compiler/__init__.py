"""Statements to parameterized Cypher, one module for each language. Pure: no file, no database."""

from memorygraph.compiler.contextscript import Compiled, compile_program, mentioned
from memorygraph.compiler.symbols import Stored

__all__ = ["Compiled", "Stored", "compile_program", "mentioned"]
