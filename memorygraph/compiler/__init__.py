"""Statements to parameterized Cypher, one module for each language. Pure: no file, no database."""

from memorygraph.compiler.contextscript import (
    Compiled,
    NewElements,
    compile_in_parts,
    compile_new,
    compile_program,
    declares_each_once,
    describe_ambiguity,
    find_problems,
    mentioned,
)
from memorygraph.compiler.symbols import Stored

__all__ = [
    "Compiled",
    "NewElements",
    "Stored",
    "compile_in_parts",
    "compile_new",
    "compile_program",
    "declares_each_once",
    "describe_ambiguity",
    "find_problems",
    "mentioned",
]
