"""The built-in functions of Convo-Lang that take values. Importing a module enters its functions into the table."""

from __future__ import annotations

from memorygraph.runtime.convo.builtins import ambient, arithmetic, lists, texts
from memorygraph.runtime.convo.builtins.methods import METHODS, is_method
from memorygraph.runtime.convo.builtins.registry import FUNCTIONS, Builtin

__all__ = ["FUNCTIONS", "METHODS", "Builtin", "ambient", "arithmetic", "is_method", "lists", "texts"]
