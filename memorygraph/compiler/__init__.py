"""Statements to parameterized Cypher, one module for each language. Pure: no file, no database."""

from memorygraph.compiler.contextscript import (
    Compiled,
    compile_in_parts,
    compile_program,
    declares_each_once,
    describe_ambiguity,
    mentioned,
)
from memorygraph.compiler.symbols import Stored

__all__ = [
    "Compiled",
    "Stored",
    "compile_in_parts",
    "compile_program",
    "declares_each_once",
    "describe_ambiguity",
    "mentioned",
]
