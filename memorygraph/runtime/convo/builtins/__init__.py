"""The built-in functions of Convo-Lang that take values, by their names."""

from __future__ import annotations

from memorygraph.runtime.convo.builtins.ambient import AMBIENT
from memorygraph.runtime.convo.builtins.arithmetic import ARITHMETIC
from memorygraph.runtime.convo.builtins.builtin import Builtin, Table
from memorygraph.runtime.convo.builtins.lists import LISTS
from memorygraph.runtime.convo.builtins.logic import LOGIC
from memorygraph.runtime.convo.builtins.texts import TEXTS

__all__ = ["FUNCTIONS", "Builtin"]

FUNCTIONS: Table = {**LOGIC, **ARITHMETIC, **LISTS, **TEXTS, **AMBIENT}
